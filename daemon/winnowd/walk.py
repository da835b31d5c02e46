"""Walks a root and brings the catalogue in line with it: additions and changes at once, removals only when it is safe.

One road in: every scan, every event and every rescan leads here. A walk goes folder by folder, so its memory is bounded by the
largest folders. It is a dialogue: it asks what the disk shows (`look`) and goes on with the answer, so that the command can
look for itself, and the service can leave the looking to a child. What was not found is written down (temp.missing) and
removed by `finish`, after the new files were hashed, since a path whose content turned up elsewhere has moved.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from winnowd import disk, reconcile
from winnowd.config import Config
from winnowd.look import Dialogue, Folders, Names, Proof, Prove, Seen, batches
from winnowd.model import Change, Skip, Stamp
from winnowd.rules import Rules, excluding, rules_for
from winnowd.store import files, roots, transaction

PROOF_SAMPLE = 2000
FOLDERS_AT_ONCE = 64
Settles = Callable[[Stamp], str | None]
"""When a file with this stamp may be read, as it is stored; None for at once."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk of a root, or of a part of it, saw."""

    root_id: int
    part: str  # relative to the root, '' for all of it
    online: bool
    single: bool = False  # only some names were looked at
    message: str | None = None
    listed: int = 0  # -1 where files were added beside the walk, so that they have to be counted
    unlisted: tuple[str, ...] = ()  # folders that could not be listed: absence below them means nothing
    identity: str | None = None
    rules: str | None = None


@dataclass(slots=True)
class _Tally:
    """A walk while it goes on: where it belongs, what it applies, what it counted."""

    db: sqlite3.Connection
    root: sqlite3.Row
    applied: Rules
    settles: Settles
    listed: int = 0
    added: int = 0
    unlisted: list[str] = field(default_factory=list)

    @property
    def recheck(self) -> bool:
        """Whether the rules changed since the last walk, so that known files are held against them too."""
        return bool(self.root["rules"] != self.applied.digest)


def at_sight(_: Stamp) -> None:
    """Files need not settle: a scan has its own guard against those that change while they are read."""


def walk(db: sqlite3.Connection, root: sqlite3.Row, part: str, config: Config, settles: Settles = at_sight) -> Dialogue[Walk]:
    """List a root, or the `part` of it, and write what appeared or changed into the catalogue.

    Nothing is removed yet: see `finish`. A root that cannot be proven is set offline, and no file of it changes state.
    """
    proof = yield from prove(db, root)
    if proof.error is not None:
        with transaction(db):
            roots.set_offline(db, root["id"], proof.error)
        return Walk(root["id"], part, online=False, message=proof.error)
    begin(db)
    with transaction(db):
        roots.set_online(db, root, proof.mount, config.watch_of(disk.loaded(root["path"])))
    seen = _tally(db, root["id"], config, settles)
    _forget_visits(seen, part)
    yield from _descend(seen, [part])
    _note_missing_folders(seen, part)
    return _walked(seen, part, proof.identity)


def glance(
    db: sqlite3.Connection, root: sqlite3.Row, wanted: Mapping[str, frozenset[str]], config: Config, settles: Settles = at_sight
) -> Dialogue[Walk]:
    """Look at some names of some folders of a root instead of walking it: what `walk` would find of them alone.

    A name that is a folder is walked; one that is gone takes what was known below it with it.
    """
    begin(db)
    seen = _tally(db, root["id"], config, settles)
    for directory, names in wanted.items():
        if excluding(seen.applied, directory) is not None:
            continue
        (found,) = yield Names(disk.loaded(root["path"]), directory, tuple(names), is_network(seen.root))
        if found.error is not None and not found.absent:
            seen.unlisted.append(directory)
            continue
        yield from _take_names(seen, found, names)
    if seen.added:
        with transaction(db):
            roots.count_walked(db, root["id"], seen.added)
    return Walk(root["id"], "", online=True, single=True, message=_out_of_sight(seen.unlisted), listed=seen.listed)


def look_at(
    db: sqlite3.Connection, root: sqlite3.Row, relative: str, config: Config, settles: Settles = at_sight
) -> Dialogue[Walk]:
    """Look at one path of a root, and all below it where it is a folder."""
    directory, _, name = relative.rpartition("/")
    return (yield from glance(db, root, {directory: frozenset({name})}, config, settles))


def prove(db: sqlite3.Connection, root: sqlite3.Row) -> Dialogue[Proof]:
    """Whether a root is what the catalogue knows: a proof whose error, a sentence, says why not.

    A root is proven by its own identity (mount source and inode), by one known path that is there, or by an empty catalogue.
    """
    path = disk.loaded(root["path"])
    shown = disk.printable(path)
    proof: Proof = yield Prove(path)
    if proof.error is not None:
        return Proof(f"{shown}: offline: {proof.error}. Its documents stay searchable; nothing is removed.")
    known = [] if proof.identity == root["identity"] else files.some(db, root["id"], PROOF_SAMPLE)
    for batch in batches(known):
        again: Proof = yield Prove(path, batch)
        if again.present:
            return again
    if not known:
        return proof
    return Proof(
        f"{shown}: offline: the folder is not the one of the last walk and holds none of the known files, "
        "as when a share is not mounted. Its documents stay searchable; nothing is removed."
    )


def begin(db: sqlite3.Connection) -> None:
    """Make the tables of what walks note down, where there are none yet. They are the connection's own."""
    db.execute(
        "CREATE TEMP TABLE IF NOT EXISTS visited (root_id INTEGER, directory, PRIMARY KEY (root_id, directory)) WITHOUT ROWID"
    )
    db.execute("CREATE TEMP TABLE IF NOT EXISTS missing (file_id INTEGER PRIMARY KEY, root_id INTEGER)")
    db.execute("CREATE TEMP TABLE IF NOT EXISTS renewed (file_id INTEGER PRIMARY KEY)")


def end(db: sqlite3.Connection) -> None:
    """Forget what walks noted down."""
    for table in ("visited", "missing", "renewed"):
        db.execute(f"DROP TABLE IF EXISTS temp.{table}")


def _tally(db: sqlite3.Connection, root_id: int, config: Config, settles: Settles) -> _Tally:
    root = roots.get(db, root_id)
    seen = _Tally(db, root, rules_for(config, disk.loaded(root["path"])), settles)
    if seen.recheck and root["rules"] is not None:
        with transaction(db):  # from now on some files follow other rules: only a walk of all of them may say which hold
            roots.forget_rules(db, root_id)
    return seen


def is_network(root: sqlite3.Row) -> bool:
    """Whether other hosts may change files of a root without our kernel seeing it."""
    return disk.Mount("", root["filesystem"] or "", "", "").network


def _descend(seen: _Tally, todo: list[str]) -> Dialogue[None]:
    """Walk folders and all below them that are not excluded, depth first."""
    path, network = disk.loaded(seen.root["path"]), is_network(seen.root)
    while todo:
        batch = next(batches(todo[-FOLDERS_AT_ONCE:][::-1]))
        found: tuple[Seen, ...] = yield Folders(path, batch, network)
        del todo[len(todo) - len(found) :]
        for one in found:
            if one.listing is None:
                _note_unlisted(seen, one)
                continue
            _take(seen, one.directory, one.listing)
            below = [disk.join("", one.directory, name).lstrip("/") for name in one.listing.folders]
            todo += [folder for folder in reversed(below) if seen.applied.rule_for(folder, folder=True) is None]


def _note_unlisted(seen: _Tally, one: Seen) -> None:
    """A folder that is gone again shows nothing, which means something; one that cannot be listed means nothing."""
    if one.absent and one.directory:
        return
    seen.unlisted.append(one.directory)


def _take(seen: _Tally, directory: str, listing: disk.Listing) -> None:
    """Bring the catalogue in line with what one folder shows."""
    db, root_id = seen.db, seen.root["id"]
    known = files.in_directory(db, root_id, directory)
    _write(seen, directory, _changes(seen, directory, listing, known))
    seen.listed += len(listing.files) + len(listing.others)
    db.execute("INSERT OR IGNORE INTO temp.visited VALUES (?, ?)", (root_id, disk.stored(directory)))
    _note_missing(seen, [known[name] for name in known.keys() - listing.files.keys() - listing.others.keys()])


def _take_names(seen: _Tally, found: Seen, names: frozenset[str]) -> Dialogue[None]:
    """Bring the catalogue in line with what is seen of some names of one folder, and walk those that are folders."""
    listing = found.listing or disk.Listing({}, (), {})
    known = files.named(seen.db, seen.root["id"], found.directory, names)
    if not found.absent:
        _write(seen, found.directory, _changes(seen, found.directory, listing, known))
    seen.listed += len(listing.files) + len(listing.others)
    _note_missing(seen, [known[name] for name in known.keys() - listing.files.keys() - listing.others.keys()])
    for name in names:
        folder = disk.join("", found.directory, name).lstrip("/")
        if name in listing.folders and seen.applied.rule_for(folder, folder=True) is None:
            yield from _walk_anew(seen, folder)
        elif name not in listing.folders and next(files.directories_below(seen.db, seen.root["id"], folder), None) is not None:
            _forget_visits(seen, folder)
            _note_missing_folders(seen, folder)


def _walk_anew(seen: _Tally, folder: str) -> Dialogue[None]:
    _forget_visits(seen, folder)
    yield from _descend(seen, [folder])
    _note_missing_folders(seen, folder)


def _forget_visits(seen: _Tally, folder: str) -> None:
    if not folder:
        seen.db.execute("DELETE FROM temp.visited WHERE root_id = ?", (seen.root["id"],))
        return
    visited = [(seen.root["id"], disk.stored(known)) for known in files.directories_below(seen.db, seen.root["id"], folder)]
    seen.db.executemany("DELETE FROM temp.visited WHERE root_id = ? AND directory = ?", visited)


def _changes(seen: _Tally, directory: str, listing: disk.Listing, known: dict[str, reconcile.Row]) -> list[Change]:
    prefix = directory + "/" if directory else ""

    def excluded(name: str) -> Skip | None:
        rule = seen.applied.rule_for(prefix + name, folder=False)
        return Skip("excluded", f"Left out by the pattern {rule!r} (walk.exclude).") if rule else None

    changes = list(reconcile.compare(listing.files, known, excluded, seen.recheck))
    changes += reconcile.compare_others(listing.others, known)
    return changes


def _write(seen: _Tally, directory: str, changes: list[Change]) -> None:
    if changes:
        with transaction(seen.db):
            files.apply(seen.db, seen.root["id"], directory, changes, seen.settles)
        seen.added += sum(change.kind in ("appeared", "returned") for change in changes)
        renewed = [(change.file_id,) for change in changes if change.kind == "modified"]
        seen.db.executemany("INSERT OR IGNORE INTO temp.renewed VALUES (?)", renewed)


def _note_missing(seen: _Tally, rows: list[reconcile.Row]) -> None:
    gone = [(reconcile.Known._make(row).file_id, seen.root["id"]) for row in rows]
    seen.db.executemany("INSERT OR IGNORE INTO temp.missing VALUES (?, ?)", gone)


def _note_missing_folders(seen: _Tally, part: str) -> None:
    unlisted = frozenset(seen.unlisted)
    for directory in files.not_visited(seen.db, seen.root["id"], part):
        if unlisted and any(folder in unlisted for folder in (directory, *disk.parents(directory))):
            continue
        seen.db.execute(
            "INSERT OR IGNORE INTO temp.missing SELECT id, root_id FROM files WHERE root_id = ? AND directory = ?",
            (seen.root["id"], disk.stored(directory)),
        )


def _walked(seen: _Tally, part: str, identity: str | None) -> Walk:
    return Walk(
        seen.root["id"],
        part,
        online=True,
        message=_out_of_sight(seen.unlisted),
        listed=seen.listed,
        unlisted=tuple(seen.unlisted),
        identity=identity,
        rules=seen.applied.digest,
    )


def _out_of_sight(unlisted: list[str]) -> str | None:
    """What to say of the folders that a walk could not list."""
    if not unlisted:
        return None
    first = disk.printable(unlisted[0]) or "the root itself"
    return f"{len(unlisted)} folders could not be listed ({first} ...); their files are kept as they were"
