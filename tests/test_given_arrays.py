"""Arrays that functions make of what they are given, under the name of that in a loop: ``u = step(u)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from tests.test_control import in_every_version


def step(u):
    out = np.zeros_like(u)
    out[1:-1] = 0.5 * (u[2:] + u[:-2])
    return out


def by_another(u, scale=1.0):
    out = np.zeros_like(u) * scale
    for i in range(1, len(u)):
        out[i] = step(u)[i] + u[i - 1]
    return out


def changing(u):
    u[0] = 7.0
    return u * 2


def part(u):
    turned = u[::-1]
    return turned


def through(u):
    return part(u)


def sometimes(u, k):
    if k > 1:
        return u
    return u + 1.0


def rows_changed(u):
    for row in u[None]:
        row[0] += 1.0
    return u + 1.0


def steps(u, n):
    for _ in range(n):
        u = step(u)
    return u


def steps_of_another_name(v, n):
    u = v
    for _ in range(n):
        u = step(u) + 1.0
    return u


def by_way_of_another(v, n):
    u = np.ones(len(v))
    for _ in range(n):
        following = by_another(u)
        u = following
    return u + v


def changes_the_callers(u, n):
    for _ in range(n):
        u = changing(u)
    return u


def part_of_what_is_given(u, n):
    first = u
    for _ in range(n):
        u = through(u)
        u[1] += first[0]
    return u


def at_times_what_is_given(u, n):
    for k in range(n):
        u = sometimes(u, k)
        u[1] += 1
    return u


def changes_in_a_loop(u, n):
    for _ in range(n):
        u = rows_changed(u)
    return u


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kernel", [steps, steps_of_another_name, by_way_of_another])
def test_what_a_function_makes_takes_the_place_of_what_it_is_given(kernel: Callable[..., Any], strict: bool) -> None:
    for size in (3, 8):
        for n in (0, 1, 3):
            in_every_version(kernel, np.arange(size) ** 2.0, n, strict=strict)


@pytest.mark.parametrize(
    "kernel", [changes_the_callers, part_of_what_is_given, at_times_what_is_given, changes_in_a_loop]
)
def test_where_a_copy_could_be_told_from_the_array_it_is_refused(kernel: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedSourceError, match="another one after an iteration"):
        polytune.kernel(kernel)(np.arange(5.0), 3)
