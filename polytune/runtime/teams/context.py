"""The context of a call: one block of words that holds all that a version needs, and calls by address that take it.

A version of a kernel is compiled for the address of a context (and, where a team runs it, a worker's number and how
many there are), so that it has no wrappers for its arguments' types, and that helpers, compiled once, can work for any
version of any kernel.

Layout, in words of 64 bits: first the team's state (``polytune.runtime.teams.team``), then one after the other

- per array its address, then its strides in bytes, but for an axis that the array's type says to be contiguous;
- per scalar its value: an integer as it is, a float as the bits of a float64;
- integers: parameters, then tile sizes, then how many tiles outer tiles have along each member.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.runtime.intrinsics.memory import View
from polytune.runtime.teams.team import STATE_LENGTH
from polytune.signature import DATA_TYPES, ArrayType, parse_type

__all__ = ["STATE_LENGTH", "array_words", "attach", "call_version", "integer", "number"]

_WORD = ir.IntType(64)
_NUMBERS = {dtype: types.boolean if dtype == "bool" else getattr(types, dtype) for dtype in DATA_TYPES} | {
    "float16": types.float32
}
"""Types of numbers; Numba has no float16 on processors."""
_ELEMENTS = _NUMBERS | {"float16": types.uint16}
"""Types of elements: of a float16 the bits, for ``polytune.runtime.intrinsics.half_precision``."""


def array_words(kind: ArrayType) -> int:
    """Return how many words an array takes: its address and its dynamic strides."""
    return 1 + kind.ndim - (kind.layout in ("C", "F"))


def _load(builder: ir.IRBuilder, address: ir.Value, position: ir.Value | int) -> ir.Value:
    words = builder.inttoptr(address, _WORD.as_pointer())
    index = _WORD(position) if isinstance(position, int) else position
    return builder.load(builder.gep(words, [index], inbounds=True, source_etype=_WORD), align=8, typ=_WORD)


@intrinsic(prefer_literal=True)
def attach(typing_context, context_address, position, kind, name, names, order=None):
    """A view of an array that a context describes.

    Args:
        context_address: int64.
        position: literal; the array's first word.
        kind: literal string; its type as ``polytune.signature`` writes it, ``float64[:, ::1]``.
        name, names, order: as for ``polytune.runtime.intrinsics.memory.view``.
    """
    literals = (position, kind, name, names)
    if not all(isinstance(literal, types.Literal) for literal in literals):
        raise TypingError("attach() takes literals after the context's address")
    array = parse_type(kind.literal_value)
    if not isinstance(array, ArrayType):
        raise TypingError(f"attach(): {kind.literal_value!r} is no array")
    scopes = tuple(names.literal_value.split())
    # Arrays that are not aligned are allowed for: an access costs the same on today's processors.
    dtype = _ELEMENTS[array.dtype]
    view_type = View(
        dtype, array.ndim, array.layout, True, False, name.literal_value, scopes, in_order=order is not None
    )

    def emit(context, builder, sig, args):
        first = position.literal_value
        result = context.make_helper(builder, view_type)
        element = context.get_data_type(view_type.dtype)
        result.data = builder.inttoptr(_load(builder, args[0], first), element.as_pointer())
        size = context.get_abi_sizeof(element)
        for offset, axis in enumerate(view_type.dynamic_axes):
            elements = array.known_step(axis)
            word = _load(builder, args[0], first + 1 + offset) if elements is None else _WORD(elements * size)
            setattr(result, f"stride_{axis}", word)
        return result._getvalue()

    return view_type(context_address, *literals, order or types.Omitted(None)), emit


@intrinsic
def integer(typing_context, context_address, position):
    """The int64 in a word of a context."""
    return types.int64(context_address, position), lambda context, builder, sig, args: _load(builder, *args)


@intrinsic(prefer_literal=True)
def number(typing_context, context_address, position, dtype):
    """The scalar in a word of a context, of the type that the literal string names.

    Args:
        context_address: int64.
        position: in which word of the context it is, an integer; words have eight bytes.
        dtype: literal, one of NumPy's names of scalar types: integers and floats of up to 64 bits, or ``bool``.
    """
    if not isinstance(dtype, types.StringLiteral):
        raise TypingError("number() takes its type as a literal string")
    wanted = _NUMBERS[dtype.literal_value]

    def emit(context, builder, sig, args):
        position = context.cast(builder, args[1], sig.args[1], types.int64)
        word = _load(builder, args[0], position)
        if not isinstance(wanted, types.Float):
            return context.cast(builder, word, types.int64, wanted)
        return context.cast(builder, builder.bitcast(word, ir.DoubleType()), types.float64, wanted)

    return wanted(context_address, position, dtype), emit


@intrinsic
def call_version(typing_context, function_address, context_address, worker, workers):
    """Call a compiled version that teams run by the address of its C entry.

    Args:
        function_address: int64, of the C entry.
        context_address: int64, of a context that is filled in.
        worker: int64, the number of the worker that calls, from 0 to ``workers - 1``.
        workers: int64, how many the team has.
    """

    def emit(context, builder, sig, args):
        function_type = ir.FunctionType(ir.VoidType(), [_WORD] * 3)
        builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), emit
