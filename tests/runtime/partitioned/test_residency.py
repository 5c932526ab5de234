"""Arrays that stay on a device between calls."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune import resident
from polytune.errors import ArgumentError, DeviceLostError, DeviceWarning, LaunchError
from polytune.runtime.partitioned import residency
from polytune.runtime.partitioned.pieces import CPU
from polytune.runtime.partitioned.pool import pool_of
from tests.runtime.partitioned.programs import COUNT, Plane, Program, Strided, Sum, configuration
from tests.runtime.partitioned.test_execution import configurations, errors, regions

DEVICES = ("cuda:0", "opencl:0")
STEP = Strided("A", "B", (0, 1), (0, 1), hull=False)
BACK = Strided("B", "A", (0, 1), (0, 1), hull=False)


def offered(program, patch):
    """The program, whose devices are those of this process."""
    patch.setattr(residency, "open_device", program.devices.__getitem__)
    patch.setattr(residency, "devices", lambda: tuple(program.devices.values()))
    return program


def values(program, names="ABC"):
    return [program.arrays[name] for name in names]


def moves(program, calls=1, chosen=("cuda:0",)):
    """Bytes moved by calls, there and back."""
    shares = [share for _ in range(calls) for share in program.call(configuration(*chosen)).shares]
    return sum(share.uploaded for share in shares), sum(share.downloaded for share in shares)


def test_calls_on_a_device_move_nothing(monkeypatch):
    program = offered(Program([STEP, BACK]), monkeypatch)
    expected = program.expected(program.arrays, 4)
    with resident(*values(program)):
        assert moves(program) == (2 * COUNT * 8, 0)
        assert moves(program, calls=3) == (0, 0)
    program.check(expected)


def test_split_call_moves_nothing_where_sides_stay_apart(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    expected = program.expected(program.arrays, 4)
    with resident(*values(program)):
        moves(program, chosen=("cuda:0", CPU))
        assert moves(program, calls=3, chosen=("cuda:0", CPU)) == (0, 0)
    program.check(expected)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(regions, min_size=1, max_size=4),
    st.lists(configurations, min_size=1, max_size=4),
    st.sets(st.sampled_from("ABCPS")),
    st.sampled_from(DEVICES),
)
def test_residents_change_no_result(program, chosen, names, where):
    with pytest.MonkeyPatch.context() as patch:
        shared = offered(Program(program, DEVICES), patch)
        expected = shared.expected(shared.arrays, len(chosen))
        with resident(*values(shared, sorted(names)), device=where):
            for each in chosen:
                assert shared.call(each).failure is None
        shared.check(expected)


@settings(deadline=None, max_examples=150)
@given(st.lists(regions, min_size=1, max_size=4), configurations, configurations, st.integers(1, 30), errors)
def test_failures_beside_residents_are_served_or_told(program, first, second, fail_at, error):
    """The call that fails gives the right result, or raises where only the device had what it needed."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeviceWarning)
        shared = offered(Program(program, DEVICES), patch)
        begin = {name: array.copy() for name, array in shared.arrays.items()}
        shared.execution.prepare(second)
        try:
            with resident(*values(shared)):
                shared.call(first)
                shared.device.operations.clear()
                shared.device.fail_at, shared.device.error = fail_at, error
                shared.call(second)
                shared.device.fail_at = 0
                if not shared.device.lost:
                    shared.call(second)
        except (DeviceLostError, LaunchError) as told:
            assert "lost" in str(told)
        else:
            shared.check(shared.expected(begin, 2 if shared.device.lost else 3))


def test_refused_launch_loses_nothing_that_is_only_there(monkeypatch):
    program = offered(Program([STEP, BACK]), monkeypatch)
    expected = program.expected(program.arrays, 2)
    with resident(*values(program)):
        program.call(configuration("cuda:0"))
        program.device.operations.clear()
        program.device.fail_at, program.device.fail_kind, program.device.error = 2, "launch", LaunchError
        with pytest.warns(DeviceWarning, match="launch failed"):
            program.call(configuration("cuda:0"))
    program.check(expected)


def test_lost_device_takes_what_only_it_had(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    with pytest.raises(DeviceLostError, match="has to be made anew"), resident(*values(program)):
        program.call(configuration("cuda:0"))
        program.device.lost = True


def test_lost_device_takes_nothing_that_came_home(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    expected = program.expected(program.arrays)
    with resident(*values(program)) as block:
        program.call(configuration("cuda:0"))
        block.bring_home()
        program.device.lost = True
    program.check(expected)


def test_arrays_come_home_after_an_exception(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    expected = program.expected(program.arrays)
    with pytest.raises(ZeroDivisionError), resident(*values(program)):
        program.call(configuration("cuda:0"))
        1 / 0  # noqa: B018
    program.check(expected)


def test_nested_blocks_end_with_the_outermost(monkeypatch):
    program = offered(Program([STEP, BACK]), monkeypatch)
    expected = program.expected(program.arrays, 2)
    with resident(program.arrays["A"]):
        with resident(*values(program)):
            program.call(configuration("cuda:0"))
        np.testing.assert_array_equal(program.arrays["B"], program.expected(program.new_arrays())["B"])
        assert moves(program)[0] == COUNT * 8  # B alone
    program.check(expected)
    assert moves(program)[0] == 2 * COUNT * 8


def test_memory_of_a_block_is_given_back(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    for _ in range(3):
        with resident(*values(program)):
            program.call(configuration("cuda:0"))
    assert program.device.operations.count("allocate") == 3
    pool_of(program.device).clear()
    assert program.device.used == 0


def test_host_reads_and_writes_between_calls(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    a, b = program.arrays["A"], program.arrays["B"]
    expected = program.expected(program.arrays)
    with resident(a, b) as block:
        program.call(configuration("cuda:0"))
        block.bring_home(a)
        np.testing.assert_array_equal(a, expected["A"])
        b += 64
        block.changed(b)
        expected = program.expected(program.arrays)
        program.call(configuration("cuda:0"))
    program.check(expected)


def test_view_of_the_same_elements_is_the_same_array(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    expected = program.expected(program.arrays, 2)
    with resident(*values(program)):
        program.call(configuration("cuda:0"))
        whole = dict(program.arrays)
        program.arrays.update({name: array[:] for name, array in whole.items()})
        assert moves(program) == (0, 0)
        program.arrays.update(whole)
    program.check(expected)


def test_overlapping_arrays_are_refused(monkeypatch):
    offered(Program([STEP]), monkeypatch)
    array = np.zeros(10)
    with pytest.raises(ArgumentError, match="overlaps"), resident(array, array[1:]):
        pytest.fail("the block has begun")
    with resident(array[1:]):
        pass  # nothing was left behind
    with pytest.raises(ArgumentError, match="NumPy arrays"):
        resident([1.0])


def test_array_is_on_one_device_at_a_time(monkeypatch):
    program = offered(Program([STEP], DEVICES), monkeypatch)
    array = program.arrays["A"]
    with resident(array), pytest.raises(ArgumentError, match="cuda:0 already"), resident(array, device="opencl:0"):
        pytest.fail("the block has begun")


def test_exhausted_memory_leaves_arrays_at_home(monkeypatch):
    program = offered(Program([STEP]), monkeypatch)
    program.device.used = program.device.limits.memory - 2 * program.arrays["A"].nbytes
    expected = program.expected(program.arrays)
    with pytest.warns(DeviceWarning, match="no room"), resident(*values(program, "ABP")):
        program.device.used = 0
        program.call(configuration("cuda:0"))
    program.check(expected)


def test_without_devices_nothing_happens(monkeypatch):
    monkeypatch.setattr(residency, "devices", tuple)
    array = np.ones(3)
    with resident(array) as block:
        block.bring_home()
        block.changed(array)
    assert (array == 1).all()


def test_threads_share_residents(monkeypatch):
    """Calls of several threads that write the same resident array come one after the other."""
    program = offered(Program([Plane("A"), Sum("B")]), monkeypatch)
    expected = program.expected(program.arrays, 40)
    with resident(*values(program, "ABPS")), ThreadPoolExecutor(4) as threads:
        chosen = [configuration("cuda:0"), configuration("cuda:0", CPU)] * 20
        list(threads.map(program.call, chosen))
    program.check(expected)
