"""What bytes are, whatever their name says."""

import io

import pytest

import builders
from winnowd.formats import BY_NAME, FORMATS, TEXT_KINDS, detect, mismatch

PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def kind(data: bytes, name: str = "file") -> str:
    return detect(io.BytesIO(data), name)


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\xef\xbb\xbf",
        b"\r\n\r\n",
        b"--boundary\r\nContent-Type: application/pdf\r\n\r\n",
        b"\x1b%-12345X@PJL\r\n",
        b"x" * 1000,
    ],
)
def test_a_pdf_is_found_behind_junk(before: bytes) -> None:
    assert kind(before + PDF, "scan.txt") == "pdf"


def test_a_text_that_quotes_a_pdf_header_is_text() -> None:
    assert kind(b"A PDF begins with %PDF-1.7 and ends with %%EOF.\n", "about.txt") == "text"


def test_a_pdf_header_after_the_first_kilobyte_is_none() -> None:
    assert kind(b"x" * 1100 + b"\n" + PDF.replace(b"\xe2\xe3\xcf\xd3", b""), "notes.txt") == "text"


@pytest.mark.parametrize(
    "content_type",
    [
        WORD,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    ],
)
def test_word_packages_of_every_kind_are_docx(content_type: str) -> None:
    assert kind(builders.docx_file(builders.docx_paragraph("Hello"), kind=content_type), "hello.zip") == "docx"


def test_strict_word_packages_are_docx() -> None:
    assert kind(builders.docx_file(builders.docx_paragraph("Hello"), strict=True)) == "docx"


def types(content_type: str) -> dict[str, str | bytes]:
    return {"[Content_Types].xml": f"<Types><Override PartName='/x' ContentType='{content_type}'/></Types>"}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (types("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"), "xlsx"),
        (types("application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"), "pptx"),
        ({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<x/>"}, "odt"),
        ({"mimetype": "application/epub+zip"}, "epub"),
        ({"META-INF/MANIFEST.MF": "Manifest-Version: 1.0"}, "jar"),
        ({"word\\document.xml": "<x/>"}, "docx"),
        ({"readme.txt": "hello"}, "zip"),
    ],
)
def test_other_packages_are_named_by_what_they_hold(entries: dict[str, str | bytes], expected: str) -> None:
    assert kind(builders.zip_file(entries), "thing.docx") == expected


def test_a_workbook_embedded_in_a_word_file_does_not_make_it_one() -> None:
    package = types("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")  # the type of an embedded file
    package["word/document.xml"] = "<x/>"
    assert kind(builders.zip_file(package)) == "docx"


def test_a_cut_off_word_file_is_still_one() -> None:
    whole = builders.docx_file(builders.docx_paragraph("Hello " * 2000))
    assert kind(whole[: len(whole) // 2]) == "docx"


def test_a_broken_archive_of_nothing_known_is_a_zip() -> None:
    assert kind(builders.zip_file({"a.txt": "hello " * 1000}, stored=True)[:2000]) == "zip"


def test_an_archive_with_too_many_entries_is_not_looked_into() -> None:
    entries: dict[str, str | bytes] = {f"{number}": "" for number in range(10_001)}
    assert kind(builders.zip_file({**types(WORD), **entries}, stored=True)) == "docx"  # by its first entry alone


@pytest.mark.parametrize(
    ("streams", "expected"),
    [
        (["WordDocument", "1Table"], "doc"),
        (["Workbook"], "xls"),
        (["PowerPoint Document"], "ppt"),
        (["__properties_version1.0"], "msg"),
        (["EncryptionInfo", "EncryptedPackage"], "docx"),
        (["Something"], "ole"),
    ],
)
def test_compound_files_are_told_apart_by_their_streams(streams: list[str], expected: str) -> None:
    assert kind(builders.zip_ole(streams), "report.docx") == expected


def test_a_document_embedded_in_a_workbook_does_not_make_it_one() -> None:
    assert kind(builders.zip_ole(["MBD001", "Workbook"], embedded=["WordDocument"])) == "xls"


def test_a_protected_workbook_is_not_called_a_word_file() -> None:
    assert kind(builders.zip_ole(["EncryptedPackage"]), "budget.xlsx") == "ooxml"
    assert mismatch("budget.xlsx", "ooxml") is None


@pytest.mark.parametrize(
    "page",
    [
        b"<!DOCTYPE html><p>hello",
        b"\xef\xbb\xbf\n\n<!-- saved from the web -->\n<HTML><body>hello",
        b"<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN'><html></html>",
        "<html><body>hello".encode("utf-16"),
        "<html><body>hello and good bye".encode("utf-16-le"),
    ],
)
def test_a_page_is_html_whatever_its_name(page: bytes) -> None:
    assert kind(page, "page.txt") == "html"


def test_a_markdown_file_may_begin_with_a_tag() -> None:
    source = b"<p align='center'><img src='logo.png'></p>\n\n# Title\n"
    assert (kind(source, "README.md"), kind(source, "README.html"), kind(source, "README")) == ("markdown", "html", "html")


def test_the_name_decides_among_kinds_of_text() -> None:
    names = {
        "a.md": "markdown",
        "a.csv": "csv",
        "a.rst": "rst",
        "a.adoc": "asciidoc",
        "a.txt": "text",
        "a.conf": "text",
        "a": "text",
    }
    assert {name: kind(b"a,b\n1,2\n", name) for name in names} == names


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "cp437"])
def test_text_in_any_encoding_is_text(encoding: str) -> None:
    assert kind(("Gr\u00f6\u00dfe und Ma\u00df\n" * 20).encode(encoding), "a.txt") == "text"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(60), "elf"),
        (b"\x89PNG\r\n\x1a\n" + bytes(60), "png"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "wav"),
        (b"{\\rtf1\\ansi hello}", "rtf"),
        (b"\x00\x00\x00\x18ftypmp42" + bytes(60), "mp4"),
        (bytes(range(256)) * 8, "binary"),
    ],
)
def test_what_is_not_text_is_named(data: bytes, expected: str) -> None:
    assert kind(data, "letter.txt") == expected


def test_a_file_of_nuls_under_a_word_name_is_a_broken_word_file() -> None:
    assert (kind(bytes(5000), "plan.docx"), kind(bytes(5000), "plan.bin")) == ("docx", "binary")


def test_a_text_that_turns_binary_later_is_binary() -> None:
    assert kind(b"#!/bin/sh\n" + b"echo hello\n" * 7000 + bytes(range(256)) * 400, "setup.run") == "binary"


def test_a_mail_is_a_mail_unless_its_name_says_text() -> None:
    mail = b"Return-Path: <a@b.c>\nFrom: a@b.c\nTo: d@e.f\nSubject: hello\n\nHello\n"
    assert (kind(mail, "hello.eml"), kind(mail, "hello.txt")) == ("eml", "text")


def test_many_comments_before_no_tag_take_no_time() -> None:
    assert kind(b"<!-- a -->" * 6000 + b"hello", "a.txt") == "text"


def test_a_foreign_extension_is_a_mismatch_and_an_unknown_one_is_none() -> None:
    assert mismatch("minutes.docx", "doc") == "The name ends in .docx, but the content is a Word 97 document (doc)."
    assert mismatch("scan.txt", "elf") is not None
    assert [mismatch(name, "docx") for name in ("a.docm", "a.dotx", "a", "a.old", ".docx")] == [None] * 5
    assert mismatch("page.xhtml", "html") is None


def test_kinds_of_text_never_mismatch_each_other() -> None:
    suffixes = [suffix for name in TEXT_KINDS for suffix in BY_NAME[name].suffixes]
    assert {mismatch(f"a{suffix}", name) for suffix in suffixes for name in TEXT_KINDS} == {None}


def test_no_suffix_belongs_to_two_formats() -> None:
    suffixes = [suffix for row in FORMATS for suffix in row.suffixes]
    assert len(suffixes) == len(set(suffixes)) and len(BY_NAME) == len(FORMATS)
