"""What becomes of files that misbehave while they are read, and of the files beside them."""

import errno
import sqlite3
import time

import pytest

import fakes
from winnowd import daemon, store, worker
from winnowd.config import Config, LimitSettings, PoolSettings


@pytest.fixture
def scan(share, monkeypatch):
    """One scan inside this process, whose children know the format that misbehaves."""
    monkeypatch.setattr(worker, "serve", fakes.serve_mock)

    def scan(**limits):
        time.sleep(0.03)  # let the clock of the file system tick: a file read in its own tick is hashed again
        config = Config(limits=LimitSettings(**limits), pool=PoolSettings(workers=2))
        with store.lock(share.db):
            db = store.open_writer(share.db)
            try:
                return daemon.scan(db, [str(share.root)], config, lambda _: None)
            finally:
                db.close()

    return scan


def row(share, name):
    with sqlite3.connect(share.db) as db:
        db.row_factory = sqlite3.Row
        return dict(db.execute("SELECT * FROM files WHERE label = ?", (name,)).fetchone())


def test_a_file_that_ends_its_child_is_tried_three_times_and_then_left_alone(share, scan):
    share.write("bad.mock", "mock: segfault")
    share.write("good.txt", "A good file about the whimbrel.")
    scan()
    bad = row(share, "bad.mock")
    assert (bad["state"], bad["reason"], bad["attempts"]) == ("failed", "crashed", 3)
    assert share.found("whimbrel") == {"good.txt"}
    assert scan().read == 0


def test_a_file_that_never_ends_is_ended(share, scan):
    share.write("bad.mock", "mock: hang")
    share.write("good.txt", "A good file about the whimbrel.")
    scan(idle_seconds=4)
    assert row(share, "bad.mock")["reason"] == "timed_out"
    assert share.found("whimbrel") == {"good.txt"}


def test_a_file_that_needs_too_much_memory_says_so(share, scan):
    share.write("bad.mock", "mock: memory")
    scan()
    bad = row(share, "bad.mock")
    assert (bad["state"], bad["reason"], bad["attempts"]) == ("failed", "out_of_memory", 3)
    assert "limits.memory_mb" in bad["message"]


def test_what_no_further_try_would_mend_fails_at_once(share, scan):
    share.write("bad.mock", "mock: encrypted")
    scan()
    bad = row(share, "bad.mock")
    assert (bad["state"], bad["reason"], bad["attempts"]) == ("failed", "encrypted", 1)


def test_a_fault_of_winnow_itself_is_stored_with_its_traceback(share, scan):
    share.write("bad.mock", "mock: raise oh dear")
    scan()
    assert row(share, "bad.mock")["reason"] == "internal"
    with sqlite3.connect(share.db) as db:
        assert "oh dear" in db.execute("SELECT detail FROM failures").fetchone()[0]


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_trouble_with_the_disk_waits_and_uses_up_no_attempt(share, scan, code):
    share.write("bad.mock", f"mock: read_error {code}")
    scan()
    bad = row(share, "bad.mock")
    assert (bad["state"], bad["reason"], bad["attempts"], bad["waits"]) == ("pending", "unreadable", 0, 1)
    assert scan().read == 0, "its time has not come"
    with sqlite3.connect(share.db) as db:
        db.execute("UPDATE files SET next_attempt = '2000-01-01T00:00:00Z'")
    assert scan().read == 1
    assert row(share, "bad.mock")["waits"] == 2


def test_a_file_that_changes_while_it_is_read_is_not_stored(share, scan):
    path = share.write("moving.mock", "placeholder")
    share.write("moving.mock", f"mock: append {path}\nThe heron moves.")
    scan()
    assert row(share, "moving.mock")["reason"] == "moved"
    assert row(share, "moving.mock")["state"] == "pending"
    assert share.found("heron") == set()


def test_a_copy_of_a_file_that_failed_is_not_tried_again(share, scan):
    share.write("bad.mock", "mock: segfault")
    scan()
    share.write("copy.mock", "mock: segfault")
    done = scan()
    assert (done.read, done.failed) == (1, 0)
    copy = row(share, "copy.mock")
    assert (copy["state"], copy["reason"], copy["attempts"]) == ("failed", "crashed", 3)


def test_copies_that_are_found_together_are_read_once(share, scan):
    for number in range(9):
        share.write(f"copy-{number}.txt", "The same text about the wigeon in every copy.")
    done = scan()
    assert (done.extracted, done.linked) == (1, 8)
    assert len(share.found("wigeon")) == 9


def test_copies_of_a_file_that_fails_all_fail(share, scan):
    for number in range(5):
        share.write(f"copy-{number}.mock", "mock: encrypted")
    scan()
    assert set(share.states().values()) == {"failed"}


def test_a_failed_file_is_tried_again_under_another_recipe(share, scan):
    share.write("bad.pdf", b"%PDF-1.4 broken")
    scan()
    assert scan().read == 0
    with sqlite3.connect(share.db) as db:
        db.execute("UPDATE failures SET recipe = 'an older one'")
    assert scan().read == 1
    assert scan().read == 0


def test_a_failed_file_is_tried_again_when_a_person_asks(share, scan):
    path = share.write("bad.pdf", b"%PDF-1.4 broken")
    scan()
    assert share.ask("failed", "list")[0]["attempts"] == 1
    assert share.ask("failed", "retry", path)["retried"] == 1
    assert share.ask("why", path)["state"] == "pending"
    assert scan().read == 1


def test_a_document_of_an_older_recipe_is_read_again_and_keeps_its_id(share, scan):
    share.write("a.txt", "A note about the redshank.")
    scan()
    with sqlite3.connect(share.db) as db:
        before = db.execute("SELECT id FROM documents").fetchall()
        db.execute("UPDATE documents SET recipe = 'an older one'")
    assert share.ask("status")["stale"] == 1
    assert scan().extracted == 1
    with sqlite3.connect(share.db) as db:
        assert db.execute("SELECT id FROM documents").fetchall() == before
    assert share.ask("status")["stale"] == 0
    assert share.found("redshank") == {"a.txt"}


def test_a_file_that_ends_the_program_itself_is_found_out_and_its_neighbours_are_not_blamed(share, scan):
    for name in ("a.txt", "b.txt", "poison.txt"):
        share.write(name, f"A note about {name}.")
    scan()
    with sqlite3.connect(share.db) as db:
        db.execute("UPDATE files SET state = 'pending'")
        db.execute("INSERT INTO claims (file_id, boot) SELECT id, 'ended' FROM files")
    with sqlite3.connect(share.db) as db:
        db.row_factory = sqlite3.Row
        for _ in range(3):  # three times the program ends while it reads this file alone
            with store.transaction(db):
                store.queue.recover(db)
            with store.transaction(db):
                db.execute("UPDATE claims SET suspect = 0 WHERE file_id = (SELECT id FROM files WHERE name = 'poison.txt')")
    scan()
    assert share.states() == {"a.txt": "indexed", "b.txt": "indexed", "poison.txt": "failed"}
    assert row(share, "poison.txt")["reason"] == "crashed"
    assert row(share, "a.txt")["attempts"] == 0


def test_a_file_beyond_the_size_limit_is_failed_without_being_hashed(share, scan):
    path = share.write("big.txt", "x")
    with path.open("r+b") as file:
        file.truncate(3 << 20)
    scan(file_mb=2)
    big = row(share, "big.txt")
    assert (big["state"], big["reason"], big["digest"]) == ("failed", "too_large", None)
    assert scan(file_mb=2).read == 0
    assert scan(file_mb=4).read == 1  # the limit was raised: it is tried again by itself


def test_a_failed_file_is_tried_again_within_other_limits(share, scan):
    share.write("bad.pdf", b"%PDF-1.4 broken")
    scan(memory_mb=1024)
    assert scan(memory_mb=1024).read == 0
    assert scan(memory_mb=1025).read == 1


def test_copies_of_a_poisonous_content_share_their_attempts(share, scan):
    log = share.root.with_name("readings")
    for number in range(6):
        share.write(f"copy-{number}.mock", f"mock: log_and_die {log}")
    scan()
    assert set(share.states().values()) == {"failed"}
    assert len(log.read_text()) == 3


def test_copies_of_a_file_that_moves_while_it_is_read_are_not_forgotten(share, scan):
    path = share.write("a.mock", "placeholder")
    for name in ("a.mock", "b.mock", "c.mock"):
        share.write(name, f"mock: append {path}\nThe heron moves.")
    scan()
    with sqlite3.connect(share.db) as db:
        assert db.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        db.execute("UPDATE files SET next_attempt = '2000-01-01T00:00:00Z' WHERE state = 'pending'")
    path.unlink()
    share.scan(code=None)
    assert share.states() == {"b.mock": "indexed", "c.mock": "indexed"}


def test_retrying_one_failed_copy_retries_all_of_them(share, scan):
    paths = [share.write(f"copy-{number}.pdf", b"%PDF-1.4 broken") for number in range(3)]
    scan()
    share.ask("failed", "retry", paths[0])
    assert set(share.states().values()) == {"pending"}
    share.scan(code=3)


def test_a_stale_document_that_cannot_be_read_any_more_ends_in_a_final_state(share, scan):
    share.write("a.mock", "mock: segfault")
    share.write("a.txt", "A note about the redshank.")
    scan()
    with sqlite3.connect(share.db) as db:
        db.execute("UPDATE documents SET recipe = 'an older one'")
    (share.root / "a.txt").write_text("mock: segfault ")
    with sqlite3.connect(share.db) as db:  # as if the walk had not seen the change
        stat = (share.root / "a.txt").stat()
        db.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ? WHERE name = 'a.txt'",
            (15, stat.st_mtime_ns, stat.st_ctime_ns),
        )
    scan()
    assert share.states()["a.txt"] == "failed"


def test_an_outcome_that_breaks_a_rule_of_the_tables_costs_its_own_file(share, scan):
    share.write("bad.mock", "mock: same_page_twice")
    share.write("good.txt", "A good file about the whimbrel.")
    scan()
    assert share.states() == {"bad.mock": "failed", "good.txt": "indexed"}
    assert row(share, "bad.mock")["reason"] == "internal"


def test_a_child_cannot_pass_one_content_off_as_another(share, scan):
    victim = share.write("victim.txt", "The true text about the kestrel.")
    scan()
    share.write("forged.mock", f"mock: forge {row(share, 'victim.txt')['digest']}\nA forged text about the vulture.")
    scan()
    assert share.found("kestrel") == {victim.name}
    assert share.found("vulture") == set()
    assert row(share, "forged.mock")["reason"] == "internal"


def test_a_file_that_grew_beyond_the_limit_keeps_no_digest_of_what_it_was(share, scan):
    path = share.write("a.txt", "small")
    scan()
    with path.open("r+b") as file:
        file.truncate(3 << 20)
    scan(file_mb=2)
    assert row(share, "a.txt")["digest"] is None
    assert share.found("small") == set()
    assert scan(file_mb=2).read == 0
