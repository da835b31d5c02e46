"""One line a record, whatever is in it, in the form that the reader on the other end expects."""

import contextlib
import io
import logging
import os
import pty
import re
import sys
import threading
import warnings

import pytest

from winnowd import journal

log = logging.getLogger("winnowd.test")


@pytest.fixture(autouse=True)
def as_before():
    """Logging belongs to the whole process: put back what `configure` sets."""
    root, ours = logging.getLogger(), logging.getLogger("winnowd")
    outputs, levels = list(root.handlers), (root.level, ours.level)
    hooks = sys.excepthook, threading.excepthook
    yield
    sys.excepthook, threading.excepthook = hooks
    root.handlers[:] = outputs
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    logging.captureWarnings(False)


@pytest.fixture
def pipe():
    """Both ends of a pipe: a stream to log to, and what it then holds."""
    out, into = os.pipe()
    stream = os.fdopen(into, "w", encoding="utf-8")

    def held() -> list[str]:
        stream.close()
        with open(out, encoding="utf-8", newline="\n") as read:
            return read.read().split("\n")[:-1]

    yield stream, held
    stream.close()


def as_journal(monkeypatch, stream):
    seen = os.fstat(stream.fileno())
    monkeypatch.setenv("JOURNAL_STREAM", f"{seen.st_dev}:{seen.st_ino}")


def test_the_journal_gets_a_priority_and_no_time(pipe, monkeypatch):
    stream, held = pipe
    as_journal(monkeypatch, stream)
    journal.configure(stream, verbose=True)
    for say in (log.debug, log.info, log.warning, log.error, log.critical):
        say("Walked")
    assert held() == ["<7>Walked", "<6>Walked", "<4>Walked", "<3>Walked", "<3>Walked"]


def test_a_pipe_that_is_not_the_journal_gets_the_time_and_the_level(pipe, monkeypatch):
    stream, held = pipe
    monkeypatch.setenv("JOURNAL_STREAM", "1:2")  # as inherited, with standard error redirected since
    journal.configure(stream)
    log.warning("Walked")
    (line,) = held()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ warning: Walked", line)


def test_a_terminal_gets_the_sentence_alone(monkeypatch):
    monkeypatch.delenv("JOURNAL_STREAM", raising=False)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, os.fdopen(ours, "rb", buffering=0) as screen:
        journal.configure(stream)
        log.info("Walked %d", 3, extra=journal.fields(root="/srv"))
        assert screen.read(100) == b"Walked 3 root=/srv\r\n"


def test_a_stream_without_a_file_behind_it_gets_the_time(monkeypatch):
    monkeypatch.setenv("JOURNAL_STREAM", "1:2")
    stream = io.StringIO()
    journal.configure(stream)
    log.info("Walked")
    assert stream.getvalue().endswith("Z info: Walked\n")


HOSTILE = "a\n<3>forged\r\x1b[2J\u2028\u202e\udcff.pdf"


def test_no_name_can_begin_a_line_or_speak_to_a_terminal(pipe, monkeypatch):
    stream, held = pipe
    as_journal(monkeypatch, stream)
    journal.configure(stream)
    log.info("Read %s", HOSTILE, extra=journal.fields(name=HOSTILE))
    shown = r"a\n<3>forged\r\x1b[2J\u2028\u202e\xff.pdf"
    assert held() == [f'<6>Read {shown} name="{shown}"']


def test_a_traceback_stays_on_the_line_of_its_record(pipe):
    stream, held = pipe
    journal.configure(stream)
    try:
        raise ValueError("a\nb")
    except ValueError:
        log.exception("Stopped", extra=journal.fields(file=1))
    (line,) = held()
    assert " error: Stopped file=1\\nTraceback (most recent call last):\\n" in line
    assert line.endswith("ValueError: a\\nb")


def test_the_longest_line_is_no_longer_than_the_journal_keeps_whole(pipe, monkeypatch):
    stream, held = pipe
    as_journal(monkeypatch, stream)
    journal.configure(stream)
    log.info("%s", "𝄞" * 12_000)
    (line,) = held()
    assert len(line.encode()) < 48 * 1_024


def test_a_thread_that_ends_is_one_line(pipe):
    stream, held = pipe
    journal.configure(stream)
    thread = threading.Thread(target=lambda: {}["gone"])
    thread.start()
    thread.join()
    (line,) = held()
    assert " error: A thread or the program ended\\nTraceback" in line
    assert line.endswith("KeyError: 'gone'")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12, "12"),
        (0.5, "0.5"),
        ("/srv/share", "/srv/share"),
        ("größer", "größer"),
        ("", '""'),
        ("a b", '"a b"'),
        ("a=b", '"a=b"'),
        ('x" y=1', r'"x\" y=1"'),
        ("x\\", r'"x\\"'),
        ("x\ny", r'"x\ny"'),
        ("x\\ny", r'"x\\ny"'),  # not the same name as the one before
        ("100%s", "100%s"),
    ],
)
def test_a_field_is_quoted_where_it_could_be_mistaken(pipe, value, shown):
    stream, held = pipe
    journal.configure(stream)
    log.info("Walked", extra=journal.fields(root=value, files=3, left=None))
    assert held()[0].endswith(f": Walked root={shown} files=3")


def test_libraries_are_heard_from_warning_on_and_winnow_from_info_on(pipe):
    stream, held = pipe
    journal.configure(stream)
    for name in ("watchdog.observers.inotify", "trafilatura", "winnowd.walk"):
        logging.getLogger(name).debug("%s debugs", name)
        logging.getLogger(name).info("%s informs", name)
        logging.getLogger(name).warning("%s warns", name)
    assert [line.split(": ")[1] for line in held()] == [
        "watchdog.observers.inotify warns",
        "trafilatura warns",
        "winnowd.walk informs",
        "winnowd.walk warns",
    ]


def test_to_configure_twice_logs_once(pipe):
    stream, held = pipe
    journal.configure(io.StringIO())
    journal.configure(stream)
    log.info("Walked")
    assert len(held()) == 1


def test_a_warning_of_python_is_a_record(pipe):
    stream, held = pipe
    journal.configure(stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)  # catch_warnings put the old way to show them back
        warnings.warn("old\nuse", DeprecationWarning, stacklevel=1)
    (line,) = held()
    assert " warning: " in line and "DeprecationWarning: old\\nuse" in line


def test_a_log_that_nobody_reads_any_more_stops_nothing(monkeypatch):
    out, into = os.pipe()
    os.close(out)
    stream = os.fdopen(into, "w", encoding="utf-8")
    monkeypatch.setattr("sys.stderr", stream)
    journal.configure()
    for _ in range(1_000):
        log.info("Walked")
    monkeypatch.undo()
    with contextlib.suppress(BrokenPipeError):
        stream.close()
