"""Cleaning of single characters: what was decoded twice, what only looks like a letter or a blank, and what cannot be stored.

It hides the tables. Every step takes an extraction and returns it with what it did.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from winnowd.model import Block, BlockKind, Extraction, Fact, Metadata, OutlineEntry, Page, Step

MENDED_SHARE = 0.9
"""Text is mended only if so much of what lies beyond ASCII reads as UTF-8 decoded twice: good text holds no such pairs."""
MENDED_LEAST = 2  # sequences; one alone may be a quotation of the damage

_CP1252_TAIL = "€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
TWICE = re.compile(rf"[Â-ßà-ïð-ô][\x80-\xbf{_CP1252_TAIL}]{{1,3}}")
"""Bytes of UTF-8 as cp1252 shows them: a lead byte, then one to three continuation bytes."""

_LOST = "\0\x7f\u200b\u2060\ufeff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff"
_BLANKS = "\x01-\x08\x0e-\x1f\x80-\x84\x86-\x9f\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_BREAKS = "\x0b\x0c\r\x85\u2028\u2029"
_COMPATIBLE = "\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufdcf\ufdf0-\ufdfc\ufe70-\ufefc\uff01-\uff5e\uff65-\uff9f"

ODD = re.compile(rf"[{_LOST}{_BLANKS}{_BREAKS}{_COMPATIBLE}\u2010\u2011\u200c\u200d\ud800-\udfff]")
COMMON = {
    "\xa0": " ",
    "\u2002": " ",
    "\u2003": " ",
    "\u2009": " ",
    "\u202f": " ",
    "\u2010": "-",
    "\u2011": "-",
    "\u200b": "",
} | {"\ufeff": "", "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
"""The odd characters of most documents: what stands beside them does not matter, so the tables below need not be asked."""
LOST = re.compile(f"[{_LOST}]+")
BLANKS = re.compile(f"[{_BLANKS}]")
BREAKS = re.compile(f"\r\n|[{_BREAKS}]")
COMPATIBLE = re.compile(f"[{_COMPATIBLE}]+")
JOINER = re.compile("(?<![^\0-\u024f])[\u200c\u200d]|[\u200c\u200d](?![^\0-\u024f])")
"""A joiner beside Latin letters or blanks only gets in the way; between Persian or Indic letters it is spelling."""
SURROGATE = re.compile("[\ud800-\udfff]")

SOFT_HYPHENS = re.compile("\xad{2,}")
MARKS = {"¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "˘": "\u0306", "˝": "\u030b", "˚": "\u030a"}
ACCENT = re.compile(f"[{''.join(MARKS)}]")
APART = re.compile(f"(?<![\\W\\d_])([{''.join(MARKS)}])([A-Za-zı])|(?<!\\S)([{''.join(MARKS)}])([A-Z])(?=[a-z])")

KEPT_HYPHEN = re.compile("-\xad[ \t]*\n?[ \t]*")
DASH = re.compile("(?<!\\w)\xad(?=[ \t]|\\d)")
LINE_END = re.compile("\xad[ \t]*\n[ \t]*")
TEXT_END = re.compile("\xad\\s*\\Z")


def mend_mojibake(extraction: Extraction) -> tuple[Extraction, Step]:
    """Decode once what was decoded twice, where nearly everything beyond ASCII says so; otherwise leave it to the check."""
    text = "\n".join([block.text for block in extraction.blocks if not block.text.isascii()])
    sequences = [run for run in TWICE.findall(text) if _decoded_once(run) != run]
    beyond = len(text) - len(text.encode("ascii", "ignore")) if len(sequences) >= MENDED_LEAST else 0
    if not beyond or sum(map(len, sequences)) < MENDED_SHARE * beyond:
        return extraction, Step("mend_mojibake", 0)
    return _each(extraction, "mend_mojibake", lambda text: TWICE.sub(lambda match: _decoded_once(match[0]), text))


def normalise_characters(extraction: Extraction) -> tuple[Extraction, Step]:
    """Bring every text into NFC with plain blanks, hyphens and letters; take out what shows nothing or cannot be stored."""
    everything = _everything(extraction)
    odd = frozenset(ODD.findall(everything))
    if not odd and (everything.isascii() or unicodedata.is_normalized("NFC", everything)):
        return extraction, Step("normalise_characters", 0)
    common = odd <= COMMON.keys()
    return _each(extraction, "normalise_characters", (lambda text: _composed(_without(text, odd))) if common else normal)


def join_accents(extraction: Extraction) -> tuple[Extraction, Step]:
    """Put accents that a font sets apart back on their letters; the acute is left, since it is misused as an apostrophe."""
    everything = _everything(extraction)
    if not any(mark in everything for mark in MARKS):
        return extraction, Step("join_accents", 0)
    return _each(extraction, "join_accents", _with_accents)


def drop_soft_hyphens(extraction: Extraction) -> tuple[Extraction, Step]:
    """Take out the marks that say where a word may be divided, and put words together that were divided there."""
    if "\xad" not in _everything(extraction):
        return extraction, Step("drop_soft_hyphens", 0)
    return _each(extraction, "drop_soft_hyphens", _without_soft_hyphens)


def normal(text: str) -> str:
    r"""The text as it is stored and searched.

    >>> normal("e\ufb03cient\u00a0co\u2010op\u200b")
    'efficient co-op'
    >>> normal("\ud83d\udea2\udc00\0")
    '🚢'
    """
    odd = frozenset(ODD.findall(text))
    if odd <= COMMON.keys():
        text = _without(text, odd)
    else:
        if SURROGATE.search(text):
            # Pairs written one by one (as numeric references) are characters after all; what stands alone is not.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
        text = LOST.sub("", BREAKS.sub("\n", text))
        text = BLANKS.sub(" ", text).replace("\u2010", "-").replace("\u2011", "-")
        text = COMPATIBLE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
        text = JOINER.sub("", text)
    return _composed(text)


def _without(text: str, odd: frozenset[str]) -> str:
    """The text with what stands in its place for each of these common odd characters."""
    for char in odd:
        text = text.replace(char, COMMON[char])
    return text


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def reworded(block: Block, text: str, kind: BlockKind | None = None) -> Block:
    """The block with another text, and as another kind where one is given; `dataclasses.replace` takes three times as long."""
    return Block(kind or block.kind, text, block.page, block.level, block.box, block.size, block.bold, block.turned)


def _with_accents(text: str) -> str:
    if text.isascii() or not ACCENT.search(text):
        return text
    return APART.sub(_accented, text)


def _without_soft_hyphens(text: str) -> str:
    if "\xad" not in text:
        return text
    text = KEPT_HYPHEN.sub("-", SOFT_HYPHENS.sub("\xad", text))
    text = DASH.sub("-", text)
    # At the very end the other half may stand on the next page: a hyphen lets the later steps decide.
    text = TEXT_END.sub("-", LINE_END.sub("", text))
    return text.replace("\xad", "")


def _accented(match: re.Match[str]) -> str:
    """The letter with its accent, where there is one character for it."""
    accent, letter = match[1] or match[3], match[2] or match[4]
    whole = unicodedata.normalize("NFC", letter.replace("ı", "i") + MARKS[accent])
    return whole if len(whole) == 1 else match[0]


@lru_cache(maxsize=4096)
def _decoded_once(run: str) -> str:
    raw = b"".join(_byte(char) for char in run)
    for end in range(len(raw), 1, -1):  # the run may hold one more sign that belongs to nothing
        try:
            return raw[:end].decode("utf-8") + run[end:]
        except UnicodeDecodeError:
            continue
    return run


def _byte(char: str) -> bytes:
    try:
        return char.encode("cp1252")
    except UnicodeEncodeError:
        return char.encode("latin-1")  # the five bytes that cp1252 leaves open


def _everything(extraction: Extraction) -> str:
    """Every text that a person or a search may see, as one: a look at it tells whether a step has anything to do."""
    metadata = extraction.metadata
    texts: list[str | None] = [block.text for block in extraction.blocks]
    texts += [page.label for page in extraction.pages]
    for entry in extraction.outline:
        texts += (entry.title, entry.page_label)
    for fact in metadata.facts:
        texts += (fact.key, fact.value)
    texts += (metadata.title, metadata.author, metadata.created, metadata.modified, metadata.language, metadata.encoding)
    return "\n".join([text for text in texts if text])


def _each(extraction: Extraction, step: str, change: Callable[[str], str]) -> tuple[Extraction, Step]:
    """The extraction with a change made to every text that a person or a search may see."""
    blocks = tuple([_block(block, change) for block in extraction.blocks])
    touched = sum(new is not old for new, old in zip(blocks, extraction.blocks, strict=True))
    outline = tuple(_entry(entry, change) for entry in extraction.outline)
    pages = tuple(_page(page, change) for page in extraction.pages)
    metadata = _metadata(extraction.metadata, change)
    return replace(extraction, blocks=blocks, outline=outline, pages=pages, metadata=metadata), Step(step, touched)


# Most records stay as they are, and to make a new one costs more than to look.


def _block(block: Block, change: Callable[[str], str]) -> Block:
    text = change(block.text)
    return block if text == block.text else reworded(block, text)


def _entry(entry: OutlineEntry, change: Callable[[str], str]) -> OutlineEntry:
    title, label = change(entry.title), _maybe(entry.page_label, change)
    return entry if (title, label) == (entry.title, entry.page_label) else replace(entry, title=title, page_label=label)


def _page(page: Page, change: Callable[[str], str]) -> Page:
    label = _maybe(page.label, change)
    return page if label == page.label else replace(page, label=label)


def _fact(fact: Fact, change: Callable[[str], str]) -> Fact:
    key, value = change(fact.key), change(fact.value)
    return fact if (key, value) == (fact.key, fact.value) else replace(fact, key=key, value=value)


def _metadata(metadata: Metadata, change: Callable[[str], str]) -> Metadata:
    return replace(
        metadata,
        title=_maybe(metadata.title, change),
        author=_maybe(metadata.author, change),
        created=_maybe(metadata.created, change),
        modified=_maybe(metadata.modified, change),
        language=_maybe(metadata.language, change),
        encoding=_maybe(metadata.encoding, change),
        facts=tuple(_fact(fact, change) for fact in metadata.facts),
    )


def _maybe(text: str | None, change: Callable[[str], str]) -> str | None:
    return None if text is None else change(text)
