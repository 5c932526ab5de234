"""The source order with the updates of reductions in any order, found without isl's scheduler.

A loop that adds up, in which nothing else keeps one iteration from another, is shared out to workers that add up in
copies of their own.  With the relaxed dependences D' of a kernel, which are those of the source order without the
dependences among updates of a reduction, the source order is legal whatever D' is, as D' is a part of what it respects.
"""

from __future__ import annotations

from polytune.frontend.expression import Assign, Element, Expression, Iterator, LibraryCall, walk
from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.scop import Statement
from polytune.schedule.candidate import REASSOCIATION, Attempted, Candidate, Known, Need, Order, PlanOptions


def _find(known: Known) -> Attempted[Candidate]:
    """The order, where the dependences are found within the budget of a phase."""
    relaxed = within_budget(known.scop.context.get_ctx(), PHASE_BUDGET, lambda: known.relaxed)
    if relaxed is None:
        return Attempted((), (REDUCED.name,))
    return Attempted((Candidate(REDUCED, known.scop.schedule, relaxed),), ())


def _adds_in_outermost_loop(statement: Statement) -> bool:
    """Return whether the outermost loop around the updates of a reduction updates the same elements again and again:
    where it does not, workers take its iterations as they are.  A subscript that depends on data moves with no loop."""
    if statement.reduction is None or not statement.iterators:
        return False
    outermost = Iterator(statement.iterators[0])
    parts = (part for operation in statement.operations for part in walk(operation))
    updates = (part.target for part in parts if isinstance(part, Assign) and part.target in walk(part.value))
    return any(not any(_moves_with(subscript, outermost) for subscript in each.subscripts) for each in updates)


def _calls_library(statement: Statement) -> bool:
    """Return whether a statement in loops calls a library: one with threads of its own takes longer for two calls at a
    time than for one after the other."""
    parts = (part for operation in statement.operations for part in walk(operation))
    return bool(statement.iterators) and any(isinstance(part, LibraryCall) for part in parts)


def _moves_with(subscript: Expression, iterator: Iterator) -> bool:
    parts = list(walk(subscript))
    return iterator in parts and not any(isinstance(part, Element) for part in parts)


REDUCED = Order(
    name="reduced",
    meaning="the loops of the source, shared out to workers that add up in copies of their own",
    find=_find,
    needs=(
        REASSOCIATION,
        Need(
            "sums that the iterations of an outermost loop add to",
            lambda dependences: any(map(_adds_in_outermost_loop, dependences.scop.statements)),
        ),
        Need(
            "loops without calls of libraries",
            lambda dependences: not any(map(_calls_library, dependences.scop.statements)),
        ),
    ),
    options=PlanOptions(wavefront=False, accumulate=True, sums=True),
)
