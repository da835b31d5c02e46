"""One job in a child: open, hash, ask the parent whether it knows the content, extract, refine. Also how outcomes travel.

This is where trouble with a document becomes a value. The one broad `except` of the package is here, around one job.
"""

import errno
import hashlib
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import cache
from importlib import metadata
from typing import Annotated, Literal, Protocol

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from winnowd import disk, formats, pipeline
from winnowd.config import Config
from winnowd.errors import DocumentError, Empty, Moved, TooLarge, Unsupported
from winnowd.extract import Reading, extract
from winnowd.model import Content, Document, Failure, Job, Outcome

PRELOAD = ("winnowd.worker", "winnowd.extract.pdf", "winnowd.extract.docx", "winnowd.extract.html", "winnowd.extract.markdown")
GO_ON, KNOWN = b"go on", b"known"
PROGRESS_SECONDS = 0.2
TRANSIENT = frozenset({errno.EIO, errno.ESTALE, errno.EBUSY, errno.ENOSPC, errno.EHOSTDOWN, errno.ETIMEDOUT, errno.ENOTCONN})


class Channel(Protocol):
    """What a child needs of its parent."""

    def jobs(self) -> Iterator[bytes]:
        """The jobs, one after the other."""

    def ask(self, question: bytes) -> bytes:
        """Ask, and wait for the answer."""

    def progress(self) -> None:
        """Say that the job goes on."""

    def finish(self, result: bytes) -> None:
        """Hand over the result."""


@dataclass(frozen=True, slots=True)
class Read:
    """A job whose content was read to its end."""

    content: Content
    outcome: Annotated[Document | Failure, Field(union_mode="left_to_right")]
    kind: Literal["read"] = "read"


@dataclass(frozen=True, slots=True)
class Unread:
    """A job that ended before its content was known."""

    failure: Failure
    kind: Literal["unread"] = "unread"


@dataclass(frozen=True, slots=True)
class Linked:
    """A job whose content the parent knew."""

    content: Content
    kind: Literal["linked"] = "linked"


Report = Read | Unread | Linked
NONSENSE = Unread(Failure("internal", "The process that read it gave an answer that makes no sense."))


@cache  # made on first use: a scan that finds nothing to read needs neither
def _content() -> TypeAdapter[Content]:
    return TypeAdapter(Content)


@cache
def _report() -> TypeAdapter[Report]:
    return TypeAdapter(Annotated[Report, Field(discriminator="kind")])


def serve(channel: Channel, config: Config, recipes: dict[str, str]) -> None:
    """The work of a child: jobs in, reports out, until there are no more."""
    for message in channel.jobs():
        report = process(Job(**json.loads(message)), channel, config, recipes)
        channel.finish(_report().dump_json(report))
        if isinstance(report, Unread | Read) and _ran_out_of_memory(report):
            return  # what a parser left behind after a failed allocation is not to be trusted


def pack(job: Job) -> bytes:
    """A job as it travels to a child. JSON in ASCII keeps the lone surrogates that stand for undecodable bytes of a path."""
    return json.dumps(asdict(job)).encode("ascii")


def unpack_content(question: bytes) -> Content | None:
    """What a child asks about; None where the question makes no sense."""
    try:
        return _content().validate_json(question)
    except ValidationError:
        return None


def unpack(result: bytes) -> Report:
    """The report of a child, checked field by field: a child that a file took over must not be believed blindly."""
    try:
        return _report().validate_json(result)
    except ValidationError as error:
        return Unread(replace(NONSENSE.failure, detail=str(error)))


@cache
def recipes(config: Config) -> dict[str, str]:
    """The recipe by which a document of each format is made now, by the format's name."""
    found = {}
    for format in formats.FORMATS:
        if format.module is not None:
            versions = tuple(f"{name}-{metadata.version(name)}" for name in format.libraries)
            found[format.name] = pipeline.recipe(format, versions, config.checks)
    return found


def process(job: Job, channel: Channel, config: Config, recipes: dict[str, str]) -> Report:
    """Read one file. Never raises for what a file holds: every trouble with it is a failure in the report."""
    content: Content | None = None
    descriptor = -1
    try:
        descriptor = disk.open_beneath(job.root, os.path.join(job.directory, job.name))
        content = _identify(descriptor, job, config)
        if channel.ask(_content().dump_json(content)) == KNOWN:
            return Linked(content)
        outcome = _read(descriptor, content, channel, (config, recipes))
        if disk.stamp(os.fstat(descriptor), job.network) != content.stamp:
            raise Moved("The file changed while it was read")
    except DocumentError as error:
        return _failed(content, Failure(error.code, error.message, error.format))
    except MemoryError:
        return _failed(content, Failure("out_of_memory", _out_of_memory(config)))
    except OSError as error:
        return _failed(content, _disk_trouble(error))
    except Exception as error:  # noqa: BLE001 - the one broad except: a fault of ours costs one file, and is stored with its traceback
        return _failed(content, Failure("internal", f"{type(error).__name__}: {error}", detail=traceback.format_exc()))
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return Read(content, outcome)


def _identify(descriptor: int, job: Job, config: Config) -> Content:
    """Stat, hash, stat: the digest belongs to the bytes behind the stamp."""
    before = disk.stamp(os.fstat(descriptor), job.network)
    if before.size > config.limits.file_mb * 1024 * 1024:
        raise TooLarge(f"Is {before.size / 1048576:,.0f} MB; the limit is {config.limits.file_mb:,} MB (limits.file_mb).")
    with open(descriptor, "rb", closefd=False) as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        stream.seek(0)
        format = formats.detect(stream, os.fsdecode(job.name)) if before.size else "empty"
    after = disk.stamp(os.fstat(descriptor), job.network)
    if after != before:
        raise Moved("The file changed while it was hashed")
    return Content(digest, format, before, disk.is_racy(before, time.time_ns(), job.network))


def _read(descriptor: int, content: Content, channel: Channel, told: tuple[Config, dict[str, str]]) -> Outcome:
    config, recipes = told
    if content.format == "empty":
        raise Empty("Holds no bytes.", format="empty")
    format = formats.BY_NAME.get(content.format)
    if format is None or format.module is None:
        title = format.title if format else content.format
        raise Unsupported(f"Its format is one that Winnow does not read: {title}.", format=content.format)
    reading = Reading(
        path=f"/proc/self/fd/{descriptor}",
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


def _ran_out_of_memory(report: Unread | Read) -> bool:
    outcome = report.failure if isinstance(report, Unread) else report.outcome
    return isinstance(outcome, Failure) and outcome.code == "out_of_memory"
