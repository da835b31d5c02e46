"""What a PDF says about itself, in its two stores (Info and XMP), and which of the two is believed."""

import re
import unicodedata
from collections.abc import Callable, Iterator

import pymupdf
from lxml import etree

from winnowd.extract.pdf_dates import iso_date
from winnowd.extract.pdf_open import FAULTS, stream
from winnowd.model import Fact, Metadata

_INFO = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "Creator": "creator",
    "Producer": "producer",
    "CreationDate": "created",
    "ModDate": "modified",
}
_XMP = {
    "{http://purl.org/dc/elements/1.1/}title": "title",
    "{http://purl.org/dc/elements/1.1/}creator": "author",
    "{http://purl.org/dc/elements/1.1/}description": "subject",
    "{http://purl.org/dc/elements/1.1/}language": "language",
    "{http://ns.adobe.com/pdf/1.3/}Keywords": "keywords",
    "{http://ns.adobe.com/pdf/1.3/}Producer": "producer",
    "{http://ns.adobe.com/xap/1.0/}CreatorTool": "creator",
    "{http://ns.adobe.com/xap/1.0/}CreateDate": "created",
    "{http://ns.adobe.com/xap/1.0/}ModifyDate": "modified",
    "{http://ns.adobe.com/xap/1.0/}MetadataDate": "described",
}
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

VALUE_CHARS = 4000
"""Longer values are cut: a title of a megabyte is an attack or an accident."""
XMP_BYTES = 4_000_000
"""Larger packets are not parsed; real ones hold some kilobytes, with thumbnails some hundred."""

_DIALOG = re.compile(
    r"microsoft (?:word|powerpoint|excel|office)\b.*|(?:untitled|unbenannt|ohne titel|sans titre|sin título)\b.*"
    r"|powerpoint[- ]pr[äée]sentation|print|(?:new )?(?:microsoft word )?document\s*\d*|(?:no )?title|unknown|none|null"
    r"|\(?(?:anonymous|unspecified)\)?|(?:slide|folie|book|sheet|scan)\s*\d*",
    re.IGNORECASE,
)
"""What programs write where nobody gave a title."""
_FILE_NAME = re.compile(
    r".*\.(?:docx?|docm|dotx?|pdf|xlsx?|pptx?|indd|dvi|tex|qxd|qxp|rtf|odt|odp|html?|txt|p65|pm[d6]|fm|ps|eps|cdr|ai|wpd|pub|vsdx?"
    r"|tiff?|jpe?g|png|bmp|dwg|mif|book|pages|key|prn|lwp|wps|sxw)|\S*[\\/]\S*|[a-z]+:/.*|[A-Za-z]:\\.*|[^\s]*_[^\s]*",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"\(?(?:unknown|anonymous|unspecified|user|owner|administrator|admin|author|null|none)\)?|[A-Z]+\(0x[0-9a-f]+\)",
    re.IGNORECASE,
)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")
_PDFDOC = str.maketrans(
    {character: chr(code) for code, character in enumerate("•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž", 0x80)}
    | {character: chr(code) for code, character in enumerate("˘ˇˆ˙˝˛˚˜", 0x18)}
    | {"€": "\xa0"}
)
"""PDFDocEncoding (ISO 32000-2, annex D.3) back to its bytes, to see whether they were UTF-8 without a mark."""
_LANGUAGE_ESCAPE = re.compile(r"\x1b[^\x1b]{0,8}\x1b")


def metadata(pdf: pymupdf.Document) -> Metadata:
    """The facts of both stores and of the catalog, and those that are believed. Never raises for damaged ones."""
    facts = [Fact("info", key, value) for key, value in _info(pdf)]
    facts += [Fact("xmp", key, value) for key, value in _xmp(pdf)]
    facts += [Fact("catalog", "language", value) for value in _text(pdf, pdf.pdf_catalog(), "Lang")]
    return judged(facts)


def judged(facts: list[Fact]) -> Metadata:
    """Metadata in which one fact of each kind is believed: the first that is credible, from the store changed last."""
    order = _by_trust(facts)
    title = _believe(order, "title", credible_title)
    author = _believe(order, "author", _credible_author)
    created = _believe(order, "created", iso_date)
    modified = _believe(order, "modified", iso_date)
    language = _believe(order, "language", _credible_language)
    chosen = {id(fact) for _, fact in (title, author, created, modified, language) if fact is not None}
    return Metadata(
        title=title[0],
        author=author[0],
        created=created[0],
        modified=modified[0],
        language=language[0],
        facts=tuple(Fact(fact.source, fact.key, fact.value, id(fact) in chosen) for fact in facts),
    )


def credible_title(text: str) -> str | None:
    """The title, or None where it is no title: empty, what a program puts in by itself, or a file name.

    >>> credible_title("Depth  survey")
    'Depth survey'
    >>> credible_title("Microsoft Word - Document1"), credible_title("minutes_final.docx")
    (None, None)
    """
    title = " ".join(text.split())
    if not any(character.isalnum() for character in title) or "\ufffd" in title:
        return None
    if _DIALOG.fullmatch(title) or _FILE_NAME.fullmatch(title):
        return None
    return title


def _credible_author(text: str) -> str | None:
    author = " ".join(text.split())
    return None if not author or _NOBODY.fullmatch(author) or "\ufffd" in author else author


def _credible_language(text: str) -> str | None:
    """A language tag (BCP 47), as written but for the underscore of some producers."""
    tag = text.strip()
    return tag.replace("_", "-") if _LANGUAGE.fullmatch(tag) and tag.lower() not in ("x-default", "und") else None


def _believe(facts: list[Fact], key: str, credible: Callable[[str], str | None]) -> tuple[str | None, Fact | None]:
    for fact in facts:
        if fact.key == key and (value := credible(fact.value)):
            return value, fact
    return None, None


def _by_trust(facts: list[Fact]) -> list[Fact]:
    """XMP before Info, for PDF 2.0 retired Info; but an Info that was changed later was changed by somebody who meant it."""
    changed = {
        source: max(
            (
                date
                for fact in facts
                if fact.source == source and fact.key in ("modified", "described")
                if (date := iso_date(fact.value))
            ),
            default="",
        )
        for source in ("info", "xmp")
    }
    rank = {"catalog": 0, "xmp": 1, "info": 2}
    if changed["xmp"] and changed["info"][:10] > changed["xmp"][:10]:
        rank = {"catalog": 0, "info": 1, "xmp": 2}
    return sorted(facts, key=lambda fact: rank[fact.source])


def _info(pdf: pymupdf.Document) -> Iterator[tuple[str, str]]:
    for key, name in _INFO.items():
        for value in _text(pdf, -1, f"Info/{key}"):
            yield name, value


def _text(pdf: pymupdf.Document, xref: int, key: str) -> list[str]:
    """The text string (or name) at a key, cleaned; nothing where there is none."""
    try:
        kind, value = pdf.xref_get_key(xref, key)
        if kind == "xref":  # the string is an object of its own
            kind, value = "string", pymupdf.mupdf.pdf_to_text_string(_object(pdf, value))
    except FAULTS:
        return []
    value = tidy(value.removeprefix("/") if kind == "name" else value)
    return [value] if kind in ("string", "name") and value else []


def _object(pdf: pymupdf.Document, reference: str) -> pymupdf.mupdf.PdfObj:
    number = int(reference.split(maxsplit=1)[0])
    return pymupdf.mupdf.pdf_load_object(pymupdf.mupdf.pdf_document_from_fz_document(pdf.this), number)


def tidy(text: str) -> str:
    """A text string without control characters and language marks, in NFC, cut at VALUE_CHARS; UTF-8 taken for 8-bit is mended.

    >>> tidy("\\x1bde\\x1bÃœbersicht\\x00")
    'Übersicht'
    """
    text = _LANGUAGE_ESCAPE.sub("", text[: 2 * VALUE_CHARS])
    if not text.isascii():
        text = _mended(text)
    if not text.isprintable():
        text = "".join(
            " " if character in "\t\r\n" else character
            for character in text
            if character in "\t\r\n" or character.isprintable()  # a blank is
        )
    return unicodedata.normalize("NFC", text).strip()[:VALUE_CHARS]


def _mended(text: str) -> str:
    for raw in (text.translate(_PDFDOC), text):
        for encoding in ("latin-1", "cp1252"):
            try:
                return raw.encode(encoding).decode("utf-8")
            except UnicodeError:
                continue
    return text


def _xmp(pdf: pymupdf.Document) -> list[tuple[str, str]]:
    try:
        kind, value = pdf.xref_get_key(pdf.pdf_catalog(), "Metadata")
        packet = stream(pdf, int(value.split(maxsplit=1)[0]), XMP_BYTES) if kind == "xref" else b""
    except FAULTS:
        return []
    return xmp_facts(packet)


def xmp_facts(packet: bytes) -> list[tuple[str, str]]:
    """Keys and values of an XMP packet (ISO 16684-1); nothing where it is no XML or too large. Entities are never resolved."""
    if not packet or len(packet) > XMP_BYTES:
        return []
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, remove_comments=True)
    try:
        root = etree.fromstring(packet.strip(b"\x00 \t\r\n"), parser)
    except (etree.XMLSyntaxError, ValueError):
        return []
    if root is None:
        return []
    found = [pair for description in root.iter(f"{_RDF}Description") for pair in _described(description)]
    return [(key, value) for key, raw in found if (value := tidy(raw))]


def _described(description: etree._Element) -> Iterator[tuple[str, str]]:
    for name, value in description.attrib.items():
        if str(name) in _XMP:
            yield _XMP[str(name)], str(value)
    for child in description:
        if isinstance(child.tag, str) and child.tag in _XMP:
            yield _XMP[child.tag], _value(child)


def _value(element: etree._Element) -> str:
    """The text of a property: its own, the default of its alternatives, or its items in order."""
    items = list(element.iter(f"{_RDF}li"))
    if not items:
        return "".join(map(str, element.itertext()))
    if element.find(f"{_RDF}Alt") is not None:
        items = [item for item in items if item.get(_XML_LANG) == "x-default"][:1] or items[:1]
    return "; ".join(filter(None, (" ".join("".join(map(str, item.itertext())).split()) for item in items)))
