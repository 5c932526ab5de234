"""The generated module: what it needs, what it is called by, and what it refuses."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from polytune.errors import ArgumentError
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.runtime.modules.generated import GeneratedKernel
from tests.schedule.kernels import SMALL, matrix

ROOT = Path(__file__).parents[2]

WITHOUT_COMPILER = """
import runpy, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("islpy", "sympy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import importlib.util
import numpy as np
from polytune.runtime.modules.generated import GeneratedKernel
spec = importlib.util.spec_from_file_location("generated", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = GeneratedKernel(module)
A, B = np.arange(6.0), np.zeros(6)
outcome = kernel.run(kernel.space.configuration(version="source"), kernel.prepare((A, B)))
print(outcome.result, *B, module.compute(6))
"""


def load(source: str) -> ModuleType:
    """The text as a module that is in no file, and so is not cached; nothing in it is compiled yet."""
    module = ModuleType("generated")
    exec(compile(source.replace("keeps_code(__file__)", "False"), "<generated>", "exec"), module.__dict__)
    return module


def stages_of(function: Any, *arguments: Any) -> Stages:
    names = function.__code__.co_varnames[: len(arguments)]
    return Stages(function, signature_of(names, arguments), strict=True)


def test_module_runs_where_there_is_no_compiler(tmp_path: Path) -> None:
    file = tmp_path / "generated.py"
    # The module of a package for devices has counts as well, which rules ask for when it runs.
    file.write_text(replace(SMALL["returned_scalar"].stages, devices=True).source)
    command = [sys.executable, "-c", WITHOUT_COMPILER, str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert ran.returncode == 0, ran.stderr
    result, *sums, computed = map(float, ran.stdout.split())
    assert (result, sums) == (15.0, [0.0, 1.0, 3.0, 6.0, 10.0, 15.0])
    assert computed == 1 + 2 * 6


@pytest.mark.parametrize("name", SMALL)
def test_module_imports_only_the_run_time(name: str) -> None:
    tree = ast.parse(SMALL[name].stages.source)
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    ours = {module for module in imported if module.startswith("polytune")}
    assert imported - ours <= {"math", "numpy", "numba"}
    allowed = ("polytune.runtime.", "polytune.tuner", "polytune.errors", "polytune.signature")
    assert all(module.startswith(allowed) for module in ours)


def test_tables_tell_how_to_call() -> None:
    module = load(SMALL["may_write"].stages.source)
    assert module.NAME == "may_write"
    assert module.ARGUMENTS == ("A", "B", "limit")
    assert module.ARRAYS == ("A", "B") and set(module.WRITTEN) == {"A", "B"}
    assert module.SCALARS == ("limit",)
    assert [version.name for version in module.VERSIONS][-1] == "source"
    assert not module.VERSIONS[-1].team and all(version.team for version in module.VERSIONS[:-1])


def test_only_written_arrays_are_said_to_be_written() -> None:
    assert load(SMALL["product_of_sums"].stages.source).WRITTEN == ("C",)


def test_space_has_a_tile_size_per_tiled_loop() -> None:
    module = load(SMALL["product_of_sums"].stages.source)
    space = module.space()
    for version in module.VERSIONS:
        configuration = space.configuration(version=version.name)
        tiles = [configuration[name] for name in configuration if name.startswith("tile_")]
        assert tuple(tiles) == version.tiles
        assert ("threads" in configuration) == version.team


# Checks of arguments


def shifted(A, B):
    n = A.shape[0]
    for i in range(n):
        A[i] = B[i + 2]


def inner(A, B):
    n = A.shape[0]
    for i in range(1, n):
        A[i] = B[i - 3] if i > 4 else B[i - 1]


def wrapping(A, k):
    for i in range(A.shape[0]):
        A[i] = A[i - k] + 1.0


def square_access(A, m):
    for i in range(m):
        for j in range(i + 1):
            A[i, j] = 0.0


ACCEPTED = [
    (shifted, (matrix(4), matrix(6))),
    (shifted, (matrix(0), matrix(0))),
    (inner, (matrix(7), matrix(6))),
    (wrapping, (matrix(5), 0)),
    (wrapping, (matrix(0), 3)),
    (square_access, (matrix(4, 3), 3)),
    (square_access, (matrix(0, 0), -1)),
]
REFUSED = [
    (shifted, (matrix(4), matrix(5)), r"'B': .*B\[i \+ 2\] goes past the end of axis 0, for shape \(5,\)"),
    (shifted, (matrix(1), matrix(0)), r"'B': .*goes past the end of axis 0, for shape \(0,\)"),
    (inner, (matrix(7), matrix(3)), r"'B': .*goes past the end of axis 0"),
    (wrapping, (matrix(5), 1), r"'A': .*A\[i - k\] goes below 0 in axis 0; negative subscripts do not wrap round"),
    (wrapping, (matrix(5), -1), r"'A': .*A\[i - k\] goes past the end of axis 0"),
    (square_access, (matrix(4, 3), 4), r"'A': .*A\[i, j\] goes past the end of axis 1, for shape \(4, 3\)"),
    (square_access, (matrix(3, 4), 4), r"'A': .*A\[i, j\] goes past the end of axis 0, for shape \(3, 4\)"),
]


def title(value: Any) -> str | None:
    return value.__name__ if callable(value) else ""


@pytest.mark.parametrize(("function", "arguments"), ACCEPTED, ids=title)
def test_fitting_arguments_pass(function: Any, arguments: tuple[Any, ...]) -> None:
    kernel = GeneratedKernel(load(stages_of(function, *arguments).source))
    assert kernel.prepare(arguments).values == arguments


@pytest.mark.parametrize(("function", "arguments", "message"), REFUSED, ids=title)
def test_subscripts_outside_an_array_are_refused(function: Any, arguments: tuple[Any, ...], message: str) -> None:
    kernel = GeneratedKernel(load(stages_of(function, *arguments).source))
    before = arguments[0].copy()
    with pytest.raises(ArgumentError, match=message) as refused:
        kernel.prepare(arguments)
    assert f"{Path(__file__).name}:" in str(refused.value)
    np.testing.assert_array_equal(arguments[0], before)


# Names


def colliding(range_, view, take, c0, l0, u0, tile_0, task, _base):
    """Every argument is called as something that generated code needs for itself."""
    np = 0.0
    for i in range(len(view)):
        math = take[i] * tile_0
        for context in range(len(c0)):
            view[i] += math * c0[context] + l0[i] - u0[i]
        task[i] = _base[i] + range_[i]
        np = np + task[i]
    return np


def test_names_of_the_kernel_win_over_ours() -> None:
    vectors = {name: matrix(5) + k for k, name in enumerate(("range_", "view", "take", "c0", "l0", "u0"))}
    given = {**vectors, "tile_0": 1.5, "task": matrix(5), "_base": matrix(5) * 2}
    stages = stages_of(colliding, *given.values())
    expected = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}
    wanted = colliding(**expected)
    kernel = GeneratedKernel(load(stages.source))
    for version in kernel.module.VERSIONS:
        actual = {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}
        configuration = kernel.space.configuration(version=version.name)
        assert kernel.run(configuration, kernel.prepare(tuple(actual.values()))).result == wanted
        for name in ("view", "task"):
            np.testing.assert_array_equal(actual[name], expected[name])
