"""`winnow why`."""

import os
import sqlite3
import sys

import click

from winnowd.commands import common
from winnowd.errors import EXIT_NOTHING_FOUND

WORDS = {
    "pending": "It waits to be read.",
    "gone": "It is held: a walk did not find it.",
}


@click.command("why")
@click.argument("path", type=common.PATH)
@common.options
def command(config: str | None, db: str | None, as_json: bool, path: str) -> None:
    """Explain what became of a path: its state, the reason, and what was found in it."""
    full = os.path.abspath(path)
    with common.reader(config, db) as connection:
        row = common.file_row(connection, full)
        answer = _unknown(connection, full, config) if row is None else _known(connection, row)
    if as_json:
        common.print_json(answer)
    else:
        _print(answer)
    if answer["state"] is None:
        sys.exit(EXIT_NOTHING_FOUND)


def _known(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, object]:
    from winnowd.store import files, review, roots

    document_id = row["document_id"]
    findings = db.execute(
        "SELECT code, severity, page_index, measure, threshold, message FROM findings WHERE document_id = ? OR file_id = ? "
        "ORDER BY severity DESC, id",
        (document_id, row["id"]),
    ).fetchall()
    others = db.execute("SELECT id FROM files WHERE document_id = ? AND id <> ?", (document_id, row["id"])).fetchall()
    root = roots.get(db, row["root_id"])
    decisions = review.history(db, row["digest"]) if row["digest"] else []
    keys = ("digest", "format", "size", "attempts", "next_attempt")
    return {
        "path": files.path_of(db, row["id"]),
        "state": row["state"],
        "reason": row["reason"],
        "message": row["message"] or (_searchable(db, document_id) if row["state"] == "indexed" else WORDS.get(row["state"])),
        **{key: row[key] for key in keys},
        "root": {"state": root["state"], "message": root["message"], "walked_at": root["walked_at"]},
        "same_content": [files.path_of(db, other["id"]) for other in others],
        "findings": [dict(finding) for finding in findings],
        "decisions": [{key: one[key] for key in ("decision", "who", "at", "note")} for one in decisions],
    }


def _searchable(db: sqlite3.Connection, document_id: int) -> str:
    from winnowd.store.index import span

    counts = [
        db.execute(f"SELECT count(*) FROM {table} WHERE id BETWEEN ? AND ?", span(document_id)).fetchone()[0]
        for table in ("passages", "withheld")
    ]
    if not any(counts):
        return "It holds no text that could be searched."
    return (
        "Its text is searchable."
        if not counts[1]
        else "Its good pages are searchable; a person decided that the rest stays out."
    )


def _unknown(db: sqlite3.Connection, full: str, config: str | None) -> dict[str, object]:
    from winnowd import rules
    from winnowd.disk import loaded, printable
    from winnowd.store import roots

    shown = printable(full)
    root = roots.containing(db, full)
    if root is None:
        known = ", ".join(printable(loaded(row["path"])) for row in roots.all_roots(db)) or "none"
        return _nothing(shown, "outside", f"It lies in no watched folder (they are: {known}).")
    relative = roots.relative(root, full)
    if not relative:
        return _nothing(shown, "root", f"It is a watched folder, {root['state']}; `winnow status` accounts for its files.")
    excluded = rules.excluding(rules.rules_for(common.load_config(config), loaded(root["path"])), relative)
    if excluded is not None:
        folder, rule = excluded
        return _nothing(
            shown, "excluded", f"The folder {printable(folder)} is left out by the pattern {rule!r} (walk.exclude)."
        )
    if os.path.isdir(full) and not os.path.islink(full):
        return _nothing(shown, "folder", "It is a folder; only files have a state.")
    if os.path.lexists(full):
        return _nothing(shown, "new", "It is there, but no walk has seen it yet: `winnow scan` does.")
    return _nothing(shown, "missing", "There is no such file, and the catalogue knows none.")


def _nothing(path: str, reason: str, message: str) -> dict[str, object]:
    return {"path": path, "state": None, "reason": reason, "message": message}


def _print(answer: dict[str, object]) -> None:
    from winnowd.disk import printable
    from winnowd.render import flat

    click.echo(
        f"{printable(str(answer['path']))}: {answer['state'] or 'unknown'}"
        + (f" ({answer['reason']})" if answer["reason"] else "")
    )
    click.echo(f"  {flat(answer['message'])}")
    findings, others, decisions = (answer.get(key) for key in ("findings", "same_content", "decisions"))
    for finding in findings if isinstance(findings, list) else ():
        click.echo(f"  {finding['code']}: {flat(finding['message'])}")
    for path in others if isinstance(others, list) else ():
        click.echo(f"  same content: {printable(path)}")
    for one in decisions if isinstance(decisions, list) else ():
        click.echo(f"  {one['decision']} by {one['who']} at {one['at']}" + (f": {flat(one['note'])}" if one["note"] else ""))
    for key in ("digest", "format", "next_attempt"):
        if answer.get(key):
            click.echo(f"  {key.replace('_', ' ')}: {answer[key]}")
