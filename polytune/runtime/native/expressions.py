"""Expressions of generated functions in LLVM's language, each with its type."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import _Intrinsic as Intrinsic

from polytune.relations import RELATIONS
from polytune.runtime.intrinsics.memory import View, alignment_of, annotate, element_address, load_element
from polytune.runtime.intrinsics.vector_operators import FUNCTIONS, of_lanes
from polytune.runtime.intrinsics.vector_types import Mask, Vector
from polytune.runtime.native import complex_numbers
from polytune.runtime.native.integer_powers import integer_exponent, integer_power
from polytune.runtime.native.kinds import NativeValue, NotNativeError, cast, llvm_kind, unified
from polytune.runtime.native.magnitudes import RELATIONS_OF_MAGNITUDES, compared_magnitude
from polytune.runtime.native.operations import (
    CASTS,
    CONTEXT,
    EXTREMA,
    MATHEMATICS,
    MATHEMATICS_OF_TWO,
    call_intrinsic,
    extremum,
    magnitude,
)
from polytune.runtime.native.operators import OF_BITS, OF_INTEGERS, binary, comparison, constant, unary
from polytune.runtime.native.range_tests import range_test, range_tested
from polytune.syntax_trees import all_nodes

__all__ = ["Expressions"]

Variables = Callable[[str], NativeValue | None]
"""Gives the value of a variable of the function; None for a name that is none."""

Called = Callable[[FunctionType, Sequence[NativeValue]], NativeValue]


class Expressions:
    """Writes expressions where a builder stands.

    Args:
        builder: where the code goes.
        variables: gives values of variables.
        names: what names stand for that are no variables.
        called: writes the call of a function of Python.
        strict: whether sums keep their order, and 0.0 and -0.0 are two.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        variables: Variables,
        names: Mapping[str, Any],
        called: Called,
        strict: bool = True,
    ):
        self.builder, self._variables, self._names, self._called = builder, variables, names, called
        self._strict = strict
        self._ends_loop = False
        """A mark of conditions on which a loop ends: such a loop never becomes vectors."""

    def value(self, node: ast.expr) -> NativeValue:
        """The value of an expression.

        Raises:
            NotNativeError: it is not translated here.
        """
        match node:
            case ast.Constant():
                return constant(node.value)
            case ast.Name(id=name):
                found = self._variables(name)
                return constant(self.named(node)) if found is None else found
            case ast.Attribute(value=operand, attr="real" | "imag" as name):
                return complex_numbers.part(self.builder, self._complex(operand), name)
            case ast.Attribute():
                return constant(self.named(node))
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(operator, self.value(left), self.value(right))
            case ast.UnaryOp(op=operator, operand=operand):
                return unary(self.builder, operator, self.value(operand))
            case ast.Compare(left=left, ops=operators, comparators=rest):
                return self._comparisons([left, *rest], operators)
            case ast.BoolOp(op=operator, values=operands):
                return self._logical(isinstance(operator, ast.And), operands)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._chosen(test, then, otherwise)
            case ast.Subscript(value=ast.Name(id=name), slice=subscripts):
                return self._element(self._view(name), subscripts)
            case ast.Tuple(elts=elements):
                return self._tuple([self.value(element) for element in elements])
            case ast.Call(func=ast.Attribute(value=operand, attr="conjugate"), args=[], keywords=[]):
                return complex_numbers.conjugate(self.builder, self._complex(operand))
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._call(self.named(function), arguments)
        raise NotNativeError(ast.unparse(node))

    def _binary(self, operator: ast.operator, left: NativeValue, right: NativeValue) -> NativeValue:
        """An operation on two values; of powers to integers in functions that are not strict those by squaring."""
        if isinstance(operator, ast.Pow) and not self._strict and left.kind == types.float64:
            exponent = integer_exponent(right.code)
            if exponent is not None:
                return NativeValue(types.float64, integer_power(self.builder, left.code, exponent))
        return binary(self.builder, operator, left, right)

    def _complex(self, node: ast.expr) -> NativeValue:
        """A complex number."""
        found = self.value(node)
        if not isinstance(found.kind, types.Complex):
            raise NotNativeError(f"{ast.unparse(node)} is {found.kind}")
        return found

    def truth(self, node: ast.expr) -> ir.Value:
        """A condition, as one bit."""
        found = self.value(node)
        if found.kind != types.boolean:
            raise NotNativeError(f"{ast.unparse(node)} is no truth value")
        return found.code

    def ending(self, node: ast.expr) -> ir.Value:
        """A condition on which a loop ends, as one bit."""
        self._ends_loop = True
        found = self.truth(node)
        self._ends_loop = False
        return found

    def branch(self, test: ast.expr, then: ir.Block, otherwise: ir.Block, *, ends_loop: bool = False) -> None:
        """Write a branch.

        LLVM is told of a test of bits that nobody foresees how it will end: it then makes a selection of the branch
        and leaves it one, where it otherwise takes a branch to be the shorter chain of dependences, which it is not
        for a processor that guesses wrong every other time.

        Args:
            test: the condition.
            then: where it goes on if that is true.
            otherwise: where it goes on if not.
            ends_loop: whether it leaves a loop.
        """
        instruction = self.builder.cbranch((self.ending if ends_loop else self.truth)(test), then, otherwise)
        if _tests_bits(test):
            instruction.set_metadata("unpredictable", self.builder.module.add_metadata([]))

    def integer(self, node: ast.expr) -> ir.Value:
        """An int64."""
        found = self.value(node)
        if not isinstance(found.kind, types.Integer) or not found.kind.signed:
            raise NotNativeError(f"{ast.unparse(node)} is {found.kind}")
        return cast(self.builder, found.code, found.kind, types.int64)

    def assigned(self, target: ast.expr, node: ast.expr) -> NativeValue:
        """The value of what is assigned to a variable or an element.

        Of the updates of a reduction, ``x = x + e`` with an ``e`` that does not name ``x``, the order is free unless
        the function is strict: LLVM may have several such sums, and add these up.  Nothing else may be reassociated:
        as mathematics ``(x + e) - x`` is ``e``, and as arithmetic of floats it is the part of ``e`` that has not been
        rounded away, which is what a program that computes it wants to know.

        Args:
            target: the variable or the element.
            node: what is assigned to it.

        Raises:
            NotNativeError: it is not translated here.
        """
        value = self.value(node)
        if not self._strict and _is_update(target, node):
            for instruction in _operations(value):
                # Signs of zeros stay: without them LLVM takes ``x + d`` for y where d was computed as ``y - x``.
                instruction.flags.extend(("reassoc", "contract"))
        return value

    def store(self, name: str, subscripts: ast.expr, value: NativeValue) -> None:
        """Store a number to an element of a view, as one of the type of its elements.

        Args:
            name: the variable that holds the view.
            subscripts: one expression, or a tuple of as many as the view has axes.
            value: a number of any type.
        """
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

    def _view(self, name: str) -> NativeValue:
        found = self._variables(name)
        if found is None or not isinstance(found.kind, View):
            raise NotNativeError(f"{name} is no view")
        return found

    def _address(self, view: NativeValue, subscripts: ast.expr) -> ir.Value:
        elements = subscripts.elts if isinstance(subscripts, ast.Tuple) else [subscripts]
        index = self._tuple([self.value(element) for element in elements])
        return element_address(CONTEXT, self.builder, view.kind, index.kind, view.code, index.code)

    def _element(self, view: NativeValue, subscripts: ast.expr) -> NativeValue:
        address = self._address(view, subscripts)
        loaded = load_element(CONTEXT, self.builder, view.kind, address)
        return NativeValue(view.kind.dtype, CONTEXT.data_model_manager[view.kind.dtype].from_data(self.builder, loaded))

    def _tuple(self, values: Sequence[NativeValue]) -> NativeValue:
        kinds = [types.unliteral(value.kind) for value in values]
        if not all(isinstance(kind, types.Integer | types.BaseTuple) for kind in kinds):
            raise NotNativeError("a tuple of other values than integers and tuples")
        code = ir.Constant(ir.LiteralStructType([value.code.type for value in values]), ir.Undefined)
        for position, value in enumerate(values):
            code = self.builder.insert_value(code, value.code, position)
        return NativeValue(types.Tuple(kinds), code)

    # ---- comparisons and choices

    def _comparisons(self, operands: Sequence[ast.expr], operators: Sequence[ast.cmpop]) -> NativeValue:
        """An operand after the second one is evaluated only where the comparisons before hold, and once."""
        if len(operators) == 1:
            found = self._compared_magnitude(operators[0], *operands)
            return found or comparison(self.builder, operators[0], *(self.value(operand) for operand in operands))
        following = iter(operands)
        known = [self.value(next(following))]

        def compared(operator: ast.cmpop) -> ir.Value:
            known.append(self.value(next(following)))
            found = comparison(self.builder, operator, known[-2], known[-1])
            if found.kind != types.boolean:
                raise NotNativeError("several comparisons of vectors in one")
            return found.code

        return self._decided(True, [partial(compared, operator) for operator in operators])

    def _compared_magnitude(self, operator: ast.cmpop, left: ast.expr, right: ast.expr) -> NativeValue | None:
        """A comparison of ``hypot(x, y)`` with another number, where it need not be one of vectors; None for any other
        comparison."""
        relation = RELATIONS.get(type(operator), "")
        parts = self._parts_of_magnitude(left) if self._strict or self._ends_loop else None
        if parts is None or relation not in RELATIONS_OF_MAGNITUDES:
            return None
        (first, second), bound = parts, self.value(right)
        if types.unliteral(bound.kind) not in (types.float32, types.float64, types.int64):
            return None
        number = cast(self.builder, bound.code, bound.kind, types.float64)
        codes = first.code, second.code

        def compared() -> ir.Value:
            size = MATHEMATICS_OF_TWO[math.hypot](self.builder, first, second)
            return comparison(self.builder, operator, size, bound).code

        outcome = compared_magnitude(self.builder, relation, first.kind, codes, number, compared)
        return NativeValue(types.boolean, outcome)

    def _parts_of_magnitude(self, node: ast.expr) -> tuple[NativeValue, NativeValue] | None:
        """The two floats of one type of which an expression is the ``hypot``, in this type; None for any other
        expression."""
        match node:
            case ast.Call(func=function, args=[ast.Call() as inner], keywords=[]):
                parts = self._parts_of_magnitude(inner) if self.named(function) is np.float32 else None
                return parts if parts is not None and parts[0].kind == types.float32 else None
            case ast.Call(func=function, args=[first, second], keywords=[]) if self.named(function) is math.hypot:
                values = self.value(first), self.value(second)
                is_plain = values[0].kind == values[1].kind and isinstance(values[0].kind, types.Float)
                return values if is_plain else None
        return None

    def _logical(self, is_and: bool, operands: Sequence[ast.expr]) -> NativeValue:
        conditions: list[Callable[[], ir.Value]] = []
        rest = list(operands)
        while rest:
            operand = rest.pop(0)
            number_and_end = range_tested(is_and, operand, rest[0], self._names) if rest else None
            if number_and_end is None:
                conditions.append(partial(self.truth, operand))
            else:
                conditions.append(partial(self._in_range, is_and, (operand, rest.pop(0)), *number_and_end))
        return self._decided(is_and, conditions) if len(conditions) > 1 else NativeValue(types.boolean, conditions[0]())

    def _in_range(self, is_and: bool, conditions: Sequence[ast.expr], number: ast.expr, end: ast.expr) -> ir.Value:
        """Two conditions that say whether a number is in a range from 0, or is not, see ``range_tested``."""
        found = range_test(self.builder, is_and, self.value(number), self.value(end))
        return found or self._decided(is_and, [partial(self.truth, each) for each in conditions]).code

    def _decided(self, is_and: bool, conditions: Sequence[Callable[[], ir.Value]]) -> NativeValue:
        """All of some conditions, or any: one is evaluated only where those before it do not decide."""
        builder = self.builder
        end = builder.append_basic_block("decided")
        incoming: list[tuple[ir.Value, ir.Block]] = []
        for condition in conditions[:-1]:
            found = condition()
            following = builder.append_basic_block("undecided")
            incoming.append((ir.IntType(1)(not is_and), builder.block))
            builder.cbranch(found, following if is_and else end, end if is_and else following)
            builder.position_at_end(following)
        last = conditions[-1]()
        incoming.append((last, builder.block))
        builder.branch(end)
        builder.position_at_end(end)
        return NativeValue(types.boolean, self._joined(ir.IntType(1), incoming))

    def _chosen(self, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> NativeValue:
        builder = self.builder
        if isinstance(then, ast.Constant) and isinstance(otherwise, ast.Constant):
            return self._chosen_number(test, then, otherwise)
        places = [builder.append_basic_block(name) for name in ("then", "else")]
        end = builder.append_basic_block("chosen")
        self.branch(test, *places)
        found = []
        for place, node in zip(places, (then, otherwise), strict=True):
            builder.position_at_end(place)
            value = self.value(node)
            found.append((value, builder.block))
        (first, _), (second, _) = found
        kind = first.kind if first.kind == second.kind else unified(first.kind, second.kind)
        kind = types.unliteral(kind)
        incoming = []
        for (value, block), node in zip(found, (then, otherwise), strict=True):
            builder.position_at_end(block)
            code = value.code if isinstance(kind, Vector | Mask) else cast(builder, value.code, value.kind, kind)
            changes = isinstance(node, ast.BinOp) and type(node.op) in (*OF_BITS, *OF_INTEGERS)
            if changes and isinstance(kind, types.Integer) and _tests_bits(test):
                # LLVM would make ``x ^ (p if b else 0)`` of ``x ^ p if b else x``, which has to wait for the test.
                frozen = ir.Instruction(builder.block, code.type, "freeze", [code])
                builder._insert(frozen)
                code = frozen
            incoming.append((code, block))
            builder.branch(end)
        builder.position_at_end(end)
        return NativeValue(kind, self._joined(incoming[0][0].type, incoming))

    def _chosen_number(self, test: ast.expr, then: ast.Constant, otherwise: ast.Constant) -> NativeValue:
        """One of two numbers, without a branch: what stands before and behind it is one block for `delay_stores`."""
        condition, first, second = self.truth(test), self.value(then), self.value(otherwise)
        kind = types.unliteral(first.kind if first.kind == second.kind else unified(first.kind, second.kind))
        codes = (cast(self.builder, each.code, each.kind, kind) for each in (first, second))
        chosen = self.builder.select(condition, *codes)
        if _tests_bits(test):
            chosen.set_metadata("unpredictable", self.builder.module.add_metadata([]))
        return NativeValue(kind, chosen)

    def _joined(self, kind: ir.Type, incoming: Sequence[tuple[ir.Value, ir.Block]]) -> ir.Value:
        phi = self.builder.phi(kind)
        for value, block in incoming:
            phi.add_incoming(value, block)
        return phi

    # ---- calls

    def _call(self, function: Any, nodes: Sequence[ast.expr]) -> NativeValue:
        arguments = [self.value(node) for node in nodes]
        if isinstance(function, Intrinsic):
            return call_intrinsic(self.builder, function, arguments)
        if isinstance(function, FunctionType):
            return self._called(function, arguments)
        if len(arguments) == 2:
            return self._call_of_two(function, *arguments)
        if len(arguments) == 1:
            (argument,) = arguments
            if isinstance(argument.kind, Vector):
                if function not in FUNCTIONS or not isinstance(argument.kind.dtype, types.Float):
                    raise NotNativeError(f"{function} of {argument.kind}")
                code = of_lanes(self.builder, FUNCTIONS[function], argument.kind, argument.code)
                return NativeValue(argument.kind, code)
            if function is abs:
                return magnitude(self.builder, argument)
            if not isinstance(argument.kind, types.Number | types.Boolean):
                raise NotNativeError(f"{function} of {argument.kind}")
            if function is np.exp and isinstance(argument.kind, types.Complex):
                return complex_numbers.exponential(self.builder, argument, MATHEMATICS)
            if function in CASTS:
                wanted = CASTS[function]
                if isinstance(wanted, types.Integer) and isinstance(argument.kind, types.IntegerLiteral):
                    return NativeValue(wanted, llvm_kind(wanted)(argument.literal % 2**wanted.bitwidth))
                return NativeValue(wanted, cast(self.builder, argument.code, argument.kind, wanted))
            if function in MATHEMATICS:
                if types.unliteral(argument.kind) == types.int64:
                    argument = NativeValue(
                        types.float64, cast(self.builder, argument.code, argument.kind, types.float64)
                    )
                if isinstance(argument.kind, types.Float):
                    return MATHEMATICS[function](self.builder, argument)
        raise NotNativeError(f"a call of {function}")

    def _call_of_two(self, function: Any, first: NativeValue, second: NativeValue) -> NativeValue:
        if function is complex:
            return complex_numbers.combined(self.builder, first, second)
        if first.kind == second.kind and isinstance(first.kind, types.Float):
            if function in EXTREMA:
                return extremum(self.builder, function, first, second, not self._strict)
            if function in MATHEMATICS_OF_TWO:
                return MATHEMATICS_OF_TWO[function](self.builder, first, second)
        raise NotNativeError(f"a call of {function} of {first.kind} and {second.kind}")


def _is_update(target: ast.expr, node: ast.expr) -> bool:
    """Return whether ``target = node`` is the update of a sum or a product by what does not name that."""
    match target, node:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)), ast.BinOp(left=left, op=operator, right=right):
            pass
        case _:
            return False
    updated = ast.unparse(target)
    if ast.unparse(left) == updated and isinstance(operator, ast.Add | ast.Sub | ast.Mult):
        other = right
    elif ast.unparse(right) == updated and isinstance(operator, ast.Add | ast.Mult):
        other = left
    else:
        return False
    return not any(isinstance(part, ast.Name) and part.id == name for part in all_nodes(other))


def _operations(value: NativeValue) -> list[ir.Instruction]:
    """Return the last operations of a value that LLVM may do in another order: one, or one for each part of a complex
    number."""
    found = [value.code]
    while found and isinstance(found[-1], ir.InsertValue):
        number, part = found.pop().operands
        found += [part, number]
    return [each for each in found if getattr(each, "opname", "") in ("fadd", "fsub", "fmul") and not each.flags]


def _tests_bits(test: ast.expr) -> bool:
    """Return whether a condition compares what was computed bit by bit, as ``(x & 1) != 0``; masks of truth values are
    none of that."""
    comparisons = (node for node in all_nodes(test) if isinstance(node, ast.Compare))
    compared = (part for node in comparisons for side in (node.left, *node.comparators) for part in all_nodes(side))
    return any(isinstance(part, ast.BinOp) and type(part.op) in OF_BITS for part in compared)
