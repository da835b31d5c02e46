"""One page of a PDF: its lines with their places, and the few facts about images, hidden text and ink that checks ask for.

Whatever costs more than text (colours, single characters, a raster) is asked only of pages that give a reason.
"""

from collections import Counter
from dataclasses import dataclass, replace

import pymupdf

from winnowd.extract.pdf_letters import closed_up, spaced
from winnowd.extract.pdf_text import printed, spans, text_page
from winnowd.extract.pdf_unseen import look_for, place, small_raster, unseen
from winnowd.model import Box, Line, Page

FEW_CHARS = 30
"""Below this a page is asked for its ink and drawings: the same number below which a page counts as scanned."""
INK_LEVELS = 48
"""A pixel is ink when it is this far (of 255) from the commonest grey of the page."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What was read of one page: its facts, the lines a reader sees, those nobody sees, and if a font is made of drawings."""

    page: Page
    lines: tuple[Line, ...]
    hidden: tuple[Line, ...] = ()
    type3: bool = False


def read_sheet(page: pymupdf.Page, index: int, label: str | None) -> Sheet:
    """The facts and lines of a page. Raises what MuPDF raises (`pdf_open.FAULTS`)."""
    source = text_page(page, images=True)
    lines, images, type3 = printed(source)
    bound = page.rect
    width, height = round(bound.width, 1), round(bound.height, 1)
    text = "\n".join([line.text for line in lines])
    facts = Page(index, label, width, height, cover(images, width, height), len(images), unmapped=text.count("\ufffd"))
    look = look_for(page, facts) if lines else frozenset()
    apart = spaced(text)
    if images and (look or apart):
        source = text_page(page, images=False)
    places: set[tuple[int, int]] = set()
    if look:
        places, share = unseen(page, spans(source, raw=False), images, "white" in look)
        facts = replace(facts, hidden_share=share)
    if apart:
        lines = closed_up(lines, spans(source, raw=True))
    if len(text) - text.count(" ") < FEW_CHARS + len(lines):
        facts = _with_ink(page, facts)
    if not places:
        return Sheet(facts, tuple(lines), type3=type3)
    hidden = tuple(line for line in lines if place(line.box) in places)
    return Sheet(facts, tuple(line for line in lines if place(line.box) not in places), hidden, type3)


def cover(boxes: list[Box], width: float, height: float) -> float:
    """The share of a page that boxes cover together, on a grid of 40 by 40.

    >>> cover([(0, 0, 50, 100), (25, 0, 50, 100)], 100, 100)
    0.5
    """
    if not boxes or width <= 0 or height <= 0:
        return 0.0
    rows = [0] * 40
    for x0, y0, x1, y1 in boxes:
        left, right = (max(0, min(40, round(40 * x / width))) for x in (x0, x1))
        top, bottom = (max(0, min(40, round(40 * y / height))) for y in (y0, y1))
        for row in range(top, bottom):
            rows[row] |= (1 << right) - (1 << left)
    return sum(row.bit_count() for row in rows) / 1600


def _with_ink(page: pymupdf.Page, facts: Page) -> Page:
    """The facts of a page with almost no text, with the paths drawn and the ink on a small raster."""
    drawings = sum(kind.endswith("-path") for kind, *_ in page.get_bboxlog())
    if not drawings and not facts.images:
        return facts
    return replace(facts, drawings=drawings, ink=ink(small_raster(page).samples))


def ink(samples: bytes) -> float:
    """The share of grey pixels that differ from the commonest grey by INK_LEVELS or more.

    >>> ink(bytes([255] * 9 + [0]))
    0.1
    """
    if not samples:
        return 0.0
    white = 2 * samples.count(255) > len(samples)  # counting every grey takes longer than the drawing
    paper = 255 if white else Counter(samples).most_common(1)[0][0]
    near = bytes(grey for grey in range(256) if abs(grey - paper) < INK_LEVELS)
    return len(samples.translate(None, near)) / len(samples)
