"""The passes from a Python function to a generated module, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property, partial, wraps
from types import FunctionType
from typing import TypeVar

from polytune.codegen.jamming import JAMMED
from polytune.codegen.loop_text import programs_text
from polytune.codegen.loops import Program
from polytune.codegen.module import write_module
from polytune.codegen.partitioned import PartitionedProgram
from polytune.codegen.registers.tiles import PACKED, POINTS, REGISTERS
from polytune.codegen.tiles.outer import OUTER
from polytune.codegen.transform import Target
from polytune.codegen.vectors.prefetching import PREFETCHED
from polytune.codegen.vectors.recurrences import SCANNED
from polytune.codegen.vectors.unrolling import UNROLLED
from polytune.environment import devices_are_ruled_out
from polytune.errors import PolytuneError, SourceLocation
from polytune.frontend import analyse
from polytune.frontend.lowering.lower import Lowered
from polytune.frontend.polyhedral.bounds import BoundsCondition, access_bounds
from polytune.frontend.polyhedral.budget import ProcessorTime
from polytune.frontend.polyhedral.unassigned import UnassignedRead, unassigned_reads
from polytune.frontend.scop import Scop
from polytune.partitioned_version import make_partitioned
from polytune.records import dataclass
from polytune.runtime.devices.backends import KINDS
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.instances import is_of_source
from polytune.schedule.analysis.legality import check_legality
from polytune.schedule.candidate import Attempted, Candidate, Known, Order, candidate_schedules
from polytune.schedule.counting.counts import Counts, count
from polytune.schedule.orders.banded import BANDED
from polytune.schedule.orders.grouped import GROUPED
from polytune.schedule.orders.reduced import REDUCED
from polytune.schedule.orders.scheduled import COINCIDENT, DISTRIBUTED, FUSED, REASSOCIATED, TILED
from polytune.schedule.orders.source import SOURCE
from polytune.schedule.orders.summed import SUMMED
from polytune.schedule.plan_transform import (
    ACCUMULATED,
    EARLY,
    EXPANDED,
    INNER,
    INTERLEAVED,
    PARALLEL,
)
from polytune.schedule.platforms.partition import choose_plan, obstacle_to_devices
from polytune.schedule.platforms.sharding import (
    check_shardable,
    choose_shard_plan,
    is_cut,
    refusal,
    refusal_of_time,
)
from polytune.schedule.regions import Plan
from polytune.schedule.rewrites.around_products import AROUND
from polytune.schedule.rewrites.factoring import FACTORED
from polytune.schedule.rewrites.library_products import LIBRARY
from polytune.schedule.rewrites.matrix_products import multiplies_matrices
from polytune.schedule.rewrites.splitting import SPLIT
from polytune.schedule.rewrites.step_blocks import BLOCKED
from polytune.schedule.rewrites.transposition import TRANSPOSED
from polytune.show import show_c, show_dependences, show_schedules, show_scop, show_space
from polytune.show_devices import (
    DeviceView,
    reason_for_processor_only,
    show_device_code,
    show_device_space,
    show_partition,
    show_transfers,
)
from polytune.signature import Signature
from polytune.versions import (
    Transforms,
    all_arrays,
    compiled_in_time,
    first_of_each,
    make_plans,
    make_programs,
    order_plans,
    programs_after,
)

SECONDS = 6.0
"""The processor time that all versions of a kernel have together: what is not made by then is left out.  Schedules may
use half of it, plans three quarters, so that there is time to generate what was found.  A first call takes up to two
seconds more, for the phase that was at work when the time ended, and for Numba."""

SECONDS_BESIDE = 20.0
"""The same where another process makes them while the application goes on: many statements, or a slow machine, have
more versions then than a first call could wait for."""

FEW_CONSTRAINTS = 150
"""The largest kernel, by the constraints of its dependences, of which a first call waits for all versions: they take
some tenths of a second."""

MANY_CONSTRAINTS = 450
"""The largest kernel of which a first call tries to make all versions: of almost all larger ones in two corpora of
kernels they take longer than it waits, and the time would be lost."""

WAIT = 0.25
"""The processor time, in seconds, of dependences and all versions of a kernel between these two for which its first
call waits.  Where they take longer, it takes what follows the source order, and the others can be made beside it.  That
costs about as much again: another process has its own imports, and takes processor time from the calls meanwhile."""

WAIT_OF_PRODUCTS = 1.0
"""The same for the orders of a kernel with products of matrices whose others are deferred: where none is found that has
them by the library, or in registers, the call takes many times as long."""

PLANNED_BY = 0.5
"""The part of that time by which schedules and plans must be there: loops take about as long again."""

FIRST_CALL = 10.0
"""The processor time that a first call may take in all, in seconds."""

ORDERS = (
    SOURCE,
    TILED,
    COINCIDENT,
    DISTRIBUTED,
    FUSED,
    GROUPED,
    REASSOCIATED,
    SUMMED,
    TRANSPOSED,
    SPLIT,
    BLOCKED,
    LIBRARY,
    AROUND,
)
"""The orders that a kernel may have, as they are looked for: those before may be what the next one is made of."""

TRANSFORMS = Transforms(
    of_plans=(PARALLEL, INTERLEAVED, INNER, ACCUMULATED, EXPANDED, EARLY),
    of_loops=(REGISTERS, PACKED, UNROLLED, JAMMED, SCANNED, POINTS, OUTER, PREFETCHED),
)
"""The transforms that may follow an order, as they are tried: first those that change its plan, then those that rewrite
the loop IR of that."""

ORDERS_AT_ONCE = (SOURCE, LIBRARY, BANDED, REDUCED)
"""The orders of a kernel whose others are deferred: those that isl's scheduler is not asked for, products of matrices
by NumPy's library among them."""

PRODUCTS_AT_ONCE = (SOURCE, BANDED, DISTRIBUTED)
"""Those where products of matrices are not the library's, as in loops that nothing takes them out of: of nests apart,
what follows is made in a fourth of the time of all versions."""

AT_ONCE = Transforms(of_plans=(PARALLEL, ACCUMULATED), of_loops=(REGISTERS, PACKED, UNROLLED, JAMMED, SCANNED, POINTS))
"""The transforms of such a kernel: those that may make its first version, of which the ones of the loop IR ask isl for
nothing."""

MOST_OF_PRODUCTS = 1_200
"""The largest kernel, by the constraints of its dependences, that has these at once, in some tenths of a second."""

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
    how much processor time is left for versions that can be done without, ``places`` under what name the module knows a
    place of the source, ``lowered`` the function as the frontend has lowered it already, if it has, ``may_end`` whether
    the code may end loops early, ``may_defer`` whether versions that take long to look for may be left to other stages,
    ``on_long`` what is called when that becomes likely, ``fastmath`` the flags that the option of this name gives.
    """

    function: FunctionType
    signature: Signature
    strict: bool = False
    devices: bool = False
    target: Target = field(default_factory=Target)
    places: Callable[[SourceLocation], SourceLocation] = field(default=lambda place: place, compare=False)
    time: ProcessorTime = field(default_factory=lambda: ProcessorTime(SECONDS), repr=False, compare=False)
    lowered: Lowered | None = field(default=None, repr=False, compare=False)
    may_end: bool = True
    may_defer: bool = False
    on_long: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    fastmath: frozenset[str] = frozenset()

    @cached_property
    @_timed()
    def scop(self) -> Scop:
        """The kernel in the polyhedral model."""
        # Devices and shards run whole regions, and nobody asks between them whether a loop has ended.
        may_end = self.may_end and not self.devices
        lowered = self.lowered if may_end else None
        return analyse(
            self.function,
            self.signature,
            strict=self.strict,
            fastmath=self.fastmath,
            may_end=may_end,
            lowered=lowered,
        )

    @cached_property
    @_timed()
    def bounds(self) -> tuple[BoundsCondition, ...]:
        """The parameters for which an access leaves its array."""
        return access_bounds(self.scop)

    @cached_property
    @_timed()
    def unassigned(self) -> tuple[UnassignedRead, ...]:
        """The parameters for which a variable is read that nothing has assigned."""
        return unassigned_reads(self.scop)

    @cached_property
    @_timed()
    def dependences(self) -> Dependences:
        """Return what must come before what."""
        return compute_dependences(self.scop)

    @cached_property
    def defers(self) -> bool:
        """Return whether these are the versions of the source order, and those that products of matrices have, alone,
        as the others take long to look for."""
        return self.may_defer and not self.devices and not self._are_made_at_once()

    def _are_made_at_once(self) -> bool:
        """Return whether all versions are made, or will be, in the time that a first call waits for them.

        Schedules and plans may use a part of it, as of the whole time: what has taken more is not done in time.
        """
        before = self.time.used
        constraints = self.dependences.constraints
        if not FEW_CONSTRAINTS < constraints <= MANY_CONSTRAINTS:
            return constraints <= FEW_CONSTRAINTS
        needed = self.time.used - before
        time = ProcessorTime(WAIT, used=needed, on_half=self.on_long)
        if time.left <= 0:
            return False
        attempt = replace(self, time=time, may_defer=False)
        attempt.__dict__.update((name, self.__dict__[name]) for name in ("scop", "dependences"))
        for stage in ("candidates", "plans", "programs"):
            if not time.was_short and time.used <= PLANNED_BY * WAIT:
                getattr(attempt, stage)
        self.time.use(time.used - needed)
        if time.was_short or "_generated" not in attempt.__dict__:
            return False
        self.__dict__.update((name, attempt.__dict__[name]) for name in ("_scheduled", "_planned", "_generated"))
        return True

    @property
    def _transforms(self) -> Transforms:
        return AT_ONCE if self.defers else TRANSFORMS

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Candidate schedules, each proven legal."""
        return self._scheduled.made

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """Return how each candidate is shared out among workers, the most promising first."""
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
        found = self._scheduled_at_once() if self.defers else self._in_orders(ORDERS)
        # The source order is legal, and complete, whether or not isl can prove it in time.
        check_legality(found.made[0])
        return found

    def _in_orders(self, orders: tuple[Order, ...]) -> Attempted[Candidate]:
        return candidate_schedules(
            self.dependences, orders, lambda candidate: is_of_source(candidate) and check_legality(candidate)
        )

    def _scheduled_at_once(self) -> Attempted[Candidate]:
        """Return what is not deferred, in a time that is no longer than what was waited for the others, but where
        matrices are multiplied."""
        has_products = multiplies_matrices(self.scop)
        with ProcessorTime(WAIT_OF_PRODUCTS if has_products else WAIT).running():
            found = self._in_orders(ORDERS_AT_ONCE)
            is_by_library = any(candidate.order == LIBRARY for candidate in found.made)
            is_small = self.dependences.constraints <= MOST_OF_PRODUCTS
            if not is_by_library and is_small and has_products:
                found = self._in_orders(PRODUCTS_AT_ONCE)
        return found

    @cached_property
    @_timed(0.75)
    def _planned(self) -> Attempted[Plan]:
        return make_plans(self.candidates, self._transforms)

    @cached_property
    @_timed()
    def _generated(self) -> Attempted[Program]:
        made = make_programs(self.plans, self.target, self._transforms)
        programs = made.made
        if self.defers:  # without vectors there is nothing in bands that the loops as they are have not
            programs = tuple(each for each in programs if each.has_vectors or each.recipe.order != BANDED)
        programs = compiled_in_time(programs, FIRST_CALL - SECONDS + self.time.left)
        return replace(made, made=first_of_each(programs, (LIBRARY, DISTRIBUTED)) if self.defers else programs)

    @cached_property
    @_timed()
    def partitioned(self) -> PartitionedProgram | None:
        """The version that is shared among the processor and devices; None where nothing can run on a device."""
        plan = self.device_plan
        if plan is None:
            return None
        candidates = (*self.candidates, *self._factored.made)
        candidate = next(candidate for candidate in candidates if candidate.order == plan.recipe.order)
        return make_partitioned(plan, candidate, plan.dependences.scop, self.target)

    @property
    def reason_for_processor_only(self) -> str:
        """Return why nothing of the kernel can run on a device, where that is so."""
        given_up = (*self._scheduled.given_up, *self._chosen.given_up)
        return reason_for_processor_only(self.dependences, given_up, is_parallel=self.device_plan is not None)

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
        chosen, factored = choose_plan(self.candidates), self._factored
        # What has its sums factored runs on devices whole: it comes first, but for loops around that others lack.
        plans = choose_plan(factored.made)
        if plans.made and (not chosen.made or _loops_around(plans.made[0]) <= _loops_around(chosen.made[0])):
            return plans
        return replace(chosen, given_up=(*chosen.given_up, *plans.given_up, *factored.given_up))

    @cached_property
    @_timed()
    def _factored(self) -> Attempted[Candidate]:
        """Return the order that devices alone may follow, proven legal, if the kernel has sums for it."""
        if not all(need.is_met(self.dependences) for need in FACTORED.needs):
            return Attempted((), ())
        found = FACTORED.find(Known(self.dependences, self.candidates))
        proven = tuple(each for each in found.made if is_of_source(each) and check_legality(each))
        return Attempted(proven, found.given_up if proven == found.made else (*found.given_up, FACTORED.name))

    @cached_property
    @_timed()
    def shard_plan(self) -> Plan:
        """The plan of which regions are cut at the borders of chunks.

        Raises:
            UnsupportedSourceError: none of its heaviest regions can be cut, or the kernel has what no shard can do.
        """
        check_shardable(self.scop)
        plan = next(iter(choose_shard_plan(self.candidates).made), None)
        if plan is None or not is_cut(plan):
            raise refusal(self.dependences)
        return plan

    @cached_property
    @_timed()
    def sharded(self) -> PartitionedProgram:
        """The version of which any part of a region may be run.

        Raises:
            UnsupportedSourceError: the kernel cannot be cut, or isl takes too long to generate the code for that.
        """
        plan = self.shard_plan
        candidate = next(candidate for candidate in self.candidates if candidate.order == plan.recipe.order)
        on_devices = not devices_are_ruled_out() and obstacle_to_devices(self.scop) is None
        made = make_partitioned(
            plan, candidate, self.scop, self.target, for_devices=on_devices, for_shards=True
        ) or make_partitioned(plan, candidate, self.scop, self.target, for_devices=False, for_shards=True)
        if made is None:
            raise refusal_of_time(self.scop)
        return made

    @cached_property
    @_timed()
    def shard_source(self) -> str:
        """The text of the module of shards: checks, what regions read and write, and the parts of regions alone.

        Raises:
            UnsupportedSourceError: the kernel cannot be cut.
        """
        sharded = self.sharded
        return write_module(
            self.scop.at_places(self.places), (), self._conditions, Counts(), sharded, describes_memory=True
        )

    @property
    def _conditions(self) -> tuple[BoundsCondition | UnassignedRead, ...]:
        """The conditions under which a call is refused, at the places that the module knows; last those of subscripts
        that other code might take."""
        bounds = [replace(each, location=self.places(each.location)) for each in self.bounds]
        unassigned = [replace(each, location=self.places(each.location)) for each in self.unassigned]
        uncommon = [each for each in bounds if each.is_of_uncommon]
        return (*(each for each in bounds if not each.is_of_uncommon), *unassigned, *uncommon)

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
        plans = self.plans if partitioned is None or self.device_plan is None else (*self.plans, self.device_plan)
        scop = replace(self.scop.at_places(self.places), arrays=all_arrays(plans))
        # Rules ask for counts where devices or outer tiles are to choose from.
        asked = self.devices or any(program.outer for program in self.programs)
        counts = self.counts if asked else Counts()
        return write_module(scop, self.programs, self._conditions, counts, partitioned)

    def show_loops(self, after: str) -> str:
        """The loop IR of all plans right after an order or a transform, as text for people.

        Raises:
            PolytuneError: there is no order or transform of that name, or none of the kernel's.
        """
        names = tuple(dict.fromkeys(part.name for part in (*ORDERS, *TRANSFORMS.of_plans, *TRANSFORMS.of_loops)))
        if after not in names:
            raise PolytuneError(f"there is no order or transform {after!r}; there are {', '.join(names)}")
        # Those that are tried for the most promising version alone come last in its recipe.
        ending = tuple(program for program in self.programs if program.recipe.parts[-1].name == after)
        programs = programs_after(self.plans, self.target, TRANSFORMS, after) or ending
        if not programs:
            used = {part.name for program in self.programs for part in program.recipe.parts}
            had = ", ".join(name for name in names if name in used)
            raise PolytuneError(f"no version of {self.scop.name} has {after!r}; they have {had}")
        return programs_text(programs)

    def show(self, what: str, view: DeviceView | None = None) -> str:
        """A stage as text, for people: one of ``SHOWN``, or of ``SHOWN_OF_DEVICES``, of which a view may be given.

        Raises:
            KeyError: there is no such stage.
            PolytuneError: the view asks for a region that is not there.
        """
        if what in SHOWN:
            return SHOWN[what](self)
        show = SHOWN_OF_DEVICES[what]
        if self.device_plan is None or self.partitioned is None:
            return self.reason_for_processor_only
        return show(self.device_plan, self.partitioned, view or DeviceView())


def _loops_around(plan: Plan) -> int:
    """Return the most serial loops around a region of a plan that is shared out."""
    return max((region.outer_depth for region in plan.regions if region.shared), default=0)


def _show_space(stages: Stages) -> str:
    """The choices there are, and those that devices add."""
    program = stages.partitioned
    own = show_space(stages.programs)
    return own if program is None else f"{own}\n{show_device_space(program)}"


SHOWN: dict[str, Callable[[Stages], str]] = {
    "scop": lambda stages: show_scop(stages.scop),
    "deps": lambda stages: show_dependences(stages.dependences),
    "schedule": lambda stages: show_schedules(stages.candidates, stages.given_up),
    "loops": lambda stages: programs_text(stages.programs),
    "cpu": lambda stages: stages.source,
    "c": lambda stages: show_c(stages.scop),
    "space": _show_space,
    "counts": lambda stages: str(stages.counts),
}
"""The printer of each stage."""

SHOWN_OF_DEVICES: dict[str, Callable[[Plan, PartitionedProgram, DeviceView], str]] = {
    "partition": lambda plan, program, view: show_partition(plan, view),
    **{kind: partial(show_device_code, kind) for kind in KINDS},
    "transfers": lambda plan, program, view: show_transfers(program, view),
}
"""The printers of the stages of the version for devices."""


def stages(function: FunctionType, signature: Signature, strict: bool = False) -> Stages:
    """The stages of a plain Python function for one type signature.

    Args:
        function: the function, as Python has defined it.
        signature: the types of its arguments.
        strict: whether every sum keeps the source order.
    """
    return Stages(function, signature, strict)
