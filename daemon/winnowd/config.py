"""TOML to one frozen `Config`; every problem is reported at once, each with its key and, where it can be found, its line."""

import os
from pathlib import Path
from typing import Annotated, Any

import tomli
from pathspec import GitIgnoreSpec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from winnowd.errors import ConfigError

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


def _patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError:
            raise ValueError(f"{pattern!r} is no pattern in .gitignore syntax") from None
    return patterns


Patterns = Annotated[tuple[str, ...], AfterValidator(_patterns)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class Root(_Section):
    """A watched folder."""

    path: Path = Field(description="Absolute path of a folder to index. It is only read, never written.")
    exclude: Patterns = Field((), description="Patterns in .gitignore syntax, in addition to the general ones.")

    @field_validator("path")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        if not path.is_absolute():
            raise ValueError("must be an absolute path")
        return Path(os.path.normpath(path))


class DatabaseSettings(_Section):
    """Where the catalogue lies."""

    path: Path = Field(
        Path("/var/lib/winnowd/winnow.db"), description="The one SQLite file. It must lie on a local disk, outside every root."
    )

    @field_validator("path")
    @classmethod
    def _absolute(cls, path: Path) -> Path:
        if not path.is_absolute():
            raise ValueError("must be an absolute path")
        return path


class WalkSettings(_Section):
    """What is looked at."""

    exclude: Patterns = Field(
        EXCLUDED_FILES + EXCLUDED_FOLDERS,
        description="Patterns in .gitignore syntax; a file that matches is counted as skipped, a folder is not entered.",
    )
    removal_floor: int = Field(10, ge=0, description="A walk that would remove more files than this ...")
    removal_share: Share = Field(0.1, description="... and more than this share of a root holds them until they are released.")


class WatchSettings(_Section):
    """How `winnow scan --watch` follows changes."""

    settle_seconds: float = Field(
        5, ge=0.1, description="A changed file is looked at when nothing happened to it for this long."
    )
    rescan_seconds: float = Field(3600, ge=1, description="Every folder is walked again after this long, whatever was seen.")
    network_rescan_seconds: float = Field(
        300, ge=1, description="The same for folders on network file systems, which give no events."
    )


class LimitSettings(_Section):
    """What one file may cost."""

    file_mb: int = Field(1024, ge=1, description="Larger files are not read (failed as too_large).")
    idle_seconds: float = Field(60, gt=0, description="A child that reports no progress for this long is ended.")
    total_seconds: float = Field(600, gt=0, description="A child that works on one file for this long is ended.")
    memory_mb: int = Field(2048, ge=256, description="Address space of a child, so that one file cannot take the machine.")
    text_chars: int = Field(20_000_000, ge=1000, description="Text beyond this is left out, with the finding `bounded`.")


class PoolSettings(_Section):
    """The child processes that read files."""

    workers: int = Field(0, ge=0, le=256, description="How many files are read at once; 0 means one for each processor.")
    recycle_files: int = Field(200, ge=1, le=1_000_000, description="A child is replaced after this many files.")
    recycle_mb: int = Field(300, ge=50, description="A child whose resident memory grew beyond this is replaced.")


class TextSettings(_Section):
    """How text is read."""

    fallback_encoding: str = Field("cp1252", description="Encoding of short text that is neither UTF-8 nor recognised.")

    @field_validator("fallback_encoding")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            "".encode(name)
        except LookupError:
            raise ValueError(f"{name!r} is not an encoding that Python knows") from None
        return name


class CheckSettings(_Section):
    """Thresholds of the checks. Each was set where good and bad pages of real files separate; see docs/checks.md."""

    bad_chars: Share = Field(0.05, description="garbled: control, unassigned and replacement characters on a page.")
    private_use: Share = Field(0.20, description="garbled: private-use characters on a page.")
    letter_pairs: float = Field(-5.4, description="garbled: mean log2 likelihood of a letter pair; lower is worse.")
    function_words: Share = Field(0.25, description="garbled: a share of function words above this clears a page.")
    replacement: Share = Field(0.008, description="replacement_chars: U+FFFD beside letters, among the letters.")
    cid_share: Share = Field(0.05, description="cid_tokens: share of a page made of (cid:n) tokens.")
    single_letters: Share = Field(0.15, description="letter_spaced: letters that stand in runs of single letters.")
    long_tokens: Share = Field(0.20, description="missing_spaces: letters in tokens of 28 letters and more.")
    legacy_letters: Share = Field(0.40, description="mojibake: accented letters among the letters of Latin words.")
    mojibake: Share = Field(0.30, description="mojibake: UTF-8 read as an 8-bit code page, among letters beyond ASCII.")
    odd_tokens: Share = Field(0.12, description="low_ocr_confidence: odd words behind an OCR layer.")
    alphabetic: Share = Field(0.20, description="low_alpha (a note): letters among the characters of a page.")
    repeated_lines: Share = Field(0.70, description="repeated_lines (a note): lines of a page seen before.")
    scanned_chars: int = Field(30, ge=0, description="scanned: a page with an image and fewer characters than this.")
    image_cover: Share = Field(0.50, description="scanned: share of such a page that images cover.")
    short_text: int = Field(200, ge=0, description="short_text: a document with fewer characters than this.")
    duplicate_passages: Share = Field(0.90, description="duplicate_passages: similarity of two passages of a document.")


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

    @property
    def workers(self) -> int:
        """How many children read at once."""
        return self.pool.workers or len(os.sched_getaffinity(0))


def load(path: Path) -> Config:
    """The configuration in a TOML file. Raises ConfigError with one line for each problem."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    return parse(text, str(path))


def parse(text: str, where: str) -> Config:
    """The configuration in a TOML text; `where` names it in messages."""
    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise ConfigError(f"{where}:{error.lineno}: {error.msg} (column {error.colno})") from None
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        problems = [_problem(where, text, dict(item)) for item in error.errors()]
        raise ConfigError("\n".join(problems)) from None
    _refuse_overlap(config, where, text)
    return config


def _refuse_overlap(config: Config, where: str, text: str) -> None:
    problems = []
    for number, root in enumerate(config.roots):
        for other in config.roots[:number]:
            one, two = Path(os.path.realpath(root.path)), Path(os.path.realpath(other.path))
            if one == two or one in two.parents or two in one.parents:
                line = _line_of(text, ("roots", number, "path"))
                problems.append(
                    f"{where}{line}: roots.{number}.path: {root.path} overlaps the root {other.path}; keep one of them"
                )
        if config.database.path.is_relative_to(root.path):
            problems.append(
                f"{where}: database.path: {config.database.path} lies inside the root {root.path}; move it elsewhere"
            )
    if problems:
        raise ConfigError("\n".join(problems))


def _problem(where: str, text: str, item: dict[str, Any]) -> str:
    keys = item["loc"]
    name = ".".join(str(key) for key in keys)
    if item["type"] == "extra_forbidden":
        return f"{where}{_line_of(text, keys)}: {name}: there is no such setting"
    if item["type"] == "missing":
        return f"{where}: {name}: must be set"
    reason = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{where}{_line_of(text, keys)}: {name}: {reason} (it is {item['input']!r})"


def _line_of(text: str, keys: tuple[Any, ...]) -> str:
    """ ":12" for the line where a key is set, "" where it cannot be found. Looks for the table, then for the key."""
    table = [str(key) for key in keys[:-1] if isinstance(key, str)]
    occurrence = next((key for key in keys if isinstance(key, int)), 0)
    current: list[str] = []
    seen = -1
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            current = stripped.strip("[] \t").split("#")[0].strip().split(".")
            seen += stripped.startswith("[[") and current == table[:1]
            if current == [str(keys[-1])]:
                return f":{number}"
            continue
        inside = current == table and (not stripped or seen == occurrence or not any(isinstance(k, int) for k in keys))
        if (inside or (not table and not current)) and stripped.split("=")[0].strip() == str(keys[-1]):
            return f":{number}"
    return ""
