"""Reads Word documents: text in the order of the body, headings, tables, notes, and what the file says of itself.

Hides that the text of a page is spread over a dozen parts. Tracked changes are read as if they were accepted, comments and
hidden text are left out, and each of these leaves a note. Page numbers are unknown: Word breaks pages only when it shows
them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from winnowd.errors import Damaged
from winnowd.extract import Reading
from winnowd.extract.docx_chunks import chunk_blocks
from winnowd.extract.docx_package import Element, Package, Tree, open_package, parse
from winnowd.extract.docx_styles import attribute, child, is_on, local, numberings_of, styles_of
from winnowd.extract.docx_walk import Knowledge, Walker, flattened
from winnowd.model import Block, BlockKind, Extraction, Fact, Metadata, Note, OutlineEntry, Page

_CHANGES = ("ins", "del", "moveFrom", "moveTo")
_CORE = {
    "title": "title",
    "creator": "author",
    "created": "created",
    "modified": "modified",
    "language": "language",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "category": "category",
    "lastModifiedBy": "last_modified_by",
}
"""Core properties (ECMA-376 part 2, chapter 11) and the keys under which they are kept."""

_APP = {"Company": "company", "Manager": "manager", "Application": "application"}
_GENERIC_TITLE = re.compile(
    r"(microsoft word\b.*|word[- ]?dokument|word document|document ?\d*|dokument ?\d*|untitled.*|unbenannt.*|"
    r"(titel|title|titre)|.*\.(docx?|dotx?|rtf|odt)|template|vorlage|powerpoint.*)",
    re.IGNORECASE,
)
"""Titles that programs put in on their own."""

_DATE = re.compile(r"(1[89]\d\d|20\d\d|21\d\d)(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?")


def extract(reading: Reading) -> Extraction:
    """The text and facts of a Word file. Raises Encrypted, Damaged or TooLarge where there is no document at all."""
    package = open_package(reading.path)
    tree = parse(package.blobs[package.main])
    body = child(tree.root, "body") if tree else None
    if tree is None or body is None:
        raise Damaged("The package holds no readable document.")
    knowledge = _knowledge(package, reading.fallback_encoding)
    walker = Walker(knowledge, reading.progress)
    story = chain(_furniture(tree.root, package, knowledge), walker.blocks(body))
    blocks, cut = _bounded(story, reading.text_chars)
    if tree.broken and not blocks:
        raise Damaged("The XML of the document is broken from its beginning.")
    return Extraction(
        reading.format.name,
        _metadata(package, walker.title),
        (Page(0, images=sum(1 for _ in tree.root.iter("{*}blip"))),),
        tuple(OutlineEntry(b.level or 1, " ".join(b.text.split()), 0) for b in blocks if b.kind == "heading"),
        tuple(blocks),
        tuple(_notes(tree, package, walker, cut or tree.cut)),
        size=reading.size,
    )


def _knowledge(package: Package, fallback: str) -> Knowledge:
    targets = {relation.id: relation.target for relation in package.relations}

    def chunks(relation: str) -> Iterator[Block]:
        name = targets.get(relation, "")
        return chunk_blocks(name.lower(), package.blobs.get(name, b""), fallback)

    return Knowledge(
        styles_of(_root(package.part("styles"))),
        numberings_of(_root(package.part("numbering"))),
        _stories(package.part("footnotes"), "footnote"),
        _stories(package.part("endnotes"), "endnote"),
        chunks,
    )


def _root(blob: bytes) -> Element | None:
    tree = parse(blob) if blob else None
    return tree.root if tree else None


def _stories(blob: bytes, name: str) -> dict[str, Element]:
    """Notes by their id, without the lines that separate them from the text."""
    root = _root(blob)
    notes = [note for note in (root if root is not None else ()) if local(note) == name]
    return {attribute(note, "id") or "": note for note in notes if attribute(note, "type") in (None, "normal")}


def _furniture(root: Element, package: Package, knowledge: Knowledge) -> Iterator[Block]:
    """Each header and footer that a section shows, once; where it stands among the blocks does not matter."""
    targets = {relation.id: relation.target for relation in package.relations}
    seen = set[str]()
    for reference in root.iter("{*}headerReference", "{*}footerReference"):
        target = targets.get(attribute(reference, "id") or "", "")
        first = attribute(reference, "type") == "first" and not is_on(child(reference.getparent(), "titlePg"))
        if target in seen or first:
            continue
        seen.add(target)
        part = _root(package.blobs.get(target, b""))
        kind: BlockKind = "running_header" if local(reference) == "headerReference" else "running_footer"
        for block in Walker(knowledge).blocks(part if part is not None else ()):
            yield replace(flattened(block), kind=kind, level=None)


def _bounded(story: Iterable[Block], limit: int) -> tuple[list[Block], bool]:
    """The blocks up to the limit of characters, and whether there was more."""
    blocks: list[Block] = []
    chars = 0
    for block in story:
        chars += len(block.text)
        if chars > limit:
            return blocks, True
        blocks.append(block)
    return blocks, False


def _metadata(package: Package, styled_title: str | None) -> Metadata:
    """The core properties, believed where they say something; a paragraph in the style Title stands in for a generic title."""
    core = dict(_properties(package.blobs.get(package.core or "", b""), _CORE))
    facts = [Fact("core", key, value, believed=_credible(key, value)) for key, value in core.items()]
    believed = {fact.key: fact.value for fact in facts if fact.believed}
    if styled_title:
        facts.append(Fact("text", "title", styled_title, believed="title" not in believed))
    facts += [Fact("app", key, value) for key, value in _properties(package.blobs.get(package.app or "", b""), _APP)]
    return Metadata(
        believed.get("title") or styled_title,
        believed.get("author"),
        believed.get("created"),
        believed.get("modified"),
        believed.get("language"),
        facts=tuple(facts),
    )


def _properties(blob: bytes, keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    root = _root(blob)
    for element in root if root is not None else ():
        value = " ".join((element.text or "").split())[:1_000]
        if value and local(element) in keys:
            yield keys[local(element)], value


def _credible(key: str, value: str) -> bool:
    if key == "title":
        return not _GENERIC_TITLE.fullmatch(value)
    return bool(_DATE.fullmatch(value)) if key in ("created", "modified") else True


def _notes(tree: Tree, package: Package, walker: Walker, cut: bool) -> Iterator[Note]:
    changes = sum(1 for _ in tree.root.iter(*(f"{{*}}{name}" for name in _CHANGES)))
    if changes:
        yield Note("tracked_changes", f"{changes} tracked changes were read as if they were accepted.", measure=changes)
    comments = _root(package.part("comments"))
    count = sum(1 for element in (comments if comments is not None else ()) if local(element) == "comment")
    if count:
        yield Note("comments", f"{count} comments are not part of the text.", measure=count)
    if walker.hidden:
        yield Note("hidden_text", f"{walker.hidden} characters of hidden text were left out.", measure=walker.hidden)
    attached = sum(1 for relation in package.relations if relation.kind in ("oleobject", "package"))
    if attached:
        yield Note("attachments", f"{attached} embedded files were not read.", measure=attached)
    if tree.broken:
        yield Note("damaged", "The XML of the document is broken; what could be mended was read.")
    if cut:
        yield Note("bounded", "The document is longer than the limit; its end was left out.")
