"""`winnow scan --watch`: scans, stays, and looks again at what changed. Events are hints into the same scan, nothing more.

Losing an event costs a delay until the next walk of everything, never a file.
"""

import os
import sqlite3
import time
from collections import Counter

from winnowd import daemon, disk, rules
from winnowd.config import Config
from winnowd.drain import Progress, Told, children
from winnowd.store import files, roots, transaction
from winnowd.watch import Watch

CROWD = 20  # changed files of one folder, beyond which the folder is walked instead


def follow(db: sqlite3.Connection, targets: list[str], config: Config, told: Told) -> None:
    """Scan the targets (all roots where there are none) and go on looking. Ends when `told` raises Interrupted."""
    with transaction(db):
        wanted = {root_id for root_id, _ in daemon.targets_of(db, targets, config)}
    with children(config) as pool:
        while True:
            followed = [row for row in roots.all_roots(db) if row["id"] in wanted]
            local = [disk.loaded(row["path"]) for row in followed if row["watch"] == "events"]
            with Watch(local) as watch:  # before the walk, so that nothing falls between the two
                daemon.scan(db, [disk.loaded(row["path"]) for row in followed], config, told, pool=pool)
                seen = len(local) == len(followed) and not watch.partial
                due = time.monotonic() + (config.watch.rescan_seconds if seen else config.watch.network_rescan_seconds)
                while not watch.lost and time.monotonic() < due:
                    told(Progress())
                    changed = worth_a_look(db, watch.settled(config.watch.settle_seconds), config)
                    if changed:
                        daemon.scan(db, changed, config, told, pool=pool)


def worth_a_look(db: sqlite3.Connection, paths: list[str], config: Config) -> list[str]:
    """What a scan should look at, when something happened to these paths: files, or folders that it walks."""
    found = {target for path in paths if (target := _target(db, path, config)) is not None}
    crowds = Counter(os.path.dirname(target) for target in found)
    grouped = {folder if crowds[folder := os.path.dirname(target)] > CROWD else target for target in found}
    return sorted(path for path in grouped if not any(parent in grouped for parent in _above(path)))


def _target(db: sqlite3.Connection, path: str, config: Config) -> str | None:
    root = roots.containing(db, path)
    if root is None:
        return None
    base, relative = disk.loaded(root["path"]), roots.relative(root, path)
    if rules.excluding(rules.rules_for(config, base), relative) is not None:
        return None
    if not os.path.lexists(path) and next(files.directories_below(db, root["id"], relative), None) is not None:
        path = os.path.dirname(path)  # a folder that is gone: what its parent shows says so
    while not os.path.isdir(os.path.dirname(path)) and path != base:
        path = os.path.dirname(path)
    return path if path.startswith(base) else base


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]
