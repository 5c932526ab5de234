"""A generated function in LLVM's language.

What is translated is the part of Python that generated functions are written in: assignments to variables that have one
type each, stores to elements of views, ``for`` over ranges with a constant step, ``while``, ``if``, ``break`` and
``continue``, and calls of the operations of ``polytune.runtime``.  All other code is refused, never guessed at.

Arrays that a generated function makes and gives back are memory of a worker's own.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from polytune.runtime.intrinsics.memory import View, keep_alive
from polytune.runtime.intrinsics.vector_types import Mask, Vector, storage_of
from polytune.runtime.native.expressions import Expressions
from polytune.runtime.native.kinds import WORD, NativeValue, NotNativeError, cast, llvm_kind, storage_kind
from polytune.runtime.native.narrow_gathers import forbid_vectors, gathers_narrow_elements
from polytune.runtime.native.operations import CASTS, CONTEXT, Parts
from polytune.runtime.native.source import parsed
from polytune.runtime.native.store_order import delay_stores
from polytune.syntax_trees import all_nodes

__all__ = ["lower"]


def lower(function: ast.FunctionDef, names: Mapping[str, Any], symbol: str, *, strict: bool = True) -> ir.Module:
    """A module with one function, of as many int64 as the given one has parameters; it returns an int64 where the
    source returns anything.

    Args:
        function: the source.
        names: what names stand for that are not the function's own.
        symbol: what the result is called.
        strict: whether sums keep their order, and 0.0 and -0.0 are two.

    Raises:
        NotNativeError: something in it is not translated here.
    """
    module = ir.Module(name=symbol)
    parameters = [parameter.arg for parameter in function.args.args]
    returns = any(isinstance(node, ast.Return) and node.value for node in all_nodes(function))
    kind = ir.FunctionType(WORD if returns else ir.VoidType(), [WORD] * len(parameters))
    code = ir.Function(module, kind, symbol)
    entry, builder = (ir.IRBuilder(code.append_basic_block(name)) for name in ("variables", "body"))
    begin = builder.block
    arguments = [NativeValue(types.int64, argument) for argument in code.args]
    result = _FunctionLowering(entry, builder, names, strict).write(
        dict(zip(parameters, arguments, strict=True)), function.body
    )
    if returns:
        builder.ret(cast(builder, result.code, result.kind, types.int64))
    else:
        builder.ret_void()
    # Operations have put variables of their own there.
    entry.position_at_end(entry.block)
    entry.branch(begin)
    delay_stores(code)
    return module


_DEEPEST = 8
"""The most calls of functions that may lie in one another; more are endless."""


class _FunctionLowering:
    """Writes the statements of a function, where it is called or as one of its own.

    Args:
        entry: where variables are made.
        builder: where the code goes.
        names: what names stand for that are not the function's own.
        strict: whether sums keep their order, and 0.0 and -0.0 are two.
        depth: how many functions this one is called in.
    """

    def __init__(
        self,
        entry: ir.IRBuilder,
        builder: ir.IRBuilder,
        names: Mapping[str, Any],
        strict: bool,
        depth: int = 0,
    ):
        self._entry, self._builder, self._strict, self._depth = entry, builder, strict, depth
        self._values: dict[str, NativeValue] = {}
        """Variables that never change, by their values."""
        self._places: dict[str, tuple[types.Type, ir.Value]] = {}
        """The others, by their types and where they are in memory, until LLVM puts them into registers."""
        self._expressions = Expressions(builder, self._variable, names, self._called, strict)
        self._allocated: dict[str, tuple[tuple[ir.Block, ...], AllocatedArray]] = {}
        """The arrays that have been made and not been given back, each with the branches in which it was made."""
        self._views: dict[str, list[str]] = {}
        """The names of views of these arrays."""
        self._branches: tuple[ir.Block, ...] = ()
        """The branches and bodies of loops that statements are in, by the blocks that they begin with."""
        self._loops: list[tuple[ir.Block, ir.Block, int]] = []
        """The blocks to which ``continue`` and ``break`` go, of the loops around, and in how many branches their bodies
        are."""
        self._end = builder.append_basic_block("returned")
        self._result: tuple[types.Type, ir.Value] | None = None
        """The type of what is returned, and where it is put."""

    def write(self, parameters: Mapping[str, NativeValue], body: Sequence[ast.stmt]) -> NativeValue:
        """Write the body; the builder then stands behind it.  What it returns, of type ``none`` where that is nothing.

        Raises:
            NotNativeError: something in it is not translated here.
        """
        self._values.update(parameters)
        self._statements(body)
        if self._allocated:
            raise NotNativeError(f"{', '.join(self._allocated)} not given back")
        if not self._builder.block.is_terminated:
            self._builder.branch(self._end)
        self._builder.position_at_end(self._end)
        if self._result is None:
            return NativeValue(types.none, None)
        kind, place = self._result
        return NativeValue(kind, self._builder.load(place, typ=_register(kind)))

    def _called(self, function: FunctionType, arguments: Sequence[NativeValue]) -> NativeValue:
        """The value of a call of a function of Python, which is written where it is called."""
        node = parsed(function)
        parameters = [parameter.arg for parameter in node.args.args]
        if self._depth >= _DEEPEST or len(parameters) != len(arguments):
            raise NotNativeError(f"a call of {function.__name__}")
        inner = _FunctionLowering(self._entry, self._builder, function.__globals__, self._strict, self._depth + 1)
        return inner.write(dict(zip(parameters, arguments, strict=True)), node.body)

    def _return(self, value: NativeValue | None) -> None:
        for place, memory in reversed(self._allocated.values()):
            if place != self._branches[: len(place)]:
                raise NotNativeError("an array made in a branch is not given back there")
            release(self._builder, memory)
        if value is not None:
            kind = types.unliteral(value.kind)
            if self._result is None:
                self._result = kind, self._entry.alloca(_register(kind))
            known, place = self._result
            if known != kind:
                raise NotNativeError(f"{known} or {kind} is returned")
            self._builder.store(value.code, place)
        self._builder.branch(self._end)

    def _variable(self, name: str) -> NativeValue | None:
        if name in self._places:
            kind, place = self._places[name]
            return NativeValue(kind, self._builder.load(place, typ=_register(kind)))
        return self._values.get(name)

    def _assign(self, name: str, value: NativeValue, *, is_own: bool = False) -> None:
        """Give a name a value; it may be an array in a loop where that is the iteration's own."""
        kind = types.unliteral(value.kind)
        if isinstance(kind, View | types.Array):
            if name in self._values or name in self._places or (self._loops and not is_own):
                raise NotNativeError(f"{name} stands for several arrays")
            self._values[name] = value
            return
        if name in self._values:
            raise NotNativeError(f"the parameter {name} is assigned to")
        if value.code is None:
            raise NotNativeError(f"{name} is a {kind}")
        if name not in self._places:
            place = self._entry.alloca(_register(kind), name=name)
            self._entry.store(ir.Constant(_register(kind), None), place)
            self._places[name] = kind, place
        known, place = self._places[name]
        if known != kind:
            raise NotNativeError(f"{name} is {known} and {kind}")
        self._builder.store(value.code, place)

    def _allocate(self, name: str, shape: ast.expr, dtype: Any) -> None:
        extents = shape.elts if isinstance(shape, ast.Tuple) else [shape]
        if dtype not in CASTS:
            raise NotNativeError(f"an array of {dtype}")
        integers = [self._expressions.integer(extent) for extent in extents]
        memory = allocate(self._builder, integers, CASTS[dtype])
        self._assign(name, NativeValue(memory.kind, memory.parts), is_own=True)
        self._allocated[name] = self._branches, memory

    def _viewed(self, value: ast.expr) -> str | None:
        """The name of an array that has been made of which a value may be a view; None where there is none."""
        match value:
            case ast.Call(args=[ast.Name(id=name), *_]) if name in self._allocated:
                return name
        return None

    def _release(self, name: str, call: ast.Call) -> None:
        """Give an array's memory back where its last use is kept alive."""
        if self._expressions.named(call.func) is not keep_alive:
            raise NotNativeError(ast.unparse(call))
        release(self._builder, self._allocated.pop(name)[1])
        for each in (name, *self._views.pop(name, ())):  # which may be those of another array from now on
            del self._values[each]

    def _statements(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self._builder.block.is_terminated:  # what follows ``break`` is never reached
                return
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        value = self._expressions.value
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[shape, dtype])) if (
                self._expressions.named(function) is np.empty
            ):
                self._allocate(name, shape, self._expressions.named(dtype))
            case ast.Assign(targets=[ast.Name(id=name) as target], value=node):
                viewed = self._viewed(node)
                self._assign(name, self._expressions.assigned(target, node), is_own=viewed is not None)
                if viewed is not None and name in self._values:
                    self._views.setdefault(viewed, []).append(name)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=node):
                updated = ast.copy_location(ast.BinOp(ast.Name(name, ast.Load()), operator, node), target)
                self._assign(name, self._expressions.assigned(target, updated))
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=subscripts) as target], value=node):
                self._expressions.store(name, subscripts, self._expressions.assigned(target, node))
            case ast.Expr(value=ast.Call(args=[ast.Name(id=name)]) as call) if name in self._allocated:
                self._release(name, call)
            case ast.Expr(value=ast.Call() as call):
                value(call)
            case ast.If(test=test, body=then, orelse=otherwise):
                self._if(test, then, otherwise)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=function, args=bounds, keywords=[]), orelse=[]):
                if self._expressions.named(function) is not range:
                    raise NotNativeError("a loop over something else than a range")
                self._for(name, bounds, statement.body)
            case ast.Return(value=node):
                self._return(None if node is None else value(node))
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):  # the documentation
                pass
            case ast.Break() | ast.Continue():
                following, end, _ = self._loops[-1]
                self._leave_iteration(end if isinstance(statement, ast.Break) else following)
            case _:
                raise NotNativeError(ast.unparse(statement).partition("\n")[0])

    def _if(self, test: ast.expr, then: Sequence[ast.stmt], otherwise: Sequence[ast.stmt]) -> None:
        builder = self._builder
        places = [builder.append_basic_block("if")]
        if otherwise:
            places.append(builder.append_basic_block("else"))
        end = builder.append_basic_block("after_if")
        ends_loop = any(isinstance(each, ast.Break | ast.Return) for each in (*then, *otherwise))
        self._expressions.branch(test, places[0], places[-1] if otherwise else end, ends_loop=ends_loop)
        for place, statements in zip(places, (then, otherwise), strict=False):
            builder.position_at_end(place)
            around, self._branches = self._branches, (*self._branches, place)
            self._statements(statements)
            self._branches = around
            if not builder.block.is_terminated:
                builder.branch(end)
        builder.position_at_end(end)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        builder = self._builder
        look, work, end = (builder.append_basic_block(f"while_{name}") for name in ("look", "body", "end"))
        builder.branch(look)
        builder.position_at_end(look)
        builder.cbranch(self._expressions.ending(test), work, end)
        builder.position_at_end(work)
        self._loop(body, look, end)
        builder.position_at_end(end)

    def _for(self, name: str, bounds: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """Write a loop whose iterations are counted from zero, or in steps of one from the start, so that LLVM sees how
        many there are, and no sum can be too large."""
        builder, integer = self._builder, self._expressions.integer
        values = [integer(bound) for bound in bounds]
        start, stop, step = (WORD(0), *values, WORD(1)) if len(values) == 1 else (*values, WORD(1))[:3]
        counts_from_start = isinstance(step, ir.Constant) and step.constant == 1
        before = builder.block
        look, work, following, end = (
            builder.append_basic_block(f"for_{part}") for part in ("look", "body", "next", "end")
        )
        first, count = (start, stop) if counts_from_start else (WORD(0), self._count(start, stop, step))
        builder.branch(look)
        builder.position_at_end(look)
        counter = builder.phi(WORD)
        counter.add_incoming(first, before)
        compare = builder.icmp_signed if counts_from_start else builder.icmp_unsigned
        builder.cbranch(compare("<", counter, count), work, end)
        builder.position_at_end(work)
        place = counter
        if not counts_from_start:
            place = builder.add(start, builder.mul(counter, step, flags=("nsw",)), flags=("nsw",))
        self._assign(name, NativeValue(types.int64, place))
        others = len(builder.function.blocks)
        self._loop(body, following, end)
        builder.position_at_end(following)
        flags = ("nsw",) if counts_from_start else ("nuw", "nsw")
        counter.add_incoming(builder.add(counter, WORD(1), flags=flags), following)
        back = builder.branch(look)
        inside = [work, *builder.function.blocks[others:]]
        is_innermost = not any(isinstance(node, ast.For | ast.While) for each in body for node in all_nodes(each))
        if is_innermost and gathers_narrow_elements(inside):
            forbid_vectors(builder.module, back)
        builder.position_at_end(end)

    def _count(self, start: ir.Value, stop: ir.Value, step: ir.Value) -> ir.Value:
        """Return how many numbers a range has, none where its step is 0."""
        builder, zero = self._builder, WORD(0)
        is_up = builder.icmp_signed(">", step, zero)
        low, high = builder.select(is_up, start, stop), builder.select(is_up, stop, start)
        size = builder.select(is_up, step, builder.neg(step))
        is_none = builder.or_(builder.icmp_signed(">=", low, high), builder.icmp_signed("==", step, zero))
        divisor = builder.select(is_none, WORD(1), size)
        behind = builder.udiv(builder.sub(builder.sub(high, low), WORD(1)), divisor)
        return builder.select(is_none, zero, builder.add(behind, WORD(1)))

    def _loop(self, body: Sequence[ast.stmt], following: ir.Block, end: ir.Block) -> None:
        """Write the body of a loop, from where the builder stands."""
        around, self._branches = self._branches, (*self._branches, self._builder.block)
        self._loops.append((following, end, len(self._branches)))
        self._statements(body)
        if not self._builder.block.is_terminated:
            self._leave_iteration(following)
        self._loops.pop()
        self._branches = around

    def _leave_iteration(self, target: ir.Block) -> None:
        """Go on with the next iteration of the innermost loop, or behind it."""
        depth = self._loops[-1][2]
        if any(place[:depth] == self._branches[:depth] for place, _ in self._allocated.values()):
            raise NotNativeError("an array made in a loop is not given back there")
        self._builder.branch(target)


def _register(kind: types.Type) -> ir.Type:
    """The LLVM type of a variable."""
    if isinstance(kind, Vector):
        return storage_of(kind)
    if isinstance(kind, Mask):
        return ir.VectorType(ir.IntType(1), kind.lanes)
    return llvm_kind(kind)


_ADDRESS = ir.IntType(8).as_pointer()
_LINE = 64
"""Arrays begin where a line of the cache does."""


class AllocatedArray(NamedTuple):
    """An array and the memory that it lies in.

    Attributes:
        kind: the array's Numba type.
        parts: its ``data`` and ``strides``.
        address: what has to be given back.
    """

    kind: types.Array
    parts: Parts
    address: ir.Value


def allocate(builder: ir.IRBuilder, shape: Sequence[ir.Value], dtype: types.Type) -> AllocatedArray:
    """An array in C order; a process that has no memory for it ends, as no result of it would be right.

    Args:
        builder: where the code goes.
        shape: int64, none negative.
        dtype: the type of its elements.
    """
    storage = storage_kind(dtype)
    size: ir.Value = WORD(CONTEXT.get_abi_sizeof(storage))
    strides: list[ir.Value] = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size = builder.mul(size, extent)
    make = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_ADDRESS, [WORD]), "malloc")
    address = builder.call(make, [builder.add(size, WORD(_LINE))])
    number = builder.ptrtoint(address, WORD)
    with builder.if_then(builder.icmp_unsigned("==", number, WORD(0)), likely=False):
        trap = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.trap")
        builder.call(trap, [])
    first = builder.and_(builder.add(number, WORD(_LINE - 1)), WORD(-_LINE))
    parts = Parts()
    parts.data = builder.inttoptr(first, storage.as_pointer())
    packed: ir.Value = ir.Constant(ir.ArrayType(WORD, len(shape)), ir.Undefined)
    for axis, stride in enumerate(strides):
        packed = builder.insert_value(packed, stride, axis)
    parts.strides = packed
    return AllocatedArray(types.Array(dtype, len(shape), "C"), parts, address)


def release(builder: ir.IRBuilder, memory: AllocatedArray) -> None:
    """Give an array's memory back."""
    give_back = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [_ADDRESS]), "free")
    builder.call(give_back, [memory.address])
