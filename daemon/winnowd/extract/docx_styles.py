"""What styles and numbering say about a Word paragraph: its outline level, whether it is hidden, its place in a list.

Hides the style chain (`basedOn`), localised style ids, and the counters of numbered lists (ECMA-376 part 1, sections 17.7 and
17.9).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, TypeVar

Element = Any  # an lxml element; lxml has no types of its own
Made = TypeVar("Made")

BODY_LEVEL = 9
"""`outlineLvl` 9 means body text (ECMA-376 part 1, 17.3.1.20)."""

_CHAIN = 32  # styles in one chain; Word allows 11, and a loop has to end
_HEADING_NAME = re.compile(r"heading\s*([1-9])", re.IGNORECASE)
_LEVELS = 9
_ROMAN: tuple[tuple[int, str], ...] = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


@dataclass(frozen=True, slots=True)
class Style:
    """One style as the walker needs it, its chain already followed."""

    name: str = ""
    level: int | None = None  # 0 to 8 of a heading
    hidden: bool = False
    num_id: str | None = None
    num_level: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a numbering: its number format, its pattern (`%1.`), its first number."""

    format: str = "bullet"
    pattern: str = ""
    start: int = 1


@dataclass(frozen=True, slots=True)
class Numbering:
    """One list: the abstract numbering that its counters belong to, its levels, and levels that start again here."""

    counters: str
    levels: Mapping[int, Level]
    restarts: Mapping[int, int] = field(default_factory=dict)


def local(element: Element) -> str:
    """The name of an element without its namespace, which differs between strict and other files; empty for a comment."""
    return _short(element.tag)


@lru_cache(maxsize=1_000)
def _short(tag: object) -> str:
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def child(element: Element | None, name: str) -> Element | None:
    """The first child element of that local name, or None."""
    return None if element is None else next(element.iterchildren(f"{{*}}{name}"), None)


def attribute(element: Element | None, name: str = "val") -> str | None:
    """An attribute by its local name, or None."""
    if element is not None:
        for key, value in element.items():
            if _short(key) == name:
                return str(value)
    return None


def is_on(element: Element | None) -> bool:
    """Whether a toggle such as `w:vanish` stands there and is not switched off."""
    return element is not None and attribute(element) not in ("0", "false", "off", "none")


def number_of(element: Element | None, name: str = "val") -> int | None:
    """A whole number attribute, or None where there is none that makes sense."""
    value = attribute(element, name)
    return int(value) if value and re.fullmatch(r"-?\d{1,9}", value) else None


class OnDemand(Mapping[str, Made]):
    """What a file describes, by its id, each made when it is first asked for: of a hundred styles a document uses ten."""

    def __init__(self, ids: Iterable[str], make: Callable[[str], Made]) -> None:
        self._ids = frozenset(ids)
        self._make = cache(make)

    def __getitem__(self, id: str) -> Made:
        if id not in self._ids:
            raise KeyError(id)
        return self._make(id)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def styles_of(root: Element | None) -> Mapping[str, Style]:
    """Every style by its id; the default paragraph style also under the empty id."""
    raw = {attribute(style, "styleId") or "": style for style in (root if root is not None else ()) if local(style) == "style"}
    default = next(
        (i for i, s in raw.items() if attribute(s, "type") == "paragraph" and attribute(s, "default") in ("1", "true")), ""
    )

    def style(style_id: str) -> Style:
        meant = style_id or default
        return _resolved(meant, raw) if meant in raw else Style()

    return OnDemand((*raw, ""), style)


def numberings_of(root: Element | None) -> Mapping[str, Numbering]:
    """Every list by its numId."""
    elements = list(root) if root is not None else []
    abstract = {attribute(e, "abstractNumId") or "": e for e in elements if local(e) == "abstractNum"}
    lists = {attribute(e, "numId") or "": e for e in elements if local(e) == "num"}
    return OnDemand(lists, lambda num_id: _numbering(lists[num_id], abstract))


def level_of(style_id: str, styles: Mapping[str, Style], direct: int | None) -> int | None:
    """The outline level of a paragraph from 0, or None for body text. A level on the paragraph itself wins over its style."""
    if direct is not None:
        return direct if 0 <= direct < BODY_LEVEL else None
    if style_id in styles:
        return styles[style_id].level
    named = _HEADING_NAME.fullmatch(style_id)  # a file without a styles part
    return int(named[1]) - 1 if named else None


class Counters:
    """The running numbers of all lists of one document."""

    def __init__(self, numberings: Mapping[str, Numbering]) -> None:
        self._numberings = numberings
        self._counts: dict[str, list[int | None]] = {}
        self._started: set[tuple[str, int]] = set()

    def marker(self, num_id: str, level: int) -> str:
        """What stands before the next item of a list, `1. ` or `- `; counts it."""
        numbering = self._numberings.get(num_id)
        level = min(max(level, 0), _LEVELS - 1)
        if numbering is None:
            return "- "
        counts = self._counts.setdefault(numbering.counters, [None] * _LEVELS)
        own = numbering.levels.get(level, Level())
        if level in numbering.restarts and (num_id, level) not in self._started:
            self._started.add((num_id, level))
            counts[level] = numbering.restarts[level] - 1
        before = counts[level]
        counts[level] = own.start if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        return _marker(numbering, level, counts)


def _resolved(style_id: str, raw: Mapping[str, Element]) -> Style:
    chain = list(_chain(style_id, raw))
    numbered = [child(child(style, "pPr"), "numPr") for style in chain]
    hidden = _first(child(child(style, "rPr"), "vanish") for style in chain)
    return Style(
        attribute(child(chain[0], "name")) or "",
        _style_level(chain),
        is_on(hidden),
        attribute(_first(child(number, "numId") for number in numbered)),
        number_of(_first(child(number, "ilvl") for number in numbered)) or 0,
    )


def _chain(style_id: str, raw: Mapping[str, Element]) -> Iterator[Element]:
    seen: set[str] = set()
    while style_id in raw and style_id not in seen and len(seen) < _CHAIN:
        seen.add(style_id)
        yield raw[style_id]
        style_id = attribute(child(raw[style_id], "basedOn")) or ""


def _first(elements: Iterable[Element | None]) -> Element | None:
    return next((element for element in elements if element is not None), None)


def _style_level(chain: Sequence[Element]) -> int | None:
    """The level of the first style in the chain that says one, by `outlineLvl` or as a built-in heading by its name."""
    for style in chain:
        level = number_of(child(child(style, "pPr"), "outlineLvl"))
        named = _HEADING_NAME.fullmatch(attribute(child(style, "name")) or "")
        if level is None and named:
            level = int(named[1]) - 1
        if level is not None:
            return level if 0 <= level < BODY_LEVEL else None
    return None


def _numbering(num: Element, abstract: Mapping[str, Element]) -> Numbering:
    abstract_id = attribute(child(num, "abstractNumId")) or ""
    levels = {number_of(e, "ilvl") or 0: _level(e) for e in abstract.get(abstract_id, ()) if local(e) == "lvl"}
    restarts: dict[int, int] = {}
    for override in num:
        if local(override) == "lvlOverride":
            at = number_of(override, "ilvl") or 0
            own, start = child(override, "lvl"), number_of(child(override, "startOverride"))
            levels |= {at: _level(own)} if own is not None else {}
            restarts |= {at: start} if start is not None else {}
    return Numbering(abstract_id, levels, restarts)


def _level(element: Element) -> Level:
    start = number_of(child(element, "start"))
    return Level(
        attribute(child(element, "numFmt")) or "decimal",
        attribute(child(element, "lvlText")) or "",
        1 if start is None else start,
    )


def _marker(numbering: Numbering, level: int, counts: Sequence[int | None]) -> str:
    own = numbering.levels.get(level, Level())
    if own.format == "none" or (own.format != "bullet" and not own.pattern):
        return ""
    if own.format == "bullet" or "%" not in own.pattern:
        return "- "

    def number(found: re.Match[str]) -> str:
        at = int(found[1]) - 1
        outer = numbering.levels.get(at, Level("decimal"))
        count = counts[at]
        return _written(outer.start if count is None else count, outer.format)

    return re.sub(r"%([1-9])", number, own.pattern).strip()[:40] + " "


def _written(number: int, format: str) -> str:
    """A number as a list shows it; what is neither letters nor Roman is written in digits.

    >>> [_written(n, "lowerLetter") for n in (1, 26, 27)], _written(14, "upperRoman"), _written(7, "decimalZero")
    (['a', 'z', 'aa'], 'XIV', '07')
    """
    if format in ("lowerLetter", "upperLetter") and 1 <= number <= 780:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if format == "upperLetter" else letters
    if format in ("lowerRoman", "upperRoman") and 1 <= number < 4000:
        roman = _roman(number)
        return roman.upper() if format == "upperRoman" else roman
    return f"{number:02}" if format == "decimalZero" else str(number)


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written
