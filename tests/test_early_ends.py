"""Loops around other loops that end before their last iteration: every version ends them where Python does."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from polytune.frontend.expression import Branch
from polytune.runtime.modules.generated import local_arrays
from tests.every_version import check_versions, stages_of


def converging(A, B, out, tol, limit):
    change = 0.0
    for step in range(limit):
        change = 0.0
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) // 4
                change = max(change, abs(B[i, j] - A[i, j]))
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j]
        out[0] = step
        if change <= tol:
            break
    out[1] = change


def ending_in_the_middle(A, B, out, tol, limit):
    for step in range(limit):
        total = 0.0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                total += A[i, j]
        if total > 40 * tol:
            break
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += 1.0
                B[i, j] -= A[i, j]
        out[0] = step + 1


def counting_down(A, B, out, tol, limit):
    for step in range(limit, 2, -3):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = A[i, j] + step
        out[0] = step
        if A[1, 1] > 5 * tol:
            break
    out[1] = step


def returning(A, B, out, tol, limit):
    for step in range(limit):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += 2.0
        if A[2, 1] > 4 * tol:
            out[1] = step
            return
        out[0] += 1.0
    for i in range(B.shape[0]):
        B[i, 0] = -1.0


def twice(A, B, out, tol, limit):
    for step in range(2, limit):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += step
        if A[1, 2] > 3 * tol:
            break
    for again in range(limit):  # noqa: B007
        worst = 0.0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] += A[i, j]
                worst = max(worst, B[i, j])
        if worst > 9 * tol:
            break
    out[0] = step
    out[1] = again


def set_by_any_row(A, B, out, tol, limit):
    for step in range(limit):
        is_done = 0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += j
            if A[i, 3] > 6 * tol:
                is_done = 1
        if is_done == 1:
            out[0] = step
            break


def rows_of(A, B, out, tol, limit):
    for row, other in zip(A, B):  # noqa: B905
        for j in range(A.shape[1]):
            other[j] = row[j] * 2
        out[0] += 1
        if row[0] > tol:
            break


def whiles(A, B, out, tol, limit):
    worst, steps = tol + 1, 0
    while worst > tol and steps < limit:
        worst = 0.0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = A[i, j] // 2
                worst = max(worst, A[i, j] - B[i, j])
        A[:] = B
        steps += 1
    out[0] = worst
    out[1] = steps


def never_begun(A, B, out, tol, limit):
    while out[0] > tol:
        A += B
        out[0] -= 1.0
    out[1] = np.sum(A)


def with_all_jumps(A, B, out, tol, limit):
    n = 0
    while True:
        n += 1
        A += 1.0
        if n % 2 == 0:
            continue
        B += A
        if B[0, 0] > 8 * tol or n >= limit:
            break
        out[0] = n
    out[1] = n


def asked_and_left(A, B, out, tol, limit):
    k = 0
    while np.min(A) < 6 * tol:
        A += B + 1
        k += 1
        if k == limit:
            break
        B -= 1
    out[0] = k


def nested(A, B, out, tol, limit):
    for outer in range(3):
        for step in range(limit):  # noqa: B007
            for i in range(A.shape[0]):
                for j in range(A.shape[1]):
                    A[i, j] += outer + 1
            out[0] += 1
            if A[0, 0] > 4 * tol * (outer + 1):
                break


def under_conditions(A, B, out, tol, limit):
    if B[0, 0] < 100.0:
        for step in range(limit):
            for i in range(A.shape[0]):
                for j in range(A.shape[1]):
                    A[i, j] += 3.0
            if A[4, 4] > 3 * tol:
                break
            out[0] = step
    else:
        out[0] = -1.0


def with_arrays(A, B, out, tol, limit):
    for step in range(limit):  # noqa: B007
        new = A + B
        error = np.max(np.abs(new - 2 * A))
        A[:] = new
        if error < tol:
            break
        B //= 2
    out[0] = step
    out[1] = error


def of_its_own_numbers(A, B, out, tol, limit):
    for step in range(limit):
        for i in range(A.shape[0]):
            B[i, step] = A[i, step] + 1
        if A[0, step] > tol:
            break
    out[0] = step


def passed_over(A, B, out, tol, limit):
    for step in range(limit):
        for i in range(A.shape[0]):
            A[i, i] += 1.0
        if step < 2:
            continue
        for i in range(A.shape[0]):
            B[i, 0] += A[i, i]
        if B[2, 0] > tol:
            out[0] = step
            break
    else:
        out[1] = 1.0


def swept(A, tol, limit):
    for step in range(limit):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += 1.0
        if A[1, 1] > tol:
            return step
    return -1


def calling(A, B, out, tol, limit):
    out[0] = swept(A, 2 * tol, limit)
    out[1] = swept(B, 5 * tol, limit)
    for i in range(A.shape[0]):
        A[i, 0] += B[i, 1]


def at_the_start(A, B, out, tol, limit):
    total = np.sum(A)
    for step in range(2, limit):
        if total > 60 * tol:
            break
        total = 0.0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += B[i, j] * step
                total += A[i, j]
        B[step % 7] += total
    out[0] = step
    out[1] = total


def in_the_middle_counting_down(A, B, out, tol, limit):
    for step in range(limit, -2, -3):
        row = A[2] + step
        worst = 0.0
        for i in range(A.shape[0]):
            worst = max(worst, A[i, 0] + row[i])
        if worst > 4 * tol:
            out[0] = worst
            break
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += row[j] + worst
        B[0] = row
    out[1] = step


def asked_now_and_then(A, B, out, tol, limit):
    for step in range(limit):
        A += 1.0
        if step % 3 == 2:
            B[0, 0] = np.sum(A)
            if B[0, 0] > 70 * tol:
                out[0] = step
                break
        for i in range(A.shape[0]):
            for j in range(1, A.shape[1]):
                A[i, j] += A[i, j - 1] + step
        if step % 3 == 1:
            for i in range(A.shape[0]):
                for j in range(A.shape[1]):
                    B[i, j] -= A[i, j]
    out[1] = step


def with_one_variable(A, B, out, tol, limit):
    for step in range(2):
        B[step] += A[0]
    for step in range(limit, -2, -3):
        if A[0, 0] > 4 * tol:
            break
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += step
    for step in range(limit):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] += A[i, j]
        out[0] = step
        if B[1, 1] > 9 * tol:
            break
    for step in range(limit - 1):
        A[step % 7] += B[0]
    out[1] = step


def never_left(A, B, out, tol, limit):
    last = 0
    for step in range(limit, -2, -3):
        if A[0, 0] > 4 * tol:
            continue
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += step
        if last > 2:
            return
    out[0] = last


def with_two_ends(A, B, out, tol, limit):
    for step in range(limit):  # noqa: B007
        if A[0, 0] > 3 * tol:
            break
        A += B
        if A[1, 1] > 5 * tol:
            out[0] = 1.0
            break
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = B[i, j] // 2 + A[i, j] * 0.5
    out[1] = step


def returning_from_inside(A, B, out, tol, limit):
    for step in range(limit):
        for i in range(A.shape[0]):
            if A[i, 0] > 3 * tol:
                out[0] = step
                return
            A[i, 0] += 2.0
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += B[i, j]
        out[1] += 1.0
    B[:] = A


def going_on_before_and_after(A, B, out, tol, limit):
    for step in range(limit):
        if B[0, 0] > 10 * tol and step > 4:
            continue
        B[0, 0] += 3.0
        if A[0, 0] > 4 * tol:
            break
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] += 1.0
    out[0] = step


def by_the_last_of_what_it_changes(A, B, out, tol, limit):
    while True:
        direction = A.T @ B[:, 0]
        error = np.max(np.abs(direction))
        if error < tol or out[0] >= limit:
            break
        B[:, 0] -= (A @ direction) // 16384
        out[0] += 1
    out[1] = error


KERNELS = [
    at_the_start,
    in_the_middle_counting_down,
    asked_now_and_then,
    with_one_variable,
    never_left,
    with_two_ends,
    returning_from_inside,
    going_on_before_and_after,
    by_the_last_of_what_it_changes,
    converging,
    ending_in_the_middle,
    counting_down,
    returning,
    twice,
    set_by_any_row,
    rows_of,
    nested,
    under_conditions,
    with_arrays,
    of_its_own_numbers,
    passed_over,
    calling,
    whiles,
    never_begun,
    with_all_jumps,
    asked_and_left,
]
FOR_ALL = [each for each in KERNELS if each not in (nested, never_left)]
"""Those with loops that may end early and have no loops around."""


def arguments(seed: int, tol: float, limit: int) -> list:
    random = np.random.default_rng(seed)
    A, B = (random.integers(0, 30, (7, 9)).astype(float) for _ in range(2))
    return [A, B, np.zeros(2), tol, limit]


@pytest.mark.parametrize("strict", [False, True], ids=["fast", "strict"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda each: each.__name__)
def test_every_version_ends_where_python_does(function, strict):
    stages = stages_of(function, arguments(0, 4.0, 9), strict=strict)
    for seed, (tol, limit) in enumerate([(0.0, 9), (4.0, 9), (12.0, 8), (1e9, 6), (12.0, 3)]):
        check_versions(function, stages, arguments(seed, tol, limit), tiles=((3,),))


@pytest.mark.parametrize("function", KERNELS, ids=lambda each: each.__name__)
def test_compiled_code_ends_where_python_does(function):
    kernel = polytune.kernel(function)
    for seed, (tol, limit) in enumerate([(4.0, 9), (12.0, 8), (0.0, 9), (1e9, 6)]):
        expected, got = arguments(seed, tol, limit), arguments(seed, tol, limit)
        function(*expected)
        kernel(*got)
        for wanted, found in zip(expected[:3], got[:3], strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("function", FOR_ALL, ids=lambda each: each.__name__)
def test_iterations_ask_for_no_flag(function):
    """Nothing that a loop does stands under a condition, which would keep it from being scheduled as any other."""
    stages = stages_of(function, arguments(0, 4.0, 9))
    assert stages.scop.early_ends
    flags = {end.flag for end in stages.scop.early_ends}
    read = {
        access.array for statement in stages.scop.statements for access in statement.accesses if not access.is_write
    }
    assert not flags & read


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (at_the_start, "total += A[i, j]"),
        (in_the_middle_counting_down, "A[i, j] += row[j] + worst"),
        (asked_now_and_then, "A[i, j] += A[i, j - 1] + step"),
        (ending_in_the_middle, "A[i, j] += 1.0"),
        (with_two_ends, "B[i, j] = B[i, j] // 2 + A[i, j] * 0.5"),
        (returning_from_inside, "A[i, j] += B[i, j]"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_follows_an_end_asks_for_nothing(function, text):
    """What comes up to the end is part of the iteration before; so what follows is an accumulation like any other."""
    statements = stages_of(function, arguments(0, 4.0, 9)).scop.statements
    (following,) = [each for each in statements if each.text == text]
    assert not any(isinstance(operation, Branch) for operation in following.operations)
    assert (following.reduction is not None) == ("+=" in text)


def test_loops_that_end_in_the_middle_may_have_any_number_of_iterations():
    kernel = polytune.kernel(ending_in_the_middle)
    for limit in (1, 0, -1, (1 << 63) - 1):
        expected, got = arguments(0, 6.0, limit), arguments(0, 6.0, limit)
        ending_in_the_middle(*expected)
        kernel(*got)
        for wanted, found in zip(expected[:3], got[:3], strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_loops_end_at_once():
    """A loop that ends in its first iteration takes no time for all the others."""
    A, B, out, tol, _ = arguments(0, 1e9, 0)
    kernel = polytune.kernel(converging)
    for limit in (1 << 20, 1 << 62):
        kernel(A, B, out, tol, limit)
        assert out[0] == 0


def test_a_loop_says_what_may_end_it():
    kernel = polytune.kernel(whiles)
    kernel(*arguments(0, 4.0, 9))
    lines = [line.partition(": ")[2] for line in kernel.explain().splitlines()]
    place = next(number for number, line in enumerate(lines) if line.strip() == "while: not parallel")
    assert any("may end the loop" in line for line in kernel.explain().splitlines()[place : place + 20])
    assert "ended" not in kernel.explain().partition("versions:")[0]


def never_made(A, n):
    while n > 0:
        made = A + 1.0
        n = n - 1.0
    return made


def test_arrays_of_loops_that_may_not_begin_are_refused():
    with pytest.raises(polytune.errors.UnsupportedSourceError, match="made"):
        polytune.kernel(never_made)(np.ones((3, 4)), 2.0)


def never_fitting(A, tol):
    while tol > 0:
        A[1:-1] = A[:-2] + A[2:] + A[3:]
        tol -= 1.0


def test_shapes_that_do_not_fit_are_told():
    """For no sizes that fit has the loop more than some of its statements."""
    with pytest.raises(polytune.errors.ArgumentError, match="do not fit"):
        polytune.kernel(never_fitting)(np.ones((6, 6)), 2.0)


def under_a_condition_on_data(A, B, out, tol, limit):
    """There is no iteration where the condition does not hold."""
    k = 0
    if B[0, 0] > 15.0:
        while k < 5 and A[0, k] < 25.0:
            for i in range(1, A.shape[0]):
                for j in range(A.shape[1]):
                    A[i, j] += B[i, k]
            k += 1
    out[0] = k


def test_a_while_under_a_condition_that_does_not_hold_ends():
    kernel = polytune.kernel(under_a_condition_on_data)
    stages = stages_of(under_a_condition_on_data, arguments(0, 4.0, 9))
    for first in (2.0, 20.0):
        wanted, found = arguments(1, 4.0, 9), arguments(1, 4.0, 9)
        for given in (wanted, found):
            given[1][0, 0] = first
        check_versions(under_a_condition_on_data, stages, wanted, tiles=((3,),))
        under_a_condition_on_data(*wanted)
        kernel(*found)
        for before, after in zip(wanted[:3], found[:3], strict=True):
            np.testing.assert_allclose(after, before)


def test_memory_stays_as_long_as_a_helper_may_read_it(monkeypatch):
    """One that is left behind asks whether the loop has ended, by a flag in it."""
    values = arguments(0, 4.0, 9)
    kernel = polytune.kernel(converging)
    functions = kernel.generated(*values).functions
    run, contexts, given = functions.run, [], []

    def leaving(function, team, context, workers):
        run(function, team, context, workers)
        context.is_left = True
        contexts.append(context)

    monkeypatch.setattr(functions, "run", leaving)
    monkeypatch.setattr(local_arrays, "give_back", lambda arrays: given.extend(arrays))
    kernel.run({"version": "source"}, *values)
    (context,) = contexts
    assert any(isinstance(each, np.ndarray) for each in context.owner[1])
    assert not given
