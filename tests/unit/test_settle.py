"""When a file that was seen may be read, as a function of its stamp and of the time."""

import pytest

from winnowd.model import Stamp
from winnowd.settle import OLD, Settling, stored_time

SETTLING = Settling(local=2.0, network=10.0, cap=900.0)
NOW = 1_800_000_000.0


def local(age, mtime_age=0.0):
    """A stamp of a local file whose change time is so old."""
    return Stamp(5, int((NOW - mtime_age) * 1e9), int((NOW - age) * 1e9), 7)


def network(age):
    """A stamp of a file on a network root, last written so long ago."""
    return Stamp(5, int((NOW - age) * 1e9))


@pytest.mark.parametrize(("age", "wait"), [(0.0, 2.0), (0.5, 1.5), (2.0, 0.0), (3600.0, 0.0)])
def test_a_local_file_waits_until_its_change_time_is_old_enough(age, wait):
    assert SETTLING.remaining(local(age), NOW) == pytest.approx(wait, abs=1e-3)


@pytest.mark.parametrize("mtime_age", [-1e9, 0.0, 1e9])
def test_the_time_of_writing_which_anybody_can_set_counts_for_nothing_on_a_local_root(mtime_age):
    assert SETTLING.remaining(local(3600.0, mtime_age), NOW) == 0.0
    assert SETTLING.remaining(local(0.0, mtime_age), NOW) == pytest.approx(2.0)


def test_a_change_time_in_the_future_is_a_clock_that_was_set_and_the_whole_time_passes():
    assert SETTLING.remaining(local(-86_400.0), NOW) == 2.0


@pytest.mark.parametrize("age", [0.0, 9.0, 11.0, OLD * 10.0, -86_400.0])
def test_a_file_on_a_network_root_waits_the_whole_time_since_nobody_knows_its_clock(age):
    assert SETTLING.remaining(network(age), NOW) == 10.0


def test_a_file_on_a_network_root_that_was_written_long_ago_is_read_at_once():
    assert SETTLING.remaining(network(OLD * 10.0 + 1), NOW) == 0.0
    assert SETTLING.after(network(OLD * 10.0 + 1), NOW) is None


def test_the_time_is_stored_so_that_it_compares_as_text():
    assert SETTLING.after(local(0.5), NOW) == stored_time(NOW + 1.5)
    times = [stored_time(NOW + step / 1000) for step in range(0, 3000, 7)]
    assert times == sorted(times)
    assert {len(time) for time in times} == {24}
