from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnowd.layout import blocks, body_size, with_headings
from winnowd.layout.grouping import once
from winnowd.layout.order import cost, in_reading_order, suspicious
from winnowd.model import Block, Line, Page

PAGE = Page(0, width=612, height=792)
PROSE = "the ferry leaves the northern pier at seven"


def line(
    text: str, x: float, y: float, *, size: float = 10, width: float | None = None, bold: bool = False, mono: bool = False
) -> Line:
    """A line of narrow letters; its top is at y."""
    return Line(text, (x, y, x + (width or 0.4 * size * len(text)), y + 1.2 * size), size, bold, mono)


def column(x: float, y: float, texts: list[str], *, step: float = 12, **style: float | bool) -> list[Line]:
    return [line(text, x, y + step * number, **style) for number, text in enumerate(texts)]  # type: ignore[arg-type]


def prose(word: str, count: int) -> list[str]:
    return [f"{word} {PROSE} {number}" for number in range(count)]


def texts(lines: list[Line], page: Page = PAGE) -> list[str]:
    return [block.text for block in blocks(tuple(lines), page)]


def order(lines: list[Line]) -> list[str]:
    return [each.text for each in in_reading_order(lines, PAGE)]


def test_lines_of_a_paragraph_are_one_block_with_its_line_breaks() -> None:
    assert texts(column(72, 72, ["One line", "and the next"])) == ["One line\nand the next"]


def test_a_wider_gap_begins_a_new_paragraph() -> None:
    assert texts(column(72, 72, prose("a", 3)) + column(72, 120, prose("b", 2))) == [
        "\n".join(prose("a", 3)),
        "\n".join(prose("b", 2)),
    ]


def test_an_indented_line_begins_a_new_paragraph() -> None:
    first = [*prose("a", 1), "and so it ends."]
    lines = [*column(72, 72, first), line("Indented start of another", 90, 96), *column(72, 108, prose("b", 2))]
    assert texts(lines) == ["\n".join(first), "\n".join(["Indented start of another", *prose("b", 2)])]


def test_a_hanging_indent_is_one_paragraph() -> None:
    lines = [line("Adams, J. The history of the piers of the north", 72, 72), *column(90, 84, prose("and", 2))]
    assert len(texts(lines)) == 1


def test_a_change_of_size_begins_a_new_block() -> None:
    assert texts([line("Heading", 72, 72, size=16), *column(72, 94, prose("a", 2))]) == ["Heading", "\n".join(prose("a", 2))]


def test_the_lines_of_a_wide_set_title_are_one_block() -> None:
    lines = column(72, 72, ["A title that is", "two lines long"], step=27, size=16) + column(72, 150, prose("a", 4))
    assert texts(lines)[0] == "A title that is\ntwo lines long"


def test_bullets_begin_list_items_and_their_second_lines_stay_with_them() -> None:
    lines = [line("• first point which is long", 72, 72), line("and goes on", 82, 84), line("• second point", 72, 96)]
    found = blocks(tuple(lines), PAGE)
    assert [(block.kind, block.text) for block in found] == [
        ("list_item", "• first point which is long\nand goes on"),
        ("list_item", "• second point"),
    ]


def test_a_bullet_with_a_place_of_its_own_belongs_to_its_line() -> None:
    lines = [line("•", 72, 74, size=7), line("a point of the list", 84, 72), line("goes on here", 84, 84)]
    assert texts(lines) == ["• a point of the list\ngoes on here"]


@pytest.mark.parametrize(
    "text", ["Figure 2. Rainfall", "Table 4: Depths", "Fig. 3 | Cells", "Abbildung 1: Hafen", "Tableau 2 – Prix"]
)
def test_captions_are_told_apart(text: str) -> None:
    assert [block.kind for block in blocks((line(text, 72, 72),), PAGE)] == ["caption"]


def test_a_sentence_about_a_figure_is_no_caption() -> None:
    assert [block.kind for block in blocks((line("Figure 2 shows that it rained", 72, 72),), PAGE)] == ["paragraph"]


def test_monospaced_lines_are_code_with_their_indents() -> None:
    lines = [line("if x:", 72, 72, mono=True), line("go()", 96, 84, mono=True)]
    assert [(block.kind, block.text) for block in blocks(tuple(lines), PAGE)] == [("code", "if x:\n    go()")]


def test_rows_of_short_cells_are_a_markdown_table() -> None:
    rows = [("Part", "Quantity", "Price"), ("Pump | old", "4", "118.50"), ("Drive shaft", "12", "64.20")]
    lines = [
        line(cell, x, 72 + 14 * number) for number, row in enumerate(rows) for x, cell in zip((72, 200, 300), row, strict=True)
    ]
    found = blocks(tuple(lines), PAGE)
    assert [block.kind for block in found] == ["table"]
    assert found[0].text == (
        "| Part | Quantity | Price |\n| --- | --- | --- |\n| Pump \\| old | 4 | 118.50 |\n| Drive shaft | 12 | 64.20 |"
    )


def test_an_empty_cell_of_a_table_stays_empty() -> None:
    rows = [("Part", "Quantity", "Price"), ("Pump", "", "118.50"), ("Shaft", "12", "64.20"), ("Ring", "7", "1.75")]
    lines = [
        line(cell, x, 72 + 14 * number)
        for number, row in enumerate(rows)
        for x, cell in zip((72, 200, 300), row, strict=True)
        if cell
    ]
    assert "| Pump |  | 118.50 |" in texts(lines)[0]


def test_two_rows_that_happen_to_align_are_no_table() -> None:
    lines = [line(cell, x, 72 + 14 * number) for number in range(2) for x, cell in ((72, "left"), (200, "right"))]
    assert [block.kind for block in blocks(tuple(lines), PAGE)] == ["paragraph"]


def test_a_numbered_list_is_no_table() -> None:
    lines = [
        line(cell, x, 72 + 14 * n) for n, word in enumerate("abcd") for x, cell in ((72, f"{n + 1}."), (90, f"point {word}"))
    ]
    assert "table" not in [block.kind for block in blocks(tuple(lines), PAGE)]


def test_a_row_of_words_set_far_apart_is_joined_with_blanks() -> None:
    assert texts([line("RISK", 72, 72), line("REGISTER", 160, 72)]) == ["RISK REGISTER"]


def test_a_large_initial_belongs_to_its_word() -> None:
    lines = [
        Line("O", (72, 72, 96, 104), 28),
        line("nce upon a time", 98, 74),
        line("there was a pier", 98, 86),
        line("by the sea", 72, 108),
    ]
    assert texts(lines)[0].startswith("Once upon a time\nthere was a pier")


def test_text_drawn_twice_in_one_place_is_read_once() -> None:
    twice = [line("Storm report", 72, 72), line("Storm report", 72.3, 72), line("Storm report", 72, 90)]
    assert [each.box[1] for each in once(tuple(twice))] == [72, 90]


def test_a_paragraph_that_goes_on_at_the_head_of_the_next_column_is_one_block() -> None:
    lines = column(72, 72, ["The pier was closed for the", "winter and so the boats"]) + column(
        320, 72, ["went to the southern one."]
    )
    assert texts(lines) == ["The pier was closed for the\nwinter and so the boats\nwent to the southern one."]


def test_columns_drawn_row_by_row_are_read_one_after_the_other() -> None:
    left, right = column(72, 100, prose("left", 6)), column(320, 100, prose("right", 6))
    drawn = [each for pair in zip(left, right, strict=True) for each in pair]
    assert order(drawn) == prose("left", 6) + prose("right", 6)


def test_three_columns_drawn_row_by_row_are_read_one_after_the_other() -> None:
    names = ["one", "two", "three"]
    columns = [
        column(40 + 190 * n, 100, [f"{name} ferry leaves the pier {k}" for k in range(6)]) for n, name in enumerate(names)
    ]
    drawn = [each for row in zip(*columns, strict=True) for each in row]
    assert [text.split()[0] for text in order(drawn)] == ["one"] * 6 + ["two"] * 6 + ["three"] * 6


def test_a_full_width_caption_parts_the_columns_above_from_those_below() -> None:
    def pair(y: float, name: str) -> list[Line]:
        left, right = column(72, y, prose(f"left {name}", 4)), column(330, y, prose(f"right {name}", 4))
        return [each for both in zip(left, right, strict=True) for each in both]

    caption = line("Figure 2. Rainfall and weight, shown for all three sites of the county together over the year", 72, 170)
    found = order([*pair(100, "above"), caption, *pair(200, "below")])
    assert found == [
        *prose("left above", 4),
        *prose("right above", 4),
        caption.text,
        *prose("left below", 4),
        *prose("right below", 4),
    ]


def test_a_left_column_that_begins_lower_and_is_drawn_last_is_read_first() -> None:
    title, right, left = (
        line("Handbook", 72, 40, size=16),
        column(330, 80, prose("right", 6)),
        column(72, 240, prose("left", 6)),
    )
    assert order([title, *right, *left]) == ["Handbook", *prose("left", 6), *prose("right", 6)]


def test_a_page_drawn_from_the_bottom_up_is_read_from_the_top_down() -> None:
    parts = [column(72, y, prose(name, 3)) for y, name in ((400, "low"), (250, "middle"), (100, "high"))]
    assert order([each for part in parts for each in part]) == prose("high", 3) + prose("middle", 3) + prose("low", 3)


def test_the_order_of_the_source_is_kept_where_it_does_not_jump_about() -> None:
    lines = column(72, 100, prose("left", 6)) + column(330, 100, prose("right", 6))
    assert not suspicious(lines)
    assert order(lines) == prose("left", 6) + prose("right", 6)


def test_a_table_drawn_row_by_row_keeps_its_rows() -> None:
    lines = [
        line(f"{name}{row}", x, 100 + 14 * row)
        for row in range(6)
        for name, x in (("part", 72), ("price", 250), ("maker", 400))
    ]
    assert order(lines) == [each.text for each in lines]


def test_a_page_in_a_script_from_right_to_left_keeps_the_order_of_the_source() -> None:
    lines = [line("שלום עולם זה עמוד של טקסט בעברית", x, 100 + 14 * row) for row in range(6) for x in (330, 72)]
    assert in_reading_order(lines, PAGE) == lines


def test_a_new_order_is_only_taken_when_it_has_fewer_jumps() -> None:
    parts = [column(72, 300, prose("low", 3)), column(72, 100, prose("high", 3)), column(330, 100, prose("right", 3))]
    lines = [each for part in parts for each in part]
    assert cost(in_reading_order(lines, PAGE)) <= cost(lines)


def test_lines_that_run_up_the_page_come_last_and_are_no_headings() -> None:
    stamp = Line("arXiv:1602.06541v2", (20, 200, 45, 560), 20, rotated=True)
    found = with_headings(blocks((stamp, *column(72, 72, prose("a", 3))), PAGE))
    assert [(block.kind, block.text) for block in found] == [("paragraph", "\n".join(prose("a", 3))), ("paragraph", stamp.text)]
    assert found[1].box == pytest.approx(stamp.box)


def test_a_page_whose_text_runs_up_is_put_into_paragraphs() -> None:
    lines = [
        Line(text, (100 + 12 * number, 72, 112 + 12 * number, 400), 10, rotated=True)
        for number, text in enumerate(prose("up", 3))
    ]
    assert texts(lines) == ["\n".join(prose("up", 3))]


def test_a_page_without_lines_has_no_blocks() -> None:
    assert blocks((), PAGE) == ()


coordinate = st.floats(-50, 900, allow_nan=False)
lines_anywhere = st.lists(
    st.builds(
        lambda text, x, y, size, mono, rotated: replace(line(text, x, y, size=size, mono=mono), rotated=rotated),
        st.sampled_from(["a", "•", "1.", "Figure 1.", PROSE, "W", "| x", "שלום"]),
        coordinate,
        coordinate,
        st.sampled_from([0.0, 1.0, 8.0, 10.0, 30.0]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=40,
)


@given(lines_anywhere)
def test_no_line_is_lost_and_none_invented_wherever_they_lie(lines: list[Line]) -> None:
    found = "".join(block.text for block in blocks(tuple(lines), PAGE) if block.kind != "table")
    letters = sorted("".join(each.text for each in once(tuple(lines))).replace(" ", ""))
    if all(block.kind != "table" for block in blocks(tuple(lines), PAGE)):
        assert sorted("".join(found.split())) == letters


def paragraph(text: str, size: float = 10, *, bold: bool = False, page: int = 0) -> Block:
    return Block("paragraph", text, page, size=size, bold=bold)


BODY = paragraph("\n".join(prose("a", 8)))


def heads(*found: Block) -> list[tuple[int | None, str]]:
    return [(block.level, block.text) for block in with_headings(found) if block.kind == "heading"]


def test_headings_are_ranked_by_size_over_the_whole_document() -> None:
    found = heads(
        paragraph("Chapter", 20), BODY, paragraph("Section", 14), BODY, paragraph("Another chapter", 20, page=1), BODY
    )
    assert found == [(1, "Chapter"), (2, "Section"), (1, "Another chapter")]


def test_a_bold_line_is_a_heading_below_the_larger_ones() -> None:
    assert heads(paragraph("Chapter", 20), BODY, paragraph("Bold line", bold=True), BODY) == [(1, "Chapter"), (2, "Bold line")]


def test_bold_means_nothing_where_most_of_the_text_is_bold() -> None:
    assert heads(replace(BODY, bold=True), paragraph("Bold line", bold=True)) == []


def test_a_numbered_line_that_stands_alone_is_a_heading() -> None:
    assert heads(BODY, replace(paragraph("II. METHODS"), kind="list_item"), BODY) == [(1, "II. METHODS")]


def test_numbered_lines_among_their_like_are_a_list() -> None:
    items = [replace(paragraph(f"{number}. Bring a lamp"), kind="list_item") for number in range(1, 4)]
    assert heads(BODY, *items, BODY) == []


@pytest.mark.parametrize("text", ["12", "α/β", "εm", "and this one ends as a sentence does.", "x" * 400])
def test_what_is_large_but_no_title_is_no_heading(text: str) -> None:
    assert heads(BODY, paragraph(text, 20)) == []


def test_a_small_numbered_note_is_a_footnote() -> None:
    found = with_headings([BODY, paragraph("3 See the report of the harbour board", 7)])
    assert found[1].kind == "footnote"


def test_a_document_written_on_a_typewriter_is_no_code() -> None:
    found = with_headings([replace(BODY, kind="code"), replace(BODY, kind="code")])
    assert [block.kind for block in found] == ["paragraph", "paragraph"]


def test_the_body_size_is_that_of_most_letters() -> None:
    assert body_size([paragraph("Title", 20), BODY]) == 10
    assert body_size([]) == 0
