"""Neighbouring sweeps that workers share out with private sums, in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.schedule.regions import RegionKind
from polytune.signature import ArrayType, Signature
from tests.test_control import in_every_version

VECTOR = ArrayType("float64", 1, "C")


def line(x, y):
    n = len(x)
    mx, my = x.sum() / n, y.sum() / n
    sxx = ((x - mx) * (x - mx)).sum()
    sxy = ((x - mx) * (y - my)).sum()
    return sxy / sxx, my


def moments(x, y):
    return x.sum(), (x * x).sum(), (x * x * y).sum(), y.max()


def means_between(x, y):
    first = np.mean(x)
    second = np.mean(y)
    third = np.mean((x - y) * first)
    return first, second, third


def of_loops(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    s = s * 2.0
    least = 100.0
    for i in range(len(x)):
        least = min(least, y[i])
    count = 0
    for i in range(len(x)):
        if y[i] > 1.0:
            count += 1
    return s, least, count


def of_other_lengths(x, y):
    return x.sum(), y[1:].sum(), x[: len(x) // 2].sum()


def stored_between(x, y):
    s = x.sum()
    y[0] = s
    return s, y.sum()


def read_through_an_index(x, y):
    k = np.abs(y).astype(np.int64) % len(x)
    return x.sum(), x[k].sum()


def scattered_between(x, y):
    k = np.abs(y).astype(np.int64) % 4
    counts = np.zeros(4)
    for i in range(len(k)):
        counts[k[i]] += 1.0
    return x.sum(), counts[0] - counts[3], y.sum()


def many(x, y):
    a, b, c, d, e = x.sum(), y.sum(), (x * y).sum(), (x * x).sum(), (y * y).sum()
    f, g, h = (x - y).sum(), (x + 2.0 * y).sum(), (3.0 * x + y).sum()
    p, q = ((x - y) * x).sum(), ((x - y) * y).sum()
    return a, b, c, d, e, f, g, h, p, q


def columns_and_rows(x, y):
    a = x[:, None] * y[None, :] + 1.0
    m = a.mean(axis=0)
    s = (a * a).sum(axis=0)
    return m[0], m[-1], s[0], s[-1]


def extrema(x, y):
    return x.max(), np.min(y), np.abs(x).max(), (x * y).sum()


def extrema_of_rows(x, y):
    a = x[:, None] * y[None, :]
    return a.max(axis=1).sum(), a.min(axis=0).sum(), np.max(a), np.min(a - x[:, None])


KERNELS = [
    extrema,
    extrema_of_rows,
    line,
    moments,
    means_between,
    of_loops,
    of_other_lengths,
    stored_between,
    read_through_an_index,
    scattered_between,
    many,
    columns_and_rows,
]


def arguments(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, of which sums are exact."""
    random = np.random.default_rng(n)
    return random.integers(1, 6, n).astype(float), random.integers(-3, 5, n).astype(float)


def shared_regions(function: Callable[..., Any], version: str = "summed") -> int:
    """How many regions of a version workers share out."""
    stages = polytune.kernel(function).stages(Signature((("x", VECTOR), ("y", VECTOR))))
    program = next(each for each in stages.programs if each.name == version)
    return sum(region.kind is RegionKind.PARALLEL for region in program.regions)


@pytest.mark.parametrize("function", KERNELS, ids=lambda function: function.__name__)
def test_every_version_computes_what_python_does(function: Callable[..., Any]) -> None:
    for n in (1, 2, 8, 64):  # divided by, which is exact
        in_every_version(function, *arguments(n))


@pytest.mark.parametrize(
    ("function", "regions"),
    [(line, 2), (extrema, 1), (moments, 1), (means_between, 2), (of_loops, 1), (of_other_lengths, 3), (many, 2)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_neighbouring_sums_are_one_region(function: Callable[..., Any], regions: int) -> None:
    assert shared_regions(function) == regions


def test_sums_stay_apart_from_what_is_no_sum() -> None:
    assert shared_regions(stored_between) == 2


def test_no_number_is_left_out_of_fused_sums() -> None:
    x, y = arguments(64)
    x[3], y[5] = np.nan, np.inf  # both are read by all but two sums
    with np.errstate(all="ignore"):
        for function in (many, extrema):
            in_every_version(function, x, y)
            in_every_version(function, y, x)
    assert polytune.kernel(of_loops)(np.empty(0), np.empty(0)) == (0.0, 100.0, 0)
