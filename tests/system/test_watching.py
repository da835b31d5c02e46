"""The running service sees what happens below its folders, and sees it too where events get lost."""

import itertools
import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


def limited(service, **limits):
    """Let the service run in a user namespace with these limits of inotify; skips where there are none to be had."""
    orders = [f"echo {number} > /proc/sys/user/max_inotify_{name}" for name, number in limits.items()]
    service.before = ["unshare", "-Ur", "sh", "-c", " && ".join([*orders, 'exec "$@"']), "sh"]
    tried = os.spawnvp(os.P_WAIT, "unshare", [*service.before, "true"]) if shutil.which("unshare") else 1
    if tried:
        pytest.skip("no user namespaces here")


def write_many(folder, count, suffix=".txt"):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number}{suffix}").write_text(f"Note {number} in {folder.name} about the wader.")


def indexed(service, *names):
    states = service.states()
    return all(states.get(name) == "indexed" for name in names)


def test_what_is_written_changed_and_removed_is_followed(service):
    path = service.share.write("a.txt", "A note about the whimbrel.")
    service.start()
    service.until(lambda: indexed(service, "a.txt"))
    (service.share.root / "b.txt").write_text("A note about the redshank.")
    path.write_text("Now about the dunlin.")
    service.until(lambda: service.found("redshank") == {"b.txt"} and service.found("dunlin") == {"a.txt"})
    assert service.found("whimbrel") == set()
    path.unlink()
    service.until(lambda: service.states() == {"b.txt": "indexed"})


def test_the_status_says_how_a_root_is_watched_and_why(service):
    service.start()
    service.until(service.quiet)
    root = service.root()
    assert root["watch"] == "events"
    assert "local file system" in root["watch_reason"]


def test_a_root_that_is_to_be_walked_again_is_found_by_walking(service):
    """M6: no event is listened for."""
    service.roots[service.share.root] = {"watch": "rescan"}
    service.start(network_rescan_seconds=1)
    service.until(service.quiet)
    (service.share.root / "a.txt").write_text("A note about the whimbrel.")
    service.until(lambda: indexed(service, "a.txt"))
    root = service.root()
    assert (root["watch"], "as configured" in root["watch_reason"]) == ("rescan", True)


def test_events_are_listened_to_where_the_configuration_says_so(service):
    service.roots[service.share.root] = {"watch": "events"}
    service.start()
    service.until(service.quiet)
    (service.share.root / "a.txt").write_text("A note about the whimbrel.")
    service.until(lambda: indexed(service, "a.txt"))
    assert service.root()["watch_reason"].startswith("as configured")


def test_a_network_root_is_walked_again_at_its_short_interval(service):
    """M6: the mount table says nfs4."""
    service.order("mountinfo", f"36 35 98:0 / / rw - ext4 /dev/x rw\n37 36 0:1 / {service.share.root} rw - nfs4 server:/x rw\n")
    service.start(network_rescan_seconds=1)
    service.until(service.quiet)
    root = service.root()
    assert (root["watch"], root["filesystem"]) == ("rescan", "nfs4")
    assert "other hosts" in root["watch_reason"]
    (service.share.root / "a.txt").write_text("A note about the whimbrel.")
    service.until(lambda: indexed(service, "a.txt"))
    assert service.value("SELECT ctime_ns FROM files") is None


def test_a_tree_that_is_made_at_once_is_found_whole_and_watched(service):
    """W7: events come for some of it only."""
    service.start()
    service.until(service.quiet)
    folders = [service.share.root / "tree" / "/".join(map(str, range(depth))) / f"leaf{depth}" for depth in range(1, 30)]
    for folder in folders:
        write_many(folder, 10)
    service.until(lambda: list(service.states().values()).count("indexed") == 290)
    for folder in folders:
        (folder / "later.txt").write_text(f"Written later, {folder.name}, about the godwit.")
    service.until(lambda: list(service.states().values()).count("indexed") == 319)


def test_a_tree_that_is_moved_in_is_read_and_a_tree_that_is_moved_out_is_removed(service):
    """W8, W9: and what is written outside afterwards makes no rows."""
    outside = service.share.root.with_name("outside")
    write_many(outside / "tree" / "deep", 5)
    service.share.write("stays.txt", "It stays.")
    service.start()
    service.until(service.quiet)
    os.rename(outside / "tree", service.share.root / "tree")
    service.until(lambda: len(service.found("wader")) == 5)
    os.rename(service.share.root / "tree", outside / "tree")
    (outside / "tree" / "deep" / "ghost.txt").write_text("A ghost.")
    service.until(lambda: service.states() == {"stays.txt": "indexed"})


def test_renames_inside_a_root_keep_document_ids_and_extract_nothing(service):
    """W10: a file, and a folder of many."""
    write_many(service.share.root / "many", 100)
    service.share.write("one.txt", "The one about the turnstone.")
    service.start()
    service.until(service.quiet)
    before = dict(service.rows("SELECT digest, id FROM documents"))
    os.rename(service.share.root / "many", service.share.root / "moved")
    os.rename(service.share.root / "one.txt", service.share.root / "other.txt")
    moved = {"other.txt", *(f"moved/{number}.txt" for number in range(100))}
    service.until(lambda: service.states().keys() == moved and service.quiet())
    assert dict(service.rows("SELECT digest, id FROM documents")) == before
    assert service.root()["state"] == "online"


def test_what_is_moved_from_root_to_root_keeps_its_document(service):
    """W10: between roots."""
    other = service.share.root.with_name("other")
    other.mkdir()
    service.roots[other] = {}
    service.share.accounted = False  # it counts one root
    write_many(service.share.root / "many", 30)
    service.start()
    service.until(service.quiet)
    before = service.rows("SELECT digest, id FROM documents ORDER BY id")
    os.rename(service.share.root / "many", other / "many")
    service.until(lambda: [n for (n,) in service.rows("SELECT DISTINCT root_id FROM files")] == [2] and service.quiet())
    assert service.rows("SELECT digest, id FROM documents ORDER BY id") == before
    assert {root["state"] for root in service.status()["roots"]} == {"online"}


def test_after_an_overflow_of_the_kernels_queue_nothing_is_missing(service):
    """W1, W2: the service sleeps while more happens than the queue holds."""
    most = int(QUEUE.read_text())
    if most > 40_000:
        pytest.skip(f"the queue holds {most} events")
    (service.share.root / "skipped").mkdir()
    service.start()
    service.until(service.quiet)
    service.signal(signal.SIGSTOP)
    write_many(service.share.root / "skipped", most // 2 + 500, ".tmp")
    write_many(service.share.root / "late", 20)
    service.signal(signal.SIGCONT)
    service.until(lambda: len(service.states()) == most // 2 + 520 and service.quiet())
    assert len(service.found("wader")) == 20
    assert service.root()["overflows"] > 0
    (service.share.root / "late" / "after.txt").write_text("A note about the whimbrel.")
    service.until(lambda: indexed(service, "late/after.txt"))


def test_an_observer_that_died_is_noticed_and_made_anew(service):
    """W3: these steps end watchdog's reading thread while all its threads seem to live."""
    service.share.write("a/x.txt", "About the whimbrel.")
    service.order("constants", "ears.DEAF_SECONDS=3")
    service.start()
    service.until(service.quiet)
    inside, outside = service.share.root / "a", service.share.root.with_name("outside")
    os.rename(inside, outside)
    inside.mkdir()
    service.until(lambda: service.states() == {})
    inside.rmdir()
    (outside / "x.txt").unlink()
    outside.rmdir()
    (service.share.root / "b.txt").write_text("About the redshank.")
    service.until(lambda: indexed(service, "b.txt"))
    (service.share.root / "c.txt").write_text("About the dunlin.")
    service.until(lambda: indexed(service, "c.txt"))


def test_folders_beyond_the_limit_of_watches_are_walked_again(service):
    """W5: the limit is reached from the start, and the status says so; where there is room again, events come again."""
    for number in range(60):
        service.share.write(f"{number}/a.txt", f"Note {number}.")
    limited(service, watches=30)
    service.start(network_rescan_seconds=1)
    service.until(service.quiet)
    assert "limit of watches" in service.root()["watch_reason"]
    assert any("max_user_watches" in sentence for sentence in service.status()["degraded"])
    for number in range(60):
        (service.share.root / str(number) / "b.txt").write_text(f"Later, {number}.")
    service.until(lambda: list(service.states().values()).count("indexed") == 120)
    for number in range(10, 60):
        shutil.rmtree(service.share.root / str(number))
    service.until(lambda: "limit of watches" not in service.root()["watch_reason"] and service.root()["state"] == "held")
    service.share.run("roots", "release", "--db", service.share.db, "--yes", service.share.root)


def test_the_limit_of_watches_is_noticed_when_it_is_reached_later(service):
    """W5: folders that are made beyond the limit."""
    limited(service, watches=30)
    service.start(network_rescan_seconds=1)
    service.until(service.quiet)
    assert "limit of watches" not in service.root()["watch_reason"]
    for number in range(60):
        service.share.write(f"{number}/a.txt", f"Note {number}.")
    service.until(lambda: "limit of watches" in service.root()["watch_reason"])
    (service.share.root / "59" / "b.txt").write_text("Later.")
    service.until(lambda: indexed(service, "59/b.txt"))


def test_without_any_observer_the_folders_are_walked_again(service):
    """W6: the kernel has no instance left; the status says so, however often it is looked whether the folder is there."""
    limited(service, instances=0)
    service.order("constants", "rounds.PROOF_SECONDS=0.5")
    service.roots[service.share.root] = {"watch": "events"}
    service.start(network_rescan_seconds=1)
    service.until(service.quiet)
    (service.share.root / "a.txt").write_text("A note about the whimbrel.")
    service.until(lambda: indexed(service, "a.txt"))
    root = service.root()
    assert (root["watch"], "not to be had" in root["watch_reason"]) == ("rescan", True)
    assert any("not to be had" in sentence for sentence in service.status()["degraded"])


def test_a_root_that_was_replaced_by_an_equal_one_is_watched_again(service):
    """M3: the watch lay on the folder that was there before."""
    service.order("constants", "rounds.PROOF_SECONDS=1")
    service.share.write("a.txt", "A note about the whimbrel.")
    service.start()
    service.until(service.quiet)
    os.rename(service.share.root, service.share.root.with_name("away"))
    shutil.copytree(service.share.root.with_name("away"), service.share.root)
    service.until(lambda: "another one than before" in service.said())
    (service.share.root / "b.txt").write_text("A note about the redshank.")
    service.until(lambda: indexed(service, "b.txt"))
    assert service.value("SELECT count(*) FROM documents") == 2


def test_what_is_gone_is_removed_although_events_never_end(service):
    """Something in the folder changes all the time."""
    service.share.write("a.txt", "A note about the whimbrel.")
    service.start()
    service.until(service.quiet)
    over = threading.Event()

    def write():
        for number in itertools.count():
            (service.share.root / "busy.tmp").write_text(str(number))
            if over.wait(0.01):
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        (service.share.root / "a.txt").unlink()
        service.until(lambda: service.states() == {"busy.tmp": "skipped"})
    finally:
        over.set()
        writer.join()


def test_what_is_no_file_is_never_opened(service):
    """W18, W19: pipes, sockets and links are counted and left alone, also when they come by an event."""
    outside = service.share.root.with_name("outside")
    outside.mkdir()
    (outside / "secret.txt").write_text("A secret about the corncrake.")
    service.start()
    service.until(service.quiet)
    os.mkfifo(service.share.root / "pipe.txt")
    os.symlink(outside, service.share.root / "link")
    os.symlink(".", service.share.root / "loop")
    os.symlink(outside / "secret.txt", service.share.root / "link.txt")
    service.until(lambda: len(service.states()) == 4)
    assert set(service.states().values()) == {"skipped"}
    (service.share.root / "folder").mkdir()
    (service.share.root / "folder" / "a.txt").write_text("In the folder.")
    service.until(lambda: indexed(service, "folder/a.txt"))
    shutil.rmtree(service.share.root / "folder")
    os.symlink(outside, service.share.root / "folder")
    service.until(lambda: service.states().get("folder") == "skipped" and len(service.states()) == 5)
    assert service.found("corncrake") == set()


def test_names_of_every_kind_come_by_events(service):
    """W20: bytes, newlines, long names, two forms of one letter, and two cases of one name."""
    service.start()
    service.until(service.quiet)
    names = [
        b"\xff\xfe.txt",
        b"new\nline.txt",
        b"x" * 251 + b".txt",
        "é.txt".encode(),
        "e\u0301.txt".encode(),
        b"A.txt",
        b"a.txt",
    ]
    for number, name in enumerate(names):
        Path(os.fsdecode(os.fsencode(service.share.root) + b"/" + name)).write_text(f"Name {number} about the wader.")
    service.until(lambda: service.value("SELECT count(*) FROM files WHERE state = 'indexed'") == len(names))
    Path(os.fsdecode(os.fsencode(service.share.root) + b"/" + names[0])).unlink()
    service.until(lambda: service.value("SELECT count(*) FROM files") == len(names) - 1)
