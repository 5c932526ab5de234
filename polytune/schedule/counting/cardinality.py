"""The number of elements of parametric sets, by Barvinok's algorithm (``isl.Set.card``), where that is safe to ask for.

The algorithm takes time exponential in the dimension and grows with the size of coefficients, and it cannot be
interrupted: where isl's limit on operations strikes inside of it, the process crashes.  So isl first writes the set as
disjoint basic sets with explicit integer divisions, under a limit, and then it is judged by its looks.  The basic sets
are counted one by one, which takes milliseconds: what takes minutes is to add up many counts of several parameters,
each in pieces, and that is done under a limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import islpy as isl

from polytune.frontend.budget import ARRAY_BUDGET, within_budget
from polytune.schedule.counting.quasi_polynomial import PiecewiseQuasiPolynomial

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
