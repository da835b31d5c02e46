"""What kind of file a zip archive or a compound file (OLE2) is, by looking into it.

Hides both container layouts and their traps: directories with millions of entries, broken and cut-off archives, embedded
documents, loops. Nothing is unpacked but a bounded piece of the two small entries that name the content.
"""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

ENTRIES = 10_000
"""A zip with more entries is not looked into: no office file comes near it."""

ZIP_TROUBLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ValueError,
    KeyError,
    OSError,
    NotImplementedError,  # a compression or version that zipfile does not know
    RuntimeError,  # an entry with a password
)
"""What zipfile raises on broken or odd archives, as documented and as seen."""

_TYPES_BYTES = 1_000_000  # [Content_Types].xml of an ordinary file is a few kilobytes
_ENTRY_BYTES = 512  # of the directory: 46 and a name each, with room for extra fields
_DIRECTORY_SECTORS = 1_000  # of a compound file: 4,000 streams at the usual sector size

_MIMETYPES = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
    b"application/vnd.oasis.opendocument.graphics": "odg",
}
"""OpenDocument 1.3 part 2, section 3.3, and OCF 3.3: an entry `mimetype` names the kind."""

_MAIN_PARTS: tuple[tuple[bytes, str], ...] = (
    (rb"wordprocessingml\.(document|template)\.main\+xml|ms-word\.(document|template)\.macroenabled\w*\.main\+xml", "docx"),
    (rb"spreadsheetml\.(sheet|template)\.main\+xml|ms-excel\.(sheet|template|addin)\.macroenabled\.main\+xml", "xlsx"),
    (rb"ms-excel\.sheet\.binary\.macroenabled\.main", "xlsb"),
    (rb"presentationml\.(presentation|template|slideshow)\.main\+xml|ms-powerpoint\.\w+\.macroenabled\.main\+xml", "pptx"),
    (rb"ms-visio\.(drawing|template|stencil)(\.macroenabled)?\.main\+xml", "vsdx"),
    (rb"fixeddocumentsequence\+xml", "xps"),
)
"""Content types of the main part (ECMA-376 part 2, section 10.1), in small letters."""

_MAIN_NAMES = (
    ("word/", "docx"),
    ("xl/workbook.bin", "xlsb"),
    ("xl/", "xlsx"),
    ("ppt/", "pptx"),
    ("visio/", "vsdx"),
    ("meta-inf/manifest.mf", "jar"),
    ("androidmanifest.xml", "jar"),
)
"""How entries begin in small letters, where no content type says it."""

_STREAMS = (
    ("encryptedpackage", "encrypted"),
    ("worddocument", "doc"),
    ("workbook", "xls"),
    ("book", "xls"),
    ("powerpoint document", "ppt"),
    ("visiodocument", "vsd"),
    ("__properties_version1.0", "msg"),
    ("\u4840\u3b3f\u43f2\u4438\u45b1", "msi"),  # `_Columns` as installers spell the names of their tables
)
"""Streams of the root storage in small letters."""


def open_zip(stream: BinaryIO) -> zipfile.ZipFile:
    """The archive in a stream, its directory read. Raises BadZipFile, also where it lists more than `ENTRIES` entries.

    The size of the directory is looked at before zipfile loads it: zipfile makes a record of every entry, however many.
    """
    if _directory_bytes(stream) > ENTRIES * _ENTRY_BYTES:
        raise zipfile.BadZipFile("too many entries")
    archive = zipfile.ZipFile(stream)
    if len(archive.infolist()) > ENTRIES:
        raise zipfile.BadZipFile("too many entries")
    return archive


def zip_kind(stream: BinaryIO, head: bytes) -> str:
    """The format name of a zip archive; `zip` where it is nothing that has a name of its own."""
    try:
        with open_zip(stream) as archive:
            names = [_plain(entry.filename) for entry in archive.infolist()]
            return _kind(_entry(archive, names, "[content_types].xml"), _entry(archive, names, "mimetype"), names)
    except ZIP_TROUBLE:
        return _kind_of_broken(head)


def ole_kind(stream: BinaryIO) -> str:
    """The format name of a compound file (MS-CFB), `encrypted` for a protected OOXML package, else `ole`."""
    names = [name.lower() for name in _root_names(stream)]
    return next((kind for start, kind in _STREAMS if start in names), "ole")


def _directory_bytes(stream: BinaryIO) -> int:
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - 65_557))  # the end record, 22 bytes, with the longest comment
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        raise zipfile.BadZipFile("no directory")
    listed = int(struct.unpack_from("<I", tail, at + 12)[0])
    wide = tail.rfind(b"PK\x06\x06", 0, at)  # the record of zip64, 56 bytes
    if wide < 0 or at - wide < 56:
        return listed
    return max(listed if listed != 0xFFFFFFFF else 0, int(struct.unpack_from("<Q", tail, wide + 40)[0]))


def _plain(name: str) -> str:
    return name.replace("\\", "/").lower()


def _entry(archive: zipfile.ZipFile, names: list[str], name: str) -> bytes:
    if name not in names:
        return b""
    try:
        with archive.open(archive.infolist()[names.index(name)]) as entry:
            return entry.read(_TYPES_BYTES)
    except ZIP_TROUBLE:
        return b""


def _kind(types: bytes, mimetype: bytes, names: list[str]) -> str:
    kind = mimetype.strip().removesuffix(b"-template").removesuffix(b"-master")
    if kind in _MIMETYPES:
        return _MIMETYPES[kind]
    flat = types.replace(b"\0", b"").lower()  # the part may be UTF-16
    for pattern, name in _MAIN_PARTS:
        if re.search(pattern, flat):
            return name
    return next((kind for start, kind in _MAIN_NAMES if any(name.startswith(start) for name in names)), "zip")


def _kind_of_broken(head: bytes) -> str:
    """A cut-off Word file is a damaged Word file, no unknown archive: its first entries still say what it was."""
    entries = list(_local_entries(head))
    bodies = dict(reversed(entries))
    return _kind(bodies.get("[content_types].xml", b""), bodies.get("mimetype", b""), [name for name, _ in entries])


def _local_entries(head: bytes) -> Iterator[tuple[str, bytes]]:
    """Names of the entries whose local headers lie in `head`, with the bodies of the two that name the content."""
    for found in re.finditer(rb"PK\x03\x04", head):
        fields = head[found.start() : found.start() + 30]
        if len(fields) < 30:
            return
        packed, length, extra = struct.unpack_from("<H", fields, 8)[0], *struct.unpack_from("<HH", fields, 26)
        name = _plain(head[found.start() + 30 :][:length].decode("utf-8", "replace"))
        body = head[found.start() + 30 + length + extra :] if name in ("[content_types].xml", "mimetype") else b""
        yield name, _inflate(body) if packed else body.split(b"PK\x03\x04")[0]


def _inflate(body: bytes) -> bytes:
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, _TYPES_BYTES)
    except zlib.error:
        return b""


def _root_names(stream: BinaryIO) -> list[str]:
    """Names directly below the root, for a workbook may be embedded deeper down; all names where the tree is broken."""
    entries = [sector[at : at + 128] for sector in _directory(stream) for at in range(0, len(sector), 128)]
    names = [_stream_name(entry) for entry in entries]
    todo = [struct.unpack_from("<I", entries[0], 76)[0]] if entries else []
    seen: set[int] = set()
    while todo:
        at = todo.pop()
        if at < len(entries) and at not in seen:
            seen.add(at)
            todo += struct.unpack_from("<II", entries[at], 68)
    return [names[at] for at in seen] or names


def _stream_name(entry: bytes) -> str:
    length = min(64, struct.unpack_from("<H", entry, 64)[0])
    return entry[: max(0, length - 2)].decode("utf-16-le", "replace")


def _directory(stream: BinaryIO) -> Iterator[bytes]:
    """The sectors of the directory, followed through the part of the allocation table that the header lists."""
    stream.seek(0)
    header = stream.read(512)
    if len(header) < 512:
        return
    width = 1 << min(12, max(9, struct.unpack_from("<H", header, 30)[0]))
    table = struct.unpack_from("<109I", header, 76)
    sector, seen = struct.unpack_from("<I", header, 48)[0], set[int]()
    while sector < 0xFFFFFFFA and sector not in seen and len(seen) < _DIRECTORY_SECTORS:
        seen.add(sector)
        yield _bytes_at(stream, (sector + 1) * width, width)
        page, slot = divmod(sector, width // 4)
        if page >= len(table) or table[page] >= 0xFFFFFFFA:
            return
        sector = struct.unpack("<I", _bytes_at(stream, (table[page] + 1) * width + slot * 4, 4))[0]


def _bytes_at(stream: BinaryIO, offset: int, length: int) -> bytes:
    """Bytes of the file; past its end 0xFF, which reads as *no sector*."""
    stream.seek(offset)
    return stream.read(length).ljust(length, b"\xff")
