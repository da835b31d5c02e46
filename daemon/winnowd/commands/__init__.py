"""The command line: one file per noun; each parses, calls one function below it, and renders. Errors become exit codes here.

Command modules are loaded when they are asked for, and load the rest of Winnow when they run, so that help appears at once.
"""

import difflib
import errno
import importlib
import os
import sys
from typing import Any

import click

from winnowd import __version__
from winnowd.errors import EXIT_FAILED, EXIT_INTERRUPTED, WinnowError

COMMANDS = {
    "scan": "Bring the catalogue in line with the disk.",
    "run": "Keep the catalogue in line with the disk, as a service.",
    "search": "Find documents by their words.",
    "show": "Print what is stored of a document.",
    "why": "Explain what became of a path.",
    "status": "Account for every file.",
    "review": "Work through documents whose text looks wrong.",
    "failed": "List and retry files that could not be read.",
    "roots": "List, release and forget watched folders.",
    "process": "Read one file without a database.",
    "sample": "Read documents at random.",
    "export": "Write all documents as JSON Lines.",
}
"""Each command with its one line of help, in the order in which people meet them. A test holds it to the commands' own help."""


class _Commands(click.Group):
    """Loads a command's module on demand, and turns Winnow's errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"winnowd.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            ctx.fail(f"there is no command {args[0]!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WinnowError as error:
            for line in str(error).splitlines():
                click.echo(f"winnow: {line}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            # The reader of our output went away (`winnow export | head`): that is no error of ours.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(0)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            click.echo(f"winnow: the output cannot be written: {error.strerror}", err=True)
            ctx.exit(EXIT_FAILED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["--help"]})
@click.version_option(__version__, prog_name="winnow")
@click.option(
    "--config",
    type=click.Path(readable=False),
    envvar="WINNOW_CONFIG",
    help="The configuration file (default: /etc/winnowd/config.toml).",
)
@click.pass_context
def winnow(ctx: click.Context, config: str | None) -> None:
    """Winnow keeps an honest full-text index of a shared drive, in one SQLite file.

    Exit codes: 0 done, 1 failed, 2 usage, 3 finished but something was not read, 4 nothing found, 75 another winnow holds the
    database, 78 bad configuration.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    ctx.obj = config
    if os.environ.get("NO_COLOR"):
        ctx.color = False
