"""What kernels for OpenCL devices are compiled with."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from polytune.runtime.devices.opencl import compiler_options

pyopencl = pytest.importorskip("pyopencl")


def device(vendor: str, kind: str, *, rounds: bool = True) -> SimpleNamespace:
    """What `compiler_options` looks at."""
    config = pyopencl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT if rounds else 0
    return SimpleNamespace(
        type=getattr(pyopencl.device_type, kind), platform=SimpleNamespace(vendor=vendor), single_fp_config=config
    )


@pytest.mark.parametrize(
    ("vendor", "kind", "disabled"),
    [
        ("Intel(R) Corporation", "CPU", True),
        ("Intel(R) Corporation", "GPU", False),
        ("The pocl project", "CPU", False),
        ("NVIDIA Corporation", "GPU", False),
    ],
)
def test_only_a_compiler_that_makes_mistakes_does_not_optimise(vendor, kind, disabled):
    assert ("-cl-opt-disable" in compiler_options(device(vendor, kind))) is disabled


def test_division_is_rounded_correctly_where_the_device_can():
    wanted = "-cl-fp32-correctly-rounded-divide-sqrt"
    assert wanted in compiler_options(device("any", "GPU"))
    assert wanted not in compiler_options(device("any", "GPU", rounds=False))


def test_compilers_do_not_warn_of_text_that_is_not_the_users(opencl, capfd):
    text = f"kernel void compare(global int *x) {{ x[0] == 1; x[0] = {time.time_ns() % 2**31}; }}"  # not in a cache
    assert opencl.compile(text, "compare").handle is not None
    written = capfd.readouterr()
    assert not written.out and not written.err
