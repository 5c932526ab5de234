"""Shards on workers with devices: shared with these as calls are, and as right."""

from __future__ import annotations

from itertools import count

import dask
import dask.array
import numpy as np
import pytest

import polytune
from polytune.errors import DeviceWarning
from polytune.shards import code
from polytune.shards.platforms import Platforms
from tests.device_stand_in.build import CannotBuildError
from tests.device_stand_in.load import load


def heat(steps, A, B):
    for _ in range(steps):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                B[i, j] = 0.5 * A[i, j] + 0.125 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = B[i, j]


def halos(A, B, C, out):
    for i in range(2, out.shape[0] - 1):
        for j in range(3, out.shape[1]):
            out[i, j] = A[i - 2, j] + A[i + 1, j - 3] * B[2 * i, j] - C[j]


def product(alpha, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def triangle(A, out):
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = A[j, i] + 2.0 * A[i, j]


def moments(A, x):
    total = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[j] += A[i, j]
            total += A[i, j] * A[i, j]
    return total


def smoothed(x, out):
    weights = np.zeros(3)
    for i in range(1, len(x) - 1):
        for k in range(3):
            weights[k] = x[i + k - 1] * (k + 1)
        out[i] = 0.0
        for k in range(3):
            out[i] += weights[k] * weights[2 - k]


def doubled(x, y):
    for i in range(len(x)):
        y[i] = 2.0 * x[i] + y[i]


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """The stand-in for a device, which every kernel may use, and a history that knows nothing of it."""
    try:
        loaded = load()
    except CannotBuildError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("POLYTUNE_HISTORY", str(tmp_path / "history.sqlite"))
    monkeypatch.setattr(code, "_runners", {})  # what other tests have run had other devices
    with loaded.offered(), dask.config.set(scheduler="synchronous"):
        yield loaded


RNG = np.random.default_rng(0)
CASES = {
    "time": (heat, (4, RNG.random((13, 17)), np.zeros((13, 17))), 6),
    "halos": (halos, (RNG.random((23, 17)), RNG.random((44, 17)), RNG.random(17), np.zeros((23, 17))), 4),
    "product": (product, (1.5, RNG.random((12, 11)), RNG.random((12, 9)), RNG.random((9, 11))), 4),
    "triangle": (triangle, (RNG.random((19, 19)), RNG.random((19, 19))), 5),
    "private": (smoothed, (RNG.random(50), np.zeros(50)), 7),
}


WAYS = (
    {"split": 0, "platform_0": "cuda:0"},
    {"split": 1, "ratio_0": 0.4, "platform_0": "cpu", "platform_1": "cuda:0"},
    {"split": 1, "ratio_0": 0.7, "platform_0": "cuda:0", "platform_1": "cuda:0"},
    {"split": 2, "ratio_0": 0.5, "ratio_1": 0.3, "platform_0": "cuda:0", "platform_3": "cuda:0"},
)
"""The configurations by which shards are shared, one after another; each with blocks of one shape."""


@pytest.fixture
def each_way(monkeypatch):
    """Shards are shared in all ways in turn, those for which there are members to split."""
    turn = count()

    def choice(self, tuner):
        ways = [way for way in WAYS if way["split"] <= self._partitioned.splits]
        return self._space.configuration(version="partitioned", **ways[next(turn) % len(ways)])

    monkeypatch.setattr(Platforms, "_choice", choice)


def given(arguments, chunk):
    return [dask.array.from_array(v, chunks=chunk) if isinstance(v, np.ndarray) else v for v in arguments]


def check(kernel, arguments, chunk, *, exact=True):
    """Hold a call against plain Python."""
    expected = [value.copy() if isinstance(value, np.ndarray) else value for value in arguments]
    result = kernel.__wrapped__(*expected)
    wanted = [now for then, now in zip(arguments, expected, strict=True) if not np.array_equal(then, now)]
    wanted += [] if result is None else [result]
    with dask.config.set({"polytune.steps-per-exchange": 2}):
        (found,) = dask.compute(kernel(*given(arguments, chunk)))
    arrays = found if isinstance(found, tuple) else (found,)
    assert len(arrays) == len(wanted)
    for array, value in zip(arrays, wanted, strict=True):
        assert np.array_equal(array, value) if exact else np.allclose(array, value, rtol=1e-12)


@pytest.mark.parametrize(
    "case", [pytest.param(each, marks=pytest.mark.slow) if each == "time" else each for each in CASES]
)
def test_devices_take_parts_of_shards(stand_in, each_way, case):
    function, arguments, chunk = CASES[case]
    check(polytune.Kernel(function, strict=True), arguments, chunk)
    assert stand_in.get("launches") > 4
    assert stand_in.fault() == ""


def test_sums_of_shards_are_added_up_on_devices(stand_in, each_way):
    check(polytune.Kernel(moments), (RNG.random((23, 17)), RNG.random(17)), 6, exact=False)
    assert stand_in.get("launches") > 2
    assert stand_in.fault() == ""


def test_a_tuner_chooses_and_threads_share_a_device(stand_in):
    x = np.arange(60.0)
    kernel = polytune.Kernel(doubled, strict=True)
    with dask.config.set(scheduler="threads", num_workers=2):
        check(kernel, (x, np.zeros(60)), 10)
        check(kernel, (x, np.ones(60)), 10)
    assert stand_in.get("launches") > 0
    (tuner,) = tuners_of(kernel, x)
    assert tuner.statistics().calls == 12
    tried = {configuration["version"] for configuration, _ in tuner.ranking()}
    assert tried == {"processor", "partitioned"}


def test_shards_with_little_to_do_leave_devices_alone(stand_in, monkeypatch):
    monkeypatch.setenv("POLYTUNE_RHO", "1e9")
    x = np.arange(60.0)
    kernel = polytune.Kernel(doubled, strict=True)
    check(kernel, (x, np.zeros(60)), 10)
    assert stand_in.get("launches") == 0
    assert "Min-Compute" in str(next(iter(tuners_of(kernel, x))).refused)


@pytest.mark.parametrize(("setting", "left"), [("launches_left", 2), ("allocations_left", 1), ("calls_left", 9)])
def test_the_processor_does_what_a_device_fails_to_do(stand_in, each_way, setting, left):
    stand_in.set(**{setting: left})
    with pytest.warns(DeviceWarning):
        check(polytune.Kernel(doubled, strict=True), (np.arange(60.0), np.zeros(60)), 10)


def test_without_devices_kernels_have_no_code_for_them(stand_in):
    x = np.arange(60.0)
    kernel = polytune.Kernel(doubled, strict=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYTUNE_DEVICES", "none")
        check(kernel, (x, np.zeros(60)), 10)
        assert not module_of_shards(kernel).PARTITIONED.codes
    kernel(*given((x, x), 10))
    assert len({bool(made.module.PARTITIONED.codes) for made in kernel._modules._sharded.values()}) == 2


def module_of_shards(kernel):
    (made,) = kernel._modules._sharded.values()
    return made.module


def tuners_of(kernel, x):
    """The tuners of a kernel's shards."""
    (made,) = kernel._modules._sharded.values()
    return list(code._runners[made.text].platforms._tuners.values())
