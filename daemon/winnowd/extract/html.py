"""Reads web pages: the main text with its headings, lists, tables and code, and what the page says of itself.

Hides how pages declare their encoding, pages too deep or too large for a parser, and the choice between main text and
boilerplate.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from lxml import etree
from lxml.html import HtmlComment, HtmlElement, HtmlEntity, HTMLParser, HtmlProcessingInstruction, document_fromstring

from winnowd.extract import Reading
from winnowd.extract.decode import decode
from winnowd.extract.html_head import metadata
from winnowd.extract.html_main import PAGE_BLOCKS, PAGE_BYTES, PAGE_DEPTH, PAGE_ELEMENTS, by_rules, chosen, prose
from winnowd.extract.html_text import BLOCKS
from winnowd.extract.html_walk import Piece, pieces
from winnowd.extract.text import read_text
from winnowd.model import Block, Extraction, Metadata, Note, OutlineEntry, Page

Element = Any  # an lxml element; lxml has no types of its own

_DECLARED_BYTES = 100_000  # a late declaration still lies in the head
_USUAL_BYTES = 2_000  # the head of most pages begins with it
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_DECLARED = re.compile(
    rb"""<\?xml[^<>]*?\bencoding\s*=\s*["']([\w.:-]+)|<meta\b[^<>]*?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE
)
_ENDLESS = 50_000  # characters of a tag; the parser takes quadratic time over its attributes
_ENDLESS_TAG = re.compile(rf"(<[a-zA-Z][\w-]*)[^<>]{{{_ENDLESS},}}>")
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)[^<>]*>")
_KEPT_FLAT = frozenset(
    {"html", "head", "body", "title", "meta", "script", "style", "p", "br", "h1", "h2", "h3", "h4", "h5", "h6", "pre"}
)

_ELEMENTS = etree.ElementDefaultClassLookup(HtmlElement, HtmlComment, HtmlProcessingInstruction, HtmlEntity)
"""Every element is a plain one. lxml.html has classes of its own for forms, which nobody asks for here, and would call Python
to choose the class at every visit of an element."""
_VAST = etree.XPath(f"count(//*) > {PAGE_ELEMENTS} or {'/*' * (PAGE_DEPTH + 1)}")  # the steps go down one level too many

_SHELL_CHARS = 200
"""Visible characters; a page with fewer and a script is a shell that a browser would fill."""

_SHELL_SHARE = 0.02  # of the file; see above
_ROOTS = ("root", "app", "__next", "__nuxt", "main", "___gatsby", "application")
_ARTICLE_CHARS = 500
"""Characters of prose; a page with less, and most of it links, is a list of links to articles."""

_LINK_SHARE = 0.5
_BOILERPLATE_CHARS = 20_000  # of one block set aside
_STEP = 500  # pieces between two signs of life


def extract(reading: Reading) -> Extraction:
    """The main text, the rest of the page as boilerplate, the headings and the facts of a web page."""
    read, notes = read_text(reading, _declared)
    root, vast = _tree(read.text)
    if root is None:
        return Extraction(
            reading.format.name, Metadata(encoding=read.encoding), (Page(0),), notes=tuple(notes), size=reading.size
        )
    found = list(_counted(root, reading))
    choice = _choice(root, found, vast, reading)
    reading.progress()
    main = by_rules(found) if choice is None else choice
    blocks = list(_blocks(found, main))
    headings = [block for block in blocks if block.kind == "heading"]
    return Extraction(
        reading.format.name,
        metadata(root, [block.text for block in headings if block.level == 1], read.encoding),
        (Page(0),),
        tuple(OutlineEntry(block.level or 1, " ".join(block.text.split()), 0) for block in headings),
        tuple(blocks),
        (*notes, *_notes(root, found, choice, reading.size)),
        size=reading.size,
    )


def page_blocks(data: bytes, fallback: str) -> Iterator[Block]:
    """All blocks of a page that has no menus, such as one inside another document."""
    root, _ = _tree(decode(data, fallback, _declared(data)).text)
    return (piece.block for piece in (pieces(root) if root is not None else ()))


def _declared(data: bytes) -> str | None:
    """The encoding that the page declares, in the XML prolog or the first meta element outside comments and scripts."""
    for size in (_USUAL_BYTES, _DECLARED_BYTES):
        head = _COMMENT.sub(b"", data[:size])
        found = _DECLARED.search(head)
        if found and (found.end() < len(head) or size == _DECLARED_BYTES):  # else it may go on
            return (found[1] or found[2]).decode("ascii")
    return None


def _tree(text: str) -> tuple[Element | None, bool]:
    """The root of the page, and whether it is too deep or too large for the usual way."""
    root, given_up = _parsed(text)
    if given_up:
        root, _ = _parsed(_flattened(text))
    return root, given_up or (root is not None and _is_vast(root))


def _parsed(text: str) -> tuple[Element | None, bool]:
    """The root, or None for a page without one element; and whether the parser gave up because of the depth."""
    parser = HTMLParser(encoding="utf-8", huge_tree=True, no_network=True, remove_comments=True, remove_pis=True)
    parser.set_element_class_lookup(_ELEMENTS)
    # To search for endless tags takes as long as parsing, and next to no page has room for one between two brackets.
    endless = max(map(len, text.split("<"))) > _ENDLESS
    try:
        bounded = _ENDLESS_TAG.sub(r"\1>", text) if endless else text
        root = document_fromstring(bounded.encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None, False
    return root, any("depth" in entry.message.lower() for entry in parser.error_log if entry.type_name == "ERR_RESOURCE_LIMIT")


def _flattened(text: str) -> str:
    """The page without the elements that nest: blocks leave a line break, the others nothing."""

    def flat(tag: re.Match[str]) -> str:
        name = tag[2].lower()
        return tag[0] if name in _KEPT_FLAT else "<br>" if name in BLOCKS else ""

    return _TAG.sub(flat, text)


def _is_vast(root: Element) -> bool:
    """Whether a page nests too deeply or has too many elements for trafilatura."""
    return bool(_VAST(root))


def _counted(root: Element, reading: Reading) -> Iterator[Piece]:
    for number, piece in enumerate(pieces(root)):
        if number % _STEP == 0:
            reading.progress()
        yield piece


def _choice(root: Element, found: Sequence[Piece], vast: bool, reading: Reading) -> list[bool] | None:
    """What trafilatura chooses, where it may be asked."""
    if vast or reading.size > PAGE_BYTES or len(found) > PAGE_BLOCKS:
        return None
    return chosen(root, found)


def _blocks(found: Sequence[Piece], main: Sequence[bool]) -> Iterator[Block]:
    """The pieces of the main text as they are; what stands between them as boilerplate, in few blocks."""
    for kept, run in groupby(zip(found, main, strict=True), key=lambda pair: pair[1]):
        if kept:
            yield from (piece.block for piece, _ in run)
            continue
        text = "\n".join(piece.block.text for piece, _ in run)
        for at in range(0, len(text), _BOILERPLATE_CHARS):
            yield Block("boilerplate", text[at : at + _BOILERPLATE_CHARS], page=0)


def _notes(root: Element, found: Sequence[Piece], choice: Sequence[bool] | None, size: int) -> Iterator[Note]:
    visible = sum(len(piece.block.text) for piece in found)
    if visible < _SHELL_CHARS and _is_shell(root, visible, size):
        yield Note("client_rendered", f"The page shows {visible} characters; a script would fetch the rest.", measure=visible)
        return
    said = prose(found)
    linked = sum(piece.linked for piece in found)
    if said < _ARTICLE_CHARS and linked > _LINK_SHARE * visible:
        yield Note("no_article", f"{linked} of {visible} characters are links, and {said} are prose.", measure=said)
    if choice is None and visible:
        yield Note("fallback", "The main text was found by simple rules, not by the usual extractor.")


def _is_shell(root: Element, visible: int, size: int) -> bool:
    """Whether an empty page has a script and a place for it to fill, or little else; a template lacks even the script."""
    rooted = any(element.get("id", "").lower() in _ROOTS for element in root.iter("div", "main"))
    excused = next(root.iter("noscript"), None) is not None
    if next(root.iter("script"), None) is None:
        return rooted and excused
    return rooted or excused or visible < _SHELL_SHARE * size
