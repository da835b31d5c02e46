"""`winnow export`."""

import json
import sqlite3

import click

from winnowd.commands import common


@click.command("export")
@click.option(
    "--state",
    type=click.Choice(("indexed", "review", "rejected")),
    help="Only documents in this state (indexed, review, rejected).",
)
@common.options
def command(config: str | None, db: str | None, as_json: bool, state: str | None) -> None:
    """Write all documents as JSON Lines: one record each, with metadata, pages, outline, passages and findings.

    The output is JSON whether or not --json is given.
    """
    with common.reader(config, db) as connection:
        connection.execute("BEGIN")  # one state of the catalogue, however long it takes
        for row in connection.execute("SELECT * FROM documents ORDER BY id"):
            record = _record(connection, row)
            if state is None or record["state"] == state:
                click.echo(json.dumps(record, ensure_ascii=False))


def _record(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, object]:
    from winnowd.commands.show import passages
    from winnowd.store import files

    document_id, digest = row["id"], row["digest"]
    paths = db.execute(
        "SELECT id, state FROM files WHERE document_id = ? ORDER BY state = 'gone', state = 'pending', id", (document_id,)
    ).fetchall()
    keys = ("format", "title", "author", "created", "modified", "language", "encoding", "pages", "chars", "recipe", "verdict")
    return {
        "digest": digest,
        "paths": [files.path_of(db, path["id"]) for path in paths],
        "state": paths[0]["state"] if paths else None,
        **{key: row[key] for key in keys},
        "facts": _all(db, "SELECT source, key, value, believed FROM metadata WHERE document_id = ? ORDER BY id", document_id),
        "page_list": _all(
            db,
            "SELECT page_index, page_label, verdict, chars FROM pages WHERE document_id = ? ORDER BY page_index",
            document_id,
        ),
        "outline": _all(
            db, "SELECT level, title, page_index, page_label FROM outline WHERE document_id = ? ORDER BY ordinal", document_id
        ),
        "passages": [{"id": f"{digest[:16]}-{passage['ordinal']}", **dict(passage)} for passage in passages(db, document_id)],
        "findings": _all(
            db,
            "SELECT code, severity, page_index, measure, threshold, message FROM findings WHERE document_id = ? ORDER BY id",
            document_id,
        ),
    }


def _all(db: sqlite3.Connection, sql: str, document_id: int) -> list[dict[str, object]]:
    return [dict(row) for row in db.execute(sql, (document_id,))]
