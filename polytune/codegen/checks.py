"""The checks of a call's arguments that a generated module makes before anything is written."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polytune.codegen.ast_conversion import convert_expression
from polytune.codegen.names import literal
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.errors import SourceLocation
from polytune.frontend.expression import Element, Expression, Extent, walk
from polytune.frontend.generated_names import MARK
from polytune.frontend.polyhedral.bounds import BoundsCondition
from polytune.frontend.polyhedral.unassigned import UnassignedRead
from polytune.frontend.scop import Report, Scop, SizeCondition
from polytune.signature import ScalarType


def write_checks(writer: SourceWriter, scop: Scop, conditions: Sequence[BoundsCondition | UnassignedRead]) -> None:
    """Write ``check(<arguments>, <parameters>)``, which raises ArgumentError where sizes do not fit, IntegerRangeError
    where a Python integer is none of the type of what it meets, BoundsError where some access would be out of range,
    and UnassignedVariableError where some variable would be read that nothing has assigned.

    Messages name places that are an argument, by default those of ``PLACES``: where the source stands is known to the
    caller alone.

    A condition is the exact set of parameter values for which an access leaves its array, so a call is refused if and
    only if the source, run as it stands, would leave it (or wrap round to its other end).  Of a subscript
    below 0, and of an access that need not happen, as data decide, UncommonSubscriptError says that.

    Args:
        writer: where the module is written.
        scop: the kernel.
        conditions: when an access is out of range, or a variable is read that nothing has assigned.
    """
    arguments = [name for name, _ in scop.signature.arguments]
    parameters = [parameter.name for parameter in scop.parameters]
    names = [*arguments, *(name for name in parameters if name not in arguments)]
    # The bounds of accesses are simplified for sizes that fit, which are looked at first.
    checked = (*scop.size_conditions, *conditions)
    if checked:
        with writer.indented(f"{MARK}PLACES = ("):
            for condition in checked:
                writer.line(f"{_location_text(condition.location)},")
        writer.line(")")
    else:
        writer.line(f"{MARK}PLACES = ()")
    writer.line()
    writer.line()
    with writer.indented(f"def check({', '.join([*names, '*', f'{MARK}places={MARK}PLACES'])}):"):
        writer.line('"""Raise unless every access lies inside its array."""')
        write_integers(writer, scop)
        bounds = [condition for condition in conditions if isinstance(condition, BoundsCondition)]
        extents = dict.fromkeys(extent for condition in bounds for extent in condition.extents)
        for name, array, dimension in extents:
            if name not in parameters:
                writer.line(f"{name} = {array}.shape[{dimension}]")
        for number, condition in enumerate(checked):
            build = isl.AstBuild.from_context(isl.Set.universe(scop.context.get_space()))
            test = convert_expression(build.expr_from_set(condition.violated))
            with writer.indented(f"if {expression_text(test, compiled=False)}:"):
                if isinstance(condition, SizeCondition):
                    error = "ArgumentError" if condition.is_of_sizes else "IntegerRangeError"
                    writer.line(f"raise {MARK}{error}({_size_text(condition, scop, number)})")
                elif isinstance(condition, UnassignedRead):
                    writer.line(f"raise {MARK}UnassignedVariableError({_unassigned_text(condition, scop, number)})")
                else:
                    error = "UncommonSubscriptError" if condition.is_of_uncommon else "BoundsError"
                    writer.line(f"raise {MARK}{error}({_bounds_text(condition, scop, number)})")
    writer.line()
    writer.line()


def _bounds_text(condition: BoundsCondition, scop: Scop, number: int) -> str:
    """The literal of what is said of an access out of bounds."""
    arguments = [name for name, _ in scop.signature.arguments]
    shape = f"{{{condition.array}.shape}}" if condition.array in arguments else "the shape it is made with"
    place = f"{MARK}places[{number}]"
    if condition.side == "upper":
        how = f"goes past the end of axis {condition.dimension}"
        remedy = "; pass a larger array, or let the loops end sooner"
    elif scop.signature.any_subscripts:
        how = f"goes further below 0 than axis {condition.dimension} has elements"
        remedy = "; pass a larger array, or let the loops begin or end elsewhere"
    else:
        how = f"goes below 0 in axis {condition.dimension}; negative subscripts do not wrap round"
        remedy = "; write i if i >= 0 else n + i where the other end is meant"
    sizes = "".join(f", {name} = {{{name}}}" for name in arguments if mentions(condition.violated, name))
    array = literal(f"array '{condition.array}': ")
    why = literal(f"{how}, for shape ")
    return f'{array} f"{{{place}}} {{{place}.segment}} " {why} f"{shape}{sizes}" {literal(remedy)}'


def _sized(size: Expression) -> str:
    """A size within a message; before the call nobody knows one that follows from what the kernel computes."""
    if any(isinstance(part, Element) for part in walk(size)):
        return "some number"
    return f"{{{expression_text(size, compiled=False)}}}"


def _size_text(condition: SizeCondition, scop: Scop, number: int) -> str:
    """The literal of what is said of sizes that do not fit, with the source line and a caret."""
    place = f"{MARK}places[{number}]"
    parts = "".join(
        _quoted(part) if isinstance(part, str) else _sized(part) for part in condition.parts or (condition.what,)
    )
    values = _parameter_values(condition.violated, scop)
    why = literal(f"\nwhy: {condition.reason}{', for ' if values else ''}")
    after = literal(f"\ninstead: {condition.remedy}")
    return f'f"{{{place}}}: {parts}" f"{{{place}.caret_below}}" {why} f"{values}" {after}'


def _quoted(text: str) -> str:
    """Text as a part of an f-string in double quotes."""
    return literal(text)[1:-1].replace("{", "{{").replace("}", "}}").replace('"', "'")


def _parameter_values(violated: isl.Set, scop: Scop) -> str:
    """The values of the parameters that a condition depends on, as a part of an f-string."""
    values = []
    for parameter in scop.parameters:
        if mentions(violated, parameter.name):
            match parameter.source:
                case Extent(array, dimension):
                    what = f"{array}.shape[{dimension}]"
                case _:
                    what = parameter.name
            values.append(f"{what} = {{{parameter.name}}}")
    return ", ".join(values)


def _unassigned_text(read: UnassignedRead, scop: Scop, number: int) -> str:
    """The literal of what is said of a variable that is read unassigned, with the source line and a caret."""
    place = f"{MARK}places[{number}]"
    read_text = literal(f": the variable {read.variable!r} is read, and nothing has assigned it")
    why = literal("\nwhy: no iteration before has assigned it, for ")
    values = _parameter_values(read.violated, scop)
    after = f"; Python raises UnboundLocalError here\ninstead: {read.remedy}"
    return f'f"{{{place}}}" {read_text} f"{{{place}.caret_below}}" {why} f"{values}" {literal(after)}'


def _location_text(location: SourceLocation) -> str:
    """The expression that makes a place."""
    file, text = literal(location.file), literal(location.text)
    return f"{MARK}SourceLocation({file}, {location.line}, {location.column}, {location.end_column}, {text})"


def mentions(condition: isl.Set, name: str) -> bool:
    """Return whether the value of a parameter matters to a condition on parameters."""
    position = condition.find_dim_by_name(isl.dim_type.param, name)
    return position >= 0 and condition.involves_dims(isl.dim_type.param, position, 1)


def integers_of_numpy(scop: Scop) -> tuple[str, ...]:
    """The arguments that are integers of NumPy's and parameters: functions of these are affine, and do not wrap."""
    parameters = {parameter.name for parameter in scop.parameters}
    arguments = scop.signature.arguments
    return tuple(
        name for name, kind in arguments if name in parameters and isinstance(kind, ScalarType) and not kind.weak
    )


def write_integers(writer: SourceWriter, scop: Scop) -> None:
    """Write what makes Python's integers of them, which hold whatever is computed of them."""
    for name in integers_of_numpy(scop):
        writer.line(f"{name} = {MARK}int({name})")


def write_index_checks(writer: SourceWriter, scop: Scop) -> None:
    """Write ``check_indexes(<arguments>, <parameters>)``, which raises SubscriptError where a number in an index array
    is out of range."""
    if not scop.checks:
        return
    arguments = [name for name, _ in scop.signature.arguments]
    parameters = [parameter.name for parameter in scop.parameters]
    names = ", ".join([*arguments, *(name for name in parameters if name not in arguments)])
    build = isl.AstBuild.from_context(isl.Set.universe(scop.context.get_space()))

    def text(function: isl.PwAff) -> str:
        return expression_text(convert_expression(build.expr_from_pw_aff(function)), compiled=False)

    with writer.indented(f"{MARK}INDEX_REPORTS = ("):
        for check in scop.checks:
            writer.line(f"({_subscript_text(check.report)}),")
    writer.line(")")
    writer.line()
    writer.line()
    with writer.indented(f"def check_indexes({names}):"):
        writer.line('"""Raise unless all numbers in index arrays are in range."""')
        write_integers(writer, scop)
        for number, check in enumerate(scop.checks):
            test = convert_expression(build.expr_from_set(check.executed))
            box = ", ".join(f"{text(low)}:{text(high)} + 1" for low, high in zip(check.low, check.high, strict=True))
            extent = expression_text(check.extent, compiled=False)
            with writer.indented(f"if {expression_text(test, compiled=False)}:"):
                report = f"{MARK}INDEX_REPORTS[{number}]"
                writer.line(f"{MARK}require_range({check.array}[{box}], {extent}, {report})")
    writer.line()
    writer.line()


def report_text(report: Report) -> str:
    """A report as the arguments of ``found_late``."""
    return f"({_subscript_text(report)}, {literal(report.extents)})"


def _subscript_text(report: Report) -> str:
    """A report as the arguments of a SubscriptError, without parentheses."""
    texts = (f"({''.join(f'{literal(name)}, ' for name in names)})" for names in (report.arrays, report.references))
    return ", ".join((_location_text(report.location), *texts))
