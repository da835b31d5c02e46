"""The few words of a passage that show why it was found: cut, marked, and fit to be printed on one line.

Hides how a match is found again in the original text. SQLite's own snippet() is asked only for raw FTS5: it would show the
letters of Chinese words apart, and it looks the query up once more for every hit, which a short prefix makes slow.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from winnowd.cjk import has_letters
from winnowd.query import Term, tokens

OPEN, CLOSE = "\ufdd0", "\ufdd1"  # what SQLite is asked to put round a match: Unicode keeps them out of all texts
TOKENS = 24  # what SQLite is asked for: about as much as AROUND
BEFORE = 60  # characters shown before the first match
AROUND = 180  # and in all: two lines of a terminal
LOOK = 20  # so far a cut may move to fall on a blank
CHOICES = 50  # places that are compared; a passage has few more
DOTS = "…"

_UNPRINTABLE = re.compile("[\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\x00-\x1f\x7f-\x9f\\s]")
_BLANKS = re.compile(" {2,}")


def one_line(text: str) -> str:
    r"""The text without control characters, surrogates and signs that turn the direction of others; each white space a blank.

    >>> one_line("Tide\ttables\x1b[2J\n of 2026 ")
    'Tide tables [2J of 2026'
    """
    return _BLANKS.sub(" ", _UNPRINTABLE.sub(" ", text)).strip()


def snippet(text: str, terms: Sequence[Term], marks: tuple[str, str]) -> str:
    """About two lines of `text` round the place where most of `terms` stand together; its beginning where none does.

    Letters are compared as the index compares them: without case and diacritics.

    >>> snippet("Die Übersicht der Gezeiten.", [Term("ubersicht")], ("[", "]"))
    'Die [Übersicht] der Gezeiten.'
    >>> snippet("我们在港口工作。", [Term("港口")], ("[", "]"))
    '我们在[港口]工作。'
    """
    text = _UNPRINTABLE.sub(" ", text)
    folded = "".join(map(_folded, text))
    found = ((*match.span(), place) for place, term in enumerate(terms) for match in _pattern(term).finditer(folded))
    matches = sorted(found)
    start, end = _window(text, matches)
    pieces, place = [DOTS * (start > 0)], start
    for first, last, _ in matches:
        if place <= first and last <= end:
            pieces += [text[place:first], marks[0], text[first:last], marks[1]]
            place = last
    return _BLANKS.sub(" ", "".join([*pieces, text[place:end], DOTS * (end < len(text))])).strip()


def marked(found: str, marks: tuple[str, str]) -> str:
    """A snippet of SQLite on one line, with `marks` round each match; shortened where its words are very long."""
    if len(found) > 2 * AROUND:
        start = max(0, found.find(OPEN) - BEFORE)
        found = DOTS * (start > 0) + found[start : start + 2 * AROUND] + DOTS
        found += CLOSE * (found.rfind(OPEN) > found.rfind(CLOSE))
    return one_line(found).replace(OPEN, marks[0]).replace(CLOSE, marks[1])


def _pattern(term: Term) -> re.Pattern[str]:
    """What finds the term in folded text: its words whole, its letters of scripts without blanks wherever they are."""
    words = [re.escape("".join(map(_folded, word))) for word in tokens(term)]
    gap = r"[\W_]*" if has_letters(term.text) else r"[\W_]+"
    edges = ("", "") if has_letters(term.text) else (r"(?<![^\W_])", r"[^\W_]*" if term.prefix else r"(?![^\W_])")
    return re.compile(edges[0] + gap.join(words) + edges[1] if words else r"(?!)")


def _window(text: str, matches: Sequence[tuple[int, int, int]]) -> tuple[int, int]:
    """Where to cut: so that most terms are shown, as early as possible, and if it can be at blanks."""
    first, last, most = 0, 0, 0
    for number, (begin, end, _) in enumerate(matches[:CHOICES]):
        near = {term for _, stop, term in matches[number : number + CHOICES] if stop <= begin + AROUND - BEFORE}
        if len(near) > most:
            first, last, most = begin, end, len(near)
    start = max(0, first - BEFORE)
    if start:
        start = 1 + max(text.find(" ", start, min(first, start + LOOK)), start - 1)
    stop = max(start + AROUND, last)
    if stop < len(text):
        blank = text.rfind(" ", max(last, stop - LOOK), stop)
        stop = blank if blank >= 0 else stop
    return start, stop


@lru_cache(4096)
def _folded(sign: str) -> str:
    """The sign as a small letter without diacritics, if that is one sign: places in folded text are places in the text."""
    base = unicodedata.normalize("NFD", sign)[0] if not has_letters(sign) else sign
    return base.lower() if len(base.lower()) == 1 else base
