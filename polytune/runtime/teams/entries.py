"""The C entries of generated functions: addresses of machine code that takes the address of a context.

A function is translated by ``polytune.runtime.native`` where that can be, and else compiled by Numba.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba.core import types

from polytune.runtime.modules.compilation import compile_for, is_on_disk
from polytune.runtime.native.builtin_functions import builtin_function
from polytune.runtime.native.kinds import NotNativeError
from polytune.runtime.native.translation import address_of, is_at_hand, is_enabled, is_translatable

__all__ = ["Entry", "caller", "entry_of", "has_address", "is_kept", "seconds_of"]


def entry_of(function: Any, words: int, *, optimise: bool = True) -> int:
    """The address of a function's machine code, made now if need be.

    Args:
        function: a function of a generated module.
        words: how many int64 it takes.
        optimise: whether the code is to be fast; else it is made in a quarter of the time, where Numba is not needed.

    Raises:
        CompilationError: Numba cannot compile it.
    """
    try:
        return address_of(function, optimise=optimise)
    except NotNativeError:
        pass
    signature = (types.int64,) * words
    compile_for(function, signature)
    compiled = function.overloads[signature]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


def has_address(function: Any) -> bool:
    """Return whether a function could be translated, now if it was not before; else it is Numba's."""
    try:
        address_of(function)
    except NotNativeError:
        return False
    return True


def seconds_of(function: Any) -> float:
    """Return how many seconds it may take to compile a function, by how long it is."""
    length = len(function.py_func.__code__.co_code)
    any_function, bytes_a_second = _TRANSLATING if is_translatable(function) else _COMPILING
    return any_function + length / bytes_a_second


# What compiling takes: measured over the versions of stencils, products and loops over points on several processors.
_COMPILING = 0.07, 7000.0
"""Seconds of any function, and bytes of Python's bytecode that a second is enough for, by Numba."""
_TRANSLATING = 0.02, 70000.0
"""The same without Numba."""


def is_kept(function: Any) -> bool:
    """Return whether a function's machine code is on disk, as far as names and times of files tell."""
    return is_at_hand(function) or is_on_disk(function)


def caller(address: int, words: int, *, returns: bool = False, is_short: bool = False) -> Callable[..., Any]:
    """A function of Python that calls an entry, and returns the int64 that it returns, if any; other threads run
    meanwhile.  It takes integers of 64 bits.

    Args:
        address: of machine code that follows the C calling convention.
        words: how many int64 it takes.
        returns: whether it returns an int64.
        is_short: whether other threads wait: the call takes less time than to let them run.
    """
    if is_enabled():
        with suppress(NotNativeError):
            return builtin_function(address, words, returns=returns, is_short=is_short)
    result = ctypes.c_int64 if returns else None
    function_type = ctypes.PYFUNCTYPE if is_short else ctypes.CFUNCTYPE
    return function_type(result, *[ctypes.c_int64] * words)(address)


class Entry:
    """A function for compiled code to be called with, made ready when it is first needed.

    Most are not optimised: with an empty cache, the first calls of a kernel wait for such functions, and a call of one
    takes less than a microsecond, but for waiting.

    Args:
        function: what ``numba.njit`` made of a function of integers.
        words: how many int64 it takes.
        returns: whether it returns one.
        is_short: whether other threads wait until it returns.
        optimise: whether it is optimised.

    Attributes:
        call: the function of Python that calls it, for who calls it so often that a step less counts; None until it is
            ready.
    """

    __slots__ = ("_function", "_is_short", "_optimise", "_returns", "_words", "call")

    def __init__(
        self, function: Any, words: int, *, returns: bool = False, is_short: bool = False, optimise: bool = False
    ):
        self._function, self._words, self._returns, self._is_short = function, words, returns, is_short
        self._optimise = optimise
        self.call: Callable[..., Any] | None = None

    def ready(self) -> Callable[..., Any]:
        """The function of Python that calls it.

        Raises:
            CompilationError: Numba cannot compile it.
        """
        if self.call is None:
            address = entry_of(self._function, self._words, optimise=self._optimise)
            self.call = caller(address, self._words, returns=self._returns, is_short=self._is_short)
        return self.call

    def __call__(self, *arguments: int) -> Any:
        return (self.call or self.ready())(*arguments)
