"""Type checkers find the wrong calls of kernels, and only those, and know the types of everything public."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import polytune

ROOT = Path(__file__).parents[2]
CALLS = Path(__file__).with_name("calls.py")
LINES = CALLS.read_text(encoding="utf-8").splitlines()
WRONG = {number for number, line in enumerate(LINES, start=1) if line.endswith("# wrong")}

pytestmark = pytest.mark.slow


def ran(*command: str) -> str:
    # Pyright reads no package's types from a folder that an editable installation names.
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment
    ).stdout


def pyright(*arguments: str) -> dict[str, Any]:
    """The report of pyright."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    found = ran("pyright", "--outputjson", "--pythonpath", sys.executable, *arguments)
    return dict(json.loads(found[found.index("{") :]))


def test_there_are_enough_calls_of_both_kinds() -> None:
    right = set(range(LINES.index("configuration: dict[str, object] = {}") + 2, len(LINES) + 1)) - WRONG
    assert len(WRONG) >= 20 and len([number for number in right if LINES[number - 1]]) >= 20


def test_mypy_finds_what_is_wrong() -> None:
    found = ran("mypy", "--strict", "--config-file=", f"--cache-dir={os.devnull}", str(CALLS))
    assert {int(line) for line in re.findall(r"calls\.py:(\d+): error", found)} == WRONG, found


def test_pyright_finds_what_is_wrong() -> None:
    found = pyright(str(CALLS))["generalDiagnostics"]
    errors = {each["range"]["start"]["line"] + 1: each["message"] for each in found if each["severity"] == "error"}
    assert set(errors) == WRONG, errors


def test_the_types_of_everything_public_are_known() -> None:
    """Also of what these classes inherit, of their attributes, and of what their methods take and return."""
    found = pyright("--verifytypes", "polytune", "--ignoreexternal")["typeCompleteness"]
    symbols = {each["name"]: each for each in found["symbols"]}
    public = {f"polytune.{name}" for name in polytune.__all__} | {
        f"polytune.tuner.{name}" for name in polytune.tuner.__all__
    }
    assert {"polytune.Kernel", "polytune.kernel", "polytune.tuner.Space"} <= set(symbols)
    assert not [name for name in sorted(public & set(symbols)) if not symbols[name]["isTypeKnown"]]
