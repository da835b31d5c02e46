"""The promise of the service: whatever happens to folders and processes, once it is quiet the catalogue is true to the disk.

A life is a seeded run of the real `winnow run`: deeds on files (`deeds`) mixed with faults of everything round them (`faults`).
What is asserted at its end stands in `reckoning`.
"""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from deeds import Deeds
from faults import FAULTS, reload
from reckoning import assert_promise, catalogue, difference, disk
from served import LIMIT_SECONDS, Service

STEPS = 40
Undo = Callable[[], None]


class Ordeal:
    """Two watched folders, one by events and one by walking again, and a service to which things happen, by a seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.dice = random.Random(seed)
        self.service = Service(folder)
        self.places = [folder / "heard", folder / "walked"]
        self.aside = folder / "aside"
        outside = folder / "outside"
        for place in (*self.places, self.aside, outside):
            place.mkdir()
        self.deeds = Deeds(self.dice, self.places, outside)
        self.service.roots = {self.places[0]: "events", self.places[1]: "rescan"}
        self.kills = {"service": 0, "reader": 0}
        self.undo: list[tuple[int, str, Undo]] = []
        self.beside: list[subprocess.Popen] = []
        self.log: list[str] = []
        self.frozen = False

    def live(self, steps: int) -> None:
        """Let things happen, then end all faults."""
        self.deeds.some(25)
        self.service.configure()
        self.service.start()
        for step in range(steps):
            self._end_what_is_due(step)
            if self.dice.random() < 0.25:
                fault = self.dice.choice(FAULTS)
                self._note(fault.__name__)
                fault(self, step)
            else:
                self._note(self.deeds.one())
            time.sleep(self.dice.choice((0, 0, 0.05, 0.2, 0.6)))
        self._end_what_is_due(steps + 1000)
        self.deeds.lay_down_the_pens()
        reload(self, steps)  # some faults ended while nobody could be told

    def assert_promise(self) -> None:
        """What is asserted when all is over."""
        for process in self.beside:
            _, trouble = process.communicate(timeout=LIMIT_SECONDS)
            assert "Traceback" not in trouble, trouble
        assert_promise(self.service, self.places)
        said = self.service.log.read_text(errors="replace")
        # A child that was just being forked when the service was killed has nothing to read.
        cut_off = said.count("EOFError: Ran out of input") if self.service.kills else 0
        assert said.count("Traceback") == said.count("KeyError: b'") + cut_off, (
            "only watchdog's own thread may end (see `deeds`)"
        )

    def until(self, step: int, name: str, undo: Undo) -> None:
        """End a fault some steps later."""
        self.undo.append((step + self.dice.randrange(1, 8), name, undo))

    def under_way(self, *names: str) -> bool:
        """Whether one of these faults goes on."""
        return any(name in names for _, name, _ in self.undo)

    def up(self) -> bool:
        """Whether there is a service that listens."""
        return self.service.process is not None and not self.frozen

    def tell(self) -> str:
        """All there is to know when the promise does not hold."""
        waiting = self.service.rows("SELECT label, reason, attempts, next_attempt FROM files WHERE state = 'pending'")
        found = difference(catalogue(self.service, self.places), disk(self.places))
        said = self.service.log.read_text(errors="replace")[-6000:]
        known = (
            f"waiting: {waiting[:9]}",
            str(self.service.rows("SELECT * FROM claims")),
            str(self.service.rows("SELECT * FROM roots")),
        )
        return "\n".join((*self.log, "catalogue and disk: " + found, *known, "the service said:", said))

    def _note(self, what: str) -> None:
        self.log.append(f"{time.strftime('%H:%M:%S', time.gmtime())} {what}")

    def _end_what_is_due(self, step: int) -> None:
        for one in [one for one in self.undo if one[0] <= step]:
            self.undo.remove(one)
            self._note(f"end of: {one[1]}")
            one[2]()


def undergo(seed: int, folder: Path, steps: int = STEPS) -> list[str]:
    """One life, and the promise after it; what happened. What is raised carries all there is to know as a note."""
    life = Ordeal(seed, folder)
    try:
        life.live(steps)
        life.assert_promise()
    except BaseException as error:
        error.add_note(f"seed {seed}:\n{life.tell()}")
        raise
    finally:
        life.deeds.lay_down_the_pens()
        life.service.end()
    return life.log


if __name__ == "__main__":
    undergo(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else STEPS)
