"""What the commands share: options, where configuration and database are, how a file or document is named, and output."""

import getpass
import json
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from winnowd.errors import NothingFound, StoreError, UsageError

if TYPE_CHECKING:
    from winnowd.config import Config

DEFAULT_CONFIG = Path("/etc/winnowd/config.toml")
ANSWER_SECONDS = 60.0
DIGEST_CHARS = frozenset("0123456789abcdef")

PATH = click.Path(readable=False)  # what cannot be read is what people ask about

db_option = click.option("--db", type=PATH, envvar="WINNOW_DB", help="The database (default: as configured).")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command on a database has: --db and --json."""
    return db_option(json_option(click.pass_obj(function)))


def load_config(path: str | None) -> "Config":
    """The configuration: the file that was named, else the usual one, else the defaults."""
    from winnowd.config import Config

    if path is None and not DEFAULT_CONFIG.exists():
        return Config()
    from winnowd import config_file  # takes a tenth of a second: only where there is a file to be checked

    return config_file.load(DEFAULT_CONFIG if path is None else Path(path))


def database_path(config_path: str | None, db: str | None) -> Path:
    """Where the database lies: --db, else WINNOW_DB, else the configuration, else the user's state folder."""
    if db is not None:
        return Path(db).absolute()
    if config_path is not None or DEFAULT_CONFIG.exists():
        return load_config(config_path).database.path
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(state) / "winnow" / "winnow.db"


@contextmanager
def reader(config_path: str | None, db: str | None) -> Iterator[sqlite3.Connection]:
    """A connection that only reads."""
    from winnowd import store

    connection = store.open_reader(database_path(config_path, db))
    try:
        yield connection
    except sqlite3.DatabaseError as error:
        raise _trouble(database_path(config_path, db), error) from None
    finally:
        connection.close()


@contextmanager
def writer(config_path: str | None, db: str | None, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """The one writer's connection, for as long as the lock is held. With `create` the database may be new."""
    from winnowd import store

    path = database_path(config_path, db)
    if not create and not path.exists():
        raise StoreError(f"{path}: there is no database; `winnow scan FOLDER` makes one (--db FILE names another)")
    if create and db is None:
        make_folder(path.parent)
    refuse_network(path)
    with store.lock(path):
        connection = store.open_writer(path)
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            raise _trouble(path, error) from None
        finally:
            if connection.in_transaction:
                connection.rollback()
            connection.close()


def _trouble(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    from winnowd import store

    return store.damaged(path, error) if store.is_damaged(error) else StoreError(f"{path}: {error}")


def carry_out(config_path: str | None, db: str | None, verb: str, argument: dict[str, Any]) -> dict[str, Any]:
    """Let the loop do what is asked (see `operations`), and return its answer.

    Whoever holds the lock is the loop: this command, or the running service, which answers in its next turn.
    """
    from winnowd import operations, store

    try:
        with writer(config_path, db) as connection:
            connection.execute("PRAGMA synchronous = FULL")  # a decision cannot be found again by a walk
            with store.transaction(connection):
                return operations.carry_out(connection, verb, argument, who())
    except store.Busy as busy:
        if not busy.holder.startswith("service"):
            raise
    return ask_service(database_path(config_path, db), verb, argument)


def ask_service(path: Path, verb: str, argument: dict[str, Any], seconds: float | None = ANSWER_SECONDS) -> dict[str, Any]:
    """Ask something of the running service, and wait for the answer; without `seconds` for as long as it runs.

    Raises what the service says went wrong.
    """
    from winnowd import store
    from winnowd.store import requests

    connection = store.open_asker(path)
    try:
        asked = requests.ask(connection, verb, argument, who())
        until = time.monotonic() + (seconds if seconds is not None else float("inf"))
        while (answer := requests.answer_to(connection, asked)) is None:
            if time.monotonic() > until or not store.is_served(path):
                raise StoreError(f"the service has not answered; it will carry out the request ({verb}) when it can")
            time.sleep(0.1)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from None
    finally:
        connection.close()
    if "error" in answer:
        raise Refused(answer["error"], answer["code"])
    return answer


def when(config_path: str | None, db: str | None) -> str:
    """When what was just put back is read, as a sentence ends."""
    from winnowd import store

    return "by the running service" if store.is_served(database_path(config_path, db)) else "by the next scan"


class Refused(StoreError):
    """The service could not do what was asked."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code


def make_folder(folder: Path) -> None:
    """Make the state folder where there is none. What is made in it belongs to its group, whoever makes it.

    A reader that comes while nobody writes makes the log beside the database: with the reader's own group, the service could
    not open it any more.
    """
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o770)
        folder.chmod(folder.stat().st_mode | stat.S_ISGID)


def refuse_network(path: Path) -> None:
    """Raise StoreError where the database would lie on a network file system: its write-ahead log works on one host only."""
    from winnowd import disk

    mount = disk.current_mount(str(path.parent))
    if mount.network:
        raise StoreError(
            f"{path}: lies on a network file system ({mount.filesystem}), where SQLite is not safe; put it on a local disk"
        )


def existing_path(path: str) -> str:
    """The absolute path of something that exists, with its links kept. Raises UsageError where there is nothing."""
    full = os.path.abspath(path)
    if not os.path.lexists(full):
        from winnowd.disk import printable

        raise UsageError(f"{printable(path)}: there is no such file or folder")
    return full


def document_row(db: sqlite3.Connection, named: str) -> sqlite3.Row:
    """The document that a path or the beginning of a digest names. Raises NothingFound where there is none."""
    if len(named) >= 4 and set(named.lower()) <= DIGEST_CHARS and not os.path.lexists(named):
        first = named.lower()
        rows = db.execute("SELECT * FROM documents WHERE digest >= ? AND digest < ? LIMIT 2", (first, first + "g")).fetchall()
        if len(rows) > 1 and rows[0]["digest"] == rows[1]["digest"]:
            raise UsageError(
                f"{named}: is read as {rows[0]['format']} and as {rows[1]['format']}; name one of its paths instead"
            )
        if len(rows) > 1:
            raise UsageError(f"{named}: several documents begin like this; give more of the digest")
        if rows:
            found: sqlite3.Row = rows[0]
            return found
    file = file_row(db, named)
    if file is not None and file["document_id"] is not None:
        return db.execute("SELECT * FROM documents WHERE id = ?", (file["document_id"],)).fetchone()  # type: ignore[no-any-return]
    if file is not None:
        raise NothingFound(f"{named}: nothing is stored of its text: it is {file['state']}. {file['message'] or ''}".rstrip())
    raise NothingFound(f"{named}: neither a known path nor the beginning of a known digest")


def file_row(db: sqlite3.Connection, path: str) -> sqlite3.Row | None:
    """The catalogue's row for a path, None where it knows none."""
    from winnowd.store import files, roots

    full = os.path.abspath(path)
    root = roots.containing(db, full)
    if root is None:
        return None
    directory, _, name = roots.relative(root, full).rpartition("/")
    return files.find(db, root["id"], directory, name)


def one_of(value: str | None, known: Iterable[str], what: str) -> None:
    """Raise UsageError where a value is given that is none of the known ones."""
    known = sorted(known)
    if value is not None and value not in known:
        raise UsageError(f"{value!r} is no {what}; there are {', '.join(known)}")


def now() -> str:
    """The present time as it is stored: UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def who() -> str:
    """The name of the person at the keyboard, also behind sudo."""
    try:
        return os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in a container
        return f"uid {os.getuid()}"


def print_json(value: object) -> None:
    """One JSON document on standard output, indented on a terminal."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def print_rows(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on a terminal; elsewhere tab-separated lines without a header, one record a line, never cut."""
    from winnowd import render

    render.rows(header, rows, terminal=sys.stdout.isatty())


def to_terminal() -> bool:
    """Whether a person reads standard output directly."""
    return sys.stdout.isatty()
