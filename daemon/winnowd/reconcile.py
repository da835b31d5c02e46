"""Decides what a walk means: which files of a directory changed, and what a finished walk may remove.

Pure: it compares what was listed with what the catalogue holds and knows neither disk nor database.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from winnowd.model import Change, Skip, Stamp

UNKNOWN_STATES = frozenset({"gone"})


class Known(NamedTuple):
    """What the catalogue holds of one file. The stamp's fields come first and in order, so that they compare as a slice."""

    size: int | None
    mtime_ns: int | None
    ctime_ns: int | None
    inode: int | None
    file_id: int
    racy: int
    state: str
    reason: str | None


Excluded = Callable[[str], Skip | None]


def compare(files: Mapping[str, Stamp], known: Mapping[str, Known], excluded: Excluded, recheck: bool) -> Iterator[Change]:
    """The changes between the regular files that a directory shows and what the catalogue holds of it.

    `excluded` names the rule that leaves a file out; it is asked of names that are new, and of all when `recheck` is set
    (the rules changed since the last walk). Equal means equal: a stamp is never compared for newer or older.
    """
    for name, stamp in files.items():
        row = known.get(name)
        if row is None:
            yield Change("appeared", name, stamp, skip=excluded(name))
        elif row[:4] != stamp or row.racy or row.state == "gone" or recheck or row.reason == "not_a_file":
            change = _judge(name, stamp, row, excluded)
            if change is not None:
                yield change


def compare_others(others: Mapping[str, Skip], known: Mapping[str, Known]) -> Iterator[Change]:
    """The changes among entries that are no regular files: they are counted, never read."""
    for name, skip in others.items():
        row = known.get(name)
        if row is None:
            yield Change("appeared", name, skip=skip)
        elif row.reason != skip.reason:
            yield Change("modified", name, file_id=row.file_id, skip=skip)


def _judge(name: str, stamp: Stamp, row: Known, excluded: Excluded) -> Change | None:
    skip = excluded(name)
    was_excluded = row.reason == "excluded"
    if skip is not None:
        same = was_excluded and row.state == "skipped" and row[:4] == stamp
        return None if same else Change("modified", name, stamp, row.file_id, skip)
    if row.state == "gone" and row[:4] == stamp:
        return Change("returned", name, stamp, row.file_id)
    if row[:4] != stamp or row.racy or row.state == "gone" or was_excluded or row.reason == "not_a_file":
        return Change("modified", name, stamp, row.file_id)
    return None


def may_remove(vanished: int, total: int, floor: int, share: float) -> bool:
    """Whether a walk may remove `vanished` of a root's `total` files at once, or must hold them for a person.

    >>> may_remove(10, 12, 10, 0.1), may_remove(11, 50, 10, 0.1), may_remove(90, 1000, 10, 0.1)
    (True, False, True)
    """
    return vanished <= max(floor, share * total)
