"""What is read of a Word file."""

from collections.abc import Callable
from pathlib import Path

import pytest

import builders
from builders import docx_file, docx_paragraph, docx_style, docx_table
from winnowd.errors import Damaged, DocumentError, Encrypted, TooLarge
from winnowd.extract import Reading, extract
from winnowd.formats import BY_NAME
from winnowd.model import Extraction

Read = Callable[..., Extraction]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(data: bytes, text_chars: int = 1_000_000) -> Extraction:
        path = tmp_path / "file"
        path.write_bytes(data)
        return extract(Reading(str(path), BY_NAME["docx"], len(data), text_chars=text_chars))

    return read


def said(found: Extraction, *kinds: str) -> list[str]:
    return [block.text for block in found.blocks if not kinds or block.kind in kinds]


def noted(found: Extraction) -> dict[str, float | None]:
    return {note.code: note.measure for note in found.notes}


def outline(found: Extraction) -> list[tuple[int, str]]:
    return [(entry.level, entry.title) for entry in found.outline]


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def test_paragraphs_and_tables_come_in_the_order_of_the_body(read: Read) -> None:
    found = read(
        docx_file(docx_paragraph("Before") + docx_table(["Site", "Depth"], ["Quay", "7 | 8"]) + docx_paragraph("After"))
    )
    assert said(found) == ["Before", "| Site | Depth |\n| --- | --- |\n| Quay | 7 \\| 8 |", "After"]
    assert [block.kind for block in found.blocks] == ["paragraph", "table", "paragraph"]


def test_words_split_over_runs_stay_whole(read: Read) -> None:
    body = (
        f"<w:p>{run('hydro')}<w:proofErr w:type='spellStart'/><w:bookmarkStart w:id='0'/>{run('graphic')}{run(' survey')}</w:p>"
    )
    assert said(read(docx_file(body))) == ["hydrographic survey"]


def test_breaks_tabs_and_hyphens_become_characters(read: Read) -> None:
    inside = "<w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/><w:t>e</w:t>"
    body = f"<w:p><w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr><w:r>{inside}</w:r></w:p>"
    assert said(read(docx_file(body))) == ["a\tb\nc-d\u00ade"]


def test_links_smart_tags_and_content_controls_are_read(read: Read) -> None:
    link = f"<w:hyperlink r:id='x'>{run('tables')}</w:hyperlink>"
    control = f"<w:sdt><w:sdtPr><w:alias w:val='no text'/></w:sdtPr><w:sdtContent>{run('480')}</w:sdtContent></w:sdt>"
    block = f"<w:sdt><w:sdtPr/><w:sdtContent>{docx_paragraph('Tenant')}</w:sdtContent></w:sdt>"
    body = f"{block}<w:p>{run('See the ')}{link}{run(' for ')}<w:smartTag>{control}</w:smartTag></w:p>"
    assert said(read(docx_file(body))) == ["Tenant", "See the tables for 480"]


def test_of_a_field_only_the_result_is_read(read: Read) -> None:
    def mark(kind: str) -> str:
        return f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>"

    inner = f"{mark('begin')}<w:r><w:instrText>PAGE</w:instrText></w:r>{mark('separate')}{run('secret')}{mark('end')}"
    outer = f"{mark('begin')}<w:r><w:instrText>IF</w:instrText></w:r>{inner}{mark('separate')}{run('shown')}{mark('end')}"
    simple = f"<w:fldSimple w:instr='DATE'>{run(' today')}</w:fldSimple>"
    assert said(read(docx_file(f"<w:p>{outer}{simple}</w:p>"))) == ["shown today"]


def test_a_field_that_is_never_closed_hides_nothing_after_its_paragraph(read: Read) -> None:
    body = f"<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r>{run('lost')}</w:p>{docx_paragraph('kept')}"
    assert said(read(docx_file(body))) == ["kept"]


def test_tracked_changes_are_read_as_accepted_and_noted(read: Read) -> None:
    changes = f"<w:ins w:id='1'>{run('crimson ')}</w:ins><w:del w:id='2'><w:r><w:delText>brown </w:delText></w:r></w:del>"
    moved = f"<w:moveFrom w:id='3'>{run('gone')}</w:moveFrom><w:moveTo w:id='4'>{run('here')}</w:moveTo>"
    found = read(docx_file(f"<w:p>{run('The ')}{changes}{run('fox ')}{moved}</w:p>"))
    assert said(found) == ["The crimson fox here"]
    assert noted(found) == {"tracked_changes": 4}


def test_a_deleted_paragraph_end_joins_the_next_paragraph(read: Read) -> None:
    deleted = "<w:rPr><w:del w:id='1'/></w:rPr>"
    body = docx_paragraph("Two theories ", properties=deleted) + docx_paragraph("argue.") + docx_paragraph("Next.")
    assert said(read(docx_file(body))) == ["Two theories argue.", "Next."]


def test_a_deleted_row_is_left_out(read: Read) -> None:
    table = docx_table(["a", "b"], ["c", "d"], ["e", "f"]).replace("<w:tr>", "<w:tr><w:trPr><w:del w:id='1'/></w:trPr>", 1)
    assert said(read(docx_file(table))) == ["| c | d |\n| --- | --- |\n| e | f |"]


def test_hidden_text_is_left_out_and_counted(read: Read) -> None:
    styles = docx_style("Ghost", "ghost", run="<w:vanish/>")
    shown = run(" too", '<w:vanish w:val="0"/>')
    body = f"<w:p>{run('seen')}{run('unseen', '<w:vanish/>')}{shown}</w:p>"
    found = read(docx_file(body + docx_paragraph("spook", style="Ghost"), parts={"styles": styles}))
    assert (said(found), noted(found)) == (["seen too"], {"hidden_text": 11})


def test_a_text_box_is_read_once_after_its_paragraph(read: Read) -> None:
    box = f"<w:txbxContent>{docx_paragraph('In the box')}</w:txbxContent>"
    choice = f"<mc:Choice Requires='wps'><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
    fallback = f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
    anchor = f"<w:p>{run('An')}<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>{run('chor')}</w:p>"
    assert said(read(docx_file(anchor))) == ["Anchor", "In the box"]


def test_notes_follow_the_paragraph_that_names_them(read: Read) -> None:
    reference = "<w:r><w:footnoteReference w:id='2'/></w:r>"
    note = f"<w:footnote w:id='2'>{docx_paragraph('The Albatros.')}</w:footnote>"
    line = f"<w:footnote w:id='0' w:type='separator'>{docx_paragraph('-----')}</w:footnote>"
    end = f"<w:endnote w:id='2'>{docx_paragraph('An almanac.')}</w:endnote>"
    body = f"<w:p>{run('mea')}{reference}{run('sured')}<w:r><w:endnoteReference w:id='2'/></w:r></w:p>{docx_paragraph('Next')}"
    found = read(docx_file(body, parts={"footnotes": line + note, "endnotes": end}))
    assert said(found) == ["measured", "The Albatros.", "An almanac.", "Next"]
    assert said(found, "footnote") == ["The Albatros.", "An almanac."]


def test_a_note_in_a_table_stands_after_the_table(read: Read) -> None:
    cell = f"<w:tc><w:p>{run('x')}<w:r><w:footnoteReference w:id='2'/></w:r></w:p></w:tc>"
    note = f"<w:footnote w:id='2'>{docx_paragraph('A note')}</w:footnote>"
    assert said(read(docx_file(docx_table([cell, "y"]), parts={"footnotes": note}))) == ["| x | y |\n| --- | --- |", "A note"]


def test_a_page_that_the_file_carries_whole_is_read(read: Read) -> None:
    data = docx_file(docx_paragraph("Before") + "<w:altChunk r:id='page'/>")
    relation = "<Relationship Id='page' Type='http://x/aFChunk' Target='page.html'/>"
    data = builders.zip_replaced(data, "word/_rels/document.xml.rels", lambda xml: xml.replace("</", relation + "</"))
    data = builders.zip_replaced(data, "word/page.html", lambda page: "<html><body><p>From the page</p></body></html>")
    assert said(read(data)) == ["Before", "From the page"]


def test_comments_are_counted_and_not_read(read: Read) -> None:
    found = read(
        docx_file(docx_paragraph("Text"), parts={"comments": f"<w:comment w:id='1'>{docx_paragraph('Hm')}</w:comment>"})
    )
    assert (said(found), noted(found)) == (["Text"], {"comments": 1})


def test_headers_and_footers_are_furniture_and_come_once(read: Read) -> None:
    header, footer = "<w:headerReference r:id='header1'/>", "<w:footerReference r:id='footer1'/>"
    section = f"<w:sectPr>{header}{footer}</w:sectPr>"
    parts = {"header1": docx_paragraph("Harbour office"), "footer1": docx_paragraph("Page")}
    body = docx_paragraph("One", properties=section) + docx_paragraph("Two") + section
    found = read(docx_file(body, parts=parts))
    assert said(found, "running_header") == ["Harbour office"]
    assert said(found, "running_footer") == ["Page"]
    assert said(found, "paragraph") == ["One", "Two"]


def test_headings_are_found_through_the_chain_of_styles(read: Read) -> None:
    styles = (
        docx_style("berschrift1", "heading 1")
        + docx_style("Mine", "My own", based_on="berschrift1")
        + docx_style("Teil", "\u00dcberschrift 2", level=1)
        + docx_style("Body", "Body", based_on="Teil", level=9)
    )
    body = "".join(docx_paragraph(name, style=name) for name in ("berschrift1", "Mine", "Teil", "Body"))
    found = read(docx_file(body + docx_paragraph("Direct", properties="<w:outlineLvl w:val='3'/>"), parts={"styles": styles}))
    assert outline(found) == [(1, "berschrift1"), (1, "Mine"), (2, "Teil"), (4, "Direct")]
    assert said(found, "paragraph") == ["Body"]


def test_styles_based_on_each_other_end_somewhere(read: Read) -> None:
    styles = docx_style("A", "A", based_on="B") + docx_style("B", "B", based_on="A")
    assert said(read(docx_file(docx_paragraph("x", style="A"), parts={"styles": styles})), "paragraph") == ["x"]


def test_without_styles_a_style_id_names_the_heading(read: Read) -> None:
    assert outline(read(docx_file(docx_paragraph("Scope", style="Heading2")))) == [(2, "Scope")]


def test_what_only_looks_like_a_heading_is_none(read: Read) -> None:
    styles = docx_style("H", "heading 1") + docx_style("TOC1", "toc 1", based_on="H")
    cell = docx_paragraph("In a table", style="H")
    body = docx_table([cell, "b"]) + docx_paragraph("Scope 1", style="TOC1") + docx_paragraph("  ", style="H")
    assert outline(read(docx_file(body + docx_paragraph("long " * 200, style="H"), parts={"styles": styles}))) == []


NUMBERING = (
    "<w:abstractNum w:abstractNumId='0'>"
    "<w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>"
    "<w:lvl w:ilvl='1'><w:start w:val='1'/><w:numFmt w:val='lowerLetter'/><w:lvlText w:val='%1.%2)'/></w:lvl>"
    "</w:abstractNum><w:abstractNum w:abstractNumId='1'>"
    "<w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/><w:lvlText w:val='\u2022'/></w:lvl></w:abstractNum>"
    "<w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num><w:num w:numId='2'><w:abstractNumId w:val='1'/></w:num>"
    "<w:num w:numId='3'><w:abstractNumId w:val='0'/>"
    "<w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/></w:lvlOverride></w:num>"
)


def item(text: str, number: int, level: int = 0) -> str:
    return docx_paragraph(text, properties=f"<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{number}'/></w:numPr>")


def test_list_items_show_their_numbers(read: Read) -> None:
    body = item("valve", 1) + item("open", 1, 1) + item("close", 1, 1) + item("drain", 1) + item("again", 1, 1) + item("dot", 2)
    found = read(docx_file(body + item("five", 3) + item("six", 3) + item("plain", 0), parts={"numbering": NUMBERING}))
    assert said(found, "list_item") == [
        "1. valve",
        "1.a) open",
        "1.b) close",
        "2. drain",
        "2.a) again",
        "- dot",
        "5. five",
        "6. six",
    ]
    assert said(found, "paragraph") == ["plain"]


def test_merged_cells_are_read_once(read: Read) -> None:
    wide = f"<w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{docx_paragraph('Rates')}</w:tc>"
    top = f"<w:tc><w:tcPr><w:vMerge w:val='restart'/></w:tcPr>{docx_paragraph('Small')}</w:tc>"
    below = f"<w:tc><w:tcPr><w:vMerge/></w:tcPr>{docx_paragraph('Small')}</w:tc>"
    table = docx_table([wide], [top, "1"], [below, "2"]).replace(
        "<w:tc><w:p><w:pPr></w:pPr><w:r><w:t xml:space='preserve'>&lt;", ""
    )
    assert said(read(docx_file(table))) == ["| Rates |  |\n| --- | --- |\n| Small | 1 |\n|  | 2 |"]


def test_a_nested_table_is_flattened_into_its_cell(read: Read) -> None:
    cell = f"<w:tc>{docx_table(['in', 'side'])}<w:p/></w:tc>"
    assert said(read(docx_file(docx_table(["a", cell])))) == ["| a | in side |\n| --- | --- |"]


def test_a_frame_of_one_cell_is_no_table(read: Read) -> None:
    cell = f"<w:tc>{docx_paragraph('First')}{docx_paragraph('Second')}</w:tc>"
    assert said(read(docx_file(docx_table([cell]))), "paragraph") == ["First", "Second"]


def test_core_properties_are_facts_and_generic_titles_lose(read: Read) -> None:
    core = (
        "<dc:title>Microsoft Word - plan.doc</dc:title><dc:creator>A. Author</dc:creator>"
        "<dcterms:created>2026-01-12T08:30:00Z</dcterms:created><dcterms:modified>yesterday</dcterms:modified>"
    )
    styles = docx_style("T", "Title")
    found = read(docx_file(docx_paragraph("The plan", style="T"), core=core, parts={"styles": styles})).metadata
    assert (found.title, found.author, found.created, found.modified) == ("The plan", "A. Author", "2026-01-12T08:30:00Z", None)
    assert [(fact.source, fact.value) for fact in found.facts if fact.key == "title" and not fact.believed] == [
        ("core", "Microsoft Word - plan.doc")
    ]


def test_a_strict_file_reads_like_any_other(read: Read) -> None:
    styles = docx_style("H", "heading 1")
    data = docx_file(docx_paragraph("Scope", style="H") + docx_table(["a", "b"]), parts={"styles": styles}, strict=True)
    assert outline(read(data)) == [(1, "Scope")]
    assert said(read(data), "table") == ["| a | b |\n| --- | --- |"]


def test_a_relation_that_leads_nowhere_does_no_harm(read: Read) -> None:
    data = docx_file(docx_paragraph("Text"), parts={"header1": ""})
    assert said(read(data.replace(b"word/header1.xml", b"word/headerX.xml"))) == ["Text"]


def test_text_beyond_the_limit_is_left_out_and_noted(read: Read) -> None:
    found = read(docx_file(docx_paragraph("word " * 20) * 10), text_chars=450)
    assert (len(found.blocks), noted(found)) == (4, {"bounded": None})


def test_entities_of_the_file_system_are_not_read(read: Read, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    body = f"<w:p>{run('a&leak;b')}</w:p>"
    xml = f"<!DOCTYPE d [<!ENTITY leak SYSTEM 'file://{tmp_path}/secret'>]>"
    data = docx_file(body)
    with_entity = builders.zip_replaced(data, "word/document.xml", lambda whole: xml + whole)
    assert "secret" not in "".join(said(read(with_entity)))


@pytest.mark.parametrize(
    ("data", "trouble"),
    [
        (builders.zip_ole(["EncryptedPackage"]), Encrypted),
        (docx_file(docx_paragraph("x"))[:300], Damaged),
        (builders.zip_file({"word/other.xml": "<x/>"}), Damaged),
        (bytes(1000), Damaged),
        (docx_file("<w:r>" * 50_000), Damaged),
        (builders.zip_swollen(docx_file(docx_paragraph("x")), "word/document.xml", 150_000_000), TooLarge),
    ],
    ids=["protected", "cut off", "no document", "nuls", "depth bomb", "zip bomb"],
)
def test_what_is_no_document_fails_with_its_reason(read: Read, data: bytes, trouble: type[DocumentError]) -> None:
    with pytest.raises(trouble):
        read(data)
