"""`winnow show`."""

import json
import sqlite3
from collections.abc import Callable

import click

from winnowd.commands import common
from winnowd.errors import NothingFound

_Part = Callable[[sqlite3.Connection, sqlite3.Row, bool], None]


@click.command("show")
@click.argument("named", metavar="FILE|DIGEST", type=common.PATH)
@click.option("--page", "page", metavar="LABEL", help="Only this page, by its label, else by its number from 1.")
@click.option("--outline", is_flag=True, help="The outline: bookmarks or headings.")
@click.option("--metadata", is_flag=True, help="Every fact with its source; the believed ones are marked.")
@click.option("--findings", is_flag=True, help="What the checks say.")
@click.option("--steps", is_flag=True, help="What cleaning did, and the lines it set aside.")
@common.options
def command(config: str | None, db: str | None, as_json: bool, named: str, page: str | None, **parts: bool) -> None:
    """Print what is stored of a document: its text, or the parts that are asked for."""
    with common.reader(config, db) as connection:
        document = common.document_row(connection, named)
        wanted = [part for part, asked in parts.items() if asked]
        if not wanted:
            _text(connection, document, page, as_json)
        for part in wanted:
            _PARTS[part](connection, document, as_json)


def _text(db: sqlite3.Connection, document: sqlite3.Row, page: str | None, as_json: bool) -> None:
    rows = passages(db, document["id"])
    if page is not None:
        rows = [row for row in rows if row["page_index"] == _page_index(db, document["id"], page)]
    if as_json:
        keys = (
            "digest",
            "format",
            "title",
            "author",
            "created",
            "modified",
            "language",
            "encoding",
            "pages",
            "chars",
            "recipe",
            "verdict",
        )
        common.print_json({**{key: document[key] for key in keys}, "passages": [dict(row) for row in rows]})
        return
    from winnowd.render import safe

    shown = None
    for row in rows:
        if row["page_index"] is not None and row["page_index"] != shown:
            shown = row["page_index"]
            held = " (waits for review)" if row["withheld"] else ""
            click.secho(f"--- page {row['page_label'] or shown + 1}{held}", dim=True)
        click.echo(safe(row["text"]) + "\n")


def passages(db: sqlite3.Connection, document_id: int) -> list[sqlite3.Row]:
    """All passages of a document in order, searchable and withheld."""
    return db.execute(
        "SELECT ordinal, heading_path, page_index, page_label, text, 0 AS withheld FROM passages "
        "WHERE id BETWEEN :id << 16 AND (:id << 16) + 65535 UNION ALL "
        "SELECT ordinal, heading_path, page_index, page_label, text, 1 FROM withheld "
        "WHERE id BETWEEN :id << 16 AND (:id << 16) + 65535 ORDER BY ordinal",
        {"id": document_id},
    ).fetchall()


def _page_index(db: sqlite3.Connection, document_id: int, page: str) -> int:
    row = db.execute(
        "SELECT page_index FROM pages WHERE document_id = ? AND page_label = ? ORDER BY page_index", (document_id, page)
    ).fetchone()
    if row is not None:
        return int(row[0])
    pages = db.execute("SELECT count(*) FROM pages WHERE document_id = ?", (document_id,)).fetchone()[0]
    if page.isdigit() and 1 <= int(page) <= pages:
        return int(page) - 1
    raise NothingFound(f"there is no page {page}; the document has {pages}")


def _outline(db: sqlite3.Connection, document: sqlite3.Row, as_json: bool) -> None:
    rows = db.execute(
        "SELECT level, title, page_index, page_label FROM outline WHERE document_id = ? ORDER BY ordinal", (document["id"],)
    ).fetchall()
    if as_json:
        common.print_json([dict(row) for row in rows])
    elif common.to_terminal():
        for row in rows:
            place = "" if row["page_index"] is None else f"  {row['page_label'] or row['page_index'] + 1}"
            click.echo("  " * (row["level"] - 1) + " ".join(row["title"].split()) + place)
    else:
        common.print_rows((), [tuple(row) for row in rows])


def _rows(sql: str, header: tuple[str, ...]) -> _Part:
    def part(db: sqlite3.Connection, document: sqlite3.Row, as_json: bool) -> None:
        rows = db.execute(sql, (document["id"],)).fetchall()
        if as_json:
            common.print_json([dict(row) for row in rows])
        else:
            common.print_rows(header, [tuple(row) for row in rows])

    return part


def _steps(db: sqlite3.Connection, document: sqlite3.Row, as_json: bool) -> None:
    rows = db.execute(
        "SELECT step, touched, lines FROM steps WHERE document_id = ? ORDER BY ordinal", (document["id"],)
    ).fetchall()
    steps = [{**dict(row), "lines": json.loads(row["lines"])} for row in rows]
    if as_json:
        common.print_json(steps)
    else:
        common.print_rows(("step", "touched", "set aside"), [(s["step"], s["touched"], " | ".join(s["lines"])) for s in steps])


_METADATA = """
    SELECT source, key, value, CASE believed WHEN 1 THEN 'believed' ELSE '' END AS believed
    FROM metadata WHERE document_id = ? ORDER BY id"""
_FINDINGS = """
    SELECT code, severity, page_index, measure, threshold, message
    FROM findings WHERE document_id = ? ORDER BY severity DESC, id"""
_PARTS: dict[str, _Part] = {
    "outline": _outline,
    "metadata": _rows(_METADATA, ("source", "key", "value", "")),
    "findings": _rows(_FINDINGS, ("code", "severity", "page", "measure", "threshold", "message")),
    "steps": _steps,
}
