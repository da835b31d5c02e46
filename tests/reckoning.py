"""What must hold once it is quiet after a life of the service (see `ordeal`), all of it seen from outside."""

import hashlib
import json
import os
import sqlite3
import stat
import time
from pathlib import Path

from served import Service
from shares import assert_sound

LOOKS = 4
Found = dict[tuple[int, bytes], str | None]
"""Paths, each with the number of its folder, and the digest of their bytes; None where they are never read."""


def assert_promise(service: Service, places: list[Path]) -> None:
    """The whole promise. The service runs before and has stopped afterwards.

    By itself, without any scan, the service comes to know all that is on the disk. After a scan and the release of what is
    held: (a) one row for each file, with the digest of its bytes, (b) no other row, (c) no claim, (d) a sound index and an
    account that adds up, (e) no process or file left after the stop, (f) one more scan writes nothing, and (g) the export
    is that of a scan into an empty database.
    """
    service.wait_for(lambda: _knows_the_disk(service, places), "the service comes to know the disk by itself")
    scan_until_certain(service)
    for place in places:
        service.run("roots", "release", "--yes", place)
    scan_until_certain(service)
    _assert_quiet(service)
    _assert_account(service, places)
    service.stop()
    _assert_nothing_left(service)
    assert_sound(service.db)
    _assert_a_scan_writes_nothing(service)
    _assert_equal_to_a_fresh_catalogue(service)


def disk(places: list[Path]) -> Found:
    """What lies on the disk."""
    found: Found = {}
    for number, place in enumerate(places):
        for top, folders, files in os.walk(os.fsencode(place)):
            links = [name for name in folders if os.path.islink(os.path.join(top, name))]
            folders[:] = [name for name in folders if name != b".git"]
            for name in (*files, *links):
                path = os.path.join(top, name)
                found[number, os.path.relpath(path, os.fsencode(place))] = _digest(path)
    return found


def catalogue(service: Service, places: list[Path]) -> Found:
    """What the catalogue holds, but for what is held."""
    numbers = {os.fsencode(place): number for number, place in enumerate(places)}
    rows = service.rows(
        "SELECT roots.path, directory, name, digest FROM files JOIN roots ON roots.id = root_id WHERE files.state <> 'gone'"
    )
    return {
        (numbers[os.fsencode(root)], os.path.join(os.fsencode(directory), os.fsencode(name))): digest
        for root, directory, name, digest in rows
    }


def difference(one: dict, other: dict) -> str:
    """The first few things in which two mappings differ."""
    keys = [key for key in {**one, **other} if one.get(key, "absent") != other.get(key, "absent")]
    shown = [f"{key}:\n  {str(one.get(key, 'absent'))[:1500]}\n  {str(other.get(key, 'absent'))[:1500]}" for key in keys[:6]]
    return "\n".join((f"{len(keys)} differ", *shown))


def scan_until_certain(service: Service) -> None:
    """Until no file was read so soon after it was written that it has to be hashed once more, and none waits for its time."""
    restless = "SELECT label, state, reason, racy FROM files WHERE racy OR state = 'pending'"
    for _ in range(20):
        service.run("scan", "--json", code=None)
        if not service.rows(restless):
            return
        time.sleep(2)
    raise AssertionError(service.rows(restless))


def _knows_the_disk(service: Service, places: list[Path]) -> bool:
    """Whether nothing waits, not even for its time, and the catalogue says what the disk says."""
    waiting = service.rows("SELECT count(*) FROM files WHERE state = 'pending'")
    return waiting == [(0,)] and catalogue(service, places) == disk(places)


def _assert_quiet(service: Service) -> None:
    before = _tables(service, "roots", "service", "requests")
    for _ in range(LOOKS):
        time.sleep(0.5)
        now = _tables(service, "roots", "service", "requests")
        assert now == before, difference(before, now)


def _assert_account(service: Service, places: list[Path]) -> None:
    on_disk, known, status = disk(places), catalogue(service, places), service.ask("status")
    assert known == on_disk, difference(known, on_disk)
    assert status["files"]["gone"] == status["files"]["pending"] == 0, status["files"]
    assert sum(status["files"].values()) == len(on_disk), status["files"]
    assert status["service"]["running"]
    assert status["degraded"] == [], status["degraded"]
    for number, root in enumerate(sorted(status["roots"], key=lambda root: root["path"])):
        assert root["state"] == "online", root
        assert root["walked_files"] == sum(key[0] == number for key in on_disk), root
    assert service.rows("SELECT * FROM claims") == []
    passages = "SELECT document_id, ordinal FROM passages UNION ALL SELECT document_id, ordinal FROM withheld"
    assert service.rows(f"SELECT document_id, ordinal, count(*) AS c FROM ({passages}) GROUP BY 1, 2 HAVING c > 1") == []
    assert service.rows("SELECT (SELECT count(*) FROM passages) - (SELECT count(*) FROM passages_fts_docsize)") == [(0,)]


def _assert_nothing_left(service: Service) -> None:
    service.wait_for(lambda: not service.descendants(), "no process outlives the service")
    left = [path.name for path in service.db.parent.iterdir() if path.name.endswith((".watch", "-wal"))]
    assert left == []
    assert service.kills or list(service.scratch.iterdir()) == []  # one that is killed cannot clear up its socket


def _assert_a_scan_writes_nothing(service: Service) -> None:
    before = _tables(service, "roots")
    assert service.ask("scan")["read"] == 0
    now = _tables(service, "roots")
    assert now == before, difference(before, now)


def _assert_equal_to_a_fresh_catalogue(service: Service) -> None:
    fresh = service.db.with_name("fresh.db")
    service.run("scan", "--db", fresh, code=None)
    kept, made = _export(service, service.db), _export(service, fresh)
    assert kept == made, difference(kept, made)
    kept, made = _states(service.db), _states(fresh)
    assert kept == made, difference(kept, made)


def _export(service: Service, db: Path) -> dict[tuple, dict]:
    found = {}
    for line in service.run("export", "--db", db).stdout.splitlines():
        record = json.loads(line)
        record["paths"].sort()
        found[record["paths"][0], record["format"]] = record
    return found


def _states(db: Path) -> dict[tuple, tuple]:
    sql = (
        "SELECT roots.path, directory, name, files.state, format, CASE WHEN files.state = 'skipped' THEN reason END "
        "FROM files JOIN roots ON roots.id = root_id"
    )
    with sqlite3.connect(db) as connection:
        return {row[:3]: row[3:] for row in connection.execute(sql)}


def _tables(service: Service, *but: str) -> dict[str, list[tuple]]:
    names = service.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%_fts_%'")
    return {name: service.rows(f"SELECT * FROM {name}") for (name,) in names if name not in but}


def _digest(path: bytes) -> str | None:
    if not stat.S_ISREG(os.lstat(path).st_mode) or path.endswith(b".tmp"):
        return None
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
