"""The version that is shared among platforms: the processor and devices, or the tasks that shards are."""

from __future__ import annotations

from polytune.codegen.loops import Program
from polytune.codegen.partitioned import PartitionedProgram, generate_partitioned
from polytune.codegen.transform import Target
from polytune.codegen.verify import verified
from polytune.errors import UnprovenError
from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.scop import Scop
from polytune.schedule.candidate import Candidate
from polytune.schedule.plan_transform import ACCUMULATED, PARTITIONED, accumulates
from polytune.schedule.planning import plan_parallel
from polytune.schedule.platforms.partition import partition, splits_of
from polytune.schedule.platforms.sharding import prove_shards
from polytune.schedule.regions import Plan
from polytune.versions import attempt_program


def make_partitioned(
    plan: Plan,
    candidate: Candidate,
    scop: Scop,
    target: Target,
    *,
    for_devices: bool = True,
    for_shards: bool = False,
) -> PartitionedProgram | None:
    """Return the version shared among platforms; every split is proven legal.  None where isl takes too long to
    generate the code.

    The processor's parts have the candidate's points in the order that keeps sums in registers, where there are sums.

    Args:
        plan: the regions that are shared out.
        candidate: what the plan was made of.
        scop: the kernel.
        target: the processor that the code is for.
        for_devices: whether devices share the work.
        for_shards: whether parts are shards, which may be cut anywhere and have boxes of arrays.
    """
    context = scop.context.get_ctx()
    accumulating: Program | None = None
    if any(accumulates(statement) for statement in scop.statements):
        ordered = plan_parallel(candidate, (PARTITIONED, ACCUMULATED))
        if ordered is not None and ordered.accumulates:
            accumulating = attempt_program(ordered, scop)

    def generate() -> PartitionedProgram:
        if for_shards:
            prove_shards(plan)
        for region in plan.regions if for_devices else ():
            splits = splits_of(plan, region)
            for depth in range(1, len(splits) + 1):
                partition(plan, region, splits[:depth])
        made = generate_partitioned(plan, scop, target, accumulating, for_devices=for_devices, in_windows=for_shards)
        for part in made.parts:
            verified(part.program, scop)
        return made

    try:
        return within_budget(context, 4 * PHASE_BUDGET, generate)
    except UnprovenError:
        return None
