"""Walks a root and brings the catalogue in line with it: additions and changes at once, removals only when it is safe.

One road in: every scan leads here. A walk goes folder by folder, so its memory is bounded by the largest folder. What it did
not find is written down and removed by `finish`, after the new files were hashed, since a path whose content turned up
elsewhere has moved.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from winnowd import disk, reconcile
from winnowd.config import Config
from winnowd.model import Change, Skip
from winnowd.rules import Rules, excluding, rules_for
from winnowd.store import files, roots, transaction

PROOF_SAMPLE = 2000
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk of a root, or of a part of it, saw."""

    root_id: int
    part: str  # relative to the root, '' for all of it
    online: bool
    single: bool = False  # the part is one file, not a folder
    message: str | None = None
    listed: int = 0
    unlisted: tuple[str, ...] = ()  # folders that could not be listed: absence below them means nothing
    identity: str | None = None
    rules: str | None = None


def walk(db: sqlite3.Connection, root: sqlite3.Row, part: str, config: Config, told: Callable[[int], None]) -> Walk:
    """List a root, or the `part` of it, and write what appeared or changed into the catalogue.

    `told` hears of the number of files after each folder. Nothing is removed yet: see `finish`. A root that cannot be
    proven is set offline, and no file of it changes state.
    """
    path = disk.loaded(root["path"])
    trouble = unproven(db, root)
    if trouble is not None:
        with transaction(db):
            roots.set_offline(db, root["id"], trouble)
        return Walk(root["id"], part, online=False, message=trouble)
    try:
        identity = disk.identity(path)
    except OSError as error:  # it vanished since it was proven
        return Walk(root["id"], part, online=False, message=f"{disk.printable(path)}: offline: {error.strerror}")
    _begin(db)
    seen = _Tally()
    applied = rules_for(config, path)
    with transaction(db):
        roots.set_online(db, root)
    root = roots.get(db, root["id"])
    for found in _folders(path, part, applied, seen, _is_network(root)):
        _reconcile(db, root, found, applied, seen)
        told(seen.listed)
    return _end(db, root, part, (seen, identity, applied.digest))


def look_at(db: sqlite3.Connection, root: sqlite3.Row, relative: str, config: Config) -> Walk:
    """Look at one file of a root instead of walking: what `walk` would find of it alone."""
    path = disk.loaded(root["path"])
    directory, _, name = relative.rpartition("/")
    _begin(db)
    try:
        shown = disk.listing(disk.join(path, directory), _is_network(root))
    except OSError as error:
        message = f"{disk.printable(disk.join(path, directory))}: cannot be listed: {error.strerror}"
        return Walk(root["id"], relative, online=False, message=message)
    listing = disk.Listing(_only(name, shown.files), (), _only(name, shown.others))
    known = _only(name, files.in_directory(db, root["id"], directory))
    _write(db, root["id"], directory, _changes(directory, listing, known, (rules_for(config, path), False)))
    _note_missing(db, known, listing)
    listed = len(listing.files) + len(listing.others)
    return Walk(root["id"], relative, True, single=True, listed=listed)


def unproven(db: sqlite3.Connection, root: sqlite3.Row) -> str | None:
    """Why a root is not what the catalogue knows, None where it is proven.

    A root is proven by its own identity (mount source and inode), by one known path that is there, or by an empty catalogue.
    """
    path = disk.loaded(root["path"])
    shown = disk.printable(path)
    try:
        with os.scandir(path):
            if disk.identity(path) == root["identity"]:
                return None
    except OSError as error:
        return f"{shown}: offline: {error.strerror}. Its documents stay searchable; nothing is removed."
    known = files.some(db, root["id"], PROOF_SAMPLE)
    if not known or any(_is_there(disk.join(path, relative)) for relative in known):
        return None
    return (
        f"{shown}: offline: the folder is not the one of the last walk and holds none of the known files, "
        "as when a share is not mounted. Its documents stay searchable; nothing is removed."
    )


def finish(db: sqlite3.Connection, walks: list[Walk], config: Config) -> dict[int, int]:
    """Remove what the walks did not find, or hold it where it is too much; how many files each root lost.

    Call it when the new files of the walks have been hashed: what turned up elsewhere has moved.
    """
    removed: dict[int, int] = {}
    for done in walks:
        root = roots.get(db, done.root_id)
        if not done.online:
            continue
        trouble = unproven(db, root)
        with transaction(db):
            if trouble is not None:  # it vanished while it was walked: what was not found may well be there
                roots.set_offline(db, done.root_id, trouble)
                continue
            removed[done.root_id] = _remove_missing(db, root, config) + removed.get(done.root_id, 0)
            roots.finish_walk(db, done.root_id, _account(db, root, done))
    db.execute("DROP TABLE IF EXISTS temp.visited")
    db.execute("DROP TABLE IF EXISTS temp.missing")
    db.execute("DROP TABLE IF EXISTS temp.renewed")
    return removed


@dataclass(slots=True)
class _Tally:
    """What a walk counts while it goes on."""

    listed: int = 0
    unlisted: list[str] = field(default_factory=list)


def _is_network(root: sqlite3.Row) -> bool:
    return disk.Mount("", root["filesystem"] or "", "", "").network


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError:
        return False
    return True


def _begin(db: sqlite3.Connection) -> None:
    db.execute(
        "CREATE TEMP TABLE IF NOT EXISTS visited (root_id INTEGER, directory, PRIMARY KEY (root_id, directory)) WITHOUT ROWID"
    )
    db.execute("CREATE TEMP TABLE IF NOT EXISTS missing (file_id INTEGER PRIMARY KEY)")
    db.execute("CREATE TEMP TABLE IF NOT EXISTS renewed (file_id INTEGER PRIMARY KEY)")


def _folders(path: str, part: str, applied: Rules, seen: _Tally, network: bool) -> Iterator[tuple[str, disk.Listing]]:
    """Each folder that is not excluded, with what it shows, depth first."""
    todo = [part]
    while todo:
        directory = todo.pop()
        try:
            listing = disk.listing(disk.join(path, directory), network)
        except OSError:
            seen.unlisted.append(directory)
            continue
        yield directory, listing
        below = [f"{directory}/{name}" if directory else name for name in listing.folders]
        todo += [folder for folder in reversed(below) if applied.rule_for(folder, folder=True) is None]


def _reconcile(
    db: sqlite3.Connection, root: sqlite3.Row, found: tuple[str, disk.Listing], applied: Rules, seen: _Tally
) -> None:
    directory, listing = found
    known = files.in_directory(db, root["id"], directory)
    recheck = root["rules"] != applied.digest
    _write(db, root["id"], directory, _changes(directory, listing, known, (applied, recheck)))
    seen.listed += len(listing.files) + len(listing.others)
    db.execute("INSERT OR IGNORE INTO temp.visited VALUES (?, ?)", (root["id"], disk.stored(directory)))
    _note_missing(db, known, listing)


def _changes(directory: str, listing: disk.Listing, known: dict[str, reconcile.Row], asked: tuple[Rules, bool]) -> list[Change]:
    applied, recheck = asked
    prefix = directory + "/" if directory else ""

    def excluded(name: str) -> Skip | None:
        rule = applied.rule_for(prefix + name, folder=False)
        return Skip("excluded", f"Left out by the pattern {rule!r} (walk.exclude).") if rule else None

    changes = list(reconcile.compare(listing.files, known, excluded, recheck))
    changes += reconcile.compare_others(listing.others, known)
    return changes


def _write(db: sqlite3.Connection, root_id: int, directory: str, changes: list[Change]) -> None:
    if changes:
        with transaction(db):
            files.apply(db, root_id, directory, changes)
        renewed = [(change.file_id,) for change in changes if change.kind == "modified"]
        db.executemany("INSERT OR IGNORE INTO temp.renewed VALUES (?)", renewed)


def _note_missing(db: sqlite3.Connection, known: dict[str, reconcile.Row], listing: disk.Listing) -> None:
    for name in known.keys() - listing.files.keys() - listing.others.keys():
        db.execute("INSERT OR IGNORE INTO temp.missing VALUES (?)", (reconcile.Known._make(known[name]).file_id,))


def _end(db: sqlite3.Connection, root: sqlite3.Row, part: str, saw: tuple[_Tally, str, str]) -> Walk:
    seen, identity, rules_digest = saw
    _note_missing_folders(db, root["id"], part, frozenset(seen.unlisted))
    return Walk(
        root["id"],
        part,
        online=True,
        message=_out_of_sight(seen.unlisted),
        listed=seen.listed,
        unlisted=tuple(seen.unlisted),
        identity=identity,
        rules=rules_digest,
    )


def _out_of_sight(unlisted: list[str]) -> str | None:
    """What to say of the folders that a walk could not list."""
    if not unlisted:
        return None
    first = disk.printable(unlisted[0]) or "the root itself"
    return f"{len(unlisted)} folders could not be listed ({first} ...); their files are kept as they were"


def _note_missing_folders(db: sqlite3.Connection, root_id: int, part: str, unlisted: frozenset[str]) -> None:
    for directory in files.not_visited(db, root_id, part):
        if unlisted and any(folder in unlisted for folder in (directory, *disk.parents(directory))):
            continue
        key = (root_id, disk.stored(directory))
        db.execute("INSERT OR IGNORE INTO temp.missing SELECT id FROM files WHERE root_id = ? AND directory = ?", key)


def _remove_missing(db: sqlite3.Connection, root: sqlite3.Row, config: Config) -> int:
    """Remove the root's files that the walk did not find, or hold those that count when they are too many."""
    if db.execute("SELECT 1 FROM temp.missing").fetchone() is None:
        return 0
    rows = db.execute(
        "SELECT id, directory, digest, digest IN (SELECT digest FROM files WHERE id NOT IN (SELECT file_id FROM temp.missing) "
        "AND (id > :watermark OR id IN (SELECT file_id FROM temp.renewed))) AS moved "
        "FROM files WHERE root_id = :root AND state <> 'gone' AND id IN (SELECT file_id FROM temp.missing)",
        {"watermark": root["watermark"], "root": root["id"]},
    ).fetchall()
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
        return removed + files.remove(db, lost)
    files.hold(db, lost)
    return removed


def _account(db: sqlite3.Connection, root: sqlite3.Row, done: Walk) -> dict[str, object]:
    """The columns of a root that a walk renews. A walk of a part renews only the number of files."""
    kept = sum(files.count_below(db, root["id"], folder) for folder in done.unlisted)
    if done.single:
        return {"walked_files": files.count(db, root["id"])}
    if done.part:
        outside = files.count(db, root["id"]) - files.count_below(db, root["id"], done.part)
        return {"walked_files": outside + done.listed + kept}
    values: dict[str, object] = {
        "walked_files": done.listed + kept,
        "walked_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "watermark": db.execute("SELECT ifnull(max(id), 0) FROM files").fetchone()[0],
        "identity": done.identity,
        "rules": done.rules,
        "unlisted_folders": len(done.unlisted),
    }
    if done.message is not None:
        values["message"] = done.message
    return values


def _only(name: str, entries: dict[str, _V]) -> dict[str, _V]:
    return {key: value for key, value in entries.items() if key == name}
