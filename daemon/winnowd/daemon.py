"""The loop: walk, claim, read, commit, until nothing is left to do. Whoever holds the lock on the database is the loop.

It decides little: what a walk means stands in `reconcile`, what becomes of a failure in `errors`, what a decision means in
`store.review`.
"""

import os
import sqlite3
from collections.abc import Callable

from winnowd import disk, look, removals, reports, walk, worker
from winnowd.config import Config
from winnowd.drain import WAIT_SECONDS, Drain, Progress, Told, limits, now
from winnowd.errors import UsageError
from winnowd.model import Content, Failure, Job
from winnowd.pool import Asked, Pool
from winnowd.store import files, index, queue, roots, status, transaction


def scan(
    db: sqlite3.Connection,
    targets: list[str],
    config: Config,
    told: Told,
    *,
    verify: bool = False,
    pool: Pool | None = None,
) -> Progress:
    """Bring the catalogue in line with the disk: walk the targets (all roots where there are none), read what waits, remove.

    With `verify`, what looks unchanged is hashed too. Ends when nothing waits but what waits for a later attempt. `told`
    hears of the progress at moments when it is safe to stop: it may raise Interrupted.
    """
    progress = Progress()
    with transaction(db):
        wanted = targets_of(db, targets, config)
        queue.recover(db)
        queue.renew_failures(db, worker.trials(config), config.limits.file_mb << 20)
        if verify:
            for root_id, part in wanted:
                files.distrust(db, root_id, part)
    heard = _listing(progress, told)
    walks = [look.at_once(walk_of(db, root_id, part, config), heard) for root_id, part in wanted]
    progress.troubles = tuple(done.message for done in walks if done.message is not None)
    Drain(db, config, progress, told).run(pool)
    held = status.held(db)
    progress.removed = sum(look.at_once(removals.finish(db, walks, config)).values())
    walk.end(db)
    progress.held = status.held(db) - held
    if progress.extracted or progress.removed:
        documents = db.execute("SELECT count(*) FROM documents").fetchone()[0]
        index.tidy(db, progress.extracted / max(documents, 1))
    return progress


def preview(db: sqlite3.Connection, targets: list[str], config: Config) -> dict[str, object]:
    """What a scan would find to do: how many files it would read, in how many bytes, and how many it would remove."""
    db.execute("BEGIN IMMEDIATE")
    try:
        wanted = targets_of(db, targets, config)
        walks = [look.at_once(walk_of(db, root_id, part, config)) for root_id, part in wanted]
        waiting, size = queue.pending(db, now())
        removed = sum(look.at_once(removals.finish(db, walks, config)).values())
        offline = [done.message for done in walks if not done.online]
        states = status.by_state(db)
    finally:
        db.execute("ROLLBACK")
    found = {"files": sum(states.values()) - states["gone"], "to_read": waiting, "bytes_to_read": size, "to_remove": removed}
    return {**found, "held": states["gone"], "skipped": states["skipped"], "offline": offline}


def process(path: str, config: Config) -> reports.Read | reports.Unread:
    """Read one file in a child, with all limits, and without a catalogue."""
    root, name = os.path.split(path)
    network = disk.current_mount(root).network
    content: Content | None = None
    with Pool(1, limits(config), worker.serve, (config, worker.recipes(config)), ()) as pool:
        pool.submit(0, reports.pack(Job(0, root, "", name, network)))
        while True:
            for event in pool.wait(WAIT_SECONDS):
                if isinstance(event, Asked):
                    content = reports.unpack_content(event.question)
                    pool.reply(event.key, reports.GO_ON)
                elif isinstance(event.result, Failure):
                    return reports.Read(content, event.result) if content else reports.Unread(event.result)
                else:
                    report = reports.unpack(event.result)
                    return report if isinstance(report, reports.Read | reports.Unread) else reports.NONSENSE


def targets_of(db: sqlite3.Connection, paths: list[str], config: Config) -> list[tuple[int, str]]:
    """The root of each path and the part of it that it names; all roots where there are no paths. New folders become roots.

    The caller holds the transaction. Raises UsageError for a path that cannot be scanned.
    """
    roots.add_configured(db, [str(root.path) for root in config.roots])
    found = [_target(db, path) for path in paths or [disk.loaded(row["path"]) for row in roots.all_roots(db)]]
    if not found:
        raise UsageError("there is nothing to scan: name a folder, or set [[roots]] in the configuration")
    _refuse_database_inside(db)
    return [one for one in dict.fromkeys(found) if not any(_covers(other, one) for other in found)]


def places(db: sqlite3.Connection, paths: list[str]) -> list[tuple[str, str]]:
    """The root of each path, by its own path, and the part of it that is named; for the service, which looks at no disk.

    Raises UsageError for a path that cannot be scanned.
    """
    found = []
    for path in paths:
        root = roots.containing(db, path)
        if root is None and not os.path.isdir(path):
            raise UsageError(_no_root(path))
        if root is None:
            roots.refuse_above(db, path)
        found.append((disk.loaded(root["path"]), roots.relative(root, path)) if root is not None else (path, ""))
    return found


def _no_root(path: str) -> str:
    return f"{disk.printable(path)}: is a file in no known root; scan its folder, or look at it with `winnow process`"


def _covers(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Whether the first target holds all of the second, and more."""
    return one != other and one[0] == other[0] and (not one[1] or other[1].startswith(one[1] + "/"))


def _refuse_database_inside(db: sqlite3.Connection) -> None:
    path = db.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    root = roots.containing(db, os.path.realpath(path)) if path else None
    if root is not None:
        shown = disk.printable(disk.loaded(root["path"]))
        raise UsageError(f"{path}: the database lies inside the watched folder {shown}; name a file elsewhere with --db")


def _target(db: sqlite3.Connection, path: str) -> tuple[int, str]:
    root = roots.containing(db, path)
    if root is None:
        if not os.path.isdir(path):
            raise UsageError(_no_root(path))
        root = roots.add(db, path, "scan")
    return root["id"], roots.relative(root, path)


def walk_of(db: sqlite3.Connection, root_id: int, part: str, config: Config) -> look.Dialogue[walk.Walk]:
    """The walk of a root, of a folder in it, or the look at one file."""
    root = roots.get(db, root_id)
    path = disk.join(disk.loaded(root["path"]), part)
    if part and (os.path.islink(path) or not os.path.isdir(path)):
        return walk.look_at(db, root, part, config)
    return walk.walk(db, root, part, config)


def _listing(progress: Progress, told: Told) -> Callable[[look.Answer], None]:
    def heard(answer: look.Answer) -> None:
        for seen in answer if isinstance(answer, tuple) else ():
            progress.listed += len(seen.listing.files) + len(seen.listing.others) if seen.listing else 0
        told(progress)

    return heard
