from dataclasses import replace

from winnowd.checks import check_pages
from winnowd.config import CheckSettings
from winnowd.model import Block, Extraction, Format, Metadata, Page
from winnowd.pipeline import judged, recipe, refine

SETTINGS = CheckSettings()
PROSE = "The harbour board meets on the first Monday of the month and publishes its minutes within five days. " * 4


def pages(count: int) -> tuple[Page, ...]:
    return tuple(Page(index, str(index + 1), 612, 792) for index in range(count))


def test_a_document_holds_what_will_be_stored() -> None:
    blocks = (Block("heading", "Har\ufb03", 0, 1), Block("paragraph", PROSE, 0), Block("boilerplate", "menu", 0))
    extraction = Extraction("html", Metadata(title="T\0"), pages(1), (), blocks)
    document = refine(extraction, "d" * 64, "html@1", SETTINGS)
    assert (document.digest, document.format, document.recipe) == ("d" * 64, "html", "html@1")
    assert document.metadata.title == "T"
    assert document.passages[0].text.startswith("Harffi\nThe harbour")
    assert [block.text for block in document.furniture] == ["menu"]
    assert document.chars == sum(len(passage.text) for passage in document.passages)
    assert document.verdict == "accepted"
    assert document.pages[0].measures is not None


def test_good_pages_are_accepted_and_bad_ones_wait() -> None:
    sheets = list(pages(3))
    sheets[1] = replace(sheets[1], image_cover=1.0)
    blocks = (Block("paragraph", PROSE, 0), Block("paragraph", PROSE, 2))
    document = refine(Extraction("pdf", pages=tuple(sheets), blocks=blocks, paged=True), "d", "r", SETTINGS)
    assert [page.verdict for page in document.pages] == ["accepted", "review", "accepted"]
    assert document.verdict == "review"
    assert [(f.code, f.page_index) for f in document.findings if f.severity == "review"] == [("scanned", 1)]


def test_no_text_of_a_waiting_page_slips_into_a_good_one() -> None:
    garbled = "goes on here " + "\ufffd" * 400
    good, bad = Block("paragraph", PROSE + "and the sentence", 0), Block("paragraph", garbled, 1)
    document = refine(Extraction("pdf", pages=pages(2), blocks=(good, bad), paged=True), "d", "r", SETTINGS)
    assert [page.verdict for page in document.pages] == ["accepted", "review"]
    assert not any("goes on here" in passage.text for passage in document.passages if passage.page_index == 0)


def test_a_sentence_over_good_pages_is_whole() -> None:
    blocks = (Block("paragraph", PROSE + "and the sentence", 0), Block("paragraph", "goes on here. " + PROSE, 1))
    document = refine(Extraction("pdf", pages=pages(2), blocks=blocks, paged=True), "d", "r", SETTINGS)
    assert any("and the sentence goes on here." in passage.text for passage in document.passages if passage.page_index == 0)


def test_what_is_said_of_a_document_without_pages_is_said_of_its_only_page() -> None:
    document = refine(Extraction("text", blocks=(Block("paragraph", "\ufffd" * 90, 0),)), "d", "r", SETTINGS)
    assert [page.verdict for page in document.pages] == ["review"]


def test_refining_twice_gives_the_same() -> None:
    extraction = Extraction("text", blocks=(Block("paragraph", PROSE * 9, 0),), pages=pages(1))
    assert refine(extraction, "d", "r", SETTINGS) == refine(extraction, "d", "r", SETTINGS)


def test_pages_can_be_judged_again_from_what_is_stored() -> None:
    extraction = Extraction("pdf", pages=pages(1), blocks=(Block("paragraph", "12 34 56 78 90 " * 20, 0),), paged=True)
    stored = refine(extraction, "d", "r", SETTINGS)
    stricter = replace(SETTINGS, scanned_chars=5000, image_cover=0.0)
    again = check_pages(Extraction("pdf", pages=stored.pages, paged=True), stricter)
    assert [page.verdict for page in judged(stored.pages, again, paged=True)] == ["review"]


def test_a_recipe_changes_with_the_libraries_and_with_the_thresholds() -> None:
    pdf = Format("pdf", "PDF", version=3)
    usual = recipe(pdf, ("mupdf-2.0",), SETTINGS)
    assert usual.startswith("pdf@3+mupdf-2.0 clean@")
    assert recipe(pdf, ("mupdf-2.1",), SETTINGS) != usual
    assert recipe(pdf, ("mupdf-2.0",), replace(SETTINGS, cid_share=0.5)) != usual
    assert recipe(pdf, ("mupdf-2.0",), CheckSettings()) == usual


def test_a_text_that_was_cut_at_the_limit_is_for_review_but_what_was_read_is_searchable():
    from winnowd.config import CheckSettings
    from winnowd.model import Block, Extraction, Note
    from winnowd.pipeline import refine

    blocks = (Block("paragraph", "A long text about the harbour and its boats. " * 20, page=0),)
    document = refine(
        Extraction("text", blocks=blocks, notes=(Note("bounded", "The rest was left out"),)), "0" * 64, "r", CheckSettings()
    )
    assert document.verdict == "review"
    assert [page.verdict for page in document.pages] == ["accepted"]
