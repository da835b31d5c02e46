"""How a check is written down: its code, its severity, the sentence that people read, and the function that judges."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from winnowd.config import CheckSettings
from winnowd.model import Draft, Extraction, Page, Severity


class Remark(NamedTuple):
    """What a check has to say. Its code and usual severity are those of the check."""

    message: str
    measure: float | None = None
    threshold: float | None = None
    severity: Severity | None = None


PageCheck = Callable[[Page, Extraction, CheckSettings], Remark | None]
DocumentCheck = Callable[[Draft, CheckSettings], Remark | None]


@dataclass(frozen=True, slots=True)
class Check:
    """One row of docs/checks.md. One without a function is said by an extractor, or of a path."""

    code: str
    severity: Severity
    doc: str
    of_page: PageCheck | None = None
    of_document: DocumentCheck | None = None


def page_check(severity: Severity, code: str | None = None) -> Callable[[PageCheck], Check]:
    """Make a check of a function that judges one page. Its name is its code, unless it shares that of another check."""
    return lambda function: Check(code or function.__name__, severity, _first_line(function), of_page=function)


def document_check(severity: Severity) -> Callable[[DocumentCheck], Check]:
    """Make a check of a function that judges a document as a whole. Its name is its code."""
    return lambda function: Check(function.__name__, severity, _first_line(function), of_document=function)


def _first_line(function: Callable[..., object]) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]
