"""`winnow search`."""

import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from winnowd.commands import common
from winnowd.errors import EXIT_NOTHING_FOUND, UsageError

if TYPE_CHECKING:
    from winnowd.query import Query
    from winnowd.store.search import Answer

LITERAL = "winnowd.literal"


class _Words(click.Command):
    """Keeps apart what stands behind `--`: that is text, whatever it looks like."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[LITERAL] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


@click.command("search", cls=_Words, context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="WORDS...", nargs=-1, type=click.UNPROCESSED)
@click.option("--under", type=common.PATH, help="Only files below this folder.")
@click.option("--format", "format_", help="Only documents of this format (pdf, docx, html, ...).")
@click.option("--language", help="Only documents in this language (en, de, ...).")
@click.option("--since", metavar="DATE", help="Only files modified in or after this year, month or day.")
@click.option("--until", metavar="DATE", help="Only files modified in or before this year, month or day.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="At most this many documents.")
@click.option("--fts", is_flag=True, help="The words are an FTS5 expression.")
@common.options
@click.pass_context
def command(ctx: click.Context, /, config: str | None, db: str | None, as_json: bool, limit: int, **asked: object) -> None:
    """Find documents by their words.

    Every word must occur in a document: in its text, its title, its author or its name. "Several words" in quotes are a phrase,
    OR in capitals stands between two alternatives, word* finds what begins so, -word leaves documents out.
    """
    from winnowd.store.search import search

    query = _query(ctx, asked)
    marks = ("\x1b[1m", "\x1b[0m") if common.to_terminal() and not as_json and ctx.color is not False else ("[", "]")
    with common.reader(config, db) as connection:
        answer = search(connection, query, limit, marks)
    if as_json:
        common.print_json([asdict(hit) for hit in answer.hits])
    else:
        _print(answer)
    for line in _remarks(answer, limit, _strings(asked["words"])):
        click.echo(f"winnow: {line}", err=True)
    if not answer.hits:
        sys.exit(EXIT_NOTHING_FOUND)


def _remarks(answer: "Answer", limit: int, typed: tuple[str, ...]) -> list[str]:
    """What there is to say about an answer: that it was cut, or that something was taken for a word."""
    remarks = [answer.cut] if answer.cut else []
    if len(answer.hits) == limit and answer.total != limit:
        remarks.append(f"the first {limit:,} documents are shown; --limit shows more")
    options = [word for word in typed if word.startswith("--")]
    if options and not answer.hits:
        remarks.append(f"{options[0]} is no option of search and was taken as a word")
    return remarks


def _query(ctx: click.Context, asked: dict[str, object]) -> "Query":
    from dataclasses import replace

    from winnowd.query import Filters, Query, day_after, first_day, parse

    typed, literal = _strings(asked["words"]), ctx.meta[LITERAL]
    under, since, until = (asked[key] for key in ("under", "since", "until"))
    filters = Filters(
        under=os.fsencode(os.path.abspath(str(under))) if under else None,
        format=str(asked["format_"]) if asked["format_"] else None,
        language=str(asked["language"]) if asked["language"] else None,
        since=first_day(str(since)) if since else None,
        before=day_after(str(until)) if until else None,
    )
    if not typed and not literal:
        raise UsageError("search for what? `winnow search --help` shows how")
    query = Query(raw=" ".join((*typed, *literal))) if asked["fts"] else parse(typed, literal)
    return replace(query, filters=filters)


def _strings(words: object) -> tuple[str, ...]:
    return tuple(str(word) for word in words) if isinstance(words, tuple) else ()


def _print(answer: "Answer") -> None:
    from winnowd.disk import printable
    from winnowd.render import flat

    if not common.to_terminal():
        rows = [(h.path, h.page_label or h.page_index, h.heading_path, h.state, h.title, h.snippet) for h in answer.hits]
        common.print_rows((), rows)
        return
    for hit in answer.hits:
        click.secho(flat(hit.title), bold=True, nl=False)
        place = [f"page {hit.page_label or (hit.page_index or 0) + 1}"] if hit.page_index is not None else []
        place += [flat(hit.heading_path)] if hit.heading_path else []
        place += [] if hit.state == "indexed" else [hit.state]
        click.echo("".join(f"  · {part}" for part in place))
        if hit.snippet:
            click.echo("  " + " ".join(hit.snippet.split()))
        click.secho(f"  {printable(hit.path)}" + (f" and {len(hit.paths) - 1} more" if len(hit.paths) > 1 else ""), dim=True)
