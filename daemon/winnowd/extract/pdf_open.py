"""Opens a PDF with MuPDF, or says in one exception why there is none. Hides what MuPDF raises and prints."""

import re
import zlib

import pymupdf

from winnowd.errors import Damaged, Encrypted, OutOfMemory

FAULTS = (
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    AssertionError,
    OverflowError,
    pymupdf.mupdf.FzErrorBase,
)
"""What MuPDF's binding was seen to raise on broken files: its own errors, and those of Python code that met a null object."""

_OUT_OF_MEMORY = re.compile(r"malloc|calloc|realloc|out of memory|cannot allocate", re.IGNORECASE)
_TAIL = 2048
_HEAD = 4096
_LINEARISED = re.compile(rb"/Linearized\b[^>]{0,200}?/L\s+(\d+)")


def open_pdf(path: str) -> pymupdf.Document:
    """The open document, with the empty user password tried. Raises Encrypted, Damaged (also without pages) or OutOfMemory."""
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        pdf = pymupdf.open(path, filetype="pdf")
        if pdf.needs_pass and not pdf.authenticate(""):
            raise Encrypted("the PDF needs a password")
        if not pdf.is_pdf:
            raise Damaged("the file is not a PDF")
        if pdf.page_count <= 0:
            raise Damaged("the PDF holds no pages")
    except FAULTS as error:
        guard_memory(error)
        raise Damaged(f"the PDF cannot be opened: {reason(error)}") from error
    return pdf


def guard_memory(error: BaseException) -> None:
    """Raises OutOfMemory where MuPDF's error means that."""
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(f"{error} {error.__cause__ or ''}"):
        raise OutOfMemory("the PDF needed more memory than a child may take") from error


def reason(error: BaseException) -> str:
    """What MuPDF says, in one short line, without the path."""
    text = str(error.__cause__ or error).splitlines()
    line = next((part.strip() for part in text if part.strip()), type(error).__name__)
    return re.sub(r"'?/proc/\S+|code=\d+:\s*", "", line).strip()[:200] or type(error).__name__


def cut_off(path: str, size: int) -> bool:
    """Whether the end of the file is missing: no end mark near its end, or shorter than it says of itself (linearised)."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
        file.seek(max(0, size - _TAIL))
        tail = file.read(_TAIL)
    promised = _LINEARISED.search(head)
    return b"%%EOF" not in tail or bool(promised and int(promised[1]) > size)


def stream(pdf: pymupdf.Document, xref: int, limit: int) -> bytes:
    """The contents of a stream, plain or deflated once, or nothing where they are larger than `limit` bytes.

    MuPDF would unpack any chain of filters whole, gigabytes out of a few kilobytes; here nothing grows beyond the limit.
    """
    raw: bytes = pdf.xref_stream_raw(xref) or b""
    if len(raw) > limit:
        return b""
    inflater = zlib.decompressobj()
    try:
        contents = inflater.decompress(raw, limit)
    except zlib.error:  # not deflated
        return raw
    return b"" if inflater.unconsumed_tail else contents
