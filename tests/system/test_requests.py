"""What commands ask of the running service: carried out by its loop, answered, and the same as without it."""

import contextlib
import json
import os
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from running import Service
from shares import Share, command
from winnowd import store
from winnowd.store import requests

GLYPHS = " ".join(f"(cid:{number})" for number in range(60))


@pytest.fixture
def service(share):
    with Service(share) as service:
        yield service


@pytest.fixture
def running(share, service):
    """The service with a good text, a bad one and a broken file."""
    share.write("good.txt", "A good page about the godwit, written in plain words that everybody can read.")
    share.write("bad.txt", f"{GLYPHS} garganey")
    share.write("broken.pdf", b"%PDF-1.4 broken")
    service.start()
    service.wait_for(good_txt="indexed", bad_txt="review", broken_pdf="failed")
    return service


def ask(share, verb, argument):
    """A row in `requests`, as a command writes it; its id."""
    with closing(store.open_asker(share.db)) as db:
        return requests.ask(db, verb, argument, "somebody")


def answer(service, asked):
    found = service.one("SELECT answer FROM requests WHERE id = ? AND answered_at IS NOT NULL", asked)
    return json.loads(found["answer"]) if found else None


def test_decisions_are_carried_out_by_the_service(share, running):
    assert share.ask("review", "accept", share.root / "bad.txt") == {"decision": "accept", "documents": 1}
    assert share.found("garganey") == {"bad.txt"}
    assert share.ask("review", "reject", "--note", "wrong", share.root / "good.txt") == {"decision": "reject", "documents": 1}
    assert share.found("godwit") == set()
    assert share.ask("review", "keep", share.root / "good.txt") == {"decision": "keep", "documents": 1}
    assert share.found("godwit") == {"good.txt"}
    (verbs,) = running.one("SELECT group_concat(verb) FROM requests WHERE answered_at IS NOT NULL").values()
    assert verbs == "decide,decide,decide", "nobody else wrote them"


def test_a_retry_is_read_again_at_once(share, running):
    sql = "SELECT read FROM service"
    running.wait(lambda: running.one(sql) == {"read": 3})
    assert share.ask("review", "retry", share.root / "bad.txt") == {"retried": 1}
    running.wait(lambda: running.one(sql) == {"read": 4})
    assert "by the running service" in share.run("failed", "retry", "--db", share.db, share.root / "broken.pdf").stdout
    running.wait(lambda: running.one(sql) == {"read": 5})
    running.wait_for(bad_txt="review", broken_pdf="failed")


def test_a_scan_ends_when_the_service_has_read_what_is_new(share, running):
    door = share.root.with_name("late")
    door.mkdir()
    (door / "late.txt").write_text("A note about the eider.")
    done = share.scan(door, code=3)
    assert (done["listed"], done["extracted"]) == (1, 1)
    hits = share.ask("search", "eider")
    assert hits[0]["paths"] == [str(door / "late.txt")]
    assert share.ask("roots", "forget", door) == {"forgotten": 1}
    assert share.ask("search", "eider", code=4) == []


def test_a_scan_through_the_service_says_what_a_scan_without_it_says(share, running):
    with_it = share.scan(code=3)
    running.stop()
    without_it = share.scan(code=3)
    assert with_it.keys() == without_it.keys()
    assert with_it["files"] == without_it["files"]


def test_a_scan_of_a_part_and_of_everything_and_with_verification(share, running):
    share.write("part/new.txt", "A note about the fulmar.")
    share.scan(share.root / "part", code=3)
    assert share.found("fulmar") == {"part/new.txt"}
    assert share.scan("--verify", code=3)["read"] >= 4
    assert share.scan("--verify", share.root / "part", code=3)["read"] == 1


def test_a_scan_of_a_folder_above_a_root_is_refused_as_without_the_service(share, running):
    with_it = share.run("scan", "--db", share.db, share.root.parent, code=2).stderr
    running.stop()
    assert share.run("scan", "--db", share.db, share.root.parent, code=2).stderr == with_it


def test_held_files_are_released_through_the_service(share, service):
    for number in range(30):
        share.write(f"dir/{number}.txt", f"Note number {number} about the bird{number}.")
    service.start()
    service.wait(lambda: service.one("SELECT count(*) AS n FROM files WHERE state = 'indexed'") == {"n": 30})
    os.rename(share.root / "dir", share.root.with_name("away"))
    service.wait(lambda: service.one("SELECT state FROM roots") == {"state": "held"})
    assert share.ask("status", code=3)["degraded"]
    assert share.ask("roots", "release", share.root) == {"released": 30}
    assert share.ask("status")["degraded"] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("review", "accept", "0123456789"), 4),
        (("review", "retry", "/nowhere/at/all"), 4),
        (("failed", "retry", "/nowhere/at/all"), 4),
        (("roots", "forget", "/nowhere/at/all"), 4),
        (("scan", "/nowhere/at/all"), 2),
    ],
)
def test_what_nobody_knows_is_refused_with_the_exit_code_that_it_has_without_the_service(share, running, words, code):
    words = [*words[:2], "--db", share.db, *words[2:]] if words[0] != "scan" else [words[0], "--db", share.db, words[1]]
    with_it = share.run(*words, code=code).stderr
    running.stop()
    assert share.run(*words, code=code).stderr == with_it


NONSENSE = [
    ("fly", {}),
    ("decide", {}),
    ("decide", {"decision": "burn", "documents": [1]}),
    ("decide", {"decision": "accept", "documents": 7}),
    ("decide", {"decision": "accept", "documents": [[], {}, "x", 1e400, 10**30]}),
    ("decide", []),
    ("retry files", {"files": [10**30]}),
    ("retry documents", {"documents": None}),
    ("forget", {"root": "all"}),
    ("forget", {"root": 10**30}),
    ("release", {}),
    ("scan", {}),
    ("scan", {"targets": [1, 2]}),
    ("scan", {"targets": [["relative", ""]]}),
    ("scan", {"targets": [["/nowhere", 5]]}),
    ("scan", 5),
]


def test_requests_that_make_no_sense_are_answered_and_end_nothing(share, running):
    """Whoever may search may write such rows; one that ended the loop would end it again at each start."""
    before = share.rows("requests", "service", "sqlite_sequence")
    asked = [ask(share, *one) for one in NONSENSE]
    with closing(sqlite3.connect(share.db)) as db:
        db.execute("INSERT INTO requests (verb, argument, who, asked_at) VALUES ('decide', 'no JSON', 'x', 'now')")
        db.execute("INSERT INTO requests (verb, argument, who, asked_at) VALUES ('decide', x'ff00', 'x', 'now')")
        db.commit()
    asked += [asked[-1] + 1, asked[-1] + 2]
    for one in asked:
        assert "error" in running.wait(lambda one=one: answer(running, one)), one
    assert share.rows("requests", "service", "sqlite_sequence") == before


def test_what_was_asked_while_no_service_ran_is_carried_out_at_the_next_start(share, running):
    document = running.one("SELECT document_id AS id FROM files WHERE label = 'bad.txt'")["id"]
    running.kill()
    asked = ask(share, "decide", {"decision": "accept", "documents": [document], "note": None})
    scan = ask(share, "scan", {"targets": [], "verify": False})
    running.start()
    assert running.wait(lambda: answer(running, asked)) == {"decision": "accept", "documents": 1}
    assert running.wait(lambda: answer(running, scan))["listed"] >= 3
    assert running.one("SELECT count(*) AS n FROM reviews") == {"n": 1}
    assert share.found("garganey") == {"bad.txt"}


def test_a_command_whose_service_dies_says_so_and_its_scan_is_done_by_the_next(share, service):
    door = share.root.with_name("door")
    door.touch()
    share.write("slow.mock", f"mock: wait {door}\nA note about the gadwall.")
    service.start(misbehaving=True)
    argv = command("scan", "--db", share.db, share.root)
    scan = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    service.wait(lambda: service.one("SELECT count(*) AS n FROM requests") == {"n": 1})
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 1})
    service.kill()
    _, said = scan.communicate(timeout=60)
    assert scan.returncode == 1
    assert "has not answered; it will carry out the request (scan) when it can" in said
    service.start(misbehaving=True)
    assert answer(service, 1) is None
    door.unlink()
    assert service.wait(lambda: answer(service, 1))["files"]["indexed"] == 1


def test_a_scan_outlives_a_reload(share, service):
    door = share.root.with_name("door")
    door.touch()
    share.write("slow.mock", f"mock: wait {door}\nA note about the gadwall.")
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 1})
    asked = ask(share, "scan", {"targets": [], "verify": False})
    service.process.send_signal(1)
    service.wait(lambda: sum("READY=1" in message for message in service.heard) == 2)
    door.unlink()
    assert service.wait(lambda: answer(service, asked))["files"]["indexed"] == 1


def test_a_request_while_stale_documents_are_read_again_starts_nothing_twice(share, service):
    door = share.root.with_name("door")
    for number in range(3):
        share.write(f"{number}.mock", f"mock: wait {door}\nNote number {number} about the heron.")
    service.start(misbehaving=True)
    service.wait(lambda: list(share.states().values()) == ["indexed"] * 3)
    service.stop()
    with closing(sqlite3.connect(share.db)) as db:
        db.execute("UPDATE documents SET recipe = 'an older one'")
        db.commit()
    door.touch()
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 2})
    asked = ask(share, "retry files", {"files": []})
    service.wait(lambda: answer(service, asked))
    time.sleep(1)  # some turns of the loop, in which it must not begin them anew
    door.unlink()
    service.wait(lambda: service.one("SELECT count(*) AS n FROM documents WHERE recipe = 'mock@1'") == {"n": 3})
    assert service.one("SELECT read FROM service")["read"] <= 3


def test_a_copy_that_vanishes_while_the_other_is_read_costs_nothing(share, service):
    door = share.root.with_name("door")
    door.touch()
    text = f"mock: wait {door}\nA note about the ibis."
    first = share.write("first.mock", text)
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 1})
    other = share.root.with_name("other")
    other.mkdir()
    (other / "copy.mock").write_text(text)
    ask(share, "scan", {"targets": [[str(other), ""]], "verify": False})
    service.wait(lambda: "copy.mock" in share.states())
    service.wait(lambda: service.one("SELECT count(*) AS n FROM claims") == {"n": 2})
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 1})
    share.ask("roots", "forget", other)
    door.unlink()
    service.wait_for(first_mock="indexed")
    assert share.found("ibis") == {first.name}


def test_status_knows_a_service_that_runs_stopped_was_killed_or_never_was(share, running):
    said = share.ask("status")
    assert said["service"]["running"] and said["service"]["pid"] == running.pid
    running.stop()
    assert not share.ask("status")["service"]["running"]
    running.start()
    running.wait(lambda: running.one("SELECT state FROM service") == {"state": "running"})
    running.kill()
    (trouble,) = share.ask("status", code=3)["degraded"]
    assert "ended without a word" in trouble
    share.scan(code=3)
    running.start()
    running.wait(lambda: running.one("SELECT pid FROM service") == {"pid": running.pid})
    assert share.ask("status")["degraded"] == []


def test_a_scan_by_hand_is_not_taken_for_the_service_that_was_killed(share, running):
    running.kill()
    with store.lock(share.db):
        status = share.ask("status", code=3)
    assert not status["service"]["running"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become another user")
def test_readers_of_the_group_may_search_while_it_runs_and_after_and_it_starts_again():
    group, reader = 54_321, 54_322

    def search():
        """Search as another user, in a process of its own: its exit code."""
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                os.setgroups([group])
                os.setgid(reader)
                os.setuid(reader)
                os.umask(0o022)
                db = store.open_reader(share.db)
                os._exit(len(db.execute("SELECT * FROM passages_fts WHERE passages_fts MATCH 'jackdaw'").fetchall()))
            os._exit(99)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        share = Share(Path(folder))
        share.db.parent.rmdir()  # the service makes it
        share.write("a.txt", "A note about the jackdaw.")
        with Service(share) as service:
            service.start(umask=0o007, group=group)
            service.wait_for(a_txt="indexed")
            assert search() == 1
            service.stop()
            assert search() == 1
            assert {path.stat().st_gid for path in share.db.parent.iterdir()} == {group}, "else the service is locked out"
            service.start(umask=0o007, group=group)
            service.wait(lambda: service.one("SELECT pid FROM service") == {"pid": service.pid})
            assert search() == 1
