"""One job in a child: open, hash, ask the parent whether it knows the content, extract, refine.

This is where trouble with a document becomes a value. The one broad `except` of the package is here, around one job.
"""

import errno
import gc
import hashlib
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from io import BufferedRandom, BufferedReader
from typing import Protocol

from winnowd import disk, formats, pipeline, reports
from winnowd.config import Config
from winnowd.errors import DocumentError, Empty, Moved, TooLarge, Unsupported
from winnowd.extract import Reading, extract
from winnowd.model import Content, Failure, Job, Outcome, Stamp
from winnowd.reports import Linked, Read, Report, Unread, Unsettled

PRELOAD = ("winnowd.worker", "winnowd.extract.pdf", "winnowd.extract.docx", "winnowd.extract.html", "winnowd.extract.markdown")
Bytes = BufferedReader | BufferedRandom
PROGRESS_SECONDS = 0.2
COPY_BYTES = 1 << 20
TRANSIENT = frozenset({errno.EIO, errno.ESTALE, errno.EBUSY, errno.ENOSPC, errno.EHOSTDOWN, errno.ETIMEDOUT, errno.ENOTCONN})


class Channel(Protocol):
    """What a child needs of its parent."""

    def jobs(self) -> Iterator[bytes]:
        """The jobs, one after the other."""

    def ask(self, question: bytes) -> bytes:
        """Ask, and wait for the answer."""

    def progress(self) -> None:
        """Say that the job goes on."""

    def finish(self, result: bytes, *, last: bool = False) -> None:
        """Hand over the result; with `last` no other job is wanted."""


def serve(channel: Channel, config: Config, recipes: dict[str, str]) -> None:
    """The work of a child: jobs in, reports out, until there are no more."""
    gc.freeze()  # what was loaded before the first job is never garbage
    gc.disable()  # records hold no cycles: looking for them in between cost a sixth of the time
    for message in channel.jobs():
        report = process(reports.unpack_job(message), channel, config, recipes)
        # What a parser leaves behind after a failed allocation is not to be trusted with another file.
        channel.finish(reports.dump(report), last=_ran_out_of_memory(report))
        del report
        gc.collect()


@cache
def recipes(config: Config) -> dict[str, str]:
    """The recipe by which a document of each format is made now, by the format's name."""
    found = {}
    for format in formats.FORMATS:
        if format.module is not None:
            versions = tuple(f"{name}-{metadata.version(name)}" for name in format.libraries)
            settings = f"text-{config.text.fallback_encoding}-{config.limits.text_chars}"
            found[format.name] = pipeline.recipe(format, (*versions, settings), config.checks)
    return found


def trials(config: Config) -> dict[str, str]:
    """What a failure depends on, by the format's name: the recipe, and what a file may cost."""
    own = config.limits
    cost = f"limits@{own.idle_seconds:g}-{own.total_seconds:g}-{own.memory_mb}"
    return {format: f"{recipe} {cost}" for format, recipe in recipes(config).items()}


def process(job: Job, channel: Channel, config: Config, recipes: dict[str, str]) -> Report:
    """Read one file. Never raises for what a file holds: every trouble with it is a failure in the report."""
    content: Content | None = None
    try:
        with _opened(job) as original:
            before = disk.stamp(os.fstat(original), job.network)
            if job.settling and before != job.seen:
                return Unsettled(before)
            with _bytes_of(original, job, config, _ticker(channel)) as stream:
                content = _identify(stream, before, job, _ticker(channel))
                _refuse_moved(original, content, job)
                if channel.ask(reports.dump_content(content)) == reports.KNOWN:
                    return Linked(content)
                outcome = _read(stream, content, channel, (config, recipes))
                _refuse_moved(original, content, job)
    except DocumentError as error:
        return _failed(content, Failure(error.code, error.message, error.format))
    except MemoryError:
        return _failed(content, Failure("out_of_memory", _out_of_memory(config)))
    except OSError as error:
        return _failed(content, _disk_trouble(error))
    except Exception as error:  # noqa: BLE001 - the one broad except: a fault of ours costs one file, and is stored with its traceback
        return _failed(content, Failure("internal", f"{type(error).__name__}: {error}", detail=traceback.format_exc()))
    return Read(content, outcome)


@contextmanager
def _opened(job: Job) -> Iterator[int]:
    descriptor = disk.open_beneath(job.root, os.path.join(job.directory, job.name))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _bytes_of(descriptor: int, job: Job, config: Config, tick: Callable[[], None]) -> Iterator[Bytes]:
    """The bytes to be hashed and parsed: the file itself, or a private copy where it lies on a network root.

    The copy has no name, so that nothing is left of it whatever ends this process. Parsers jump about in a file: over a network
    that is slow, and a share that hangs would hang them.
    """
    size = os.fstat(descriptor).st_size
    if size > config.limits.file_mb << 20:
        raise TooLarge(f"Is {size / 1048576:,.0f} MB; the limit is {config.limits.file_mb:,} MB (limits.file_mb)")
    with open(descriptor, "rb", closefd=False) as stream:
        if not job.network:
            yield stream
            return
        with tempfile.TemporaryFile() as copy:
            while block := stream.read(COPY_BYTES):
                copy.write(block)
                tick()
            copy.seek(0)
            yield copy


def _identify(stream: Bytes, stamp: Stamp, job: Job, tick: Callable[[], None]) -> Content:
    sha256 = hashlib.sha256()
    while block := stream.read(COPY_BYTES):  # in blocks, so that a large file on a slow share shows progress
        sha256.update(block)
        tick()
    digest = sha256.hexdigest()
    stream.seek(0)
    format = formats.detect(stream, os.fsdecode(job.name)) if stamp.size else "empty"
    return Content(digest, format, stamp, disk.is_racy(stamp, time.time_ns(), job.network))


def _refuse_moved(descriptor: int, content: Content, job: Job) -> None:
    """Stat, hash, stat: the digest belongs to the bytes behind the stamp, or it is nobody's."""
    if disk.stamp(os.fstat(descriptor), job.network) != content.stamp:
        raise Moved("The file changed while it was read")


def _read(stream: Bytes, content: Content, channel: Channel, told: tuple[Config, dict[str, str]]) -> Outcome:
    config, recipes = told
    if content.format == "empty":
        raise Empty("Holds no bytes.", format="empty")
    format = formats.BY_NAME.get(content.format)
    if format is None or format.module is None:
        title = format.title if format else content.format
        raise Unsupported(f"Its format is one that Winnow does not read: {title}.", format=content.format)
    reading = Reading(
        path=f"/proc/self/fd/{stream.fileno()}",
        format=format,
        size=content.stamp.size,
        fallback_encoding=config.text.fallback_encoding,
        text_chars=config.limits.text_chars,
        progress=_ticker(channel),
    )
    extraction = extract(reading)
    channel.progress()
    return pipeline.refine(extraction, content.digest, recipes[content.format], config.checks)


def _ticker(channel: Channel) -> Callable[[], None]:
    """Progress that costs next to nothing however often it is called."""
    last = time.monotonic()

    def tick() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > PROGRESS_SECONDS:
            last = now
            channel.progress()

    return tick


def _failed(content: Content | None, failure: Failure) -> Report:
    if content is None or failure.code in ("moved", "unreadable"):
        return Unread(failure)
    return Read(content, failure)


def _out_of_memory(config: Config) -> str:
    return f"Needs more than {config.limits.memory_mb:,} MB of memory to be read (limits.memory_mb)."


def _disk_trouble(error: OSError) -> Failure:
    if error.errno == errno.ENOMEM:
        return Failure("out_of_memory", "The system had no memory left for it.")
    code = "unreadable" if error.errno in TRANSIENT or error.errno in (errno.EACCES, errno.EPERM) else "internal"
    detail = traceback.format_exc() if code == "internal" else None
    return Failure(code, f"Cannot be read: {error.strerror or error}.", detail=detail)


def _ran_out_of_memory(report: Report) -> bool:
    if isinstance(report, Linked | Unsettled):
        return False
    outcome = report.failure if isinstance(report, Unread) else report.outcome
    return isinstance(outcome, Failure) and outcome.code == "out_of_memory"
