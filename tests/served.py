"""The real `winnow run` in a process of its own, and the commands beside it, as a person or systemd would start them."""

import contextlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

LIMIT_SECONDS = 180.0
EXIT_BUSY = 75
EXCLUDED = ["*.tmp", ".git/"]
LAUNCH = (
    "import fakes\n"
    "from winnowd import worker\n"
    "from winnowd.__main__ import main\n"
    "if __name__ == '__main__':\n"
    "    worker.serve = fakes.serve_mock\n"
    "    main()\n"
)
"""The command, its children with the format that misbehaves in their table."""
SETTINGS = """
[database]
path = "{db}"
free_mb = {free_mb}
[walk]
exclude = {exclude}
[watch]
settle_seconds = 0.3
network_settle_seconds = 0.5
rescan_seconds = {rescan}
network_rescan_seconds = {network_rescan}
verify_days = 0
probe_seconds = 2
[limits]
idle_seconds = 5
[pool]
workers = 2
"""


class Service:
    """The service on one database, its configuration, and the commands that work beside it."""

    def __init__(self, folder: Path) -> None:
        self.db, self.config, self.log = folder / "state" / "winnow.db", folder / "config.toml", folder / "log"
        self.scratch = Path(tempfile.mkdtemp(prefix="winnow-"))  # short: the path of a socket has room for 107 bytes
        self._launch = folder / "launch.py"
        self.db.parent.mkdir()
        self._launch.write_text(LAUNCH)
        self.log.touch()
        self.process: subprocess.Popen | None = None
        self.kills = 0
        self.wanted: dict = {"free_mb": 1, "rescan": 3600, "network_rescan": 2, "exclude": EXCLUDED}
        self.roots: dict[Path, str] = {}

    # ---- its life

    def configure(self, **wanted) -> None:
        self.wanted |= wanted
        text = SETTINGS.format(db=self.db, **self.wanted)
        text += "".join(f'[[roots]]\npath = "{path}"\nwatch = "{watch}"\n' for path, watch in self.roots.items())
        self.config.write_text(text)

    def start(self) -> None:
        """Begin, again and again while a command is at work on the database, as systemd would."""
        until = time.monotonic() + LIMIT_SECONDS
        while not self._started():
            assert time.monotonic() < until

    def _started(self) -> bool:
        ready = self.log.stat().st_size
        self.process = subprocess.Popen(
            self.argv("run"), stderr=subprocess.PIPE, env=self.environment(), start_new_session=True
        )
        threading.Thread(target=self._write_down, args=(self.process,), daemon=True).start()
        while b"Ready" not in self.log.read_bytes()[ready:]:
            if self.process.poll() is not None:
                assert self.process.returncode == EXIT_BUSY, self.process.returncode
                return False
            time.sleep(0.05)
        return True

    def _write_down(self, process: subprocess.Popen) -> None:
        """What the service logs. It writes to a pipe, which no limit of its files touches."""
        with process.stderr, self.log.open("ab") as log:
            for line in process.stderr:
                log.write(line)
                log.flush()

    def stop(self) -> None:
        self.signal(signal.SIGTERM)
        assert self.process is not None
        assert self.process.wait(LIMIT_SECONDS) == 0
        self.process = None

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()
        self.process = None
        self.kills += 1
        self.wait_for(lambda: not self.descendants(), "no child outlives a service that was killed")

    def end(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self.process is not None:
            self.process.kill()  # also where it was stopped by a signal
            self.process.wait()
        for pid in self.descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def signal(self, number: int) -> None:
        assert self.process is not None
        assert self.process.poll() is None, f"the service ended by itself ({self.process.returncode})"
        self.process.send_signal(number)

    def reload(self) -> None:
        """Let it read its configuration again, and wait until it did."""
        before = self.log.stat().st_size
        self.signal(signal.SIGHUP)
        heard = (b"Read the configuration again", b"[config", b"config.toml")
        self.wait_for(lambda: any(word in self.log.read_bytes()[before:] for word in heard), "the configuration is read again")

    def limit_its_files(self, size: int | None) -> None:
        """Let no file of it grow beyond a size, as if the disk were full; None for as large as they like."""
        if self.process is None:
            return
        limits = (resource.RLIM_INFINITY if size is None else size, resource.RLIM_INFINITY)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, limits)

    # ---- its processes

    def environment(self) -> dict[str, str]:
        tests = str(Path(__file__).parent)
        paths = os.pathsep.join([tests, *filter(None, sys.path)])
        return {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(self.scratch)}

    def argv(self, *args: str | Path) -> list[str]:
        return [sys.executable, os.fspath(self._launch), "--config", os.fspath(self.config), *(os.fspath(a) for a in args)]

    def descendants(self) -> list[int]:
        """The processes that the service started, however deep, and whoever is their parent now."""
        mark = f"TMPDIR={self.scratch}\0".encode()
        own = self.process.pid if self.process is not None else 0
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != own:
                try:
                    if mark in Path("/proc", name, "environ").read_bytes() + b"\0":
                        found.append(int(name))
                except OSError:
                    continue
        return found

    def readers(self) -> list[int]:
        """Its children by the fork server: those that read files or look at folders."""
        return [pid for pid in self.descendants() if _session_of(pid) == pid]

    # ---- commands

    def run(self, *args: str | Path, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.argv(*args),
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
            timeout=LIMIT_SECONDS,
            env=self.environment(),
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert code is None or done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done

    def ask(self, *args: str | Path) -> dict:
        return json.loads(self.run(*args, "--json", code=None).stdout)

    def rows(self, sql: str, *values) -> list[tuple]:
        """What the catalogue says, by a reader's connection."""
        db = sqlite3.connect(f"file:{self.db}?mode=ro", uri=True, timeout=30)
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def wait_for(self, condition: Callable[[], object], what: str, seconds: float = LIMIT_SECONDS) -> None:
        until = time.monotonic() + seconds
        while not condition():
            if self.process is not None:
                assert self.process.poll() is None, f"the service ended by itself ({self.process.returncode}): {what}"
            assert time.monotonic() < until, f"did not come about: {what}"
            time.sleep(0.1)


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0
