"""When a file that was seen may be read: once its stamp has stayed equal for a while. Pure: time comes in as a number.

A program that saves a file writes it in pieces, or writes a copy and renames it. What is read in between is half a document.
Two looks at equal stamps, far enough apart, are the proof that nobody writes; where the kernel sets the change time, which
nobody can forge, one look is enough.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from winnowd.model import Stamp

OLD = 6  # a file on a network root last written to this many times the settling time ago has settled


@dataclass(frozen=True, slots=True)
class Settling:
    """How long stamps have to stay equal, in seconds: on local roots, on network roots, and at most in all."""

    local: float
    network: float
    cap: float

    def remaining(self, stamp: Stamp, now: float) -> float:
        """Seconds, from `now` (since the epoch), after which a file seen with this stamp may be read; 0 for at once.

        A change time in the future is a clock that was set: it tells nothing, so the whole time has to pass.

        >>> Settling(1.0, 10.0, 900.0).remaining(Stamp(5, 0, ctime_ns=100_000_000_000, inode=1), 100.25)
        0.75
        """
        if stamp.ctime_ns is not None:
            age = now - stamp.ctime_ns / 1e9
            return max(0.0, self.local - age) if age >= 0 else self.local
        age = now - stamp.mtime_ns / 1e9
        return 0.0 if age > OLD * self.network else self.network

    def after(self, stamp: Stamp, now: float) -> str | None:
        """The time of `remaining` as it is stored: UTC, ISO 8601, milliseconds; None for at once."""
        wait = self.remaining(stamp, now)
        return stored_time(now + wait) if wait > 0 else None


def stored_time(seconds: float) -> str:
    """Seconds since the epoch as they are stored.

    >>> stored_time(1_800_000_000.25)
    '2027-01-15T08:00:00.250Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"
