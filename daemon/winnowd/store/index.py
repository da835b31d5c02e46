"""What is searchable: the only code that puts rows into the full-text tables and takes them out.

`passages` is what is searchable, row for row; `withheld` has the same columns and no index. External-content FTS5 needs the old
text to forget a row, so index rows go before content rows, and triggers would cost more than twice the CPU.
"""

import sqlite3
from collections.abc import Iterable

from winnowd.cjk import spaced
from winnowd.model import Passage

SHIFT = 16
TIDY_SHARE = 0.2
COLUMNS = "id, document_id, ordinal, heading_path, page_index, page_label, text, cjk"


def span(document_id: int) -> tuple[int, int]:
    """The first and last id that a passage of the document can have."""
    return document_id << SHIFT, (document_id << SHIFT) + (1 << SHIFT) - 1


def put_passages(db: sqlite3.Connection, document_id: int, passages: Iterable[Passage], withheld: frozenset[int]) -> None:
    """Store the passages of a new document; those whose ordinal is in `withheld` wait and are not searchable."""
    rows = [
        (
            document_id << SHIFT | p.ordinal,
            document_id,
            p.ordinal,
            p.heading_path,
            p.page_index,
            p.page_label,
            p.text,
            spaced(f"{p.heading_path or ''}\n{p.text}"),
        )
        for p in passages
    ]
    marks = "?, ?, ?, ?, ?, ?, ?, ?"
    db.executemany(f"INSERT INTO withheld ({COLUMNS}) VALUES ({marks})", [row for row in rows if row[2] in withheld])
    db.executemany(f"INSERT INTO passages ({COLUMNS}) VALUES ({marks})", [row for row in rows if row[2] not in withheld])
    db.execute(
        "INSERT INTO passages_fts (rowid, heading_path, text, cjk) "
        "SELECT id, heading_path, text, cjk FROM passages WHERE id BETWEEN ? AND ?",
        span(document_id),
    )


def drop_passages(db: sqlite3.Connection, document_id: int) -> None:
    """Forget the passages of a document, searchable and withheld."""
    _unindex(db, document_id)
    db.execute("DELETE FROM passages WHERE id BETWEEN ? AND ?", span(document_id))
    db.execute("DELETE FROM withheld WHERE id BETWEEN ? AND ?", span(document_id))


def place(db: sqlite3.Connection, document_id: int, withheld: frozenset[int]) -> None:
    """Move passages so that exactly those whose ordinal is in `withheld` wait. Writes nothing where that is so already."""
    first, last = span(document_id)
    waiting = {row[0] for row in db.execute("SELECT ordinal FROM withheld WHERE id BETWEEN ? AND ?", (first, last))}
    if waiting == withheld:
        return
    _unindex(db, document_id)
    for source, target, moved in (("passages", "withheld", withheld - waiting), ("withheld", "passages", waiting - withheld)):
        ids = [(first + ordinal,) for ordinal in sorted(moved)]
        db.executemany(f"INSERT INTO {target} ({COLUMNS}) SELECT {COLUMNS} FROM {source} WHERE id = ?", ids)
        db.executemany(f"DELETE FROM {source} WHERE id = ?", ids)
    db.execute(
        "INSERT INTO passages_fts (rowid, heading_path, text, cjk) "
        "SELECT id, heading_path, text, cjk FROM passages WHERE id BETWEEN ? AND ?",
        (first, last),
    )


def put_document(db: sqlite3.Connection, document_id: int) -> None:
    """Make the title and the authors of a document searchable."""
    db.execute(
        "INSERT INTO documents_fts (rowid, title, author, cjk) SELECT id, title, author, cjk FROM documents WHERE id = ?",
        (document_id,),
    )


def drop_document(db: sqlite3.Connection, document_id: int) -> None:
    """Forget the title and the authors of a document. Call it before its row goes or changes."""
    db.execute(
        "INSERT INTO documents_fts (documents_fts, rowid, title, author, cjk) "
        "SELECT 'delete', id, title, author, cjk FROM documents WHERE id = ?",
        (document_id,),
    )


def put_file(db: sqlite3.Connection, file_id: int) -> None:
    """Make the name of a file searchable."""
    db.execute("INSERT INTO files_fts (rowid, label, cjk) SELECT id, label, cjk FROM files WHERE id = ?", (file_id,))


def drop_file(db: sqlite3.Connection, file_id: int) -> None:
    """Forget the name of a file. Call it before its row goes."""
    db.execute(
        "INSERT INTO files_fts (files_fts, rowid, label, cjk) SELECT 'delete', id, label, cjk FROM files WHERE id = ?",
        (file_id,),
    )


def tidy(db: sqlite3.Connection, share: float) -> None:
    """Give back what a scan left behind that renewed this share of the documents: merge the index, and return free pages.

    Merging costs about as much as the whole index, so it follows only upon much work; free pages cost what they are.
    """
    if share > TIDY_SHARE:
        db.execute("INSERT INTO passages_fts (passages_fts) VALUES ('optimize')")
    db.executescript("PRAGMA incremental_vacuum")  # execute() would step it once, and free one page
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def give_back(db: sqlite3.Connection, pages: int) -> None:
    """Return up to so many free pages of the database to the disk."""
    if db.execute("PRAGMA freelist_count").fetchone()[0]:
        db.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()


def check(db: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError where an index and its content differ. Holds the write lock while it runs.

    Only the form with rank 1 compares an external-content index with its content (FTS5 documentation, section 6.4).
    """
    for table in ("passages_fts", "documents_fts", "files_fts"):
        db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")


def repair(db: sqlite3.Connection) -> bool:
    """Make each index anew that differs from its content; whether there was one."""
    try:
        check(db)
    except sqlite3.DatabaseError:
        for table in ("passages_fts", "documents_fts", "files_fts"):
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")
        return True
    return False


def _unindex(db: sqlite3.Connection, document_id: int) -> None:
    db.execute(
        "INSERT INTO passages_fts (passages_fts, rowid, heading_path, text, cjk) "
        "SELECT 'delete', id, heading_path, text, cjk FROM passages WHERE id BETWEEN ? AND ?",
        span(document_id),
    )
