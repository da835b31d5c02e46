"""A TOML file to one frozen `Config`; every problem at once, each with its key and, where it can be found, its line."""

import os
from pathlib import Path
from typing import Any

import tomli
from pydantic import TypeAdapter, ValidationError

from winnowd.config import Config
from winnowd.errors import ConfigError


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
        config = TypeAdapter(Config).validate_python(values)
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
    if item["type"] == "unexpected_keyword_argument":
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
