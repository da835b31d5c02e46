"""The real `winnow run` on a share, started and ended from outside, with times so short that tests can wait for it."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from shares import Share, command

PATIENCE = 60.0
"""Seconds until a test gives up waiting. Nothing is decided by how long a thing took."""

TIMES = {
    "settle_seconds": 0.2,
    "network_settle_seconds": 0.5,
    "settle_cap_seconds": 900,
    "rescan_seconds": 3600,
    "network_rescan_seconds": 3600,
    "verify_days": 0,
    "answer_seconds": 60,
    "probe_seconds": 1,
}
ODD = Path(__file__).with_name("odd_run.py")


class Service:
    """`winnow run` on a share. `roots` are TOML tables without their path's quotes: {path: {key: value}}.

    With `orders`, a folder, it is started by `odd_run`, which carries out what stands in the files of that folder.
    """

    def __init__(self, share: Share) -> None:
        self.share = share
        self.config = share.db.parent / "config.toml"
        self.log = share.db.parent / "log"
        self.orders = share.db.parent / "orders"
        self.roots: dict[Path, dict[str, object]] = {share.root: {}}
        self.settings: dict[str, dict[str, object]] = {
            "database": {"path": str(share.db), "free_mb": 0},
            "watch": dict(TIMES),
            "pool": {"workers": 2},
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.env: dict[str, str] = {}
        self.before: list[str] = []  # a command that runs the service, as `unshare -Ur`

    # ---- life

    def start(self, *, ready: bool = True, **watch: object) -> "Service":
        """Start it, with these settings of the section `watch`, and wait until it is ready."""
        self.write_config(**watch)
        argv = command("run", "--config", self.config)
        if self.orders.exists():
            argv = [sys.executable, str(ODD), *argv[3:]]
        env = {**os.environ, "WINNOW_ORDERS": str(self.orders), **self.env}
        begins = self.said()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*self.before, *argv], stdout=log, stderr=log, env=env)
        if ready:
            self.until(lambda: "Ready" in self.said()[len(begins) :])
        return self

    def write_config(self, **watch: object) -> None:
        """Write the configuration; settings of the section `watch` stay until others are given."""
        self.settings["watch"] |= watch
        lines = [f"[{name}]\n{_pairs(values)}" for name, values in self.settings.items()]
        lines += [f"[[roots]]\n{_pairs({'path': str(path), **values})}" for path, values in self.roots.items()]
        self.config.write_text("\n".join(lines), encoding="utf-8")

    def reload(self) -> None:
        """Write the configuration and let the service read it again; wait until it has."""
        self.write_config()
        begins = len(self.said())
        self.signal(signal.SIGHUP)
        self.until(lambda: "Ready" in self.said()[begins:])

    def stop(self, code: int = 0) -> None:
        """End it with SIGTERM, and hold it to its exit code."""
        if self.process is not None:
            self.process.terminate()
            assert self.process.wait(PATIENCE) == code, self.said()
            self.process = None

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.process = None

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    # ---- what it did

    def until(self, holds: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Wait until a condition holds. Fails with the log where it never does, or where the service ends."""
        end = time.monotonic() + seconds
        while not holds():
            ended = self.process is not None and self.process.poll() is not None
            assert not ended, f"it ended with {self.process and self.process.returncode}\n{self.said()}"
            assert time.monotonic() < end, f"waited in vain; states {self.states()}\n{self.said()}"
            time.sleep(0.05)

    def quiet(self) -> bool:
        """Whether all roots were walked, and nothing waits: every state is final."""
        unwalked = "SELECT count(*) FROM roots WHERE walked_at IS NULL AND state <> 'offline'"
        waiting = "SELECT count(*) FROM files WHERE state = 'pending'"
        return self.value(unwalked) == 0 and self.value(waiting) == 0 and bool(self.rows("SELECT 1 FROM roots"))

    def said(self) -> str:
        """The log so far."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def rows(self, sql: str, *values: object) -> list[tuple]:
        """What a query of the catalogue gives; nothing where there is no catalogue yet."""
        if not self.share.db.exists():
            return []
        db = sqlite3.connect(f"file:{self.share.db}?mode=rw", uri=True, timeout=30)
        try:
            db.execute("PRAGMA query_only = ON")
            return db.execute(sql, values).fetchall()
        except sqlite3.OperationalError:  # its tables are just being made
            return []
        finally:
            db.close()

    def value(self, sql: str, *values: object) -> object:
        rows = self.rows(sql, *values)
        return rows[0][0] if rows else None

    def states(self) -> dict[str, str]:
        """The state of each file, by its name relative to its root."""
        return dict(self.rows("SELECT label, state FROM files"))

    def status(self) -> dict:
        """`winnow status --json`, whatever its exit code."""
        return json.loads(self.share.run("--config", self.config, "status", "--json", code=None).stdout)

    def root(self, path: Path | None = None) -> dict:
        """What the status says of one root (of the share's own)."""
        return next(root for root in self.status()["roots"] if root["path"] == str(path or self.share.root))

    def search(self, *words: str) -> list[dict]:
        """`winnow search --json`."""
        return json.loads(self.share.run("search", "--db", self.share.db, "--json", "--", *words, code=None).stdout)

    def found(self, *words: str) -> set[str]:
        """The names, relative to the share, of all files that a search finds."""
        return self.share.found(*words)

    def order(self, name: str, text: str = "") -> None:
        """Let something odd happen (see `odd_run`). The first order has to be given before the start."""
        self.orders.mkdir(exist_ok=True)
        fresh = self.orders / f".{name}"
        fresh.write_text(text, encoding="utf-8")
        fresh.rename(self.orders / name)

    def countermand(self, name: str) -> None:
        (self.orders / name).unlink(missing_ok=True)


def _pairs(values: dict[str, object]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
