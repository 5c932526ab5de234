"""The version that is shared with devices as text, for ``polytune inspect``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, assert_never

from polytune.codegen.device.kernel import shared_memory_text
from polytune.codegen.loops import Block, Compute, For, If, Let, Node, Prefetch, RegionCall, Store
from polytune.codegen.partitioned import PartitionedProgram, PartitionedRegion
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.transfers import Box, Rows, SubscriptRange
from polytune.errors import PolytuneError
from polytune.frontend.expression import Assign, Element, Expression, Iterator, walk
from polytune.frontend.generated_names import without_marks
from polytune.frontend.scop import Scop
from polytune.records import dataclass
from polytune.runtime.devices.backends import PRELUDES
from polytune.runtime.partitioned.choices import CHOICES, traits_of
from polytune.runtime.partitioned.description import DeviceCode
from polytune.runtime.partitioned.launches import shape_of, text_of
from polytune.runtime.partitioned.pieces import ALIKE, APART, CPU, OWN, SHARED
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.analysis.loop_report import obstacle_text, report_loops
from polytune.schedule.platforms.partition import obstacle_to_devices, partition, splits_of
from polytune.schedule.regions import Plan
from polytune.schedule.unions import sets_of
from polytune.show import show_tree


@dataclass(frozen=True)
class DeviceView:
    """The part of the device version that is shown.

    Attributes:
        region: the only region; None for all.
        choices: parameters of a partition, without its number: ``{"block": 128, "shared": False}``.
    """

    region: int | None = None
    choices: Mapping[str, Any] = field(default_factory=dict)


def reason_for_processor_only(dependences: Dependences, given_up: Sequence[str], *, is_parallel: bool) -> str:
    """Return why nothing of a kernel can run on a device, a sentence that names a loop and what stands in its way.

    Args:
        dependences: the kernel's.
        given_up: the schedules on which isl gave up.
        is_parallel: whether there is a schedule for devices, for which no code could be made.
    """
    name = dependences.scop.name
    found = obstacle_to_devices(dependences.scop)
    if found is not None:
        return f"{name} runs on the CPU only: {found[0]} has {found[1]}"
    if is_parallel:
        return f"{name} runs on the CPU only: isl could not generate code for devices within its budget"
    reason = _obstacle(dependences)
    if given_up:
        reason += f"; isl gave up on other schedules within its budget: {', '.join(given_up)}"
    return f"{name} runs on the CPU only: {reason}"


def _obstacle(dependences: Dependences) -> str:
    # An inner loop's obstacles say most: outer loops are held up by them too.
    for report in reversed(report_loops(dependences)):
        loop = report.loop
        where = f"the loop over {loop.variable} at {loop.location}"
        if report.parallel is None:
            return f"isl gave up on the dependences between the iterations of {where}"
        if report.obstacles:
            obstacle = obstacle_text(report.obstacles[0], dependences.scop)
            return f"no schedule found has independent iterations; in {where}, {obstacle}"
    return "no schedule found has independent iterations"


def show_partition(plan: Plan, view: DeviceView) -> str:
    """The schedule tree that each region leads to when as many members are split as may be: the set node's children are
    the partitions."""
    lines = []
    for region in plan.regions:
        if view.region in (None, region.index):
            splits = splits_of(plan, region)
            where = _place([part.get_tuple_name() for part in sets_of(region.domain)], plan.dependences.scop)
            if not splits:
                lines.append(f"region {region.index}, {where}: not split, for the CPU")
                continue
            names = " and ".join(f"R{number}" for number in range(len(splits)))
            copied = [f"{array} ({operator})" for split in splits for array, operator in split.reductions]
            then = f", which combine their copies of {', '.join(copied)}" if copied else ""
            lines.append(f"region {region.index}, {where}: split at {names} into {2 ** len(splits)} partitions{then}")
            lines.append(show_tree(partition(plan, region, splits)))
    return "\n".join(lines)


def show_device_code(dialect: str, plan: Plan, program: PartitionedProgram, view: DeviceView) -> str:
    """The text that a device compiler is given, with a kernel for each region; it compiles as it is.

    Args:
        dialect: the kind of a backend, such as ``cuda``.
        plan: the version's plan.
        program: the version.
        view: which region, and the choices that become macros.

    Raises:
        PolytuneError: the region that is asked for does not run on devices.
    """
    scop = plan.dependences.scop
    texts: list[str] = []
    for number, part in _chosen(program, view):
        code = device_code(number, part, scop)
        if code is not None:
            choices = {f"{name}_0": value for name, value in view.choices.items()}
            where = _place([part.get_tuple_name() for part in sets_of(plan.regions[number].domain)], scop)
            text = text_of(code, shape_of(code, choices, 0), follows=bool(texts)).rstrip("\n")
            texts.append(f"/* region {number}, {where} */\n{text}")
        elif view.region is not None:
            raise PolytuneError(f"region {number} of {scop.name} is serial and runs on the CPU; {_mapped(program)}")
    return "\n\n".join([PRELUDES[dialect].rstrip("\n"), *texts]) if texts else ""


def device_code(number: int, part: PartitionedRegion, scop: Scop) -> DeviceCode | None:
    """Return a region's kernel as the run time has it; None where the region does not run on devices.

    Args:
        number: the region's.
        part: the region, as it was generated.
        scop: the kernel that it is a part of.
    """
    kernel, arguments = part.kernel, part.arguments
    if kernel is None or arguments is None:
        return None
    return DeviceCode(
        name=f"region_{number}",
        text=part.text,
        arrays=tuple(arguments.arrays),
        private=tuple(arguments.private),
        extents=tuple(arguments.extents),
        scalars=tuple((name, scop.signature[name].dtype) for name in arguments.scalars),
        positions=part.positions,
        sequential=kernel.sequential,
        shared_memory=shared_memory_text(kernel, scop),
    )


def show_transfers(program: PartitionedProgram, view: DeviceView) -> str:
    """The elements that a part of each region reads and writes, as ranges of the subscripts, ``start:stop:step``."""
    writer = SourceWriter()
    for number, part in _chosen(program, view):
        around = f", in each iteration of {', '.join(part.outer)}" if part.outer else ""
        with writer.indented(f"region {number}{around}:"):
            for (lower, upper), member in zip(part.limits, part.members, strict=False):
                whole = f"{_text(member.lower)} to {_text(member.upper)}"
                writer.line(f"a part has {lower} <= member < {upper}, within {whole}")
            for heading, boxes in (("reads", part.transfers.reads), ("writes", part.transfers.writes)):
                if not boxes:
                    writer.line(f"{heading}: nothing")
                    continue
                with writer.indented(f"{heading}:"):
                    _write_boxes(writer, boxes)
    return without_marks(writer.text()).rstrip("\n")


def _write_boxes(writer: SourceWriter, boxes: Sequence[Box | Rows]) -> None:
    for part in boxes:
        match part:
            case Box(array, condition, axes):
                when = _text(condition)
                writer.line(f"{array}[{_ranges(axes)}]" + ("" if when in ("1", "True") else f" if {when}"))
            case Rows(array, loops):
                _write_rows(writer, array, loops)


def _write_rows(writer: SourceWriter, array: str, node: Node) -> None:
    match node:
        case Block(children):
            for child in children:
                _write_rows(writer, array, child)
        case If(condition, then, otherwise):
            with writer.indented(f"if {_text(condition)}:"):
                _write_rows(writer, array, then)
            if otherwise is not None:
                with writer.indented("else:"):
                    _write_rows(writer, array, otherwise)
        case For(variable, start, stop, step, Compute(operations=(Assign(target),))) if _is_last(variable, target):
            places = [
                *(_text(subscript) for subscript in target.subscripts[:-1]),
                _ranges([SubscriptRange(start, stop, step)]),
            ]
            writer.line(f"{array}[{', '.join(places)}]")
        case For(variable, start, stop, step, body):
            with writer.indented(f"for {variable} in {_ranges([SubscriptRange(start, stop, step)])}:"):
                _write_rows(writer, array, body)
        case Compute(operations=(Assign(target),)):
            writer.line(f"{array}[{', '.join(_text(subscript) for subscript in target.subscripts)}]")
        case Compute() | Let() | Store() | Prefetch() | RegionCall():
            raise AssertionError(f"what is transferred has no {type(node).__name__}")
        case _:
            assert_never(node)


def _is_last(variable: str, target: Element) -> bool:
    """Return whether a loop variable is the last subscript of an element, and occurs in no other."""
    *others, last = target.subscripts
    return last == Iterator(variable) and not any(Iterator(variable) in walk(subscript) for subscript in others)


def _ranges(axes: Sequence[SubscriptRange]) -> str:
    ranges = [f"{_text(axis.start)}:{_text(axis.stop)}" + (f":{axis.step}" if axis.step != 1 else "") for axis in axes]
    return ", ".join(ranges) or "the scalar"


def show_device_space(program: PartitionedProgram) -> str:
    """Return what devices add to the choices, a parameter a line."""
    parts = [part for part in program.parts if part.kernel is not None]
    splits = max(len(part.splits) for part in parts)
    kernels = [part.kernel for part in parts if part.kernel is not None]
    traits = traits_of(
        tiled=any(kernel.axes > 1 for kernel in kernels),
        shares=any(kernel.shared for kernel in kernels),
        sequential=any(kernel.sequential for kernel in kernels),
    )
    return "\n".join(
        [
            "where there are devices, version may also be partitioned, and then:",
            f"split: one of {', '.join(map(str, range(splits + 1)))}; 2^split partitions",
            *(f"ratio_{d}: from 0 to 1, when split is {d + 1} or more" for d in range(splits)),
            *_regions_apart(program, splits),
            f"and for each partition, from 0 to {2**splits - 1}:",
            "  platform: cpu, or one of the devices",
            "  threads: from 1 to the number of cores, when platform is cpu",
            "and when platform is a device:",
            *(f"  {choice}" for choice in CHOICES if choice.exists(traits)),
            "what a block needs of threads and shared memory must not be more than its device has",
        ]
    )


def _regions_apart(program: PartitionedProgram, splits: int) -> list[str]:
    """The parameters of regions that are divided each in its way; none where devices can run one alone."""
    numbers = [number for number, part in enumerate(program.parts) if part.kernel is not None]
    if len(numbers) < 2:
        return []
    listed = ", ".join(map(str, numbers))
    return [
        f"regions: one of {ALIKE}, {APART}; and when that is {APART}, for each of the regions {listed}:",
        f"  region: one of {SHARED}, {OWN}, {CPU}; and when that is {OWN}:",
        *(f"    ratio_{d}: from 0 to 1, when split is {d + 1} or more" for d in range(splits)),
        "    threads of each partition: from 1 to the number of cores, when its platform is cpu",
    ]


def _chosen(program: PartitionedProgram, view: DeviceView) -> list[tuple[int, PartitionedRegion]]:
    """The regions that a view shows.

    Raises:
        PolytuneError: there is no such region.
    """
    count = len(program.parts)
    if view.region is not None and not 0 <= view.region < count:
        raise PolytuneError(f"there is no region {view.region}; there are {count}, from 0")
    return [(number, part) for number, part in enumerate(program.parts) if view.region in (None, number)]


def _mapped(program: PartitionedProgram) -> str:
    numbers = [str(number) for number, part in enumerate(program.parts) if part.kernel is not None]
    return f"on devices run {', '.join(numbers)}"


def _place(statements: Sequence[str], scop: Scop) -> str:
    """The source lines of statements, by their names."""
    lines = sorted({scop.statement(name).location.line for name in statements})
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


def _text(expression: Expression) -> str:
    return expression_text(expression, compiled=False)
