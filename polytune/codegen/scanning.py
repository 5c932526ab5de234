"""Loops over the points of a set."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polytune.codegen.ast_conversion import convert_node
from polytune.codegen.loops import Node
from polytune.frontend.expression import Operation
from polytune.frontend.scop import Scop
from polytune.schedule.unions import isl_id


def scan(
    points: isl.Set, context: isl.Set, variables: tuple[str, ...], operations: tuple[Operation, ...], scop: Scop
) -> Node:
    """Loops over ``[p] -> { [x] }`` in lexicographic order.

    Args:
        points: the set.
        context: what is known of its parameters.
        variables: names of the loop variables, one per dimension; isl leaves out a loop of one iteration whose value
            is an affine expression.
        operations: what is done at each point, in terms of ``variables``.
        scop: the kernel.
    """
    anchor = replace(scop.statements[0], iterators=variables, operations=operations)
    isl_context = context.get_ctx()
    iterators = isl.IdList.alloc(isl_context, len(variables))
    for variable in variables:
        iterators = iterators.add(isl_id(isl_context, variable))
    points = points.set_tuple_name(anchor.name)
    order = isl.Map.identity(points.get_space().map_from_set()).reset_tuple_id(isl.dim_type.out)
    isl_context.set_ast_build_detect_min_max(1)
    build = isl.AstBuild.from_context(context).set_iterators(iterators)
    tree = build.node_from_schedule_map(isl.UnionMap.from_map(order.intersect_domain(points)))
    return convert_node(tree, replace(scop, statements=(anchor,)))
