"""Sums and displays of a constant number of elements, which are written out, so that arrays can be summed."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polytune.frontend.syntax.comprehensions import written_out
from tests.test_control import in_every_version


def neighbours(alive, steps):
    for _ in range(steps):
        near = sum(
            np.roll(np.roll(alive, i, 0), j, 1).astype(np.int64)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        alive = (near == 3) | (alive & (near == 2))
    return alive


def with_start(alive, steps):
    A = alive.astype(np.float64)
    return sum([A * k for k in range(4) if k % 2 == 1 and k != 3], A), sum((A[i] for i in (0, 2)), start=A[1])


def of_elements(alive, steps):
    A = alive.astype(np.float64)
    out = np.zeros_like(A)
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            out[i, j] = sum(A[i + di, j + dj] for di in range(-1, 2) for dj in range(-1, 2) if abs(di) + abs(dj) == 1)
    return out


def displayed(alive, steps):
    A = alive.astype(np.float64)
    first = [A[i, j] + steps for i in (0, 1) for j in range(i + 1)]
    return tuple(A[i, 0] for i in range(3) if i != 1), first[2] - first[0]


FUNCTIONS = [neighbours, with_start, of_elements, displayed]


@pytest.mark.parametrize("function", FUNCTIONS, ids=[each.__name__ for each in FUNCTIONS])
def test_they_are_what_python_makes(function: Callable[..., Any]) -> None:
    in_every_version(function, np.random.default_rng(2).random((7, 6)) > 0.6, 2, strict=True)


def meaning(node: ast.expr) -> Any:
    return getattr(builtins, node.id, None) if isinstance(node, ast.Name) else None


@pytest.mark.parametrize(
    "text",
    [
        "sum(f(x) for x in range(17))",
        "sum(f(x) for x in (1, 2) if x < n)",
        "sum(f(x) for x in (1, 2) if x % 0)",
        "sum(f(x) for x in (1, 2) if (x,) * 1000000000)",
        "sum(f(x) for x in (1, 2) if 'a' * x)",
        "sum(f(x) for x in A)",
        "sum((y := x) for x in (1, 2))",
        "sum((f(x) for x in (1, 2)), 1, 2)",
        "[f(x) for x, y in ((1, 2), 3)]",
        "max(f(x) for x in (1, 2))",
    ],
)
def test_other_comprehensions_are_not_written_out(text: str) -> None:
    assert written_out(ast.parse(text, mode="eval").body, meaning) is None


def test_a_sum_has_its_terms_in_order() -> None:
    made = written_out(
        ast.parse("sum(f(i, j) for i in (3, 4) for j in range(i - 2) if j != 1)", mode="eval").body, meaning
    )
    assert made is not None and ast.unparse(made) == "0 + f(3, 0) + f(4, 0)"
