"""What is measured on each page, before anybody judges it.

Dear measures are taken only where a cheap look finds a reason; then the field tells the truth, else it holds its healthy value.
"""

import pkgutil
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise

from winnowd.checks import letter_pairs
from winnowd.clean.characters import TWICE
from winnowd.model import FURNITURE, Block, Extraction, Measures, Page

LISTED = 300  # first words of each list of function words; with all of them garbled text begins to match too
FEWEST_WORDS = 40  # below that the share of function words says nothing
SUSPICIOUS_PAIRS = -4.6  # two pages of a hundred lie below; only they are worth looking up their words
PLAIN_WORDS, PLAIN_LETTERS = 0.4, 0.15  # shares below which a page is code, names of parts, formulas, but no prose
LONG_LETTERS, FEWEST_LONG = 28, 5  # letters of a word that no language but German has, and how many of them
FEWEST_SINGLE, FEWEST_SPACED = 5, 40  # single letters in a row, and letters in such rows on a page
FEWEST_ACCENTED, FEWEST_TWICE = 40, 6  # characters, below which an encoding is not doubted
LONGEST = 60  # characters of a token that are looked at
FEWEST_LINES = 20  # a page of fewer may well be a form letter
HIDDEN = 0.5  # share of invisible characters from which a page counts as read by OCR
SAMPLE = 120  # words, spread evenly over the page: enough for a likelihood and for a share of function words

REPEATED = re.compile(r"(.)\1{2,}", re.DOTALL)
CID = re.compile(r"\(cid:\d+\)")
WITH_LETTER = re.compile(r"[^\s\W\d_]\S*")
LETTER = re.compile(r"[^\W\d_]+")
WESTERN = "A-Za-z\u00aa-\u024f\u0370-\u052f\u0600-\u06ff"  # Latin, Greek, Cyrillic, Arabic: scripts with blanks between words
SINGLE = re.compile(rf"(?<![^\s])(?:[{WESTERN}] {{1,2}}){{4,}}[{WESTERN}](?![^\s.,;:!?)])")
LONG = re.compile(rf"[{WESTERN}]{{28,}}")
ADDRESS = re.compile(r"[/\\@_=&%#<>{}]|\d[A-Za-z]|www\.")  # of the web, of a file, or a name in a program
HUMP = re.compile("[a-z][A-Z]")
LEGACY_LETTER = re.compile("[\u00c0-\u00ff]")
LATIN_WORD = re.compile("[A-Za-z\u00c0-\u00ff]{3,}")
BESIDE_LOST = re.compile(r"(?<=[^\W\d_][^\W\d_])\ufffd|\ufffd(?=[^\W\d_]{2})|(?<=[^\W\d_])\ufffd(?=[^\W\d_])")
"""A lost letter stands inside a word or beside two letters; beside one it may be a bracket of a formula."""
NOT_CONTROLS = bytes(code for code in range(256) if code not in (*range(9), *range(14, 28), 127))
NOT_LETTERS = bytes(code for code in range(256) if code > 127 or not chr(code).isalpha())
ASCII = bytes(range(128))
HARMLESS = frozenset({"", "blank"})
ORDINARY_LENGTHS = bytes(range(LONG_LETTERS))
ODD_TOKEN = re.compile(r"[A-Za-z]+[^A-Za-z\s'’.,/@&:_-]+[A-Za-z]+|[A-Za-z]+\d+[A-Za-z]+")
APART = re.compile(r"(?<!\S)(?:[^\W_] ){3,}[^\W_](?!\S)")
VOWELLESS = re.compile(r"[b-df-hj-np-tv-xz]{4,}\Z")


def measure(raw: Extraction, cleaned: Extraction) -> tuple[Page, ...]:
    """The pages with their measures: what cleaning takes away is measured in the raw text, the rest in the cleaned."""
    before, after = _texts(_kept(raw.blocks)), _texts(_kept(cleaned.blocks))
    furniture = _texts(block for block in cleaned.blocks if block.kind in FURNITURE and block.kind != "boilerplate")
    repeated = _repeated_lines(before)

    def measured(page: Page) -> Page:
        aside = _chars(furniture.get(page.index, ""))
        beside = (repeated.get(page.index, 0.0), aside)
        return replace(page, measures=_measures(page, before.get(page.index, ""), after.get(page.index, ""), beside))

    return tuple(measured(page) for page in cleaned.pages)


def _kept(blocks: Iterable[Block]) -> Iterator[Block]:
    return (block for block in blocks if block.kind not in FURNITURE)


def _texts(blocks: Iterable[Block]) -> dict[int, str]:
    parts: dict[int, list[str]] = {}
    for block in blocks:
        parts.setdefault(block.page or 0, []).append(block.text)
    return {page: "\n".join(lines) for page, lines in parts.items()}


def _measures(page: Page, raw: str, text: str, beside: tuple[float, int]) -> Measures:
    """The measures of one page; `beside` is what only the whole document tells: its repeated lines, and its furniture."""
    tokens = text.split()
    lengths = list(map(len, tokens))
    clipped = _clipped(lengths)
    plain, beyond = _parted(text)
    chars, letters = sum(lengths), len(plain.translate(None, NOT_LETTERS)) + sum(map(str.isalpha, beyond))
    bad, private = _spoilt(raw)
    cids = CID.findall(text) if "(cid:" in text else []
    sample = tokens[:: max(1, len(tokens) // SAMPLE)]
    pairs = _pairs(sample)
    return Measures(
        chars=chars,
        words=len(tokens),
        alphabetic=_share(letters, chars),
        bad_chars=bad,
        replacement=_share(len(BESIDE_LOST.findall(raw)), letters) if "\ufffd" in raw else 0.0,
        private_use=private,
        cid_tokens=len(cids),
        cid_share=_share(sum(map(len, cids)), chars),
        single_letters=_single_letters(text, letters) if _singles_follow(clipped) else 0.0,
        long_tokens=_long_tokens(tokens, letters) if clipped.translate(None, ORDINARY_LENGTHS) else 0.0,
        legacy_letters=_legacy_letters(text, beyond),
        mojibake=_mojibake(text, beyond),
        function_words=_function_words(sample) if pairs is not None and pairs < SUSPICIOUS_PAIRS else None,
        letter_pairs=pairs,
        repeated_lines=beside[0],
        furniture_chars=beside[1],
        odd_tokens=_odd_tokens(text, tokens) if page.hidden_share >= HIDDEN else 0.0,
    )


def _chars(text: str) -> int:
    return sum(map(len, text.split()))


def _clipped(lengths: list[int]) -> bytes:
    """The lengths as bytes, in which runs and large ones are found at once; what is over 255 is long anyhow."""
    try:
        return bytes(lengths)
    except ValueError:
        return bytes([min(length, 255) for length in lengths])


def _parted(text: str) -> tuple[bytes, str]:
    """A text as UTF-8, and what of it lies beyond ASCII. Bytes are dropped and counted much faster than characters."""
    encoded = text.encode("utf-8", "surrogatepass")
    return encoded, "" if text.isascii() else encoded.translate(None, ASCII).decode("utf-8", "surrogatepass")


def _spoilt(raw: str) -> tuple[float, float]:
    """The share of characters that no text holds (control, unassigned, replacement), and of private ones.

    Runs of one character count as two: a dotted line of odd signs is one mistake, not a hundred.
    """
    plain, beyond = _parted(raw)
    kinds = {char: _kind(char) for char in {*beyond, *plain.translate(None, NOT_CONTROLS).decode("ascii")}}
    if HARMLESS.issuperset(kinds.values()):
        return 0.0, 0.0
    spare: Counter[str] = Counter()
    for run in REPEATED.finditer(raw):
        spare[run[1]] += run.end() - run.start() - 2
    chars = _chars(raw) - sum(times for char, times in spare.items() if not char.isspace())
    bad, private = (sum(raw.count(char) - spare[char] for char in kinds if kinds[char] == kind) for kind in ("bad", "private"))
    return _share(bad, chars), _share(private, chars)


@cache
def _kind(char: str) -> str:
    if char.isspace():
        return "blank"
    category = unicodedata.category(char)
    if category in ("Cc", "Cn", "Cs") or char == "\ufffd":
        return "bad"
    return "private" if category == "Co" else ""


def _single_letters(text: str, letters: int) -> float:
    """The share of the letters that stand in runs of five or more single letters; the alphabet itself is none."""
    inside = 0
    for run in SINGLE.findall(text):
        found = [char for char in run.lower() if char != " "]
        rising = sum(ord(b) - ord(a) == 1 for a, b in pairwise(found))
        if len(set(found)) >= FEWEST_SINGLE and rising * 2 < len(found):
            inside += len(found)
    return _share(inside, letters) if inside >= FEWEST_SPACED else 0.0


def _singles_follow(clipped: bytes) -> bool:
    """Whether so many tokens of one character follow one another that a look at the text pays; the last may end in a stop."""
    return b"\1" * (FEWEST_SINGLE - 1) in clipped


def _long_tokens(tokens: list[str], letters: int) -> float:
    """The share of the letters in words of 28 letters and more, where at least five such words differ."""
    long = [token for token in tokens if len(token) >= LONG_LETTERS]
    found = [word for token in long if not ADDRESS.search(token) for word in LONG.findall(token)]
    words = [word for word in found if len(HUMP.findall(word)) < 2]
    return _share(sum(map(len, words)), letters) if len(set(words)) >= FEWEST_LONG else 0.0


def _legacy_letters(text: str, beyond: str) -> float:
    """The share of accented Latin-1 letters in Latin words: text of an 8-bit code page of another script has little else."""
    if len(LEGACY_LETTER.findall(beyond)) < FEWEST_ACCENTED:
        return 0.0
    words = "".join(LATIN_WORD.findall(text))
    accented = len(words) - len(words.encode("ascii", "ignore"))
    return _share(accented, len(words)) if accented >= FEWEST_ACCENTED else 0.0


def _mojibake(text: str, beyond: str) -> float:
    """The share of what lies beyond ASCII that looks like UTF-8 read as an 8-bit code page."""
    if not TWICE.search(beyond):
        return 0.0
    inside = sum(map(len, TWICE.findall(text)))
    return _share(inside, len(beyond)) if inside >= FEWEST_TWICE else 0.0


def _pairs(sample: list[str]) -> float | None:
    """How likely the letters follow one another, where enough of the words are plain Latin ones: code and tables drop out."""
    folded = letter_pairs.fold(" ".join(sample))
    tokens = folded.split()
    words = letter_pairs.plain_words(tokens)
    return letter_pairs.likelihood(words) if _mostly_plain(words, len(tokens), folded) else None


def _mostly_plain(words: list[str], tokens: int, folded: str) -> bool:
    """Whether the plain words are enough of a text: of its tokens with a letter, and of the length of those from there on."""
    letters = len("".join(words))
    if len(words) >= PLAIN_WORDS * tokens and letters >= PLAIN_LETTERS * len(folded):
        return True  # enough of all tokens is enough of those with a letter
    with_letter = WITH_LETTER.findall(folded)
    return len(words) >= PLAIN_WORDS * len(with_letter) and letters >= PLAIN_LETTERS * sum(map(len, with_letter))


def _function_words(sample: list[str]) -> float | None:
    """The best share of function words over a hundred languages, among words of two letters and more."""
    words = [word.lower() for word in LETTER.findall(" ".join(sample)) if len(word) > 1]
    if len(words) < FEWEST_WORDS:
        return None
    languages = _languages()
    hits: Counter[str] = Counter()
    for word, times in Counter(words).items():
        for language in languages.get(word, ()):
            hits[language] += times
    return max(hits.values(), default=0) / len(words)


@cache
def _languages() -> dict[str, tuple[str, ...]]:
    """Each function word with the languages that use it. Single letters are left out: they would match every formula."""
    import justext

    found: dict[str, list[str]] = {}
    for language in sorted(justext.get_stoplists()):
        lines = (pkgutil.get_data("justext", f"stoplists/{language}.txt") or b"").split(b"\n", LISTED)
        for word in dict.fromkeys(line.decode("utf-8").strip().lower() for line in lines[:LISTED]):
            if len(word) > 1:
                found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def _odd_tokens(text: str, tokens: list[str]) -> float:
    """The share of words with signs or digits inside, without any vowel or fallen apart: what a poor OCR leaves behind."""
    words = [token[:LONGEST] for token in tokens if any(map(str.isalpha, token))]
    if len(words) < FEWEST_WORDS:
        return 0.0
    odd = sum(1 for word in words if ODD_TOKEN.search(word) or VOWELLESS.match(word.lower().strip(letter_pairs.AROUND)))
    apart = sum(len(run.split()) for run in APART.findall(text))
    return min((odd + apart) / len(tokens), 1.0)


def _repeated_lines(texts: dict[int, str]) -> dict[int, float]:
    """For each page the share of its lines that stood in the document before."""
    seen: set[int] = set()
    shares: dict[int, float] = {}
    for page, text in texts.items():
        lines = [line for line in map(str.strip, text.split("\n")) if len(line) > 3]
        new = set(map(hash, lines)) - seen
        seen |= new
        shares[page] = _share(len(lines) - len(new), len(lines)) if len(lines) >= FEWEST_LINES else 0.0
    return shares


def _share(part: int, whole: int) -> float:
    return min(part / whole, 1.0) if whole else 0.0
