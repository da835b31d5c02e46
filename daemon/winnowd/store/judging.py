"""Judges documents again from what is stored of them, where only checks or thresholds are new. Nothing is read from the disk.

What has a threshold is judged again; what an extractor said of its own work stays as it is.
"""

import sqlite3

from winnowd import checks
from winnowd.config import CheckSettings
from winnowd.model import Draft, Extraction, Finding, Measures, Page, Passage
from winnowd.pipeline import judged
from winnowd.store import documents, index, review

CHECKS_PART = " checks@"
BATCH = 500


def outdated(db: sqlite3.Connection, recipes: dict[str, str], after: int) -> tuple[list[sqlite3.Row], int]:
    """The next documents, by id beyond `after`, that were read as they would be now but judged by other checks or thresholds.

    The id to go on from comes with them; where nothing comes, there are no more.
    """
    found: list[sqlite3.Row] = []
    while not found:
        rows = db.execute(
            "SELECT id, format, pages, recipe FROM documents WHERE id > ? ORDER BY id LIMIT ?", (after, BATCH)
        ).fetchall()
        found = [row for row in rows if _only_checks_differ(row["recipe"], recipes.get(row["format"], ""))]
        if not rows:
            break
        after = rows[-1]["id"]
    return found, after


def _only_checks_differ(recipe: str, present: str) -> bool:
    return recipe != present and recipe.partition(CHECKS_PART)[0] == present.partition(CHECKS_PART)[0]


def judge_again(db: sqlite3.Connection, document: sqlite3.Row, recipe: str, settings: CheckSettings) -> None:
    """Renew findings, verdicts and recipe of one document, and what is searchable of it. The caller holds the transaction."""
    document_id = document["id"]
    draft = _draft(db, document)
    found = (*checks.check_pages(draft.extraction, settings), *checks.check_document(draft, settings))
    db.execute("DELETE FROM findings WHERE document_id = ? AND threshold IS NOT NULL", (document_id,))
    documents.put_findings(db, document_id, tuple(finding for finding in found if finding.threshold is not None))
    findings = _findings(db, document_id)
    pages = judged(draft.extraction.pages, findings, paged=draft.extraction.paged)
    db.executemany(
        "UPDATE pages SET verdict = ? WHERE document_id = ? AND page_index = ? AND verdict <> ?",
        [(page.verdict, document_id, page.index, page.verdict) for page in pages],
    )
    db.execute("UPDATE documents SET recipe = ?, verdict = ? WHERE id = ?", (recipe, checks.verdict(findings), document_id))
    review.apply(db, document_id)


def _draft(db: sqlite3.Connection, document: sqlite3.Row) -> Draft:
    rows = db.execute("SELECT * FROM pages WHERE document_id = ? ORDER BY page_index", (document["id"],))
    size = db.execute("SELECT max(size) FROM files WHERE document_id = ?", (document["id"],)).fetchone()[0] or 0
    pages = tuple(_page(row) for row in rows)
    extraction = Extraction(document["format"], pages=pages, paged=document["pages"] is not None, size=size)
    return Draft(extraction, (), _passages(db, document["id"]))


def _page(row: sqlite3.Row) -> Page:
    looks = {name: row[name] for name in documents.LOOKS}
    measures = Measures(**{name: row[name] for name in documents.MEASURES})
    return Page(row["page_index"], row["page_label"], **looks, measures=measures)


def _passages(db: sqlite3.Connection, document_id: int) -> tuple[Passage, ...]:
    first, last = index.span(document_id)
    columns = "ordinal, heading_path, page_index, page_label, text"
    rows = db.execute(
        f"SELECT {columns} FROM passages WHERE id BETWEEN :first AND :last "
        f"UNION ALL SELECT {columns} FROM withheld WHERE id BETWEEN :first AND :last ORDER BY ordinal",
        {"first": first, "last": last},
    )
    return tuple(Passage(*row) for row in rows)


def _findings(db: sqlite3.Connection, document_id: int) -> tuple[Finding, ...]:
    rows = db.execute(
        "SELECT code, severity, message, page_index, measure, threshold FROM findings WHERE document_id = ? ORDER BY id",
        (document_id,),
    )
    return tuple(Finding(*row) for row in rows)
