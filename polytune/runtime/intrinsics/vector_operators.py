"""Python's operators on vectors: they mean what they mean for scalars, lane by lane."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin

from polytune.runtime.intrinsics.vector_types import Mask, Vector, storage_of, type_suffix

_OPERATORS = {
    operator.add: ("fadd", "add"),
    operator.sub: ("fsub", "sub"),
    operator.mul: ("fmul", "mul"),
    operator.truediv: ("fdiv", ""),
}


def _register(key: Callable[..., Any], of_floats: str, of_integers: str) -> None:
    @infer_global(key)
    class _TypeArithmetic(AbstractTemplate):
        def generic(self, args, kws):
            known = len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]
            if known and (of_integers or isinstance(args[0].dtype, types.Float)):
                return signature(args[0], *args)
            return None

    @lower_builtin(key, Vector, Vector)
    def _lower(context, builder, sig, args):
        name = of_floats if isinstance(sig.args[0].dtype, types.Float) else of_integers
        return getattr(builder, name)(*args)


for _key, _names in _OPERATORS.items():
    _register(_key, *_names)


_COMPARISONS = {
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}


def _register_comparison(key: Callable[..., Any], relation: str) -> None:
    """Comparisons of vectors are masks; where a lane is NaN all are false, but for ``!=``, which is true."""

    @infer_global(key)
    class _TypeComparison(AbstractTemplate):
        def generic(self, args, kws):
            known = len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]
            return signature(Mask(args[0].lanes), *args) if known else None

    @lower_builtin(key, Vector, Vector)
    def _lower(context, builder, sig, args):
        if not isinstance(sig.args[0].dtype, types.Float):
            return builder.icmp_signed(relation, *args)
        compare = builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered
        return compare(relation, *args)


for _key, _relation in _COMPARISONS.items():
    _register_comparison(_key, _relation)


@infer_global(operator.or_)
class _TypeEither(AbstractTemplate):
    """The lanes of either of two masks."""

    def generic(self, args, kws):
        known = len(args) == 2 and isinstance(args[0], Mask) and args[0] == args[1]
        return signature(args[0], *args) if known else None


@lower_builtin(operator.or_, Mask, Mask)
def _lower_either(context, builder, sig, args):
    return builder.or_(*args)


@infer_global(operator.neg)
class _TypeNegation(AbstractTemplate):
    def generic(self, args, kws):
        return signature(args[0], *args) if isinstance(args[0], Vector) else None


@lower_builtin(operator.neg, Vector)
def _lower_negation(context, builder, sig, args):
    return builder.fneg(args[0]) if isinstance(sig.args[0].dtype, types.Float) else builder.neg(args[0])


FUNCTIONS: dict[Callable[..., Any], str] = {abs: "llvm.fabs", math.sqrt: "llvm.sqrt"}
"""The functions of vectors of floats, and what LLVM calls them."""


def of_lanes(builder: ir.IRBuilder, name: str, vector: Vector, value: ir.Value) -> ir.Value:
    """A function of each lane.

    Args:
        builder: where the code goes.
        name: what LLVM calls the function.
        vector: the type of its argument, and of its value.
        value: the argument.
    """
    storage = storage_of(vector)
    kind = ir.FunctionType(storage, [storage])
    function = cgutils.get_or_insert_function(builder.module, kind, f"{name}.{type_suffix(vector)}")
    return builder.call(function, [value])


def _register_function(key: Callable[..., Any], name: str) -> None:
    @infer_global(key)
    class _TypeFunction(AbstractTemplate):
        def generic(self, args, kws):
            known = len(args) == 1 and isinstance(args[0], Vector) and isinstance(args[0].dtype, types.Float)
            return signature(args[0], *args) if known else None

    @lower_builtin(key, Vector)
    def _lower(context, builder, sig, args):
        return of_lanes(builder, name, sig.args[0], args[0])


for _function, _name in FUNCTIONS.items():
    _register_function(_function, _name)
