"""Loops that make arrays shorter each time: how they are run, and where names of one array keep them from being so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, UnsupportedSourceError
from polytune.explanation import explain
from tests.frontend.accepted_shorter import tree_of_prices, tree_with_early_exercise


@pytest.mark.parametrize("tree", [tree_of_prices, tree_with_early_exercise])
def test_no_array_is_made_in_the_loop(tree: Callable[..., Any]) -> None:
    kernel = polytune.kernel(tree)
    arguments = (20.0, 0.25, 6) if tree is tree_of_prices else (20.0, 6)
    assert kernel(*arguments) == tree(*arguments)
    text = explain(kernel)
    assert "NumPy" not in text
    assert "tiled" in kernel.space(*arguments)["version"].values


def under_two_names(x, steps):
    whole = x * 2.0
    part = whole
    for _ in range(steps):
        part = part[1:] - part[:-1]
        whole[0] += part[0]
    return whole, part


def changed_in_the_loop(x, steps):
    part = x
    for step in range(steps):
        part[step] += 1.0
        part = part[1:] + part[:-1]
    return part * 2.0


def changed_after_the_loop(x, steps):
    part = x
    for _ in range(steps):
        part = part[1:] + part[:-1]
    part[0] = 100.0
    return part * 2.0


def of_another_type(x, steps):
    k = np.arange(9)
    for _ in range(steps):
        k = (k[1:] + k[:-1]) / 2
    return k + x[0]


def by_different_numbers(x, steps):
    y = x * 2.0
    for step in range(steps):
        y = y[step + 1 :] + y[: -1 - step]
    return y


def shorter_on_one_side(x, steps):
    y = x * 2.0
    for step in range(steps):
        if step % 2 == 0:
            y = y[1:] + y[:-1]
    return y


def counts_itself(x, steps):
    y = x * 2.0
    for step in range(steps):
        y = y[1:] + y[:-1]
        step += 1
    return y


@pytest.mark.parametrize(
    "function",
    [
        under_two_names,
        changed_in_the_loop,
        changed_after_the_loop,
        of_another_type,
        by_different_numbers,
        shorter_on_one_side,
        counts_itself,
    ],
)
def test_other_loops_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedSourceError, match="after an iteration of the loop"):
        polytune.kernel(function)(np.ones(9), 3)


def test_what_is_out_of_range_in_a_shorter_array_is_an_error() -> None:
    def last_ones(x: np.ndarray, steps: int) -> float:
        y = x * 2.0
        total = 0.0
        for step in range(steps):
            total += y[step]
            y = y[1:] + y[:-1]
        return total

    kernel = polytune.kernel(last_ones)
    x = np.arange(6.0)
    assert kernel(x, 3) == last_ones(x, 3)
    with pytest.raises(IndexError):
        last_ones(x, 4)
    with pytest.raises(ArgumentError, match=r"goes past the end, which is max\(0, x\.shape\[0\] - step\)"):
        kernel(x, 4)
