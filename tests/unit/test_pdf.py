import json
import zlib
from pathlib import Path

import pymupdf
import pytest

import builders
from winnowd.errors import Damaged, DocumentError, Empty, Encrypted, OutOfMemory
from winnowd.extract import Reading
from winnowd.extract import pdf as pdf_module
from winnowd.extract.pdf import extract
from winnowd.extract.pdf_dates import iso_date
from winnowd.extract.pdf_facts import credible_title, judged, tidy, xmp_facts
from winnowd.extract.pdf_open import guard_memory, stream
from winnowd.extract.pdf_outline import labels, numeral
from winnowd.extract.pdf_text import parsed
from winnowd.model import Extraction, Fact, Format

PDF = Format("pdf", "PDF", (".pdf",), "pdf", paged=True)
PROSE = [
    "The ferry leaves the northern pier at seven in the morning",
    "and comes back before the tide turns in the afternoon, so",
    "that the mail reaches the island on every day but Sunday.",
]
OTHER = [
    "A second boat carries timber and slate to the quarry at the",
    "far end of the bay, where the water is deep enough for it",
    "even at the lowest spring tides of the year in September.",
]


def read(tmp_path: Path, content: bytes, *, text_chars: int = 1_000_000) -> Extraction:
    file = tmp_path / "file"
    file.write_bytes(content)
    return extract(Reading(str(file), PDF, len(content), text_chars=text_chars))


def page(*parts: bytes | list[bytes]) -> bytes:
    return b"".join(part if isinstance(part, bytes) else b"".join(part) for part in parts)


def texts(found: Extraction, kind: str | None = None) -> list[str]:
    return [block.text for block in found.blocks if kind in (None, block.kind)]


def codes(found: Extraction) -> list[str]:
    return [note.code for note in found.notes]


def prose_page(y: float = 80) -> bytes:
    return page(builders.pdf_column(72, y, PROSE))


def test_pages_carry_their_size_and_a_blank_page_has_no_blocks(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_pages(prose_page(), b""))
    assert [(each.index, each.label, each.width, each.height) for each in found.pages] == [
        (0, "1", 612, 792),
        (1, "2", 612, 792),
    ]
    assert [block.page for block in found.blocks] == [0]
    assert texts(found) == ["\n".join(PROSE)]
    assert found.paged
    assert found.notes == ()


def test_progress_is_reported_for_every_page(tmp_path: Path) -> None:
    calls: list[None] = []
    file = tmp_path / "file"
    file.write_bytes(content := builders.pdf_pages(prose_page(), prose_page(), prose_page()))
    extract(Reading(str(file), PDF, len(content), progress=lambda: calls.append(None)))
    assert len(calls) >= 3


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"POST /upload HTTP/1.1\r\nContent-Type: application/pdf\r\n\r\n"])
def test_a_mark_or_junk_before_the_header_does_no_harm(tmp_path: Path, before: bytes) -> None:
    found = read(tmp_path, before + builders.pdf_pages(prose_page()))
    assert texts(found) == ["\n".join(PROSE)]
    assert found.notes == ()


def test_a_wrong_cross_reference_table_is_repaired_without_a_note(tmp_path: Path) -> None:
    content = builders.pdf_pages(prose_page(), info=b"/Title (Ferry times)")
    found = read(tmp_path, content.replace(b"startxref\n", b"startxref\n9"))
    assert texts(found) == ["\n".join(PROSE)]
    assert found.metadata.title == "Ferry times"
    assert found.notes == ()


def test_a_file_whose_end_is_missing_is_noted_as_truncated(tmp_path: Path) -> None:
    content = builders.pdf_pages(prose_page(), prose_page())
    found = read(tmp_path, content[: content.index(b"xref\n0 ")])
    assert codes(found) == ["truncated"]
    assert len(found.pages) == 2


@pytest.mark.parametrize("content", [b"%PDF-1.7\n" + bytes(range(256)) * 9, b"%PDF-1.4\n%%EOF\n", b"no PDF at all"])
def test_what_is_no_pdf_but_for_its_header_is_damaged(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(Damaged):
        read(tmp_path, content)


def test_a_file_without_bytes_is_empty(tmp_path: Path) -> None:
    with pytest.raises(Empty):
        read(tmp_path, b"")


def test_a_document_without_pages_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(Damaged):
        read(tmp_path, builders.pdf_pages())


@pytest.mark.parametrize("cipher", ["RC4_128", "AES_256"])
def test_a_file_that_only_its_owner_may_change_is_read(tmp_path: Path, cipher: str) -> None:
    found = read(tmp_path, builders.pdf_encrypted(prose_page(), cipher, user="", owner="secret"))
    assert texts(found) == ["\n".join(PROSE)]


@pytest.mark.parametrize("cipher", ["RC4_128", "AES_256"])
def test_a_file_that_needs_a_password_is_encrypted(tmp_path: Path, cipher: str) -> None:
    with pytest.raises(Encrypted):
        read(tmp_path, builders.pdf_encrypted(prose_page(), cipher, user="ask me", owner="secret"))


def test_an_allocation_that_fails_is_out_of_memory() -> None:
    with pytest.raises(OutOfMemory):
        guard_memory(RuntimeError("code=2: malloc (41943040 bytes) failed"))
    with pytest.raises(OutOfMemory):
        guard_memory(MemoryError())
    guard_memory(RuntimeError("code=7: syntax error"))


def test_a_page_that_cannot_be_read_costs_no_other_page(tmp_path: Path) -> None:
    content = builders.pdf_pages(prose_page(), prose_page())
    second = b"%d 0 R" % (builders.PDF_PAGE + 2)
    found = read(tmp_path, content.replace(b" " + second + b"]", b" 2 0 R ]".ljust(len(second) + 2)))
    assert [each.unreadable for each in found.pages] == [False, True]
    assert [(note.code, note.page_index) for note in found.notes] == [("damaged", 1)]
    assert texts(found) == ["\n".join(PROSE)]


def test_a_page_tree_that_promises_pages_that_do_not_exist_ends(tmp_path: Path) -> None:
    content = builders.pdf_pages(prose_page(), later=[b"null"] * 100)
    found = read(tmp_path, content.replace(b"/Count 1 ", b"/Count 120 "))
    assert [each.unreadable for each in found.pages] == [False]
    assert texts(found) == ["\n".join(PROSE)]
    assert "damaged" in codes(found)


def test_a_page_tree_that_promises_billions_of_pages_is_read_by_the_second_reader(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_pages(prose_page()).replace(b"/Count 1 ", b"/Count 2000000000 "))
    assert len(found.pages) == 1
    assert codes(found) == ["fallback"]


def test_a_page_tree_that_is_its_own_kid_ends(tmp_path: Path) -> None:
    with pytest.raises(DocumentError):
        read(tmp_path, builders.pdf_file([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 9 /Kids [2 0 R] >>"]))


def test_text_beyond_the_bound_is_left_out_and_said_so(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_pages(prose_page(), prose_page(), prose_page()), text_chars=250)
    assert sum(map(len, texts(found))) == 250
    assert [(note.code, note.page_index) for note in found.notes] == [("bounded", 1)]


def test_pages_beyond_the_bound_are_left_out_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_module, "PAGES", 2)
    found = read(tmp_path, builders.pdf_pages(prose_page(), prose_page(), prose_page()))
    assert len(found.pages) == 2
    assert codes(found) == ["bounded"]


def test_a_stream_is_unpacked_once_and_not_beyond_the_limit() -> None:
    packed = builders.pdf_stream(zlib.compress(b"1 g " * 500), b"/Filter /FlateDecode")
    twice = builders.pdf_stream(zlib.compress(zlib.compress(b"1 g " * 500)), b"/Filter [/FlateDecode /FlateDecode]")
    with pymupdf.open(stream=builders.pdf_pages(b"", later=[packed, twice]), filetype="pdf") as document:
        assert stream(document, builders.PDF_LATER, 2000) == b"1 g " * 500
        assert stream(document, builders.PDF_LATER, 1999) == b""
        assert stream(document, builders.PDF_LATER + 1, 2000) == zlib.compress(b"1 g " * 500)


def test_what_mupdf_cannot_open_is_read_with_pypdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise Damaged("no objects found")

    monkeypatch.setattr(pdf_module, "open_pdf", refuse)
    found = read(tmp_path, builders.pdf_pages(prose_page(), prose_page(), info=b"/Title (Ferry times)"))
    assert codes(found) == ["fallback"]
    assert [each.label for each in found.pages] == ["1", "2"]
    assert [block.page for block in found.blocks] == [0, 1]
    assert PROSE[0] in found.blocks[0].text


def test_metadata_of_both_stores_is_kept_and_one_is_believed(tmp_path: Path) -> None:
    packet = builders.pdf_xmp("<dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Harbour survey</rdf:li></rdf:Alt></dc:title>")
    content = builders.pdf_pages(
        prose_page(),
        catalog=b"/Lang (de-CH) /Metadata 100 0 R",
        info=b"/Title (Microsoft Word - survey.doc) /Author (Port Office) /CreationDate (D:20240102030405+01'00')",
        later=[builders.pdf_stream(packet, b"/Type /Metadata /Subtype /XML")],
    )
    found = read(tmp_path, content).metadata
    assert (found.title, found.author, found.created, found.language) == (
        "Harbour survey",
        "Port Office",
        "2024-01-02T03:04:05+01:00",
        "de-CH",
    )
    titles = {(fact.source, fact.value, fact.believed) for fact in found.facts if fact.key == "title"}
    assert titles == {("info", "Microsoft Word - survey.doc", False), ("xmp", "Harbour survey", True)}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"<FEFF00DC006200650072>", "Über"),
        (b"<FFFEDC00620065007200>", "Über"),
        (b"<EFBBBFC39C626572>", "Über"),
        (b"<C39C626572>", "Über"),  # UTF-8 without a mark
        (b"(Tide \\205 ebb)", "Tide \N{EN DASH} ebb"),  # PDFDocEncoding
        (b"<FEFF001B00640065001B00DC006200650072>", "Über"),  # with a language mark
    ],
)
def test_titles_are_read_in_every_encoding(tmp_path: Path, raw: bytes, text: str) -> None:
    assert read(tmp_path, builders.pdf_pages(prose_page(), info=b"/Title " + raw)).metadata.title == text


@pytest.mark.parametrize(
    "title",
    ["", " ", "Untitled", "untitled-1", "Microsoft Word - Annual.docx", "minutes_2024.pdf", "report.indd", "Document1",
     "C:\\temp\\a.doc", "PowerPoint Presentation", "(anonymous)", "...", "Scan 12", "file:///tmp/x", "Na\ufffdme"],
)  # fmt: skip
def test_what_programs_write_by_themselves_is_no_title(title: str) -> None:
    assert credible_title(title) is None


@pytest.mark.parametrize(
    "title", ["Printing in Mainz", "Untold stories", "POL-358", "Documents of the council", "3.5 Sampling"]
)
def test_what_people_write_is_a_title(title: str) -> None:
    assert credible_title(title) == title


def test_the_largest_heading_of_the_first_page_serves_where_no_store_has_a_title(tmp_path: Path) -> None:
    found = read(
        tmp_path, builders.pdf_pages(page(builders.pdf_text(72, 60, "Tides of the bay", size=20, font="F2"), prose_page(100)))
    )
    assert found.metadata.title == "Tides of the bay"
    assert Fact("text", "title", "Tides of the bay", True) in found.metadata.facts


def test_two_equally_large_headings_leave_the_title_open(tmp_path: Path) -> None:
    heads = [builders.pdf_text(72, y, text, size=20) for y, text in ((60, "Tides of the bay"), (300, "Winds of the bay"))]
    assert read(tmp_path, builders.pdf_pages(page(heads, prose_page(100)))).metadata.title is None


def test_an_info_that_was_changed_after_the_xmp_is_believed() -> None:
    facts = [
        Fact("info", "title", "New name"),
        Fact("info", "modified", "D:20240501120000Z"),
        Fact("xmp", "title", "Old name"),
        Fact("xmp", "modified", "2019-01-01T00:00:00Z"),
    ]
    assert judged(facts).title == "New name"
    assert judged(facts[:1] + facts[2:3]).title == "Old name"


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("D:20260112093000+01'00'", "2026-01-12T09:30:00+01:00"),
        ("D:20260112093000+01'00", "2026-01-12T09:30:00+01:00"),
        ("D:20260112093000-0530", "2026-01-12T09:30:00-05:30"),
        ("D:20260112093000Z00'00'", "2026-01-12T09:30:00+00:00"),
        ("D:20260112093000", "2026-01-12T09:30:00"),
        ("20260112", "2026-01-12"),
        ("D:202601", "2026-01"),
        ("D:2026", "2026"),
        ("D:20261301", "2026"),
        ("D:20260231120000Z", "2026-02"),
        ("D:20260112093000+99'00'", "2026-01-12T09:30:00"),
        ("D:191001004080857", "2000-10-04T08:08:57"),  # 19 and the years since 1900
        ("2017124", "2017"),
        ("2019-05-06T07:08:09.123+02:00", "2019-05-06T07:08:09+02:00"),
        ("2019-05-06", "2019-05-06"),
        ("8/2/2007 13:49:06", "2007"),
        ("31.12.2019", "2019-12-31"),
        ("Tue Aug  2 13:49:06 2007", "2007-08-02T13:49:06"),
        ("Tue, 02 Aug 2007 13:49:06 +0100", "2007-08-02T13:49:06+01:00"),
        ("D:00000000", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_read_as_far_as_they_are_certain(text: str, date: str | None) -> None:
    assert iso_date(text) == date


def test_a_date_that_is_not_understood_is_kept_but_not_believed(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_pages(prose_page(), info=b"/CreationDate (some day)")).metadata
    assert found.created is None
    assert Fact("info", "created", "some day", believed=False) in found.facts


def test_entities_of_an_xmp_packet_are_not_resolved() -> None:
    packet = builders.pdf_xmp(
        "<dc:title>&secret;</dc:title>", head='<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/hostname">]>'
    )
    assert xmp_facts(packet) == [("title", "&secret;")]


def test_creators_of_an_xmp_packet_are_joined() -> None:
    packet = builders.pdf_xmp("<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li>Ben</rdf:li></rdf:Seq></dc:creator>")
    assert xmp_facts(packet) == [("author", "Ann; Ben")]


def test_a_broken_xmp_packet_has_no_facts_that_were_not_in_it() -> None:
    assert xmp_facts(b"\x00\xff<<<") == []


def test_a_very_long_value_is_cut() -> None:
    assert len(tidy("a" * 100_000)) == 4000


def test_bookmarks_have_level_title_page_and_label(tmp_path: Path) -> None:
    first, second = builders.PDF_PAGE, builders.PDF_PAGE + 2
    later = [
        b"<< /First 101 0 R /Last 103 0 R /Count 3 >>",
        b"<< /Title (Part one) /Dest [%d 0 R /Fit] /Next 103 0 R /First 102 0 R >>" % first,
        b"<< /Title (Within) /A << /S /GoTo /D (there) >> /Next 104 0 R >>",
        b"<< /Title (Web) /A << /S /URI /URI (https://example.org) >> >>",
        b"<< /Title (Lost) /Dest (nowhere) >>",
        b"<< /Names [(there) [%d 0 R /XYZ 0 0 0]] >>" % second,
    ]
    catalog = (
        b"/Outlines 100 0 R /Names << /Dests 105 0 R >> /PageLabels << /Nums [0 << /S /r >> 1 << /S /D /P (A-) /St 7 >>] >>"
    )
    found = read(tmp_path, builders.pdf_pages(prose_page(), prose_page(), catalog=catalog, later=later))
    assert [(each.level, each.title, each.page_index, each.page_label) for each in found.outline] == [
        (1, "Part one", 0, "i"),
        (2, "Within", 1, "A-7"),
        (2, "Lost", None, None),
        (1, "Web", None, None),
    ]
    assert [each.label for each in found.pages] == ["i", "A-7"]


def test_bookmarks_that_lead_in_a_circle_end_with_a_note(tmp_path: Path) -> None:
    later = [
        b"<< /First 101 0 R >>",
        b"<< /Title (One) /Dest [0 /Fit] /Next 102 0 R >>",
        b"<< /Title (Two) /Dest [0 /Fit] /Next 101 0 R >>",
    ]
    found = read(tmp_path, builders.pdf_pages(prose_page(), catalog=b"/Outlines 100 0 R", later=later))
    assert [each.title for each in found.outline] == ["One", "Two"]
    assert codes(found) == ["damaged_outline"]


def test_bookmarks_nested_without_end_are_cut_with_a_note(tmp_path: Path) -> None:
    nested = [b"<< /Title (Deeper) /First %d 0 R >>" % (102 + number) for number in range(3000)]
    found = read(
        tmp_path, builders.pdf_pages(prose_page(), catalog=b"/Outlines 100 0 R", later=[b"<< /First 101 0 R >>", *nested])
    )
    assert codes(found) == ["damaged_outline"]
    assert 0 < len(found.outline) < 100


def test_headings_are_the_outline_where_there_are_no_bookmarks(tmp_path: Path) -> None:
    content = page(
        builders.pdf_text(72, 60, "Harbour", size=20, font="F2"),
        builders.pdf_text(72, 100, "Ferries", size=14, font="F2"),
        prose_page(130),
    )
    found = read(tmp_path, builders.pdf_pages(content, page_with("Timber")))
    assert [(each.level, each.title, each.page_index) for each in found.outline] == [
        (1, "Harbour", 0),
        (2, "Ferries", 0),
        (2, "Timber", 1),
    ]


def page_with(heading: str) -> bytes:
    return page(builders.pdf_text(72, 60, heading, size=14, font="F2"), prose_page(100))


def test_a_heading_in_the_same_place_of_many_pages_is_not_in_the_outline(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_pages(*[page_with(f"Annual report {year}") for year in range(4)]))
    assert found.outline == ()


@pytest.mark.parametrize(
    ("style", "number", "text"), [("r", 4, "iv"), ("R", 1999, "MCMXCIX"), ("a", 27, "aa"), ("A", 3, "C"), ("", 5, "")]
)
def test_page_numbers_are_written_in_their_style(style: str, number: int, text: str) -> None:
    assert numeral(style, number) == text


def test_labels_of_broken_ranges_fall_back_to_the_page_number() -> None:
    assert labels([(-3, "x", "", 1), (1, "r", "", -5)], 2) == ["1", "2"]
    assert len(labels([(0, "r", "", 2_000_000_000)], 1)[0]) < 20


def test_a_letter_spaced_heading_is_closed_up_at_its_gaps(tmp_path: Path) -> None:
    content = page(builders.pdf_text(72, 60, "RISK REGISTER", size=16, font="F2", spread=6), prose_page(100))
    assert texts(read(tmp_path, builders.pdf_pages(content)), "heading") == ["RISK REGISTER"]


def test_single_letters_with_blanks_of_their_own_stay_apart(tmp_path: Path) -> None:
    content = page(builders.pdf_text(72, 60, "A B C D E"), prose_page(100))
    assert texts(read(tmp_path, builders.pdf_pages(content)))[0] == "A B C D E"


def test_white_text_on_white_is_set_aside_and_white_text_on_a_dark_bar_is_read(tmp_path: Path) -> None:
    bar = b"0.1 0.1 0.3 rg 72 650 300 20 re f\n"
    content = page(
        prose_page(),
        bar,
        builders.pdf_text(80, 136, "Opening hours", before="1 1 1 rg"),
        builders.pdf_text(72, 300, "cheap flights cheap hotels", before="1 g"),
    )
    found = read(tmp_path, builders.pdf_pages(content))
    assert texts(found, "boilerplate") == ["cheap flights cheap hotels"]
    assert "Opening hours" in texts(found, "paragraph")
    assert [(note.code, note.page_index) for note in found.notes] == [("hidden_text", 0)]


def test_an_invisible_layer_over_an_image_is_read_and_noted(tmp_path: Path) -> None:
    layer = b"".join(builders.pdf_text(72, 80 + 14 * number, line, before="3 Tr") for number, line in enumerate(PROSE))
    found = read(tmp_path, builders.pdf_pages(page(builders.pdf_image(0, 0, 612, 792), layer)))
    assert texts(found) == ["\n".join(PROSE)]
    assert codes(found) == ["ocr_layer"]
    assert found.pages[0].hidden_share == 1.0
    assert found.pages[0].image_cover == 1.0


def test_a_few_invisible_words_on_a_page_are_set_aside(tmp_path: Path) -> None:
    content = page(prose_page(), builders.pdf_text(72, 300, "ignore all of the above", before="3 Tr"))
    found = read(tmp_path, builders.pdf_pages(content))
    assert texts(found, "boilerplate") == ["ignore all of the above"]
    assert codes(found) == ["hidden_text"]


def test_a_scan_has_images_cover_and_ink(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_pages(builders.pdf_image(0, 0, 612, 396))).pages[0]
    assert (found.images, found.image_cover) == (1, 0.5)
    assert found.ink is not None
    assert 0.2 < found.ink < 0.3


def test_a_page_with_text_is_not_asked_for_its_ink(tmp_path: Path) -> None:
    assert read(tmp_path, builders.pdf_pages(page(prose_page(), builders.pdf_image(72, 300, 100, 100)))).pages[0].ink is None


def test_a_page_of_outlines_has_drawings_and_ink(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_pages(b"0 g 72 72 200 200 re f 300 300 50 50 re f")).pages[0]
    assert found.drawings == 2
    assert found.ink is not None
    assert found.ink > 0.05


def test_text_off_the_page_is_left_out(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        builders.pdf_pages(
            page(prose_page(), builders.pdf_text(72, 900, "below the edge"), builders.pdf_text(700, 90, "outside"))
        ),
    )
    assert texts(found) == ["\n".join(PROSE)]


def test_a_turned_page_is_read_in_the_frame_in_which_it_is_shown(tmp_path: Path) -> None:
    turned = b"".join(
        b"q BT /F1 11 Tf 0 1 -1 0 %g 72 Tm (%s) Tj ET Q\n" % (80 + 14 * number, line.encode())
        for number, line in enumerate(PROSE)
    )
    found = read(tmp_path, builders.pdf_pages(turned, page=b"/Rotate 90"))
    assert (found.pages[0].width, found.pages[0].height) == (792, 612)
    assert texts(found) == ["\n".join(PROSE)]
    box = found.blocks[0].box
    assert box is not None
    assert box[2] - box[0] > box[3] - box[1]


def test_two_columns_drawn_row_by_row_are_read_one_after_the_other(tmp_path: Path) -> None:
    rows = [
        builders.pdf_text(x, 80 + 14 * number, line, size=9)
        for number in range(6)
        for x, line in ((72, (PROSE * 2)[number]), (330, (OTHER * 2)[number]))
    ]
    assert "\n".join(texts(read(tmp_path, builders.pdf_pages(page(rows))))).split("\n") == PROSE * 2 + OTHER * 2


def test_text_drawn_twice_to_look_bold_is_read_once(tmp_path: Path) -> None:
    twice = [builders.pdf_text(x, 60, "Storm report", size=16) for x in (72, 72.3)]
    assert texts(read(tmp_path, builders.pdf_pages(page(twice, prose_page(100)))), "heading") == ["Storm report"]


def test_a_bold_word_at_the_start_of_a_line_is_no_heading(tmp_path: Path) -> None:
    content = page(
        prose_page(),
        b"BT /F2 11 Tf 72 600 Td (Note) Tj /F1 11 Tf ( that the pier is closed) Tj ET\n",
        builders.pdf_column(72, 260, PROSE),
    )
    assert texts(read(tmp_path, builders.pdf_pages(content)), "heading") == []


def test_embedded_files_are_counted(tmp_path: Path) -> None:
    catalog = b"/Names << /EmbeddedFiles << /Names [(a.txt) 100 0 R] >> >>"
    later = [b"<< /Type /Filespec /F (a.txt) /EF << /F 101 0 R >> >>", builders.pdf_stream(b"hello", b"/Type /EmbeddedFile")]
    found = read(tmp_path, builders.pdf_pages(prose_page(), catalog=catalog, later=later))
    assert [(note.code, note.measure) for note in found.notes] == [("attachments", 1.0)]


def test_glyphs_without_a_character_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, builders.pdf_unmapped(12))
    assert found.pages[0].unmapped == 12
    assert codes(found) == ["type3_font"]


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = builders.pdf_pages(prose_page(), prose_page())
    read(tmp_path, content[: content.index(b"xref\n0 ")])
    with pytest.raises(Damaged):
        read(tmp_path, b"%PDF-1.4\n1 0 obj << /Type /Catalog")
    assert capfd.readouterr() == ("", "")


# ---- lines from the JSON that MuPDF prints


HARD = [
    'He said "lines":[] and {"bbox":{"x":1,"y":2,"w":3,"h":4}}',
    "ends in a backslash \\",
    '"},{"type":"image","bbox":{"x":1,"y":2,"w":3,"h":4}}',
    "tab\there, null \0 there",
    "Straße 北京 \U0001d54f",
]


@pytest.mark.parametrize("text", HARD)
def test_a_line_that_looks_like_json_is_read_as_it_stands(text: str) -> None:
    """Compares with what a JSON parser reads."""
    lines, images, _ = parsed(_json_of_a_page(text, "Mono}Sans,Bold"))

    assert [line.text for line in lines] == [text, "after"]
    assert images == [(0.0, 0.0, 10.0, 20.0)]
    assert (lines[0].box, lines[0].size) == ((-1.0, 20.0, 299.0, 32.5), 12.0)


def test_short_bold_lines_are_asked_by_the_number_of_their_block() -> None:
    lines, _, doubtful = parsed(_json_of_a_page("Title", "Helvetica-Bold"))

    assert lines[0].bold and doubtful == {1: {1: 0, 2: 1}}  # an image before, and an empty line at the start of the block


def _json_of_a_page(text: str, font: str) -> str:
    face = {"name": font, "family": "sans-serif", "weight": "normal", "style": "normal", "size": 120}
    box = {"x": -10, "y": 200, "w": 3000, "h": 125, "flags": 0}
    lines = [{"wmode": 0, "bbox": box, "font": face, "x": -10, "y": 300, "text": each} for each in (" ", text, "after")]
    image = {"type": "image", "bbox": {"x": 0, "y": 0, "w": 100, "h": 200}}
    block = {"type": "text", "bbox": {"x": -10, "y": 200, "w": 3000, "h": 125}, "lines": lines}
    return json.dumps({"blocks": [image, block]}, separators=(",", ":"), ensure_ascii=False)
