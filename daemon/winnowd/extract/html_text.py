"""Which elements of a web page stand on lines of their own, and the text of small elements and tables of data.

Hides the difference between a table that holds data and one that only lays out a page.
"""

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

Element = Any  # an lxml element; lxml has no types of its own

BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "body", "button", "caption", "center", "dd", "details", "dialog", "dir"),
        *(
            "div",
            "dl",
            "dt",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
        ),
        *(
            "hgroup",
            "hr",
            "html",
            "label",
            "legend",
            "li",
            "main",
            "menu",
            "nav",
            "ol",
            "p",
            "pre",
            "listing",
            "plaintext",
            "xmp",
        ),
        *("search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
    ]
)
"""Elements that stand on lines of their own (HTML Living Standard, "Rendering", flow content), and those that look so."""

SKIPPED = frozenset(
    [
        *(
            "script",
            "style",
            "noscript",
            "template",
            "head",
            "svg",
            "iframe",
            "object",
            "embed",
            "applet",
            "canvas",
            "audio",
            "video",
        ),
        *("select", "datalist", "textarea", "input", "map", "rt", "rp", "noframes", "noembed"),
    ]
)
"""Elements whose text nobody reads on the page, or only with a menu open; `rt` is the reading above a ruby base."""

_LAYOUT = ("table", "h1", "h2", "h3", "h4", "form", "pre")  # no table of data holds one of these
_CELL_CHARS = 1_000  # a longer cell holds a column of a page, no datum
_SPAN = 50  # columns; a wider cell is nonsense


def stands_alone(tag: str) -> bool:
    """Whether an element stands on lines of its own; a custom element is a component, not a part of a word."""
    return tag in BLOCKS or "-" in tag


def data_rows(element: Element) -> list[list[str]] | None:
    """The cells of a table that holds data; None for a table that lays out a page, and for what is no table."""
    if element.tag != "table" or next(element.iterdescendants(*_LAYOUT), None) is not None:
        return None
    rows = [list(_cells(row)) for row in element.iter("tr")]
    wide = [row for row in rows if len(row) > 1]
    if not wide or max(len(cell) for row in rows for cell in row) > _CELL_CHARS:
        return None
    return rows


def _cells(row: Element) -> Iterator[str]:
    for cell in row:
        if cell.tag in ("td", "th"):
            yield said(cell)
            yield from [""] * (min(number_of(cell, "colspan", 1), _SPAN) - 1)


def said(element: Element) -> str:
    """The text of a small element on one line; what stands on lines of its own is parted by blanks."""
    if not len(element):
        return " ".join((element.text or "").split())
    text: list[str] = []
    events = etree.iterwalk(element, events=("start", "end"))
    for event, found in events:
        known = isinstance(found.tag, str) and found.tag not in SKIPPED
        if known and (stands_alone(found.tag) or found.tag == "br"):
            text.append(" ")
        if event == "start" and known:
            text.append(found.text or "")
        elif event == "start":
            events.skip_subtree()
        elif found is not element:
            text.append(found.tail or "")
    return " ".join("".join(text).split())


def number_of(element: Element, name: str, otherwise: int) -> int:
    """A whole number attribute, or the other number where there is none that makes sense."""
    value = element.get(name, "").strip()
    return int(value) if re.fullmatch(r"-?\d{1,6}", value) else otherwise
