"""What the kernel says has changed below one local folder, by watchdog. Hints only: a look finds out what really is.

Hides how events are lost. After an overflow of the kernel's queue, the end of a thread, or more names than are worth
remembering, `Hints.lost` says so, and everything has to be looked at once more. That events still arrive is proven by a file
that travels through the same observer, in a folder of our own: threads that live prove nothing.
"""

import contextlib
import errno
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

MOST_NAMES = 20_000
PROBES = ("a", "b")
LOGGERS = ("watchdog.observers.inotify", "watchdog.observers.inotify_c")
WANTED: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent,
    events.FileClosedEvent,
    events.FileMovedEvent,
    events.FileDeletedEvent,
    events.DirCreatedEvent,
    events.DirMovedEvent,
    events.DirDeletedEvent,
]
"""Not opens: our own reading would be reported, and could fill the queue by itself."""
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")  # of its own books, when folders are moved
LIMIT_HINT = "raise fs.inotify.max_user_watches"


@dataclass(slots=True)
class Hints:
    """What happened since the last time: names that something happened to, by their folder (relative to the root)."""

    names: dict[str, set[str]] = field(default_factory=dict)
    count: int = 0
    lost: str | None = None  # why there may be more


class Watch:
    """The changes below one folder. `wake` is called, from other threads, when there is something to `take`."""

    def __init__(self, folder: str, probe: Path, wake: Callable[[], None]) -> None:
        self._folder, self._probe, self._wake = folder.rstrip("/") or "/", probe, wake
        self._hints = Hints()
        self._guard = threading.Lock()
        self._ear = _Ear(self)
        self._probe_watch: ObservedWatch | None = None
        self._sent = self._heard = 0.0  # monotonic
        self._observer: BaseObserver | None = None
        self.started = False  # or failed, which `error` says
        self.error: OSError | None = None
        self.partial = False  # some folders give no events: the kernel's limit of watches is reached

    def begin(self) -> None:
        """Begin to watch, in a thread of its own: a watch for each of a million folders takes its time. `started` says when."""
        threading.Thread(target=self._begin, daemon=True).start()

    def _begin(self) -> None:
        try:
            self.start()
        except OSError as error:
            self.error = error
        self.started = True
        self._wake()

    def start(self) -> None:
        """Begin to watch at once. Raises OSError where the folder cannot be watched at all."""
        self._observer = Observer()  # where the kernel has no instance left, this raises
        for name in LOGGERS:
            logging.getLogger(name).addHandler(self._ear)
        self._observer.start()
        try:
            self._observer.schedule(_Names(self), self._folder, recursive=True, event_filter=WANTED)
            self.probe()
        except OSError:
            self.stop()
            raise

    def stop(self) -> None:
        """Watch no more."""
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self._ear)
        if self._observer is not None and self._observer.is_alive():
            self._observer.stop()
            self._observer.join(5)
        for folder in (*(self._probe / name for name in PROBES), self._probe):
            with contextlib.suppress(OSError):
                (folder / "probe").unlink(missing_ok=True)
                folder.rmdir()

    def probe(self) -> None:
        """Send a file on its way through the observer; `deaf` says later whether it arrived.

        Two folders take turns, and one is watched before the other is let go: where the kernel has no watch left for it,
        folders of the tree may have got none either, and `partial` stays true, since watchdog never tries those again.
        """
        if self._observer is None or self._heard < self._sent:  # one is under way: another would hide that it never arrives
            return
        old = self._probe_watch
        folder = self._probe / PROBES[old is not None and old.path.endswith(PROBES[0])]
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            self._probe_watch = self._observer.schedule(_Arrival(self), str(folder))
        except OSError as error:
            self.partial = self.partial or error.errno == errno.ENOSPC
            return
        if old is not None:
            with contextlib.suppress(KeyError, OSError):
                self._observer.unschedule(old)
        self._send(folder / "probe")

    def _send(self, probe: Path) -> None:
        begun = time.monotonic()
        with contextlib.suppress(OSError):  # the disk of the database may be full: that says nothing of events
            probe.unlink(missing_ok=True)
            probe.write_bytes(b"")
            self._sent = begun

    def deaf(self, seconds: float) -> bool:
        """Whether a probe was sent so long ago and did not arrive, or the observer has ended."""
        if (
            self._observer is None
            or not self._observer.is_alive()
            or not all(emitter.is_alive() for emitter in self._observer.emitters)
        ):
            return True
        return self._probe_watch is not None and self._heard < self._sent and time.monotonic() - self._sent > seconds

    def take(self) -> Hints:
        """What happened since the last time."""
        with self._guard:
            taken, self._hints = self._hints, Hints()
        return taken

    def hint(self, path: str) -> None:
        """Remember that something happened to a path. Called by the observer's threads."""
        relative = path[len(self._folder.rstrip("/")) + 1 :]
        if not relative:
            self.lose("the folder itself was replaced")
            return
        directory, _, name = relative.rpartition("/")
        with self._guard:
            known = self._hints.names.setdefault(directory, set())
            self._hints.count += name not in known
            known.add(name)
            crowded = self._hints.count > MOST_NAMES
        if crowded:
            self.lose("more changed at once than is worth remembering")
        self._wake()

    def lose(self, why: str) -> None:
        """Events were lost. Called by the observer's threads."""
        with self._guard:
            self._hints = Hints(lost=why)
        self._wake()

    def arrived(self) -> None:
        """The probe came through."""
        self._heard = time.monotonic()


class _Names(events.FileSystemEventHandler):
    """Does nothing but take note: an exception here would end the observer's thread for good."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Take note of a path, and of where it was moved to."""
        for path in (event.src_path, event.dest_path):
            if path:
                self._watch.hint(os.fsdecode(path))


class _Arrival(events.FileSystemEventHandler):
    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Take note that the probe came through."""
        self._watch.arrived()


class _Ear(logging.Handler):
    """Hears of overflows, which watchdog tells only its log."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(logging.WARNING)
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        """Take a warning of watchdog for what it is: events were lost."""
        self._watch.lose("the kernel's queue of events overflowed")
