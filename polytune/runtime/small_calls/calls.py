"""The functions of NumPy that have forms for small arrays, and the calls of these."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils

from polytune.errors import CompilationError
from polytune.runtime.small_calls.matrices import SMALL_MATRIX, determining, factoring, inverting, solving
from polytune.runtime.small_calls.sorting import FEW, SMALL_ROW, interpolating, ordering, searching, sorting
from polytune.runtime.teams.entries import caller, entry_of
from polytune.signature import DATA_TYPES

__all__ = ["SmallCall", "small_call"]

_WORD = ir.IntType(64)

_INEXACT = ("float32", "float64", "complex64", "complex128")
_ORDERED = ("int32", "int64", "float32", "float64")


class SmallCall:
    """A function of the library that has forms in compiled code.

    Args:
        number: which of all it is.
        make: makes the function that Numba compiles, of the zero of a type and the type.
        dtypes: the types of elements that there are forms for.
        limit: the largest extents of arrays that are small: of the arguments, or of the results.
        of_results: whether it is the results.
    """

    def __init__(
        self,
        number: int,
        make: Callable[[Any, Any], Any],
        dtypes: Sequence[str],
        limit: int,
        *,
        of_results: bool = False,
    ):
        self.symbol = f"polytune_small_call_{number}"
        self._make, self._dtypes, self._limit, self._of_results = make, dtypes, limit, of_results
        self._table = np.zeros(len(DATA_TYPES), np.int64)
        self._forms: dict[int, Any] = {}
        self._making = threading.Lock()
        binding.add_symbol(self.symbol, self._table.ctypes.data)

    def attempt(self, kind: int, row: int, results: Sequence[np.ndarray], arguments: Sequence[np.ndarray]) -> bool:
        """Have a form made where there is none yet, and make a call by it.  Return whether it has written the results.

        Compiled code calls this where there was no form, or where the form has given up; another worker may have made
        it since, so that it is called here in both cases.

        Args:
            kind: the number of the type of elements.
            row: the address of the words that describe the call.
            results: the arrays that are described there, where what is computed is written.
            arguments: those that it is computed of.
        """
        dtype = DATA_TYPES[kind]
        if dtype not in self._dtypes:
            return False
        sized = results if self._of_results else arguments
        if any(extent > self._limit for array in sized for extent in array.shape):
            return False
        with self._making:
            if kind not in self._forms:
                self._forms[kind] = self._make(np.dtype(dtype).type(0), np.dtype(dtype))
                with suppress(CompilationError):
                    self._table[kind] = entry_of(self._forms[kind], 1)
        address = int(self._table[kind])
        return address != 0 and bool(caller(address, 1, returns=True)(row))

    def emit(self, builder: ir.IRBuilder, kind: ir.Value, row: ir.Value) -> ir.Value:
        """Write a call of the form for a type of elements, where there is one.  Return whether it has written the
        results.

        Args:
            builder: writes it.
            kind: the number of the type of elements.
            row: the address of the words that describe the call.
        """
        table = builder.module.globals.get(self.symbol) or ir.GlobalVariable(builder.module, _WORD, self.symbol)
        done = cgutils.alloca_once_value(builder, _WORD(0))
        address = builder.load(builder.gep(table, [kind], source_etype=_WORD), align=8, typ=_WORD)
        with builder.if_then(builder.icmp_unsigned("!=", address, _WORD(0))):
            function = builder.inttoptr(address, ir.FunctionType(_WORD, [_WORD]).as_pointer())
            builder.store(builder.call(function, [builder.ptrtoint(row, _WORD)]), done)
        return builder.icmp_unsigned("!=", builder.load(done, typ=_WORD), _WORD(0))


_CALLS = {
    "numpy.linalg.solve *": SmallCall(0, solving, _INEXACT, SMALL_MATRIX),
    "numpy.linalg.inv *": SmallCall(1, inverting, _INEXACT, SMALL_MATRIX),
    "numpy.linalg.det *": SmallCall(2, determining, _INEXACT, SMALL_MATRIX),
    "numpy.linalg.cholesky *": SmallCall(3, factoring, _INEXACT, SMALL_MATRIX),
    "numpy.sort": SmallCall(4, sorting, _ORDERED, SMALL_ROW),
    "numpy.argsort": SmallCall(5, ordering, _ORDERED, SMALL_ROW),
    "numpy.searchsorted * side='left'": SmallCall(
        6, functools.partial(searching, after_equal=False), _ORDERED, FEW, of_results=True
    ),
    "numpy.searchsorted * side='right'": SmallCall(
        7, functools.partial(searching, after_equal=True), _ORDERED, FEW, of_results=True
    ),
    "numpy.interp *": SmallCall(8, interpolating, ("float64",), FEW, of_results=True),
}
"""The functions that have forms, by what ``polytune.runtime.intrinsics.library.run`` is told; those that sort by their
names alone, as a row is sorted along its one axis, and in one way."""


def small_call(text: str) -> SmallCall | None:
    """The forms of a function in compiled code; None where it has none.

    Args:
        text: the function's name and its further arguments, see ``polytune.runtime.intrinsics.library.run``.
    """
    return _CALLS.get(text.removesuffix(" all_threads")) or _CALLS.get(text.partition(" ")[0])
