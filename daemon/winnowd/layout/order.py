"""Reading order of the lines of a page: that of the source, unless it jumps about and columns explain the page better.

Most programs write a page in the order in which it is read, and geometry alone is wrong more often than they are. So the
order of the source is left only where it is suspicious, and then only for one with fewer jumps. The cut into columns and
bands follows Nagy and Seth (1984), with gutters found by how many lines cover each point of the width.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median

from winnowd.model import Box, Line, Page

LINES = 3000
"""Pages with more lines are maps or plots and keep the order of the source."""
GUTTER = 7.0
"""Points; a narrower white is a gap between words."""
_COVERED = 0.3
"""A gutter may be crossed by headings: up to this share of the usual number of lines over a point of the width."""
_COLUMN_LINES = 3
_COLUMN_FILL = 0.45
"""The median line of a column of prose fills at least this share of it; cells of a table do not."""
_BAND_GAP = 1.2
"""In line heights: a white band this high may part two regions with columns of their own."""
_UP, _ASIDE, _ACROSS = 3, 1, 2
"""What a jump back up (or back to the left), a jump aside and a jump over a gutter within a row of prose cost."""
_SIDE_BY_SIDE = 4
"""So often two pieces of prose have to follow each other on one baseline to be columns drawn row by row."""
_DEPTH = 24
_WHITE = re.compile(rb"\x01{%d,}" % GUTTER)
"""A run of points, each 1 where it is white, as wide as a gutter."""
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]+")
_RTL_SHARE = 0.2
"""With more letters of scripts that run from right to left, columns do too, and the order of the source is kept."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Lines that follow each other down one column in the source."""

    box: Box
    lines: int
    chars: int


def in_reading_order(lines: list[Line], page: Page) -> list[Line]:
    """The lines in the order in which a person reads them."""
    if not 3 <= len(lines) <= LINES or page.width <= 0 or not suspicious(lines) or _right_to_left(lines):
        return lines
    other = _cut(lines, 0)
    return other if cost(other) < cost(lines) else lines


def suspicious(lines: list[Line]) -> bool:
    """Whether the order of the source goes back up in place, leaves a column for one on its left, or runs across columns."""
    jumps = [_jump(one, two) for one, two in pairwise(lines)]
    if jumps.count(_ACROSS) >= _SIDE_BY_SIDE:
        return True
    if not any(jumps):
        return False
    runs = _runs(lines, jumps)
    return any(_goes_back(runs, place) for place in range(1, len(runs)))


def cost(lines: list[Line]) -> int:
    """What the jumps of an order cost: moving down a column or along a row is free.

    >>> left, right = Line("a", (0, 0, 9, 9)), Line("b", (50, 0, 59, 9))
    >>> below = Line("c", (0, 10, 9, 19))
    >>> cost([left, below]), cost([below, right])
    (0, 3)
    """
    return sum([_jump(one, two) for one, two in pairwise(lines)])


def _jump(one: Line, two: Line) -> int:
    (x0, y0, x1, _), (left, top, right, bottom) = one.box, two.box
    if left >= x1 - 1 and on_one_row(one, two):
        return _ACROSS if left - x1 > GUTTER and _is_prose(one) and _is_prose(two) else 0
    if top < y0 - 0.5 * (bottom - top) or right <= x0:
        return _UP  # also down, but back to the left: from the end of one column into another
    return 0 if left < x1 else _ASIDE


def on_one_row(one: Line, two: Line) -> bool:
    """Whether two lines share most of their height."""
    (_, top, _, bottom), (_, upper, _, lower) = one.box, two.box
    shared = (bottom if bottom < lower else lower) - (top if top > upper else upper)
    return 2 * shared > bottom - top or 2 * shared > lower - upper


def _is_prose(line: Line) -> bool:
    return line.text.count(" ") >= 3 or (len(line.text) >= 25 and " " not in line.text)


def _right_to_left(lines: list[Line]) -> bool:
    text = "".join(line.text for line in lines)
    if text.isascii():
        return False
    return sum(map(len, _RTL.findall(text))) > _RTL_SHARE * len(text)


def _runs(lines: list[Line], jumps: list[int]) -> list[_Run]:
    runs: list[_Run] = []
    start = 0
    for place in range(1, len(lines) + 1):
        if place == len(lines) or jumps[place - 1]:
            part = lines[start:place]
            runs.append(_Run(_bound([line.box for line in part]), len(part), sum([len(line.text) for line in part])))
            start = place
    return runs


def _bound(boxes: list[Box]) -> Box:
    if len(boxes) == 1:
        return boxes[0]
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def _goes_back(runs: list[_Run], place: int) -> bool:
    """Whether a run stands above the one before it, or to its left where none did so far (that column comes first)."""
    one, two = runs[place - 1], runs[place]
    if two.box[3] <= one.box[1] + 2 and two.box[0] < one.box[2] and two.chars >= 25:
        return True
    columns = min(one.lines, two.lines) >= _COLUMN_LINES and min(one.chars, two.chars) >= 100
    if not columns or two.box[2] > one.box[0] + 2 or two.box[3] <= one.box[1]:
        return False
    beside = (
        run for run in runs[: place - 1] if run.box[0] < one.box[0] and run.box[1] < one.box[3] and run.box[3] > one.box[1]
    )
    return two.box[1] < one.box[3] or not any(beside)


def _cut(lines: list[Line], depth: int) -> list[Line]:
    """The lines by columns where there is a gutter, else by the highest white band, else by rows."""
    if len(lines) < 2 * _COLUMN_LINES or depth > _DEPTH:
        return _leaf(lines)
    gutter = _gutter(lines)
    if gutter is not None:
        return _by_columns(lines, gutter, depth)
    parts = _bands(lines)
    if len(parts) == 1:
        return _leaf(lines)
    return [line for part in parts for line in _cut(part, depth + 1)]


def _leaf(lines: list[Line]) -> list[Line]:
    """No columns: the order of the source, unless rows from top to bottom have fewer jumps."""
    rows = _by_rows(lines)
    return rows if cost(rows) < cost(lines) else lines


def _by_rows(lines: list[Line]) -> list[Line]:
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda each: each.box[1] + each.box[3]):
        middle = (line.box[1] + line.box[3]) / 2
        if rows and middle < rows[-1][0].box[3] - 0.25 * line.size:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in (sorted(row, key=lambda each: each.box[0]) if len(row) > 1 else row)]


def _by_columns(lines: list[Line], gutter: tuple[float, float], depth: int) -> list[Line]:
    """Band for band between the lines that cross the gutter: left column, right column, or as the source has it."""
    middle = sum(gutter)  # twice that of the gutter, as sums of two edges are of lines
    edges = sorted([_height(line) for line in lines if _crosses(line, gutter)])
    bands: dict[int, tuple[list[Line], list[Line]]] = {}
    for line in lines:
        over, beside = bands.setdefault(bisect_right(edges, _height(line)), ([], []))  # a crossing line opens the band below it
        (over if _crosses(line, gutter) else beside).append(line)
    result: list[Line] = []
    for number in sorted(bands):
        over, beside = bands[number]
        result += over
        if _sound(beside):
            result += beside
            continue
        for right in (False, True):
            result += _cut([line for line in beside if (line.box[0] + line.box[2] >= middle) == right], depth + 1)
    return result


def _sound(lines: list[Line]) -> bool:
    return not any(_jump(one, two) == _ACROSS for one, two in pairwise(lines)) and not suspicious(lines)


def _height(line: Line) -> float:
    return (line.box[1] + line.box[3]) / 2


def _crosses(line: Line, gutter: tuple[float, float]) -> bool:
    """Whether a line lies on both sides of the gutter; one that only juts out into it belongs to its column."""
    return line.box[0] < gutter[0] and line.box[2] > gutter[1]


def _gutter(lines: list[Line]) -> tuple[float, float] | None:
    """Left and right edge of the widest white between two columns of prose, or None."""
    left, _, right, _ = _bound([line.box for line in lines])
    width = int(right - left) + 1
    if width < 4 * GUTTER or width > 20_000:
        return None
    steps = [0] * (width + 2)
    for line in lines:
        start, _, end, _ = line.box
        steps[int(start - left)] += 1
        steps[int(end - left) + 1 if end > left else 1] -= 1
    cover = list(accumulate(steps[:width]))
    limit = _COVERED * sorted(cover)[3 * width // 4]
    whites = [
        (left + start, left + end)
        for start, end in map(re.Match.span, _WHITE.finditer(bytes([count <= limit for count in cover])))
        if start > 0 and end < width
    ]
    if not whites:
        return None
    edges = [left, *(sum(white) / 2 for white in whites), right]
    columns = [_holds_text(lines, edges[place], edges[place + 1]) for place in range(len(edges) - 1)]
    gutters = [white for place, white in enumerate(whites) if columns[place] and columns[place + 1]]
    return max(gutters, key=lambda white: white[1] - white[0], default=None)


def _holds_text(lines: list[Line], left: float, right: float) -> bool:
    """Whether a column of prose lies between two edges."""
    column = [
        line for line in lines if left <= (line.box[0] + line.box[2]) / 2 <= right and line.box[2] - line.box[0] <= right - left
    ]
    if len(column) < _COLUMN_LINES:
        return False
    x0, _, x1, _ = _bound([line.box for line in column])
    if median(line.box[2] - line.box[0] for line in column) < _COLUMN_FILL * (x1 - x0):
        return False
    return median(line.text.count(" ") for line in column) >= 2 or median(len(line.text) for line in column) >= 20


def _bands(lines: list[Line]) -> list[list[Line]]:
    """The lines above and below the highest white band, or all of them where there is none worth the name."""
    ordered = sorted(lines, key=lambda line: line.box[1])
    height = median([line.box[3] - line.box[1] for line in lines])
    bottom, best, gap = ordered[0].box[3], 0, _BAND_GAP * height
    for place, line in enumerate(ordered):
        if line.box[1] - bottom > gap:
            best, gap = place, line.box[1] - bottom
        bottom = max(bottom, line.box[3])
    if not best:
        return [lines]
    edge = ordered[best].box[1]
    return [[line for line in lines if line.box[1] < edge], [line for line in lines if line.box[1] >= edge]]
