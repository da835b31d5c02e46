"""Winnow with one more format, whose files order what their extractor does, and with hooks that a test can pull.

SIGUSR1 makes the loop stand still until the file `stuck` beside the configuration is gone. While there is a file `closed`
there, no child looks at a folder. What is done once a day, or after a while, is done after seconds.
"""

import os
import signal
import sys
import time
from pathlib import Path

import fakes
from winnowd import care, formats, look, rounds, store, telling, worker
from winnowd.__main__ import main

_serve = look.serve


def _stand_still(*_: object) -> None:
    stuck = _beside("stuck")
    stuck.touch()
    while stuck.exists():
        time.sleep(0.05)


def serve_behind_a_door(channel) -> None:
    """The work of a child that looks, once the door is open."""
    while Path(os.environ["WINNOW_DOOR"]).exists():
        time.sleep(0.05)
    _serve(channel)


def _beside(name: str) -> Path:
    return Path(sys.argv[-1]).with_name(name)


if __name__ == "__main__":
    care.PAUSE_SECONDS = care.SPACE_SECONDS = telling.SAY_SECONDS = 1.0
    rounds.PROOF_SECONDS = 2.0
    care.CHECK_SECONDS = 3.0
    store.BUSY_SECONDS = 1
    os.environ["WINNOW_DOOR"] = str(_beside("closed"))
    signal.signal(signal.SIGUSR1, _stand_still)
    look.serve = serve_behind_a_door
    worker.serve = fakes.serve_mock
    formats.BY_NAME["mock"] = fakes.MOCK
    known = worker.recipes
    worker.recipes = lambda config: known(config) | {"mock": "mock@1"}
    main()
