"""A real `winnow run` on a share: started, listened to as systemd would listen, and ended."""

import json
import os
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shares import Share

LIMIT = 90.0  # seconds until a test gives up waiting: generous, for it is never waited for in vain
QUICK: dict[str, dict[str, Any]] = {
    "watch": {"settle_seconds": 0.05, "probe_seconds": 5},
    "pool": {"workers": 2},
    "database": {"free_mb": 0},
}
"""Settings with which nothing has to be waited for."""
MISBEHAVING = Path(__file__).with_name("misbehaving.py")


class Service:
    """The service on one share. `start` it; what it says to systemd is in `heard`, what it logs in `log`."""

    def __init__(self, share: Share) -> None:
        self.share = share
        self.config = share.root.with_name("config.toml")
        self.log = share.root.with_name("service.log")
        self.heard: list[str] = []
        self.process: subprocess.Popen | None = None
        self.configure()

    def __enter__(self) -> "Service":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.stop()
        assert "Traceback" not in self.logged(), self.logged()

    def configure(self, roots: list[Path] | None = None, **sections: dict[str, Any]) -> None:
        """Write the configuration; sections are added to the quick ones."""
        sections = {name: {**QUICK.get(name, {}), **sections.get(name, {})} for name in {**QUICK, **sections}}
        sections["database"]["path"] = str(self.share.db)
        parts = [f"[{name}]\n{_lines(body)}" for name, body in sections.items()]
        parts += [f"[[roots]]\npath = {json.dumps(str(root))}\n" for root in (roots or [self.share.root])]
        self.config.write_text("\n".join(parts))

    def start(self, *, misbehaving: bool = False, watchdog: float | None = None, ready: bool = True, **how: Any) -> "Service":
        """Start it, and wait until it is ready. `misbehaving` adds the format of files that order what their extractor does;
        `how` is for Popen."""
        program = [str(MISBEHAVING)] if misbehaving else ["-m", "winnowd"]
        address, end = _listen()
        variables = {"NOTIFY_SOCKET": address} | ({"WATCHDOG_USEC": str(round(watchdog * 1e6))} if watchdog else {})
        self.heard = []
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *program, "run", "--config", str(self.config)],
                env={**os.environ, **variables},
                stdout=log,
                stderr=log,
                **how,
            )
        threading.Thread(target=_collect, args=(end, self.heard, self.process), daemon=True).start()
        if ready:
            self.wait(lambda: self.said("READY=1"))
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def said(self, line: str) -> bool:
        """Whether it told systemd this."""
        return any(line in message.split("\n") for message in self.heard)

    def statuses(self) -> list[str]:
        """The sentences it told systemd."""
        return [line[7:] for message in self.heard for line in message.split("\n") if line.startswith("STATUS=")]

    def logged(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait(self, holds: Callable[[], Any]) -> Any:
        """Wait until something holds while the service runs; what it found."""
        assert self.process is not None
        end = time.monotonic() + LIMIT
        while not (found := _seen(holds)):
            assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.logged()[-3000:]}"
            assert time.monotonic() < end, f"waited in vain; its log:\n{self.logged()[-3000:]}"
            time.sleep(0.05)
        return found

    def wait_for(self, **states: str) -> None:
        """Wait until files are in these states; keys are their names with `_` for the last dot."""
        wanted = {".".join(name.rsplit("_", 1)): state for name, state in states.items()}
        self.wait(lambda: wanted.items() <= self.share.states().items())

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it with a signal; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(LIMIT)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def children(self) -> list[int]:
        """All processes below it."""
        return below(self.pid)

    def row(self, name: str) -> dict[str, Any]:
        """What the catalogue knows of a file."""
        return self.one("SELECT * FROM files WHERE label = ?", name)

    def one(self, sql: str, *values: object) -> dict[str, Any]:
        """The first row of a query."""
        db = sqlite3.connect(self.share.db)
        try:
            db.row_factory = sqlite3.Row
            return dict(db.execute(sql, values).fetchone() or {})
        finally:
            db.close()


def below(pid: int, *, deep: bool = True) -> list[int]:
    """The processes below a process: its children, and with `deep` theirs."""
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(name)] = int(parent)
    found, more = [], [pid]
    while more:
        parent = more.pop()
        children = [child for child, its in parents.items() if its == parent]
        found += children
        more += children if deep else []
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def eventually(holds: Callable[[], Any]) -> Any:
    """Wait until something holds; what it found in the end."""
    end = time.monotonic() + LIMIT
    while not (found := _seen(holds)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def _seen(holds: Callable[[], Any]) -> Any:
    try:
        return holds()
    except sqlite3.OperationalError:  # no table yet, or no file
        return None


def _lines(section: dict[str, Any]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in section.items())


def _listen() -> tuple[str, socket.socket]:
    """A socket such as systemd has, and its address. An abstract one: paths of tests are too long for it."""
    name = f"winnow-{secrets.token_hex(8)}"
    end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    end.bind(f"\0{name}")
    end.settimeout(0.2)
    return f"@{name}", end


def _collect(end: socket.socket, heard: list[str], process: subprocess.Popen) -> None:
    """Take what comes until the service has ended and nothing is left."""
    with end:
        while True:
            over = process.poll() is not None
            try:
                heard.append(end.recv(65_536).decode())
            except TimeoutError:
                if over:
                    return
