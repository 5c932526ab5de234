"""Runtime feedback rules: what they reject on the counts of real kernels, and what the tuner then never tries."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import polytune
from polytune.errors import PolytuneError
from polytune.history import HistoryStore
from polytune.runtime.devices import backends
from polytune.runtime.machine import machine
from polytune.runtime.tuning import rules_calibration
from polytune.runtime.tuning.learned import explain_refused
from polytune.runtime.tuning.rules import (
    PUBLISHED,
    RULES,
    Thresholds,
    counts_of,
    counts_of_regions,
    outer_refusals,
    refusals,
)
from polytune.runtime.tuning.rules_calibration import from_measurements, thresholds_of
from polytune.tuner import HierarchicalTuner, Is, Nominal, Ratio, Space
from tests.runtime.partitioned.fake_device import FakeDevice

SPACE = Space(
    [
        Nominal("version", ("tiled", "source", "partitioned")),
        Nominal("split", (0, 1), when=Is("version", "partitioned")),
        Ratio("ratio_0", 0, 1, when=Is("split", 1)),
        Nominal("platform_0", ("cpu", "cuda:0", "opencl:0"), default="cuda:0", when=Is("version", "partitioned")),
        Nominal("platform_1", ("cpu", "cuda:0", "opencl:0"), when=Is("split", 1)),
        Nominal("shared_0", (True, False), when=Is("platform_0", "cuda:0", "opencl:0")),
        Nominal("shared_1", (True, False), when=Is("platform_1", "cuda:0", "opencl:0")),
    ]
)
LARGE = {"compute": 10**9, "memory": 10**6, "reuse": 40}
ALL = {"cuda:0": PUBLISHED, "opencl:0": PUBLISHED}


@polytune.kernel
def gemm(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


@polytune.kernel
def copy(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i]


@polytune.kernel
def two_products(T, A, B, D, C):
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            T[i, j] = 0.0
            for k in range(A.shape[1]):
                T[i, j] += A[i, k] * B[k, j]
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            for k in range(T.shape[1]):
                D[i, j] += T[i, k] * C[k, j]


def generated_for_devices(kernel, arguments):
    # Modules have counts where there are devices to choose from.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("polytune.kernel_modules"), "devices", lambda: (object(),))
        return kernel.generated(*arguments)


def counts(kernel, *arguments):
    generated = generated_for_devices(kernel, arguments)
    return counts_of(generated.module, generated.prepare(arguments).parameters)


def matrices(size):
    return [np.zeros((size, size)) for _ in range(3)]


def test_the_counts_are_those_of_the_kernel():
    a = np.zeros((20, 30))
    found = counts(gemm, np.zeros((20, 40)), a, np.zeros((30, 40)))
    assert found["compute"] == 20 * 30 * 40
    # Read and written: C twice; A and B once.
    assert found["memory"] == 2 * 20 * 40 + 20 * 30 + 30 * 40
    assert found["reuse"] > 1
    assert counts(copy, np.zeros(9), np.zeros(9)) == {"compute": 9, "memory": 18, "reuse": 1, "data": 2 * 9 * 8}


def test_a_product_of_500_leaves_no_device_and_one_of_2000_does():
    refused = refusals(SPACE, counts(gemm, *matrices(500)), ALL)
    assert refused["version"].keys() == {"partitioned"}
    assert refused["platform_0"].keys() == refused["platform_1"].keys() == {"cuda:0", "opencl:0"}
    assert refused["platform_0"]["cuda:0"] == (
        "Min-Compute: 1.25e+08 statement instances are too few for a device, which may pay from 1.5e+08 on"
    )
    assert refusals(SPACE, counts(gemm, *matrices(2000)), ALL) == {}


def test_the_device_decision_is_made_before_the_first_call():
    refused = refusals(SPACE, counts(gemm, *matrices(500)), ALL)
    search, asked = HierarchicalTuner(SPACE, rng=np.random.default_rng(0), refused=refused, repeats=1), []
    while not search.converged:
        asked.append(search.ask())
        search.tell(asked[-1], 1.0)
    assert {c["version"] for c in asked[:2]} == {"tiled", "source"} and len(asked) <= 3


def test_what_computes_little_for_what_it_moves_is_rejected():
    refused = refusals(SPACE, {"compute": 10**9, "memory": 10**9, "reuse": 2}, ALL)
    assert refused["platform_0"]["cuda:0"].startswith("Compute-Intensity: 1e+09 statement instances on 1e+09 elements")
    assert refusals(SPACE, {"compute": 2 * 10**9, "memory": 10**9, "reuse": 2}, ALL) == {}


def test_shared_memory_without_reuse_is_rejected_and_the_devices_stay():
    refused = refusals(SPACE, {**LARGE, "reuse": 1}, ALL)
    assert refused.keys() == {"shared_0", "shared_1"} and refused["shared_0"].keys() == {True}
    assert "Min-Reuse" in refused["shared_0"][True]


def test_devices_are_judged_one_by_one():
    refused = refusals(SPACE, LARGE, {"cuda:0": PUBLISHED, "opencl:0": Thresholds(rho=1e12, alpha=2)})
    assert refused.keys() == {"platform_0", "platform_1"} and refused["platform_0"].keys() == {"opencl:0"}


def test_each_region_has_counts_of_its_own():
    arguments = (np.zeros((20, 30)), np.zeros((20, 5)), np.zeros((5, 30)), np.zeros((20, 7)), np.zeros((30, 7)))
    generated = generated_for_devices(two_products, arguments)
    parameters = generated.prepare(arguments).parameters
    found = counts_of_regions(generated.module, parameters)
    whole = counts_of(generated.module, parameters)
    assert len(found) >= 2
    assert sum(each["compute"] for each in found.values()) == whole["compute"]
    assert sum(each["memory"] for each in found.values()) == whole["memory"]
    assert {20 * 30 * 5, 20 * 7 * 30} <= {each["compute"] - 0 for each in found.values()} | {
        each["compute"] - 20 * 30 for each in found.values()
    }
    one = generated_for_devices(gemm, matrices(9))
    assert counts_of_regions(one.module, one.prepare(tuple(matrices(9))).parameters) == {}


REGIONS = Space(
    [
        *SPACE.parameters,
        Nominal("regions", ("alike", "apart"), when=Is("version", "partitioned")),
        Nominal("region_0", ("shared", "own", "cpu"), when=Is("regions", "apart")),
        Nominal("region_2", ("shared", "own", "cpu"), when=Is("regions", "apart")),
    ]
)
MUCH, LITTLE = {"compute": 10**9, "memory": 10**6}, {"compute": 10**8, "memory": 10**6}


def test_a_region_that_is_worth_no_device_stays_on_the_processor():
    refused = refusals(REGIONS, LARGE, ALL, regions={0: MUCH, 2: LITTLE})
    assert refused.keys() == {"region_2", "regions"}
    assert refused["region_2"].keys() == {"shared", "own"} and refused["regions"].keys() == {"alike"}
    assert refused["region_2"]["own"].startswith("region 2: Min-Compute: 1e+08 statement instances are too few")
    search, asked = HierarchicalTuner(REGIONS, rng=np.random.default_rng(0), refused=refused, repeats=1), []
    while not search.converged:
        asked.append(search.ask())
        search.tell(asked[-1], 1.0)
    shared = [each for each in asked if each["version"] == "partitioned"]
    assert shared and all(each["region_2"] == "cpu" for each in shared)


def test_regions_that_are_each_too_small_leave_no_device():
    together = {"compute": 2 * 10**8, "memory": 10**6, "reuse": 9}
    assert refusals(REGIONS, together, ALL) == {}
    refused = refusals(REGIONS, together, ALL, regions={0: LITTLE, 2: LITTLE})
    assert refused["version"].keys() == {"partitioned"}
    assert refused["version"]["partitioned"].endswith("(in each of 2 regions)")


def test_nothing_is_concluded_of_a_region_that_was_not_counted():
    assert refusals(REGIONS, LARGE, ALL, regions={0: {}, 2: MUCH}) == {}
    one = {"cuda:0": PUBLISHED, "opencl:0": Thresholds(rho=1.0, alpha=2)}
    assert refusals(REGIONS, LARGE, one, regions={0: MUCH, 2: LITTLE}) == {}  # one device may be worth it


def test_nothing_is_concluded_from_what_is_not_known():
    assert refusals(SPACE, {}, ALL) == {}
    assert refusals(SPACE, {"compute": 10**9}, ALL) == {}


def test_arrays_on_a_device_need_no_transfers():
    refused = refusals(SPACE, {"compute": 10, "memory": 10, "reuse": 1}, ALL, resident=True)
    assert refused.keys() == {"shared_0", "shared_1"}


def test_where_only_a_device_can_run_it_is_not_rejected():
    alone = Space([Nominal("version", ("partitioned",)), Nominal("platform_0", ("cuda:0",))])
    assert refusals(alone, {"compute": 10, "memory": 10, "reuse": 3}, ALL) == {}


def test_every_rule_says_its_numbers():
    for rule in RULES:
        reason = rule.reason({"compute": 1, "memory": 2, "reuse": 0.5, "data": 1, "rho": 3, "alpha": 4, "cache": 5})
        assert reason is not None and reason.startswith(f"{rule.name}: ") and any(n in reason for n in ("1", "0.5"))


def test_outer_tiles_are_for_data_beyond_the_second_cache():
    cache = machine().cache(2).share
    beyond, within = ({"compute": 1, "memory": 1, "data": size} for size in (cache + 1, cache))
    assert outer_refusals(["tiled_outer"], beyond) == outer_refusals(["tiled_outer"], {"compute": 1}) == {}
    assert outer_refusals([], within) == {}
    refused = outer_refusals(["tiled_outer"], within)
    assert refused["version"]["tiled_outer"].startswith("Min-Data: ")


def test_explanations_give_a_line_per_reason():
    lines = explain_refused(refusals(SPACE, {"compute": 10, "memory": 1, "reuse": 3}, {"cuda:0": PUBLISHED}))
    assert lines == [
        "  rejected: platform_0, platform_1 = cuda:0: Min-Compute: 10 statement instances are too few for a device, "
        "which may pay from 1.5e+08 on"
    ]


def test_explanations_have_the_values_that_are_rejected_for_one_reason_in_one_line():
    lines = explain_refused(refusals(REGIONS, LARGE, ALL, regions={0: MUCH, 2: LITTLE}))
    reason = "region 2: Min-Compute: 1e+08 statement instances are too few for a device, which may pay from 1.5e+08 on"
    assert lines == [
        f"  rejected: region_2 = shared or own: {reason}",
        f"  rejected: regions = alike: {reason}",
    ]


def test_thresholds_follow_from_the_machine():
    # A device behind 10 GB/s beside 100e9 instances a second: n^3 / 1e11 = 32 n^2 / 1e10 at n = 320.
    found = from_measurements(product=1e11, stream=5e9, latency=0.0, bandwidth=1e10)
    assert found.rho == pytest.approx(320**3) and found.alpha == pytest.approx(4.0)
    slower = from_measurements(product=1e11, stream=5e9, latency=1e-3, bandwidth=1e10)
    size = slower.rho ** (1 / 3)
    assert slower.rho / 1e11 == pytest.approx(1e-3 + 32 * size**2 / 1e10)


def test_thresholds_are_measured_once_and_kept(tmp_path, monkeypatch):
    monkeypatch.delenv("POLYTUNE_RHO")
    monkeypatch.delenv("POLYTUNE_ALPHA")
    measured = []

    def measure(device):
        measured.append(device)
        return Thresholds(7.0, 0.5)

    monkeypatch.setattr(rules_calibration, "_measure", measure)
    device = SimpleNamespace(key="a device")
    for _ in range(2):
        assert thresholds_of(device, HistoryStore(tmp_path)) == Thresholds(7.0, 0.5)
    assert measured == [device]
    monkeypatch.setenv("POLYTUNE_RHO", "1e6")
    assert thresholds_of(device, HistoryStore(tmp_path)) == Thresholds(1e6, 0.5)
    monkeypatch.setenv("POLYTUNE_ALPHA", "0")
    assert thresholds_of(SimpleNamespace(key="another"), HistoryStore(tmp_path)) == Thresholds(1e6, 0.0)
    assert len(measured) == 1


@pytest.fixture
def measured(monkeypatch):
    """Thresholds are measured, though shortly."""
    monkeypatch.delenv("POLYTUNE_RHO")
    monkeypatch.delenv("POLYTUNE_ALPHA")
    monkeypatch.setattr(rules_calibration, "_PRODUCT", 64)
    monkeypatch.setattr(rules_calibration, "_STREAM", 1 << 12)
    monkeypatch.setattr(rules_calibration, "_COPY", 1 << 12)


def test_a_machine_and_a_device_are_measured(tmp_path, measured):
    device = FakeDevice({})
    found = thresholds_of(device, HistoryStore(tmp_path))
    assert 0 < found.rho < float("inf") and 0 < found.alpha < float("inf")
    operations = len(device.operations)
    assert {"upload", "download"} <= set(device.operations)
    assert thresholds_of(device, HistoryStore(tmp_path)) == found and len(device.operations) == operations


def test_of_a_device_that_fails_nothing_is_kept(tmp_path, measured):
    device = FakeDevice({})
    device.fail_at = 3
    assert thresholds_of(device, HistoryStore(tmp_path)) == PUBLISHED
    device.fail_at = 0
    assert thresholds_of(device, HistoryStore(tmp_path)) != PUBLISHED


def test_small_calls_never_meet_the_device(tmp_path, monkeypatch):
    usable = [found for found in backends.listed("opencl").found if not found.reason]
    if not usable:
        pytest.skip(backends.listed("opencl").obstacle)
    monkeypatch.setenv("POLYTUNE_DEVICES", "opencl")
    kernel = polytune.Kernel(gemm.__wrapped__, thresholds=PUBLISHED)
    arguments = matrices(30)
    for _ in range(4):
        kernel(*arguments)
    tuner = kernel.tuner(*arguments)
    assert "partitioned" in kernel.space(*arguments)["version"].values
    assert tuner.refused["version"].keys() == {"partitioned", "library"}
    assert all(configuration["version"] != "partitioned" for configuration, _ in tuner.ranking())
    assert "Min-Compute: 2.7e+04 statement instances are too few" in kernel.explain()


@pytest.mark.parametrize("text", ["much", "-1", "inf"])
def test_thresholds_that_are_no_numbers_are_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("POLYTUNE_RHO", text)
    with pytest.raises(PolytuneError, match="POLYTUNE_RHO must be a number"):
        thresholds_of(SimpleNamespace(key="a device"), HistoryStore(tmp_path))


def test_a_call_without_devices_measures_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(rules_calibration, "thresholds_of", lambda *_: pytest.fail("measured"))
    arguments = (np.zeros(9), np.zeros(9))
    generated = copy.generated(*arguments)
    space = Space([Nominal("version", ("source",))])
    assert rules_calibration.refused_values(generated.module, space, (9, 9), HistoryStore(tmp_path)) == {}
