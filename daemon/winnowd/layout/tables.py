"""Tables out of rows of cells: only where the alignment of several rows says so clearly."""

import re
from statistics import median

from winnowd.model import Line

Row = tuple[Line, ...]

ROWS = 3
"""Fewer rows may stand one below the other by chance."""
CELL_CHARS = 40
"""The median cell of a table is shorter; two columns of prose are not."""
_ALIGNED = 0.7
"""Share of the rows of which most cells have to stand under those above."""
_MARKER = re.compile(r"(?:[•◦▪■●○‣·–—*-]|\(?\w{1,4}[.)\]]|\[\w+\]|\d{1,4})")
"""A first cell like this is the mark of a list, a reference or a numbered line."""
_LEADERS = re.compile(r"(?:\.\s?){4,}")


def stretches(rows: list[Row]) -> dict[int, int]:
    """For each row of several cells the end of the stretch of such rows in which it stands, each close below the one before."""
    ends: dict[int, int] = {}
    for place in range(len(rows) - 1, -1, -1):
        if len(rows[place]) > 1:
            goes_on = place + 1 in ends and _follows(rows[place], rows[place + 1])
            ends[place] = ends[place + 1] if goes_on else place + 1
    return ends


def table_at(rows: list[Row], place: int, end: int, aligned: dict[int, bool]) -> str:
    """The rows from `place` to `end`, a stretch or the rest of one, as a Markdown table; nothing where they are none.

    `aligned` keeps what was found of the rows and those below them, by their place: rows that are no table are looked at from
    each of them on.
    """
    found = rows[place:end]
    if len(found) < ROWS or not _tabular(found):
        return ""
    for number in range(place, end - 1):
        if number not in aligned:
            aligned[number] = _aligned(rows[number], rows[number + 1])
    if sum([aligned[number] for number in range(place, end - 1)]) < _ALIGNED * (len(found) - 1):
        return ""
    return markdown(found)


def _follows(above: Row, below: Row) -> bool:
    step = below[0].box[1] - above[0].box[1]
    return 0 < step < 4 * max(below[0].size, above[0].size) and len(above) <= 40 and len(below) <= 40


def _tabular(rows: list[Row]) -> bool:
    """Whether the cells are short enough for a table, and neither a table of contents nor a list."""
    texts = [cell.text for row in rows for cell in row]
    if median(map(len, texts)) > CELL_CHARS or any(text.count(".") > 3 and _LEADERS.search(text) for text in texts):
        return False
    marked = sum(_MARKER.fullmatch(row[0].text.strip()) is not None for row in rows)
    return 2 * marked <= len(rows) or median(map(len, rows)) > 2


def _aligned(above: Row, below: Row) -> bool:
    """Whether most cells of the shorter row share a left edge, right edge or middle with a cell of the other."""
    shorter, longer = (below, above) if len(below) < len(above) else (above, below)
    matches = sum([any(_same_column(cell, other) for other in longer) for cell in shorter])
    return matches >= 2 and matches * 3 >= 2 * len(shorter)


def _same_column(one: Line, other: Line) -> bool:
    slack = 0.4 * max(one.size, other.size)
    (a0, _, a1, _), (b0, _, b1, _) = one.box, other.box
    return abs(a0 - b0) < slack or abs(a1 - b1) < slack or abs(a0 + a1 - b0 - b1) < 2 * slack


def markdown(rows: list[Row]) -> str:
    """Rows as a Markdown table. Cells are put into columns by where they lie; an empty cell stays empty."""
    columns = _columns(rows)
    table = []
    for row in rows:
        cells = [""] * len(columns)
        for cell in row:
            middle = (cell.box[0] + cell.box[2]) / 2
            place = min(range(len(columns)), key=lambda number: _distance(columns[number], cell.box[0], middle))
            text = " ".join(cell.text.split()).replace("|", "\\|")
            cells[place] = f"{cells[place]} {text}".strip()
        table.append("| " + " | ".join(cells) + " |")
    return "\n".join([table[0], "|" + " --- |" * len(columns), *table[1:]])


def _columns(rows: list[Row]) -> list[tuple[float, float]]:
    """The stretches of the page in which cells lie, from left to right; cells that overlap share one."""
    stretches: list[list[float]] = []
    for left, right in sorted((cell.box[0], cell.box[2]) for row in rows for cell in row if len(row) > 1):
        if stretches and left < stretches[-1][1] - 1:
            stretches[-1][1] = max(stretches[-1][1], right)
        else:
            stretches.append([left, right])
    return [(left, right) for left, right in stretches]


def _distance(column: tuple[float, float], left: float, middle: float) -> float:
    if column[0] - 1 <= left <= column[1]:
        return 0.0
    return abs((column[0] + column[1]) / 2 - middle)
