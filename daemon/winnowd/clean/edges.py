"""The edges of pages: the outermost rows, from the outside inwards. It hides how lines without a place are placed."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple

from winnowd.model import FURNITURE, Block, Extraction, Page

EDGE = 0.25  # of the height of a page, at its top and at its bottom: small pages are printed on large sheets
ROWS = 3  # looked at on each edge
LINES = 4  # of a block that can belong to those rows
SAME_ROW = 4.0  # points between lines of one row
DETACHED = 1.8  # line heights to the next row, from which a row stands apart
BODY_SIZE = 1.15  # of the size of the body, from which a row is large: the title of a slide repeats now and then
HEIGHT = 1000.0  # of a page whose size nobody knows
OWN = frozenset({"table", "code", "caption"})
"""Kinds that belong to the text wherever they stand: the head of a table repeats on every page, and is no running header."""

CELLS = re.compile(r"\n|\t|\s{2,}")


# Named tuples, because a few of them are made for every page.


class EdgeLine(NamedTuple):
    """A line at the edge of a page: which line of which block, and where."""

    block: int
    line: int
    text: str
    y: float
    height: float
    size: float
    own: bool
    cells: tuple[str, ...]  # what stands apart in it, from left to right


class Row(NamedTuple):
    """Lines of one height; `depth` counts rows from the edge."""

    page: int
    top: bool
    depth: int
    lines: tuple[EdgeLine, ...]
    detached: bool
    body: float  # size of most of the text of the document

    @property
    def y(self) -> float:
        """The height at which it stands, in points."""
        return self.lines[0].y

    def is_large(self, line: EdgeLine) -> bool:
        """Whether one of its lines is larger than most of the text."""
        return self.body > 0 and line.size > BODY_SIZE * self.body


def edges_of(extraction: Extraction) -> Iterator[list[Row]]:
    """The outermost rows of each page: those of its top from above, then those of its bottom from below."""
    of_page: dict[int, list[int]] = defaultdict(list)
    sizes: Counter[float] = Counter()
    for number, block in enumerate(extraction.blocks):
        if block.page is not None and block.kind not in FURNITURE and block.text.strip():
            of_page[block.page].append(number)
            sizes[block.size or 0.0] += len(block.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    for page in extraction.pages:
        places = sorted(_places(extraction.blocks, of_page[page.index], page), key=itemgetter(0))
        yield _rows(extraction.blocks, places, page, body, top=True)
        yield _rows(extraction.blocks, places[::-1], page, body, top=False)


_Place = tuple[float, float, int, int, str]
"""Of a line: y, height, number of its block, its own number, and its text. Of ten lines nine stay no more than that."""


def _places(blocks: tuple[Block, ...], numbers: list[int], page: Page) -> list[_Place]:
    """The lines that may belong to the edges. Those of a block share its place evenly; without places their order stands in."""
    placed = page.height > 0 and all(blocks[number].box is not None for number in numbers)
    total = 0 if placed else sum(blocks[number].text.count("\n") + 1 for number in numbers)
    before = 0
    found = list[_Place]()
    for number in numbers:
        block = blocks[number]
        texts = block.text.split("\n")
        if block.box is not None and page.height > 0:
            start, height = block.box[1], (block.box[3] - block.box[1]) / len(texts)
        else:
            start, height = before * HEIGHT / total, HEIGHT / total
        near = range(len(texts)) if len(texts) <= 2 * LINES else [*range(LINES), *range(len(texts) - LINES, len(texts))]
        found += [(start + line * height, height, number, line, texts[line]) for line in near if texts[line].strip()]
        before += len(texts)
    return found


def _rows(blocks: tuple[Block, ...], places: list[_Place], page: Page, body: float, *, top: bool) -> list[Row]:
    page_height = page.height if page.height > 0 else HEIGHT
    groups: list[list[_Place]] = []
    for place in places:
        if groups and abs(place[0] - groups[-1][0][0]) < SAME_ROW:
            groups[-1].append(place)
        elif len(groups) <= ROWS:
            groups.append([place])
        else:
            break
    rows = []
    for depth, group in enumerate(groups[:ROWS]):
        y, height = group[0][:2]
        if y > EDGE * page_height if top else y + height < (1 - EDGE) * page_height:
            break
        detached = depth + 1 == len(groups) or abs(groups[depth + 1][0][0] - y) > DETACHED * height
        in_order = sorted(group, key=itemgetter(2, 3))
        rows.append(Row(page.index, top, depth, tuple(_line(blocks, place) for place in in_order), detached, body))
    return rows


def _line(blocks: tuple[Block, ...], place: _Place) -> EdgeLine:
    y, height, number, line, text = place
    block = blocks[number]
    cells = tuple(cell for cell in CELLS.split(text) if cell.strip())
    return EdgeLine(number, line, text, y, height, block.size or 0.0, block.kind in OWN, cells)
