"""Builtin functions of Python that call machine code: the interpreter enters them in some hundredths of a microsecond,
where ``ctypes`` takes a quarter of one, which is as long as much of what is called so.

CPython describes such a function by a ``PyMethodDef`` and calls it with the addresses of its arguments
(``METH_FASTCALL``).  All that is used of CPython is part of its limited API, whose binary interface stays the same.
The code of a builtin function reads its arguments as int64, calls the machine code whose address is its ``self``, other
threads running meanwhile where that is not short, and makes an ``int`` of what that returns.
"""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from llvmlite import binding, ir
from numba.core import cgutils

from polytune.runtime.modules.compilation import code_folder
from polytune.runtime.native.kinds import WORD, NotNativeError
from polytune.runtime.native.machine_code import load_all, object_code
from polytune.runtime.native.translation import kept_or_made

__all__ = ["builtin_function"]

_FAST = 0x0080
"""The flag ``METH_FASTCALL``: arguments come as an array of addresses, and their number."""

_OF_PYTHON = (
    "PyErr_BadArgument",
    "PyErr_Occurred",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyLong_AsLongLong",
    "PyLong_FromLongLong",
)


class _MethodDefinition(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


def builtin_function(address: int, words: int, *, returns: bool, is_short: bool) -> Callable[..., int]:
    """Make a builtin function that calls machine code; it returns 0 where that returns nothing.

    Args:
        address: of machine code that follows the C calling convention.
        words: how many int64 it takes, from 1 to 4.
        returns: whether it returns an int64.
        is_short: whether other threads wait: the call takes less time than to let them run.

    Raises:
        NotNativeError: this is not CPython, or its functions cannot be called.
    """
    make = _maker()
    definition = _definitions()[words, returns, is_short]
    made: Callable[..., int] = make(ctypes.byref(definition), address, None)
    return made


@cache
def _maker() -> Any:
    """CPython's function that makes builtin functions; what compiled code calls is known to LLVM from then on."""
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32:
        raise NotNativeError("only CPython of 64 bits has such builtin functions")
    for name in _OF_PYTHON:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        if address is None:
            raise NotNativeError(f"{name} cannot be called")
        binding.add_symbol(_symbol(name), address)
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi))


def _symbol(name: str) -> str:
    """Return what compiled code calls a function of CPython."""
    return f"polytune_{name}"


_MOST_WORDS = 4
"""The most int64 that such functions take."""

_Kind = tuple[int, bool, bool]
"""The number of int64 that a function takes, whether it returns one, and whether other threads wait."""


@cache
def _definitions() -> dict[_Kind, _MethodDefinition]:
    """The descriptions of builtin functions of all kinds, which stay as long as the process: CPython reads them when
    such a function comes to its end, too.  To make the code of all takes hardly longer than that of one."""
    kinds = [*itertools.product(range(1, _MOST_WORDS + 1), (False, True), (False, True))]
    code = kept_or_made(code_folder(__file__), __file__, "builtin_functions", lambda: _code(kinds))
    found: dict[_Kind, _MethodDefinition] = {}
    for address, kind in zip(load_all(code, [_name(*kind) for kind in kinds]), kinds, strict=True):
        definition = found[kind] = _MethodDefinition(b"compiled", address, _FAST, None)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return found


def _code(kinds: Sequence[_Kind]) -> bytes:
    """The object code of builtin functions of some kinds."""
    module = ir.Module(name="polytune_builtin_functions")
    for kind in kinds:
        _write(module, *kind)
    return object_code(module, (), optimise=False)


def _name(words: int, returns: bool, is_short: bool) -> str:
    """Return what the code of builtin functions of a kind is called."""
    return f"polytune_call_{words}{'_returns' * returns}{'_short' * is_short}"


def _write(module: ir.Module, words: int, returns: bool, is_short: bool) -> None:
    """Write the code of builtin functions of a kind; addresses of Python's objects are int64 in it."""
    function = ir.Function(module, ir.FunctionType(WORD, [WORD] * 3), _name(words, returns, is_short))
    itself, arguments, count = function.args
    builder = ir.IRBuilder(function.append_basic_block("begin"))
    failed = function.append_basic_block("failed")

    def of_python(name: str, *values: ir.Value) -> ir.Value:
        kind = ir.FunctionType(WORD, [WORD] * len(values))
        return builder.call(cgutils.get_or_insert_function(module, kind, _symbol(name)), values)

    def fail_if(condition: ir.Value) -> None:
        go_on = function.append_basic_block("go_on")
        builder.cbranch(condition, failed, go_on)
        builder.position_at_end(go_on)

    wrong = function.append_basic_block("wrong_count")
    right = function.append_basic_block("right_count")
    builder.cbranch(builder.icmp_signed("==", count, WORD(words)), right, wrong)
    builder.position_at_end(wrong)
    of_python("PyErr_BadArgument")
    builder.branch(failed)

    builder.position_at_end(right)
    given = builder.inttoptr(arguments, WORD.as_pointer())
    objects = [itself]
    for place in range(words):
        objects.append(builder.load(builder.gep(given, [WORD(place)], source_etype=WORD), typ=WORD))
    numbers = [of_python("PyLong_AsLongLong", each) for each in objects]
    may_have_failed = ir.IntType(1)(0)
    for number in numbers:
        may_have_failed = builder.or_(may_have_failed, builder.icmp_signed("==", number, WORD(-1)))
    look, convert = (function.append_basic_block(name) for name in ("look", "call"))
    builder.cbranch(may_have_failed, look, convert)
    builder.position_at_end(look)
    fail_if(builder.icmp_signed("!=", of_python("PyErr_Occurred"), WORD(0)))
    builder.branch(convert)

    builder.position_at_end(convert)
    address, *values = numbers
    kind = ir.FunctionType(WORD if returns else ir.VoidType(), [WORD] * words)
    thread = None if is_short else of_python("PyEval_SaveThread")
    found = builder.call(builder.inttoptr(address, kind.as_pointer()), values)
    if thread is not None:
        of_python("PyEval_RestoreThread", thread)
    builder.ret(of_python("PyLong_FromLongLong", found if returns else WORD(0)))

    builder.position_at_end(failed)
    builder.ret(WORD(0))
