"""What parent and child tell each other: jobs, contents and reports as bytes, checked field by field when they arrive."""

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from winnowd.model import Content, Failure, Job, Outcome, Stamp

if TYPE_CHECKING:
    from pydantic import TypeAdapter

GO_ON, KNOWN = b"go on", b"known"
"""The answers to a child that asks about a content."""


@dataclass(frozen=True, slots=True)
class Read:
    """A job whose content was read to its end."""

    content: Content
    outcome: Outcome
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


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A job whose file had another stamp than expected: somebody writes to it."""

    stamp: Stamp
    kind: Literal["unsettled"] = "unsettled"


Report = Read | Unread | Linked | Unsettled
NONSENSE = Unread(Failure("internal", "The process that read it gave an answer that makes no sense."))


def pack(job: Job) -> bytes:
    """A job as it travels to a child. JSON in ASCII keeps the lone surrogates that stand for undecodable bytes of a path."""
    return json.dumps(asdict(job)).encode("ascii")


def unpack_job(message: bytes) -> Job:
    """The reverse of `pack`."""
    values = json.loads(message)
    seen = values.pop("seen")
    return Job(**values, seen=Stamp(*seen) if seen else None)


def dump_content(content: Content) -> bytes:
    """A content as a child asks about it."""
    return _content().dump_json(content)


def unpack_content(question: bytes) -> Content | None:
    """What a child asks about; None where the question makes no sense."""
    try:
        return _content().validate_json(question)
    except ValueError:  # pydantic's ValidationError is one
        return None


def dump(report: Report) -> bytes:
    """A report as it travels to the parent."""
    return _report().dump_json(report)


def unpack(result: bytes) -> Report:
    """The report of a child, checked field by field: a child that a file took over must not be believed blindly."""
    try:
        return _report().validate_json(result)
    except ValueError as error:
        return Unread(replace(NONSENSE.failure, detail=str(error)))


# Made on first use, and pydantic loaded with them: a scan that finds nothing to read needs neither.


@cache
def _content() -> "TypeAdapter[Content]":
    from pydantic import TypeAdapter

    return TypeAdapter(Content)


@cache
def _report() -> "TypeAdapter[Report]":
    from typing import Annotated

    from pydantic import Field, TypeAdapter

    return TypeAdapter(Annotated[Report, Field(discriminator="kind")])
