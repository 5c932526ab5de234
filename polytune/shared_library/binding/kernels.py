"""The kernels of a package, as functions of Python: they check calls, and the library beside them runs them."""

from __future__ import annotations

import ctypes
import inspect
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from polytune.errors import ArgumentError, PackageError, SignatureError
from polytune.runtime.calls.arguments import check_overlap, signature_of
from polytune.runtime.teams.local_arrays import local_arrays
from polytune.signature import ArrayType, ScalarType, Signature, accepts, parse_type

__all__ = ["Library", "LibraryKernel"]


class Library:
    """The shared library of a package.

    Args:
        file: the library.
        package: the name with which its functions begin.
    """

    def __init__(self, file: Path, package: str):
        self._package = package
        try:
            self._library = ctypes.CDLL(str(file))
        except OSError as error:
            raise PackageError(
                f"the library {file} cannot be loaded: {error}; build the package again on this system"
            ) from error
        self._message = self._taken("message", ctypes.c_char_p)
        self._level = self._taken("level", ctypes.c_char_p)
        self._set_level = self._taken("set_level", ctypes.c_int, ctypes.c_char_p)
        self._threads = self._taken("threads", ctypes.c_int)
        self._set_threads = self._taken("set_threads", ctypes.c_int, ctypes.c_int)
        if self._level() is None:
            raise PackageError(f"{file} has no code that this processor can run; build the package again for it")

    def _taken(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """A function of the library, with its types."""
        function: Any = getattr(self._library, f"{self._package}_{name}")
        function.restype, function.argtypes = result, arguments
        taken: Callable[..., Any] = function
        return taken

    def __repr__(self) -> str:
        return f"<library {self._package}, {self.level}, {self.threads} threads>"

    @property
    def threads(self) -> int:
        """Return how many threads calls use at most."""
        return int(self._threads())

    def set_threads(self, threads: int) -> int:
        """Have calls use so many threads at most, 0 for as many as there are.  Return the number that holds then."""
        return int(self._set_threads(threads))

    @property
    def level(self) -> str:
        """The level of processors that the code is for which is used."""
        return str(self._level().decode())

    def set_level(self, level: str) -> None:
        """Use the code for a level of processors.

        Raises:
            ArgumentError: the library has no such code, or the processor cannot run it.
        """
        if self._set_level(level.encode()) != 0:
            raise ArgumentError(f"{level}: {self.message()}")

    def message(self) -> str:
        """Return what was wrong in the last call of this thread that has failed."""
        return str(self._message().decode())

    def function(self, name: str) -> Callable[[bytes], int]:
        """The function that runs a kernel with the words of a context."""
        return self._taken(f"run_{name}_", ctypes.c_int, ctypes.c_char_p)


class LibraryKernel:
    """A kernel.

    Args:
        module: what checks calls and prepares them.
        library: what runs them.
        symbol: the kernel's name there.
        text: its documentation.
        defaults: of its arguments, by name.
    """

    def __init__(
        self,
        module: ModuleType,
        library: Library,
        symbol: str,
        *,
        text: str = "",
        defaults: Mapping[str, float] | None = None,
    ):
        given = defaults or {}
        self.__name__ = self.__qualname__ = module.NAME
        self.__module__ = module.__name__.rpartition(".")[0]
        self.__doc__ = text or module.__doc__
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=given.get(name, inspect._empty)
                )
                for name in module.ARGUMENTS
            ]
        )
        self._module, self._library = module, library
        self._run = library.function(symbol)
        self._wanted: Signature = module.SIGNATURE
        self._names: tuple[str, ...] = module.ARGUMENTS
        self._layout = struct.Struct(_format(module))
        self._accepted: set[Signature] = set()
        self._has_extents = any(isinstance(kind, ArrayType) and kind.extents for _, kind in self._wanted.arguments)
        self._array_places = [module.ARGUMENTS.index(name) for name in module.ARRAYS]
        self._more = [k for k, name in enumerate(module.PARAMETERS) if name not in module.ARGUMENTS]
        self._reused = [k for k, name in enumerate(module.SCRATCH) if name not in module.KEPT]
        self._require = getattr(module, "require", None)
        self._verify = getattr(module, "verify", None)
        self._result = getattr(module, "result", None)

    def __repr__(self) -> str:
        return f"<native kernel {self.__name__}({self._wanted})>"

    def __reduce__(self) -> str:
        """Kernels are pickled as functions are: by the name that they have in their module."""
        return str(self.__qualname__)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel.

        Raises:
            ArgumentError: the arguments do not fit; nothing has been written.
        """
        module = self._module
        values = arguments
        if keywords or len(arguments) != len(self._names):
            values = self._bind(arguments, keywords)
        signature = signature_of(self._names, values)
        if signature not in self._accepted or self._has_extents:
            self._accept(signature, values)
        if self._require is not None:
            self._require(*values)
        try:
            parameters = module.parameters(*values)
        except (ArithmeticError, ValueError) as error:
            raise ArgumentError(
                f"{module.NAME}: the integers that are computed from the arguments before all loops cannot be: {error}"
            ) from error
        more = [parameters[k] for k in self._more]
        module.check(*values, *more)
        if module.WRITTEN:
            check_overlap(
                dict(zip(module.ARRAYS, [values[k] for k in self._array_places], strict=True)), module.WRITTEN
            )
        if module.INDEXES:
            module.check_indexes(*values, *more)
        scratch = module.scratch(*values, *more) if module.SCRATCH else ()
        words = self._words(values, scratch, parameters)
        if self._run(words) != 0:
            raise MemoryError(f"{module.NAME}: {self._library.message()}")
        if self._verify is not None:
            self._verify(*scratch)
        returned = None if self._result is None else self._result(*values, *more, *scratch)
        local_arrays.give_back(scratch[k] for k in self._reused)
        return returned

    def _words(self, values: tuple[Any, ...], scratch: tuple[np.ndarray, ...], parameters: tuple[int, ...]) -> bytes:
        try:
            return self._layout.pack(*self._module.words(*values, *scratch), *parameters)
        except struct.error:
            for name, value in zip(self._module.PARAMETERS, parameters, strict=True):
                if not isinstance(value, int | np.integer) or not -(2**63) <= value < 2**63:
                    raise ArgumentError(
                        f"{self.__name__}: {name} is {value}, no integer of 64 bits, as what counts iterations and "
                        "elements must be"
                    ) from None
            raise

    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        try:
            bound = self.__signature__.bind(*arguments, **keywords)
        except TypeError as error:
            raise SignatureError(f"{self.__name__}{self.__signature__}: {error}") from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self._names)

    def _accept(self, signature: Signature, values: tuple[Any, ...]) -> None:
        """See to it that the types of a call are those that the package was built for."""
        given_types = self._wanted.with_known_extents(signature, values)
        for (name, given), (_, wanted) in zip(given_types.arguments, self._wanted.arguments, strict=True):
            if not accepts(wanted, given):
                raise ArgumentError(
                    f"argument {name!r} of {self.__name__} is {given}, but the package was built for {wanted}; "
                    "pass that, or build the package for this type (annotate the kernel's argument)"
                )
        self._accepted.add(signature)


def _format(module: ModuleType) -> str:
    """The words of a call as ``struct`` describes them."""
    words = 0
    for kind in map(parse_type, module.MEMORY):
        assert isinstance(kind, ArrayType)
        words += 1 + kind.ndim - (kind.layout in ("C", "F"))
    formats = {"b": "q", "i": "q", "u": "Q", "f": "d"}
    scalars = [module.SIGNATURE[name] for name in module.SCALARS]
    assert all(isinstance(kind, ScalarType) for kind in scalars)
    texts = "".join(formats[np.dtype(kind.dtype).kind] for kind in scalars)
    return f"={words}q{texts}{len(module.PARAMETERS)}q"
