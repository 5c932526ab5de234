"""What the README shows runs as it stands there; its first example on smaller arrays."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.slow


def ran(command: list[str], folder: Path = ROOT) -> str:
    """The output of a command that must succeed; modules of the project are found from any folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300, env=environment)
    assert found.returncode == 0, found.stderr
    return found.stdout


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def commands(section: str) -> list[str]:
    """The indented lines of a section."""
    text = README.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [line.strip() for line in text.splitlines() if line.startswith("    ")]


def test_examples_in_python_run(tmp_path) -> None:
    first, *others = python_blocks()
    program = (
        first.replace("(800, 800)", "(40, 40)").replace("range(100)", "range(3)").replace("seconds=10", "seconds=1")
    )
    assert program.count("40, 40") == program.count("seconds=1)") == 1
    assert len(others) == 2
    file = tmp_path / "readme.py"
    file.write_text("\n".join([program, *others, "assert np.isfinite(C).all()"]).replace("range(100)", "range(3)"))
    told = ran([sys.executable, str(file)])
    assert re.search(r"^[\d.]+ [mu]?s with version=.*, ([\d.]+ times as fast as )?the first choice[,;] ", told)
    assert "gemm(" in told


def test_the_other_ways_to_use_it_run_as_they_are(tmp_path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    lines = commands("Three ways to use it")
    assert len(lines) == 8
    if shutil.which("cc") is None:
        lines = lines[:6]  # a library takes a C compiler
    names = f'python() {{ "{sys.executable}" "$@"; }}; polytune() {{ python -m polytune "$@"; }}; set -e\n'
    told = ran(["bash", "-c", names + "\n".join(lines)], tmp_path)
    assert "jacobi-2d" in told and "verified" in told and told.count("warm after") == len(lines) // 2 - 2


def test_commands_at_the_beginning_exist() -> None:
    block = README.partition("```")[0]
    assert re.findall(r"^    (.*?)  ", block, re.MULTILINE) == ["pip install .", "polytune doctor"]
    targets = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets and all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
