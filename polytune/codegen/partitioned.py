"""The version of a kernel that is shared among platforms: its regions one by one, each for any part of its band.

The loops around the regions run in Python; a region's part is a compiled function for the processor, a kernel for a
device, and two lists of boxes, what has to be there before and what is new afterwards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import islpy as isl

from polytune.codegen.device.kernel import DeviceKernel, generate_kernel, shared_memory_text
from polytune.codegen.device.kernel_source import KernelArguments, kernel_arguments, kernel_text
from polytune.codegen.loops import (
    Block,
    Compute,
    For,
    If,
    Let,
    Node,
    Prefetch,
    Program,
    RegionCall,
    RegionCode,
    Store,
    TiledMember,
)
from polytune.codegen.programs import generate_program
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.registers.tiles import tile_registers
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.storage import used_in
from polytune.codegen.transfers import RegionTransfers, find_transfers, write_transfers
from polytune.codegen.transform import Target
from polytune.frontend.expression import Iterator
from polytune.frontend.generated_names import MARK
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass
from polytune.schedule.counting.counts import Counts, compute_volume, memory_footprint
from polytune.schedule.counting.quasi_polynomial import PiecewiseQuasiPolynomial
from polytune.schedule.plan_transform import PARTITIONED
from polytune.schedule.platforms.mapping import map_region
from polytune.schedule.platforms.partition import Split, splits_of
from polytune.schedule.recipe import Recipe, RecipePart
from polytune.schedule.regions import Plan, Region
from polytune.schedule.unions import maps_of


@dataclass(frozen=True)
class PartitionedRegion:
    """One region of the partitioned version.

    Attributes:
        program: the code of a part for the processor.
        outer: names of the loop variables around the region.
        members: the ranges of all members of its band.
        splits: the members that may be split, the first ones of the band.
        limits: per member that is shared or may be split the names of a part's lower and upper bound in ``transfers``.
        transfers: what a part reads and writes.
        kernel: the code of a part for a device, None where the region has no coincident member.
        arguments: what the kernel is launched with.
        positions: which members of the region's band the kernel's are.
        text: the kernel's text.
        sums: the arrays, each with its operator, that a part adds up in copies of its own all along.
        own: the arrays in memory that a part works in, and of which nothing is needed before or after it.
        counts: what all its executions compute and touch; None where it is the only region that devices can run.
    """

    program: Program
    outer: tuple[str, ...]
    members: tuple[TiledMember, ...]
    splits: tuple[Split, ...]
    limits: tuple[tuple[str, str], ...]
    transfers: RegionTransfers
    kernel: DeviceKernel | None
    arguments: KernelArguments | None
    positions: tuple[int, ...]
    text: str
    sums: tuple[tuple[str, str], ...] = ()
    own: tuple[str, ...] = ()
    counts: Counts | None = None


@dataclass(frozen=True)
class PartitionedProgram:
    """The partitioned version: the loops around the regions, and the regions."""

    recipe: Recipe
    skeleton: Node
    parts: tuple[PartitionedRegion, ...]

    @property
    def part_words(self) -> int:
        """Return how many integers say at most which part of a region is meant."""
        return max((len(part.program.part) for part in self.parts), default=0)


def generate_partitioned(
    plan: Plan,
    scop: Scop,
    target: Target,
    accumulating: Program | None = None,
    *,
    for_devices: bool = True,
    in_windows: bool = False,
) -> PartitionedProgram:
    """The partitioned version of a plan without wavefronts.

    Args:
        plan: the plan.
        scop: its kernel.
        target: the processor's registers.
        accumulating: the program of the same schedule with the points of its tiles in the order that accumulates; None
            where there is no such order.
        for_devices: whether regions are to have kernels for devices.
        in_windows: whether these are given boxes of arrays, as shards are.
    """
    program = generate_program(plan, scop)
    codes = _with_registers(program, accumulating, scop, target)
    parts = []
    # What workers add up in copies of their own, a device's threads would add up in one place.
    mappings = [map_region(plan, region) if for_devices and not region.sums else None for region in plan.regions]
    are_several = sum(mapping is not None for mapping in mappings) > 1
    for region, code, mapping in zip(plan.regions, codes, mappings, strict=True):
        kernel = None if mapping is None else generate_kernel(mapping, scop)
        splits = splits_of(plan, region)
        limits = code.windows[: max(region.shared, len(splits))]
        of_region = RecipePart(
            name=f"{PARTITIONED.name}_{region.index}", meaning="", includes=plan.recipe.parts, is_of_loops=True
        )
        transfers = find_transfers(region, code, len(limits), scop)
        parts.append(
            PartitionedRegion(
                _part_program(plan.recipe.then(of_region), code, len(limits)),
                code.outer,
                code.members,
                splits,
                limits,
                transfers,
                kernel,
                None if kernel is None else kernel_arguments(kernel, scop, in_windows=in_windows),
                () if mapping is None else mapping.positions,
                "" if kernel is None else kernel_text(kernel, scop, f"region_{region.index}", in_windows=in_windows),
                tuple((each.array, each.operator) for each in code.sums),
                _own_memory(code, transfers),
                _counts(region, scop) if are_several and kernel is not None else None,
            )
        )
    return PartitionedProgram(plan.recipe, program.skeleton, tuple(parts))


def _counts(region: Region, scop: Scop) -> Counts:
    """The counts of a region without reuse, of all its executions together; scalars live in registers."""
    accesses = [
        access.relation
        for statement in scop.statements
        for access in statement.accesses
        if scop.array(access.array).role is not ArrayRole.SCALAR
    ]
    domains = region.domain.intersect_params(scop.context)
    parts = [part for access in accesses for part in maps_of(isl.UnionMap(access).intersect_domain(domains))]
    return Counts(compute_volume(domains, scop.context), memory_footprint(parts, scop.context))


def _own_memory(code: RegionCode, transfers: RegionTransfers) -> tuple[str, ...]:
    """The arrays whose memory a region's code refers to though none of their elements comes in or goes out."""
    moved = {box.array for box in (*transfers.reads, *transfers.writes)}
    variables = code.local if code.kind == "serial" else code.private
    return tuple(sorted(used_in(code.body).elements - moved - variables))


def _with_registers(
    program: Program, accumulating: Program | None, scop: Scop, target: Target
) -> tuple[RegionCode, ...]:
    """The regions of a program, those with register tiles in which something can be kept in registers.

    Both programs are of one schedule, and so have the same regions, whose tiles differ in the order of their points
    alone: that of the members of a permutable band.  So any region may have the order that suits it, and any part of
    it, since what bounds a part bounds whole tiles.
    """
    codes = list(program.regions)
    for ordered, accumulations in ((program, False), (accumulating, True)):
        tiled = None if ordered is None else tile_registers(ordered, scop, target, accumulations=accumulations)
        if ordered is None or tiled is None or len(tiled.regions) != len(codes):
            continue
        for number, (before, after) in enumerate(zip(ordered.regions, tiled.regions, strict=True)):
            same_tiles = replace(before, body=program.regions[number].body) == program.regions[number]
            if after != before and same_tiles:
                codes[number] = after
    return tuple(codes)


def _part_program(recipe: Recipe, code: RegionCode, limited: int) -> Program:
    """A region as a program of its own: the first members run between given limits."""
    limits = tuple((f"{MARK}from_{member}", f"{MARK}to_{member}") for member in range(limited))
    members = tuple(
        TiledMember(Iterator(limits[number][0]), Iterator(limits[number][1])) if number < limited else member
        for number, member in enumerate(code.members)
    )
    region = replace(code, index=0, members=members)
    call = RegionCall(0, tuple(Iterator(variable) for variable in code.outer))
    part = (*code.outer, *(name for pair in limits for name in pair))
    return Program(recipe, call, (region,), code.kind != "serial", (False,) * len(members), part)


def write_partitioned(writer: SourceWriter, program: PartitionedProgram, scop: Scop) -> None:
    """Write the functions and the table ``PARTITIONED`` that ``polytune.runtime.partitioned`` runs.

    Args:
        writer: where the module is written.
        program: the version that is shared among platforms.
        scop: its kernel.
    """
    parameters = [parameter.name for parameter in scop.parameters]
    with writer.indented(f"def {MARK}steps({', '.join(parameters)}):"):
        writer.line('"""The regions in order, each with the values of the loops around it."""')
        _write_steps(writer, program.skeleton)
        writer.line("yield from ()")
    writer.line()
    writer.line()
    for number, part in enumerate(program.parts):
        around = [*parameters, *part.outer]
        with writer.indented(f"def {MARK}ranges_{number}({', '.join(around)}):"):
            pairs = [
                f"({expression_text(m.lower, compiled=False)}, {expression_text(m.upper, compiled=False)})"
                for m in part.members
            ]
            writer.line(f"return ({''.join(f'{pair}, ' for pair in pairs)})")
        writer.line()
        writer.line()
        limits = [name for pair in part.limits for name in pair]
        write_transfers(writer, f"{MARK}reads_{number}", [*around, *limits], part.transfers.reads)
        write_transfers(writer, f"{MARK}writes_{number}", [*around, *limits], part.transfers.writes)
        for name, count in _counted(part):
            for line in count.python(f"{MARK}{name}_{number}").splitlines():
                writer.line(line)
            writer.line()
            writer.line()
    with writer.indented("PARTITIONED = Partitioned("):
        writer.line(f"steps={MARK}steps,")
        writer.line(f"part_words={program.part_words},")
        with writer.indented("parts=("):
            for number, part in enumerate(program.parts):
                _write_part(writer, number, part, scop)
        writer.line("),")
    writer.line(")")
    writer.line()
    writer.line()


def _counted(part: PartitionedRegion) -> list[tuple[str, PiecewiseQuasiPolynomial]]:
    """The counts of a region that are known, by name."""
    if part.counts is None:
        return []
    named = (("compute", part.counts.compute), ("memory", part.counts.memory))
    return [(name, count) for name, count in named if count is not None]


def _write_part(writer: SourceWriter, number: int, part: PartitionedRegion, scop: Scop) -> None:
    with writer.indented("Part("):
        version = part.program
        writer.line(f"run={MARK}run_{version.name},")
        writer.line(f"team={version.team},")
        writer.line(f"tiles={len(version.tiles)},")
        writer.line(f"splits={len(part.splits)},")
        if any(split.reductions for split in part.splits):
            writer.line(f"reductions={tuple(split.reductions for split in part.splits)!r},")
        writer.line(f"shared={len(part.limits)},")
        if part.own:
            writer.line(f"own={part.own!r},")
        if part.sums:
            writer.line(f"sums={part.sums!r},")
        writer.line(f"ranges={MARK}ranges_{number},")
        writer.line(f"reads={MARK}reads_{number},")
        writer.line(f"writes={MARK}writes_{number},")
        for name, _ in _counted(part):
            writer.line(f"{name}={MARK}{name}_{number},")
        if part.kernel is not None and part.arguments is not None:
            arguments = part.arguments
            with writer.indented("device=DeviceCode("):
                writer.line(f"name='region_{number}',")
                writer.line(f"arrays={arguments.arrays!r},")
                writer.line(f"private={arguments.private!r},")
                writer.line(f"extents={arguments.extents!r},")
                if arguments.origins:
                    writer.line(f"origins={arguments.origins!r},")
                scalars = tuple((name, scop.signature[name].dtype) for name in arguments.scalars)
                writer.line(f"scalars={scalars!r},")
                writer.line(f"positions={part.positions!r},")
                writer.line(f"sequential={part.kernel.sequential},")
                writer.line(f"shared_memory={shared_memory_text(part.kernel, scop)!r},")
                writer.line('text=r"""')
        if part.kernel is not None:
            writer.verbatim(part.text)
            writer.line('""",')
            writer.line("),")
    writer.line("),")


def _write_steps(writer: SourceWriter, node: Node) -> None:
    match node:
        case Block(children):
            for child in children:
                _write_steps(writer, child)
        case For(variable, start, stop, step, body):
            bounds = [expression_text(start, compiled=False), expression_text(stop, compiled=False)]
            with writer.indented(f"for {variable} in {MARK}range({', '.join(bounds)}, {step}):"):
                _write_steps(writer, body)
        case If(condition, then, otherwise):
            with writer.indented(f"if {expression_text(condition, compiled=False)}:"):
                _write_steps(writer, then)
            if otherwise is not None:
                with writer.indented("else:"):
                    _write_steps(writer, otherwise)
        case RegionCall(region, prefix):
            values = "".join(f"{expression_text(value, compiled=False)}, " for value in prefix)
            writer.line(f"yield {region}, ({values})")
        case Compute() | Let() | Store() | Prefetch():
            raise AssertionError(f"a skeleton has no {type(node).__name__}")
        case _:
            assert_never(node)
