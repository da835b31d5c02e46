"""The promise: after any mix of file operations, kills and faults, the catalogue says exactly what the disk says."""

import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

from shares import Share, assert_accounted, assert_sound, command

BIRDS = (
    *("avocet", "bittern", "curlew", "dunlin", "eider", "fulmar", "gadwall", "heron"),
    *("ibis", "jackdaw", "kittiwake", "lapwing", "merlin", "nightjar", "osprey"),
)


class Life:
    """A share to which things happen, by a seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.dice = random.Random(seed)
        self.share = Share(folder)
        self.count = 0
        self.log: list[str] = []

    def live(self, steps: int) -> None:
        """Let things happen, with a scan now and then, some of them killed."""
        for _ in range(12):
            self.create()
        for _ in range(steps):
            deed = self.dice.choice(DEEDS)
            self.log.append(deed.__name__)
            deed(self)

    def create(self) -> None:
        self.count += 1
        name = f"{self.dice.choice(('', 'a/', 'b/c/'))}file-{self.count}.{self.dice.choice(('txt', 'md', 'html', 'bin'))}"
        self.share.write(name, self.content())

    def content(self) -> bytes:
        kind = self.dice.random()
        words = " ".join(self.dice.choice(BIRDS) for _ in range(30))
        if kind < 0.08:
            return b""
        if kind < 0.16:
            return bytes(self.dice.randrange(256) for _ in range(300))
        if kind < 0.24:
            return b"%PDF-1.7 broken " + words.encode()
        if kind < 0.32:
            return " ".join(f"(cid:{self.dice.randrange(99)})" for _ in range(40)).encode()
        return words.encode()

    def paths(self) -> list[Path]:
        return sorted(path for path in self.share.root.rglob("*") if path.is_file())

    def change(self) -> None:
        if paths := self.paths():
            path = self.dice.choice(paths)
            path.write_bytes(self.content())

    def delete(self) -> None:
        if len(paths := self.paths()) > 8:
            self.dice.choice(paths).unlink()

    def copy(self) -> None:
        if paths := self.paths():
            self.count += 1
            shutil.copy(self.dice.choice(paths), self.share.root / f"copy-{self.count}.txt")

    def rename_folder(self) -> None:
        folders = sorted(path for path in self.share.root.iterdir() if path.is_dir())
        if folders:
            self.count += 1
            self.dice.choice(folders).rename(self.share.root / f"folder-{self.count}")

    def scan(self) -> None:
        self.share.scan(code=None)

    def killed_scan(self) -> None:
        argv = command("scan", "--db", self.share.db, self.share.root)
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.dice.uniform(0.3, 1.6))
        process.send_signal(signal.SIGKILL)
        process.wait()

    def scan_of_an_empty_mount(self) -> None:
        away = self.share.root.with_name("away")
        self.share.root.rename(away)
        self.share.root.mkdir()
        self.share.scan(code=None)
        self.share.root.rmdir()
        away.rename(self.share.root)

    def decide(self) -> None:
        if self.share.db.exists():
            waiting = self.share.ask("review", "list", code=None)
            if waiting:
                decision = self.dice.choice(("accept", "keep", "reject"))
                self.share.ask("review", decision, self.dice.choice(waiting)["digest"], code=None)

    def assert_promise(self) -> None:
        """Once things are quiet: nothing missing, nothing extra, nothing twice."""
        self.share.scan(code=None)
        self.share.run("roots", "release", "--db", self.share.db, "--yes", self.share.root, code=None)
        done = self.share.scan(code=None)
        assert done["files"]["pending"] == done["files"]["gone"] == 0, self.log
        assert_sound(self.share.db)
        assert_accounted(self.share)
        with sqlite3.connect(self.share.db) as db:
            catalogue = dict(db.execute("SELECT label, digest FROM files WHERE state <> 'gone'"))
            ordinals = "SELECT document_id, ordinal FROM passages UNION ALL SELECT document_id, ordinal FROM withheld"
            passages = db.execute(
                f"SELECT (SELECT count(*) FROM ({ordinals})), count(*) FROM (SELECT DISTINCT * FROM ({ordinals}))"
            )
            passages = passages.fetchone()
            searchable = db.execute(
                "SELECT (SELECT count(*) FROM passages), (SELECT count(*) FROM passages_fts_docsize)"
            ).fetchone()
        disk = {os.path.relpath(path, self.share.root): hashlib.sha256(path.read_bytes()).hexdigest() for path in self.paths()}
        assert catalogue == disk, self.log
        assert passages[0] == passages[1], self.log
        assert searchable[0] == searchable[1], self.log
        before = self.share.rows("roots")
        assert self.share.scan(code=None)["read"] == 0, self.log
        assert self.share.rows("roots") == before, self.log


DEEDS = [
    *(Life.create, Life.create, Life.change, Life.change, Life.delete, Life.copy, Life.rename_folder),
    *(Life.scan, Life.killed_scan, Life.killed_scan, Life.scan_of_an_empty_mount, Life.decide),
]
