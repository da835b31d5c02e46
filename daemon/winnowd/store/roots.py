"""The watched folders: which there are, whether each is online, and what its last clean walk saw.

The caller holds the transaction.
"""

import os
import sqlite3

from winnowd.disk import Mount, current_mount, loaded, printable, stored
from winnowd.errors import UsageError
from winnowd.store import files

OFFLINE = "9999-12-31T23:59:59Z"
"""The next attempt of a file whose root is offline."""


def all_roots(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """Every root, in the order in which they were added."""
    return db.execute("SELECT * FROM roots ORDER BY id").fetchall()


def get(db: sqlite3.Connection, root_id: int) -> sqlite3.Row:
    """One root as it stands now."""
    row: sqlite3.Row = db.execute("SELECT * FROM roots WHERE id = ?", (root_id,)).fetchone()
    return row


def by_path(db: sqlite3.Connection, path: str) -> sqlite3.Row | None:
    """The root at exactly this path. Looks at no disk."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM roots WHERE path = ?", (stored(path),)).fetchone()
    return row


def add_configured(db: sqlite3.Connection, paths: list[str]) -> None:
    """Let the folders of the configuration be roots. Raises UsageError where one overlaps a known root that is not its own."""
    known = {os.path.realpath(loaded(row["path"])) for row in all_roots(db)}
    for path in paths:
        if os.path.realpath(path) in known:
            continue
        above = containing(db, path)
        if above is not None:
            shown = printable(loaded(above["path"]))
            raise UsageError(
                f"{printable(path)}: lies inside the known root {shown}; take it out of the configuration, "
                f"or `winnow roots forget {shown}` first"
            )
        add(db, path, "config")


def containing(db: sqlite3.Connection, path: str) -> sqlite3.Row | None:
    """The root that a path lies in, the root itself included."""
    place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    for row in all_roots(db):
        root = os.path.realpath(loaded(row["path"]))
        if os.path.realpath(path) == root or place.startswith(root.rstrip("/") + "/"):
            return row
    return None


def relative(root: sqlite3.Row, path: str) -> str:
    """The path as it lies in the root, links on the way followed but the last one kept; '' for the root itself."""
    base = os.path.realpath(loaded(root["path"]))
    if os.path.realpath(path) == base:
        return ""
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return path[len(base.rstrip("/")) :].strip("/")


def add(db: sqlite3.Connection, path: str, origin: str) -> sqlite3.Row:
    """A new root. Raises UsageError where it lies above a known one."""
    refuse_above(db, path)
    return adopt(db, path, origin, current_mount(path))


def refuse_above(db: sqlite3.Connection, path: str) -> None:
    """Raise UsageError where a folder lies above a known root."""
    above = os.path.realpath(path).rstrip("/") + "/"
    for row in all_roots(db):
        known = loaded(row["path"])
        if os.path.realpath(known).startswith(above):
            shown = printable(known)
            raise UsageError(
                f"{printable(path)}: lies above the known root {shown}; scan that, or `winnow roots forget {shown}` first"
            )


def adopt(db: sqlite3.Connection, path: str, origin: str, mount: Mount | None = None) -> sqlite3.Row:
    """A new root that was looked at elsewhere: nothing here looks at a disk."""
    watch, reason = watching(mount) if mount is not None else ("rescan", "not looked at yet")
    cursor = db.execute(
        "INSERT INTO roots (path, origin, state, watch, watch_reason, filesystem) VALUES (?, ?, 'online', ?, ?, ?)",
        (stored(path), origin, watch, reason, mount.filesystem if mount is not None else None),
    )
    assert cursor.lastrowid is not None
    return get(db, cursor.lastrowid)


def note_watch(db: sqlite3.Connection, root_id: int, watch: str, reason: str) -> None:
    """Write down how the loop sees changes of a root, and why."""
    sql = "UPDATE roots SET watch = ?, watch_reason = ? WHERE id = ? AND (watch <> ? OR watch_reason <> ?)"
    db.execute(sql, (watch, reason, root_id, watch, reason))


def forget_rules(db: sqlite3.Connection, root_id: int) -> None:
    """The exclusion rules that a root was last walked by hold no longer for all of its files."""
    db.execute("UPDATE roots SET rules = NULL WHERE id = ?", (root_id,))


def count_overflow(db: sqlite3.Connection, root_id: int) -> None:
    """Events of a root were lost once more."""
    db.execute("UPDATE roots SET overflows = overflows + 1 WHERE id = ?", (root_id,))


def count_walked(db: sqlite3.Connection, root_id: int, added: int) -> None:
    """Files were added since the last walk, or came back that were held."""
    db.execute("UPDATE roots SET walked_files = walked_files + ? WHERE id = ?", (added, root_id))
    if get(db, root_id)["state"] == "held":
        finish_walk(db, root_id, {})


def watching(mount: Mount, wanted: str = "auto") -> tuple[str, str]:
    """How changes below a folder on this mount can be seen (events or rescan), and why; `wanted` is what the setting says."""
    if wanted != "auto":
        return wanted, f'as configured (watch = "{wanted}"), on {mount.filesystem}'
    if mount.network:
        return "rescan", f"{mount.filesystem}: other hosts change it without our kernel seeing it"
    return "events", f"{mount.filesystem}: a local file system, the kernel sees every change"


def set_offline(db: sqlite3.Connection, root_id: int, message: str) -> None:
    """Nothing of the root changes state; its documents stay searchable. What waits to be read waits until it is back."""
    if get(db, root_id)["state"] != "offline":  # so that a claim need not step over them
        sql = "UPDATE files SET next_attempt = ? WHERE root_id = ? AND state = 'pending' AND next_attempt IS NULL"
        db.execute(sql, (OFFLINE, root_id))
    db.execute(
        "UPDATE roots SET state = 'offline', message = ? WHERE id = ? AND (state <> 'offline' OR message IS NOT ?)",
        (message, root_id, message),
    )


def set_online(db: sqlite3.Connection, root: sqlite3.Row, mount: Mount | None, wanted: str) -> None:
    """The root is proven: what lies below it can be read. The file system may be another one than when it was added.

    `wanted` is the setting of how changes are to be seen: auto, events or rescan.
    """
    seen: dict[str, str | None] = {}
    if mount is not None:
        watch, reason = watching(mount, wanted)
        if not root["watch_reason"].startswith(reason):  # the loop adds to it what does not work
            seen = {"watch": watch, "watch_reason": reason}
        seen["filesystem"] = mount.filesystem
    if root["state"] == "offline":
        seen |= {"state": "online", "message": None}
        sql = "UPDATE files SET next_attempt = NULL WHERE root_id = ? AND state = 'pending' AND next_attempt = ?"
        db.execute(sql, (root["id"], OFFLINE))
    if any(root[key] != value for key, value in seen.items()):
        db.execute(f"UPDATE roots SET {', '.join(f'{key} = ?' for key in seen)} WHERE id = ?", (*seen.values(), root["id"]))


def finish_walk(db: sqlite3.Connection, root_id: int, values: dict[str, object]) -> None:
    """Write down what a walk saw of a root, and whether files of it are held."""
    # The plus keeps SQLite from reading all files of the root: there are few that are gone.
    gone = db.execute("SELECT count(*) FROM files WHERE +root_id = ? AND state = 'gone'", (root_id,)).fetchone()[0]
    row = get(db, root_id)
    unlisted = row["state"] == "online" and row["unlisted_folders"] and "unlisted_folders" not in values
    state, message = "online", row["message"] if unlisted else None
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
