"""Text that nobody sees: an OCR layer behind a scan, which is to be read, and what is hidden in a page, which is set aside."""

import re
from typing import Any

import pymupdf

from winnowd.extract.pdf_open import FAULTS, stream
from winnowd.model import Box, Page

Place = tuple[int, int]

OCR_COVER = 0.3
"""Share of a page under images from which its text may be an OCR layer, and is asked for its transparency."""
OCR_SHARE = 0.5
"""From this share of invisible text on it is what the page says, and not something hidden in it."""
CONTENT_BYTES = 400_000
"""Larger page contents are not searched for white or invisible text: in maps and plots that would cost too much."""
CONTENTS = 20
"""So many streams of a page are searched; most pages have one, some eight."""
RASTER_DPI = 36
WHITE = 250
"""Every channel at or above this is white, for text and for what lies behind it."""

_WHITE_FILLS = {
    b"1 g": (b"1 g",),
    b"1 1 1 ": (b"1 1 1 rg", b"1 1 1 sc"),
    b"0 0 0 0 ": (b"0 0 0 0 k", b"0 0 0 0 sc"),
    b"1.0 ": (b"1.0 g", b"1.0 1.0 1.0 rg"),
    b"1.000 ": (b"1.000 g", b"1.000 1.000 1.000 rg"),
}
"""White as programs write it in the grey, RGB and CMYK spaces (ISO 32000-2, 8.6.8), by how it begins: most contents have none
of these beginnings, and then need not be searched for the rest."""
_INVISIBLE = re.compile(rb"[ \n\r]3 Tr")
_APART = (b"", b" ", b"\n", b"\r", b"\t")
_TEXT_OR_COLOUR = re.compile(rb"[\])>\s](T[jJ]|'|\")\s|\s(?:rg|g|k|scn?|cs|Q)\s")


def look_for(page: pymupdf.Page, facts: Page) -> frozenset[str]:
    """What some of the text may be: "clear" (invisible, as in an OCR layer) or "white" on a page without large images."""
    try:
        xrefs = page.get_contents()
        if facts.image_cover >= OCR_COVER:  # some programs write an OCR layer into a form of its own
            xrefs += [xref for xref, *_ in page.get_xobjects()]
        parts = [stream(page.parent, xref, CONTENT_BYTES) for xref in xrefs[:CONTENTS]]
    except FAULTS:
        return frozenset()
    look = {"clear"} if any(b"3 Tr" in part and _INVISIBLE.search(part) for part in parts) else set()
    if facts.image_cover < OCR_COVER and any(_writes_in_white(part) for part in parts):
        look.add("white")
    return frozenset(look)


def _writes_in_white(contents: bytes) -> bool:
    return any(
        start in contents and any(_writes_after(contents, mark) for mark in marks) for start, marks in _WHITE_FILLS.items()
    )


def _writes_after(contents: bytes, mark: bytes) -> bool:
    """Whether text is shown after the colour `mark`, before another colour is set."""
    place = contents.find(mark)
    while place >= 0:
        before = contents[place - 1 : place]
        following = _TEXT_OR_COLOUR.search(contents, place + len(mark))
        if before in _APART and following and following[1]:
            return True
        place = contents.find(mark, place + 1)
    return False


def unseen(page: pymupdf.Page, blocks: list[dict[str, Any]], images: list[Box], white: bool) -> tuple[set[Place], float]:
    """The places of the lines that nobody can see, and the share of invisible characters, from spans with their colours.

    Invisible text (render mode 3, transparent) is read where it is most of the page or lies on an image: an OCR layer.
    White text, looked for on request, is unseen where a raster of the page shows nothing but white in its place.
    """
    lines = [
        (line["bbox"], [span for span in line["spans"] if span["text"].strip()])
        for block in blocks
        for line in block.get("lines", ())
    ]
    clear = sum(len(span["text"]) for _, spans in lines for span in spans if span["alpha"] == 0)
    total = sum(len(span["text"]) for _, spans in lines for span in spans)
    share = clear / total if total else 0.0
    pale = [box for box, spans in lines if spans and all(_white(span) for span in spans)] if white else []
    places = {place(box) for box in _on_white(page, pale)}
    if clear and share < OCR_SHARE:
        places |= {
            place(box) for box, spans in lines if all(span["alpha"] == 0 for span in spans) and not _lies_on(box, images)
        }
    return places, share


def place(box: Box) -> Place:
    """The top left corner to the point, by which a line is found again in another print of the same page."""
    return round(box[0]), round(box[1])


def _lies_on(box: Box, images: list[Box]) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in images)


def _white(span: dict[str, Any]) -> bool:
    colour: int = span["color"]
    return span["alpha"] != 0 and min(colour >> 16, colour >> 8 & 255, colour & 255) >= WHITE


def small_raster(page: pymupdf.Page, clip: Box | None = None) -> pymupdf.Pixmap:
    """The page, or a part of it, in grey at RASTER_DPI, without annotations."""
    return page.get_pixmap(dpi=RASTER_DPI, colorspace=pymupdf.csGRAY, alpha=False, annots=False, clip=clip)


def _on_white(page: pymupdf.Page, boxes: list[Box]) -> list[Box]:
    """The boxes in which a raster of the page shows nothing but white. Only the part that holds them all is drawn."""
    if not boxes:
        return []
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    raster = small_raster(page, (min(x0), min(y0), max(x1), max(y1)))
    return [box for box in boxes if _is_white(raster, box)]


def _is_white(raster: pymupdf.Pixmap, box: Box) -> bool:
    """Whether the raster shows nothing but white where the box lies."""
    scale = RASTER_DPI / 72
    left, right = max(0, int(box[0] * scale) - raster.x), min(raster.width, int(box[2] * scale) + 1 - raster.x)
    top, bottom = max(0, int(box[1] * scale) + 1 - raster.y), min(raster.height, int(box[3] * scale) - raster.y)
    samples = raster.samples_mv
    return all(
        min(samples[row * raster.stride + left : row * raster.stride + right], default=255) >= WHITE
        for row in range(top, bottom)
    )
