"""Files that are made to harm whoever reads them: each ends in one state with a reason, and the files beside them are read."""

import zlib

import pytest

import builders
from builders import pdf_file, pdf_stream

MEGABYTE = 1 << 20
GOOD = {"good.txt": "A note about the avocet.", "good.html": builders.html_article("The avocet wades.")}
FINAL = {"indexed", "review", "failed", "skipped"}


def config(share, **limits):
    lines = {"idle_seconds": 6, "total_seconds": 12, "memory_mb": 1024, **limits}
    path = share.db.parent / "config.toml"
    settings = "\n".join(f"{key} = {value}" for key, value in lines.items())
    path.write_text(f'[database]\npath = "{share.db}"\n[limits]\n{settings}\n[[roots]]\npath = "{share.root}"\n')
    return path


def scanned(share, files):
    """The state and reason of each of these files after a scan, which read the good files beside them too."""
    for name, content in {**files, **GOOD}.items():
        share.write(name, content)
    share.run("--config", config(share), "scan", code=None)
    assert share.found("avocet") >= set(GOOD)
    found = {name: share.ask("why", share.root / name) for name in files}
    assert {entry["state"] for entry in found.values()} <= FINAL, found
    assert all(entry["message"] or entry["state"] == "indexed" for entry in found.values()), found
    return {name: (entry["state"], entry["reason"]) for name, entry in found.items()}


def docx_of(document: bytes) -> bytes:
    return builders.zip_replaced(
        builders.docx_file(builders.docx_paragraph("A letter.")), "word/document.xml", lambda _: document.decode()
    )


def test_word_files_that_unpack_without_end_or_name_other_files_are_survived(share):
    """P10: a bomb of blanks, one of entities, entities of the file system, nesting without end, and a million paragraphs."""
    head = '<?xml version="1.0"?><!DOCTYPE w [{}]>'
    word = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'
    laughs = '<!ENTITY a "ha ">' + "".join(
        f'<!ENTITY {b} "{"&" + a + ";"}{("&" + a + ";") * 9}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True)
    )
    paragraph = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    secret = share.root.with_name("secret.txt")
    secret.write_text("the password is redshank")
    files = {
        "bomb.docx": docx_of(word.format(paragraph.format(" " * (300 * MEGABYTE))).encode()),
        "laughs.docx": docx_of((head.format(laughs) + word.format(paragraph.format("&j;"))).encode()),
        "secret.docx": docx_of(
            (head.format(f'<!ENTITY s SYSTEM "file://{secret}">') + word.format(paragraph.format("&s;"))).encode()
        ),
        "deep.docx": docx_of(word.format("<w:p>" * 100_000 + "</w:p>" * 100_000).encode()),
        "many.docx": docx_of(word.format("<w:p/>" * 1_000_000).encode()),
    }
    found = scanned(share, files)
    assert found["bomb.docx"][0] == "failed"
    assert found["laughs.docx"][0] == "failed"
    assert share.found("redshank") == set()


def test_pdf_files_that_never_end_or_promise_too_much_are_survived(share):
    """P11: a stream of 400 MB in less than one, forms that draw one another 10^8 times, a tree of pages that is a ring, ..."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources %s /Contents %d 0 R >>"
    catalog, pages = b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>"
    flood = zlib.compress(b"0 0 m 1 1 l S " * (400 * MEGABYTE // 14), 9)
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F %d 0 R >> >>"
    forms = [pdf_stream(b"/F Do " * 10, form % (number + 1)) for number in range(5, 13)]
    whole = builders.pdf_pages(builders.pdf_text(50, 50, "The turnstone turns stones."))
    files = {
        "flood.pdf": pdf_file(
            [catalog, pages % (b"3 0 R", 1), page % (b"<< >>", 4), pdf_stream(flood, b"/Filter /FlateDecode")]
        ),
        "forms.pdf": pdf_file(
            [
                catalog,
                pages % (b"3 0 R", 1),
                page % (b"<< /XObject << /F 5 0 R >> >>", 4),
                pdf_stream(b"/F Do"),
                *forms,
                pdf_stream(b"0 0 m S", form % 13),
            ]
        ),
        "ring.pdf": pdf_file([catalog, b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"]),
        "count.pdf": pdf_file([catalog, pages % (b"3 0 R", 2_000_000_000), page % (b"<< >>", 4), pdf_stream(b"")]),
        "cut.pdf": whole[: len(whole) // 2],
        "empty.pdf": b"",
        "locked.pdf": builders.pdf_encrypted(b"BT ET", "AES_256", user="secret", owner="secret"),
    }
    found = scanned(share, files)
    assert found["empty.pdf"] == ("skipped", "empty")
    assert found["locked.pdf"] == ("failed", "encrypted")
    assert found["ring.pdf"][0] in ("failed", "review")
    assert found["cut.pdf"][0] in ("failed", "review")


def test_web_pages_that_are_too_much_for_their_reader_are_survived(share):
    """P12: elements in elements without end, 40,000 paragraphs, attributes of two megabytes, and noise."""
    noise = bytes((number * 7919 + number // 255) % 256 for number in range(500_000))
    files = {
        "deep.html": builders.html_page("<div>" * 200_000 + "The dunlin" + "</div>" * 200_000),
        "many.html": builders.html_page(
            "".join(f"<p>Paragraph {number} about the plover and its nest.</p>" for number in range(40_000))
        ),
        "attributes.html": builders.html_page(f'<p title="{"x" * 2 * MEGABYTE}">The whimbrel whistles.</p>'),
        "noise.html": b"<html><body>" + noise,
    }
    found = scanned(share, files)
    assert found["many.html"][0] == "indexed"
    assert share.found("plover") == {"many.html"}
    assert share.found("whimbrel") == {"attributes.html"}


@pytest.mark.parametrize("name", ["flood.txt", "flood.csv", "flood.md"])
def test_a_single_endless_line_is_survived(share, name):
    found = scanned(share, {name: "x" * (30 * MEGABYTE)})
    assert found[name][0] in FINAL
