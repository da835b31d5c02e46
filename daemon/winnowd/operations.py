"""What commands may ask to be changed: one function for each verb, the same whether the command or the service carries it out.

An argument is what JSON can hold, with ids instead of names: the command finds out what a person means, in its own process.
"""

import sqlite3
from collections.abc import Callable
from typing import Any

from winnowd.drain import now
from winnowd.errors import NothingFound, UsageError
from winnowd.model import Decision
from winnowd.store import queue, review, roots

Argument = dict[str, Any]
Operation = Callable[[sqlite3.Connection, Argument, str], dict[str, Any]]


def carry_out(db: sqlite3.Connection, verb: str, argument: Argument, who: str) -> dict[str, Any]:
    """Do what is asked; the answer. The caller holds the transaction. Raises WinnowError where it cannot be done."""
    operation = OPERATIONS.get(verb)
    if operation is None:
        raise UsageError(f"{verb}: the running service does not know this; is it of an older version?")
    return operation(db, argument, who)


def _decide(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    decision: Decision = argument["decision"]
    ids = [one for one in argument["documents"] if _is_there(db, "documents", one)]
    for one in ids:
        review.decide(db, one, decision, who, now(), argument.get("note"))
    return {"decision": decision, "documents": len(ids)}


def _retry_documents(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    ids = [one for one in argument["documents"] if _is_there(db, "documents", one)]
    for one in ids:
        queue.retry(db, review.best_file(db, one)["id"])
    return {"retried": len(ids)}


def _retry_files(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    ids = [one for one in argument["files"] if _is_there(db, "files", one)]
    for one in ids:
        queue.retry(db, one)
    return {"retried": len(ids)}


def _release(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    return {"released": roots.release(db, _root(db, argument))}


def _forget(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    return {"forgotten": roots.forget(db, _root(db, argument))}


def _root(db: sqlite3.Connection, argument: Argument) -> int:
    root_id = int(argument["root"])
    if not _is_there(db, "roots", root_id):
        raise NothingFound("this folder is no root any more; `winnow roots list` shows those that are")
    return root_id


def _is_there(db: sqlite3.Connection, table: str, row_id: int) -> bool:
    return db.execute(f"SELECT 1 FROM {table} WHERE id = ?", (row_id,)).fetchone() is not None


OPERATIONS: dict[str, Operation] = {
    "decide": _decide,
    "retry documents": _retry_documents,
    "retry files": _retry_files,
    "release": _release,
    "forget": _forget,
}
"""The verbs of the table `requests`; `scan` is one too, but it takes a while, and only the loop knows when it is done."""
