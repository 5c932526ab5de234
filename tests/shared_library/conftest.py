"""One package of several kernels, which all tests of shared libraries use."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

from polytune.cli.target import load_kernels, parse_target
from polytune.shared_library.build import BuiltLibrary, build_library
from polytune.shared_library.levels import level_names

KERNELS = Path(__file__).with_name("kernels.py")


class Built(NamedTuple):
    """A package that was built, imported, beside the kernels that it was built from."""

    folder: Path
    package: ModuleType
    kernels: ModuleType
    told: BuiltLibrary


def imported(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = package
    spec.loader.exec_module(package)
    return package


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    if sys.platform == "win32" or not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("library") / "some_kernels"
    kernels = {
        kernel.__name__: kernel for kernel in load_kernels(parse_target(str(KERNELS))) if kernel.__name__ != "solved"
    }
    told = build_library(list(kernels.values()), folder, level_names=(level_names()[0], level_names()[-1]))
    originals = ModuleType("originals")
    originals.__dict__.update(kernels)
    yield Built(folder, imported(folder), originals, told)
    for name in [name for name in sys.modules if name.partition(".")[0] == "some_kernels"]:
        del sys.modules[name]
