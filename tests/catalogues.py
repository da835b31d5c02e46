"""Small catalogues made by direct inserts, for tests of what reads them."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlite_utils import Database

from winnowd.cjk import spaced
from winnowd.store.schema import VERSION, migrations

DAY = 86_400 * 10**9
NOON_2026 = 1_767_268_800 * 10**9  # 2026-01-01 12:00 UTC


@dataclass(frozen=True, slots=True)
class Text:
    """A passage to be stored."""

    text: str
    heading: str | None = None
    page: int | None = None
    label: str | None = None
    withheld: bool = False


def empty(path: Path | None = None) -> sqlite3.Connection:
    """A catalogue with one root, /share."""
    db = Database(path) if path else Database(memory=True)
    migrations.apply(db)
    db.execute(f"PRAGMA user_version = {VERSION}")
    add_root(db.conn, "/share")
    return db.conn


def add_root(db: sqlite3.Connection, path: str | bytes) -> int:
    statement = "INSERT INTO roots (path, origin, state, watch, watch_reason) VALUES (?, 'config', 'online', 'events', 'ext4')"
    return _inserted(db.execute(statement, (path,)))


def add_file(
    db: sqlite3.Connection,
    path: str | bytes,
    *,
    root_id: int = 1,
    state: str = "pending",
    document_id: int | None = None,
    mtime_ns: int = NOON_2026,
    reason: str | None = None,
    message: str | None = None,
    format: str | None = None,
    size: int = 1_000,
) -> int:
    """A file at `path`, relative to the root, with its name in the index. Its digest and format are those of its document."""
    directory, _, name = path.rpartition("/") if isinstance(path, str) else path.rpartition(b"/")
    label = path if isinstance(path, str) else path.decode("utf-8", "backslashreplace")
    known = db.execute("SELECT digest, format FROM documents WHERE id = ?", (document_id,)).fetchone() or (None, format)
    file_id = _inserted(
        db.execute(
            "INSERT INTO files (root_id, directory, name, label, cjk, size, mtime_ns, digest, format, document_id, state, "
            "reason, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (root_id, directory, name, label, spaced(label), size, mtime_ns, *known, document_id, state, reason, message),
        )
    )
    db.execute("INSERT INTO files_fts (rowid, label, cjk) SELECT id, label, cjk FROM files WHERE id = ?", (file_id,))
    return file_id


def add_document(
    db: sqlite3.Connection,
    path: str | bytes,
    texts: Sequence[str | Text],
    *,
    title: str | None = None,
    author: str | None = None,
    format: str = "text",
    language: str | None = None,
    pages: int | None = None,
    state: str = "indexed",
    mtime_ns: int = NOON_2026,
) -> int:
    """A document with its passages, and a file at `path` that holds it; all of it in the index, but what is withheld."""
    passages = [Text(text) if isinstance(text, str) else text for text in texts]
    digest = sha256(repr((path, texts)).encode("utf-8", "surrogateescape")).hexdigest()
    document_id = _inserted(
        db.execute(
            "INSERT INTO documents (digest, format, title, author, language, pages, chars, recipe, verdict, cjk) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(digest, format, title, author, language, pages, sum(len(one.text) for one in passages), "text@1 clean@1"),
                *("review" if state == "review" else "accepted", spaced(f"{title or ''} {author or ''}")),
            ),
        )
    )
    for ordinal, one in enumerate(passages):
        table = "withheld" if one.withheld else "passages"
        row = (document_id << 16 | ordinal, document_id, ordinal, one.heading, one.page, one.label, one.text)
        db.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, spaced(f"{one.heading or ''} {one.text}")))
    db.execute(
        "INSERT INTO passages_fts (rowid, heading_path, text, cjk) SELECT id, heading_path, text, cjk FROM passages "
        "WHERE document_id = ?",
        (document_id,),
    )
    db.execute(
        "INSERT INTO documents_fts (rowid, title, author, cjk) SELECT id, title, author, cjk FROM documents WHERE id = ?",
        (document_id,),
    )
    add_file(db, path, state=state, document_id=document_id, mtime_ns=mtime_ns)
    return document_id


def _inserted(cursor: sqlite3.Cursor) -> int:
    assert cursor.lastrowid is not None
    return cursor.lastrowid
