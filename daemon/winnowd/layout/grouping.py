"""Lines of one page to blocks: rows are put together, then paragraphs, lists, code, captions and tables are told apart."""

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from winnowd.layout.order import in_reading_order, on_one_row
from winnowd.layout.tables import stretches, table_at
from winnowd.model import Block, BlockKind, Box, Line, Page

Row = tuple[Line, ...]
"""Lines that stand side by side on one baseline, from left to right: the cells of a table row, or words set far apart."""

_TWICE = 1.5
"""Points: the same text drawn again this near is a way to make it look bold."""
_INITIAL = 1.7
"""A single letter larger than the next line by this factor is an initial."""
_PITCH = 1.35
"""A distance between baselines above this many usual ones parts two paragraphs."""
_TITLE_PITCH = 1.7
"""In letter sizes: titles are set wider than the text below them."""
_COMMON_PITCH = 0.15
"""A distance is common when this share of the text stands under it: many paragraphs have one line."""
_INDENT = 0.8
"""In letter sizes: less is noise of the setting, more is meant."""
_FIRST_INDENT = 3.5
"""In letter sizes: a first line further in than this is no indented one, but a centred heading."""
_BOLD_PITCH = 1.15
"""Bold letters begin a new block with less white than others, but not with none: a bold word may open any line."""
_SHORT = 0.75
"""A line that fills less of its column than this has ended early."""
_LOOK_BACK = 12
"""So many rows tell the edges of a paragraph; looking at all of a long one for each of its rows would take for ever."""
_SAME_SIZE = 0.08
"""Sizes within this share are the same: superscripts and small capitals shift what MuPDF says of a line."""
_CODE_ADVANCE = 0.6
"""The width of a monospaced letter in letter sizes (Courier's)."""

_BULLET = re.compile(r"[•◦▪▫■□●○‣⁃➢➤►✓✔❖◆·\uf0b7\uf0a7\uf0d8]\s*|[–—*-]\s+")
_NUMBERED = re.compile(r"(?:\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|\(?[ivxIVX]{1,5}[.)]|\[\d{1,3}\])\s+\S")
_CAPTION = re.compile(
    r"(?:fig(?:ure|\.)?|table|tab\.|chart|plate|scheme|listing|algorithm|box|abb(?:ildung|\.)|tabelle|tableau|figura|tabla|tabela|tabella)"
    r"\s*[\dIVXA-Z][\w.-]*\s*(?:[.:|–—]|$)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?:fig(?:ure|\.)?|table|chart)\s*[\dIVXA-Z][\w-]*(?:\.\d+)?[.:]?\s*", re.IGNORECASE)
"""A caption of which only the label stands on the first line."""
_STOPS = tuple(".!?:;。！？")
_CLOSING = "\"'”’»)]"


@dataclass(frozen=True, slots=True)
class _Usual:
    """What is usual on a page: the distance of two lines in letter sizes, and the letter size in points."""

    pitch: float
    size: float


def blocks(lines: tuple[Line, ...], page: Page) -> tuple[Block, ...]:
    """The blocks of a page in reading order. Lines come in the order of the source, which is kept unless it is plainly wrong.

    >>> page = Page(0, width=600, height=800)
    >>> [b.text for b in blocks((Line("One", (0, 0, 50, 10), 10), Line("Two", (0, 50, 50, 60), 10)), page)]
    ['One', 'Two']
    """
    kept = once(lines)
    upright = [line for line in kept if not line.rotated]
    turned = [line for line in kept if line.rotated]
    return (*_blocks(as_rows(with_initials(in_reading_order(upright, page))), page), *_turned(turned, page))


def _turned(lines: list[Line], page: Page) -> list[Block]:
    """Blocks of lines that run up or down the page: laid out as if the page were turned, with boxes as they are.

    Lines of text that runs upwards follow each other to the right, of text that runs downwards to the left.
    """
    if not lines:
        return []
    rightwards = sum((two.box[0] > one.box[0]) - (two.box[0] < one.box[0]) for one, two in pairwise(lines)) >= 0
    frame = replace(page, width=page.height, height=page.width)
    upright = [replace(line, box=_turn(line.box, page, rightwards), rotated=False) for line in lines]
    found = _blocks(as_rows(in_reading_order(upright, frame)), frame)
    return [replace(block, box=_turn(block.box, frame, not rightwards) if block.box else None, turned=True) for block in found]


def _turn(box: Box, page: Page, clockwise: bool) -> Box:
    """A box of a page when the page is turned by a quarter."""
    x0, y0, x1, y1 = box
    if clockwise:
        return page.height - y1, x0, page.height - y0, x1
    return y0, page.width - x1, y1, page.width - x0


def once(lines: tuple[Line, ...]) -> list[Line]:
    """The lines without those that were drawn again in (almost) the same place.

    >>> [line.text for line in once((Line("A", (0, 0, 9, 9)), Line("A", (0.3, 0, 9.3, 9)), Line("A", (0, 20, 9, 29))))]
    ['A', 'A']
    """
    kept: list[Line] = []
    places: dict[str, list[Line]] = {}
    for line in lines:
        same = places.get(line.text)
        if same is None:
            places[line.text] = [line]
        elif any(abs(other.box[0] - line.box[0]) < _TWICE and abs(other.box[1] - line.box[1]) < _TWICE for other in same[-8:]):
            continue
        else:
            same.append(line)
        kept.append(line)
    return kept


def with_initials(lines: list[Line]) -> list[Line]:
    """The lines, large initials joined to the words they begin. The lines beside an initial begin where it does.

    >>> [line.text for line in with_initials([Line("O", (0, 0, 20, 30), 28), Line("nce upon", (21, 2, 60, 12), 10)])]
    ['Once upon']
    """
    if not any(len(line.text) <= 2 and line.text.isupper() for line in lines):
        return lines
    result: list[Line] = []
    initial: Line | None = None
    for line in lines:
        text = line.text
        if result and len(result[-1].text) <= 2 and _is_initial(result[-1], line):
            initial = result.pop()
            text = initial.text.strip() + text
        beside = initial and line.box[1] + line.box[3] < 2 * initial.box[3] and 0 <= line.box[0] - initial.box[2] < line.size
        result.append(replace(line, text=text, box=(initial.box[0], *line.box[1:])) if initial and beside else line)
    return result


def _is_initial(one: Line, line: Line) -> bool:
    return (
        len(one.text.strip()) == 1
        and one.text.strip().isupper()
        and one.size > _INITIAL * line.size
        and line.text[:1].isalpha()
        and -0.2 * line.size <= line.box[0] - one.box[2] < line.size
        and one.box[1] < line.box[3]
        and line.box[1] < one.box[3]
    )


def as_rows(lines: list[Line]) -> list[Row]:
    """Neighbours in reading order that share a baseline, put together."""
    rows: list[list[Line]] = []
    last: Line | None = None
    for line in lines:
        if last and line.box[0] >= last.box[2] - 0.3 * line.size and on_one_row(last, line):
            rows[-1].append(line)
        else:
            rows.append([line])
        last = line
    return [tuple(row) for row in rows]


def _blocks(rows: list[Row], page: Page) -> list[Block]:
    usual, ends = _usual(rows), stretches(rows)
    result: list[Block] = []
    waiting: list[Row] = []
    place, aligned = 0, dict[int, bool]()
    while place < len(rows):
        row, end = rows[place], ends.get(place, 0)
        table = table_at(rows, place, end, aligned) if end else ""
        if waiting and (table or _parts(waiting, row, rows[place + 1] if place + 1 < len(rows) else None, usual)):
            result.append(_finished(waiting, page))
            waiting = []
        if table:
            result.append(_block("table", table, rows[place:end], page))
            place = end
            continue
        waiting.append(row)
        place += 1
    if waiting:
        result.append(_finished(waiting, page))
    return result


def _usual(rows: list[Row]) -> _Usual:
    """The size of most letters, and the distance between two lines of a paragraph: the smallest that is common on the page."""
    steps: dict[float, int] = {}
    sizes: dict[float, int] = {}
    last, above = 0.0, 0.0
    for row in rows:
        line = row[0]
        size, bottom, chars = line.size, line.box[3], len(line.text)
        sizes[size] = sizes.get(size, 0) + chars
        if size and 0.9 * size < bottom - above < 3 * size and (last == size or _near(last, size)):
            step = round((bottom - above) / size, 1)
            steps[step] = steps.get(step, 0) + chars
        last, above = size, bottom
    enough = _COMMON_PITCH * sum(steps.values())
    pitch = min([step for step, chars in steps.items() if chars >= enough], default=1.2)
    return _Usual(max(pitch, 1.0), max(sizes, key=sizes.__getitem__, default=0.0))


def _near(one: float, other: float) -> bool:
    """Whether two letter sizes are the same, but for what MuPDF makes of superscripts and small capitals."""
    return abs(one - other) <= _SAME_SIZE * max(one, other)


def _parts(block: list[Row], row: Row, following: Row | None, usual: _Usual) -> bool:
    """Whether a row begins a new block after those collected so far."""
    above = block[-1]
    last = above[0] if len(above) == 1 else _main(above)
    new = row[0] if len(row) == 1 else _main(row)
    size = new.size
    step = new.box[3] - last.box[3]
    if len(block) == 1 and 0 < step < 2 * size and _LABEL.fullmatch(last.text):
        return False
    if last.mono != new.mono or (last.size != size and not _near(last.size, size)):
        return True
    if step <= 0:  # up, to the next column
        return _ended(above) or not row[0].text[:1].islower()
    if step > (_PITCH * usual.pitch if size <= 1.2 * usual.size else max(_PITCH * usual.pitch, _TITLE_PITCH)) * size:
        return True
    if new.mono:
        return False
    if last.bold != new.bold and (_early(block, row[-1]) or step > _BOLD_PITCH * usual.pitch * size):
        return True
    if _BULLET.match(row[0].text) or _CAPTION.match(new.text):
        return True
    return _new_by_edges(block, row, following)


def _main(row: Row) -> Line:
    """The cell that stands for its row: the longest, for a bullet or a number before it may have a size of its own."""
    return max(row, key=lambda cell: len(cell.text))


def _ended(row: Row) -> bool:
    """Whether a row ends as a sentence does."""
    return row[-1].text.rstrip(_CLOSING)[-1:] in _STOPS


def _early(block: list[Row], new: Line) -> bool:
    """Whether the last line ended well before the widest did."""
    left = min(row[0].box[0] for row in block[-_LOOK_BACK:])
    right = max(*(row[-1].box[2] for row in block[-_LOOK_BACK:]), new.box[2])
    return block[-1][-1].box[2] - left < _SHORT * (right - left)


def _new_by_edges(block: list[Row], row: Row, following: Row | None) -> bool:
    """Whether indents and the end of the last line say that a paragraph begins."""
    last, new = block[-1], row[0]
    slack = _INDENT * new.size
    ended = _ended(last)
    if new.box[0] <= block[0][0].box[0] + slack and _NUMBERED.match(new.text) and (ended or _NUMBERED.match(block[0][0].text)):
        return True
    indent = new.box[0] - last[0].box[0]
    if abs(indent) < slack:
        return ended and not new.text[:1].islower() and _early(block, row[-1])
    if indent > 0:
        hanging = following is not None and abs(following[0].box[0] - new.box[0]) < slack
        if len(block) == 1 and (_BULLET.match(last[0].text) or _NUMBERED.match(last[0].text)):
            return False
        return not hanging and (ended or _early(block, row[-1]))
    if len(block) == 1:
        return -indent > _FIRST_INDENT * new.size
    return new.box[0] < min(each[0].box[0] for each in block[1:][-_LOOK_BACK:]) - slack


def _finished(rows: list[Row], page: Page) -> Block:
    text = "\n".join([row[0].text.strip() if len(row) == 1 else " ".join([cell.text.strip() for cell in row]) for row in rows])
    if rows[0][0].mono and all(cell.mono for row in rows for cell in row):
        return _block("code", _code(rows), rows, page)
    kind: BlockKind = "paragraph"
    if _BULLET.match(text) or _NUMBERED.match(text):
        kind = "list_item"
    elif _CAPTION.match(text):
        kind = "caption"
    return _block(kind, text, rows, page)


def _code(rows: list[Row]) -> str:
    """Monospaced lines with the blanks that their places stand for."""
    left = min(row[0].box[0] for row in rows)
    lines = []
    for row in rows:
        line = ""
        for cell in row:
            advance = max(_CODE_ADVANCE * cell.size, 1.0)
            blanks = round((cell.box[0] - left) / advance) - len(line)
            line += " " * min(200, max(blanks, 1 if line else 0)) + cell.text
        lines.append(line)
    return "\n".join(lines)


def _block(kind: BlockKind, text: str, rows: list[Row], page: Page) -> Block:
    if len(rows) == 1 and len(rows[0]) == 1:
        line = rows[0][0]
        return Block(kind, text, page.index, None, line.box, line.size, line.bold)
    x0, y0, x1, y1 = zip(*[cell.box for row in rows for cell in row], strict=True)
    mains = [row[0] if len(row) == 1 else _main(row) for row in rows]
    size = sorted([line.size for line in mains])[len(rows) // 2]
    bold = mains[0].bold and all(line.bold for line in mains)
    return Block(kind, text, page.index, None, (min(x0), min(y0), max(x1), max(y1)), size, bold)
