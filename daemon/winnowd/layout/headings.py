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
_CODE_SHARE = 0.6
"""A document with more monospaced text than this was written on a typewriter, or looks like it: its paragraphs are no code."""
_SENTENCE_END = re.compile(r"[.,;]$|[,;:]\s*$")
_NUMBER = re.compile(r"(?:(?:chapter|section|part|appendix|kapitel|teil|anhang|chapitre|annex)\s+)?(?:\d+(?:\.\d+)*\.?|[A-Z]\.|[IVX]+\.)\s", re.IGNORECASE)


def body_size(blocks: Sequence[Block]) -> float:
    """The letter size, in half points, in which most of the text is set; 0 for no text."""
    sizes: Counter[float] = Counter()
    for block in blocks:
        if block.size and block.kind in ("paragraph", "list_item", "code"):
            sizes[round(2 * block.size) / 2] += len(block.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def with_headings(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks of a document, with headings told apart and ranked from level 1.

    A heading is set larger than the text, or in bold where the text is not; sizes are ranked over the whole document, the largest first.
    """
    blocks = _without_typewriting(blocks)
    body = body_size(blocks)
    bold_chars = sum(len(block.text) for block in blocks if block.bold)
    bold_means = 2 * bold_chars < sum(len(block.text) for block in blocks)
    marks = [_weight(block, body, bold_means) for block in blocks]
    ranks = _ranks([mark for mark in marks if mark])
    return tuple(
        replace(block, kind="heading", level=ranks[mark], text=block.text) if mark else block
        for block, mark in zip(blocks, marks, strict=True)
    )


def _weight(block: Block, body: float, bold_means: bool) -> tuple[float, bool] | None:
    """Size in half points and boldness of a block that is a heading, None for any other."""
    if block.kind not in ("paragraph", "list_item") or not block.size or not body:
        return None
    text = block.text.strip()
    if len(text) > CHARS or text.count("\n") >= LINES or sum(map(str.isalpha, text)) < 2:
        return None
    larger = block.size >= LARGER * body
    bold = block.bold and bold_means and block.size >= 0.95 * body
    if not larger and not bold or block.kind == "list_item" and not _NUMBER.match(text):
        return None
    if _SENTENCE_END.search(text) and not (_NUMBER.match(text) and len(text) < 60):
        return None
    return max(round(2 * block.size) / 2, body), block.bold and bold_means


def _ranks(marks: list[tuple[float, bool]]) -> dict[tuple[float, bool], int]:
    ordered = sorted(set(marks), reverse=True)
    return {mark: min(DEEPEST, place + 1) for place, mark in enumerate(ordered)}


def _without_typewriting(blocks: Sequence[Block]) -> list[Block]:
    """Code as paragraphs where most of the document is monospaced."""
    code = sum(len(block.text) for block in blocks if block.kind == "code")
    if code <= _CODE_SHARE * sum(len(block.text) for block in blocks):
        return list(blocks)
    return [replace(block, kind="paragraph") if block.kind == "code" else block for block in blocks]
