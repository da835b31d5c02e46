"""The loop of the service: it goes the rounds of the folders, reads what waits, answers commands, and says how it is.

It only turns; each turn is short. What may hang (looking at a share, reading a file) happens in children.
"""

import contextlib
import logging
import os
import selectors
import signal
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winnowd import __version__, disk, operations, worker
from winnowd.config import Config
from winnowd.drain import Drain, Progress, children, now
from winnowd.errors import ConfigError, WinnowError
from winnowd.journal import fields
from winnowd.model import Failure, Job
from winnowd.notify import Notify
from winnowd.pool import Asked, Pool
from winnowd.rounds import Rounds
from winnowd.settle import stored_time
from winnowd.store import index, queue, requests, roots, service, status, transaction

log = logging.getLogger(__name__)

TICK_SECONDS = 0.25  # requests and settling files are looked for so often
SPACE_SECONDS = 5.0
SAY_SECONDS, SAY_AGAIN_SECONDS = 2.0, 60.0
SUMMARY_SECONDS = 60.0
RATE_SECONDS = 300.0
PAUSE_SECONDS = 10.0
CHECK_SECONDS = 86_400.0
CLOCK_SECONDS = 5.0  # a step of the wall clock beyond this was made by somebody
STOPPING = (signal.SIGTERM, signal.SIGINT)
WAL_KEPT = 4 << 20


@dataclass(slots=True)
class _Scan:
    """A scan that a command asked for."""

    request: int
    roots: set[int]
    before: dict[str, int]


@dataclass(slots=True)
class _Clocks:
    """When what is due again; monotonic seconds."""

    said: float = 0.0
    space: float = 0.0
    summary: float = 0.0
    ping: float = 0.0
    paused_until: float = 0.0
    checked: float = 0.0
    wall: float = 0.0  # wall clock less monotonic clock
    rate: deque[tuple[float, int]] = field(default_factory=deque)


class Loop:
    """The service on one database. `load` reads the configuration again; `db` is the one writer's connection."""

    def __init__(self, db: sqlite3.Connection, path: Path, load: Callable[[], Config], notify: Notify) -> None:
        self._db, self._path, self._load, self._notify = db, path, load, notify
        self._config = load()
        self._progress = Progress()
        self._summed = Progress()
        self._clocks = _Clocks(wall=time.time() - time.monotonic(), checked=time.monotonic())
        self._started = now()
        self._stopping = self._reloading = False
        self._paused: str | None = None
        self._abandoned = False  # claims are left of files that nobody reads
        self._scans: list[_Scan] = []
        self._said: service.Said | None = None
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> None:
        """Turn until somebody asks the service to stop."""
        with self._signals():
            while not self._stopping:
                self._reloading = False
                with children(self._config) as readers:
                    self._live(readers)
        with self._storing():
            self._say(state="stopped", message="stopped")
        os.close(self._wake_read)
        os.close(self._wake_write)

    def wake(self) -> None:
        """Turn now. May be called from other threads and from signal handlers."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b"!")

    # ---- life

    def _live(self, readers: Pool) -> None:
        """One life of the loop, with one configuration."""
        begun = self._begin()
        if begun is None:
            return
        rounds, drain = begun
        self._notify.ready(self._sentence(drain))
        log.info(
            "Ready", extra=fields(database=self._path, folders=len(roots.all_roots(self._db)), workers=self._config.workers)
        )
        try:
            with selectors.DefaultSelector() as selector:
                for source in (readers, rounds.listers, self._wake_read):
                    selector.register(source, selectors.EVENT_READ)
                while not self._stopping and not self._reloading:
                    drain, rounds = self._turn(readers, rounds, drain, selector)
            if self._stopping:
                self._notify.stopping("stopping: what is being read is put back")
            with self._storing():
                drain.stop(readers)
        finally:
            rounds.close()

    def _begin(self) -> tuple[Rounds, Drain] | None:
        """What a life needs of the database, as soon as that can be written; None where it is to end before."""
        while not self._stopping and not self._reloading:
            begun: tuple[Rounds, Drain] | None = None
            with self._storing() as trouble:
                self._open_roots()
                drain = self._new_drain()
                begun = self._new_rounds(), drain
                begun[0].open()
            if not trouble:
                return begun
            log.error("The database cannot be written: nothing begins until it can", extra=fields(why=trouble[0]))
            self._wait(PAUSE_SECONDS)
        return None

    def _wait(self, seconds: float) -> None:
        """Do nothing for a while but what systemd and the signals want."""
        until = time.monotonic() + seconds
        while not self._stopping and not self._reloading and time.monotonic() < until:
            self._drain_wakes()
            self._notify.watchdog()
            time.sleep(TICK_SECONDS)

    def _turn(self, readers: Pool, rounds: Rounds, drain: Drain, selector: selectors.BaseSelector) -> tuple[Drain, Rounds]:
        selector.select(TICK_SECONDS)
        self._drain_wakes()
        moment = time.monotonic()
        if moment < self._clocks.paused_until:
            self._breathe(moment, drain, rounds)
            return drain, rounds
        with self._storing() as trouble:
            self._serve(readers, rounds, drain, moment)
        if trouble:
            selector.unregister(rounds.listers)
            rounds, drain = self._begin_anew(readers, rounds, drain, trouble[0])
            selector.register(rounds.listers, selectors.EVENT_READ)
        return drain, rounds

    def _serve(self, readers: Pool, rounds: Rounds, drain: Drain, moment: float) -> None:
        for event in rounds.listers.wait(0):
            if not isinstance(event, Asked):
                rounds.take(event)
        for said in readers.wait(0):
            drain.take(readers, said)
        self._answer_requests(rounds, drain)
        self._look_at_clock(moment)
        queue.wake(self._db, stored_time(time.time()))
        rounds.turn(moment)
        if self._paused is None:
            drain.fill(readers)
        self._look_at_space(moment)
        drain.commit_if_full()
        if not drain.running:
            drain.commit()
            self._idle(drain, rounds, moment)
        self._end_scans(rounds, drain)
        self._breathe(moment, drain, rounds)

    def _idle(self, drain: Drain, rounds: Rounds, moment: float) -> None:
        """What is done when nothing is being read."""
        if drain.judge_some() or not rounds.idle():
            return
        wal = _size(Path(f"{self._path}-wal"))
        if wal > WAL_KEPT:
            self._checkpoint()
        if moment - self._clocks.checked > CHECK_SECONDS:
            self._clocks.checked = moment
            self._check_index()

    # ---- the configuration

    def _open_roots(self) -> None:
        known = {disk.loaded(row["path"]) for row in roots.all_roots(self._db)}
        for root in self._config.roots:
            if str(root.path) in known:
                continue
            near = next(
                (other for other in known if f"{root.path}/".startswith(f"{other}/") or other.startswith(f"{root.path}/")), None
            )
            if near is not None:
                log.error(
                    "Not watched: the folder overlaps a known root; `winnow roots forget` takes that out",
                    extra=fields(root=root.path, known=near),
                )
                continue
            with transaction(self._db):
                roots.adopt(self._db, str(root.path), "config")
            known.add(str(root.path))

    def _new_drain(self) -> Drain:
        recipes = worker.recipes(self._config)
        with transaction(self._db):
            queue.recover(self._db)
            queue.renew_failures(self._db, recipes)
            requests.forget_old(self._db)
        drain = Drain(self._db, self._config, self._progress, lambda _: None, self._note_failure)
        drain.begin()
        return drain

    def _new_rounds(self) -> Rounds:
        self._scans.clear()  # they are not answered yet, and so begin anew
        probes = self._path.with_name(self._path.name + ".watch")
        return Rounds(self._db, self._config, self._progress, probes, self.wake)

    def _reload(self) -> None:
        self._notify.reloading()
        try:
            config = self._load()
        except ConfigError as error:
            for line in str(error).splitlines():
                log.error("%s", line)  # noqa: TRY400
            self._notify.ready("the new configuration is refused, the old one goes on; the log says why")
            return
        log.info("Read the configuration again")
        self._config, self._reloading = config, True

    # ---- trouble with the disk of the database

    @contextmanager
    def _storing(self) -> Iterator[list[str]]:
        """What goes wrong with the database's disk pauses the loop; it does not end it."""
        trouble: list[str] = []
        try:
            yield trouble
        except sqlite3.OperationalError as error:
            if not any(word in str(error) for word in ("full", "disk I/O", "locked", "busy")):
                raise
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            trouble.append(str(error))

    def _begin_anew(self, readers: Pool, rounds: Rounds, drain: Drain, trouble: str) -> tuple[Rounds, Drain]:
        """Nothing could be stored: forget what was under way, wait, and look at everything again."""
        log.error("The database cannot be written: nothing is read until it can", extra=fields(why=trouble))
        self._paused = f"the database cannot be written ({trouble})"
        self._clocks.paused_until = time.monotonic() + PAUSE_SECONDS
        drain.abandon(readers)
        self._abandoned = True
        rounds.close()
        fresh = self._new_rounds()
        again = Drain(self._db, self._config, self._progress, lambda _: None, self._note_failure)
        fresh.open()
        return fresh, again

    def _look_at_space(self, moment: float) -> None:
        if moment - self._clocks.space < SPACE_SECONDS:
            return
        self._clocks.space = moment
        free, least = self._free(), self._config.database.free_mb << 20
        if free < least:
            if self._paused is None:
                log.warning("Paused: too little room on the disk of the database", extra=fields(free=free, least=least))
            self._paused = f"paused: {free >> 20:,} MB are free on the disk of the database, fewer than {least >> 20:,}"
        elif self._paused is not None:
            log.info("Going on", extra=fields(free=free))
            if self._abandoned:
                with transaction(self._db):
                    queue.unclaim_all(self._db)
            self._paused, self._abandoned = None, False

    def _free(self) -> int:
        seen = os.statvfs(self._path.parent)
        return seen.f_bavail * seen.f_frsize

    # ---- commands

    def _answer_requests(self, rounds: Rounds, drain: Drain) -> None:
        waiting = {scan.request for scan in self._scans}
        for asked in requests.open_ones(self._db):
            if asked.id in waiting:
                continue
            drain.commit()
            if asked.verb == "scan":
                self._begin_scan(asked, rounds)
                continue
            self._db.execute("PRAGMA synchronous = FULL")  # what a person decided cannot be found again by a walk
            with transaction(self._db):
                requests.answer(self._db, asked.id, self._carry_out(asked))
            self._db.execute("PRAGMA synchronous = NORMAL")
            log.info("Carried out", extra=fields(verb=asked.verb, who=asked.who))
            if asked.verb == "forget":
                rounds.forget(int(asked.argument.get("root", 0)))
            drain.look_for_stale()

    def _carry_out(self, asked: requests.Request) -> dict[str, Any]:
        try:
            with transaction(self._db):
                return operations.carry_out(self._db, asked.verb, asked.argument, asked.who)
        except WinnowError as error:
            return {"error": str(error), "code": error.exit_code}

    def _begin_scan(self, asked: requests.Request, rounds: Rounds) -> None:
        chosen: set[int] = set()
        try:
            with transaction(self._db):
                for path, part in asked.argument["targets"] or [
                    (disk.loaded(r["path"]), "") for r in roots.all_roots(self._db)
                ]:
                    row = roots.by_path(self._db, path) or roots.adopt(self._db, path, "scan")
                    chosen.add(row["id"])
                    rounds.walk_soon(row["id"], part, verify=bool(asked.argument.get("verify")))
        except WinnowError as error:
            with transaction(self._db):
                requests.answer(self._db, asked.id, {"error": str(error), "code": error.exit_code})
            return
        self._scans.append(_Scan(asked.id, chosen, self._counts()))

    def _end_scans(self, rounds: Rounds, drain: Drain) -> None:
        for scan in list(self._scans):
            if not rounds.idle(scan.roots) or drain.running or queue.pending(self._db, now())[0]:
                continue
            done = {key: value - scan.before[key] for key, value in self._counts().items()}
            with transaction(self._db):
                requests.answer(self._db, scan.request, {**done, "files": status.by_state(self._db)})
            self._scans.remove(scan)

    def _counts(self) -> dict[str, int]:
        counted = ("listed", "read", "extracted", "linked", "judged", "removed", "held")
        return {key: getattr(self._progress, key) for key in counted}

    # ---- what it says

    def _breathe(self, moment: float, drain: Drain, rounds: Rounds) -> None:
        """The watchdog of systemd, the row for `winnow status`, the summary in the log."""
        pings = self._notify.watchdog_seconds
        if pings is not None and moment - self._clocks.ping > pings / 4:
            self._clocks.ping = moment
            self._notify.watchdog()
        if moment - self._clocks.summary > SUMMARY_SECONDS:
            self._clocks.summary = moment
            self._sum_up()
        if moment - self._clocks.said > SAY_SECONDS:
            with self._storing():
                self._say_so(moment, drain, rounds)

    def _say_so(self, moment: float, drain: Drain, rounds: Rounds) -> None:
        rate = self._clocks.rate
        rate.append((moment, self._progress.read))
        while moment - rate[0][0] > RATE_SECONDS:
            rate.popleft()
        before = self._said
        told = self._sentence(drain)
        self._say(
            state="paused" if self._paused else "running", message=told, running=drain.running, again=moment - self._clocks.said
        )
        if before is None or before.message != told:
            self._notify.status(told)

    def _say(self, *, state: str, message: str, running: int = 0, again: float = SAY_AGAIN_SECONDS) -> None:
        rate = self._clocks.rate
        span = max(rate[-1][0] - rate[0][0], 1.0) if rate else 1.0
        per_minute = round(60 * (rate[-1][1] - rate[0][1]) / span, 1) if rate else 0.0
        said = service.Said(
            __version__,
            os.getpid(),
            self._started,
            state,
            message,
            self._progress.read,
            per_minute,
            queue.waiting(self._db),
            running,
            self._progress.deaths,
            self._free() >> 24 << 24,  # in steps of 16 MB: what others write there is no news
            _size(Path(f"{self._path}-wal")) >> 20 << 20,
        )
        if said == self._said and again < SAY_AGAIN_SECONDS:
            return
        self._clocks.said = time.monotonic()
        self._said = said
        with transaction(self._db):
            service.say(self._db, said, now())

    def _sentence(self, drain: Drain) -> str:
        rows = roots.all_roots(self._db)
        troubled = [row["state"] for row in rows if row["state"] != "online"]
        parts = [f"{len(rows)} folders", f"{queue.waiting(self._db):,} files wait", f"{drain.running} are being read"]
        parts += [f"{troubled.count(state)} {state}" for state in ("offline", "held") if state in troubled]
        return "; ".join(([self._paused] if self._paused else []) + [", ".join(parts)])

    def _sum_up(self) -> None:
        new, old = self._progress, self._summed
        if new.read > old.read:
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

    def _note_failure(self, job: Job, failure: Failure) -> None:
        path = disk.join(job.root, job.directory, job.name)
        log.warning("Not read: %s", failure.message, extra=fields(path=path, code=failure.code))

    # ---- care of the database and the clock

    def _checkpoint(self) -> None:
        self._db.execute("PRAGMA busy_timeout = 0")  # a reader that holds the log open is no reason to wait
        with contextlib.suppress(sqlite3.OperationalError):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._db.execute("PRAGMA busy_timeout = 10000")

    def _check_index(self) -> None:
        """Hold the index of passages against the passages, once a day; make it anew where it differs."""
        self._db.set_progress_handler(lambda: int(self._notify.watchdog()) * 0, 10_000_000)
        try:
            if index.repair(self._db):
                log.error("The index of passages did not hold what the passages say: it was made anew")
        finally:
            self._db.set_progress_handler(None, 0)

    def _look_at_clock(self, moment: float) -> None:
        """After somebody set the clock, the times at which files may be read mean nothing."""
        wall = time.time() - moment
        if abs(wall - self._clocks.wall) > CLOCK_SECONDS:
            log.warning(
                "The clock was set: what waited for its time is looked at now",
                extra=fields(seconds=round(wall - self._clocks.wall)),
            )
            with transaction(self._db):
                queue.wake_all(self._db)
            self._clocks.wall = wall

    # ---- signals

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(*_: object) -> None:
            self._stopping = True
            self.wake()

        def hang_up(*_: object) -> None:
            self._reload_asked = True
            self.wake()

        self._reload_asked = False
        before = {number: signal.signal(number, stop) for number in STOPPING}
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, hang_up)
        try:
            yield
        finally:
            for number, old in before.items():
                signal.signal(number, old)

    def _drain_wakes(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake_read, 4096):
                pass
        if self._reload_asked:
            self._reload_asked = False
            self._reload()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
