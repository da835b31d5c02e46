"""Decides what a walk means: which files of a directory changed, and what a finished walk may remove.

Pure: it compares what was listed with what the catalogue holds and knows neither disk nor database.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from winnowd.model import Change, Skip, Stamp

Row = tuple[Any, ...]
"""A row of the catalogue in the order of `Known`, not yet made one: most rows of a walk are only compared."""
STAMP, STANDING = slice(1, 5), 6


class Known(NamedTuple):
    """What the catalogue holds of one file. The stamp's fields stand together and in order, so that they compare as a slice.

    The standing is None for most files, else the first of these that is true: `racy` (read so soon after it was written that
    the stamp proves nothing), `gone` (held), `excluded`, `not_a_file`.
    """

    name: str | bytes
    size: int | None
    mtime_ns: int | None
    ctime_ns: int | None
    inode: int | None
    file_id: int
    standing: str | None


Excluded = Callable[[str], Skip | None]


def compare(files: Mapping[str, Stamp], known: Mapping[str, Row], excluded: Excluded, recheck: bool) -> Iterator[Change]:
    """The changes between the regular files that a directory shows and what the catalogue holds of it.

    `excluded` names the rule that leaves a file out; it is asked of names that are new, and of all when `recheck` is set
    (the rules changed since the last walk). Equal means equal: a stamp is never compared for newer or older.
    """
    for name, stamp in files.items():
        row = known.get(name)
        if row is None:
            yield Change("appeared", name, stamp, skip=excluded(name))
        elif row[STAMP] != stamp or recheck or row[STANDING] not in (None, "excluded"):
            change = _judge(name, stamp, row, excluded)
            if change is not None:
                yield change


def compare_others(others: Mapping[str, Skip], known: Mapping[str, Row]) -> Iterator[Change]:
    """The changes among entries that are no regular files: they are counted, never read."""
    for name, skip in others.items():
        row = known.get(name)
        if row is None:
            yield Change("appeared", name, skip=skip)
        elif row[STANDING] != skip.reason:
            yield Change("modified", name, file_id=Known._make(row).file_id, skip=skip)


def _judge(name: str, stamp: Stamp, row: Row, excluded: Excluded) -> Change | None:
    known, same = Known._make(row), row[STAMP] == stamp
    skip = excluded(name)
    if skip is not None:
        return None if known.standing == "excluded" and same else Change("modified", name, stamp, known.file_id, skip)
    if same and known.standing is None:
        return None
    return Change("returned" if same and known.standing == "gone" else "modified", name, stamp, known.file_id)


def may_remove(vanished: int, total: int, floor: int, share: float) -> bool:
    """Whether a walk may remove `vanished` of a root's `total` files at once, or must hold them for a person.

    >>> may_remove(10, 12, 10, 0.1), may_remove(11, 50, 10, 0.1), may_remove(90, 1000, 10, 0.1)
    (True, False, True)
    """
    return vanished <= max(floor, share * total)
