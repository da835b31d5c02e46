"""`winnow failed`."""

import sys

import click

from winnowd.commands import common
from winnowd.errors import EXIT_NOTHING_FOUND, FAILURES, NothingFound, UsageError


@click.group("failed")
def command() -> None:
    """List and retry files that could not be read."""


@command.command("list")
@click.option("--code", help="Only this failure code (encrypted, damaged, timed_out, ...).")
@click.option("--waiting", is_flag=True, help="The files that wait for a later attempt instead.")
@common.options
def list_(config: str | None, db: str | None, as_json: bool, code: str | None, waiting: bool) -> None:
    """List the files that should have been read and could not be, each with the reason."""
    from winnowd.store import files

    common.one_of(code, FAILURES, "failure code")
    with common.reader(config, db) as connection:
        rows = connection.execute(
            "SELECT id, reason, message, attempts FROM files WHERE state = ? AND reason = ifnull(?, reason) ORDER BY label",
            ("pending" if waiting else "failed", code),
        ).fetchall()
        entries = [
            {
                "path": files.path_of(connection, r["id"]),
                "code": r["reason"],
                "message": r["message"],
                "attempts": r["attempts"],
            }
            for r in rows
        ]
    if as_json:
        common.print_json(entries)
    else:
        common.print_rows(("path", "code", "message", "attempts"), [tuple(entry.values()) for entry in entries])
        if not entries:
            sys.exit(EXIT_NOTHING_FOUND)


@command.command("retry")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=common.PATH)
@click.option("--code", help="All files with this failure code.")
@click.option("--all", "everything", is_flag=True, help="All failed files.")
@common.options
def retry(
    config: str | None, db: str | None, as_json: bool, paths: tuple[str, ...], code: str | None, everything: bool
) -> None:
    """Let failed files be read again, by the next scan or by the running service."""
    from winnowd.render import plural

    common.one_of(code, FAILURES, "failure code")
    if not paths and not code and not everything:
        raise UsageError("retry what? name paths, --code CODE or --all")
    with common.reader(config, db) as connection:
        ids = [
            row["id"] for path in paths if (row := common.file_row(connection, path)) is not None and row["state"] == "failed"
        ]
        if len(ids) < len(paths):
            raise NothingFound("not every path is that of a failed file; `winnow failed list` shows them")
        if code or everything:
            sql = "SELECT id FROM files WHERE state = 'failed' AND (? IS NULL OR reason = ?)"
            ids += [row["id"] for row in connection.execute(sql, (code, code))]
    done = common.carry_out(config, db, "retry files", {"files": ids})
    if as_json:
        common.print_json(done)
    else:
        click.echo(f"{plural(done['retried'], 'file')} to be read again {common.when(config, db)}")
