"""What is read of Markdown."""

from collections.abc import Callable
from pathlib import Path

import pytest

from winnowd.extract import Reading, extract
from winnowd.formats import BY_NAME
from winnowd.model import Extraction

Read = Callable[[str], Extraction]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(source: str) -> Extraction:
        path = tmp_path / "file"
        path.write_text(source)
        return extract(Reading(str(path), BY_NAME["markdown"], len(source)))

    return read


def shown(found: Extraction) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in found.blocks]


def test_headings_are_the_outline_but_not_in_fences(read: Read) -> None:
    found = read("# Guide\n\n```\n# no heading\n  x\n```\n\nSetext\n------\n\n    # neither\n\n> # quoted\n\n## End ##\n")
    assert [(entry.level, entry.title) for entry in found.outline] == [(1, "Guide"), (2, "Setext"), (2, "End")]
    assert ("code", "# no heading\n  x") in shown(found) and ("code", "# neither") in shown(found)
    assert ("paragraph", "quoted") in shown(found)
    assert found.metadata.title == "Guide"


def test_markup_is_taken_off(read: Read) -> None:
    found = read(
        "See *the* [tide **tables**](http://x.org) and `code()` ![a chart](c.png) <b>bold</b> &amp; a\\*b<br>next\nline"
    )
    assert shown(found) == [("paragraph", "See the tide tables and code() a chart bold & a*b\nnext\nline")]


def test_list_items_keep_their_marks(read: Read) -> None:
    found = read("1. one\n2. two\n   - dot\n\n   more of two\n\n7) seven\n")
    assert shown(found) == [
        ("list_item", "1. one"),
        ("list_item", "2. two"),
        ("list_item", "- dot"),
        ("paragraph", "more of two"),
        ("list_item", "7) seven"),
    ]


def test_tables_become_rows(read: Read) -> None:
    found = read("| Quay | Depth |\n|:-----|------:|\n| *North* | 7 \\| 8 |\n")
    assert shown(found) == [("table", "| Quay | Depth |\n| --- | --- |\n| North | 7 \\| 8 |")]


def test_front_matter_gives_facts_and_is_no_text(read: Read) -> None:
    found = read("---\ntitle: 'The plan'\nauthor: A. Author\ndate: 2026-01-12\nmodified: yesterday\nx: y\n---\n\n# Heading\n")
    assert (found.metadata.title, found.metadata.author, found.metadata.created) == ("The plan", "A. Author", "2026-01-12")
    assert found.metadata.modified is None
    assert {fact.value for fact in found.metadata.facts if fact.source == "front_matter"} >= {"The plan", "yesterday"}
    assert shown(found) == [("heading", "Heading")]


def test_a_rule_at_the_beginning_is_no_front_matter(read: Read) -> None:
    assert shown(read("---\n\nJust text\n\n---\n")) == [("paragraph", "Just text")]


def test_html_in_markdown_is_read_without_its_tags(read: Read) -> None:
    found = read("<h1 align='center'>Project</h1>\n<p>A <b>tool</b> &amp; more</p>\n<script>noise()</script>\n\nText\n")
    assert shown(found) == [("heading", "Project"), ("paragraph", "A tool & more"), ("paragraph", "Text")]


@pytest.mark.parametrize(
    "source", [">" * 3_000 + " deep text", "".join("  " * n + "- item\n" for n in range(200)) + "deep text"]
)
def test_text_that_nests_too_deeply_is_kept_as_paragraphs(read: Read, source: str) -> None:
    found = read(source)
    assert "deep text" in "".join(text for _, text in shown(found))
    assert [note.code for note in found.notes] == ["fallback"]


@pytest.mark.parametrize("mark", ["[", "[a](", "*a ", "`" * 3 + "a", "<a ", "![", "]("])
def test_a_paragraph_full_of_marks_is_kept(read: Read, mark: str) -> None:
    assert "end of text" in "".join(text for _, text in shown(read("begin " + mark * 20_000 + " end of text")))
