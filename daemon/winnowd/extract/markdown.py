"""Reads Markdown: headings, paragraphs, lists, tables, code, and the front matter.

Hides the syntax (CommonMark with tables, as markdown-it-py reads it). Markup is taken off: of a link its text stays, of a
picture its description. Input that a parser cannot nest is read as plain paragraphs.
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.token import Token

from winnowd.extract import Reading
from winnowd.extract.rows import markdown_rows
from winnowd.extract.text import paragraphs, read_text
from winnowd.model import Block, Extraction, Fact, Metadata, Note, OutlineEntry, Page

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_CHARS = 20_000  # front matter is a page at most
_KEYS = {
    "title": "title",
    "author": "author",
    "authors": "author",
    "date": "created",
    "lang": "language",
    "language": "language",
}
_KEYS |= {
    "created": "created",
    "updated": "modified",
    "modified": "modified",
    "lastmod": "modified",
    "description": "description",
}
_KEYS |= {"tags": "keywords", "keywords": "keywords", "subject": "subject"}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?")

_NESTED = 100
"""Quotes and lists inside each other. The parser drops what lies deeper, so such a file is read as plain paragraphs."""

_PARSED_CHARS = 5_000_000
"""A longer text is read as plain paragraphs: the parser takes five seconds a megabyte."""

_INLINE_CHARS = 20_000  # of one paragraph; with the next two numbers a bound on the parser's quadratic cases
_BRACKETS = 300
_MARKS = 2_000

_HTML_HEADING = re.compile(r"<h([1-6])\b[^<>]*>(.*?)</h\1>", re.DOTALL | re.IGNORECASE)
_NOT_TEXT = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/tr|/h[1-6])\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


def extract(reading: Reading) -> Extraction:
    """The blocks of a Markdown file, its headings as outline, its front matter as facts."""
    read, notes = read_text(reading)
    facts, body = _front_matter(read.text)
    blocks = _parsed(body, reading) if len(body) <= _PARSED_CHARS else None
    if blocks is None:
        notes.append(Note("fallback", "The Markdown is too long or nests too deeply; it was read as plain text."))
        blocks = [Block("paragraph", paragraph, page=0) for paragraph in paragraphs(body)]
    headings = [block for block in blocks if block.kind == "heading"]
    return Extraction(
        reading.format.name,
        _metadata(facts, headings, read.encoding),
        (Page(0),),
        tuple(OutlineEntry(block.level or 1, " ".join(block.text.split()), 0) for block in headings),
        tuple(blocks),
        tuple(notes),
        size=reading.size,
    )


def _front_matter(text: str) -> tuple[list[Fact], str]:
    """The facts between the two rules at the very start, and the text after them."""
    found = _FRONT_MATTER.match(text[:_FRONT_CHARS].removeprefix("\ufeff"))
    pairs = [line.partition(":") for line in found[1].split("\n") if re.match(r"[A-Za-z][\w-]*:", line)] if found else []
    if not found or not pairs:
        return [], text
    facts = [
        Fact("front_matter", _KEYS[key.strip().lower()], value.strip().strip("[]\"'"))
        for key, _, value in pairs
        if key.strip().lower() in _KEYS and value.strip().strip("[]\"'")
    ]
    return facts, text.removeprefix("\ufeff")[found.end() :]


def _metadata(facts: Sequence[Fact], headings: Sequence[Block], encoding: str) -> Metadata:
    first: dict[str, str] = {}
    for fact in facts:
        if fact.key not in ("created", "modified") or _DATE.fullmatch(fact.value):
            first.setdefault(fact.key, fact.value)
    title = headings[0].text if headings and headings[0].level == 1 else None
    kept = [Fact(f.source, f.key, f.value, believed=first.get(f.key) == f.value) for f in facts]
    if title:
        kept.append(Fact("text", "title", " ".join(title.split()), believed="title" not in first))
    return Metadata(
        first.get("title") or (" ".join(title.split()) if title else None),
        first.get("author"),
        first.get("created"),
        first.get("modified"),
        first.get("language"),
        encoding,
        tuple(kept),
    )


def _parsed(text: str, reading: Reading) -> list[Block] | None:
    """The blocks, or None where the text nests deeper than the parser goes."""
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTED}).enable("table")
    tokens = parser.disable("inline").parse(text)
    reading.progress()
    if any(token.level >= _NESTED - 1 for token in tokens):
        return None
    return list(_blocks(iter(tokens), parser.enable("inline"), reading))


def _blocks(tokens: Iterator[Token], parser: MarkdownIt, reading: Reading) -> Iterator[Block]:
    marker = ""  # of the list item that has just begun
    for number, token in enumerate(tokens):
        if number % 500 == 0:
            reading.progress()
        if token.type == "heading_open":
            yield from _heading(_inline(next(tokens).content, parser), int(token.tag[1]), token.level)
        elif token.type == "list_item_open":
            marker = f"{token.info}{token.markup} " if token.info else "- "
        elif token.type == "inline" and (text := _inline(token.content, parser)).strip():
            yield Block("list_item", marker + text, page=0) if marker else Block("paragraph", text, page=0)
            marker = ""
        elif token.type in ("fence", "code_block") and token.content.strip():
            yield Block("code", token.content.rstrip("\n"), page=0)
        elif token.type == "table_open" and (table := markdown_rows(_rows(tokens, parser))):
            yield Block("table", table, page=0)
        elif token.type == "html_block":
            yield from _html(token.content)


def _heading(text: str, level: int, depth: int) -> Iterator[Block]:
    """A heading inside a quote or list is somebody else's, so it is text here."""
    if text.strip():
        yield Block("paragraph", text, page=0) if depth else Block("heading", text, page=0, level=level)


def _rows(tokens: Iterator[Token], parser: MarkdownIt) -> list[list[str]]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline(token.content, parser))
        elif token.type == "table_close":
            break
    return rows


def _inline(source: str, parser: MarkdownIt) -> str:
    marks = source.count("*") + source.count("_") + source.count("`")
    if len(source) > _INLINE_CHARS or source.count("[") > _BRACKETS or marks > _MARKS:
        return source
    return "".join(_said(token) for token in parser.parseInline(source)[0].children or ())


def _said(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "html_inline":
        return "\n" if _BREAK.match(token.content) else ""
    return str(token.content)  # of text, code and pictures; opening and closing tokens have none


def _html(source: str) -> Iterator[Block]:
    """A block of HTML inside Markdown: its headings, and its text in paragraphs."""
    source, at = _NOT_TEXT.sub("", source), 0
    for found in _HTML_HEADING.finditer(source):
        yield from _html_text(source[at : found.start()])
        yield from _heading(_stripped(found[2]).strip(), int(found[1]), 0)
        at = found.end()
    yield from _html_text(source[at:])


def _html_text(source: str) -> Iterator[Block]:
    return (Block("paragraph", paragraph.strip(), page=0) for paragraph in paragraphs(_stripped(source)))


def _stripped(source: str) -> str:
    return unescape(_TAG.sub("", _BREAK.sub("\n", source)))
