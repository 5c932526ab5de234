"""The environment variables are declared in one place, read there alone, and described on a page made from it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from polytune.environment import VARIABLES, EnvironmentVariable, page

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "environment.md"
DECLARED = {variable.name for variable in VARIABLES}
PASSED_ON = {
    "polytune/campaigns/pools.py",
    "polytune/lab/simulation.py",
    "polytune/runtime/background/process.py",
}
"""The files that give the environment, or a changed one, to other processes."""


def sources() -> list[Path]:
    return [*(ROOT / "polytune").rglob("*.py"), *(ROOT / "polybench").rglob("*.py")]


def test_every_name_in_the_sources_is_declared() -> None:
    named = {name for path in sources() for name in re.findall(r"\bPOLYTUNE_[A-Z_]+\b", path.read_text())}
    assert {"POLYTUNE_CACHE_DIR", "POLYTUNE_DEVICES", "POLYTUNE_NVRTC"} <= named
    assert named <= DECLARED


def test_every_name_in_the_documentation_is_declared() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    named = {name for path in pages for name in re.findall(r"\bPOLYTUNE_[A-Z_]+\b", path.read_text())}
    assert named == {name for name in DECLARED if name.startswith("POLYTUNE_")}


def test_the_environment_is_read_in_one_place() -> None:
    reading = set()
    for path in (ROOT / "polytune").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
            if name in ("environ", "environb", "getenv", "getenvb"):
                reading.add(path.relative_to(ROOT).as_posix())
    assert reading == {"polytune/environment.py", *PASSED_ON}


def test_the_page_is_what_is_declared(renew_golden: bool) -> None:
    if renew_golden:
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()
    for variable in VARIABLES:
        assert f"| `{variable.name}` |" in page()
        assert not variable.page or (PAGE.parent / variable.page).exists()


def test_pages_that_say_more_name_the_variable() -> None:
    silent = [
        variable.name
        for variable in VARIABLES
        if variable.page and variable.name not in (PAGE.parent / variable.page).read_text(encoding="utf-8")
    ]
    assert not silent


@pytest.mark.parametrize(
    ("text", "is_on", "is_off"),
    [("1", True, False), (" Yes ", True, False), ("0", False, True), ("OFF", False, True), ("  ", False, False)],
)
def test_words_for_yes_and_no(monkeypatch, text, is_on, is_off) -> None:
    variable = EnvironmentVariable("POLYTUNE_NOTHING", "", "", "")
    monkeypatch.setenv(variable.name, text)
    assert (variable.is_on, variable.is_off, variable.text) == (is_on, is_off, text.strip())
    assert variable.is_set


def test_a_variable_that_is_not_set(monkeypatch) -> None:
    variable = EnvironmentVariable("POLYTUNE_NOTHING", "", "", "")
    monkeypatch.delenv(variable.name, raising=False)
    assert (variable.is_on, variable.is_off, variable.is_set, variable.text) == (False, False, False, "")
