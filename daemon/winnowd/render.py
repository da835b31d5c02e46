"""Records to tables and text. No queries here. On a terminal by rich; piped as plain lines that other programs can split."""

import unicodedata
from collections.abc import Sequence

import click


def rows(header: Sequence[str], values: Sequence[Sequence[object]], *, terminal: bool) -> None:
    """Print a table: by rich on a terminal, as tab-separated values elsewhere."""
    if not terminal:
        for row in values:
            click.echo("\t".join(flat(value) for value in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")  # a path that is cut cannot be told from its neighbour
    for row in values:
        table.add_row(*(Text(flat(value)) for value in row))
    Console().print(table)


def flat(value: object) -> str:
    r"""A value as it can stand in a line of tab-separated values.

    >>> flat("a\tb\nc"), flat(None), flat(0.25)
    ('a b c', '', '0.25')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return " ".join(safe(str(value)).split())


def safe(text: str) -> str:
    r"""The text without characters that would steer a terminal; tabs and line ends stay.

    >>> safe("a\x1b[31mb")
    'a[31mb'
    """
    if text.isprintable():
        return text
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char)[0] != "C" or char in "\u200c\u200d")


def size(count: float) -> str:
    """Bytes for people.

    >>> size(900), size(1536), size(5 * 1024**3)
    ('900 B', '1.5 kB', '5.0 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def plural(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> plural(1, "file"), plural(2, "file"), plural(2, "copy", "copies")
    ('1 file', '2 files', '2 copies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
