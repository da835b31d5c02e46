"""What a walk means: which files changed, and what may be removed."""

import pytest

from winnowd.model import Skip, Stamp
from winnowd.reconcile import Known, compare, compare_others, may_remove

STAMP = Stamp(10, 1000, 1001, 7)


def known(**changed):
    row = Known("a.txt", *STAMP, file_id=5, standing=None)
    return tuple(row._replace(**changed))


def nothing_excluded(name):
    return None


def log_excluded(name):
    return Skip("excluded", "pattern") if name.endswith(".txt") else None


def changes(row, *, stamp=STAMP, excluded=nothing_excluded, recheck=False):
    rows = {} if row is None else {"a.txt": row}
    return [(c.kind, c.skip is not None) for c in compare({"a.txt": stamp}, rows, excluded, recheck)]


def test_a_file_that_is_as_it_was_is_no_change():
    assert changes(known()) == []


def test_an_unknown_file_appeared():
    assert changes(None) == [("appeared", False)]


@pytest.mark.parametrize("field", ["size", "mtime_ns", "ctime_ns", "inode"])
@pytest.mark.parametrize("delta", [-1, 1])
def test_any_difference_of_the_stamp_is_a_change_older_or_newer(field, delta):
    assert changes(known(), stamp=STAMP._replace(**{field: getattr(STAMP, field) + delta})) == [("modified", False)]


def test_a_file_read_too_soon_after_it_was_written_is_looked_at_again():
    assert changes(known(standing="racy")) == [("modified", False)]


def test_a_held_file_returns_when_it_is_as_it_was_and_is_a_change_when_not():
    assert changes(known(standing="gone")) == [("returned", False)]
    assert changes(known(standing="gone", size=11)) == [("modified", False)]


def test_an_excluded_file_is_counted_and_not_asked_about_again():
    assert changes(None, excluded=log_excluded) == [("appeared", True)]
    assert changes(known(standing="excluded"), excluded=log_excluded) == []


def test_rules_are_applied_to_known_files_only_when_they_changed():
    assert changes(known(), excluded=log_excluded) == []
    assert changes(known(), excluded=log_excluded, recheck=True) == [("modified", True)]
    assert changes(known(standing="excluded"), recheck=True) == [("modified", False)]


def test_a_link_that_became_a_file_is_a_change_and_the_other_way_round():
    assert changes(known(standing="not_a_file")) == [("modified", False)]
    skip = Skip("not_a_file", "is a symbolic link")
    assert [c.kind for c in compare_others({"a.txt": skip}, {"a.txt": known()})] == ["modified"]
    assert list(compare_others({"a.txt": skip}, {"a.txt": known(standing="not_a_file")})) == []


@pytest.mark.parametrize(
    ("vanished", "total", "allowed"),
    [(0, 0, True), (10, 10, True), (11, 100, False), (11, 110, True), (100, 1000, True), (101, 1000, False)],
)
def test_few_removals_are_allowed_and_many_are_held(vanished, total, allowed):
    assert may_remove(vanished, total, floor=10, share=0.1) is allowed
