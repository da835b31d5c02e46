"""One small document per situation: what was extracted, what was set aside, and what passages came of it.

`scripts/golden` writes the expected outputs anew; read the difference like code.
"""

import io
import sys
from pathlib import Path

import pytest

import builders
from winnowd import formats, pipeline
from winnowd.config import CheckSettings
from winnowd.extract import Reading, extract

HERE = Path(__file__).parent
PROSE = (
    "The harbour board meets on the first Monday of each month and publishes its minutes within five days. "
    "Dredging of the northern channel begins after the winter storms and takes about nine weeks."
)


def two_columns() -> bytes:
    left = builders.pdf_column(
        72, 120, ["The left column tells of boats", "and of the men who row them", "across the bay in winter."] * 4
    )
    right = builders.pdf_column(
        320, 120, ["The right column tells of birds", "that winter on the mudflats", "and leave again in spring."] * 4
    )
    heading = builders.pdf_text(72, 80, "Boats and birds", size=20)
    return builders.pdf_pages(b"".join([heading, *left, *right]))


def running_headers() -> bytes:
    pages = []
    for number, bird in enumerate(("dunlin", "sanderling", "whimbrel", "godwit"), 1):
        lines = [f"This page is about the {bird}, which winters here", "on the mudflats and feeds on worms and snails."]
        header = builders.pdf_text(72, 40, "Birds of the coast, yearly report", size=9)
        footer = builders.pdf_text(300, 760, str(number), size=9)
        pages.append(b"".join([header, *builders.pdf_column(72, 120, lines), footer]))
    return builders.pdf_pages(*pages)


def word_report() -> bytes:
    return builders.docx_file(
        builders.docx_paragraph("Minutes", style="Heading1")
        + builders.docx_paragraph(PROSE)
        + builders.docx_table(("Berth", "Depth"), ("North quay", "7.4 m"), ("Fish pier", "4.0 m"))
        + builders.docx_paragraph("Next meeting", style="Heading2")
        + builders.docx_paragraph("The board meets again in March.")
    )


def web_article() -> bytes:
    return builders.html_page(builders.html_article()).encode()


def markdown_notes() -> bytes:
    return (
        f"---\nauthor: Board\n---\n# Notes\n\n{PROSE}\n\n```\n# not a heading\n```\n\n## Open\n\n- dredge\n- paint\n".encode()
    )


def plain_text() -> bytes:
    return f"{PROSE}\n\nA second para-\ngraph follows, with a word that is divided.\n".encode("cp1252")


SITUATIONS = {
    "two-columns.pdf": two_columns,
    "running-headers.pdf": running_headers,
    "word-report.docx": word_report,
    "web-article.html": web_article,
    "notes.md": markdown_notes,
    "plain.txt": plain_text,
}


def describe(name: str, content: bytes, folder: Path) -> str:
    path = folder / "document"
    path.write_bytes(content)
    format = formats.BY_NAME[formats.detect(io.BytesIO(content), name)]
    extraction = extract(Reading(str(path), format, len(content)))
    document = pipeline.refine(extraction, "0" * 64, "golden", CheckSettings())
    lines = ["== blocks as extracted"]
    lines += [f"{block.kind} {block.level or ''} p{block.page}: {block.text!r}" for block in extraction.blocks]
    lines += ["", "== set aside", *(f"{block.kind} p{block.page}: {block.text!r}" for block in document.furniture)]
    lines += ["", "== outline", *(f"{entry.level} {entry.title} p{entry.page_index}" for entry in document.outline)]
    lines += ["", "== findings", *(f"{finding.severity} {finding.code}: {finding.message}" for finding in document.findings)]
    lines += ["", "== passages", *(f"{p.ordinal} [{p.heading_path}] p{p.page_index}: {p.text!r}" for p in document.passages)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_document_gives_what_it_gave(name, tmp_path):
    expected = HERE / f"{name}.expected"
    assert expected.exists(), "scripts/golden writes it"
    got = describe(name, SITUATIONS[name](), tmp_path)
    assert got == expected.read_text(encoding="utf-8"), "if this is right, scripts/golden rewrites it"


if __name__ == "__main__":
    for name, build in SITUATIONS.items():
        (HERE / f"{name}.expected").write_text(describe(name, build(), Path(sys.argv[1])), encoding="utf-8")
