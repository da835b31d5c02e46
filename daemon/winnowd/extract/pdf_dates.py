"""PDF and XMP dates to ISO 8601: written by many hands, so read leniently, but never guessed at."""

import re
from datetime import datetime
from email.utils import parsedate_tz

_PDF = re.compile(r"(?:D\s*:?)?\s*(\d{4,})\s*(?:(Z|[+-])\s*(?:(\d{2})(?:'?:?(\d{2}))?)?)?", re.ASCII)
_ISO = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?"
    r"\s*(?:(Z|[+-])(?:(\d{2}):?(\d{2})?)?)?)?)?)?\s*",
    re.ASCII | re.IGNORECASE,
)
_SLASHED = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b", re.ASCII)
_YEARS = range(1000, 3000)
_MILLENNIUM_BUG = re.compile(r"191\d{2}\d{10}", re.ASCII)
"""Some producers wrote 19 and the years since 1900: 19100 for the year 2000."""


def iso_date(text: str) -> str | None:
    """The date as ISO 8601 at the precision known, with the offset where one stands; None where it is not understood.

    ISO 32000-2, 7.9.4 (`D:YYYYMMDDHHmmSSOHH'mm'`), ISO 8601 as in XMP, and a few common strays.

    >>> iso_date("D:20260112093000+01'00'")
    '2026-01-12T09:30:00+01:00'
    >>> iso_date("D:202403"), iso_date("2024-03-09T10:15Z"), iso_date("soon")
    ('2024-03', '2024-03-09T10:15+00:00', None)
    """
    text = text.strip().strip("()\x00")[:100]
    if match := _ISO.fullmatch(text):
        return _assemble(list(match.groups()[:6]), *match.groups()[6:])
    if match := _PDF.match(text):
        return _assemble(_fields(match[1]), match[2], match[3], match[4])
    if match := _SLASHED.match(text):
        return _slashed(int(match[1]), int(match[2]), match[3])
    return _spelled(text)


def _fields(digits: str) -> list[str | None]:
    """Year, month, day, hour, minute, second out of a run of digits; a digit too few leaves its field out."""
    if _MILLENNIUM_BUG.fullmatch(digits):
        digits = f"{1900 + int(digits[2:5])}{digits[5:]}"
    if len(digits) in (5, 7):  # 2017124 is 4 December or 24 January
        digits = digits[:4]
    return [digits[start : start + size] if len(digits) >= start + size else None for start, size in _PLACES]


_PLACES = ((0, 4), (4, 2), (6, 2), (8, 2), (10, 2), (12, 2))


def _assemble(fields: list[str | None], sign: str | None, hours: str | None, minutes: str | None) -> str | None:
    """The fields as far as they are valid."""
    numbers = [int(field) for field in fields if field is not None]
    while numbers and not _valid(numbers):
        numbers.pop()
    if not numbers:
        return None
    date = "-".join(f"{number:02}" for number in numbers[:3])
    if len(numbers) < 4:
        return date
    time = ":".join(
        f"{number:02}" for number in [*numbers[3:], 0][: max(2, len(numbers) - 3)]
    )  # an hour alone is no time of day
    return f"{date}T{time}{_offset(sign, hours, minutes)}"


def _valid(numbers: list[int]) -> bool:
    year, month, day, *time = [*numbers, *(1, 1)[max(0, len(numbers) - 1) :]]
    if year not in _YEARS:
        return False
    try:
        datetime(year, month, day, *time)  # type: ignore[arg-type]  # at most hour, minute and second
    except ValueError:
        return False
    return True


def _offset(sign: str | None, hours: str | None, minutes: str | None) -> str:
    if sign is None:
        return ""
    if sign in "Zz":
        return "+00:00"
    if hours is None or int(hours) > 23 or int(minutes or 0) > 59:
        return ""
    return f"{sign}{hours}:{minutes or '00'}"


def _slashed(first: int, second: int, year: str) -> str | None:
    """8/2/2007 is in August or in February: only what is certain is said."""
    if first > 12 >= second:
        first, second = second, first
    if second > 12 or first == second:
        return _assemble([year, str(first), str(second)], None, None, None)
    return _assemble([year], None, None, None)


def _spelled(text: str) -> str | None:
    """`Tue, 02 Aug 2007 13:49:06 +0100` and the like (RFC 5322)."""
    parsed = parsedate_tz(text)
    if parsed is None or parsed[0] not in _YEARS:
        return None
    try:
        moment = datetime(*parsed[:6])
    except ValueError:
        return None
    if parsed[9] is None or ("+" not in text and "-" not in text):
        return moment.isoformat()
    sign, minutes = ("-" if parsed[9] < 0 else "+"), abs(parsed[9]) // 60
    return f"{moment.isoformat()}{sign}{minutes // 60:02}:{minutes % 60:02}"
