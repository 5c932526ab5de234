"""Accesses with subscripts on rings, ``A[k, (i + shift[k]) % n]``, by their places there.

Which instances touch the same element is known although data decide which element it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import islpy as isl

from polytune.frontend.scop import Access, Scop

__all__ = ["by_places"]


def by_places(accesses: Sequence[Access], scop: Scop) -> Sequence[Access]:
    """The accesses to an array with places on rings in place of elements, where two of them touch the same element if
    and only if they have the same place; the accesses as they are elsewhere.

    That is so where all have the same arrays as shifts, which nothing changes, and the rest of a place says which
    elements of these are added: then equal places have equal shifts, and so do equal elements along the other axes.

    Args:
        accesses: all accesses to the array.
        scop: what they belong to.
    """
    rings = [access.on_rings for access in accesses if access.on_rings is not None]
    if not rings or len(rings) < len(accesses) or any(ring.arrays != rings[0].arrays for ring in rings):
        return accesses
    if not all(map(_has_own_places, accesses)):
        return accesses  # the statements have been rewritten
    shifting = {array for _, array, _, _ in rings[0].arrays}
    changed = {each.array for statement in scop.statements for each in statement.accesses if each.is_write}
    if shifting & changed:
        return accesses
    moved = {axis for axis, _, _, _ in rings[0].arrays}
    known = [_without(ring.places, sorted(moved, reverse=True)).reverse().apply_range(ring.shifts) for ring in rings]
    if not reduce(isl.Map.union, known).intersect_params(scop.context).is_single_valued():
        return accesses
    return [replace(access, relation=ring.places) for access, ring in zip(accesses, rings, strict=True)]


def _has_own_places(access: Access) -> bool:
    """Return whether the places of an access are those of the statement that makes it."""
    assert access.on_rings is not None
    places, relation = access.on_rings.places, access.relation
    names = [each.get_tuple_name(isl.dim_type.in_) for each in (places, relation)]
    return names[0] == names[1] == access.statement and bool(relation.domain().is_subset(places.domain()))


def _without(places: isl.Map, axes: Sequence[int]) -> isl.Map:
    """The places along the other axes; the axes come from the last to the first."""
    for axis in axes:
        places = places.project_out(isl.dim_type.out, axis, 1)
    return places
