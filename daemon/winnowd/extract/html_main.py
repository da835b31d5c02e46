"""Chooses which pieces of a web page are its main text.

trafilatura finds the main text; our own walk knows the page better (line breaks of code, tables, headings, words with tags in
them). So the one only chooses among the pieces of the other: a piece is kept where trafilatura has it too, and nothing is
lost, for what is not chosen stays as boilerplate. Where trafilatura finds too little, or may not be asked, simple rules
choose instead.
"""

import re
from collections.abc import Sequence
from typing import Any

from lxml import etree
from trafilatura import bare_extraction

from winnowd.extract.html_walk import Piece

Element = Any  # an lxml element; lxml has no types of its own

PAGE_BYTES = 5_000_000
"""trafilatura takes more than linear time; a larger page is left to the rules."""

PAGE_BLOCKS = 5_000
"""8,000 paragraphs took trafilatura 1.5 s, 40,000 more than 30 s."""

PAGE_ELEMENTS = 60_000
"""A page of one paragraph with 200,000 line breaks took 7 s."""

PAGE_DEPTH = 250
"""trafilatura recurses."""

_LIBRARY_TROUBLE = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    IndexError,
    RecursionError,
    AssertionError,
    etree.LxmlError,
)
"""What trafilatura raises on odd pages, as seen; the pieces are there all the same."""

_WORDS = re.compile(r"[^\W_]+")
_OTHER_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_MARK = re.compile(r"(?:- |-?\d+\. )")
_CERTAIN = 24  # letters and digits; a shorter piece may stand in the main text by chance
_WINDOW = 16  # letters and digits in a row that no two sentences share
_WINDOWS = 12  # taken from a piece that is not in the main text as a whole
_NEAR = 3  # pieces
_PROSE = 80  # characters of a paragraph that is no label, button or headline
_TOO_LITTLE = 0.1  # of the prose outside the menus: comments below an article may well be eight times as long
_TRUSTED = 0.3  # of the prose
_FEW = 250  # characters of prose; below, an extraction is doubted where the page has twice as much


def chosen(root: Element, pieces: Sequence[Piece]) -> list[bool] | None:
    """For each piece whether it is main text, by what trafilatura finds; None where it finds nothing or far too little."""
    try:
        # the format is of no use, but for "python", which is the default, the body would be written out as text once more
        found = bare_extraction(root, output_format="txt", fast=True, include_comments=False, include_tables=True)
    except _LIBRARY_TROUBLE:
        return None
    body = getattr(found, "body", None)
    if body is None:
        return None
    choice = _with_headings(pieces, _with_gaps(pieces, _matched(pieces, body)))
    kept, candidates = prose(_picked(pieces, choice)), prose(_picked(pieces, by_rules(pieces)))
    doubtful = kept < _TOO_LITTLE * candidates or (kept < _FEW and candidates > 2 * _FEW)
    return None if doubtful or not any(choice) else choice


def _picked(pieces: Sequence[Piece], choice: Sequence[bool]) -> list[Piece]:
    return [piece for piece, main in zip(pieces, choice, strict=True) if main]


def by_rules(pieces: Sequence[Piece]) -> list[bool]:
    """The same by simple rules: what does not stand aside and is not mostly links. A page of nothing else is kept whole."""
    # A menu that was never closed holds the whole page, so where nearly all prose stands aside, that says nothing.
    trusted = prose([piece for piece in pieces if not piece.aside]) >= _TRUSTED * prose(pieces)
    choice = [not (trusted and piece.aside) and piece.linked <= len(piece.block.text) / 2 for piece in pieces]
    return _with_headings(pieces, choice) if any(choice) else [True] * len(pieces)


def prose(pieces: Sequence[Piece]) -> int:
    """Characters in paragraphs, tables, lists and code that say something of their own: neither links nor labels."""
    return sum(
        piece.unlinked
        for piece in pieces
        if piece.block.kind in ("table", "code") or (piece.unlinked >= _PROSE and piece.linked <= piece.unlinked)
    )


def squeezed(text: str) -> str:
    """Letters and digits alone: what is left when white space, marks and list signs may differ.

    >>> squeezed("1. A well-kept  secret.")
    '1Awellkeptsecret'
    """
    if text.isascii():
        return text.encode("ascii").translate(None, _OTHER_SIGNS).decode("ascii")
    return "".join(_WORDS.findall(text))


def _matched(pieces: Sequence[Piece], body: Element) -> list[bool]:
    whole = squeezed("".join(body.itertext()))
    lines = {_label(text) for text in body.itertext()}
    lines |= {_label("".join(element.itertext())) for element in body.iter("p", "head", "item", "cell", "quote")}
    return [_is_in(squeezed(_unmarked(piece)), whole, lines) for piece in pieces]


def _label(text: str) -> str:
    """The text squeezed, or nothing where it is longer than what is looked for among the lines."""
    return squeezed(text) if len(text) < 4 * _CERTAIN or len(squeezed(text[: 4 * _CERTAIN])) < _CERTAIN else ""


def _unmarked(piece: Piece) -> str:
    """The text without what the walk put before it."""
    text = piece.block.text
    mark = _MARK.match(text) if piece.block.kind == "list_item" else None
    return text[mark.end() :] if mark else text


def _is_in(text: str, whole: str, lines: set[str]) -> bool:
    if len(text) < _CERTAIN:
        return bool(text) and text in lines
    if text in whole:
        return True
    step = max(_WINDOW, len(text) // _WINDOWS)
    windows = [text[at : at + _WINDOW] for at in range(0, len(text) - _WINDOW + 1, step)]
    return sum(window in whole for window in windows) * 2 > len(windows)


def _with_gaps(pieces: Sequence[Piece], choice: Sequence[bool]) -> list[bool]:
    """Tables, code and prose belong to the main text that stands right before and after them; trafilatura drops some."""
    near = [any(choice[max(0, at - _NEAR) : at]) and any(choice[at + 1 : at + 1 + _NEAR]) for at in range(len(pieces))]
    return [main or (between and _says_something(piece)) for piece, main, between in zip(pieces, choice, near, strict=True)]


def _says_something(piece: Piece) -> bool:
    if piece.aside or piece.linked > piece.unlinked / 2:
        return False
    return piece.block.kind in ("table", "code") or (piece.block.kind != "caption" and piece.unlinked >= _PROSE)


def _with_headings(pieces: Sequence[Piece], choice: Sequence[bool]) -> list[bool]:
    """A heading and the caption of a table belong to what follows; a first-level heading even where bylines stand between."""
    kept = list(choice)
    main_follows = False
    distance = 0
    for at in range(len(pieces) - 1, -1, -1):
        block = pieces[at].block
        if block.kind == "heading" and not pieces[at].aside:
            kept[at] = kept[at] or (main_follows and (distance == 0 or (block.level == 1 and distance <= 10)))
        elif block.kind == "caption" and main_follows and distance == 0 and pieces[at + 1].block.kind == "table":
            kept[at] = True
        distance = 0 if kept[at] else distance + 1
        main_follows = main_follows or kept[at]
    return kept
