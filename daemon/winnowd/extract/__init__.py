"""The only code that parses untrusted bytes: one module per format, loaded on demand and only in a child."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from winnowd.model import Extraction, Format


@dataclass(frozen=True, slots=True)
class Reading:
    """What an extractor is told about one reading.

    `path` opens the very bytes that were hashed (a descriptor path: its name says nothing), `size` is in bytes, `text_chars`
    bounds the text in characters, and `progress` is called once a page or every few hundred paragraphs, so that a hang is
    noticed.
    """

    path: str
    format: Format
    size: int
    fallback_encoding: str = "cp1252"
    text_chars: int = 20_000_000
    progress: Callable[[], None] = lambda: None


class _Extractor(Protocol):
    def extract(self, reading: Reading) -> Extraction: ...


def extract(reading: Reading) -> Extraction:
    """What the file holds, by the module that reads its format. Raises DocumentError where there is no document at all."""
    module = cast("_Extractor", importlib.import_module(f"winnowd.extract.{reading.format.module}"))
    return module.extract(reading)
