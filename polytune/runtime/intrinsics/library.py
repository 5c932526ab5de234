"""Calls of NumPy's functions on whole arrays from compiled code: linear algebra, sorting, random numbers.

Compiled code passes addresses, extents and strides of the arrays to one function of Python's, which makes arrays of
them, calls NumPy and copies what that gives to where it is wanted.  So results are NumPy's own.  An exception that
NumPy raises is kept until the kernel has ended, and raised then.

In memory a call is a row of words of 64 bits: where failure is reported, then the results, then the arguments, each as
the address of its first element, the number of its element type, how many dimensions it has, their extents, and their
strides in bytes.

Products of matrices go to the library that NumPy has for them, into memory that is there.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from polytune.draws import MAKING, draw_of
from polytune.records import dataclass
from polytune.runtime.background.priority import background_priority
from polytune.runtime.draws.calls import draw, emit_draw
from polytune.runtime.draws.states import generator_at, made_generator
from polytune.runtime.intrinsics.eigenvalues import eig, eigvals
from polytune.runtime.intrinsics.library_threads import library_threads
from polytune.runtime.intrinsics.memory import View, element_address
from polytune.runtime.small_calls.calls import small_call
from polytune.runtime.teams.team import FAILED, LIBRARY_CALLS
from polytune.signature import DATA_TYPES

__all__ = ["call_library", "has_failed", "library_error", "memory_of"]


def matrix_product(left: np.ndarray, right: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    """Compute ``left @ right`` into an array that has no memory in common with them.

    The library takes matrices whose rows or columns are contiguous; others are copied first, as NumPy itself does for
    some functions and not for all.  As in compiled code no warnings are given of numbers that are infinite or none.

    Args:
        left, right: two matrices of one type.
        out: a matrix of that type, which is returned.
    """
    if 0 in (*left.shape, *right.shape):
        out[...] = 0
        return out
    with np.errstate(all="ignore"):
        if not _is_contiguous_along_one(out):
            out[...] = np.matmul(_for_library(left), _for_library(right))
            return out
        return np.matmul(_for_library(left), _for_library(right), out=out)


def _for_library(matrix: np.ndarray) -> np.ndarray:
    return matrix if _is_contiguous_along_one(matrix) else np.ascontiguousarray(matrix)


def _is_contiguous_along_one(matrix: np.ndarray) -> bool:
    """Return whether rows or columns are contiguous, and do not overlap."""
    size = matrix.itemsize
    (rows, columns), (down, along) = matrix.shape, matrix.strides
    return (along == size and down >= columns * size) or (down == size and along >= rows * size)


_RAISED = -1
"""The report of a call for which NumPy has raised an exception."""

_SHOWING = "show "
"""The first letters of the text of a call that prints, before that of a function which does."""

_SYMBOL = "polytune_call_library"
_WORD = ir.IntType(64)
_OWN: dict[str, Callable[..., Any]] = {
    "numpy.matmul": matrix_product,
    "numpy.linalg.eig": eig,
    "numpy.linalg.eigvals": eigvals,
    MAKING: made_generator,
}
"""The functions in place of some of NumPy's."""

_LINEAR_ALGEBRA = "numpy.linalg."
"""The beginning of the names of functions whose threads wait for each other again and again."""

_HAVE_THREADS = ("numpy.matmul", _LINEAR_ALGEBRA)
"""The beginnings of the names of functions that are computed by a library with threads of its own."""

_failures: dict[int, BaseException] = {}
"""The exceptions that NumPy has raised, by the address where they are reported."""


def library_error(report: np.ndarray) -> BaseException:
    """The exception that a call of the library has raised, by the array where that was reported.

    Args:
        report: int64, one element; in memory where the call was told to report its failure.
    """
    return _failures.pop(report.__array_interface__["data"][0])


class _ArrayInterface:
    """Some memory as an array, for ``np.asarray``."""

    __slots__ = ("__array_interface__",)

    def __init__(self, interface: dict[str, Any]):
        self.__array_interface__ = interface


_TYPE_TEXTS = tuple(np.dtype(name).str for name in DATA_TYPES)


def _array(words: list[int], at: int) -> tuple[np.ndarray, int]:
    """The array that words describe from one on, and where the next one is described."""
    ndim = words[at + 2]
    end = at + 3 + 2 * ndim
    shape = tuple(words[at + 3 : at + 3 + ndim])
    if 0 in shape:
        return np.empty(shape, DATA_TYPES[words[at + 1]]), end
    interface = {
        "data": (words[at], False),
        "typestr": _TYPE_TEXTS[words[at + 1]],
        "shape": shape,
        "strides": tuple(words[at + 3 + ndim : end]),
        "version": 3,
    }
    return np.asarray(_ArrayInterface(interface)), end


def run(text: str, results: list[np.ndarray], arguments: list[np.ndarray]) -> None:
    """Call a function of the library, and write what it gives into arrays.

    Args:
        text: the name of the function, and how it is called, with blanks between: ``*`` for all arguments by position,
            ``name=@0`` for the first one by its name, ``name=shape`` for the shape of the first result, ``name=length``
            for its first extent, and ``name=value`` for a constant: ``numpy.sort * axis=0``.  ``results=(0,2)`` says
            which parts of a tuple are results, and ``counted`` that the last result is how many elements the call
            gives, of which the others have at least as many.  ``out=result`` has the function write into the result.
            ``all_threads`` leaves the library all of its threads beside what is compiled, as the last digits depend on
            their number.  Or the text of a function, ``def f(...)``, that changes its first arguments, which are the
            results; that of a draw, see ``polytune.runtime.draws.calls``;
            or ``show`` and the text of a function that prints its arguments.
        results: where what it gives is written.
        arguments: the arrays that it is given.
    """
    if draw_of(text) is not None:
        draw(text, results[0], arguments)
    elif text.startswith(_SHOWING):
        # The last argument keeps calls in order; numbers are printed as Python's.
        _defined(text.removeprefix(_SHOWING))(*(each if each.ndim else each[()] for each in arguments[:-1]))
    elif text.startswith("def "):
        _run_in_place(text, results, arguments)
    else:
        _run_named(text, results, arguments)


def _run_named(text: str, results: list[np.ndarray], arguments: list[np.ndarray]) -> None:
    """Call a function that a text names, as ``run`` says it."""
    read = _read(text)
    keywords = dict(read.constants)
    for name, place in read.places:
        value = arguments[place]
        keywords[name] = value if value.ndim or read.takes_arrays else value.item()
    for name in read.shapes:
        keywords[name] = results[0].shape
    for name in read.lengths:
        keywords[name] = len(results[0])
    if read.writes:
        keywords["out"] = results[0]
    function = read.function
    if read.method:  # of the generator whose address comes after the other arguments, before what keeps calls in order
        function = getattr(generator_at(arguments[-2].item()), read.method)
    positional = arguments if read.all_by_position else ()
    if read.leaves_cores:
        with library_threads.off_busy_cores():
            found = function(*positional, **keywords)
    else:
        found = function(*positional, **keywords)
    if found is None:  # it has changed its argument
        found = arguments[0]
    values = found if isinstance(found, tuple) else (found,)
    if read.chosen:
        values = tuple(values[place] for place in read.chosen)
    if read.is_counted:
        *results, count = results
        count[...] = len(values[0])
        for target, value in zip(results, values, strict=True):
            if len(value) > len(target):
                raise ValueError(f"{text.partition(' ')[0]} gives {len(value)} elements, more than {len(target)}")
            target[: len(value)] = value
        return
    for target, value in zip(results, values, strict=False):
        if value is not target:
            target[...] = value


def _run_in_place(text: str, results: list[np.ndarray], arguments: list[np.ndarray]) -> None:
    """Call a function, given by its text, that changes its first arguments, as many as there are results.

    Args:
        text: its definition.
        results: the arrays that it changes.
        arguments: what these have before, which may lie where the results do, and what else it is given, which it
            cannot change.
    """
    for target, value in zip(results, arguments, strict=False):
        if not np.may_share_memory(target, value):
            target[...] = value
    others = arguments[len(results) :]
    for array in others:
        array.flags.writeable = False
    with np.errstate(all="ignore"):
        _defined(text)(*results, *others)


@functools.cache
def _defined(text: str) -> Callable[..., Any]:
    """The function that a text defines."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "<loop that NumPy runs>", "exec"), namespace)
    found: Callable[..., Any] = namespace[text[len("def ") : text.index("(")]]
    return found


@dataclass(frozen=True)
class _Call:
    """A call as a text says it: the function, or the method of a generator, whether it takes numbers as arrays,
    whether it takes all arrays by position, what it takes by name, which parts of what it gives are results, whether
    these are counted, whether it writes into the first one itself, and whether it leaves cores to what compiles."""

    function: Callable[..., Any]
    method: str
    takes_arrays: bool
    all_by_position: bool
    constants: tuple[tuple[str, Any], ...]
    places: tuple[tuple[str, int], ...]
    shapes: tuple[str, ...]
    lengths: tuple[str, ...]
    chosen: tuple[int, ...]
    is_counted: bool
    writes: bool
    leaves_cores: bool


@functools.cache
def _read(text: str) -> _Call:
    """The call that a text says."""
    name, *options = text.split(" ")
    if name.startswith(_HAVE_THREADS):
        background_priority.stand_farther()
    owner, *path = name.split(".")
    function: Any = _OWN.get(name)
    if function is None and owner != "generator":
        function = functools.reduce(getattr, path, {"numpy": np, "python": random}[owner])
    constants, places, shapes, lengths = [], [], [], []
    chosen: tuple[int, ...] = ()
    for option in options:
        key, _, value = option.partition("=")
        if key == "results":
            chosen = ast.literal_eval(value)
        elif value == "shape":
            shapes.append(key)
        elif value == "length":
            lengths.append(key)
        elif value.startswith("@"):
            places.append((key, int(value[1:])))
        elif value.startswith("float("):
            constants.append((key, float(value[7:-2])))
        elif key not in ("*", "counted", "out", "all_threads"):
            constants.append((key, ast.literal_eval(value)))
    return _Call(
        function,
        path[-1] if owner == "generator" else "",
        owner != "python",
        "*" in options,
        tuple(constants),
        tuple(places),
        tuple(shapes),
        tuple(lengths),
        chosen,
        "counted" in options,
        "out=result" in options,
        name.startswith(_LINEAR_ALGEBRA) and "all_threads" not in options,
    )


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
def _call(text: bytes, results: int, length: int, address: int) -> int:
    """Make a call.  Return whether NumPy has raised an exception."""
    report = 0
    try:
        words = list(_words(length).from_address(address))
        report = words[0]
        failed, at = _array(words, 0)
        arrays: list[np.ndarray] = []
        kind = 0
        while at < length:
            if len(arrays) == results:
                kind = words[at + 1]
            array, at = _array(words, at)
            arrays.append(array)
        said = text.decode()
        small = small_call(said)
        if small is not None and small.attempt(kind, address, arrays[:results], arrays[results:]):
            return 0
        run(said, arrays[:results], arrays[results:])
    except BaseException as error:
        _failures[report] = error
        failed[...] = _RAISED
        return 1
    return 0


@functools.cache
def _words(length: int) -> Any:
    """The type of a row of words."""
    return ctypes.c_int64 * length


_address = ctypes.cast(_call, ctypes.c_void_p).value
assert _address is not None
binding.add_symbol(_SYMBOL, _address)


@intrinsic
def memory_of(typing_context, view, first, steps, extents):
    """The words that describe a part of an array.

    Args:
        view: a view of the array.
        first: the subscripts of the part's first element, a tuple.
        steps: for each dimension of the part the subscripts of the element after the first one along it.
        extents: how many elements the part has along each dimension.
    """
    if not isinstance(view, View):
        raise TypingError(f"memory_of() takes a view, not {view}")
    ndim = len(extents)

    def emit(context, builder, sig, args):
        def address(kind: types.Type, index: ir.Value) -> ir.Value:
            return builder.ptrtoint(element_address(context, builder, view, kind, args[0], index, inside=False), _WORD)

        start = address(first, args[1])
        words = [
            start,
            _WORD(DATA_TYPES.index("bool" if view.dtype is types.boolean else view.dtype.name)),
            _WORD(ndim),
        ]
        words += [
            context.cast(builder, builder.extract_value(args[3], place), extents[place], types.int64)
            for place in range(ndim)
        ]
        words += [
            builder.sub(address(steps[place], builder.extract_value(args[2], place)), start) for place in range(ndim)
        ]
        return cgutils.pack_array(builder, words)

    return types.UniTuple(types.int64, 3 + 2 * ndim)(view, first, steps, extents), emit


def _word_of_state(builder: ir.IRBuilder, context_address: ir.Value, place: int) -> ir.Value:
    """The address of a word of the team's state, with which a context begins."""
    words = builder.inttoptr(context_address, _WORD.as_pointer())
    return builder.gep(words, [_WORD(place)], inbounds=True, source_etype=_WORD)


@intrinsic
def has_failed(typing_context, context_address):
    """Return whether a call of the library has failed, as all workers see when the work is complete that the call was
    part of.

    That is in the context, which workers that come late have as long as they need it, and not where failure is
    reported, which is gone when the kernel has ended.
    """

    def emit(context, builder, sig, args):
        failed = builder.load(_word_of_state(builder, args[0], FAILED), align=8, typ=_WORD)
        return builder.icmp_unsigned("!=", failed, _WORD(0))

    return types.boolean(types.int64), emit


@intrinsic(prefer_literal=True)
def call_library(typing_context, context_address, text, results, memory):
    """Call a function of NumPy's.

    Args:
        context_address: int64.
        text: literal string; its name and further arguments, see ``run``.
        results: literal; how many of the arrays are results.
        memory: what ``memory_of`` gives of the number that reports failure, of the results, and of the arguments.
    """
    if not (isinstance(text, types.StringLiteral) and isinstance(results, types.IntegerLiteral)):
        raise TypingError("call_library() takes the function's name and the number of results as literals")

    def emit(context, builder, sig, args):
        described = [
            [builder.extract_value(builder.extract_value(args[3], place), position) for position in range(len(kind))]
            for place, kind in enumerate(memory)
        ]
        drawn = draw_of(text.literal_value)
        if drawn is None:
            call(context, builder, args[0], described)
            return context.get_dummy_value()
        addresses = [each[0] for each in described[1:]]
        given = addresses[results.literal_value :][: len(drawn.parameters)]
        is_drawn = emit_draw(builder, text.literal_value, drawn, addresses[0], given)
        with builder.if_then(builder.not_(is_drawn), likely=False):
            call(context, builder, args[0], described)
        return context.get_dummy_value()

    def call(context, builder, context_address, described):
        """Write the call of Python, or of a form for small arrays."""
        words = [word for each in described for word in each]
        row = cgutils.alloca_once(builder, _WORD, size=_WORD(len(words)))
        for position, word in enumerate(words):
            builder.store(word, builder.gep(row, [_WORD(position)], inbounds=True, source_etype=_WORD))
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(_WORD, [pointer, _WORD, _WORD, pointer])
        function = cgutils.get_or_insert_function(builder.module, kind, _SYMBOL)
        characters = cgutils.make_bytearray(text.literal_value.encode() + b"\0")
        name = cgutils.global_constant(builder, "called", characters)
        numbers = [_WORD(results.literal_value), _WORD(len(words))]
        small = small_call(text.literal_value)
        is_open = ir.Constant(ir.IntType(1), True)
        if small is not None:
            first = sum(len(kind) for kind in memory[: 1 + results.literal_value])
            is_open = builder.not_(small.emit(builder, words[first + 1], row))
        with builder.if_then(is_open):
            calls = _word_of_state(builder, context_address, LIBRARY_CALLS)
            builder.atomic_rmw("add", calls, _WORD(1), "monotonic")
            raised = builder.call(function, [builder.bitcast(name, pointer), *numbers, builder.bitcast(row, pointer)])
            with builder.if_then(builder.icmp_unsigned("!=", raised, _WORD(0)), likely=False):
                builder.store(_WORD(1), _word_of_state(builder, context_address, FAILED), align=8)
            builder.atomic_rmw("add", calls, _WORD(-1), "monotonic")

    return types.void(context_address, text, results, memory), emit
