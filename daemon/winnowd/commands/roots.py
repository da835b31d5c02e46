"""`winnow roots`."""

import os
import sqlite3
import sys

import click

from winnowd.commands import common
from winnowd.errors import NothingFound


@click.group("roots")
def command() -> None:
    """List, release and forget watched folders."""


@command.command("list")
@common.options
def list_(config: str | None, db: str | None, as_json: bool) -> None:
    """List the watched folders: state, how they are watched and why, what the last walk saw."""
    from winnowd.disk import loaded, printable
    from winnowd.store import roots

    keys = ("state", "origin", "watch", "watch_reason", "walked_at", "walked_files", "message")
    with common.reader(config, db) as connection:
        entries = [
            {"path": printable(loaded(row["path"])), **{key: row[key] for key in keys}} for row in roots.all_roots(connection)
        ]
    if as_json:
        common.print_json(entries)
    else:
        common.print_rows(("path", *keys), [tuple(entry.values()) for entry in entries])


@command.command("release")
@click.argument("path", type=common.PATH)
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal nobody is asked.")
@common.options
def release(config: str | None, db: str | None, as_json: bool, path: str, yes: bool) -> None:
    """Remove the files of a folder that are held because too many vanished at once."""
    from winnowd.render import plural
    from winnowd.store import status

    with common.reader(config, db) as connection:
        root = _root(connection, path)
        held = status.by_state(connection, root["id"])["gone"]
    _ask(f"Remove {held} held files of {path} from the catalogue?", yes)
    done = common.carry_out(config, db, "release", {"root": root["id"]})
    _say(as_json, done, f"{plural(done['released'], 'file')} removed from the catalogue")


@command.command("forget")
@click.argument("path", type=common.PATH)
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal nobody is asked.")
@common.options
def forget(config: str | None, db: str | None, as_json: bool, path: str, yes: bool) -> None:
    """Take a folder and all its files out of the catalogue. The files themselves are not touched; decisions are kept."""
    from winnowd.render import plural
    from winnowd.store import status

    with common.reader(config, db) as connection:
        root = _root(connection, path)
        count = sum(status.by_state(connection, root["id"]).values())
    _ask(f"Take {path} with {count} files out of the catalogue?", yes)
    done = common.carry_out(config, db, "forget", {"root": root["id"]})
    _say(as_json, done, f"{plural(done['forgotten'], 'file')} taken out of the catalogue")


def _root(db: sqlite3.Connection, path: str) -> sqlite3.Row:
    from winnowd.disk import loaded
    from winnowd.store import roots

    full = os.path.abspath(path)
    for row in roots.all_roots(db):
        if loaded(row["path"]) == full:
            return row
    raise NothingFound(f"{path}: is no watched folder; `winnow roots list` shows them")


def _ask(question: str, yes: bool) -> None:
    if not yes and sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)


def _say(as_json: bool, value: dict[str, int], sentence: str) -> None:
    if as_json:
        common.print_json(value)
    else:
        click.echo(sentence)
