"""Products of matrices by the library that NumPy has for them: a nest is one call.

``S[i, j, k]: C[i, j] += f * A[i, k] * B[k, j]`` over a box becomes one statement ``P[]: T = A @ B`` that stands for all
instances of S, and ``Q[i, j]: C[i, j] += f * T[i, j]``.  Where a statement ``Z[i, j]: C[i, j] = 0`` fills just those
elements before, P writes them itself and stands for Z, too.  Where S has a triangle of the elements of C alone, as in
products of a matrix and its transpose, T has all of them, and Q[i, j] adds the triangle: the library is faster by more.

Why that is right: in the kernel as it was, the nest may come in one piece, by the exact check of an order in which it
does.  In that piece no instance of S depends on another one but as an update of the same element, which may come in any
order, and whose sum may be computed apart.  So A and B are the same in all of it, P has what the instances add, and
what comes before and after finds what it found.  The kernel with P is a kernel like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import islpy as isl

from polytune.frontend.expression import (
    Assign,
    Constant,
    Element,
)
from polytune.frontend.polyhedral.budget import PHASE_BUDGET, within_budget
from polytune.frontend.scop import Scop, Statement
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.legality import is_proven_legal
from polytune.schedule.candidate import REASSOCIATION, Attempted, Candidate, Known, Need, Order, Origin, PlanOptions
from polytune.schedule.rewrites.library_calls import Calls, Nest, written_by
from polytune.schedule.rewrites.matrix_products import (
    AxisRange,
    MatrixProduct,
    axis_ranges,
    is_of_matrix,
    iterators_in,
    matrix_product,
    subscripted_in_order,
)
from polytune.schedule.unions import domain_of, maps_of

MOST_CONSTRAINTS = 3_000
"""The largest kernel whose products are called for, by the constraints of its dependences, all of which are found anew
for the kernel with calls."""


def _has_products(dependences: Dependences) -> bool:
    scop = dependences.scop
    context = scop.context.get_ctx()
    found = within_budget(context, PHASE_BUDGET, lambda: [matrix_product(each, scop) for each in scop.statements])
    return found is not None and any(found)


PRODUCTS = Need("products of matrices", _has_products)


def call_products(known: Known) -> Attempted[Candidate]:
    """The kernel with its products of matrices as calls, in the source's order but for them; none where none of them
    may be in one piece."""
    scop = known.scop
    if known.dependences.constraints > MOST_CONSTRAINTS:
        return Attempted((), (LIBRARY.name,))
    context = scop.context.get_ctx()
    made = within_budget(context, PHASE_BUDGET, lambda: (_rewritten(scop, known.relaxed),))
    if made is None:
        return Attempted((), (LIBRARY.name,))
    (kernel,) = made
    if kernel is None:
        return Attempted((), ())
    changed, origin = kernel
    dependences = within_budget(context, PHASE_BUDGET, lambda: compute_dependences(changed, exact=False))
    if dependences is None:
        return Attempted((), (LIBRARY.name,))
    return Attempted((Candidate(LIBRARY, changed.schedule, dependences, origin=origin),), ())


LIBRARY = Order(
    name="library",
    meaning="products of matrices by NumPy's library, all else serial",
    find=call_products,
    needs=(REASSOCIATION, PRODUCTS),
    options=PlanOptions(team=False, wavefront=False, interchange=False),
    may_repeat=True,
    stands_alone=True,
)


def _rewritten(scop: Scop, dependences: Dependences) -> tuple[Scop, Origin] | None:
    """The kernel with calls, in an order in which they have all that they need, and the relation of its instances to
    those that it had; None where it has none that may be called so.

    Args:
        scop: the kernel as it is.
        dependences: its dependences, without those among the updates of a reduction.
    """
    follows = _follows(dependences)
    pieces = _in_pieces(scop, dependences, follows)
    nests = [piece for piece in pieces if isinstance(piece, Nest)]
    if not nests or not is_proven_legal(_sequence(_apart(pieces), scop), dependences):
        return None
    calls = Calls(scop)
    schedules = []
    for piece in pieces:
        if isinstance(piece, Nest):
            schedules += [_in_one_loop_nest(statement) for statement in calls.of(piece)]
        else:
            schedules.append(_loops_of(piece, scop))
    schedule = reduce(lambda before, after: before.sequence(after), schedules)
    return calls.kernel(schedule), calls.origin()


def _follows(dependences: Dependences) -> dict[str, set[str]]:
    """The statements that depend on each statement, directly or through others."""
    direct: dict[str, set[str]] = {statement.name: set() for statement in dependences.scop.statements}
    for part in maps_of(dependences.everything):
        direct[part.get_tuple_name(isl.dim_type.in_)].add(part.get_tuple_name(isl.dim_type.out))
    found: dict[str, set[str]] = {}
    for name, after in direct.items():
        reached, frontier = set[str](), set(after)
        while frontier:
            reached |= frontier
            frontier = set().union(*(direct[each] for each in frontier)) - reached
        found[name] = reached
    return found


def _in_pieces(
    scop: Scop, dependences: Dependences, follows: dict[str, set[str]]
) -> list[Nest | tuple[Statement, ...]]:
    """The kernel's statements, each once: products in one piece, each after all that they depend on; what is left
    between them in the source's order.

    Args:
        scop: the kernel.
        dependences: its dependences.
        follows: the statements that depend on each, directly or not.
    """
    pieces: list[Nest | tuple[Statement, ...]] = []
    rest = list(scop.statements)
    for statement in scop.statements:
        product = matrix_product(statement, scop)
        # What depends on itself is in a loop with others, or its updates are no reduction.
        if product is None or statement not in rest or statement.name in follows[statement.name]:
            continue
        nest = _nest(product, rest, scop, follows)
        if nest.zeros is None and not (product.rows.is_positive and product.columns.is_positive):
            continue
        own = {each.name for each in nest.statements}
        before = tuple(each for each in rest if each.name not in own and follows[each.name] & own)
        pieces += [before, nest] if before else [nest]
        rest = [each for each in rest if each.name not in own and each not in before]
    return [*pieces, tuple(rest)] if rest else pieces


def _nest(product: MatrixProduct, rest: Sequence[Statement], scop: Scop, follows: dict[str, set[str]]) -> Nest:
    """The product with the zeros that it begins with, where nothing has to come between them.

    Args:
        product: the product.
        rest: the statements that have no place yet.
        scop: the kernel.
        follows: the statements that depend on each, directly or not.
    """
    if not product.is_whole:
        return Nest(product, None, None)
    own = product.statement.name
    for statement in rest:
        ranges = _zeros_ranges(statement, product, scop)
        between = {each.name for each in rest} & follows[statement.name]
        if ranges is not None and not any(own in follows[name] for name in between):
            return Nest(product, statement, ranges)
    return Nest(product, None, None)


def _zeros_ranges(zeros: Statement, product: MatrixProduct, scop: Scop) -> tuple[AxisRange, AxisRange] | None:
    """The ranges of the subscripts that are the product's rows and columns, in a statement that fills its target with
    zeros; None for others.

    With ``W_Z = { Z[x] -> C[a] }`` and ``W_S = { S[i, j, k] -> C[a] }`` its writes and the product's, both go through
    the elements in steps of one, and ``range(W_Z) = range(W_S)`` wherever S has an instance: so that the first element
    of one is the first one of the other.
    """
    match zeros.operations:
        case (Assign(Element() as target, Constant(value)),) if value == 0 and target.array == product.target.array:
            pass
        case _:
            return None
    if zeros.is_opaque or len(zeros.iterators) != 2 or not _moves_alike(target, product.target):
        return None
    there = product.statement.domain.params().intersect(scop.context)
    filled, updated = (written_by(each).intersect_params(there) for each in (zeros, product.statement))
    axes = axis_ranges(zeros, scop)
    if axes is None or not filled.is_equal(updated):
        return None
    first, second = subscripted_in_order(target)
    return axes[first], axes[second]


def _moves_alike(one: Element, other: Element) -> bool:
    """Return whether two elements have iterators in the same subscripts, in steps of one, and all others alike."""
    return is_of_matrix(one) and all(
        bool(iterators_in(own)) == bool(iterators_in(its)) and (bool(iterators_in(own)) or own == its)
        for own, its in zip(one.subscripts, other.subscripts, strict=True)
    )


def _apart(pieces: Iterable[Nest | tuple[Statement, ...]]) -> list[tuple[Statement, ...]]:
    """The statements of each loop nest of the kernel as it was, in the order of pieces."""
    found: list[tuple[Statement, ...]] = []
    for piece in pieces:
        found += [(each,) for each in piece.statements] if isinstance(piece, Nest) else [piece]
    return found


def _sequence(parts: Sequence[tuple[Statement, ...]], scop: Scop) -> isl.Schedule:
    """The source's loops of some statements after those of others."""
    return reduce(lambda before, after: before.sequence(after), (_loops_of(part, scop) for part in parts))


def _loops_of(statements: Sequence[Statement], scop: Scop) -> isl.Schedule:
    return scop.schedule.intersect_domain(domain_of(scop, statements))


def _in_one_loop_nest(statement: Statement) -> isl.Schedule:
    """The instances of a statement in lexicographic order; those without iterators are one."""
    schedule = isl.Schedule.from_domain(isl.UnionSet.from_set(statement.domain))
    if not statement.iterators:
        return schedule
    position = isl.Map.identity(statement.domain.get_space().map_from_set()).reset_tuple_id(isl.dim_type.out)
    band = isl.MultiUnionPwAff.from_union_map(isl.UnionMap.from_map(position.intersect_domain(statement.domain)))
    return schedule.insert_partial_schedule(band)
