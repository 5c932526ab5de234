"""What a library runs for which sizes, and what else is decided when it is built."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from polytune.cli.target import load_kernel, load_kernels, parse_target
from polytune.errors import MissingLibraryError, PolytuneError
from polytune.history import default_store, machine_key
from polytune.packaging import build, tuned_configurations
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.teams.threads import maximum_threads
from polytune.shared_library.build import build_library
from polytune.shared_library.choices import choices_for
from polytune.shared_library.levels import level_names
from polytune.shared_library.linking import find_compiler
from polytune.shared_library.texts import host_text
from tests.shared_library.conftest import KERNELS


@pytest.fixture(scope="module")
def generated() -> GeneratedKernel:
    kernel = load_kernel(f"{KERNELS}:smooth")
    return kernel._generate(kernel.stages().signature, maximum_threads())[1]


def test_what_was_measured_comes_first_and_what_is_expected_fills_the_rest(generated):
    names = [version.name for version in generated.module.VERSIONS]
    parameters = generated.module.PARAMETERS
    shape = ", ".join(f"{name}={100 + k}" for k, name in enumerate(parameters))
    configuration = {"version": "tiled", "threads": 1, "tile_0": 24, "tile_1": 7}
    assert "tiled" in names
    first, *others = choices_for(generated, {shape: configuration}, names)
    assert first.parameters == tuple(range(100, 100 + len(parameters))) and first.is_measured
    assert (first.version, first.sizes[:2]) == ("tiled", (24, 7))
    assert first.threads == (0 if maximum_threads() == 1 else 1)
    assert len(others) > 2 and not any(choice.is_measured for choice in others)
    assert len({choice.parameters for choice in (first, *others)}) == 1 + len(others)


def test_versions_that_cannot_be_in_a_library_are_not_chosen(generated):
    shape = ", ".join(f"{name}=9" for name in generated.module.PARAMETERS)
    choices = choices_for(generated, {shape: {"version": "tiled", "tile_0": 8, "tile_1": 8}}, ["source"])
    assert {choice.version for choice in choices} == {"source"} and not choices[0].is_measured


def test_arrays_on_devices_are_of_no_concern(generated):
    shape = ", ".join(f"{name}=9" for name in generated.module.PARAMETERS) + "; x on cuda:0"
    assert not any(choice.is_measured for choice in choices_for(generated, {shape: {"version": "tiled"}}, ["tiled"]))


def test_the_history_of_this_machine_goes_into_the_library(tmp_path: Path, monkeypatch):
    kernel = load_kernel(f"{KERNELS}:prefix")
    size = kernel._generate(kernel.stages().signature, maximum_threads())[1].module.PARAMETERS[0]
    key = (kernel.name_in_history(), f"{size}=77", machine_key(maximum_threads()))
    default_store().record(*key, {"version": "source"}, 0.001)
    assert list(tuned_configurations(kernel)) == [f"{size}=77"]
    told = build_library([kernel], tmp_path / "tuned_kernels", tuned=True, level_names=level_names()[-1:])
    assert told.measured == {"prefix": 1}


def test_a_package_takes_the_place_of_one_of_the_other_kind(tmp_path: Path):
    kernels = load_kernels(parse_target(f"{KERNELS}:prefix,thirds"))
    folder = tmp_path / "changing"
    build(kernels, folder, devices=False)
    ordinary = {path.name for path in folder.iterdir()}
    told = build_library(kernels[:1], folder, level_names=level_names()[-1:])
    native = {path.name for path in folder.iterdir()}
    assert native == {"__init__.py", f"_{kernels[0].__name__}.py", "_support", told.library.name, "changing.h"}
    build(kernels, folder, devices=False)
    assert {path.name for path in folder.iterdir()} == ordinary


def test_there_is_no_such_level_or_compiler(tmp_path: Path, monkeypatch):
    kernels = load_kernels(parse_target(f"{KERNELS}:prefix"))
    with pytest.raises(PolytuneError, match=f"no level 'z80' .* {level_names()[0]}"):
        build_library(kernels, tmp_path / "none", level_names=["z80"])
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(MissingLibraryError, match="no C compiler 'no-such-compiler', which the variable CC names"):
        build_library(kernels, tmp_path / "none")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingLibraryError, match="install gcc or clang, or build without --native"):
        find_compiler()
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(PolytuneError, match="without --native writes a package that runs on Windows"):
        find_compiler()
    assert not (tmp_path / "none").exists()


def test_the_text_that_checks_calls_imports_neither_numba_nor_polytune(generated):
    text = host_text(Path(generated.module.__file__).read_text())
    assert "def check(" in text and "def words(" in text and "SIGNATURE = " in text
    for word in ("numba", "from polytune", "njit", "def run_", "VERSIONS", "def space"):
        assert word not in text, word
