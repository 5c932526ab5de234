"""Leaving out the parameters that nothing polyhedral mentions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polytune.frontend.expression import Expression, Extent, ParameterValue, walk
from polytune.frontend.lowering.frame import KernelWalk
from polytune.frontend.lowering.parameters import needed_parameters, replace_parameters
from polytune.frontend.scop import Parameter, SizeCondition, Statement
from polytune.frontend.source_order import SourceBranch, SourceLoop, SourceNode


def choose_parameters(kernel: KernelWalk, statements: Sequence[Statement]) -> tuple[Parameter, ...]:
    """The parameters that domains, accesses and shapes of local arrays mention, those they are computed from, and those
    of extents that statements compute with: views of arrays in compiled code have no shape.
    """
    names: set[str] = set()
    for statement in statements:
        names |= _parameter_names(statement.domain)
        for access in statement.accesses:
            names |= _parameter_names(access.relation)
    of_extents = _of_extents(kernel)
    operations = (node for statement in statements for operation in statement.operations for node in walk(operation))
    names |= {node.name for node in operations if isinstance(node, ParameterValue) and node.name in of_extents}
    for condition in kernel.size_conditions:
        names |= _parameter_names(condition.violated)
        expressions = (part for part in condition.parts if not isinstance(part, str))
        names |= {n.name for part in expressions for n in walk(part) if isinstance(n, ParameterValue)}
    shapes = (extent for array in kernel.arrays.values() for extent in array.shape)
    names |= {node.name for extent in shapes for node in walk(extent) if isinstance(node, ParameterValue)}
    return needed_parameters(kernel.parameters, names)


def _of_extents(kernel: KernelWalk) -> set[str]:
    """The parameters that are extents, or are computed from some."""
    found: set[str] = set()
    for parameter in kernel.parameters.values():  # in an order in which each can be computed
        nodes = tuple(walk(parameter.source))
        if any(isinstance(n, Extent) or (isinstance(n, ParameterValue) and n.name in found) for n in nodes):
            found.add(parameter.name)
    return found


def _parameter_names(relation: isl.Set | isl.Map) -> set[str]:
    kind = isl.dim_type.param
    return {str(relation.get_dim_name(kind, position)) for position in range(relation.dim(kind))}


def replacements(kernel: KernelWalk, kept: Sequence[Parameter]) -> dict[str, Expression]:
    """The expressions of arguments that stand in computations for the parameters that are left out."""
    names = {parameter.name for parameter in kept}
    replaced: dict[str, Expression] = {}
    for parameter in kernel.parameters.values():
        if parameter.name not in names:
            replaced[parameter.name] = replace_parameters(parameter.source, replaced)
    return replaced


def without_parameters(statement: Statement, replaced: dict[str, Expression]) -> Statement:
    """The statement with parameters that are left out replaced in its operations."""
    operations = tuple(replace_parameters(operation, replaced) for operation in statement.operations)
    return replace(statement, operations=operations)


def nodes_without_parameters(nodes: tuple[SourceNode, ...], replaced: dict[str, Expression]) -> tuple[SourceNode, ...]:
    """Loops and branches with parameters that are left out replaced in their bounds and conditions."""

    def change(node: SourceNode) -> SourceNode:
        match node:
            case SourceLoop(start=start, stop=stop, body=body):
                bounds = replace_parameters(start, replaced), replace_parameters(stop, replaced)
                return replace(node, start=bounds[0], stop=bounds[1], body=nodes_without_parameters(body, replaced))
            case SourceBranch(condition, then, otherwise):
                return SourceBranch(
                    replace_parameters(condition, replaced),
                    nodes_without_parameters(then, replaced),
                    nodes_without_parameters(otherwise, replaced),
                )
        return node

    return tuple(change(node) for node in nodes)


def simplified(conditions: Sequence[SizeCondition], context: isl.Set) -> tuple[SizeCondition, ...]:
    """Conditions in the space of the parameters, without what the context says."""
    space = context.get_space()
    return tuple(
        replace(condition, violated=condition.violated.align_params(space).gist(context).coalesce())
        for condition in conditions
    )


def context_of(parameters: Sequence[Parameter], context: isl.Context) -> isl.Set:
    """``[p] -> { : every extent of an array >= 0 }``."""
    space = isl.Space.params_alloc(context, len(parameters))
    for position, parameter in enumerate(parameters):
        space = space.set_dim_name(isl.dim_type.param, position, parameter.name)
    result = isl.Set.universe(space)
    for position, parameter in enumerate(parameters):
        if parameter.nonnegative:
            result = result.lower_bound_val(isl.dim_type.param, position, isl.Val(0, context))
    return result


def checked(context: isl.Set, conditions: Sequence[SizeCondition]) -> isl.Set:
    """The context with what each call is checked for of sizes, where that is convex."""
    for condition in (each for each in conditions if each.is_of_sizes):
        narrowed = context.subtract(condition.violated).coalesce()
        if narrowed.n_basic_set() == 1:
            context = narrowed
    return context
