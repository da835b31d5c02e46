"""`winnow sample`."""

import random
import sqlite3
import sys

import click

from winnowd.commands import common
from winnowd.errors import EXIT_NOTHING_FOUND

SHOWN = 700  # characters of each document: what a person takes in at a glance


@click.command("sample")
@click.argument("count", metavar="[N]", default=5, type=click.IntRange(1, 1000))
@click.option("--format", "format_", help="Only documents of this format.")
@common.options
def command(config: str | None, db: str | None, as_json: bool, count: int, format_: str | None) -> None:
    """Read documents at random, five where no number is given: the quickest way to see what a collection is like."""
    with common.reader(config, db) as connection:
        ids = [
            row[0] for row in connection.execute("SELECT id FROM documents WHERE ? IS NULL OR format = ?", (format_, format_))
        ]
        picked = random.sample(ids, min(count, len(ids)))
        documents = [_document(connection, document_id) for document_id in picked]
    if as_json:
        common.print_json(documents)
    else:
        for document in documents:
            _print(document)
    if not documents:
        sys.exit(EXIT_NOTHING_FOUND)


def _document(db: sqlite3.Connection, document_id: int) -> dict[str, object]:
    from winnowd.commands.show import passages
    from winnowd.store import files, review

    row = db.execute("SELECT * FROM documents WHERE id = ?", (document_id,)).fetchone()
    file = review.best_file(db, document_id)
    findings = db.execute("SELECT code, message FROM findings WHERE document_id = ? ORDER BY severity DESC, id", (document_id,))
    found = passages(db, document_id)
    start = random.randrange(len(found)) if found else 0
    text = "\n\n".join(passage["text"] for passage in found[start : start + 2])
    return {
        "path": files.path_of(db, file["id"]),
        "digest": row["digest"],
        "state": file["state"],
        "title": row["title"],
        "format": row["format"],
        "page_label": found[start]["page_label"] if found else None,
        "findings": [dict(finding) for finding in findings],
        "text": text[:SHOWN],
    }


def _print(document: dict[str, object]) -> None:
    from winnowd.disk import printable
    from winnowd.render import flat, safe

    click.secho(printable(str(document["path"])), bold=True)
    click.echo(f"{document['state']}, {document['format']}" + (f", {flat(document['title'])}" if document["title"] else ""))
    for finding in document["findings"] if isinstance(document["findings"], list) else ():
        click.echo(f"{finding['code']}: {flat(finding['message'])}")
    click.echo(safe(str(document["text"])) + "\n")
