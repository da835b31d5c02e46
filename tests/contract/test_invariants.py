"""Invariants by absence: what Winnow never does."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from winnowd import checks, clean, errors, formats
from winnowd.model import Measures
from winnowd.store import documents, schema

HERE = Path(__file__).parents[2]
PACKAGE = Path(formats.__file__).parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))
PARSERS = ("pymupdf", "fitz", "pypdf", "docx", "trafilatura", "lxml", "markdown_it", "charset_normalizer")
PURE = ("clean", "checks", "layout", "passages.py", "pipeline.py", "query.py", "reconcile.py", "settle.py", "cjk.py")
IMPURE = {"os", "pathlib", "sqlite3", "time", "logging", "socket", "subprocess", "random"}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def test_the_parent_loads_no_parser():
    code = (
        "import sys, winnowd.daemon, winnowd.commands.scan, winnowd.commands.process, winnowd.store.search, winnowd.walk\n"
        f"print([name for name in {PARSERS!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_loads_nothing_heavy():
    heavy = ("pydantic", "sqlite_utils", "rich", "winnowd.daemon")
    code = f"import sys, winnowd.commands; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_extractors_import_parsers():
    outside = [path for path in SOURCES if "extract" not in path.parts and set(imports(path)) & {*PARSERS}]
    assert outside == []


def test_pure_modules_know_no_disk_clock_or_database():
    pure = [path for path in SOURCES if path.relative_to(PACKAGE).parts[0] in PURE]
    assert len(pure) > 15
    assert {path.name: set(imports(path)) & IMPURE for path in pure if set(imports(path)) & IMPURE} == {}


def test_there_is_one_broad_except_in_the_package():
    broad = [
        f"{path.relative_to(PACKAGE)}: {ast.unparse(node.type) if node.type else 'bare'}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        # What re-raises hides nothing: a transaction is undone and the trouble goes on.
        and not any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
    ]
    assert broad == ["worker.py: Exception"]


def test_no_module_imports_the_source_root_by_name():
    assert [path for path in SOURCES if "daemon" in set(imports(path))] == []


def test_nothing_below_a_watched_folder_is_touched(tmp_path):
    root = tmp_path / "share"
    (root / "a").mkdir(parents=True)
    (root / "a" / "x.txt").write_text("A note about the plover.")
    (root / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    for top, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.utime(os.path.join(top, name), (1_600_000_000, 1_600_000_000))

    def shown():
        return {
            os.path.join(top, name): os.stat(os.path.join(top, name))[:9]
            for top, folders, files in os.walk(root)
            for name in (*folders, *files)
        }

    before = {path: (s[0], s[1], s[6], s[8]) for path, s in shown().items()}
    argv = [sys.executable, "-m", "winnowd", "scan", "--db", str(tmp_path / "x.db"), str(root)]
    subprocess.run(argv, capture_output=True, check=False)
    assert {path: (s[0], s[1], s[6], s[8]) for path, s in shown().items()} == before


@pytest.mark.parametrize("format", [row for row in formats.FORMATS if row.module], ids=lambda row: row.name)
def test_each_format_that_is_read_has_its_module_and_a_note(format):
    assert (PACKAGE / "extract" / f"{format.module}.py").exists()
    assert format.note


def test_each_check_and_step_has_a_sentence():
    assert all(check.doc.endswith(".") for check in checks.CHECKS)
    assert all((step.__doc__ or "").strip() for step in clean.STEPS)


def test_each_measure_and_look_is_a_column_of_pages():
    assert set(documents.MEASURES) == set(Measures.__dataclass_fields__)
    columns = {line.split()[0] for line in schema.PAGES.splitlines() if line.startswith("    ")}
    assert {*documents.MEASURES, *documents.LOOKS} <= columns


def test_each_failure_code_is_an_exception_or_comes_from_outside():
    raised = {kind.code for kind in errors.DocumentError.__subclasses__()}
    assert raised | {"timed_out", "crashed", "internal"} == set(errors.FAILURES)


def test_functions_are_short():
    """Forty lines are the limit; what is longer reads as one thought and is named here."""
    long = {
        f"{path.relative_to(PACKAGE)}:{node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno > 40
    }
    assert long <= {"commands/process.py:_document"}


def test_the_list_of_faults_names_tests_that_exist():
    text = (HERE / "docs/decisions/0009-each-fault-and-its-test.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (HERE / "tests").rglob("test_*.py"))
    assert len(named) > 50
    assert named - set(re.findall(r"def (test_\w+)", sources)) == set()
