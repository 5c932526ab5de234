"""Scalar arguments that a kernel assigns to, as variables of Python may be."""

import numpy as np
import pytest

import polytune


def shifted(x, s):
    s = s + 1
    for i in range(x.shape[0]):
        x[i] = s


def added(x, total, count):
    for i in range(x.shape[0]):
        if x[i] > 0:
            total += x[i]
        count += 1
    return total, count


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("value", [1.5, 3, True, np.float32(2.5), np.int32(-4), np.uint8(7), 1 + 2j, np.complex64(2j)])
def test_an_argument_that_is_assigned_begins_with_its_value(value, strict):
    kernel = polytune.kernel(shifted, strict=strict) if strict else polytune.kernel(shifted)
    dtype = np.complex128 if np.iscomplexobj(value) else np.float64
    arrays = np.zeros(10, dtype), np.zeros(10, dtype)
    generated = kernel.generated(arrays[0], value)
    for version in generated.module.VERSIONS:
        configuration = generated.space.configuration(version=version.name, **version.sizes)
        for array in arrays:
            array[:] = -1
        kernel.run(configuration, arrays[0], value)
        shifted(arrays[1], value)
        np.testing.assert_array_equal(*arrays, err_msg=version.name)


def test_each_call_begins_with_the_value_of_its_own():
    kernel = polytune.kernel(added, budget=0)
    x = np.random.default_rng(0).integers(-5, 5, 40).astype(np.float64)
    for call in range(40):
        total, count = float(call % 7), call % 3
        assert kernel(x, total, count) == added(x, total, count)
        assert (total, count) == (float(call % 7), call % 3)
