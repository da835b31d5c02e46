"""What the loop says of itself: to systemd, to `winnow status` by a row of the database, and to the log."""

import logging
import os
import sqlite3
import time
from collections import deque
from pathlib import Path

from winnowd import __version__, disk
from winnowd.drain import Progress, now
from winnowd.journal import fields
from winnowd.model import Failure, Job
from winnowd.notify import Notify
from winnowd.store import queue, roots, service, transaction

log = logging.getLogger(__name__)

SAY_SECONDS, SAY_AGAIN_SECONDS = 2.0, 60.0  # what changed is said so soon, what did not so seldom
SUMMARY_SECONDS = 60.0
RATE_SECONDS = 300.0


class Telling:
    """The voice of the loop. `ping` and `say` are called with every turn, and speak when it is time."""

    def __init__(self, db: sqlite3.Connection, path: Path, notify: Notify, progress: Progress) -> None:
        self._db, self._path, self._notify, self._progress = db, path, notify, progress
        self._started = now()
        self._summed = Progress()
        self._rate: deque[tuple[float, int]] = deque()
        self._said: service.Said | None = None
        self._told = ""
        self._said_at = self._pinged_at = self._summed_at = 0.0  # monotonic

    def ping(self, moment: float) -> None:
        """Let systemd know that the loop turns, and the log what was read in the last minute."""
        pings = self._notify.watchdog_seconds
        if pings is not None and moment - self._pinged_at > pings / 4:
            self._pinged_at = moment
            self._notify.watchdog()
        if moment - self._summed_at > SUMMARY_SECONDS:
            self._summed_at = moment
            self._sum_up()

    def say(self, moment: float, running: int, paused: str | None) -> None:
        """Write down how it is, where that changed; `running` files are being read."""
        if moment - self._said_at <= SAY_SECONDS:
            return
        self._rate.append((moment, self._progress.read))
        while moment - self._rate[0][0] > RATE_SECONDS:
            self._rate.popleft()
        told = self.sentence(running, paused)
        if told != self._told:
            self._told = told
            self._notify.status(told)
        self._write("paused" if paused else "running", told, running)

    def end(self) -> None:
        """The last word: it was stopped, and did not just end."""
        self._said_at = 0.0
        self._write("stopped", "stopped", 0)

    def sentence(self, running: int, paused: str | None) -> str:
        """How it is, for a person."""
        rows = roots.all_roots(self._db)
        troubled = [row["state"] for row in rows if row["state"] != "online"]
        folders = "1 folder" if len(rows) == 1 else f"{len(rows)} folders"
        parts = [folders, f"{queue.waiting(self._db):,} files wait", f"{running} are being read"]
        parts += [f"{troubled.count(state)} {state}" for state in ("offline", "held") if state in troubled]
        return "; ".join(([paused] if paused else []) + [", ".join(parts)])

    def note_failure(self, job: Job, failure: Failure) -> None:
        """One line for a file that could not be read."""
        path = disk.join(job.root, job.directory, job.name)
        log.warning("Not read: %s", failure.message, extra=fields(path=path, code=failure.code))

    def _write(self, state: str, message: str, running: int) -> None:
        said = service.Said(
            version=__version__,
            pid=os.getpid(),
            started_at=self._started,
            state=state,
            message=message,
            read=self._progress.read,
            per_minute=self._per_minute(),
            pending=queue.waiting(self._db),
            running=running,
            crashes=self._progress.deaths,
            free_bytes=free_bytes(self._path) >> 24 << 24,  # in steps of 16 MB: what others write there is no news
            wal_bytes=size(wal_of(self._path)) >> 20 << 20,
        )
        if said == self._said and time.monotonic() - self._said_at < SAY_AGAIN_SECONDS:
            return
        with transaction(self._db):
            service.say(self._db, said, now())
        self._said, self._said_at = said, time.monotonic()

    def _per_minute(self) -> float:
        if not self._rate:
            return 0.0
        (began, first), (ended, last) = self._rate[0], self._rate[-1]
        return round(60 * (last - first) / max(ended - began, 1.0), 1)

    def _sum_up(self) -> None:
        new, old = self._progress, self._summed
        if new.read == old.read:
            return
        log.info(
            "Read files",
            extra=fields(
                files=new.read - old.read,
                documents=new.extracted - old.extracted,
                known=new.linked - old.linked,
                review=new.flagged - old.flagged,
                failed=new.failed - old.failed,
            ),
        )
        self._summed = Progress(**{name: getattr(new, name) for name in new.__slots__})


def wal_of(path: Path) -> Path:
    """The write-ahead log of the database at `path`."""
    return path.with_name(path.name + "-wal")


def size(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def free_bytes(path: Path) -> int:
    """Bytes that are free on the disk of a file."""
    seen = os.statvfs(path.parent)
    return seen.f_bavail * seen.f_frsize
