"""Runs what docs/querying.md says against a small catalogue. `python tests/system/test_querying.py --write` renews it."""

import asyncio
import re
import sqlite3
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "daemon")]

import pytest

import catalogues
from catalogues import DAY, NOON_2026, Text, add_document, add_file
from winnowd.store.schema import VERSION

PAGE = Path(__file__).parents[2] / "docs" / "querying.md"
QUESTION = re.compile(r"```sql\n(?P<sql>.*?)```\n\n```text\n(?P<output>.*?)```\n", re.DOTALL)
NAMED = re.compile(r"^\| `(?P<table>\w+)` \|[^|]*\|(?P<columns>[^|]*)\|$", re.MULTILINE)
WORD = re.compile(r"[a-z_]+")


def example(path: Path) -> sqlite3.Connection:
    """Some files of a port office, in every state."""
    db = catalogues.empty(path)
    handbook = add_document(
        db,
        "port/handbook.pdf",
        [
            Text("Harbour handbook\nWhat every pilot must know about tides.", "Harbour handbook", 0, "i"),
            Text("Dredging\nThe channel is dredged in May. Dredging stops when the tide is low.", "Depths > Dredging", 1, "1"),
            Text("Lights\nThe north light is green.", "Lights", 2, "2"),
            Text("L i g h t s of the south", "Lights", 3, "3", withheld=True),
        ],
        title="Harbour handbook",
        author="Port office",
        format="pdf",
        language="en",
        pages=4,
        state="review",
    )
    for place, (level, title, index) in enumerate(
        [(1, "Harbour handbook", 0), (2, "Depths", 1), (3, "Dredging", 1), (2, "Lights", 2)]
    ):
        label = ("i", "1", "2", "3")[index]
        db.execute(
            "INSERT INTO outline (document_id, ordinal, level, title, page_index, page_label) VALUES (?, ?, ?, ?, ?, ?)",
            (handbook, place, level, title, index, label),
        )
    add_finding(db, handbook, "letter_spaced", 3, "The letters of this page stand apart.")
    add_pages(db, handbook, ("i", "1", "2", "3"))
    plans = add_document(db, "plans/2019.pdf", [Text("Plan of the new quay.", None, 0)], format="pdf", pages=3, state="review")
    add_pages(db, plans, (None, None, None))
    add_finding(db, plans, "scanned", 1, "This page is an image without text.")
    add_finding(db, plans, "scanned", 2, "This page is an image without text.")
    minutes = add_document(
        db,
        "minutes/2026-02.docx",
        ["The board talked about dredging and about the price of it.", "Next meeting: at high tide."],
        title="Minutes of February",
        format="docx",
        mtime_ns=NOON_2026 + 40 * DAY,
    )
    add_file(db, "minutes/copy of 2026-02.docx", state="indexed", document_id=minutes, mtime_ns=NOON_2026 + 41 * DAY)
    add_document(db, "tides.csv", ["day,low,high\nMonday,0.4,3.1"], format="csv", mtime_ns=NOON_2026 + 20 * DAY)
    add_document(db, "notes/港口.txt", ["我们在港口工作"], language="zh")
    add_file(
        db, "contracts/pilot.pdf", state="failed", reason="encrypted", message="Needs a password to be read.", format="pdf"
    )
    add_file(db, "contracts/tug.pdf", state="failed", reason="encrypted", message="Needs a password to be read.", format="pdf")
    add_file(db, "old/radar.pdf", state="failed", reason="damaged", message="Is broken: no page could be found.", format="pdf")
    add_file(db, "photos/quay.jpg", state="skipped", reason="unsupported", message="Winnow does not read jpg.", format="jpg")
    add_file(db, "inbox/new.pdf", state="pending")
    db.commit()
    return db


def add_pages(db: sqlite3.Connection, document_id: int, labels: tuple[str | None, ...]) -> None:
    rows = [(document_id, index, label) for index, label in enumerate(labels)]
    statement = "INSERT INTO pages (document_id, page_index, page_label, verdict, chars) VALUES (?, ?, ?, 'accepted', 100)"
    db.executemany(statement, rows)


def add_finding(db: sqlite3.Connection, document_id: int, code: str, page_index: int, message: str) -> None:
    statement = "INSERT INTO findings (document_id, code, page_index, severity, message) VALUES (?, ?, ?, 'review', ?)"
    db.execute(statement, (document_id, code, page_index, message))


def output(db: sqlite3.Connection, sql: str) -> str:
    """As the command `sqlite3 -header -column` prints it."""
    cursor = db.execute(sql)
    rows = [tuple("" if value is None else str(value) for value in row) for row in cursor]
    head = tuple(column[0] for column in cursor.description)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    table = [head, tuple("-" * width for width in widths), *rows]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return "".join(f"{line.rstrip()}\n" for line in lines)


@pytest.fixture
def catalogue(tmp_path: Path) -> sqlite3.Connection:
    return example(tmp_path / "winnow.db")


QUESTIONS = list(QUESTION.finditer(PAGE.read_text()))


def test_the_page_answers_ten_questions() -> None:
    assert len(QUESTIONS) == 10
    assert len(re.findall(r"^```sql$", PAGE.read_text(), re.MULTILINE)) == 10


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_the_output_in_the_page_is_real(catalogue: sqlite3.Connection, number: int) -> None:
    question = QUESTIONS[number]
    assert output(catalogue, question["sql"]) == question["output"]
    assert question["output"].count("\n") > 2


def test_every_table_and_column_the_page_promises_is_there(catalogue: sqlite3.Connection) -> None:
    promised = {match["table"]: set(WORD.findall(_plain(match["columns"]))) for match in NAMED.finditer(PAGE.read_text())}
    assert len(promised) > 10
    for table, columns in promised.items():
        there = {row[1] for row in catalogue.execute("SELECT * FROM pragma_table_info(?)", (table,))} or {
            column[0] for column in catalogue.execute(f"SELECT * FROM {table} LIMIT 0").description
        }
        assert there
        assert columns <= there, table


def test_the_schema_says_its_version(catalogue: sqlite3.Connection) -> None:
    assert catalogue.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_the_indexes_are_in_step_with_their_tables(catalogue: sqlite3.Connection) -> None:
    for table in ("passages_fts", "documents_fts", "files_fts"):
        catalogue.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")


def test_datasette_finds_passages_by_itself(tmp_path: Path) -> None:
    example(tmp_path / "winnow.db").close()
    answer = asyncio.run(_through_datasette(tmp_path / "winnow.db", "/winnow/passages.json?_search=dredging&_shape=array"))
    assert {row["page_label"] for row in answer} == {"1", None}
    assert all("redging" in str(row["text"]) for row in answer)


async def _through_datasette(path: Path, address: str) -> list[dict[str, object]]:
    from datasette.app import Datasette

    datasette = Datasette([str(path)])
    await datasette.invoke_startup()
    response = await datasette.client.get(address)
    assert response.status_code == 200
    return list(response.json())


def _plain(columns: str) -> str:
    """The names of columns, without what stands in brackets or is said about them."""
    names = re.sub(r"\([^)]*\)", "", columns)
    names = re.sub(r"the same columns as `passages`|, and a column for each measure", "", names)
    return names.replace(" or ", ", ")


def _write() -> None:
    db = example(Path(":memory:"))
    page = QUESTION.sub(
        lambda match: f"```sql\n{match['sql']}```\n\n```text\n{output(db, match['sql'])}```\n", PAGE.read_text()
    )
    PAGE.write_text(page)


if __name__ == "__main__" and "--write" in sys.argv:
    _write()
