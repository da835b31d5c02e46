"""What the kernel says has changed below local folders, by watchdog. Hints only: a walk finds out what really is.

Hides how events are lost. After an overflow of the kernel's queue, the end of a reader thread, or more paths than are worth
remembering, `lost` is set: then everything has to be looked at once more.
"""

import logging
import os
import threading
import time
from collections.abc import Sequence

from watchdog import events
from watchdog.observers import Observer

MOST_PATHS = 10_000
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


class Watch:
    """The changed paths below some folders, from `__enter__` to `__exit__`."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self._paths: dict[str, float] = {}  # with the monotonic time of the last hint
        self._guard = threading.Lock()
        self._observer = Observer()
        self._ear = _Ear(self)
        self.lost = False
        self.partial = False  # a folder could not be watched: only walks see it

    def __enter__(self) -> "Watch":
        for name in LOGGERS:
            logging.getLogger(name).addHandler(self._ear)
        self._observer.start()
        for folder in self._folders:
            try:
                self._observer.schedule(_Hints(self), folder, recursive=True, event_filter=WANTED)
            except OSError:  # it is offline, or the kernel's limit of watches is reached
                self.partial = True
        return self

    def __exit__(self, *_: object) -> None:
        self._observer.stop()
        self._observer.join(5)
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self._ear)

    def hint(self, path: str) -> None:
        """Remember that something happened to a path. Called by the observer's threads."""
        with self._guard:
            self._paths[path] = time.monotonic()
            if len(self._paths) > MOST_PATHS:
                self._paths.clear()
                self.lost = True

    def settled(self, seconds: float) -> list[str]:
        """The paths that nothing happened to for this long, after a second at most. Each is named once."""
        time.sleep(min(seconds, 1.0))
        now = time.monotonic()
        with self._guard:
            ripe = [path for path, at in self._paths.items() if now - at >= seconds]
            for path in ripe:
                del self._paths[path]
        if not self._alive():
            self.lost = True
        return ripe

    def _alive(self) -> bool:
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters)


class _Hints(events.FileSystemEventHandler):
    """Does nothing but take note: an exception here would end the observer's thread for good."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        """Take note of a path, and of where it was moved to."""
        for path in (event.src_path, event.dest_path):
            if path:
                self._watch.hint(os.fsdecode(path))


class _Ear(logging.Handler):
    """Hears of overflows, which watchdog tells only its log."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(logging.WARNING)
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        """Take a warning of watchdog for what it is: events were lost."""
        self._watch.lost = True
