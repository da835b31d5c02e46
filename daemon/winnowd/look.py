"""What a walk asks of the disk, and how that is answered: in this process, or in a child that may hang in its place.

Only looks: nothing is opened but directories. Answers travel as JSON; names keep their undecodable bytes as lone surrogates.
"""

import json
import os
import stat
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

from winnowd import disk
from winnowd.disk import Listing, Mount
from winnowd.model import Skip, Stamp

ASK_BYTES = 40_000  # a question is one packet of at most 64 KiB
FOLDER_ENTRIES = 5_000  # an answer ends with the folder that brings it beyond this, so that the loop takes it in one go
_new = tuple.__new__


@dataclass(frozen=True, slots=True)
class Prove:
    """Is the folder at `path` there, which one is it, and does it hold any of the `known` paths (relative to it)?"""

    path: str
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proof:
    """An error where the folder cannot be listed, else its identity and mount, and whether a known path is there."""

    error: str | None
    identity: str | None = None
    mount: Mount | None = None
    present: bool = False


@dataclass(frozen=True, slots=True)
class Folders:
    """What do these folders (relative to `root`) show? The answer may stop after some of them."""

    root: str
    directories: tuple[str, ...]
    network: bool


@dataclass(frozen=True, slots=True)
class Names:
    """What are these names in one folder? An answer of one folder that shows nothing else."""

    root: str
    directory: str
    names: tuple[str, ...]
    network: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """One folder: what it shows, or why it cannot be listed. `absent`: there is no such folder (any more)."""

    directory: str
    listing: Listing | None
    error: str | None = None
    absent: bool = False


Ask = Prove | Folders | Names
Answer = Proof | tuple[Seen, ...]
_T = TypeVar("_T")
Dialogue = Generator[Ask, Any, _T]
"""A piece of work that asks the disk and goes on with each answer. It never looks at the disk itself."""


class Channel(Protocol):
    """What a child needs of its parent."""

    def jobs(self) -> Iterator[bytes]:
        """The questions, one after the other."""

    def progress(self) -> None:
        """Say that it goes on."""

    def finish(self, result: bytes) -> None:
        """Hand over an answer."""


def at_once(dialogue: Dialogue[_T], heard: Callable[[Answer], None] = lambda _: None) -> _T:
    """Hold a dialogue with the disk in this process. `heard` is told each answer after the dialogue took it."""
    try:
        ask = next(dialogue)
        while True:
            found = answer(ask)
            ask = dialogue.send(found)
            heard(found)
    except StopIteration as ended:
        result: _T = ended.value
        return result


def answer(ask: Ask, tick: Callable[[], None] = lambda: None) -> Answer:
    """Look at the disk. Never raises for what it finds there; `tick` is called after each folder."""
    if isinstance(ask, Prove):
        return _prove(ask)
    if isinstance(ask, Names):
        return (_names(ask),)
    found: list[Seen] = []
    entries = 0
    proper: set[str] = set()
    for directory in ask.directories:
        found.append(_folder(ask, directory, proper))
        listing = found[-1].listing
        entries += len(listing.files) + len(listing.others) if listing else 0
        tick()
        if entries > FOLDER_ENTRIES:
            break
    return tuple(found)


def serve(channel: Channel) -> None:
    """The work of a child: questions in, answers out."""
    for question in channel.jobs():
        channel.finish(pack_answer(answer(unpack(question), channel.progress)))


def pack(ask: Ask) -> bytes:
    """A question as it travels."""
    return json.dumps([type(ask).__name__, asdict(ask)], separators=(",", ":")).encode("ascii")


def unpack(question: bytes) -> Ask:
    """The reverse of `pack`."""
    kind, values = json.loads(question)
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    found: Ask = {"Prove": Prove, "Folders": Folders, "Names": Names}[kind](**values)
    return found


def pack_answer(found: Answer) -> bytes:
    """An answer as it travels."""
    if isinstance(found, Proof):
        return json.dumps(asdict(found)).encode("ascii")
    rows = [
        (s.directory, s.error, s.absent, s.listing and (s.listing.files, s.listing.folders, s.listing.others)) for s in found
    ]
    return json.dumps(rows, separators=(",", ":")).encode("ascii")


def unpack_answer(found: bytes) -> Answer:
    """The reverse of `pack_answer`. Raises ValueError where it makes no sense."""
    try:
        values = json.loads(found)
        if isinstance(values, dict):
            mount = values.pop("mount")
            return Proof(mount=Mount(**mount) if mount else None, **values)
        return tuple(Seen(directory, _listing(shown), error, absent) for directory, error, absent, shown in values)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"an answer that makes no sense: {error}") from None


def batches(directories: list[str]) -> Iterator[tuple[str, ...]]:
    """The folders in runs that fit into one question."""
    batch: list[str] = []
    size = 0
    for directory in directories:
        cost = 3 + (len(directory) if directory.isascii() else 6 * len(directory))
        if batch and size + cost > ASK_BYTES:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(directory)
        size += cost
    if batch:
        yield tuple(batch)


def _listing(shown: list[Any] | None) -> Listing | None:
    if shown is None:
        return None
    files, folders, others = shown
    return Listing(
        {name: _new(Stamp, stamp) for name, stamp in files.items()},
        tuple(folders),
        {name: Skip(*why) for name, why in others.items()},
    )


def _prove(ask: Prove) -> Proof:
    try:
        with os.scandir(ask.path):
            identity = disk.identity(ask.path)
        mount = disk.current_mount(ask.path)
    except OSError as error:
        return Proof(error.strerror or str(error))
    return Proof(None, identity, mount, any(os.path.lexists(disk.join(ask.path, known)) for known in ask.known))


def _folder(ask: Folders, directory: str, proper: set[str]) -> Seen:
    try:
        if not _is_beneath(ask.root, directory, proper):
            return Seen(directory, None, "no such folder", absent=True)
        return Seen(directory, disk.listing(disk.join(ask.root, directory), ask.network))
    except (FileNotFoundError, NotADirectoryError) as error:
        return Seen(directory, None, error.strerror, absent=True)
    except OSError as error:
        return Seen(directory, None, error.strerror or str(error))


def _names(ask: Names) -> Seen:
    folder = disk.join(ask.root, ask.directory)
    try:
        if not _is_beneath(ask.root, ask.directory, set()):
            return Seen(ask.directory, None, "no such folder", absent=True)
        return Seen(ask.directory, disk.glance(folder, ask.names, ask.network))
    except (FileNotFoundError, NotADirectoryError) as error:
        return Seen(ask.directory, None, error.strerror, absent=True)
    except OSError as error:
        return Seen(ask.directory, None, error.strerror or str(error))


def _is_beneath(root: str, directory: str, proper: set[str]) -> bool:
    """Whether a folder is reached from its root without following a link; `proper` remembers those that are.

    Where a folder was replaced by a link to it, its files are found through the link too, and would never be missed.
    """
    for folder in (*reversed(tuple(disk.parents(directory))), directory):
        if folder and folder not in proper:
            if not stat.S_ISDIR(os.lstat(disk.join(root, folder)).st_mode):
                return False
            proper.add(folder)
    return True
