"""What the kernel says of one folder: names that may have changed, and that there may be more. Real folders, real events."""

import logging
import os
import shutil
import time

import pytest

from winnowd import watch
from winnowd.watch import Hints, Watch


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.fixture
def watched(folder, tmp_path):
    """A folder that is being watched; its events are taken by `hints`."""
    one = Watch(str(folder), tmp_path / "probes" / "1", lambda: None)
    one.start()
    yield one
    one.stop()


def wait_until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def gather(watched, wanted):
    """Take hints until all these (folder, name) were among them; what came in all."""
    found: set[tuple[str, str]] = set()

    def complete():
        found.update((directory, name) for directory, names in watched.take().names.items() for name in names)
        return found >= wanted

    wait_until(complete)
    return found


def test_names_are_hinted_at_with_their_folder(watched, folder):
    (folder / "a.txt").write_text("a")
    (folder / "sub").mkdir()
    gather(watched, {("", "a.txt"), ("", "sub")})
    (folder / "sub" / "b.txt").write_text("b")
    gather(watched, {("sub", "b.txt")})


def test_a_rename_hints_at_both_names_and_a_removal_at_its_own(watched, folder):
    (folder / "a.txt").write_text("a")
    gather(watched, {("", "a.txt")})
    os.rename(folder / "a.txt", folder / "b.txt")
    gather(watched, {("", "a.txt"), ("", "b.txt")})
    (folder / "b.txt").unlink()
    gather(watched, {("", "b.txt")})


def test_reading_hints_at_nothing(watched, folder):
    (folder / "a.txt").write_text("a")
    (folder / "next.txt").write_text("next")
    gather(watched, {("", "next.txt")})  # events come in order: all of the first file's are behind us
    (folder / "a.txt").read_text()
    (folder / "b.txt").write_text("b")
    assert ("", "a.txt") not in gather(watched, {("", "b.txt")})


def test_names_that_are_not_utf8_keep_their_bytes(watched, folder):
    name = b"\xff.txt"
    with open(os.fsencode(folder) + b"/" + name, "wb"):
        pass
    gather(watched, {("", os.fsdecode(name))})


def test_more_names_than_are_worth_remembering_are_a_loss(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "MOST_NAMES", 10)
    woken = []
    one = Watch(str(folder), tmp_path / "probes", lambda: woken.append(1))
    for number in range(11):
        one.hint(f"{folder}/{number}.txt")
    assert one.take() == Hints(lost="more changed at once than is worth remembering")
    assert one.take() == Hints()
    assert woken


def test_what_happens_to_the_folder_itself_is_a_loss(watched, folder):
    shutil.rmtree(folder)
    wait_until(lambda: watched.take().lost == "the folder itself was replaced")
    wait_until(lambda: watched.deaf(60))


def test_a_warning_of_watchdog_is_a_loss_until_it_is_stopped(watched):
    log = logging.getLogger(watch.LOGGERS[0])
    log.warning("Inotify queue overflowed")
    assert "overflowed" in (watched.take().lost or "")
    watched.stop()
    log.warning("Inotify queue overflowed")
    assert watched.take() == Hints()


def test_a_probe_that_arrives_proves_that_it_hears(watched):
    for _ in range(3):
        wait_until(lambda: watched._heard >= watched._sent)
        assert not watched.deaf(0)
        watched.probe()


def test_a_probe_that_never_arrives_is_not_hidden_by_another(watched):
    wait_until(lambda: watched._heard >= watched._sent)
    watched.arrived = lambda: None
    watched.probe()
    wait_until(lambda: watched.probe() or watched.deaf(0.2))


def test_nothing_is_left_of_it_when_it_is_stopped(watched, folder, tmp_path):
    watched.probe()
    watched.stop()
    watched.stop()
    assert list((tmp_path / "probes").rglob("*")) == []
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_not_there_cannot_be_watched(tmp_path):
    one = Watch(str(tmp_path / "missing"), tmp_path / "probes" / "1", lambda: None)
    with pytest.raises(OSError, match="No such file"):
        one.start()
    assert not any(isinstance(ear, watch._Ear) and ear._watch is one for ear in logging.getLogger(watch.LOGGERS[0]).handlers)


def test_it_can_begin_in_a_thread_of_its_own(folder, tmp_path):
    one, woken = Watch(str(folder), tmp_path / "probes" / "1", lambda: woken.append(1)), []
    one.begin()
    wait_until(lambda: one.started)
    assert one.error is None
    one.stop()
    failing = Watch(str(folder / "missing"), tmp_path / "probes" / "2", lambda: None)
    failing.begin()
    wait_until(lambda: failing.started)
    assert failing.error is not None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_is_noticed(folder, tmp_path):
    """W4: an exception while an event is taken note of ends watchdog's thread for good."""

    def fail():
        raise ValueError("as ordered")

    one = Watch(str(folder), tmp_path / "probes", fail)
    one.start()
    (folder / "a.txt").write_text("a")
    wait_until(lambda: one.deaf(60))
    one.stop()
