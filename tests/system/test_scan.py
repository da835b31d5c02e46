"""What a scan does and does not do, seen from outside."""

import os
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from shares import command


def fill(share, count, prefix="note"):
    for number in range(count):
        share.write(
            f"folder{number % 3}/{prefix}-{number}.txt", f"Note number {number} is about the bird called {prefix}{number}."
        )


def passages(share):
    with sqlite3.connect(share.db) as db:
        return sorted(db.execute("SELECT passage_id, heading_path, page_index, text, withheld FROM all_passages"))


def test_a_second_scan_reads_nothing_and_changes_no_row_but_the_roots_own(share):
    fill(share, 12)
    share.write("copy.txt", "Note number 1 is about the bird called note1.")
    share.write("empty.txt", "")
    share.scan()
    before = share.rows("roots")
    done = share.scan()
    assert done["read"] == 0
    assert share.rows("roots") == before


def test_two_catalogues_of_the_same_files_give_the_same_passages_and_public_ids(share, tmp_path):
    fill(share, 9)
    share.scan()
    first = passages(share)
    share.db = tmp_path / "state" / "other.db"
    share.scan()
    assert passages(share) == first


def test_renaming_a_folder_reads_nothing_and_holds_nothing(share):
    fill(share, 40)
    share.scan()
    os.rename(share.root / "folder0", share.root / "renamed")
    done = share.scan()
    assert (done["extracted"], done["held"]) == (0, 0)
    assert share.found("note0") == {"renamed/note-0.txt"}
    assert not any(path.startswith("folder0") for path in share.found("bird"))


def test_a_rename_is_understood_although_the_scan_that_saw_it_was_killed(share):
    fill(share, 40)
    share.scan()
    os.rename(share.root / "folder0", share.root / "renamed")
    kill_during(share, "SELECT count(*) FROM files WHERE directory = 'renamed' AND digest IS NOT NULL")
    done = share.scan()
    assert (done["extracted"], done["held"]) == (0, 0)
    assert not any(path.startswith("folder0") for path in share.found("bird"))


def kill_during(share, question):
    """Kill a scan as soon as the answer to a question about the catalogue is not zero."""
    process = subprocess.Popen(
        command("scan", "--db", share.db, share.root), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        with sqlite3.connect(share.db, timeout=5) as db:
            try:
                if db.execute(question).fetchone()[0]:
                    break
            except sqlite3.OperationalError:
                pass  # the tables are not there yet
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_killed_scan_ends_in_the_same_rows_as_an_undisturbed_one(share, tmp_path):
    fill(share, 150)
    for number in range(5):
        share.write(f"broken-{number}.pdf", b"%PDF-1.7 broken" + bytes([number]))
    kill_during(share, "SELECT count(*) FROM documents")
    with sqlite3.connect(share.db) as db:
        assert db.execute("SELECT count(*) FROM documents").fetchone()[0] < 155
    share.scan(code=3)
    disturbed = summary(share)
    share.db = tmp_path / "state" / "undisturbed.db"
    share.scan(code=3)
    assert summary(share) == disturbed


def summary(share):
    """What the catalogue says, without its row numbers."""
    with sqlite3.connect(share.db) as db:
        files = db.execute(
            "SELECT label, size, mtime_ns, digest, format, state, reason, message, attempts, racy FROM files ORDER BY label"
        )
        documents = db.execute("SELECT digest, format, title, chars, recipe, verdict FROM documents ORDER BY digest")
        findings = db.execute(
            "SELECT digest, code, page_index, f.message FROM findings f JOIN documents d ON d.id = document_id ORDER BY 1, 2, 3"
        )
        return [files.fetchall(), documents.fetchall(), findings.fetchall(), passages(share)]


def test_a_changed_file_is_read_again_and_its_old_words_are_gone(share):
    path = share.write("p.txt", "Version one mentions the ouzel.")
    share.scan()
    path.write_text("Version 2 mentions the dipper.")
    share.scan()
    assert share.found("ouzel") == set()
    assert share.found("dipper") == {"p.txt"}


def test_a_file_written_just_before_it_was_read_is_hashed_again_by_the_next_scan(share):
    path = share.write("p.txt", "The first version of it.")
    share.scan()
    path.write_text("The other version of it!")
    with sqlite3.connect(share.db) as db:  # a second write that leaves no trace in the stamp, as a coarse clock allows
        db.execute("UPDATE files SET racy = 1, mtime_ns = ?, ctime_ns = ?", (path.stat().st_mtime_ns, path.stat().st_ctime_ns))
    share.scan()
    assert share.found("other") == {"p.txt"}


def test_verify_finds_a_changed_content_behind_an_unchanged_stamp(share):
    path = share.write("p.txt", "The first version of it.")
    share.scan()
    path.write_text("The other version of it!")
    with sqlite3.connect(share.db) as db:
        db.execute("UPDATE files SET mtime_ns = ?, ctime_ns = ?", (path.stat().st_mtime_ns, path.stat().st_ctime_ns))
    share.scan()
    assert share.found("other") == set()
    share.scan("--verify", share.root)
    assert share.found("other") == {"p.txt"}


def test_a_dry_run_says_what_would_be_read_and_removed_and_changes_nothing(share):
    fill(share, 4)
    assert share.scan("--dry-run", share.root)["to_read"] == 4
    assert not share.db.exists()
    share.scan()
    before = share.rows()
    (share.root / "folder0" / "note-0.txt").unlink()
    share.write("new.txt", "new")
    done = share.scan("--dry-run", share.root)
    assert (done["to_read"], done["to_remove"]) == (1, 1)
    assert share.rows() == before
    share.scan()


def test_a_part_of_a_known_folder_can_be_scanned_alone(share):
    fill(share, 6)
    share.scan()
    share.write("folder0/new.txt", "The heron is new.")
    share.write("folder1/new.txt", "The bittern is new.")
    (share.root / "folder0" / "note-0.txt").unlink()
    share.scan(share.root / "folder0")
    assert share.found("heron") == {"folder0/new.txt"}
    assert share.found("bittern") == set()
    assert share.found("note0") == set()
    share.scan(share.root / "folder1" / "new.txt")
    assert share.found("bittern") == {"folder1/new.txt"}
    assert len(share.ask("roots", "list")) == 1


def test_a_folder_above_a_known_one_is_refused_with_the_command_that_mends_it(share):
    share.write("a/b.txt", "word")
    share.scan(share.root / "a")
    done = share.run("scan", "--db", share.db, share.root, code=2)
    assert f"winnow roots forget {share.root / 'a'}" in done.stderr


def test_a_missing_path_is_one_clear_line(share):
    done = share.run("scan", "--db", share.db, share.root / "nowhere", code=2)
    assert done.stderr.count("\n") == 1
    assert "there is no such file or folder" in done.stderr


def test_a_database_inside_the_scanned_folder_is_refused(share):
    done = share.run("scan", "--db", share.root / "x.db", share.root, code=2)
    assert "inside the folder" in done.stderr
    assert not (share.root / "x.db").exists()


@pytest.mark.parametrize(
    "name", [b"\xfcber \xe4.txt", b"two\nlines.txt", b"-rf --help.txt", "Cafe\u0301.txt".encode(), b"x" * 251 + b".txt"]
)
def test_odd_names_are_stored_and_shown_and_opened_again(share, name):
    share.write(name, "The lantern keeper wrote about saxifrage.")
    share.scan()
    hit = share.ask("search", "saxifrage")[0]
    hit["path"].encode("utf-8")
    shown = share.run("search", "--db", share.db, "saxifrage").stdout
    assert shown.count("\n") == 1
    assert share.scan()["read"] == 0


def obeying_modes(*args):
    """A command run by an account that obeys modes, even where the tests are run by root."""
    # PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    drop = "import ctypes; [ctypes.CDLL(None).prctl(24, c, 0, 0, 0) for c in (1, 2)];"
    argv = command(*args)
    script = f"{drop} import os; os.execv({argv[0]!r}, {argv!r})"
    return subprocess.run([argv[0], "-c", script], capture_output=True, text=True, check=False)


def test_a_file_in_a_folder_that_cannot_be_listed_is_said_to_be_out_of_sight(share):
    fill(share, 6)
    share.scan()
    os.chmod(share.root / "folder0", 0)
    try:
        done = obeying_modes("scan", "--db", share.db, share.root / "folder0")
        inside = obeying_modes("scan", "--db", share.db, share.root / "folder0" / "note-0.txt")
    finally:
        os.chmod(share.root / "folder0", 0o755)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr + inside.stderr
    assert inside.returncode in (2, 3), inside.stderr
    assert share.found("note0") == {"folder0/note-0.txt"}


def test_a_folder_that_cannot_be_listed_protects_what_is_below_it(share):
    fill(share, 6)
    share.scan()
    os.chmod(share.root / "folder0", 0)
    try:
        done = obeying_modes("scan", "--db", share.db, share.root)
    finally:
        os.chmod(share.root / "folder0", 0o755)
    assert done.returncode == 3, done.stderr
    assert "could not be listed" in done.stderr
    assert share.found("note0") == {"folder0/note-0.txt"}
    assert share.scan()["read"] == 0


def test_what_is_excluded_later_leaves_the_index_and_comes_back(share, tmp_path):
    share.write("a.txt", "The stint stays.")
    share.write("b.log", "The ruff is logged.")
    share.scan()
    config = tmp_path / "config.toml"
    config.write_text(f'[database]\npath = "{share.db}"\n[walk]\nexclude = ["*.log"]\n[[roots]]\npath = "{share.root}"\n')
    share.run("--config", config, "scan")
    assert share.found("ruff") == set()
    assert share.states()["b.log"] == "skipped"
    share.scan()
    assert share.found("ruff") == {"b.log"}


def test_what_only_a_part_of_a_walk_left_out_comes_back(share, tmp_path):
    """Rules that were not applied to the whole root, as when a walk is cut off, are not those of the root."""
    share.write("logs/b.log", "The ruff is logged.")
    share.scan()
    config = tmp_path / "config.toml"
    config.write_text(f'[database]\npath = "{share.db}"\n[walk]\nexclude = ["*.log"]\n[[roots]]\npath = "{share.root}"\n')
    share.run("--config", config, "scan", share.root / "logs")
    assert share.found("ruff") == set()
    share.scan()
    assert share.found("ruff") == {"logs/b.log"}


def test_an_interrupted_scan_says_so_and_the_next_one_goes_on(share):
    fill(share, 200)
    process = subprocess.Popen(
        command("scan", "--db", share.db, share.root), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while not share.db.exists():
        time.sleep(0.01)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode in (0, 130)
    assert "Traceback" not in err
    share.scan()
    assert share.ask("status")["files"]["indexed"] == 200


def test_a_folder_is_scanned_through_a_link(share, tmp_path):
    fill(share, 3)
    os.symlink(share.root, tmp_path / "link")
    share.scan(tmp_path / "link")
    assert share.ask("why", share.root / "folder0" / "note-0.txt")["state"] == "indexed"
    assert share.scan()["read"] == 0
    shutil.rmtree(share.root / "folder0")
    share.scan()


def test_a_date_far_away_stops_nothing(share):
    path = share.write("future.txt", "A note about the phalarope.")
    os.utime(path, (12_000_000_000, 12_000_000_000))
    share.scan()
    assert share.found("phalarope") == {"future.txt"}
    assert share.scan()["read"] == 0


def test_targets_that_cover_each_other_are_walked_once(share):
    fill(share, 9)
    share.scan()
    (share.root / "folder0" / "note-0.txt").unlink()
    share.scan(share.root, share.root / "folder0", share.root / "folder0" / "note-3.txt")
    share.scan(share.root / "folder0", share.root / "folder0")


def test_a_link_inside_a_folder_is_not_followed_when_it_is_named(share, tmp_path):
    fill(share, 3)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("A secret about the corncrake.")
    os.symlink(outside, share.root / "link")
    share.scan()
    share.scan(share.root / "link")
    assert share.found("corncrake") == set()
    assert share.states()["link"] == "skipped"


def test_folders_of_the_configuration_are_known_before_any_other(share, tmp_path):
    fill(share, 3)
    config = tmp_path / "config.toml"
    config.write_text(f'[database]\npath = "{share.db}"\n[[roots]]\npath = "{share.root}"\n')
    share.run("--config", config, "scan", share.root / "folder0")
    share.run("--config", config, "scan")
    assert [root["path"] for root in share.ask("roots", "list")] == [str(share.root)]


def test_a_configured_folder_inside_a_known_one_is_refused_with_the_command_that_mends_it(share, tmp_path):
    fill(share, 3)
    share.scan()
    config = tmp_path / "config.toml"
    config.write_text(f'[database]\npath = "{share.db}"\n[[roots]]\npath = "{share.root / "folder0"}"\n')
    done = share.run("--config", config, "scan", code=2)
    assert f"winnow roots forget {share.root}" in done.stderr


def test_a_database_inside_a_configured_folder_is_refused(share, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(f'[[roots]]\npath = "{share.root}"\n')
    done = share.run("--config", config, "scan", "--db", share.root / "x.db", code=2)
    assert "inside the watched folder" in done.stderr
