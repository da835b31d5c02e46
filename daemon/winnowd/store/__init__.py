"""The catalogue: one SQLite file. Functions take a connection first; here it is opened, for its one writer or for readers."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from winnowd.errors import EXIT_BUSY, StoreError

SCHEMA_VERSION = 2
PAGE_SIZE = 8192  # a tenth faster than 4096 on passages, and smaller
CACHE_KIB = 32_768
WAL_LIMIT = 64 * 1024 * 1024
BUSY_SECONDS = 10


class Busy(StoreError):
    """Another process is the one writer. `holder` is what it says of itself: its kind, and its process id."""

    exit_code = EXIT_BUSY

    def __init__(self, message: str, holder: str = "") -> None:
        super().__init__(message)
        self.holder = holder


@contextmanager
def lock(path: Path, holder: str = "command") -> Iterator[None]:
    """Be the one writer of the database at `path`. Raises Busy where another process is.

    `holder` stands in the lock file, for others to read: a service takes requests, a command does not.
    """
    name = path.with_name(path.name + ".lock")
    try:
        held = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
    except OSError as error:
        raise StoreError(f"{path}: cannot be locked: {error.strerror}; the folder must exist and be writable") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = os.pread(held, 100, 0).decode(errors="replace").strip()
        os.close(held)
        raise Busy(f"{path}: another winnow is working on this database; wait until it is done", other) from None
    os.ftruncate(held, 0)
    os.pwrite(held, f"{holder} {os.getpid()}\n".encode(), 0)
    try:
        yield
    finally:
        os.close(held)


def is_served(path: Path) -> bool:
    """Whether a service is the one writer of the database at `path`."""
    try:
        looked = os.open(path.with_name(path.name + ".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(looked, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(looked, 100, 0).startswith(b"service")
    finally:
        os.close(looked)
    return False


def open_writer(path: Path) -> sqlite3.Connection:
    """The writer's connection to the database at `path`, made or migrated to the present schema.

    Raises StoreError where the file is no database, belongs to a newer Winnow, or its folder cannot be written.
    """
    try:
        if str(path) != ":memory:":
            # SQLite would make it readable by others and writable by nobody else; its log files copy the mode of this one.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660))
        db = _connect(":memory:" if str(path) == ":memory:" else f"file:{_quoted(path)}?mode=rwc")
        _refuse_foreign(db, path)
        _refuse_newer(db, path)
        _tune(db)
        if _version(db) < SCHEMA_VERSION:
            _migrate(db)
    except OSError as error:
        raise StoreError(f"{path}: cannot be used as a database: {error.strerror}") from None
    except sqlite3.Error as error:
        if is_damaged(error):
            raise damaged(path, error) from None
        hint = f" ({path.name}-wal and {path.name}-shm must be writable too)" if "readonly" in str(error) else ""
        raise StoreError(f"{path}: cannot be used as a database: {error}{hint}") from None
    return db


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write. Raises StoreError where there is no database, or it belongs to another version."""
    if not path.exists():
        raise StoreError(f"{path}: there is no database; `winnow scan FOLDER` makes one (--db FILE names another)")
    try:
        db = _connect(f"file:{_quoted(path)}?mode=ro")
        _refuse_newer(db, path)
        db.execute("PRAGMA query_only = ON")
        _refuse_foreign(db, path)
        if _version(db) < SCHEMA_VERSION:
            raise StoreError(f"{path}: belongs to an older Winnow or is not its database; `winnow scan` brings it up to date")
    except sqlite3.Error as error:
        if is_damaged(error):
            raise damaged(path, error) from None
        hint = " (a reader must be allowed to write to its folder)" if "readonly" in str(error) else ""
        raise StoreError(f"{path}: cannot be read: {error}{hint}") from None
    return db


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether SQLite found that the file is not what it wrote."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def damaged(path: Path, error: sqlite3.Error) -> StoreError:
    """What to tell an operator whose database is damaged."""
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT_VTAB:
        return StoreError(f"{path}: its full-text index is damaged ({error}); the service makes it anew, within a day")
    return StoreError(
        f"{path}: is damaged ({error}); move it aside and start again: all is read anew from the folders. "
        'How to keep the decisions of people: docs/operations.md, "A damaged database"'
    )


def open_asker(path: Path) -> sqlite3.Connection:
    """A connection that asks something of the loop: it writes one row into `requests`, and reads the answer."""
    open_reader(path).close()  # it is there, and of this version
    return _connect(f"file:{_quoted(path)}?mode=rw")


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; inside another transaction, a part of it.

    BEGIN IMMEDIATE, because a read that becomes a write fails at once where another writer committed meanwhile.
    """
    begin, commit, undo = ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part; RELEASE part")
    if not db.in_transaction:
        begin, commit, undo = ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
    db.execute(begin)
    try:
        yield
    except BaseException:
        if db.in_transaction:  # a full disk has rolled it back already
            for statement in undo.split("; "):
                db.execute(statement)
        raise
    db.execute(commit)


def _connect(uri: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _quoted(path: Path) -> str:
    return quote(os.fsencode(path.absolute()))


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _refuse_foreign(db: sqlite3.Connection, path: Path) -> None:
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not {"_sqlite_migrations", "passages"} <= tables:
        raise StoreError(f"{path}: is the database of another program; name another file")


def _refuse_newer(db: sqlite3.Connection, path: Path) -> None:
    found = _version(db)
    if found > SCHEMA_VERSION:
        raise StoreError(
            f"{path}: was made by a newer Winnow (schema {found}, this one knows {SCHEMA_VERSION}); "
            "update Winnow, or name another file"
        )


def _tune(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # takes effect in a new file only
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")  # a lost commit is found again by the next walk; decisions use FULL
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    db.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")


def _migrate(db: sqlite3.Connection) -> None:
    from sqlite_utils import Database

    from winnowd.store.schema import migrations

    with transaction(db):
        migrations.apply(Database(db))
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
