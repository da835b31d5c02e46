"""Reads what waits until nothing does: claims files, hands them to the pool, and commits what the children found.

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

from winnowd import reports, worker
from winnowd.child import Limits
from winnowd.config import Config
from winnowd.errors import Interrupted, state_of_failure
from winnowd.model import Content, Document, Failure, Job
from winnowd.pool import Asked, Done, Pool
from winnowd.store import documents, judging, queue, transaction

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
    removed: int = 0
    held: int = 0
    troubles: tuple[str, ...] = ()  # what could not be looked at, a sentence each


Told = Callable[[Progress], None]
Identity = tuple[str, str]


class Drain:
    """Reads what waits until nothing does: the suspects of an unclean end one at a time, the queue, then what is stale."""

    def __init__(self, db: sqlite3.Connection, config: Config, progress: Progress, told: Told) -> None:
        self._db, self._config, self._progress, self._told = db, config, progress, told
        self._recipes = worker.recipes(config)
        self._boot = uuid.uuid4().hex
        self._claimed: deque[Job] = deque()
        self._running: dict[int, Job] = {}
        self._asked: dict[int, Content] = {}  # of the running jobs, once their content is known
        self._leaders: dict[int, Identity] = {}  # the running jobs that read a content
        self._twins: dict[Identity, list[tuple[Job, Content]]] = {}  # files that wait for what a leader makes of their content
        self._stale_seen = 0
        self._group = _Group(time.monotonic())

    def run(self, pool: Pool | None = None) -> None:
        """Read everything that waits, with the children of `pool`, else with some of its own."""
        with transaction(self._db):
            queue.drop_idle_suspects(self._db, self._recipes)
            queue.wake(self._db, now())
        self._judge_again()
        self._progress.to_read, _ = queue.pending(self._db, now())
        self._progress.reading_since = time.monotonic()
        self._claimed += self._claim_suspect()
        suspects = bool(self._claimed)
        if not suspects:
            self._claimed += self._claim() or self._claim_stale()
        if not self._claimed:
            return
        with nullcontext(pool) if pool is not None else children(self._config) as at_work:
            try:
                if suspects:
                    self._serve(at_work, 1, self._claim_suspect)
                self._serve(at_work, self._config.workers, self._claim)
                self._serve(at_work, self._config.workers, lambda: self._claim() or self._claim_stale())
            except Interrupted:
                self._commit()
                for file_id in self._running:
                    at_work.cancel(file_id)
                self._put_back()
                raise

    def _judge_again(self) -> None:
        """Judge from stored measures what was read as it would be now, but judged by other checks or thresholds."""
        rows, after = judging.outdated(self._db, self._recipes, 0)
        while rows:
            with transaction(self._db):
                for row in rows:
                    judging.judge_again(self._db, row, self._recipes[row["format"]], self._config.checks)
            self._progress.judged += len(rows)
            self._told(self._progress)
            rows, after = judging.outdated(self._db, self._recipes, after)

    def _serve(self, pool: Pool, width: int, claim: Callable[[], list[Job]]) -> None:
        while True:
            if not self._claimed and len(self._running) < width:
                self._claimed += claim()
                if not self._claimed and not self._running:
                    self._commit()
                    return
            while self._claimed and len(self._running) < width:
                job = self._claimed.popleft()
                self._running[job.file_id] = job
                pool.submit(job.file_id, reports.pack(job))
            for event in pool.wait(WAIT_SECONDS):
                self._take(pool, event)
            if self._group.full(time.monotonic()):
                self._commit()
            self._told(self._progress)

    def _take(self, pool: Pool, event: Asked | Done) -> None:
        if isinstance(event, Asked):
            self._answer(pool, event)
            return
        job, content = self._running.pop(event.key), self._asked.pop(event.key, None)
        leader = self._leaders.pop(event.key, None)
        if isinstance(event.result, Failure):
            report: reports.Report = reports.Read(content, event.result) if content else reports.Unread(event.result)
        else:
            report = self._believed(reports.unpack(event.result), content)
        self._begin()
        self._write(job, report)
        for twin, its in self._twins.pop(leader, ()) if leader else ():
            self._link(twin, its)

    def _answer(self, pool: Pool, event: Asked) -> None:
        """A child has hashed its file and asks whether it is worth reading."""
        content = reports.unpack_content(event.question)
        if content is None or event.key in self._asked:
            pool.cancel(event.key)
            self._asked.pop(event.key, None)
            self._take(pool, Done(event.key, reports.NONSENSE.failure))
            return
        self._asked[event.key] = content
        identity, recipe = (content.digest, content.format), self._recipes.get(content.format, "")
        known = documents.find(self._db, content, recipe) or documents.find_failure(self._db, content, recipe)
        if not known and identity not in self._leaders.values():
            self._leaders[event.key] = identity
        pool.reply(event.key, reports.GO_ON if event.key in self._leaders else reports.KNOWN)

    def _believed(self, report: reports.Report, asked: Content | None) -> reports.Report:
        """The report, if it speaks of the content that the child asked about: no file may pass itself off as another."""
        if isinstance(report, reports.Unread):
            return report
        outcome = report.outcome if isinstance(report, reports.Read) else None
        honest = asked == report.content
        if isinstance(outcome, Document):
            recipe = self._recipes.get(outcome.format, outcome.recipe)
            own = (report.content.digest, report.content.format, recipe)
            honest = honest and (outcome.digest, outcome.format, outcome.recipe) == own
        return report if honest else reports.NONSENSE

    def _write(self, job: Job, report: reports.Report) -> None:
        """Write down what came of a job."""
        if isinstance(report, reports.Linked):
            identity = (report.content.digest, report.content.format)
            if identity in self._leaders.values():  # its content is just being read under another path
                self._twins.setdefault(identity, []).append((job, report.content))
            else:
                self._link(job, report.content)
            return
        self._progress.read += 1
        content = report.content if isinstance(report, reports.Read) else None
        outcome = report.outcome if isinstance(report, reports.Read) else report.failure
        if isinstance(outcome, Document) and content is not None:
            outcome = self._store(job, content, outcome)
        if isinstance(outcome, Failure):
            recipe = self._recipes.get(content.format, "") if content else ""
            documents.fail(self._db, job.file_id, content, outcome, recipe)
            self._progress.failed += state_of_failure(outcome.code, outcome.format) == "failed"
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
        failed = documents.find_failure(self._db, content, recipe)
        if document_id is not None:
            documents.link(self._db, job.file_id, content, document_id)
        elif failed is not None:
            documents.settle_failure(self._db, job.file_id, content, *failed)
        else:
            queue.unclaim(self._db, [job.file_id])
            return
        self._progress.read += 1
        self._progress.linked += document_id is not None
        self._group.add(0)

    def _claim_suspect(self) -> list[Job]:
        self._begin()
        job = queue.claim_suspect(self._db, self._boot)
        self._commit()
        return [job] if job else []

    def _claim(self) -> list[Job]:
        self._begin()
        jobs = queue.claim(self._db, self._boot, LOOK_AHEAD * self._config.workers)
        self._commit()
        return jobs

    def _claim_stale(self) -> list[Job]:
        self._begin()
        jobs, self._stale_seen = queue.claim_stale(self._db, self._boot, self._recipes, self._stale_seen)
        self._commit()
        return jobs

    def _put_back(self) -> None:
        with transaction(self._db):
            twins = [twin.file_id for twins in self._twins.values() for twin, _ in twins]
            queue.unclaim(self._db, [*self._running, *(job.file_id for job in self._claimed), *twins])

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        if self._db.in_transaction:
            self._db.execute("COMMIT")
        self._group = _Group(time.monotonic())


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
    return Pool(config.workers, limits(config), worker.serve, (config, worker.recipes(config)), worker.PRELOAD)


def limits(config: Config) -> Limits:
    """What one job may cost, as the pool wants it."""
    own, pool = config.limits, config.pool
    return Limits(own.idle_seconds, own.total_seconds, own.memory_mb << 20, pool.recycle_files, pool.recycle_mb << 20)


def now() -> str:
    """The present time as it is stored: UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
