"""What waits for a person, what they decided, and what a decision means for a document. Decisions are never overwritten."""

import json
import sqlite3
from dataclasses import dataclass
from typing import get_args

from winnowd.model import Decision, State
from winnowd.store import index

Reason = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One document of the review queue."""

    digest: str
    format: str
    title: str | None
    files: tuple[int, ...]
    reasons: tuple[sqlite3.Row, ...]
    state: str
    earlier: str | None  # the last decision, where it does not cover the present reasons


def state_of(verdict: str, decision: Decision | None) -> State:
    """The state of a file that leads to a document, from the machine's verdict and a person's decision.

    >>> state_of("review", None), state_of("review", "keep"), state_of("accepted", "reject")
    ('review', 'indexed', 'rejected')
    """
    if decision == "reject":
        return "rejected"
    if verdict == "review" and decision is None:
        return "review"
    return "indexed"


def reasons_of(db: sqlite3.Connection, document_id: int) -> frozenset[Reason]:
    """Why the document needs a person: the code and page of each of its findings of severity review."""
    rows = db.execute("SELECT code, page_index FROM findings WHERE document_id = ? AND severity = 'review'", (document_id,))
    return frozenset((row["code"], row["page_index"]) for row in rows)


def standing(db: sqlite3.Connection, digest: str, reasons: frozenset[Reason]) -> Decision | None:
    """The decision in force: the last one on this content, if it was taken on all of these reasons."""
    row = db.execute("SELECT decision, reasons FROM reviews WHERE digest = ? ORDER BY id DESC LIMIT 1", (digest,)).fetchone()
    if row is None:
        return None
    covered = {(code, page) for code, page in json.loads(row["reasons"])}
    return _decision(row["decision"]) if reasons <= covered else None


def apply(db: sqlite3.Connection, document_id: int) -> State:
    """Bring passages and files of a document in line with its verdict and the decision in force; the state they have now."""
    document = db.execute("SELECT digest, verdict FROM documents WHERE id = ?", (document_id,)).fetchone()
    decision = standing(db, document["digest"], reasons_of(db, document_id))
    state = state_of(document["verdict"], decision)
    index.place(db, document_id, _withheld(db, document_id, decision))
    reason, message = explain(db, document_id, state)
    db.execute(
        "UPDATE files SET state = ?, reason = ?, message = ? "
        "WHERE document_id = ? AND state IN ('indexed', 'review', 'rejected') "
        "AND (state, ifnull(reason, ''), ifnull(message, '')) IS NOT (?, ?, ?)",
        (state, reason, message, document_id, state, reason or "", message or ""),
    )
    return state


def explain(db: sqlite3.Connection, document_id: int, state: State) -> tuple[str | None, str | None]:
    """The reason code and sentence that go with the state of a document's files."""
    if state == "rejected":
        return "rejected", "A person took this document out of the search."
    if state != "review":
        return None, None
    rows = db.execute(
        "SELECT code, message FROM findings WHERE document_id = ? AND severity = 'review' "
        "ORDER BY page_index IS NOT NULL, page_index, id LIMIT 4",
        (document_id,),
    ).fetchall()
    more = " ..." if len(rows) > 3 else ""
    return rows[0]["code"], " ".join(row["message"] for row in rows[:3]) + more


def decide(db: sqlite3.Connection, document_id: int, decision: Decision, who: str, at: str, note: str | None = None) -> State:
    """Record a person's decision on the present reasons of a document and carry it out; the state its files have now."""
    row = db.execute("SELECT digest, recipe FROM documents WHERE id = ?", (document_id,)).fetchone()
    reasons = sorted(reasons_of(db, document_id), key=lambda reason: (reason[0], -1 if reason[1] is None else reason[1]))
    db.execute(
        "INSERT INTO reviews (digest, decision, reasons, recipe, who, at, note) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row["digest"], decision, json.dumps(reasons), row["recipe"], who, at, note),
    )
    return apply(db, document_id)


def waiting(db: sqlite3.Connection, code: str | None = None) -> list[Waiting]:
    """The documents in review, those that wait longest first; with `code`, those that wait for that reason."""
    rows = db.execute(
        "SELECT d.id, d.digest, d.format, d.title FROM documents d "
        "WHERE d.id IN (SELECT document_id FROM files WHERE state = 'review') AND (? IS NULL OR d.id IN "
        "(SELECT document_id FROM findings WHERE code = ? AND severity = 'review')) ORDER BY d.id",
        (code, code),
    ).fetchall()
    return [_waiting(db, row) for row in rows]


def one(db: sqlite3.Connection, document_id: int) -> Waiting:
    """A document as the review queue shows it, whatever its state."""
    row = db.execute("SELECT id, digest, format, title FROM documents WHERE id = ?", (document_id,)).fetchone()
    return _waiting(db, row)


def best_file(db: sqlite3.Connection, document_id: int) -> sqlite3.Row:
    """The file that speaks for a document: one that was read before one that waits, and that before one that is gone."""
    row: sqlite3.Row = db.execute(
        "SELECT id, state FROM files WHERE document_id = ? ORDER BY state = 'gone', state = 'pending', id LIMIT 1",
        (document_id,),
    ).fetchone()
    return row


def history(db: sqlite3.Connection, digest: str) -> list[sqlite3.Row]:
    """All decisions on a content, the oldest first."""
    return db.execute("SELECT * FROM reviews WHERE digest = ? ORDER BY id", (digest,)).fetchall()


def _waiting(db: sqlite3.Connection, row: sqlite3.Row) -> Waiting:
    files = db.execute(
        "SELECT id, state FROM files WHERE document_id = ? ORDER BY state = 'gone', state = 'pending', id", (row["id"],)
    ).fetchall()
    past = history(db, row["digest"])
    earlier = past[-1]["decision"] if past else None
    state = files[0]["state"] if files else "indexed"
    shown = tuple(file["id"] for file in files)
    return Waiting(row["digest"], row["format"], row["title"], shown, _reasons(db, row["id"]), state, earlier)


def _reasons(db: sqlite3.Connection, document_id: int) -> tuple[sqlite3.Row, ...]:
    return tuple(
        db.execute(
            "SELECT f.code, f.page_index, p.page_label, f.measure, f.threshold, f.message FROM findings f "
            "LEFT JOIN pages p ON p.document_id = f.document_id AND p.page_index = f.page_index "
            "WHERE f.document_id = ? AND f.severity = 'review' ORDER BY f.page_index IS NOT NULL, f.page_index, f.id",
            (document_id,),
        )
    )


def _withheld(db: sqlite3.Connection, document_id: int, decision: Decision | None) -> frozenset[int]:
    """The ordinals of the passages that are not searchable under this decision."""
    if decision == "accept":
        return frozenset()
    first, last = index.span(document_id)
    clause = (
        ""
        if decision == "reject"
        else (
            "AND ifnull(page_index, 0) IN (SELECT page_index FROM pages WHERE document_id = :document AND verdict = 'review')"
        )
    )
    rows = db.execute(
        f"SELECT ordinal FROM passages WHERE id BETWEEN :first AND :last {clause} "
        f"UNION ALL SELECT ordinal FROM withheld WHERE id BETWEEN :first AND :last {clause}",
        {"first": first, "last": last, "document": document_id},
    )
    return frozenset(row[0] for row in rows)


def _decision(word: str) -> Decision:
    return next(decision for decision in get_args(Decision) if decision == word)
