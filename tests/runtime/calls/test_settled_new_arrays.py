"""Calls of arrays that are new each time: they go the short way where they are like those before, and only then."""

from __future__ import annotations

import itertools
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError, SubscriptError
from polytune.history import HistoryStore
from tests.runtime.calls.settled_calls import check, settle


def combined(x, y, z, factor, offset):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = factor * x[i, j] - y[i, j] + offset


def doubled(x, index):
    found = np.zeros(len(index))
    for i in range(len(index)):
        found[i] = 2.0 * x[index[i]]
    return found


COMBINED = polytune.Kernel(combined, background=False)
DOUBLED = polytune.Kernel(doubled, background=False)


def arrays(seed: int = 0, dtype: Any = np.float64) -> list[np.ndarray]:
    return [np.random.default_rng(seed + k).random((4, 6)).astype(dtype) for k in range(3)]


@pytest.fixture
def untuned():
    """Calls that run the first choice; nothing that was kept before counts."""
    COMBINED._unsettle()
    DOUBLED._unsettle()
    with polytune.tuning("off"):
        yield


def shortened(made: list[bool]) -> None:
    for seed in range(3):
        check(COMBINED, *arrays(seed), 2.0, 1)
    assert made[-1], "the third call of such arrays goes the short way"


def test_calls_of_new_arrays_are_right_and_short(untuned, made):
    shortened(made)
    kept: list[Any] = []
    for seed in range(20):
        given = arrays(seed)
        check(COMBINED, *given, float(seed), seed)
        assert made[-1], "floats and integers that are values alone may change"
        kept += map(weakref.ref, given)
        del given
    assert not any(reference() is not None for reference in kept), "no array is kept alive"


def test_integers_that_do_not_fit_are_refused(untuned, made):
    shortened(made)
    with pytest.raises(ArgumentError, match="64 bits"):
        COMBINED(*arrays(), 2.0, 2**63)
    check(COMBINED, *arrays(), 2.0, -(2**63))
    assert made[-2:] == [False, True]


def test_parts_of_larger_arrays_go_the_short_way(untuned, made):
    blocks = np.random.default_rng(0).random((3, 10, 4, 6))
    results = np.zeros((10, 4, 6))
    for k in range(10):
        COMBINED(blocks[0, k], blocks[1, k], results[k], 2.0, 1)
    np.testing.assert_allclose(results, 2.0 * blocks[0] - blocks[1] + 1)
    wide = np.random.default_rng(0).random((4, 6, 30))
    for k in range(0, 30, 3):  # one beside the other: the bytes between are the others'
        x, y = wide[:, :, k].copy(), wide[:, :, k + 1].copy()
        COMBINED(wide[:, :, k], wide[:, :, k + 1], wide[:, :, k + 2], 2.0, 1)
        np.testing.assert_allclose(wide[:, :, k + 2], 2.0 * x - y + 1)
    backwards = wide[::-1, ::-1, 4]
    for _ in range(3):
        check(COMBINED, *arrays()[:2], backwards, 2.0, 1)
    assert made == [False, False, *[True] * 8] * 2 + [False, False, True]


def test_new_arrays_that_overlap_are_refused(untuned, made):
    shortened(made)
    memory = np.random.default_rng(0).random(72)
    for shift, is_apart in ((24, True), (23, False), (1, False), (0, False)):
        first, second = memory[:24].reshape(4, 6), memory[shift : shift + 24].reshape(4, 6)
        third = memory[48:].reshape(4, 6)
        COMBINED(first, second, third, 2.0, 1)  # what is only read may be anywhere
        assert made[-1]
        before = memory.copy()
        for x, y, z in ((third, first, second), (second, third, first)):
            if is_apart:
                check(COMBINED, x, y, z, 2.0, 1)
                assert made[-1]
                memory[:] = before
                continue
            with pytest.raises(ArgumentError, match="overlap"):
                COMBINED(x, y, z, 2.0, 1)
            assert not made[-1]
            np.testing.assert_array_equal(memory, before)


class Own(np.ndarray):
    pass


def displaced(array: np.ndarray) -> np.ndarray:
    """A copy of which no element begins where a word does."""
    memory = np.zeros(array.nbytes + 8, np.uint8)
    start = (1 - memory.ctypes.data) % 8
    found = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


OTHERS = {
    "displaced": displaced,
    "in Fortran's order": np.asfortranarray,
    "with gaps": lambda each: np.repeat(each, 2, axis=1)[:, ::2],
    "of more rows": lambda each: np.concatenate([each, each]),
    "of floats of 32 bits": lambda each: each.astype(np.float32),
    "empty": lambda each: each[:0],
}


@pytest.mark.parametrize("other", OTHERS)
def test_arrays_that_are_otherwise_are_of_another_kind(untuned, made, other):
    shortened(made)
    for seed in range(4):
        check(COMBINED, *map(OTHERS[other], arrays(seed)), 2.0, 1)
        check(COMBINED, *arrays(seed), 2.0, 1)
    assert made[-8:] == [False, True] * 2 + [True] * 4


REFUSED = {
    "read-only": lambda each: each.flags.__setattr__("writeable", False) or each,
    "a subclass": lambda each: each.view(Own),
    "another order of bytes": lambda each: each.astype(">f8"),
    "too small": lambda each: each[:3],
    "in one place": lambda each: np.lib.stride_tricks.as_strided(each, strides=(0, 0)),
    "a list": lambda each: each.tolist(),
    "none": lambda each: None,
}


@pytest.mark.parametrize("other", REFUSED)
def test_what_is_refused_is_refused_after_short_calls(untuned, made, other):
    shortened(made)
    for seed in range(3):
        x, y, z = arrays(seed)
        before = z.copy()
        with pytest.raises((ArgumentError, polytune.PolytuneError)):
            COMBINED(x, y, REFUSED[other](z), 2.0, 1)
        np.testing.assert_array_equal(z, before)
        assert not made[-1]
    check(COMBINED, *arrays(), 2.0, 1)
    assert made[-1]


def test_arrays_that_are_only_read_may_be_read_only(untuned, made):
    shortened(made)
    for seed in range(4):
        x, y, z = arrays(seed)
        x.flags.writeable = False
        check(COMBINED, x, y, z, 2.0, 1)
    assert made[-4:] == [False, False, True, True]


def test_kernels_use_each_other_s_results(untuned, made):
    x = np.arange(1.0, 5.0)
    index = np.array([3, 2, 1, 0])
    found = x
    for call in range(8):
        found = DOUBLED(found, index.copy())
        np.testing.assert_array_equal(found, (x[::-1] if call % 2 == 0 else x) * 2.0 ** (call + 1))
    assert made == [False, False, *[True] * 6]
    for wrong in (4, -5):
        with pytest.raises(SubscriptError):
            DOUBLED(found.copy(), np.array([0, 1, wrong, 2]))
    np.testing.assert_array_equal(DOUBLED(x.copy(), np.array([0, 1, -1, 2])), [2.0, 4.0, 8.0, 6.0])


def test_threads_make_calls_of_their_own_arrays_at_once(untuned, made):
    wrong: list[Any] = []

    def work(number: int) -> None:
        with polytune.tuning("off"):
            for call in range(200):
                x = np.full(50 + call % 2, float(number))
                found = DOUBLED(x, np.arange(len(x)))
                if not (found == 2.0 * x).all():
                    wrong.append((number, call))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert made.count(True) > len(made) // 2


def test_calls_within_calls_have_memory_of_their_own(untuned, made):
    """As where a signal, or the end of an object, comes in the middle of a call."""
    index = np.arange(5)
    for number in range(4):
        DOUBLED(np.full(5, float(number)), index)
    call = DOUBLED._settled["off"]._last
    assert call is not None
    (run,) = call._free
    begin, inner = type(run).begin, []

    class Interrupted(type(run)):  # type: ignore[misc]
        __slots__ = ()

        def begin(self) -> None:
            begin(self)
            if not inner:
                inner.append(None)
                inner[0] = DOUBLED(np.full(5, -1.0), index)

    run.__class__ = Interrupted
    np.testing.assert_array_equal(DOUBLED(np.full(5, 7.0), index), 14.0)
    np.testing.assert_array_equal(inner[0], -2.0)
    assert made[-2:] == [False, True] and len(call._free) == 2, "there are two to be had now"


def test_many_kinds_of_calls_are_told_apart(untuned, made):
    sizes = range(1, 100)
    for _, size in itertools.product(range(3), sizes):
        x = np.random.default_rng(size).random(size)
        np.testing.assert_array_equal(DOUBLED(x, np.arange(size)), 2.0 * x)
    assert any(made)
    made.clear()
    for _ in range(4):
        for size in (3, 5, 8):
            x = np.random.default_rng(size).random(size)
            np.testing.assert_array_equal(DOUBLED(x, np.arange(size)), 2.0 * x)
    assert made[-3:] == [True] * 3


def test_tuners_learn_from_calls_of_new_arrays(tmp_path, made):
    kernel = polytune.Kernel(combined, background=False)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    settle(kernel, *arrays(), 2.0, 1)
    tuner = kernel.tuner(*arrays(), 2.0, 1)
    calls = tuner.statistics().calls
    for seed in range(10):
        check(kernel, *arrays(seed), 2.0, 1)
    assert made[-7:] == [True] * 7
    assert tuner.statistics().calls == calls + 10
    tuner._reopen()
    check(kernel, *arrays(), 2.0, 1)
    assert not made[-1], "what may be tried is asked"


def test_the_time_between_calls_is_not_theirs(tmp_path, made, monkeypatch):
    now = [0.0]

    def passed() -> float:
        now[0] += 1e-6
        return now[0]

    for module in ("calls.calls", "modules.generated", "calls.settled"):
        monkeypatch.setattr(f"polytune.runtime.{module}.time", SimpleNamespace(perf_counter=passed))
    kernel = polytune.Kernel(combined, background=False)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    settle(kernel, *arrays(), 2.0, 1)
    tuner = kernel.tuner(*arrays(), 2.0, 1)
    before = tuner.statistics()
    for seed in range(8):
        now[0] += 3600.0
        check(kernel, *arrays(seed), 2.0, 1)
    told = tuner.statistics()
    assert made[-1] and told.calls == before.calls + 8
    assert told.total_seconds - before.total_seconds < 1e-4 and told.lost_seconds - before.lost_seconds < 1e-4
    assert tuner.converged
