"""What is read of a web page."""

from collections.abc import Callable
from pathlib import Path

import pytest

from builders import HTML_SENTENCES, html_article, html_page
from winnowd.extract import Reading, extract
from winnowd.extract.html_head import iso_date
from winnowd.formats import BY_NAME
from winnowd.model import Extraction

Read = Callable[..., Extraction]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(page: str | bytes) -> Extraction:
        data = page.encode() if isinstance(page, str) else page
        path = tmp_path / "file"
        path.write_bytes(data)
        return extract(Reading(str(path), BY_NAME["html"], len(data)))

    return read


def said(found: Extraction, *kinds: str) -> list[str]:
    return [block.text for block in found.blocks if (block.kind in kinds if kinds else block.kind != "boilerplate")]


def codes(found: Extraction) -> list[str]:
    return [note.code for note in found.notes]


def test_an_article_is_parted_from_menu_and_footer_and_nothing_is_lost(read: Read) -> None:
    found = read(html_page(html_article()))
    assert said(found) == ["Dredging approved", *HTML_SENTENCES]
    set_aside = "\n".join(said(found, "boilerplate"))
    assert "Careers with us" in set_aside and "All rights reserved" in set_aside
    assert [(entry.level, entry.title) for entry in found.outline] == [(1, "Dredging approved")]
    assert codes(found) == []


def test_inline_tags_do_not_break_words(read: Read) -> None:
    extra = "<p><b>W</b>ord, un<i>known</i>; H<sub>2</sub>O, 10<sup>th</sup>, foo<span> </span>bar<wbr>rel.</p>"
    assert said(read(html_page(html_article(extra))))[-1] == "Word, unknown; H2O, 10th, foo barrel."


def test_preformatted_text_keeps_its_lines(read: Read) -> None:
    code = "def depth(x):\n    if x &lt; 3:\n\treturn 1\n\n\nprint(<b>depth</b>(2))\n"
    found = read(html_page(html_article(f"<pre>\n{code}</pre>")))
    assert said(found, "code") == ["def depth(x):\n    if x < 3:\n\treturn 1\n\n\nprint(depth(2))"]


def test_line_breaks_part_lines_and_paragraphs(read: Read) -> None:
    found = read(html_page("<body>First line<br>second   line<br><br>\n  Another paragraph</body>"))
    assert said(found) == ["First line\nsecond line", "Another paragraph"]


def test_lists_show_their_numbers(read: Read) -> None:
    lists = "<ol start=3><li>three</li><li value=7>seven<ul><li>dot</li></ul></li><li><p>eight</p><p>more</p></li></ol>"
    assert said(read(html_page(lists))) == ["3. three", "7. seven", "- dot", "8. eight", "more"]


def test_a_table_of_data_becomes_rows(read: Read) -> None:
    table = (
        "<table><caption>Depths</caption><tr><th>Quay</th><th>Depth</th></tr><tr><td>North</td><td>7.4&nbsp;m</td></tr>"
        "<tr><td>South</td><td><ul><li>open</li><li>until May</li></ul></td></tr><tr><td colspan=2>a | b</td></tr></table>"
    )
    found = read(html_page(table))
    assert said(found, "caption") == ["Depths"]
    assert said(found, "table") == [
        "| Quay | Depth |\n| --- | --- |\n| North | 7.4 m |\n| South | open until May |\n| a \\| b |  |"
    ]


def test_a_table_amid_an_article_belongs_to_it(read: Read) -> None:
    table = "<table><tr><td>4.2.3</td><td>April</td></tr><tr><td>4.1.6</td><td>May</td></tr></table>"
    found = read(html_page(html_article(f"{table}<p>{HTML_SENTENCES[0]}</p>")))
    assert said(found, "table") == ["| 4.2.3 | April |\n| --- | --- |\n| 4.1.6 | May |"]


def test_a_table_that_lays_out_a_page_is_no_table(read: Read) -> None:
    page = f"<table><tr><td><h1>Title</h1></td><td>{HTML_SENTENCES[0]}</td></tr></table>"
    found = read(html_page(page))
    assert said(found, "table") == []
    assert said(found) == ["Title", HTML_SENTENCES[0]]


def test_scripts_styles_and_option_lists_say_nothing(read: Read) -> None:
    noise = "<script>var a = 'noise';</script><style>p {noise: 1}</style><select><option>noise</option></select><!-- noise -->"
    found = read(html_page(f"<p>a{noise}b</p>"))
    assert said(found) == ["ab"]


def test_entities_are_decoded_once(read: Read) -> None:
    found = read(html_page("<p>Fish &amp; chips &pound;7 &#150; &lt;b&gt; &amp;amp; caf&eacute; &unknown; &#x1F600;</p>"))
    assert said(found) == ["Fish & chips \u00a37 \u2013 <b> &amp; caf\u00e9 &unknown; \U0001f600"]


def test_references_to_surrogates_and_controls_do_no_harm(read: Read) -> None:
    text = "".join(said(read(html_page("<p>a &#xD800; b &#0; c &#55357;&#56832; d &#1;</p>"))))
    assert text.encode("utf-8") and "b" in text and "d" in text


@pytest.mark.parametrize(
    ("page", "encoding"),
    [
        (html_page("<p>Gr\u00f6\u00dfe</p>", head="<meta charset='iso-8859-1'>").encode(), "utf-8"),
        (html_page("<p>Gr\u00f6\u00dfe \u2013</p>", head="<meta charset='iso-8859-1'>").encode("cp1252"), "cp1252"),
        (html_page("<p>Gr\u00f6\u00dfe</p>").encode("utf-16"), "utf-16-le"),
        (html_page("<p>\u6e2f</p>", head=f"<!--{'x' * 2000}--><meta charset=shift_jis>").encode("cp932"), "shift_jis"),
        (
            b"<!-- <meta charset=utf-8> -->" + html_page("<p>\u0434\u0430</p>", head="<meta charset=koi8-r>").encode("koi8-r"),
            "koi8-r",
        ),
    ],
)
def test_the_declared_encoding_is_believed_unless_the_bytes_contradict_it(read: Read, page: bytes, encoding: str) -> None:
    found = read(page)
    assert found.metadata.encoding == encoding
    assert said(found)[0] in ("Gr\u00f6\u00dfe", "Gr\u00f6\u00dfe \u2013", "\u6e2f", "\u0434\u0430")


@pytest.mark.parametrize("depth", [400, 5_000, 20_000])
def test_deep_nesting_loses_nothing(read: Read, depth: int) -> None:
    found = read(html_page(f"<p>Above</p>{'<div>' * depth}<p>DEEP</p>{'</div>' * depth}<p>Below</p>"))
    assert said(found) == ["Above", "DEEP", "Below"]
    assert codes(found) == ["fallback"]


def test_too_many_paragraphs_are_left_to_the_rules(read: Read) -> None:
    found = read(html_page("<nav><a href='x'>Start</a></nav>" + "<p>One of many paragraphs.</p>" * 6000))
    assert len(said(found)) == 6000
    assert (codes(found), said(found, "boilerplate")) == (["fallback"], ["Start"])


def test_a_menu_that_is_never_closed_does_not_swallow_the_page(read: Read) -> None:
    body = "<nav><a href='/'>Start</a><div>" + "".join(f"<p>{number}. {HTML_SENTENCES[0]}</p>" for number in range(12))
    assert len([text for text in said(read(html_page(body))) if HTML_SENTENCES[0] in text]) == 12


def test_an_endless_tag_is_read_without_its_attributes(read: Read) -> None:
    attributes = " ".join(f"a{number}='x'" for number in range(20_000))
    assert said(read(html_page(f"<p {attributes}>Hello</p>"))) == ["Hello"]


def test_a_shell_that_a_script_would_fill_is_noted_and_keeps_its_title(read: Read) -> None:
    found = read(
        html_page("<noscript>Enable it</noscript><div id=root></div><script src=x></script>", head="<title>Tides</title>")
    )
    assert (codes(found), found.metadata.title, said(found)) == (["client_rendered"], "Tides", [])


def test_a_page_of_links_has_no_article(read: Read) -> None:
    links = "".join(f"<li><a href='/{number}'>Headline number {number} of the day</a></li>" for number in range(60))
    assert "no_article" in codes(read(html_page(f"<ul>{links}</ul>")))
    assert "no_article" not in codes(read(html_page(html_article())))


def test_a_page_without_an_element_is_an_empty_document(read: Read) -> None:
    assert read(b"  \n ").blocks == ()


def test_facts_of_the_head_are_kept_and_the_believed_ones_marked(read: Read) -> None:
    head = (
        "<title>Dredging approved | Harbour Press</title><meta name=author content='A. Author'>"
        "<meta property='article:published_time' content='2026-01-12T08:30:00Z'>"
        '<script type="application/ld+json">{"@graph": [{"@type": "NewsArticle", "dateModified": "2026-01-13", '
        '"author": [{"name": "B. Other"}]}]}</script><script type="application/ld+json">{broken</script>'
    )
    found = read(html_page(html_article(), head=head)).metadata
    assert (found.title, found.author) == ("Dredging approved", "A. Author")
    assert (found.created, found.modified, found.language) == ("2026-01-12T08:30:00Z", "2026-01-13", "en")
    authors = {(fact.value, fact.believed) for fact in found.facts if fact.key == "author"}
    assert authors == {("A. Author", True), ("B. Other", False)}


def test_a_generic_title_loses_against_the_heading(read: Read) -> None:
    assert read(html_page(html_article(), head="<title>Untitled Document</title>")).metadata.title == "Dredging approved"


@pytest.mark.parametrize(
    ("said_so", "iso"),
    [
        ("2020-02-01", "2020-02-01"),
        ("2020-02-01T10:00:00+0100", "2020-02-01T10:00:00+0100"),
        ("2020/02/01", "2020-02-01"),
        ("Sat, 01 Feb 2020 10:00:00 GMT", "2020-02-01T10:00:00+00:00"),
        ("01.02.2020", None),
        ("soon", None),
        ("", None),
    ],
)
def test_dates_are_read_where_they_leave_no_doubt(said_so: str, iso: str | None) -> None:
    assert iso_date(said_so) == iso
