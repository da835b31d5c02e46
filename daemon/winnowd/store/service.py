"""What the loop of a running service last said of itself: one row, for `winnow status` and for everybody who can read SQL."""

import sqlite3
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """The row, but for the time at which it was said."""

    version: str
    pid: int
    started_at: str
    state: str  # running, paused, stopped
    message: str
    read: int
    per_minute: float
    pending: int
    running: int
    crashes: int
    free_bytes: int
    wal_bytes: int


def say(db: sqlite3.Connection, said: Said, at: str) -> None:
    """Write the row. The caller holds the transaction."""
    values = {"id": 1, **asdict(said), "said_at": at}
    db.execute(
        f"INSERT INTO service ({', '.join(values)}) VALUES ({', '.join('?' * len(values))}) "
        f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{key} = excluded.{key}' for key in values if key != 'id')}",
        tuple(values.values()),
    )


def last(db: sqlite3.Connection) -> sqlite3.Row | None:
    """What was said last, None where no service ever ran on this database."""
    row: sqlite3.Row | None = db.execute("SELECT * FROM service WHERE id = 1").fetchone()
    return row
