"""`winnow run`."""

import sqlite3
import sys

import click

from winnowd.commands import common
from winnowd.errors import UsageError


@click.command("run")
@click.option("--config", "own", type=common.PATH, help="The configuration file (default: /etc/winnowd/config.toml).")
@click.option("--verbose", is_flag=True, help="Log more.")
@common.options
def command(config: str | None, db: str | None, as_json: bool, own: str | None, verbose: bool) -> None:
    """Keep the catalogue in line with the disk, as a service.

    It follows changes by events where the kernel sees them and by walking again where it does not, and goes on until it is
    stopped (SIGTERM). SIGHUP reads the configuration again. Other commands work beside it. It logs to standard error.
    """
    from winnowd import journal, store
    from winnowd.config import Config
    from winnowd.loop import Loop
    from winnowd.notify import Notify

    if as_json:
        raise UsageError("the service prints nothing; `winnow status --json` tells how it is")
    named = own or config
    notify = Notify.from_environment()
    journal.configure(verbose=verbose)

    def load() -> Config:
        return common.load_config(named)

    load()  # what is wrong with it is said before anything else
    path = common.database_path(named, db)
    if db is None:
        common.make_folder(path.parent)
    common.refuse_network(path)
    with store.lock(path, "service"):
        connection = store.open_writer(path)
        try:
            Loop(connection, path, load, notify).run()
        except sqlite3.DatabaseError as error:
            if not store.is_damaged(error):
                raise
            raise store.damaged(path, error) from None
        finally:
            connection.close()
    sys.exit(0)
