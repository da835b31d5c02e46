"""What the service does when the disk of its database is full, others hold it, or it is damaged or of another age."""

import gc
import os
import random
import resource
import shutil
import sqlite3
import subprocess
from contextlib import closing, suppress

import pytest
from sqlite_utils import Database

from running import Service, eventually
from shares import assert_sound
from winnowd import daemon, drain, store
from winnowd.config import Config, PoolSettings
from winnowd.store import index, requests
from winnowd.store.schema import migrations

INDEXED = "SELECT count(*) AS n FROM files WHERE state = 'indexed'"


@pytest.fixture
def service(share):
    with Service(share) as service:
        yield service


def fill(share, count, start=0, words=1):
    for number in range(start, start + count):
        share.write(f"dir/note-{number}.txt", f"Note number {number} about the wader. " + f"word{number} " * words)


def change(share, sql, *values):
    with closing(sqlite3.connect(share.db)) as db:
        db.execute(sql, values)
        db.commit()


def documents(share):
    with closing(sqlite3.connect(share.db)) as db:
        return {digest for (digest,) in db.execute("SELECT digest FROM documents")}


def assert_whole(share):
    """What a kill may leave: nothing but claims."""
    with closing(sqlite3.connect(share.db)) as db:
        for table in ("passages_fts", "documents_fts", "files_fts"):
            db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        half = "SELECT count(*) FROM files WHERE state = 'indexed' AND document_id NOT IN (SELECT document_id FROM passages)"
        assert db.execute(half).fetchone() == (0,)


# ---- the end at any moment


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_seen_to_be_stored_outlives_a_kill_at_any_moment(share, service, seed):
    dice = random.Random(seed)
    stored: set[str] = set()
    for turn in range(5):
        fill(share, 15, start=15 * turn)
        service.start()
        least = min(dice.randrange(16) + len(stored), 15 * turn + 15)
        service.wait(lambda least=least: service.one(INDEXED)["n"] >= least)
        stored |= documents(share)
        service.kill()
        assert_whole(share)
        assert stored <= documents(share)
    service.start()
    service.wait(lambda: service.one(INDEXED)["n"] == 75)
    assert len(share.found("wader")) == 75


class Failing(sqlite3.Connection):
    """A connection whose disk fails at one of its writes and stays so, until it is rolled back and closed."""

    left = 10**9

    def execute(self, sql, *values):
        if sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE", "COMMIT")):
            self._count()
        return super().execute(sql, *values)

    def executemany(self, sql, rows):
        self._count()
        return super().executemany(sql, rows)

    def _count(self):
        Failing.left -= 1
        if Failing.left < 0:
            raise sqlite3.OperationalError("disk I/O error")


def test_whichever_write_fails_each_document_is_stored_wholly_or_not_at_all(share, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(store.sqlite3, "connect", lambda *args, **named: connect(*args, **named, factory=Failing))
    share.write("a.txt", "A note about the avocet, which is on the disk from the beginning.")
    config = Config(pool=PoolSettings(workers=1))
    with drain.children(config) as pool, store.lock(share.db):
        for number in range(1, 400, 9):
            share.write(f"{number % 3}.txt", f"Note number {number} about the wader.")
            Failing.left = number
            db = None
            with suppress(sqlite3.OperationalError, store.StoreError):
                db = store.open_writer(share.db)
                daemon.scan(db, [str(share.root)], config, lambda _: None, pool=pool)
            ended, Failing.left = Failing.left >= 0, 10**9
            if db is not None:
                db.close()
                assert_whole_if_made(share)
            _let_go(pool)
            if ended:
                break
    assert ended, "the scan ended at last"
    with store.lock(share.db), closing(store.open_writer(share.db)) as db:
        daemon.scan(db, [str(share.root)], config, lambda _: None)
    assert set(share.states().values()) == {"indexed"}


def assert_whole_if_made(share):
    with closing(sqlite3.connect(share.db)) as db:
        made = db.execute("PRAGMA user_version").fetchone() == (store.SCHEMA_VERSION,)
    if made:
        assert_whole(share)


def _let_go(pool):
    for child in list(pool._children):
        if child.job is not None:
            pool.cancel(child.job)


# ---- a full disk


def limit_files(service, size):
    """Let the service write files up to this size only; None for any."""
    unlimited = resource.RLIM_INFINITY
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (unlimited if size is None else size, unlimited))


def assert_paused_and_going_on(share, service, fill_up, make_room):
    """The disk is full for a while: searching goes on, nothing is blamed, and everything is read later, all by itself."""
    fill(share, 3)
    service.start(misbehaving=True, watchdog=2.0)
    service.wait(lambda: service.one(INDEXED) == {"n": 3})
    fill_up()
    fill(share, 5, start=3, words=2000)
    service.wait(lambda: any("the database cannot be written" in status for status in service.statuses()))
    assert len(share.found("wader")) == 3
    pings = service.heard.count("WATCHDOG=1")
    service.wait(lambda: service.heard.count("WATCHDOG=1") > pings + 5)
    make_room()
    service.wait(lambda: service.one(INDEXED) == {"n": 8})
    assert service.one("SELECT sum(attempts) AS n FROM files") == {"n": 0}
    service.wait(lambda: service.one("SELECT state FROM service") == {"state": "running"})
    service.wait(lambda: "cannot be written" not in service.statuses()[-1])


def test_a_disk_that_refuses_writes_pauses_the_service_until_it_takes_them_again(share, service):
    assert_paused_and_going_on(share, service, lambda: limit_files(service, 4096), lambda: limit_files(service, None))
    assert service.logged().count("cannot be written") == 1, "one line, however long it lasts"


@pytest.fixture
def small_disk(share):
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "winnow", share.db.parent], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip("needs the right to mount a file system")
    yield share.db.parent
    shutil.copytree(share.db.parent, share.db.parent.with_name("kept"))
    subprocess.run(["umount", "-l", share.db.parent], check=True)
    share.db.parent.rmdir()
    share.db.parent.with_name("kept").rename(share.db.parent)


def test_a_full_disk_pauses_the_service_until_there_is_room(share, small_disk, service):
    filler = small_disk / "filler"

    def fill_up():
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    assert_paused_and_going_on(share, service, fill_up, filler.unlink)
    service.stop()


def test_asked_to_stop_while_nothing_can_be_written_it_stops(share, service):
    fill(share, 3)
    service.start(misbehaving=True)
    service.wait(lambda: service.one(INDEXED) == {"n": 3})
    limit_files(service, 4096)
    fill(share, 5, start=3)
    service.wait(lambda: any("the database cannot be written" in status for status in service.statuses()))
    assert service.stop() == 0
    service.start()
    service.wait(lambda: service.one(INDEXED) == {"n": 8})


def test_with_too_little_room_nothing_is_read_and_status_says_so(share, service):
    service.configure(database={"free_mb": 1 << 40})
    fill(share, 3)
    service.start()
    service.wait(lambda: service.one("SELECT state FROM service") == {"state": "paused"})
    service.wait(lambda: len(share.states()) == 3)
    (trouble,) = share.ask("status", code=3)["degraded"]
    assert "MB are free on the disk of the database" in trouble
    assert set(share.states().values()) == {"pending"}
    service.configure()
    service.process.send_signal(1)
    service.wait(lambda: service.one(INDEXED) == {"n": 3})
    service.wait(lambda: service.one("SELECT state FROM service") == {"state": "running"})
    assert share.ask("status")["degraded"] == []


# ---- others who hold the database


def test_another_program_that_holds_the_database_is_waited_for(share, service):
    service.start(misbehaving=True)
    with closing(sqlite3.connect(share.db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        fill(share, 3)
        service.wait(lambda: any("the database cannot be written" in status for status in service.statuses()))
        other.execute("ROLLBACK")
    service.wait(lambda: service.one(INDEXED) == {"n": 3})
    assert service.one("SELECT sum(attempts) AS n FROM files") == {"n": 0}


def test_a_database_that_is_held_while_the_service_begins_anew_is_waited_for(share, service):
    service.start(misbehaving=True, watchdog=2.0)
    with closing(sqlite3.connect(share.db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        service.process.send_signal(1)
        service.wait(lambda: any("the database cannot be written" in status for status in service.statuses()))
        service.wait(lambda: sum("READY=1" in message for message in service.heard) > 2)
        other.execute("ROLLBACK")
    fill(share, 3)
    service.wait(lambda: service.one(INDEXED) == {"n": 3})


def test_askers_never_meet_a_database_that_is_locked(share, service):
    """Whoever writes begins as a writer: a reader that became one would fail at once where another wrote meanwhile."""
    fill(share, 200)
    service.start()
    for _ in range(60):
        with closing(store.open_asker(share.db)) as db:
            requests.ask(db, "retry files", {"files": []}, "somebody")
    service.wait(lambda: service.one("SELECT count(answer) AS n FROM requests") == {"n": 60})
    service.wait(lambda: service.one(INDEXED) == {"n": 200})


def test_a_long_reader_is_reported_and_its_log_is_cut_when_it_has_gone(share, service):
    service.configure(database={"wal_mb": 1})
    service.start()
    with closing(sqlite3.connect(share.db, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM files").fetchone()
        fill(share, 60, words=8000)
        service.wait(lambda: service.one(INDEXED) == {"n": 60})
        done = share.run("--config", service.config, "status", code=3)
        assert "a reader holds it open" in done.stderr
    wal = share.db.with_name("winnow.db-wal")
    service.wait(lambda: wal.stat().st_size < 1 << 20)
    share.run("--config", service.config, "status")


# ---- damage


def unindex(share):
    """Let the index and the passages differ, as a fault or a foreign program might."""
    change(share, "UPDATE passages SET text = 'Now it is about the phalarope.'")


def test_an_index_that_says_something_else_than_the_text_is_found_and_made_anew(share):
    share.write("a.txt", "A note about the avocet.")
    share.scan()
    unindex(share)
    with store.lock(share.db), closing(store.open_writer(share.db)) as db:
        with pytest.raises(sqlite3.DatabaseError):
            index.check(db)
        assert index.repair(db)
        assert not index.repair(db)
    assert share.found("phalarope") == {"a.txt"}
    assert share.found("avocet") == set()


def test_the_service_finds_and_mends_an_index_by_itself(share, service):
    share.write("a.txt", "A note about the avocet.")
    service.start(misbehaving=True)
    service.wait_for(a_txt="indexed")
    unindex(share)
    service.wait(lambda: "it was made anew" in service.logged())
    assert share.found("phalarope") == {"a.txt"}


def test_an_index_that_stands_in_the_way_of_a_write_is_made_anew_and_the_write_follows(share, service):
    path = share.write("a.txt", "A note about the avocet.")
    service.start(misbehaving=True)
    service.wait_for(a_txt="indexed")
    service.stop()
    change(share, "UPDATE passages_fts_data SET block = x'00' WHERE id = 1")  # its totals
    service.start()
    path.unlink()
    service.wait(lambda: "it was made anew" in service.logged())
    service.wait(lambda: share.states() == {})


def damage(path, first, last):
    with path.open("r+b") as file:
        file.seek(first)
        file.write(os.urandom(last - first))


def test_what_is_no_database_any_more_is_refused_with_one_line(share, service):
    fill(share, 3)
    share.scan()
    damage(share.db, 0, 8192)
    done = share.run("run", "--config", service.config, code=1)
    assert len(done.stderr.splitlines()) == 1
    assert "docs/operations.md" in done.stderr
    share.db.unlink()


def test_a_damaged_database_ends_the_service_with_one_line_that_says_what_to_do(share, service):
    fill(share, 60, words=300)
    share.scan()
    damage(share.db, 4 * 8192, share.db.stat().st_size)
    service.start(ready=False)
    assert eventually(lambda: service.process.poll() is not None)
    assert service.process.returncode == 1
    last = service.logged().splitlines()[-1]
    assert "is damaged" in last and "docs/operations.md" in last
    for name in ("winnow.db", "winnow.db-wal", "winnow.db-shm"):
        share.db.with_name(name).unlink(missing_ok=True)
    service.start()
    service.wait(lambda: service.one(INDEXED) == {"n": 60})


def test_the_decisions_of_a_damaged_database_are_brought_over_as_the_documents_say(share, service):
    share.write("good.txt", "A note about the avocet.")
    share.scan()
    share.ask("review", "reject", share.root / "good.txt")
    damaged, none = share.db.with_name("damaged.db"), share.db.with_name("none")
    share.db.rename(damaged)
    none.mkdir()
    share.scan(none)
    share.ask("roots", "forget", none)
    none.rmdir()
    with closing(sqlite3.connect(share.db)) as db:
        db.execute("ATTACH ? AS old", (str(damaged),))
        db.execute("INSERT INTO reviews SELECT * FROM old.reviews")
        db.commit()
    service.start()
    service.wait_for(good_txt="rejected")


def test_a_database_that_was_deleted_ends_the_service_and_the_next_one_makes_it_anew(share, service):
    fill(share, 3)
    service.start(misbehaving=True)
    service.wait(lambda: service.one(INDEXED) == {"n": 3})
    for name in ("winnow.db", "winnow.db-wal", "winnow.db-shm"):
        share.db.with_name(name).unlink(missing_ok=True)
    assert eventually(lambda: service.process.poll() is not None)
    assert service.process.returncode == 1
    assert "is not there any more" in service.logged()
    service.start()
    service.wait(lambda: service.one(INDEXED) == {"n": 3})


def test_a_log_of_the_database_that_was_lost_costs_a_reading_and_no_more(share, service):
    fill(share, 3)
    service.start()
    service.wait(lambda: service.one(INDEXED) == {"n": 3})
    service.kill()
    for name in ("winnow.db-wal", "winnow.db-shm"):
        share.db.with_name(name).unlink(missing_ok=True)
    service.start()
    service.wait(lambda: service.one(INDEXED) == {"n": 3})


# ---- ages


def test_a_database_of_a_newer_winnow_is_refused_and_left_as_it_is(share, service):
    fill(share, 3)
    share.scan()
    change(share, "PRAGMA user_version = 99")
    before = share.db.read_bytes()
    done = share.run("run", "--config", service.config, code=1)
    assert "newer Winnow" in done.stderr
    assert share.db.read_bytes() == before
    change(share, f"PRAGMA user_version = {store.SCHEMA_VERSION}")


def of_version_1(path):
    """A database as the first Winnow made it, with a folder in it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        migrations.apply(Database(db), stop_before="the_service")
        db.execute("PRAGMA user_version = 1")
        db.execute(
            "INSERT INTO roots (path, origin, state, watch, watch_reason) VALUES ('/old', 'scan', 'online', 'rescan', '')"
        )
        db.execute("COMMIT")


def test_a_database_of_the_first_version_is_brought_up_to_date_at_the_start(share, service):
    of_version_1(share.db)
    fill(share, 3)
    service.start()
    service.wait(lambda: service.one(INDEXED) == {"n": 3})
    assert service.one("PRAGMA user_version") == {"user_version": store.SCHEMA_VERSION}
    assert service.one("SELECT overflows FROM roots WHERE path = '/old'") == {"overflows": 0}
    share.accounted = False  # /old is not there


def test_a_migration_that_was_cut_off_anywhere_is_done_again(share, monkeypatch):
    of_version_1(share.db)
    connect = sqlite3.connect
    steps = 0

    class CutOff(sqlite3.Connection):
        def execute(self, sql, *values):
            nonlocal steps
            if not sql.upper().startswith(("ROLLBACK", "PRAGMA FOREIGN", "SELECT")):
                steps -= 1
                if steps < 0:
                    raise KeyboardInterrupt
            return super().execute(sql, *values)

    monkeypatch.setattr(store.sqlite3, "connect", lambda *args, **named: connect(*args, **named, factory=CutOff))
    done, number = False, 0
    while not done:
        steps = number = number + 1
        with suppress(KeyboardInterrupt):
            store.open_writer(share.db).close()
            done = True
        gc.collect()  # closes the connection
        with closing(connect(share.db)) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (store.SCHEMA_VERSION if done else 1,)
            assert db.execute("SELECT count(*) FROM roots").fetchone() == (1,)
    assert number > 8
    steps = 10**9
    assert_sound(share.db)
    share.accounted = False
