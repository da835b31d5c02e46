import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnowd.clean import STEPS, clean
from winnowd.clean.characters import normal
from winnowd.clean.hyphens import joined_word, without_divisions
from winnowd.clean.joining import finish_sentences
from winnowd.model import FURNITURE, Block, BlockKind, Box, Extraction, Fact, Metadata, OutlineEntry, Page


def text_of(*texts: str, kind: BlockKind = "paragraph") -> list[str]:
    extraction = Extraction("text", blocks=tuple(Block(kind, text, 0) for text in texts), pages=(Page(0),))
    return [block.text for block in clean(extraction)[0].blocks]


def line(text: str, page: int, y: float, *, x: float = 72, size: float = 11.0, kind: BlockKind = "paragraph") -> Block:
    height = 13.0 * (text.count("\n") + 1)
    return Block(kind, text, page, 1 if kind == "heading" else None, (x, y, x + 6 * len(text), y + height), size)


def paged(blocks: list[Block], pages: int) -> Extraction:
    return Extraction("pdf", blocks=tuple(blocks), pages=tuple(Page(i, str(i + 1), 612, 792) for i in range(pages)), paged=True)


def cleaned(blocks: list[Block], pages: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The texts that stay, and what was set aside with its kind."""
    result = clean(paged(blocks, pages))[0].blocks
    stays = [block.text for block in result if block.kind not in FURNITURE]
    return stays, [(block.kind, block.text) for block in result if block.kind in FURNITURE]


BODY = (
    "The harbour board meets on the first Monday of the month.",
    "Dredging of the northern channel begins after the storms.",
    "Boats with a deep draught must wait for the tide until then.",
    "A survey of the sea bed is carried out before each campaign.",
)


def body(page: int) -> Block:
    return line(f"{BODY[page % 4]}\nPage text {'abcdefghijklmnop'[page]} goes on here.", page, 200)


# Characters


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("e\ufb03cient \ufb02ow \ufb06", "efficient flow st"),
        ("a\u00a0b\u2009c\u3000d", "a b c d"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("co\u2010op co\u2011op", "co-op co-op"),
        ("Cafe\u0301", "Café"),
        ("\uff37\uff29\uff24\uff25", "WIDE"),
        ("\ufefb", "\u0644\u0627"),
        ("a\x00b\x03c", "ab c"),
        ("one\r\ntwo\x0bthree\u2028four", "one\ntwo\nthree\nfour"),
        ("\ud83d\udea2 \ud800x", "🚢 x"),
    ],
)
def test_odd_characters_become_plain_ones(raw: str, stored: str) -> None:
    assert normal(raw) == stored


def test_a_joiner_stays_between_persian_letters_and_goes_beside_latin_ones() -> None:
    assert normal("می\u200cخواهم") == "می\u200cخواهم"
    assert normal("foo\u200cbar") == "foobar"


@given(st.text(st.characters(), max_size=60))
def test_any_text_becomes_storable(text: str) -> None:
    stored = normal(text)
    stored.encode("utf-8")
    assert "\0" not in stored
    assert normal(stored) == stored


def test_titles_outline_and_facts_are_normalised_too() -> None:
    extraction = Extraction(
        "pdf",
        Metadata(title="E\ufb03ciency\0", author="A\u00a0B", facts=(Fact("info", "Title", "x\ud800"),)),
        outline=(OutlineEntry(1, "Cha\u00adpter\u00a01"),),
        pages=(Page(0, "i\u200b"),),
    )
    result = clean(extraction)[0]
    assert (result.metadata.title, result.metadata.author) == ("Efficiency", "A B")
    assert result.metadata.facts[0].value == "x"
    assert result.outline[0].title == "Chapter 1"
    assert result.pages[0].label == "i"


def test_soft_hyphens_go_and_a_real_hyphen_before_one_stays() -> None:
    assert text_of("infor\u00admation on a cross-\u00adsectional elec\u00ad\ntricity bill") == [
        "information on a cross-sectional electricity bill"
    ]


def test_text_that_was_decoded_twice_is_mended() -> None:
    twice = "Die Größe der Häfen – 5 €".encode().decode("cp1252")
    assert text_of(twice) == ["Die Größe der Häfen – 5 €"]


def test_a_text_that_only_mentions_broken_letters_is_left_alone() -> None:
    text = "Müller, Größe, Straße and Äpfel are sometimes shown as MÃ¼ller and GrÃ¶ÃŸe by broken programs."
    assert text_of(text) == [text]


def test_accents_set_apart_return_to_their_letters_and_apostrophes_stay() -> None:
    assert text_of("a na¨ıve Universit¨at of Erd˝os, ¨Osterreich") == ["a naïve Universität of Erdős, Österreich"]
    assert text_of("it´s l´eau, 5˚C, a ˜ b") == ["it´s l´eau, 5˚C, a ˜ b"]


# Hyphens and lines


def test_the_words_of_the_document_decide_about_a_hyphen() -> None:
    text = "A well-\nknown exam-\nple. The well-known man gave no example."
    assert text_of(text) == ["A well-known example. The well-known man gave no example."]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("cer", "tain", "certain"),
        ("Kosten", "Nutzen", "Kosten-Nutzen"),
        ("covid", "19", "covid-19"),
        ("x", "ray", "x-ray"),
        ("10", "year", "10-year"),
        ("signal", "to-noise", "signal-to-noise"),
        ("community", "oriented", "community-oriented"),
    ],
)
def test_a_hyphen_that_no_other_word_decides(first: str, second: str, whole: str) -> None:
    assert joined_word(first, second, Counter()) == whole


def test_a_dash_at_a_line_end_is_no_division() -> None:
    assert without_divisions("from here -\nto there", Counter()) == ("from here -\nto there", 0)


def test_lines_are_joined_in_paragraphs_and_kept_in_code_and_tables() -> None:
    assert text_of("one\ntwo") == ["one two"]
    assert text_of("if x:\n    y  ", kind="code") == ["if x:\n    y"]
    assert text_of("| a |\n| --- |", kind="table") == ["| a |\n| --- |"]


def test_chinese_lines_are_joined_without_a_blank_and_korean_ones_with_one() -> None:
    assert text_of("港の\n案内") == ["港の案内"]
    assert text_of("한국어\n문장") == ["한국어 문장"]


def test_a_paragraph_goes_on_in_the_next_column() -> None:
    left = line("The cost is shared between the county and the", 0, 700, x=72)
    right = line("port users, as agreed.", 0, 60, x=320)
    assert cleaned([left, right], 1)[0] == ["The cost is shared between the county and the port users, as agreed."]


def test_short_lines_in_lower_case_stay_apart() -> None:
    assert text_of("apples", "pears") == ["apples", "pears"]
    assert cleaned([line("apples", 0, 100), line("pears", 0, 120)], 1)[0] == ["apples", "pears"]


def test_a_sentence_is_finished_on_the_page_where_it_began_even_over_a_footnote() -> None:
    note: BlockKind = "footnote"
    blocks = (
        Block("paragraph", "He left the har-", 0),
        Block(note, "1 A note.", 0),
        Block("paragraph", "bour late. Then he slept.", 1),
    )
    result, step = finish_sentences(paged(list(blocks), 2), frozenset())
    assert [(block.page, block.text) for block in result.blocks] == [
        (0, "He left the harbour late."),
        (0, "1 A note."),
        (1, "Then he slept."),
    ]
    assert step.touched == 1


def test_nothing_moves_between_a_good_page_and_one_that_waits() -> None:
    blocks = [Block("paragraph", "He left the", 0), Block("paragraph", "harbour late.", 1)]
    for apart in ({0}, {1}):
        assert finish_sentences(paged(blocks, 2), frozenset(apart))[0].blocks == tuple(blocks)


# Furniture


def test_running_headers_and_page_numbers_are_set_aside_once_a_word_is_kept() -> None:
    blocks = [b for p in range(6) for b in (line("Annual Kestrel Report", p, 30), body(p), line(f"- {p + 1} -", p, 750))]
    stays, aside = cleaned(blocks, 6)
    assert stays.count("Annual Kestrel Report") == 1
    assert aside.count(("running_header", "Annual Kestrel Report")) == 5
    assert [text for kind, text in aside if kind == "page_number"] == [f"- {n} -" for n in range(1, 7)]


def test_a_header_whose_words_the_body_has_does_not_stay_at_all() -> None:
    blocks = [b for p in range(4) for b in (line("The harbour board", p, 30), body(p))]
    stays, aside = cleaned(blocks, 4)
    assert "The harbour board" not in stays
    assert len(aside) == 4


def test_roman_and_arabic_numbers_beside_a_title_are_recognised() -> None:
    labels = ["i", "ii", "iii", "iv", "1", "2", "3", "4", "5"]
    blocks = [b for p, n in enumerate(labels) for b in (body(p), line(n, p, 750, x=300))]
    stays, aside = cleaned(blocks, len(labels))
    assert [text for _, text in aside] == labels
    assert not set(labels) & set(stays)


def test_left_and_right_pages_have_headers_of_their_own() -> None:
    blocks = [b for p in range(8) for b in (line("Left Title" if p % 2 else "Right Title", p, 30), body(p))]
    assert len(cleaned(blocks, 8)[1]) == 6


def test_a_header_that_changes_with_the_chapter_is_recognised() -> None:
    chapters = ["Tides"] * 3 + ["Fields"] * 4 + ["Bees"] * 3 + ["Trains"] * 10
    blocks = [b for p in range(20) for b in (line(f"{chapters[p]} {p + 1}", p, 30), line(BODY[p % 4], p, 200))]
    assert len(cleaned(blocks, 20)[1]) == 20 - 4


def test_a_heading_that_repeats_in_the_body_is_kept() -> None:
    blocks = [
        b
        for p, site in enumerate("KLMNOPQR")
        for b in (
            line(f"Site {site}: summary", p, 35),
            body(p),
            line("Findings", p, 128, kind="heading"),
            line("Text.", p, 300),
        )
    ]
    stays, aside = cleaned(blocks, 8)
    assert stays.count("Findings") == 8
    assert not aside


def test_the_title_of_a_slide_is_no_running_header() -> None:
    blocks = [b for p in range(9) for b in (line("Results" if p > 5 else f"Topic {'abcdef'[p]}", p, 30, size=24), body(p))]
    assert not cleaned(blocks, 9)[1]


def test_the_head_of_a_table_on_every_page_is_no_running_header() -> None:
    rows = "| Branch | Total |\n| --- | --- |\n| North | {} |"
    blocks = [line(rows.format(p * 7), p, 40, kind="table") for p in range(5)]
    assert not cleaned(blocks, 5)[1]


def test_two_pages_are_no_evidence_but_for_their_numbers() -> None:
    blocks = [b for p in range(2) for b in (line("Dear member,", p, 30), body(p), line(str(p + 1), p, 750))]
    stays, aside = cleaned(blocks, 2)
    assert stays.count("Dear member,") == 2
    assert [text for _, text in aside] == ["1", "2"]


def test_a_document_that_is_nothing_but_such_lines_keeps_them() -> None:
    assert len(cleaned([line(f"Potato {p}", p, 50) for p in range(12)], 12)[0]) == 12


def test_a_header_in_one_block_with_the_text_is_taken_out_of_it() -> None:
    blocks = [line(f"The harbour board\n{BODY[p % 4]}\nmore {'abcdef'[p]}", p, 30) for p in range(6)]
    stays, aside = cleaned(blocks, 6)
    assert not any(text.startswith("The harbour board The") for text in stays)
    assert aside == [("running_header", "The harbour board")] * 6


# All steps


blocks_of_anything = st.lists(
    st.builds(
        Block,
        st.sampled_from(["paragraph", "heading", "list_item", "code", "table", "footnote"]),
        st.text("ab C1.-\n\u00ad\u00e9\u6f22", max_size=40),
        st.integers(0, 4),
        st.none(),
        st.none() | st.builds(lambda y: (50.0, float(y), 200.0, float(y) + 20), st.integers(0, 780)),
    ),
    max_size=24,
)


@given(blocks_of_anything)
def test_cleaning_loses_no_letter(blocks: list[Block]) -> None:
    ordered = sorted(blocks, key=lambda block: block.page or 0)
    result = clean(paged(ordered, 5))[0]
    letters = re.compile(r"[^\W_]")
    before = Counter(letters.findall("".join(block.text for block in ordered)))
    after = Counter(letters.findall("".join(block.text for block in result.blocks)))
    assert not before - after


@settings(max_examples=20)
@given(blocks_of_anything)
def test_cleaning_is_repeatable(blocks: list[Block]) -> None:
    assert clean(paged(blocks, 5)) == clean(paged(blocks, 5))


def test_every_step_says_what_it_did() -> None:
    _, steps = clean(Extraction("text", blocks=(Block("paragraph", "a\nb", 0),), pages=(Page(0),)))
    assert [step.step for step in steps] == [step.__name__ for step in STEPS]
    assert {step.step: step.touched for step in steps}["unwrap_lines"] == 1


def test_a_block_keeps_its_box() -> None:
    box: Box = (1, 2, 3, 4)
    assert clean(paged([Block("paragraph", "a\nb", 0, None, box)], 1))[0].blocks[0].box == box
