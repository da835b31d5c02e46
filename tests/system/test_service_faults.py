"""What the running service does when files, children, or its own life are attacked: one file, and never another, is lost."""

import os
import signal
from pathlib import Path

import pytest

from running import Service, below, eventually, is_alive


@pytest.fixture
def service(share):
    with Service(share) as service:
        yield service


def servers(service):
    """The fork server, whose children look at folders and read files."""
    return [pid for pid in below(service.pid, deep=False) if b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def is_failed(share, name):
    return share.states().get(name) == "failed"


def test_whatever_files_do_to_their_children_the_good_ones_are_read(share, service):
    service.configure(limits={"idle_seconds": 3})
    left = share.root.with_name("left")
    orders = {
        "segfault": "segfault",
        "zero": "exit 0",
        "killed": "kill",
        "memory": "memory",
        "busy": "hang",
        "in-c": "hang_in_c",
        "leaver": f"leave {left}",
        "fault": "raise oh dear",
        "twice": "same_page_twice",
    }
    for name, order in orders.items():
        share.write(f"{name}.mock", f"mock: {order}")
    for number in range(5):
        share.write(f"{number}.txt", f"Good file number {number} about the whimbrel.")
    service.start(misbehaving=True)
    service.wait(lambda: len(share.states()) == 14 and "pending" not in share.states().values())
    reasons = {name: service.row(f"{name}.mock")["reason"] for name in orders}
    assert reasons == {
        **dict.fromkeys(("segfault", "zero", "leaver"), "crashed"),
        **dict.fromkeys(("killed", "memory"), "out_of_memory"),
        **dict.fromkeys(("busy", "in-c"), "timed_out"),
        **dict.fromkeys(("fault", "twice"), "internal"),
    }
    assert len(share.found("whimbrel")) == 5
    assert eventually(lambda: not is_alive(int(left.read_text()))), "what a parser started ends with it"
    assert service.one("SELECT max(attempts) AS n FROM files") == {"n": 3}


def test_a_child_that_is_killed_while_idle_costs_nothing(share, service):
    share.write("a.txt", "A note about the avocet.")
    service.start()
    service.wait_for(a_txt="indexed")
    (server,) = servers(service)
    for child in below(server):
        os.kill(child, signal.SIGKILL)
    for number in range(4):
        share.write(f"late-{number}.txt", f"Note number {number} about the dunlin.")
    service.wait(lambda: list(share.states().values()) == ["indexed"] * 5)
    assert service.one("SELECT sum(attempts) AS n FROM files") == {"n": 0}


def test_a_fork_server_that_is_killed_is_replaced(share, service):
    share.write("a.txt", "A note about the avocet.")
    service.start()
    service.wait_for(a_txt="indexed")
    (server,) = servers(service)
    children = below(server)
    for pid in (server, *children):
        os.kill(pid, signal.SIGKILL)
    for number in range(4):
        share.write(f"late-{number}.txt", f"Note number {number} about the dunlin.")
    service.wait(lambda: list(share.states().values()) == ["indexed"] * 5)


def test_a_fork_server_that_is_killed_at_work_costs_an_attempt_at_most(share, service):
    door = share.root.with_name("door")
    door.touch()
    for name in ("one.mock", "two.mock"):
        share.write(name, f"mock: wait {door}\nA note of {name}.")
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 2})
    (server,) = servers(service)
    for pid in (server, *below(server)):
        os.kill(pid, signal.SIGKILL)
    door.unlink()
    service.wait_for(one_mock="indexed", two_mock="indexed")


def test_children_end_with_a_service_that_is_killed_and_their_files_are_read_by_the_next(share, service):
    for name in ("busy.mock", "in-c.mock"):
        share.write(name, "mock: hang" if name == "busy.mock" else "mock: hang_in_c")
    share.write("a.txt", "A note about the avocet.")
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 2})
    children = service.children()
    service.kill()
    assert eventually(lambda: not any(is_alive(child) for child in children))
    for name in ("busy.mock", "in-c.mock"):
        share.write(name, f"mock: echo\nNow {name} is about the fulmar.")
    service.start(misbehaving=True)
    service.wait(lambda: list(share.states().values()) == ["indexed"] * 3)
    assert len(share.found("fulmar")) == 2
    assert service.one("SELECT count(*) AS n FROM documents") == {"n": 3}


def test_a_file_that_ends_the_service_itself_is_found_out_and_every_start_gets_ready(share, service):
    for number in range(6):
        share.write(f"{number}.txt", f"Good file number {number} about the whimbrel.")
    share.write("poison.mock", "mock: end_the_service")
    share.accounted = False
    for _ in range(12):
        service.start(misbehaving=True)
        assert eventually(lambda: service.process.poll() is not None or is_failed(share, "poison.mock"))
        if service.process.poll() is None:
            break
    service.wait(lambda: set(share.states().values()) == {"failed", "indexed"})
    assert share.states()["poison.mock"] == "failed"
    assert "Winnow itself ended 3 times" in service.row("poison.mock")["message"]
    assert len(share.found("whimbrel")) == 6
    assert service.one("SELECT sum(attempts) AS n FROM files WHERE state = 'indexed'") == {"n": 0}


def test_a_huge_or_deadly_file_delays_no_other(share, service):
    door = share.root.with_name("door")
    door.touch()
    for number in range(3):
        share.write(f"slow-{number}.mock", f"mock: wait {door}\nNumber {number}")
    with share.write("huge.mock", f"mock: wait {door}\n").open("r+b") as file:
        file.truncate(60_000_000)
    service.configure(pool={"workers": 4})
    service.start(misbehaving=True)
    service.wait(lambda: service.one("SELECT running FROM service") == {"running": 4})
    share.write("small.txt", "A small note about the plover.")
    service.wait_for(small_txt="indexed")
    service.stop()


def test_a_child_that_looks_and_is_killed_makes_a_folder_offline_for_a_moment_only(share, service):
    door = share.root.with_name("closed")
    door.touch()
    share.write("a.txt", "A note about the avocet.")
    service.start(misbehaving=True)
    (server,) = service.wait(lambda: servers(service))
    service.wait(lambda: below(server))
    door.unlink()
    for child in below(server):
        os.kill(child, signal.SIGKILL)
    service.wait_for(a_txt="indexed")
    service.wait(lambda: share.ask("status", code=None)["degraded"] == [])
