"""Named tuples that kernels make and return, and variables that hold one tuple after the other."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from polytune.cli.unexecuted import functions_of
from polytune.errors import UnsupportedSourceError
from tests.test_results import compared, kernel_of, vector


class Point(NamedTuple):
    x: float
    y: float = 0.0


Box = namedtuple("Box", "low high")

ORIGIN = Point(1.0, 2.0)


def between(p, q):
    return Point(q.x - p.x, q.y - p.y)


def cross(u, v):
    return u.x * v.y - u.y * v.x


def point_at(row):
    return Point(row[0], row[1])


def area(p, q):
    edge = between(p, q)
    return cross(edge, Point(1.0)) + cross(ORIGIN, edge)


def corners(A):
    p = Point(A[0], A[1])
    q = Point(y=A[2], x=A[1])
    A[:] += cross(between(p, q), Point(1.0))
    return p, Box(low=q, high=A), ORIGIN


def areas(A):
    total = 0.0
    for i in range(A.shape[0] // 2 - 1):
        total += area(point_at(A[2 * i : 2 * i + 2]), point_at(A[2 * i + 2 : 2 * i + 4]))
    return total


def on_conditions(A):
    p = Point(A[0], A[1])
    if p.x > p.y:
        return Point(p.y, p.x)
    return p


def alike(found: Any, wanted: Any) -> None:
    assert type(found).__name__ == type(wanted).__name__ or not isinstance(wanted, tuple)
    if isinstance(wanted, tuple):
        assert getattr(found, "_fields", ()) == getattr(wanted, "_fields", ())
        for one, other in zip(found, wanted, strict=True):
            alike(one, other)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [corners, areas, on_conditions])
def test_named_tuples_are_made_and_returned(function: Any, strict: bool) -> None:
    for n in (3, 4, 9):
        found = compared(function, vector(n), strict=strict)
        alike(found, function(vector(n)))
    assert isinstance(kernel_of(corners, strict)(vector(4))[0], Point)


def exchanged(limits, A):
    A[0] = limits.low
    return limits


def test_a_named_tuple_that_is_an_argument_has_its_fields_in_a_result() -> None:
    found = compared(exchanged, Box(1.0, 2.0), vector(3))
    assert (found.low, found.high) == (1.0, 2.0)


def pair(x):
    return x, 2 * x


def pair_of_magnitude(x):
    if x > 2.0:
        return pair(x)
    return pair(-x)


def sum_of_pair(x):
    if x > 4.0:
        t = pair(x)
        x = t[0]
    else:
        t = pair_of_magnitude(x)
    u = pair(x)
    return t[0] + t[1] - u[1]


def tuples_of_functions(A):
    for i in range(len(A)):
        A[i] = sum_of_pair(A[i])
    return pair_of_magnitude(A[0])


def greatest(A):
    best = (0.0, 1)
    for i in range(A.shape[0]):
        if A[i] > best[0]:
            best = (A[i], i)
    return best, len(best), best[-1]


def halved(A):
    for i in range(A.shape[0]):
        t = (A[i], i)
        u = t
        while u[0] > 0.5:
            u = (u[0] * 0.5, u[1] + 1)
            t = u[1], u[0]
        A[i] = u[0] + u[1] + sum(t)


def lowered(A, p):
    q = p
    for i in range(len(A)):
        if q.x > A[i]:
            q = Point(A[i], q.y + 1)
        elif q.x == 0:
            return q
    return q


def lower_of(p, q):
    if p.x > q.x:
        return True, q
    return False, p


def points_again(A):
    q = lowered(A, Point(A[0], 1.0))
    found, p = False, Point(0.0, 0.0)
    for i in range(len(A)):
        found, p = lower_of(q, Point(p.x + A[i], p.y))
    return q, lowered(A, p), found


def in_one_line_after_the_other(A):
    t = (A[0], A[1])
    x, y = t
    t = (y, x)
    t = (t[1] + t[0], t[0])
    a, b = t
    for v in t:
        A[0] += v
    return a, b, x in t


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [tuples_of_functions, greatest, halved, points_again, in_one_line_after_the_other])
def test_variables_that_hold_several_tuples(function: Any, strict: bool) -> None:
    for n in (2, 5, 12):
        alike(compared(function, vector(n), strict=strict), function(vector(n)))
    compared(greatest, vector(0), strict=strict)


def of_different_kinds(A):
    t = A[0], A[1]
    A[2] = t[0]
    if A[0] > 1:
        t = Point(A[0], A[1])
    return t[0]


def of_different_lengths(A):
    t = A[0], A[1]
    if A[0] > 1:
        t = A[0], A[1], A[2]
    return t[0]


@pytest.mark.parametrize("function", [of_different_kinds, of_different_lengths])
def test_a_variable_holds_tuples_of_one_kind(function: Any) -> None:
    with pytest.raises(UnsupportedSourceError, match="tuples of different kinds"):
        kernel_of(function, False)(vector(3))


def test_classes_of_a_file_that_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "shapes.py"
    file.write_text(
        "from collections import namedtuple\n"
        "from typing import NamedTuple\n"
        "raise RuntimeError\n"
        "Box = namedtuple('Box', ('low', 'high'))\n"
        "class Point(NamedTuple):\n"
        "    x: Unknown\n"
        "    y: float = 2.0\n"
        "def f(A):\n"
        "    for i in range(len(A)):\n"
        "        A[i] = Point(A[i]).y + Box(1.0, 2.0).low\n"
    )
    (function,) = functions_of(file).functions
    point, box = (function.__globals__[name] for name in ("Point", "Box"))
    assert (point(1.0), box(1, 2)) == ((1.0, 2.0), (1, 2))
    assert (point._fields, box._fields) == (("x", "y"), ("low", "high"))
