"""Walks the elements of a Word document in the order of its body and yields blocks.

Hides the grammar of WordprocessingML (ECMA-376 part 1, chapter 17): runs, fields, content controls, tracked changes, text
boxes, notes, tables. Names are compared without their namespace, so strict and transitional files read alike. Each element is
visited once.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from winnowd.extract.docx_styles import (
    Counters,
    Element,
    Numbering,
    Style,
    attribute,
    child,
    is_on,
    level_of,
    local,
    number_of,
)
from winnowd.extract.rows import markdown_rows
from winnowd.model import Block, BlockKind

HEADING_CHARS = 400
"""A longer paragraph in a heading style is body text that somebody made bold."""

SPAN = 63
"""Columns of a Word table; a wider span is nonsense."""

_STEP = 500  # paragraphs between two signs of life

_SKIPPED = frozenset(
    [
        *("pPr", "rPr", "sdtPr", "sdtEndPr", "tblPr", "tblGrid", "trPr", "tcPr", "sectPr", "rubyPr", "ctrlPr", "oMathParaPr"),
        *("smartTagPr", "customXmlPr", "del", "moveFrom", "delText", "instrText", "delInstrText", "fldData", "Fallback", "rt"),
        *("proofErr", "bookmarkStart", "bookmarkEnd", "annotationRef", "numberingChange"),
    ]
)
"""Elements without text of the accepted document; `rt` is the reading above a ruby base."""

_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": "\u00ad"}
_SYMBOLS = {"f0fe": "☒", "f0fd": "☒", "f0a8": "☐", "f06f": "☐", "f0fc": "✓", "f0e0": "→", "f0df": "←", "f0b7": "•", "f0a7": "•"}
"""Signs of Wingdings and Symbol that carry meaning in forms; the others are ornaments."""

_TOC_NAME = re.compile(r"(toc|table of figures|index)\b.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What other parts of the package say, as the walker needs it."""

    styles: Mapping[str, Style]
    numberings: Mapping[str, Numbering]
    footnotes: Mapping[str, Element]
    endnotes: Mapping[str, Element]
    chunks: Callable[[str], Iterable[Block]] = lambda relation: ()  # the text of a part that the document carries whole


@dataclass(slots=True)
class _Paragraph:
    """What has been gathered of one paragraph so far."""

    pieces: list[str]
    boxes: list[Element]  # text boxes anchored here
    notes: list[tuple[str, str]]  # kind and id of the notes that hang here
    fields: list[bool]  # for each open field, whether its result has begun


class Walker:
    """One walk through one document; counts lists, and remembers what it left out."""

    def __init__(self, knowledge: Knowledge, progress: Callable[[], None] = lambda: None) -> None:
        self._known = knowledge
        self._progress = progress
        self._paragraphs = 0
        self._counters = Counters(knowledge.numberings)
        self._carried = ""  # text of a paragraph whose end was deleted, waiting for the next
        self.hidden = 0  # characters of hidden text
        self.title: str | None = None  # the first paragraph in the style Title

    def blocks(self, container: Element) -> Iterator[Block]:
        """The blocks below a body, cell, text box or note in order."""
        for element in container:
            yield from self._block(element)

    def _block(self, element: Element) -> Iterator[Block]:
        match local(element):
            case "p":
                yield from self._paragraph(element)
            case "tbl":
                yield from self._table(element)
            case "altChunk":
                yield from self._known.chunks(attribute(element, "id") or "")
            case "AlternateContent":
                yield from self.blocks(_chosen(element))
            case name if name not in _SKIPPED and len(element):
                yield from self.blocks(element)

    def _paragraph(self, element: Element) -> Iterator[Block]:
        self._paragraphs += 1
        if self._paragraphs % _STEP == 0:
            self._progress()
        properties = child(element, "pPr")
        paragraph = _Paragraph([self._carried], [], [], [])
        style = self._style(child(properties, "pStyle"))
        self._gather(element, paragraph, style.hidden)
        text = "".join(paragraph.pieces)
        self._carried = ""
        if _mark_deleted(properties):
            self._carried = text
        elif text.strip():
            yield self._described(properties, text)
        yield from self._attached(paragraph)

    def _style(self, reference: Element | None) -> Style:
        return self._known.styles.get(attribute(reference) or "", Style())

    def _described(self, properties: Element | None, text: str) -> Block:
        style_id = attribute(child(properties, "pStyle")) or ""
        style = self._known.styles.get(style_id, Style())
        level = level_of(style_id, self._known.styles, number_of(child(properties, "outlineLvl")))
        if level is not None and len(text) <= HEADING_CHARS and not _TOC_NAME.fullmatch(style.name or style_id):
            return Block("heading", text.strip(), page=0, level=level + 1)
        if self.title is None and style.name.lower() == "title":
            self.title = " ".join(text.split())
        marker = self._marker(child(properties, "numPr"), style)
        if marker is not None:
            return Block("list_item", marker + text.strip(), page=0)
        kind: BlockKind = "caption" if style.name.lower() == "caption" else "paragraph"
        return Block(kind, text.strip("\n"), page=0)

    def _marker(self, numbered: Element | None, style: Style) -> str | None:
        num_id = attribute(child(numbered, "numId")) or style.num_id
        if num_id in (None, "0", ""):
            return None
        level = number_of(child(numbered, "ilvl"))
        return self._counters.marker(str(num_id), style.num_level if level is None else level)

    def _gather(self, element: Element, paragraph: _Paragraph, hidden: bool) -> None:
        """Adds what the children of an element say to the paragraph, in order."""
        for found in element:
            name = local(found)
            if name == "r":
                self._gather(found, paragraph, self._is_hidden(child(found, "rPr"), hidden))
            elif name == "t":
                self._say(found.text or "", paragraph, hidden)
            elif name in _CHARACTERS:
                self._say(_CHARACTERS[name], paragraph, hidden)
            elif name == "sym":
                self._say(_SYMBOLS.get((attribute(found, "char") or "").lower(), ""), paragraph, hidden)
            elif name in ("footnoteReference", "endnoteReference"):
                paragraph.notes.append((name, attribute(found, "id") or ""))
            elif name == "fldChar":
                _turn(attribute(found, "fldCharType"), paragraph.fields)
            elif name == "txbxContent":
                paragraph.boxes.append(found)
            elif name == "AlternateContent":
                self._gather(_chosen(found), paragraph, hidden)
            elif name not in _SKIPPED and len(found):
                self._gather(found, paragraph, hidden)

    def _is_hidden(self, properties: Element | None, inherited: bool) -> bool:
        if properties is None:
            return inherited
        own = child(properties, "vanish")
        if own is not None:
            return is_on(own)
        return inherited or self._style(child(properties, "rStyle")).hidden

    def _say(self, text: str, paragraph: _Paragraph, hidden: bool) -> None:
        if hidden:
            self.hidden += len(text.strip())
        elif all(paragraph.fields):
            paragraph.pieces.append(text)

    def _attached(self, paragraph: _Paragraph) -> Iterator[Block]:
        """The text boxes and notes of a paragraph, after it."""
        for box in paragraph.boxes:
            for block in self._blocks_only(box):
                yield replace(block, kind="paragraph", level=None) if block.kind == "heading" else block
        for kind, note_id in paragraph.notes:
            notes = self._known.footnotes if kind == "footnoteReference" else self._known.endnotes
            if note_id in notes:
                text = "\n".join(block.text for block in self._blocks_only(notes[note_id]))
                if text.strip():
                    yield Block("footnote", text.strip(), page=0)

    def _blocks_only(self, container: Element) -> Iterator[Block]:
        """As `blocks`, for a story of its own: sections do not matter, and a deleted paragraph end joins nothing outside."""
        carried, self._carried = self._carried, ""
        yield from self.blocks(container)
        self._carried = carried

    def _table(self, table: Element) -> Iterator[Block]:
        """A table as one block of Markdown rows, its notes after it; a frame round paragraphs as these paragraphs."""
        rows = [list(self._cells(row)) for row in _rows(table)]
        blocks = [block for row in rows for cell in row for block in cell]
        if all(len(row) <= 1 for row in rows):
            yield from (replace(b, kind="paragraph", level=None) if b.kind == "heading" else b for b in blocks)
            return
        texts = [[" ".join(b.text for b in cell if b.kind != "footnote") for cell in row] for row in rows]
        text = markdown_rows(texts)
        if text:
            yield Block("table", text, page=0)
        yield from (block for block in blocks if block.kind == "footnote")

    def _cells(self, row: Element) -> Iterator[list[Block]]:
        for cell in _deep(row, "tc"):
            properties = child(cell, "tcPr")
            merged = child(properties, "vMerge")
            if merged is None or attribute(merged) == "restart":
                yield [flattened(block) for block in self._blocks_only(cell)]
            else:
                yield []
            span = min(number_of(child(properties, "gridSpan")) or 1, SPAN)
            yield from ([] for _ in range(span - 1))


def flattened(block: Block) -> Block:
    """A table as a paragraph, its cells one after the other, as it stands in a cell or a header; other blocks as they are."""
    if block.kind != "table":
        return block
    lines = block.text.split("\n")
    cells = [line.strip("| ").replace(" | ", " ") for number, line in enumerate(lines) if number != 1]
    return replace(block, kind="paragraph", text=" ".join(cells).replace("\\|", "|"))


def _chosen(alternatives: Element) -> Element:
    """The first choice of an `AlternateContent`, else its fallback: both carry the same text (part 3, 9.3)."""
    choice = child(alternatives, "Choice")
    fallback = child(alternatives, "Fallback")
    return choice if choice is not None else fallback if fallback is not None else ()


def _mark_deleted(properties: Element | None) -> bool:
    mark = child(properties, "rPr")
    return child(mark, "del") is not None or child(mark, "moveFrom") is not None


def _turn(kind: str | None, fields: list[bool]) -> None:
    """Follows the fields of a paragraph: what stands between `begin` and `separate` is the instruction."""
    if kind == "begin":
        fields.append(False)
    elif kind == "separate" and fields:
        fields[-1] = True
    elif kind == "end" and fields:
        fields.pop()


def _rows(table: Element) -> Iterator[Element]:
    for row in _deep(table, "tr"):
        if child(child(row, "trPr"), "del") is None:
            yield row


def _deep(container: Element, name: str) -> Iterator[Element]:
    """Rows of a table or cells of a row, also those inside content controls."""
    for element in container:
        if local(element) == name:
            yield element
        elif local(element) not in _SKIPPED and local(element) not in ("tbl", "p") and len(element):
            yield from _deep(element, name)
