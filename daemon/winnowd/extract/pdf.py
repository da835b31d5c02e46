"""PDF through MuPDF: pages one by one, blocks in reading order, both stores of metadata, bookmarks and page labels.

What MuPDF cannot open is tried once more with pypdf (`pdf_plain`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pymupdf

from winnowd.errors import Damaged, Empty
from winnowd.extract import Reading
from winnowd.extract.pdf_facts import credible_title, metadata
from winnowd.extract.pdf_open import FAULTS, cut_off, guard_memory, open_pdf, reason
from winnowd.extract.pdf_outline import Bookmarks, bookmarks, page_labels
from winnowd.extract.pdf_pages import Sheet, read_sheet
from winnowd.extract.pdf_plain import extract_plain
from winnowd.extract.pdf_unseen import OCR_COVER, OCR_SHARE
from winnowd.layout import blocks as laid_out
from winnowd.layout import body_size, with_headings
from winnowd.model import Block, Extraction, Fact, Metadata, Note, OutlineEntry, Page

PAGES = 20_000
"""More pages are left out; the longest real documents have some thousand."""
LOST_IN_A_ROW = 50
"""So many pages in a row that cannot be loaded are pages that do not exist: a page tree may promise two billion."""
STORE_PAGES = 100
"""MuPDF's cache of fonts and images is emptied after so many pages; by itself it would grow to 256 MB."""

REPEATED = 3
"""A heading that stands this often in the same place is a running header."""
TITLE_SIZE = 1.3
"""A title of the first page is larger than the text by this factor."""
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A page with its blocks, and what there is to say about it."""

    page: Page
    blocks: tuple[Block, ...] = ()
    notes: tuple[Note, ...] = ()


def extract(reading: Reading) -> Extraction:
    """The document in a PDF file. Raises Empty, Encrypted, Damaged or OutOfMemory where there is none."""
    if reading.size == 0:
        raise Empty("the file holds no bytes")
    try:
        pdf = open_pdf(reading.path)
    except Damaged as error:
        return _second_try(reading, error.message)
    with pdf:
        promised = pdf.page_count
        labels = page_labels(pdf, min(promised, PAGES))
        found = list(_leaves(pdf, reading, labels))
        leaves = _existing(found)
        if all(leaf.page.unreadable for leaf in leaves):
            return _second_try(reading, f"none of its {promised} pages can be read")
        document = _assembled(pdf, reading, leaves, labels)
        if len(leaves) == len(found):
            return document
        note = Note(
            "damaged", f"the file promises {promised} pages, but only {len(leaves)} can be found", measure=float(promised)
        )
        return replace(document, notes=(note, *document.notes))


def _second_try(reading: Reading, why: str) -> Extraction:
    missing_end = cut_off(reading.path, reading.size)
    try:
        found = extract_plain(reading, why)
    except Damaged as error:
        if not missing_end:
            raise
        raise Damaged(f"the end of the file is missing, and nothing can be read: {why}") from error
    notes = (Note("truncated", "the end of the file is missing"),) if missing_end else ()
    return replace(found, notes=(*notes, *found.notes))


def _leaves(pdf: pymupdf.Document, reading: Reading, labels: list[str]) -> Iterator[_Leaf]:
    """The pages in order, until there are no more, or the text is more than may be kept."""
    room, lost = reading.text_chars, 0
    for index, label in enumerate(labels):
        reading.progress()
        leaf = _leaf(pdf, index, label)
        lost = lost + 1 if leaf.page.unreadable else 0
        chars = sum(len(block.text) for block in leaf.blocks)
        if chars > room:
            note = Note("bounded", f"text beyond {reading.text_chars} characters was left out, from this page on", index)
            yield replace(leaf, blocks=tuple(_shortened(leaf.blocks, room)), notes=(*leaf.notes, note))
            return
        room -= chars
        yield leaf
        if lost == LOST_IN_A_ROW:
            return
        if index % STORE_PAGES == STORE_PAGES - 1:
            pymupdf.TOOLS.store_shrink(100)


def _leaf(pdf: pymupdf.Document, index: int, label: str) -> _Leaf:
    try:
        sheet = read_sheet(pdf.load_page(index), index, label)
    except (MemoryError, *FAULTS) as error:
        guard_memory(error)
        note = Note("damaged", f"page {label} could not be read: {reason(error)}", index)
        return _Leaf(Page(index, label, unreadable=True), notes=(note,))
    blocks = laid_out(sheet.lines, sheet.page)
    unseen = tuple(Block("boilerplate", line.text, index, box=line.box, size=line.size) for line in sheet.hidden)
    return _Leaf(sheet.page, (*blocks, *unseen), tuple(_page_notes(sheet)))


def _page_notes(sheet: Sheet) -> Iterator[Note]:
    page = sheet.page
    if page.hidden_share >= OCR_SHARE and page.image_cover >= OCR_COVER:
        yield Note(
            "ocr_layer",
            "the text is an invisible layer over an image, as made by text recognition",
            page.index,
            page.hidden_share,
        )
    if sheet.type3:
        yield Note("type3_font", "a font of this page is made of drawings, whose letters may be wrong", page.index)
    if sheet.hidden:
        chars = sum(len(line.text) for line in sheet.hidden)
        start = " ".join(line.text for line in sheet.hidden)[:60]
        yield Note("hidden_text", f"{chars} characters that nobody can see were set aside: {start}", page.index, float(chars))


def _shortened(blocks: tuple[Block, ...], room: int) -> Iterator[Block]:
    for block in blocks:
        if room <= 0:
            return
        yield replace(block, text=block.text[:room])
        room -= len(block.text)


def _existing(leaves: list[_Leaf]) -> list[_Leaf]:
    """The leaves without a long run of unreadable ones at the end: those pages were promised and never were."""
    end = len(leaves)
    while end and leaves[end - 1].page.unreadable:
        end -= 1
    return leaves[:end] if end and len(leaves) - end >= LOST_IN_A_ROW else leaves


def _assembled(pdf: pymupdf.Document, reading: Reading, leaves: list[_Leaf], labels: list[str]) -> Extraction:
    blocks = with_headings([block for leaf in leaves for block in leaf.blocks])
    marks = bookmarks(pdf, len(leaves))
    outline = marks.entries or tuple(headings(blocks))
    return Extraction(
        "pdf",
        metadata=_titled(metadata(pdf), blocks),
        pages=tuple(leaf.page for leaf in leaves),
        outline=tuple(
            replace(entry, page_label=None if entry.page_index is None else labels[entry.page_index]) for entry in outline
        ),
        blocks=blocks,
        notes=(*_whole_notes(pdf, reading, leaves, marks), *(note for leaf in leaves for note in leaf.notes)),
        paged=True,
        size=reading.size,
    )


def headings(blocks: tuple[Block, ...]) -> Iterator[OutlineEntry]:
    """The headings as an outline, without those that stand on many pages in the same place: they are running headers."""
    places = Counter(_place(block) for block in blocks if block.kind == "heading")
    for block in blocks:
        if block.kind == "heading" and places[_place(block)] < REPEATED:
            yield OutlineEntry(block.level or 1, " ".join(block.text.split()), block.page)


def _place(block: Block) -> tuple[str, int]:
    return DIGITS.sub("0", block.text), round(block.box[1] / 6) if block.box else 0


def _titled(found: Metadata, blocks: tuple[Block, ...]) -> Metadata:
    """The metadata, with the largest heading of the first page as title where no store has one."""
    if found.title:
        return found
    title = first_page_title(blocks)
    return replace(found, title=title, facts=(*found.facts, Fact("text", "title", title, believed=True))) if title else found


def first_page_title(blocks: tuple[Block, ...]) -> str | None:
    """The one heading of the first page that is unmistakably its title: larger than all else there and well above the text."""
    page = [block for block in blocks if block.page == 0 and block.size and block.kind != "boilerplate"]
    largest = max((block.size or 0.0 for block in page), default=0.0)
    best = [block for block in page if (block.size or 0.0) >= 0.97 * largest]
    if len(best) != 1 or best[0].kind != "heading" or largest < TITLE_SIZE * body_size(blocks):
        return None
    title = credible_title(best[0].text)
    return title if title and len(title.split()) > 1 else None


def _whole_notes(pdf: pymupdf.Document, reading: Reading, leaves: list[_Leaf], marks: Bookmarks) -> Iterator[Note]:
    """What there is to say about the document as a whole."""
    promised = pdf.page_count
    if pdf.is_repaired and cut_off(reading.path, reading.size):
        yield Note("truncated", "the end of the file is missing")
    if promised > PAGES:
        yield Note("bounded", f"only the first {PAGES} of {promised} pages were read", measure=float(promised))
    if marks.damaged:
        yield Note(
            "damaged_outline",
            f"the bookmarks are damaged: {len(marks.entries)} could be read",
            measure=float(len(marks.entries)),
        )
    if attached := _attachments(pdf):
        yield Note("attachments", f"{attached} embedded files were not read", measure=float(attached))


def _attachments(pdf: pymupdf.Document) -> int:
    try:
        return int(pdf.embfile_count())
    except FAULTS:
        return 0
