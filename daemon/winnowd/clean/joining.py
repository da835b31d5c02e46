"""Puts together what a page took apart: divided words, the lines of a paragraph, paragraphs over columns and pages."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from winnowd.clean.characters import reworded
from winnowd.clean.hyphens import DIVISION, together, vocabulary, without_divisions
from winnowd.model import FURNITURE, Block, Extraction, Step

LINED = frozenset({"code", "table"})
"""Kinds whose line breaks mean something and stay."""
SENTENCE_CHARS = 600  # what goes on longer than this without an end is a list or a table, and stays on its page
PARAGRAPH_CHARS = 5000  # a paragraph is not joined to beyond this
FULL_LINE = 60  # characters; shorter ones may be entries of a list that begin in lower case
BACK = 20  # blocks of furniture and footnotes between the two halves of a paragraph

CJK = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"  # Han, Kana and their signs; Hangul has blanks
BEFORE_CJK = re.compile(rf"\n[ \t]*[{CJK}]")  # found much faster than what stands on both sides of a line end
CJK_BREAK = re.compile(rf"(?<=[{CJK}])[ \t]*\n[ \t]*(?=[{CJK}])")
SENTENCE_END = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*(?=\s)")
DIVIDED = re.compile(r"[^\W\d_]{2}-\Z")
ENDED = re.compile(r"[.!?…:;。！？][\"'”’»)\]\d]*\Z")  # a footnote mark may follow the stop


def join_hyphens(extraction: Extraction) -> tuple[Extraction, Step]:
    """Join the words that were divided at a line end, and keep the hyphen where it belongs to the word."""
    hyphened = [block for block in extraction.blocks if "-" in block.text and block.kind not in LINED]
    divided = [block for block in hyphened if DIVISION.search(block.text)]
    if not divided:
        return extraction, Step("join_hyphens", 0)
    known = vocabulary(extraction.blocks)
    joined = {id(block): without_divisions(block.text, known) for block in divided}
    blocks = tuple(reworded(block, joined[id(block)][0]) if id(block) in joined else block for block in extraction.blocks)
    return replace(extraction, blocks=blocks), Step("join_hyphens", sum(count for _, count in joined.values()))


def unwrap_lines(extraction: Extraction) -> tuple[Extraction, Step]:
    """Make one line of every paragraph, heading, list item, caption and footnote; tables and code keep their lines."""
    blocks = [_unwrapped(block) for block in extraction.blocks]
    changed = [(old, new) for old, new in zip(extraction.blocks, blocks, strict=True) if new is not old]
    touched = sum("\n" in old.text and "\n" not in new.text for old, new in changed)
    return replace(extraction, blocks=tuple([block for block in blocks if block.text])), Step("unwrap_lines", touched)


def join_paragraphs(extraction: Extraction) -> tuple[Extraction, Step]:
    """Join the halves of a paragraph that goes on in the next column, or below a formula or figure, of the same page."""

    def whole(block: Block, following: Block) -> tuple[str, str] | None:
        if block.page != following.page or block.box is None or following.box is None:
            return None  # without places the paragraphs are those of an author, not of a page
        next_column = following.box[1] < block.box[1]
        return (following.text, "") if next_column or len(block.text) >= FULL_LINE else None

    return _joined(extraction, "join_paragraphs", whole)


def finish_sentences(extraction: Extraction, apart: frozenset[int]) -> tuple[Extraction, Step]:
    """Move the rest of a sentence to the page where it began.

    Pages in `apart` are left as they are, on either side: their text waits for a person and may not become searchable as
    part of a good page.
    """

    def head(block: Block, following: Block) -> tuple[str, str] | None:
        if not _turned(block, following, apart):
            return None
        end = SENTENCE_END.search(following.text)
        stop = end.end() if end else len(following.text)
        return (following.text[:stop], following.text[stop:].lstrip()) if stop <= SENTENCE_CHARS else None

    return _joined(extraction, "finish_sentences", head)


Continued = Callable[[Block, Block], tuple[str, str] | None]
"""Of a paragraph and the next: what of the next belongs to the first, and what remains; None where they stay apart."""


def _joined(extraction: Extraction, step: str, continued: Continued) -> tuple[Extraction, Step]:
    @cache
    def known() -> Counter[str]:
        return vocabulary(extraction.blocks)

    done: list[Block] = []
    touched = 0
    for block in extraction.blocks:
        last = _last_paragraph(done) if _may_follow(block) else None
        parts = continued(done[last], block) if last is not None and _goes_on(done[last], block) else None
        if last is None or parts is None:
            done.append(block)
            continue
        touched += 1
        words = known() if done[last].text.endswith("-") else Counter[str]()
        done[last] = reworded(done[last], together(done[last].text, parts[0], words))
        if parts[1]:
            done.append(reworded(block, parts[1]))
    return replace(extraction, blocks=tuple(done)), Step(step, touched)


def _last_paragraph(done: list[Block]) -> int | None:
    """Where the paragraph stands that the next block may continue: furniture and footnotes lie between, nothing else."""
    for index in range(len(done) - 1, max(len(done) - BACK, 0) - 1, -1):
        kind = done[index].kind
        if kind not in FURNITURE and kind != "footnote":
            return index if kind == "paragraph" else None
    return None


def _may_follow(block: Block) -> bool:
    """Whether a block may be the rest of another, whatever that is."""
    first = block.text[:1]
    return block.kind == "paragraph" and (first.isalpha() or first.islower())  # a small Roman numeral is no letter


def _goes_on(block: Block, following: Block) -> bool:
    """Whether a paragraph has no end and the next no beginning."""
    if len(block.text) > PARAGRAPH_CHARS:
        return False
    if DIVIDED.search(block.text[-3:]):
        return following.text[:1].isalpha()
    return following.text[:1].islower() and ENDED.search(block.text[-8:]) is None


def _turned(block: Block, following: Block, apart: frozenset[int]) -> bool:
    if block.page is None or following.page is None or following.page != block.page + 1:
        return False
    return block.page not in apart and following.page not in apart


def _one_line(text: str) -> str:
    """The text with single blanks for its line ends and runs of blanks; but for tabs all blanks are plain ones by now."""
    text = text.replace("\n", " ")
    # Two blanks together are rare, and to take a text apart into its words is dear.
    return " ".join(text.split()) if "  " in text or "\t" in text else text.strip()


def _unwrapped(block: Block) -> Block:
    text = block.text
    if block.kind in LINED:
        text = "\n".join(map(str.rstrip, text.split("\n"))).strip("\n")
    else:
        text = _one_line(CJK_BREAK.sub("", text) if not text.isascii() and BEFORE_CJK.search(text) else text)
    return block if text == block.text else reworded(block, text)
