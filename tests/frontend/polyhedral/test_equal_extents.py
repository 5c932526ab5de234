"""Extents that calls are checked for are one parameter wherever statements are executed, and calls mean the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.frontend import analyse
from polytune.runtime.calls.arguments import signature_of


def fields(e: Any, h: Any, steps: Any) -> None:
    for _ in range(steps):
        h[:, :-1] -= 0.5 * (e[:, 1:] - e[:, :-1])
        e[1:-1, 1:-1] += h[1:-1, 1:-1] - h[1:-1, :-2]


def apart(e: Any, h: Any, steps: Any) -> None:
    """Rows that only a branch needs to be as many."""
    for i in range(h.shape[0]):
        h[i, 0] += 1.0
    for _ in range(steps):
        e[:, 0] += h[:, 0]


def counted(e: Any, h: Any, steps: Any) -> None:
    """Extents as numbers, whether or not there are steps."""
    rows, columns = h.shape
    for _ in range(steps):
        h[:, :-1] -= 0.5 * (e[:, 1:] - e[:, :-1])
    h[0, 0] = columns + 10.0 * rows


def parameters_of(function: Callable[..., None]) -> dict[str, set[str]]:
    """The parameters that the instances of each statement depend on."""
    arrays = (np.zeros((5, 6)), np.zeros((5, 6)), 2)
    scop = analyse(function, signature_of(("e", "h", "steps"), arrays))
    kind = isl.dim_type.param
    return {
        statement.name: {
            statement.domain.get_dim_name(kind, position)
            for position in range(statement.domain.dim(kind))
            if statement.domain.involves_dims(kind, position, 1)
        }
        for statement in scop.statements
    }


def test_extents_that_are_checked_are_one_parameter() -> None:
    assert set().union(*parameters_of(fields).values()) == {"e_0", "e_1", "steps"}


def test_extents_that_are_not_checked_in_every_call_stay_apart() -> None:
    """The first loop runs whether or not there are steps, and so whatever the extent of the other array is."""
    first, *_ = parameters_of(apart).values()
    assert first == {"h_0"}


@pytest.mark.parametrize("function", [fields, apart, counted])
def test_calls_mean_what_they_mean_to_numpy(function: Callable[..., None]) -> None:
    """Arrays without rows or columns, and others that do not fit, with steps and without."""
    kernel, generator = polytune.kernel()(function), np.random.default_rng(0)
    outcomes = set()
    for rows, columns, others, lines, steps in product((0, 2, 4, 5), (4, 5), (0, 2, 4, 5), (4, 5), (0, 2)):
        wanted = generator.random((rows, columns)), generator.random((others, lines))
        got = wanted[0].copy(), wanted[1].copy()
        try:
            function(*wanted, steps)
        except (ValueError, IndexError):
            outcomes.add("refused")
            with pytest.raises(ArgumentError):
                kernel(*got, steps)
            continue
        outcomes.add("run")
        kernel(*got, steps)
        for one, other in zip(wanted, got, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert outcomes == {"refused", "run"}
