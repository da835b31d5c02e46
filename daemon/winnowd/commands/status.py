"""`winnow status`."""

import os
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from winnowd.commands import common
from winnowd.errors import EXIT_INCOMPLETE

SILENT_SECONDS = 300.0


@click.command("status")
@common.options
def command(config: str | None, db: str | None, as_json: bool) -> None:
    """Account for every file: how many are in which state, for which reason, in which folder.

    It reads the database, so it works whether the service runs or not. The exit code is 3 where something is not as it should
    be: a folder offline or held, events that do not arrive, a service that is paused or does not turn.
    """
    path = common.database_path(config, db)
    with common.reader(config, db) as connection:
        account = _account(connection, path, config)
    if as_json:
        common.print_json(account)
    else:
        _print(account)
    sys.exit(EXIT_INCOMPLETE if account["degraded"] else 0)


def _account(db: sqlite3.Connection, path: Path, config: str | None) -> dict[str, object]:
    from winnowd import __version__, worker
    from winnowd.store import status

    documents = db.execute("SELECT count(*), ifnull(sum(chars), 0) FROM documents").fetchone()
    settings = common.load_config(config)
    known, said, wal = _roots(db), _service(db, path), _size(path.with_name(path.name + "-wal"))
    return {
        "degraded": _trouble(known, said, wal >> 20, settings.database.wal_mb),
        "files": status.by_state(db),
        "reasons": [dict(row) for row in status.by_reason(db)],
        "next_attempt": status.next_attempt(db),
        "documents": documents[0],
        "chars": documents[1],
        "passages": db.execute("SELECT count(*) FROM passages").fetchone()[0],
        "withheld": db.execute("SELECT count(*) FROM withheld").fetchone()[0],
        "oldest_pending": status.oldest_pending(db),
        "stale": status.stale(db, worker.recipes(settings)),
        "roots": known,
        "service": said,
        "database": {"path": str(path), "bytes": _size(path), "wal_bytes": wal, "free_bytes": _free(path)},
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
        "overflows",
        "filesystem",
        "walked_at",
        "walked_files",
        "unlisted_folders",
    )
    return [
        {"path": printable(loaded(row["path"])), **{key: row[key] for key in keys}, "files": status.by_state(db, row["id"])}
        for row in roots.all_roots(db)
    ]


def _service(db: sqlite3.Connection, path: Path) -> dict[str, object] | None:
    """What the service last said, and whether it runs: whoever runs holds the lock."""
    from winnowd import store
    from winnowd.store import service

    row = service.last(db)
    if row is None:
        return None
    said = {key: row[key] for key in row.keys() if key != "id"}  # noqa: SIM118 - a row is no dictionary
    return {**said, "running": store.is_served(path) and row["state"] != "stopped", "being_read": row["running"]}


def _trouble(known: list[dict[str, object]], said: dict[str, object] | None, wal_mb: int, wal_limit: int) -> list[str]:
    """What is not as it should be, a sentence each."""
    found = [str(root["message"]) for root in known if root["state"] != "online" and root["message"]]
    found += [f"{root['path']}: {root['watch_reason']}" for root in known if "; but " in str(root["watch_reason"])]
    if wal_mb > wal_limit:
        found.append(f"the write-ahead log holds {wal_mb:,} MB (database.wal_mb): a reader holds it open, close that program")
    if said is None:
        return found
    if said["running"] and said["state"] == "paused":
        found.append(f"the service is {said['message']}")
    if said["running"] and _age(str(said["said_at"])) > SILENT_SECONDS:
        found.append(f"the service has said nothing since {said['said_at']}: it may hang")
    if not said["running"] and said["state"] != "stopped":
        found.append(f"the service ended without a word; it last spoke at {said['said_at']}")
    return found


def _age(at: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()


def _free(path: Path) -> int:
    seen = os.statvfs(path.parent)
    return seen.f_bavail * seen.f_frsize


def _size(path: Path) -> int:
    return os.path.getsize(path) if path.exists() else 0


def _sentences(account: dict[str, object]) -> list[str]:
    """What is not as it should be, and what else is to be said of a folder."""
    degraded = account["degraded"]
    found = [str(one) for one in degraded] if isinstance(degraded, list) else []
    return found + [
        str(root["message"]) for root in _list(account["roots"]) if root["message"] and str(root["message"]) not in found
    ]


def _print_service(said: object) -> None:
    if not isinstance(said, dict):
        click.echo("\nno service has run on this database; `winnow scan` brings it up to date")
    elif said["running"]:
        click.echo(
            f"\nservice: {said['message']} (process {said['pid']}, since {said['started_at']}; "
            f"{said['per_minute']:g} files a minute)"
        )
    else:
        click.echo(f"\nthe service does not run; it last spoke at {said['said_at']}")


def _list(value: object) -> list[dict[str, object]]:
    return value if isinstance(value, list) else []


def _print(account: dict[str, object]) -> None:
    files = account["files"]
    assert isinstance(files, dict)
    rows = [(state, count) for state, count in files.items()]
    common.print_rows(("state", "files"), [*rows, ("all but gone", sum(files.values()) - files["gone"])])
    if not common.to_terminal():
        for sentence in _sentences(account):
            click.echo(f"winnow: {sentence}", err=True)
        return
    from winnowd.render import size

    click.echo()
    if account["reasons"]:
        common.print_rows(("state", "reason", "files"), [tuple(reason.values()) for reason in _list(account["reasons"])])
        click.echo()
    roots = [(r["path"], r["state"], r["watch"], r["walked_at"], r["walked_files"]) for r in _list(account["roots"])]
    common.print_rows(("folder", "state", "watch", "walked at", "files seen"), roots)
    for sentence in _sentences(account):
        click.secho(f"  {sentence}", fg="yellow")
    _print_service(account["service"])
    database = account["database"]
    assert isinstance(database, dict)
    click.echo(
        f"\n{account['documents']:,} documents, {account['passages']:,} passages searchable, {account['withheld']:,} withheld"
    )
    click.echo(
        f"{database['path']}: {size(database['bytes'])}"
        + (f"; {account['stale']} documents are stale" if account["stale"] else "")
    )
