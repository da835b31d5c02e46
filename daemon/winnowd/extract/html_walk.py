"""Walks a parsed web page and yields every piece of text on it, in order.

Hides how HTML shows text: what is a line of its own and what runs inside a word, white space, lists, tables for data and
tables for layout, preformatted text. Nothing is judged here, but each piece says how much of it is links and whether it
stands aside. The walk does not recurse, so depth does no harm, and each element is visited once.
"""

import re
from collections.abc import Iterator
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
_ASIDE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|nav|navbar|navigation|breadcrumbs?|sidebar|menu|footer|share|sharing|social|related|"
    r"newsletter|advert|ads?|promo|skip-?link)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Classes and ids of what stands beside the content. Used only where the main text could not be found in a better way."""

_UNMARKED = frozenset({"html", "body", "main", "article"})  # may carry such a class for the whole page
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PRE = frozenset({"pre", "listing", "xmp", "plaintext"})
_LISTS = frozenset({"ul", "ol", "dir"})
_KINDS: dict[str, tuple[BlockKind, int | None]] = {f"h{level}": ("heading", level) for level in range(1, 7)}
_KINDS |= dict.fromkeys(_PRE, ("code", None)) | {"figcaption": ("caption", None), "caption": ("caption", None)}
_SPACE = re.compile(r"[ \t\n\r\f]+")
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
            yield from walk.pass_by(element) if skipped else walk.leave(element)
            skipped = False
            continue
        rows = data_rows(element)
        skipped = rows is not None or not isinstance(element.tag, str) or element.tag in SKIPPED
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

    def enter(self, element: Element) -> Iterator[Piece]:
        tag = element.tag
        if stands_alone(tag):
            yield from self._cut(tag)
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

    def leave(self, element: Element) -> Iterator[Piece]:
        tag = element.tag
        if stands_alone(tag):
            yield from self._cut(tag)
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

    def pass_by(self, element: Element) -> Iterator[Piece]:
        """An element that was not entered: a table that is done, a script, a comment."""
        self._say(element.tail)
        return iter(())

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

    def flush(self) -> Iterator[Piece]:
        """What has been gathered since the last break, as pieces."""
        if not self._text:
            return
        text, linked = "".join(self._text), self._linked
        self._text, self._linked = [], 0
        kind, level = self._kinds[-1] if self._kinds else ("paragraph", None)
        if kind == "code":
            whole = [text.strip("\n")] if text.strip() else []
        else:
            whole = [part for part in _BLANK_LINES.split(_tidy(text)) if part]
        for part in whole:
            marked, self._marker = self._marker + part if kind == "paragraph" else part, ""
            block = Block("list_item" if marked != part else kind, marked, page=0, level=level)
            yield Piece(block, min(linked, len(part)), self._asides[-1])
            linked = max(0, linked - len(part))

    def _cut(self, tag: str) -> Iterator[Piece]:
        """A line break inside preformatted text, else the end of a piece."""
        if not self._pre or tag in _PRE:
            return self.flush()
        if self._text and not self._text[-1].endswith("\n"):
            self._text.append("\n")
        return iter(())

    def _say(self, text: str | None) -> None:
        if not text:
            return
        said = text if self._pre else _SPACE.sub(" ", text)
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
    return "\n".join(line.strip() for line in re.sub(r" {2,}", " ", text).split("\n")).strip("\n")


def _is_aside(element: Element) -> bool:
    attributes = element.attrib
    if element.tag in _ASIDE or attributes.get("role", "") in _ASIDE_ROLES or "hidden" in attributes:
        return True
    if element.tag == "header" and not any(outer.tag in ("article", "main", "section") for outer in _outer(element)):
        return element.find(".//h1") is None
    if _HIDDEN.search(attributes.get("style", "")):
        return True
    names = f"{attributes.get('class', '')} {attributes.get('id', '')}"
    return element.tag not in _UNMARKED and len(names) < 500 and bool(_ASIDE_NAMES.search(names))


def _outer(element: Element) -> Iterator[Element]:
    """The nearest ancestors; further away they say little, and deep pages have thousands."""
    return islice(element.iterancestors(), 12)
