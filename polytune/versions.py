"""Versions: the recipes that are worth having for a kernel, first as plans, then as programs.

The orders and transforms that there are come from outside, as tables; nothing here knows one of them by name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from functools import partial

from polytune.codegen.early_ends import ends_early, with_early_ends
from polytune.codegen.index_set_splitting import split_index_sets
from polytune.codegen.loops import Program, walk_nodes
from polytune.codegen.programs import Trees, generate_program
from polytune.codegen.row_loops import split_rows
from polytune.codegen.source_loops import source_program
from polytune.codegen.transform import BYTES, LoopTransform, Target
from polytune.codegen.verify import verified
from polytune.errors import UnprovenError
from polytune.frontend.polyhedral.budget import PHASE_BUDGET, overtime, within_budget
from polytune.frontend.scop import Array, Scop
from polytune.records import dataclass
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.candidate import Attempted, Candidate, Order
from polytune.schedule.plan_transform import PlanTransform, options_of
from polytune.schedule.planning import plan_parallel, plan_serial
from polytune.schedule.private_sums import is_scattered, summed_by
from polytune.schedule.recipe import Recipe, RecipePart
from polytune.schedule.regions import Plan, RegionKind

NODES_A_SECOND = 75
"""The number of nodes of the loop IR that Numba and LLVM compile in a second.  Measured over all versions of nine
kernels of PolyBench: 60 to 180 for versions of more than 100 nodes, the fewest of them for the largest versions."""

LOOPS_BUDGET = 1_000_000
"""isl's budget for the loops of a version that can be done without, in its own basic operations: half a second, and
more than any version of 96 kernels takes.  Where they have so many cases that this is not enough, they are no faster
than simpler ones."""

MOST_CONSTRAINTS = 2_000
"""The largest kernel, by the constraints of its dependences, whose serial source order isl makes loops of; longer ones
have the source's, which are there already."""

MOST_LOOPS_AROUND = 1
"""The most serial loops around a region of a plan that is not of the source order."""


@dataclass(frozen=True)
class Transforms:
    """All transforms that there are, each in the order in which it is tried.

    Attributes:
        of_plans: those of the plan of an order.
        of_loops: those of the loop IR of a plan.
    """

    of_plans: tuple[PlanTransform, ...]
    of_loops: tuple[LoopTransform, ...]

    def version_of(self, recipe: Recipe) -> Recipe:
        """The first version that a plan of a recipe leads to."""
        if recipe.is_whole:
            return recipe
        return next(recipe.then(transform) for transform in self.of_loops if transform.follows(recipe))


def make_plans(candidates: Sequence[Candidate], transforms: Transforms) -> Attempted[Plan]:
    """The plans of all candidates, by themselves and with each transform that is for them; the serial source order is
    the first one.

    What starts a region in every iteration of two nested loops or more is left out where it is not what the source
    says: workers would wait for one another far more than they work.  So is what isl takes too long to analyse, but
    never the serial source order.

    Args:
        candidates: the source order first.
        transforms: those that there are.
    """
    source = candidates[0]
    attempts = _Attempts(transforms)
    plans: list[Plan] = []
    for candidate in candidates:
        made = attempts.of(candidate)
        plans += made if candidate is source else [plan for plan in made if _is_started_seldom(plan)]
    kept = (plan for plan in plans if plan.team or plan.recipe.order.stands_alone)
    return Attempted((plan_serial(source), *kept), tuple(attempts.given_up))


def _is_started_seldom(plan: Plan) -> bool:
    return all(region.outer_depth <= MOST_LOOPS_AROUND for region in plan.regions)


@dataclass
class _Attempts:
    """Makes plans, and remembers what isl gave up on."""

    transforms: Transforms
    given_up: list[str] = field(default_factory=list)
    relaxed: Dependences | None = None

    def of(self, candidate: Candidate) -> list[Plan]:
        """A candidate's plans."""
        if candidate.order.stands_alone:
            return [plan_serial(candidate)]
        made: list[Plan] = []
        # Where some statements are too little work to be shared out, what the others gain is by a transform.
        if candidate.order.options.team and not candidate.serial:
            made += self.attempt(candidate, ())
        for transform in self.transforms.of_plans:
            if transform.is_for(candidate, made):
                plans = self.attempt(candidate, (*transform.after, transform))
                made += [plan for plan in plans if transform.is_in(plan)]
        if candidate.order.options.sums:
            return [plan for plan in made if plan.sums]
        return made

    def attempt(self, candidate: Candidate, transforms: tuple[PlanTransform, ...]) -> list[Plan]:
        """A candidate's plan with some transforms; none where isl gives up."""
        relaxed = self.relaxed_of(candidate) if options_of(candidate, transforms).early else None
        with _time_for(transforms):
            plan = plan_parallel(candidate, transforms, relaxed)
        if plan is None:
            self.given_up.append(self.transforms.version_of(Recipe(candidate.order, transforms)).name)
            return []
        return [plan]

    def relaxed_of(self, candidate: Candidate) -> Dependences:
        """The dependences without those among the updates of an element."""
        own = candidate.dependences.scop
        if self.relaxed is None or self.relaxed.scop is not own:
            self.relaxed = compute_dependences(
                own, relax_reductions=True, of_elements=True, known=candidate.dependences
            )
        return self.relaxed


def order_plans(plans: Sequence[Plan]) -> tuple[Plan, ...]:
    """Plans that start few regions, keep what they use in caches and registers, and tile deeply first; the first one is
    what an untuned call runs."""

    def cost(plan: Plan) -> tuple[bool, bool, int, int, int]:
        return (adds_by_index(plan), not plan.team, starts_of(plan), -plan.recipe.promise, -plan.tile_depth)

    return tuple(sorted(plans, key=cost))


def adds_by_index(plan: Plan) -> bool:
    """Return whether workers have copies to add up in through subscripts that depend on data.

    Such versions come last: a copy costs as much as the array has elements, however few are added to.
    """
    statements = plan.dependences.scop.statements
    scattered = frozenset(summed_by(statement) for statement in statements if is_scattered(statement))
    return any(scattered & region.sums for region in plan.regions)


def starts_of(plan: Plan) -> int:
    """Return how many regions start again and again: those inside serial loops, and by half those that go by
    diagonals."""
    inside_loops = sum(region.prefix is not None for region in plan.regions) if not plan.recipe.starts_seldom else 0
    wavefronts = sum(region.kind is RegionKind.WAVEFRONT for region in plan.regions)
    return 2 * inside_loops + wavefronts


def make_programs(plans: Sequence[Plan], target: Target, transforms: Transforms) -> Attempted[Program]:
    """The programs of plans, by themselves and with each transform that follows, without repetitions.

    They are in the order of the plans, but those with vectors come first, and those in which arrays lie as they are
    walked.  Those for which isl takes too long to generate loops are left out, but never the serial source order: there
    is nothing to fall back on.

    Args:
        plans: the most promising first.
        target: the processor's registers.
        transforms: those that there are.
    """
    found: list[_Version] = []
    given_up: list[str] = []
    arrays = all_arrays(plans)
    # The same memory, and so the same names, in all of them.
    scops = [replace(plan.dependences.scop, arrays=arrays) for plan in plans]
    programs = _attempted(plans, scops)
    taken = {transforms.version_of(plan.recipe).name: plan for plan in plans}
    for plan, scop, program in zip(plans, scops, programs, strict=True):
        if program is None:
            given_up.append(transforms.version_of(plan.recipe).name)
            continue
        for version in _rewritten(_Version(program, plan, scop), target, transforms):
            is_another = taken.get(version.program.name, plan) is not plan
            if not is_another and not any(version.repeats(other) for other in found):
                found.append(version)
    ranked = sorted(found, key=_Version.cost)
    for transform in reversed(transforms.of_loops):  # each is put before those that come later
        if transform.is_for_first:
            _add_to_first(ranked, transform, target)
    return Attempted(tuple(version.program for version in ranked), tuple(given_up))


def _attempted(plans: Sequence[Plan], scops: Sequence[Scop]) -> list[Program | None]:
    """The loop IR of each plan, see ``attempt_program``.

    Those of the source order are made first.  Theirs are the simplest loops, and the serial one is there in any case: a
    more promising plan, over which isl takes all the time that is left, does not leave a kernel without the loops of
    its source shared out.

    Args:
        plans: the most promising first.
        scops: the kernel of each.
    """
    trees: Trees = {}
    source = next((plan.recipe.order for plan in plans if _is_source(plan)), None)
    turns = sorted(range(len(plans)), key=lambda place: plans[place].recipe.order != source)
    made = {place: attempt_program(plans[place], scops[place], trees) for place in turns}
    return [made[place] for place in range(len(plans))]


@dataclass(frozen=True)
class _Version:
    """A program, the plan that it was made of, and the kernel with the arrays that all versions have."""

    program: Program
    plan: Plan
    scop: Scop

    def then(self, transform: LoopTransform, target: Target) -> _Version | None:
        """The version with one more transform; None where that may not come next, or changes nothing."""
        if not transform.follows(self.program.recipe):
            return None
        if any(array.dtype not in BYTES for array in self.scop.arrays):  # no vectors are written of such types
            return None
        if not all(need.is_met(self.plan.dependences) for need in transform.needs):
            return None
        program = transform.apply(self.program, self.scop, target)
        if program is None or not ends_early(program, self.scop):
            return None
        return replace(self, program=verified(program, self.scop))

    def repeats(self, other: _Version) -> bool:
        """Return whether it is another one but for what it was made by."""
        return replace(self.program, recipe=other.program.recipe) == other.program

    @property
    def copies(self) -> bool:
        """Return whether tiles copy into buffers what their rows share."""
        return any(region.buffers for region in self.program.regions)

    def cost(self) -> tuple[bool, bool, bool, int, bool]:
        """Return what is less for versions that promise more."""
        program = self.program
        # Vectors that were written rather than hoped for gain more than regions that start more often lose; and where
        # only some tiles are computed in vectors, the others take as long as all of these.
        is_contiguous = program.has_vectors or program.recipe.along_rows
        last = adds_by_index(self.plan)
        return (last, not program.team, not is_contiguous, starts_of(self.plan), program.has_other_tiles)


def _rewritten(version: _Version, target: Target, transforms: Transforms) -> list[_Version]:
    """A version and all that transforms make of it, less those that are no versions by themselves.

    A transform that goes without saying after another one takes the place of the version that it was made of.  What
    reads from buffers comes first: large matrices lie in too many pages, and copies of small ones cost little.
    """
    made = _made(version, target, transforms)
    recipes = [each.program.recipe for each in made]
    replaced = [recipe.before_last for recipe in recipes[1:] if recipe.before_last.name == recipe.name]
    kept = [each for each in made if each.program.recipe.is_whole and each.program.recipe not in replaced]
    return sorted(kept, key=lambda each: not each.copies)


def _made(version: _Version, target: Target, transforms: Transforms) -> list[_Version]:
    """A version and all that transforms make of it, each after what it was made of."""
    made = [version]
    for transform in transforms.of_loops:
        for before in () if transform.is_for_first else tuple(made):
            after = before.then(transform, target)
            if after is not None:
                made.append(after)
    return made


def _add_to_first(ranked: list[_Version], transform: LoopTransform, target: Target) -> None:
    """Add the version with one more transform to the most promising ones, behind what it is made of: the first version
    of the first plan that the transform may follow."""
    for place, version in enumerate(ranked):
        after = version.then(transform, target) if version.plan is ranked[0].plan else None
        if after is not None:
            ranked.insert(place + 1, after)
            return


def programs_after(plans: Sequence[Plan], target: Target, transforms: Transforms, name: str) -> tuple[Program, ...]:
    """Return what all plans are in the loop IR right after an order or a transform, whether or not versions end there.

    Args:
        plans: the kernel's.
        target: the processor's registers.
        transforms: those that there are.
        name: the name of an order or a transform.
    """
    arrays = all_arrays(plans)
    found: list[Program] = []
    for plan in plans:
        scop = replace(plan.dependences.scop, arrays=arrays)
        program = attempt_program(plan, scop)
        if program is not None:
            made = _made(_Version(program, plan, scop), target, transforms)
            found += [each.program for each in made if each.program.recipe.parts[-1].name == name]
    return tuple(found)


def compiled_in_time(programs: Sequence[Program], seconds: float) -> tuple[Program, ...]:
    """Programs in their order, but first the first one of them that takes no longer than so many seconds to compile: a
    first call waits for it.  Where all of them take longer, that is the smallest one."""
    quick = [program for program in programs if size_of(program) <= seconds * NODES_A_SECOND]
    first = quick[0] if quick else min(programs, key=size_of)
    return (first, *(program for program in programs if program is not first))


def first_of_each(programs: Sequence[Program], apart: Collection[Order]) -> tuple[Program, ...]:
    """The first program of each order for a team of workers, and the first one of all for one worker, as they come:
    what calls choose from until there are more, and nothing that they would have to be written and compared for.

    Args:
        programs: the most promising first.
        apart: orders of which all are kept.
    """
    firsts: dict[str, Program] = {}
    for program in programs:
        if program.recipe.order not in apart:
            firsts.setdefault(program.recipe.order.name if program.team else "", program)
    return tuple(each for each in programs if each.recipe.order in apart or each in firsts.values())


def size_of(program: Program) -> int:
    """Return how many nodes of the loop IR the code of a program has."""
    return sum(1 for region in program.regions for _ in walk_nodes(region.body))


def _time_for(transforms: Sequence[RecipePart]) -> AbstractContextManager[None]:
    """Let more time be used for what these make of the source order, where all of them are needed."""
    return overtime() if transforms and all(each.is_needed for each in transforms) else nullcontext()


def _is_source(plan: Plan) -> bool:
    """Return whether a plan is the serial source order."""
    return not plan.team and not plan.recipe.order.stands_alone


def attempt_program(plan: Plan, scop: Scop, trees: Trees | None = None) -> Program | None:
    """The loop IR of a plan; None where isl gives up on it, or where it is not proven to execute each instance once.
    The serial source order then has the source's own loops, as it has in long kernels.

    Args:
        plan: the plan.
        scop: its kernel.
        trees: see ``generate_program``.
    """
    if _is_source(plan) and plan.dependences.constraints > MOST_CONSTRAINTS:
        return _of_source(plan, scop)
    try:
        generate = partial(generate_program, plan, scop, trees)
        needed = _is_source(plan)
        operations = PHASE_BUDGET if needed else LOOPS_BUDGET
        with _time_for(plan.recipe.transforms):
            program = within_budget(scop.context.get_ctx(), operations, generate, needed=needed)
        if program is not None:
            return _finished(program, scop)
    except UnprovenError:
        pass
    return _of_source(plan, scop) if _is_source(plan) else None


def _of_source(plan: Plan, scop: Scop) -> Program:
    """The serial source order in the source's own loops."""
    return _finished(source_program(plan, scop), scop)


def _finished(program: Program, scop: Scop) -> Program:
    """A program with its loops in simpler parts, and ended where the source has ended them."""
    return verified(with_early_ends(split_index_sets(split_rows(program)), scop), scop)


def all_arrays(plans: Sequence[Plan]) -> tuple[Array, ...]:
    """The arrays of a kernel and those that some of its plans add to them."""
    return tuple(dict.fromkeys(array for plan in plans for array in plan.dependences.scop.arrays))
