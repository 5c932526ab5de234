"""isl's work is bounded, and what it was doing when it was stopped is not used."""

from __future__ import annotations

import copy
import ctypes
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import islpy as isl
import pytest

from polytune.errors import UnsupportedSourceError
from polytune.frontend.polyhedral import bounds, budget, interruption
from polytune.frontend.polyhedral.bounds import access_bounds
from polytune.frontend.polyhedral.budget import ProcessorTime, is_time_left, within_budget
from polytune.frontend.polyhedral.interruption import interrupted_after
from polytune.pipeline import Stages
from polytune.signature import ArrayType, ScalarType, Signature
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


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets processor time pass, in seconds; none passes otherwise."""
    now = 0.0

    def passing(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(budget, "time", SimpleNamespace(thread_time=lambda: now))
    return passing


def test_phases_share_processor_time(use: Callable[[float], None]) -> None:
    context, clock = isl.Context(), ProcessorTime(50.0)

    def attempt(**how: bool) -> int | None:
        return within_budget(context, 10_000_000, lambda: 1, **how)

    with clock.running():
        assert attempt() == 1
        use(30.0)
        with clock.running(share=0.5):
            assert attempt() is None and attempt(needed=True) == 1
        assert attempt() == 1
    # Time that passes outside is nobody's.
    use(30.0)
    with clock.running():
        assert attempt() == 1
        use(30.0)
        assert attempt() is None and attempt(needed=True) == 1
    assert attempt() == 1


def test_shortage_of_processor_time_is_noted_and_that_of_operations_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    context, clock = isl.Context(), ProcessorTime(1e6)
    with clock.running():
        assert within_budget(context, 50, lambda: squares(context)) is None
        assert within_budget(context, 1000, lambda: isl.Set.read_from_str(context, "{ [i")) is None
        assert within_budget(context, 10_000_000, lambda: squares(context)) is not None
        assert is_time_left() and not clock.was_short
    used_up = ProcessorTime(1.0, used=1.5)
    with used_up.running():
        assert within_budget(context, 50, lambda: 1) is None
    assert used_up.was_short
    asked = ProcessorTime(1.0, used=1.5)
    with asked.running():
        assert not is_time_left()
    assert asked.was_short
    monkeypatch.setattr(budget, "OPERATIONS_A_SECOND", 1)
    cut = ProcessorTime(10.0)
    with cut.running():
        assert within_budget(context, 10_000_000, lambda: 1) == 1 and not cut.was_short
        assert within_budget(context, 10_000_000, lambda: squares(context) and squares(context)) is None
    assert cut.was_short


def test_time_of_another_count_is_counted_once(use: Callable[[float], None]) -> None:
    clock, other = ProcessorTime(1.0), ProcessorTime(1.0)
    with other.running():
        use(0.03)
    clock.use(other.used)
    assert clock.used == other.used >= 0.03
    with clock.running():
        before = clock.used
        clock.use(0.5)
        assert clock.used < before + 0.4


def test_half_of_the_time_is_told_once(use: Callable[[float], None]) -> None:
    context, told = isl.Context(), list[int]()
    clock = ProcessorTime(100.0, used=40.0, on_half=lambda: told.append(1))
    with clock.running():
        assert within_budget(context, 1000, lambda: 1) == 1 and not told
        use(15.0)
        for _ in range(3):
            assert within_budget(context, 1000, lambda: 1) == 1
    assert told == [1]


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


def test_access_that_cannot_be_checked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert access_bounds(analysed(fewer_divisions))
    # The whole budget is some ten seconds of such divisions.
    monkeypatch.setattr(bounds, "ARRAY_BUDGET", bounds.ARRAY_BUDGET // 20)
    with pytest.raises(UnsupportedSourceError, match="cannot be checked before the kernel runs") as refused:
        access_bounds(analysed(many_divisions))
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


def work_until_it_fails(context: isl.Context, seconds: float) -> bool:
    """Whether isl fails before so much processor time has been used."""
    end = time.thread_time() + seconds
    try:
        while time.thread_time() < end:
            squares(context)
    except isl.Error:
        return True
    return False


only_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its timers are Linux's")


@only_linux
def test_isl_is_interrupted_when_its_time_is_used_up_and_works_again_afterwards() -> None:
    context = isl.Context()
    context.set_max_operations(10**12)
    for _ in range(3):
        with interrupted_after(context, 0.02):
            assert work_until_it_fails(context, 20)
        assert squares(context).count_val().to_python() == 201 * 100
        assert context.get_max_operations() == 10**12


class LateTimer:
    """A system's timer that expires just before it is stopped, and whose call takes its time."""

    def __init__(self, abort: Callable[[], None]):
        self.call = threading.Timer(0.05, abort)

    def timer_gettime(self, timer: object, left: Any) -> None:
        left._obj.value.nanoseconds = 1000

    def timer_settime(self, timer: object, flags: int, setting: Any, before: Any) -> None:
        if before is not None:
            before._obj.value.nanoseconds = 0
        self.call.start()

    def timer_delete(self, timer: object) -> None:
        pass


def stop_late_timer(context: isl.Context, abort: Callable[[], None]) -> None:
    """Stop a timer that has just expired, and wait until all has been called that will be."""
    timers = interruption._timers()
    assert timers is not None
    late = copy.copy(timers)
    late._system = LateTimer(abort)
    late.stop(ctypes.c_void_p(), context)
    late._system.call.join()


@only_linux
def test_call_of_a_timer_that_expires_while_it_is_stopped_is_waited_for() -> None:
    context = isl.Context()
    stop_late_timer(context, context.abort)
    assert not context.aborted() and context not in interruption._awaiting_abortion


@only_linux
def test_context_stays_while_a_call_may_still_write_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interruption, "_PATIENCE", 0.01)
    monkeypatch.setattr(interruption, "_awaiting_abortion", [])
    context = isl.Context()
    stop_late_timer(context, lambda: None)
    assert interruption._awaiting_abortion == [context]


@only_linux
def test_context_behind_another_object_of_it_is_interrupted() -> None:
    first = isl.Context()
    context = isl.Set.read_from_str(first, "{ [i] : 0 <= i < 9 }").get_ctx()
    with interrupted_after(context, 0.02):
        assert work_until_it_fails(first, 20)
    assert not work_until_it_fails(first, 0.1)


def isl_library() -> ctypes.CDLL:
    """islpy's, which is loaded."""
    with open("/proc/self/maps") as mapped:
        files = {line.split(maxsplit=5)[-1].strip() for line in mapped if "isl" in line and ".so" in line}
    libraries = map(ctypes.CDLL, sorted(files))
    return next(library for library in libraries if hasattr(library, "isl_ctx_get_max_operations"))


@only_linux
def test_context_whose_objects_lie_near_one_another_is_interrupted() -> None:
    """The memory of a thread other than the first one is near that of Python's objects."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(test_address_of_a_context_is_the_context_s_wherever_its_objects_lie).result()


@only_linux
def test_address_of_a_context_is_the_context_s_wherever_its_objects_lie() -> None:
    """What holds a context's address may lie just before the context, where the memory is a patchwork."""
    timers = interruption._timers()
    assert timers is not None
    get = isl_library().isl_ctx_get_max_operations
    get.argtypes, get.restype = (ctypes.c_void_p,), ctypes.c_ulong
    choice, kept = random.Random(7), []
    for number in range(6000):
        if choice.random() < 0.3:
            kept.append(isl.Set.read_from_str(isl.Context(), "{ [i, j] : 0 <= i <= j < 10 }"))
        if kept and choice.random() < 0.5:
            kept.pop(choice.randrange(len(kept)))
        first = isl.Context()
        if number % 2:
            kept.append(first)
        context = isl.Set.read_from_str(first, "{ [i] : 0 <= i < 9 }").get_ctx()
        address = timers.address(context)
        first.set_max_operations(number + 1)
        assert address is not None and get(address) == number + 1


@only_linux
def test_time_that_was_used_up_in_a_block_within_counts_for_the_outer_one() -> None:
    context = isl.Context()
    with interrupted_after(context, 0.02):
        with interrupted_after(context, 10.0):
            assert work_until_it_fails(context, 20)
        assert work_until_it_fails(context, 20)
    assert not work_until_it_fails(context, 0.1)


def test_isl_is_not_interrupted_before_its_time() -> None:
    context = isl.Context()
    with interrupted_after(context, 1000.0), interrupted_after(isl.Context(), 0.01):
        assert not work_until_it_fails(context, 0.2)
    with interrupted_after(context, float("inf")):
        assert not work_until_it_fails(context, 0.2)


def remainders(A, m, n):
    for i in range(m):
        if i != n - 1:
            A[max(i, 4) + 1, i + 2] = A[i + 3, i + 3] - A[i, i + 5]
    for i in range(m):
        for j in range(min(i + 2, n)):
            A[i // 3 + 1, min(j, 2) + 2] *= -1
            for k in range(max(0, i - 1), min(m, i + 2)):
                A[m - j - k + 1, k // 3 + 2] = k // 3
                A[j + 1, k] = A[i + 1, j + 6]
        if (2 * i - i) % 4 == 2:
            A[min(i, 3) + 1, abs(i - 5) + 2] = A[i + 2, i + 4]
        elif not i >= 1:
            A[3 * (i // 3) + 1, min(i + 1, m - 1) + 2] = abs(A[i + 3, 3 * i + 2])


@only_linux
@pytest.mark.slow
def test_single_operation_of_isl_ends_with_the_time_of_the_kernel() -> None:
    """isl's scheduler eliminates the divisions of these dependences by Fourier and Motzkin's method, which makes a
    thousand rows of large integers: minutes, in one operation of isl, and few of those that it counts."""
    types = (("A", ArrayType("int64", 2)), ("m", ScalarType("int64")), ("n", ScalarType("int64")))
    stages = Stages(remainders, Signature(types), time=ProcessorTime(1.5))
    begun = time.thread_time()
    assert stages.candidates[0].name == "source" and stages.given_up
    assert time.thread_time() - begun < 20
