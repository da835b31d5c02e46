"""Numbers at the edge of pages: which words may be page numbers, and which of them count the pages."""

import re
from collections.abc import Iterable
from functools import lru_cache

REPEATS = 3  # pages, at the very least, before anything at their edge is believed
DENSE = 0.5  # share of the pages between the first and the last of a sequence of numbers that carry one

DIGIT = re.compile(r"\d")
ROMAN = re.compile(r"(?=[ivxlc])(c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3}))\Z", re.IGNORECASE | re.ASCII)
ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
AROUND_NUMBER = " .,:;|·•*()[]<>-–—~/"
_BOUND = re.escape(AROUND_NUMBER) + r"\s"
MAY_BE_ROMAN = re.compile(rf"[ivxlcIVXLC](?<![^{_BOUND}].)[ivxlcIVXLC]{{0,7}}(?![^{_BOUND}])")
PAGE_WORDS = (
    "page|pages|pg|pp?|seite|s|pagina|página|pág|pag|side|sida|sivu|strona|str|strana|oldal|sayfa|стр|страница|σελίδα|第|sheet"
)
OF_WORDS = "of|von|de|di|da|sur|van|av|af|z|ze|из|od|/"
ONLY_NUMBER = re.compile(rf"\W*(?:(?:{PAGE_WORDS})\.?\W*)?#(?:\W*(?:{OF_WORDS})?\W*[#\d]+)?\W*[页頁]?\W*\Z")
"""A page number alone: "#", "- # -", "Page #", "Seite # von 12", "#/12"."""


def is_sequence(pages: set[int]) -> bool:
    """Whether so many of the pages between the first and the last carry a number that it counts them."""
    return len(pages) >= REPEATS and len(pages) >= DENSE * (max(pages) - min(pages) + 1)


def numbers_of(cells: Iterable[str]) -> set[tuple[str, int]]:
    """The numbers at or next to the ends of cells: what a page number may be."""
    found = set()
    for cell in filter(may_hold_number, cells):
        tokens = cell.split()
        for token in {tokens[0], tokens[-1]} | ({tokens[1]} if len(tokens) > 1 else set()):
            value = number_of(token)
            if value is not None:
                found.add(value)
    return found


def may_hold_number(cell: str) -> bool:
    """Whether a look at each word of a cell pays: False where none of them can be a number."""
    return DIGIT.search(cell) is not None or MAY_BE_ROMAN.search(cell) is not None


@lru_cache(maxsize=4096)
def number_of(token: str) -> tuple[str, int] | None:
    """A word as a number, with the kind of its digits.

    >>> number_of("xiv."), number_of("(12)"), number_of("mix")
    (('roman', 14), ('arabic', 12), None)
    >>> number_of("ı") is None  # ignoring case, a pattern takes the letters of other alphabets for their ASCII kin
    True
    """
    token = token.strip(AROUND_NUMBER).partition("/")[0]
    if token.isdecimal() and len(token) <= 5:
        return "arabic", int(token)
    if token and len(token) <= 8 and ROMAN.match(token):
        values = [ROMAN_VALUES[char] for char in token.lower()]
        following = [*values[1:], 0]
        return "roman", sum(-a if a < b else a for a, b in zip(values, following, strict=True))
    return None


def only_number(masked: str) -> bool:
    """Whether a cell is a page number and nothing else, its number being written #.

    >>> only_number("- # -"), only_number("seite # von 12"), only_number("tides #")
    (True, True, False)
    """
    return ONLY_NUMBER.match(masked) is not None
