"""Where the loop takes what commands ask of it: small things are done at once, a scan is answered when it is done."""

import logging
import sqlite3
from dataclasses import dataclass
from typing import Any

from winnowd import disk, operations
from winnowd.drain import Drain, Progress, now
from winnowd.errors import WinnowError
from winnowd.journal import fields
from winnowd.rounds import Rounds
from winnowd.store import queue, requests, roots, status, transaction

log = logging.getLogger(__name__)

COUNTED = ("listed", "read", "extracted", "linked", "judged", "removed", "held")
"""What the answer to a scan counts, as the scan of a command does."""


@dataclass(slots=True)
class _Scan:
    """A scan that a command asked for, and what had been counted when it began."""

    request: int
    roots: set[int]
    before: dict[str, int]


class Desk:
    """The open requests of one life of the loop."""

    def __init__(self, db: sqlite3.Connection, progress: Progress) -> None:
        self._db, self._progress = db, progress
        self._scans: list[_Scan] = []

    def serve(self, rounds: Rounds, drain: Drain) -> None:
        """Carry out what was asked since the last time."""
        waiting = {scan.request for scan in self._scans}
        for asked in requests.open_ones(self._db):
            if asked.id in waiting:
                continue
            drain.commit()
            if asked.verb == "scan":
                self._begin_scan(asked, rounds)
                continue
            answer = self._answer(asked)
            log.info("Carried out", extra=fields(verb=asked.verb, who=asked.who))
            if "forgotten" in answer:
                rounds.forget(asked.argument["root"])
            drain.look_for_stale()
        self._end_scans(rounds, drain)

    def _answer(self, asked: requests.Request) -> dict[str, Any]:
        self._db.execute("PRAGMA synchronous = FULL")  # what a person decided cannot be found again by a walk
        with transaction(self._db):
            answer = self._carry_out(asked)
            requests.answer(self._db, asked.id, answer)
        self._db.execute("PRAGMA synchronous = NORMAL")
        return answer

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
                everything = [(disk.loaded(row["path"]), "") for row in roots.all_roots(self._db)]
                for path, part in operations.targets(asked.argument) or everything:
                    row = roots.by_path(self._db, path) or roots.adopt(self._db, path, "scan")
                    if rounds.walk_soon(row["id"], part, verify=bool(asked.argument.get("verify"))):
                        chosen.add(row["id"])
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
        return {key: getattr(self._progress, key) for key in COUNTED}
