"""Care of the database and its disk while the service runs: room, the write-ahead log, the index, and the clock."""

import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from winnowd.config import Config
from winnowd.errors import NoChildrenNow, StoreError
from winnowd.journal import fields
from winnowd.store import index, queue, transaction
from winnowd.telling import free_bytes, size, wal_of

log = logging.getLogger(__name__)

SPACE_SECONDS = 5.0
PAUSE_SECONDS = 10.0
CHECK_SECONDS = 86_400.0
CLOCK_SECONDS = 5.0  # a step of the wall clock beyond this was made by somebody
WAL_KEPT = 4 << 20
FREE_PAGES = 500  # of the database, given back to the disk in one idle turn
PASSING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN)
"""What SQLite says where the disk is full, refuses, or another program holds the database: all of it passes."""


class Care:
    """What is looked after between the turns. `paused` says why nothing new is read, None where it is."""

    def __init__(self, db: sqlite3.Connection, path: Path, ping: Callable[[], bool]) -> None:
        self._db, self._path, self._ping = db, path, ping
        self._file = _identity(path)
        self._looked_at = 0.0
        self._checked_at = time.monotonic()
        self._wall = time.time() - time.monotonic()
        self._until = 0.0
        self._abandoned = False  # claims are left of files that nobody reads
        self.paused: str | None = None

    def waits(self, moment: float) -> bool:
        """Whether the database could not be written a moment ago, so that nothing is tried now."""
        return moment < self._until

    def pause(self, trouble: str) -> None:
        """Nothing can be done for now, and what was under way was given up. `trouble` says why."""
        if not self._abandoned:  # one line, however long it lasts
            log.error("Nothing is read for now: %s", trouble)
        self.paused = f"paused: {trouble}"
        self._until, self._abandoned = time.monotonic() + PAUSE_SECONDS, True

    def resume(self) -> None:
        """Begin again after a pause: what was given up is put back. Raises where the database can still not be written."""
        if not self._abandoned:
            return
        with transaction(self._db):
            queue.unclaim_all(self._db)
            self._db.execute("UPDATE service SET message = 'going on'")  # a write at any rate
        log.info("Going on", extra=fields(free=free_bytes(self._path)))
        self.paused, self._abandoned = None, False

    def look_at_space(self, moment: float, config: Config) -> None:
        """Pause where too little room is left on the disk of the database, and go on when there is.

        Raises StoreError where the database itself is gone: what is written goes nowhere then.
        """
        if moment - self._looked_at < SPACE_SECONDS:
            return
        self._looked_at = moment
        if _identity(self._path) != self._file:
            raise StoreError(f"{self._path}: is not there any more: it was deleted or replaced while the service ran")
        free, least = free_bytes(self._path), config.database.free_mb << 20
        if free < least:
            if self.paused is None:
                log.warning("Paused: too little room on the disk of the database", extra=fields(free=free, least=least))
            self.paused = f"paused: {free >> 20:,} MB are free on the disk of the database, fewer than {least >> 20:,}"
        elif self.paused is not None:
            log.info("Going on", extra=fields(free=free))
            self.paused = None

    def look_at_clock(self, moment: float) -> None:
        """After somebody set the clock, the times at which files may be read mean nothing."""
        wall = time.time() - moment
        if abs(wall - self._wall) <= CLOCK_SECONDS:
            return
        step = round(wall - self._wall)
        log.warning("The clock was set: what waited for its time is looked at now", extra=fields(seconds=step))
        with transaction(self._db):
            queue.wake_all(self._db)
        self._wall = wall

    def tidy(self, moment: float) -> None:
        """What there is time for when nothing is being read."""
        index.give_back(self._db, FREE_PAGES)
        if size(wal_of(self._path)) > WAL_KEPT:
            self._checkpoint()
        if moment - self._checked_at > CHECK_SECONDS:
            self._checked_at = moment
            self.check_index()

    def _checkpoint(self) -> None:
        self._db.execute("PRAGMA busy_timeout = 0")  # a reader that holds the log open is no reason to wait
        with contextlib.suppress(sqlite3.OperationalError):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._db.execute("PRAGMA busy_timeout = 10000")

    def check_index(self) -> None:
        """Hold the indexes against what they index, and make anew what differs. It may take minutes."""

        def turning() -> int:
            self._ping()
            return 0

        self._db.set_progress_handler(turning, 10_000_000)
        try:
            if index.repair(self._db):
                log.error("An index did not hold what the tables say: it was made anew")
        finally:
            self._db.set_progress_handler(None, 0)

    @contextmanager
    def storing(self) -> Iterator[list[str]]:
        """What passes by itself, or can be mended, goes into its list and ends nothing.

        That is trouble with the disk of the database, an index that differs from its content, and no room for processes.
        """
        trouble: list[str] = []
        try:
            yield trouble
        except NoChildrenNow as error:
            trouble.append(str(error))
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if code & 0xFF not in PASSING and code != sqlite3.SQLITE_CORRUPT_VTAB:
                raise
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            trouble.append(f"the database cannot be written ({error})")
            if code == sqlite3.SQLITE_CORRUPT_VTAB:
                self.check_index()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_dev, seen.st_ino
