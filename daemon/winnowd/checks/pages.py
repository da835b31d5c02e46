"""The checks of single pages: one function each, its name is its code, the first line of its docstring is what people read.

Each sees a page with its measures, and of the document what is known without its text. So a document whose checks or thresholds
have changed can be judged again from its stored pages. Measures hold the minimum counts, settings the thresholds.
"""

from winnowd.checks.judging import Remark, page_check
from winnowd.config import CheckSettings
from winnowd.model import Extraction, Measures, Page

WHOLE = 0.7  # of the page; a smaller image below a printed running header is a figure or a map
FAINTEST_INK = 0.0005  # share of a page; below it a scan is of an empty sheet
HALF = 0.5  # of a page: then the least number does not matter
FEW_BAD = 10  # characters; fewer may be the arrows and boxes of one odd font
FEW_REPLACED = 8
FEW_PRIVATE = 20
FEW_CIDS = 10
FEW_CHARS = 50
DRAWN_TEXT = (
    100,
    0.02,
)  # paths and ink from which a page without text is taken for text drawn as outlines, not for an ornament


@page_check("review")
def scanned(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """A page is an image without a text layer, so its words cannot be searched."""
    chars = _of(page).chars
    if chars >= settings.scanned_chars or page.image_cover < settings.image_cover or page.unreadable:
        return None
    if page.image_cover < WHOLE and _of(page).furniture_chars >= settings.scanned_chars:
        return None
    if page.ink is not None and page.ink < FAINTEST_INK:
        return None
    text = f"only {chars} characters of text (fewer than {settings.scanned_chars})" if chars else "a text layer"
    return Remark(
        f"{_name(page, document)} is an image {'with' if chars else 'without'} {text}.", chars, settings.scanned_chars
    )


@page_check("review")
def garbled(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """The characters are not those that a reader sees: the font says nothing about them, or says something wrong."""
    measures = _of(page)
    name = f"{_name(page, document)} is garbled"
    bad, limit = measures.bad_chars, settings.bad_chars
    if bad >= limit and (bad * measures.chars >= FEW_BAD or bad >= HALF):
        return Remark(f"{name}: {bad:.0%} of its characters are control or unknown ones (limit {limit:.0%}).", bad, limit)
    private, limit = measures.private_use, settings.private_use
    if private >= limit and (private * measures.chars >= FEW_PRIVATE or private >= HALF):
        return Remark(
            f"{name}: {private:.0%} of its characters mean something only in one font (limit {limit:.0%}).", private, limit
        )
    pairs, limit = measures.letter_pairs, settings.letter_pairs
    if pairs is not None and pairs < limit and (measures.function_words or 0.0) < settings.function_words:
        return Remark(
            f"{name}: its letters follow one another as in no language ({pairs:.2f}, limit {limit:.2f}).", pairs, limit
        )
    return None


@page_check("review")
def cid_tokens(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """Glyph numbers such as (cid:12) stand in place of letters."""
    measures = _of(page)
    if measures.cid_share < settings.cid_share or measures.cid_tokens < FEW_CIDS:
        return None
    share = f"{_percent(measures.cid_share)} of it is glyph numbers like (cid:12) (limit {_percent(settings.cid_share)})"
    return Remark(f"{_name(page, document)} has lost its letters: {share}.", measures.cid_share, settings.cid_share)


@page_check("review")
def replacement_chars(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """Letters were lost before the text came here: the replacement character stands inside words."""
    measures = _of(page)
    if measures.replacement < settings.replacement or measures.replacement * _letters(measures) < FEW_REPLACED:
        return None
    share = f"replacement characters are {measures.replacement:.1%} of its letters (limit {settings.replacement:.1%})"
    return Remark(f"{_name(page, document)} has lost letters: {share}.", measures.replacement, settings.replacement)


@page_check("review")
def mojibake(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """The text was read in the wrong encoding at some time."""
    measures = _of(page)
    if measures.mojibake >= settings.mojibake:
        what, measure, limit = "of what lies beyond ASCII are remains of UTF-8", measures.mojibake, settings.mojibake
    elif measures.legacy_letters >= settings.legacy_letters:
        what, measure, limit = "of the letters in its words are accented", measures.legacy_letters, settings.legacy_letters
    else:
        return None
    sentence = f"{_name(page, document)} was read in a wrong encoding: {_percent(measure)} {what} (limit {_percent(limit)})."
    return Remark(sentence, measure, limit)


@page_check("review")
def letter_spaced(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """Words fell apart into single letters, so no word of them can be found."""
    share = _of(page).single_letters
    if share < settings.single_letters:
        return None
    rule = f"{_percent(share)} of its letters stand alone (limit {_percent(settings.single_letters)})"
    return Remark(f"{_name(page, document)} has words set apart into letters: {rule}.", share, settings.single_letters)


@page_check("review")
def missing_spaces(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """The blanks between words are lost, so no word of them can be found."""
    share = _of(page).long_tokens
    if share < settings.long_tokens:
        return None
    rule = f"{_percent(share)} of its letters are in words of 28 letters and more (limit {_percent(settings.long_tokens)})"
    return Remark(f"{_name(page, document)} has lost the blanks between its words: {rule}.", share, settings.long_tokens)


@page_check("review")
def low_ocr_confidence(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """The text behind a scanned page was recognised badly."""
    share = _of(page).odd_tokens
    if share < settings.odd_tokens:
        return None
    rule = f"{_percent(share)} of its words have signs or digits inside, or no vowel (limit {_percent(settings.odd_tokens)})"
    return Remark(f"{_name(page, document)} was read badly by OCR: {rule}.", share, settings.odd_tokens)


@page_check("review")
def damaged(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """A part of the file is broken and could not be read."""
    return Remark(f"{_name(page, document)} could not be read: the file is damaged there.") if page.unreadable else None


@page_check("info")
def ocr_layer(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """The text of a page was added by OCR and may hold misread words."""
    if page.hidden_share < 0.5 or page.image_cover < settings.image_cover or not _of(page).chars:
        return None
    return Remark(f"{_name(page, document)} is a scan with a text layer made by OCR.", page.hidden_share, 0.5)


@page_check("info")
def low_alpha(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """A page holds few letters: figures, signs or formulas."""
    measures = _of(page)
    if measures.chars < FEW_CHARS or measures.alphabetic >= settings.alphabetic:
        return None
    share = f"{_percent(measures.alphabetic)} of its characters are letters (usual is over {_percent(settings.alphabetic)})"
    return Remark(f"{_name(page, document)} is mostly figures or signs: {share}.", measures.alphabetic, settings.alphabetic)


@page_check("info")
def repeated_lines(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """Most lines of a page stood in the document before."""
    share = _of(page).repeated_lines
    if share < settings.repeated_lines:
        return None
    rule = f"{_percent(share)} of its lines stood in the document before (usual is below {_percent(settings.repeated_lines)})"
    return Remark(f"{_name(page, document)} repeats itself: {rule}.", share, settings.repeated_lines)


@page_check("review", code="no_text")
def drawn_text(page: Page, document: Extraction, settings: CheckSettings) -> Remark | None:
    """A page is drawn with many lines and holds no text: its words may be outlines."""
    paths, ink = DRAWN_TEXT
    if _of(page).chars >= 15 or page.images or page.drawings < paths or (page.ink or 0.0) < ink:
        return None
    return Remark(f"{_name(page, document)} is made of {page.drawings} drawn paths and holds no text.", page.drawings, paths)


def _of(page: Page) -> Measures:
    return page.measures or Measures()


def _letters(measures: Measures) -> float:
    return measures.alphabetic * measures.chars


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _name(page: Page, document: Extraction) -> str:
    """The page as a person calls it, from 1 and by what is printed on it.

    >>> _name(Page(4, "iii"), Extraction("pdf", paged=True))
    'Page iii (number 5 of the file)'
    """
    if not document.paged:
        return "The text"
    number = page.index + 1
    if page.label is None or page.label == str(number):
        return f"Page {number}"
    return f"Page {page.label} (number {number} of the file)"
