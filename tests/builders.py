"""Makes the files and records that the tests use, in code: nothing is stored, nothing is copied from elsewhere."""

import io
import struct
import zipfile
from collections.abc import Callable, Sequence
from html import escape


def zip_file(entries: dict[str, str | bytes], *, stored: bool = False) -> bytes:
    """A zip archive of these entries, in their order."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as archive:
        for name, body in entries.items():
            archive.writestr(name, body)
    return stream.getvalue()


def zip_ole(streams: Sequence[str], embedded: Sequence[str] = ()) -> bytes:
    """A compound file (MS-CFB) whose root holds empty streams of these names; the first is a storage that holds `embedded`."""
    names = ["Root Entry", *streams, *embedded]
    free = 0xFFFFFFFF

    def entry(at: int, name: str) -> bytes:
        kind = 5 if at == 0 else 1 if embedded and at == 1 else 2
        last = at in (0, len(streams), len(names) - 1)
        child = 1 if at == 0 else 1 + len(streams) if kind == 1 else free
        label = name.encode("utf-16-le").ljust(64, b"\0")
        links = struct.pack("<HBB3I", 2 * len(name) + 2, kind, 1, free, free if last else at + 1, child)
        return (label + links).ljust(116, b"\0") + struct.pack("<IQ", 0xFFFFFFFE, 0)

    directory = b"".join(entry(at, name) for at, name in enumerate(names))
    sectors = -(-len(directory) // 512)
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16 + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + b"\0" * 6
    header += struct.pack("<IIIIIIIIII", 0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0)
    chain = [0xFFFFFFFD, *range(2, sectors + 1), 0xFFFFFFFE]
    table = struct.pack(f"<{len(chain)}I", *chain).ljust(512, b"\xff")
    return header.ljust(512, b"\xff") + table + directory.ljust(sectors * 512, b"\0")


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DOCX_KIND = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_DOCX_NAMESPACES = (
    f'xmlns:w="{_WORD}" xmlns:r="{_OFFICE}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml"'
)


def docx_paragraph(text: str, *, style: str = "", properties: str = "") -> str:
    """The XML of a paragraph with one run."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t xml:space='preserve'>{escape(text)}</w:t></w:r></w:p>"


def docx_table(*rows: Sequence[str]) -> str:
    """The XML of a table; cells that begin with `<w:tc>` or `<w:p>` are taken as XML."""

    def cell(text: str) -> str:
        if text.startswith("<w:tc>"):
            return text
        return f"<w:tc>{text if text.startswith('<w:p>') else docx_paragraph(text)}</w:tc>"

    lines = "".join("<w:tr>" + "".join(map(cell, row)) + "</w:tr>" for row in rows)
    return f"<w:tbl>{lines}</w:tbl>"


def docx_style(style_id: str, name: str, *, based_on: str = "", level: int | None = None, run: str = "") -> str:
    """The XML of a paragraph style."""
    parent = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    outline = f'<w:pPr><w:outlineLvl w:val="{level}"/></w:pPr>' if level is not None else ""
    inside = f'<w:name w:val="{name}"/>{parent}{outline}<w:rPr>{run}</w:rPr>'
    return f'<w:style w:type="paragraph" w:styleId="{style_id}">{inside}</w:style>'


def docx_file(
    body: str, *, parts: dict[str, str] | None = None, core: str = "", kind: str = _DOCX_KIND, strict: bool = False
) -> bytes:
    """A Word file of this body. `parts` are the insides of other parts by their name: styles, numbering, header1 and so on."""
    roots = {
        "footnotes": "footnotes",
        "endnotes": "endnotes",
        "styles": "styles",
        "numbering": "numbering",
        "comments": "comments",
    }
    entries: dict[str, str | bytes] = {}
    relations = ""
    for name, inside in (parts or {}).items():
        root = roots.get(name, "hdr" if name.startswith("header") else "ftr")
        entries[f"word/{name}.xml"] = f"<w:{root} {_DOCX_NAMESPACES}>{inside}</w:{root}>"
        relations += f'<Relationship Id="{name}" Type="{_OFFICE}/{name.rstrip("0123456789")}" Target="{name}.xml"/>'
    overrides = f'<Override PartName="/word/document.xml" ContentType="{kind}"/>'
    top = f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
    if core:
        entries["docProps/core.xml"] = (
            f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" '
            f'xmlns:dcterms="http://purl.org/dc/terms/">{core}</cp:coreProperties>'
        )
        top += f'<Relationship Id="rId2" Type="{_PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/>'
    defaults = (
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
    )
    whole = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">{defaults}{overrides}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{top}</Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>',
        "word/document.xml": f"<w:document {_DOCX_NAMESPACES}><w:body>{body}</w:body></w:document>",
        **entries,
    }
    if strict:
        whole = {
            name: str(xml)
            .replace(_WORD, "http://purl.oclc.org/ooxml/wordprocessingml/main")
            .replace(_OFFICE, "http://purl.oclc.org/ooxml/officeDocument/relationships")
            for name, xml in whole.items()
        }
    return zip_file(whole)


HTML_SENTENCES = (
    "The board meets on the first Monday of the month and publishes its minutes within five days, as the law asks.",
    "Work in the northern channel begins after the winter storms and should take about nine weeks, if the weather holds.",
    "Boats with a draught of more than three metres have to wait for the tide until all the work there is complete.",
    "The cost is shared between the county and the users of the port, just as it was agreed in the plan of last year.",
    "A survey of the sea bed is carried out before and after each campaign and is kept for ten years in the office.",
)
"""Enough prose for a page to count as an article."""


def html_page(body: str, *, head: str = "<title>Dredging</title>") -> str:
    """A web page of this head and body."""
    return f"<!DOCTYPE html>\n<html lang='en'><head>{head}</head><body>{body}</body></html>"


def html_article(extra: str = "") -> str:
    """The body of an article page with a menu and a footer round it; `extra` stands at the end of the article."""
    prose = "".join(f"<p>{sentence}</p>" for sentence in HTML_SENTENCES)
    menu = "<nav><ul><li><a href='/'>Start page</a></li><li><a href='/jobs'>Careers with us</a></li></ul></nav>"
    article = f"<main><article><h1>Dredging approved</h1>{prose}{extra}</article></main>"
    return f"{menu}{article}<footer><p>All rights reserved by the harbour press.</p></footer>"


def zip_replaced(archive: bytes, name: str, change: Callable[[str], str]) -> bytes:
    """The same archive with one entry changed, or added where there was none."""
    with zipfile.ZipFile(io.BytesIO(archive)) as old:
        entries: dict[str, str | bytes] = {entry: old.read(entry) for entry in old.namelist()}
    entries[name] = change(bytes(entries.get(name, b"")).decode())
    return zip_file(entries)


def zip_swollen(archive: bytes, name: str, size: int) -> bytes:
    """The same archive, its directory saying that one entry unpacks to this many bytes, as that of a bomb does."""
    at = archive.rfind(b"PK\x01\x02", 0, archive.rfind(name.encode()))
    return archive[: at + 24] + struct.pack("<I", size) + archive[at + 28 :]


def pdf_file(objects: Sequence[bytes], *, trailer: bytes = b"", header: bytes = b"%PDF-1.7\n") -> bytes:
    """A PDF of these objects, numbered from 1; the first is the catalog."""
    body, offsets = header, []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


def pdf_stream(content: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


PDF_PAGE = 8
"""The number of the first page object of `pdf_pages`; the others follow, each with its contents behind it."""
PDF_LATER = 100
"""The number of the first of the `later` objects of `pdf_pages`."""


def pdf_pages(
    *contents: bytes,
    catalog: bytes = b"",
    info: bytes = b"",
    page: bytes = b"",
    later: Sequence[bytes] = (),
    trailer: bytes = b"",
) -> bytes:
    """A PDF with a page of 612 by 792 points for each of the contents.

    The fonts are F1 (Helvetica), F2 (bold), F3 (Courier). `catalog`, `info` and `page` are entries of those dictionaries.
    """
    count = len(contents)
    kids = b" ".join(b"%d 0 R" % (PDF_PAGE + 2 * number) for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R %s >>" % catalog,
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (count, kids),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
        pdf_stream(
            bytes([0, 255]), b"/Type /XObject /Subtype /Image /Width 2 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8"
        ),
        b"<< %s >>" % info,
    ]
    for number, content in enumerate(contents):
        fonts = b"/Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> /XObject << /Im 6 0 R >>"
        content_number = PDF_PAGE + 2 * number + 1
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << %s >> /Contents %d 0 R %s >>"
            % (fonts, content_number, page)
        )
        objects.append(pdf_stream(content))
    if later:
        objects += [b"null"] * (PDF_LATER - 1 - len(objects)) + list(later)
    return pdf_file(objects, trailer=b"/Info 7 0 R " + trailer)


def pdf_text(
    x: float, y: float, text: str, *, size: float = 11, font: str = "F1", before: str = "", spread: float = 0
) -> bytes:
    """Page contents that show a line `y` points below the top; `before` holds operators, `spread` is the character spacing."""
    shown = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)").encode("cp1252")
    return b"q %s BT /%s %g Tf %g Tc %g %g Td (%s) Tj ET Q\n" % (
        before.encode(),
        font.encode(),
        size,
        spread,
        x,
        792 - y,
        shown,
    )


def pdf_column(
    x: float, y: float, lines: Sequence[str], *, size: float = 11, font: str = "F1", step: float = 14
) -> list[bytes]:
    """The lines of a column, one below the other."""
    return [pdf_text(x, y + step * number, line, size=size, font=font) for number, line in enumerate(lines)]


def pdf_image(x: float, y: float, width: float, height: float) -> bytes:
    """Page contents that draw an image of two pixels, black and white, its top left corner at these points from the top."""
    return b"q %g 0 0 %g %g %g cm /Im Do Q\n" % (width, height, x, 792 - y - height)


def pdf_xmp(properties: str, *, head: str = "") -> bytes:
    """An XMP packet with these properties."""
    spaces = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"'
    rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    return f"{head}<rdf:RDF {rdf}><rdf:Description {spaces}>{properties}</rdf:Description></rdf:RDF>".encode()


def pdf_encrypted(content: bytes, cipher: str, *, user: str, owner: str) -> bytes:
    """A PDF with one page, encrypted (RC4_128 or AES_256); an empty user password lets everybody read it."""
    import pymupdf

    with pymupdf.open(stream=pdf_pages(content), filetype="pdf") as document:
        method = getattr(pymupdf, f"PDF_ENCRYPT_{cipher}")
        return bytes(document.tobytes(encryption=method, user_pw=user, owner_pw=owner))


def pdf_unmapped(count: int) -> bytes:
    """A PDF with a page of `count` glyphs of a Type 3 font that names no characters."""
    shown = b"BT /F9 12 Tf 72 700 Td <%s> Tj ET" % (b"01" * count)
    font = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 750 750] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 1 /LastChar 1 "
        b"/Widths [800] /CharProcs << /g1 101 0 R >> /Encoding << /Type /Encoding /Differences [1 /g1] >> >>"
    )
    glyph = pdf_stream(b"800 0 0 0 750 750 d1 0 0 750 750 re f")
    return pdf_pages(shown, page=b"/Resources << /Font << /F9 100 0 R >> >>", later=[font, glyph])
