"""The stand-in for a CUDA device finds the mistakes that it is there to find."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.errors import DeviceLostError, DeviceMemoryError
from polytune.runtime.devices.discovery import device, devices
from tests.runtime.devices.kernels import compiled, run

TREE = """
PT_KERNEL(64, 1, 1) total(PT_GLOBAL const f64 *from, PT_GLOBAL f64 *to)
{
    PT_SHARED f64 part[64];
    part[PT_THREAD_X] = from[PT_THREAD_X];
    PT_BARRIER();
    for (int width = 32; width > 0; width /= 2) {
        if (PT_THREAD_X < width) part[PT_THREAD_X] += part[PT_THREAD_X + width];
        PT_BARRIER();
    }
    if (PT_THREAD_X == 0) to[0] = part[0];
}
"""


def total(cuda, text):
    values, result = np.arange(64.0), np.zeros(1)
    run(cuda, compiled(cuda, text, "total"), (1, 1, 1), (64, 1, 1), [values, result])
    return result[0]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_right_kernel_is_right_in_every_order(stand_in, cuda, order):
    stand_in.set(order=order)
    assert total(cuda, TREE) == 63 * 32


def test_missing_barrier_shows_in_some_order(stand_in, cuda):
    lacking = TREE.replace("from[PT_THREAD_X];\n    PT_BARRIER();", "from[PT_THREAD_X];")
    assert lacking != TREE
    results = []
    for order in (0, 1, 2):
        stand_in.set(order=order)
        results.append(total(cuda, lacking))
    assert any(result != 63 * 32 for result in results)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("if (PT_THREAD_X == 63) return; PT_BARRIER();", "barrier that some threads of the block do not reach"),
        ("if (PT_THREAD_X == 63) {\n PT_BARRIER();\n } else {\n PT_BARRIER();\n }", "different barriers"),
        ("PT_SHARED f64 s[64]; s[PT_THREAD_X + 1] = 0; to[0] = s[0];", "index outside an array"),
        ("f64 own[4]; own[PT_THREAD_X] = 1; to[0] = own[from[0] > 5];", "index outside an array"),
        ("to[0] = 7 / (int)(PT_THREAD_X - 3);", "division by zero"),
        ("to[0] = (f64)(i32)(2147483647 - 10 + PT_THREAD_X);", "integer that overflows"),
        ("to[0] = from[64];", "outside all buffers"),
        ("((PT_GLOBAL f64 *)to)[-1] = 0;", "wrote outside its buffers"),
    ],
)
def test_mistake_is_found(stand_in, cuda, statement, what):
    text = f"PT_KERNEL(64, 1, 1) total(PT_GLOBAL const f64 *from, PT_GLOBAL f64 *to) {{\n{statement}\n}}\n"
    with pytest.raises(DeviceLostError, match="cuda:0"):
        total(cuda, text)
    assert what in stand_in.fault()


def test_shared_memory_holds_rubbish_at_first(cuda):
    text = """
PT_KERNEL(64, 1, 1) total(PT_GLOBAL const f64 *from, PT_GLOBAL f64 *to)
{ PT_SHARED f64 s[1]; if (PT_THREAD_X == 0) to[0] = s[0]; }
"""
    assert np.isnan(total(cuda, text))


def test_memory_is_as_large_as_it_is_said_to_be(stand_in, cuda):
    stand_in.set(memory=stand_in.get("used") + 1000)
    with cuda.allocate(900), pytest.raises(DeviceMemoryError):
        cuda.allocate(200)


def test_stand_in_is_the_only_device_while_it_is_offered(stand_in):
    with stand_in.offered() as offered:
        assert devices() == (offered,)
        assert device("cuda:0") is offered
        assert total(offered, TREE) == 63 * 32
        stand_in.set(calls_left=0)
        with pytest.raises(DeviceLostError):
            offered.memory_free()
        assert devices() == ()
    with stand_in.offered() as another:
        assert devices() == (another,)
        assert total(another, TREE) == 63 * 32
