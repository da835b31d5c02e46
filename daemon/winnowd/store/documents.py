"""Stores what a child found: one outcome is one step, never split over transactions. The caller holds the transaction.

Content is identity: a path whose content is known is linked, and a content that no path leads to any more is forgotten,
all but the decisions of people about it.
"""

import json
import sqlite3
from dataclasses import fields

from winnowd.cjk import spaced
from winnowd.errors import ATTEMPTS, FAILURES, state_of_failure
from winnowd.formats import BY_NAME, mismatch
from winnowd.model import Content, Document, Failure, Finding, Measures, Page
from winnowd.store import index, review

MEASURES = tuple(field.name for field in fields(Measures))
LOOKS = ("images", "image_cover", "drawings", "unreadable", "hidden_share", "ink")
"""What an extractor saw of a page; `MEASURES` is what was measured of its text."""
PAGE_COLUMNS = ("document_id", "page_index", "page_label", "verdict", *LOOKS, *MEASURES)
CHILDREN = ("metadata", "outline", "pages", "findings", "steps")
BACK_OFF_SECONDS = {"moved": (2, 900), "unreadable": (60, 7200)}
"""The first and the longest wait after a transient error; it doubles in between."""


def find(db: sqlite3.Connection, content: Content, recipe: str) -> int | None:
    """The document of this content, if it was made by this very recipe."""
    row = db.execute(
        "SELECT id FROM documents WHERE digest = ? AND format = ? AND recipe = ?", (content.digest, content.format, recipe)
    ).fetchone()
    return row["id"] if row else None


def find_failure(db: sqlite3.Connection, content: Content, recipe: str) -> tuple[Failure, int] | None:
    """What became of this content when this very recipe failed on it for good, and after how many attempts."""
    row = _failure_row(db, content, recipe)
    if row is None or (FAILURES[row["code"]].retry == "fresh_child" and row["attempts"] < ATTEMPTS):
        return None
    return Failure(row["code"], row["message"], row["format"], row["detail"]), row["attempts"]


def link(db: sqlite3.Connection, file_id: int, content: Content, document_id: int) -> None:
    """Let a file lead to a document that the catalogue holds already."""
    document = db.execute("SELECT verdict, digest FROM documents WHERE id = ?", (document_id,)).fetchone()
    decision = review.standing(db, document["digest"], review.reasons_of(db, document_id))
    state = review.state_of(document["verdict"], decision)
    reason, message = review.explain(db, document_id, state)
    before = _document_of(db, file_id)
    _update(
        db, file_id, content, {"document_id": document_id, "state": state, "reason": reason, "message": message, "attempts": 0}
    )
    _forget_unless_linked(db, before)
    _note_extension(db, file_id, content)


def commit(db: sqlite3.Connection, file_id: int, content: Content, document: Document) -> None:
    """Store a document and let the file lead to it. One of the same content is replaced; its id and decisions stay."""
    row = db.execute("SELECT id FROM documents WHERE digest = ? AND format = ?", (document.digest, document.format)).fetchone()
    document_id = _replace(db, row["id"], document) if row else _insert(db, document)
    _put_parts(db, document_id, document)
    db.execute("DELETE FROM failures WHERE digest = ? AND format = ?", (document.digest, document.format))
    link(db, file_id, content, document_id)
    review.apply(db, document_id)


def fail(db: sqlite3.Connection, file_id: int, content: Content | None, failure: Failure, recipe: str) -> None:
    """Record that a file yields no document, as its code says: failed, skipped, or pending until a later attempt.

    `content` is what is known of the bytes, None where they could not be hashed.
    """
    attempts = db.execute("SELECT attempts FROM files WHERE id = ?", (file_id,)).fetchone()["attempts"] + 1
    retry = FAILURES[failure.code].retry
    if retry == "back_off":
        wait_for_retry(db, file_id, failure, attempts)
        return
    if content is not None:  # attempts belong to the content: copies share them
        earlier = _failure_row(db, content, recipe)
        attempts = max(attempts, (earlier["attempts"] if earlier else 0) + 1)
        _remember_failure(db, content, failure, (attempts, recipe))
    if retry == "fresh_child" and attempts < ATTEMPTS:
        wait_for_retry(db, file_id, failure, attempts)
    else:
        settle_failure(db, file_id, content, failure, attempts)


def _failure_row(db: sqlite3.Connection, content: Content, recipe: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM failures WHERE digest = ? AND format = ? AND recipe = ?", (content.digest, content.format, recipe)
    ).fetchone()
    return row


def _remember_failure(db: sqlite3.Connection, content: Content, failure: Failure, tried: tuple[int, str]) -> None:
    db.execute(
        "INSERT INTO failures (digest, format, code, message, detail, attempts, recipe) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (digest, format) DO UPDATE SET code = excluded.code, message = excluded.message, "
        "detail = excluded.detail, attempts = excluded.attempts, recipe = excluded.recipe",
        (content.digest, content.format, failure.code, failure.message, failure.detail, *tried),
    )


def settle_failure(db: sqlite3.Connection, file_id: int, content: Content | None, failure: Failure, attempts: int) -> None:
    """Give a file the final state of a failure. What it led to before is forgotten: that text is not on the disk any more."""
    before = _document_of(db, file_id)
    format = failure.format or (content.format if content else None)
    state = state_of_failure(failure.code, format)
    values = {"document_id": None, "state": state, "reason": failure.code, "message": failure.message, "attempts": attempts}
    unknown: dict[str, object] = {"digest": None} if content is None else {}
    _update(db, file_id, content, {**values, **unknown, "format": format})
    _forget_unless_linked(db, before)
    _note_extension(db, file_id, content)


def wait_for_retry(db: sqlite3.Connection, file_id: int, failure: Failure, attempts: int) -> None:
    """Keep a file pending. A child that died is tried again in this scan; trouble with the disk waits, at no cost."""
    if FAILURES[failure.code].retry == "fresh_child":
        db.execute(
            "UPDATE files SET state = 'pending', reason = ?, message = ?, attempts = ?, next_attempt = NULL WHERE id = ?",
            (failure.code, failure.message, attempts, file_id),
        )
    else:
        first, last = BACK_OFF_SECONDS[failure.code]
        db.execute(
            "UPDATE files SET state = 'pending', reason = ?, message = ?, waits = waits + 1, next_attempt = "
            "strftime('%Y-%m-%dT%H:%M:%SZ', 'now', min(? * (1 << min(waits, 20)), ?) || ' seconds') WHERE id = ?",
            (failure.code, failure.message, first, last, file_id),
        )
    db.execute("DELETE FROM claims WHERE file_id = ?", (file_id,))


def forget(db: sqlite3.Connection, document_id: int) -> None:
    """Take a document with all its text out of the catalogue. Decisions about its content stay."""
    index.drop_passages(db, document_id)
    index.drop_document(db, document_id)
    for table in CHILDREN:
        db.execute(f"DELETE FROM {table} WHERE document_id = ?", (document_id,))
    db.execute("DELETE FROM documents WHERE id = ?", (document_id,))


def forget_unlinked(db: sqlite3.Connection, document_id: int | None) -> None:
    """Forget a document if no path leads to it any more."""
    _forget_unless_linked(db, document_id)


def _insert(db: sqlite3.Connection, document: Document) -> int:
    values = _document_values(document)
    cursor = db.execute(
        f"INSERT INTO documents ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _replace(db: sqlite3.Connection, document_id: int, document: Document) -> int:
    index.drop_passages(db, document_id)
    index.drop_document(db, document_id)
    for table in CHILDREN:
        db.execute(f"DELETE FROM {table} WHERE document_id = ?", (document_id,))
    values = _document_values(document)
    db.execute(
        f"UPDATE documents SET {', '.join(f'{key} = ?' for key in values)} WHERE id = ?", (*values.values(), document_id)
    )
    return document_id


def _document_values(document: Document) -> dict[str, str | int | None]:
    metadata = document.metadata
    return {
        "digest": document.digest,
        "format": document.format,
        "title": metadata.title,
        "author": metadata.author,
        "created": metadata.created,
        "modified": metadata.modified,
        "language": metadata.language,
        "encoding": metadata.encoding,
        "pages": len(document.pages) if document.paged else None,
        "chars": document.chars,
        "recipe": document.recipe,
        "verdict": document.verdict,
        "cjk": spaced(f"{metadata.title or ''} {metadata.author or ''}"),
    }


def _put_parts(db: sqlite3.Connection, document_id: int, document: Document) -> None:
    bad = {page.index for page in document.pages if page.verdict == "review"}
    withheld = frozenset(p.ordinal for p in document.passages if (p.page_index or 0) in bad)
    index.put_document(db, document_id)
    index.put_passages(db, document_id, document.passages, withheld)
    db.executemany(
        "INSERT INTO metadata (document_id, source, key, value, believed) VALUES (?, ?, ?, ?, ?)",
        [(document_id, f.source, f.key, f.value, f.believed) for f in document.metadata.facts],
    )
    db.executemany(
        "INSERT INTO outline (document_id, ordinal, level, title, page_index, page_label) VALUES (?, ?, ?, ?, ?, ?)",
        [(document_id, n, e.level, e.title, e.page_index, e.page_label) for n, e in enumerate(document.outline)],
    )
    db.executemany(
        f"INSERT INTO pages ({', '.join(PAGE_COLUMNS)}) VALUES ({', '.join('?' * len(PAGE_COLUMNS))})",
        [_page_values(document_id, page) for page in document.pages],
    )
    put_findings(db, document_id, document.findings)
    db.executemany(
        "INSERT INTO steps (document_id, ordinal, step, touched, lines) VALUES (?, ?, ?, ?, ?)",
        [
            (document_id, n, s.step, s.touched, json.dumps(s.lines, ensure_ascii=False))
            for n, s in enumerate(document.steps)
            if s.touched
        ],
    )


def put_findings(db: sqlite3.Connection, document_id: int, findings: tuple[Finding, ...]) -> None:
    """Add findings to a document."""
    db.executemany(
        "INSERT INTO findings (document_id, code, page_index, severity, measure, threshold, message) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(document_id, f.code, f.page_index, f.severity, f.measure, f.threshold, f.message) for f in findings],
    )


def _page_values(document_id: int, page: Page) -> tuple[object, ...]:
    measures = page.measures or Measures()
    fixed = (document_id, page.index, page.label, page.verdict, *(getattr(page, name) for name in LOOKS))
    return (*fixed, *(getattr(measures, name) for name in MEASURES))


def _update(db: sqlite3.Connection, file_id: int, content: Content | None, values: dict[str, object]) -> None:
    if content is not None:
        seen = content.stamp
        values = {"digest": content.digest, "format": content.format, "racy": content.racy, **values}
        values |= {"size": seen.size, "mtime_ns": seen.mtime_ns, "ctime_ns": seen.ctime_ns, "inode": seen.inode}
    values |= {"next_attempt": None, "waits": 0}
    db.execute(f"UPDATE files SET {', '.join(f'{key} = ?' for key in values)} WHERE id = ?", (*values.values(), file_id))
    db.execute("DELETE FROM claims WHERE file_id = ?", (file_id,))


def _document_of(db: sqlite3.Connection, file_id: int) -> int | None:
    row = db.execute("SELECT document_id FROM files WHERE id = ?", (file_id,)).fetchone()
    return row["document_id"] if row else None


def _forget_unless_linked(db: sqlite3.Connection, document_id: int | None) -> None:
    if document_id is None:
        return
    if db.execute("SELECT 1 FROM files WHERE document_id = ? LIMIT 1", (document_id,)).fetchone() is None:
        forget(db, document_id)


def _note_extension(db: sqlite3.Connection, file_id: int, content: Content | None) -> None:
    """What belongs to the path: a name whose extension says something else than the content."""
    db.execute("DELETE FROM findings WHERE file_id = ?", (file_id,))
    if content is None or content.format not in BY_NAME:
        return
    label = db.execute("SELECT label FROM files WHERE id = ?", (file_id,)).fetchone()["label"]
    message = mismatch(label.rpartition("/")[2], content.format)
    if message is not None:
        db.execute(
            "INSERT INTO findings (file_id, code, severity, message) VALUES (?, 'wrong_extension', 'info', ?)",
            (file_id, message),
        )
