"""The parameters for which a kernel would access an array out of bounds: calls are checked for them before anything is
written."""

from __future__ import annotations

from functools import partial

import islpy as isl

from polytune.errors import Obstacle, SourceLocation, UnsupportedSourceError
from polytune.frontend.expression import Extent
from polytune.frontend.generated_names import generated
from polytune.frontend.polyhedral.affine import AffineBuilder
from polytune.frontend.polyhedral.budget import ARRAY_BUDGET, within_budget
from polytune.frontend.scop import Access, Array, ArrayRole, Scop
from polytune.records import dataclass

_MOST_CASES, _MOST_DIVISIONS = 16, 3

_INDEX = "index'"  # no name of Python's, so that no parameter has it


@dataclass(frozen=True)
class BoundsCondition:
    """A set of parameter values for which some access is out of bounds.

    Attributes:
        side: ``"lower"`` for an index below 0, ``"upper"`` for one that is not below the extent.
        violated: ``[p] -> { : ... }``, simplified under the context (extents are never negative).  Exact, but that
            control that depends on data is taken to let every access happen.
        extents: the parameters of ``violated`` that are no parameters of the SCoP, each as (name, array, dimension).
        location: where the first such access stands.
        certain: whether the access happens whatever the data are.
    """

    array: str
    dimension: int
    side: str
    violated: isl.Set
    extents: tuple[tuple[str, str, int], ...]
    location: SourceLocation
    certain: bool = True

    @property
    def is_of_uncommon(self) -> bool:
        """Return whether Python itself might take such subscripts, which then need code of their own."""
        return self.side == "lower" or not self.certain


def access_bounds(scop: Scop) -> tuple[BoundsCondition, ...]:
    """The conditions under which a call must be refused, in source order.

    Arrays made in the kernel count as well.  A condition that another one on the same index implies is left out.

    Raises:
        UnsupportedSourceError: isl cannot find the conditions for an access within its budget.  A coarser check would
            refuse calls that are right, or let pass some that are not.
    """
    conditions: list[tuple[BoundsCondition, isl.Set]] = []
    refused: list[Obstacle] = []
    context = scop.context.get_ctx()
    for access in (access for statement in scop.statements for access in statement.accesses):
        try:
            found = within_budget(context, 4 * ARRAY_BUDGET, partial(_conditions, scop, access), needed=True)
        except _NotPlainError:
            found = None
        if found is None:
            refused.append(_beyond_checking(access))
            continue
        for condition, violated in found:
            added = within_budget(
                context, 4 * ARRAY_BUDGET, partial(_added, conditions, condition, violated), needed=True
            )
            conditions = [*conditions, (condition, violated)] if added is None else added
    if refused:
        raise UnsupportedSourceError.of(list(dict.fromkeys(refused)))
    return tuple(condition for condition, _ in conditions)


def _beyond_checking(access: Access) -> Obstacle:
    return Obstacle(
        access.location,
        f"subscripts of {access.array!r} that cannot be checked before the kernel runs",
        "when an access stays inside its array is decided from the loop bounds and subscripts for all sizes at once, "
        "and with these that takes too long",
        "use fewer divisions (//), remainders (%) and steps together in the loop bounds and subscripts",
    )


def _conditions(scop: Scop, access: Access) -> list[tuple[BoundsCondition, isl.Set]]:
    """The conditions for one access, each with its set unsimplified."""
    array = scop.array(access.array)
    sides = ((dimension, side) for dimension in range(array.ndim) for side in ("lower", "upper"))
    found = (_condition(scop, array, access, dimension, side) for dimension, side in sides)
    return [condition for condition in found if condition is not None]


def extent_parameter(scop: Scop, array: str, dimension: int) -> str:
    """The name of an argument's extent in bounds conditions: its SCoP parameter's, or one that
    no name of the kernel is.

    Args:
        scop: the kernel.
        array: the name of an array that is an argument.
        dimension: counted from the front.
    """
    for parameter in scop.parameters:
        if parameter.source == Extent(array, dimension):
            return parameter.name
    return generated(array, f"shape_{dimension}")


def _condition(
    scop: Scop, array: Array, access: Access, dimension: int, side: str
) -> tuple[BoundsCondition, isl.Set] | None:
    """The condition for one access and one end of a dimension, and its set unsimplified; None if it is empty."""
    affine = AffineBuilder(context=scop.context.get_ctx())
    indices = access.relation.range().move_dims(isl.dim_type.param, 0, isl.dim_type.set, dimension, 1)
    indices = indices.set_dim_name(isl.dim_type.param, 0, _INDEX).params()
    index = affine.symbol(_INDEX)
    extents: tuple[tuple[str, str, int], ...] = ()
    context = scop.context
    if side == "lower":
        outside = index.lt_set(affine.integer(0))
    elif array.role is ArrayRole.ARGUMENT:
        name = extent_parameter(scop, array.name, dimension)
        outside = index.ge_set(affine.symbol(name))
        if name not in (parameter.name for parameter in scop.parameters):
            extents = ((name, array.name, dimension),)
            context = context.intersect(affine.symbol(name).ge_set(affine.integer(0)))
    else:
        outside = index.ge_set(affine.function(array.shape[dimension]))
    violated = indices.intersect(outside)
    position = violated.find_dim_by_name(isl.dim_type.param, _INDEX)
    violated = violated.project_out(isl.dim_type.param, position, 1).intersect(context)
    if violated.is_empty():
        return None
    simple = within_budget(
        context.get_ctx(), 4 * ARRAY_BUDGET, lambda: violated.coalesce().gist(context).coalesce(), needed=True
    )
    if simple is None:
        if not _is_plain(violated):
            raise _NotPlainError
        simple = violated
    made = BoundsCondition(array.name, dimension, side, simple, extents, access.location, access.certain)
    return made, violated


def _is_plain(condition: isl.Set) -> bool:
    """Return whether a condition may be tested as it is: in few cases, with few divisions each."""
    cases = condition.get_basic_set_list()
    divisions = (cases.get_at(index).dim(isl.dim_type.div) for index in range(cases.n_basic_set()))
    return cases.n_basic_set() <= _MOST_CASES and max(divisions, default=0) <= _MOST_DIVISIONS


class _NotPlainError(Exception):
    """isl does not simplify a condition that is too large to be tested as it is."""


def _added(
    conditions: list[tuple[BoundsCondition, isl.Set]], new: BoundsCondition, violated: isl.Set
) -> list[tuple[BoundsCondition, isl.Set]]:
    """The conditions with a new one, unless one of the same index implies it, and without those that it implies.

    One of an access that need not happen says nothing of one that does.
    """
    rivals = [
        (old, known)
        for old, known in conditions
        if (old.array, old.dimension, old.side) == (new.array, new.dimension, new.side)
    ]
    if any(violated.is_subset(known) for old, known in rivals if old.certain or not new.certain):
        return conditions
    implied = [old for old, known in rivals if (new.certain or not old.certain) and known.is_subset(violated)]
    return [*(entry for entry in conditions if entry[0] not in implied), (new, violated)]
