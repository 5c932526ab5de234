"""What the tests of compiling in the background share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from polytune.runtime.background.compiler import BackgroundCompiler
from polytune.runtime.modules.cache import ModuleCache

KEY = "ba" * 32

SOURCE = '''\
"""Functions as a generated module has them, but small."""

from numba import njit


@njit(cache=True)
def double(x):
    return 2 * x


@njit(cache=True)
def triple(x):
    return 3 * x


@njit(cache=True)
def add(x, y, z):
    return x + y + z


@njit(cache=True)
def impossible(x):
    return x.nothing


@njit
def not_kept(x):
    return x
'''


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here things are compiled in the background."""
    monkeypatch.delenv("POLYTUNE_BACKGROUND")


@pytest.fixture
def compilers() -> Iterator[Callable[..., BackgroundCompiler]]:
    """Makes background compilers, and ends their processes."""
    made: list[BackgroundCompiler] = []

    def make(**options) -> BackgroundCompiler:
        made.append(BackgroundCompiler(**options))
        return made[-1]

    yield make
    for compiler in made:
        compiler.close()


@pytest.fixture
def source() -> str:
    """The text of the module that ``load`` imports."""
    return SOURCE


@pytest.fixture
def load(tmp_path) -> Callable[[], Any]:
    """Imports the module as a new process would."""

    def fresh():
        cache = ModuleCache(tmp_path / "cache")
        return cache.load(KEY) or cache.store(KEY, SOURCE)

    return fresh


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Waits until something is so."""

    def wait(is_so: Callable[[], bool], seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, "it does not happen"
            time.sleep(0.01)

    return wait
