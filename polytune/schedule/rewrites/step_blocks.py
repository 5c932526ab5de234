"""Blocks of steps: several iterations of a serial loop at once on all that is not saved in between.

With the values that cross from row to row saved (:mod:`polytune.schedule.rewrites.saved_values`), a block of steps
first runs, in the source's order, what its own rows and columns are made of, and the copies; then for every other
element all of its steps, one after another, in which the element may stay in a register.
"""

from __future__ import annotations

from functools import partial

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.analysis.dependences import compute_dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import Attempted, Candidate, Known, Order, PlanOptions
from polytune.schedule.rewrites.saved_values import SavedKernel, save_values
from polytune.schedule.rewrites.splitting import SPLIT
from polytune.schedule.unions import domain_of

STEPS = 32
"""The steps of a block: what they save of the rows and columns of a large matrix stays in the second cache."""


def block_steps(source: Candidate, steps: int = STEPS) -> Attempted[Candidate]:
    """The kernel, given in the source's order, in blocks of so many steps.

    None where it is no nest of which values can be saved, or where that order is not proven legal.
    """
    context = source.dependences.scop.context.get_ctx()
    saved = within_budget(context, 2 * PHASE_BUDGET, lambda: (save_values(source, steps),))
    if saved is None:
        return Attempted((), (BLOCKED.name,))
    (kernel,) = saved
    if kernel is None:
        return Attempted((), ())
    schedule = within_budget(context, 2 * PHASE_BUDGET, partial(_in_blocks, kernel))
    if schedule is None:
        return Attempted((), (BLOCKED.name,))
    dependences = within_budget(context, 2 * PHASE_BUDGET, lambda: compute_dependences(kernel.scop, exact=False))
    if dependences is None:
        return Attempted((), (BLOCKED.name,))
    if not is_proven_legal(schedule, dependences):
        return Attempted((), ())
    serial = frozenset(statement.name for statement in kernel.scop.statements) - set(kernel.rest)
    return Attempted((Candidate(BLOCKED, schedule, dependences, serial, kernel.origin),), ())


def _find(known: Known) -> Attempted[Candidate]:
    """Cut a serial loop into blocks of steps, unless no loop could be cut into parallel pieces: then neither can a
    block of steps."""
    is_split = any(candidate.order == SPLIT for candidate in known.found)
    return block_steps(known.found[0], STEPS) if is_split else Attempted((), ())


BLOCKED = Order(
    name="blocked",
    meaning="blocks of steps of a serial loop, all of them at once where they can be",
    is_seen=True,
    find=_find,
    options=PlanOptions(look_inside=True),
    may_repeat=True,
    starts_seldom=True,
)


def _in_blocks(kernel: SavedKernel) -> isl.Schedule:
    """Blocks outermost; in each what reads what steps change, in the source's order, then each piece of the rest, with
    the loop over steps innermost.

    Saved values share the memory of those of other blocks: blocks run one after another, and nothing reads what
    another one has saved.
    """
    scop = kernel.scop
    rest = [scop.statement(name) for name in kernel.rest]
    others = [statement for statement in scop.statements if statement not in rest]
    steps = kernel.times.get_map_list()
    blocks = [
        f"{part.get_tuple_name(isl.dim_type.in_)}[{_tuple(part.dim(isl.dim_type.in_))}] -> [floor(x0/{kernel.steps})]"
        for part in (steps.get_at(index) for index in range(steps.n_map()))
    ]
    node = isl.Schedule.from_domain(domain_of(scop)).get_root().child(0)
    node = node.insert_partial_schedule(_function(node.get_ctx(), blocks)).child(0)
    filters = isl.UnionSetList.alloc(node.get_ctx(), 1 + len(rest)).add(domain_of(scop, others))
    for statement in rest:
        filters = filters.add(domain_of(scop, [statement]))
    node = node.insert_sequence(filters)
    order = isl.MultiUnionPwAff.from_union_map(kernel.times.intersect_domain(domain_of(scop, others)))
    inside = node.child(0).child(0)
    for member in reversed(range(order.dim(isl.dim_type.set))):
        inside = inside.insert_partial_schedule(isl.MultiUnionPwAff.from_union_pw_aff(order.get_union_pw_aff(member)))
    node = inside.ancestor(2)
    for position, statement in enumerate(rest, start=1):
        names = [f"x{depth}" for depth in range(len(statement.iterators))]
        band = f"{statement.name}[{', '.join(names)}] -> [{', '.join([*names[1:], names[0]])}]"
        below = node.child(position).child(0).insert_partial_schedule(_function(node.get_ctx(), [band]))
        node = below.band_set_permutable(1).ancestor(2)
    return node.get_schedule()


def _tuple(dimensions: int) -> str:
    return ", ".join(f"x{depth}" for depth in range(dimensions))


def _function(context: isl.Context, parts: list[str]) -> isl.MultiUnionPwAff:
    return isl.MultiUnionPwAff.from_union_map(isl.UnionMap.read_from_str(context, f"{{ {'; '.join(parts)} }}"))
