"""From what a search found to what it shows: the paths of a document, its title, its best passage cut to a snippet.

Hides how paths travel that are not UTF-8, and which of many copies is shown first.
"""

import os
import sqlite3
from dataclasses import dataclass, field, replace

from winnowd.model import Hit
from winnowd.query import Query, terms
from winnowd.store import snippets
from winnowd.store.filters import FITS, raw

NOTHING = '""'
"""An FTS5 expression that matches no row."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A query as the statements take it: what must match, one of its terms, what must not match, and the filters."""

    query: Query
    wanted: str
    either: str
    unwanted: str
    limit: int
    filter: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A document, or a file without one, on its way to become a hit."""

    document_id: int | None
    score: float = 0.0
    passage_id: int | None = None
    file_id: int | None = None


def hit(db: sqlite3.Connection, ask: Ask, found: Found, marks: tuple[str, str]) -> Hit | None:
    """The hit; None where no path leads to the document any more."""
    files = _files(db, ask, found)
    if not files:
        return None
    best = files[0]
    document = db.execute("SELECT digest, format, title FROM documents WHERE id = ?", (found.document_id,)).fetchone()
    digest, format_name, title = document or (None, best.format, None)
    hit = Hit(
        path=best.path,
        paths=tuple(file.path for file in files),
        title=snippets.one_line(title or "") or snippets.one_line(best.name),
        digest=digest,
        format=format_name,
        state=best.state,
        page_index=None,
        page_label=None,
        heading_path=None,
        snippet=None,
        score=found.score,
    )
    return hit if found.passage_id is None else _with_passage(db, ask, found.passage_id, marks, hit)


def _with_passage(db: sqlite3.Connection, ask: Ask, passage_id: int, marks: tuple[str, str], hit: Hit) -> Hit:
    statement = "SELECT page_index, page_label, heading_path, text FROM passages WHERE id = ?"
    page_index, page_label, heading_path, text = db.execute(statement, (passage_id,)).fetchone()
    heading = snippets.one_line(heading_path) if heading_path else None
    snippet = _raw_snippet(db, ask, passage_id, marks) if ask.query.raw is not None else None
    snippet = snippet or snippets.snippet(text, terms(ask.query), marks)
    return replace(hit, page_index=page_index, page_label=page_label, heading_path=heading, snippet=snippet)


def _raw_snippet(db: sqlite3.Connection, ask: Ask, passage_id: int, marks: tuple[str, str]) -> str | None:
    """What SQLite cuts for raw FTS5, which only SQLite understands; None where the match is not in the text itself."""
    statement = "SELECT snippet(passages_fts, 0, ?, ?, ?, ?) FROM passages_fts WHERE passages_fts MATCH ? AND rowid = ?"
    values = (snippets.OPEN, snippets.CLOSE, snippets.DOTS, snippets.TOKENS, ask.wanted, passage_id)
    (found,) = db.execute(statement, values).fetchone()
    return snippets.marked(found, marks) if snippets.OPEN in found else None


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    name: str
    state: str
    format: str | None


def _files(db: sqlite3.Connection, ask: Ask, found: Found) -> list[_File]:
    """The files of a document, or the one file: first what passes the filters, then what is named as asked, then the newest."""
    by_id = "f.document_id = :document" if found.document_id is not None else "f.id = :file"
    statement = f"""
        SELECT r.path, f.directory, f.name, f.state, f.format FROM files f
        JOIN roots r ON r.id = f.root_id LEFT JOIN documents d ON d.id = f.document_id
        WHERE {by_id} ORDER BY ({FITS}) DESC, f.state = 'gone', f.id IN (
            SELECT rowid FROM files_fts WHERE files_fts MATCH :any AND rowid IN (SELECT f.id FROM files f WHERE {by_id})) DESC,
        f.mtime_ns DESC, f.id DESC"""
    named = ask.either if ask.query.raw is None else NOTHING
    rows = db.execute(statement, {**ask.filter, "any": named, "document": found.document_id, "file": found.file_id})
    return [
        _File(_printable(os.path.join(*map(raw, (root, directory, name)))), _printable(name), state, format_name)
        for root, directory, name, state, format_name in rows
    ]


def _printable(path: str | bytes) -> str:
    r"""The path as it is, but for bytes that are not UTF-8: they are written \xNN."""
    return raw(path).decode("utf-8", "backslashreplace")
