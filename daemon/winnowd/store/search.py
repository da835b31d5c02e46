"""Which documents answer a query, the best first, in a time that does not grow with how common its words are.

Hides the two steps. First, all words in one passage: the newest such passages are found, and only they are ranked. Then, only
when that gave too few: documents with the words spread over their passages, title, author and names, the rarest word leading.
At last come files that have no document, by their names. Nothing here touches every match of a common word but to count it.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import log

from winnowd.errors import UsageError
from winnowd.model import Hit
from winnowd.query import Query, Term, all_of, any_of, has_short_prefix, terms
from winnowd.store import filters
from winnowd.store.filters import FITS
from winnowd.store.hits import NOTHING, Ask, Found, hit
from winnowd.store.index import SHIFT, span

RANKED = 500  # passages: enough to find the best page of what is new, and 13 ms where half of 200,000 passages match
SPREAD = 200  # documents of the second step that are looked at more closely, unless more are asked for
RANKED_WORDS = 32  # bm25 counts every word of the query over the whole index; with more words than this, order means little
SEEKS = 100  # so few documents are asked one by one; more are met faster by reading all matches of a word
RARE = 20_000  # counting stops here: it only decides which word leads
SECONDS = 4.0  # for each step
STOPPED = f"the search was stopped after {SECONDS:.0f} seconds; there may be more"
WEIGHTS = "1.0, 4.0, 1.0"  # text, heading path, cjk: a word in a heading says what the passage is about

Group = tuple[Term, ...]

_HOLDING = """
    SELECT rowid >> 16 FROM passages_fts WHERE passages_fts MATCH :expression
    UNION SELECT rowid FROM documents_fts WHERE documents_fts MATCH :expression
    UNION SELECT f.document_id FROM files_fts n JOIN files f ON f.id = n.rowid
          WHERE files_fts MATCH :expression AND f.document_id IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found. `cut` is a sentence where not everything was ranked or looked at, `total` None where nobody counted."""

    hits: tuple[Hit, ...] = ()
    cut: str | None = None
    total: int | None = 0


@dataclass(frozen=True, slots=True)
class _Step:
    """What a step found, best first; the sentence that says where it was cut; how many there are, None where nobody counted."""

    found: tuple[Found, ...] = ()
    cut: str | None = None
    total: int | None = None


def search(db: sqlite3.Connection, query: Query, limit: int, marks: tuple[str, str] = ("[", "]")) -> Answer:
    """At most `limit` hits for `query`, best first, one per document, with `marks` round the matches of a snippet.

    A document is a hit when each group of the query is met somewhere in its searchable text, title, authors, file names or
    folders, and none of `without` is. Its snippet is None where no passage holds any of the words. A file that has no
    document (yet) is a hit by its name alone: digest, page, heading path and snippet are None. A higher score is better; what
    was found by name or title alone has 0. Raises UsageError where `query.raw` is no FTS5.
    """
    ask = _ask(db, query, limit)
    if not ask.wanted or limit < 1:
        return Answer()
    with _one_state(db):
        return _answer(db, ask, marks)


def _answer(db: sqlite3.Connection, ask: Ask, marks: tuple[str, str]) -> Answer:
    first = _in_one_passage(db, ask)
    second = third = _Step(total=0 if ask.query.raw is not None and first.cut is None else None)
    if ask.query.raw is None and len(first.found) < ask.limit:
        second = _spread_over_document(db, ask, first.found)
        third = _by_name_alone(db, ask)
    found = (*first.found, *second.found, *third.found)
    hits = (hit(db, ask, one, marks) for one in found[: ask.limit])
    total = None if None in (second.total, third.total) else len(first.found) + (second.total or 0) + (third.total or 0)
    return Answer(tuple(one for one in hits if one is not None), first.cut or second.cut or third.cut, total)


def _ask(db: sqlite3.Connection, query: Query, limit: int) -> Ask:
    wanted = all_of(query.groups) if query.raw is None else query.raw.replace("\0", " ").strip()
    either = wanted if query.raw is not None else any_of(terms(query))
    unwanted = any_of(query.without) if query.without else NOTHING
    return Ask(query, wanted, either, unwanted, limit, filters.values(db, query.filters))


# Step one: all words in one passage


def _in_one_passage(db: sqlite3.Connection, ask: Ask) -> _Step:
    rows, cut = _newest_passages(db, ask)
    best: dict[int, Found] = {}
    for row, score in _ranked(db, ask, rows):
        document = row >> SHIFT
        if document not in best or score > best[document].score:
            best[document] = Found(document, score, row)
    return _Step(tuple(sorted(best.values(), key=lambda one: one.score, reverse=True)), cut)


def _newest_passages(db: sqlite3.Connection, ask: Ask) -> tuple[list[int], str | None]:
    """The ids of the newest passages with all words, newest first; and the sentence that says so where there are more."""
    statement = f"""
        SELECT rowid FROM passages_fts WHERE passages_fts MATCH :wanted
        AND (NOT :excluding OR rowid >> 16 NOT IN ({_HOLDING}))
        AND (NOT :filtered OR EXISTS (
            SELECT 1 FROM files f JOIN documents d ON d.id = f.document_id
            WHERE f.document_id = passages_fts.rowid >> 16 AND {FITS}))
        ORDER BY rowid DESC LIMIT {RANKED + 1}"""
    values = {**ask.filter, "wanted": ask.wanted, "expression": ask.unwanted, "excluding": bool(ask.query.without)}
    rows: list[int] = []
    with _time_limit(db), _fts5_errors(ask.query):
        try:
            rows.extend(row[0] for row in db.execute(statement, values))
        except sqlite3.OperationalError as error:
            return rows, _late(error)
    return rows[:RANKED], _cut_sentence(db, ask) if len(rows) > RANKED else None


def _cut_sentence(db: sqlite3.Connection, ask: Ask) -> str:
    if ask.query.without or ask.filter["filtered"] or has_short_prefix(terms(ask.query)):
        return f"only the newest {RANKED} of the passages found were looked at"
    with _time_limit(db), suppress(sqlite3.OperationalError):
        counted = db.execute("SELECT count(*) FROM passages_fts WHERE passages_fts MATCH ?", (ask.wanted,)).fetchone()[0]
        about = round(counted, 2 - len(str(counted)))
        return f"the newest {RANKED} of about {about:,} passages were ranked"
    return f"only the newest {RANKED} of very many passages were ranked"


def _ranked(db: sqlite3.Connection, ask: Ask, rows: Sequence[int]) -> Iterable[tuple[int, float]]:
    """The passages with their scores, all the same where ranking them would take too long."""
    even = [(row, 1.0) for row in rows]
    if not rows or len(ask.query.groups) > RANKED_WORDS or has_short_prefix(terms(ask.query)):
        return even
    statement = f"""
        SELECT rowid, -bm25(passages_fts, {WEIGHTS}) FROM passages_fts
        WHERE passages_fts MATCH :wanted AND rowid BETWEEN :lowest AND :highest
        AND +rowid IN (SELECT value FROM json_each(:rows)) ORDER BY rowid DESC"""
    values = {"wanted": ask.wanted, "lowest": min(rows), "highest": max(rows), "rows": json.dumps(rows)}
    with _time_limit(db):
        try:
            return [(row[0], row[1]) for row in db.execute(statement, values)]
        except sqlite3.OperationalError as error:
            _late(error)
            return even


# Step two: the words spread over a document


def _spread_over_document(db: sqlite3.Connection, ask: Ask, already: Sequence[Found]) -> _Step:
    known = {one.document_id for one in already}
    floor = min((one.score for one in already), default=1.0)
    with _time_limit(db) as late:
        try:
            weights = _weights(db, ask.query)
            documents = [one for one in _documents(db, ask, weights, late) if one not in known]
            newest = documents[: max(SPREAD, ask.limit)]
            found = [Found(one) if late() else _best_passage(db, one, weights, floor) for one in newest]
        except sqlite3.OperationalError as error:
            return _Step((), _late(error), None)
    found.sort(key=lambda one: one.score, reverse=True)
    return _Step(tuple(found), STOPPED if late() else None, None if late() else len(documents))


def _weights(db: sqlite3.Connection, query: Query) -> dict[Group, float]:
    """The groups of the query, the rarest first, with the weight of each: what one occurrence says (inverse frequency)."""
    statement = "SELECT count(*) FROM (SELECT 1 FROM passages_fts WHERE passages_fts MATCH ? LIMIT ?)"
    counts = {group: db.execute(statement, (any_of(group), RARE)).fetchone()[0] for group in query.groups}
    return {group: log(1 + RARE / (1 + counts[group])) for group in sorted(counts, key=counts.__getitem__)}


def _documents(db: sqlite3.Connection, ask: Ask, groups: Iterable[Group], late: Callable[[], bool]) -> list[int]:
    """The documents that meet the whole query, the newest first; none where the time is over before that is known."""
    among: set[int] | None = None
    for group in groups:
        among = set() if late() else _holding(db, group, among)
        if not among:
            return []
    assert among is not None
    if ask.query.without:
        among -= _holding(db, ask.query.without, among)
    statement = f"""
        SELECT value FROM json_each(:among) WHERE EXISTS (
            SELECT 1 FROM files f JOIN documents d ON d.id = f.document_id WHERE f.document_id = value AND {FITS})"""
    rows = db.execute(statement, {**ask.filter, "among": json.dumps(sorted(among, reverse=True))})
    return [row[0] for row in rows]


def _holding(db: sqlite3.Connection, group: Group, among: set[int] | None) -> set[int]:
    """Those documents (of `among`, or of all) that hold one of the terms, wherever it is."""
    if among is not None and len(among) <= SEEKS and not has_short_prefix(group):
        return {one for one in among if _holds(db, any_of(group), one)}
    found = {row[0] for row in db.execute(_HOLDING, {"expression": any_of(group)})}
    return found if among is None else among & found


def _holds(db: sqlite3.Connection, expression: str, document_id: int) -> bool:
    statement = """
        SELECT EXISTS (SELECT 1 FROM passages_fts WHERE passages_fts MATCH :wanted AND rowid BETWEEN :first AND :last)
        OR EXISTS (SELECT 1 FROM documents_fts WHERE documents_fts MATCH :wanted AND rowid = :id)
        OR EXISTS (SELECT 1 FROM files_fts WHERE files_fts MATCH :wanted
                   AND rowid IN (SELECT id FROM files WHERE document_id = :id))"""
    first, last = span(document_id)
    values = {"wanted": expression, "first": first, "last": last, "id": document_id}
    return bool(db.execute(statement, values).fetchone()[0])


def _best_passage(db: sqlite3.Connection, document_id: int, weights: dict[Group, float], floor: float) -> Found:
    """The document with the passage that holds the most telling words; its score is below `floor`, 0 without a passage.

    bm25 is not asked here: it would count all words over the whole index once for each document.
    """
    statement = "SELECT rowid FROM passages_fts WHERE passages_fts MATCH ? AND rowid BETWEEN ? AND ?"
    telling = [group for group in weights if not has_short_prefix(group)]
    shares: dict[int, float] = {}
    for group in telling[:RANKED_WORDS]:
        for row in db.execute(statement, (any_of(group), *span(document_id))):
            shares[row[0]] = shares.get(row[0], 0.0) + weights[group]
    if not shares:
        return Found(document_id)
    best = max(shares, key=lambda row: (shares[row], -row))
    return Found(document_id, floor * shares[best] / (1 + sum(weights.values())), best)


# Step three: files without a document


def _by_name_alone(db: sqlite3.Connection, ask: Ask) -> _Step:
    statement = f"""
        SELECT f.id FROM files_fts JOIN files f ON f.id = files_fts.rowid LEFT JOIN documents d ON d.id = f.document_id
        WHERE files_fts MATCH :wanted AND f.document_id IS NULL AND {FITS}
        ORDER BY files_fts.rowid DESC LIMIT :limit + 1"""
    wanted = f"({ask.wanted}) NOT {ask.unwanted}"
    with _time_limit(db):
        try:
            rows = [row[0] for row in db.execute(statement, {**ask.filter, "wanted": wanted, "limit": ask.limit})]
        except sqlite3.OperationalError as error:
            return _Step((), _late(error), None)
    return _Step(tuple(Found(None, file_id=row) for row in rows), None, len(rows) if len(rows) <= ask.limit else None)


# Time and errors


@contextmanager
def _one_state(db: sqlite3.Connection) -> Iterator[None]:
    """All statements see the same catalogue, whatever is written meanwhile."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


@contextmanager
def _time_limit(db: sqlite3.Connection) -> Iterator[Callable[[], bool]]:
    """Interrupts statements that still run after SECONDS; yields what tells loops of short ones whether the time is over."""
    deadline = time.monotonic() + SECONDS

    def late() -> bool:
        return time.monotonic() > deadline

    db.set_progress_handler(late, 10_000)
    try:
        yield late
    finally:
        db.set_progress_handler(None, 0)


def _late(error: sqlite3.OperationalError) -> str:
    """The sentence for an answer that the time limit cut. Any other error is raised again."""
    if error.sqlite_errorname != "SQLITE_INTERRUPT":
        raise error
    return STOPPED


@contextmanager
def _fts5_errors(query: Query) -> Iterator[None]:
    """Turns what FTS5 says about a raw query into a UsageError. What is made here from words is never refused."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if query.raw is None or error.sqlite_errorname != "SQLITE_ERROR":
            raise
        raise UsageError(f"FTS5 does not understand this query: {str(error).removeprefix('fts5: ')}") from error
