"""The loop: walk, claim, read, commit, until nothing is left to do. Whoever holds the lock on the database is the loop.

It decides little: what a walk means stands in `reconcile`, what becomes of a failure in `errors`, what a decision means in `store.review`.
Outcomes are committed in groups; each is written by one call inside one transaction, so the program may be killed at any line.
"""

import os
import sqlite3
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from winnowd import disk, walk, worker
from winnowd.config import Config
from winnowd.errors import Interrupted, UsageError, state_of_failure
from winnowd.model import Content, Document, Failure, Job
from winnowd.pool import Asked, Done, Limits, Pool
from winnowd.store import documents, files, queue, roots, status, transaction

LOOK_AHEAD = 8  # claimed files for each child: enough that children never wait, few enough to read one by one after a crash
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
    flagged: int = 0
    failed: int = 0
    removed: int = 0
    held: int = 0


Told = Callable[[Progress], None]
Identity = tuple[str, str]


def scan(db: sqlite3.Connection, targets: list[str], config: Config, told: Told, *, verify: bool = False) -> Progress:
    """Bring the catalogue in line with the disk: walk the targets (all roots where there are none), read what waits, then remove.

    With `verify`, what looks unchanged is hashed too. Ends when nothing waits but what waits for a later attempt. `told` hears of the
    progress at moments when it is safe to stop: it may raise Interrupted.
    """
    progress = Progress()
    with transaction(db):
        wanted = _targets(db, targets, config)
        queue.recover(db)
        queue.renew_failures(db, worker.recipes(config))
        if verify:
            for root_id, part in wanted:
                files.distrust(db, root_id, part)
    walks = [_walk(db, root_id, part, config, _listing(progress, told)) for root_id, part in wanted]
    Drain(db, config, progress, told).run()
    held = status.by_state(db)["gone"]
    progress.removed = sum(walk.finish(db, walks, config).values())
    progress.held = status.by_state(db)["gone"] - held
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return progress


def preview(db: sqlite3.Connection, targets: list[str], config: Config) -> dict[str, object]:
    """What a scan would find to do: how many files it would read, in how many bytes, and how many it would not find any more."""
    db.execute("BEGIN IMMEDIATE")
    try:
        wanted = _targets(db, targets, config)
        walks = [_walk(db, root_id, part, config, lambda _: None) for root_id, part in wanted]
        waiting, size = queue.pending(db, _now())
        removed = sum(walk.finish(db, walks, config).values())
        offline = [done.message for done in walks if done.message is not None]
        states = status.by_state(db)
    finally:
        db.execute("ROLLBACK")
    found = {"files": sum(states.values()) - states["gone"], "to_read": waiting, "bytes_to_read": size, "to_remove": removed}
    return {**found, "held": states["gone"], "skipped": states["skipped"], "offline": offline}


def process(path: str, config: Config) -> worker.Read | worker.Unread:
    """Read one file in a child, with all limits, and without a catalogue."""
    root, name = os.path.split(path)
    network = disk.current_mount(root).network
    with Pool(1, _limits(config), worker.serve, (config, worker.recipes(config)), ()) as pool:
        pool.submit(0, worker.pack(Job(0, root, "", name, network)))
        content: Content | None = None
        while True:
            for event in pool.wait(WAIT_SECONDS):
                if isinstance(event, Asked):
                    content = worker.unpack_content(event.question)
                    pool.reply(event.key, worker.GO_ON)
                    continue
                if isinstance(event.result, Failure):
                    return worker.Read(content, event.result) if content else worker.Unread(event.result)
                report = _unpack(event.result)
                assert not isinstance(report, worker.Linked)
                return report


def _targets(db: sqlite3.Connection, paths: list[str], config: Config) -> list[tuple[int, str]]:
    return [_target(db, path) for path in paths or [str(disk.loaded(row["path"])) for row in _known_roots(db, config)]]


def _known_roots(db: sqlite3.Connection, config: Config) -> list[sqlite3.Row]:
    """All roots, the configured ones added where they are new. The caller holds the transaction."""
    known = {disk.loaded(row["path"]) for row in roots.all_roots(db)}
    for root in config.roots:
        if str(root.path) not in known:
            roots.add(db, str(root.path), "config")
    found = roots.all_roots(db)
    if not found:
        raise UsageError("there is nothing to scan: name a folder, or set [[roots]] in the configuration")
    return found


def _target(db: sqlite3.Connection, path: str) -> tuple[int, str]:
    """The root of a path and the part of it that the path names; a path in no root becomes a root."""
    root = roots.containing(db, path)
    if root is None:
        if not os.path.isdir(path):
            raise UsageError(f"{disk.printable(path)}: is a file in no known root; scan its folder, or look at it with `winnow process`")
        root = roots.add(db, path, "scan")
    return root["id"], roots.relative(root, path)


def _walk(db: sqlite3.Connection, root_id: int, part: str, config: Config, told: Callable[[int], None]) -> walk.Walk:
    root = roots.get(db, root_id)
    path = disk.join(disk.loaded(root["path"]), part)
    if part and not os.path.isdir(path):
        return walk.look_at(db, root, part, config)
    return walk.walk(db, root, part, config, told)


def _listing(progress: Progress, told: Told) -> Callable[[int], None]:
    before = progress.listed

    def listed(count: int) -> None:
        progress.listed = before + count
        told(progress)

    return listed


class Drain:
    """Reads what waits until nothing does: first the suspects of an unclean end, one at a time, then the queue, then what is stale."""

    def __init__(self, db: sqlite3.Connection, config: Config, progress: Progress, told: Told) -> None:
        self._db, self._config, self._progress, self._told = db, config, progress, told
        self._recipes = worker.recipes(config)
        self._boot = uuid.uuid4().hex
        self._claimed: deque[Job] = deque()
        self._running: dict[int, Job] = {}
        self._contents: dict[int, Content] = {}  # of the running jobs, once they are known
        self._twins: dict[Identity, list[tuple[Job, Content]]] = {}  # files whose content is just being read under another path
        self._group = _Group(time.monotonic())

    def run(self) -> None:
        """Read everything that waits."""
        with transaction(self._db):
            queue.drop_idle_suspects(self._db)
        self._progress.to_read, _ = queue.pending(self._db, _now())
        self._progress.reading_since = time.monotonic()
        self._claimed += self._claim_suspect()
        suspects = bool(self._claimed)
        if not suspects:
            self._claimed += self._claim() or self._claim_stale()
        if not self._claimed:
            return
        with Pool(self._config.workers, _limits(self._config), worker.serve, (self._config, self._recipes), worker.PRELOAD) as pool:
            try:
                if suspects:
                    self._serve(pool, 1, self._claim_suspect)
                self._serve(pool, self._config.workers, self._claim)
                self._serve(pool, self._config.workers, self._claim_stale)
            except Interrupted:
                self._commit()
                self._put_back()
                raise

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
                pool.submit(job.file_id, worker.pack(job))
            for event in pool.wait(WAIT_SECONDS):
                self._take(pool, event)
            if self._group.full(time.monotonic()):
                self._commit()
            self._told(self._progress)

    def _take(self, pool: Pool, event: Asked | Done) -> None:
        if isinstance(event, Asked):
            self._answer(pool, event)
            return
        job, content = self._running.pop(event.key), self._contents.pop(event.key, None)
        if isinstance(event.result, Failure):
            report: worker.Report = worker.Read(content, event.result) if content else worker.Unread(event.result)
        else:
            report = _unpack(event.result)
        self._write(job, report)

    def _answer(self, pool: Pool, event: Asked) -> None:
        """A child has hashed its file and asks whether it is worth reading."""
        content = worker.unpack_content(event.question)
        being_read = {(other.digest, other.format) for other in self._contents.values()}
        recipe = self._recipes.get(content.format, "")
        known = documents.find(self._db, content, recipe) or documents.find_failure(self._db, content, recipe)
        twin = (content.digest, content.format) in being_read
        if twin:
            self._twins.setdefault((content.digest, content.format), []).append((self._running[event.key], content))
        elif not known:
            self._contents[event.key] = content
        pool.reply(event.key, worker.KNOWN if known or twin else worker.GO_ON)

    def _write(self, job: Job, report: worker.Report) -> None:
        """Write down what came of a job, and of the files with the same content that waited for it."""
        if isinstance(report, worker.Linked):
            if not any(job is twin for twins in self._twins.values() for twin, _ in twins):
                self._begin()
                self._link(job, report.content)
            return
        self._begin()
        content = report.content if isinstance(report, worker.Read) else None
        outcome = report.outcome if isinstance(report, worker.Read) else report.failure
        self._progress.read += 1
        if isinstance(outcome, Document):
            assert content is not None
            documents.commit(self._db, job.file_id, content, outcome)
            self._progress.extracted += 1
            self._progress.flagged += outcome.verdict == "review"
            self._group.add(outcome.chars)
        else:
            recipe = self._recipes.get(content.format, "") if content else ""
            documents.fail(self._db, job.file_id, content, outcome, recipe)
            self._progress.failed += state_of_failure(outcome.code, outcome.format) == "failed"
            self._group.add(0)
        if content is not None:
            for twin, its in self._twins.pop((content.digest, content.format), ()):
                self._link(twin, its)

    def _link(self, job: Job, content: Content) -> None:
        """A file whose content the catalogue holds, as a document or as a failure; else it goes on waiting."""
        self._progress.read += 1
        recipe = self._recipes.get(content.format, "")
        document_id = documents.find(self._db, content, recipe)
        failed = documents.find_failure(self._db, content, recipe)
        if document_id is not None:
            documents.link(self._db, job.file_id, content, document_id)
            self._progress.linked += 1
        elif failed is not None:
            documents.settle_failure(self._db, job.file_id, content, *failed)
        else:
            queue.unclaim(self._db, [job.file_id])
        self._group.add(0)

    def _claim_suspect(self) -> list[Job]:
        self._begin()
        job = queue.claim_suspect(self._db, self._boot)
        self._commit()
        return [job] if job else []

    def _claim(self) -> list[Job]:
        self._begin()
        jobs = queue.claim(self._db, self._boot, LOOK_AHEAD * self._config.workers, _now())
        self._commit()
        return jobs

    def _claim_stale(self) -> list[Job]:
        self._begin()
        jobs = queue.claim_stale(self._db, self._boot, self._recipes, LOOK_AHEAD * self._config.workers)
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


def _limits(config: Config) -> Limits:
    limits, pool = config.limits, config.pool
    return Limits(limits.idle_seconds, limits.total_seconds, limits.memory_mb << 20, pool.recycle_files, pool.recycle_mb << 20)


def _unpack(result: bytes) -> worker.Report:
    try:
        return worker.unpack(result)
    except ValueError as error:  # pydantic's ValidationError is one
        return worker.Unread(Failure("internal", "The process that read it gave an answer that makes no sense.", detail=str(error)))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
