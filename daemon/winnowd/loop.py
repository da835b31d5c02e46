"""The loop of the service: it goes the rounds of the folders, reads what waits, answers commands, and says how it is.

It only turns; each turn is short. What may hang (looking at a share, reading a file) happens in children. A *life* of the loop
is the time with one configuration; trouble with the disk of the database ends a life too, and another begins after a pause.
"""

import contextlib
import logging
import os
import selectors
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from winnowd import disk, worker
from winnowd.care import Care
from winnowd.config import Config
from winnowd.desk import Desk
from winnowd.drain import Drain, Progress, children
from winnowd.errors import ConfigError
from winnowd.journal import fields
from winnowd.notify import Notify
from winnowd.pool import Asked, Pool
from winnowd.rounds import Rounds
from winnowd.settle import stored_time
from winnowd.store import queue, requests, roots, transaction
from winnowd.telling import Telling

log = logging.getLogger(__name__)

TICK_SECONDS = 0.25  # requests and settling files are looked for so often
PATIENCE_SECONDS = 1.0
STOPPING = (signal.SIGTERM, signal.SIGINT)


class Loop:
    """The service on one database. `load` reads the configuration again; `db` is the one writer's connection."""

    def __init__(self, db: sqlite3.Connection, path: Path, load: Callable[[], Config], notify: Notify) -> None:
        self._db, self._path, self._load, self._notify = db, path, load, notify
        self._config = load()
        self._progress = Progress()
        self._telling = Telling(db, path, notify, self._progress)
        self._care = Care(db, path, notify.watchdog)
        self._stopping = self._reloading = self._reload_asked = False
        self._patience_at = 0.0
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> None:
        """Turn until somebody asks the service to stop."""
        with self._signals():
            while not self._stopping:
                self._reloading = False
                with self._care.storing() as trouble, children(self._config) as readers:
                    self._live(readers)
                if trouble:
                    self._care.pause(trouble[0])
                    self._wait()
        with self._care.storing():
            self._telling.end()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def wake(self) -> None:
        """Turn now. May be called from other threads and from signal handlers."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"!")

    # ---- life

    def _live(self, readers: Pool) -> None:
        """One life of the loop."""
        self._care.resume()
        self._open_roots()
        rounds, drain, desk = self._new_rounds(), self._new_drain(), Desk(self._db, self._progress)
        rounds.open()
        self._notify.ready(self._telling.sentence(0, self._care.paused))
        count = len(roots.all_roots(self._db))
        log.info("Ready", extra=fields(database=self._path, folders=count, workers=self._config.workers))
        try:
            with selectors.DefaultSelector() as selector:
                for source in (readers, rounds.listers, self._wake_read):
                    selector.register(source, selectors.EVENT_READ)
                while not self._stopping and not self._reloading:
                    selector.select(TICK_SECONDS)
                    self._hear_wakes()
                    self._turn(readers, rounds, drain, desk)
            if self._stopping:
                self._notify.stopping("stopping: what is being read is put back")
        except sqlite3.DatabaseError:
            drain.abandon(readers)
            raise
        finally:
            drain.stop(readers)
            rounds.close()

    def _turn(self, readers: Pool, rounds: Rounds, drain: Drain, desk: Desk) -> None:
        moment = time.monotonic()
        for event in rounds.listers.wait(0):
            if not isinstance(event, Asked):
                rounds.take(event)
        for said in readers.wait(0):
            drain.take(readers, said)
        desk.serve(rounds, drain)
        self._care.look_at_clock(moment)
        self._wake_files(moment)
        rounds.turn(moment)
        self._care.look_at_space(moment, self._config)
        if self._care.paused is None:
            drain.fill(readers)
        drain.commit_if_full()
        if not drain.running:
            drain.commit()
            if not drain.judge_some() and rounds.idle():
                self._care.tidy(moment)
        self._telling.ping(moment)
        self._telling.say(moment, drain.running, self._care.paused)

    def _wake_files(self, moment: float) -> None:
        """Let files be read whose time has come; those that go on changing too, since each change put off their time."""
        now = time.time()
        queue.wake(self._db, stored_time(now))
        if moment - self._patience_at > PATIENCE_SECONDS:
            self._patience_at = moment
            queue.wake_unsettled(self._db, stored_time(now), stored_time(now - self._config.watch.settle_cap_seconds))

    def _wait(self) -> None:
        """Turn idly while the database cannot be written. systemd is told that it is ready: a restart would mend nothing."""
        self._notify.ready(self._care.paused or "")
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            while not self._stopping and not self._reloading and self._care.waits(moment := time.monotonic()):
                selector.select(TICK_SECONDS)
                self._hear_wakes()
                self._telling.ping(moment)

    # ---- the configuration

    def _open_roots(self) -> None:
        """Make roots of the configured folders that are none yet."""
        known = {disk.loaded(row["path"]) for row in roots.all_roots(self._db)}
        for path in (str(root.path) for root in self._config.roots):
            if path in known:
                continue
            near = next((other for other in known if _overlap(path, other)), None)
            if near is not None:
                message = "Not watched: the folder overlaps a known root; `winnow roots forget` takes that out"
                log.error(message, extra=fields(root=path, known=near))
                continue
            with transaction(self._db):
                roots.adopt(self._db, path, "config")
            known.add(path)

    def _new_drain(self) -> Drain:
        with transaction(self._db):
            queue.recover(self._db)
            queue.renew_failures(self._db, worker.trials(self._config), self._config.limits.file_mb << 20)
            requests.forget_old(self._db)
        drain = Drain(self._db, self._config, self._progress, lambda _: None, self._telling.note_failure)
        drain.begin()
        return drain

    def _new_rounds(self) -> Rounds:
        probes = self._path.with_name(self._path.name + ".watch")
        return Rounds(self._db, self._config, self._progress, probes, self.wake)

    def _reload(self) -> None:
        self._notify.reloading()
        try:
            config = self._load()
        except ConfigError as error:
            for line in str(error).splitlines():
                log.error("%s", line)  # noqa: TRY400 - for people: a traceback says nothing here
            self._notify.ready("the new configuration is refused, the old one goes on; the log says why")
            return
        log.info("Read the configuration again")
        self._config, self._reloading = config, True

    # ---- signals

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(*_: object) -> None:
            self._stopping = True
            self.wake()

        def hang_up(*_: object) -> None:
            self._reload_asked = True
            self.wake()

        before = {number: signal.signal(number, stop) for number in STOPPING}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, hang_up)
        try:
            yield
        finally:
            for number, old in before.items():
                signal.signal(number, old)

    def _hear_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake_read, 4096):
                pass
        if self._reload_asked:
            self._reload_asked = False
            self._reload()


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
