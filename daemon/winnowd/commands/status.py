"""`winnow status`."""

import os
import sqlite3
import sys
from pathlib import Path

import click

from winnowd.commands import common
from winnowd.errors import EXIT_INCOMPLETE


@click.command("status")
@common.options
def command(config: str | None, db: str | None, as_json: bool) -> None:
    """Account for every file: how many are in which state, for which reason, in which folder.

    The exit code is 3 where a watched folder is offline or held.
    """
    path = common.database_path(config, db)
    with common.reader(config, db) as connection:
        account = _account(connection, path, config)
    if as_json:
        common.print_json(account)
    else:
        _print(account)
    degraded = any(root["state"] != "online" for root in _list(account["roots"]))
    sys.exit(EXIT_INCOMPLETE if degraded else 0)


def _account(db: sqlite3.Connection, path: Path, config: str | None) -> dict[str, object]:
    from winnowd import __version__, worker
    from winnowd.store import status

    documents = db.execute("SELECT count(*), ifnull(sum(chars), 0) FROM documents").fetchone()
    return {
        "files": status.by_state(db),
        "reasons": [dict(row) for row in status.by_reason(db)],
        "next_attempt": status.next_attempt(db),
        "documents": documents[0],
        "chars": documents[1],
        "passages": db.execute("SELECT count(*) FROM passages").fetchone()[0],
        "withheld": db.execute("SELECT count(*) FROM withheld").fetchone()[0],
        "stale": status.stale(db, worker.recipes(common.load_config(config))),
        "roots": _roots(db),
        "database": {"path": str(path), "bytes": _size(path), "wal_bytes": _size(path.with_name(path.name + "-wal"))},
        "version": __version__,
    }


def _roots(db: sqlite3.Connection) -> list[dict[str, object]]:
    from winnowd.disk import loaded, printable
    from winnowd.store import roots, status

    keys = (
        "origin",
        "state",
        "message",
        "watch",
        "watch_reason",
        "filesystem",
        "walked_at",
        "walked_files",
        "unlisted_folders",
    )
    return [
        {"path": printable(loaded(row["path"])), **{key: row[key] for key in keys}, "files": status.by_state(db, row["id"])}
        for row in roots.all_roots(db)
    ]


def _size(path: Path) -> int:
    return os.path.getsize(path) if path.exists() else 0


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


def _print(account: dict[str, object]) -> None:
    files = account["files"]
    assert isinstance(files, dict)
    rows = [(state, count) for state, count in files.items()]
    common.print_rows(("state", "files"), [*rows, ("all but gone", sum(files.values()) - files["gone"])])
    if not common.to_terminal():
        for root in _list(account["roots"]):
            if root["message"]:
                click.echo(f"winnow: {root['message']}", err=True)
        return
    from winnowd.render import size

    click.echo()
    if account["reasons"]:
        common.print_rows(("state", "reason", "files"), [tuple(reason.values()) for reason in _list(account["reasons"])])
        click.echo()
    roots = [(r["path"], r["state"], r["watch"], r["walked_at"], r["walked_files"]) for r in _list(account["roots"])]
    common.print_rows(("folder", "state", "watch", "walked at", "files seen"), roots)
    for root in _list(account["roots"]):
        if root["message"]:
            click.echo(f"  {root['message']}")
    database = account["database"]
    assert isinstance(database, dict)
    click.echo(
        f"\n{account['documents']:,} documents, {account['passages']:,} passages searchable, {account['withheld']:,} withheld"
    )
    click.echo(
        f"{database['path']}: {size(database['bytes'])}"
        + (f"; {account['stale']} documents are stale" if account["stale"] else "")
    )
