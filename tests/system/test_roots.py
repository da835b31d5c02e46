"""The roots of the running service: added, taken out, gone, back, hanging; what that means for what is known of them."""

import json
import os
import shutil
import signal

import pytest

NOBODY = "root reads every folder, whatever its mode"


def fill(folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number}.txt").write_text(f"Note {number} of {folder.name} about the wader.")
        os.utime(folder / f"{number}.txt", (1_700_000_000, 1_700_000_000))  # long ago: none is hashed twice for being fresh


def state(service, path=None):
    return service.value("SELECT state FROM roots WHERE path = ?", str(path or service.share.root))


@pytest.fixture
def service(service):
    """The service, which looks every second whether its roots are there."""
    service.order("constants", "rounds.PROOF_SECONDS=1\nears.DEAF_SECONDS=3")
    return service


@pytest.fixture
def other(service):
    """A second root beside the share, with one note in it."""
    service.share.accounted = False  # it counts one root
    folder = service.share.root.with_name("other")
    folder.mkdir()
    (folder / "whimbrel.txt").write_text("A note about the whimbrel.")
    return folder


def test_roots_are_added_and_taken_out_by_a_reload(service, other):
    fill(service.share.root, 3)
    service.start()
    service.until(service.quiet)
    service.roots[other] = {}
    service.reload()
    service.until(lambda: service.quiet() and len(service.states()) == 4)
    del service.roots[other]
    service.reload()
    service.until(lambda: state(service, other) == "offline")
    assert "not in the configuration any more" in service.root(other)["message"]
    assert len(service.search("whimbrel")) == 1
    fill(service.share.root / "later", 1)
    service.until(lambda: len(service.states()) == 5 and service.quiet())
    service.roots[other] = {}
    service.reload()
    service.until(lambda: state(service, other) == "online")
    assert service.value("SELECT seq FROM sqlite_sequence WHERE name = 'documents'") == 5


def test_a_scan_beside_the_service_leaves_out_what_is_not_in_the_configuration_any_more(service, other):
    service.roots[other] = {}
    service.start()
    service.until(lambda: service.quiet() and len(service.states()) == 1)
    del service.roots[other]
    service.reload()
    service.until(lambda: state(service, other) == "offline")
    fill(service.share.root, 2)
    done = service.share.run("--config", service.config, "scan", "--json", code=None)
    assert json.loads(done.stdout)["files"]["indexed"] == 3
    assert service.process.poll() is None


def test_roots_that_overlap_are_refused(service):
    """In the file: at the start and by a reload; against what is known already: said in the log."""
    inner = service.share.root / "inner"
    fill(inner, 1)
    service.roots[inner] = {}
    service.start(ready=False)
    assert service.process.wait(60) == 78
    assert "inner" in service.said()
    service.process = None
    del service.roots[inner]
    service.start()
    service.until(lambda: service.states() == {"inner/0.txt": "indexed"})
    service.roots = {inner: {}}
    service.reload()
    service.until(lambda: "overlaps a known root" in service.said())
    assert service.value("SELECT count(*) FROM roots") == 1


def test_a_configuration_that_is_wrong_is_refused_and_the_old_one_goes_on(service):
    service.start()
    service.until(service.quiet)
    service.config.write_text("[watch]\nsettle_seconds = 'soon'\n")
    service.signal(signal.SIGHUP)
    service.until(lambda: "settle_seconds" in service.said())
    fill(service.share.root, 1)
    service.until(lambda: service.states() == {"0.txt": "indexed"})


def test_a_root_that_is_missing_at_the_start_is_offline_and_the_others_work(service, other):
    shutil.move(other, other.with_name("away"))
    fill(service.share.root, 2)
    service.roots[other] = {}
    service.start()
    service.until(lambda: state(service, other) == "offline" and len(service.states()) == 2 and service.quiet())
    assert "No such file" in service.root(other)["message"]
    shutil.move(other.with_name("away"), other)
    service.until(lambda: len(service.states()) == 3 and service.quiet())
    assert state(service, other) == "online"
    (other / "later.txt").write_text("Later, about the redshank.")
    service.until(lambda: service.states().get("later.txt") == "indexed")


def test_a_root_that_becomes_an_empty_folder_deletes_nothing_and_costs_nothing_when_it_returns(service):
    """M1, M3: as when a share is unmounted; searching goes on, and what comes back is read no second time."""
    fill(service.share.root / "dir", 5)
    service.start()
    service.until(service.quiet)
    before = service.share.rows("roots", "service")
    away = service.share.root.with_name("away")
    os.rename(service.share.root, away)
    service.share.root.mkdir()
    service.until(lambda: state(service) == "offline")
    assert "not mounted" in service.root()["message"]
    assert any("offline" in sentence for sentence in service.status()["degraded"])
    assert len(service.found("wader")) == 5
    service.share.root.rmdir()
    os.rename(away, service.share.root)
    service.until(lambda: state(service) == "online" and service.quiet())
    assert service.share.rows("roots", "service") == before
    (service.share.root / "later.txt").write_text("Later, about the redshank.")
    service.until(lambda: service.states().get("later.txt") == "indexed")


def test_a_root_that_is_deleted_and_made_again_is_seen_again(service):
    """W3, M1: the kernel's watch ends with the folder."""
    service.start()
    service.until(service.quiet)
    service.share.root.rmdir()
    service.until(lambda: state(service) == "offline")
    service.share.root.mkdir()
    service.until(lambda: state(service) == "online")
    (service.share.root / "a.txt").write_text("About the redshank.")
    service.until(lambda: service.states() == {"a.txt": "indexed"})


def test_a_root_that_vanishes_while_it_is_read_loses_nothing(service):
    """M2: in the middle of it, most files still wait."""
    fill(service.share.root / "dir", 300)
    service.settings["pool"] = {"workers": 1}
    service.start()
    service.until(lambda: "indexed" in service.states().values())
    away = service.share.root.with_name("away")
    os.rename(service.share.root, away)
    service.until(lambda: state(service) == "offline")
    os.rename(away, service.share.root)
    service.until(lambda: state(service) == "online" and list(service.states().values()) == ["indexed"] * 300)


@pytest.mark.skipif(os.getuid() == 0, reason=NOBODY)
def test_a_folder_that_may_not_be_read_deletes_nothing_below_it(service):
    """W21: what is in it is kept as it was; when it may be read again, it is watched again."""
    folder = service.share.root / "dir"
    fill(folder / "deep", 3)
    other = service.share.write("other.txt", "About the whimbrel.")
    service.start(rescan_seconds=1, network_rescan_seconds=1)
    service.until(service.quiet)
    folder.chmod(0)
    try:
        service.until(lambda: service.root()["unlisted_folders"] == 1)
        assert "could not be listed" in service.root()["message"]
        other.unlink()
        service.until(lambda: "other.txt" not in service.states())
        assert "could not be listed" in service.root()["message"]
        assert len(service.found("wader")) == 3
    finally:
        folder.chmod(0o755)
    service.until(lambda: service.root()["unlisted_folders"] == 0)
    assert set(service.states().values()) == {"indexed"}


@pytest.mark.skipif(os.getuid() == 0, reason=NOBODY)
def test_a_folder_that_could_not_be_read_at_first_is_watched_when_it_can(service):
    """W21: it had no watch, and the walk that finds it open is followed by none for a long while."""
    folder = service.share.root / "dir"
    fill(folder, 1)
    folder.chmod(0)
    try:
        service.start(network_rescan_seconds=1)
        service.until(lambda: service.root()["unlisted_folders"] == 1)
    finally:
        folder.chmod(0o755)
    service.until(lambda: service.states() == {"dir/0.txt": "indexed"})
    service.until(lambda: service.root()["unlisted_folders"] == 0)
    fill(folder / "new", 1)
    service.until(lambda: service.states().get("dir/new/0.txt") == "indexed")


@pytest.mark.skipif(os.getuid() == 0, reason=NOBODY)
def test_a_file_that_may_not_be_read_waits_and_is_read_when_it_may(service):
    """W21: a new mode is a new stamp, which a walk sees."""
    path = service.share.write("a.txt", "About the whimbrel.")
    path.chmod(0)
    service.start(rescan_seconds=1)
    service.until(lambda: service.value("SELECT reason FROM files") == "unreadable")
    assert service.states() == {"a.txt": "pending"}
    path.chmod(0o644)
    service.until(lambda: service.states() == {"a.txt": "indexed"})


def test_many_files_that_are_deleted_at_once_are_held_and_released_beside_the_service(service):
    """M5: 1,000 of about 1,500."""
    fill(service.share.root / "gone", 1000)
    fill(service.share.root / "kept", 500)
    service.start()
    service.until(service.quiet, 180)
    shutil.rmtree(service.share.root / "gone")
    service.until(lambda: state(service) == "held")
    assert list(service.states().values()).count("gone") == 1000
    assert len(service.search('"of gone"')) > 0
    assert any("1000 files vanished" in sentence for sentence in service.status()["degraded"])
    done = service.share.run("roots", "release", "--db", service.share.db, "--json", "--yes", service.share.root)
    assert json.loads(done.stdout)["released"] == 1000
    assert set(service.states().values()) == {"indexed"}
    assert len(service.states()) == 500
    assert state(service) == "online"


def test_held_files_that_return_are_what_they_were(service):
    """M5: put back by a person, and nothing is read again."""
    fill(service.share.root / "dir", 30)
    service.start()
    service.until(service.quiet)
    before = service.share.rows("roots", "service")
    os.rename(service.share.root / "dir", service.share.root.with_name("away"))
    service.until(lambda: state(service) == "held")
    os.rename(service.share.root.with_name("away"), service.share.root / "dir")
    service.until(lambda: state(service) == "online")
    assert service.share.rows("roots", "service") == before


def test_a_root_that_is_forgotten_in_the_catalogue_is_watched_no_more(service, other):
    service.roots[other] = {}
    fill(service.share.root, 2)
    service.start()
    service.until(lambda: service.quiet() and len(service.states()) == 3)
    service.share.run("roots", "forget", "--db", service.share.db, "--yes", other)
    (other / "later.txt").write_text("Later.")
    fill(service.share.root / "new", 1)
    service.until(lambda: service.states() == dict.fromkeys(("0.txt", "1.txt", "new/0.txt"), "indexed"))


def test_a_share_that_hangs_stops_no_other_root_and_comes_back(service, other):
    """M4: whoever looks at it hangs; it is offline after a while, and the others go on."""
    service.roots[other] = {}
    fill(service.share.root, 2)
    service.order("hang", "")
    service.start(answer_seconds=2, rescan_seconds=1)
    service.until(lambda: service.quiet() and len(service.states()) == 3)
    service.order("hang", str(other))
    (other / "later.txt").write_text("Later, about the redshank.")
    fill(service.share.root / "new", 1)
    service.until(lambda: service.states().get("new/0.txt") == "indexed")
    service.until(lambda: state(service, other) == "offline")
    assert "does not answer" in service.root(other)["message"]
    fill(service.share.root / "newer", 1)
    service.until(lambda: service.states().get("newer/0.txt") == "indexed")
    service.countermand("hang")
    service.until(lambda: state(service, other) == "online" and service.states().get("later.txt") == "indexed")
    assert len(service.search("whimbrel")) == 1


def test_a_service_whose_share_hangs_is_ready_and_can_be_stopped(service, other):
    """M4: from the very start."""
    service.roots[other] = {}
    fill(service.share.root, 2)
    service.order("hang", str(other))
    service.start(answer_seconds=2)
    service.until(lambda: len(service.states()) == 2 and state(service, other) == "offline")
    service.stop()
