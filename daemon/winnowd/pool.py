"""Bounded, killable child processes. It knows no documents: a job is bytes, a question is bytes, a result is bytes.

Hides what ready-made pools get wrong for hostile input. A child that dies, idle or at work, with whatever exit code, costs its own job
and nothing else. Nothing a child sends can block or flood the parent: small messages travel over a packet socket, results through
a memory file that the parent reads when it is told to. All clocks are monotonic. When the parent dies the kernel ends the children.
"""

import contextlib
import fcntl
import multiprocessing
import os
import resource
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import reduction
from multiprocessing.process import BaseProcess, parent_process

from winnowd.model import Failure

MESSAGE = 65_536
RESULT_LIMIT = 512 * 1024 * 1024
QUESTION, PROGRESS, RESULT = b"?", b".", b"="


@dataclass(frozen=True, slots=True)
class Limits:
    """What one job may cost: seconds without progress, seconds in all, bytes of address space; and when a child is replaced."""

    idle_seconds: float
    total_seconds: float
    memory_bytes: int
    recycle_jobs: int
    recycle_bytes: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A child asks about its job and waits for `Pool.reply`."""

    key: int
    question: bytes


@dataclass(frozen=True, slots=True)
class Done:
    """A job ended, with what the child made of it or with the failure that no child could report."""

    key: int
    result: bytes | Failure


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

    def finish(self, result: bytes) -> None:
        """Hand over the result of the job."""
        os.ftruncate(self._memory, 0)
        view = memoryview(result)
        while view:
            view = view[os.pwrite(self._memory, view, len(result) - len(view)) :]
        self._connection.send(RESULT + str(len(result)).encode())


class Child:
    """One child process with its job, if it has one, and the clocks of that job."""

    def __init__(self, start: Callable[[socket.socket, int], BaseProcess]) -> None:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.memory = os.memfd_create("result", os.MFD_CLOEXEC)
        self.connection = here
        self.process = start(there, self.memory)
        there.close()
        self.job: int | None = None
        self.finished = 0
        self.began = self.moved = 0.0

    def give(self, key: int, job: bytes) -> None:
        """Begin a job. Raises OSError where the child is dead."""
        self.connection.send(job)
        self.job, self.began = key, time.monotonic()
        self.moved = self.began

    def late(self, limits: Limits, now: float) -> str | None:
        """A sentence where the job has overrun one of its clocks."""
        if self.job is None:
            return None
        if now - self.moved > limits.idle_seconds:
            return f"Ended after {limits.idle_seconds:g} s without progress."
        if now - self.began > limits.total_seconds:
            return f"Ended after {limits.total_seconds:g} s of work."
        return None

    def spent(self, limits: Limits) -> bool:
        """Whether an idle child has done or grown enough to be replaced."""
        return self.finished >= limits.recycle_jobs or _resident(self.process.pid) > limits.recycle_bytes

    def kill(self) -> int | None:
        """End the child and everything it started; its exit code."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.connection.close()
        os.close(self.memory)
        return self.process.exitcode


class Pool:
    """A fixed number of children that serve jobs with `serve(channel, *arguments)`, forked from a server that preloads `preload`."""

    def __init__(self, size: int, limits: Limits, serve: Callable[..., None], arguments: tuple[object, ...], preload: Sequence[str]):
        self._limits, self._serve, self._arguments = limits, serve, arguments
        self._forkserver = multiprocessing.get_context("forkserver")
        self._forkserver.set_forkserver_preload(["winnowd.pool", *preload])
        self._selector = selectors.DefaultSelector()
        self._size = size
        self._children: list[Child] = []
        self.replaced = 0  # children that were ended or died, since the start

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._children:
            self._selector.unregister(child.connection)
            child.kill()
        self._children.clear()
        self._selector.close()

    @property
    def free(self) -> int:
        """How many jobs can be begun now."""
        return self._size - sum(child.job is not None for child in self._children)

    @property
    def busy(self) -> bool:
        """Whether any job is under way."""
        return any(child.job is not None for child in self._children)

    def submit(self, key: int, job: bytes) -> None:
        """Begin a job under a key of the caller's. Only while `free` is not 0."""
        while True:
            child = self._idle_child()
            try:
                child.give(key, job)
            except OSError:  # it died while idle
                self._discard(child)
                continue
            return

    def reply(self, key: int, answer: bytes) -> None:
        """Answer the question of the child that works on `key`. A child that died meanwhile is found by `wait`."""
        for child in self._children:
            if child.job == key:
                child.moved = time.monotonic()
                with contextlib.suppress(OSError):
                    child.connection.send(answer)

    def wait(self, seconds: float) -> list[Asked | Done]:
        """What the children have to say, after at most `seconds` seconds."""
        events: list[Asked | Done] = []
        for key, _ in self._selector.select(max(0.0, min(seconds, self._until_late()))):
            event = self._hear(key.data)
            if event is not None:
                events.append(event)
        now = time.monotonic()
        for child in list(self._children):
            late = child.late(self._limits, now)
            if late is not None and child.job is not None:
                events.append(Done(child.job, Failure("timed_out", late)))
                self._discard(child)
        return events

    def _hear(self, child: Child) -> Asked | Done | None:
        try:
            message = child.connection.recv(MESSAGE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            message = b""
        child.moved = time.monotonic()
        kind, body = message[:1], message[1:]
        if kind == PROGRESS:
            return None
        if kind == QUESTION and child.job is not None:
            return Asked(child.job, body)
        if kind == RESULT and child.job is not None and body.isdigit() and int(body) <= RESULT_LIMIT:
            return self._take(child, int(body))
        return self._mourn(child, hung_up=not message)

    def _take(self, child: Child, length: int) -> Done:
        assert child.job is not None
        done = Done(child.job, _read(child.memory, length))
        child.job = None
        child.finished += 1
        os.ftruncate(child.memory, 0)
        if child.spent(self._limits):
            self._discard(child)
        return done

    def _mourn(self, child: Child, *, hung_up: bool) -> Done | None:
        """A child that hung up, or that talks nonsense."""
        job = child.job
        if hung_up:
            child.process.join(1.0)  # it is about to end by itself, and its own exit code says more than our signal would
        code = self._discard(child)
        if job is None:
            return None
        if not hung_up:
            return Done(job, Failure("crashed", "The process that read it gave an answer that makes no sense."))
        if code == -signal.SIGKILL:
            return Done(job, Failure("out_of_memory", "The process that read it was killed, most likely for its use of memory."))
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return Done(job, Failure("crashed", f"The process that read it ended unexpectedly ({how})."))

    def _idle_child(self) -> Child:
        for child in self._children:
            if child.job is None:
                return child
        child = Child(self._start)
        self._children.append(child)
        self._selector.register(child.connection, selectors.EVENT_READ, child)
        return child

    def _start(self, connection: socket.socket, memory: int) -> BaseProcess:
        process = self._forkserver.Process(
            target=_run, args=(connection, _Descriptor(memory), self._limits, self._serve, self._arguments), daemon=True
        )
        process.start()
        return process

    def _discard(self, child: Child) -> int | None:
        """End a child, dead or alive; the exit code it had."""
        self._selector.unregister(child.connection)
        self._children.remove(child)
        self.replaced += 1
        return child.kill()

    def _until_late(self) -> float:
        now = time.monotonic()
        clocks = [
            min(child.moved + self._limits.idle_seconds, child.began + self._limits.total_seconds) - now
            for child in self._children
            if child.job is not None
        ]
        return min(clocks, default=float("inf")) + 0.01


class _Descriptor:
    """A file descriptor that travels to a child with its process object."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __reduce__(self) -> tuple[object, ...]:
        return _received, (reduction.DupFd(self.descriptor),)


def _received(duplicate: "reduction._DupFd") -> int:  # type: ignore[name-defined]
    descriptor: int = duplicate.detach()
    return descriptor


def _run(
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
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")
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


def _read(memory: int, length: int) -> bytes:
    parts, at = [], 0
    while at < length:
        part = os.pread(memory, length - at, at)
        if not part:
            break
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def _resident(pid: int | None) -> int:
    """Resident bytes of a process, 0 where it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0
