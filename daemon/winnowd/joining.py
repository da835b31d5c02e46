"""Puts together what a page took apart: words divided at line ends, lines of a paragraph, paragraphs over columns and pages.

It hides how a hyphen at a line end is read: the words of the document itself decide.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from winnowd.model import FURNITURE, Block, Extraction, Step

LINED = frozenset({"code", "table"})
"""Kinds whose line breaks mean something and stay."""
OFTEN = 3
"""Two parts that each occur so often as words of their own are taken for a compound, not for one divided word."""

DIVIDED = re.compile(r"([^\W\d_][\w'’-]*)-[ \t]*\n[ \t]*([^\W_][\w'’]*)")
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
LINE_END_PART = re.compile(r"[\w'’-]+-[ \t]*(?:\n[ \t]*\w*|\Z)")
CJK = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60"  # Han, Kana and their signs; Hangul has blanks
CJK_BREAK = re.compile(rf"(?<=[{CJK}])[ \t]*\n[ \t]*(?=[{CJK}])")
SENTENCE_END = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*(?=\s)")
ENDED = re.compile(r"[.!?…:;。！？][\"'”’»)\]\d]*\Z")  # a footnote mark may follow the stop


def join_hyphens(extraction: Extraction) -> tuple[Extraction, Step]:
    """Join the words that were divided at a line end, and keep the hyphen where it belongs to the word."""
    if not any("-\n" in block.text or "- \n" in block.text for block in extraction.blocks):
        return extraction, Step("join_hyphens", 0)
    known = vocabulary(extraction.blocks)
    joined = 0

    def join(match: re.Match[str]) -> str:
        nonlocal joined
        joined += 1
        return joined_word(match[1], match[2], known)

    def mended(block: Block) -> Block:
        if block.kind in LINED or "-" not in block.text:
            return block
        return replace(block, text=DIVIDED.sub(join, block.text))

    blocks = tuple(mended(block) for block in extraction.blocks)
    return replace(extraction, blocks=blocks), Step("join_hyphens", joined)


def unwrap_lines(extraction: Extraction) -> tuple[Extraction, Step]:
    """Make one line of every paragraph, heading, list item, caption and footnote; tables and code keep their lines."""
    blocks = tuple(_unwrapped(block) for block in extraction.blocks)
    touched = sum("\n" in old.text and "\n" not in new.text for old, new in zip(extraction.blocks, blocks, strict=True))
    return replace(extraction, blocks=tuple(block for block in blocks if block.text)), Step("unwrap_lines", touched)


def join_columns(extraction: Extraction) -> tuple[Extraction, Step]:
    """Join the two halves of a paragraph that goes on at the head of the next column of the same page."""
    known = _Lazy(extraction.blocks)
    done: list[Block] = []
    for block in extraction.blocks:
        last = _last_paragraph(done)
        if (
            last is not None
            and _same_page(done[last], block)
            and _next_column(done[last], block)
            and _goes_on(done[last], block)
        ):
            done[last] = replace(done[last], text=_together(done[last].text, block.text, known))
        else:
            done.append(block)
    touched = len(extraction.blocks) - len(done)
    return replace(extraction, blocks=tuple(done)), Step("join_columns", touched)


def finish_sentences(extraction: Extraction, apart: frozenset[int]) -> tuple[Extraction, Step]:
    """Move the rest of a sentence to the page where it began.

    Pages in `apart` are left as they are, on either side: their text waits for a person and may not become searchable as
    part of a good page.
    """
    known = _Lazy(extraction.blocks)
    done: list[Block] = []
    touched = 0
    for block in extraction.blocks:
        last = _last_paragraph(done)
        if last is None or not _turned(done[last], block, apart) or not _goes_on(done[last], block):
            done.append(block)
            continue
        touched += 1
        head, rest = _sentence(block.text)
        done[last] = replace(done[last], text=_together(done[last].text, head, known))
        if rest:
            done.append(replace(block, text=rest))
    return replace(extraction, blocks=tuple(done)), Step("finish_sentences", touched)


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
    if second[0].isdigit() or (second[0].isupper() and not first.isupper()):
        return compound
    part = first.rpartition("-")[2]
    if known[whole.lower()] or known[(part + second).lower()]:
        return whole
    if known[compound.lower()] or len(part) == 1 or not part.isalpha():
        return compound
    if min(len(part), len(second)) > 2 and known[part.lower()] >= OFTEN and known[second.lower()] >= OFTEN:
        return compound
    return whole


def vocabulary(blocks: Iterable[Block]) -> Counter[str]:
    """How often each word stands undivided in the text, in lower case; what stands at a line end with a hyphen is left out."""
    words: Counter[str] = Counter()
    for block in blocks:
        text = LINE_END_PART.sub(" ", block.text) if "-" in block.text else block.text
        words.update(WORD.findall(text.lower()))
    return words


class _Lazy(Counter[str]):
    """The vocabulary of some blocks, counted when somebody asks for the first word: most documents never do."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        super().__init__()
        self._blocks: Iterable[Block] | None = blocks

    def __missing__(self, key: str) -> int:
        if self._blocks is None:
            return 0
        self.update(vocabulary(self._blocks))
        self._blocks = None
        return self[key]


def _unwrapped(block: Block) -> Block:
    if block.kind in LINED:
        return replace(block, text=_trimmed(block.text))
    text = CJK_BREAK.sub("", block.text) if "\n" in block.text and not block.text.isascii() else block.text
    return replace(block, text=" ".join(text.split()))


def _trimmed(text: str) -> str:
    lines = [line.rstrip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n")


def _last_paragraph(done: list[Block]) -> int | None:
    """Where the paragraph stands that the next block may continue: furniture and footnotes lie between, nothing else."""
    for index in range(len(done) - 1, -1, -1):
        kind = done[index].kind
        if kind not in FURNITURE and kind != "footnote":
            return index if kind == "paragraph" else None
    return None


def _same_page(block: Block, following: Block) -> bool:
    return block.page == following.page


def _next_column(block: Block, following: Block) -> bool:
    return block.box is not None and following.box is not None and following.box[1] < block.box[1]


def _turned(block: Block, following: Block, apart: frozenset[int]) -> bool:
    if block.page is None or following.page is None:
        return False
    return following.page == block.page + 1 and block.page not in apart and following.page not in apart


def _goes_on(block: Block, following: Block) -> bool:
    if following.kind != "paragraph" or ENDED.search(block.text[-8:]):
        return False
    return following.text[:1].islower()


def _sentence(text: str) -> tuple[str, str]:
    end = SENTENCE_END.search(text)
    return (text[: end.end()], text[end.end() :].lstrip()) if end else (text, "")


def _together(text: str, rest: str, known: Counter[str]) -> str:
    divided = re.search(r"([^\W\d_][\w'’-]*)-\Z", text)
    follows = re.match(r"[\w'’]+", rest)
    if divided and follows:
        word = joined_word(divided[1], follows[0], known)
        return text[: divided.start()] + word + rest[follows.end() :]
    return f"{text} {rest}"
