"""A share and a catalogue of it, driven from outside by the command, and the checks of its account."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

AN_HOUR = 3600


class Share:
    """A watched folder and the database that catalogues it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "share"
        self.db = folder / "state" / "winnow.db"
        self.root.mkdir()
        self.db.parent.mkdir()
        self.accounted = True  # a test of a root that is offline sets this to False

    def write(self, name: str | bytes, content: str | bytes) -> Path:
        """A file that was last written an hour ago."""
        path = Path(os.fsdecode(os.path.join(os.fsencode(self.root), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        then = path.stat().st_mtime - AN_HOUR
        os.utime(path, (then, then))
        return path

    def run(self, *args: str | Path, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """One command; `code` is the exit code it must end with, None for any that is no crash."""
        done = subprocess.run(
            command(*args), capture_output=True, text=True, errors="surrogateescape", check=False, timeout=120
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def scan(self, *args: str | Path, code: int | None = 0) -> dict:
        return json.loads(self.run("scan", "--db", self.db, "--json", *(args or (self.root,)), code=code).stdout)

    def ask(self, *args: str | Path, code: int | None = 0) -> list | dict:
        first, *rest = args
        subcommand = [rest.pop(0)] if first in ("review", "failed", "roots") else []
        return json.loads(self.run(first, *subcommand, "--db", self.db, "--json", *rest, code=code).stdout)

    def found(self, *words: str) -> set[str]:
        """The names, relative to the share, of all files that a search finds."""
        hits = self.ask("search", "--limit", "1000", "--", *words, code=None)
        return {os.path.relpath(path, self.root) for hit in hits for path in hit["paths"]}

    def states(self) -> dict[str, str]:
        with closing(sqlite3.connect(self.db)) as db:
            return dict(db.execute("SELECT label, state FROM files"))

    def rows(self, *but: str) -> dict[str, list[tuple]]:
        """Every row of every table, but the named ones."""
        with closing(sqlite3.connect(self.db)) as db:
            tables = [
                r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%_fts_%'")
            ]
            return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in tables if table not in but}


def command(*args: str | Path) -> list[str]:
    return [sys.executable, "-m", "winnowd", *(os.fspath(arg) for arg in args)]


def assert_sound(path: Path) -> None:
    """The indexes say what their tables say, and what is searchable is exactly `passages`."""
    db = sqlite3.connect(path)
    for table in ("passages_fts", "documents_fts", "files_fts"):
        db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    assert db.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    assert db.execute(
        "SELECT count(*) FROM documents WHERE id NOT IN (SELECT document_id FROM files WHERE document_id > 0)"
    ).fetchone() == (0,)
    db.rollback()
    db.close()


def assert_accounted(share: Share) -> None:
    """All states but gone together are the files that are on the disk, and the files that the last walk listed."""
    status = share.ask("status", code=None)
    on_disk = sum(
        len(files) + sum(os.path.islink(os.path.join(top, d)) for d in dirs) for top, dirs, files in os.walk(share.root)
    )
    assert sum(status["files"].values()) - status["files"]["gone"] == on_disk
    for root in status["roots"]:
        assert sum(root["files"].values()) - root["files"]["gone"] == root["walked_files"]
