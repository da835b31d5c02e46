import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnowd.model import FURNITURE, Block, Extraction, Page
from winnowd.passages import HARD, MOST, PATH_CHARS, TARGET, TINY, split

SENTENCE = "The harbour board meets on the first Monday of the month. "


def extraction(*blocks: Block, pages: int = 1) -> Extraction:
    return Extraction("pdf", blocks=blocks, pages=tuple(Page(i, f"p{i}") for i in range(pages)), paged=True)


def heading(text: str, level: int = 1, page: int = 0) -> Block:
    return Block("heading", text, page, level)


def paragraph(text: str, page: int = 0) -> Block:
    return Block("paragraph", text, page)


def test_a_heading_is_the_first_line_of_the_passage_it_opens() -> None:
    passages = split(
        extraction(heading("Bees"), paragraph("They fly."), paragraph("Far."), heading("Trains"), paragraph("Late."))
    )
    assert [(p.ordinal, p.heading_path, p.text) for p in passages] == [
        (0, "Bees", "Bees\nThey fly.\n\nFar."),
        (1, "Trains", "Trains\nLate."),
    ]


def test_a_level_resets_the_deeper_ones() -> None:
    blocks = [heading("A"), paragraph("x"), heading("B", 2), paragraph("x"), heading("C", 3), paragraph("x"), heading("D", 2)]
    assert [p.heading_path for p in split(extraction(*blocks, paragraph("x")))] == ["A", "A > B", "A > B > C", "A > D"]


def test_a_heading_right_below_another_opens_the_same_passage() -> None:
    passages = split(extraction(heading("A"), heading("B", 2), paragraph("x")))
    assert [(p.heading_path, p.text) for p in passages] == [("A > B", "A\nB\nx")]


def test_text_before_the_first_heading_has_no_path() -> None:
    assert split(extraction(paragraph("x")))[0].heading_path is None


def test_a_passage_lies_on_one_page_and_knows_its_label() -> None:
    passages = split(extraction(heading("A"), paragraph("x"), paragraph("y", 1), pages=2))
    assert [(p.page_index, p.page_label, p.heading_path, p.text) for p in passages] == [
        (0, "p0", "A", "A\nx"),
        (1, "p1", "A", "y"),
    ]


def test_furniture_is_left_out() -> None:
    assert [p.text for p in split(extraction(Block("running_header", "Report", 0), paragraph("x")))] == ["x"]


def test_short_paragraphs_fill_a_passage_and_long_ones_are_cut_after_a_sentence() -> None:
    passages = split(extraction(*[paragraph(SENTENCE.strip())] * 50))
    assert all(TARGET / 2 < len(p.text) <= TARGET + TINY for p in passages[:-1])
    long = split(extraction(paragraph((SENTENCE * 50).strip())))
    assert all(p.text.endswith("month.") and len(p.text) <= TARGET + TINY for p in long)


def test_a_tiny_rest_joins_the_passage_before_it() -> None:
    text = (SENTENCE * 21).strip()
    assert len(split(extraction(paragraph(text), paragraph("The end.")))) == len(split(extraction(paragraph(text))))


def test_a_long_text_without_stops_is_cut_at_a_blank_and_never_inside_a_word() -> None:
    words = [f"word{n}" for n in range(2000)]
    passages = split(extraction(paragraph(" ".join(words))))
    assert [word for p in passages for word in p.text.split()] == words


def test_a_word_that_never_ends_is_cut_at_last() -> None:
    passages = split(extraction(paragraph("x" * 2 * HARD)))
    assert [len(p.text) for p in passages] == [HARD, HARD]


def test_chinese_text_is_cut_after_a_sentence() -> None:
    passages = split(extraction(paragraph("港の北岸に三つの埠頭がある。" * 300)))
    assert len(passages) > 3
    assert all(p.text.endswith("。") for p in passages)


def test_code_and_tables_are_cut_between_lines() -> None:
    lines = [f"    row {n} | value" for n in range(300)]
    passages = split(extraction(Block("code", "\n".join(lines), 0)))
    assert len(passages) > 2
    assert [line for p in passages for line in p.text.split("\n")] == lines


def test_a_path_is_bounded_and_keeps_the_nearest_heading() -> None:
    blocks = [heading(f"{level} " + "long title " * 20, level) for level in range(1, 7)]
    path = split(extraction(*blocks, heading("Last", 7), paragraph("x")))[-1].heading_path
    assert path is not None
    assert len(path) <= PATH_CHARS + 10
    assert path.startswith("…") and path.endswith("> Last")


def test_more_passages_than_can_be_numbered_become_fewer_and_lose_nothing() -> None:
    passages = split(extraction(*[heading(f"h{n}") for n in range(MOST + 10)]))
    assert len(passages) <= MOST
    assert sum(len(p.text.split()) for p in passages) == MOST + 10


def test_no_text_gives_no_passage() -> None:
    assert split(extraction(paragraph("  "), Block("page_number", "1", 0))) == ()


texts = st.one_of(
    st.text("ab. \n漢。", max_size=80),
    st.integers(1, 120).map(lambda n: SENTENCE * n),
    st.integers(1, 6000).map(lambda n: "y" * n),
)
some_blocks = st.lists(
    st.builds(
        Block,
        st.sampled_from(["paragraph", "heading", "code", "table", "list_item", "running_footer"]),
        texts,
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    max_size=12,
)


@given(some_blocks)
def test_passages_in_order_are_the_text(blocks: list[Block]) -> None:
    passages = split(extraction(*blocks, pages=4))
    kept = "".join(block.text for block in blocks if block.kind not in FURNITURE)
    assert re.sub(r"\s", "", "".join(p.text for p in passages)) == re.sub(r"\s", "", kept)
    assert all(p.text.strip() for p in passages)
    assert [p.ordinal for p in passages] == list(range(len(passages)))
    assert all(len(p.text) <= HARD + TARGET for p in passages)


@settings(max_examples=20)
@given(some_blocks)
def test_splitting_is_repeatable(blocks: list[Block]) -> None:
    assert split(extraction(*blocks, pages=4)) == split(extraction(*blocks, pages=4))


@pytest.mark.parametrize("kind", ["caption", "footnote", "list_item"])
def test_every_kind_of_text_is_in_a_passage(kind: str) -> None:
    assert split(extraction(Block(kind, "x", 0)))[0].text == "x"  # type: ignore[arg-type]
