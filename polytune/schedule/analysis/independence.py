"""Innermost loops that carry no dependence, inside what is shared out."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polytune.schedule.analysis.bands import analyse_band
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.tree import has_band


def independent_inside(node: isl.ScheduleNode, dependences: Dependences) -> frozenset[int]:
    """The depths below a node's own band at which there are innermost loops alone, and none carries a dependence."""
    bands = list(_bands_below(node))
    innermost = [band for band in bands if not has_band(band.child(0))]
    others = {depth for band in bands if has_band(band.child(0)) for depth in _depths(band)}
    independent = {depth for band in innermost for depth in _depths(band)} - others
    for band in innermost:
        if independent.intersection(_depths(band)):
            coincident = analyse_band(band, dependences).coincident
            independent -= {depth for depth, parallel in zip(_depths(band), coincident, strict=True) if not parallel}
    return frozenset(independent)


def _depths(band: isl.ScheduleNode) -> range:
    """How many loops are around each member of a band."""
    return range(band.get_schedule_depth(), band.get_schedule_depth() + band.band_n_member())


def _bands_below(node: isl.ScheduleNode) -> Iterator[isl.ScheduleNode]:
    """The bands of the subtrees below a node."""
    for position in range(node.n_children()):
        child = node.child(position)
        if child.get_type() == isl.schedule_node_type.band:
            yield child
        yield from _bands_below(child)
