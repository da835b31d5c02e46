"""Words divided at a line end: whether their hyphen stays is read off the words of the document itself."""

import re
from collections import Counter
from collections.abc import Sequence

from winnowd.model import Block

LONGEST = 60  # characters of a word; longer ones are no words
OFTEN = 3
"""Two parts that each occur so often as words of their own are taken for a compound, not for one divided word."""

SECOND_ELEMENTS = frozenset({"based", "oriented", "specific", "driven", "dependent", "related", "aware"})
"""Of English compounds that are written with a hyphen, and that a text may hold but once."""

DIVISION = re.compile(r"-[ \t]*\n[ \t]*([^\W_][\w'’]*(?:-[^\W_][\w'’]*)*)")
"""A hyphen at a line end and the word that begins the next line. What stands before it is looked up only on a find."""
FIRST_PART = re.compile(r"[^\W_][\w'’-]*\Z")
SECOND_PART = re.compile(r"[^\W_][\w'’]*(?:-[^\W_][\w'’]*)*")
EDGES = re.compile(r"^[\W\d_]+|[\W\d_]+$")
STOPS = "".join(char for char in map(chr, range(128)) if not char.isalpha()) + "“”‘’–—…•"
"""Most of what EDGES takes away; where letters stand at both ends after that, there is no more to take."""


def vocabulary(blocks: Sequence[Block]) -> Counter[str]:
    """How often each word stands undivided in the text, in lower case; both halves of a divided word are left out."""
    text = "\n\n".join([block.text for block in blocks])  # an empty line, so that no word is divided between two blocks
    words: dict[str, int] = {}  # a counter calls a function for each new word, and here most are new
    for token, times in Counter(text.split()).items():
        if len(token) < LONGEST and token[-1] != "-":
            bare = token if token.isalpha() else _bare(token)
            word = bare.lower()
            words[word] = words[word] + times if word in words else times
    known = Counter(words)
    known.subtract(match[1].lower() for match in DIVISION.finditer(text))
    return known


def _bare(token: str) -> str:
    """A token without what surrounds its letters."""
    bare = token.strip(STOPS)
    return bare if not bare or (bare[0].isalpha() and bare[-1].isalpha()) else EDGES.sub("", bare)


def without_divisions(text: str, known: Counter[str]) -> tuple[str, int]:
    r"""The text with its divided words joined, and how many they were.

    >>> without_divisions("for exam-\nple", Counter())
    ('for example', 1)
    """
    parts: list[str] = []
    at = count = 0
    for match in DIVISION.finditer(text):
        first = FIRST_PART.search(text, max(at, match.start() - LONGEST), match.start())
        if first:
            parts += [text[at : first.start()], joined_word(first[0], match[1], known)]
            at = match.end()
            count += 1
    return "".join(parts) + text[at:], count


def together(text: str, rest: str, known: Counter[str]) -> str:
    """A text and what follows it on the next column or page, as one."""
    first = FIRST_PART.search(text, max(0, len(text) - LONGEST), len(text) - 1) if text.endswith("-") else None
    second = SECOND_PART.match(rest)
    if first and second:
        return text[: first.start()] + joined_word(first[0], second[0], known) + rest[second.end() :]
    return f"{text} {rest}"


def joined_word(first: str, second: str, known: Counter[str]) -> str:
    """One word, or two with their hyphen.

    >>> joined_word("exam", "ple", Counter())
    'example'
    >>> joined_word("well", "known", Counter(["well-known"]))
    'well-known'
    >>> joined_word("Kosten", "Nutzen", Counter())
    'Kosten-Nutzen'
    """
    whole, compound = first + second, f"{first}-{second}"
    part, head = first.rpartition("-")[2].lower(), second.partition("-")[0].lower()
    if known[compound.lower()] > 0 and known[compound.lower()] >= known[whole.lower()]:
        return compound
    if known[whole.lower()] > 0 or known[part + head] > 0:
        return whole
    if second[0].isdigit() or (second[0].isupper() and not first.isupper()):
        return compound
    if len(part) == 1 or not part.isalpha() or "-" in second or (head in SECOND_ELEMENTS and len(part) > 3):
        return compound
    if min(len(part), len(head)) > 2 and known[part] >= OFTEN and known[head] >= OFTEN:
        return compound
    return whole
