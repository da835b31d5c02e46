"""Checks: what is judged and what follows from it. Those of a whole document are here, those of single pages in `pages`.

When only checks or thresholds have changed, `check_pages` on an extraction made of the stored pages (without blocks and notes)
gives the new findings of the pages; what document checks and extractors said stays as it is stored.
"""

from collections.abc import Iterator

from winnowd.checks import pages as page_checks
from winnowd.checks.judging import Check, Remark, document_check
from winnowd.checks.likeness import near_identical
from winnowd.config import CheckSettings
from winnowd.model import Draft, Extraction, Finding, Verdict

VERSION = 1  # part of the recipe: raise it when any rule judges differently

LARGE, SIZE_PROMISES = 500_000, 2000
"""Bytes of a Word file, and for each character of its text, beyond which its content is in pictures. A logo is smaller."""
PAGES_PROMISE, PER_PAGE = 3, 10  # pages, and characters on each: fewer than a title has


@document_check("review")
def no_text(draft: Draft, settings: CheckSettings) -> Remark | None:
    """No text at all was found in the document."""
    if draft.passages:
        return None
    pages = len(draft.extraction.pages)
    if not draft.extraction.paged:
        return Remark("The document holds no text.", 0, 1)
    return Remark("The only page holds no text." if pages == 1 else f"None of the {pages} pages holds any text.", 0, 1)


@document_check("info")
def short_text(draft: Draft, settings: CheckSettings) -> Remark | None:
    """A document holds very little text; for review where its pages or its size promise more."""
    chars = sum(page.measures.chars for page in draft.extraction.pages if page.measures is not None)
    if not draft.passages or chars >= settings.short_text:
        return None
    pages, size = len(draft.extraction.pages), draft.extraction.size
    message = f"The document holds only {chars} characters of text (fewer than {settings.short_text})"
    if draft.extraction.paged and pages >= PAGES_PROMISE and chars < PER_PAGE * pages:
        return Remark(f"{message} on {pages} pages.", chars, settings.short_text, "review")
    if draft.extraction.format == "docx" and size >= LARGE and size > SIZE_PROMISES * chars:
        return Remark(f"{message} in {size // 1000} kB.", chars, settings.short_text, "review")
    return Remark(f"{message}.", chars, settings.short_text)


@document_check("info")
def duplicate_passages(draft: Draft, settings: CheckSettings) -> Remark | None:
    """Passages of the document are nearly the same as others before them."""
    count = near_identical([passage.text for passage in draft.passages], settings.duplicate_passages)
    if not count:
        return None
    limit = f"{settings.duplicate_passages:.0%}"
    noun = "passage is" if count == 1 else "passages are"
    return Remark(f"{count} {noun} more than {limit} the same as an earlier one.", count, settings.duplicate_passages)


_NOTED: tuple[Check, ...] = (
    Check("truncated", "review", "The file ends too early: a part of it is missing."),
    Check("bounded", "review", "The document is longer than the configured limit, and the rest was left out."),
    Check("client_rendered", "review", "A web page holds no text of its own: a script would fetch it in a browser."),
    Check("no_article", "review", "A web page has no main text, only links and menus."),
    Check("fallback", "info", "The usual way to read the file failed, and a simpler one was taken."),
    Check("tracked_changes", "info", "The document holds tracked changes; they are read as accepted."),
    Check("comments", "info", "The document holds comments of its editors."),
    Check("hidden_text", "info", "The document holds text that a reader does not see; it is left out."),
    Check("attachments", "info", "The document holds attached files, which are not read."),
    Check("damaged_outline", "info", "The bookmarks of the document are broken, wholly or in part."),
    Check("type3_font", "info", "The document uses fonts made of drawings, whose letters may be wrong."),
    Check("wrong_extension", "info", "The name of the file promises another format than its content; belongs to the path."),
    Check("unsettled", "info", "The file went on changing and was read as it was: it may be unfinished; belongs to the path."),
)
"""Said by an extractor (or, of a path, by the loop): a note of this code becomes a finding."""

RESERVED = ("extractors_disagree",)
"""A code that is promised and not produced: two extractors agree on most garbled pages, so a second one told nothing."""

CHECKS: tuple[Check, ...] = (
    *(value for value in vars(page_checks).values() if isinstance(value, Check)),
    no_text,
    short_text,
    duplicate_passages,
    *_NOTED,
)
"""Every check, in the order in which docs/checks.md shows them."""


def check_pages(extraction: Extraction, settings: CheckSettings) -> tuple[Finding, ...]:
    """What the page checks find, in the order of the pages; pages that an extractor could not read are named too."""
    found = [
        _finding(check, remark, page.index if extraction.paged else None)
        for page in extraction.pages
        for check in CHECKS
        if check.of_page is not None and (remark := check.of_page(page, extraction, settings)) is not None
    ]
    return tuple(found) + tuple(finding for finding in _noted(extraction, found) if finding.page_index is not None)


def check_document(draft: Draft, settings: CheckSettings) -> tuple[Finding, ...]:
    """What is to be said of the document as a whole: by its checks, and by its extractor."""
    found = [
        _finding(check, remark, None)
        for check in CHECKS
        if check.of_document is not None and (remark := check.of_document(draft, settings)) is not None
    ]
    return tuple(found) + tuple(finding for finding in _noted(draft.extraction, found) if finding.page_index is None)


def verdict(findings: tuple[Finding, ...]) -> Verdict:
    """Review as soon as one finding asks for it."""
    return "review" if any(finding.severity == "review" for finding in findings) else "accepted"


def _finding(check: Check, remark: Remark, page_index: int | None) -> Finding:
    severity = remark.severity or check.severity
    return Finding(check.code, severity, remark.message, page_index, remark.measure, remark.threshold)


def _noted(extraction: Extraction, said: list[Finding]) -> Iterator[Finding]:
    """The notes of the extractor as findings, where no check said the same already."""
    severities = {check.code: check.severity for check in CHECKS}
    known = {(finding.code, finding.page_index) for finding in said}
    for note in extraction.notes:
        if (note.code, note.page_index) not in known:
            sentence = f"{note.message[:1].upper()}{note.message[1:].rstrip('.')}."
            yield Finding(note.code, severities.get(note.code, "info"), sentence, note.page_index, note.measure)
