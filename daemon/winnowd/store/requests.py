"""What commands ask of the loop while it holds the database: a row for each question, answered in place."""

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

NOW = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that a command asked for."""

    id: int
    verb: str
    argument: dict[str, Any]
    who: str


def ask(db: sqlite3.Connection, verb: str, argument: dict[str, Any], who: str) -> int:
    """Ask something of the loop; the id under which the answer will stand. One statement, its own transaction."""
    sql = f"INSERT INTO requests (verb, argument, who, asked_at) VALUES (?, ?, ?, {NOW})"
    asked = db.execute(sql, (verb, json.dumps(argument), who)).lastrowid
    assert asked is not None
    return asked


def answer_to(db: sqlite3.Connection, request_id: int) -> dict[str, Any] | None:
    """The answer to a question, None where there is none yet."""
    row = db.execute("SELECT answer FROM requests WHERE id = ? AND answered_at IS NOT NULL", (request_id,)).fetchone()
    return dict(json.loads(row["answer"])) if row else None


def open_ones(db: sqlite3.Connection) -> list[Request]:
    """What has not been answered, in the order in which it was asked."""
    rows = db.execute("SELECT id, verb, argument, who FROM requests WHERE answered_at IS NULL ORDER BY id").fetchall()
    return [Request(row["id"], row["verb"], _argument(row["argument"]), str(row["who"])) for row in rows]


def _argument(written: object) -> dict[str, Any]:
    """What stands in a row that anybody may have written; empty where that is no object in JSON."""
    try:
        found = json.loads(written) if isinstance(written, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def answer(db: sqlite3.Connection, request_id: int, found: dict[str, Any]) -> None:
    """Answer a question. The caller holds the transaction."""
    db.execute(f"UPDATE requests SET answer = ?, answered_at = {NOW} WHERE id = ?", (json.dumps(found), request_id))


def forget_old(db: sqlite3.Connection) -> None:
    """Take out what was answered more than a week ago. The caller holds the transaction."""
    db.execute("DELETE FROM requests WHERE answered_at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-7 days')")
