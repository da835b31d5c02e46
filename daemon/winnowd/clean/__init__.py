"""Cleaning: the steps in their order, each from extraction to extraction, each saying what it did.

Cleaning reclassifies, it never deletes: a running header becomes furniture, which is kept and shown but left out of the
passages.
"""

from collections.abc import Callable

from winnowd.clean.characters import drop_soft_hyphens, join_accents, mend_mojibake, normalise_characters
from winnowd.clean.furniture import set_furniture_aside
from winnowd.clean.joining import join_hyphens, join_paragraphs, unwrap_lines
from winnowd.model import Extraction, Step

VERSION = 1  # part of the recipe: raise it when any step gives another text

STEPS: tuple[Callable[[Extraction], tuple[Extraction, Step]], ...] = (
    mend_mojibake,  # before the blanks are made plain: one of them is half of a letter here
    normalise_characters,
    join_accents,
    drop_soft_hyphens,
    set_furniture_aside,  # while the lines of a page still stand apart
    join_hyphens,
    unwrap_lines,
    join_paragraphs,
)
"""The order is meaning. `joining.finish_sentences` comes later, when the pages have been judged."""


def clean(extraction: Extraction) -> tuple[Extraction, tuple[Step, ...]]:
    """The extraction with clean text and its furniture set aside, and what each step did."""
    steps: list[Step] = []
    for step in STEPS:
        extraction, done = step(extraction)
        steps.append(done)
    return extraction, tuple(steps)
