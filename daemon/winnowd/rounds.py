"""Goes the rounds of the watched folders: which is walked or looked at when, and what is removed when it is quiet.

Nothing here looks at a disk: walks are dialogues, and their questions go to children (`look`). A share that hangs, hangs a
child; its root is offline until that child is free again, and all other roots go on.
"""

import logging
import shutil
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from winnowd import disk, look, removals, walk
from winnowd.child import Limits
from winnowd.config import Config
from winnowd.drain import Progress, settling
from winnowd.ears import Ears, Round, Work
from winnowd.journal import fields
from winnowd.model import Failure, Stamp
from winnowd.pool import Done, Pool
from winnowd.store import files, roots, status, transaction

log = logging.getLogger(__name__)

QUIET_SECONDS = 3.0  # removals wait until no further file was missed for this long ...
CALM_SECONDS = 120.0  # ... but not longer than this
MOVE_SECONDS = 600.0  # and so long at most for a file of the same size to be hashed: it may be the missing one, moved
PROOF_SECONDS = 15.0
NAMES_AT_ONCE = 2_000
LISTER_BYTES = 1 << 30
DAY = 86_400.0


class Rounds:
    """All roots, and the children that look at them."""

    def __init__(
        self, db: sqlite3.Connection, config: Config, progress: Progress, probes: Path, wake: Callable[[], None]
    ) -> None:
        self._db, self._config, self._progress, self._probes = db, config, progress, probes
        self._ears = Ears(db, config, probes, wake)
        self._held = status.held(db)
        self._settles = settling(config)
        self._rounds: dict[int, Round] = {}
        self._asked: dict[int, tuple[Round, Work]] = {}
        self._next_key = 1
        own = config.watch
        limits = Limits(own.answer_seconds, 100 * own.answer_seconds, LISTER_BYTES, 10_000, LISTER_BYTES)
        self.listers = Pool(4 * max(len(config.roots), 1) + 8, limits, look.serve, (), ())

    # ---- life

    def open(self) -> None:
        """Take up the roots of the catalogue: each is walked first."""
        walk.begin(self._db)
        configured = {str(root.path) for root in self._config.roots}
        for row in roots.all_roots(self._db):
            path = disk.loaded(row["path"])
            if row["origin"] == "config" and path not in configured:
                self._leave(row)
            elif row["id"] not in self._rounds:
                self._rounds[row["id"]] = Round(row["id"], path, offline=row["state"] == "offline")

    def close(self) -> None:
        """Watch no more, and end the children."""
        for one in self._rounds.values():
            self._ears.stop(one)
        self.listers.__exit__()
        shutil.rmtree(self._probes, ignore_errors=True)  # a service that was killed may have left more than ours in it

    def forget(self, root_id: int) -> None:
        """A root is no longer in the catalogue."""
        one = self._rounds.pop(root_id, None)
        if one is None:
            return
        self._drop_work(one)
        self._ears.stop(one)

    def walk_soon(self, root_id: int, part: str, *, verify: bool) -> bool:
        """Walk a root, or a part of it, as soon as may be. False for one that the configuration has left out."""
        if root_id not in self._rounds:
            self.open()
        one = self._rounds.get(root_id)
        if one is not None:
            one.parts.append((part, verify))
            one.prove_at = 0.0 if one.offline else one.prove_at  # whoever asks may know that it is back
        return one is not None

    def idle(self, root_ids: set[int] | None = None) -> bool:
        """Whether nothing is under way or due in these roots (all): no walk, no hint, nothing missing."""
        chosen = [one for one in self._rounds.values() if root_ids is None or one.id in root_ids]
        return not any(self._busy(one) for one in chosen)

    def _busy(self, one: Round) -> bool:
        if one.offline:
            return bool(one.parts) and not one.stalled
        under_way = one.hints or one.parts or one.missed_first or one.walked or one.work.keys() - {"proof"}
        return bool(under_way) or one.walk_at == 0

    # ---- turning

    def turn(self, now: float) -> None:
        """Begin what is due. Monotonic seconds."""
        for one in list(self._rounds.values()):
            if one.stalled and not self.listers.lingers(one.stalled):
                one.stalled, one.prove_at = 0, 0.0
            if one.stalled:
                continue
            self._ears.hear(one, now)
            self._begin_due(one, now)

    def take(self, event: Done) -> None:
        """Go on with a dialogue, with the answer that a child gave."""
        asked = self._asked.pop(event.key, None)
        if asked is None:  # it was dropped meanwhile
            return
        one, work = asked
        if isinstance(event.result, Failure):
            self._stall(one, event.key, event.result)
            return
        try:
            answer = look.unpack_answer(event.result)
        except ValueError as error:
            self._stall(one, event.key, Failure("crashed", str(error)))
            return
        self._go_on(one, work, answer)

    # ---- what is due

    def _begin_due(self, one: Round, now: float) -> None:
        if now >= one.prove_at and not one.work:
            one.prove_at = now + PROOF_SECONDS
            self._begin(one, "proof", walk.prove(self._db, roots.get(self._db, one.id)))
        if one.offline or not one.proven:
            return
        if "walk" not in one.work and "finish" not in one.work and one.walked is None:
            self._begin_walk(one, now)
        if (one.missed_first or one.walked) and not one.work.keys() - {"proof"} and now >= one.decide_at:
            self._begin_finish(one, now)  # before what events say: where they never end, it would never begin
        if one.hints and "glance" not in one.work and "finish" not in one.work:
            self._begin_glance(one)

    def _begin_walk(self, one: Round, now: float) -> None:
        if one.parts:
            part, verify = one.parts.pop(0)
        elif now >= one.walk_at and self._ears.watched(one):  # before the walk, so that nothing falls between the two
            part, verify = "", False
        else:
            return
        root = roots.get(self._db, one.id)
        with transaction(self._db):
            if verify:
                files.distrust(self._db, one.id, part)
            elif not part and root["walked_at"] is not None:
                files.distrust_some(self._db, root, self._share_to_verify(one))
        if not part:
            one.glanced = False
            one.walk_at = float("inf")
        root = roots.get(self._db, one.id)
        look_at = walk.look_at if part else walk.walk
        self._begin(one, "walk", look_at(self._db, root, part, self._config, self._after))

    def _begin_glance(self, one: Round) -> None:
        wanted: dict[str, frozenset[str]] = {}
        count = 0
        while one.hints and count < NAMES_AT_ONCE:
            directory, names = one.hints.popitem()
            wanted[directory] = frozenset(names)
            count += len(names)
        one.glanced = True
        root = roots.get(self._db, one.id)
        self._begin(one, "glance", walk.glance(self._db, root, wanted, self._config, self._after))

    def _begin_finish(self, one: Round, now: float) -> None:
        """Decide on what is missing, when nothing more was missed for a while and no new file may be one of the missing."""
        if one.missed_first:
            restless = now - one.missed_last < QUIET_SECONDS and now - one.missed_first < CALM_SECONDS
            if restless:
                one.decide_at = one.missed_last + QUIET_SECONDS
                return
            if now - one.missed_first < MOVE_SECONDS and removals.may_have_moved(self._db, one.id):
                one.decide_at = now + min(max(now - one.missed_first, 0.5), 30.0)
                return
        done = one.walked or walk.Walk(one.id, "", online=True, single=True)
        if one.glanced and not done.single:
            done = replace(done, listed=-1)
        one.walked, one.missed, one.missed_first = None, 0, 0.0
        self._begin(one, "finish", removals.finish(self._db, [done], self._config))

    # ---- dialogues

    def _begin(self, one: Round, kind: str, dialogue: look.Dialogue[object]) -> None:
        work = Work(kind, dialogue)
        one.work[kind] = work
        self._go_on(one, work, None)

    def _go_on(self, one: Round, work: Work, answer: look.Answer | None) -> None:
        try:
            ask = work.dialogue.send(answer)
        except StopIteration as ended:
            one.work.pop(work.kind, None)
            self._ended(one, work.kind, ended.value)
            return
        work.key = self._next_key
        self._next_key += 1
        self._asked[work.key] = (one, work)
        self.listers.submit(work.key, look.pack(ask))

    def _ended(self, one: Round, kind: str, result: object) -> None:
        now = time.monotonic()
        if kind == "proof":
            assert isinstance(result, look.Proof)
            self._proven(one, result.error, result.mount)
            self._note_identity(one, result)
            return
        if isinstance(result, walk.Walk):
            self._progress.listed += max(result.listed, 0)
            self._note_missed(one, now)
            if kind == "walk":
                self._end_walk(one, result, now)
        elif kind == "finish" and isinstance(result, dict):
            self._end_finish(one, result.get(one.id, 0))

    def _end_walk(self, one: Round, done: walk.Walk, now: float) -> None:
        one.prove_at = now + PROOF_SECONDS
        if not done.online:
            self._proven(one, done.message)
            return
        one.walked = done
        one.decide_at = 0.0
        if not done.part:
            opened = one.unlisted - frozenset(done.unlisted)  # these got no watch when they could not be listed
            one.unlisted = frozenset(done.unlisted)
            one.watch_anew = one.watch_anew or bool(opened) or (one.watch is not None and one.watch.partial)
            interval = 0.0 if opened else self._interval(one, sooner=bool(done.unlisted))
            one.walk_at = min(one.walk_at, now + interval)  # events that were lost meanwhile want another walk, and soon

    def _end_finish(self, one: Round, removed: int) -> None:
        row = roots.get(self._db, one.id)
        held = status.held(self._db)
        self._progress.removed += removed
        self._progress.held += held - self._held
        if row["state"] == "held" and held > self._held:
            log.warning("Held: %s", row["message"], extra=fields(root=one.path))
        elif removed:
            log.info("Removed what is gone", extra=fields(root=one.path, files=removed))
        self._held = held
        if row["state"] == "offline":
            self._proven(one, row["message"])

    def _proven(self, one: Round, trouble: str | None, mount: disk.Mount | None = None) -> None:
        """A root was looked at: what that means for it."""
        if trouble is None:
            one.proven = True
            with transaction(self._db):
                roots.set_online(self._db, roots.get(self._db, one.id), mount, self._config.watch_of(one.path))
            if one.offline:
                one.offline, one.walk_at = False, 0.0
                log.info("A folder is back", extra=fields(root=one.path))
            return
        if not one.offline:
            log.warning("%s", trouble, extra=fields(root=one.path))
        with transaction(self._db):
            roots.set_offline(self._db, one.id, trouble)
        self._drop_work(one)
        self._ears.stop(one)  # they would go on to hear of the folder that was there
        one.offline, one.proven, one.walked, one.missed, one.missed_first = True, False, None, 0, 0.0
        one.hints.clear()
        one.parts.clear()
        one.prove_at, one.walk_at = time.monotonic() + PROOF_SECONDS, 0.0
        removals.forget_missing(self._db, one.id)

    def _note_identity(self, one: Round, proof: look.Proof) -> None:
        """Where the folder was replaced by another one that is proven too, the watch still lies on the old one."""
        if proof.error is None and one.identity not in (None, proof.identity) and one.watch is not None:
            log.info("The folder is another one than before: it is watched and walked anew", extra=fields(root=one.path))
            one.watch_anew, one.walk_at = True, 0.0
        one.identity = proof.identity

    def _stall(self, one: Round, key: int, failure: Failure) -> None:
        """A child that looked did not come back: the share hangs, or the child died."""
        shown = disk.printable(one.path)
        self._proven(one, f"{shown}: offline: it does not answer. {failure.message} Its documents stay searchable.")
        if failure.code == "timed_out":
            one.stalled = key

    def _drop_work(self, one: Round) -> None:
        for work in one.work.values():
            if work.key in self._asked:
                del self._asked[work.key]
                self.listers.cancel(work.key)
            work.dialogue.close()
        one.work.clear()

    def _note_missed(self, one: Round, now: float) -> None:
        missed = removals.missing(self._db, one.id)
        if missed > one.missed:
            one.missed_first = one.missed_first or now
            one.missed_last, one.decide_at = now, now
        one.missed = missed

    # ---- small decisions

    def _after(self, stamp: Stamp) -> str | None:
        return self._settles.after(stamp, time.time())

    def _interval(self, one: Round, *, sooner: bool) -> float:
        own = self._config.watch
        seen = one.watch is not None and not one.watch.partial and not sooner
        return own.rescan_seconds if seen else min(own.rescan_seconds, own.network_rescan_seconds)

    def _share_to_verify(self, one: Round) -> float:
        """The share of a root's files to be hashed again with one walk, so that all had their turn in time."""
        days = self._config.watch.verify_days
        return min(self._interval(one, sooner=False) / (days * DAY), 1.0) if days else 0.0

    def _leave(self, row: sqlite3.Row) -> None:
        """A root that the configuration does not name any more: kept as it is, until somebody says that it may go."""
        shown = disk.printable(disk.loaded(row["path"]))
        self.forget(row["id"])
        message = (
            f"{shown}: is not in the configuration any more, and not watched. Its documents stay searchable; "
            f"`winnow roots forget {shown}` takes them out."
        )
        if (row["state"], row["message"]) != ("offline", message):  # else nothing is written, where perhaps nothing can be
            with transaction(self._db):
                roots.set_offline(self._db, row["id"], message)
