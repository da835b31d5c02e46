"""The log: one line a record, on standard error, in the form that whoever reads there expects.

Hides who reads: the journal gets a priority before each line (sd-daemon(3)) and adds the time itself; a terminal gets the
sentence alone; a file or a pipe gets time and level. Names on a share are hostile: nothing in a record can begin a line.
"""

import logging
import os
import re
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import TextIO

from winnowd import disk

LINE_CHARS = (
    12_000  # journald breaks lines at 48 KiB (LineMax in journald.conf(5)), and what follows would be a line of its own
)
BARE = re.compile(r"[^\s\"'=\\]+")


def configure(stream: TextIO | None = None, *, verbose: bool = False) -> None:
    """Send all records to `stream` (standard error): Winnow's from INFO on (`verbose`: DEBUG), those of libraries from WARNING.

    A second call replaces the first. Warnings of Python become records too.
    """
    target = sys.stderr if stream is None else stream
    lines = _Lines(target)
    lines.setFormatter(_form(target))
    root = logging.getLogger()
    for old in [output for output in root.handlers if isinstance(output, _Lines)]:
        root.removeHandler(old)
    root.addHandler(lines)
    root.setLevel(logging.WARNING)
    logging.getLogger("winnowd").setLevel(logging.DEBUG if verbose else logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = _note_end
    threading.excepthook = lambda ended: _note_end(ended.exc_type, ended.exc_value, ended.exc_traceback)


def fields(**values: object) -> dict[str, object]:
    """Facts for the end of a line, as `key=value` pairs: `log.info("Walked", extra=fields(root=path, files=12))`.

    Values are quoted where they hold a blank, a quote, `=` or a backslash. None leaves its key out.
    """
    return {"fields": {key: value for key, value in values.items() if value is not None}}


def to_journal(stream: TextIO) -> bool:
    """Whether the stream is what JOURNAL_STREAM names as device:inode (systemd.exec(5)), and not redirected since."""
    seen = _seen(stream)
    return seen is not None and os.environ.get("JOURNAL_STREAM") == f"{seen.st_dev}:{seen.st_ino}"


def _note_end(kind: type[BaseException], error: BaseException | None, where: TracebackType | None) -> None:
    """What nobody caught, as one record: a traceback of its own would be many lines without a priority."""
    logging.getLogger("winnowd").error("A thread or the program ended", exc_info=(kind, error or kind(), where))


class _Lines(logging.StreamHandler[TextIO]):
    """Our own place among the root's outputs, so that a second `configure` finds it."""


class _Sentence(logging.Formatter):
    """The message, its fields and its traceback on one line. Alone it is what a terminal shows."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole line, without its end."""
        text = record.getMessage() + pairs(getattr(record, "fields", {}))
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        return self.head(record) + disk.printable(text[:LINE_CHARS])[:LINE_CHARS]

    def head(self, record: logging.LogRecord) -> str:
        """What stands before the sentence."""
        return ""


class _Prioritised(_Sentence):
    """For the journal: `<6>` and the like; the time is the journal's own."""

    def head(self, record: logging.LogRecord) -> str:
        return f"<{priority(record.levelno)}>"


class _Timed(_Sentence):
    """For a file or a pipe: time in UTC and level."""

    def head(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"{time} {record.levelname.lower()}: "


def _form(stream: TextIO) -> logging.Formatter:
    if to_journal(stream):
        return _Prioritised()
    return _Sentence() if stream.isatty() else _Timed()


def _seen(stream: TextIO) -> os.stat_result | None:
    try:
        return os.fstat(stream.fileno())
    except (OSError, ValueError):  # no file behind it, or closed
        return None


def priority(level: int) -> int:
    """The syslog priority of a level: 3 error, 4 warning, 6 information, 7 debugging.

    >>> priority(logging.CRITICAL), priority(logging.WARNING), priority(logging.INFO), priority(logging.DEBUG)
    (3, 4, 6, 7)
    """
    if level >= logging.ERROR:
        return 3
    if level >= logging.WARNING:
        return 4
    return 6 if level >= logging.INFO else 7


def pairs(values: dict[str, object]) -> str:
    r"""The fields of a record as they stand behind its sentence, each with a blank before it.

    >>> pairs({"files": 12, "root": "/srv/a b", "name": 'x" y=1'})
    ' files=12 root="/srv/a b" name="x\\" y=1"'
    """
    return "".join(f" {key}={_quoted(str(value))}" for key, value in values.items())


def _quoted(value: str) -> str:
    shown = disk.printable(value.replace("\\", "\\\\")).replace('"', '\\"')
    return shown if BARE.fullmatch(shown) else f'"{shown}"'
