"""Operators of Python in LLVM's language, on numbers, truth values, vectors and masks."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba.core import types

from polytune.relations import RELATIONS
from polytune.runtime.intrinsics.arithmetic import integer_division
from polytune.runtime.intrinsics.vector_types import Mask, Vector
from polytune.runtime.native import complex_numbers
from polytune.runtime.native.float_division import float_division
from polytune.runtime.native.kinds import WORD, NativeValue, NotNativeError, cast, common_kind
from polytune.runtime.native.operations import integer_remainder, power

__all__ = ["OF_BITS", "OF_INTEGERS", "binary", "comparison", "constant", "unary"]

_OF_FLOATS: Mapping[type[ast.operator], str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
OF_INTEGERS: Mapping[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_SHIFTS = (ast.LShift, ast.RShift)
OF_BITS: Mapping[type[ast.operator], str] = {ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor"}


def constant(value: Any) -> NativeValue:
    """The value of a constant of the source.

    Raises:
        NotNativeError: it is not translated here.
    """
    match value:
        case bool():
            return NativeValue(types.boolean, ir.IntType(1)(int(value)), value)
        case int() if -(2**63) <= value < 2**64:
            return NativeValue(types.literal(value), WORD(value), value)
        case float():
            return NativeValue(types.float64, ir.DoubleType()(value), value)
        case str():
            return NativeValue(types.literal(value), None, value)
    raise NotNativeError(f"the constant {value!r}")


def binary(builder: ir.IRBuilder, operator: ast.operator, left: NativeValue, right: NativeValue) -> NativeValue:
    """Write an operation on two values; those of vectors are on each pair of lanes.

    Args:
        builder: where the code goes.
        operator: of the source.
        left, right: the operands.

    Raises:
        NotNativeError: it is not translated here.
    """
    kinds = types.unliteral(left.kind), types.unliteral(right.kind)
    if isinstance(kinds[0], Vector | Mask):
        return _lanes(builder, operator, left, right)
    if type(operator) in OF_BITS or type(operator) in _SHIFTS:
        return _bits(builder, operator, left, right)
    kind = common_kind(*kinds)
    if isinstance(operator, ast.Div) and isinstance(kind, types.Integer):
        kind = types.float64
    first, second = (cast(builder, each.code, each.kind, kind) for each in (left, right))
    if isinstance(kind, types.Complex) and isinstance(operator, ast.Pow):
        return complex_numbers.power(builder, kind, first, second)
    if isinstance(kind, types.Complex):
        return complex_numbers.arithmetic(builder, operator, kind, first, second)
    if isinstance(kind, types.Float) and isinstance(operator, ast.FloorDiv | ast.Mod):
        return NativeValue(kind, float_division(builder, kind, first, second)[isinstance(operator, ast.Mod)])
    if isinstance(kind, types.Float) and isinstance(operator, ast.Pow):
        return NativeValue(kind, power(builder, first, second))
    if isinstance(kind, types.Float) and type(operator) in _OF_FLOATS:
        return NativeValue(kind, getattr(builder, _OF_FLOATS[type(operator)])(first, second))
    if isinstance(kind, types.Integer) and type(operator) in OF_INTEGERS:
        return NativeValue(kind, getattr(builder, OF_INTEGERS[type(operator)])(first, second))
    if kind == types.int64 and isinstance(operator, ast.FloorDiv):
        return NativeValue(kind, integer_division(builder, first, second)[0])
    if kind == types.int64 and isinstance(operator, ast.Mod):
        return NativeValue(kind, integer_remainder(builder, first, second))
    raise NotNativeError(f"{type(operator).__name__} of {kinds[0]} and {kinds[1]}")


def _bits(builder: ir.IRBuilder, operator: ast.operator, left: NativeValue, right: NativeValue) -> NativeValue:
    """An operation on bits; smaller integers are computed with in 64 bits, as their sums are."""
    first, second = types.unliteral(left.kind), types.unliteral(right.kind)
    if type(operator) in _SHIFTS:
        by = right.code.constant if isinstance(right.code, ir.Constant) else None
        if not isinstance(first, types.Integer) or not isinstance(second, types.Integer) or by not in range(64):
            raise NotNativeError(f"a shift of {first}")
        kind = types.int64 if first.signed else types.uint64
        number = cast(builder, left.code, first, kind)
        amount = WORD(by)
        if isinstance(operator, ast.LShift):
            return NativeValue(kind, builder.shl(number, amount))
        return NativeValue(kind, (builder.ashr if first.signed else builder.lshr)(number, amount))
    if first == second == types.boolean:
        return NativeValue(first, getattr(builder, OF_BITS[type(operator)])(left.code, right.code))
    if not (isinstance(first, types.Integer) and isinstance(second, types.Integer)):
        raise NotNativeError(f"bits of {first} and {second}")
    kind = common_kind(first, second)
    numbers = (cast(builder, each.code, each.kind, kind) for each in (left, right))
    return NativeValue(kind, getattr(builder, OF_BITS[type(operator)])(*numbers))


def _lanes(builder: ir.IRBuilder, operator: ast.operator, left: NativeValue, right: NativeValue) -> NativeValue:
    if left.kind == right.kind:
        if isinstance(left.kind, Mask):
            if isinstance(operator, ast.BitOr):
                return NativeValue(left.kind, builder.or_(left.code, right.code))
        else:
            names = _OF_FLOATS if isinstance(left.kind.dtype, types.Float) else OF_INTEGERS
            if type(operator) in names:
                return NativeValue(left.kind, getattr(builder, names[type(operator)])(left.code, right.code))
    raise NotNativeError(f"{type(operator).__name__} of {left.kind} and {right.kind}")


def unary(builder: ir.IRBuilder, operator: ast.unaryop, operand: NativeValue) -> NativeValue:
    """Write an operation on one value.

    Args:
        builder: where the code goes.
        operator: of the source.
        operand: its operand.

    Raises:
        NotNativeError: it is not translated here.
    """
    kind = types.unliteral(operand.kind)
    of_lanes = isinstance(kind, Vector)
    if isinstance(operator, ast.USub) and operand.literal is not None and kind != types.boolean:
        return constant(-operand.literal)
    if isinstance(operator, ast.USub):
        if isinstance(kind.dtype if of_lanes else kind, types.Float):
            return NativeValue(kind, builder.fneg(operand.code))
        if isinstance(kind, types.Complex):
            return complex_numbers.negated(builder, operand)
        if of_lanes:
            return NativeValue(kind, builder.neg(operand.code))
        if isinstance(kind, types.Integer):  # the result has 64 bits, and is what the smaller ones hold
            whole = common_kind(kind, kind)
            return NativeValue(whole, cast(builder, builder.neg(operand.code), kind, whole))
    if isinstance(operator, ast.Not) and kind == types.boolean:
        return NativeValue(kind, builder.not_(operand.code))
    raise NotNativeError(f"{type(operator).__name__} of {kind}")


def comparison(builder: ir.IRBuilder, operator: ast.cmpop, left: NativeValue, right: NativeValue) -> NativeValue:
    """Write a comparison of two values; that of vectors is a mask.

    Args:
        builder: where the code goes.
        operator: of the source.
        left, right: the operands.

    Raises:
        NotNativeError: it is not translated here.
    """
    if type(operator) not in RELATIONS:
        raise NotNativeError(f"{type(operator).__name__} of {left.kind} and {right.kind}")
    relation = RELATIONS[type(operator)]
    if isinstance(left.kind, Vector):
        if left.kind != right.kind:
            raise NotNativeError(f"{left.kind} compared with {right.kind}")
        return NativeValue(Mask(left.kind.lanes), _compared(builder, relation, left.kind.dtype, left.code, right.code))
    if left.kind == types.boolean == right.kind and relation in ("==", "!="):
        return NativeValue(types.boolean, builder.icmp_unsigned(relation, left.code, right.code))
    kind = common_kind(left.kind, right.kind)
    first, second = (cast(builder, each.code, each.kind, kind) for each in (left, right))
    if isinstance(kind, types.Complex):
        return NativeValue(types.boolean, complex_numbers.compared(builder, relation, kind, first, second))
    return NativeValue(types.boolean, _compared(builder, relation, kind, first, second))


def _compared(builder: ir.IRBuilder, relation: str, kind: types.Type, first: ir.Value, second: ir.Value) -> ir.Value:
    if isinstance(kind, types.Float):
        compare = builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered
        return compare(relation, first, second)
    compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
    return compare(relation, first, second)
