"""Parts for the processor with register tiles: every part, cut anywhere, computes what the source says.

All partitions are the processor's here, so that no device is needed; generated code is interpreted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polytune.codegen.loops import RegionCode
from polytune.codegen.partitioned import PartitionedRegion
from polytune.pipeline import Stages
from tests.every_version import stages_of
from tests.fuzz.interpreted import Interpreter


def product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 0
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def triangle(C, A):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


def both_ways(x, y, A):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            x[i] += A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[i, j]


def parts_for_devices(function: Any, arguments: list[np.ndarray], *, strict: bool = False) -> Stages:
    return stages_of(function, arguments, strict=strict, devices=True)


def parts_of(stages: Stages) -> tuple[PartitionedRegion, ...]:
    assert stages.partitioned is not None
    return stages.partitioned.parts


def code_of(part: PartitionedRegion) -> RegionCode:
    (code,) = part.program.regions
    return code


def check(stages: Stages, arguments: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Every number of splits at several ratios, with tiles that divide nothing."""
    interpreter = Interpreter(stages.source)
    execution = interpreter.execution()
    splits = interpreter.module["PARTITIONED"].splits
    for split in range(splits + 1):
        for ratio in (0.0, 0.4, 0.73, 1.0):
            for tile in (3, 8):
                values = [_copy(value) for value in arguments]
                choice = {"version": "partitioned", "split": split} | {f"tile_{member}": tile for member in range(3)}
                choice |= {f"ratio_{member}": ratio for member in range(split)}
                for partition in range(2**split):
                    choice |= {f"platform_{partition}": "cpu", f"threads_{partition}": 2}
                plan = execution.prepare(choice)
                interpreter.run_partitioned(execution, plan, values, seed=split)
                for found, wanted in zip(values, expected, strict=True):
                    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=str(choice))


def _copy(array: np.ndarray) -> np.ndarray:
    """The same values with the same strides."""
    base = np.empty_like(array if array.flags.forc else np.ascontiguousarray(array))
    base[...] = array
    return base if array.flags.forc else np.repeat(base, 2, axis=-1)[..., ::2]


def matrices(*shapes: tuple[int, int], dtype: Any = np.float64, order: Any = "C") -> list[np.ndarray]:
    generator = np.random.default_rng(7)
    return [np.asarray(generator.integers(-8, 9, shape) / 4, dtype, order) for shape in shapes]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("shape", [(13, 11, 9), (1, 1, 1), (2, 17, 1), (5, 0, 3), (4, 3, 0)])
def test_product_of_any_shape_and_type(dtype: Any, shape: tuple[int, int, int]) -> None:
    rows, columns, inner = shape
    C, A, B = matrices((rows, columns), (rows, inner), (inner, columns), dtype=dtype)
    check(parts_for_devices(product, [C, A, B]), [C, A, B], [A @ B, A, B])


def test_product_keeps_its_sums_in_registers() -> None:
    stages = parts_for_devices(product, matrices((4, 4), (4, 4), (4, 4)))
    assert [part.program.has_vectors for part in parts_of(stages)] == [False, True]


@pytest.mark.parametrize("order", ["F", "strided"])
def test_product_in_other_orders_of_memory(order: str) -> None:
    arguments = matrices((7, 9), (7, 5), (5, 9), order="C" if order == "strided" else order)
    if order == "strided":
        arguments = [np.repeat(array, 2, axis=-1)[..., ::2] for array in arguments]
    _, A, B = arguments
    check(parts_for_devices(product, arguments), arguments, [A @ B, A, B])


def test_triangle() -> None:
    C, A = matrices((9, 9), (9, 6))
    expected = C + np.tril(A @ A.T)
    stages = parts_for_devices(triangle, [C, A])
    assert any(part.program.has_vectors for part in parts_of(stages))
    check(stages, [C, A], [expected, A])


def test_sums_that_are_split_themselves() -> None:
    """The upper side of a split sum works on a copy of what it adds up."""
    A = matrices((10, 13))[0]
    x, y = np.arange(10.0), np.arange(13.0)
    stages = parts_for_devices(both_ways, [x, y, A])
    assert any(split.reductions for part in parts_of(stages) for split in part.splits)
    assert any(part.program.has_vectors for part in parts_of(stages))
    check(stages, [x, y, A], [x + A.sum(axis=1), y + A.sum(axis=0), A])


def test_strict_kernel_keeps_the_order_of_its_sums() -> None:
    C, A, B = matrices((6, 7), (6, 5), (5, 7))
    rng = np.random.default_rng(1)
    A[...], B[...] = rng.random(A.shape), rng.random(B.shape)
    expected = [value.copy() for value in (C, A, B)]
    product(*expected)
    stages = parts_for_devices(product, [C, A, B], strict=True)
    interpreter = Interpreter(stages.source)
    execution = interpreter.execution()
    choice = {"version": "partitioned", "split": 1, "ratio_0": 0.5, "platform_0": "cpu", "platform_1": "cpu"}
    interpreter.run_partitioned(execution, execution.prepare({**choice, "tile_0": 4, "tile_1": 4}), [C, A, B], seed=0)
    assert np.array_equal(C, expected[0])


def test_only_the_work_within_a_tile_is_another() -> None:
    """Ranges, windows and what is private are those of the plan that devices have."""
    stages = parts_for_devices(product, matrices((4, 4), (4, 4), (4, 4)))
    plan = stages.device_plan
    assert plan is not None
    for region, part in zip(plan.regions, parts_of(stages), strict=True):
        code = code_of(part)
        assert (code.shared, len(code.windows), code.private) == (region.shared, region.depth, region.private)
