"""`winnow scan`."""

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from winnowd.commands import common
from winnowd.errors import EXIT_INCOMPLETE, Interrupted, UsageError

if TYPE_CHECKING:
    import sqlite3

    from winnowd.drain import Progress


STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command("scan")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=common.PATH)
@click.option("--dry-run", is_flag=True, help="Only say what would be read and removed.")
@click.option("--verify", is_flag=True, help="Hash also what looks unchanged.")
@common.options
def command(config: str | None, db: str | None, as_json: bool, paths: tuple[str, ...], **how: bool) -> None:
    """Bring the catalogue in line with the disk.

    Walks each PATH (a watched folder, a part of one, or a new folder), or all watched folders where none is given;
    reads what is new or changed, and removes what is gone. It ends when nothing waits but what waits for a later attempt.
    """
    from winnowd import daemon, drain, store

    settings = common.load_config(config)
    targets = [common.existing_path(path) for path in paths]
    path = common.database_path(config, db)
    for target in targets:
        _refuse_inside(str(path), target)
    if how["dry_run"]:
        _dry_run(config, db, as_json, targets)
        return
    if not path.exists():
        drain.warm_up()
    try:
        with common.writer(config, db, create=True) as connection:
            shown = _Shown(quiet=as_json)
            with shown:
                progress = daemon.scan(connection, targets, settings, shown, verify=how["verify"])
            incomplete = _report(connection, progress, as_json)
    except store.Busy as busy:
        if not busy.holder.startswith("service"):
            raise
        incomplete = _ask(config, db, targets, as_json, verify=how["verify"])
    sys.exit(EXIT_INCOMPLETE if incomplete else 0)


def _ask(config: str | None, db: str | None, targets: list[str], as_json: bool, *, verify: bool) -> bool:
    """Let the running service scan; whether something was not read. What the paths mean is found out here, not in its loop."""
    from winnowd import daemon
    from winnowd.drain import Progress

    with common.reader(config, db) as connection:
        wanted = daemon.places(connection, targets)
    if not as_json and common.to_terminal():
        click.echo("the running service scans; Ctrl-C leaves it to it", err=True)
    answer = common.ask_service(common.database_path(config, db), "scan", {"targets": wanted, "verify": verify}, None)
    progress = Progress(
        **{name: answer[name] for name in ("listed", "read", "extracted", "linked", "judged", "removed", "held")}
    )
    with common.reader(config, db) as connection:
        return _report(connection, progress, as_json)


def _refuse_inside(database: str, target: str) -> None:
    if os.path.realpath(database).startswith(os.path.realpath(target).rstrip("/") + "/"):
        raise UsageError(f"{database}: the database lies inside the folder to be scanned; name a file elsewhere with --db")


def _dry_run(config: str | None, db: str | None, as_json: bool, targets: list[str]) -> None:
    from pathlib import Path

    from winnowd import daemon, store

    path = common.database_path(config, db)
    if path.exists():
        with common.writer(config, db) as connection:
            preview = daemon.preview(connection, targets, common.load_config(config))
    else:
        connection = store.open_writer(Path(":memory:"))
        preview = daemon.preview(connection, targets, common.load_config(config))
    if as_json:
        common.print_json(preview)
        return
    for name, value in preview.items():
        click.echo(f"{name.replace('_', ' ')}: {value}")


def _report(db: "sqlite3.Connection", progress: "Progress", as_json: bool) -> bool:
    """Say what the scan did; whether something was not read."""
    from winnowd.render import plural
    from winnowd.store import roots, status

    states = status.by_state(db)
    troubled = [row["message"] for row in roots.all_roots(db) if row["message"]]
    troubled += [message for message in progress.troubles if message not in troubled]
    if as_json:
        done = {key: getattr(progress, key) for key in ("listed", "read", "extracted", "linked", "judged", "removed", "held")}
        common.print_json({**done, "files": states, "next_attempt": status.next_attempt(db), "messages": troubled})
    else:
        kept = ", ".join(f"{count:,} {state}" for state, count in states.items() if count)
        click.echo(f"{plural(sum(states.values()) - states['gone'], 'file')}: {kept or 'none'}")
        read, made = plural(progress.read, "file"), plural(progress.extracted, "new document")
        click.echo(f"this scan: {read} read, {made}, {progress.linked:,} known, {progress.removed:,} removed", err=True)
        for message in troubled:
            click.echo(f"winnow: {message}", err=True)
        _hint(states)
    return bool(states["failed"] or states["pending"] or troubled)


def _hint(states: dict[str, int]) -> None:
    if states["review"]:
        click.echo("`winnow review list` shows what waits for a person and why", err=True)
    if states["failed"]:
        click.echo("`winnow failed list` shows what could not be read and why", err=True)


class _Shown:
    """Shows progress on a terminal, and turns an interrupt into an end at the next safe point."""

    def __init__(self, *, quiet: bool) -> None:
        self._asked_to_stop = False
        self._live = sys.stderr.isatty() and not quiet
        self._last = 0.0

    def __enter__(self) -> "_Shown":
        for number in STOPPING:
            signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number in STOPPING:
            signal.signal(number, signal.SIG_DFL)
        if self._live:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __call__(self, progress: "Progress") -> None:
        if self._asked_to_stop:
            raise Interrupted("stopped; what was done is kept, and the next scan goes on from there")
        now = time.monotonic()
        if self._live and now - self._last > 0.2:
            self._last = now
            click.echo(f"\r\x1b[K{self._line(progress, now)}", nl=False, err=True)

    def _stop(self, *_: object) -> None:
        self._asked_to_stop = True

    def _line(self, progress: "Progress", now: float) -> str:
        if not progress.reading_since:
            return f"{progress.listed:,} files seen"
        rate = progress.read / max(now - progress.reading_since, 0.1)
        left = (progress.to_read - progress.read) / rate if rate else 0
        parts = (
            f"{progress.read:,} of {progress.to_read:,} files",
            f"{rate:.0f}/s",
            f"{_minutes(left)} left",
            f"{progress.flagged:,} flagged",
        )
        return " · ".join((*parts, f"{progress.failed:,} failed"))


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
