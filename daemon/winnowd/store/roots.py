"""The watched folders: which there are, whether each is online, and what its last clean walk saw.

The caller holds the transaction.
"""

import os
import sqlite3

from winnowd.disk import Mount, current_mount, loaded, printable, stored
from winnowd.errors import UsageError
from winnowd.store import files

BATCH = 500


def all_roots(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """Every root, in the order in which they were added."""
    return db.execute("SELECT * FROM roots ORDER BY id").fetchall()


def get(db: sqlite3.Connection, root_id: int) -> sqlite3.Row:
    """One root as it stands now."""
    row: sqlite3.Row = db.execute("SELECT * FROM roots WHERE id = ?", (root_id,)).fetchone()
    return row


def containing(db: sqlite3.Connection, path: str) -> sqlite3.Row | None:
    """The root that a path lies in, the root itself included."""
    for row in all_roots(db):
        root = loaded(row["path"])
        for one, other in ((path, root), (os.path.realpath(path), os.path.realpath(root))):
            if one == other or one.startswith(other.rstrip("/") + "/"):
                return row
    return None


def relative(root: sqlite3.Row, path: str) -> str:
    """The path as it lies in the root: '' for the root itself."""
    base = loaded(root["path"])
    if path != base and not path.startswith(base.rstrip("/") + "/"):
        base, path = os.path.realpath(base), os.path.realpath(path)
    return path[len(base.rstrip("/")) :].strip("/")


def add(db: sqlite3.Connection, path: str, origin: str) -> sqlite3.Row:
    """A new root. Raises UsageError where it lies above a known one."""
    above = os.path.realpath(path).rstrip("/") + "/"
    for row in all_roots(db):
        known = loaded(row["path"])
        if os.path.realpath(known).startswith(above):
            shown = printable(known)
            raise UsageError(
                f"{printable(path)}: lies above the known root {shown}; scan that, or `winnow roots forget {shown}` first"
            )
    watch, reason, mount = watching(path)
    cursor = db.execute(
        "INSERT INTO roots (path, origin, state, watch, watch_reason, filesystem) VALUES (?, ?, 'online', ?, ?, ?)",
        (stored(path), origin, watch, reason, mount.filesystem),
    )
    assert cursor.lastrowid is not None
    return get(db, cursor.lastrowid)


def watching(path: str) -> tuple[str, str, Mount]:
    """How changes below `path` can be seen (events or rescan), why, and the mount it lies on."""
    mount = current_mount(path)
    if mount.network:
        return "rescan", f"{mount.filesystem}: other hosts change it without our kernel seeing it", mount
    return "events", f"{mount.filesystem}: a local file system, the kernel sees every change", mount


def set_offline(db: sqlite3.Connection, root_id: int, message: str) -> None:
    """Nothing of the root changes state; its documents stay searchable."""
    db.execute(
        "UPDATE roots SET state = 'offline', message = ? WHERE id = ? AND (state <> 'offline' OR message IS NOT ?)",
        (message, root_id, message),
    )


def set_online(db: sqlite3.Connection, root_id: int) -> None:
    """The root is proven: what lies below it can be read."""
    db.execute("UPDATE roots SET state = 'online', message = NULL WHERE id = ? AND state = 'offline'", (root_id,))


def finish_walk(db: sqlite3.Connection, root_id: int, values: dict[str, object]) -> None:
    """Write down what a walk saw of a root, and whether files of it are held."""
    # The plus keeps SQLite from reading all files of the root: there are few that are gone.
    gone = db.execute("SELECT count(*) FROM files WHERE +root_id = ? AND state = 'gone'", (root_id,)).fetchone()[0]
    state, message = ("online", None)
    if gone:
        state = "held"
        message = f"{gone} files vanished at once and are kept; `winnow roots release` removes them, if they were meant to go"
    values = {"state": state, "message": message, **values}
    db.execute(f"UPDATE roots SET {', '.join(f'{key} = ?' for key in values)} WHERE id = ?", (*values.values(), root_id))


def release(db: sqlite3.Connection, root_id: int) -> int:
    """Remove the files of a root that are held. How many."""
    ids = [row[0] for row in db.execute("SELECT id FROM files WHERE +root_id = ? AND state = 'gone'", (root_id,))]
    removed = files.remove(db, ids)
    db.execute("UPDATE roots SET state = 'online', message = NULL WHERE id = ? AND state = 'held'", (root_id,))
    return removed


def forget(db: sqlite3.Connection, root_id: int) -> int:
    """Take a root and all its files out of the catalogue; decisions of people stay. How many files."""
    ids = [row[0] for row in db.execute("SELECT id FROM files WHERE root_id = ?", (root_id,))]
    removed = files.remove(db, ids)
    db.execute("DELETE FROM roots WHERE id = ?", (root_id,))
    return removed
