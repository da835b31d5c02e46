"""The text page of MuPDF as lines: printed as JSON, which costs about as much as plain text, or as spans, which costs more."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pymupdf
from pymupdf import mupdf

from winnowd.model import Box, Line

_TEXT = mupdf.FZ_STEXT_PRESERVE_WHITESPACE | mupdf.FZ_STEXT_MEDIABOX_CLIP | mupdf.FZ_STEXT_PRESERVE_LIGATURES
"""No CID_FOR_UNKNOWN_UNICODE: a glyph without a character stays U+FFFD and does not become a wrong letter."""
_SCALE = 10
"""The JSON has whole numbers: tenths of a point."""
BOLD_CHARS = 120
"""A longer bold line is no heading, and need not be asked whether it is bold to its end."""
_PART = re.compile(
    r'"bbox":\{"x":([^,]*),"y":([^,]*),"w":([^,]*),"h":([^,}]*)[^}]*\}'
    r'(?:(,"lines")|,"font":\{([^}]*(?:\}(?!,"x":)[^}]*)*)\},"x":[^"]*"y":[^"]*"text":"([^"\\]*(?:\\.[^"\\]*)*)")?',
    re.DOTALL,
)
"""Place and size of each part of the JSON, with what follows: a block of text opens lines, a line has a font and characters, an
image has nothing. Read so, the JSON takes half the time of a parser, which makes three objects for every line. Quotes within
a string are escaped, so none of this can stand inside one."""
_BOLD_NAME = re.compile(r"bold|black|heavy|demi|cmbx|cmssbx|sfbx|sfsx|ecbx|[-,]bd|medi$", re.IGNORECASE)
_MONO_NAME = re.compile(
    r"courier|mono|typewriter|consol|menlo|cmtt|sftt|ectt|cmsltt|lmtt|inconsol|lucidasans-?type", re.IGNORECASE
)


def text_page(page: pymupdf.Page, images: bool) -> mupdf.FzStextPage:
    """The text page in the displayed frame, on request with the places of the images. Raises what MuPDF raises."""
    return mupdf.FzStextPage(_fz(page), mupdf.FzStextOptions(_TEXT | (mupdf.FZ_STEXT_PRESERVE_IMAGES if images else 0)))


def _fz(page: pymupdf.Page) -> mupdf.FzPage:
    return page.this if isinstance(page.this, mupdf.FzPage) else page.this.super()


def printed(source: mupdf.FzStextPage) -> tuple[list[Line], list[Box], bool]:
    """The lines of a text page in the order of the source, the boxes of its images, and if a font is of Type 3."""
    text = _printed(source)
    lines, images, doubtful = parsed(text)
    for where in _not_bold_at_the_end(source, doubtful):
        lines[where] = replace(lines[where], bold=False)
    return lines, images, '"name":"Type3' in text


def _printed(source: mupdf.FzStextPage) -> str:
    buffer = mupdf.fz_new_buffer(65536)
    output = mupdf.FzOutput(buffer)
    mupdf.fz_print_stext_page_as_json(output, source, _SCALE)
    output.fz_close_output()
    return str(buffer.fz_buffer_extract().decode("utf-8", "replace"))


def parsed(text: str) -> tuple[list[Line], list[Box], dict[int, dict[int, int]]]:
    """The lines and the boxes of the images, and which lines are to be asked if they are bold to their end.

    The JSON names the font of the first character only: short bold lines are asked for their last. They are given by the number
    of their block and their own in it, which count what is empty as well, with their place among the lines.
    """
    lines: list[Line] = []
    images: list[Box] = []
    doubtful: dict[int, dict[int, int]] = {}
    block = place = -1
    for x, y, width, height, opens, font, letters in _PART.findall(text):
        if not font:
            block, place = block + 1, -1
            if not opens:
                images.append(_box(int(x) / _SCALE, int(y) / _SCALE, int(width) / _SCALE, int(height) / _SCALE))
            continue
        place += 1
        line = _line(letters, font, int(x) / _SCALE, int(y) / _SCALE, int(width) / _SCALE, int(height) / _SCALE)
        if line is None:
            continue
        if line.bold and len(line.text) <= BOLD_CHARS:
            doubtful.setdefault(block, {})[place] = len(lines)
        lines.append(line)
    return lines, images, doubtful


def _box(x: float, y: float, width: float, height: float) -> Box:
    return x, y, x + width, y + height


def _not_bold_at_the_end(source: mupdf.FzStextPage, doubtful: dict[int, dict[int, int]]) -> Iterator[int]:
    """Steps from pointer to pointer: the binding's own iterators would make an object for every block and line."""
    block = source.m_internal.first_block
    for number in range(max(doubtful, default=-1) + 1):
        if number in doubtful:
            wanted = doubtful[number]
            line = next(iter(mupdf.FzStextBlock(block))).m_internal
            for place in range(max(wanted) + 1):
                if place in wanted and not _is_bold(line.last_char.font):
                    yield wanted[place]
                line = line.next
        block = block.next


def _is_bold(font: Any) -> bool:
    return style(mupdf.ll_fz_font_name(font), bool(mupdf.ll_fz_font_is_bold(font)), False)[0]


def _line(letters: str, font: str, x: float, y: float, width: float, height: float) -> Line | None:
    text = (json.loads(f'"{letters}"', strict=False) if "\\" in letters else letters).rstrip()
    if not text:
        return None
    size, bold, mono = _font(font)
    # taller than wide and than its letters: it does not run from left to right, unless it is a single character
    turned = height > 1.8 * size and height > 1.3 * width and len(text) > 1
    return Line(text, (x, y, x + width, y + height), size, bold, mono, turned)


@lru_cache(maxsize=4096)
def _font(members: str) -> tuple[float, bool, bool]:
    """Size, boldness and even width of a font from the members of its JSON object: a document repeats a few of them."""
    font = json.loads(f"{{{members}}}", strict=False)
    return font["size"] / _SCALE, *style(font["name"], font["weight"] == "bold", font["family"] == "monospace")


@lru_cache(maxsize=4096)
def style(name: str, bold: bool, mono: bool) -> tuple[bool, bool]:
    """Whether a font is bold and monospaced: MuPDF says so, or its name does (TeX fonts carry no flags)."""
    return bold or _BOLD_NAME.search(name) is not None, mono or _MONO_NAME.search(name) is not None


def spans(source: mupdf.FzStextPage, raw: bool) -> list[dict[str, Any]]:
    """The text blocks of a text page with their spans, or their single characters.

    A text page with images is not to be asked: each would be encoded. It has to outlive the call, which holds no reference.
    """
    blocks: dict[str, list[dict[str, Any]]] = {}
    pymupdf.extra.JM_make_textpage_dict(source.m_internal, blocks, raw)
    return blocks["blocks"]
