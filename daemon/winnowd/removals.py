"""What a walk may remove: decided last, when the root is proven once more and the new files were hashed.

What was not found stands in temp.missing. A file whose content turned up under a newer path has moved; what is left is removed,
or held where it is too much at once.
"""

import sqlite3
from datetime import UTC, datetime

from winnowd import disk, reconcile
from winnowd.config import Config
from winnowd.look import Dialogue, Folders, Seen, batches
from winnowd.rules import Rules, excluding, rules_for
from winnowd.store import files, roots, transaction
from winnowd.walk import FOLDERS_AT_ONCE, Walk, is_network, prove


def finish(db: sqlite3.Connection, walks: list[Walk], config: Config) -> Dialogue[dict[int, int]]:
    """Remove what the walks did not find, or hold it where it is too much; how many files each root lost.

    Begin it when the new files of the walks have been hashed: what turned up elsewhere has moved.
    """
    removed: dict[int, int] = {}
    for done in walks:
        if not done.online:
            continue
        root = roots.get(db, done.root_id)
        proof = yield from prove(db, root)
        if proof.error is None:
            yield from _look_again(db, root, rules_for(config, disk.loaded(root["path"])))
        with transaction(db):
            if proof.error is not None:  # it vanished while it was walked: what was not found may well be there
                roots.set_offline(db, done.root_id, proof.error)
                continue
            lost = _remove_missing(db, root, config)
            removed[done.root_id] = lost[0] + removed.get(done.root_id, 0)
            roots.finish_walk(db, done.root_id, _account(db, root, done, sum(lost)))
            if not done.part and not done.single:
                db.execute("DELETE FROM temp.renewed WHERE file_id IN (SELECT id FROM files WHERE root_id = ?)", (root["id"],))
    return removed


def missing(db: sqlite3.Connection, root_id: int) -> int:
    """How many files of a root were not found that are not held already."""
    sql = "SELECT count(*) FROM temp.missing CROSS JOIN files ON id = file_id WHERE missing.root_id = ? AND state <> 'gone'"
    return int(db.execute(sql, (root_id,)).fetchone()[0])


def forget_missing(db: sqlite3.Connection, root_id: int) -> None:
    """What was not found of a root means nothing: it is offline."""
    db.execute("DELETE FROM temp.missing WHERE root_id = ?", (root_id,))


def may_have_moved(db: sqlite3.Connection, root_id: int) -> bool:
    """Whether a file that waits to be hashed may be one that was not found: it has the same size."""
    row = db.execute(
        "SELECT 1 FROM files WHERE state = 'pending' AND (next_attempt IS NULL OR reason = ?) AND size IN (SELECT size "
        "FROM temp.missing CROSS JOIN files ON id = file_id WHERE missing.root_id = ? AND digest IS NOT NULL) "
        "AND id NOT IN (SELECT file_id FROM temp.missing) LIMIT 1",
        (files.SETTLING[0], root_id),
    ).fetchone()
    return row is not None


def _look_again(db: sqlite3.Connection, root: sqlite3.Row, applied: Rules) -> Dialogue[None]:
    """Look once more at what was not found, but for what is left out: it may have come back, or been missed by a moment."""
    path, network = disk.loaded(root["path"]), is_network(root)
    sql = "SELECT DISTINCT directory FROM files WHERE id IN (SELECT file_id FROM temp.missing WHERE root_id = ?)"
    missing = [disk.loaded(row["directory"]) for row in db.execute(sql, (root["id"],))]
    todo = [directory for directory in missing if excluding(applied, directory) is None]
    while todo:
        found: tuple[Seen, ...] = yield Folders(path, next(batches(todo[:FOLDERS_AT_ONCE])), network)
        del todo[: len(found)]
        for one in found:
            if not one.absent:
                _take_back(db, root["id"], one)


def _take_back(db: sqlite3.Connection, root_id: int, one: Seen) -> None:
    """Strike out of temp.missing what a folder shows after all; all of it where it cannot be listed."""
    there = None if one.listing is None else one.listing.files.keys() | one.listing.others.keys()
    known = files.in_directory(db, root_id, one.directory)
    rows = [row for name, row in known.items() if there is None or name in there]
    db.executemany("DELETE FROM temp.missing WHERE file_id = ?", [(reconcile.Known._make(row).file_id,) for row in rows])


def _remove_missing(db: sqlite3.Connection, root: sqlite3.Row, config: Config) -> tuple[int, int]:
    """Remove the root's files that were not found, or hold those that count when they are too many; how many of each."""
    rows = db.execute(
        "SELECT id, directory, digest, digest IN (SELECT digest FROM files WHERE id NOT IN (SELECT file_id FROM temp.missing) "
        "AND state <> 'gone' AND (id > :watermark OR id IN (SELECT file_id FROM temp.renewed))) AS moved "
        "FROM temp.missing CROSS JOIN files ON files.id = file_id WHERE missing.root_id = :root AND state <> 'gone'",
        {"watermark": root["watermark"], "root": root["id"]},
    ).fetchall()
    db.execute("DELETE FROM temp.missing WHERE root_id = ?", (root["id"],))
    if not rows:
        return 0, 0
    applied = rules_for(config, disk.loaded(root["path"]))
    left_out = {row["directory"] for row in rows if excluding(applied, disk.loaded(row["directory"])) is not None}
    # No loss: a path that was never read holds no text, one whose content turned up elsewhere has moved, and a folder that the
    # rules leave out is not missing.
    harmless = [row["id"] for row in rows if row["digest"] is None or row["moved"] or row["directory"] in left_out]
    spared = frozenset(harmless)
    lost = [row["id"] for row in rows if row["id"] not in spared]
    removed = files.remove(db, harmless)
    total = files.count(db, root["id"]) + removed
    if reconcile.may_remove(len(lost), total, config.walk.removal_floor, config.walk.removal_share):
        return removed + files.remove(db, lost), 0
    return removed, files.hold(db, lost)


def _account(db: sqlite3.Connection, root: sqlite3.Row, done: Walk, lost: int) -> dict[str, object]:
    """The columns of a root that a walk renews. A walk of a part renews only the number of files."""
    if done.single:
        return {"walked_files": None if root["walked_files"] is None else root["walked_files"] - lost}
    kept = sum(files.count_below(db, root["id"], folder) for folder in done.unlisted)
    listed = done.listed + kept if done.listed >= 0 else files.count(db, root["id"])
    if done.part:
        outside = files.count(db, root["id"]) - files.count_below(db, root["id"], done.part)
        return {"walked_files": outside + done.listed + kept}
    values: dict[str, object] = {
        "walked_files": listed,
        "walked_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "watermark": db.execute("SELECT ifnull(max(id), 0) FROM files").fetchone()[0],
        "identity": done.identity,
        "rules": done.rules,
        "unlisted_folders": len(done.unlisted),
    }
    if done.message is not None:
        values["message"] = done.message
    return values
