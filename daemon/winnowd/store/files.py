"""The paths: what a walk adds, marks as changed, holds or removes. The caller holds the transaction."""

import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator

from winnowd.cjk import spaced
from winnowd.disk import exact, join, label, loaded, stored
from winnowd.errors import state_of_failure
from winnowd.model import Change, Stamp
from winnowd.reconcile import Row
from winnowd.store import documents, index, review

NOWHERE = Stamp(0, 0)
SETTLING = ("settling", "Was written to a moment ago: it is read when it has stayed as it is for a while.")
NOW = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"
KNOWN = (
    "name, size, mtime_ns, ctime_ns, inode, id, CASE WHEN racy THEN 'racy' WHEN state = 'gone' THEN 'gone' "
    "WHEN reason IN ('excluded', 'not_a_file') THEN reason END"
)


def in_directory(db: sqlite3.Connection, root_id: int, directory: str) -> dict[str, Row]:
    """What the catalogue holds of one folder, by name: plain rows, since a walk looks at millions of them."""
    rows = _plain(db, f"SELECT {KNOWN} FROM files WHERE root_id = ? AND directory = ?", (root_id, stored(directory)))
    return {row[0] if isinstance(row[0], str) else loaded(row[0]): row for row in rows}


def named(db: sqlite3.Connection, root_id: int, directory: str, names: Iterable[str]) -> dict[str, Row]:
    """What the catalogue holds of some names in one folder, as `in_directory` gives it: there may be very many others."""
    sql = f"SELECT {KNOWN} FROM files WHERE root_id = ? AND directory = ? AND name = ?"
    folder = stored(directory)
    return {name: row for name in names for row in _plain(db, sql, (root_id, folder, stored(name)))}


def _plain(db: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> sqlite3.Cursor:
    cursor = db.cursor()
    cursor.row_factory = None
    return cursor.execute(sql, values)


def apply(
    db: sqlite3.Connection,
    root_id: int,
    directory: str,
    changes: Iterable[Change],
    settles: Callable[[Stamp], str | None] = lambda _: None,
) -> None:
    """Write the changes of one folder into the catalogue. Files that are to be read become pending.

    `settles` says when a file with a stamp may be read, None for at once.
    """
    for change in changes:
        if change.kind == "appeared":
            _add(db, root_id, directory, change, settles)
        elif change.kind == "returned":
            _return(db, change)
        elif change.skip is not None:
            _skip(db, change)
        else:
            assert change.stamp is not None
            settle(db, change.file_id or 0, change.stamp, settles(change.stamp))


def distrust(db: sqlite3.Connection, root_id: int, part: str) -> None:
    """Let the next walk hash the files of a root, or of the part of it, although their stamps did not change."""
    for directory in directories_below(db, root_id, part):
        key = (root_id, stored(directory))
        db.execute("UPDATE files SET racy = 1 WHERE root_id = ? AND directory = ? AND digest IS NOT NULL", key)


def distrust_some(db: sqlite3.Connection, root: sqlite3.Row, share: float) -> None:
    """Let the next walk hash a share of a root's files although their stamps did not change: the next ones, round and round."""
    count = math.ceil((root["walked_files"] or 0) * share)
    if not count:
        return
    sql = "SELECT id FROM files WHERE id > ? AND +root_id = ? ORDER BY id LIMIT ?"
    ids = [row["id"] for row in db.execute(sql, (root["verified_id"], root["id"], count))]
    db.executemany("UPDATE files SET racy = 1 WHERE id = ? AND digest IS NOT NULL", [(one,) for one in ids])
    last = ids[-1] if len(ids) == count else 0
    db.execute("UPDATE roots SET verified_id = ? WHERE id = ?", (last, root["id"]))


def directories_below(db: sqlite3.Connection, root_id: int, folder: str) -> Iterator[str]:
    """The folders that the catalogue knows in a folder ('' for the root) and below it, in order.

    Skips from folder to folder, whatever their number of files.
    """
    key = stored(folder)
    if folder and db.execute(_FIRST, (root_id, key)).fetchone() is not None:
        yield folder
    for first, last in _ranges(folder):
        for row in db.execute(_FOLDERS, {"root": root_id, "first": first, "last": last}):
            yield loaded(row["directory"])


def not_visited(db: sqlite3.Connection, root_id: int, folder: str) -> list[str]:
    """The folders among `directories_below` that are not in temp.visited: those that a walk did not come to."""
    found = [] if not folder or db.execute(_FIRST, (root_id, stored(folder))).fetchone() is None else [folder]
    found = [one for one in found if db.execute(_VISITED, (root_id, stored(one))).fetchone() is None]
    for first, last in _ranges(folder):
        rows = db.execute(f"{_FOLDERS} EXCEPT {_SEEN}", {"root": root_id, "first": first, "last": last})
        found += [loaded(row["directory"]) for row in rows]
    return found


LAST_PATH = b"\xff" * 4097  # sorts behind every path: text sorts before bytes, and no path is as long
_FIRST = "SELECT 1 FROM files WHERE root_id = ? AND directory = ? LIMIT 1"
_VISITED = "SELECT 1 FROM temp.visited WHERE root_id = ? AND directory = ?"
_SEEN = "SELECT directory FROM temp.visited WHERE root_id = :root AND directory >= :first AND directory < :last"
_NEXT = "SELECT directory FROM files WHERE root_id = :root AND directory {} AND directory < :last ORDER BY directory LIMIT 1"
_FOLDERS = (
    f"WITH RECURSIVE folder(directory) AS (SELECT * FROM ({_NEXT.format('>= :first')}) UNION ALL "
    f"SELECT ({_NEXT.format('> folder.directory')}) FROM folder WHERE folder.directory IS NOT NULL) "
    "SELECT directory FROM folder WHERE directory IS NOT NULL"
)


def _ranges(folder: str) -> Iterator[tuple[str | bytes, str | bytes]]:
    """Where the folders below a folder lie in the order of the index: those whose names are text, and those that are bytes."""
    if not folder:
        yield "", LAST_PATH
        return
    raw = os.fsencode(folder)
    if isinstance(stored(folder), str):
        yield folder + "/", folder + "0"  # "0" comes right after "/"
    yield raw + b"/", raw + b"0"


def some(db: sqlite3.Connection, root_id: int, limit: int) -> list[str]:
    """Up to `limit` known paths of a root, relative to it, spread over its files."""
    rows = db.execute(
        "SELECT directory, name FROM files WHERE root_id = ? AND state <> 'gone' ORDER BY id DESC LIMIT ?", (root_id, limit)
    )
    return [join("", loaded(row["directory"]), loaded(row["name"])).lstrip("/") for row in rows]


def count(db: sqlite3.Connection, root_id: int) -> int:
    """How many files of the root the catalogue holds, those that are gone left out."""
    row = db.execute("SELECT count(*) FROM files WHERE root_id = ? AND state <> 'gone'", (root_id,)).fetchone()
    return int(row[0])


def count_below(db: sqlite3.Connection, root_id: int, folder: str) -> int:
    """How many files the catalogue holds in a folder and below it, those that are gone left out."""
    sql = "SELECT count(*) FROM files WHERE root_id = ? AND directory = ? AND state <> 'gone'"
    return sum(
        int(db.execute(sql, (root_id, stored(directory))).fetchone()[0]) for directory in directories_below(db, root_id, folder)
    )


def find(db: sqlite3.Connection, root_id: int, directory: str, name: str) -> sqlite3.Row | None:
    """The row of one path."""
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM files WHERE root_id = ? AND directory = ? AND name = ?", (root_id, stored(directory), stored(name))
    ).fetchone()
    return row


def path_of(db: sqlite3.Connection, file_id: int) -> str:
    """The full path of a file, as JSON may hold it."""
    row = db.execute(
        "SELECT roots.path AS root, directory, name FROM files JOIN roots ON roots.id = root_id WHERE files.id = ?", (file_id,)
    ).fetchone()
    return exact(join(loaded(row["root"]), loaded(row["directory"]), loaded(row["name"])))


def hold(db: sqlite3.Connection, file_ids: Iterable[int]) -> int:
    """Mark files as gone: held until a person releases them. They stay searchable. How many were not held before."""
    message = "A walk did not find it. So many files vanished at once that they are kept until `winnow roots release`."
    # What was waiting to be read is not what its document says: were it to return, it must be read.
    sql = (
        "UPDATE files SET racy = racy OR state = 'pending', state = 'gone', reason = 'vanished', message = ?, "
        "next_attempt = NULL WHERE id = ? AND state <> 'gone'"
    )
    return sum(db.execute(sql, (message, file_id)).rowcount for file_id in file_ids)


def remove(db: sqlite3.Connection, file_ids: Iterable[int]) -> int:
    """Take files out of the catalogue, and each document that no path leads to any more. How many."""
    removed = 0
    for file_id in file_ids:
        row = db.execute("SELECT document_id FROM files WHERE id = ?", (file_id,)).fetchone()
        if row is None:
            continue
        db.execute("DELETE FROM claims WHERE file_id = ?", (file_id,))
        db.execute("DELETE FROM findings WHERE file_id = ?", (file_id,))
        index.drop_file(db, file_id)
        db.execute("DELETE FROM files WHERE id = ?", (file_id,))
        documents.forget_unlinked(db, row["document_id"])
        removed += 1
    return removed


def _add(db: sqlite3.Connection, root_id: int, directory: str, change: Change, settles: Callable[[Stamp], str | None]) -> None:
    shown = label(join("", directory, change.name).lstrip("/"))
    seen = change.stamp or NOWHERE
    after = None if change.skip else settles(seen)
    state = "skipped" if change.skip else "pending"
    reason, message = change.skip or (SETTLING if after else (None, None))
    cursor = db.execute(
        "INSERT INTO files (root_id, directory, name, label, cjk, size, mtime_ns, ctime_ns, inode, state, reason, message, "
        f"next_attempt, pending_since) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {NOW})",
        (root_id, stored(directory), stored(change.name), shown, spaced(shown), *seen, state, reason, message, after),
    )
    assert cursor.lastrowid is not None
    index.put_file(db, cursor.lastrowid)


def settle(db: sqlite3.Connection, file_id: int, stamp: Stamp, after: str | None) -> None:
    """A file has a new stamp: it is pending, from the time `after` on where it has to settle first.

    How long it has been pending goes on: a file that changes again and again does not wait for ever.
    """
    reason, message = SETTLING if after else (None, None)
    db.execute(
        f"UPDATE files SET pending_since = CASE state WHEN 'pending' THEN ifnull(pending_since, {NOW}) ELSE {NOW} END, "
        "size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, state = 'pending', reason = ?, message = ?, "
        "attempts = 0, waits = 0, next_attempt = ? WHERE id = ?",
        (*stamp, reason, message, after, file_id),
    )


def note_unsettled(db: sqlite3.Connection, file_id: int) -> None:
    """Say of a file that it was read although it went on changing."""
    db.execute(
        "INSERT INTO findings (file_id, code, severity, message) VALUES (?, 'unsettled', 'info', ?)",
        (file_id, "Did not stay as it was for long enough to be sure that nobody was writing to it: it may be unfinished."),
    )


def _skip(db: sqlite3.Connection, change: Change) -> None:
    """A file that is not meant to be read any more: what it led to before is forgotten."""
    assert change.skip is not None
    assert change.file_id is not None
    row = db.execute("SELECT document_id FROM files WHERE id = ?", (change.file_id,)).fetchone()
    db.execute(
        "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, racy = 0, "
        "digest = NULL, format = NULL, document_id = NULL, "
        "state = 'skipped', reason = ?, message = ?, attempts = 0, waits = 0, next_attempt = NULL WHERE id = ?",
        (*(change.stamp or NOWHERE), *change.skip, change.file_id),
    )
    db.execute("DELETE FROM findings WHERE file_id = ?", (change.file_id,))
    documents.forget_unlinked(db, row["document_id"])


def _return(db: sqlite3.Connection, change: Change) -> None:
    """A file that was gone is back with its stamp: it is what it was before, and nothing is read again."""
    row = db.execute("SELECT document_id, digest, format FROM files WHERE id = ?", (change.file_id,)).fetchone()
    if row["document_id"] is not None:
        db.execute(
            "UPDATE files SET state = 'indexed', reason = NULL, message = NULL, next_attempt = NULL WHERE id = ?",
            (change.file_id,),
        )
        review.apply(db, row["document_id"])
        return
    failure = db.execute(
        "SELECT code, message FROM failures WHERE digest = ? AND format = ?", (row["digest"], row["format"])
    ).fetchone()
    if failure is None:
        db.execute("UPDATE files SET state = 'pending', reason = NULL, message = NULL WHERE id = ?", (change.file_id,))
        return
    state = state_of_failure(failure["code"], row["format"])
    db.execute(
        "UPDATE files SET state = ?, reason = ?, message = ? WHERE id = ?",
        (state, failure["code"], failure["message"], change.file_id),
    )
