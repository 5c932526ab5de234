"""Calls shared among the processor and devices, against the same program run in order."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polytune.errors import DeviceError, DeviceLostError, DeviceMemoryError, DeviceWarning, LaunchError
from polytune.runtime.partitioned.call import SharedCall
from polytune.runtime.partitioned.pieces import CPU
from tests.runtime.partitioned.programs import COUNT, LENGTH, Plane, Program, Strided, Sum, configuration
from tests.warned import of_the_code, saying

DEVICES = ("cuda:0", "opencl:0")
FORWARD = Strided("A", "B", (0, 1), (0, 1), hull=True)
EVEN = Strided("B", "A", (0, 2), (1, 1), hull=True)
ODD = Strided("B", "C", (1, 2), (0, 3), hull=False)
SERIAL = Strided("C", "B", (3, 1), (5, 1), hull=False, parallel=False)

places = st.tuples(st.integers(0, 7), st.integers(1, 3))
arrays = st.permutations(["A", "B", "C"])
strided = st.builds(
    lambda names, where, there, hull, parallel: Strided(names[0], names[1], where, there, hull, parallel),
    arrays,
    places,
    places,
    st.booleans(),
    st.sampled_from([True, True, True, False]),
)
regions = st.one_of(strided, st.builds(Plane, st.sampled_from("ABC")), st.builds(Sum, st.sampled_from("ABC")))
platforms = st.sampled_from([CPU, *DEVICES])
ratios = st.sampled_from([0.0, 0.3, 0.5, 1.0])
ways = st.lists(st.tuples(st.sampled_from(["shared", "own", CPU]), st.tuples(ratios, ratios)), max_size=3)
configurations = st.builds(
    lambda split, chosen, cuts, ways: configuration(*chosen[: 2**split], ratios=cuts, regions=ways),
    st.integers(0, 2),
    st.lists(platforms, min_size=4, max_size=4),
    st.tuples(ratios, ratios),
    ways,
)
errors = st.sampled_from([DeviceError, DeviceMemoryError, LaunchError, DeviceLostError])


@settings(max_examples=150, deadline=None)
@given(st.lists(regions, min_size=1, max_size=5), st.lists(configurations, min_size=1, max_size=3))
def test_every_split_gives_what_the_program_gives(program, configurations):
    shared = Program(program, DEVICES)
    expected = shared.expected(shared.arrays, len(configurations))
    for each in configurations:
        assert shared.call(each).failure is None
    shared.check(expected)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(regions, min_size=1, max_size=4), configurations, st.integers(1, 40), errors)
def test_failure_at_any_operation_costs_no_result(program, chosen, fail_at, error):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        shared = Program(program, DEVICES)
        shared.execution.prepare(chosen)
        expected = shared.expected(shared.arrays)
        for device in shared.devices.values():
            device.operations.clear()
        shared.device.fail_at, shared.device.error = fail_at, error
        report = shared.call(chosen)
        shared.check(expected)
        failed = len(shared.device.operations) >= fail_at
        # Work that is no longer waited for may fail unnoticed when its memory is given back.
        assert failed or report.failure is None


@pytest.mark.parametrize("error", [DeviceError, DeviceMemoryError, LaunchError, DeviceLostError])
def test_failure_at_every_operation_is_served_and_told_once(error):
    """The same program with the first operation failing, the second, and so on until none is left to fail."""
    program = [FORWARD, SERIAL, EVEN, ODD, Sum("B"), Plane("A")]
    for chosen in (configuration("cuda:0"), configuration("cuda:0", CPU), configuration(CPU, "cuda:0", "cuda:0", CPU)):
        fail_at, failures, is_reached = 0, 0, True
        while is_reached:
            fail_at += 1
            shared = Program(program)
            shared.execution.prepare(chosen)
            expected = shared.expected(shared.arrays)
            shared.device.operations.clear()
            shared.device.fail_at, shared.device.error = fail_at, error
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                failure = shared.call(chosen).failure
            shared.check(expected)
            is_reached = len(shared.device.operations) >= fail_at
            assert [each.category for each in of_the_code(caught)] == [DeviceWarning] * (failure is not None)
            if failure is not None:
                failures += 1
                assert saying(caught, DeviceWarning, "program: cuda:0")
        # An allocation is tried again, and what fails when everything is done costs nothing.
        assert failures > 0.7 * fail_at > 20


def test_failed_allocation_leaves_nothing_allocated():
    shared = Program([FORWARD, EVEN])
    for number in range(1, 4):
        shared.device.operations.clear()
        shared.device.fail_at, shared.device.fail_kind = number, "allocate"
        shared.device.error = DeviceMemoryError
        expected = shared.expected(shared.arrays)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeviceWarning)
            shared.call(configuration("cuda:0"))
        shared.check(expected)


def test_exhausted_memory_is_told_once_for_many_calls():
    shared = Program([FORWARD])
    shared.device.used = shared.device.limits.memory
    expected = shared.expected(shared.arrays, 3)
    with pytest.warns(DeviceWarning, match="no room for") as caught:
        reports = [shared.call(configuration("cuda:0")) for _ in range(3)]
    assert len(saying(caught, DeviceWarning, "no room for")) == 1
    assert all(isinstance(report.failure, DeviceMemoryError) for report in reports)
    shared.check(expected)


def test_refused_launch_keeps_what_was_done_before(monkeypatch):
    """The second region is refused: the first is not repeated, and its results come home."""
    shared = Program([FORWARD, EVEN])
    expected = shared.expected(shared.arrays)
    shared.execution.prepare(configuration("cuda:0"))
    shared.device.operations.clear()
    shared.device.fail_at, shared.device.fail_kind, shared.device.error = 2, "launch", LaunchError
    here = []
    monkeypatch.setattr(Strided, "apply", _noting(here, Strided.apply))
    with pytest.warns(DeviceWarning, match="launch failed"):
        shared.call(configuration("cuda:0"))
    shared.check(expected)
    assert here == [FORWARD, EVEN]


def _noting(names, function):
    def noting(region, *arguments):
        names.append(region)
        function(region, *arguments)

    return noting


def test_members_without_points_launch_nothing():
    shared = Program([FORWARD])
    expected = shared.expected(shared.arrays)
    shared.call(configuration("cuda:0", "cuda:0", ratios=(1.0,)))
    assert shared.device.operations.count("launch") == 1
    shared.check(expected)


def test_only_what_is_needed_moves():
    shared = Program([Strided("A", "B", (0, 1), (0, 1), hull=False)])
    (share,) = shared.call(configuration("cuda:0")).shares
    assert (share.platform, share.uploaded, share.downloaded) == ("cuda:0", 2 * COUNT * 8, COUNT * 8)
    assert share.seconds > share.kernel_seconds > 0
    first, second = shared.call(configuration("cuda:0", CPU, ratios=(3 / COUNT,))).shares
    assert (first.uploaded, first.downloaded) == (2 * 3 * 8, 3 * 8)
    assert (second.platform, second.uploaded, second.seconds) == (CPU, 0, second.kernel_seconds)


def test_neighbours_of_what_is_written_stay():
    shared = Program([EVEN])
    before = shared.arrays["B"].copy()
    shared.call(configuration("cuda:0", CPU))
    untouched = [i for i in range(LENGTH) if i % 2 or i >= 2 * COUNT]
    np.testing.assert_array_equal(shared.arrays["B"][untouched], before[untouched])


def test_temporary_arrays_do_not_come_home():
    shared = Program([FORWARD])
    before = shared.arrays["A"].copy()
    plan = shared.execution.prepare(configuration("cuda:0"))
    call = SharedCall(shared.arrays, {"factor": 2.0}, (COUNT,), plan, lambda *_: None, frozenset({"A"}))
    (share,) = shared.execution.run(call).shares
    assert share.downloaded == 0
    np.testing.assert_array_equal(shared.arrays["A"], before)


def test_device_memory_is_used_again():
    shared = Program([FORWARD, EVEN])
    shared.call(configuration("cuda:0"))
    allocated = shared.device.operations.count("allocate")
    shared.call(configuration("cuda:0"))
    assert shared.device.operations.count("allocate") == allocated


def test_regions_are_divided_each_in_its_way():
    """One on the device, one on the processor, one at a ratio of its own: the transfers say which."""
    program = [FORWARD, EVEN, ODD]
    shared = Program(program, ("cuda:0",))
    expected = shared.expected(shared.arrays)
    chosen = configuration(CPU, "cuda:0", ratios=(0.5,), regions=[("own", (0.0,)), (CPU, ()), ("shared", ())])
    report = shared.call(chosen)
    shared.check(expected)
    assert report.failure is None and {share.platform for share in report.shares} == {CPU, "cuda:0"}
    launched = len([each for each in shared.device.operations if each == "launch"])
    assert launched == 2  # of the first region all of it, of the second nothing, of the third a half
