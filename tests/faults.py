"""What goes wrong round the files in a life of the service (see `ordeal`): processes, configuration, disks, whole folders.

A fault that lasts is ended some steps later; each does nothing where it makes no sense at the moment.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from served import EXCLUDED

if TYPE_CHECKING:
    from ordeal import Ordeal

MOST_KILLS = 2  # a file that was being read during three is taken for one that ends the service
MISBEHAVIOUR = (
    *("segfault", "exit 0", "exit 3", "memory", "raise oh dear", "same_page_twice", "encrypted", "eat", "sleep 2", "hang"),
)

# ---- faults of processes


def kill_the_service(life: "Ordeal", step: int) -> None:
    if life.up() and life.kills["service"] < MOST_KILLS:
        life.kills["service"] += 1
        life.service.kill()
        life.until(step, "down", life.service.start)


def stop_the_service(life: "Ordeal", step: int) -> None:
    if life.up():
        life.service.stop()
        life.until(step, "down", life.service.start)


def kill_a_child(life: "Ordeal", step: int) -> None:
    if life.up() and life.kills["reader"] < MOST_KILLS and (readers := life.service.readers()):
        life.kills["reader"] += 1
        try:
            os.kill(life.dice.choice(readers), signal.SIGKILL)
        except ProcessLookupError:
            return


def freeze(life: "Ordeal", step: int) -> None:
    if life.up() and not life.under_way("frozen"):
        life.service.signal(signal.SIGSTOP)
        life.frozen = True
        life.until(step, "frozen", lambda: _thaw(life))


def _thaw(life: "Ordeal") -> None:
    life.frozen = False
    life.service.signal(signal.SIGCONT)


def scan_beside(life: "Ordeal", step: int) -> None:
    part = life.dice.choice(([], [life.places[0]], [life.places[1]], life.deeds.entries(lambda _: True)[:1]))
    how = life.dice.choice(([], ["--verify"]))
    argv = life.service.argv("scan", "--json", *part, *how)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    if all(path.exists() for path in part):
        life.beside.append(subprocess.Popen(argv, env=life.service.environment(), **quiet))


def retry_beside(life: "Ordeal", step: int) -> None:
    argv = life.service.argv("failed", "retry", "--all")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    life.beside.append(subprocess.Popen(argv, env=life.service.environment(), **quiet))


# ---- faults of the configuration and the disk of the database


def reload(life: "Ordeal", step: int) -> None:
    if life.up():
        life.service.configure()
        life.service.reload()


def refuse_a_configuration(life: "Ordeal", step: int) -> None:
    if life.up():
        life.service.config.write_text("[nonsense]\n")
        life.service.reload()
        life.service.configure()


def leave_a_root_out(life: "Ordeal", step: int) -> None:
    if life.up() and not life.under_way("left out"):
        left = life.places[life.dice.randrange(2)]
        watch = life.service.roots.pop(left)
        life.service.configure()
        life.service.reload()
        life.until(step, "left out", lambda: _name_again(life, left, watch))


def _name_again(life: "Ordeal", left: Path, watch: str) -> None:
    life.service.roots[left] = watch
    life.service.configure()
    if life.up():
        life.service.reload()


def fill_the_disk(life: "Ordeal", step: int) -> None:
    """The service believes its disk to be nearly full."""
    if life.up() and not life.under_way("full"):
        life.service.configure(free_mb=10**9)
        life.service.reload()
        life.until(step, "full", lambda: _empty_the_disk(life))


def _empty_the_disk(life: "Ordeal") -> None:
    life.service.configure(free_mb=1)
    if life.up():
        life.service.reload()


def let_writes_fail(life: "Ordeal", step: int) -> None:
    """The service cannot write its database, as where the disk is full."""
    if life.up() and not life.under_way("pinched"):
        life.service.limit_its_files(life.dice.choice((0, 50_000)))
        life.until(step, "pinched", lambda: life.service.limit_its_files(None))


def leave_files_out(life: "Ordeal", step: int) -> None:
    """The configuration leaves more out for a while."""
    if life.up() and not life.under_way("rules"):
        life.service.configure(exclude=[*EXCLUDED, life.dice.choice(("b/", "file-1*", "*.txt", "tree-*/"))])
        life.service.reload()
        life.until(step, "rules", lambda: _leave_no_more_out(life))


def _leave_no_more_out(life: "Ordeal") -> None:
    life.service.configure(exclude=EXCLUDED)
    if life.up():
        life.service.reload()


def forget_a_root(life: "Ordeal", step: int) -> None:
    """A person takes a root out of the catalogue, and the next reload takes it in again."""
    if life.up() and not life.undo:
        life.service.run("roots", "forget", "--yes", life.dice.choice(life.places), code=None)
        life.service.reload()


# ---- faults of the folders


def empty_a_root(life: "Ordeal", step: int) -> None:
    """What an unmounted share looks like."""
    place = life.places[life.dice.randrange(2)]
    if not life.under_way(f"away {place.name}", f"empty {place.name}"):
        place.rename(life.aside / place.name)
        place.mkdir()
        life.until(step, f"empty {place.name}", lambda: _bring_back(life, place))


def take_a_root_away(life: "Ordeal", step: int) -> None:
    place = life.places[life.dice.randrange(2)]
    if not life.under_way(f"away {place.name}", f"empty {place.name}"):
        place.rename(life.aside / place.name)
        life.until(step, f"away {place.name}", lambda: _bring_back(life, place))


def _bring_back(life: "Ordeal", place: Path) -> None:
    life.deeds.lay_down_the_pens()
    shutil.rmtree(place, ignore_errors=True)
    (life.aside / place.name).rename(place)


def replace_a_root_by_its_copy(life: "Ordeal", step: int) -> None:
    """The same files on another disk: mounted in the place of the first."""
    place = life.places[life.dice.randrange(2)]
    if not life.under_way(f"away {place.name}", f"empty {place.name}"):
        life.deeds.lay_down_the_pens()
        subprocess.run(["cp", "-a", place, life.aside / "copy"], check=True)
        place.rename(life.aside / "old")
        (life.aside / "copy").rename(place)
        shutil.rmtree(life.aside / "old")


# ---- files that misbehave


def put_a_file_that_misbehaves(life: "Ordeal", step: int) -> None:
    life.deeds.count += 1
    action = life.dice.choice(MISBEHAVIOUR)
    (life.deeds.place() / f"bad-{life.deeds.count}.mock").write_text(f"mock: {action}\nText number {life.deeds.count}.")


FAULTS = [
    *(kill_the_service, stop_the_service, kill_a_child, freeze, scan_beside),
    *(retry_beside, leave_files_out, forget_a_root),
    *(reload, refuse_a_configuration, leave_a_root_out, fill_the_disk, let_writes_fail),
    *(empty_a_root, take_a_root_away, replace_a_root_by_its_copy),
    *[put_a_file_that_misbehaves] * 3,
]
