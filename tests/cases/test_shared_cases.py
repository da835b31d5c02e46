"""The acceptance cases that lie beside the checkout on the maintainers' machines; skipped where they are not."""

import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"
KINDS = ("pdf-container", "docx-container", "file-name", "search", "store")


@pytest.mark.skipif(not (SHARED / "cases" / "cases.json").exists(), reason="the shared cases are not beside this checkout")
@pytest.mark.parametrize("kind", KINDS)
def test_every_case_of_a_kind_passes(kind):
    tool = [sys.executable, str(SHARED / "tools" / "cases.py"), str(SHARED / "cases")]
    done = subprocess.run(
        [*tool, "--winnow", f"{sys.executable} -m winnowd", "--kind", kind, "--floor", "100", "--jobs", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
