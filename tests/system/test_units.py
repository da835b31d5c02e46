"""The systemd units: valid, hardened, and naming a command that exists."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from winnowd import commands

UNITS = Path(__file__).parents[2] / "systemd"
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def test_the_service_runs_a_command_that_exists():
    line = re.search(r"^ExecStart=(.*)$", (UNITS / "winnow-scan.service").read_text(), re.M)[1]
    assert line.split()[-1] in commands.COMMANDS


@needs_systemd
def test_the_units_are_valid(tmp_path):
    for unit in UNITS.iterdir():
        text = unit.read_text().replace("/opt/winnow/bin/winnow", "/bin/true")
        (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, tmp_path.iterdir())], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "winnow" in line]
    assert ours == []


@needs_systemd
def test_the_service_is_hardened():
    argv = ["systemd-analyze", "security", "--offline=true", "--threshold=12", str(UNITS / "winnow-scan.service")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:]
