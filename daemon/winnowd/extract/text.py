"""Reads plain text, reStructuredText, AsciiDoc and CSV.

Hides the few conventions by which plain text shows structure: blank lines, form feeds, underlined or prefixed section titles,
and the dialects of CSV. Whatever does not follow them is kept as paragraphs, so nothing is lost.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from winnowd.extract import Reading
from winnowd.extract.decode import Decoded, decode
from winnowd.extract.rows import markdown_rows
from winnowd.model import Block, Extraction, Fact, Metadata, Note, OutlineEntry, Page

TABLE_ROWS = 200
"""Rows of CSV in one table block: enough to stay one, few enough for a block to be shown."""

_SNIFFED = 20_000  # characters from which the dialect is guessed
_TITLE_CHARS = 200  # a longer line above an underline is no title


def extract(reading: Reading) -> Extraction:
    """The paragraphs, sections or rows of a text file, its encoding and how much of it was damaged."""
    read, notes = read_text(reading)
    blocks = list(_split(read.text, reading))
    headings = [block for block in blocks if block.kind == "heading"]
    title = _document_title(blocks) if reading.format.name in ("rst", "asciidoc") else None
    facts = (Fact("text", "title", title, believed=True),) if title else ()
    return Extraction(
        reading.format.name,
        Metadata(title, encoding=read.encoding, facts=facts),
        (Page(0),),
        tuple(OutlineEntry(block.level or 1, block.text, 0) for block in headings),
        tuple(blocks),
        tuple(notes),
        size=reading.size,
    )


def read_text(reading: Reading, declared: Callable[[bytes], str | None] = lambda data: None) -> tuple[Decoded, list[Note]]:
    """The text of a file, cut to the limit, and notes on damage and on what was cut. `declared` finds a label in the bytes."""
    with open(reading.path, "rb") as stream:
        data = stream.read(reading.text_chars * 4 + 4)  # no encoding takes more than four bytes for a letter
    reading.progress()
    read = decode(data, reading.fallback_encoding, declared(data))
    notes = list[Note]()
    if read.damaged:
        notes.append(
            Note("damaged", f"{read.damaged} characters could not be decoded as {read.encoding}.", measure=read.damaged)
        )
    if len(read.text) > reading.text_chars or reading.size > len(data):
        notes.append(Note("bounded", "The text is longer than the limit; its end was left out."))
        read = Decoded(read.text[: reading.text_chars], read.encoding, read.damaged)
    return read, notes


def paragraphs(text: str) -> Iterator[str]:
    """Runs of lines between blank lines or form feeds, without blanks at the ends of lines.

    >>> list(paragraphs("one\\ntwo  \\n\\n\\nthree\\f four"))
    ['one\\ntwo', 'three', ' four']
    """
    lines = list[str]()
    for line in re.split(r"\n|(\f)", text):
        if line and line != "\f" and line.strip():
            lines.append(line.rstrip())
        elif line is not None and lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _split(text: str, reading: Reading) -> Iterator[Block]:
    splitters: Mapping[str, Callable[[str], Iterator[Block]]] = {"csv": _rows, "rst": _rst, "asciidoc": _asciidoc}
    for number, block in enumerate(splitters.get(reading.format.name, _plain)(text)):
        if number % 500 == 0:
            reading.progress()
        yield block


def _plain(text: str) -> Iterator[Block]:
    return (Block("paragraph", paragraph, page=0) for paragraph in paragraphs(text))


def _document_title(blocks: list[Block]) -> str | None:
    """The first block, where it is a heading of the first level and no other is."""
    first = [block for block in blocks if block.kind == "heading" and block.level == 1]
    return first[0].text if first and len(first) == 1 and blocks[0] is first[0] else None


def _rst(text: str) -> Iterator[Block]:
    """Sections by their underlines (reStructuredText specification, "Sections"): levels are numbered as the styles appear."""
    styles: list[str] = []
    lines = text.expandtabs(8).split("\n")
    pending: list[str] = []
    at = 0
    while at < len(lines):
        found = _rst_title(lines, at)
        if found:
            yield from _plain("\n".join(pending))
            title, style, used = found
            styles += [style] if style not in styles else []
            yield Block("heading", title, page=0, level=styles.index(style) + 1)
            pending, at = [], at + used
        else:
            pending.append(lines[at])
            at += 1
    yield from _plain("\n".join(pending))


def _rst_title(lines: list[str], at: int) -> tuple[str, str, int] | None:
    """Title, style and number of lines where a section title begins at this line."""
    rows = [*lines[at : at + 3], "", "", ""]
    if (
        _rule(rows[0])
        and rows[1].strip()
        and _rule(rows[2]) == _rule(rows[0])
        and len(rows[1].strip()) <= len(rows[0].rstrip())
    ):
        return rows[1].strip(), f"over{rows[0][0]}", 3
    title, line = rows[0].rstrip(), rows[1].rstrip()
    starts = at == 0 or not lines[at - 1].strip()
    fits = 0 < len(title) <= _TITLE_CHARS and len(line) >= min(len(title), 4)
    if starts and fits and _rule(line) and not _rule(title) and not title[0].isspace():
        return title, line[0], 2
    return None


def _rule(line: str) -> str | None:
    """The character of a line that is nothing but one punctuation character, at least three times."""
    line = line.rstrip()
    return line[0] if len(line) >= 3 and re.fullmatch(r"([!-/:-@\[-`{-~])\1+", line) else None


_ASCIIDOC_TITLE = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*")
_ASCIIDOC_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|```.*)")


def _asciidoc(text: str) -> Iterator[Block]:
    """Sections by their `=` prefix (AsciiDoc language, "Section titles"), not inside listings; comments are left out."""
    pending: list[str] = []
    fence = ""
    for line in text.split("\n"):
        edge = _ASCIIDOC_FENCE.fullmatch(line.rstrip())
        if edge and fence in ("", line.rstrip()[: len(fence)]):
            yield from _listing(fence, pending)
            fence, pending = ("" if fence else line.rstrip()[:4]), []
            continue
        title = None if fence else _ASCIIDOC_TITLE.fullmatch(line)
        if title:
            yield from _plain("\n".join(pending))
            yield Block("heading", title[2], page=0, level=len(title[1]))
            pending = []
        elif fence or not re.match(r"//(?!/)|:[\w-]+!?:|\[[^\]]*\]\s*$", line):
            pending.append(line)
    yield from _plain("\n".join(pending)) if not fence else _listing(fence, pending)


def _listing(fence: str, lines: list[str]) -> Iterator[Block]:
    if not fence:
        yield from _plain("\n".join(lines))
    elif not fence.startswith("/") and any(line.strip() for line in lines):
        yield Block("code", "\n".join(lines), page=0)


def _rows(text: str) -> Iterator[Block]:
    """Tables of a few hundred rows, each with the first row as its head; text where it is no table."""
    delimiter = max(",;\t|", key=lambda sign: _regular(text[:_SNIFFED], sign))
    try:
        rows = [row for row in _read_rows(text, delimiter) if any(cell.strip() for cell in row)]
    except csv.Error:  # a field beyond the limit of the csv module: a quote that is never closed
        rows = []
    if max((len(row) for row in rows), default=0) < 2:
        yield from _plain(text)
        return
    for at in range(1, max(len(rows), 2), TABLE_ROWS):
        yield Block("table", markdown_rows([rows[0], *rows[at : at + TABLE_ROWS]]), page=0)


def _read_rows(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)


def _regular(text: str, delimiter: str) -> int:
    """How many rows have as many cells, two or more, as most rows have. The sniffer of the csv module is quadratic."""
    try:
        widths = Counter(len(row) for row in _read_rows(text, delimiter) if len(row) > 1)
    except csv.Error:
        return 0
    return max(widths.values(), default=0)
