"""Bookmarks and page labels of a PDF: two small trees that are often damaged, walked with bounds of our own."""

from collections.abc import Iterator
from dataclasses import dataclass

import pymupdf
from pymupdf import mupdf

from winnowd.extract.pdf_facts import tidy
from winnowd.extract.pdf_open import FAULTS
from winnowd.model import OutlineEntry

ENTRIES = 20_000
DEPTH = 64
"""More or deeper bookmarks are left out: no book needs them, and a damaged or hostile tree does."""
_LABEL_RANGES = 20_000
_LABEL_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Bookmarks:
    """The bookmarks in order, without labels, and whether some had to be left out."""

    entries: tuple[OutlineEntry, ...]
    damaged: bool = False


def bookmarks(pdf: pymupdf.Document, pages: int) -> Bookmarks:
    """The outline of the document (ISO 32000-2, 12.3.3), with page indexes below `pages`. Loops and depth are bounded."""
    document = mupdf.pdf_document_from_fz_document(pdf.this)
    entries: list[OutlineEntry] = []
    try:
        root = mupdf.pdf_dict_getp(mupdf.pdf_trailer(document), "Root/Outlines")
        for level, item in _items(root):
            if item is None:
                return Bookmarks(tuple(entries), damaged=True)
            title = tidy(mupdf.pdf_to_text_string(mupdf.pdf_dict_gets(item, "Title")))
            index = _target(document, item)
            entries.append(OutlineEntry(level, title, index if index is not None and 0 <= index < pages else None))
    except FAULTS:
        return Bookmarks(tuple(entries), damaged=True)
    return Bookmarks(tuple(entries))


def _items(root: mupdf.PdfObj) -> Iterator[tuple[int, mupdf.PdfObj | None]]:
    """Level and item in order; None once, at the end, where the tree loops or is beyond the bounds."""
    seen: set[int] = set()
    waiting = [(1, mupdf.pdf_dict_gets(root, "First"))]
    while waiting:
        level, item = waiting.pop()
        if not mupdf.pdf_is_dict(item):
            continue
        number = mupdf.pdf_to_num(item)
        if number in seen or level > DEPTH or len(seen) >= ENTRIES:
            yield level, None
            return
        seen.add(number or -len(seen) - 1)  # a direct object has no number and cannot loop
        yield level, item
        waiting.append((level, mupdf.pdf_dict_gets(item, "Next")))
        waiting.append((level + 1, mupdf.pdf_dict_gets(item, "First")))


def _target(document: mupdf.PdfDocument, item: mupdf.PdfObj) -> int | None:
    """The page index an item leads to; None for other files, web pages and what cannot be resolved."""
    target = mupdf.pdf_dict_gets(item, "Dest")
    if not target.m_internal:
        action = mupdf.pdf_dict_gets(item, "A")
        if mupdf.pdf_to_name(mupdf.pdf_dict_gets(action, "S")) != "GoTo":
            return None
        target = mupdf.pdf_dict_gets(action, "D")
    if mupdf.pdf_is_name(target) or mupdf.pdf_is_string(target):
        target = mupdf.pdf_lookup_dest(document, target)
    if mupdf.pdf_is_dict(target):
        target = mupdf.pdf_dict_gets(target, "D")
    if not mupdf.pdf_is_array(target):
        return None
    page = mupdf.pdf_array_get(target, 0)
    if mupdf.pdf_is_int(page):
        return int(mupdf.pdf_to_int(page))
    if not mupdf.pdf_is_dict(page):
        return None
    try:
        return int(mupdf.pdf_lookup_page_number(document, page))
    except FAULTS:  # an object that is no page of this document
        return None


def page_labels(pdf: pymupdf.Document, pages: int) -> list[str]:
    """The label of every page (ISO 32000-2, 12.4.2); where the document has none, the number a reader shows: 1, 2, 3."""
    try:
        root = mupdf.pdf_dict_getp(mupdf.pdf_trailer(mupdf.pdf_document_from_fz_document(pdf.this)), "Root/PageLabels")
        ranges = sorted(_ranges(root), key=lambda part: part[0])
    except FAULTS:
        ranges = []
    return labels(ranges, pages)


def _ranges(root: mupdf.PdfObj) -> Iterator[tuple[int, str, str, int]]:
    """First page index, style, prefix and first number of every range in the number tree."""
    waiting, seen = [(0, root)], 0
    while waiting and seen < _LABEL_RANGES:
        depth, node = waiting.pop()
        if not mupdf.pdf_is_dict(node) or depth > _LABEL_DEPTH:
            continue
        numbers, kids = mupdf.pdf_dict_gets(node, "Nums"), mupdf.pdf_dict_gets(node, "Kids")
        waiting += [
            (depth + 1, mupdf.pdf_array_get(kids, place)) for place in range(min(mupdf.pdf_array_len(kids), _LABEL_RANGES))
        ]
        for place in range(0, min(mupdf.pdf_array_len(numbers), 2 * _LABEL_RANGES) - 1, 2):
            rule = mupdf.pdf_array_get(numbers, place + 1)
            first = mupdf.pdf_dict_gets(rule, "St")
            yield (
                mupdf.pdf_to_int(mupdf.pdf_array_get(numbers, place)),
                mupdf.pdf_to_name(mupdf.pdf_dict_gets(rule, "S")),
                tidy(mupdf.pdf_to_text_string(mupdf.pdf_dict_gets(rule, "P"))),
                mupdf.pdf_to_int(first) if mupdf.pdf_is_number(first) else 1,
            )
        seen += 1


def labels(ranges: list[tuple[int, str, str, int]], pages: int) -> list[str]:
    """Labels for pages 0 to `pages` - 1 from sorted ranges (first index, style, prefix, first number).

    >>> labels([(0, "r", "", 1), (2, "D", "", 1), (3, "D", "A-", 7)], 4)
    ['i', 'ii', '1', 'A-7']
    """
    result = [str(index + 1) for index in range(pages)]
    for place, (start, style, prefix, first) in enumerate(ranges):
        end = ranges[place + 1][0] if place + 1 < len(ranges) else pages
        for index in range(max(0, start), min(end, pages)):
            result[index] = prefix + numeral(style, first + index - start) or result[index]
    return result


def numeral(style: str, number: int) -> str:
    """A page number in a style of the specification (D, r, R, a, A); nothing for any other style.

    >>> numeral("R", 1994), numeral("a", 28), numeral("D", 3)
    ('MCMXCIV', 'bb', '3')
    """
    if style not in ("D", "r", "R", "a", "A") or number < 1:
        return str(number) if style == "D" else ""
    if style == "D" or number > 4999:  # beyond that, letters would be of no use to a reader
        return str(number)
    text = _roman(number) if style in "rR" else chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    return text.upper() if style.isupper() else text


def _roman(number: int) -> str:
    text = ""
    for value, letters in zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"),
        strict=True,
    ):
        text += letters * (number // value)
        number %= value
    return text
