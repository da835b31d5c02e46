"""The life of the service: how it starts, what it tells systemd, how it is told something, and how it ends."""

import signal
import time
from pathlib import Path

import pytest

from running import Service, eventually, is_alive


@pytest.fixture
def service(share):
    with Service(share) as service:
        yield service


def test_it_says_that_it_is_ready_reads_what_is_there_and_says_that_it_stops(share, service):
    share.write("a.txt", "A note about the avocet.")
    service.start()
    assert service.statuses()[0].startswith("1 folder, ")
    service.wait_for(a_txt="indexed")
    assert share.found("avocet") == {"a.txt"}
    assert service.stop() == 0
    assert eventually(lambda: service.said("STOPPING=1"))
    assert service.one("SELECT state FROM service") == {"state": "stopped"}


def test_its_status_changes_with_what_it_does(share, service):
    door = share.root.with_name("door")
    door.touch()
    share.write("slow.mock", f"mock: wait {door}")
    service.start(misbehaving=True)
    service.wait(lambda: any("1 are being read" in status for status in service.statuses()))
    door.unlink()
    service.wait(lambda: service.statuses()[-1].endswith("0 files wait, 0 are being read"))


def test_it_is_ready_before_the_first_walk_however_large_the_tree(share, service):
    door = share.root.with_name("closed")
    door.touch()
    for number in range(300):
        share.write(f"{number}/{number}.txt", f"Note number {number} about the wader.")
    service.start(misbehaving=True)
    assert service.one("SELECT count(*) AS files FROM files") == {"files": 0}
    door.unlink()
    service.wait(lambda: service.one("SELECT count(*) AS n FROM files WHERE state = 'indexed'") == {"n": 300})


def test_the_watchdog_hears_of_it_while_it_waits_and_while_a_file_hangs(share, service):
    service.start(misbehaving=True, watchdog=1.0)
    service.wait(lambda: service.heard.count("WATCHDOG=1") > 3)
    share.write("hang.mock", "mock: hang")
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 1})
    before = service.heard.count("WATCHDOG=1")
    service.wait(lambda: service.heard.count("WATCHDOG=1") > before + 5)
    service.stop()


def test_a_loop_that_stands_still_sends_no_watchdog(share, service):
    service.start(misbehaving=True, watchdog=1.0)
    service.wait(lambda: service.said("WATCHDOG=1"))
    stuck = share.root.with_name("stuck")
    service.process.send_signal(signal.SIGUSR1)
    service.wait(stuck.exists)
    before = service.heard.count("WATCHDOG=1")
    share.write("a.txt", "A change, which wakes the threads of the watch but not the loop.")
    time.sleep(3)
    assert service.heard.count("WATCHDOG=1") <= before + 1, "the last one may still have been on its way"
    stuck.unlink()
    service.wait_for(a_txt="indexed")


def test_without_a_deadline_it_sends_no_watchdog(share, service):
    share.write("a.txt", "A note.")
    service.start()
    service.wait_for(a_txt="indexed")
    assert not service.said("WATCHDOG=1")


def test_no_process_below_it_knows_how_to_speak_to_systemd(share, service):
    share.write("hang.mock", "mock: hang")
    service.start(misbehaving=True, watchdog=60)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 1})
    children = service.children()
    assert len(children) > 2
    for child in children:
        environment = Path(f"/proc/{child}/environ").read_bytes()
        assert b"NOTIFY_SOCKET" not in environment
        assert b"WATCHDOG" not in environment


def test_its_children_are_forked_with_the_parsers_loaded(share, service):
    """Loading them takes a second or two: too long for each child anew."""
    share.write("a.txt", "A note about the avocet.")
    service.start()
    service.wait_for(a_txt="indexed")
    assert any("mupdf" in Path(f"/proc/{child}/maps").read_text() for child in service.children())


def test_asked_to_stop_at_work_it_puts_back_what_it_was_reading(share, service):
    for name in ("one.mock", "two.mock"):
        share.write(name, f"mock: hang\n{name}")
    share.write("waiting.mock", "mock: hang\nbehind the two")
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 2})
    children = service.children()
    assert service.stop() == 0
    assert eventually(lambda: not any(is_alive(child) for child in children))
    assert service.one("SELECT count(*) AS n FROM claims") == {"n": 0}
    assert service.one("SELECT sum(attempts) AS n FROM files WHERE state = 'pending'") == {"n": 0}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_both_signals_that_ask_for_an_end_are_obeyed(share, service, number):
    service.start()
    assert service.stop(number) == 0
    share.accounted = False  # nobody waited for the first walk


def test_nothing_is_left_beside_the_database_when_it_has_stopped(share, service):
    share.write("a.txt", "A note.")
    service.start()
    service.wait_for(a_txt="indexed")
    service.stop()
    assert {path.name for path in share.db.parent.iterdir()} == {"winnow.db", "winnow.db.lock"}


def test_a_new_configuration_is_taken_up_without_a_restart(share, service, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("A note about the bittern.")
    share.write("a.txt", "A note about the avocet.")
    service.start()
    service.wait_for(a_txt="indexed")
    service.configure([share.root, other])
    service.process.send_signal(signal.SIGHUP)
    service.wait(lambda: any(message.startswith("RELOADING=1\nMONOTONIC_USEC=") for message in service.heard))
    service.wait(lambda: sum("READY=1" in message for message in service.heard) == 2)
    service.wait_for(a_txt="indexed", b_txt="indexed")
    share.accounted = False


def test_a_reload_at_work_puts_back_what_was_being_read_and_reads_it(share, service):
    door = share.root.with_name("door")
    door.touch()
    share.write("slow.mock", f"mock: wait {door}\nA note about the curlew.")
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 1})
    service.process.send_signal(signal.SIGHUP)
    service.wait(lambda: sum("READY=1" in message for message in service.heard) == 2)
    door.unlink()
    service.wait_for(slow_mock="indexed")
    assert service.row("slow.mock")["attempts"] == 0


def test_a_folder_that_the_configuration_names_no_more_is_kept_and_not_watched(share, service, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    share.write("a.txt", "A note about the avocet.")
    service.start()
    service.wait_for(a_txt="indexed")
    service.configure([other])
    service.process.send_signal(signal.SIGHUP)
    sql = "SELECT state, message FROM roots WHERE path = ?"
    service.wait(lambda: service.one(sql, str(share.root)).get("state") == "offline")
    assert "is not in the configuration any more" in service.one(sql, str(share.root))["message"]
    assert share.found("avocet") == {"a.txt"}
    share.accounted = False


def test_a_bad_new_configuration_is_refused_and_the_old_one_goes_on(share, service):
    service.start()
    service.config.write_text("[pool]\nworkers = 'many'\n[wacth]\n")
    service.process.send_signal(signal.SIGHUP)
    service.wait(lambda: sum("READY=1" in message for message in service.heard) == 2)
    assert "refused" in service.statuses()[-1]
    assert "pool.workers" in service.logged() and "wacth" in service.logged()
    share.write("late.txt", "A note about the dunlin.")
    service.wait_for(late_txt="indexed")


def test_a_second_service_ends_with_its_own_exit_code(share, service):
    service.start()
    done = share.run("run", "--config", service.config, code=75)
    assert "another winnow" in done.stderr
    share.write("a.txt", "The first one goes on.")
    service.wait_for(a_txt="indexed")


def test_a_bad_configuration_is_an_exit_code_of_its_own_and_names_every_problem(share, tmp_path):
    config = tmp_path / "bad.toml"
    config.write_text("[pool]\nworkers = 'many'\n[wacth]\n")
    done = share.run("run", "--config", config, code=78)
    assert "pool.workers" in done.stderr and "wacth" in done.stderr
    assert share.run("run", "--config", tmp_path / "none.toml", code=78).stderr.endswith("there is no such file\n")


def test_a_configured_folder_that_is_missing_costs_only_itself(share, service, tmp_path):
    service.configure([share.root, tmp_path / "missing"])
    share.write("a.txt", "A note about the avocet.")
    service.start()
    service.wait_for(a_txt="indexed")
    service.wait(lambda: service.one("SELECT state FROM roots WHERE path LIKE '%missing'") == {"state": "offline"})
    (trouble,) = share.ask("status", code=3)["degraded"]
    assert "missing" in trouble
    share.accounted = False


def test_many_files_that_fail_are_one_line_each_in_the_log(share, service):
    for number in range(40):
        share.write(f"broken-{number}-.pdf", f"%PDF-1.4 broken {number}")
    service.start()
    service.wait(lambda: set(share.states().values()) == {"failed"} and len(share.states()) == 40)
    service.stop()
    lines = service.logged().splitlines()
    assert all(sum(f"broken-{number}-." in line for line in lines) == 1 for number in range(40))
    assert len(lines) < 50
