"""The first promise: every file is accounted for."""

import os


def test_status_adds_up(share):
    share.write("a.txt", "A note about the dunlin.")
    share.write("b/c.txt", "A note about the sanderling.")
    share.write("b/~$c.docx", b"lock")
    share.write("empty.pdf", b"")
    share.write("broken.pdf", b"%PDF-1.4\nnothing")
    share.write("sheet.xlsx.bin", bytes(range(256)) * 8)
    os.mkfifo(share.root / "pipe")
    os.symlink("/etc", share.root / "link")
    share.scan(code=3)
    files = share.ask("status", code=None)["files"]
    assert files["indexed"] == 2
    assert files["failed"] == 1
    assert files["skipped"] == 5
    assert sum(files.values()) == 8


def test_an_empty_folder_is_accounted_for(share):
    assert share.scan()["files"]["indexed"] == 0


def test_each_skipped_file_says_why(share):
    share.write("~$minutes.docx", b"lock")
    share.write("empty.txt", b"")
    os.symlink("nowhere", share.root / "link")
    share.scan()
    reasons = {name: share.ask("why", share.root / name)["reason"] for name in ("~$minutes.docx", "empty.txt", "link")}
    assert reasons == {"~$minutes.docx": "excluded", "empty.txt": "empty", "link": "not_a_file"}


def test_why_explains_a_path_below_an_excluded_folder(share):
    path = share.write(".git/config", "x")
    share.scan()
    answer = share.ask("why", path, code=4)
    assert answer["state"] is None
    assert answer["reason"] == "excluded"
    assert ".git/" in answer["message"]
    share.accounted = False  # what lies in an excluded folder is not listed


def test_why_explains_unknown_paths(share):
    share.write("a.txt", "word")
    share.scan()
    assert share.ask("why", "/nowhere/at/all", code=4)["reason"] == "outside"
    assert share.ask("why", share.root / "no.txt", code=4)["reason"] == "missing"
    new = share.write("new.txt", "word")
    assert share.ask("why", new, code=4)["reason"] == "new"
    new.unlink()


def test_a_name_with_another_suffix_is_a_finding_of_the_path(share):
    path = share.write(
        "page.docx", "<!DOCTYPE html><html><body><p>The harbour board meets on Monday and publishes minutes.</p></body></html>"
    )
    share.scan(code=None)
    assert "wrong_extension" in {finding["code"] for finding in share.ask("why", path)["findings"]}
