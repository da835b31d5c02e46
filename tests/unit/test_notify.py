"""What the service tells systemd, to a real datagram socket; and that nobody who does not listen can stop it."""

import os
import secrets
import socket
import subprocess
import sys
import time

import pytest

from winnowd.notify import Notify


@pytest.fixture(params=["path", "abstract"])
def listening(request, tmp_path):
    """A socket such as systemd has, and its address as systemd writes it."""
    named = str(tmp_path / "notify") if request.param == "path" else f"@winnow-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(named.replace("@", "\0", 1) if request.param == "abstract" else named)
        end.settimeout(5)
        yield end, named


def heard(end: socket.socket) -> list[str]:
    return end.recv(4_096).decode().split("\n")


def test_each_message_is_one_datagram_of_assignments(listening):
    end, named = listening
    notify = Notify.from_environment({"NOTIFY_SOCKET": named})
    assert notify.ready("3 roots") and heard(end) == ["READY=1", "STATUS=3 roots"]
    assert notify.status("120 files wait") and heard(end) == ["STATUS=120 files wait"]
    assert notify.watchdog() and heard(end) == ["WATCHDOG=1"]
    assert notify.stopping("SIGTERM") and heard(end) == ["STOPPING=1", "STATUS=SIGTERM"]
    assert notify.extend(12.5) and heard(end) == ["EXTEND_TIMEOUT_USEC=12500000"]


def test_a_reload_carries_the_time_of_the_monotonic_clock(listening):
    end, named = listening
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
    Notify(named).reloading()
    first, second = heard(end)
    assert first == "RELOADING=1"
    assert before <= int(second.removeprefix("MONOTONIC_USEC=")) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000


def test_a_status_cannot_say_more_than_a_status(listening):
    end, named = listening
    Notify(named).status("reading a\nREADY=1\x1b[31m\udcff.pdf")
    assert heard(end) == [r"STATUS=reading a\\nREADY=1\\x1b[31m\\xff.pdf"]


@pytest.mark.parametrize("text", ["ends in \\", "\\" * 999 + "\n", "x" * 999 + "\n", "\\" * 5_000])
def test_no_status_ends_in_half_a_pair_of_backslashes(listening, text):
    end, named = listening
    assert Notify(named).ready(text)
    first, second = heard(end)
    assert first == "READY=1"
    assert "\\" not in second.replace("\\\\", "")


def test_the_longest_status_is_no_longer_than_systemd_reads(listening):
    end, named = listening
    assert Notify(named).ready("𝄞" * 5_000)
    assert len(end.recv(65_536)) <= 4_096


def test_the_environment_is_emptied_also_of_what_is_not_for_us():
    environment = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1", "HOME": "/"}
    Notify.from_environment(environment)
    assert environment == {"HOME": "/"}


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 60.0),
        ({"WATCHDOG_USEC": "1500000"}, 1.5),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_asked_for_or_not(variables, seconds):
    assert Notify.from_environment({"NOTIFY_SOCKET": "@x", **variables}).watchdog_seconds == seconds


def test_without_a_socket_nothing_is_sent_and_no_watchdog_is_asked_for():
    notify = Notify.from_environment({"WATCHDOG_USEC": "60000000"})
    assert notify.watchdog_seconds is None
    sent = (notify.ready(""), notify.status(""), notify.watchdog(), notify.reloading(), notify.stopping(""), notify.extend(1))
    assert not any(sent)


@pytest.mark.parametrize(
    "named", ["", "vsock:2:1234", "relative", "/nowhere/at/all", "/" + "long" * 100, "@nobody-listens-here"]
)
def test_an_address_where_nobody_listens_costs_nothing(named):
    assert Notify.from_environment({"NOTIFY_SOCKET": named}).watchdog() is False


def test_a_socket_that_died_costs_nothing_and_its_successor_is_heard(tmp_path):
    named = str(tmp_path / "notify")
    notify = Notify(named)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as first:
        first.bind(named)
        assert notify.watchdog()
    assert notify.watchdog() is False
    os.unlink(named)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as second:
        second.bind(named)
        assert notify.watchdog() and heard(second) == ["WATCHDOG=1"]


def test_a_full_socket_does_not_block(listening):
    _, named = listening
    notify = Notify(named)
    began = time.monotonic()
    assert not all(notify.watchdog() for _ in range(100_000))
    assert time.monotonic() - began < 30


STARTS = """
import subprocess, sys
from winnowd.notify import Notify
Notify.from_environment().ready("")
subprocess.run([sys.executable, "-c", sys.argv[1]], close_fds=False, check=True)
"""
LISTS = """
import os
print(sorted(set(os.environ) & {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}), os.listdir("/proc/self/fd"))
"""


def test_a_program_started_by_the_service_knows_no_socket(listening):
    _, named = listening
    variables = {**os.environ, "NOTIFY_SOCKET": named, "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}
    argv = [sys.executable, "-c", STARTS, LISTS]
    told = subprocess.run(argv, env=variables, capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[] ['0', '1', '2', '3']"  # the last is the listing's own
