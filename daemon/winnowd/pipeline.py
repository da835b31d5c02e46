"""From extraction to document: the calls in order, and the recipe that names what made a document.

Nothing here knows a disk, a clock or a database.
"""

import hashlib
import json
from dataclasses import asdict, replace

from winnowd import checks, clean, passages
from winnowd.checks import measures
from winnowd.clean.joining import finish_sentences
from winnowd.config import CheckSettings
from winnowd.model import FURNITURE, Document, Draft, Extraction, Finding, Format, Page, Verdict

OF_WHAT_IS_MISSING = frozenset({"bounded", "truncated"})
"""Findings that say nothing against the text that is there: a person looks at the document, but its text need not wait."""


def refine(extraction: Extraction, digest: str, recipe: str, settings: CheckSettings) -> Document:
    """Everything that will be stored of a content: cleaned, split into passages, measured and judged.

    The pages are judged before sentences are finished over page breaks, so that no text of a page which waits for a person
    slips into a page that is searchable.
    """
    cleaned, steps = clean.clean(_with_pages(extraction))
    cleaned = replace(cleaned, pages=measures.measure(extraction, cleaned))
    of_pages = checks.check_pages(cleaned, settings)
    cleaned, last = finish_sentences(cleaned, _flagged(of_pages))
    draft = Draft(cleaned, (*steps, last), passages.split(cleaned))
    findings = (*of_pages, *checks.check_document(draft, settings))
    return Document(
        digest=digest,
        format=cleaned.format,
        recipe=recipe,
        metadata=cleaned.metadata,
        pages=judged(cleaned.pages, findings, paged=cleaned.paged),
        outline=cleaned.outline
        if cleaned.paged
        else tuple(replace(e, page_index=None, page_label=None) for e in cleaned.outline),
        passages=draft.passages,
        furniture=tuple(block for block in cleaned.blocks if block.kind in FURNITURE),
        steps=draft.steps,
        findings=findings,
        verdict=checks.verdict(findings),
        paged=cleaned.paged,
        chars=sum(len(passage.text) for passage in draft.passages),
    )


def judged(pages: tuple[Page, ...], findings: tuple[Finding, ...], *, paged: bool) -> tuple[Page, ...]:
    """The pages with their verdicts: a page waits if a review finding names it.

    Where a format has no pages of its own, what is said of the document is said of its only page.
    """
    named = _flagged(findings)
    of_the_text = tuple(finding for finding in findings if finding.code not in OF_WHAT_IS_MISSING)
    whole = not paged and checks.verdict(of_the_text) == "review"
    return tuple(_with_verdict(page, "review" if whole or page.index in named else "accepted") for page in pages)


def recipe(format: Format, versions: tuple[str, ...], settings: CheckSettings) -> str:
    """What makes a document of this format: our versions, those of the libraries, and a digest of the settings.

    >>> recipe(Format("pdf", "PDF"), ("mupdf-2.0",), CheckSettings())[:39]
    'pdf@1+mupdf-2.0 clean@1 passages@1 chec'
    """
    extractor = "+".join((f"{format.name}@{format.version}", *versions))
    thresholds = hashlib.sha256(json.dumps(asdict(settings), separators=(",", ":")).encode()).hexdigest()[:4]
    return f"{extractor} clean@{clean.VERSION} passages@{passages.VERSION} checks@{checks.VERSION}#{thresholds}"


def _with_pages(extraction: Extraction) -> Extraction:
    """The extraction with at least one page, since measures and verdicts belong to pages."""
    return extraction if extraction.pages or extraction.paged else replace(extraction, pages=(Page(0),))


def _with_verdict(page: Page, verdict: Verdict) -> Page:
    return page if page.verdict == verdict else replace(page, verdict=verdict)


def _flagged(findings: tuple[Finding, ...]) -> frozenset[int]:
    return frozenset(f.page_index for f in findings if f.severity == "review" and f.page_index is not None)
