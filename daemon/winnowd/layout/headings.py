"""Headings of a whole document: known by size and weight beside the text they stand above, ranked by size."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from winnowd.model import Block

LARGER = 1.12
"""A heading without bold letters is larger than the text by this factor; 12 over 11 points (1.09) is also a change of font."""
LINES = 3
CHARS = 160
"""A heading is short."""
DEEPEST = 6
"""Levels beyond this are one: HTML has six, and so have people."""
ALONE_CHARS = 80
SMALLER = 0.92
"""Footnotes are set smaller than the text by at least this factor."""
_CODE_SHARE = 0.6
"""A document with more monospaced text than this was written on a typewriter, or looks like it: its paragraphs are no code."""
_NUMBER = re.compile(
    r"(?:(?:chapter|section|part|appendix|kapitel|teil|anhang|chapitre|annex)\s+)?(?:\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\.)\s",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""A heading has a word: large single letters are marks in figures and formulas."""
_FOOTNOTE = re.compile(r"(?:\d{1,3}|[*†‡§¶]+)[\s.)]*[^\W\d].{18}", re.DOTALL)
_Mark = tuple[float, bool, int]


def body_size(blocks: Sequence[Block]) -> float:
    """The letter size, in half points, in which most of the text is set; 0 for no text."""
    sizes: Counter[float] = Counter()
    for block in blocks:
        if block.size and block.kind in ("paragraph", "list_item", "code"):
            sizes[round(2 * block.size) / 2] += len(block.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def with_headings(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks of a document, with headings told apart and ranked from level 1, and footnotes.

    A heading is set larger than the text, or in bold where the text is not, or is a numbered line that stands alone. Sizes are
    ranked over the whole document, the largest first; below them bold headings, below these the merely numbered ones.
    """
    blocks = _without_typewriting(blocks)
    body = body_size(blocks)
    chars = sum(len(block.text) for block in blocks)
    bold_means = 2 * sum(len(block.text) for block in blocks if block.bold) < chars
    marks = [_mark(block, body, bold_means) or _numbered_alone(blocks, place, body) for place, block in enumerate(blocks)]
    ranks = _ranks([mark for mark in marks if mark])
    return tuple(
        replace(block, kind="heading", level=ranks[mark]) if mark else _as_footnote(block, body)
        for block, mark in zip(blocks, marks, strict=True)
    )


def _mark(block: Block, body: float, bold_means: bool) -> _Mark | None:
    """Size in points, boldness and depth of the number of a block that is a heading, None for any other."""
    if block.kind not in ("paragraph", "list_item") or block.turned or not block.size or not body:
        return None
    text = block.text.strip()
    if len(text) > CHARS or text.count("\n") >= LINES or not _WORD.search(text):
        return None
    number = _NUMBER.match(text)
    bold = block.bold and bold_means
    if block.size < LARGER * body and not (bold and block.size >= 0.95 * body):
        return None
    if (block.kind == "list_item" and not number) or (text[-1] in ".,;:" and not (number and len(text) < 60)):
        return None
    larger = block.size >= LARGER * body
    return (float(round(block.size)), bold, 0) if larger else (body, bold, -_depth(text))


def _numbered_alone(blocks: Sequence[Block], place: int, body: float) -> _Mark | None:
    """The mark of a numbered line among paragraphs: `II. METHODS`, `3.1 Sampling`. Among its like it is a list item."""
    block = blocks[place]
    text = block.text
    if block.kind not in ("list_item", "paragraph") or block.turned or "\n" in text or not 4 < len(text) <= ALONE_CHARS:
        return None
    number = _NUMBER.match(text)
    if not number or not block.size or block.size < 0.95 * body or text[-1] in ".,;:" or not text[number.end() :][:1].isupper():
        return None
    following = blocks[place + 1] if place + 1 < len(blocks) else None
    if following is None or following.page != block.page or following.kind not in ("list_item", "paragraph"):
        return None
    around = (*blocks[max(0, place - 1) : place], following)
    if any(other.kind == "list_item" and _numbering(other.text) in ("", _numbering(text)) for other in around):
        return None
    return body, False, -_depth(text)


def _depth(text: str) -> int:
    """How deep a number is: 2 for `3.1`, 1 for `IV.`; 0 without one."""
    number = _NUMBER.match(text)
    return number[0].strip().rstrip(".").count(".") + 1 if number else 0


def _numbering(text: str) -> str:
    """The kind of number a text begins with (1. I. A.), nothing for none."""
    number = _NUMBER.match(text)
    return "" if not number else re.sub(r"\d+", "1", re.sub(r"[IVX]+\.", "I.", number[0].strip()))


def _as_footnote(block: Block, body: float) -> Block:
    if block.kind in ("paragraph", "list_item") and block.size and block.size < SMALLER * body and _FOOTNOTE.match(block.text):
        return replace(block, kind="footnote")
    return block


def _ranks(marks: list[_Mark]) -> dict[_Mark, int]:
    ordered = sorted(set(marks), reverse=True)
    return {mark: min(DEEPEST, place + 1) for place, mark in enumerate(ordered)}


def _without_typewriting(blocks: Sequence[Block]) -> list[Block]:
    """Code as paragraphs where most of the document is monospaced."""
    code = sum(len(block.text) for block in blocks if block.kind == "code")
    if code <= _CODE_SHARE * sum(len(block.text) for block in blocks):
        return list(blocks)
    return [replace(block, kind="paragraph") if block.kind == "code" else block for block in blocks]
