"""Reads what waits: claims files, hands them to the pool, and commits what the children found.

Outcomes are committed in groups; each is written by one call inside one transaction, so the program may be killed at any line.
"""

import sqlite3
import time
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime

from winnowd import reports, settle, worker
from winnowd.child import Limits
from winnowd.config import Config
from winnowd.errors import Interrupted, NoChildren, state_of_failure
from winnowd.model import Content, Document, Failure, Job
from winnowd.pool import Asked, Done, Pool
from winnowd.pool import warm_up as load_in_background
from winnowd.store import documents, files, judging, queue, transaction

LOOK_AHEAD = 8  # claimed files for each child: enough that none waits, few enough to read one by one after a crash
GROUP_SECONDS = 0.5
GROUP_CHARS = 2_000_000
GROUP_OUTCOMES = 200
WAIT_SECONDS = 0.25


@dataclass(slots=True)
class Progress:
    """What a scan has done so far; shown to people, decided upon by nobody."""

    listed: int = 0
    reading_since: float = 0.0  # monotonic; 0 while the walk goes on
    to_read: int = 0
    read: int = 0
    linked: int = 0
    extracted: int = 0
    judged: int = 0  # again, from stored measures
    flagged: int = 0
    failed: int = 0
    deaths: int = 0  # children that died or were ended
    removed: int = 0
    held: int = 0
    troubles: tuple[str, ...] = ()  # what could not be looked at, a sentence each


Told = Callable[[Progress], None]
Identity = tuple[str, str]


class Drain:
    """Reads what waits: the suspects of an unclean end one at a time, then the queue, then what is stale.

    Huge files, and those that ended their child, go one at a time beside the others and delay none. `run` reads until nothing
    waits; the service calls `fill`, `take` and `commit` itself as it turns.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        config: Config,
        progress: Progress,
        told: Told,
        failed: Callable[[Job, Failure], None] = lambda *_: None,
    ) -> None:
        self._db, self._config, self._progress, self._told, self._failed = db, config, progress, told, failed
        self._recipes, self._trials = worker.recipes(config), worker.trials(config)
        self._settling = settling(config)
        self._boot = uuid.uuid4().hex
        self._claimed: deque[Job] = deque()
        self._heavy: deque[Job] = deque()
        self._running: dict[int, Job] = {}
        self._heavy_running: int | None = None
        self._asked: dict[int, Content] = {}  # of the running jobs, once their content is known
        self._leaders: dict[int, Identity] = {}  # the running jobs that read a content
        self._twins: dict[Identity, list[tuple[Job, Content]]] = {}  # files that wait for what a leader makes of their content
        self._suspects = True  # there may be some
        self._given_up = False
        self._judged_to = self._stale_seen = 0
        self._group = _Group(time.monotonic())

    @property
    def running(self) -> int:
        """How many files are being read."""
        return len(self._running)

    def run(self, pool: Pool | None = None) -> None:
        """Read everything that waits, with the children of `pool`, else with some of its own."""
        self.begin()
        while self.judge_some():
            self._told(self._progress)
        self._progress.to_read, _ = queue.pending(self._db, now())
        self._progress.reading_since = time.monotonic()
        self._claim()
        if not self._claimed and not self._heavy:
            return
        with nullcontext(pool) if pool is not None else children(self._config) as at_work:
            try:
                while self.fill(at_work):
                    for event in at_work.wait(WAIT_SECONDS):
                        self.take(at_work, event)
                    self.commit_if_full()
                    self._told(self._progress)
                self.commit()
            except (Interrupted, NoChildren):
                self.stop(at_work)
                raise

    def begin(self) -> None:
        """Look at what an earlier run left, and let those files be read again whose time has come."""
        with transaction(self._db):
            queue.drop_idle_suspects(self._db, self._recipes)
            queue.wake(self._db, now())

    def judge_some(self) -> bool:
        """Judge again, from stored measures, some documents that other checks or thresholds judged.

        Whether there are more.
        """
        rows, self._judged_to = judging.outdated(self._db, self._recipes, self._judged_to)
        with transaction(self._db):
            for row in rows:
                judging.judge_again(self._db, row, self._recipes[row["format"]], self._config.checks)
        self._progress.judged += len(rows)
        return bool(rows)

    def look_for_stale(self) -> None:
        """Begin anew to look for documents that another recipe made: some may have become stale."""
        self._stale_seen = 0

    def fill(self, pool: Pool) -> bool:
        """Give the children what waits; whether any is at work then."""
        width = 1 if self._suspects else self._config.workers
        while len(self._running) - (self._heavy_running is not None) < width:
            if not self._claimed:
                self._claim()
            if not self._claimed:
                break
            self._submit(pool, self._claimed.popleft())
        if self._heavy and self._heavy_running is None and not (self._suspects and self._running):
            self._heavy_running = self._heavy[0].file_id
            self._submit(pool, self._heavy.popleft())
        return bool(self._running)

    def take(self, pool: Pool, event: Asked | Done) -> None:
        """What a child has to say of its file."""
        if isinstance(event, Asked):
            self._answer(pool, event)
            return
        job, content = self._running.pop(event.key), self._asked.pop(event.key, None)
        leader = self._leaders.pop(event.key, None)
        if self._heavy_running == event.key:
            self._heavy_running = None
        if isinstance(event.result, Failure):
            failure = self._ended(job, content, event.result)
            report: reports.Report = reports.Read(content, failure) if content else reports.Unread(failure)
        else:
            report = self._believed(reports.unpack(event.result), content)
        self._begin()
        self._write(job, report)
        for twin, its in self._twins.pop(leader, ()) if leader else ():
            self._write(twin, reports.Linked(its))  # it may have changed or gone while it waited

    def commit_if_full(self) -> None:
        """Commit what the children found, if it is much, or if it waited long enough."""
        if self._group.full(time.monotonic()):
            self.commit()

    def commit(self) -> None:
        """Commit what the children found."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._group = _Group(time.monotonic())

    def stop(self, pool: Pool) -> None:
        """End what is being read, and put it back with all that was claimed."""
        if self._given_up:
            return
        self.commit()
        for file_id in self._running:
            pool.cancel(file_id)
        with transaction(self._db):
            twins = [twin.file_id for twins in self._twins.values() for twin, _ in twins]
            queue.unclaim(self._db, [*self._running, *(job.file_id for job in (*self._claimed, *self._heavy)), *twins])

    def abandon(self, pool: Pool) -> None:
        """End what is being read, and store nothing: the disk of the database is full. What was claimed stays claimed."""
        for file_id in self._running:
            pool.cancel(file_id)
        self._given_up = True

    def _submit(self, pool: Pool, job: Job) -> None:
        self._running[job.file_id] = job
        pool.submit(job.file_id, reports.pack(job))

    def _ended(self, job: Job, content: Content | None, failure: Failure) -> Failure:
        """What a job failed of, that no child could report. A share that does not answer is no fault of the file."""
        self._progress.deaths += 1
        if job.network and content is None and failure.code == "timed_out":
            return Failure("unreadable", f"The share did not answer while it was read. {failure.message}")
        return failure

    def _answer(self, pool: Pool, event: Asked) -> None:
        """A child has hashed its file and asks whether it is worth reading."""
        content = reports.unpack_content(event.question)
        if content is None or event.key in self._asked:
            pool.cancel(event.key)
            self._asked.pop(event.key, None)
            self.take(pool, Done(event.key, reports.NONSENSE.failure))
            return
        self._asked[event.key] = content
        identity, recipe = (content.digest, content.format), self._recipes.get(content.format, "")
        trial = self._trials.get(content.format, "")
        known = documents.find(self._db, content, recipe) or documents.find_failure(self._db, content, trial)
        if not known and identity not in self._leaders.values():
            self._leaders[event.key] = identity
        pool.reply(event.key, reports.GO_ON if event.key in self._leaders else reports.KNOWN)

    def _believed(self, report: reports.Report, asked: Content | None) -> reports.Report:
        """The report, if it speaks of the content that the child asked about: no file may pass itself off as another."""
        if isinstance(report, reports.Unread | reports.Unsettled):
            return report
        outcome = report.outcome if isinstance(report, reports.Read) else None
        honest = asked == report.content
        if isinstance(outcome, Document):
            recipe = self._recipes.get(outcome.format, outcome.recipe)
            own = (report.content.digest, report.content.format, recipe)
            honest = honest and (outcome.digest, outcome.format, outcome.recipe) == own
        return report if honest else reports.NONSENSE

    def _write(self, job: Job, report: reports.Report) -> None:
        """Write down what came of a job, unless the file was seen to be another meanwhile."""
        content = None if isinstance(report, reports.Unread | reports.Unsettled) else report.content
        if queue.overtaken(self._db, job, content.stamp if content else None):
            queue.unclaim(self._db, [job.file_id])
            return
        if isinstance(report, reports.Linked):
            identity = (report.content.digest, report.content.format)
            if identity in self._leaders.values():  # its content is just being read under another path
                self._twins.setdefault(identity, []).append((job, report.content))
            else:
                self._link(job, report.content)
            return
        if isinstance(report, reports.Unsettled):
            files.settle(self._db, job.file_id, report.stamp, self._settling.after(report.stamp, time.time()))
            queue.unclaim(self._db, [job.file_id])
            return
        self._progress.read += 1
        outcome = report.outcome if isinstance(report, reports.Read) else report.failure
        if isinstance(outcome, Document) and content is not None:
            outcome = self._store(job, content, outcome)
        if isinstance(outcome, Failure):
            trial = self._trials.get(content.format, "") if content else ""
            documents.fail(self._db, job.file_id, content, outcome, trial)
            if state_of_failure(outcome.code, outcome.format) == "failed":
                self._progress.failed += 1
                self._failed(job, outcome)
        self._note_unsettled(job, content)
        self._group.add(outcome.chars if isinstance(outcome, Document) else 0)

    def _store(self, job: Job, content: Content, document: Document) -> Document | Failure:
        """Store a document. One that breaks a rule of the tables costs its own file, not the others of the group."""
        try:
            with transaction(self._db):
                documents.commit(self._db, job.file_id, content, document)
        except sqlite3.IntegrityError as error:
            return Failure("internal", f"What was read of it cannot be stored: {error}.", content.format)
        self._progress.extracted += 1
        self._progress.flagged += document.verdict == "review"
        return document

    def _link(self, job: Job, content: Content) -> None:
        """A file whose content the catalogue holds, as a document or as a failure; else it goes on waiting."""
        recipe = self._recipes.get(content.format, "")
        document_id = documents.find(self._db, content, recipe)
        failed = documents.find_failure(self._db, content, self._trials.get(content.format, ""))
        if document_id is not None:
            documents.link(self._db, job.file_id, content, document_id)
        elif failed is not None:
            documents.settle_failure(self._db, job.file_id, content, *failed)
        else:
            queue.unclaim(self._db, [job.file_id])
            return
        self._progress.read += 1
        self._progress.linked += document_id is not None
        self._note_unsettled(job, content)
        self._group.add(0)

    def _note_unsettled(self, job: Job, content: Content | None) -> None:
        """Say of a file that it was read before it had settled, unless it had after all, or waits to be read again."""
        if content is None or self._settling.remaining(content.stamp, time.time()) == 0:
            return
        if job.unsettled and not queue.is_pending(self._db, job.file_id):
            files.note_unsettled(self._db, job.file_id)

    def _claim(self) -> None:
        """Claim what is to be read next. Claims are committed before the work begins."""
        self._begin()
        if self._suspects:
            job = None if self._running else queue.claim_suspect(self._db, self._boot)
            self._claimed += [job] if job else []
            self._suspects = bool(self._running or job)
        if not self._suspects:
            patience = settle.stored_time(time.time() - self._settling.cap)
            self._claimed += queue.claim(self._db, self._boot, LOOK_AHEAD * self._config.workers, patience)
            if not self._heavy and self._heavy_running is None:
                self._heavy += queue.claim_heavy(self._db, self._boot, patience)
            if not self._claimed and not self._heavy:
                self._claim_stale()
        self.commit()

    def _claim_stale(self) -> None:
        jobs, self._stale_seen = queue.claim_stale(self._db, self._boot, self._recipes, self._stale_seen)
        self._claimed += jobs

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")


@dataclass(slots=True)
class _Group:
    """The outcomes that will be committed together."""

    began: float
    outcomes: int = 0
    chars: int = 0

    def add(self, chars: int) -> None:
        self.outcomes += 1
        self.chars += chars

    def full(self, now: float) -> bool:
        return self.outcomes >= GROUP_OUTCOMES or self.chars >= GROUP_CHARS or now - self.began > GROUP_SECONDS


def children(config: Config) -> Pool:
    """A pool of as many children as the configuration wants, with all parsers loaded."""
    size = config.workers + 1  # one more for what is huge or ended its child before
    return Pool(size, limits(config), worker.serve, (config, worker.recipes(config)), worker.PRELOAD)


def settling(config: Config) -> settle.Settling:
    """How long stamps have to stay equal."""
    own = config.watch
    return settle.Settling(own.settle_seconds, own.network_settle_seconds, own.settle_cap_seconds)


def warm_up() -> None:
    """Let the parsers be loaded in the background: there will be something to read."""
    load_in_background(worker.PRELOAD)


def limits(config: Config) -> Limits:
    """What one job may cost, as the pool wants it."""
    own, pool = config.limits, config.pool
    return Limits(own.idle_seconds, own.total_seconds, own.memory_mb << 20, pool.recycle_files, pool.recycle_mb << 20)


def now() -> str:
    """The present time as it is stored: UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
