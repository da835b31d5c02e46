"""Children that misbehave on command. They run in real processes of the pool; what they do is named by their job."""

import ctypes
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable
from dataclasses import replace

from winnowd import formats, pipeline, worker
from winnowd.config import Config
from winnowd.errors import Encrypted
from winnowd.extract import Reading
from winnowd.model import Block, Extraction, Format, Page


def serve(channel, *_):
    """A child that does what each job says, and answers with the job."""
    for job in channel.jobs():
        name, _, argument = job.decode().partition(":")
        channel.finish(ACTIONS[name](channel, argument) or job)


def _ask(channel, argument):
    return channel.ask(argument.encode())


def _sleep(channel, argument):
    time.sleep(float(argument))


def _hang(channel, argument):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        pass


def _hang_in_c(channel, argument):
    re.match(r"(a+)+$", "a" * 60 + "b")


def _segfault(channel, argument):
    ctypes.string_at(0)


def _exit(channel, argument):
    os._exit(int(argument))


def _kill(channel, argument):
    os.kill(os.getpid(), signal.SIGKILL)


def _eat(channel, argument):
    try:
        bytearray(1 << 40)
    except MemoryError:
        return b"MemoryError"


def _fork(channel, argument):
    process = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
    channel.ask(str(process.pid).encode())
    time.sleep(600)


def _work(channel, argument):
    for _ in range(int(argument)):
        time.sleep(0.1)
        channel.progress()


def _flood(channel, argument):
    return b"x" * int(argument)


def _lie(channel, argument):
    channel._connection.send(b"=99999999999999")
    time.sleep(600)


def _babble(channel, argument):
    channel._connection.send(b"!nonsense")
    time.sleep(600)


ACTIONS: dict[str, Callable] = {
    "echo": lambda channel, argument: None,
    "pid": lambda channel, argument: str(os.getpid()).encode(),
    "ask": _ask,
    "sleep": _sleep,
    "hang": _hang,
    "hang_in_c": _hang_in_c,
    "segfault": _segfault,
    "exit": _exit,
    "kill": _kill,
    "eat": _eat,
    "fork": _fork,
    "work": _work,
    "flood": _flood,
    "lie": _lie,
    "babble": _babble,
    "print": lambda channel, argument: os.write(1, b"noise from a parser"),
}


# ---- a format whose files order what their extractor does: its first line is `mock: ACTION ARGUMENT`


MOCK = Format("mock", "a file that misbehaves on command", (".mock",), "mock")


def serve_mock(channel, config: Config, recipes: dict[str, str]) -> None:
    """The real work of a child, with one more row in its table of formats."""
    formats.BY_NAME["mock"] = MOCK
    detect = formats.detect

    def detect_mock(stream, name):
        head = stream.read(5)
        stream.seek(0)
        return "mock" if head == b"mock:" else detect(stream, name)

    formats.detect = detect_mock
    module = types.ModuleType("winnowd.extract.mock")
    module.extract = _extract_mock
    sys.modules["winnowd.extract.mock"] = module
    worker.serve(channel, config, recipes | {"mock": "mock@1"})


def _extract_mock(reading: Reading) -> Extraction:
    with open(reading.path, encoding="utf-8") as file:
        order, _, text = file.read().partition("\n")
    _, action, argument = (*order.split(maxsplit=2), "", "")[:3]
    if action == "encrypted":
        raise Encrypted("Needs a password.")
    if action == "memory":
        raise MemoryError
    if action == "raise":
        raise ValueError(argument)
    if action == "read_error":
        raise OSError(int(argument), os.strerror(int(argument)))
    if action == "append":  # a writer that goes on while the file is read
        with open(argument, "a", encoding="utf-8") as file:
            file.write(" more")
    elif action == "log_and_die":
        with open(argument, "a", encoding="utf-8") as file:
            file.write("x")
        os._exit(1)
    elif action == "wait":  # as long as there is this file
        while os.path.exists(argument):
            time.sleep(0.05)
    elif action == "leave":  # another process, and ends
        left = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
        with open(argument, "w", encoding="utf-8") as file:
            file.write(str(left.pid))
        os._exit(3)
    elif action == "end_the_service":
        os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)
        time.sleep(600)
    elif action == "same_page_twice":
        return Extraction("mock", pages=(Page(0), Page(0)), blocks=(Block("paragraph", "Text.", page=0),), paged=True)
    elif action == "forge":
        refine = pipeline.refine
        pipeline.refine = lambda extraction, digest, *rest: replace(refine(extraction, argument, *rest), format="text")
    elif action in ACTIONS:
        ACTIONS[action](None, argument)
    return Extraction("mock", blocks=(Block("paragraph", text or "Nothing else."),), size=reading.size)


class EndsBeforeItBegins:
    """An argument whose arrival ends the child, as a module does that can no longer be imported after an upgrade."""

    def __reduce__(self):
        return os._exit, (7,)


class EndsOnce:
    """The same, but only for the first child."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return end_once, (str(self.mark),)


def end_once(mark):
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os._exit(7)
