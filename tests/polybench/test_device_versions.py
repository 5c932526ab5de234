"""Every kernel of the suite on devices, in versions that cover all pairs of choices, bit for bit as in source order.

The CUDA text runs on the stand-in for a GPU in three orders of a block's threads, the OpenCL text on PoCL; memory of
devices starts full of NaN.  For a Hopper GPU all is compiled, and the machine code's needs are checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

from polytune.errors import DeviceCompilationError
from polytune.runtime.devices import backends, nvrtc
from polytune.runtime.devices.cubin import HOPPER, kernel_needs
from polytune.runtime.devices.device import DeviceLimits
from polytune.runtime.partitioned.description import DeviceCode
from polytune.runtime.partitioned.launches import shared_memory_of, source_of
from polytune.runtime.partitioned.space import constraints_of
from tests.device_versions.offered import cuda_stand_in, offered
from tests.device_versions.pairwise import pairwise_cover
from tests.device_versions.versions import (
    REAL,
    TINY,
    Subject,
    assert_same_bits,
    choices,
    on_device,
    shapes,
)
from tests.schedule.kernels import POLYBENCH, Case, polybench_case

ORDERS = (0, 1, 2)
"""A block's threads forward, backward and shuffled."""

_subjects: dict[str, Subject] = {}


def subject_of(case: Case) -> Subject:
    if case.name not in _subjects:
        found = Subject.of(case.function, tuple(case.arguments().values()))
        assert found is not None, "every kernel of the suite has something for devices"
        _subjects[case.name] = found
    return _subjects[case.name]


def expected_of(case: Case) -> list[Any]:
    """The arguments after the source order, interpreted: plain Python, but scalars have the types that they are given,
    where plain Python keeps what ``math.exp`` returns in float64."""
    arguments = list(case.arguments().values())
    with np.errstate(all="ignore"):
        subject_of(case).interpreter.run({"version": "source"}, arguments, 0)
    return arguments


def versions_of(case: Case, every_version: bool) -> list[dict[str, Any]]:
    values = choices(subject_of(case).codes, TINY)
    if every_version and case.name == "gemm":
        return [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    return pairwise_cover(values)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLYBENCH)
def test_cuda_text_in_every_order_of_threads(name: str, every_version: bool) -> None:
    stand_in = cuda_stand_in()
    if stand_in is None:
        pytest.skip("the stand-in for CUDA cannot be built here")
    case = polybench_case(name)
    subject, expected = subject_of(case), expected_of(case)
    with offered(("cuda",)) as (platform,):
        execution = subject.execution()
        for version in versions_of(case, every_version):
            for order in ORDERS:
                stand_in.set(order=order)
                arguments = list(case.arguments().values())
                subject.run(execution, on_device(platform, version), arguments)
                assert_same_bits(arguments, expected, f"{name}, {version}, order {order}")


@pytest.mark.parametrize("name", POLYBENCH)
def test_opencl_text(name: str, every_version: bool) -> None:
    case = polybench_case(name)
    subject, expected = subject_of(case), expected_of(case)
    versions = versions_of(case, every_version)
    # PoCL compiles slowly: without the option one version of each kernel, another one for each.
    chosen = versions if every_version else [versions[case.seed % len(versions)]]
    with offered(("opencl",)) as platforms:
        if not platforms:
            pytest.skip(backends.listed("opencl").obstacle)
        execution = subject.execution()
        for version in chosen:
            arguments = list(case.arguments().values())
            subject.run(execution, on_device(platforms[0], version), arguments)
            assert_same_bits(arguments, expected, f"{name}, {version}")


def in_space(code: DeviceCode, choice: Mapping[str, Any], shared_memory: int) -> bool:
    """Whether the space of a device with so many bytes of shared memory, and room for all else, has the choice."""
    limits = DeviceLimits(1024, (1024, 1024, 64), shared_memory, 65536, 1, 32, 1 << 30)
    values = {"platform_0": "cuda:0", "shared_0": True, "points_x_0": 1, "points_y_0": 1, **choice}
    return all(constraint.holds(values) for constraint in constraints_of(0, [code], {"cuda:0": limits}))


@pytest.mark.parametrize("name", POLYBENCH)
def test_machine_code_for_hopper(name: str, every_version: bool) -> None:
    """Every version fits but those whose shared memory, which the space knows before, is more than there is; and what
    the space knows is exactly what the machine code says."""
    if nvrtc._library() is None:
        pytest.skip(f"there is no NVRTC: {nvrtc.INSTALL}")
    case = polybench_case(name)
    for code in subject_of(case).codes:
        fitting = 0
        chosen = shapes(code, REAL, everything=every_version and name == "gemm")
        for shape, choice in chosen.items():
            threads = shape.block[0] * shape.block[1]
            known = shared_memory_of(code, shape)
            try:
                cubin = nvrtc.compile(source_of(code, shape, "cuda"), "sm_90", nvrtc.options(contract=False))
            except DeviceCompilationError as error:
                assert known > HOPPER.shared_memory_per_block, f"{code.name}, {shape}"
                assert "shared data" in str(error), f"{code.name}, {shape}"
                continue
            needs = kernel_needs(cubin, code.name)
            assert needs.shared_memory <= HOPPER.shared_memory_per_block
            assert needs.shared_memory == known
            assert in_space(code, choice, known)
            assert known == 0 or not in_space(code, choice, known - 1)
            assert needs.registers <= HOPPER.registers_per_thread
            assert needs.registers * threads <= HOPPER.registers
            fitting += 1
        assert 2 * fitting >= len(chosen), f"{code.name}: {fitting} of {len(chosen)} versions fit"
