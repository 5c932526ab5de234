"""Calls that go the short way: they are right, and refused, exactly as others are."""

from __future__ import annotations

import threading
from typing import Any

import numba
import numpy as np
import pytest

import polytune
from polytune.errors import ArgumentError
from polytune.history import HistoryStore
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.teams.threads import current_threads
from polytune.tuner import choosing
from tests.runtime.calls.settled_calls import check, settle


def added(x, y, z, factor, steps):
    for _ in range(steps):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                z[i, j] = z[i, j] + factor * x[i, j] + y[i, j]


def arrays(dtype: Any = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.random((5, 7)).astype(dtype) for _ in range(3)]


@pytest.fixture
def kernel(tmp_path) -> polytune.Kernel:
    found = polytune.Kernel(added, background=False)
    found._store = HistoryStore(tmp_path / "history.sqlite")
    return found


def shortened(kernel: polytune.Kernel, made: list[bool], *arguments: Any) -> None:
    """Make calls with these arguments until they go the short way."""
    settle(kernel, *arguments)
    for _ in range(3):
        check(kernel, *arguments)
    assert made[-1], "the third call of the same arrays goes the short way"


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_calls_of_the_same_arrays_are_right(kernel, made, dtype, layout):
    given = arrays(dtype)
    if layout == "F":
        given = [np.asfortranarray(each) for each in given]
    elif layout == "strided":
        given = [np.repeat(each, 2, axis=1)[:, ::2] for each in given]
    factor = 2 if dtype == np.int64 else 2.0
    shortened(kernel, made, *given, factor, 2)
    tuner = kernel.tuner(*given, factor, 2)
    calls = tuner.statistics().calls
    for array in given:
        array += 1  # other elements
    check(kernel, *given, factor, 2)
    assert made[-1] and tuner.statistics().calls == calls + 1


def test_floats_may_change_and_integers_go_the_long_way(kernel, made):
    given = arrays()
    shortened(kernel, made, *given, 2.0, 2)
    for factor in (3.0, -0.0, 1e300, 5e-324):
        check(kernel, *given, factor, 2)
        assert made[-1]
    kernel(*given, float("nan"), 2)
    assert made[-1] and np.isnan(given[2]).all()
    given[2][...] = 1.0
    for steps in (3, 0, -1, True):
        check(kernel, *given, 2.0, steps)
        assert not made[-1]
    for factor in (2, np.float64(2), np.float32(0.1)):  # of other types
        check(kernel, *given, factor, 2)
        assert not made[-1]
    check(kernel, *given, 2.0, 2)
    assert made[-1]


def test_arrays_in_turns_each_have_a_call_of_their_own(kernel, made):
    x, y, z = arrays()
    shortened(kernel, made, x, y, z, 2.0, 1)
    for _ in range(3):
        for first, second in ((x, y), (y, x)):
            check(kernel, first, second, z, 2.0, 1)
    assert made[-2:] == [True, True]


def test_keywords_and_defaults_are_right(kernel, made):
    x, y, z = arrays()
    shortened(kernel, made, x, y, z, 2.0, 1)
    for call in (
        lambda: kernel(x, y, z, steps=1, factor=3.0),
        lambda: kernel(x, z=z, y=y, steps=1, factor=3.0),
    ):
        wanted = z + 3.0 * x + y
        call()
        np.testing.assert_allclose(z, wanted)
        assert made[-1]
    count = len(made)
    for arguments, keywords in (
        ((x, y, z), {}),
        ((x, y, z, 2.0, 1, 1), {}),
        ((x, y, z, 2.0), {"steps": 1, "stride": 2}),
        ((x, y, z, 2.0, 1), {"factor": 2.0}),
    ):
        with pytest.raises(ArgumentError):
            kernel(*arguments, **keywords)
    assert len(made) == count, "what does not fit is no call that was made before"


def stretched(x, out=None, mode="double", *, by=1.0):
    if out is None:
        out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] * by if mode == "double" else -x[i]
        if mode == "double":
            out[i] *= 2.0
    return out


def test_defaults_and_constants_go_the_short_way(tmp_path, made):
    kernel = polytune.Kernel(stretched, background=False)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    x, out = np.arange(5.0), np.empty(5)
    ways: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x,), {}),
        ((x,), {"by": 3.0}),
        ((x,), {"mode": "negate"}),
        ((x, out), {}),
        ((x, None, "dou" + "".join(["b", "le"])), {"by": -1.0}),
    ]
    with polytune.tuning("off"):
        for _ in range(4):
            for arguments, keywords in ways:
                found = kernel(*arguments, **keywords)
                np.testing.assert_allclose(found, stretched(*arguments, **keywords))
                assert (found is out) == (len(arguments) == 2)
    assert made[-5:] == [True] * 5
    x[:] = 7.0
    with polytune.tuning("off"):
        np.testing.assert_allclose(kernel(x), 14.0)


CHANGES = {
    "read-only": lambda z: z.flags.__setattr__("writeable", False),
    "another shape": lambda z: setattr(z, "shape", (7, 5)),
    "smaller": lambda z: z.resize((5, 6), refcheck=False),
    "every element in one place": lambda z: setattr(z, "strides", (0, 0)),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("change", CHANGES)
def test_arrays_that_have_changed_are_checked_anew(kernel, made, change):
    x, y, z = arrays()
    shortened(kernel, made, x, y, z, 2.0, 1)
    CHANGES[change](z)
    before = z.copy()
    with pytest.raises(ArgumentError):
        kernel(x, y, z, 2.0, 1)
    np.testing.assert_array_equal(z, before)
    assert not made[-1]


def test_other_elements_in_place_are_other_types(kernel, made):
    x, y, z = arrays()
    shortened(kernel, made, x, y, z, 2.0, 1)
    for each in (x, y, z):
        each.dtype = np.int64
        each[...] = 3
    kernel(x, y, z, 2, 1)
    assert not made[-1] and (z == 12).all()
    z.dtype = np.dtype(">i8")
    with pytest.raises(ArgumentError, match="order"):
        kernel(x, y, z, 2, 1)


def test_a_resized_array_has_its_elements_elsewhere(kernel, made):
    x, y, z = arrays()
    shortened(kernel, made, x, y, z, 2.0, 1)
    z.resize((5000, 7), refcheck=False)
    z.resize((5, 7), refcheck=False)
    check(kernel, x, y, z, 2.0, 1)


def test_arrays_that_are_gone_are_not_taken_for_new_ones(kernel, made):
    x, y, _ = arrays()
    for _ in range(200):
        z = np.ones((5, 7))
        if kernel.tuners:
            check(kernel, x, y, z, 2.0, 1)
        else:
            settle(kernel, x, y, z, 2.0, 1)
    for number in range(50):
        z = np.ones((6, 7))[:5]
        check(kernel, x, y, z, 2.0, 1)
        z = np.ones((5, 7)) if number % 2 else np.ones((5, 14))[:, ::2]
        check(kernel, x, y, z, 2.0, 1)


def test_arrays_that_overlap_are_refused(kernel, made):
    x, y, z = arrays()
    shortened(kernel, made, x, y, z, 2.0, 1)
    for _ in range(3):
        with pytest.raises(ArgumentError, match="overlap"):
            kernel(z, y, z, 2.0, 1)


def test_integers_that_sizes_follow_from_are_compared(tmp_path, made):
    def bounded(x, n, scale):
        for i in range(n // 2):
            x[i] = x[i] + scale

    kernel = polytune.Kernel(bounded, background=False)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    x = np.zeros(4)
    shortened(kernel, made, x, 8, 0.5)
    with pytest.raises(ArgumentError):
        kernel(x, 10, 0.5)
    assert not made[-1]


def test_another_number_of_threads_is_another_case(kernel, made):
    given = arrays()
    shortened(kernel, made, *given, 2.0, 1)
    before, used = numba.get_num_threads(), current_threads()
    try:
        numba.set_num_threads(1)
        check(kernel, *given, 2.0, 1)
        assert made[-1] == (used == 1)
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("mode", ["frozen", "off"])
def test_calls_that_are_not_tuned_go_the_short_way(kernel, made, mode):
    given = arrays()
    settle(kernel, *given, 2.0, 1)
    calls = kernel.tuner(*given, 2.0, 1).statistics().calls
    with polytune.tuning(mode):
        for factor in (2.0, 3.0, 4.0, 5.0):
            check(kernel, *given, factor, 1)
        assert made[-4:] == [False, False, True, True]
        with pytest.raises(polytune.ArgumentError):
            kernel(given[0], given[1], given[2][:3], 2.0, 1)
    assert kernel.tuner(*given, 2.0, 1).statistics().calls == calls, "nothing is learned"
    check(kernel, *given, 2.0, 1)
    assert not made[-1] and kernel.tuner(*given, 2.0, 1).statistics().calls == calls + 1


def test_frozen_kernels_run_the_best_that_is_known(kernel, made):
    given = arrays()
    settle(kernel, *given, 2.0, 1)
    kernel.freeze()
    for _ in range(3):
        check(kernel, *given, 2.0, 1)
    assert made[-1]
    tuner = kernel.tuner(*given, 2.0, 1)
    other = next(each for each in kernel.generated(*given, 2.0, 1).first_choices.starts if each != tuner.best[0])
    for _ in range(3):
        tuner._search.tell(other, 1e-9)
    assert tuner.best[0] == other
    check(kernel, *given, 2.0, 1)
    assert not made[-1], "another configuration has become the best"
    kernel.freeze(False)
    shortened(kernel, made, *given, 2.0, 1)


def test_a_tuner_that_starts_again_is_asked(kernel, made):
    given = arrays()
    shortened(kernel, made, *given, 2.0, 1)
    kernel.tuner(*given, 2.0, 1)._reopen()
    check(kernel, *given, 2.0, 1)
    assert not made[-1]


FACTOR = 2.0


def scaled(x, y):
    for i in range(x.shape[0]):
        y[i] = FACTOR * x[i]


def test_constants_that_change_are_seen(tmp_path, made, monkeypatch):
    kernel = polytune.Kernel(scaled, background=False)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    x, y = np.arange(5.0), np.zeros(5)
    shortened(kernel, made, x, y)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    check(kernel, x, y)
    assert y[1] == 3.0


def test_threads_make_the_same_call_at_once(tmp_path):
    kernel = polytune.Kernel(scaled, background=False)
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    pairs = [(np.full(50, float(number)), np.zeros(50)) for number in range(4)]
    for x, y in pairs:
        settle(kernel, x, y)
    failures: list[BaseException] = []

    def work(x: np.ndarray, y: np.ndarray) -> None:
        try:
            for _ in range(300):
                y[...] = -1
                kernel(x, y)
                assert (y == 2 * x).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_where_headers_are_unknown_every_call_goes_the_long_way(kernel, made, monkeypatch):
    monkeypatch.setattr("polytune.runtime.calls.settled.can_compare", lambda: False)
    given = arrays()
    settle(kernel, *given, 2.0, 1)
    for _ in range(4):
        check(kernel, *given, 2.0, 1)
    assert not any(made)


def test_the_short_way_is_the_short_one(kernel, made, monkeypatch):
    """Neither the checks nor the search for a case are made again."""
    given = arrays()
    shortened(kernel, made, *given, 2.0, 1)

    def fails(*_: Any) -> None:
        raise AssertionError("the long way")

    monkeypatch.setattr(GeneratedKernel, "prepare", fails)
    monkeypatch.setattr(GeneratedKernel, "run", fails)
    kernel(*given, 2.0, 1)
    assert made[-1]


def test_calls_go_the_short_way_while_nothing_may_be_tried(tmp_path, made, monkeypatch):
    monkeypatch.setattr(choosing, "_LONGEST_REST", 16)
    kernel = polytune.Kernel(added, background=False, budget="0.001 %")
    kernel._store = HistoryStore(tmp_path / "history.sqlite")
    given = arrays()
    for _ in range(60):
        check(kernel, *given, 2.0, 2)
    tuner = kernel.tuner(*given, 2.0, 2)
    assert tuner.settled is None and tuner.statistics().calls == 60
    assert made.count(True) >= 40 and made[-20:].count(False) in (1, 2), "it is asked now and then what may be tried"
