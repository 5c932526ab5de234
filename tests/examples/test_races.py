"""The loops of ``examples/races.py`` compute what plain Python does, in every version and on several threads."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polytune
from examples import races
from tests.every_version import check_versions, copied, stages_of

ROOT = Path(__file__).parents[2]
KERNELS = {name: value for name, value in vars(races).items() if isinstance(value, polytune.Kernel)}
TIMES = 5
"""The number of times that a call is made: what depends on the threads' luck is not the same every time."""


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Whole numbers, so that no sum is rounded, in whatever order."""
    return rng.integers(-50, 50, shape).astype(np.float64)


def arguments_of(name: str, size: int, dtype: Any, order: str = "C") -> tuple[Any, ...]:
    rng = np.random.default_rng(size)
    matrix = np.asarray(whole(rng, size, size + 3), dtype, order=order)
    vector = whole(rng, size).astype(dtype)
    cases: dict[str, Callable[[], tuple[Any, ...]]] = {
        "histogram": lambda: (rng.integers(0, 7, (size, size)), np.zeros(7, dtype)),
        "column_sums": lambda: (matrix, np.zeros(size + 3, dtype)),
        "cyclic": lambda: (vector, np.zeros(4, dtype)),
        "differences": lambda: (vector, np.zeros(size, dtype)),
        "last_above": lambda: (vector, 10.0),
        "overlapping": lambda: (vector, np.zeros(size + 2, dtype)),
        "in_place": lambda: (matrix,),
        "with_workspace": lambda: (matrix, np.zeros(size + 3, dtype), np.zeros(size, dtype)),
        "scattered": lambda: (rng.integers(0, 5, size), vector, np.zeros(5, dtype)),
    }
    return cases[name]()


def check(name: str, arguments: tuple[Any, ...], call: Callable[..., Any]) -> None:
    """Hold a call against plain Python, by its result and by what it has written."""
    expected, actual = copied(arguments), copied(arguments)
    returned = KERNELS[name].__wrapped__(*expected)
    assert call(*actual) == returned
    for wanted, found in zip(expected, actual, strict=True):
        if name == "in_place":  # fractions, the sum of which may be rounded in another order
            np.testing.assert_allclose(found, wanted, rtol=1e-4 if wanted.dtype == np.float32 else 1e-12, atol=1e-5)
        else:
            np.testing.assert_array_equal(found, wanted)


def test_every_case_has_arguments() -> None:
    assert len(KERNELS) == 9
    for name in KERNELS:
        assert arguments_of(name, 4, np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", KERNELS)
def test_every_version_is_right(name, dtype) -> None:
    arguments = arguments_of(name, 11, dtype)
    function = KERNELS[name].__wrapped__
    check_versions(function, stages_of(function, arguments, strict=name == "in_place"), arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_calls_on_several_threads_are_right(name) -> None:
    kernel = KERNELS[name]
    for size, dtype, order in ((300, np.float64, "C"), (1, np.float64, "C"), (257, np.float32, "F")):
        arguments = arguments_of(name, size, dtype, order)
        for _ in range(TIMES):
            check(name, arguments, kernel)
        space = kernel.space(*arguments)
        for version in space["version"].values:
            configuration = space.configuration(version=version)
            check(name, arguments, lambda *values, chosen=configuration: kernel.run(chosen, *values))


def test_the_readme_names_each() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| .* \| `(\w+)` \|$", readme, re.MULTILINE)
    assert sorted(named) == sorted(KERNELS)
