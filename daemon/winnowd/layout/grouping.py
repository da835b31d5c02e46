"""Lines of one page to blocks: rows are put together, then paragraphs, lists, code, captions and tables are told apart."""

import re
from collections import Counter
from dataclasses import replace
from statistics import median

from winnowd.layout.order import in_reading_order
from winnowd.layout.tables import table_at
from winnowd.model import Block, BlockKind, Line, Page

Row = tuple[Line, ...]
"""Lines that stand side by side on one baseline, from left to right: the cells of a table row, or words set far apart."""

_TWICE = 1.5
"""Points: the same text drawn again this near is a way to make it look bold."""
_PITCH = 1.35
"""A distance between baselines above this many usual ones parts two paragraphs."""
_COMMON_PITCH = 0.15
"""A distance is common when this share of the text stands under it: single-line paragraphs are often more than that of wrapped lines."""
_INDENT = 0.8
"""In letter sizes: less is noise of the setting, more is meant."""
_SHORT = 0.75
"""A line that fills less of its column than this has ended early."""
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
_ENDED = re.compile(r"[.!?:;。！？][\"'”’»)\]]*$")


def blocks(lines: tuple[Line, ...], page: Page) -> tuple[Block, ...]:
    """The blocks of a page in reading order. Lines come in the order of the source, which is kept unless it is plainly not that of reading.

    >>> page = Page(0, width=600, height=800)
    >>> [b.text for b in blocks((Line("One", (0, 0, 50, 10), 10), Line("Two", (0, 50, 50, 60), 10)), page)]
    ['One', 'Two']
    """
    upright = [line for line in once(lines) if not line.rotated]
    turned = [line for line in lines if line.rotated]
    rows = as_rows(in_reading_order(upright, page))
    return (*_blocks(rows, page), *_blocks([(line,) for line in turned], page))


def once(lines: tuple[Line, ...]) -> list[Line]:
    """The lines without those that were drawn again in (almost) the same place.

    >>> [line.text for line in once((Line("A", (0, 0, 9, 9)), Line("A", (0.3, 0, 9.3, 9)), Line("A", (0, 20, 9, 29))))]
    ['A', 'A']
    """
    kept: list[Line] = []
    places: dict[str, list[Line]] = {}
    for line in lines:
        same = places.setdefault(line.text, [])
        if not any(abs(other.box[0] - line.box[0]) < _TWICE and abs(other.box[1] - line.box[1]) < _TWICE for other in same[-8:]):
            same.append(line)
            kept.append(line)
    return kept


def as_rows(lines: list[Line]) -> list[Row]:
    """Neighbours in reading order that share a baseline, put together."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and _beside(rows[-1][-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [tuple(row) for row in rows]


def _beside(left: Line, right: Line) -> bool:
    overlap = min(left.box[3], right.box[3]) - max(left.box[1], right.box[1])
    lower = min(left.box[3] - left.box[1], right.box[3] - right.box[1])
    return overlap > 0.5 * lower and right.box[0] >= left.box[2] - 0.3 * right.size


def _blocks(rows: list[Row], page: Page) -> list[Block]:
    pitch = _usual_pitch(rows)
    result: list[Block] = []
    waiting: list[Row] = []
    place = 0
    while place < len(rows):
        taken, markdown = table_at(rows, place)
        if taken:
            result += _finished(waiting, page)
            result.append(_block("table", markdown, rows[place : place + taken], page))
            waiting, place = [], place + taken
            continue
        following = rows[place + 1] if place + 1 < len(rows) else None
        if waiting and _parts(waiting, rows[place], following, pitch):
            result += _finished(waiting, page)
            waiting = []
        waiting.append(rows[place])
        place += 1
    return result + _finished(waiting, page)


def _usual_pitch(rows: list[Row]) -> float:
    """The distance between the baselines of two lines of a paragraph, in letter sizes: the smallest that is common on the page."""
    steps: Counter[float] = Counter()
    for above, below in zip(rows, rows[1:], strict=False):
        step = below[0].box[3] - above[0].box[3]
        if 0.9 * below[0].size < step < 3 * below[0].size and _same_size(above[0], below[0]):
            steps[round(step / below[0].size, 1)] += len(below[0].text)
    enough = _COMMON_PITCH * sum(steps.values())
    return min((step for step, chars in steps.items() if chars >= enough), default=1.2)


def _same_size(one: Line, other: Line) -> bool:
    return abs(one.size - other.size) <= _SAME_SIZE * max(one.size, other.size)


def _parts(block: list[Row], row: Row, following: Row | None, pitch: float) -> bool:
    """Whether a row begins a new block after those collected so far."""
    last, new = block[-1][0], row[0]
    if not _same_size(last, new) or last.mono != new.mono:
        return True
    step = new.box[3] - last.box[3]
    if step <= 0:  # up, to the next column
        return _ended(block, new)
    if step > max(_PITCH * pitch, 1.0 + 0.1) * new.size:
        return True
    if new.mono:
        return False
    if last.bold != new.bold and (_short(block, last) or not last.bold):
        return True
    if _BULLET.match(new.text) or _CAPTION.match(new.text):
        return True
    return _new_by_edges(block, row, following)


def _ended(block: list[Row], new: Line) -> bool:
    """At the head of a column: whether the sentence (and so the paragraph) ended in the last one."""
    text = block[-1][-1].text
    return bool(_ENDED.search(text)) or not new.text[:1].islower()


def _short(block: list[Row], last: Line) -> bool:
    right = max(row[-1].box[2] for row in block)
    left = min(row[0].box[0] for row in block)
    return len(block) == 1 or block[-1][-1].box[2] - left < _SHORT * (right - left)


def _new_by_edges(block: list[Row], row: Row, following: Row | None) -> bool:
    """Whether indents and the end of the last line say that a paragraph begins."""
    last, new = block[-1], row[0]
    indent = (new.box[0] - last[0].box[0]) / max(new.size, 1.0)
    numbered = _NUMBERED.match(new.text) is not None
    if numbered and (_NUMBERED.match(block[0][0].text) or _ENDED.search(last[-1].text)) and new.box[0] <= block[0][0].box[0] + _INDENT * new.size:
        return True
    if abs(indent) < _INDENT:
        widest = max(each[-1].box[2] for each in (*block, row))
        left = min(each[0].box[0] for each in block)
        early = last[-1].box[2] - left < _SHORT * (widest - left)
        return early and bool(_ENDED.search(last[-1].text)) and not new.text[:1].islower()
    if indent > 0:
        hanging = following is not None and abs(following[0].box[0] - new.box[0]) < _INDENT * new.size
        return not hanging
    return len(block) > 1 and new.box[0] < min(each[0].box[0] for each in block[1:]) - _INDENT * new.size


def _finished(rows: list[Row], page: Page) -> list[Block]:
    if not rows:
        return []
    text = "\n".join(" ".join(cell.text.strip() for cell in row) for row in rows)
    if all(cell.mono for row in rows for cell in row):
        return [_block("code", _code(rows), rows, page)]
    kind: BlockKind = "paragraph"
    if _BULLET.match(text) or _NUMBERED.match(text):
        kind = "list_item"
    elif _CAPTION.match(text):
        kind = "caption"
    return [_block(kind, text, rows, page)]


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
    cells = [cell for row in rows for cell in row]
    box = (
        min(cell.box[0] for cell in cells),
        min(cell.box[1] for cell in cells),
        max(cell.box[2] for cell in cells),
        max(cell.box[3] for cell in cells),
    )
    size = round(median(cell.size for cell in cells), 1)
    return Block(kind, text, page.index, box=box, size=size, bold=all(cell.bold for cell in cells))
