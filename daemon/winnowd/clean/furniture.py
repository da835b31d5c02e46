"""Running headers, footers and page numbers: what repeats or counts at the edge of the pages is set aside.

It hides how that is recognised. Rows are taken from the outside of each page inwards, and the first that is no furniture ends
it, so that a heading which stands at the same height in the body of every page is safe. Two pages are no evidence.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from winnowd.clean.characters import reworded
from winnowd.clean.edges import EdgeLine, Row, edges_of
from winnowd.clean.folios import REPEATS, is_sequence, may_hold_number, number_of, numbers_of, only_number
from winnowd.model import FURNITURE, Block, BlockKind, Extraction, Step

FEWEST_PAGES = 3
SAME_HEIGHT = 6.0  # points between rows of two pages at the same height
SHARE_OF_FEW, SHARE_OF_MANY, MANY = 0.5, 0.25, 8
"""A row repeats on half of the pages; of eight pages and more on a quarter, since left and right pages often differ."""
MOST = 0.6  # of the pages have a row apart from their text: then one that changes with the chapter needs no quarter of them

DIGITS = re.compile(r"\d+")
WORD = re.compile(r"[^\W\d_]{2,}")
LETTER = re.compile(r"[^\W\d_]")
SOUGHT = 50  # words looked for in a text one by one; more are looked for in the set of its words


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What the edges of all pages say together."""

    pages: int
    folios: dict[tuple[bool, str, int], frozenset[int]]  # edge, kind and number minus page index: the pages that carry it
    heights: dict[tuple[bool, str], Counter[int]]  # edge and masked cell: on how many pages, by height
    detached: dict[bool, Counter[int]]  # edge: how many pages have an outermost row apart from their text, by height


Taken = list[tuple[Row, EdgeLine, BlockKind]]
"""The lines that are furniture, and as what."""


def set_furniture_aside(extraction: Extraction) -> tuple[Extraction, Step]:
    """Make furniture of the lines at the edge of the pages that repeat or count.

    The first occurrence of a line stays in the text where it holds a word that stands nowhere else: no word is lost to search.
    """
    if not extraction.paged:
        return extraction, Step("set_furniture_aside", 0)
    edges = list(edges_of(extraction))
    few = len(extraction.pages) < FEWEST_PAGES
    evidence = _counted(len(extraction.pages)) if few else _evidence(edges, len(extraction.pages))
    taken = [found for edge in edges for found in _peeled(edge, evidence)]
    marked: dict[int, dict[int, BlockKind]] = defaultdict(dict)
    for _, line, kind in taken:
        marked[line.block][line.line] = kind
    if not taken or _nothing_else(extraction.blocks, marked):
        return extraction, Step("set_furniture_aside", 0)
    kept = _kept_once(extraction.blocks, taken, marked, evidence)
    blocks: list[Block] = []
    for number, block in enumerate(extraction.blocks):
        blocks.extend(_divided(block, marked[number], kept.get(number, {})) if number in marked else (block,))
    lines = dict.fromkeys(line.text.strip() for _, line, kind in taken if kind != "page_number")
    return replace(extraction, blocks=tuple(blocks)), Step("set_furniture_aside", len(taken), tuple(lines))


def _evidence(edges: list[list[Row]], pages: int) -> _Evidence:
    carried: dict[tuple[bool, str, int], set[int]] = defaultdict(set)
    for row, line in _all(edges):
        for kind, value in numbers_of(line.cells):
            carried[row.top, kind, value - row.page].add(row.page)
    folios = {key: frozenset(on) for key, on in carried.items() if is_sequence(on)}
    found = _Evidence(pages, folios, defaultdict(Counter), {True: Counter(), False: Counter()})
    standing = {
        (row.top, _key(_masked(cell, row, found)), _step(row.y), row.page) for row, line in _all(edges) for cell in line.cells
    }
    for top, masked, step, _ in standing:
        found.heights[top, masked][step] += 1
    for edge in edges:
        if edge and edge[0].detached:
            found.detached[edge[0].top][_step(edge[0].y)] += 1
    return found


def _counted(pages: int) -> _Evidence:
    """For a document of one or two pages: only that a number which counts its pages from 1 is a page number."""
    folios = {(top, "arabic", 1): frozenset(range(pages)) for top in (True, False)}
    return _Evidence(pages, folios, {}, {True: Counter(), False: Counter()})


def _all(edges: list[list[Row]]) -> Iterator[tuple[Row, EdgeLine]]:
    return ((row, line) for edge in edges for row in edge for line in row.lines if not line.own)


def _masked(cell: str, row: Row, evidence: _Evidence) -> str:
    """A cell without what changes from page to page: its number becomes #, and so do other digits."""
    if not may_hold_number(cell):
        return " ".join(cell.lower().split())
    words = []
    for token in cell.split():
        value = number_of(token)
        if value is not None and row.page in evidence.folios.get((row.top, value[0], value[1] - row.page), ()):
            words.append("#")
        else:
            words.append(token.lower() if token.isalpha() else DIGITS.sub("#", token.lower()))
    return " ".join(words)


def _key(masked: str) -> str:
    """What left and right pages have in common: the number stands on the other side."""
    return masked.strip("# ")


def _step(y: float) -> int:
    return round(y / SAME_HEIGHT)


def _peeled(edge: list[Row], evidence: _Evidence) -> Iterator[tuple[Row, EdgeLine, BlockKind]]:
    outermost = True
    for row in edge:
        kinds = [_kind(line, row, evidence, outermost=outermost) for line in row.lines]
        for line, kind in zip(row.lines, kinds, strict=True):
            if kind is not None:
                yield row, line, kind
        if None in kinds:
            return
        outermost = set(kinds) == {"page_number"}


def _kind(line: EdgeLine, row: Row, evidence: _Evidence, *, outermost: bool) -> BlockKind | None:
    """What furniture a line is; None where it is none."""
    if line.own:
        return None
    masked = [_masked(cell, row, evidence) for cell in line.cells]
    numbered = any(
        row.page in evidence.folios.get((row.top, kind, value - row.page), ()) for kind, value in numbers_of(line.cells)
    )
    if numbered and all(only_number(cell) for cell in masked):
        return "page_number"
    repeats = any(_repeats(cell, row, evidence, outermost=outermost and not row.is_large(line)) for cell in masked)
    # Where most pages have a row there, apart from their text, one with the page's number needs no repetition.
    counts = numbered and outermost and not row.is_large(line) and _stands_apart(row, evidence)
    if repeats or counts:
        return "running_header" if row.top else "running_footer"
    return None


def _repeats(masked: str, row: Row, evidence: _Evidence, *, outermost: bool) -> bool:
    if not any(map(str.isalpha, masked)):
        return False  # a rule, the labels of an axis, or a number that is no page number
    here = _near(evidence.heights.get((row.top, _key(masked)), Counter()), row.y)
    if here < REPEATS:
        return False
    if here >= SHARE_OF_FEW * evidence.pages:
        return True
    many = evidence.pages >= MANY and here >= SHARE_OF_MANY * evidence.pages
    return outermost and (many or _stands_apart(row, evidence))


def _stands_apart(row: Row, evidence: _Evidence) -> bool:
    return row.detached and _near(evidence.detached[row.top], row.y) >= MOST * evidence.pages


def _near(heights: Counter[int], y: float) -> int:
    step = _step(y)
    return heights[step - 1] + heights[step] + heights[step + 1]


def _nothing_else(blocks: tuple[Block, ...], marked: dict[int, dict[int, BlockKind]]) -> bool:
    """Whether most pages would be left without any text: then these lines are the text, and not what stands around it."""
    before, after = set[int | None](), set[int | None]()
    for number, block in enumerate(blocks):
        if block.kind not in FURNITURE:
            before.add(block.page)
            if len(marked.get(number, ())) <= block.text.count("\n"):
                after.add(block.page)
    return len(after) * 2 < len(before)


def _kept_once(
    blocks: tuple[Block, ...], taken: Taken, marked: dict[int, dict[int, BlockKind]], evidence: _Evidence
) -> dict[int, dict[int, str]]:
    """The cells that stay in the text, by block and line: first occurrences that hold a word which is nowhere else."""
    candidates = [(row, line) for row, line, kind in taken if kind != "page_number"]
    if not candidates:
        return {}
    sought = {word for _, line in candidates for cell in line.cells for word in WORD.findall(cell.lower())}
    words = _standing(sought, _body(blocks, marked))
    headings = {" ".join(block.text.split()) for block in blocks if block.kind == "heading"}
    seen: set[str] = set()
    kept: dict[int, dict[int, str]] = defaultdict(dict)
    for row, line in sorted(candidates, key=lambda pair: (pair[0].page, not pair[0].top)):
        stay = []
        for whole in line.cells:
            masked = _masked(whole, row, evidence)
            cell = _without_heading(whole, headings)
            if masked not in seen and not words.issuperset(WORD.findall(cell.lower())):
                stay.append(cell)
            seen.add(masked)
        if stay:
            kept[line.block][line.line] = "  ".join(stay)
            words.update(WORD.findall(line.text.lower()))
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


def _body(blocks: tuple[Block, ...], marked: dict[int, dict[int, BlockKind]]) -> str:
    """The text that is no furniture, in lower case."""
    texts: list[str] = []
    for number, block in enumerate(blocks):
        if block.kind in FURNITURE:
            continue
        if number not in marked:
            texts.append(block.text)
        else:
            texts += (line for index, line in enumerate(block.text.split("\n")) if index not in marked[number])
    return "\n".join(texts).lower()


def _standing(words: set[str], text: str) -> set[str]:
    """Those of the words that stand in a text as words of their own."""
    if len(words) <= SOUGHT:
        return {word for word in words if _stands(word, text)}
    # Most tokens come again and again: only those that differ are looked at closely.
    return words.intersection(WORD.findall("\n".join(set(text.split()))))


def _stands(word: str, text: str) -> bool:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not LETTER.match(text[at - 1 : at]) and not LETTER.match(text[end : end + 1]):
            return True
        at = text.find(word, end)
    return False


def _divided(block: Block, kinds: dict[int, BlockKind], kept: dict[int, str]) -> Iterator[Block]:
    """The block in runs of lines of one kind; what stays of a furniture line follows it as text."""
    run: list[str] = []
    run_kind: BlockKind = block.kind
    for index, line in enumerate(block.text.split("\n")):
        kind = kinds.get(index, block.kind)
        if kind != run_kind and run:
            yield reworded(block, "\n".join(run), run_kind)
            run = []
        run_kind = kind
        if index in kept:
            yield reworded(block, kept[index])
            gone = line.replace(kept[index], "", 1).strip()
            run += [gone] if gone else []
        else:
            run.append(line)
    if run:
        yield reworded(block, "\n".join(run), run_kind)
