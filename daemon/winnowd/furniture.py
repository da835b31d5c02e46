"""Running headers, footers and page numbers: what repeats or counts at the edge of the pages is set aside.

It hides how that is recognised. Rows are taken from the outside of each page inwards, and the first that is no furniture ends
it, so that a heading which stands at the same height in the body of every page is safe. Two pages are no evidence.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from winnowd.edges import CELLS, Row, edges_of
from winnowd.model import FURNITURE, Block, BlockKind, Extraction, Step

FEWEST_PAGES = 3
SAME_HEIGHT = 6.0  # points between rows of two pages at the same height
REPEATS = 3  # pages, at the very least
SHARE_OF_FEW, SHARE_OF_MANY, MANY = 0.5, 0.25, 8
"""A row repeats on half of the pages; of eight pages and more on a quarter, since left and right pages often differ."""
MOST = 0.6  # of the pages have a row apart from their text: then one that changes with the chapter needs no quarter of them
DENSE = 0.5  # share of the pages between the first and the last of a sequence of numbers that carry one

DIGITS = re.compile(r"\d+")
WORD = re.compile(r"[^\W\d_]{2,}")
ROMAN = re.compile(r"(?=[ivxlc])(c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3}))\Z", re.IGNORECASE)
ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
AROUND_NUMBER = " .,:;|·•*()[]<>-–—~/"
ONLY_NUMBER = re.compile(r"\W*(?:[^\W\d_]{1,6}\.?\W+)?#(?:\W+(?:[^\W\d_]{1,4}\W+)?[#\d]+)?\W*\Z")
"""A page number alone: "#", "- # -", "Page #", "Seite # von 12", "#/12"."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the edges of all pages say together."""

    pages: int
    folios: dict[tuple[bool, str, int], frozenset[int]]  # edge, kind and number minus page index: the pages that carry it
    heights: dict[tuple[bool, str], Counter[int]]  # edge and masked cell: at which heights it stands
    detached: dict[bool, Counter[int]]  # edge: how many pages have an outermost row apart from their text, by height


def set_furniture_aside(extraction: Extraction) -> tuple[Extraction, Step]:
    """Make furniture of the lines at the edge of the pages that repeat or count.

    The first occurrence of a line stays in the text where it holds a word that stands nowhere else: no word is lost to search.
    """
    if not extraction.paged:
        return extraction, Step("set_furniture_aside", 0)
    edges = list(edges_of(extraction))
    few = len(extraction.pages) < FEWEST_PAGES
    evidence = _counted(len(extraction.pages)) if few else _evidence(edges, len(extraction.pages))
    taken = [(row, kind) for edge in edges for row, kind in _peeled(edge, evidence)]
    marked: dict[int, dict[int, BlockKind]] = defaultdict(dict)
    for row, kind in taken:
        for line in row.lines:
            marked[line.block][line.line] = kind
    kept = _kept_once(extraction.blocks, taken, marked, evidence)
    blocks: list[Block] = []
    for number, block in enumerate(extraction.blocks):
        blocks.extend(_divided(block, marked[number], kept.get(number, {})) if number in marked else (block,))
    lines = dict.fromkeys(line.text.strip() for row, kind in taken if kind != "page_number" for line in row.lines)
    return replace(extraction, blocks=tuple(blocks)), Step("set_furniture_aside", len(taken), tuple(lines))


def _evidence(edges: list[list[Row]], pages: int) -> _Evidence:
    carried: dict[tuple[bool, str, int], set[int]] = defaultdict(set)
    for row in _all(edges):
        for kind, value in _numbers(row):
            carried[row.top, kind, value - row.page].add(row.page)
    folios = {key: frozenset(on) for key, on in carried.items() if _is_sequence(on)}
    found = _Evidence(pages, folios, defaultdict(Counter), {True: Counter(), False: Counter()})
    for row in _all(edges):
        for masked in {_masked(cell, row, found) for cell in row.cells} - {"#", ""}:
            found.heights[row.top, masked][_step(row.y)] += 1
        if row.depth == 0 and row.detached:
            found.detached[row.top][_step(row.y)] += 1
    return found


def _counted(pages: int) -> _Evidence:
    """For a document of one or two pages: only that a number which counts its pages from 1 is a page number."""
    folios = {(top, "arabic", 1): frozenset(range(pages)) for top in (True, False)}
    return _Evidence(pages, folios, {}, {True: Counter(), False: Counter()})


def _all(edges: list[list[Row]]) -> Iterator[Row]:
    return (row for edge in edges for row in edge)


def _is_sequence(pages: set[int]) -> bool:
    return len(pages) >= REPEATS and len(pages) >= DENSE * (max(pages) - min(pages) + 1)


def _numbers(row: Row) -> set[tuple[str, int]]:
    """The numbers at the ends of the cells of a row: what a page number may be."""
    found = set()
    for cell in row.cells:
        tokens = cell.split()
        for token in {tokens[0], tokens[-1]} | ({tokens[1]} if len(tokens) > 1 else set()):
            value = _number(token)
            if value is not None:
                found.add(value)
    return found


def _number(token: str) -> tuple[str, int] | None:
    token = token.strip(AROUND_NUMBER).partition("/")[0]
    if token.isdecimal() and len(token) <= 5:
        return "arabic", int(token)
    if token and len(token) <= 8 and ROMAN.match(token):
        values = [ROMAN_VALUES[char] for char in token.lower()]
        following = [*values[1:], 0]
        return "roman", sum(-a if a < b else a for a, b in zip(values, following, strict=True))
    return None


def _masked(cell: str, row: Row, evidence: _Evidence) -> str:
    """A cell without what changes from page to page: its number becomes #, and so do other digits."""
    words = []
    for token in cell.split():
        value = _number(token)
        is_folio = value is not None and row.page in evidence.folios.get((row.top, value[0], value[1] - row.page), ())
        words.append("#" if is_folio else DIGITS.sub("#", token.lower()))
    return " ".join(words)


def _step(y: float) -> int:
    return round(y / SAME_HEIGHT)


def _peeled(edge: list[Row], evidence: _Evidence) -> Iterator[tuple[Row, BlockKind]]:
    for row in edge:
        kind = _kind(row, evidence)
        if kind is None:
            return
        yield row, kind


def _kind(row: Row, evidence: _Evidence) -> BlockKind | None:
    """What furniture a row is; None where it is none."""
    numbered = any(row.page in evidence.folios.get((row.top, kind, value - row.page), ()) for kind, value in _numbers(row))
    masked = [_masked(cell, row, evidence) for cell in row.cells]
    if numbered and all(ONLY_NUMBER.match(cell) for cell in masked):
        return "page_number"
    own_cell = numbered and evidence.pages >= FEWEST_PAGES and any(ONLY_NUMBER.match(cell) for cell in masked)
    if own_cell or any(_repeats(cell, row, evidence) for cell in masked):
        return "running_header" if row.top else "running_footer"
    return None


def _repeats(masked: str, row: Row, evidence: _Evidence) -> bool:
    if not any(map(str.isalnum, masked)):
        return False  # a rule, or a number that is no page number
    here = _near(evidence.heights.get((row.top, masked), Counter()), row.y)
    if here < REPEATS:
        return False
    if here >= SHARE_OF_FEW * evidence.pages:
        return True
    if row.large:
        return False
    if evidence.pages >= MANY and here >= SHARE_OF_MANY * evidence.pages:
        return True
    return row.detached and _near(evidence.detached[row.top], row.y) >= MOST * evidence.pages


def _near(heights: Counter[int], y: float) -> int:
    step = _step(y)
    return heights[step - 1] + heights[step] + heights[step + 1]


def _kept_once(
    blocks: tuple[Block, ...], taken: list[tuple[Row, BlockKind]], marked: dict[int, dict[int, BlockKind]], evidence: _Evidence
) -> dict[int, dict[int, str]]:
    """The cells that stay in the text, by block and line: first occurrences that hold a word which is nowhere else."""
    candidates = [(row, line) for row, kind in taken if kind != "page_number" for line in row.lines]
    if not candidates:
        return {}
    body = set(_body_words(blocks, marked))
    headings = {" ".join(block.text.split()) for block in blocks if block.kind == "heading"}
    seen: set[str] = set()
    kept: dict[int, dict[int, str]] = defaultdict(dict)
    for row, line in sorted(candidates, key=lambda pair: (pair[0].page, not pair[0].top)):
        stay = []
        for cell in CELLS.split(line.text):
            masked = _masked(cell, row, evidence)
            cell = _without_heading(cell, headings)
            if masked not in seen and not body.issuperset(WORD.findall(cell.lower())):
                stay.append(cell)
            seen.add(masked)
        if stay:
            kept[line.block][line.line] = "  ".join(stay)
            body.update(WORD.findall(line.text.lower()))
    return kept


def _without_heading(cell: str, headings: set[str]) -> str:
    """What a header says beside the heading of its chapter, which the text has where it belongs."""
    words = cell.split()
    for cut in range(len(words)):
        if " ".join(words[cut:]) in headings:
            return " ".join(words[:cut])
        if " ".join(words[: len(words) - cut]) in headings:
            return " ".join(words[len(words) - cut :])
    return " ".join(words)


def _body_words(blocks: tuple[Block, ...], marked: dict[int, dict[int, BlockKind]]) -> Iterable[str]:
    for number, block in enumerate(blocks):
        if block.kind in FURNITURE:
            continue
        if number not in marked:
            yield from WORD.findall(block.text.lower())
            continue
        for index, line in enumerate(block.text.split("\n")):
            if index not in marked[number]:
                yield from WORD.findall(line.lower())


def _divided(block: Block, kinds: dict[int, BlockKind], kept: dict[int, str]) -> Iterator[Block]:
    """The block in runs of lines of one kind; what stays of a furniture line follows it as text."""
    run: list[str] = []
    run_kind: BlockKind = block.kind
    for index, line in enumerate(block.text.split("\n")):
        kind = kinds.get(index, block.kind)
        if kind != run_kind and run:
            yield replace(block, kind=run_kind, text="\n".join(run))
            run = []
        run_kind = kind
        if index in kept:
            yield replace(block, text=kept[index])
            gone = line.replace(kept[index], "", 1).strip()
            run += [gone] if gone else []
        else:
            run.append(line)
    if run:
        yield replace(block, kind=run_kind, text="\n".join(run))
