"""What a web page says of itself: title, author, dates, language, address.

Hides the four places where pages put such facts (title and meta elements, Open Graph, JSON-LD, elements of the body). Looking
here costs little; the date search of the extraction library reads the whole text and costs more than the rest together.
"""

import json
import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from winnowd.model import Fact, Metadata

Element = Any  # an lxml element; lxml has no types of its own

_META: Mapping[str, str] = {
    "og:title": "title",
    "twitter:title": "title",
    "dc.title": "title",
    "dcterms.title": "title",
    "citation_title": "title",
    "author": "author",
    "article:author": "author",
    "dc.creator": "author",
    "dcterms.creator": "author",
    "citation_author": "author",
    "parsely-author": "author",
    "sailthru.author": "author",
    "article:published_time": "created",
    "og:article:published_time": "created",
    "citation_publication_date": "created",
    "dcterms.created": "created",
    "dcterms.date": "created",
    "dc.date": "created",
    "dc.date.issued": "created",
    "datepublished": "created",
    "parsely-pub-date": "created",
    "sailthru.date": "created",
    "pubdate": "created",
    "publish-date": "created",
    "date": "created",
    "article:modified_time": "modified",
    "og:updated_time": "modified",
    "dcterms.modified": "modified",
    "datemodified": "modified",
    "last-modified": "modified",
    "description": "description",
    "og:description": "description",
    "keywords": "keywords",
    "og:site_name": "site",
    "generator": "generator",
    "content-language": "language",
    "dc.language": "language",
}
"""Names (also properties and itemprops) of meta elements in small letters, and the keys under which their content is kept."""

_LINKED_DATA = {"headline": "title", "datePublished": "created", "dateModified": "modified", "author": "author"}
_ARTICLES = re.compile(r"Article|Posting|Report|WebPage|Book|Recipe|Thesis", re.IGNORECASE)
_FACTS = 200  # no page says more of itself
_VALUE_CHARS = 1_000
_SCRIPT_CHARS = 200_000
_GENERIC = re.compile(r"(untitled.*|new page.*|home ?page|home|index|document|title|page title|default)\W*", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s+[|\u2013\u2014\u00b7\u00bb:\-]+\s+")
_ISO = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s?(Z|[+-]\d\d:?\d\d)?)?)?)?")


def metadata(root: Element, headings: list[str], encoding: str) -> Metadata:
    """The facts of a page, the believed ones marked. `headings` are the texts of its first-level headings."""
    facts = list(_facts(root))[:_FACTS]
    believed: dict[str, str | None] = {key: next((value for name, value in facts if name == key), None) for key in _KEYS}
    believed["title"] = _title([value for name, value in facts if name == "title"], headings)
    if believed["title"] and ("title", believed["title"]) not in facts:
        facts.append(("title", believed["title"]))  # the heading, or a title without the name of the site
    return Metadata(
        believed["title"],
        believed["author"],
        believed["created"],
        believed["modified"],
        believed["language"],
        encoding,
        facts=tuple(Fact("html", key, value, believed=value == believed.get(key)) for key, value in dict.fromkeys(facts)),
    )


_KEYS = ("author", "created", "modified", "language")


def iso_date(value: str) -> str | None:
    """A date as ISO 8601 where it can be read without guessing, else None.

    >>> iso_date("2020-02-01 10:00"), iso_date("Sat, 01 Feb 2020 10:00:00 +0100"), iso_date("01/02/2020")
    ('2020-02-01T10:00', '2020-02-01T10:00:00+01:00', None)
    """
    value = value.strip()
    if _ISO.fullmatch(value):
        return re.sub(r"(?<=\d) (?=\d)", "T", value).replace(" ", "")
    if re.fullmatch(r"(19|20)\d\d[/.]\d\d[/.]\d\d", value):
        return re.sub(r"[/.]", "-", value)
    try:
        return parsedate_to_datetime(value).isoformat()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _facts(root: Element) -> Iterator[tuple[str, str]]:
    """Key and value of every fact, the most telling places first."""
    for key, said in (*_meta(root), *_linked_data(root), *_elements(root)):
        text = " ".join(said.split())[:_VALUE_CHARS]
        value = iso_date(text) if key in ("created", "modified") else text
        if value and not (key == "author" and re.match(r"https?:|@", value)):
            yield key, value


def _meta(root: Element) -> Iterator[tuple[str, str]]:
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
        if name.strip().lower() in _META:
            yield _META[name.strip().lower()], meta.get("content", "")


def _linked_data(root: Element) -> Iterator[tuple[str, str]]:
    """What JSON-LD says of the article (schema.org); scripts that are no JSON are passed over."""
    for script in root.iter("script"):
        if "ld+json" not in (script.get("type") or "") or len(script.text or "") > _SCRIPT_CHARS:
            continue
        try:
            found = json.loads(script.text or "", strict=False)
        except (ValueError, RecursionError):
            continue
        for thing in _things(found):
            for name, key in _LINKED_DATA.items():
                yield from ((key, value) for value in _names(thing.get(name)))


def _things(found: Any) -> Iterator[dict[str, Any]]:
    things = found if isinstance(found, list) else [found]
    for thing in things:
        graph = thing.get("@graph") if isinstance(thing, dict) else None
        for one in graph if isinstance(graph, list) else [thing]:
            if isinstance(one, dict) and _ARTICLES.search(str(one.get("@type"))):
                yield one


def _names(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        name = one.get("name") if isinstance(one, dict) else one
        if isinstance(name, str):
            yield name


def _elements(root: Element) -> Iterator[tuple[str, str]]:
    language = root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang") or root.get("xml:lang")
    yield "language", (language or "")[:35]
    title = next(root.iter("title"), None)
    yield "title", "".join(title.itertext()) if title is not None else ""
    link = next((link for link in root.iter("link") if link.get("rel") == "canonical"), None)
    yield "address", link.get("href", "") if link is not None else ""
    time = next(root.iter("time"), None)
    yield "created", time.get("datetime", "") if time is not None else ""
    for element in root.iter("a", "span", "div", "p"):
        if element.get("rel") == "author" or element.get("itemprop") == "author":
            yield "author", "".join(element.itertext())[:100]
            return


def _title(titles: list[str], headings: list[str]) -> str | None:
    """The first title that says something, without the name of the site where a heading or another title shows its end."""
    telling = [title for title in titles if not _GENERIC.fullmatch(title)]
    if not telling:
        return headings[0] if len(headings) == 1 else None
    title = telling[-1]
    return next((short for short in (*headings, *telling) if _heads(short, title)), telling[0])


def _heads(short: str, title: str) -> bool:
    """Whether `title` is `short` with the name of a site after or before it."""
    rest = title[len(short) :] if title.startswith(short) else ""
    return len(short) >= 4 and (bool(_SEPARATOR.match(rest)) or short in _SEPARATOR.split(title)[-1:])
