"""Closes up words whose letters were set apart: `R I S K  R E G I S T E R` was two words before a designer spaced them."""

import re
from dataclasses import replace
from statistics import median
from typing import Any

from winnowd.model import Line

SPACED = re.compile(r"(?<!\S)[^\W\d_](?: [^\W\d_]){3,}(?!\S)")
"""Four or more single letters in a row; less is common in formulas."""
_IN_A_ROW = re.compile(r" [^\W\d_] [^\W\d_] [^\W\d_](?!\S)")
"""How every match of SPACED ends: it begins with a blank, which is found four times as fast as a place after one."""
_WORD_GAP = 1.6
"""A gap this much wider than the usual one between the letters parts two words."""


def spaced(text: str) -> bool:
    """Whether letters stand apart somewhere in a text.

    >>> spaced("the R I S K of it"), spaced("plan B or C D E")
    (True, False)
    """
    return _IN_A_ROW.search(text) is not None and SPACED.search(text) is not None


def closed_up(lines: list[Line], characters: list[dict[str, Any]]) -> list[Line]:
    """The lines, those with letters set apart rebuilt from the gaps between their characters.

    `characters` are the raw blocks of the same page: MuPDF says which blanks it put in by itself. A blank of the source
    stays: `A B C D` may be four answers.
    """
    raw = {_place(found["bbox"]): found for block in characters for found in block.get("lines", ())}
    return [_closed(line, raw.get(_place(line.box))) if SPACED.search(line.text) else line for line in lines]


def _place(box: tuple[float, float, float, float]) -> tuple[int, int]:
    return round(box[0]), round(box[1])


def _closed(line: Line, found: dict[str, Any] | None) -> Line:
    if found is None:
        return line
    characters = [character for span in found["spans"] for character in span["chars"]]
    gaps = gap_words([(each["c"], each["bbox"][0], each["bbox"][2], each["synthetic"]) for each in characters])
    return replace(line, text=gaps) if gaps else line


def gap_words(characters: list[tuple[str, float, float, bool]]) -> str:
    """The text of characters (text, left, right, put in by the parser), with blanks only from the source or for a wide gap.

    >>> gap_words([("A", 0, 7, False), (" ", 7, 12, True), ("T", 12, 19, False), (" ", 19, 24, True), ("O", 40, 47, False)])
    'AT O'
    """
    parts: list[tuple[str, float]] = []
    end, blank = 0.0, False
    for text, left, right, synthetic in characters:
        if text.isspace():
            blank = blank or not synthetic
            continue
        parts.append((" " if blank and parts else "", left - end if parts else 0.0))
        parts[-1] = (parts[-1][0] + text, parts[-1][1])
        end, blank = right, False
    gaps = [gap for _, gap in parts[1:] if gap > 0]
    limit = _WORD_GAP * median(gaps) if gaps else 0.0
    return "".join(
        " " + text if gap > limit and not text.startswith(" ") and place else text for place, (text, gap) in enumerate(parts)
    ).strip()
