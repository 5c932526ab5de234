"""The passes from a Python function to a generated module, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from types import FunctionType
from typing import Any, TypeVar

from polytune.codegen.jamming import jam_program
from polytune.codegen.loops import Program, walk_nodes
from polytune.codegen.module import write_module
from polytune.codegen.partitioned import PartitionedProgram, generate_partitioned
from polytune.codegen.programs import generate_program, with_buffers
from polytune.codegen.registers.accumulation import accumulates
from polytune.codegen.registers.tiles import packed_name, registers_name, tile_registers
from polytune.codegen.source_loops import source_program
from polytune.codegen.target import BYTES, Target
from polytune.codegen.tiles.outer import outer_tiles
from polytune.codegen.tiles.windows import Names
from polytune.codegen.vectors.abreast import run_abreast
from polytune.codegen.vectors.recurrences import scan_program
from polytune.errors import UnprovenError
from polytune.frontend import analyse
from polytune.frontend.bounds import BoundsCondition, access_bounds
from polytune.frontend.budget import ProcessorTime, within_budget
from polytune.frontend.scop import Array, Scop
from polytune.frontend.unassigned import UnassignedRead, unassigned_reads
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.instances import is_of_source
from polytune.schedule.analysis.legality import check_legality, is_proven_legal
from polytune.schedule.attempted import Attempted
from polytune.schedule.candidate import Candidate
from polytune.schedule.candidates import SUMMED, candidate_schedules
from polytune.schedule.counting.counts import Counts, count
from polytune.schedule.planning import plan_parallel, plan_serial
from polytune.schedule.platforms.on_devices import obstacle_to_devices
from polytune.schedule.platforms.partition import choose_plan, partition, splits_of
from polytune.schedule.private_sums import is_scattered, summed_by
from polytune.schedule.regions import Plan, Region, RegionKind
from polytune.schedule.rewrites.splitting import SPLIT
from polytune.schedule.rewrites.step_blocks import BLOCKED
from polytune.schedule.rewrites.transposition import TRANSPOSED
from polytune.schedule.tiles.early_updates import updates_inside
from polytune.schedule.unions import sets_of
from polytune.show import show_dependences, show_programs, show_schedules, show_scop, show_space
from polytune.show_c import show_c
from polytune.show_devices import (
    View,
    reason_for_processor_only,
    show_device_code,
    show_device_space,
    show_partition,
    show_transfers,
)
from polytune.signature import Signature

OPERATIONS = 4_000_000
"""isl's budget for the loops of one version, in its own basic operations (a second or two)."""

SECONDS = 7.0
"""The processor time that all versions of a kernel have together: what is not made by then is left out.  Schedules may
use half of it, plans three quarters, so that there is time to generate what was found.  A first call takes up to two
seconds more, for the phase that was at work when the time ended, and for Numba."""

FIRST_CALL = 10.0
"""The processor time that a first call may take in all, in seconds."""

NODES_A_SECOND = 75
"""How many nodes of the loop IR Numba and LLVM compile in a second.  Measured over all versions of nine kernels of
PolyBench: 60 to 180 for versions of more than 100 nodes, the fewest of them for the largest versions."""


Result = TypeVar("Result")


def _timed(share: float = 1.0) -> Callable[[Callable[[Stages], Result]], Callable[[Stages], Result]]:
    """Make a stage one that takes of its kernel's processor time, until so large a part of that has been used."""

    def timed(stage: Callable[[Stages], Result]) -> Callable[[Stages], Result]:
        @wraps(stage)
        def run(stages: Stages) -> Result:
            with stages.time.running(share):
                return stage(stages)

        return run

    return timed


@dataclass(frozen=True)
class Stages:
    """Everything between a function and its generated module; each stage is computed when it is first asked for.

    ``devices`` says whether the module is to have a version for devices, ``target`` what processor it is for, ``time``
    how much processor time is left for versions that can be done without.
    """

    function: FunctionType
    signature: Signature
    strict: bool = False
    devices: bool = False
    target: Target = field(default_factory=Target)
    time: ProcessorTime = field(default_factory=lambda: ProcessorTime(SECONDS), repr=False, compare=False)

    @cached_property
    @_timed()
    def scop(self) -> Scop:
        """The kernel in the polyhedral model."""
        return analyse(self.function, self.signature, strict=self.strict)

    @cached_property
    @_timed()
    def bounds(self) -> tuple[BoundsCondition, ...]:
        """For which parameters an access leaves its array."""
        return access_bounds(self.scop)

    @cached_property
    @_timed()
    def unassigned(self) -> tuple[UnassignedRead, ...]:
        """For which parameters a variable is read that nothing has assigned."""
        return unassigned_reads(self.scop)

    @cached_property
    @_timed()
    def dependences(self) -> Dependences:
        """What must come before what."""
        return compute_dependences(self.scop)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Candidate schedules, each proven legal."""
        return self._scheduled.made

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """How each candidate is shared out among workers, the most promising first."""
        return order_plans(self._planned.made)

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """The versions in the loop IR, without repetitions."""
        return self._generated.made

    @property
    def given_up(self) -> tuple[str, ...]:
        """The versions that are missing because isl found nothing within its budget, a sentence each."""
        return (
            *(
                f"{name}: isl found no schedule that is proven legal within its budget"
                for name in self._scheduled.given_up
            ),
            *(f"{name}: isl could not analyse the loops within its budget" for name in self._planned.given_up),
            *(
                f"{name}: isl could not generate loops that are proven complete within its budget"
                for name in self._generated.given_up
            ),
        )

    @cached_property
    @_timed(0.5)
    def _scheduled(self) -> Attempted[Candidate]:
        found = candidate_schedules(self.scop, self.dependences)
        source, *others = found.made
        # The source order is legal, and complete, whether or not isl can prove it in time.
        check_legality(source)
        proven = {candidate.name: is_of_source(candidate) and check_legality(candidate) for candidate in others}
        return Attempted(
            (source, *(candidate for candidate in others if proven[candidate.name])),
            (*found.given_up, *(name for name, is_proven in proven.items() if not is_proven)),
        )

    @cached_property
    @_timed(0.75)
    def _planned(self) -> Attempted[Plan]:
        return make_plans(self.candidates)

    @cached_property
    @_timed()
    def _generated(self) -> Attempted[Program]:
        made = make_programs(self.plans, self.target)
        return replace(made, made=compiled_in_time(made.made, FIRST_CALL - self.time.used))

    @cached_property
    @_timed()
    def partitioned(self) -> PartitionedProgram | None:
        """The version that is shared among the processor and devices; None where nothing can run on a device."""
        plan = self.device_plan
        if plan is None:
            return None
        candidate = next(candidate for candidate in self.candidates if candidate.name == plan.name)
        return make_partitioned(plan, candidate, self.scop, self.target)

    @cached_property
    @_timed()
    def device_plan(self) -> Plan | None:
        """The plan that suits devices best; None where no schedule has a coincident band."""
        return next(iter(self._chosen.made), None)

    @cached_property
    @_timed()
    def _chosen(self) -> Attempted[Plan]:
        if obstacle_to_devices(self.scop) is not None:
            return Attempted((), ())
        return choose_plan(self.candidates)

    @cached_property
    @_timed()
    def counts(self) -> Counts:
        """Compute, memory and reuse as functions of the parameters.

        Raises:
            MissingLibraryError: sympy is not installed.
        """
        return count(self.scop)

    @cached_property
    @_timed()
    def source(self) -> str:
        """The text of the generated module."""
        # What no version can do without comes first: isl gives up on the rest when the time is used up.
        _ = self.bounds, self.unassigned, self.dependences
        partitioned = self.partitioned if self.devices else None
        scop = replace(self.scop, arrays=all_arrays(self.plans))
        # Rules ask for counts where devices or outer tiles are to choose from.
        asked = self.devices or any(program.outer for program in self.programs)
        counts = self.counts if asked else Counts()
        return write_module(scop, self.programs, (*self.bounds, *self.unassigned), counts, partitioned)

    def show(self, what: str, view: View | None = None) -> str:
        """A stage as text, for people: one of ``SHOWN``, or of ``SHOWN_OF_DEVICES``, of which a view may be given.

        Raises:
            KeyError: there is no such stage.
            PolytuneError: the view asks for a region that is not there.
        """
        if what in SHOWN:
            return SHOWN[what](self)
        show = SHOWN_OF_DEVICES[what]
        if self.device_plan is None or self.partitioned is None:
            given_up = (*self._scheduled.given_up, *self._chosen.given_up)
            return reason_for_processor_only(self.dependences, given_up, is_parallel=self.device_plan is not None)
        return show(self.device_plan, self.partitioned, view or View())


def make_plans(candidates: tuple[Candidate, ...]) -> Attempted[Plan]:
    """The source order, serial, with its own loops shared out, and with those loops innermost; other candidates with
    wavefronts and without, and one in which workers add up in copies of their own.

    What starts a region in every iteration of two nested loops or more is left out where it is not what the source
    says: workers would wait for one another far more than they work.  So is what isl takes too long to analyse, but
    never the serial source order.
    """
    source = candidates[0]
    scop = source.dependences.scop
    given_up: list[str] = []
    relaxed: Dependences | None = None

    def attempt(candidate: Candidate, name: str, **how: Any) -> list[Plan]:
        plan = plan_parallel(candidate, name=name, look_inside=candidate.name in (SPLIT, BLOCKED), **how)
        if plan is None:
            given_up.append(name)
            return []
        return [plan]

    plans = attempt(source, "parallel", wavefront=False, interchange=False)
    for plan in attempt(source, "interleaved", wavefront=False, interchange=False, interleave=True):
        if plan.interleaves and is_proven_legal(plan.schedule, source.dependences):
            plans.append(plan)
    for candidate in candidates[1:]:
        if candidate.name == SUMMED:
            found = attempt(candidate, SUMMED, wavefront=True, interchange=True, accumulate=True, sums=True)
            plans += [plan for plan in found if plan.sums and all(region.outer_depth < 2 for region in plan.regions)]
            continue
        # Blocks of steps pay by what stays in registers.
        found = [] if candidate.serial else attempt(candidate, candidate.name, wavefront=True, interchange=True)
        if any(region.kind.value == "wavefront" for plan in found for region in plan.regions):
            found += attempt(candidate, f"{candidate.name}_inner", wavefront=False, interchange=True)
        if any(accumulates(statement) for statement in scop.statements):
            name = registers_name(candidate.name)
            tiled = attempt(candidate, name, wavefront=True, interchange=True, accumulate=True)
            found += [plan for plan in tiled if plan.accumulates]
        if any(array.ndim and array.name in candidate.dependences.privatisable for array in scop.arrays):
            name = f"{candidate.name}_expanded"
            expanded = attempt(candidate, name, wavefront=True, interchange=True, expand=True)
            found += [plan for plan in expanded if plan.expands]
        own = candidate.dependences.scop
        if any(has_updates_inside(region, own) for plan in found for region in plan.regions):
            if relaxed is None or relaxed.scop is not own:
                relaxed = compute_dependences(own, relax_reductions=True, of_elements=True)
            how: dict[str, Any] = {"wavefront": True, "interchange": False, "early": relaxed}
            found += [plan for plan in attempt(candidate, early_name(candidate.name), **how) if plan.begins_early]
        plans += [plan for plan in found if all(region.outer_depth < 2 for region in plan.regions)]
    return Attempted((plan_serial(source), *(plan for plan in plans if plan.team)), tuple(given_up))


def has_updates_inside(region: Region, scop: Scop) -> bool:
    """Whether points of a wavefront have a loop inside that updates elements."""
    names = {part.get_tuple_name() for part in sets_of(region.domain)}
    return region.kind is RegionKind.WAVEFRONT and updates_inside(scop, names, region.depth) is not None


def early_name(version: str) -> str:
    """What a version is called whose rows begin with what waits for nothing in a tile."""
    return f"{version}_early"


def order_plans(plans: tuple[Plan, ...]) -> tuple[Plan, ...]:
    """Plans that start few regions, go through a matrix once, keep sums in registers and tile deeply first; the first
    one is what an untuned call runs."""

    def cost(plan: Plan) -> tuple[bool, bool, int, bool, bool, int]:
        in_registers = plan.sums or plan.accumulates or plan.expands
        return (adds_by_index(plan), not plan.team, starts_of(plan), not plan.sums, not in_registers, -plan.tile_depth)

    return tuple(sorted(plans, key=cost))


def adds_by_index(plan: Plan) -> bool:
    """Whether workers have copies to add up in through subscripts that depend on data.

    Such versions come last: a copy costs as much as the array has elements, however few are added to.
    """
    statements = plan.dependences.scop.statements
    scattered = frozenset(summed_by(statement) for statement in statements if is_scattered(statement))
    return any(scattered & region.sums for region in plan.regions)


def starts_of(plan: Plan) -> int:
    """How many regions start again and again: those inside serial loops, and by half those that go by diagonals."""
    # Blocks of steps start regions once for many iterations of the loops around them.
    blocked = plan.name == registers_name(BLOCKED)
    inside_loops = 0 if blocked else sum(region.prefix is not None for region in plan.regions)
    wavefronts = sum(region.kind.value == "wavefront" for region in plan.regions)
    return 2 * inside_loops + wavefronts


def make_programs(plans: tuple[Plan, ...], target: Target) -> Attempted[Program]:
    """The programs of plans, without repetitions: those of plans that accumulate with register tiles, the others each
    as it is, with iterations abreast, with its loops jammed, with recurrences as scans, and with register tiles of
    points that have their own variables.  The first of all is there once more with outer tiles where it may gain by
    them.

    They are in the order of the plans, but those with vectors come first, and those in which arrays lie as they are
    walked.

    Those for which isl takes too long to generate loops are left out, but never the serial source order: there is
    nothing to fall back on.
    """
    found: list[Program] = []
    starts: dict[str, int] = {}
    last: set[str] = set()
    contiguous: set[str] = set()
    given_up: list[str] = []
    for plan in plans:
        # The same memory, and so the same names, in all of them.
        scop = replace(plan.dependences.scop, arrays=all_arrays(plans))
        loop = Names().loop
        has_vectors = all(array.dtype in BYTES for array in scop.arrays)
        program = attempt_program(plan, scop)
        if program is None:
            given_up.append(plan.name)
            continue
        tiled = None
        if has_vectors and not plan.interleaves:  # whose band is not around the loops of its points
            tiled = tile_registers(program, scop, target, loop, accumulations=plan.accumulates or plan.sums)
        versions: list[Program | None]
        if plan.accumulates or plan.sums:
            packed = None
            if has_vectors:
                packed = tile_registers(program, scop, target, loop, accumulations=True, packing=True)
            # To go through a matrix once pays without vectors too.
            own = program if tiled is None and plan.sums else tiled
            versions = [own, None if packed is None else with_buffers(packed, packed_name(plan.name))]
        elif plan.expands or plan.begins_early:
            versions = [tiled or program]
        else:
            versions = [program, jam_program(program, loop)]
            if has_vectors:
                scanned = scan_program(program, scop, target)
                versions = [program, run_abreast(program, scop, target), jam_program(program, loop), scanned]
            if tiled is not None and registers_name(plan.name) not in {other.name for other in plans}:
                versions.append(replace(tiled, name=registers_name(plan.name)))
        for version in versions:
            if version is not None and not any(replace(version, name=other.name) == other for other in found):
                found.append(version)
                starts[version.name] = starts_of(plan)
                if adds_by_index(plan):
                    last.add(version.name)
                if version.has_vectors or plan.name.startswith(TRANSPOSED):
                    contiguous.add(version.name)
    # Vectors that were written rather than hoped for gain more than regions that start more often lose; and where only
    # some tiles are computed in vectors, the others take as long as all of these.
    found.sort(
        key=lambda each: (
            each.name in last,
            not each.team,
            each.name not in contiguous,
            starts[each.name],
            each.has_other_tiles,
        )
    )
    return Attempted(with_outer_tiles(found, {plan.name for plan in plans if plan.accumulates}), tuple(given_up))


def compiled_in_time(programs: tuple[Program, ...], seconds: float) -> tuple[Program, ...]:
    """Programs in their order, but first the first one of them that takes no longer than so many seconds to compile: a
    first call waits for it.  Where all of them take longer, that is the smallest one."""
    quick = [program for program in programs if size_of(program) <= seconds * NODES_A_SECOND]
    first = quick[0] if quick else min(programs, key=size_of)
    return (first, *(program for program in programs if program is not first))


def size_of(program: Program) -> int:
    """How many nodes of the loop IR the code of a program has."""
    return sum(1 for region in program.regions for _ in walk_nodes(region.body))


def attempt_program(plan: Plan, scop: Scop) -> Program | None:
    """The loop IR of a plan; None where isl gives up on it, or where it is not proven to execute each instance once.
    The serial source order then has the source's own loops."""
    try:
        generate = partial(generate_program, plan, scop)
        program = within_budget(scop.context.get_ctx(), OPERATIONS, generate, needed=not plan.team)
    except UnprovenError:
        program = None
    return source_program(plan, scop) if program is None and not plan.team else program


def with_outer_tiles(programs: Sequence[Program], accumulating: Set[str]) -> tuple[Program, ...]:
    """Programs, in the order of what they promise, the first one followed by itself with outer tiles if it gains by
    these.

    Args:
        programs: all of them.
        accumulating: the names of those that keep in registers what innermost loops update.
    """
    first, *others = programs
    nested = outer_tiles(first) if first.name in accumulating else None
    return (first, *others) if nested is None else (first, nested, *others)


def all_arrays(plans: tuple[Plan, ...]) -> tuple[Array, ...]:
    """The arrays of a kernel and those that some of its plans add to them."""
    return tuple(dict.fromkeys(array for plan in plans for array in plan.dependences.scop.arrays))


def make_partitioned(plan: Plan, candidate: Candidate, scop: Scop, target: Target) -> PartitionedProgram | None:
    """The version shared among platforms; every split is proven legal.

    The candidate is that of the plan: the processor's parts have its points in the order that keeps sums in registers,
    where there are sums.

    None where isl takes too long to generate the code.
    """
    context = scop.context.get_ctx()
    accumulating: Program | None = None
    if any(accumulates(statement) for statement in scop.statements):
        ordered = plan_parallel(candidate, wavefront=False, interchange=True, accumulate=True, name=plan.name)
        if ordered is not None and ordered.accumulates:
            accumulating = attempt_program(ordered, scop)

    def generate() -> PartitionedProgram:
        for region in plan.regions:
            splits = splits_of(plan, region)
            for depth in range(1, len(splits) + 1):
                partition(plan, region, splits[:depth])
        return generate_partitioned(plan, scop, target, accumulating)

    try:
        return within_budget(context, 4 * OPERATIONS, generate)
    except UnprovenError:
        return None


def _show_space(stages: Stages) -> str:
    """The choices there are, and those that devices add."""
    program = stages.partitioned
    own = show_space(stages.programs)
    return own if program is None else f"{own}\n{show_device_space(program)}"


SHOWN: dict[str, Callable[[Stages], str]] = {
    "scop": lambda stages: show_scop(stages.scop),
    "deps": lambda stages: show_dependences(stages.dependences),
    "schedule": lambda stages: show_schedules(stages.candidates, stages.given_up),
    "loops": lambda stages: show_programs(stages.programs),
    "cpu": lambda stages: stages.source,
    "c": lambda stages: show_c(stages.scop),
    "space": _show_space,
    "counts": lambda stages: str(stages.counts),
}
"""How each stage is printed."""

SHOWN_OF_DEVICES: dict[str, Callable[[Plan, PartitionedProgram, View], str]] = {
    "partition": lambda plan, program, view: show_partition(plan, view),
    "cuda": lambda plan, program, view: show_device_code(plan, program, "cuda", view),
    "opencl": lambda plan, program, view: show_device_code(plan, program, "opencl", view),
    "transfers": lambda plan, program, view: show_transfers(program, view),
}
"""How the stages of the version for devices are printed."""


def stages(function: FunctionType, signature: Signature, strict: bool = False) -> Stages:
    """The stages of a plain Python function for one type signature."""
    return Stages(function, signature, strict)
