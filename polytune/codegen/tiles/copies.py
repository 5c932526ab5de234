"""Expanded arrays in the loop IR: which of a tile's copies an access means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import islpy as isl

from polytune.codegen.ast_conversion import convert_expression, substitute
from polytune.codegen.loops import Node
from polytune.codegen.tiles.windows import WindowNames, ast_build
from polytune.frontend.expression import Binary, Element, Expression, Iterator, ParameterValue, map_children
from polytune.frontend.generated_names import generated
from polytune.frontend.scop import Scop, Statement
from polytune.schedule.regions import Region
from polytune.schedule.unions import maps_of

FIRST = generated("first_of_tile")
"""Stands for the first value of a member in a tile, while the iterators of statements may have any name."""


def with_copies(scop: Scop, region: Region) -> Scop:
    """The kernel with a first subscript more in accesses of the arrays that a region expands: how far the instance's
    value of the member that they are expanded over is from the ``FIRST`` one of its tile."""
    expansion, band = region.expansion, region.band
    assert expansion is not None and band is not None
    positions = isl.UnionMap.from_union_pw_aff(band.get_union_pw_aff(expansion.member))

    def changed(statement: Statement) -> Statement:
        accessed = {access.array for access in statement.accesses}
        in_region = isl.UnionSet.from_set(statement.domain).intersect(region.domain)
        if not accessed & expansion.arrays or in_region.is_empty():
            return statement
        copy = Binary("-", _position(positions, statement, scop), Iterator(FIRST), "int64")

        def change(part: Any) -> Any:
            part = map_children(part, change)
            if isinstance(part, Element) and part.array in expansion.arrays:
                return replace(part, subscripts=(copy, *part.subscripts))
            return part

        return replace(statement, operations=tuple(change(operation) for operation in statement.operations))

    return replace(scop, statements=tuple(changed(statement) for statement in scop.statements))


def in_window(body: Node, region: Region, names: WindowNames) -> Node:
    """The code of a tile with the lower bound of its window for ``FIRST``.

    Args:
        body: the code of a tile, with accesses to copies.
        region: the region, whose arrays are expanded.
        names: the names of the parameters that bound a tile.
    """
    assert region.expansion is not None
    return substitute(body, {FIRST: Iterator(names.window(region.expansion.member)[0])})


def _position(positions: isl.UnionMap, statement: Statement, scop: Scop) -> Expression:
    """The value of a member of a band as an expression of a statement's iterators."""
    (own,) = maps_of(positions.intersect_domain(isl.UnionSet.from_set(statement.domain)))
    depth = own.dim(isl.dim_type.in_)
    parameters = own.dim(isl.dim_type.param)
    # Iterators become parameters, with names that differ from those of all others until the expression is had.
    stand_ins = [generated(statement.name, f"iterator{axis}") for axis in range(depth)]
    own = own.move_dims(isl.dim_type.param, parameters, isl.dim_type.in_, 0, depth)
    for axis, name in enumerate(stand_ins):
        own = own.set_dim_name(isl.dim_type.param, parameters + axis, name)
    instances = own.params()
    value = own.range().dim_min(0).gist(instances)
    expression = convert_expression(ast_build(instances, WindowNames(), 0).expr_from_pw_aff(value))
    values: dict[str, Expression] = {parameter.name: ParameterValue(parameter.name) for parameter in scop.parameters}
    values |= {stand_in: Iterator(name) for stand_in, name in zip(stand_ins, statement.iterators, strict=True)}
    return substitute(expression, values)
