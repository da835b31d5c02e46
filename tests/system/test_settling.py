"""The running service reads a file when nobody writes to it any more: in the end it holds one version, the last."""

import os
import shutil
import threading
import time

WRITTEN = "SELECT seq FROM sqlite_sequence WHERE name = 'documents'"
"""How many documents were ever stored: their ids are never used again, so this counts extractions that led to one."""


def started(service, **watch):
    service.start(**watch)
    service.until(service.quiet)
    return service


def held(service, name, words, extractions=1):
    """Wait until a name, alone, leads to these words; then hold the service to so many extractions."""
    service.until(lambda: service.states().get(name) == "indexed" and service.found(words) == {name} and service.quiet())
    assert service.value(WRITTEN) == extractions


class Writer:
    """Writes to a file again and again, from a thread, until it is told to end."""

    def __init__(self, write, pause):
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(write, pause))

    def _run(self, write, pause):
        while not self._over.wait(pause):
            write()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def test_a_slow_writer_is_waited_for(service):
    """W12: a copy that takes longer than a file settles, through one open descriptor."""
    started(service, settle_seconds=4)
    with (service.share.root / "a.txt").open("w") as file:
        for number in range(12):
            file.write(f"Line {number} about the whimbrel.\n")
            file.flush()
            time.sleep(0.2)
        assert service.value(WRITTEN) is None
        file.write("The last line is about the dotterel.\n")
    held(service, "a.txt", "dotterel")


def test_a_copy_that_keeps_its_times_is_waited_for(service):
    """W12: its modification time is set back when it is done."""
    started(service, settle_seconds=4)
    path = service.share.root / "a.txt"
    for number in range(6):
        with path.open("a") as file:
            file.write(f"Line {number} about the whimbrel.\n")
        time.sleep(0.2)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    held(service, "a.txt", "whimbrel")


def test_a_preallocated_file_is_waited_for(service):
    """W12: its size is the last one from the beginning."""
    started(service, settle_seconds=4)
    text = b"".join(b"Line %03d about the whimbrel.\n" % number for number in range(10))
    with (service.share.root / "a.txt").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, len(text))
        for start in range(0, len(text), 30):
            file.write(text[start : start + 30])
            file.flush()
            time.sleep(0.2)
    held(service, "a.txt", "whimbrel")


def test_a_file_saved_as_a_copy_and_renamed_leads_to_one_version(service):
    """W11: temp and rename, backup and new, and a rename over it from outside the root."""
    root, outside = service.share.root, service.share.root.with_name("outside.txt")
    service.share.write("a.txt", "The first version, about the whimbrel.")
    started(service)
    (root / "a.txt.1234.tmp").write_text("The second version, about the redshank.")
    os.rename(root / "a.txt.1234.tmp", root / "a.txt")
    held(service, "a.txt", "redshank", 2)
    os.rename(root / "a.txt", root / "a.txt~")
    (root / "a.txt").write_text("The third version, about the dunlin.")
    (root / "a.txt~").unlink()
    held(service, "a.txt", "dunlin", 3)
    outside.write_text("The fourth version, about the godwit.")
    os.rename(outside, root / "a.txt")
    held(service, "a.txt", "godwit", 4)
    service.until(lambda: service.states() == {"a.txt": "indexed"})


def test_lock_files_and_partial_copies_are_never_read(service):
    """W11: what office programs and browsers leave beside a file while they work on it."""
    root = service.share.root
    started(service)
    names = ["~$a.docx", ".~lock.a.odt#", "a.txt.part", "a.txt.crdownload", "._a.txt", "a.tmp"]
    for name in names:
        (root / name).write_text("Not meant to be read, about the corncrake.")
    service.until(lambda: service.states() == dict.fromkeys(names, "skipped"))
    os.rename(root / "a.txt.part", root / "a.txt")
    for name in names:
        (root / name).unlink(missing_ok=True)
    held(service, "a.txt", "corncrake")
    service.until(lambda: service.states() == {"a.txt": "indexed"})


def test_a_file_that_never_rests_is_read_after_a_while_with_a_finding(service):
    """The cap: each change puts off the time of the file, also where every change is an event."""
    path = service.share.root / "a.txt"
    started(service, settle_seconds=2, settle_cap_seconds=2)

    def write():
        with path.open("a") as file:
            file.write("A line about the whimbrel.\n")

    codes = "SELECT code FROM findings WHERE file_id IS NOT NULL"
    with Writer(write, 0.5):
        service.until(lambda: service.rows(codes))
        assert service.rows(codes) == [("unsettled",)]
        assert service.found("whimbrel") == {"a.txt"}
    write()  # the very last change: what is read of it has settled
    service.until(lambda: service.quiet() and not service.rows(codes))
    assert service.value("SELECT size FROM files") == path.stat().st_size


def test_what_does_not_rest_keeps_its_old_text_until_then(service):
    path = service.share.write("a.txt", "The first version, about the whimbrel.")
    started(service, settle_seconds=2)

    def write():
        path.write_text(f"A version about the redshank, at {time.monotonic()}.")

    with Writer(write, 0.2):
        service.until(lambda: service.states() == {"a.txt": "pending"})
        assert service.found("whimbrel") == {"a.txt"}
    held(service, "a.txt", "redshank", 2)


def test_a_change_behind_an_equal_size_and_time_is_found_by_the_change_time(service):
    """W15: on a local root."""
    path = service.share.write("a.txt", "A note about the whimbrel.")
    started(service)
    before = path.stat()
    path.write_text("A note about the wheatear.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    held(service, "a.txt", "wheatear", 2)


def test_a_change_behind_an_unchanged_stamp_is_found_by_hashing_again(service):
    """W15: on a network root nothing but a hash can tell."""
    path = service.share.write("a.txt", "A note about the whimbrel.")
    service.share.write("b.txt", "A note about the dunlin.")
    service.order("mountinfo", f"36 35 98:0 / / rw - ext4 /dev/x rw\n37 36 0:1 / {service.share.root} rw - nfs4 server:/x rw\n")
    started(service, network_rescan_seconds=1, verify_days=0.0001)
    before = path.stat()
    path.write_text("A note about the wheatear.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    held(service, "a.txt", "wheatear", 3)
    assert service.found("dunlin") == {"b.txt"}


def test_odd_times_are_read_once(service):
    """W16: the future, the year 1970, and whole seconds."""
    started(service, network_rescan_seconds=1, rescan_seconds=1)
    for name, at in (("future.txt", 4_000_000_000), ("past.txt", 0), ("whole.txt", 1_700_000_000)):
        path = service.share.root / name
        path.write_text(f"A note of the {name} about the wader.")
        os.utime(path, (at, at))
    service.until(lambda: list(service.states().values()) == ["indexed"] * 3 and service.quiet())
    service.until(lambda: service.value("SELECT read FROM service") == 3)
    walks = {service.value("SELECT walked_at FROM roots")}
    service.until(lambda: walks.add(service.value("SELECT walked_at FROM roots")) or len(walks) > 4)
    assert service.value("SELECT read FROM service") == service.value(WRITTEN) == 3


def test_a_clock_that_is_set_stops_nothing(service):
    """W17: a day back and a day forth, while files settle."""
    service.order("clock", "0")
    started(service, settle_seconds=1)
    (service.share.root / "a.txt").write_text("A note about the whimbrel.")
    service.until(lambda: "a.txt" in service.states())
    service.order("clock", "-86400")
    (service.share.root / "b.txt").write_text("A note about the redshank.")
    service.until(lambda: service.states() == {"a.txt": "indexed", "b.txt": "indexed"})
    service.order("clock", "86400")
    (service.share.root / "c.txt").write_text("A note about the dunlin.")
    service.until(lambda: len(service.states()) == 3 and set(service.states().values()) == {"indexed"})
    assert "clock was set" in service.said()


def test_a_file_that_changes_while_it_is_read_is_read_again(service):
    """W13: what was read of it is thrown away; it is not failed."""
    path = service.share.root / "a.mock"
    service.order("mock", "yes")
    started(service)
    shutil.copy(service.share.write("../fresh", f"mock: append {path}\nThe heron moves."), path)
    service.until(lambda: service.value("SELECT reason FROM files WHERE label = 'a.mock'") in ("moved", "settling"))
    service.until(lambda: service.value("SELECT reason FROM files WHERE label = 'a.mock'") == "moved")
    assert service.value(WRITTEN) is None
    path.write_text("mock: echo\nThe heron rests.")
    held(service, "a.mock", "rests")


def test_the_newest_is_read_first(service):
    for number in range(40):
        path = service.share.write(f"{number}.txt", f"Note {number} about the wader.")
        at = 1_700_000_000 + (number * 7) % 40
        os.utime(path, (at, at))
    service.settings["pool"] = {"workers": 1}
    started(service)
    rows = service.rows("SELECT mtime_ns FROM files JOIN documents ON documents.id = document_id ORDER BY documents.id")
    assert rows == sorted(rows, reverse=True)


def test_a_huge_file_delays_no_small_one(service):
    service.order("mock", "yes")
    with service.share.write("huge.mock", "mock: sleep 600\n").open("r+b") as file:
        file.truncate(60_000_000)
    for number in range(20):
        service.share.write(f"{number}.txt", f"Note {number} about the wader.")
    service.start()
    service.until(lambda: list(service.states().values()).count("indexed") == 20)
    assert service.states()["huge.mock"] == "pending"
    service.stop()
    (service.share.root / "huge.mock").unlink()
    service.share.scan()
