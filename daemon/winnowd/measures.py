"""What is measured on each page, before anybody judges it.

Dear measures are taken only where a cheap look finds a reason; then the field tells the truth, else it holds its healthy value.
"""

import pkgutil
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import pairwise

from winnowd import letter_pairs
from winnowd.characters import TWICE
from winnowd.model import FURNITURE, Block, Extraction, Measures, Page

LISTED = 300  # first words of each list of function words; with all of them garbled text begins to match too
FEWEST_WORDS = 40  # below that the share of function words says nothing
SUSPICIOUS_PAIRS = -4.6  # two pages of a hundred lie below; only they are worth looking up their words
PLAIN_WORDS, PLAIN_LETTERS = 0.4, 0.15  # shares below which a page is code, names of parts, formulas, but no prose
FEWEST_LINES = 20  # a page of fewer may well be a form letter
HIDDEN = 0.5  # share of invisible characters from which a page counts as read by OCR
SAMPLE = 200  # words, spread evenly over the page: enough for a likelihood and for a share of function words

SPACES = " \t\n\r\x0b\x0c\x1c-\x1f\x85\xa0"
REPEATED = re.compile(r"(.)\1{2,}", re.DOTALL)
CID = re.compile(r"\(cid:\d+\)")
LETTER = re.compile(r"[^\W\d_]+")
WESTERN = "A-Za-z\u00aa-\u024f\u0370-\u052f\u0600-\u06ff"  # Latin, Greek, Cyrillic, Arabic: scripts with blanks between words
SINGLE = re.compile(rf"(?<![^\s])(?:[{WESTERN}] {{1,2}}){{4,}}[{WESTERN}](?![^\s.,;:!?)])")
LONG = re.compile(rf"(?<![\w/\\.@:=&?%#~-])[{WESTERN}]{{28,}}(?![\w/\\@=&?%#~])")
LEGACY_LETTER = re.compile("[\u00c0-\u00ff]")
LEGACY_WORD = re.compile(r"[A-Za-z\u00c0-\u00ff]*[\u00c0-\u00ff][A-Za-z\u00c0-\u00ff]*")
BESIDE_LOST = re.compile(r"(?<=[^\W\d_])\ufffd+|\ufffd+(?=[^\W\d_])")
ODD_TOKEN = re.compile(r"[A-Za-z]+[^A-Za-z\s'’.,/@&:_-]+[A-Za-z]+|[A-Za-z]+\d+[A-Za-z]+")
VOWELLESS = re.compile(r"[b-df-hj-np-tv-xz]{4,}\Z")


def measure(raw: Extraction, cleaned: Extraction) -> tuple[Page, ...]:
    """The pages with their measures: what cleaning takes away is measured in the raw text, the rest in the cleaned."""
    before, after = _texts(raw.blocks), _texts(cleaned.blocks)
    repeated = _repeated_lines(before)
    return tuple(
        replace(
            page, measures=_measures(page, before.get(page.index, ""), after.get(page.index, ""), repeated.get(page.index, 0.0))
        )
        for page in cleaned.pages
    )


def _texts(blocks: Iterable[Block]) -> dict[int, str]:
    parts: dict[int, list[str]] = {}
    for block in blocks:
        if block.kind not in FURNITURE:
            parts.setdefault(block.page or 0, []).append(block.text)
    return {page: "\n".join(lines) for page, lines in parts.items()}


def _measures(page: Page, raw: str, text: str, repeated: float) -> Measures:
    tokens = text.split()
    chars = sum(map(len, tokens))
    letters = sum(map(len, LETTER.findall(text)))
    bad, private = _spoilt(raw)
    cids = CID.findall(text) if "(cid:" in text else []
    sample = tokens[:: max(1, len(tokens) // SAMPLE)]
    pairs = _pairs(sample)
    return Measures(
        chars=chars,
        words=len(tokens),
        alphabetic=_share(letters, chars),
        bad_chars=bad,
        replacement=_share(sum(map(len, BESIDE_LOST.findall(raw))), letters) if "\ufffd" in raw else 0.0,
        private_use=private,
        cid_tokens=len(cids),
        cid_share=_share(sum(map(len, cids)), chars),
        single_letters=_single_letters(text, letters),
        long_tokens=_long_tokens(text, letters),
        legacy_letters=_legacy_letters(text),
        mojibake=_mojibake(text),
        repeated_lines=repeated,
        function_words=_function_words(sample) if pairs is not None and pairs < SUSPICIOUS_PAIRS else None,
        letter_pairs=pairs,
        odd_tokens=_odd_tokens(tokens) if page.hidden_share >= HIDDEN else 0.0,
    )


def _spoilt(raw: str) -> tuple[float, float]:
    """The share of characters that no text holds (control, unassigned, replacement), and of private ones.

    Runs of one character count as two: a dotted line of odd signs is one mistake, not a hundred.
    """
    if raw.isascii() and raw.isprintable():
        return 0.0, 0.0
    kinds = {char: _kind(char) for char in set(raw)}
    if not any(kinds.values()):
        return 0.0, 0.0
    short = REPEATED.sub(r"\1\1", raw)
    counts = {kind: sum(short.count(char) for char in kinds if kinds[char] == kind) for kind in ("bad", "private", "blank")}
    chars = len(short) - counts["blank"]
    return _share(counts["bad"], chars), _share(counts["private"], chars)


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
        if len(set(found)) >= 5 and rising * 2 < len(found):
            inside += len(found)
    return _share(inside, letters)


def _long_tokens(text: str, letters: int) -> float:
    """The share of the letters in words of 28 letters and more, where at least five such words differ."""
    found = LONG.findall(text)
    return _share(sum(map(len, found)), letters) if len(set(found)) >= 5 else 0.0


def _legacy_letters(text: str) -> float:
    """The share of accented Latin-1 letters in Latin words: text of an 8-bit code page of another script has little else."""
    if not LEGACY_LETTER.search(text):
        return 0.0
    words = [word for word in LEGACY_WORD.findall(text) if len(word) >= 3]
    accented = sum(len(word) - len(word.encode("ascii", "ignore")) for word in words)
    plain = sum(len(word) for word in re.findall(r"(?<![^\W\d_])[A-Za-z]{3,}(?![^\W\d_])", text)) if accented >= 40 else 0
    return _share(accented, plain + sum(map(len, words))) if accented >= 40 else 0.0


def _mojibake(text: str) -> float:
    """The share of what lies beyond ASCII that looks like UTF-8 read as an 8-bit code page."""
    if text.isascii():
        return 0.0
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return _share(sum(map(len, TWICE.findall(text))), beyond)


def _pairs(sample: list[str]) -> float | None:
    """How likely the letters follow one another, where enough of the words are plain Latin ones: code and tables drop out."""
    folded = letter_pairs.fold(" ".join(sample))
    words = letter_pairs.plain_words(folded)
    with_letter = [token for token in folded.split() if LETTER.search(token)]
    letters = sum(map(len, with_letter))
    if len(words) < PLAIN_WORDS * len(with_letter) or sum(map(len, words)) < PLAIN_LETTERS * letters:
        return None
    return letter_pairs.likelihood(words)


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
        lines = (pkgutil.get_data("justext", f"stoplists/{language}.txt") or b"").decode("utf-8").split("\n")
        for word in dict.fromkeys(line.strip().lower() for line in lines[:LISTED]):
            if len(word) > 1:
                found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def _odd_tokens(tokens: list[str]) -> float:
    """The share of words with signs or digits inside, or without any vowel: what a poor OCR leaves behind."""
    words = [token for token in tokens if any(map(str.isalpha, token))]
    if len(words) < FEWEST_WORDS:
        return 0.0
    odd = sum(1 for word in words if ODD_TOKEN.search(word) or VOWELLESS.match(word.lower().strip(letter_pairs.AROUND)))
    return odd / len(words)


def _repeated_lines(texts: dict[int, str]) -> dict[int, float]:
    """For each page the share of its lines that stood in the document before."""
    seen: set[int] = set()
    shares: dict[int, float] = {}
    for page, text in texts.items():
        lines = [hash(line) for line in map(str.strip, text.split("\n")) if len(line) > 3]
        again = 0
        for line in lines:
            again += line in seen
            seen.add(line)
        shares[page] = _share(again, len(lines)) if len(lines) >= FEWEST_LINES else 0.0
    return shares


def _share(part: int, whole: int) -> float:
    return min(part / whole, 1.0) if whole else 0.0
