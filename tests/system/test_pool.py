"""The pool survives whatever a child does, and tells what it was. Real processes, no timings decided upon."""

import os
import signal
import subprocess
import sys
import time

import pytest

import fakes
from winnowd.child import Limits
from winnowd.errors import NoChildren
from winnowd.model import Failure
from winnowd.pool import Asked, Done, Pool

LIMITS = Limits(idle_seconds=60, total_seconds=60, memory_bytes=4 << 30, recycle_jobs=1000, recycle_bytes=1 << 40)
SHORT = Limits(idle_seconds=3.0, total_seconds=8.0, memory_bytes=4 << 30, recycle_jobs=1000, recycle_bytes=1 << 40)


def start(size=1, limits=LIMITS):
    return Pool(size, limits, fakes.serve, (), ["fakes"])


def result(pool, job):
    pool.submit(1, job.encode())
    return drain(pool)[1]


def drain(pool, answers=()):
    """The results of all running jobs, by key; questions are answered with `answers` in turn."""
    found, answers = {}, list(answers)
    while pool.busy:
        for event in pool.wait(5):
            if isinstance(event, Asked):
                pool.reply(event.key, answers.pop(0) if answers else b"go on")
            else:
                assert isinstance(event, Done)
                found[event.key] = event.result
    return found


def failure(pool, job):
    found = result(pool, job)
    assert isinstance(found, Failure), found
    return found


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


def test_jobs_and_results_travel_as_bytes():
    with start(2) as pool:
        for key in range(2):
            pool.submit(key, f"echo:{key}".encode())
        assert drain(pool) == {0: b"echo:0", 1: b"echo:1"}


def test_a_child_asks_and_the_parent_answers():
    with start() as pool:
        pool.submit(7, b"ask:known?")
        assert drain(pool, [b"yes"]) == {7: b"yes"}


@pytest.mark.parametrize(
    ("job", "code", "words"),
    [
        ("segfault", "crashed", "signal 11"),
        ("exit:0", "crashed", "exit code 0"),
        ("exit:3", "crashed", "exit code 3"),
        ("kill", "out_of_memory", "killed"),
        ("lie", "crashed", "no sense"),
        ("babble", "crashed", "no sense"),
    ],
)
def test_a_child_that_dies_or_lies_costs_its_own_job_and_nothing_else(job, code, words):
    with start() as pool:
        found = failure(pool, job)
        assert found.code == code
        assert words in found.message
        assert result(pool, "echo:next") == b"echo:next"


@pytest.mark.parametrize("job", ["hang", "hang_in_c", "sleep:600"])
def test_a_child_without_progress_is_ended(job):
    with start(limits=SHORT) as pool:
        found = failure(pool, job)
        assert found.code == "timed_out"
        assert "without progress" in found.message
        assert result(pool, "echo:next") == b"echo:next"


def test_a_child_that_reports_progress_is_ended_by_the_other_clock():
    with start(limits=SHORT) as pool:
        found = failure(pool, "work:600")
        assert "of work" in found.message


def test_progress_keeps_a_slow_job_alive():
    with start(limits=SHORT) as pool:
        assert result(pool, "work:40") == b"work:40"


def test_a_child_that_is_killed_while_idle_is_replaced():
    with start() as pool:
        pid = int(result(pool, "pid"))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid))
        assert result(pool, "echo:next") == b"echo:next"


def test_what_a_parser_started_is_ended_with_it():
    with start() as pool:
        pool.submit(1, b"fork:")
        while not (asked := pool.wait(10)):
            pass
        grandchild = int(asked[0].question)
        assert is_alive(grandchild)
        pool.cancel(1)
        assert wait_until(lambda: not is_alive(grandchild))
        assert result(pool, "echo:next") == b"echo:next"


def test_a_failed_allocation_is_an_ordinary_error_inside_the_limit():
    with start() as pool:
        assert result(pool, "eat") == b"MemoryError"


def test_a_large_result_arrives_whole():
    with start() as pool:
        assert result(pool, f"flood:{40 << 20}") == b"x" * (40 << 20)


def test_what_a_parser_prints_is_not_seen(capfd):
    with start() as pool:
        result(pool, "print")
    assert "noise" not in "".join(capfd.readouterr())


def test_a_child_is_replaced_after_its_share_of_jobs():
    with start(limits=Limits(60, 60, 4 << 30, 2, 1 << 40)) as pool:
        pids = [result(pool, "pid") for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_one_crash_among_many_jobs_loses_only_that_job():
    with start(2) as pool:
        waiting = {key: b"segfault:" if key == 5 else b"echo:" for key in range(12)}
        found = {}
        while waiting or pool.busy:
            while waiting and pool.free:
                key, job = waiting.popitem()
                pool.submit(key, job)
            found |= {event.key: event.result for event in pool.wait(5)}
    assert [key for key, what in found.items() if what != b"echo:"] == [5]
    assert len(found) == 12


PARENT = """
import sys, time
sys.path[:0] = {path!r}
import fakes
from winnowd.pool import Limits, Pool
if __name__ == "__main__":
    pool = Pool(1, Limits(600, 600, 4 << 30, 9, 1 << 40), fakes.serve, (), ["fakes"])
    pool.submit(1, b"pid")
    while not (events := pool.wait(5)):
        pass
    pool.submit(2, b"hang_in_c")
    print(int(events[0].result), flush=True)
    time.sleep(600)
"""


def test_children_end_with_their_parent_even_inside_c_code(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(path=sys.path))
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    time.sleep(0.3)
    assert is_alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert wait_until(lambda: not is_alive(child))


def test_children_that_cannot_begin_are_no_fault_of_the_file():
    with Pool(1, LIMITS, fakes.serve, (fakes.EndsBeforeItBegins(),), ["fakes"]) as pool:
        pool.submit(1, b"anything")
        with pytest.raises(NoChildren, match="exit code 7"):
            wait_until(lambda: pool.wait(1))


def test_a_job_whose_child_could_not_begin_is_given_to_another(tmp_path):
    with Pool(1, LIMITS, fakes.serve, (fakes.EndsOnce(tmp_path / "mark"),), ["fakes"]) as pool:
        assert result(pool, "echo:next") == b"echo:next"
