"""The passes from a Python function to a generated module, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType

from polytune.codegen.loops import Program
from polytune.codegen.module import write_module
from polytune.codegen.programs import generate_program
from polytune.frontend import analyse
from polytune.frontend.bounds import BoundsCondition, access_bounds
from polytune.frontend.scop import Scop
from polytune.schedule.candidate import Candidate
from polytune.schedule.candidates import candidate_schedules
from polytune.schedule.counts import Counts, count
from polytune.schedule.dependences import Dependences, compute_dependences
from polytune.schedule.legality import check_legality
from polytune.schedule.regions import Plan, plan_parallel, plan_serial
from polytune.show import show_dependences, show_programs, show_schedules, show_scop, show_space
from polytune.signature import Signature


@dataclass(frozen=True)
class Stages:
    """Everything between a function and its generated module; each stage is computed when it is first asked for."""

    function: FunctionType
    signature: Signature
    strict: bool = False

    @cached_property
    def scop(self) -> Scop:
        """The kernel in the polyhedral model."""
        return analyse(self.function, self.signature, strict=self.strict)

    @cached_property
    def bounds(self) -> tuple[BoundsCondition, ...]:
        """For which parameters an access leaves its array."""
        return access_bounds(self.scop)

    @cached_property
    def dependences(self) -> Dependences:
        """What must come before what."""
        return compute_dependences(self.scop)

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Candidate schedules, each proven legal."""
        found = candidate_schedules(self.scop, self.dependences)
        for candidate in found:
            check_legality(candidate)
        return found

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """How each candidate is shared out among workers, the most promising first."""
        return order_plans(make_plans(self.candidates))

    @cached_property
    def programs(self) -> tuple[Program, ...]:
        """The versions in the loop IR, without repetitions."""
        found: list[Program] = []
        for plan in self.plans:
            program = generate_program(plan, self.scop)
            if not any(replace(program, name=other.name) == other for other in found):
                found.append(program)
        return tuple(found)

    @cached_property
    def counts(self) -> Counts:
        """Compute, memory and reuse as functions of the parameters."""
        return count(self.scop)

    @cached_property
    def source(self) -> str:
        """The text of the generated module."""
        return write_module(self.scop, self.programs, self.bounds, self.counts)

    def show(self, what: str) -> str:
        """A stage as text, for people: one of ``SHOWN``.

        Raises:
            KeyError: there is no such stage.
        """
        return SHOWN[what](self)


def make_plans(candidates: tuple[Candidate, ...]) -> tuple[Plan, ...]:
    """The source order, serial and with its own loops shared out; other candidates with wavefronts and without.

    What starts a region in every iteration of two nested loops or more is left out where it is not what the source
    says: workers would wait for one another far more than they work.
    """
    source = candidates[0]
    plans = [plan_serial(source), plan_parallel(source, wavefront=False, interchange=False, name="parallel")]
    for candidate in candidates[1:]:
        tiled = plan_parallel(candidate, wavefront=True, interchange=True, name=candidate.name)
        found = [tiled]
        if any(region.kind.value == "wavefront" for region in tiled.regions):
            found.append(plan_parallel(candidate, wavefront=False, interchange=True, name=f"{candidate.name}_inner"))
        plans += [plan for plan in found if all(region.outer_depth < 2 for region in plan.regions)]
    return tuple(plan for plan in plans if plan.team or plan.name == source.name)


def order_plans(plans: tuple[Plan, ...]) -> tuple[Plan, ...]:
    """Plans that start few regions and tile deeply first; the first one is what an untuned call runs."""

    def cost(plan: Plan) -> tuple[bool, int, int]:
        inside_loops = sum(region.prefix is not None for region in plan.regions)
        wavefronts = sum(region.kind.value == "wavefront" for region in plan.regions)
        return (not plan.team, 2 * inside_loops + wavefronts, -plan.tile_depth)

    return tuple(sorted(plans, key=cost))


SHOWN: dict[str, Callable[[Stages], str]] = {
    "scop": lambda stages: show_scop(stages.scop),
    "deps": lambda stages: show_dependences(stages.dependences),
    "schedule": lambda stages: show_schedules(stages.candidates),
    "loops": lambda stages: show_programs(stages.programs),
    "cpu": lambda stages: stages.source,
    "space": lambda stages: show_space(stages.programs),
    "counts": lambda stages: str(stages.counts),
}
"""How each stage is printed."""


def stages(function: FunctionType, signature: Signature, strict: bool = False) -> Stages:
    """The stages of a plain Python function for one type signature."""
    return Stages(function, signature, strict)
