import json
import sqlite3
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

import catalogues
from catalogues import DAY, NOON_2026, Text, add_document, add_file, add_root
from winnowd.errors import UsageError
from winnowd.model import Hit
from winnowd.query import Filters, Query, day_after, first_day, parse
from winnowd.store import search as searching
from winnowd.store.search import Answer, search


@pytest.fixture
def db() -> sqlite3.Connection:
    return catalogues.empty()


def answer(db: sqlite3.Connection, typed: str, limit: int = 20, **filters: Any) -> Answer:
    return search(db, replace(parse([typed]), filters=Filters(**filters)), limit)


def paths(db: sqlite3.Connection, typed: str, **filters: Any) -> list[str]:
    return sorted(hit.path.removeprefix("/share/") for hit in answer(db, typed, **filters).hits)


def one(db: sqlite3.Connection, typed: str) -> Hit:
    (hit,) = answer(db, typed).hits
    return hit


# What is found


def test_a_passage_is_shown_with_its_page_heading_and_snippet(db: sqlite3.Connection) -> None:
    text = Text("All boats report to the Harbour master.", "Rules > Arrival", 3, "iv")
    add_document(db, "port/rules.pdf", [Text("Preface", None, 0, "i"), text], title="Port rules", format="pdf")
    hit = one(db, "harbour")
    assert (hit.path, hit.paths, hit.title) == ("/share/port/rules.pdf", ("/share/port/rules.pdf",), "Port rules")
    assert (hit.page_index, hit.page_label, hit.heading_path) == (3, "iv", "Rules > Arrival")
    assert hit.snippet == "All boats report to the [Harbour] master."
    assert (hit.format, hit.state) == ("pdf", "indexed")
    assert hit.score > 0


def test_a_document_is_one_hit_with_its_best_passage(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["Of cranes and much else, at length and in detail, and of locks.", "Cranes, cranes, cranes."])
    assert one(db, "cranes").snippet == "[Cranes], [cranes], [cranes]."


def test_every_word_must_occur(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["tide and current"])
    add_document(db, "b.txt", ["tide and wind"])
    assert paths(db, "tide") == ["a.txt", "b.txt"]
    assert paths(db, "tide current") == ["a.txt"]
    assert paths(db, "tide crane") == []


def test_words_may_be_spread_over_text_title_author_and_folder(db: sqlite3.Connection) -> None:
    add_document(db, "lighthouses/a.txt", ["the tide", "the current"], title="Almanac", author="Ada Keeper")
    add_document(db, "b.txt", ["the tide"], title="Handbook")
    assert paths(db, "tide current") == ["lighthouses/a.txt"]
    assert paths(db, "tide almanac keeper lighthouses") == ["lighthouses/a.txt"]
    assert paths(db, "tide handbook keeper") == []


def test_the_passage_with_the_rarest_word_is_shown_when_words_are_spread(db: sqlite3.Connection) -> None:
    for number in range(20):
        add_document(db, f"{number}.txt", ["the tide"])
    add_document(db, "a.txt", ["the tide", "a rare saxifrage"])
    assert one(db, "tide saxifrage").snippet == "a rare [saxifrage]"


def test_a_file_is_found_by_its_name_whatever_its_state(db: sqlite3.Connection) -> None:
    for state in ("pending", "failed", "skipped", "rejected", "gone"):
        add_file(db, f"{state}/Fahrplan-2026.pdf", state=state, format="pdf")
    hits = answer(db, "fahrplan").hits
    assert {hit.state for hit in hits} == {"pending", "failed", "skipped", "rejected", "gone"}
    assert {(hit.digest, hit.page_index, hit.page_label, hit.heading_path, hit.snippet) for hit in hits} == {(None,) * 5}
    assert {hit.title for hit in hits} == {"Fahrplan-2026.pdf"}


def test_a_name_that_belongs_to_a_document_leads_to_that_document(db: sqlite3.Connection) -> None:
    add_document(db, "Fahrplan.txt", ["The ferry leaves at noon."])
    hit = one(db, "fahrplan")
    assert hit.digest is not None
    assert hit.snippet is None
    assert one(db, "fahrplan ferry").snippet == "The [ferry] leaves at noon."


def test_text_stands_above_names(db: sqlite3.Connection) -> None:
    add_file(db, "ferry.pdf")
    add_document(db, "ferry/plan.txt", ["nothing of it"])
    add_document(db, "a.txt", ["the ferry and many other words beside it, and more of them"])
    hits = answer(db, "ferry").hits
    assert [hit.path.removeprefix("/share/") for hit in hits] == ["a.txt", "ferry/plan.txt", "ferry.pdf"]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_all_words_in_one_passage_stand_above_words_far_apart(db: sqlite3.Connection) -> None:
    add_document(db, "near.txt", ["tide and current, with a long tail of other words that make the passage weigh less"])
    add_document(db, "far.txt", ["tide", "current"])
    add_document(db, "other.txt", ["nothing"])
    hits = answer(db, "tide current").hits
    assert [hit.path for hit in hits] == ["/share/near.txt", "/share/far.txt"]
    assert hits[0].score > hits[1].score > 0


def test_a_word_in_a_heading_weighs_more_than_in_the_text(db: sqlite3.Connection) -> None:
    add_document(db, "text.txt", [Text("the dredging of the port goes on", "Works")])
    add_document(db, "heading.txt", [Text("the work of the port goes on", "Dredging")])
    for number in range(5):
        add_document(db, f"{number}.txt", ["nothing of it"])
    assert [hit.path for hit in answer(db, "dredging").hits] == ["/share/heading.txt", "/share/text.txt"]


def test_withheld_text_is_not_found(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["good page", Text("garbled page", withheld=True)], state="review")
    assert paths(db, "good") == ["a.txt"]
    assert paths(db, "garbled") == []


def test_a_document_to_which_no_path_leads_is_not_shown(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["tide"])
    db.execute("DELETE FROM files")
    assert answer(db, "tide").hits == ()


# How it is asked


def query_syntax(db: sqlite3.Connection) -> None:
    add_document(db, "orders.txt", ["Our four-part plan names invoice KX-20417 and clause 7.12 of the contract."])
    add_document(db, "shell.txt", ["They won't stop; F# and C++ are used, and tree::walk too. Try it with --dry-run-all."])
    add_document(db, "plain.txt", ["A part of the plan in four steps. AND, OR and NOT are words here, near the end."])
    add_document(db, "post.txt", ["Send it to desk@example.net or look into notes/minutes/2025 (final)."])


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("four-part", "orders.txt"),
        ("KX-20417", "orders.txt"),
        ("kx-20417", "orders.txt"),
        ("7.12", "orders.txt"),
        ("won't", "shell.txt"),
        ("won’t", "shell.txt"),
        ("tree::walk", "shell.txt"),
        ("--dry-run-all", "shell.txt"),
        ('"--dry-run-all"', "shell.txt"),
        ("desk@example.net", "post.txt"),
        ("notes/minutes", "post.txt"),
        ("(final)", "post.txt"),
        ("C++ tree", "shell.txt"),
        ("NOT steps", "plain.txt"),
        ('"four steps"', "plain.txt"),
    ],
)
def test_what_is_typed_is_text_and_its_parts_stay_together(db: sqlite3.Connection, typed: str, expected: str) -> None:
    query_syntax(db)
    assert paths(db, typed) == [expected]


@pytest.mark.parametrize(
    "typed",
    [
        *(
            '"unbalanced',
            "AND",
            "OR NOT",
            "NEAR(",
            "*",
            "-",
            '""',
            "",
            "   ",
            "^",
            "a:b:c",
            "title:",
            "{",
            "part AND",
            "\0",
            "%",
        ),
        *(
            "SELECT * FROM docs; --",
            "“smart quotes”",
            "(" * 60,
            "a " * 1000,
            "😀",
            'a"b',
            "heading_path : x",
            "NOT",
            "+",
            "\udcff",
        ),
    ],
)
def test_whatever_is_typed_gives_an_answer(db: sqlite3.Connection, typed: str) -> None:
    query_syntax(db)
    assert isinstance(answer(db, typed), Answer)


def test_a_thousand_different_words_give_an_answer(db: sqlite3.Connection) -> None:
    words = [f"w{number}" for number in range(1000)]
    add_document(db, "a.txt", [" ".join(words[:600]), " ".join(words[600:])])
    assert paths(db, " ".join(words)) == ["a.txt"]
    assert paths(db, " ".join([*words, "missing"])) == []


def test_or_finds_either_and_the_rest_must_still_occur(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["tide north"])
    add_document(db, "b.txt", ["current north"])
    add_document(db, "c.txt", ["current south"])
    assert paths(db, "tide OR current north") == ["a.txt", "b.txt"]


def test_a_star_finds_what_begins_so(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["harbours"])
    assert paths(db, "harb*") == ["a.txt"]
    assert paths(db, "h*") == ["a.txt"]
    assert paths(db, "harb") == []
    assert one(db, "harb*").snippet == "[harbours]"


def test_a_minus_excludes_the_document_wherever_the_word_stands(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["harbour"])
    add_document(db, "b.txt", ["harbour", "draft"])
    add_document(db, "c.txt", ["harbour"], title="A draft")
    add_document(db, "draft/d.txt", ["harbour"])
    add_file(db, "harbour-draft.pdf")
    add_file(db, "harbour.pdf")
    assert paths(db, "harbour -draft") == ["a.txt", "harbour.pdf"]
    add_document(db, "e.txt", ["harbour", "crane"])
    add_document(db, "f.txt", ["harbour", "crane", "draft"])
    assert paths(db, "harbour crane -draft") == ["e.txt"]


def test_case_and_composition_do_not_matter(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["Die Übersicht im Café"])
    for typed in ("übersicht", "ÜBERSICHT", "ubersicht", unicodedata.normalize("NFD", "Übersicht Café")):
        assert paths(db, typed) == ["a.txt"]
    assert one(db, "cafe").snippet == "Die Übersicht im [Café]"


def test_words_of_scripts_without_blanks_are_found_inside_a_sentence(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["我们在港口工作，每天都很忙。参见gen-itgc中文说明。"])
    add_document(db, "报告/年度.pdf", ["nothing"])
    add_document(db, "b.txt", ["x"], title="東京の港")
    assert paths(db, "港口") == ["a.txt"]
    assert paths(db, "口港") == []
    assert paths(db, "gen-itgc中文") == ["a.txt"]
    assert paths(db, "itgc") == ["a.txt"]
    assert paths(db, "年度 报告") == ["报告/年度.pdf"]
    assert paths(db, "東京") == ["b.txt"]
    assert one(db, "港口").snippet == "我们在[港口]工作，每天都很忙。参见gen-itgc中文说明。"
    assert one(db, "itgc中文").snippet == "我们在港口工作，每天都很忙。参见gen-[itgc中文]说明。"


# Filters


def test_a_folder_holds_what_lies_below_it_and_nothing_that_only_begins_so(db: sqlite3.Connection) -> None:
    add_root(db, "/share2")
    for path in ("port/a.txt", "port/deep/b.txt", "portside/c.txt", "d.txt"):
        add_document(db, path, ["tide"])
    add_file(db, "port/tide.pdf")
    add_file(db, "tide.pdf", root_id=2)
    assert paths(db, "tide", under=b"/share/port") == ["port/a.txt", "port/deep/b.txt", "port/tide.pdf"]
    assert paths(db, "tide", under=b"/share/port/deep/") == ["port/deep/b.txt"]
    assert len(paths(db, "tide", under=b"/share")) == 5
    assert len(paths(db, "tide", under=b"/")) == 6
    assert paths(db, "tide", under=b"/elsewhere") == []
    assert paths(db, "tide", under=b"/sha") == []


def test_a_folder_that_is_not_utf8_is_a_folder_too(db: sqlite3.Connection) -> None:
    add_document(db, b"\xfcber/a.txt", ["tide"])
    add_document(db, b"b.txt".decode(), ["tide"])
    assert paths(db, "tide", under=b"/share/\xfcber") == [r"\xfcber/a.txt"]


def test_format_language_and_time_narrow_the_answer(db: sqlite3.Connection) -> None:
    add_document(db, "a.pdf", ["tide"], format="pdf", language="en-GB", mtime_ns=NOON_2026)
    add_document(db, "b.txt", ["tide"], language="de", mtime_ns=NOON_2026 + 40 * DAY)
    add_file(db, "tide.pdf", format="pdf", mtime_ns=NOON_2026 - 400 * DAY)
    assert paths(db, "tide", format="PDF") == ["a.pdf", "tide.pdf"]
    assert paths(db, "tide", language="en") == ["a.pdf"]
    assert paths(db, "tide", language="e") == []
    assert paths(db, "tide", since=first_day("2026-02")) == ["b.txt"]
    assert paths(db, "tide", since=first_day("2026"), before=day_after("2026-01")) == ["a.pdf"]
    assert paths(db, "tide", before=day_after("2025")) == ["tide.pdf"]
    assert paths(db, "tide", since=first_day("0001"), before=first_day("9999")) == ["a.pdf", "b.txt", "tide.pdf"]


def test_filters_hold_for_words_that_are_spread_too(db: sqlite3.Connection) -> None:
    add_document(db, "a.pdf", ["tide", "current"], format="pdf")
    add_document(db, "b.txt", ["tide", "current"])
    assert paths(db, "tide current", format="pdf") == ["a.pdf"]


# Paths


def test_all_paths_of_a_content_are_shown_the_newest_first(db: sqlite3.Connection) -> None:
    document = add_document(db, "a.txt", ["tide"], mtime_ns=NOON_2026)
    add_file(db, "copy/b.txt", state="indexed", document_id=document, mtime_ns=NOON_2026 + DAY)
    add_file(db, "gone/c.txt", state="gone", document_id=document, mtime_ns=NOON_2026 + 2 * DAY)
    hit = one(db, "tide")
    assert hit.paths == ("/share/copy/b.txt", "/share/a.txt", "/share/gone/c.txt")
    assert (hit.path, hit.state) == ("/share/copy/b.txt", "indexed")


def test_the_path_that_was_asked_for_comes_first(db: sqlite3.Connection) -> None:
    document = add_document(db, "old/a.txt", ["tide"], mtime_ns=NOON_2026)
    add_file(db, "new/b.txt", state="indexed", document_id=document, mtime_ns=NOON_2026 + DAY)
    assert one(db, "tide old").path == "/share/old/a.txt"
    (hit,) = answer(db, "tide", under=b"/share/old").hits
    assert hit.path == "/share/old/a.txt"


def test_paths_are_exact_and_undecodable_bytes_are_written_out(db: sqlite3.Connection) -> None:
    add_document(db, b"\xfcber/n\xe4me.txt", ["saxifrage"])
    add_document(db, "U\u0308ber\nsicht [1].txt", ["juniper"])
    assert one(db, "saxifrage").path == r"/share/\xfcber/n\xe4me.txt"
    assert one(db, "saxifrage").title == r"n\xe4me.txt"
    assert one(db, "juniper").path == "/share/U\u0308ber\nsicht [1].txt"
    assert one(db, "juniper").title == "U\u0308ber sicht [1].txt"


# Raw FTS5


def test_raw_fts5_is_passed_on(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", [Text("tide and current", "Almanac")])
    add_document(db, "b.txt", ["current and tide"])
    found = search(db, Query(raw="NEAR(tide current, 2) NOT heading_path : almanac"), 20)
    assert [hit.path for hit in found.hits] == ["/share/b.txt"]
    assert found.hits[0].snippet == "[current] and [tide]"
    assert found.total == 1


def test_raw_fts5_finds_letters_and_shows_the_original_text(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["我们在港口工作"])
    (hit,) = search(db, Query(raw='cjk : "港 口"'), 20).hits
    assert hit.snippet == "我们在[港][口]工作"


@pytest.mark.parametrize("raw", ['"', "AND", "nothere : x", "a NEAR(", "(", "*x", "a\0 (", "{a b} :"])
def test_what_fts5_refuses_is_one_clear_line(db: sqlite3.Connection, raw: str) -> None:
    with pytest.raises(UsageError, match=r"^FTS5 does not understand this query: .+") as caught:
        search(db, Query(raw=raw), 20)
    assert "\n" not in str(caught.value)


def test_empty_raw_fts5_finds_nothing(db: sqlite3.Connection) -> None:
    assert search(db, Query(raw="  "), 20) == Answer()


# Bounds


def test_only_the_newest_passages_are_ranked_and_the_answer_says_so(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "RANKED", 5)
    for number in range(12):
        add_document(db, f"{number}.txt", ["tide"])
    found = answer(db, "tide", limit=3)
    assert found.cut == "the newest 5 of about 12 passages were ranked"
    assert {hit.path for hit in found.hits} <= {f"/share/{number}.txt" for number in range(7, 12)}
    assert found.total is None
    assert answer(db, "tide", limit=3, format="text").cut == "only the newest 5 of the passages found were looked at"


def test_documents_behind_the_newest_passages_are_found_when_more_are_asked_for(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "RANKED", 5)
    add_document(db, "old.txt", ["tide"])
    add_document(db, "long.txt", ["tide"] * 30)
    found = answer(db, "tide")
    assert [hit.path for hit in found.hits] == ["/share/long.txt", "/share/old.txt"]
    assert found.total == 2


def test_no_more_hits_than_asked_for_and_the_number_of_all_where_it_is_known(db: sqlite3.Connection) -> None:
    for number in range(4):
        add_document(db, f"{number}.txt", ["tide"])
    add_file(db, "tide.pdf")
    assert len(answer(db, "tide", limit=2).hits) == 2
    assert answer(db, "tide", limit=2).total is None
    assert answer(db, "tide").total == 5
    assert answer(db, "tide", limit=0) == Answer()


def test_a_search_that_takes_too_long_says_that_it_was_stopped(db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    document = add_document(db, "a.txt", ["tide"])
    files = [(number, json.dumps(number), document) for number in range(10, 20_000)]
    db.executemany(
        "INSERT INTO files (id, root_id, directory, name, label, document_id, state) VALUES (?1, 1, '', ?2, ?2, ?3, 'gone')",
        files,
    )
    monkeypatch.setattr(searching, "SECONDS", -1.0)
    found = answer(db, "tide", format="pdf")
    assert found.hits == ()
    assert found.cut is not None
    assert found.cut.startswith("the search was stopped after")
    assert found.total is None


def test_a_search_leaves_no_transaction_and_no_time_limit_behind(db: sqlite3.Connection) -> None:
    db.commit()
    add_document(db, "a.txt", ["tide"])
    db.commit()
    answer(db, "tide")
    assert not db.in_transaction


# Snippets


def test_marks_are_as_asked_and_control_characters_are_gone(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["the \x1b[31m tide\u202e\n and\tmore\x07"], title="Red\x1b[0m")
    (hit,) = search(db, parse(["tide"]), 20, ("\x1b[1m", "\x1b[0m")).hits
    assert hit.snippet == "the [31m \x1b[1mtide\x1b[0m and more"
    assert hit.title == "Red [0m"


def test_a_snippet_is_about_two_lines_where_most_words_stand(db: sqlite3.Connection) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    add_document(db, "a.txt", [f"tide {words} tide and current {words}"])
    snippet = one(db, "tide current").snippet
    assert snippet is not None
    assert "[tide] and [current]" in snippet
    assert snippet.startswith("…word")
    assert snippet.endswith("…")
    assert len(snippet) < 220


def test_a_passage_of_one_endless_word_is_cut_too(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", ["x" * 100_000 + " tide " + "y" * 100_000])
    snippet = one(db, "tide").snippet
    assert snippet is not None
    assert "[tide]" in snippet
    assert len(snippet) < 300
    (hit,) = search(db, Query(raw="tide"), 20).hits
    assert hit.snippet is not None
    assert len(hit.snippet) < 400


def test_a_hit_in_the_heading_alone_shows_how_the_passage_begins(db: sqlite3.Connection) -> None:
    add_document(db, "a.txt", [Text("Boats report here.", "Arrival")])
    assert one(db, "arrival").snippet == "Boats report here."
