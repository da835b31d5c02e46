"""How many passages of a document are nearly the same as an earlier one, in time and memory linear in the text.

Each passage is known by a sketch: the smallest hashes of its runs of three words (min-hash with one permutation; Broder,
"On the resemblance and containment of documents", 1997). Only passages that share a smallest hash are compared.
"""

from collections.abc import Sequence
from zlib import crc32

SHINGLE = 3  # words
SKETCH = 64  # hashes kept: the likeness is right to about 5 %
KEYS = 4  # of them a passage is filed under: at 90 % likeness one of four is shared but in one case of ten thousand
CANDIDATES = 8  # compared under one key at most, so that a form filled in ten thousand times stays cheap
LEAST_WORDS = 12  # shorter passages repeat by nature: headings, addresses


def near_identical(texts: Sequence[str], likeness: float) -> int:
    """How many of the texts are at least this much like one before them (share of common runs of words, 0..1)."""
    filed: dict[int, list[tuple[int, ...]]] = {}
    count = 0
    for text in texts:
        sketch = _sketch(text)
        if not sketch:
            continue
        if any(_alike(sketch, other, likeness) for key in sketch[:KEYS] for other in filed.get(key, ())):
            count += 1
            continue
        for key in sketch[:KEYS]:
            others = filed.setdefault(key, [])
            if len(others) < CANDIDATES:
                others.append(sketch)
    return count


def _sketch(text: str) -> tuple[int, ...]:
    words = text.lower().split()
    if len(words) < LEAST_WORDS:
        return ()
    hashes = [crc32(word.encode()) for word in words]
    shingles = {(a * 31 + b) * 31 + c & 0xFFFFFFFF for a, b, c in zip(hashes, hashes[1:], hashes[2:], strict=False)}
    # The hash of a common word is small or large for good; mixing makes every run of words as likely to be the smallest.
    return tuple(sorted(shingle * 2654435761 & 0xFFFFFFFF for shingle in shingles)[:SKETCH])


def _alike(one: tuple[int, ...], other: tuple[int, ...], likeness: float) -> bool:
    size = min(len(one), len(other), SKETCH)
    smallest = sorted({*one, *other})[:size]
    both = set(one) & set(other)
    return sum(hash_ in both for hash_ in smallest) >= likeness * len(smallest)
