"""What is published: the wheel and the sdist, and the files that describe the project to others."""

from __future__ import annotations

import email
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from polytune.version import DISTRIBUTION, __version__

ROOT = Path(__file__).parents[1]
DESCRIBED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, BUILD = DESCRIBED["project"], DESCRIBED["build-system"]


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


def test_versions_and_dates_agree() -> None:
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = (re.search(rf"^{key}: (.*)$", cited, re.MULTILINE) for key in ("version", "date-released"))
    assert version and version[1] == __version__
    # The changes that are in no version yet come first, then those of this one.
    released = re.findall(r"^## \[(.*?)\](?: - (.*))?$", changes, re.MULTILINE)
    assert date and released[:2] == [("Unreleased", ""), (__version__, date[1])]


@pytest.fixture
def recipe() -> dict[str, Any]:
    read: dict[str, Any] = pytest.importorskip("yaml").safe_load((ROOT / ".conda" / "recipe.yaml").read_text("utf-8"))
    return read


def test_the_conda_recipe_is_of_this_project(recipe) -> None:
    assert recipe["package"] == {"name": PROJECT["name"], "version": "${{ version }}"}
    assert recipe["context"] == {"version": __version__}
    made = recipe["build"]
    assert made["noarch"] == "python" and "--no-deps --no-build-isolation" in made["script"]
    assert made["python"]["entry_points"] == [f"{name} = {of}" for name, of in PROJECT["scripts"].items()]
    assert set(recipe["tests"][0]["python"]["imports"]) == {"polytune", "polybench", "gallery"}
    about = recipe["about"]
    assert (about["license"], about["summary"]) == (PROJECT["license"], PROJECT["description"])
    assert (ROOT / about["license_file"]).is_file() and (ROOT / ".conda" / recipe["source"]["path"]).resolve() == ROOT


def test_the_conda_recipe_requires_what_the_project_does(recipe) -> None:
    python = f"python {PROJECT['requires-python']}"
    required = [re.sub("(>=|<|==)", r" \1", each, count=1) for each in PROJECT["dependencies"]]
    required = [each.replace("islpy-barvinok", "islpy") for each in required]
    assert set(recipe["requirements"]["run"]) == {python, "barvinok", *required}
    assert set(recipe["requirements"]["host"]) == {python, "pip", *BUILD["requires"]}


def test_the_conda_recipe_is_one_that_rattler_build_takes() -> None:
    rattler = pytest.importorskip("rattler_build", reason="needs py-rattler-build")
    (variant,) = rattler.Stage0Recipe.from_file(ROOT / ".conda" / "recipe.yaml").render()
    package = variant.recipe.package
    assert (package.name, package.version) == (PROJECT["name"], __version__)
    assert variant.recipe.build.noarch == "python"
