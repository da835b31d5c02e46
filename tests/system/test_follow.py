"""`winnow scan --watch`: what changes is seen, and what events do not tell is found by the next walk."""

import shutil
import signal
import subprocess
import time

import pytest

from shares import command
from winnowd.watch import Watch


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing was seen"
        time.sleep(0.2)


@pytest.fixture
def follow(share, tmp_path):
    """A scan that stays, with short waits."""
    started = []

    def start(**watch):
        config = tmp_path / "config.toml"
        settings = {"settle_seconds": 0.3, **watch}
        config.write_text("[watch]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items()))
        argv = command("--config", config, "scan", "--db", share.db, "--watch", share.root)
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        started.append(process)
        until(lambda: share.db.exists() and share.found("first") == {"first.txt"})

    share.write("first.txt", "The first note.")
    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, "Traceback" in err) == (0, False), err
    share.scan(code=None)


def test_new_changed_moved_and_deleted_files_are_seen(share, follow):
    follow()
    path = share.write("new/deep/note.txt", "A note about the bittern.")
    until(lambda: share.found("bittern") == {"new/deep/note.txt"})
    path.write_text("A note about the heron.")
    until(lambda: share.found("heron") == {"new/deep/note.txt"})
    (share.root / "new").rename(share.root / "moved")
    until(lambda: share.found("heron") == {"moved/deep/note.txt"})
    shutil.rmtree(share.root / "moved")
    until(lambda: share.found("heron") == set())


def test_what_no_event_tells_is_found_by_the_next_walk(share, follow):
    follow(rescan_seconds=2, settle_seconds=1000)
    share.write("silent.txt", "A note about the egret.")
    until(lambda: share.found("egret") == {"silent.txt"})


def test_an_excluded_folder_is_not_entered_because_something_happened_in_it(share, follow):
    follow()
    share.write(".git/objects/x.txt", "A note about the spoonbill.")
    share.write("seen.txt", "A note about the stork.")
    until(lambda: share.found("stork") == {"seen.txt"})
    assert share.found("spoonbill") == set()
    shutil.rmtree(share.root / ".git")


def test_a_crowd_of_files_in_one_folder_is_seen_once(share, follow):
    follow()
    for number in range(60):
        share.write(f"crowd/note-{number}.txt", f"Note {number} about the crane.")
    until(lambda: len(share.found("crane")) == 60)


def test_more_paths_than_are_worth_remembering_mean_a_look_at_everything(tmp_path):
    with Watch([str(tmp_path)]) as watch:
        for number in range(10_001):
            watch.hint(f"/x/{number}")
        assert watch.lost


def test_a_folder_that_cannot_be_watched_is_left_to_walks(tmp_path):
    with Watch([str(tmp_path / "nowhere")]) as watch:
        assert watch.partial
        assert not watch.lost


def test_a_dead_reader_is_noticed(tmp_path):
    with Watch([str(tmp_path)]) as watch:
        assert watch.settled(0.1) == []
        assert not watch.lost
        for emitter in watch._observer.emitters:
            emitter.stop()
            emitter.join()
        watch.settled(0.1)
        assert watch.lost
