"""One page of a PDF: its lines with their places, and the few facts about images, hidden text and ink that checks ask for.

The text page is made once, in the displayed frame, and printed as JSON by MuPDF itself: that costs about as much as plain text. Whatever
costs more (colours, single characters, a raster) is asked only of pages that give a reason.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pymupdf

from winnowd.extract.pdf_letters import SPACED, closed_up
from winnowd.extract.pdf_open import FAULTS
from winnowd.model import Box, Line, Page

mupdf = pymupdf.mupdf

_TEXT = mupdf.FZ_STEXT_PRESERVE_WHITESPACE | mupdf.FZ_STEXT_MEDIABOX_CLIP | mupdf.FZ_STEXT_PRESERVE_LIGATURES
_WITH_IMAGES = _TEXT | mupdf.FZ_STEXT_PRESERVE_IMAGES
"""No CID_FOR_UNKNOWN_UNICODE: a glyph without a character stays U+FFFD and does not become a wrong letter."""
_SCALE = 10
"""The JSON has whole numbers: tenths of a point."""

OCR_COVER = 0.3
"""Share of a page under images from which its text may be an OCR layer, and is asked for its transparency."""
OCR_SHARE = 0.5
"""From this share of invisible text on it is what the page says, and not something hidden in it."""
FEW_CHARS = 30
"""Below this a page is asked for its ink and drawings: the same number below which a page counts as scanned."""
CONTENT_BYTES = 400_000
"""Larger page contents are not searched for white or invisible text: maps and plots, where that would cost more than the text."""
RASTER_DPI = 36
INK_LEVELS = 48
"""A pixel is ink when it is this far (of 255) from the commonest grey of the page."""
WHITE = 250
"""Every channel at or above this is white, for text and for what lies behind it."""

_WHITE_FILLS = (b"1 g", b"1 1 1 rg", b"1 1 1 sc", b"0 0 0 0 k", b"0 0 0 0 sc", b"1.0 g", b"1.0 1.0 1.0 rg", b"1.000 g", b"1.000 1.000 1.000 rg")
"""White as programs write it in the grey, RGB and CMYK spaces (ISO 32000-2, 8.6.8); searched as bytes, since that costs next to nothing."""
_INVISIBLE = (b" 3 Tr", b"\n3 Tr", b"\r3 Tr")
_APART = (b"", b" ", b"\n", b"\r", b"\t")
_TEXT_OR_COLOUR = re.compile(rb"[\])>\s](T[jJ]|'|\")\s|\s(?:rg|g|k|scn?|cs|Q)\s")
_BOLD_NAME = re.compile(r"bold|black|heavy|demi|cmbx|cmssbx|sfbx|sfsx|ecbx|[-,]bd|medi$", re.IGNORECASE)
_MONO_NAME = re.compile(r"courier|mono|typewriter|consol|menlo|cmtt|sftt|ectt|cmsltt|lmtt|inconsol|lucidasans-?type", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sheet:
    """What was read of one page: its facts, the lines a reader sees, those nobody sees, and whether letters were set apart in it."""

    page: Page
    lines: tuple[Line, ...]
    hidden: tuple[Line, ...] = ()


def read_sheet(page: pymupdf.Page, index: int, label: str | None) -> Sheet:
    """The facts and lines of a page. Raises what MuPDF raises (`pdf_open.FAULTS`)."""
    text_page = mupdf.FzStextPage(_fz(page), mupdf.FzStextOptions(_WITH_IMAGES))
    blocks = json.loads(_printed(text_page), strict=False)["blocks"]
    bound = page.rect
    facts = Page(index, label, round(bound.width, 1), round(bound.height, 1))
    images = [_box(block["bbox"]) for block in blocks if block["type"] == "image"]
    lines = [_line(line) for block in blocks if block["type"] == "text" for line in block["lines"]]
    lines = [line for line in lines if line is not None]
    facts = replace(facts, images=len(images), image_cover=cover(images, facts.width, facts.height))
    hidden: list[Line] = []
    if lines and _worth_a_look(page, facts):
        lines, hidden, share = _seen_and_unseen(page, facts, images)
        facts = replace(facts, hidden_share=share)
    if any(SPACED.search(line.text) for line in lines):
        lines = closed_up(lines, _spans(page, raw=True))
    chars = sum(len(line.text.replace(" ", "")) for line in lines)
    if chars < FEW_CHARS:
        facts = _with_ink(page, facts)
    return Sheet(replace(facts, unmapped=sum(line.text.count("\ufffd") for line in lines)), tuple(lines), tuple(hidden))


def _fz(page: pymupdf.Page) -> "mupdf.FzPage":
    return page.this if isinstance(page.this, mupdf.FzPage) else page.this.super()


def _printed(text_page: "mupdf.FzStextPage") -> str:
    buffer = mupdf.fz_new_buffer(65536)
    output = mupdf.FzOutput(buffer)
    mupdf.fz_print_stext_page_as_json(output, text_page, _SCALE)
    output.fz_close_output()
    return str(buffer.fz_buffer_extract().decode("utf-8", "replace"))


def _box(box: dict[str, float]) -> Box:
    x, y = box["x"] / _SCALE, box["y"] / _SCALE
    return x, y, x + box["w"] / _SCALE, y + box["h"] / _SCALE


def _line(line: dict[str, Any]) -> Line | None:
    text = line["text"].rstrip()
    if not text.strip():
        return None
    font, box = line["font"], _box(line["bbox"])
    size = font["size"] / _SCALE
    bold, mono = style(font["name"], font["weight"] == "bold", font["family"] == "monospace")
    return Line(text, box, size, bold, mono, _turned(text, box, size))


def _turned(text: str, box: Box, size: float) -> bool:
    """Whether a line does not run from left to right: a tall box that is no single character."""
    width, height = box[2] - box[0], box[3] - box[1]
    return len(text) > 1 and height > 1.3 * width and height > 1.8 * size


@lru_cache(maxsize=4096)
def style(name: str, bold: bool, mono: bool) -> tuple[bool, bool]:
    """Whether a font is bold and whether it is monospaced: what MuPDF says of it, or its name does (TeX fonts carry no flags)."""
    return bold or _BOLD_NAME.search(name) is not None, mono or _MONO_NAME.search(name) is not None


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


def _worth_a_look(page: pymupdf.Page, facts: Page) -> bool:
    """Whether some of the text may be unseen: an image under it, or operators for invisible or white text in the contents."""
    if facts.image_cover >= OCR_COVER:
        return True
    try:
        contents = page.read_contents()
    except FAULTS:
        return False
    if len(contents) > CONTENT_BYTES:
        return False
    return any(mark in contents for mark in _INVISIBLE) or any(_writes_in_white(contents, mark) for mark in _WHITE_FILLS)


def _writes_in_white(contents: bytes, mark: bytes) -> bool:
    """Whether text is shown after the colour `mark`, before another colour is set."""
    place = contents.find(mark)
    while place >= 0:
        before = contents[place - 1 : place]
        following = _TEXT_OR_COLOUR.search(contents, place + len(mark))
        if before in _APART and following and following[1]:
            return True
        place = contents.find(mark, place + 1)
    return False


def _seen_and_unseen(page: pymupdf.Page, facts: Page, images: list[Box]) -> tuple[list[Line], list[Line], float]:
    """Lines from the spans with their colours: those to be read, those nobody can see, and the share of invisible characters.

    Invisible text (render mode 3, transparent) is read where it is most of the page or lies on an image, for then it is an OCR layer.
    """
    found = [each for block in _spans(page, raw=False) for each in block.get("lines", ())]
    clear = sum(len(span["text"]) for line in found for span in line["spans"] if span["alpha"] == 0)
    total = sum(len(span["text"]) for line in found for span in line["spans"])
    share = clear / total if total else 0.0
    raster: pymupdf.Pixmap | None = None
    seen: list[Line] = []
    unseen: list[Line] = []
    for each in found:
        line = _line_of_spans(each)
        if line is None:
            continue
        spans = [span for span in each["spans"] if span["text"].strip()]
        hidden = share < OCR_SHARE and all(span["alpha"] == 0 for span in spans) and not _lies_on(line.box, images)
        if not hidden and all(_white(span) for span in spans):
            raster = raster or _raster(page)
            hidden = _on_white(raster, line.box)
        (unseen if hidden else seen).append(line)
    return seen, unseen, share


def _spans(page: pymupdf.Page, raw: bool) -> list[dict[str, Any]]:
    """The text blocks of a page with their spans, or their single characters."""
    text_page = mupdf.FzStextPage(_fz(page), mupdf.FzStextOptions(_TEXT))  # kept: the call below holds no reference to it
    blocks: dict[str, list[dict[str, Any]]] = {}
    pymupdf.extra.JM_make_textpage_dict(text_page.m_internal, blocks, raw)
    return blocks["blocks"]


def _line_of_spans(found: dict[str, Any]) -> Line | None:
    text = "".join(span["text"] for span in found["spans"]).rstrip()
    if not text.strip():
        return None
    spans = [span for span in found["spans"] if span["text"].strip()]
    styles = [style(span["font"], bool(span["flags"] & pymupdf.TEXT_FONT_BOLD), bool(span["flags"] & pymupdf.TEXT_FONT_MONOSPACED)) for span in spans]
    size = max(spans, key=lambda span: len(span["text"]))["size"]
    box = tuple(found["bbox"])
    return Line(text, box, round(size, 1), all(bold for bold, _ in styles), all(mono for _, mono in styles), _turned(text, box, size))


def _lies_on(box: Box, images: list[Box]) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in images)


def _white(span: dict[str, Any]) -> bool:
    return span["alpha"] != 0 and min(span["color"] >> 16, span["color"] >> 8 & 255, span["color"] & 255) >= WHITE


def _raster(page: pymupdf.Page) -> pymupdf.Pixmap:
    return page.get_pixmap(dpi=RASTER_DPI, colorspace=pymupdf.csGRAY, alpha=False, annots=False)


def _on_white(raster: pymupdf.Pixmap, box: Box) -> bool:
    """Whether the raster shows nothing but white where the box lies."""
    scale = RASTER_DPI / 72
    left, right = max(0, int(box[0] * scale)), min(raster.width, int(box[2] * scale) + 1)
    top, bottom = max(0, int(box[1] * scale) + 1), min(raster.height, int(box[3] * scale))
    samples = raster.samples_mv
    return all(min(samples[row * raster.stride + left : row * raster.stride + right], default=255) >= WHITE for row in range(top, bottom))


def _with_ink(page: pymupdf.Page, facts: Page) -> Page:
    """The facts of a page with almost no text, with the paths drawn and the ink on a small raster."""
    drawings = sum(kind.endswith("-path") for kind, *_ in page.get_bboxlog())
    if not drawings and not facts.images:
        return facts
    return replace(facts, drawings=drawings, ink=ink(_raster(page).samples))


def ink(samples: bytes) -> float:
    """The share of grey pixels that differ from the commonest grey by INK_LEVELS or more.

    >>> ink(bytes([255] * 9 + [0]))
    0.1
    """
    if not samples:
        return 0.0
    counts = Counter(samples)
    paper = counts.most_common(1)[0][0]
    return sum(count for grey, count in counts.items() if abs(grey - paper) >= INK_LEVELS) / len(samples)
