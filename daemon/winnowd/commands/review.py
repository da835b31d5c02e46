"""`winnow review`."""

import sqlite3
import sys
from typing import TYPE_CHECKING, Any

import click

from winnowd.commands import common
from winnowd.errors import EXIT_NOTHING_FOUND, UsageError
from winnowd.model import Decision

if TYPE_CHECKING:
    from winnowd.store.review import Waiting

REASON = ("code", "page_index", "page_label", "measure", "threshold", "message")


@click.group("review")
def command() -> None:
    """Work through documents whose text looks wrong: some of their pages wait for a person."""


@command.command("list")
@click.option("--check", help="Only documents that wait for this reason (scanned, garbled, ...).")
@common.options
def list_(config: str | None, db: str | None, as_json: bool, check: str | None) -> None:
    """List the documents that wait, each with its reasons."""
    from winnowd.store import review

    common.one_of(check, _codes(), "check")
    with common.reader(config, db) as connection:
        entries = [_entry(connection, one) for one in review.waiting(connection, check)]
    if as_json:
        common.print_json(entries)
    else:
        rows = [(e["digest"][:16], e["paths"][0], *_summary(e["reasons"])) for e in entries]
        common.print_rows(("digest", "path", "reasons", "first message"), rows)
        if not entries:
            sys.exit(EXIT_NOTHING_FOUND)


@command.command("show")
@click.argument("named", metavar="FILE|DIGEST", type=common.PATH)
@common.options
def show(config: str | None, db: str | None, as_json: bool, named: str) -> None:
    """Show why a document waits, what was decided before, and the text of the pages in question."""
    from winnowd.commands.show import passages
    from winnowd.store import review

    with common.reader(config, db) as connection:
        document = common.document_row(connection, named)
        entry = _entry(connection, review.one(connection, document["id"]))
        history = [dict(row) for row in review.history(connection, document["digest"])]
        withheld = [dict(row) for row in passages(connection, document["id"]) if row["withheld"]]
    if as_json:
        common.print_json({**entry, "decisions": history, "withheld": withheld})
        return
    from winnowd.disk import printable
    from winnowd.render import flat, safe

    for path in entry["paths"]:
        click.secho(printable(path), bold=True)
    click.echo(f"{entry['digest']}: {entry['state']}")
    for reason in entry["reasons"]:
        click.echo(f"  {reason['code']}: {flat(reason['message'])}")
    for row in history:
        click.echo(f"  {row['decision']} by {row['who']} at {row['at']}" + (f": {flat(row['note'])}" if row["note"] else ""))
    for passage in withheld:
        click.secho(f"--- page {passage['page_label'] or (passage['page_index'] or 0) + 1}", dim=True)
        click.echo(safe(passage["text"]))


def _decision(decision: Decision, summary: str) -> click.Command:
    @click.argument("named", metavar="[FILE|DIGEST...]", nargs=-1, type=common.PATH)
    @click.option("--check", help="All documents that wait for this reason.")
    @click.option("--note", help="A note that is kept with the decision.")
    @common.options
    def decide(
        config: str | None, db: str | None, as_json: bool, named: tuple[str, ...], check: str | None, note: str | None
    ) -> None:
        from winnowd.render import plural

        if not named and check is None:
            raise UsageError(f"{decision} what? name documents by path or digest, or --check CODE")
        common.one_of(check, _codes(), "check")
        with common.reader(config, db) as connection:
            ids = _ids(connection, named, check)
        done = common.carry_out(config, db, "decide", {"decision": decision, "documents": ids, "note": note})
        if as_json:
            common.print_json(done)
        else:
            click.echo(f"{decision}: {plural(done['documents'], 'document')}")

    return command.command(decision, help=summary)(decide)


accept = _decision("accept", "Make the waiting pages of documents searchable.")
keep = _decision("keep", "Leave good pages searchable and the rest out; the documents are done with.")
reject = _decision("reject", "Take whole documents out of the search.")


@command.command("retry")
@click.argument("named", metavar="FILE|DIGEST...", nargs=-1, required=True, type=common.PATH)
@common.options
def retry(config: str | None, db: str | None, as_json: bool, named: tuple[str, ...]) -> None:
    """Let documents be read again, by the next scan or by the running service."""
    from winnowd.render import plural

    with common.reader(config, db) as connection:
        ids = _ids(connection, named, None)
    done = common.carry_out(config, db, "retry documents", {"documents": ids})
    if as_json:
        common.print_json(done)
    else:
        click.echo(f"{plural(done['retried'], 'document')} to be read again {common.when(config, db)}")


def _codes() -> set[str]:
    from winnowd.checks import CHECKS

    return {one.code for one in CHECKS}


def _ids(db: sqlite3.Connection, named: tuple[str, ...], check: str | None) -> list[int]:
    ids = [int(common.document_row(db, one)["id"]) for one in named]
    if check is not None:
        sql = (
            "SELECT DISTINCT f.document_id FROM findings f JOIN files ON files.document_id = f.document_id "
            "WHERE f.code = ? AND f.severity = 'review' AND files.state = 'review'"
        )
        ids += [row[0] for row in db.execute(sql, (check,)) if row[0] not in ids]
    return ids


def _entry(db: sqlite3.Connection, one: "Waiting") -> dict[str, Any]:
    from winnowd.store import files

    return {
        "digest": one.digest,
        "paths": [files.path_of(db, file_id) for file_id in one.files],
        "reasons": [{key: reason[key] for key in REASON} for reason in one.reasons],
        "state": one.state,
        "title": one.title,
        "format": one.format,
        "earlier_decision": one.earlier,
    }


def _summary(reasons: list[dict[str, Any]]) -> tuple[str, object]:
    codes = sorted({str(reason["code"]) for reason in reasons})
    return ", ".join(codes), reasons[0]["message"] if reasons else ""
