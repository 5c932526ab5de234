"""isl's work is bounded, and what it was doing when it was stopped is not used."""

from __future__ import annotations

import time

import islpy as isl
import pytest

from polytune.errors import UnsupportedSourceError
from polytune.frontend import budget
from polytune.frontend.bounds import access_bounds
from polytune.frontend.budget import ProcessorTime, within_budget
from tests.frontend.helpers import analysed


def squares(context: isl.Context) -> isl.Set:
    found = isl.Set.read_from_str(context, "{ [0, 0] }")
    for k in range(200):
        found = found.union(isl.Set.read_from_str(context, f"{{ [i, {k}] : 0 <= i <= {k} }}"))
    return found


def test_enough_gives_the_result_and_leaves_no_bound() -> None:
    context = isl.Context()
    found = within_budget(context, 10_000_000, lambda: squares(context))
    assert found is not None and found.is_equal(squares(context))
    assert context.get_max_operations() == 0


@pytest.mark.parametrize("operations", [1, 50, 1000])
def test_too_little_gives_nothing_and_leaves_no_bound(operations: int) -> None:
    context = isl.Context()
    assert within_budget(context, operations, lambda: squares(context)) is None
    assert squares(context).count_val().to_python() == 201 * 100


def test_result_is_not_used_if_the_failure_was_not_passed_on() -> None:
    context = isl.Context()

    def work() -> str:
        try:
            squares(context)
        except isl.Error:
            return "half of it"
        return "all of it"

    assert within_budget(context, 50, work) is None
    assert within_budget(context, 10_000_000, work) == "all of it"


def test_errors_of_isl_are_no_result_and_other_failures_are_raised() -> None:
    context = isl.Context()
    with pytest.raises(ZeroDivisionError):
        within_budget(context, 1000, lambda: 1 // 0)
    assert within_budget(context, 1000, lambda: isl.Set.read_from_str(context, "{ [i")) is None
    assert context.get_max_operations() == 0
    assert within_budget(context, 10_000_000, lambda: squares(context)) is not None


def test_budget_within_a_budget_is_its_own() -> None:
    context = isl.Context()

    def work() -> isl.Set:
        assert within_budget(context, 50, lambda: squares(context)) is None
        assert context.get_max_operations() == 10_000_000
        return squares(context)

    assert within_budget(context, 10_000_000, work) is not None
    assert within_budget(context, 50, lambda: within_budget(context, 10_000_000, lambda: squares(context))) is not None
    assert context.get_max_operations() == 0


def use(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_phases_share_processor_time() -> None:
    context, clock = isl.Context(), ProcessorTime(0.05)

    def attempt(**how: bool) -> int | None:
        return within_budget(context, 10_000_000, lambda: 1, **how)

    with clock.running():
        assert attempt() == 1
        use(0.03)
        with clock.running(share=0.5):
            assert attempt() is None and attempt(needed=True) == 1
        assert attempt() == 1
    # Time that passes outside is nobody's.
    use(0.03)
    with clock.running():
        assert attempt() == 1
        use(0.03)
        assert attempt() is None and attempt(needed=True) == 1
    assert attempt() == 1


def many_divisions(n, A, B):
    for i in range(0, n, 3):
        for j in range(i % 5, n, 5):
            for k in range((i + j) % 7, n, 7):
                A[(i + j + k) % 13, ((i + 2 * j) % 17 + 3 * k % 19) % 23] += B[((7 * i + 5 * j) % 29 + k % 31) % 37]


def fewer_divisions(n, A, B):
    for i in range(0, n, 3):
        for j in range(n):
            for k in range(n):
                A[(i + j) % 13, k] += B[7 * i + 5 * j + k]


def test_access_that_cannot_be_checked_is_refused() -> None:
    with pytest.raises(UnsupportedSourceError, match="cannot be checked before the kernel runs") as refused:
        access_bounds(analysed(many_divisions))
    assert access_bounds(analysed(fewer_divisions))
    assert "fewer divisions" in refused.value.remedy and refused.value.location.text.lstrip().startswith("A[")


def folded(n, A, m):
    for i in range(abs(n - m) + 2):
        A[n - i, n - i] = A[i + 1, i] - A[abs(i - m // 2) + 1, (i + i) % 3 + 1]


def test_conditions_that_cannot_be_simplified_are_used_as_they_are() -> None:
    conditions = access_bounds(analysed(folded))
    assert {(each.dimension, each.side) for each in conditions} == {
        (k, end) for k in (0, 1) for end in ("lower", "upper")
    }


def test_what_may_be_left_out_gets_no_more_operations_than_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    context, clock = isl.Context(), ProcessorTime(1.0)
    with clock.running():
        assert within_budget(context, 10_000_000, lambda: squares(context)) is not None
        monkeypatch.setattr(budget, "OPERATIONS_A_SECOND", 1)
        monkeypatch.setattr(budget, "_LEAST", 50)
        assert within_budget(context, 10_000_000, lambda: squares(context)) is None
        assert within_budget(context, 10_000_000, lambda: squares(context), needed=True) is not None
