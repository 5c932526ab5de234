"""A type checker finds the wrong calls of kernels, and only those."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = Path(__file__).with_name("calls.py")


@pytest.mark.slow
def test_mypy_finds_what_is_wrong(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(CALLS)]
    root = Path(__file__).parents[2]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=root)
    reported = {int(line) for line in re.findall(r"calls\.py:(\d+): error", found.stdout)}
    lines = CALLS.read_text(encoding="utf-8").splitlines()
    wrong = {number for number, line in enumerate(lines, start=1) if line.endswith("# wrong")}
    assert len(wrong) == 20
    assert reported == wrong, found.stdout
