"""The source order: that of the source, as it stands."""

from __future__ import annotations

from polytune.schedule.attempted import Attempted
from polytune.schedule.candidate import Candidate, Known, Order
from polytune.schedule.plan_options import PlanOptions


def _as_it_is(known: Known) -> Attempted[Candidate]:
    return Attempted((Candidate(SOURCE, known.scop.schedule, known.dependences),), ())


SOURCE = Order(
    name="source",
    meaning="the source order, serial",
    find=_as_it_is,
    options=PlanOptions(team=False, wavefront=False, interchange=False),
    for_devices=3,
)
