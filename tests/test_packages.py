"""What is published: the wheel and the sdist, and the files that describe the project to others."""

from __future__ import annotations

import email
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from polytune.version import DISTRIBUTION, __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def tracked(folder: str) -> set[str]:
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "heat_kernels"} & set(path.parts)
    }


@pytest.mark.slow
def test_the_wheel_has_its_packages_and_nothing_else(tmp_path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel")
    (built,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(built).name == f"{DISTRIBUTION.replace('-', '_')}-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(built) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        folder = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        described = email.message_from_bytes(archive.read(folder))
    assert names == tracked("polytune") | tracked("polybench") | tracked("gallery")
    assert "polytune/py.typed" in names
    assert described["Name"] == DISTRIBUTION and described["Version"] == __version__
    assert described["Requires-Python"] == ">=3.11"
    assert not [each for each in described.get_all("Requires-Dist") if re.match(r"polytune\b(?!-)", each)]
    assert "polytune compiles plain Python loop nests" in described.get_payload()


@pytest.mark.slow
def test_the_sdist_has_what_its_tests_need(tmp_path) -> None:
    sdist = pytest.importorskip("hatchling.builders.sdist")
    (built,) = sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(built) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("polytune", "polybench", "gallery", "benchmarks", "docs", "examples", "tests"):
        assert tracked(folder) <= names, folder
    assert {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "SECURITY.md", ".ci/run", ".ci/smoke.py"} <= names


def test_versions_agree() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited and cited[1] == __version__


def test_the_conda_recipe_requires_what_the_project_does() -> None:
    recipe = (ROOT / ".conda" / "meta.yaml").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^    - ([\w-]+) >=([\d.]+)$", recipe.partition("  run:\n")[2], re.MULTILINE))
    required = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", each).groups() for each in PROJECT["dependencies"])  # type: ignore[union-attr]
    required["islpy"] = required.pop("islpy-barvinok")
    assert listed == {**required, "python": PROJECT["requires-python"].removeprefix(">=")}
    assert PROJECT["license"] == "MIT" and "license: MIT" in recipe
