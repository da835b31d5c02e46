"""The ears of the rounds: which roots are watched, what was heard of them, and what is done where nothing can be heard."""

import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from winnowd import disk, look, walk
from winnowd.config import Config
from winnowd.journal import fields
from winnowd.store import roots, transaction
from winnowd.watch import LIMIT_HINT, Watch

log = logging.getLogger(__name__)

AFTER_LOSS_SECONDS = 2.0
DEAF_SECONDS = 10.0


@dataclass(slots=True)
class Work:
    """A dialogue under way: what it is, and the key of the question that a child answers."""

    kind: str  # walk, glance, finish, proof
    dialogue: look.Dialogue[object]
    key: int = 0


@dataclass(slots=True)
class Round:
    """What the rounds remember of one root."""

    id: int
    path: str
    mode: str = ""  # events, rescan
    watch: Watch | None = None
    hints: dict[str, set[str]] = field(default_factory=dict)
    work: dict[str, Work] = field(default_factory=dict)
    walked: walk.Walk | None = None  # a walk that waits to be finished
    glanced: bool = False  # files were added beside the walk, so that its own count is short
    missed: int = 0  # how many files
    missed_first: float = 0.0  # when files were first and last missed; 0 for none
    missed_last: float = 0.0
    decide_at: float = 0.0
    walk_at: float = 0.0
    prove_at: float = 0.0
    probe_at: float = 0.0
    offline: bool = False
    proven: bool = False  # looked at in this life: what it is mounted from is known
    identity: str | None = None  # of the folder, when it was last proven
    unlisted: frozenset[str] = frozenset()  # what the last walk could not list
    watch_anew: bool = False  # with the next walk: the watch does not lie on all folders that are there
    stalled: int = 0  # the key of a question that no answer came to
    parts: list[tuple[str, bool]] = field(default_factory=list)  # asked for: parts to be walked, and whether to hash all


class Ears:
    """How changes of the roots are heard. `wake` is called, from other threads, when there is something to `hear`."""

    def __init__(self, db: sqlite3.Connection, config: Config, probes: Path, wake: Callable[[], None]) -> None:
        self._db, self._config, self._probes, self._wake = db, config, probes, wake

    def watched(self, one: Round) -> bool:
        """Watch a root as its file system and its setting want it, and write down how; whether that has begun."""
        row = roots.get(self._db, one.id)
        mount = disk.Mount("", row["filesystem"] or "unknown", "", "")
        one.mode, why = roots.watching(mount, self._config.watch_of(one.path))
        if one.mode != "events" or one.watch_anew:
            self.stop(one)
        one.watch_anew = False
        if one.mode == "events" and one.watch is None:
            one.watch = Watch(one.path, self._probes / str(one.id), self._wake)
            one.watch.begin()
            one.probe_at = time.monotonic() + self._config.watch.probe_seconds
        if one.mode == "events" and one.watch is not None and not one.watch.started:
            return False
        if one.watch is not None and one.watch.error is not None:
            error, one.watch, one.mode = one.watch.error.strerror, None, "rescan"
            why = f"{why}; but events are not to be had: {error} ({LIMIT_HINT}, or max_user_instances)"
            log.warning("No events: the folder is walked again and again", extra=fields(root=one.path, error=error))
        if one.watch is not None and one.watch.partial:
            why = f"{why}; but a part of its folders gives no events: the kernel's limit of watches is reached ({LIMIT_HINT})"
        with transaction(self._db):
            roots.note_watch(self._db, one.id, one.mode, why)
        return True

    def hear(self, one: Round, now: float) -> None:
        """Take what was heard of a root, and prove now and then that anything would be. Monotonic seconds."""
        if one.watch is None or not one.watch.started or one.watch.error is not None:
            return
        hints = one.watch.take()
        for directory, names in hints.names.items():
            one.hints.setdefault(directory, set()).update(names)
        lost = hints.lost
        if lost is None and one.watch.deaf(DEAF_SECONDS):
            lost = "events do not arrive any more"
            self.stop(one)
        if lost is not None:
            self._lost(one, lost, now)
        elif now >= one.probe_at and one.watch is not None:
            was = one.watch.partial
            one.watch.probe()
            one.probe_at = now + self._config.watch.probe_seconds
            if one.watch.partial and not was:
                self._lost(one, "the kernel's limit of watches is reached", now)

    def _lost(self, one: Round, why: str, now: float) -> None:
        log.warning("Events were lost: the folder is walked again", extra=fields(root=one.path, why=why))
        with transaction(self._db):
            roots.count_overflow(self._db, one.id)
        one.hints.clear()
        one.walk_at = min(one.walk_at, now + AFTER_LOSS_SECONDS)  # losses that go on put no walk off

    def stop(self, one: Round) -> None:
        """Watch a root no more."""
        if one.watch is not None:
            one.watch.stop()
            one.watch = None
