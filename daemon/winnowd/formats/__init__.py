"""The table of formats, and which of them some bytes are.

Hides every signature. Content decides; the name is asked only where bytes leave the kind open. In this order:

1. a signature at the very start; zip archives and compound files are looked into, which tells DOCX, XLSX and EPUB apart;
2. `%PDF-` within the first 1,024 bytes, for a PDF may have junk, a byte order mark or mail headers before it;
3. control characters: what has many of them is `binary`, but a broken PDF or Word file where the name promises one,
   so that it is reported as damaged instead of being passed over;
4. markup: a page that opens as HTML is `html` whatever its name; other XML is `xml`;
5. the name, among kinds of text: weak HTML, Markdown, CSV, reStructuredText, AsciiDoc, a saved mail; all else is `text`.

Empty files have no format; nobody asks.
"""

import io
import re
from typing import BinaryIO

from winnowd.formats.containers import ole_kind, zip_kind
from winnowd.model import Format

_XML = ("lxml",)
_CHARSET = ("charset-normalizer",)

FORMATS: tuple[Format, ...] = (
    Format(
        "pdf", "PDF", (".pdf",), "pdf", libraries=("pymupdf-lite", "pypdf"), paged=True,
        note="Read page by page, with bookmarks, page labels and both metadata stores. Junk before the header does no harm.",
    ),
    Format(
        "docx", "Word document", (".docx", ".docm", ".dotx", ".dotm"), "docx", libraries=("python-docx", *_XML),
        note="Macro-enabled, template and strict ones too. Tracked changes are read as accepted; macros are never run.",
    ),
    Format(
        "html", "web page", (".html", ".htm", ".xhtml", ".shtml", ".xht"), "html", libraries=("trafilatura", *_XML, *_CHARSET),
        note="The main text of the page; menus, banners and footers are kept apart as boilerplate.",
    ),
    Format(
        "markdown", "Markdown file", (".md", ".markdown", ".mkd", ".mdown", ".mdx"), "markdown",
        libraries=("markdown-it-py", *_CHARSET),
        note="Told from text by its name. Headings become the outline; fences, tables and front matter are understood.",
    ),
    Format(
        "text", "plain text file", (".txt", ".text", ".log"), "text", libraries=_CHARSET,
        note="Whatever has few control characters and is nothing else. The encoding is found out, damage is counted.",
    ),
    Format(
        "rst", "reStructuredText file", (".rst", ".rest"), "text", libraries=_CHARSET,
        note="Told from text by its name. Section titles become the outline.",
    ),
    Format(
        "asciidoc", "AsciiDoc file", (".adoc", ".asciidoc"), "text", libraries=_CHARSET,
        note="Told from text by its name. Section titles become the outline.",
    ),
    Format(
        "csv", "table of comma-separated values", (".csv", ".tsv"), "text", libraries=_CHARSET,
        note="Told from text by its name. Rows become tables.",
    ),
    Format("ooxml", "password-protected Office file", (), "docx", note="An encrypted package: what is inside cannot be seen."),
    Format("xlsx", "Excel workbook", (".xlsx", ".xlsm", ".xltx", ".xltm")),
    Format("xlsb", "binary Excel workbook", (".xlsb",)),
    Format("pptx", "PowerPoint presentation", (".pptx", ".pptm", ".potx", ".potm", ".ppsx", ".ppsm")),
    Format("vsdx", "Visio drawing", (".vsdx", ".vsdm", ".vstx")),
    Format("odt", "OpenDocument text", (".odt", ".ott", ".fodt", ".odm")),
    Format("ods", "OpenDocument spreadsheet", (".ods", ".ots", ".fods")),
    Format("odp", "OpenDocument presentation", (".odp", ".otp", ".fodp")),
    Format("odg", "OpenDocument drawing", (".odg", ".otg", ".fodg")),
    Format("epub", "EPUB book", (".epub",)),
    Format("xps", "XPS document", (".xps", ".oxps")),
    Format("jar", "Java archive", (".jar", ".war", ".ear", ".apk")),
    Format("zip", "zip archive", (".zip",)),
    Format("doc", "Word 97 document", (".doc", ".dot")),
    Format("xls", "Excel 97 workbook", (".xls", ".xlt")),
    Format("ppt", "PowerPoint 97 presentation", (".ppt", ".pps", ".pot")),
    Format("msg", "Outlook message", (".msg", ".oft")),
    Format("vsd", "Visio 2003 drawing", (".vsd",)),
    Format("msi", "Windows installer", (".msi", ".msp")),
    Format("ole", "compound file", ()),
    Format("rtf", "Rich Text file", (".rtf",)),
    Format("eml", "mail message", (".eml",)),
    Format("mbox", "mailbox", (".mbox", ".mbx")),
    Format("mht", "web archive", (".mht", ".mhtml")),
    Format("xml", "XML file", (".xml", ".xsd", ".xsl", ".xslt", ".rss", ".atom")),
    Format("svg", "SVG drawing", (".svg",)),
    Format("ps", "PostScript file", (".ps", ".eps", ".ai")),
    Format("djvu", "DjVu document", (".djvu", ".djv")),
    Format("chm", "compiled HTML help", (".chm",)),
    Format("png", "PNG picture", (".png",)),
    Format("jpg", "JPEG picture", (".jpg", ".jpeg", ".jpe")),
    Format("gif", "GIF picture", (".gif",)),
    Format("tiff", "TIFF picture", (".tif", ".tiff")),
    Format("bmp", "BMP picture", (".bmp",)),
    Format("webp", "WebP picture", (".webp",)),
    Format("heic", "HEIC picture", (".heic", ".heif", ".avif")),
    Format("psd", "Photoshop picture", (".psd",)),
    Format("dwg", "AutoCAD drawing", (".dwg",)),
    Format("gz", "gzip archive", (".gz", ".tgz", ".svgz")),
    Format("bz2", "bzip2 archive", (".bz2",)),
    Format("xz", "xz archive", (".xz",)),
    Format("zst", "Zstandard archive", (".zst",)),
    Format("7z", "7-Zip archive", (".7z",)),
    Format("rar", "RAR archive", (".rar",)),
    Format("tar", "tar archive", (".tar",)),
    Format("mp3", "MP3 sound", (".mp3",)),
    Format("mp4", "MP4 film or sound", (".mp4", ".m4a", ".m4v", ".mov", ".3gp")),
    Format("ogg", "Ogg sound or film", (".ogg", ".oga", ".ogv", ".opus")),
    Format("flac", "FLAC sound", (".flac",)),
    Format("wav", "WAV sound", (".wav",)),
    Format("avi", "AVI film", (".avi",)),
    Format("mkv", "Matroska or WebM film", (".mkv", ".webm")),
    Format("wmv", "Windows Media film or sound", (".wmv", ".wma", ".asf")),
    Format("exe", "Windows program", (".exe", ".dll", ".sys", ".scr")),
    Format("elf", "Linux program", (".so", ".o", ".ko")),
    Format("class", "Java class", (".class",)),
    Format("sqlite", "SQLite database", (".sqlite", ".sqlite3", ".db3")),
    Format("pst", "Outlook mailbox", (".pst", ".ost")),
    Format("lnk", "Windows shortcut", (".lnk",)),
    Format("ttf", "font", (".ttf", ".otf", ".ttc", ".woff", ".woff2")),
    Format("binary", "binary file", ()),
)  # fmt: skip
"""Every format with a name. Those with a module are read; the others are named, so that a person learns what was skipped."""

BY_NAME: dict[str, Format] = {row.name: row for row in FORMATS}

TEXT_KINDS = frozenset({"text", "markdown", "rst", "asciidoc", "csv"})
"""Formats that only the name tells apart."""

_HEAD = 65_536  # bytes read at the start: a big preamble of scripts fits into it
_PROBE = 4_096  # bytes read in the middle and at the end, where a text may turn out to be binary
_CONTROL_SHARE = 0.02  # of the bytes; random bytes have 11 %, old logs with padding stay below
_BY_SUFFIX: dict[str, str] = {suffix: row.name for row in FORMATS for suffix in row.suffixes}

_SIGNATURES: tuple[tuple[bytes, int, str], ...] = (
    (b"%PDF-", 0, "pdf"),
    (b"\x89PNG\r\n\x1a\n", 0, "png"),
    (b"\xff\xd8\xff", 0, "jpg"),
    (b"GIF87a", 0, "gif"),
    (b"GIF89a", 0, "gif"),
    (b"II*\0", 0, "tiff"),
    (b"MM\0*", 0, "tiff"),
    (b"WEBP", 8, "webp"),
    (b"WAVE", 8, "wav"),
    (b"AVI ", 8, "avi"),
    (b"8BPS\0\x01", 0, "psd"),
    (b"AC10", 0, "dwg"),
    (b"{\\rtf", 0, "rtf"),
    (b"%!PS", 0, "ps"),
    (b"\xc5\xd0\xd3\xc6", 0, "ps"),
    (b"AT&TFORM", 0, "djvu"),
    (b"ITSF\x03\0", 0, "chm"),
    (b"\x1f\x8b\x08", 0, "gz"),
    (b"BZh", 0, "bz2"),
    (b"\xfd7zXZ\0", 0, "xz"),
    (b"\x28\xb5\x2f\xfd", 0, "zst"),
    (b"7z\xbc\xaf\x27\x1c", 0, "7z"),
    (b"Rar!\x1a\x07", 0, "rar"),
    (b"ustar", 257, "tar"),
    (b"ID3", 0, "mp3"),
    (b"\xff\xfb", 0, "mp3"),
    (b"\xff\xf3", 0, "mp3"),
    (b"OggS", 0, "ogg"),
    (b"fLaC", 0, "flac"),
    (b"\x1aE\xdf\xa3", 0, "mkv"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", 0, "wmv"),
    (b"\x7fELF", 0, "elf"),
    (b"\xca\xfe\xba\xbe", 0, "class"),
    (b"SQLite format 3\0", 0, "sqlite"),
    (b"!BDN", 0, "pst"),
    (b"L\0\0\0\x01\x14\x02\0", 0, "lnk"),
    (b"\0\x01\0\0\0", 0, "ttf"),
    (b"OTTO\0", 0, "ttf"),
    (b"ttcf\0", 0, "ttf"),
    (b"wOFF", 0, "ttf"),
    (b"wOF2", 0, "ttf"),
)
"""Bytes, where they stand, and what they prove."""

_OOXML = frozenset({"docx", "xlsx", "xlsb", "pptx", "vsdx"})
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")


def detect(stream: BinaryIO, name: str) -> str:
    """The name of the format of a seekable stream of at least one byte. `name` is the file's name, without its folder."""
    stream.seek(0)
    head = stream.read(_HEAD)
    suffix = suffix_of(name)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08PK")):
        return zip_kind(stream, head)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _compound(stream, suffix)
    return _signature(head) or _late_pdf(head, suffix) or _text(stream, head, suffix)


def mismatch(name: str, format: str) -> str | None:
    """One sentence where the extension of `name` belongs to another format than the content, else None.

    >>> mismatch("minutes.docx", "doc")
    'The name ends in .docx, but the content is a Word 97 document (doc).'
    >>> mismatch("README.md", "text"), mismatch("minutes.old", "doc")
    (None, None)
    """
    suffix = suffix_of(name)
    promised = _BY_SUFFIX.get(suffix)
    if promised is None or promised == format or {promised, format} <= TEXT_KINDS:
        return None
    if format == "ooxml" and promised in _OOXML:
        return None
    title = BY_NAME[format].title
    article = "an" if title[0] in "AEIOX" else "a"
    return f"The name ends in {suffix}, but the content is {article} {title} ({format})."


def suffix_of(name: str) -> str:
    """The extension in small letters with its dot, or an empty string; a leading dot starts no extension.

    >>> suffix_of("Plan.DOCX"), suffix_of(".profile"), suffix_of("README")
    ('.docx', '', '')
    """
    stem, dot, last = name.rpartition(".")
    return f".{last.lower()}" if dot and stem else ""


def utf16_without_bom(sample: bytes) -> str | None:
    """`utf-16-le` or `utf-16-be` where every other byte is NUL far more often than its neighbour, else None.

    Blanks, line ends and ASCII have a NUL as their high byte; the low byte is NUL only for rare letters.
    """
    sample = sample[: len(sample) & ~1][:_HEAD]
    pairs = len(sample) // 2
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    common, rare, name = (odd, even, "utf-16-le") if odd > even else (even, odd, "utf-16-be")
    if pairs < 2 or common < max(2, pairs * 0.03) or rare > common * 0.02:
        return None
    text = sample.decode(name, "replace")
    odd_ones = sum((c < " " and c not in "\t\n\r\f") or c == "�" for c in text)
    return name if odd_ones <= max(1, len(text) * 0.01) else None


def _signature(head: bytes) -> str | None:
    for magic, offset, name in _SIGNATURES:
        if head.startswith(magic, offset) and (offset != 8 or head.startswith(b"RIFF")):
            return name
    if head.startswith(b"MZ") and b"\0" in head[:64]:
        return "exe"
    if head.startswith(b"BM") and len(head) > 26 and head[6:10] == b"\0\0\0\0":
        return "bmp"
    if head[4:8] == b"ftyp":
        return "heic" if head[8:12] in (b"heic", b"heix", b"mif1", b"msf1", b"avif", b"heim", b"hevc") else "mp4"
    return None


def _compound(stream: BinaryIO, suffix: str) -> str:
    """An encrypted package hides its kind, so there the name may tell."""
    kind = ole_kind(stream)
    if kind == "encrypted":
        return "ooxml" if _BY_SUFFIX.get(suffix) in _OOXML - {"docx"} else "docx"
    return kind


def _late_pdf(head: bytes, suffix: str) -> str | None:
    """A text about PDF may quote the header; a PDF has objects too, or bytes that no text has."""
    at = head.find(b"%PDF-", 0, 1024 + 5)
    if at < 0 and suffix != ".pdf":
        return None
    objects = re.search(rb"\d\s+\d+\s+obj\b", head[max(at, 0) :])
    return "pdf" if objects or (at >= 0 and not _looks_like_text(head)) else None


_FIRST_TAG = re.compile(r"(?>\s+|<!--.*?-->|<\?.*?\?>)*+<(!doctype\s+[\w:]+|[a-z][\w:]*)", re.DOTALL | re.IGNORECASE)
_STRONG = {"!doctype html", "html", "head", "body", "title", "meta", "base"}
_WEAK = re.compile(
    r"</?(?:html|body|head|div|p|br|hr|a|table|tr|td|ul|ol|li|h[1-6]|span|font|b|i|em|strong|center|img|pre|script|style|link)\b[^<]*>",
    re.IGNORECASE,
)
_MAIL = re.compile(r"(?:[A-Za-z][A-Za-z-]*:[^\n]*\n(?:[ \t][^\n]*\n)*){3,}")
_MAIL_PROOF = re.compile(r"^(?:received|message-id|mime-version|return-path|delivered-to):", re.IGNORECASE | re.MULTILINE)


def _text(stream: BinaryIO, head: bytes, suffix: str) -> str:
    named = _BY_SUFFIX.get(suffix)
    wide = utf16_without_bom(head)
    if not (head.startswith(_BOMS) or wide or all(map(_looks_like_text, (head, *_probes(stream))))):
        return named if named in ("pdf", "docx") else "binary"
    text = _readable(head, wide)
    markup = _markup(text, named)
    if markup:
        return markup
    if named not in TEXT_KINDS and (mail := _mail(text, suffix)):
        return mail
    return named if named in TEXT_KINDS and named else "text"


def _looks_like_text(sample: bytes) -> bool:
    controls = len(sample) - len(sample.translate(None, bytes((*range(9), 11, *range(14, 27), *range(28, 32), 127))))
    return controls <= len(sample) * _CONTROL_SHARE


def _probes(stream: BinaryIO) -> tuple[bytes, ...]:
    size = stream.seek(0, io.SEEK_END)
    if size <= _HEAD:
        return ()
    stream.seek(size // 2)
    middle = stream.read(_PROBE)
    stream.seek(max(0, size - _PROBE))
    return middle, stream.read(_PROBE)


def _readable(head: bytes, wide: str | None) -> str:
    """The head with ASCII right; other letters do not matter here."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return head.decode("utf-32", "replace")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", "replace")
    return head.decode(wide, "replace") if wide else head.removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def _markup(text: str, named: str | None) -> str | None:
    first = _FIRST_TAG.match(text)
    tag = " ".join(first[1].lower().split()) if first else ""
    if tag in _STRONG:
        return "html"
    if named == "html" and _WEAK.search(text):
        return "html"
    if tag.endswith("svg"):
        return "svg"
    if tag and named not in TEXT_KINDS and (text.lstrip().startswith("<?xml") or named == "xml"):
        return "xml"
    return "html" if named not in TEXT_KINDS and first and _WEAK.match(text, first.start(1) - 1) else None


def _mail(text: str, suffix: str) -> str | None:
    text = text.replace("\r\n", "\n").lstrip("\n")
    envelope, _, rest = text.partition("\n") if text.startswith("From ") else ("", "", text)
    found = _MAIL.match(rest)
    if not (found and _MAIL_PROOF.search(found[0])):
        return None
    if suffix in (".mht", ".mhtml") or "\nsnapshot-content-location:" in found[0].lower():
        return "mht"
    return "mbox" if envelope and suffix != ".eml" else "eml"
