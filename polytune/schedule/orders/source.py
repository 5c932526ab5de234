"""The source order: that of the source, as it stands."""

from __future__ import annotations

from polytune.schedule.candidate import Attempted, Candidate, Known, Order, PlanOptions


def _as_it_is(known: Known) -> Attempted[Candidate]:
    return Attempted((Candidate(SOURCE, known.scop.schedule, known.dependences),), ())


SOURCE = Order(
    name="source",
    meaning="the source order, serial",
    find=_as_it_is,
    options=PlanOptions(team=False, wavefront=False, interchange=False),
    for_devices=3,
)
