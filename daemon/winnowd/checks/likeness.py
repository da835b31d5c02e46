"""How many passages of a document are nearly the same as an earlier one, in time and memory linear in the text.

Two sets of words can only be alike to a share t if they share one of their rarest words, among the first 1 - t of them (prefix
filtering: Chaudhuri, Ganti and Kaushik, "A primitive operator for similarity joins in data cleaning", 2006). Most passages have
too many words that stand nowhere else, and are done with at once.
"""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

CANDIDATES = 8  # filed under one word at most, so that a form filled in ten thousand times stays cheap
LEAST_WORDS = 12  # different ones; shorter passages repeat by nature: headings, addresses, rows of a table


RARE = 4
"""Times, up to which a word is rare: the rarest words of a passage are mostly found among these, without ordering the rest."""


def near_identical(texts: Sequence[str], likeness: float) -> int:
    """How many of the texts are at least this much like one before them (share of common runs of three words, 0..1)."""
    if len(texts) < 2:
        return 0
    bags = [frozenset(text.lower().split()) for text in texts]
    often = Counter(chain.from_iterable(bags))
    repeated = [word for word, times in often.items() if times > 1]
    rare = frozenset([word for word in repeated if often[word] <= RARE])
    shared = frozenset(repeated)
    filed: dict[str, list[int]] = {}
    count = 0
    for number, bag in enumerate(bags):
        if len(bag) < LEAST_WORDS:
            continue
        common = bag & shared
        spare = int((1 - likeness) * len(bag)) + 1 - (len(bag) - len(common))
        if spare <= 0:
            continue
        few = common & rare
        rarest = _rarest(few if len(few) >= spare else common, often, spare)
        earlier = dict.fromkeys(other for word in rarest for other in filed.get(word, ()))
        # The sets of words first: they are at hand, and passages alike in their runs of words are alike in their words.
        close = (other for other in earlier if _alike(bag, bags[other], likeness))
        if any(_alike(_runs(texts[number]), _runs(texts[other]), likeness) for other in close):
            count += 1
            continue
        for word in rarest:
            others = filed.setdefault(word, [])
            if len(others) < CANDIDATES:
                others.append(number)
    return count


def _rarest(words: AbstractSet[str], often: Counter[str], most: int) -> list[str]:
    return [word for _, word in sorted(zip(map(often.__getitem__, words), words, strict=True))[:most]]


def _alike(one: AbstractSet[object], two: AbstractSet[object], likeness: float) -> bool:
    """Whether two sets, neither of them empty, have that share in common; where their sizes differ much, nobody need look."""
    if min(len(one), len(two)) / max(len(one), len(two)) < likeness:
        return False
    both = len(one & two)
    return both / (len(one) + len(two) - both) >= likeness


def _runs(text: str) -> frozenset[tuple[str, str, str]]:
    words = text.lower().split()
    return frozenset(zip(words, words[1:], words[2:], strict=False))
