"""The checks of a call's arguments that a generated module makes before anything is written."""

from __future__ import annotations

import islpy as isl

from polytune.codegen.ast_conversion import convert_expression
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.frontend.bounds import BoundsCondition
from polytune.frontend.scop import Scop


def write_checks(writer: SourceWriter, scop: Scop, conditions: tuple[BoundsCondition, ...]) -> None:
    """Write ``check(<arguments>, <parameters>)``, which raises ArgumentError where some access would be out of range.

    A condition is the exact set of parameter values for which an access leaves its array, so a call is refused if and
    only if the source, run as it stands, would leave it (or wrap round to its other end).
    """
    arguments = [name for name, _ in scop.signature.arguments]
    parameters = [parameter.name for parameter in scop.parameters]
    names = ", ".join([*arguments, *(name for name in parameters if name not in arguments)])
    with writer.indented(f"def check({names}):"):
        writer.line('"""Raise unless every access lies inside its array."""')
        extents = dict.fromkeys(extent for condition in conditions for extent in condition.extents)
        for name, array, dimension in extents:
            if name not in parameters:
                writer.line(f"{name} = {array}.shape[{dimension}]")
        for condition in conditions:
            build = isl.AstBuild.from_context(isl.Set.universe(scop.context.get_space()))
            test = convert_expression(build.expr_from_set(condition.violated))
            with writer.indented(f"if {expression_text(test, compiled=False)}:"):
                is_argument = condition.array in arguments
                shape = f"{{{condition.array}.shape}}" if is_argument else "the shape it is made with"
                where = f"{condition.location} {condition.reference}"
                how = (
                    f"goes below 0 in axis {condition.dimension}; negative subscripts do not wrap round"
                    if condition.side == "lower"
                    else f"goes past the end of axis {condition.dimension}"
                )
                sizes = "".join(f", {name} = {{{name}}}" for name in arguments if mentions(condition.violated, name))
                remedy = (
                    "write i if i >= 0 else n + i where the other end is meant"
                    if condition.side == "lower"
                    else "pass a larger array, or let the loops end sooner"
                )
                text = f"array '{condition.array}': {where} {how}, for shape {shape}{sizes}; {remedy}"
                writer.line(f"raise ArgumentError({_f_string(text)})")
    writer.line()
    writer.line()


def mentions(condition: isl.Set, name: str) -> bool:
    """Whether the value of a parameter matters to a condition on parameters."""
    position = condition.find_dim_by_name(isl.dim_type.param, name)
    return position >= 0 and condition.involves_dims(isl.dim_type.param, position, 1)


def _f_string(text: str) -> str:
    """An f-string literal in which only ``{name}`` and ``{name.shape}`` are replaced."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'f"{escaped}"'
