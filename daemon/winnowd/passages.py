"""Passages: the cleaned text cut where a reader would cut it, each piece with its page and the headings above it.

In order they are the whole text: no overlap, no gap. It hides where a long paragraph is cut, and how many pieces become few.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from winnowd.model import FURNITURE, Block, Extraction, Passage

VERSION = 1  # part of the recipe

TARGET = 1200
"""Characters. Long enough to hold a thought, short enough to be shown; ranking by passage is at its best from 500 to 2,000."""
TINY = 200  # a last piece shorter than this joins the one before it
HARD = 4 * TARGET  # a word longer than this is cut after all
MOST = 65_000  # passages of a document: an identifier leaves 16 bits for the ordinal
PATH_CHARS = 300
TITLE_CHARS = 100

SENTENCE = re.compile(r"[.!?…][\"'”’»)\]]*\s+|[。！？]+[」』”’）]*\s*")
CLAUSE = re.compile(r"\s+|[、，；：]")
LINE = re.compile(r"\n+")
PARAGRAPH_GAP, LINE_GAP = "\n\n", "\n"


class _Piece(NamedTuple):
    """Text that is not cut any more, and what stands between it and the piece before it inside a passage.

    A named tuple, because one is made for every block.
    """

    text: str
    gap: str


class _Section(NamedTuple):
    """Blocks of one page under one heading."""

    page: int | None
    path: str | None
    blocks: tuple[Block, ...]


def split(extraction: Extraction) -> tuple[Passage, ...]:
    """The passages of a cleaned extraction, furniture left out, with ordinals from 0."""
    labels = {page.index: page.label for page in extraction.pages}
    numbers = count()
    found = [
        Passage(next(numbers), section.path, *_place(extraction, section, labels), text)
        for section in _sections(extraction.blocks)
        for text in _packed(section.blocks)
    ]
    return tuple(_fewer(found))


def _place(extraction: Extraction, section: _Section, labels: dict[int, str | None]) -> tuple[int | None, str | None]:
    """The page of a section and its label; a format without pages has neither, though its text is measured as one page."""
    if not extraction.paged or section.page is None:
        return None, None
    return section.page, labels.get(section.page)


def _sections(blocks: Iterable[Block]) -> Iterator[_Section]:
    """Runs of blocks that one passage may hold: a heading opens a section, and so does a new page."""
    trail: list[tuple[int, str]] = []
    run: list[Block] = []
    for block in blocks:
        if block.kind in FURNITURE or not block.text.strip():
            continue
        if run and (block.page != run[-1].page or (block.kind == "heading" and not _opens(run, block))):
            yield _Section(run[0].page, _path(trail), tuple(run))
            run = []
        if block.kind == "heading":
            level = block.level or 1
            trail = [(above, title) for above, title in trail if above < level]
            trail.append((level, " ".join(block.text.split())))
        run.append(block)
    if run:
        yield _Section(run[0].page, _path(trail), tuple(run))


def _opens(run: list[Block], heading: Block) -> bool:
    """A heading right below a heading of a higher level opens the same passage."""
    return run[-1].kind == "heading" and (run[-1].level or 1) < (heading.level or 1)


def _path(trail: list[tuple[int, str]]) -> str | None:
    """The headings above a passage, outermost first; where they are too long the outermost go.

    >>> _path([(1, "Bees"), (2, "Hives")])
    'Bees > Hives'
    """
    titles = [_short(title) for _, title in trail if title]
    while len(titles) > 1 and len(" > ".join(titles)) > PATH_CHARS:
        titles = ["…", *titles[1:]] if titles[0] != "…" else ["…", *titles[2:]]
    return " > ".join(titles) or None


def _short(title: str) -> str:
    if len(title) <= TITLE_CHARS:
        return title
    return title[:TITLE_CHARS].rpartition(" ")[0].rstrip() + "…" if " " in title[:TITLE_CHARS] else title[:TITLE_CHARS] + "…"


def _packed(blocks: tuple[Block, ...]) -> list[str]:
    """The texts of the passages of a section, each filled up to the target."""
    groups: list[list[_Piece]] = []
    size = 0
    for piece in _pieces(blocks):
        length = len(piece.gap) + len(piece.text)
        if not groups or (size >= TINY and size + length > TARGET):
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += length
    if len(groups) > 1 and size < TINY:
        rest = groups.pop()
        groups[-1] += rest
    return [group[0].text + "".join(piece.gap + piece.text for piece in group[1:]) for group in groups]


def _pieces(blocks: tuple[Block, ...]) -> Iterator[_Piece]:
    """The blocks, cut where one alone would overfill a passage."""
    after_heading = False
    for block in blocks:
        gap = LINE_GAP if after_heading else PARAGRAPH_GAP
        lined = block.kind in ("code", "table")
        whole = len(block.text) <= TARGET
        for number, text in enumerate((block.text,) if whole else _cut(block.text, lined=lined)):
            yield _Piece(text, gap if number == 0 else (LINE_GAP if lined else " "))
        after_heading = block.kind == "heading"


def _cut(text: str, *, lined: bool) -> Iterator[str]:
    """The text in pieces of about the target: at a line where lines mean something, else a sentence, else a blank."""
    ends = (LINE,) if lined else (SENTENCE, CLAUSE)
    at = 0
    while len(text) - at > TARGET:
        stop = _stop(text, at, ends)
        piece = text[at:stop].rstrip("\n" if lined else None)
        if piece:
            yield piece
        at = stop
    if text[at:].strip():
        yield text[at:]


def _stop(text: str, at: int, ends: tuple[re.Pattern[str], ...]) -> int:
    """Where the piece that begins at `at` ends."""
    for end in (*ends, CLAUSE):
        last = None
        for match in end.finditer(text, at, at + TARGET + 1):
            last = match.end()
        if last is not None and last - at >= TARGET // 3:
            return last
    blank = CLAUSE.search(text, at + 1, at + HARD)
    return blank.end() if blank else min(at + HARD, len(text))


def _fewer(passages: list[Passage]) -> Iterable[Passage]:
    """The same text in no more passages than can be numbered; where that takes joining, the first page and heading stand."""
    size = -(-len(passages) // MOST)
    if size <= 1:
        return passages
    groups = (passages[at : at + size] for at in range(0, len(passages), size))
    return [
        replace(group[0], ordinal=ordinal, text=PARAGRAPH_GAP.join(passage.text for passage in group))
        for ordinal, group in enumerate(groups)
    ]
