"""Bounded, killable child processes. It knows no documents: a job is bytes, a question is bytes, a result is bytes.

Hides what ready-made pools get wrong for hostile input. A child that dies, idle or at work, with whatever exit code, costs
its own job and nothing else. Nothing a child sends can block or flood the parent: small messages travel over a packet socket,
results through a memory file that the parent reads when it is told to. All clocks are monotonic.
"""

import contextlib
import multiprocessing
import os
import resource
import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess

from winnowd.child import HELLO, LAST, MESSAGE, PROGRESS, QUESTION, RESULT, Descriptor, Limits, run
from winnowd.errors import NoChildren, NoChildrenNow
from winnowd.model import Failure

RESULT_LIMIT = 512 * 1024 * 1024
FALSE_STARTS = 3  # in a row: then it is no accident
SERVER_PAUSES = (0.05, 0.2, 1.0)  # seconds between tries to reach the fork server


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


class Child:
    """One child process with its job, if it has one, and the clocks of that job."""

    def __init__(self, start: Callable[[socket.socket, int], BaseProcess]) -> None:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.memory = os.memfd_create("result", os.MFD_CLOEXEC)
        self.connection = here
        self.process = start(there, self.memory)
        there.close()
        self.job: int | None = None
        self.packed = b""
        self.greeted = False  # it has begun to serve
        self.finished = 0
        self.began = self.moved = 0.0

    def give(self, key: int, job: bytes) -> None:
        """Begin a job. Raises OSError where the child is dead."""
        self.connection.send(job)
        self.job, self.packed, self.began = key, job, time.monotonic()
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
        self.process.join(1)  # one that hangs in the kernel, on a dead share, is left to it
        self.connection.close()
        os.close(self.memory)
        return self.process.exitcode


class Pool:
    """At most `size` children that run `serve(channel, *arguments)`, forked from a server that has loaded `preload`."""

    def __init__(
        self, size: int, limits: Limits, serve: Callable[..., None], arguments: tuple[object, ...], preload: Sequence[str]
    ):
        self._limits, self._serve, self._arguments = limits, serve, arguments
        self._forkserver = multiprocessing.get_context("forkserver")
        if preload:  # one server forks for all pools: a pool that needs nothing loaded must not unload what others need
            _load(preload)
        self._selector = selectors.EpollSelector()
        self._size = size
        self._false_starts = 0
        self._children: list[Child] = []
        self._lingering: dict[int, BaseProcess] = {}  # killed, by the key of their job, but held by the kernel

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

    def fileno(self) -> int:
        """A descriptor that is readable when `wait` has something to tell."""
        return self._selector.fileno()

    def lingers(self, key: int) -> bool:
        """Whether the child that worked on `key` was killed and cannot die: it hangs in the kernel, on a share that is dead."""
        process = self._lingering.get(key)
        if process is not None and process.is_alive():
            return True
        self._lingering.pop(key, None)
        return False

    def cancel(self, key: int) -> None:
        """End the child that works on `key`; nothing more is heard of that job."""
        for child in [child for child in self._children if child.job == key]:
            self._discard(child)

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
        if kind == HELLO:
            child.greeted, self._false_starts = True, 0
        if kind in (PROGRESS, HELLO):
            return None
        if kind == QUESTION and child.job is not None:
            return Asked(child.job, body)
        if kind in (RESULT, LAST) and child.job is not None and body.isdigit() and int(body) <= RESULT_LIMIT:
            return self._take(child, int(body), last=kind == LAST)
        return self._mourn(child, hung_up=not message)

    def _take(self, child: Child, length: int, *, last: bool) -> Done:
        assert child.job is not None
        done = Done(child.job, _read(child.memory, length))
        child.job = None
        child.finished += 1
        os.ftruncate(child.memory, 0)
        if last or child.spent(self._limits):
            self._discard(child)
        return done

    def _mourn(self, child: Child, *, hung_up: bool) -> Done | None:
        """A child that hung up, or that talks nonsense."""
        job = child.job
        if hung_up:
            child.process.join(1.0)  # it is about to end by itself, and its own exit code says more than our signal would
        code = self._discard(child)
        if hung_up and not child.greeted:
            self._start_again(job, child.packed, code)
            return None
        if job is None:
            return None
        if not hung_up:
            return Done(job, Failure("crashed", "The process that read it gave an answer that makes no sense."))
        if code == -signal.SIGKILL:
            return Done(
                job, Failure("out_of_memory", "The process that read it was killed, most likely for its use of memory.")
            )
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return Done(job, Failure("crashed", f"The process that read it ended unexpectedly ({how})."))

    def _start_again(self, job: int | None, packed: bytes, code: int | None) -> None:
        """A child ended before it began: another one gets its job, unless that is how they all end."""
        self._false_starts += 1
        if self._false_starts >= FALSE_STARTS:
            raise NoChildren(
                f"the processes that read files end before they begin (exit code {code}): is the installation whole, "
                "and is there memory for them?"
            )
        if job is not None:
            self.submit(job, packed)

    def _idle_child(self) -> Child:
        for child in self._children:
            if child.job is None:
                return child
        child = Child(self._start)
        self._children.append(child)
        self._selector.register(child.connection, selectors.EVENT_READ, child)
        return child

    def _start(self, connection: socket.socket, memory: int) -> BaseProcess:
        try:
            for pause in SERVER_PAUSES:
                with contextlib.suppress(ConnectionError, EOFError):  # the server was killed, which is noticed a moment later
                    return self._forked(connection, memory)
                time.sleep(pause)
            return self._forked(connection, memory)
        except (OSError, EOFError) as error:  # no process, no memory, or no room for the socket of the fork server in TMPDIR
            raise NoChildrenNow(f"the processes that read files cannot be started: {error}") from None

    def _forked(self, connection: socket.socket, memory: int) -> BaseProcess:
        process = self._forkserver.Process(
            target=run, args=(connection, Descriptor(memory), self._limits, self._serve, self._arguments), daemon=True
        )
        process.start()
        return process

    def _discard(self, child: Child) -> int | None:
        """End a child, dead or alive; the exit code it had."""
        self._selector.unregister(child.connection)
        self._children.remove(child)
        code = child.kill()
        if code is None and child.job is not None:
            self._lingering[child.job] = child.process
        return code

    def _until_late(self) -> float:
        now = time.monotonic()
        clocks = [
            min(child.moved + self._limits.idle_seconds, child.began + self._limits.total_seconds) - now
            for child in self._children
            if child.job is not None
        ]
        return min(clocks, default=float("inf")) + 0.01


def warm_up(preload: Sequence[str]) -> None:
    """Start the server that children are forked from, so that it loads its modules while the caller does something else."""
    _load(preload)
    with contextlib.suppress(OSError):  # then the first child says what is wrong
        forkserver.ensure_running()


def _load(preload: Sequence[str]) -> None:
    multiprocessing.get_context("forkserver").set_forkserver_preload(["winnowd.child", *preload])


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
