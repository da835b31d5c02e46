import sqlite3
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnowd.errors import UsageError
from winnowd.query import Query, Term, all_of, any_of, day_after, first_day, has_short_prefix, parse, terms, tokens


def groups(*words: str, literal: tuple[str, ...] = ()) -> list[list[str]]:
    return [[term.text for term in group] for group in parse(words, literal).groups]


def without(*words: str) -> list[str]:
    return [term.text for term in parse(words).without]


def test_words_and_phrases_must_all_occur() -> None:
    assert groups("tide", 'table "harbour master" x') == [["tide"], ["table"], ["harbour master"], ["x"]]


def test_it_does_not_matter_how_the_shell_cut_the_words() -> None:
    assert parse(["a b", "OR", "c"]) == parse(["a", "b OR c"])


def test_a_word_typed_twice_is_one_word() -> None:
    assert groups(*["tide"] * 1000) == [["tide"]]


@pytest.mark.parametrize("quoted", ["“harbour master”", "„harbour master“", "«harbour master»", '"harbour master”'])
def test_every_kind_of_quote_makes_a_phrase(quoted: str) -> None:
    assert groups(quoted) == [["harbour master"]]


def test_a_quote_that_is_never_closed_and_one_inside_a_word_are_nothing() -> None:
    assert groups('"harbour master') == [["harbour"], ["master"]]
    assert groups('a"b') == [["a b"]]
    assert groups('5" pipe 6"') == [["5"], ["pipe"], ["6"]]


def test_or_in_capitals_joins_its_two_neighbours() -> None:
    assert groups("a OR b c") == [["a", "b"], ["c"]]
    assert groups("a OR b OR c") == [["a", "b", "c"]]
    assert groups("a or b") == [["a"], ["or"], ["b"]]


def test_an_or_without_two_neighbours_is_a_word() -> None:
    assert groups("OR NOT") == [["OR"], ["NOT"]]
    assert groups("a OR") == [["a"], ["OR"]]
    assert groups("a OR OR b") == [["a", "OR"], ["b"]]
    assert groups("a OR -b c") == [["a"], ["OR"], ["c"]]
    assert groups('"OR" a') == [["OR"], ["a"]]


def test_a_minus_excludes_beside_something_positive() -> None:
    assert groups("harbour -draft") == [["harbour"]]
    assert without("harbour -draft") == ["draft"]
    assert without('-"first draft" harbour') == ["first draft"]
    assert groups("-draft") == [["draft"]]
    assert without("-draft -old") == []
    assert groups("*** -draft") == [["draft"]]


def test_two_minus_signs_and_a_lone_one_are_text() -> None:
    assert groups("x --error-on-warnings") == [["x"], ["--error-on-warnings"]]
    assert groups("-", "x") == [["x"]]
    assert groups("multi-agent") == [["multi-agent"]]


def test_behind_a_lone_double_minus_nothing_has_a_meaning() -> None:
    query = parse(["harbour"], ["-draft", "OR", "tide*"])
    assert query.without == ()
    assert query.groups == ((Term("harbour"),), (Term("-draft"),), (Term("OR"),), (Term("tide*"),))


def test_a_star_behind_a_word_means_what_begins_so() -> None:
    assert parse(["harb*"]).groups == ((Term("harb", prefix=True),),)
    assert parse(['"port auth"*']).groups == ((Term("port auth", prefix=True),),)
    assert parse(["x", "-harb*"]).without == (Term("harb", prefix=True),)
    assert parse(["*bour", "a*b", "C++*"]).groups == ((Term("*bour"),), (Term("a*b"),), (Term("C++*"),))


@pytest.mark.parametrize("typed", ["", "   ", "***", "-", '""', "^", "{", "%", "\0", "😀", "(" * 60, "— … “”"])
def test_signs_alone_ask_for_nothing(typed: str) -> None:
    assert parse([typed]) == Query()


def test_an_alternative_that_asks_for_nothing_leaves_the_other() -> None:
    assert groups("*** OR tide") == [["tide"]]


def test_letters_are_composed_and_copied_signs_unfolded() -> None:
    assert groups("Cafe\u0301") == [["Café"]]
    assert groups("in\u00adfor\u200bmation", "o\ufb03ce") == [["information"], ["office"]]


def test_undecodable_bytes_of_the_command_line_do_no_harm() -> None:
    assert groups("\udcfcbersicht") == [["?bersicht"]]


def test_words_of_scripts_without_blanks_are_asked_for_as_letters() -> None:
    assert all_of(parse(["港口"]).groups) == '"港 口"'
    assert all_of(parse(["gen-itgc中文"]).groups) == '"gen-itgc 中 文"'
    assert all_of(parse(['"port of 東京"']).groups) == '("東 京" AND "port of")'
    assert all_of(parse(["港*", "ab中c*"]).groups) == '"港" AND "ab 中 c" *'


def test_the_tokens_of_a_term_are_those_of_the_index() -> None:
    assert tokens(Term("grammar::fa_x 38.101")) == ("grammar", "fa", "x", "38", "101")
    assert tokens(Term("ท่าเรือ")) == ("ท", "า", "เ", "ร", "อ")


def test_only_a_prefix_of_one_or_two_letters_is_short() -> None:
    assert has_short_prefix(terms(parse(["a*"])))
    assert has_short_prefix(terms(parse(["multi-ag*"])))
    assert not has_short_prefix(terms(parse(["age*", "a", "港*"])))


def test_nothing_to_choose_from_matches_nothing() -> None:
    assert any_of([]) == '""'


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("2026", date(2026, 1, 1), date(2027, 1, 1)),
        ("2024", date(2024, 1, 1), date(2025, 1, 1)),
        ("2026-02", date(2026, 2, 1), date(2026, 3, 1)),
        ("2026-12", date(2026, 12, 1), date(2027, 1, 1)),
        ("2024-02-28", date(2024, 2, 28), date(2024, 2, 29)),
        (" 2026-12-31 ", date(2026, 12, 31), date(2027, 1, 1)),
    ],
)
def test_a_date_covers_its_year_month_or_day(text: str, first: date, after: date) -> None:
    assert first_day(text) == first
    assert day_after(text) == after


@pytest.mark.parametrize(
    "text", ["", "26", "2026-13", "2026-00", "2026-02-30", "2026-1", "yesterday", "0000", "９９９９", "2026-01-00"]
)
@pytest.mark.parametrize("read", [first_day, day_after])
def test_what_is_no_date_is_one_clear_line(text: str, read: object) -> None:
    with pytest.raises(UsageError, match="is not a date: write YYYY, YYYY-MM or YYYY-MM-DD"):
        read(text)  # type: ignore[operator]


@pytest.mark.parametrize("text", ["9999", "9999-12", "9999-12-31"])
def test_the_end_of_the_calendar_is_no_crash(text: str) -> None:
    with pytest.raises(UsageError):
        day_after(text)


_TYPED = st.text(st.one_of(st.sampled_from('"-*()^:{}+ ORaé港“\0'), st.characters()), max_size=60)


@given(st.lists(_TYPED, max_size=5), st.lists(_TYPED, max_size=2))
def test_whatever_is_typed_is_never_refused_by_fts5(words: list[str], literal: list[str]) -> None:
    query = parse(words, literal)
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(text, cjk, tokenize='unicode61 remove_diacritics 2')")
    db.execute("INSERT INTO t VALUES ('a', '港')")
    for expression in (all_of(query.groups) or '""', any_of(query.without), any_of(terms(query))):
        db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).fetchone()
    has_short_prefix(terms(query))
