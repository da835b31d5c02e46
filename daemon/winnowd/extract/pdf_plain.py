"""The second reader: pypdf, for a PDF that MuPDF cannot open. Plain paragraphs, page by page, and nothing more."""

import logging
import re

import pypdf
from pypdf.errors import DeprecationError, PyPdfError

from winnowd.errors import Damaged, Encrypted
from winnowd.extract import Reading
from winnowd.model import Block, Extraction, Note, Page

_FAULTS = (
    PyPdfError,
    DeprecationError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    AssertionError,
    RecursionError,
    OverflowError,
    NotImplementedError,
)
"""What pypdf was seen to raise on broken files."""
PAGES = 2_000
"""pypdf takes about ten times as long as MuPDF; beyond this the rest is left out."""
_GAP = re.compile(r"\n\s*\n")


def extract_plain(reading: Reading, why: str) -> Extraction:
    """The text of a PDF that MuPDF could not open for the reason `why`. Raises Encrypted or Damaged."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it says on stderr what the notes say
    try:
        reader = pypdf.PdfReader(reading.path, strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Encrypted("the PDF needs a password")
        count = len(reader.pages)
    except _FAULTS as error:
        raise Damaged(f"the PDF cannot be read: {why}") from error
    pages, blocks, notes = _pages(reader, reading, min(count, PAGES))
    if not any(not page.unreadable for page in pages):
        raise Damaged(f"the PDF cannot be read: {why}")
    notes.insert(0, Note("fallback", f"read with pypdf, since MuPDF could not open the file: {why}"))
    if count > PAGES:
        notes.append(Note("bounded", f"only the first {PAGES} of {count} pages were read", measure=float(count)))
    return Extraction("pdf", pages=tuple(pages), blocks=tuple(blocks), notes=tuple(notes), paged=True, size=reading.size)


def _pages(reader: pypdf.PdfReader, reading: Reading, count: int) -> tuple[list[Page], list[Block], list[Note]]:
    pages: list[Page] = []
    blocks: list[Block] = []
    notes: list[Note] = []
    room = reading.text_chars
    for index in range(count):
        reading.progress()
        try:
            page = reader.pages[index]
            text = page.extract_text()
            width, height = float(page.mediabox.width), float(page.mediabox.height)
        except _FAULTS as error:
            notes.append(Note("damaged", f"page {index + 1} could not be read: {type(error).__name__}", index))
            pages.append(Page(index, str(index + 1), unreadable=True))
            continue
        pages.append(Page(index, str(index + 1), width, height, unmapped=text.count("\ufffd")))
        blocks += [Block("paragraph", part.strip(), index) for part in _GAP.split(text[:room]) if part.strip()]
        if len(text) > room:
            notes.append(Note("bounded", f"text beyond {reading.text_chars} characters was left out", index))
            break
        room -= len(text)
    return pages, blocks, notes
