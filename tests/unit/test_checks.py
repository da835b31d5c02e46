from dataclasses import replace

import pytest

from winnowd.checks import CHECKS, RESERVED, check_document, check_pages, verdict
from winnowd.checks import pages as page_checks
from winnowd.checks.judging import Check
from winnowd.checks.letter_pairs import LEAST, LETTERS, likelihood
from winnowd.checks.likeness import near_identical
from winnowd.checks.measures import measure
from winnowd.config import CheckSettings
from winnowd.model import Block, Draft, Extraction, Finding, Measures, Note, Page, Passage

SETTINGS = CheckSettings()
PROSE = (
    "The harbour board meets on the first Monday of the month and publishes its minutes within five days. "
    "Dredging of the northern channel will begin after the winter storms and should take about nine weeks. "
    "Boats with a draught of more than three metres must wait for the tide until the work is complete. "
)
GERMAN = (
    "Die Grundstücksverkehrsgenehmigungszuständigkeitsübertragungsverordnung wurde aufgehoben. Der Verein betreut vierzig "
    "Bienenvölker am Hang über dem Fluss und prüft jedes Volk alle zwei Wochen. Die Donaudampfschifffahrtsgesellschaft fährt. "
)
FINNISH = (
    "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, "
    "ja heidän on toimittava toisiaan kohtaan veljeyden hengessä. Jokaisella on oikeus elämään ja vapauteen. "
)
ARABIC = "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق وقد وهبوا عقلاً وضميراً وعليهم أن يعامل بعضهم بعضاً بروح الإخاء. "
HEBREW = "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו. "
CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью. "
VIETNAMESE = (
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được tạo hoá ban cho. "
)
CODE = "def depth(x):\n    return 'shallow' if x < 3 else max_depth(x, LIMIT)\n\nfor i in range(10): print(depth(i), i << 2)\n"
NUMBERS = "BR-001 118.50 64.20 1,204 8.95 -3.4 % 77.1 12/03 B2B KPI EBITDA Q1 Q2 USD EUR 14 15 16 17\n"
FORM = "Name: ________ Date: ____ [ ] yes [ ] no  Ref. No. ______ A B C D E F G\n"
SHIFTED = str.maketrans(LETTERS + LETTERS.upper(), LETTERS[1:] + "a" + LETTERS[1:].upper() + "A")


def measured(text: str, cleaned: str | None = None, **facts: float) -> Measures:
    page = replace(Page(0), **facts)  # type: ignore[arg-type]
    raw = Extraction("pdf", pages=(page,), blocks=(Block("paragraph", text, 0),), paged=True)
    after = replace(raw, blocks=(Block("paragraph", text if cleaned is None else cleaned, 0),))
    measures = measure(raw, after)[0].measures
    assert measures is not None
    return measures


def codes(text: str, **facts: float) -> set[str]:
    """The codes of the review findings on a page with this text."""
    return {finding.code for finding in findings(text, **facts) if finding.severity == "review"}


def findings(text: str, **facts: float) -> tuple[Finding, ...]:
    page = replace(Page(0, "1"), measures=measured(text, **facts), **facts)  # type: ignore[arg-type]
    return check_pages(Extraction("pdf", pages=(page,), paged=True), SETTINGS)


def document(*texts: str, paged: bool = False, format: str = "text", size: int = 0, notes: tuple[Note, ...] = ()) -> Draft:
    blocks = tuple(Block("paragraph", text, number) for number, text in enumerate(texts))
    pages = tuple(Page(number) for number in range(len(texts)))
    extraction = Extraction(format, pages=pages, blocks=blocks, paged=paged, size=size, notes=notes)
    extraction = replace(extraction, pages=measure(extraction, extraction))
    passages = tuple(Passage(number, None, number, None, text) for number, text in enumerate(texts) if text)
    return Draft(extraction, (), passages)


def said(draft: Draft) -> dict[str, str]:
    return {finding.code: finding.severity for finding in check_document(draft, SETTINGS)}


@pytest.mark.parametrize(
    "text",
    [
        PROSE * 3, GERMAN * 3, FINNISH * 3, ARABIC * 5, HEBREW * 5, CHINESE * 9, RUSSIAN * 5, VIETNAMESE * 4, CODE * 6,
        NUMBERS * 9, FORM * 9, "Memo: lunch at noon.", " ".join(LETTERS), "∑ x² ≥ ∫ f(t) dt → ∞\n" * 20,
        "Such tools print (cid:12) where a letter is missing, and (cid:7) too. " + PROSE,
        "https://example.org/a/very/long/path/that-never-seems-to-end?with=parameters&and=more " * 9,
        "getTheVeryLongNameOfTheMethodFromTheFactory(abstractSingletonProxyFactoryBeanOfTheContainer)\n" * 9,
    ],
)  # fmt: skip
def test_good_text_is_not_sent_to_review(text: str) -> None:
    assert codes(text) == set()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("garbled", (PROSE * 2).translate(SHIFTED)),
        ("garbled", "".join(chr(ord(char) % 29 + 1) for char in PROSE)),
        ("garbled", "".join(chr(0xE000 + ord(char)) if char != " " else " " for char in PROSE)),
        ("garbled", "\ufffd" * 40),
        ("cid_tokens", " ".join(f"(cid:{n})" for n in range(60))),
        ("replacement_chars", (GERMAN * 2).replace("ü", "\ufffd").replace("ä", "\ufffd").replace("ö", "\ufffd")),
        ("mojibake", (VIETNAMESE * 3).encode().decode("latin-1")),
        ("mojibake", (RUSSIAN * 3).encode("cp1251").decode("latin-1")),
        ("letter_spaced", " ".join(PROSE.replace(" ", ""))),
        ("missing_spaces", "\n".join(sentence.replace(" ", "") for sentence in (PROSE + GERMAN).split(". ") * 2)),
    ],
)
def test_bad_text_is_named(code: str, text: str) -> None:
    assert code in codes(text)


def test_prose_in_capitals_or_with_few_words_is_not_garbled() -> None:
    assert codes(PROSE.upper()) == set()
    assert measured("xq zjk qwx").letter_pairs is None


def test_a_few_odd_signs_on_a_good_page_do_not_spoil_it() -> None:
    assert codes(PROSE * 3 + "\uf0b7 \uf0b7 \ufffd \ufffd\ufffda b \x01") == set()


def test_a_long_run_of_one_odd_sign_counts_as_one_mistake() -> None:
    assert measured(PROSE + "\x01" * 500).bad_chars < 0.02


def test_what_cleaning_takes_away_is_measured_all_the_same() -> None:
    assert measured("\x01\x02\x03 \x04\x05", cleaned="").bad_chars == 1


def test_a_page_that_is_an_image_is_scanned_and_a_blank_one_is_not() -> None:
    assert codes("", image_cover=1.0) == {"scanned"}
    assert codes("12", image_cover=0.9, ink=0.2) == {"scanned"}
    assert codes("", image_cover=1.0, ink=0.0) == set()
    assert codes("") == set()
    assert codes(PROSE, image_cover=1.0) == set()


def test_a_map_below_a_running_header_is_no_scan() -> None:
    page = Page(0, image_cover=0.6, measures=Measures(furniture_chars=60))
    assert check_pages(Extraction("pdf", pages=(page,), paged=True), SETTINGS) == ()


def test_text_drawn_as_outlines_is_missing_text_and_an_ornament_is_not() -> None:
    assert codes("", drawings=400, ink=0.06) == {"no_text"}
    assert codes("", drawings=3, ink=0.06) == set()


def test_poor_ocr_is_told_from_good_ocr_only_behind_a_scan() -> None:
    poor = "Tbe h4rb0ur bo#rd rn€ets 0n tlie f1rst M0nday 0f thc m0nth, p~blish3s 1ts rninut^s w1thin f!ve days. " * 4
    assert "low_ocr_confidence" in codes(poor, hidden_share=1.0, image_cover=1.0)
    assert "low_ocr_confidence" not in codes(poor)
    good = findings(PROSE * 3, hidden_share=1.0, image_cover=1.0)
    assert [(finding.code, finding.severity) for finding in good] == [("ocr_layer", "info")]


def test_a_page_of_figures_and_a_repeated_page_are_only_noted() -> None:
    assert [(f.code, f.severity) for f in findings("12.5 33 " * 40)] == [("low_alpha", "info")]
    lines = "\n".join(f"line number {n} of the form" for n in range(30))
    draft = document(lines, lines, paged=True)
    assert [(f.code, f.page_index) for f in check_pages(draft.extraction, SETTINGS)] == [("repeated_lines", 1)]


def test_a_page_is_named_by_its_number_and_by_its_label() -> None:
    pages = (Page(2, "iii", image_cover=1.0), Page(3, "4", image_cover=1.0))
    messages = [f.message for f in check_pages(Extraction("pdf", pages=pages, paged=True), SETTINGS)]
    assert messages == [
        "Page iii (number 3 of the file) is an image without a text layer.",
        "Page 4 is an image without a text layer.",
    ]


def test_a_finding_says_what_was_measured_and_against_what() -> None:
    (finding,) = findings(" ".join(f"(cid:{n})" for n in range(60)))[:1]
    assert (finding.code, finding.page_index, finding.measure, finding.threshold) == ("cid_tokens", 0, 1.0, SETTINGS.cid_share)


def test_a_format_without_pages_names_no_page() -> None:
    draft = document("\ufffd" * 50)
    found = check_pages(draft.extraction, SETTINGS)
    assert {f.page_index for f in found} == {None}
    assert found[0].message.startswith("The text is garbled")


def test_thresholds_come_from_the_settings() -> None:
    draft = document(NUMBERS * 9)
    strict = replace(SETTINGS, alphabetic=0.99)
    assert {f.code for f in check_pages(draft.extraction, strict)} == {"low_alpha"}


def test_a_document_without_text_waits_for_a_person() -> None:
    assert said(document("", "", paged=True)) == {"no_text": "review"}
    assert said(document("")) == {"no_text": "review"}


def test_a_short_text_is_only_noted_unless_pages_or_size_promise_more() -> None:
    assert said(document("Lunch at noon.")) == {"short_text": "info"}
    assert said(document(*["12"] * 5, paged=True)) == {"short_text": "review"}
    assert said(document("Lunch at noon.", format="docx", size=3_000_000)) == {"short_text": "review"}
    assert said(document("Lunch at noon.", format="docx", size=40_000)) == {"short_text": "info"}
    assert said(document(PROSE)) == {}


def test_notes_of_the_extractor_become_findings() -> None:
    notes = (Note("truncated", "the end of the file is missing"), Note("comments", "2 comments are left out", measure=2.0))
    found = check_document(document(PROSE, notes=notes), SETTINGS)
    assert [(f.code, f.severity, f.message) for f in found] == [
        ("truncated", "review", "The end of the file is missing."),
        ("comments", "info", "2 comments are left out."),
    ]


def test_a_note_of_a_page_names_it_and_is_not_said_twice() -> None:
    page = Page(0, unreadable=True, measures=Measures())
    extraction = Extraction("pdf", pages=(page,), paged=True, notes=(Note("damaged", "page 1 cannot be read", 0),))
    assert [(f.code, f.page_index) for f in check_pages(extraction, SETTINGS)] == [("damaged", 0)]


def test_near_identical_passages_are_counted() -> None:
    one = PROSE * 2
    assert near_identical([one, one.replace("nine", "ten", 1), GERMAN * 2], 0.9) == 1
    assert near_identical([one, GERMAN * 2, FINNISH * 2], 0.9) == 0
    assert near_identical([one, one.replace("the", "a")], 0.9) == 0
    assert said(document(one, one)) == {"duplicate_passages": "info"}


def test_the_verdict_is_review_as_soon_as_one_finding_asks_for_it() -> None:
    note, doubt = Finding("comments", "info", "x"), Finding("garbled", "review", "x")
    assert verdict((note,)) == "accepted"
    assert verdict((note, doubt)) == "review"


def test_too_few_letter_pairs_say_nothing() -> None:
    assert likelihood(["word"]) is None
    assert likelihood(["word"] * LEAST) is not None


def test_every_check_is_listed_and_says_what_it_is_for() -> None:
    promised = (
        "scanned no_text garbled cid_tokens replacement_chars letter_spaced missing_spaces repeated_lines low_alpha mojibake "
        "truncated damaged wrong_extension client_rendered no_article fallback duplicate_passages short_text "
        "extractors_disagree ocr_layer low_ocr_confidence tracked_changes comments hidden_text attachments "
        "damaged_outline type3_font bounded unsettled"
    )
    assert set(promised.split()) == {check.code for check in CHECKS} | set(RESERVED)
    assert all(check.doc.endswith(".") for check in CHECKS)
    assert all(check in CHECKS for check in vars(page_checks).values() if isinstance(check, Check))
