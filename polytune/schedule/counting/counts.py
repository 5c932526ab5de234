"""Counts of what a SCoP, or a part of one, computes, touches and reuses, as exact functions of its parameters.

The three metrics of Pfaffe, Grosser and Tillmann, "Efficient Hierarchical Online-Autotuning" (ICS 2019), section
3.2.2, by which a tuner rejects configurations without running them:

- *compute*: the statement instances, ``sum over S of card { S[i] }``;
- *memory*: the footprints of the accesses added up, ``sum over A of card range(A)`` with ``A = { S[i] -> A[a] }``;
- *reuse*: the accesses to one element within one outer iteration, see :class:`Reuse`.

A count that is infinite, or that would take too long to find, is None: unknown, so that nothing may be concluded
from it.

The number of elements of a parametric set comes from Barvinok's algorithm (``isl.Set.card``), where that is safe to ask
for.  The algorithm takes time exponential in the dimension and grows with the size of coefficients, and it cannot be
interrupted: where isl's limit on operations strikes inside of it, the process crashes.  So isl first writes the set as
disjoint basic sets with explicit integer divisions, under a limit, and then it is judged by its looks.  The basic sets
are counted one by one, which takes milliseconds: what takes minutes is to add up many counts of several parameters,
each in pieces, and that is done under a limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial, reduce

import islpy as isl

from polytune.frontend.polyhedral.budget import ARRAY_BUDGET, within_budget
from polytune.frontend.scop import ArrayRole, Scop
from polytune.records import dataclass
from polytune.schedule.counting.quasi_polynomial import PiecewiseQuasiPolynomial
from polytune.schedule.unions import maps_of, sets_of


@dataclass(frozen=True)
class Reuse:
    """The number of times that an element of an array is accessed within an outer iteration, on average over all
    elements touched.

    With ``P = { S[i] -> o }`` the outer iteration of every instance and A the accesses to the array,
    ``accesses = sum over A of card A``, counted once per instance and reference, and
    ``elements = card of the union over A of { [o -> a] : exists S[i]: (S[i], o) in P and (S[i], a) in A }``, the pairs
    of an outer iteration and an element that it touches.  The quotient is never below 1 where there is any access, and
    it is 1 if and only if no element is accessed twice in any one outer iteration: exactly then a copy kept over an
    outer iteration (shared memory) saves nothing.  So the average decides that question as the maximum would, and it
    is exact, where a maximum over the elements would be a bound.
    """

    accesses: PiecewiseQuasiPolynomial
    elements: PiecewiseQuasiPolynomial

    def evaluate(self, **parameters: int) -> Fraction:
        """Accesses per element; 0 where there is no access."""
        elements = self.elements.evaluate(**parameters)
        return Fraction(self.accesses.evaluate(**parameters), elements) if elements else Fraction(0)


@dataclass(frozen=True)
class ArrayCounts:
    """One array's part: ``footprint`` is the number of distinct elements accessed, what has to move; and its reuse."""

    array: str
    footprint: Count
    reuse: Reuse | None


@dataclass(frozen=True)
class Counts:
    """The counts of a SCoP or of a part of one; None where a number is not known.

    Attributes:
        compute: statement instances.
        memory: elements, added up over the accesses (an element that two accesses touch counts twice).
        arrays: per array, the elements that it really has to hold, and its reuse.
    """

    compute: Count = None
    memory: Count = None
    arrays: tuple[ArrayCounts, ...] = ()

    def reuse(self, **parameters: int) -> Fraction | None:
        """The largest reuse of any array; None where one is not known."""
        known = [array.reuse for array in self.arrays if array.reuse is not None]
        if len(known) < len(self.arrays):
            return None
        return max((reuse.evaluate(**parameters) for reuse in known), default=Fraction(0))

    def python(self) -> str:
        """The source of the known counts as plain functions of the parameters, without imports."""
        named = [("compute", self.compute), ("memory", self.memory)]
        for array in self.arrays:
            named.append((f"footprint_{array.array}", array.footprint))
            if array.reuse is not None:
                named.append((f"accesses_{array.array}", array.reuse.accesses))
                named.append((f"elements_{array.array}", array.reuse.elements))
        return "\n\n".join(count.python(name) for name, count in named if count is not None)

    def __str__(self) -> str:
        lines = [f"compute: {_shown(self.compute)}", f"memory: {_shown(self.memory)}"]
        for array in self.arrays:
            lines.append(f"{array.array}: footprint: {_shown(array.footprint)}")
            if array.reuse is None:
                lines.append(f"{array.array}: reuse: unknown")
            else:
                lines.append(f"{array.array}: reuse: ({array.reuse.accesses}) / ({array.reuse.elements})")
        return "\n".join(lines)


def count(scop: Scop, operations: int = ARRAY_BUDGET) -> Counts:
    """The counts of a whole SCoP; an outer iteration is one iteration of an outermost loop of the source.

    Scalar variables are left out of memory and reuse: they live in registers.
    """
    accesses = [
        access.relation
        for statement in scop.statements
        for access in statement.accesses
        if scop.array(access.array).role is not ArrayRole.SCALAR
    ]
    domains = isl.UnionSet.empty(scop.context.get_space())
    for statement in scop.statements:
        domains = domains.union(isl.UnionSet(statement.domain))
    return count_part(domains, accesses, outer_iterations(scop), scop.context, operations)


def count_part(
    domains: isl.UnionSet,
    accesses: Sequence[isl.Map],
    outer: isl.UnionMap,
    context: isl.Set,
    operations: int = ARRAY_BUDGET,
) -> Counts:
    """The counts of a part of a SCoP: its instances, their accesses, and the outer iteration of each instance.

    Args:
        domains: ``[p] -> { S[i] }``; accesses of other instances are left out.
        accesses: ``[p] -> { S[i] -> A[a] }``, one relation per reference.
        outer: ``[p] -> { S[i] -> o }``, defined on all of ``domains``.
        context: ``[p] -> { : ... }``, what is known of the parameters; counts are exact where it holds.
        operations: the isl operations that preparing each count may take.
    """
    parts = [part for access in accesses for part in maps_of(isl.UnionMap(access).intersect_domain(domains))]
    arrays: dict[str, list[isl.Map]] = {}
    for part in parts:
        arrays.setdefault(part.get_tuple_name(isl.dim_type.out), []).append(part)
    return Counts(
        compute_volume(domains, context, operations),
        memory_footprint(parts, context, operations),
        tuple(
            ArrayCounts(name, array_footprint(maps, context, operations), reuse(maps, outer, context, operations))
            for name, maps in arrays.items()
        ),
    )


def compute_volume(domains: isl.UnionSet, context: isl.Set, operations: int = ARRAY_BUDGET) -> Count:
    """The number of statement instances; None where it is too hard to find.

    Args:
        domains: the instances, ``[p] -> { S[i] }``.
        context: what is known of the parameters.
        operations: of isl, after which each step is given up.
    """
    return cardinality(sets_of(domains), context, operations)


def memory_footprint(accesses: Sequence[isl.Map], context: isl.Set, operations: int = ARRAY_BUDGET) -> Count:
    """The sum over accesses of the number of elements that each touches; None where it is too hard to find.

    Args:
        accesses: ``[p] -> { S[i] -> A[a] }`` each, of any arrays.
        context: what is known of the parameters.
        operations: of isl, after which each step is given up.
    """
    return cardinality([access.range() for access in accesses], context, operations)


def array_footprint(accesses: Sequence[isl.Map], context: isl.Set, operations: int = ARRAY_BUDGET) -> Count:
    """The number of elements of one array that accesses touch together; None where it is too hard to find.

    Args:
        accesses: ``[p] -> { S[i] -> A[a] }`` each, of that array.
        context: what is known of the parameters.
        operations: of isl, after which each step is given up.
    """
    return cardinality([reduce(isl.Set.union, (access.range() for access in accesses))], context, operations)


def reuse(
    accesses: Sequence[isl.Map], outer: isl.UnionMap, context: isl.Set, operations: int = ARRAY_BUDGET
) -> Reuse | None:
    """The reuse of one array's accesses in outer iterations; None where it is too hard to find.

    Args:
        accesses: ``[p] -> { S[i] -> A[a] }`` each, of that array.
        outer: the outer iteration of each instance, ``[p] -> { S[i] -> o }``.
        context: what is known of the parameters.
        operations: of isl, after which each step is given up.
    """
    touched = isl.UnionSet.empty(context.get_space())
    for access in accesses:
        touched = touched.union(outer.range_product(isl.UnionMap(access)).range())
    total = cardinality([access.wrap() for access in accesses], context, operations)
    elements = cardinality(sets_of(touched), context, operations)
    return None if total is None or elements is None else Reuse(total, elements)


def outer_iterations(scop: Scop) -> isl.UnionMap:
    """``[p] -> { S[i0, i1, ...] -> L[i0] }``: the iteration of the outermost loop L that each instance is in.

    A statement outside all loops is in an outer iteration of its own, ``S[] -> S[]``.
    """
    loops = {
        statement: f"loop{index}"
        for index, loop in enumerate(scop.loops)
        if loop.depth == 0
        for statement in loop.statements
    }
    relation = isl.UnionMap.empty(scop.context.get_space())
    for statement in scop.statements:
        identity = statement.domain.identity()
        inner = max(0, identity.dim(isl.dim_type.out) - 1)
        prefix = identity.project_out(isl.dim_type.out, identity.dim(isl.dim_type.out) - inner, inner)
        prefix = prefix.set_tuple_name(isl.dim_type.out, loops.get(statement.name, statement.name))
        relation = relation.union(isl.UnionMap(prefix))
    return relation


def _shown(count: Count) -> str:
    return "unknown" if count is None else str(count)


_BASIC_SETS, _VARIABLES, _SKEW = 32, 10, 128
"""The most basic sets, variables and skew of a set that is counted: about a second at worst, mostly a millisecond."""

Count = PiecewiseQuasiPolynomial | None
"""A number of elements; None where it is infinite, or not known because it would take too long to find."""


def cardinality(sets: Iterable[isl.Set], context: isl.Set, operations: int = ARRAY_BUDGET) -> Count:
    """The sum of the sets' numbers of elements, as a function of the context's parameters where the context holds; None
    where it is too hard to find.

    Args:
        sets: ``[p] -> { S[i] }`` each, finite for every value of the parameters.
        context: what is known of the parameters.
        operations: of isl, after which each step is given up.
    """
    counts = []
    for part in sets:
        prepared = within_budget(context.get_ctx(), operations, partial(_disjoint, part, context))
        if prepared is None or not _is_countable(prepared):
            return None
        basics = prepared.get_basic_set_list()
        counts += [isl.Set.from_basic_set(basics.get_at(index)).card() for index in range(basics.n_basic_set())]
    total = within_budget(context.get_ctx(), operations, partial(_sum, counts, context))
    if total is None or any(polynomial.is_infty() for _, polynomial in total.get_pieces()):
        return None
    return PiecewiseQuasiPolynomial.from_isl(total)


def _disjoint(part: isl.Set, context: isl.Set) -> isl.Set:
    """The part of a set where the context holds, as disjoint basic sets whose existential variables are divisions."""
    part = part.align_params(context.get_space()).intersect_params(context)
    return part.compute_divs().make_disjoint().coalesce()


def _sum(counts: list[isl.PwQPolynomial], context: isl.Set) -> isl.PwQPolynomial:
    total = isl.PwQPolynomial.from_qpolynomial(isl.QPolynomial.zero_on_domain(context.get_space()))
    for count in counts:
        total = total.add(count)
    return total.gist_params(context).coalesce()


def _is_countable(part: isl.Set) -> bool:
    basics = part.get_basic_set_list()
    return basics.n_basic_set() <= _BASIC_SETS and all(
        _is_simple(basics.get_at(index)) for index in range(basics.n_basic_set())
    )


def _is_simple(basic: isl.BasicSet) -> bool:
    """Return whether there are few variables, and no constraint but the definitions of divisions skews them much.

    The skew of a constraint is the product of the two largest coefficients of variables in it: cones with large
    coefficients on several sides fall apart into very many unimodular ones.
    """
    variables = [(kind, index) for kind in (isl.dim_type.set, isl.dim_type.div) for index in range(basic.dim(kind))]
    if len(variables) > _VARIABLES:
        return False
    for constraint in basic.get_constraints():
        if constraint.is_div_constraint():
            continue
        sizes = sorted(abs(constraint.get_coefficient_val(kind, index).to_python()) for kind, index in variables)
        if len(sizes) > 1 and sizes[-1] * sizes[-2] > _SKEW:
            return False
    return True
