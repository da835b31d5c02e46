"""What a person typed into the search, made a record, and the record made FTS5 expressions.

Hides the grammar of FTS5: a person never meets it, for every word is quoted before it goes there. The grammar of a person is
words, "phrases", `OR` in capitals between two words, `word*` for what begins so, `-word` for what must not occur.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from winnowd import cjk
from winnowd.errors import UsageError


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase. With `prefix` its last word may go on."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    """What else must be true of a hit. A field that is None asks for nothing."""

    under: bytes | None = None  # absolute path of a folder, without a slash at its end
    format: str | None = None
    language: str | None = None  # "en" also finds "en-GB"
    since: date | None = None  # the file was modified on this day or later ...
    before: date | None = None  # ... and before this day


@dataclass(frozen=True, slots=True)
class Query:
    """One of the terms of every group must occur in a document, and none of `without`. `raw` is FTS5 and stands alone."""

    groups: tuple[tuple[Term, ...], ...] = ()
    without: tuple[Term, ...] = ()
    raw: str | None = None
    filters: Filters = Filters()


@dataclass(frozen=True, slots=True)
class _Piece:
    term: Term
    minus: bool = False
    may_join: bool = False  # the bare word OR


_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"') | {"\0": " "})
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")  # soft hyphen and friends, copied along with a word
_LIGATURES = re.compile("[\ufb00-\ufb06]")  # copied from a PDF; the stored text has them unfolded
_PIECE = re.compile(r'(?P<minus>-?)[(\[{]*"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<word>\S+)')
_TOKEN = re.compile(r"(?:[^\W_]|[\ue000-\uf8ff])+")  # as unicode61: letters, numbers and private signs
_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


def parse(words: Sequence[str], literal: Sequence[str] = ()) -> Query:
    """The query for the words of a command line; in `literal`, what stood behind a lone `--`, nothing has a meaning of its own.

    Words are joined with blanks first, so it does not matter how the shell cut them. Signs that cannot mean anything (a quote
    that is never closed, an `OR` at the end, `***`) are text or nothing; there is no error.

    >>> [[term.text for term in group] for group in parse(["tide", "OR", "current", '"harbour master"']).groups]
    [['tide', 'current'], ['harbour master']]
    >>> parse(["harb*", "-draft"]).without
    (Term(text='draft', prefix=False),)
    """
    pieces = [_piece(match) for match in _PIECE.finditer(_readable(" ".join(words)))]
    behind = [_Piece(Term(word)) for word in _readable(" ".join(literal)).split()]
    if not any(_means_something(piece.term) and not piece.minus for piece in (*pieces, *behind)):
        pieces = [_Piece(piece.term) for piece in pieces]
    groups = (*_groups(pieces), *([piece.term] for piece in behind))
    kept = (tuple(dict.fromkeys(filter(_means_something, group))) for group in groups)
    without = dict.fromkeys(piece.term for piece in pieces if piece.minus and _means_something(piece.term))
    return Query(tuple(dict.fromkeys(group for group in kept if group)), tuple(without))


def first_day(text: str) -> date:
    """The first day of what `--since` says: a year, a month or a day. UsageError for anything else.

    >>> first_day("2026-03")
    datetime.date(2026, 3, 1)
    """
    year, month, day = _date_parts(text)
    return _date(text, year, month or 1, day or 1)


def day_after(text: str) -> date:
    """The day after what `--until` says, so that a year, a month or a day is included whole. UsageError for anything else.

    >>> day_after("2026"), day_after("2026-12"), day_after("2026-02-28")
    (datetime.date(2027, 1, 1), datetime.date(2027, 1, 1), datetime.date(2026, 3, 1))
    """
    year, month, day = _date_parts(text)
    start = _date(text, year, month or 1, day or 1)
    try:
        if day:
            return start + timedelta(days=1)
        return (start + timedelta(days=31)).replace(day=1) if month else (start + timedelta(days=366)).replace(month=1, day=1)
    except OverflowError as error:
        raise _not_a_date(text) from error


def all_of(groups: Iterable[Iterable[Term]]) -> str:
    """The FTS5 expression that wants one term of each group; empty where there is no group.

    >>> all_of(parse(['a"b', "NEAR(", "x", "OR", "C++"]).groups)
    '"a b" AND "NEAR(" AND ("x" OR "C++")'
    """
    return " AND ".join(any_of(group) for group in groups)


def any_of(terms: Iterable[Term]) -> str:
    """The FTS5 expression that wants one of the terms; it matches nothing where there is none."""
    expressions = [_expression(term) for term in terms]
    joined = " OR ".join(expressions) or '""'
    return f"({joined})" if len(expressions) > 1 else joined


def tokens(term: Term) -> tuple[str, ...]:
    """The words of the term as the index cuts them; of scripts without blanks each letter is one.

    >>> tokens(Term("POL-358")), tokens(Term("港口"))
    (('POL', '358'), ('港', '口'))
    """
    return tuple(_TOKEN.findall(cjk.spaced(term.text) or term.text))


def terms(query: Query) -> tuple[Term, ...]:
    """All that a hit may show: the terms of its groups, or of raw FTS5 the words of scripts without blanks."""
    if query.raw is None:
        return tuple(term for group in query.groups for term in group)
    return tuple(Term(run) for run in re.findall(r"\w+", query.raw) if cjk.has_letters(run))


def has_short_prefix(asked: Iterable[Term]) -> bool:
    """Whether a term means all words that begin with one or two letters: the index has to gather very many each time."""
    return any(_ends_open(term) and len(tokens(term)[-1]) < 3 for term in asked)


def _readable(text: str) -> str:
    """As the stored text is written: composed, without invisible signs, with plain quotes, and fit for UTF-8."""
    text = text.encode("utf-8", "replace").decode()
    text = _INVISIBLE.sub("", text.translate(_QUOTES))
    return unicodedata.normalize("NFC", _LIGATURES.sub(lambda sign: unicodedata.normalize("NFKC", sign[0]), text))


def _piece(match: re.Match[str]) -> _Piece:
    if match["phrase"] is not None:
        return _Piece(Term(match["phrase"], prefix=bool(match["star"])), minus=bool(match["minus"]))
    word = match["word"]
    minus = len(word) > 1 and word[0] == "-" and word[1] != "-"
    text = word[1:] if minus else word
    prefix = text.endswith("*") and _TOKEN.fullmatch(text[-2:-1]) is not None
    return _Piece(Term(text.removesuffix("*") if prefix else text.replace('"', " ").strip(), prefix), minus, word == "OR")


def _groups(pieces: Sequence[_Piece]) -> list[list[Term]]:
    """The terms that must occur, those joined by OR in one group. An OR that does not stand between two of them is a word."""
    groups: list[list[Term]] = []
    joined = False
    for place, piece in enumerate(pieces):
        if piece.minus:
            continue
        if piece.may_join and not joined and _stands_between(pieces, place):
            joined = True
        elif joined:
            groups[-1].append(piece.term)
            joined = False
        else:
            groups.append([piece.term])
    return groups


def _stands_between(pieces: Sequence[_Piece], place: int) -> bool:
    return 0 < place < len(pieces) - 1 and not pieces[place - 1].minus and not pieces[place + 1].minus


def _means_something(term: Term) -> bool:
    return _TOKEN.search(term.text) is not None


def _expression(term: Term) -> str:
    """The term in FTS5. Words of scripts without blanks are asked for as letters, what stands around them as it is."""
    star = " *" if _ends_open(term) else ""
    spaced = cjk.spaced(term.text)
    if spaced is None:
        return f"{_quoted(term.text)}{star}"
    others = " ".join(run for run in term.text.split() if not cjk.has_letters(run))
    if not _TOKEN.search(others):
        return f"{_quoted(spaced)}{star}"
    return f"({_quoted(spaced)} AND {_quoted(others)})"


def _ends_open(term: Term) -> bool:
    """Whether the last word may go on; after a letter of a script without blanks anything may follow without a star."""
    return term.prefix and not cjk.has_letters(tokens(term)[-1])


def _quoted(text: str) -> str:
    """A string of FTS5 (https://sqlite.org/fts5.html#fts5_strings): in double quotes all signs are text but for these two."""
    return '"' + text.replace('"', " ").replace("\0", " ") + '"'


def _date_parts(text: str) -> tuple[int, int, int]:
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise _not_a_date(text)
    year, month, day = (int(part or 0) for part in match.groups())
    if "00" in match.groups()[1:]:
        raise _not_a_date(text)
    return year, month, day


def _date(text: str, year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise _not_a_date(text) from error


def _not_a_date(text: str) -> UsageError:
    return UsageError(f"{text!r} is not a date: write YYYY, YYYY-MM or YYYY-MM-DD")
