"""isl's AST to the loop IR, and loops over the points of a set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar

import islpy as isl

from polytune.codegen.loops import Compute, For, If, Node, RegionCall, block
from polytune.frontend.expression import (
    Binary,
    Compare,
    Constant,
    Expression,
    Iterator,
    Logical,
    Operation,
    Select,
    Unary,
    map_children,
)
from polytune.frontend.scop import Scop, Statement
from polytune.schedule.regions import MARK
from polytune.schedule.unions import isl_id

Part = TypeVar("Part", bound=Any)

_ARITHMETIC = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "//",
    "fdiv_q": "//",
    "pdiv_q": "//",
    "pdiv_r": "%",
    "zdiv_r": "%",
    "max": "max",
    "min": "min",
}
_COMPARISONS = {"eq": "==", "le": "<=", "lt": "<", "ge": ">=", "gt": ">"}
_LOGIC = {"and_": "and", "and_then": "and", "or_": "or", "or_else": "or"}


def _operator(expression: isl.AstExpr) -> str:
    return isl.ast_expr_op_type(expression.op_get_type()).name


def _kind(node: isl.AstNode) -> str:
    return isl.ast_node_type(node.get_type()).name


def integer(value: int) -> Constant:
    """An index constant."""
    return Constant(value, "int64")


def convert_expression(expression: isl.AstExpr) -> Expression:
    """An index expression or condition of isl's AST.

    isl's divisions divide integers: ``div`` exactly, ``pdiv_q`` and ``pdiv_r`` non-negative ones, ``fdiv_q`` towards
    minus infinity; ``zdiv_r`` is only compared with zero.  Python's ``//`` and ``%`` are right for all of them.
    """
    kind = expression.get_type()
    if kind == isl.ast_expr_type.int:
        return integer(expression.int_get_val().to_python())
    if kind == isl.ast_expr_type.id:
        return Iterator(expression.id_get_id().get_name())
    operator = _operator(expression)
    if operator in _LOGIC:
        return Logical(
            _LOGIC[operator],
            tuple(convert_condition(expression.op_get_arg(k)) for k in range(expression.op_get_n_arg())),
        )
    operands = [convert_expression(expression.op_get_arg(k)) for k in range(expression.op_get_n_arg())]
    if operator in _ARITHMETIC:
        return reduce(lambda left, right: Binary(_ARITHMETIC[operator], left, right, "int64"), operands)
    if operator == "minus":
        return Unary("-", operands[0], "int64")
    if operator in _COMPARISONS:
        return Compare(_COMPARISONS[operator], operands[0], operands[1])
    if operator in ("select", "cond"):
        return Select(convert_condition(expression.op_get_arg(0)), operands[1], operands[2], "int64")
    raise AssertionError(f"isl made an AST expression of a kind that is never asked for: {expression.to_C_str()}")


def convert_condition(expression: isl.AstExpr) -> Expression:
    """A condition, which isl writes as a number where it is always so, or never."""
    if expression.get_type() == isl.ast_expr_type.int:
        return Constant(bool(expression.int_get_val().to_python()), "bool")
    return convert_expression(expression)


def convert_node(node: isl.AstNode, scop: Scop) -> Node:
    """A node of isl's AST; its leaves are statements of the SCoP or regions of a plan."""

    def convert(node: isl.AstNode) -> Node:
        kind = _kind(node)
        if kind == "for_":
            return _convert_loop(node, convert)
        if kind == "if_":
            condition = convert_condition(node.if_get_cond())
            otherwise = convert(node.if_get_else_node()) if node.if_has_else_node() else None
            return If(condition, convert(node.if_get_then_node()), otherwise)
        if kind == "block":
            children = node.block_get_children()
            return block(*(convert(children.get_at(k)) for k in range(children.n_ast_node())))
        if kind == "mark":
            return convert(node.mark_get_node())
        call = node.user_get_expr()
        name = call.op_get_arg(0).id_get_id().get_name()
        values = [convert_expression(call.op_get_arg(k)) for k in range(1, call.op_get_n_arg())]
        if name.startswith(MARK):
            return RegionCall(int(name.removeprefix(MARK)), tuple(values))
        return statement_code(scop.statement(name), values)

    return convert(node)


def statement_code(statement: Statement, values: Sequence[Expression]) -> Compute:
    """The operations of an instance of a statement, its iterators replaced by their values."""
    replaced = dict(zip(statement.iterators, values, strict=True))
    operations = tuple(substitute(operation, replaced) for operation in statement.operations)
    return Compute(statement.name, operations, statement.location, tuple(values))


def substitute(node: Part, values: Mapping[str, Expression]) -> Part:
    """An operation or expression with its iterators replaced by expressions."""

    def change(part: Any) -> Any:
        if isinstance(part, Iterator):
            return values.get(part.name, part)
        part = map_children(part, change)
        is_sum = isinstance(part, Binary) and part.dtype == "int64" and part.operator in ("+", "-")
        if is_sum and isinstance(part.right, Constant):
            value = int(part.right.value)
            return add_constant(part.left, value if part.operator == "+" else -value)
        return part

    substituted: Part = change(node)
    return substituted


def _convert_loop(node: isl.AstNode, convert: Callable[[isl.AstNode], Node]) -> Node:
    variable = node.for_get_iterator().get_id().get_name()
    start = convert_expression(node.for_get_init())
    body = convert(node.for_get_body())
    if node.for_is_degenerate():
        return For(variable, start, Binary("+", start, integer(1), "int64"), 1, body)
    condition = node.for_get_cond()
    bound = convert_expression(condition.op_get_arg(1))
    if _operator(condition) == "le":
        bound = add_constant(bound, 1)
    step = node.for_get_inc().int_get_val().to_python()
    return For(variable, start, bound, step, body)


def add_constant(expression: Expression, value: int) -> Expression:
    """``expression + value``, folded into constants and through minima and maxima where that reads better."""
    match expression:
        case Constant(constant):
            return integer(int(constant) + value)
        case Binary("min" | "max" as operator, left, right):
            return Binary(operator, add_constant(left, value), add_constant(right, value), "int64")
        case Binary("+", left, Constant(constant)):
            total = int(constant) + value
            return left if total == 0 else Binary("+" if total > 0 else "-", left, integer(abs(total)), "int64")
        case Binary("-", left, Constant(constant)):
            total = value - int(constant)
            return left if total == 0 else Binary("+" if total > 0 else "-", left, integer(abs(total)), "int64")
        case _:
            if value == 0:
                return expression
            return Binary("+" if value > 0 else "-", expression, integer(abs(value)), "int64")


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
