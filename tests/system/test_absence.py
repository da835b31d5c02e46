"""Absence is dangerous: a share that is not there deletes nothing, and many removals at once are held."""

import os
import shutil
import sqlite3


def fill(share, count):
    for number in range(count):
        share.write(f"dir/note-{number}.txt", f"Note number {number} is about the wader called bird{number}.")


def test_a_root_that_becomes_an_empty_folder_deletes_nothing_and_costs_nothing_when_it_returns(share):
    fill(share, 5)
    share.scan()
    before = share.rows("roots")
    away = share.root.with_name("away")
    os.rename(share.root, away)
    share.root.mkdir()
    done = share.scan(code=3)
    assert "offline" in done["messages"][0]
    assert share.rows("roots") == before
    assert share.found("bird3") == {"dir/note-3.txt"}
    assert share.ask("status", code=3)["roots"][0]["state"] == "offline"
    share.root.rmdir()
    os.rename(away, share.root)
    assert share.scan()["read"] == 0
    assert share.ask("status")["roots"][0]["state"] == "online"


def test_a_root_that_is_missing_is_offline(share):
    fill(share, 2)
    share.scan()
    away = share.root.with_name("away")
    os.rename(share.root, away)
    done = share.run("scan", "--db", share.db, code=3)
    assert "offline" in done.stderr
    assert share.found("bird1") == {"dir/note-1.txt"}
    os.rename(away, share.root)
    share.scan()


def test_a_root_that_is_another_folder_now_is_offline_and_nothing_of_it_is_read(share):
    fill(share, 5)
    share.scan()
    os.rename(share.root, share.root.with_name("away"))
    share.write("foreign.txt", "Something about a curlew.")
    share.scan(code=3)
    assert share.found("curlew") == set()
    assert share.found("bird1") == {"dir/note-1.txt"}
    shutil.rmtree(share.root)
    os.rename(share.root.with_name("away"), share.root)
    share.scan()


def test_a_root_that_was_moved_to_another_disk_is_proven_by_a_known_path(share):
    fill(share, 5)
    share.scan()
    shutil.copytree(share.root, share.root.with_name("copy"))
    shutil.rmtree(share.root)
    os.rename(share.root.with_name("copy"), share.root)
    assert share.scan()["extracted"] == 0
    assert share.ask("status")["roots"][0]["state"] == "online"


def test_a_single_deleted_file_is_removed_at_once(share):
    share.write("x.txt", "About the shrike.")
    share.scan()
    (share.root / "x.txt").unlink()
    share.scan()
    assert share.found("shrike") == set()


def test_many_removals_at_once_are_held_and_released(share):
    fill(share, 30)
    share.scan()
    for number in range(12):
        (share.root / "dir" / f"note-{number}.txt").unlink()
    done = share.scan(code=3)
    assert (done["removed"], done["held"]) == (0, 12)
    assert share.found("bird3") == {"dir/note-3.txt"}
    assert share.ask("search", "bird3")[0]["state"] == "gone"
    assert share.ask("status", code=3)["roots"][0]["state"] == "held"
    assert share.scan(code=3)["held"] == 0
    assert share.ask("roots", "release", share.root)["released"] == 12
    assert share.found("bird3") == set()
    assert share.ask("status")["roots"][0]["state"] == "online"


def test_held_files_that_return_are_what_they_were_and_are_not_read_again(share):
    fill(share, 30)
    share.write("dir/broken.pdf", b"%PDF-1.4 broken")
    share.scan(code=3)
    before = share.rows("roots")
    os.rename(share.root / "dir", share.root.with_name("away"))
    assert share.scan(code=3)["held"] == 31
    os.rename(share.root.with_name("away"), share.root / "dir")
    assert share.scan(code=3)["read"] == 0
    assert share.rows("roots") == before


def test_a_copy_stays_findable_when_the_other_copy_goes(share):
    share.write("x/one.txt", "Identical text about the wigeon.")
    share.write("y/two.txt", "Identical text about the wigeon.")
    share.scan()
    assert share.found("wigeon") == {"x/one.txt", "y/two.txt"}
    (share.root / "x" / "one.txt").unlink()
    share.scan()
    assert share.found("wigeon") == {"y/two.txt"}


def test_forgetting_a_root_takes_everything_of_it_out(share):
    fill(share, 3)
    share.scan()
    assert share.ask("roots", "forget", share.root)["forgotten"] == 3
    assert share.found("wader") == set()
    assert share.ask("roots", "list") == []
    share.accounted = False


def test_a_held_file_that_was_waiting_to_be_read_is_read_when_it_returns(share):
    fill(share, 14)
    share.scan()
    for number in range(14):
        share.write(f"dir/note-{number}.txt", f"Now it is about a pratincole, number {number}.")
    with sqlite3.connect(share.db) as db:  # a scan that was killed after its walk
        for path in sorted((share.root / "dir").iterdir()):
            seen = path.stat()
            db.execute(
                "UPDATE files SET state = 'pending', size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE name = ?",
                (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, path.name),
            )
    os.rename(share.root / "dir", share.root.with_name("away"))
    assert share.scan(code=3)["held"] == 14
    os.rename(share.root.with_name("away"), share.root / "dir")
    share.scan()
    assert len(share.found("pratincole")) == 14
    assert share.found("wader") == set()


def test_a_retry_does_not_touch_what_is_held(share):
    fill(share, 14)
    share.scan()
    os.rename(share.root / "dir", share.root.with_name("away"))
    share.scan(code=3)
    digest = share.ask("search", "bird3")[0]["digest"]
    share.ask("review", "retry", digest)
    share.scan(code=3)
    assert share.found("bird3") == {"dir/note-3.txt"}
    os.rename(share.root.with_name("away"), share.root / "dir")
    share.scan()


def test_a_folder_that_the_rules_leave_out_from_now_on_is_not_missing(share, tmp_path):
    fill(share, 14)
    share.write("stays.txt", "It stays.")
    share.scan()
    config = tmp_path / "config.toml"
    config.write_text(f'[database]\npath = "{share.db}"\n[[roots]]\npath = "{share.root}"\nexclude = ["dir/"]\n')
    share.run("--config", config, "scan")
    assert share.found("wader") == set()
    share.scan()
    assert len(share.found("wader")) == 14


def test_files_moved_over_others_are_no_loss(share):
    for number in range(14):
        share.write(f"a/{number}.txt", f"Text of the new ones, number {number}.")
        share.write(f"b/{number}.txt", f"Text of the old ones, number {number}.")
    share.scan()
    for number in range(14):
        os.rename(share.root / "a" / f"{number}.txt", share.root / "b" / f"{number}.txt")
    done = share.scan()
    assert (done["extracted"], done["held"]) == (0, 0)
    assert len(share.found("new")) == 14
