"""Copies of lists that grow, and names that pass from one list to another, in compiled kernels."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.errors import UnsupportedSourceError
from tests.frontend.values import vector
from tests.test_growing_lists import assert_same


def copies(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    out.reverse()
    same = list(out)
    turned = out[::-1]
    turned.extend(same)
    if len(out) > 0:
        same.append(2 * out[0])
        out[0] = 3 * out[0]
    return out, same, turned, turned[::-1], list(reversed(same))


def copies_in_loops(x):
    out = [v for v in x if v > -0.5]
    least = 9
    for _ in range(len(out)):
        shorter = out.copy()
        shorter.pop()
        least = min(least, len(shorter))
        out = shorter[:]
    return out, least


def levels(x):
    seen = np.zeros(len(x))
    front = [0]
    level = 0
    while len(front) > 0:
        new = []
        level += 1
        for i in front:
            if i < len(x) and seen[i] == 0:
                seen[i] = level
                new.append(2 * i + 1)
                new.append(2 * i + 2)
        front = new
    return seen, level


def levels_exchanged(x):
    front, new = [0], []
    count = 0
    while front:
        for i in front:
            count += 1
            for j in (2 * i + 1, 2 * i + 2):
                if j < len(x):
                    new.append(j)
        front, new = new, []
    return count


def levels_of_pairs(x):
    level = [(0, 1.0)]
    s = 0.0
    while len(level) > 0:
        new = []
        for i, w in level:
            if i < len(x):
                s += x[i] * w
                new.append((2 * i + 1, 0.5 * w))
                new.append((2 * i + 2, 0.25 * w))
        level = new
    return s, level[::-1]


def triangle(x):
    row = [1]
    for _ in range(len(x)):
        following = [1]
        for k in range(1, len(row)):
            following.append(row[k - 1] + row[k])
        following.append(1)
        row = following
    return row


def made_before_it_is_used_again(x):
    new = []
    old = [x[0]]
    for v in x:
        new.append(v)
        new.append(old[-1] + 1)
        old = new
        new = []
    new.append(x[0])
    return old, new


def path(x):
    place, steps = len(x) - 1, []
    while place > 0:
        steps.append(place)
        place = place // 2
    return steps[::-1], len(steps)


def arrays_of_lists(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    out = np.array(out)
    turned = out[::-1]
    own = out.copy()
    own *= 2
    return turned, own, out


def reversed_under_conditions(x):
    out = [v for v in x if v < 0.5]
    if len(out) > 2:
        out.reverse()
    return out


def lists_of_arrays(x):
    elements = list(x)
    elements.extend(x)
    places = list(range(len(x)))
    while len(places) > 2:
        places.pop()
    chosen = list(x[x > 0])
    element = 0.5
    if len(x) > 1:
        chosen = list(element * x)
    return elements, places, chosen, element


def lists_of_tuples(x):
    numbered = list(enumerate(x))
    pairs = list(zip(x, x[::-1], strict=True))
    doubled = list(2 * v for v in x if v > 0)  # noqa: C400
    total = 0.0
    while len(numbered) > 1:
        i, v = numbered.pop()
        total += i * v
    for v, w in pairs:
        total += v * w
    backwards = list(reversed(x))
    return total, doubled, backwards


KERNELS = [
    lists_of_arrays,
    lists_of_tuples,
    copies,
    copies_in_loops,
    levels,
    levels_exchanged,
    levels_of_pairs,
    triangle,
    made_before_it_is_used_again,
    path,
    arrays_of_lists,
    reversed_under_conditions,
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", KERNELS)
def test_copies_are_those_of_python(function, strict: bool) -> None:
    kernel = polytune.kernel(function, strict=strict)
    for size in (9, 1, 2, 23, 0):
        if size == 0 and function in (arrays_of_lists, levels_of_pairs, made_before_it_is_used_again):
            continue  # an empty list has no type in Python
        x = vector(size)
        assert_same(kernel(x.copy()), function(x.copy()))
    x = np.linspace(0.5, 9.0, 12)
    assert_same(kernel(x.copy()), function(x.copy()))


def of_three_kinds(x):
    out = [1, 2.0]
    for v in x:
        out.append(v)
    return np.array(out)


def test_elements_of_three_kinds_have_one_type() -> None:
    for x in (vector(4), vector(3).astype(np.complex128)):
        assert_same(polytune.kernel(of_three_kinds)(x), of_three_kinds(x))
    with pytest.raises(UnsupportedSourceError, match="a list of float32 and float64 and int64"):
        polytune.kernel(of_three_kinds)(vector(4).astype(np.float32))


# ---- names of one list


def two_names(x):
    out, other = [], [1.0]
    for v in x:
        out.append(v)
        other = out
    other.append(3.0)
    return out


def left_in_between(x):
    new = []
    old = [1.0]
    for v in x:
        new.append(v)
        old = new
        if v > 0:
            break
        new = []
    new.append(2.0)
    return old


def used_in_the_next_iteration(x):
    new, old = [], [1.0]
    for v in x:
        new.append(v)
        old = new
    return old


@pytest.mark.parametrize("function", [two_names, left_in_between, used_in_the_next_iteration])
def test_where_a_copy_could_be_told_from_the_list_it_is_refused(function) -> None:
    with pytest.raises(UnsupportedSourceError, match="list"):
        polytune.kernel(function)(vector(5))
