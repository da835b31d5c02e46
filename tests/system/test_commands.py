"""Every command from outside: help, JSON, piped lines, bad input, exit codes."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from shares import command
from winnowd import commands, errors

HERE = Path(__file__).parents[2]


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_each_command_has_help_and_its_first_line_says_what_the_list_says(name):
    done = subprocess.run(command(name, "--help"), capture_output=True, text=True, check=True)
    assert commands.COMMANDS[name].rstrip(".") in " ".join(done.stdout.split())


@pytest.fixture
def filled(share):
    share.write("one.md", "# Birds\n\nThe dunlin is small.\n\n## Food\n\nIt eats worms on the mudflat at low tide.\n")
    share.write("two.txt", "A sanderling runs before the waves.")
    share.write("broken.pdf", b"%PDF-1.4 nothing")
    share.scan(code=3)
    return share


def test_piped_output_is_one_line_a_record(filled):
    out = filled.run("search", "--db", filled.db, "dunlin").stdout
    assert out.count("\n") == 1
    path, page, heading, state, title, snippet = out.rstrip("\n").split("\t")
    assert (path, page, heading, state, title) == (str(filled.root / "one.md"), "", "Birds", "indexed", "Birds")
    assert "[dunlin]" in snippet


def test_show_prints_text_outline_metadata_findings_and_steps(filled):
    path = filled.root / "one.md"
    assert "mudflat" in filled.run("show", "--db", filled.db, path).stdout
    assert [entry["title"] for entry in filled.ask("show", "--outline", path)] == ["Birds", "Food"]
    assert filled.ask("show", "--metadata", path)
    assert {finding["code"] for finding in filled.ask("show", "--findings", path)} == {"short_text"}
    assert all(set(step) == {"step", "touched", "lines"} for step in filled.ask("show", "--steps", path))
    assert "".join(p["text"] for p in filled.ask("show", path)["passages"]).startswith("Birds")


def test_show_of_a_file_without_text_says_why(filled):
    done = filled.run("show", "--db", filled.db, filled.root / "broken.pdf", code=4)
    assert "failed" in done.stderr


def test_sample_shows_documents_at_random(filled):
    assert len(filled.ask("sample", "2")) == 2
    assert len(filled.ask("sample", "50")) == 2


def test_export_writes_one_record_per_document(filled):
    lines = filled.run("export", "--db", filled.db).stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert {record["format"] for record in records} == {"markdown", "text"}
    assert all(record["paths"] and record["passages"] and record["state"] == "indexed" for record in records)


def test_process_needs_no_database_and_says_what_would_be_indexed(filled):
    result = json.loads(filled.run("process", "--json", filled.root / "one.md").stdout)
    assert (result["outcome"], result["verdict"], result["format"]) == ("document", "accepted", "markdown")
    assert result["passages"][0]["id"] == f"{result['digest'][:16]}-0"
    stored = {row["text"] for row in filled.ask("show", filled.root / "one.md")["passages"]}
    assert {passage["text"] for passage in result["passages"]} == stored


def test_process_of_a_broken_file_ends_with_3_and_a_code(filled):
    result = json.loads(filled.run("process", "--json", filled.root / "broken.pdf", code=3).stdout)
    assert (result["outcome"], result["failure"]["code"]) == ("failure", "damaged")


def test_process_of_what_would_be_skipped_says_so(filled):
    path = filled.write("~$one.docx", b"lock")
    result = json.loads(filled.run("process", "--json", path).stdout)
    assert (result["outcome"], result["reason"]) == ("skipped", "excluded")
    path.unlink()


def test_nothing_found_ends_with_4(filled):
    assert filled.ask("search", "xylophone", code=4) == []


@pytest.mark.parametrize(
    "query", ["POL-358", "C++", 'a"b', "NEAR(", "*", "-", "--", "title:", "-x", "", "^", "((((", "“smart”"]
)
def test_whatever_is_typed_gives_results_or_none(filled, query):
    done = filled.run("search", "--db", filled.db, "--json", "--", query, code=None)
    assert done.returncode in (0, 4)
    json.loads(done.stdout)


def test_unknown_options_of_search_are_words(filled):
    done = filled.run("search", "--db", filled.db, "--json", "sanderling", "-dunlin", "--json")
    assert [Path(hit["path"]).name for hit in json.loads(done.stdout)] == ["two.txt"]


def test_a_broken_fts5_expression_is_one_clear_line(filled):
    done = filled.run("search", "--db", filled.db, "--fts", "NEAR(", code=2)
    assert done.stderr.count("\n") == 1


def test_filters_narrow_a_search(filled):
    assert len(filled.ask("search", "--format", "markdown", "dunlin OR sanderling")) == 1
    assert filled.ask("search", "--since", "2999", "dunlin", code=4) == []
    assert "2026-13" in filled.run("search", "--db", filled.db, "--since", "2026-13", "dunlin", code=2).stderr


def test_a_missing_database_is_one_clear_line(tmp_path):
    for name in ("search", "status", "sample", "export"):
        words = ["x"] if name == "search" else []
        done = subprocess.run(command(name, "--db", tmp_path / "no.db", *words), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "there is no database" in done.stderr


def test_a_file_that_is_no_database_is_one_clear_line(tmp_path):
    path = tmp_path / "x.db"
    path.write_text("this is not a database, but a text that is long enough to look at" * 50)
    (tmp_path / "share").mkdir()
    for args in (("status", "--db", path), ("scan", "--db", path, tmp_path / "share")):
        done = subprocess.run(command(*args), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr


def test_the_database_of_another_program_is_not_written(tmp_path):
    import sqlite3

    path = tmp_path / "x.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    (tmp_path / "share").mkdir()
    done = subprocess.run(command("scan", "--db", path, tmp_path / "share"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "another program" in done.stderr
    assert path.read_bytes()[100:] == before[100:]


def test_a_database_of_a_newer_winnow_is_refused(filled):
    import sqlite3

    from winnowd.store.schema import VERSION

    with sqlite3.connect(filled.db) as db:
        db.execute("PRAGMA user_version = 99")
    for args in (("status",), ("scan", filled.root)):
        done = filled.run(args[0], "--db", filled.db, *args[1:], code=1)
        assert "newer Winnow" in done.stderr
    with sqlite3.connect(filled.db) as db:
        db.execute(f"PRAGMA user_version = {VERSION}")


def test_a_database_on_a_network_file_system_is_refused(tmp_path, monkeypatch):
    from winnowd import disk
    from winnowd.commands import common

    table = tmp_path / "mountinfo"
    table.write_text("1 0 0:1 / / rw - cifs //server/share rw\n")
    monkeypatch.setattr(disk, "MOUNTINFO", table)
    with pytest.raises(errors.StoreError, match="cifs"):
        common.refuse_network(tmp_path / "x.db")


def test_two_writers_at_once_are_refused(filled):
    import fcntl

    with open(f"{filled.db}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = filled.run("scan", "--db", filled.db, filled.root, code=75)
    assert "another winnow" in done.stderr


def test_a_bad_configuration_ends_with_78_and_names_every_problem(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[limits]\nfile_mb = 0\nnonsense = 1\n")
    done = subprocess.run(command("--config", config, "scan"), capture_output=True, text=True, check=False)
    assert done.returncode == 78
    assert len(done.stderr.splitlines()) == 2


def test_a_typing_error_in_a_command_is_usage(tmp_path):
    done = subprocess.run(command("serach", "x"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "search" in done.stderr


def test_scan_without_any_folder_says_what_to_do(tmp_path):
    done = subprocess.run(command("scan", "--db", tmp_path / "x.db"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "[[roots]]" in done.stderr


def test_the_wheel_holds_the_command_and_the_units():
    project = tomllib.loads((HERE / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"winnow": "winnowd.__main__:main"}
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["daemon/winnowd"]
    assert sys.version_info >= (3, 11)


def test_output_that_cannot_be_written_is_one_clear_line(filled):
    with open("/dev/full", "w") as full:
        argv = command("export", "--db", filled.db)
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr


def test_a_closed_output_is_no_traceback(filled):
    words = " ".join(map(str, command("search", "--db", filled.db, "dunlin")))
    done = subprocess.run(["sh", "-c", f"{words} >&-"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_a_path_that_cannot_be_read_can_be_asked_about(filled):
    path = filled.root / "two.txt"
    path.chmod(0)
    assert filled.ask("why", path)["state"] == "indexed"
    path.chmod(0o644)


def test_the_database_can_be_written_by_its_group_as_far_as_the_umask_allows(share):
    share.write("a.txt", "word")
    argv = command("scan", "--db", share.db, share.root)
    subprocess.run(["sh", "-c", "umask 007; exec " + " ".join(map(str, argv))], check=True, capture_output=True)
    assert share.db.stat().st_mode & 0o777 == 0o660


@pytest.mark.parametrize("args", [("review", "list", "--check", "scaned"), ("failed", "list", "--code", "nosuch")])
def test_an_unknown_code_is_named_with_those_that_exist(filled, args):
    done = filled.run(*args[:2], "--db", filled.db, *args[2:], code=2)
    assert args[-1] in done.stderr
    assert "damaged" in done.stderr


def test_a_mistyped_option_of_search_is_pointed_out_when_nothing_was_found(filled):
    done = filled.run("search", "--db", filled.db, "--undr", "x", "dunlin", code=4)
    assert "--undr" in done.stderr


def test_an_answer_that_was_cut_says_so(filled):
    done = filled.run("search", "--db", filled.db, "--limit", "1", "dunlin OR sanderling")
    assert "--limit shows more" in done.stderr
    assert filled.run("search", "--db", filled.db, "--limit", "9", "dunlin OR sanderling").stderr == ""


def test_files_that_wait_can_be_listed(filled):
    assert filled.ask("failed", "list", "--waiting") == []
    assert len(filled.ask("failed", "list")) == 1
