"""How a plan is made of a schedule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What a planner looks for; an order says where it begins, and each transform of a plan changes it.

    Attributes:
        team: share work out at all; the whole is one piece of serial work else.
        wavefront: make a permutable band of two members or more, none of them coincident, a wavefront.
        interchange: put the member innermost within a tile along which arrays are contiguous.
        accumulate: put that member innermost, where there is one, along which everything updates the same elements.
        interleave: advance the points of a tile together: sink its coincident members below the loops inside them, so
            that a chain of dependent operations in an inner loop becomes many independent ones side by side.
        expand: give the points of a tile each their own copy of an array where that lets loops over them go inside the
            loops that use it.
        sums: let workers add up in copies of their own where that lets them share out the rows of a sweep.
        early: begin each row of a tile of a wavefront with the updates that wait for nothing in it.
        look_inside: find out which innermost loops of regions carry no dependence.
    """

    team: bool = True
    wavefront: bool = True
    interchange: bool = True
    accumulate: bool = False
    interleave: bool = False
    expand: bool = False
    sums: bool = False
    early: bool = False
    look_inside: bool = False
