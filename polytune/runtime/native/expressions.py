"""Expressions of generated functions in LLVM's language, each with its type."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import _Intrinsic as Intrinsic

from polytune.runtime.memory import View, alignment_of, annotate, element_address
from polytune.runtime.native.kinds import WORD, NotNativeError, Value, cast, common_kind, unified
from polytune.runtime.native.operations import (
    CASTS,
    CONTEXT,
    MATHEMATICS,
    call_intrinsic,
    integer_division,
    magnitude,
    power,
)
from polytune.runtime.vectors import Mask, Vector

__all__ = ["Expressions"]

_RELATIONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_OF_FLOATS: Mapping[type[ast.operator], str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_OF_INTEGERS: Mapping[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_SHIFTS: Mapping[type[ast.operator], str] = {ast.LShift: "shl", ast.RShift: "ashr"}
_OF_BITS: Mapping[type[ast.operator], str] = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor", **_SHIFTS}

Variables = Callable[[str], Value | None]
"""Gives the value of a variable of the function; None for a name that is none."""

Called = Callable[[FunctionType, Sequence[Value]], Value]


class Expressions:
    """Writes expressions where a builder stands.

    Args:
        builder: where the code goes.
        variables: gives values of variables.
        names: what names stand for that are no variables.
        called: writes the call of a function of Python.
    """

    def __init__(self, builder: ir.IRBuilder, variables: Variables, names: Mapping[str, Any], called: Called):
        self.builder, self._variables, self._names, self._called = builder, variables, names, called

    def value(self, node: ast.expr) -> Value:
        """The value of an expression.

        Raises:
            NotNativeError: it is not translated here.
        """
        match node:
            case ast.Constant():
                return self._constant(node.value)
            case ast.Name(id=name):
                found = self._variables(name)
                return self._constant(self.named(node)) if found is None else found
            case ast.Attribute():
                return self._constant(self.named(node))
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(operator, self.value(left), self.value(right))
            case ast.UnaryOp(op=operator, operand=operand):
                return self._unary(operator, self.value(operand))
            case ast.Compare(left=left, ops=operators, comparators=rest):
                return self._comparisons([left, *rest], operators)
            case ast.BoolOp(op=operator, values=operands):
                return self._logical(isinstance(operator, ast.And), operands)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._chosen(self.truth(test), then, otherwise)
            case ast.Subscript(value=ast.Name(id=name), slice=subscripts):
                return self._element(self._view(name), subscripts)
            case ast.Tuple(elts=elements):
                return self._tuple([self.value(element) for element in elements])
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._call(self.named(function), arguments)
        raise NotNativeError(ast.unparse(node))

    def truth(self, node: ast.expr) -> ir.Value:
        """A condition, as one bit."""
        found = self.value(node)
        if found.kind != types.boolean:
            raise NotNativeError(f"{ast.unparse(node)} is no truth value")
        return found.code

    def integer(self, node: ast.expr) -> ir.Value:
        """An int64."""
        found = self.value(node)
        if not isinstance(found.kind, types.Integer) or not found.kind.signed:
            raise NotNativeError(f"{ast.unparse(node)} is {found.kind}")
        return cast(self.builder, found.code, found.kind, types.int64)

    def store(self, name: str, subscripts: ast.expr, value: Value) -> None:
        """Store a number to an element of a view."""
        view = self._view(name)
        if not isinstance(types.unliteral(value.kind), types.Number | types.Boolean):
            raise NotNativeError(f"{value.kind} stored to {name}")
        address = self._address(view, subscripts)
        number = cast(self.builder, value.code, value.kind, view.kind.dtype)
        data = CONTEXT.data_model_manager[view.kind.dtype].as_data(self.builder, number)
        stored = self.builder.store(data, address, align=alignment_of(CONTEXT, view.kind))
        annotate(self.builder.module, stored, view.kind)

    def named(self, node: ast.expr) -> Any:
        """Return what a name, or an attribute of a module, stands for."""
        match node:
            case ast.Name(id=name):
                if self._variables(name) is None:
                    return self._names.get(name, getattr(builtins, name, None))
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if self._names.get(module) in (np, math):
                    return getattr(self._names[module], name)
        raise NotNativeError(ast.unparse(node))

    # ---- leaves

    def _constant(self, value: Any) -> Value:
        match value:
            case bool():
                return Value(types.boolean, ir.IntType(1)(int(value)), value)
            case int() if -(2**63) <= value < 2**63:
                return Value(types.literal(value), WORD(value), value)
            case float():
                return Value(types.float64, ir.DoubleType()(value), value)
            case str():
                return Value(types.literal(value), None, value)
        raise NotNativeError(f"the constant {value!r}")

    def _view(self, name: str) -> Value:
        found = self._variables(name)
        if found is None or not isinstance(found.kind, View):
            raise NotNativeError(f"{name} is no view")
        return found

    def _address(self, view: Value, subscripts: ast.expr) -> ir.Value:
        elements = subscripts.elts if isinstance(subscripts, ast.Tuple) else [subscripts]
        index = self._tuple([self.value(element) for element in elements])
        return element_address(CONTEXT, self.builder, view.kind, index.kind, view.code, index.code)

    def _element(self, view: Value, subscripts: ast.expr) -> Value:
        address = self._address(view, subscripts)
        kind = CONTEXT.get_data_type(view.kind.dtype)
        loaded = self.builder.load(address, align=alignment_of(CONTEXT, view.kind), typ=kind)
        annotate(self.builder.module, loaded, view.kind)
        return Value(view.kind.dtype, CONTEXT.data_model_manager[view.kind.dtype].from_data(self.builder, loaded))

    def _tuple(self, values: Sequence[Value]) -> Value:
        kinds = [types.unliteral(value.kind) for value in values]
        if not all(isinstance(kind, types.Integer | types.BaseTuple) for kind in kinds):
            raise NotNativeError("a tuple of other values than integers and tuples")
        code = ir.Constant(ir.LiteralStructType([value.code.type for value in values]), ir.Undefined)
        for position, value in enumerate(values):
            code = self.builder.insert_value(code, value.code, position)
        return Value(types.Tuple(kinds), code)

    # ---- operators

    def _binary(self, operator: ast.operator, left: Value, right: Value) -> Value:
        builder, kinds = self.builder, (types.unliteral(left.kind), types.unliteral(right.kind))
        if isinstance(kinds[0], Vector | Mask):
            return self._lanes(operator, left, right)
        if type(operator) in _OF_BITS:
            if kinds[0] != kinds[1] or kinds[0] not in (types.boolean, types.int64, types.uint64):
                raise NotNativeError(f"bits of {kinds[0]} and {kinds[1]}")
            if type(operator) in _SHIFTS and not (kinds[0] == types.int64 and right.literal in range(64)):
                raise NotNativeError(f"a shift of {kinds[0]}")
            return Value(kinds[0], getattr(builder, _OF_BITS[type(operator)])(left.code, right.code))
        kind = common_kind(*kinds)
        if isinstance(operator, ast.Div) and isinstance(kind, types.Integer):
            kind = types.float64
        first, second = (cast(builder, each.code, each.kind, kind) for each in (left, right))
        if isinstance(kind, types.Float) and isinstance(operator, ast.Pow):
            return Value(kind, power(builder, first, second))
        if isinstance(kind, types.Float) and type(operator) in _OF_FLOATS:
            return Value(kind, getattr(builder, _OF_FLOATS[type(operator)])(first, second))
        if isinstance(kind, types.Integer) and type(operator) in _OF_INTEGERS:
            return Value(kind, getattr(builder, _OF_INTEGERS[type(operator)])(first, second))
        if kind == types.int64 and isinstance(operator, ast.FloorDiv | ast.Mod):
            return Value(kind, integer_division(builder, first, second)[isinstance(operator, ast.Mod)])
        raise NotNativeError(f"{type(operator).__name__} of {kinds[0]} and {kinds[1]}")

    def _lanes(self, operator: ast.operator, left: Value, right: Value) -> Value:
        if left.kind == right.kind:
            if isinstance(left.kind, Mask):
                if isinstance(operator, ast.BitOr):
                    return Value(left.kind, self.builder.or_(left.code, right.code))
            else:
                names = _OF_FLOATS if isinstance(left.kind.dtype, types.Float) else _OF_INTEGERS
                if type(operator) in names:
                    return Value(left.kind, getattr(self.builder, names[type(operator)])(left.code, right.code))
        raise NotNativeError(f"{type(operator).__name__} of {left.kind} and {right.kind}")

    def _unary(self, operator: ast.unaryop, operand: Value) -> Value:
        kind = types.unliteral(operand.kind)
        of_lanes = isinstance(kind, Vector)
        if isinstance(operator, ast.USub) and operand.literal is not None and kind != types.boolean:
            return self._constant(-operand.literal)
        if isinstance(operator, ast.USub):
            if isinstance(kind.dtype if of_lanes else kind, types.Float):
                return Value(kind, self.builder.fneg(operand.code))
            if of_lanes or kind == types.int64:
                return Value(kind, self.builder.neg(operand.code))
        if isinstance(operator, ast.Not) and kind == types.boolean:
            return Value(kind, self.builder.not_(operand.code))
        raise NotNativeError(f"{type(operator).__name__} of {kind}")

    def _comparisons(self, operands: Sequence[ast.expr], operators: Sequence[ast.cmpop]) -> Value:
        if len(operators) != 1 or type(operators[0]) not in _RELATIONS:
            raise NotNativeError("several comparisons in one")
        relation = _RELATIONS[type(operators[0])]
        left, right = (self.value(operand) for operand in operands)
        builder = self.builder
        if isinstance(left.kind, Vector):
            if left.kind != right.kind:
                raise NotNativeError(f"{left.kind} compared with {right.kind}")
            return Value(Mask(left.kind.lanes), self._compared(relation, left.kind.dtype, left.code, right.code))
        if left.kind == types.boolean == right.kind and relation in ("==", "!="):
            return Value(types.boolean, builder.icmp_unsigned(relation, left.code, right.code))
        kind = common_kind(left.kind, right.kind)
        first, second = (cast(builder, each.code, each.kind, kind) for each in (left, right))
        return Value(types.boolean, self._compared(relation, kind, first, second))

    def _compared(self, relation: str, kind: types.Type, first: ir.Value, second: ir.Value) -> ir.Value:
        if isinstance(kind, types.Float):
            compare = self.builder.fcmp_unordered if relation == "!=" else self.builder.fcmp_ordered
            return compare(relation, first, second)
        compare = self.builder.icmp_signed if kind.signed else self.builder.icmp_unsigned
        return compare(relation, first, second)

    def _logical(self, is_and: bool, operands: Sequence[ast.expr]) -> Value:
        """An operand is evaluated only where those before it do not decide."""
        builder = self.builder
        end = builder.append_basic_block("decided")
        incoming: list[tuple[ir.Value, ir.Block]] = []
        for operand in operands[:-1]:
            found = self.truth(operand)
            following = builder.append_basic_block("undecided")
            incoming.append((ir.IntType(1)(not is_and), builder.block))
            builder.cbranch(found, following if is_and else end, end if is_and else following)
            builder.position_at_end(following)
        incoming.append((self.truth(operands[-1]), builder.block))
        builder.branch(end)
        builder.position_at_end(end)
        return Value(types.boolean, self._joined(ir.IntType(1), incoming))

    def _chosen(self, condition: ir.Value, then: ast.expr, otherwise: ast.expr) -> Value:
        builder = self.builder
        places = [builder.append_basic_block(name) for name in ("then", "else")]
        end = builder.append_basic_block("chosen")
        builder.cbranch(condition, *places)
        found = []
        for place, node in zip(places, (then, otherwise), strict=True):
            builder.position_at_end(place)
            value = self.value(node)
            found.append((value, builder.block))
        (first, _), (second, _) = found
        kind = first.kind if first.kind == second.kind else unified(first.kind, second.kind)
        kind = types.unliteral(kind)
        incoming = []
        for value, block in found:
            builder.position_at_end(block)
            code = value.code if isinstance(kind, Vector | Mask) else cast(builder, value.code, value.kind, kind)
            incoming.append((code, block))
            builder.branch(end)
        builder.position_at_end(end)
        return Value(kind, self._joined(incoming[0][0].type, incoming))

    def _joined(self, kind: ir.Type, incoming: Sequence[tuple[ir.Value, ir.Block]]) -> ir.Value:
        phi = self.builder.phi(kind)
        for value, block in incoming:
            phi.add_incoming(value, block)
        return phi

    # ---- calls

    def _call(self, function: Any, nodes: Sequence[ast.expr]) -> Value:
        arguments = [self.value(node) for node in nodes]
        if isinstance(function, Intrinsic):
            return call_intrinsic(self.builder, function, arguments)
        if isinstance(function, FunctionType):
            return self._called(function, arguments)
        if len(arguments) == 1:
            (argument,) = arguments
            if function is abs:
                return magnitude(self.builder, argument)
            if not isinstance(argument.kind, types.Number | types.Boolean):
                raise NotNativeError(f"{function} of {argument.kind}")
            if function in CASTS:
                wanted = CASTS[function]
                return Value(wanted, cast(self.builder, argument.code, argument.kind, wanted))
            if function in MATHEMATICS:
                if types.unliteral(argument.kind) == types.int64:
                    argument = Value(types.float64, cast(self.builder, argument.code, argument.kind, types.float64))
                if isinstance(argument.kind, types.Float):
                    return MATHEMATICS[function](self.builder, argument)
        raise NotNativeError(f"a call of {function}")
