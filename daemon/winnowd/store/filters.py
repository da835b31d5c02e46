"""The filters of a search as one SQL condition: under a folder, of a format, in a language, modified in a time.

Hides that a folder is known by its root and its path in there, and that names on a share are bytes before they are text.
"""

import json
import sqlite3
from datetime import date, datetime

from winnowd.query import Filters

OLDEST, NEWEST = -(2**63), 2**63 - 1  # what an INTEGER of SQLite can hold

FITS = """
    (:roots IS NULL OR f.root_id IN (SELECT value FROM json_each(:roots)))
    AND (:folder IS NULL OR CAST(f.directory AS BLOB) = :folder
         OR substr(CAST(f.directory AS BLOB), 1, length(:below)) = :below)
    AND (:format IS NULL OR coalesce(d.format, f.format) = :format)
    AND (:language IS NULL OR lower(d.language) = :language OR lower(d.language) GLOB :language || '[-_]*')
    AND (:since IS NULL OR f.mtime_ns >= :since) AND (:before IS NULL OR f.mtime_ns < :before)"""
"""True for a file `f` (with its document `d`, which may be missing) that passes; its values come from `values`."""


def values(db: sqlite3.Connection, filters: Filters) -> dict[str, object]:
    """The values that `FITS` wants, and `filtered`: whether anything is asked for at all."""
    roots, folder = _under(db, filters.under)
    return {
        "filtered": filters != Filters(),
        "roots": None if roots is None else json.dumps(roots),
        "folder": folder or None,
        "below": folder + b"/" if folder else None,
        "format": filters.format and filters.format.lower().lstrip("."),
        "language": filters.language and filters.language.lower(),
        "since": filters.since and _nanoseconds(filters.since),
        "before": filters.before and _nanoseconds(filters.before),
    }


def raw(path: str | bytes) -> bytes:
    """The bytes of a path or name as the database holds it: text is UTF-8 there, whatever the locale says."""
    return path if isinstance(path, bytes) else path.encode()


def _under(db: sqlite3.Connection, under: bytes | None) -> tuple[list[int] | None, bytes]:
    """The roots that a folder holds, or the one that holds it and its path in there; None where nothing was asked."""
    if under is None:
        return None, b""
    folder = under.rstrip(b"/") + b"/"
    roots = [(row[0], raw(row[1]).rstrip(b"/") + b"/") for row in db.execute("SELECT id, path FROM roots")]
    for root_id, path in roots:
        if folder.startswith(path):
            return [root_id], folder.removeprefix(path).rstrip(b"/")
    return [root_id for root_id, path in roots if path.startswith(folder)], b""


def _nanoseconds(day: date) -> int:
    """The beginning of the day where this machine stands, as st_mtime_ns counts; within what SQLite can hold."""
    seconds = int(datetime(day.year, day.month, day.day).timestamp()) if day.year > 1 else OLDEST
    return min(max(seconds * 10**9, OLDEST), NEWEST)
