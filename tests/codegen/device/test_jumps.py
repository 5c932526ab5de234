"""Loops that end early do so on devices too."""

from __future__ import annotations

import numpy as np
import pytest

import polytune
from tests.device_versions.offered import offered


@polytune.kernel
def escaped(limit: int, start, steps, last):
    for i in range(start.shape[0]):
        x = start[i]
        count = 0
        while count < limit:
            count += 1
            if x < 1.0:
                x = x * 2.0
                continue
            x = x * x
            if x > 100.0:
                break
            x = x - 0.25
        steps[i] = count
        last[i] = x


@pytest.mark.parametrize("kind", ["cuda", "opencl"])
@pytest.mark.parametrize("size", [1, 70])
def test_break_and_continue_leave_the_loop_or_begin_its_next_iteration(kind, size):
    start = np.linspace(0.3, 3.0, size)
    expected = np.zeros(size, np.int64), np.zeros(size)
    escaped.__wrapped__(12, start, *expected)
    with offered((kind,)) as platforms:
        if not platforms:
            pytest.skip(f"there is no device of {kind}")
        kernel = polytune.Kernel(escaped.__wrapped__)
        arguments = 12, start, np.zeros(size, np.int64), np.zeros(size)
        configuration = {"version": "partitioned", "split": 0, "platform_0": platforms[0]}
        kernel.run(kernel.space(*arguments).configuration(**configuration), *arguments)
    assert len({*expected[0]}) > 2 or size == 1
    np.testing.assert_array_equal(arguments[2], expected[0])
    np.testing.assert_array_equal(arguments[3], expected[1])
