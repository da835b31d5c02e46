"""Every setting with its default and its reason, as frozen records. `config_file` makes them of a TOML file.

Plain dataclasses: to know the defaults takes no library, so that a command without a configuration starts at once.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

EXCLUDED_FILES = (
    "~$*",
    ".~lock.*#",
    "._*",
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
    "*.tmp",
    "*.part",
    "*.crdownload",
)
EXCLUDED_FOLDERS = (
    ".git/",
    ".svn/",
    ".hg/",
    "node_modules/",
    "__pycache__/",
    "@eaDir/",
    "\\#recycle/",
    "$RECYCLE.BIN/",
    "System Volume Information/",
    ".Trash-*/",
    "lost+found/",
    ".snapshot/",
    "~snapshot/",
)


class Check:
    """A check of a value in a file, beyond its type. It returns the value as it is kept, or raises ValueError with a reason."""

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def __get_pydantic_core_schema__(self, source: Any, rest: Callable[[Any], Any]) -> Any:
        """What pydantic asks of it, when a file is loaded; to know the defaults takes no pydantic."""
        from pydantic_core.core_schema import no_info_after_validator_function

        return no_info_after_validator_function(self._check, rest(source))


def within(least: float, most: float = math.inf) -> Check:
    """A check that a number is at least, and at most, so much."""

    def check(number: float) -> float:
        if number < least:
            raise ValueError(f"must be at least {least:g}")
        if number > most:
            raise ValueError(f"must be at most {most:g}")
        return number

    return Check(check)


def _patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    from pathspec import GitIgnoreSpec

    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            raise ValueError(f"{pattern!r} is no pattern in .gitignore syntax") from None
    return patterns


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("must be an absolute path")
    return Path(os.path.normpath(path))


def _encoding(name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        raise ValueError(f"{name!r} is not an encoding that Python knows") from None
    return name


Patterns = Annotated[tuple[str, ...], Check(_patterns)]
Folder = Annotated[Path, Check(_absolute)]
Share = Annotated[float, within(0, 1)]
Count = Annotated[int, within(0)]
Seconds = Annotated[float, within(0.001)]
Interval = Annotated[float, within(1)]


def setting(default: Any, description: str) -> Any:
    """A setting: its default, and one line of why for the example and the documents."""
    return field(default=default, metadata={"description": description})


class _Section:
    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True)
class Root(_Section):
    """A watched folder."""

    path: Folder
    watch: Literal["auto", "events", "rescan"] = setting(
        "auto", "How changes are seen: by events of the kernel, by walking again, or as the file system allows (auto)."
    )
    exclude: Patterns = setting((), "Patterns in .gitignore syntax, in addition to the general ones.")


@dataclass(frozen=True, slots=True)
class DatabaseSettings(_Section):
    """Where the catalogue lies."""

    path: Folder = setting(
        Path("/var/lib/winnowd/winnow.db"), "The one SQLite file. It must lie on a local disk, outside every root."
    )
    free_mb: Count = setting(1024, "With less than this free on its disk, nothing new is read; searching goes on.")
    wal_mb: Annotated[int, within(1)] = setting(256, "A write-ahead log beyond this is reported: a reader holds it open.")


@dataclass(frozen=True, slots=True)
class WalkSettings(_Section):
    """What is looked at."""

    exclude: Patterns = setting(
        EXCLUDED_FILES + EXCLUDED_FOLDERS,
        "Patterns in .gitignore syntax; a file that matches is counted as skipped, a folder is not entered.",
    )
    removal_floor: Count = setting(10, "A walk that would remove more files than this ...")
    removal_share: Share = setting(0.1, "... and more than this share of a root holds them until they are released.")


@dataclass(frozen=True, slots=True)
class WatchSettings(_Section):
    """How `winnow run` follows changes."""

    settle_seconds: Seconds = setting(1, "A changed file is read when nothing happened to it for this long.")
    network_settle_seconds: Seconds = setting(10, "The same on network file systems, whose times are coarse.")
    settle_cap_seconds: Seconds = setting(900, "A file that goes on changing is read after this long, with a finding.")
    rescan_seconds: Interval = setting(3600, "Every folder is walked again after this long, whatever the events said.")
    network_rescan_seconds: Interval = setting(300, "The same for folders whose changes give no events.")
    verify_days: Annotated[float, within(0)] = setting(
        30, "In this many days every file is hashed again, also where its stamp is unchanged; 0 for never."
    )
    answer_seconds: Interval = setting(60, "A share that does not answer for this long is offline until it does.")
    probe_seconds: Interval = setting(60, "So often it is proven that events still arrive.")


@dataclass(frozen=True, slots=True)
class LimitSettings(_Section):
    """What one file may cost."""

    file_mb: Annotated[int, within(1)] = setting(1024, "Larger files are not read (failed as too_large).")
    idle_seconds: Seconds = setting(60, "A child that reports no progress for this long is ended.")
    total_seconds: Seconds = setting(600, "A child that works on one file for this long is ended.")
    memory_mb: Annotated[int, within(256)] = setting(
        2048, "Address space of a child, so that one file cannot take the machine."
    )
    text_chars: Annotated[int, within(1000)] = setting(20_000_000, "Text beyond this is left out, with the finding `bounded`.")


@dataclass(frozen=True, slots=True)
class PoolSettings(_Section):
    """The child processes that read files."""

    workers: Annotated[int, within(0, 256)] = setting(0, "How many files are read at once; 0 means one for each processor.")
    recycle_files: Annotated[int, within(1, 1_000_000)] = setting(200, "A child is replaced after this many files.")
    recycle_mb: Annotated[int, within(50)] = setting(300, "A child whose resident memory grew beyond this is replaced.")


@dataclass(frozen=True, slots=True)
class TextSettings(_Section):
    """How text is read."""

    fallback_encoding: Annotated[str, Check(_encoding)] = setting(
        "cp1252", "Encoding of short text that is neither UTF-8 nor recognised."
    )


@dataclass(frozen=True, slots=True)
class CheckSettings(_Section):
    """Thresholds of the checks. Each was set where good and bad pages of real files separate; see docs/checks.md."""

    bad_chars: Share = setting(0.05, "garbled: control, unassigned and replacement characters on a page.")
    private_use: Share = setting(0.20, "garbled: private-use characters on a page.")
    letter_pairs: float = setting(-5.4, "garbled: mean log2 likelihood of a letter pair; lower is worse.")
    function_words: Share = setting(0.25, "garbled: a share of function words above this clears a page.")
    replacement: Share = setting(0.008, "replacement_chars: U+FFFD beside letters, among the letters.")
    cid_share: Share = setting(0.05, "cid_tokens: share of a page made of (cid:n) tokens.")
    single_letters: Share = setting(0.15, "letter_spaced: letters that stand in runs of single letters.")
    long_tokens: Share = setting(0.20, "missing_spaces: letters in tokens of 28 letters and more.")
    legacy_letters: Share = setting(0.40, "mojibake: accented letters among the letters of Latin words.")
    mojibake: Share = setting(0.30, "mojibake: UTF-8 read as an 8-bit code page, among letters beyond ASCII.")
    odd_tokens: Share = setting(0.12, "low_ocr_confidence: odd words behind an OCR layer.")
    alphabetic: Share = setting(0.20, "low_alpha (a note): letters among the characters of a page.")
    repeated_lines: Share = setting(0.70, "repeated_lines (a note): lines of a page seen before.")
    scanned_chars: Count = setting(30, "scanned: a page with an image and fewer characters than this.")
    image_cover: Share = setting(0.50, "scanned: share of such a page that images cover.")
    short_text: Count = setting(200, "short_text: a document with fewer characters than this.")
    duplicate_passages: Share = setting(0.90, "duplicate_passages: similarity of two passages of a document.")


@dataclass(frozen=True, slots=True)
class Config(_Section):
    """All settings."""

    database: DatabaseSettings = DatabaseSettings()
    roots: tuple[Root, ...] = ()
    walk: WalkSettings = WalkSettings()
    watch: WatchSettings = WatchSettings()
    limits: LimitSettings = LimitSettings()
    pool: PoolSettings = PoolSettings()
    text: TextSettings = TextSettings()
    checks: CheckSettings = CheckSettings()

    def watch_of(self, path: str) -> str:
        """How changes below the root at `path` are to be seen: auto, events or rescan."""
        return next((root.watch for root in self.roots if str(root.path) == path), "auto")

    @property
    def workers(self) -> int:
        """How many children read at once."""
        return self.pool.workers or len(os.sched_getaffinity(0))
