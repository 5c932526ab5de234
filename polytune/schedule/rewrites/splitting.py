"""Index-set splitting: loops cut where one iteration stands between all others.

In the Floyd-Warshall algorithm, ``path[i, j] = min(path[i, j], path[i, k] + path[k, j])``, the iterations of i depend
on one another through row k alone: those before it read what iteration i = k then writes, those behind it read what it
has written.  Cut into ``i < k``, ``i = k`` and ``i > k``, each piece is parallel.  After Griebl, Feautrier and
Lengauer, "Index Set Splitting" (International Journal of Parallel Programming 28(6), 2000).
"""

from __future__ import annotations

import islpy as isl

from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.schedule.analysis.bands import analyse_band, open_dependences
from polytune.schedule.analysis.dependences import Dependences
from polytune.schedule.candidate import Attempted, Candidate, Order, PlanOptions
from polytune.schedule.unions import coalesced, maps_of

MOST_CUTS = 2
"""The most times that a loop, and then each piece of it, is cut: seven pieces at most."""

MOST_CONSTRAINTS = 1_000
"""The largest kernel whose loops are cut, by the constraints of its dependences: where each place may be one to cut at
has to be asked of each of them."""


def split_source(source: Candidate) -> Attempted[Candidate]:
    """The source order with loops cut into parallel pieces; none where there is nothing to cut.

    Pieces run in the order of the iterations that they are made of, so that the order of execution is the source's.
    """
    dependences = source.dependences
    root = source.schedule.get_root()
    if dependences.constraints > MOST_CONSTRAINTS:
        return Attempted((), (SPLIT.name,))

    def work() -> isl.Schedule:
        return _split_below(root, dependences).get_schedule()

    found = within_budget(root.get_ctx(), PHASE_BUDGET, work)
    if found is None:
        return Attempted((), (SPLIT.name,))
    return Attempted(() if found.plain_is_equal(source.schedule) else (Candidate(SPLIT, found, dependences),), ())


SPLIT = Order(
    name="split",
    meaning="the source order with loops cut into pieces of independent iterations",
    is_seen=True,
    # Of a nest of independent points nothing outside is to be cut, and inside each loop carries a value all along.
    find=lambda known: Attempted((), ()) if known.nest is not None else split_source(known.found[0]),
    options=PlanOptions(look_inside=True),
    may_repeat=True,
)


def _split_below(node: isl.ScheduleNode, dependences: Dependences) -> isl.ScheduleNode:
    """The node, at the same position, with the loops of its subtree cut where that makes them parallel."""
    if node.get_type() == isl.schedule_node_type.band:
        node = split_band(node, dependences) or node
    for position in range(node.n_children()):
        node = _split_below(node.child(position), dependences).parent()
    return node


def split_band(node: isl.ScheduleNode, dependences: Dependences, cuts: int = MOST_CUTS) -> isl.ScheduleNode | None:
    """A sequence of pieces of a loop, all coincident; None where the loop is so as a whole, or cannot be made so, and
    where each piece would be a single iteration.

    With P the loops around and B the loop, a cut at e is ``{ x : B(x) < e(P(x)) }``, ``{ x : B(x) = e(P(x)) }`` and
    ``{ x : B(x) > e(P(x)) }``: they cover all instances, and B grows from each to the next.  Where e is a quotient that
    is no integer, there is nothing at the cut.

    Most loops carry nothing, or everything from each iteration to the next: they have no places to be cut at, which is
    seen sooner than whether they are coincident.

    Args:
        node: a band of one member.
        dependences: what pieces must be free of.
        cuts: how many times it may be cut.
    """
    places = _places(node, dependences) if node.band_n_member() == 1 and cuts else []
    if not places or analyse_band(node, dependences).coincident[0]:
        return None
    for place in places:
        pieces = _cut(node, place)
        if pieces is not None:
            found = _with_parallel_pieces(pieces, dependences, cuts - 1)
            if found is not None and _has_several_iterations(found):
                return found
    return None


def _has_several_iterations(pieces: isl.ScheduleNode) -> bool:
    """Return whether a piece of a loop is a loop: what is left of one over two colours is nothing to be shared out.

    That is where ``{ P -> x : B(s) = x, P(s) = P }`` is no function, for the piece's band B and the loops P around it.
    """
    prefix = pieces.get_prefix_schedule_union_map()
    for position in range(pieces.n_children()):
        below = pieces.child(position).child(0)
        if below.get_type() != isl.schedule_node_type.band:
            return True  # it has been cut again
        loop = below.band_get_partial_schedule_union_map().intersect_domain(below.get_domain())
        if not prefix.reverse().apply_range(loop).is_single_valued():
            return True
    return False


def _with_parallel_pieces(pieces: isl.ScheduleNode, dependences: Dependences, cuts: int) -> isl.ScheduleNode | None:
    """A sequence of pieces, those that are not coincident cut again; None where that does not make them so."""
    for position in range(pieces.n_children()):
        band = pieces.child(position).child(0)
        if not analyse_band(band, dependences).coincident[0]:
            found = split_band(band, dependences, cuts)
            if found is None:
                return None
            pieces = found.ancestor(2)
    return pieces


def _cut(node: isl.ScheduleNode, place: isl.Aff) -> isl.ScheduleNode | None:
    """A loop as a sequence of what is before, at and behind a place ``{ P -> [e] }``; None where all is together."""
    parts = [part for part in sides_of(node, place) if not part.is_empty()]
    if len(parts) < 2:
        return None
    filters = isl.UnionSetList.alloc(node.get_ctx(), len(parts))
    for part in parts:
        filters = filters.add(part.gist(node.get_domain()))
    return node.insert_sequence(filters)


def sides_of(node: isl.ScheduleNode, place: isl.Aff) -> tuple[isl.UnionSet, isl.UnionSet, isl.UnionSet]:
    """The instances of a loop before, at and behind a place ``{ P -> [e] }``.

    B being an integer, ``B < e`` is ``B < ceil(e)``, ``B > e`` is ``B > floor(e)``, and ``B = e`` is both of
    ``B = floor(e)`` and ``B = ceil(e)``: as relations, floor(e) and ceil(e) are defined for every P, but e only where
    it is an integer.
    """
    loop = node.band_get_partial_schedule_union_map().intersect_domain(node.get_domain())
    prefix = node.get_prefix_schedule_union_map()
    value = place.get_domain_space().drop_dims(isl.dim_type.set, 0, place.dim(isl.dim_type.in_))
    value = value.reset_tuple_id(isl.dim_type.set).add_dims(isl.dim_type.set, 1)

    def side(bound: isl.Aff, relation: isl.Map) -> isl.UnionSet:
        at = prefix.apply_range(isl.UnionMap.from_map(isl.Map.from_aff(bound)))
        return coalesced(loop.intersect(at.apply_range(isl.UnionMap.from_map(relation))).domain())

    same = isl.Map.identity(value.map_from_set())
    before, behind = side(place.ceil(), isl.Map.lex_gt(value)), side(place.floor(), isl.Map.lex_lt(value))
    return before, side(place.floor(), same).intersect(side(place.ceil(), same)), behind


def only_cut(node: isl.ScheduleNode, dependences: Dependences) -> isl.Aff | None:
    """A place ``{ P -> [e] }`` of which all sides are coincident; None where the loop is so as a whole, or never is."""
    places = _places(node, dependences) if node.band_n_member() == 1 else []
    if not places or analyse_band(node, dependences).coincident[0]:
        return None
    for place in places:
        pieces = _cut(node, place)
        if pieces is not None and _with_parallel_pieces(pieces, dependences, 0) is not None:
            return place
    return None


def _places(node: isl.ScheduleNode, dependences: Dependences) -> list[isl.Aff]:
    """Return where a loop may be cut, ``{ P -> [e(P)] }`` with affine e: at an iteration that all dependences of one
    kind that the loop carries lead to, or come from."""
    loop = node.band_get_partial_schedule_union_map()
    prefix = node.get_prefix_schedule_union_map()
    carried = open_dependences(dependences.forced, node)
    carried = carried.subtract(carried.eq_at_multi_union_pw_aff(node.band_get_partial_schedule()))
    found: list[isl.Aff] = []
    for relation in maps_of(carried):
        for piece in relation.get_basic_maps():
            for ends in (piece.domain(), piece.range()):
                instances = isl.UnionSet.from_set(isl.Set.from_basic_set(ends))
                iterations = maps_of(prefix.intersect_domain(instances).reverse().apply_range(loop))
                # There are none where the piece has no instances.
                place = _affine(iterations[0]) if len(iterations) == 1 else None
                if place is not None and not any(place.plain_is_equal(other) for other in found):
                    found.append(place)
    return found


def _affine(iterations: isl.Map) -> isl.Aff | None:
    """``{ P -> [e(P)] }`` for every P, if the relation says so where it is defined; None where it is no function."""
    if not iterations.is_single_valued():
        return None
    function = isl.PwMultiAff.from_map(coalesced(iterations)).get_at(0)
    function = function.gist(function.domain())
    return function.as_aff() if function.isa_aff() else None
