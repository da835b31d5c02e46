"""The account: how many files are in each state, and whether that is what the walks saw."""

import sqlite3
from typing import get_args

from winnowd.model import State
from winnowd.store import queue

STATES = get_args(State)


def by_state(db: sqlite3.Connection, root_id: int | None = None) -> dict[str, int]:
    """The number of files in each state, of one root or of all. Every state is named, also where there are none."""
    rows = db.execute("SELECT state, count(*) FROM files WHERE ? IS NULL OR root_id = ? GROUP BY state", (root_id, root_id))
    return dict.fromkeys(STATES, 0) | {row[0]: row[1] for row in rows}


def held(db: sqlite3.Connection) -> int:
    """How many files are gone, but kept until a person says that they were meant to go."""
    return int(db.execute("SELECT count(*) FROM files WHERE state = 'gone'").fetchone()[0])


def by_reason(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """How many files are failed, skipped, pending or in review for which reason."""
    return db.execute(
        "SELECT state, reason, count(*) AS files FROM files WHERE reason IS NOT NULL "
        "GROUP BY state, reason ORDER BY state, files DESC"
    ).fetchall()


def next_attempt(db: sqlite3.Connection) -> str | None:
    """When the first of the waiting files may be tried again."""
    return queue.due(db)


def oldest_pending(db: sqlite3.Connection) -> str | None:
    """Since when the file waits that has been waiting longest."""
    found: str | None = db.execute("SELECT min(pending_since) FROM files WHERE state = 'pending'").fetchone()[0]
    return found


def stale(db: sqlite3.Connection, recipes: dict[str, str]) -> int:
    """How many documents were made by another recipe than the present one of their format."""
    rows = db.execute("SELECT format, recipe, count(*) FROM documents GROUP BY format, recipe")
    return sum(count for format, recipe, count in rows if recipes.get(format, recipe) != recipe)
