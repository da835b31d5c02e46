"""What commands may ask to be changed: one function for each verb, the same whether the command or the service carries it out.

An argument is what JSON can hold, with ids instead of names: the command finds out what a person means, in its own process.
Whoever may search can write a request, so that nothing about an argument is taken for granted: one that ended the loop would
end it again at each start.
"""

import sqlite3
from collections.abc import Callable
from typing import Any, TypeGuard, get_args

from winnowd.drain import now
from winnowd.errors import NothingFound, UsageError
from winnowd.model import Decision
from winnowd.store import queue, review, roots

Argument = dict[str, Any]
NONSENSE = "the request makes no sense"
Operation = Callable[[sqlite3.Connection, Argument, str], dict[str, Any]]


def carry_out(db: sqlite3.Connection, verb: str, argument: Argument, who: str) -> dict[str, Any]:
    """Do what is asked; the answer. The caller holds the transaction. Raises WinnowError where it cannot be done."""
    operation = OPERATIONS.get(verb)
    if operation is None:
        raise UsageError(f"{verb}: the running service does not know this; is it of an older version?")
    return operation(db, argument, who)


def targets(argument: Argument) -> list[tuple[str, str]]:
    """What a scan is asked to walk: paths of roots, each with a part of it ('' for the whole); none for all roots."""
    found = argument.get("targets")
    if not isinstance(found, list) or not all(_is_target(one) for one in found):
        raise UsageError(NONSENSE)
    return [(path, part) for path, part in found]


def _is_target(one: object) -> bool:
    if not isinstance(one, list) or len(one) != 2 or not all(isinstance(name, str) and "\0" not in name for name in one):
        return False
    path, part = one
    return path.startswith("/") and not part.startswith("/") and not {".", ".."} & {*path.split("/"), *part.split("/")}


def _decide(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    decision: Decision = argument.get("decision", "")
    note = argument.get("note")
    if decision not in get_args(Decision) or not isinstance(note, str | None):
        raise UsageError(NONSENSE)
    ids = _ids(db, argument, "documents")
    for one in ids:
        review.decide(db, one, decision, who, now(), note)
    return {"decision": decision, "documents": len(ids)}


def _retry_documents(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    ids = _ids(db, argument, "documents")
    for one in ids:
        queue.retry(db, review.best_file(db, one)["id"])
    return {"retried": len(ids)}


def _retry_files(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    ids = _ids(db, argument, "files")
    for one in ids:
        queue.retry(db, one)
    return {"retried": len(ids)}


def _release(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    return {"released": roots.release(db, _root(db, argument))}


def _forget(db: sqlite3.Connection, argument: Argument, who: str) -> dict[str, Any]:
    return {"forgotten": roots.forget(db, _root(db, argument))}


def _root(db: sqlite3.Connection, argument: Argument) -> int:
    root_id = argument.get("root")
    if not _is_id(root_id):
        raise UsageError(NONSENSE)
    if not _is_there(db, "roots", root_id):
        raise NothingFound("this folder is no root any more; `winnow roots list` shows those that are")
    return root_id


def _ids(db: sqlite3.Connection, argument: Argument, table: str) -> list[int]:
    """The ids that an argument names, without those that are there no more."""
    ids = argument.get(table)
    if not isinstance(ids, list) or not all(_is_id(one) for one in ids):
        raise UsageError(NONSENSE)
    return [one for one in ids if _is_there(db, table, one)]


def _is_id(one: object) -> TypeGuard[int]:
    return isinstance(one, int) and 0 <= one < 1 << 63


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
