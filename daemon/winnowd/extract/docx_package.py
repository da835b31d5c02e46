"""Opens a Word package and hands out its parts, within limits.

Hides the container: zip bombs are refused before anything is parsed, pictures and fonts are never unpacked, and a package
that python-docx cannot open (a missing target, a relation that leads nowhere) is read by its relation files alone.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docx.opc.exceptions import OpcError
from docx.opc.package import OpcPackage, Unmarshaller
from docx.opc.part import Part
from docx.opc.pkgreader import PackageReader
from lxml import etree

from winnowd.errors import Damaged, Encrypted, TooLarge
from winnowd.extract.docx_chunks import SUFFIXES
from winnowd.formats.containers import ZIP_TROUBLE, open_zip

Element = Any  # an lxml element; lxml has no types of its own

PART_BYTES = 100_000_000
"""A part is at most this long when unpacked; the text of a thousand pages is a tenth of it."""

PACKAGE_BYTES = 200_000_000
"""All parts that are read, unpacked, together."""

ELEMENTS = 2_000_000
"""Elements of one part. A page has about a hundred; the tree takes some 250 bytes for each."""

_LIBRARY_TROUBLE = (OpcError, AttributeError, TypeError, StopIteration, RecursionError, etree.LxmlError, *ZIP_TROUBLE)
"""What python-docx raises on packages that Word opens, as seen."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a part: its id, the last word of its type, and the name of the part it leads to."""

    id: str
    kind: str
    target: str


@dataclass(frozen=True, slots=True)
class Package:
    """The parts of a Word file. Names have no leading slash."""

    main: str
    blobs: Mapping[str, bytes]
    core: str | None = None
    app: str | None = None
    relations: tuple[Relation, ...] = ()  # of the main part

    def part(self, kind: str) -> bytes:
        """The bytes of the part that the main part names with this kind of relation, or none."""
        name = next((relation.target for relation in self.relations if relation.kind == kind), "")
        return self.blobs.get(name, b"")


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed part. `cut` where there was more than may be kept, `broken` where the XML had to be mended."""

    root: Element
    cut: bool = False
    broken: bool = False


def open_package(path: str) -> Package:
    """The parts of the Word file at `path`. Raises Encrypted, Damaged or TooLarge where there are none to be had."""
    with open(path, "rb") as stream:
        start = stream.read(8)
        if start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            raise Encrypted("The file is protected by a password.")
        if not start.startswith(b"PK"):
            raise Damaged("The file is no Word document: its bytes are not those of a package.")
        try:
            with open_zip(stream) as archive:
                blobs = _readable_parts(archive)
        except ZIP_TROUBLE as error:
            raise Damaged(f"The package is broken: {error}.") from error
    try:
        return _with_python_docx(blobs)
    except _LIBRARY_TROUBLE:
        return _by_relation_files(blobs)


def parse(blob: bytes) -> Tree | None:
    """The tree of a part, or None where there is not one element. Entities are not resolved, nothing is fetched.

    A part with too many elements is cut off before it is parsed; broken XML is mended as far as it goes.
    """
    end = _end_of(blob, ELEMENTS)
    cut = end < len(blob)
    try:
        return Tree(etree.fromstring(blob, _parser(recover=False))) if not cut else _mended(blob[:end], cut=True)
    except etree.XMLSyntaxError:
        return _mended(blob[:end], cut=cut)


def _mended(blob: bytes, *, cut: bool) -> Tree | None:
    try:
        root = etree.fromstring(blob, _parser(recover=True))
    except etree.XMLSyntaxError:
        return None
    return None if root is None else Tree(root, cut=cut, broken=not cut)


def _parser(*, recover: bool) -> Any:
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=recover,
        remove_comments=True,
        remove_pis=True,
    )


def _end_of(blob: bytes, elements: int) -> int:
    """Where the XML may be cut so that at most that many tags remain; its length where it has fewer."""
    if blob.count(b"<") <= 2 * elements:
        return len(blob)
    tags = re.finditer(rb"<", blob)
    return next(tag.start() for number, tag in enumerate(tags) if number == 2 * elements)


def _readable_parts(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The XML and text of a package; everything else is an empty entry, so that relations still lead somewhere.

    An entry is read no further than its directory says (zipfile sees to that), and the directory is added up first.
    """
    wanted = [entry for entry in archive.infolist() if entry.filename.lower().endswith((".xml", ".rels", *SUFFIXES))]
    largest = max((entry.file_size for entry in wanted), default=0)
    if largest > PART_BYTES or sum(entry.file_size for entry in wanted) > PACKAGE_BYTES:
        raise TooLarge(f"The package unpacks to {largest:,} bytes in one part, as a zip bomb does.")
    blobs = {_name(entry.filename): b"" for entry in archive.infolist() if not entry.is_dir()}
    for entry in wanted:
        blobs[_name(entry.filename)] = _unpacked(archive, entry)
    return blobs


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of one entry; none where it is broken, unless it is the document itself."""
    if entry.flag_bits & 1:
        raise Encrypted("The package is protected by a password.")
    try:
        return archive.read(entry)
    except ZIP_TROUBLE as error:
        if entry.filename.lower().endswith(("document.xml", "[content_types].xml")):
            raise Damaged(f"The package is broken: {entry.filename} cannot be unpacked.") from error
        return b""


def _name(name: str) -> str:
    return name.replace("\\", "/").lstrip("/")


def _with_python_docx(blobs: Mapping[str, bytes]) -> Package:
    """python-docx reads content types and relations; it gets no part to parse, for it would do so without limits."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, blob in blobs.items():
            archive.writestr(name, blob if name.endswith((".rels", "[Content_Types].xml")) else b"")
    package = OpcPackage()
    Unmarshaller.unmarshal(PackageReader.from_file(stream), package, _plain_part)
    top = {_last(relation.reltype): _target(relation) for relation in package.rels.values()}
    main = next(relation.target_part for relation in package.rels.values() if _last(relation.reltype) == "officedocument")
    return _package(blobs, top, [Relation(r.rId, _last(r.reltype), _target(r)) for r in main.rels.values()])


def _plain_part(name: Any, kind: str, relation: str, blob: bytes, package: Any) -> Part:
    return Part(name, kind, blob, package)


def _target(relation: Any) -> str:
    return "" if relation.is_external else str(relation.target_part.partname).lstrip("/")


def _last(kind: str) -> str:
    """The last word of a relation's type, which strict and transitional packages share."""
    return kind.rpartition("/")[2].lower()


def _by_relation_files(blobs: Mapping[str, bytes]) -> Package:
    top = {relation.kind: relation.target for relation in _relations(blobs, "")}
    main = top.get("officedocument") or "word/document.xml"
    return _package(blobs, {**top, "officedocument": main}, _relations(blobs, main))


def _relations(blobs: Mapping[str, bytes], source: str) -> list[Relation]:
    folder, name = posixpath.split(source)
    tree = parse(blobs.get(posixpath.join(folder, "_rels", f"{name}.rels"), b""))
    return [
        Relation(
            element.get("Id", ""),
            _last(element.get("Type", "")),
            posixpath.normpath(posixpath.join("/" + folder, element.get("Target", ""))).lstrip("/"),
        )
        for element in (tree.root if tree else ())
        if isinstance(element.tag, str) and element.get("TargetMode") != "External"
    ]


def _package(blobs: Mapping[str, bytes], top: Mapping[str, str], relations: Sequence[Relation]) -> Package:
    main = top.get("officedocument", "")
    if not blobs.get(main):
        raise Damaged("The package holds no document.")
    return Package(main, blobs, top.get("core-properties"), top.get("extended-properties"), tuple(relations))
