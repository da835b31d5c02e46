"""The child's end of the pool: its life, what limits it, and how it talks to the parent.

Hides how a process is kept from harming anything: its own session, limits of the kernel, and an end with its parent.
"""

import contextlib
import fcntl
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import reduction
from multiprocessing.process import parent_process
from typing import Protocol

FILE_LIMIT = 4 << 30  # bytes that a child may write into one file: the private copy of a file, or a result
MESSAGE = 65_536  # bytes; a path is at most 4,096
QUESTION, PROGRESS, RESULT, LAST, HELLO = b"?", b".", b"=", b"!", b"h"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one job may cost: seconds without progress, seconds in all, bytes of address space; and when a child is replaced."""

    idle_seconds: float
    total_seconds: float
    memory_bytes: int
    recycle_jobs: int
    recycle_bytes: int


class Channel:
    """A child's end: where its jobs come from and its results go."""

    def __init__(self, connection: socket.socket, memory: int) -> None:
        self._connection = connection
        self._memory = memory

    def jobs(self) -> Iterator[bytes]:
        """The jobs, one after the other, until the parent has no more."""
        while job := self._connection.recv(MESSAGE):
            yield job

    def ask(self, question: bytes) -> bytes:
        """Ask the parent something about the job, and wait for its answer."""
        self._connection.send(QUESTION + question)
        answer = self._connection.recv(MESSAGE)
        if not answer:
            raise SystemExit(0)
        return answer

    def progress(self) -> None:
        """Tell the parent that the job goes on."""
        self._connection.send(PROGRESS)

    def finish(self, result: bytes, *, last: bool = False) -> None:
        """Hand over the result of the job; with `last` the child wants no other one, and is ended."""
        os.ftruncate(self._memory, 0)
        view = memoryview(result)
        while view:
            view = view[os.pwrite(self._memory, view, len(result) - len(view)) :]
        self._connection.send((LAST if last else RESULT) + str(len(result)).encode())


class Descriptor:
    """A file descriptor that travels to a child with its process object."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[object, ...]:
        return _received, (reduction.DupFd(self.descriptor),)


class _Duplicate(Protocol):
    def detach(self) -> int: ...


def _received(duplicate: _Duplicate) -> int:
    return duplicate.detach()


def run(
    connection: socket.socket, memory: int, limits: Limits, serve: Callable[..., None], arguments: tuple[object, ...]
) -> None:
    """The life of a child."""
    os.setsid()  # so that whatever a parser starts can be ended with it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # parsers print what they think of a file
        os.dup2(quiet, stream)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")
    connection.send(HELLO)  # what ends this process from now on is the fault of a file
    serve(Channel(connection, memory), *arguments)


def _die_with_parent() -> None:
    """Let the kernel end this process when the parent does, even inside C code that never returns.

    The sentinel is a pipe whose other end only the parent holds; when it closes, a pipe in O_ASYNC mode sends SIGIO,
    whose default action is to terminate (fcntl(2), signal(7)). PR_SET_PDEATHSIG would watch the fork server instead.
    """
    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel
    fcntl.fcntl(sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(sentinel, fcntl.F_SETFL, fcntl.fcntl(sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if not parent.is_alive():
        raise SystemExit(0)
