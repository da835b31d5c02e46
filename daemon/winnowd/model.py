"""Every record that flows through Winnow, in the order in which they flow.

All are frozen (two for the type checker only, see `_light`) and hold tuples, never lists. None has behaviour beyond a tiny
property. Text in them is NFC-free raw text until `clean` has run; page indexes count from 0, a page label is what is printed
on the page.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, dataclass_transform

_T = TypeVar("_T")

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in points, in the displayed frame of the page, y growing downwards."""

BlockKind = Literal[
    "heading",
    "paragraph",
    "list_item",
    "table",
    "caption",
    "footnote",
    "code",
    "running_header",
    "running_footer",
    "page_number",
    "boilerplate",
]
FURNITURE: frozenset[str] = frozenset({"running_header", "running_footer", "page_number", "boilerplate"})
"""The kinds of block that are kept and shown, but left out of the passages."""

Severity = Literal["info", "review"]
Verdict = Literal["accepted", "review"]
Decision = Literal["accept", "keep", "reject"]
State = Literal["pending", "indexed", "review", "rejected", "failed", "skipped", "gone"]
ChangeKind = Literal["appeared", "modified", "vanished", "returned"]


@dataclass_transform(frozen_default=True)
def _light(record: type[_T]) -> type[_T]:
    """A record that is frozen for the type checker only: frozen at run time too, it takes four times as long to make."""
    return dataclass(slots=True, unsafe_hash=True)(record)


class Stamp(NamedTuple):
    """What a file looks like from outside. On a network root `ctime_ns` and `inode` are None: they are not stable there.

    A named tuple, because a walk makes one for every file on the drive and compares it with a row of the catalogue.
    """

    size: int
    mtime_ns: int
    ctime_ns: int | None = None
    inode: int | None = None


class Skip(NamedTuple):
    """Why an entry is not meant to be read: a bare code and the sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between what a directory shows and what the catalogue holds of it."""

    kind: ChangeKind
    name: str  # undecodable bytes as lone surrogates, as os.fsdecode gives them
    stamp: Stamp | None = None
    file_id: int | None = None
    skip: Skip | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One file to be read by a child. Paths are as os.fsdecode gives them."""

    file_id: int
    root: str
    directory: str  # relative to the root, '' for the root itself
    name: str
    network: bool = False
    seen: Stamp | None = None  # the stamp that made it a job
    settling: bool = False  # with another stamp than `seen` it is not read: somebody writes to it
    unsettled: bool = False  # it is read although it did not settle in time


@dataclass(frozen=True, slots=True)
class Content:
    """What a child found before it parses anything: the identity of the bytes that it read, and their stamp."""

    digest: str  # SHA-256, lower-case hexadecimal
    format: str
    stamp: Stamp
    racy: bool  # read so soon after the last write that another write could hide behind the same stamp


@dataclass(frozen=True, slots=True)
class Format:
    """One row of the format table. `module` names its file in `extract`; None where Winnow does not read the format."""

    name: str
    title: str  # what a person calls it
    suffixes: tuple[str, ...] = ()
    module: str | None = None
    version: int = 1  # of our own extractor; part of the recipe
    libraries: tuple[str, ...] = ()  # distributions whose versions are part of the recipe
    paged: bool = False
    note: str = ""  # one sentence for people: how Winnow recognises and reads it


@dataclass(frozen=True, slots=True)
class Page:
    """A page, as the extractor found it. A format without pages yields one page with index 0 and no label."""

    index: int
    label: str | None = None
    width: float = 0.0  # points
    height: float = 0.0
    image_cover: float = 0.0  # share of the page covered by images, 0..1
    images: int = 0
    drawings: int = 0  # paths drawn; 0 where nobody counted
    hidden_share: float = 0.0  # share of the characters that are invisible (render mode 3, transparent)
    unmapped: int = 0  # glyphs for which the font names no character
    ink: float | None = None  # share of a small raster that is not background; None where nobody looked
    unreadable: bool = False  # the page could not be read at all
    measures: "Measures | None" = None
    verdict: Verdict = "accepted"


@dataclass(frozen=True, slots=True)
class Measures:
    """What was measured on one page after cleaning; each field is a column of `pages`. Shares are 0..1."""

    chars: int = 0  # characters that are not white space
    words: int = 0
    furniture_chars: int = 0  # characters of the page's furniture, which `chars` leaves out
    alphabetic: float = 0.0  # letters (and marks) among the characters
    bad_chars: float = 0.0  # control, unassigned and replacement characters among the characters
    replacement: float = 0.0  # U+FFFD beside a letter, among the letters
    private_use: float = 0.0
    cid_tokens: int = 0  # tokens like (cid:12)
    cid_share: float = 0.0  # share of the characters inside such tokens
    single_letters: float = 0.0  # share of the letters standing in runs of five or more single letters
    long_tokens: float = 0.0  # share of the letters in tokens of 28 letters and more
    legacy_letters: float = 0.0  # accented Latin-1 letters among the letters of Latin words
    mojibake: float = 0.0  # UTF-8 read as an 8-bit code page, among the characters beyond ASCII
    repeated_lines: float = 0.0
    function_words: float | None = None  # best share over the languages; None below 40 words or where no list fits
    letter_pairs: float | None = None  # mean log2 likelihood of a letter pair; None below 60 pairs
    odd_tokens: float = 0.0  # symbols or digits inside words, words without vowels


@_light
class Line:
    """One line of a page with its place; what `layout` works on."""

    text: str
    box: Box
    size: float = 0.0  # points
    bold: bool = False
    mono: bool = False
    rotated: bool = False  # does not run left to right in the displayed frame


@_light
class Block:
    """A run of text of one kind. `text` keeps the line breaks of the source until cleaning unwraps them."""

    kind: BlockKind
    text: str
    page: int | None = None
    level: int | None = None  # of a heading, from 1
    box: Box | None = None
    size: float | None = None
    bold: bool = False  # the whole of it
    turned: bool = False  # runs up or down the page, not across it


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A bookmark or heading. `page_index` is None where its target cannot be resolved."""

    level: int
    title: str
    page_index: int | None = None
    page_label: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One piece of metadata with the place it came from (info, xmp, core, html, front_matter, text)."""

    source: str
    key: str
    value: str
    believed: bool = False


@dataclass(frozen=True, slots=True)
class Metadata:
    """The believed facts, and all facts. Dates are ISO 8601, as precise as the source was."""

    title: str | None = None
    author: str | None = None
    created: str | None = None
    modified: str | None = None
    language: str | None = None
    encoding: str | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Something an extractor has to say about its own work. The check of the same code turns it into a finding."""

    code: str
    message: str
    page_index: int | None = None
    measure: float | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a format's extractor read. Only what is no document at all is raised instead."""

    format: str
    metadata: Metadata = Metadata()
    pages: tuple[Page, ...] = ()
    outline: tuple[OutlineEntry, ...] = ()
    blocks: tuple[Block, ...] = ()
    notes: tuple[Note, ...] = ()
    paged: bool = False  # the format has pages of its own
    size: int = 0  # bytes of the file


@dataclass(frozen=True, slots=True)
class Step:
    """What one cleaning step did: how many places it touched, and the lines it set aside."""

    step: str
    touched: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """What search returns. In order, without overlap or gap, the passages are the cleaned text."""

    ordinal: int
    heading_path: str | None
    page_index: int | None
    page_label: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A cleaned extraction with its passages: all that a check may look at."""

    extraction: Extraction
    steps: tuple[Step, ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check has to say: where, how much, the threshold it was held against, and a sentence for a person."""

    code: str
    severity: Severity
    message: str
    page_index: int | None = None
    measure: float | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A content that could be read: everything that will be stored of it."""

    digest: str
    format: str
    recipe: str
    metadata: Metadata
    pages: tuple[Page, ...]
    outline: tuple[OutlineEntry, ...]
    passages: tuple[Passage, ...]
    furniture: tuple[Block, ...]
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    verdict: Verdict
    paged: bool
    chars: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that yields no document, with a code of `errors.FAILURES` and a sentence for a person."""

    code: str
    message: str
    format: str | None = None
    detail: str | None = None


Outcome = Document | Failure


@dataclass(frozen=True, slots=True)
class Hit:
    """One document that answers a query, with its best passage."""

    path: str
    paths: tuple[str, ...]
    title: str
    digest: str | None
    format: str | None
    state: str
    page_index: int | None
    page_label: str | None
    heading_path: str | None
    snippet: str | None
    score: float
