"""The review queue: decisions, what they cover, and that they outlive everything but a new reason."""

import json
import sqlite3

import pytest

GLYPHS = " ".join(f"(cid:{number})" for number in range(60))


@pytest.fixture
def waiting(share):
    share.write("good.txt", "A good page about the godwit, written in plain words that everybody can read.")
    share.write("bad.txt", f"{GLYPHS} garganey")
    share.scan()
    return share


def test_a_bad_text_waits_with_its_reason_and_is_not_searchable(waiting):
    (entry,) = waiting.ask("review", "list")
    assert entry["state"] == "review"
    assert [reason["code"] for reason in entry["reasons"]] == ["cid_tokens"]
    assert waiting.found("garganey") == set()
    assert waiting.found("bad") == {"bad.txt"}, "its name can be found"


def test_accept_makes_it_searchable_and_closes_it(waiting):
    waiting.ask("review", "accept", waiting.root / "bad.txt")
    assert waiting.found("garganey") == {"bad.txt"}
    assert waiting.ask("review", "list") == []
    assert waiting.states()["bad.txt"] == "indexed"


def test_keep_leaves_the_bad_part_out_and_closes_it(waiting):
    waiting.ask("review", "keep", waiting.root / "bad.txt")
    assert waiting.found("garganey") == set()
    assert waiting.states()["bad.txt"] == "indexed"


def test_reject_takes_the_document_out(waiting):
    waiting.ask("review", "reject", waiting.root / "good.txt")
    assert waiting.found("godwit") == set()
    assert waiting.found("good") == {"good.txt"}
    assert waiting.states()["good.txt"] == "rejected"


def test_a_later_decision_replaces_an_earlier_one_and_both_are_kept(waiting):
    waiting.ask("review", "reject", waiting.root / "good.txt")
    waiting.ask("review", "accept", "--note", "it was right", waiting.root / "good.txt")
    assert waiting.found("godwit") == {"good.txt"}
    decisions = waiting.ask("why", waiting.root / "good.txt")["decisions"]
    assert [(one["decision"], one["note"]) for one in decisions] == [("reject", None), ("accept", "it was right")]


def test_a_decision_belongs_to_the_content_and_holds_for_copies_and_after_a_removal(waiting):
    waiting.ask("review", "accept", waiting.root / "bad.txt")
    waiting.write("copy.txt", f"{GLYPHS} garganey")
    waiting.scan()
    assert waiting.found("garganey") == {"bad.txt", "copy.txt"}
    for name in ("bad.txt", "copy.txt"):
        (waiting.root / name).unlink()
    waiting.scan()
    waiting.write("again.txt", f"{GLYPHS} garganey")
    waiting.scan()
    assert waiting.found("garganey") == {"again.txt"}


def test_a_new_reason_reopens_a_document_and_shows_the_old_decision(waiting):
    waiting.ask("review", "accept", waiting.root / "bad.txt")
    with sqlite3.connect(waiting.db) as db:  # the decision was taken when there was another reason
        db.execute("UPDATE reviews SET reasons = ?", (json.dumps([["scanned", 0]]),))
        db.execute("UPDATE documents SET recipe = 'an older one'")
    waiting.scan()
    (entry,) = waiting.ask("review", "list")
    assert entry["earlier_decision"] == "accept"
    assert waiting.found("garganey") == set()


def test_a_decision_survives_reprocessing(waiting):
    waiting.ask("review", "accept", waiting.root / "bad.txt")
    waiting.ask("review", "retry", waiting.root / "bad.txt")
    assert waiting.scan()["extracted"] == 1
    assert waiting.found("garganey") == {"bad.txt"}


def test_many_documents_are_decided_by_their_reason(waiting):
    waiting.write("worse.txt", f"{GLYPHS} {GLYPHS} gadwall")
    waiting.scan()
    assert waiting.ask("review", "accept", "--check", "cid_tokens")["documents"] == 2
    assert waiting.found("gadwall") == {"worse.txt"}


def test_a_document_is_named_by_the_beginning_of_its_digest(waiting):
    digest = waiting.ask("review", "list")[0]["digest"]
    shown = waiting.ask("review", "show", digest[:12])
    assert "garganey" in shown["withheld"][0]["text"]


def test_an_unknown_document_is_one_clear_line(waiting):
    done = waiting.run("review", "accept", "--db", waiting.db, "nowhere.txt", code=4)
    assert done.stderr.count("\n") == 1


def test_another_threshold_judges_from_stored_measures_without_reading_a_file(waiting, tmp_path):
    config = tmp_path / "config.toml"
    roots = f'[database]\npath = "{waiting.db}"\n[[roots]]\npath = "{waiting.root}"\n'
    config.write_text(roots + "[checks]\ncid_share = 1.0\nalphabetic = 0.0\n")
    done = json.loads(waiting.run("--config", config, "scan", "--json").stdout)
    assert (done["extracted"], done["judged"]) == (0, 2)
    assert waiting.found("garganey") == {"bad.txt"}
    assert waiting.ask("review", "list") == []
    assert waiting.scan()["judged"] == 2
    assert waiting.found("garganey") == set()
    assert [entry["reasons"][0]["code"] for entry in waiting.ask("review", "list")] == ["cid_tokens"]
