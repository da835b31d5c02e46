"""The few exceptions, the exit codes, and the failure codes with what becomes of a file that has one."""

from dataclasses import dataclass
from typing import Literal

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3  # finished, but something was not read
EXIT_NOTHING_FOUND = 4
EXIT_BUSY = 75  # EX_TEMPFAIL of sysexits.h: another Winnow holds the database; try again later
EXIT_CONFIG = 78  # EX_CONFIG of sysexits.h; systemd does not restart on it
EXIT_INTERRUPTED = 130


class WinnowError(Exception):
    """Trouble for the operator: one line that says what is wrong, where, and what to do."""

    exit_code = EXIT_FAILED


class UsageError(WinnowError):
    """The command was asked for something it cannot do."""

    exit_code = EXIT_USAGE


class ConfigError(WinnowError):
    """The configuration cannot be used. The message lists every problem."""

    exit_code = EXIT_CONFIG


class StoreError(WinnowError):
    """The database cannot be used."""


class NothingFound(WinnowError):
    """What was asked for is not there."""

    exit_code = EXIT_NOTHING_FOUND


class Interrupted(WinnowError):
    """Somebody asked the command to stop. What was done is kept."""

    exit_code = EXIT_INTERRUPTED


class NoChildren(WinnowError):
    """The processes that read files cannot be started. No file is to blame."""


class NoChildrenNow(NoChildren):
    """The system has no room for another process, or for its socket: that passes."""


class DocumentError(Exception):
    """Trouble with one document. Raised by extractors, turned into a `Failure` in `worker`."""

    code = "damaged"

    def __init__(self, message: str, *, format: str | None = None) -> None:
        super().__init__(message)
        self.message = f"{message[:1].upper()}{message[1:].rstrip('.')}."
        self.format = format


class Encrypted(DocumentError):
    """It needs a password."""

    code = "encrypted"


class Damaged(DocumentError):
    """It is broken, or not what it claims to be."""

    code = "damaged"


class Empty(DocumentError):
    """It holds no bytes."""

    code = "empty"


class Unsupported(DocumentError):
    """Its format is one that Winnow does not read."""

    code = "unsupported"


class TooLarge(DocumentError):
    """It goes beyond a limit."""

    code = "too_large"


class Moved(DocumentError):
    """The file changed while it was read: nothing is stored, it is read again."""

    code = "moved"


class Unreadable(DocumentError):
    """The operating system would not let us read it, perhaps only for now."""

    code = "unreadable"


class OutOfMemory(DocumentError):
    """It needs more memory than a child may have."""

    code = "out_of_memory"


Retry = Literal["never", "fresh_child", "back_off"]


@dataclass(frozen=True, slots=True)
class FailureKind:
    """What a failure code means, the state of a file that has it, and whether it is tried again."""

    meaning: str
    state: Literal["failed", "skipped", "pending"]
    retry: Retry


FAILURES: dict[str, FailureKind] = {
    "encrypted": FailureKind("needs a password to be read", "failed", "never"),
    "damaged": FailureKind("is broken, or not what it claims to be", "failed", "never"),
    "empty": FailureKind("holds no bytes", "skipped", "never"),
    "unsupported": FailureKind("is of a format that Winnow does not read", "skipped", "never"),
    "too_large": FailureKind("is larger than the configured limit", "failed", "never"),
    "timed_out": FailureKind("took longer than the configured limit", "failed", "fresh_child"),
    "crashed": FailureKind("ended the process that read it", "failed", "fresh_child"),
    "out_of_memory": FailureKind("needed more memory than the configured limit", "failed", "fresh_child"),
    "moved": FailureKind("changed while it was read", "pending", "back_off"),
    "unreadable": FailureKind("could not be opened or read from the disk", "pending", "back_off"),
    "internal": FailureKind("met a fault of Winnow itself", "failed", "never"),
}
"""Codes are public: they stand in `files.reason`, in `winnow failed list` and in `winnow process`."""

ATTEMPTS = 3
"""A file that ends its child is tried this often in all, each time in a fresh child."""

HELPED_FORMATS = frozenset({"doc"})
"""Formats that a helper program on the machine would make readable: such a file should have been read, so it has failed."""


def state_of_failure(code: str, format: str | None) -> Literal["failed", "skipped", "pending"]:
    """The state of a file that yields no document.

    >>> state_of_failure("unsupported", "xlsx"), state_of_failure("unsupported", "doc"), state_of_failure("encrypted", "pdf")
    ('skipped', 'failed', 'failed')
    """
    if code == "unsupported" and format in HELPED_FORMATS:
        return "failed"
    return FAILURES[code].state
