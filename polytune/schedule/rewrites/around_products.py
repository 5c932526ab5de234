"""Products of matrices by NumPy's library, and what is around them shared out.

The kernel of the order ``library`` has its products as calls.  What is left, as the sums, functions and copies before a
product and behind it, is scheduled like any kernel: neighbouring sweeps over an array are one, and workers share them
out.  A call is one piece of serial work, beside which workers that have nothing to do sleep, so that the library's own
threads have the cores.

Why that is right: the calls are statements of that kernel, with all that they read and write, and the schedule is
checked against its dependences.
"""

from __future__ import annotations

from dataclasses import replace

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.candidate import REASSOCIATION, Attempted, Candidate, Known, Order
from polytune.schedule.orders.grouped import grouped_schedule
from polytune.schedule.rewrites.library_products import LIBRARY, PRODUCTS
from polytune.schedule.scheduler import LEAST_FUSED, legal_schedule


def _find(known: Known) -> Attempted[Candidate]:
    """The order, where the kernel has calls, and loops beside them that do more than add a product to its target."""
    called = next((each for each in known.found if each.order == LIBRARY), None)
    if called is None or called.origin is None:
        return Attempted((), ())
    dependences, after = called.dependences, called.origin.copies
    if not any(each.iterators and each.name not in after for each in dependences.scop.statements):
        return Attempted((), ())
    apart = legal_schedule(dependences.scop, dependences, LEAST_FUSED)
    if apart is None:
        return Attempted((), (AROUND.name,))
    least = Candidate(AROUND, apart, dependences, origin=called.origin)
    grouped = within_budget(
        dependences.scop.context.get_ctx(),
        PHASE_BUDGET,
        lambda: grouped_schedule(Known(dependences, (called, least))),
    )
    return Attempted((least if grouped is None else replace(least, schedule=grouped),), ())


AROUND = Order(
    name="around",
    meaning="products of matrices by NumPy's library, and what is around them shared out",
    find=_find,
    needs=(REASSOCIATION, PRODUCTS),
    may_repeat=True,
)
