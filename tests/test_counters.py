"""What ``Kernel.profile`` counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polytune
from polytune.runtime.tuning import hardware_counters
from polytune.runtime.tuning.counters import KernelCounters
from polytune.runtime.tuning.hardware_counters import HardwareCounters
from polytune.tuner import FiniteSpace


@polytune.kernel
def divided_triangle(A, x):
    n = len(x)
    for i in range(n):
        for j in range(i + 1):
            x[i] += A[i, j] / 3.0 - min(A[i, j], 1.0)


SIZE = 37
INSTANCES = SIZE * (SIZE + 1) // 2


def arguments():
    return np.random.default_rng(0).random((SIZE, SIZE)), np.zeros(SIZE)


def test_a_profile_is_one_run_with_exact_counts_of_the_source():
    A, x = arguments()
    wanted = A.copy(), x.copy()
    divided_triangle.__wrapped__(*wanted)
    space = divided_triangle.space(A, x)
    profile = divided_triangle.profile(space.default(), A, x)
    np.testing.assert_allclose(x, wanted[1])
    assert profile["source__instances.sum"] == INSTANCES
    assert profile["source__divisions.sum"] == profile["source__minima.sum"] == INSTANCES
    assert profile["source__additions.sum"] == 2 * INSTANCES
    assert profile["source__multiplications.sum"] == profile["source__choices.sum"] == 0
    assert profile["source__least_traffic.bytes"] == 8 * (INSTANCES + 2 * SIZE)  # x comes and goes
    assert profile["transfers__to_devices.bytes"] == profile["transfers__from_devices.bytes"] == 0


def test_all_configurations_have_the_same_counters_and_each_its_own_work():
    A, x = arguments()
    space = divided_triangle.space(A, x)
    source = space.configuration(version="source")
    others = [each for each in space.enumerate_nominal() if each["version"] != "source"][:1]
    profiles = [divided_triangle.profile(each, A, x) for each in (source, *others)]
    assert others and profiles[0].keys() == profiles[1].keys()
    assert profiles[0]["Global size"] == 1
    assert profiles[0]["work__divisions.sum"] + profiles[0]["work__vector_divisions.sum"] > INSTANCES / 4
    changed = {name for name in profiles[0] if name.startswith("work__") and profiles[0][name] != profiles[1][name]}
    assert changed


def test_expected_times_add_up_to_what_is_expected_of_a_configuration():
    A, x = arguments()
    case = next(iter(divided_triangle.tuners), None) or divided_triangle.prepared({"version": "source"}, A, x).case
    prediction = divided_triangle.prediction_of(case)
    space = divided_triangle.space(A, x)
    for configuration in space.enumerate_nominal():
        times = prediction.times(configuration)
        assert times is not None
        assert math.fsum(times.values()) * 1e-9 == pytest.approx(prediction.seconds(configuration))


def test_the_model_of_a_kernel_completes_parts_of_configurations():
    A, x = arguments()
    prediction = divided_triangle.prepared({"version": "source"}, A, x).prediction
    model = KernelCounters(prediction)
    names = [each["version"] for each in divided_triangle.space(A, x).enumerate_nominal()]
    versions = FiniteSpace.from_configurations(["version"], [{"version": name} for name in names])
    told = model.predict(versions, np.arange(len(names)))
    assert np.isfinite(told).all()
    threads = FiniteSpace.from_configurations(["threads"], [{"threads": 1}, {"threads": 2}])
    assert np.isnan(model.predict(threads, np.arange(2))).all()
    team = next(name for name in names if name != "source")
    assert np.isfinite(model.predict(threads, np.arange(2), {"version": team})).all()


class Counted:
    """The files of counters, as the system has them: each thread's, which run half of the time."""

    def __init__(self, monkeypatch, refused=()):
        self.opened: dict[int, str] = {}
        self.readings: dict[int, int] = {}
        self.refused = refused
        monkeypatch.setattr(hardware_counters, "_opener", lambda number: self.open)
        monkeypatch.setattr(hardware_counters, "_reading", self.read)
        monkeypatch.setattr(hardware_counters.os, "close", lambda handle: self.opened.pop(handle))
        monkeypatch.setattr(hardware_counters.sys, "platform", "linux")
        monkeypatch.setattr(hardware_counters.platform, "machine", lambda: "x86_64")

    def open(self, thread, name):
        if name.startswith(self.refused):
            raise OSError(2, "No such file or directory")
        handle = 1000 + len(self.opened)
        self.opened[handle] = name
        self.readings[handle] = 0
        return handle

    def read(self, handle):
        self.readings[handle] += 1
        return 10 * self.readings[handle], 200 * self.readings[handle], 100 * self.readings[handle]


def test_hardware_counters_are_added_up_over_threads_and_scaled(monkeypatch):
    system = Counted(monkeypatch)
    threads = len(list(hardware_counters.Path("/proc/self/task").iterdir()))
    hardware = HardwareCounters()
    calls = []
    counted = hardware.around(lambda: calls.append(1))
    assert calls == [1] and hardware.reason == "" and not system.opened
    assert counted["hardware__cycles.sum"] == 20 * threads
    assert counted.keys() == hardware_counters.EVENTS.keys()


def test_what_the_system_refuses_is_left_out_with_a_sentence(monkeypatch):
    Counted(monkeypatch, ("hardware",))
    hardware = HardwareCounters()
    assert "No such file or directory" in hardware.reason and "perf_event_paranoid" in hardware.reason
    assert all(name.startswith("system__") for name in hardware.around(lambda: None))
    monkeypatch.setattr(hardware_counters.sys, "platform", "darwin")
    nothing, calls = HardwareCounters(), []
    assert nothing.around(lambda: calls.append(1)) == {} and calls == [1]
    assert "perf_event_open" in nothing.reason
