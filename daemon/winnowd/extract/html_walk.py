"""Walks a parsed web page and yields every piece of text on it, in order.

Hides how HTML shows text: what is a line of its own and what runs inside a word, white space, lists, tables for data and
tables for layout, preformatted text. Nothing is judged here, but each piece says how much of it is links and whether it
stands aside. The walk does not recurse, so depth does no harm, and each element is visited once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lxml import etree

from winnowd.extract.html_text import SKIPPED, data_rows, number_of, said, stands_alone
from winnowd.extract.rows import markdown_rows
from winnowd.model import Block, BlockKind

Element = Any  # an lxml element; lxml has no types of its own

_ASIDE = frozenset({"nav", "footer", "aside", "menu", "dialog", "button", "label"})
_ASIDE_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu"})
_ASIDE_NAMES = frozenset({"cookie", "cookies", "consent", "gdpr", "advert", "ad", "ads", "promo", "newsletter", "related"})
_ASIDE_NAMES |= {"nav", "navbar", "navigation", "breadcrumb", "breadcrumbs", "sidebar", "menu", "footer", "skiplink"}
_ASIDE_NAMES |= {"share", "sharing", "social"}
"""Words in the classes and ids of what stands beside the content; used only where the main text cannot be found better."""

_UNMARKED = frozenset({"html", "body", "main", "article"})  # may carry such a class for the whole page
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PRE = frozenset({"pre", "listing", "xmp", "plaintext"})
_LISTS = frozenset({"ul", "ol", "dir"})
_KINDS: dict[str, tuple[BlockKind, int | None]] = {f"h{level}": ("heading", level) for level in range(1, 7)}
_KINDS |= dict.fromkeys(_PRE, ("code", None)) | {"figcaption": ("caption", None), "caption": ("caption", None)}
_SPACE = re.compile(r"[ \t\n\r\f]+")
_BLANKS = re.compile(" {2,}")
_BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Piece:
    """A block of a page, how many of its characters are link text, and whether it stands beside the content."""

    block: Block
    linked: int = 0
    aside: bool = False

    @property
    def unlinked(self) -> int:
        """Characters that are not link text."""
        return max(0, len(self.block.text) - self.linked)


def pieces(root: Element) -> Iterator[Piece]:
    """Every piece of text on a page, in order."""
    walk = _Walk()
    events = etree.iterwalk(root, events=("start", "end"))
    skipped = False  # the element whose end comes next was not entered
    for event, element in events:
        if event == "end":
            if skipped:
                walk.pass_by(element)
            else:
                yield from walk.leave(element)
            skipped = False
            continue
        tag = element.tag
        rows = data_rows(element) if tag == "table" else None
        skipped = rows is not None or not isinstance(tag, str) or tag in SKIPPED
        if rows is not None:
            yield from walk.table(element, rows)
        if skipped:
            events.skip_subtree()
        else:
            yield from walk.enter(element)
    yield from walk.flush()


class _Walk:
    """What is open at one point of the walk: the text gathered so far, and the elements that give it its kind."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._linked = 0
        self._links = 0  # open links
        self._pre = 0  # open preformatted elements
        self._asides: list[bool] = [False]  # of each open element, whether it or one around it stands beside the content
        self._kinds: list[tuple[BlockKind, int | None]] = []
        self._lists: list[int | None] = []  # the last number of each open list, None where it has bullets
        self._marker = ""  # of a list item that has just begun

    def enter(self, element: Element) -> Sequence[Piece]:
        """What ends where an element begins, as pieces; from here on the element is open."""
        tag = element.tag
        done = self._cut(tag) if stands_alone(tag) else ()
        self._asides.append(self._asides[-1] or _is_aside(element))
        self._links += tag == "a"
        self._pre += tag in _PRE
        if tag in _KINDS:
            self._kinds.append(_KINDS[tag])
        if tag in _LISTS:
            self._lists.append(number_of(element, "start", 1) - 1 if tag == "ol" else None)
        elif tag == "li":
            self._marker = self._next_marker(element)
        elif tag == "br":
            self._text.append("\n")
        self._say(element.text)
        return done

    def leave(self, element: Element) -> Sequence[Piece]:
        """What ends with an element, as pieces."""
        tag = element.tag
        done = self._cut(tag) if stands_alone(tag) else ()
        self._asides.pop()
        self._links -= tag == "a"
        self._pre -= tag in _PRE
        if tag in _KINDS:
            self._kinds.pop()
        if tag in _LISTS:
            self._lists.pop()
        elif tag == "li":
            self._marker = ""
        self._say(element.tail)
        return done

    def pass_by(self, element: Element) -> None:
        """An element that was not entered: a table that is done, a script, a comment."""
        self._say(element.tail)

    def table(self, element: Element, rows: list[list[str]]) -> Iterator[Piece]:
        """A table of data, as one piece, its caption before it."""
        yield from self.flush()
        aside = self._asides[-1] or _is_aside(element)
        caption = said(element.find("caption")) if element.find("caption") is not None else ""
        if caption:
            yield Piece(Block("caption", caption, page=0), aside=aside)
        text = markdown_rows(rows)
        if text:
            linked = sum(len(said(link)) for link in element.iter("a"))
            yield Piece(Block("table", text, page=0), linked, aside)

    def flush(self) -> Sequence[Piece]:
        """What has been gathered since the last break, as pieces."""
        if not self._text:
            return ()
        text, linked = "".join(self._text), self._linked
        self._text, self._linked = [], 0
        kind, level = self._kinds[-1] if self._kinds else ("paragraph", None)
        if not text.strip():
            return ()
        found = list[Piece]()
        whole = [text.strip("\n")] if kind == "code" else [part for part in _BLANK_LINES.split(_tidy(text)) if part]
        for part in whole:
            marked, self._marker = self._marker + part if kind == "paragraph" else part, ""
            block = Block("list_item" if marked != part else kind, marked, page=0, level=level)
            found.append(Piece(block, min(linked, len(part)), self._asides[-1]))
            linked = max(0, linked - len(part))
        return found

    def _cut(self, tag: str) -> Sequence[Piece]:
        """A line break inside preformatted text, else the end of a piece."""
        if not self._pre or tag in _PRE:
            return self.flush()
        if self._text and not self._text[-1].endswith("\n"):
            self._text.append("\n")
        return ()

    def _say(self, text: str | None) -> None:
        if not text:
            return
        said = text if self._pre or text == " " else _SPACE.sub(" ", text)
        self._text.append(said)
        if self._links:
            self._linked += len(said)

    def _next_marker(self, item: Element) -> str:
        if not self._lists or self._lists[-1] is None:
            return "- "
        self._lists[-1] = number_of(item, "value", self._lists[-1] + 1)
        return f"{self._lists[-1]}. "


def _tidy(text: str) -> str:
    """Lines without white space at their ends, at most one blank between words; `\n` is what `br` left."""
    return "\n".join([line.strip() for line in _BLANKS.sub(" ", text).split("\n")]).strip("\n")


def _is_aside(element: Element) -> bool:
    tag, attributes = element.tag, element.keys()  # the values are fetched only of those that are there
    if tag in _ASIDE or "hidden" in attributes or ("role" in attributes and element.get("role") in _ASIDE_ROLES):
        return True
    if tag == "header" and not any(outer.tag in ("article", "main", "section") for outer in _outer(element)):
        return element.find(".//h1") is None
    if "style" in attributes and _HIDDEN.search(element.get("style")):
        return True
    if tag in _UNMARKED or ("class" not in attributes and "id" not in attributes):
        return False
    names = f"{element.get('class', '')} {element.get('id', '')}"
    return len(names) < 500 and not _ASIDE_NAMES.isdisjoint(_name_words(names))


def _name_words(names: str) -> list[str]:
    """The words of classes and ids: `Skip-Link main_nav` are skiplink, main and nav."""
    return names.lower().replace("skip-link", "skiplink").replace("-", " ").replace("_", " ").split()


def _outer(element: Element) -> Iterator[Element]:
    """The nearest ancestors; further away they say little, and deep pages have thousands."""
    return islice(element.iterancestors(), 12)
