"""Extents that are equal wherever the program does anything, as one parameter.

Each call of ``hx[:, :-1] -= ez[:, 1:] - ez[:, :-1]`` inside of a loop over steps is checked for shapes that fit.  What
passes is no convex set, as nothing is checked where there are no steps, and rows of no length fit any others; so the
context of the kernel does not say that both arrays have as many rows.  But where an instance of the statement is
executed they do.  Written with one parameter in place of several, dependences, schedules and loops have fewer cases.

With D the instances of a statement as the source has them, D' those with the one parameter, and V the parameters for
which a call is refused before anything is executed, the two programs execute the same if all parameters for which D and
D' differ are in V, for each statement.  They compute the same as each parameter that a statement mentions, in what it
computes as well, equals the one in its place for all of D outside of V.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import islpy as isl

from polytune.frontend.expression import Element, ParameterValue, map_children, walk
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.polyhedral.budget import PROOF_BUDGET, within_budget
from polytune.frontend.polyhedral.build import ModelBuilder, SourceOrder
from polytune.frontend.polyhedral.prune import checked, choose_parameters, context_of, simplified
from polytune.frontend.program import ElementLocations, Node
from polytune.frontend.scop import SizeCondition, Statement


def with_equal_extents(
    model: ModelBuilder, order: SourceOrder, nodes: Sequence[Node], kernel: KernelWalk
) -> tuple[ModelBuilder, SourceOrder]:
    """The model of a program with one parameter in place of those that are equal wherever statements are executed; the
    model as it is where there are none, or where that cannot be proven within isl's budget.

    Args:
        model: the program's.
        order: the order of its statements.
        nodes: the program.
        kernel: the kernel that it is of, with the conditions under which calls are refused.
    """
    if not kernel.size_conditions:
        return model, order
    context, names = kernel.affine.context, tuple(kernel.parameters)
    extents = context_of(choose_parameters(kernel, model.statements), context)
    conditions = simplified(kernel.size_conditions, extents)

    def find() -> dict[str, str]:
        return _equal_parameters(model.statements, extents, conditions, names)

    equal = within_budget(context, PROOF_BUDGET, find)
    if not equal:
        return model, order
    other = replace(model, statements=[], loops=[], ends=[])
    other_order = other.build(_renamed(node, equal, kernel.locations) for node in nodes)

    def is_same() -> bool:
        return _is_same(model.statements, other.statements, extents, conditions)

    if other_order is None or not within_budget(context, PROOF_BUDGET, is_same):
        return model, order
    return other, other_order


def _equal_parameters(
    statements: Sequence[Statement], context: isl.Set, conditions: Sequence[SizeCondition], names: Sequence[str]
) -> dict[str, str]:
    """The first parameter that can stand for another one in all statements that mention that, by the name of the other.

    Args:
        statements: the program's.
        context: the parameters that there may be.
        conditions: those under which calls are refused.
        names: all parameters, in their order.
    """
    found: dict[str, str] = {}
    differing: set[str] = set()
    for statement in statements:
        first = _first_equal(checked(statement.domain.params().intersect(context), conditions), names)
        for name in _mentioned(statement):
            if found.setdefault(name, first.get(name, name)) != first.get(name, name):
                differing.add(name)
    return {name: first for name, first in found.items() if first != name and name not in differing}


def _first_equal(parameters: isl.Set, names: Sequence[str]) -> dict[str, str]:
    """The first parameter that equals each of them, in all of a set."""
    first: dict[str, str] = {name: name for name in names}
    for constraint in parameters.affine_hull().get_constraints():
        pair = _equal_pair(constraint)
        if pair is not None:
            one, other = sorted((first[name] for name in pair), key=names.index)
            first = {name: one if known == other else known for name, known in first.items()}
    return first


def _equal_pair(constraint: isl.Constraint) -> tuple[str, str] | None:
    """The two parameters that a constraint says are equal; None where it says something else."""
    kind = isl.dim_type.param
    coefficients = {
        str(constraint.get_dim_name(kind, position)): value.to_python()
        for position in range(constraint.dim(kind))
        if not (value := constraint.get_coefficient_val(kind, position)).is_zero()
    }
    is_plain = constraint.is_equality() and constraint.get_constant_val().is_zero()
    if not is_plain or constraint.dim(isl.dim_type.div) or sorted(coefficients.values()) != [-1, 1]:
        return None
    one, other = coefficients
    return one, other


def _mentioned(statement: Statement) -> set[str]:
    """The parameters that the instances of a statement depend on, and those that they compute with."""
    kind, domain = isl.dim_type.param, statement.domain
    of_instances = {
        str(domain.get_dim_name(kind, position))
        for position in range(domain.dim(kind))
        if domain.involves_dims(kind, position, 1)
    }
    parts = (part for operation in statement.operations for part in walk(operation))
    return of_instances | {part.name for part in parts if isinstance(part, ParameterValue)}


def _renamed(node: Any, names: Mapping[str, str], locations: ElementLocations) -> Any:
    """A part of a program with other parameters; what stands at a place in the source stands there still."""
    if isinstance(node, ParameterValue):
        return replace(node, name=names[node.name]) if node.name in names else node
    changed = map_children(node, lambda child: _renamed(child, names, locations))
    if changed is not node and isinstance(node, Element):
        place = locations.find(node)
        if place is not None:
            locations.record(changed, place)
    return changed


def _is_same(
    statements: Sequence[Statement], others: Sequence[Statement], context: isl.Set, conditions: Iterable[SizeCondition]
) -> bool:
    """Return whether two programs execute the same instances in every call that is not refused.

    Args:
        statements: those of the one.
        others: those of the other one.
        context: the parameters that there may be.
        conditions: those under which calls are refused.
    """
    if len(statements) != len(others):
        return False
    for statement, other in zip(statements, others, strict=True):
        apart = statement.domain.subtract(other.domain).union(other.domain.subtract(statement.domain)).params()
        apart = apart.intersect(context)
        if not any((apart := apart.subtract(condition.violated)).is_empty() for condition in conditions):
            return False
    return True
