"""The version that is shared among platforms, held against the source; and found to be wrong where it is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polytune.codegen.device.kernel import DeviceKernel
from polytune.codegen.loops import Block, For, Node
from polytune.codegen.partitioned import PartitionedProgram, PartitionedRegion
from polytune.codegen.transfers import Box, SubscriptRange
from polytune.codegen.transform import Target
from polytune.frontend.expression import Binary, Constant, Expression
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from tests.schedule.kernels import SMALL, matrix, polybench_case
from tests.validation.reference import execute_source
from tests.validation.validate import validate, validate_partitioned

CUTS = 12
"""The number of ways in which regions are divided."""

KERNELS = (
    "product_of_sums",
    "row_buffer",
    "reductions",
    "may_write",
    "guarded",
    "gemm",
    "atax",
    "syr2k",
    "lu",
)


def case_of(name: str) -> Any:
    return SMALL.get(name) or polybench_case(name)


def faults(stages: Stages, arguments: dict[str, Any], partitioned: PartitionedProgram) -> list[str]:
    """What is wrong with a version, for several ways to divide its regions."""
    reference, found = execute_source(stages.scop, arguments, seed=1), []
    for seed in range(CUTS):
        try:
            validate_partitioned(partitioned, stages, reference, seed)
        except AssertionError as error:
            found.append(str(error))
    return found


def program_of(name: str) -> tuple[Stages, dict[str, Any], PartitionedProgram]:
    case = case_of(name)
    stages = replace(case.stages, target=Target(16, 8))
    assert stages.partitioned is not None
    return stages, case.arguments(), stages.partitioned


def broken(name: str, number: int, change: Callable[[PartitionedRegion], PartitionedRegion]) -> list[str]:
    stages, arguments, program = program_of(name)
    parts = program.parts
    changed = replace(program, parts=(*parts[:number], change(parts[number]), *parts[number + 1 :]))
    return faults(stages, arguments, changed)


def plus(expression: Expression, value: int) -> Expression:
    return Binary("+", expression, Constant(value, "int64"), "int64")


@pytest.mark.parametrize("name", KERNELS)
def test_regions_cut_at_random(name: str) -> None:
    assert faults(*program_of(name)) == []


@pytest.mark.parametrize("which", ["reads", "writes"])
def test_box_that_is_too_small(which: str) -> None:
    def shorten(box: Any) -> Any:
        assert isinstance(box, Box)
        return replace(box, axes=(*box.axes[:-1], shortened(box.axes[-1])))

    def shortened(axis: SubscriptRange) -> SubscriptRange:
        return replace(axis, stop=plus(axis.stop, -1))

    def change(part: PartitionedRegion) -> PartitionedRegion:
        boxes = tuple(shorten(box) for box in getattr(part.transfers, which))
        return replace(part, transfers=replace(part.transfers, **{which: boxes}))

    found = broken("product_of_sums", 0, change)
    told = "elements were read that nobody had written" if which == "reads" else "whose transfers do not say so"
    assert len(found) == CUTS and sum(told in fault for fault in found) > CUTS // 2


def in_kernel(change: Callable[[DeviceKernel], DeviceKernel]) -> Callable[[PartitionedRegion], PartitionedRegion]:
    def changed(part: PartitionedRegion) -> PartitionedRegion:
        assert part.kernel is not None
        return replace(part, kernel=change(part.kernel))

    return changed


def test_registers_that_are_not_stored() -> None:
    def change(kernel: DeviceKernel) -> DeviceKernel:
        assert kernel.registers
        return replace(kernel, registers=tuple(replace(copy, store=Block(())) for copy in kernel.registers))

    found = broken("product_of_sums", 0, in_kernel(change))
    assert len(found) > 3 and all("that does not have it" in fault or "is written 0 times" in fault for fault in found)


def test_copy_in_shared_memory_from_elsewhere() -> None:
    def change(kernel: DeviceKernel) -> DeviceKernel:
        assert kernel.shared
        copy = kernel.shared[0]
        (name, origin), *others = copy.origins
        return replace(kernel, shared=(replace(copy, origins=((name, plus(origin, 1)), *others)), *kernel.shared[1:]))

    stages, _, program = program_of("syr2k")
    number = next(number for number, part in enumerate(program.parts) if part.kernel is not None and part.kernel.shared)
    found = broken("syr2k", number, in_kernel(change))
    assert stages.scop.name == "syr2k" and len(found) > 2


def test_point_that_threads_leave_out() -> None:
    """What stands in a loop over a mapped member is done for one value too few."""

    def shorter(node: Node, mapped: tuple[str, ...]) -> Node:
        if isinstance(node, For) and node.variable in mapped:
            return replace(node, stop=plus(node.stop, -1))
        if isinstance(node, For):
            return replace(node, body=shorter(node.body, mapped))
        return (
            replace(node, children=tuple(shorter(c, mapped) for c in node.children))
            if isinstance(node, Block)
            else node
        )

    def change(kernel: DeviceKernel) -> DeviceKernel:
        bodies = {
            "body": shorter(kernel.body, kernel.mapped),
            "shared_body": shorter(kernel.shared_body, kernel.mapped),
        }
        return replace(kernel, **bodies)  # type: ignore[arg-type]

    found = broken("transposed_copy", 0, in_kernel(change))
    assert len(found) > CUTS // 2


def test_private_copy_of_a_thread() -> None:
    def change(kernel: DeviceKernel) -> DeviceKernel:
        assert kernel.private == {"row"}
        return replace(kernel, private=frozenset())

    found = broken("row_buffer", 0, in_kernel(change))
    assert found and any("a race: row[" in fault for fault in found)


def test_elements_that_keep_their_values() -> None:
    """They are held in registers, and stored as they were."""

    def same(A, B):
        for i in range(A.shape[0]):
            A[i, i] = A[i, i]
            for _j in range(3):
                B[i] += 0.0

    arguments = {"A": matrix(7, 7), "B": matrix(7)}
    stages = Stages(same, signature_of(tuple(arguments), tuple(arguments.values())), target=Target(16, 8))
    assert stages.partitioned is not None and faults(stages, arguments, stages.partitioned) == []
    assert "partitioned" in validate(stages, arguments, partitioned=True).versions
