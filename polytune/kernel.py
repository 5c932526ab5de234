"""``@kernel``: the one place that joins compile time to run time."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, overload

import numpy as np

from polytune.errors import ArgumentError, MissingLibraryError, PolytuneError, UnsupportedSourceError
from polytune.runtime.arguments import usable_signature
from polytune.runtime.cache import ModuleCache
from polytune.runtime.cache_key import key_of
from polytune.runtime.calls import CallableKernel
from polytune.runtime.collector import collector_paused
from polytune.runtime.devices.discovery import devices
from polytune.runtime.generated import GeneratedKernel
from polytune.runtime.machine import vector_registers
from polytune.runtime.rules import Thresholds
from polytune.signature import Signature
from polytune.tuner import Budget

__all__ = ["Kernel", "kernel"]


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *,
    strict: bool = False,
    budget: Budget | int | str | None = None,
    thresholds: Thresholds | None = None,
    background: bool = True,
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool = False,
    budget: Budget | int | str | None = None,
    thresholds: Thresholds | None = None,
    background: bool = True,
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Compile a plain loop nest over NumPy arrays when it is called, in parallel, and tune it from call to call.

    Args:
        function: a function of arrays and numbers, in the language of ``docs/language.md``.
        strict: keep the source order of every sum, so that results are those of the interpreted function bit for bit.
            Without it sums may be reassociated, as NumPy and BLAS do.
        budget: how much tuning may cost: a number of calls, a time such as ``"2 s"``, by how much all calls may be
            slower than with the best configuration known, such as ``"5 %"``, or a ``polytune.tuner.Budget``.
        thresholds: how much a call has to compute for a device to be tried; measured on the machine where they are not
            given.
        background: whether versions that are to be tried are compiled by another process, while calls go on with the
            best that there is.  With False a call that tries a version waits for it.

    Raises:
        PolytuneError: what is decorated is no plain function.
        SpaceError: the budget cannot be read.

    >>> import numpy, polytune
    >>> @polytune.kernel
    ... def scale(factor, x):
    ...     for i in range(x.shape[0]):
    ...         x[i] = factor * x[i]
    >>> x = numpy.arange(3.0)
    >>> scale(2.0, x)
    >>> x
    array([0., 2., 4.])
    """
    if function is None:
        return functools.partial(Kernel, strict=strict, budget=budget, thresholds=thresholds, background=background)
    return Kernel(function, strict=strict, budget=budget, thresholds=thresholds, background=background)


class Kernel(CallableKernel):
    """A function that runs compiled; ``kernel`` makes it.

    Attributes:
        __wrapped__: the function itself.
        is_strict: whether sums keep their source order.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        strict: bool = False,
        budget: Budget | int | str | None = None,
        thresholds: Thresholds | None = None,
        background: bool = True,
    ):
        if not isinstance(function, FunctionType):
            raise PolytuneError(f"@polytune.kernel takes a plain Python function, not {type(function).__name__}")
        self.__wrapped__ = function
        self.is_strict = strict
        functools.update_wrapper(self, function)
        super().__init__(
            function.__name__,
            inspect.signature(function),
            self._provide,
            budget=budget,
            thresholds=thresholds,
            background=background,
        )

    def __repr__(self) -> str:
        return f"<polytune kernel {self.__wrapped__.__qualname__}{' (strict)' if self.is_strict else ''}>"

    @functools.cached_property
    def strict(self) -> Kernel:
        """The same kernel, with every sum in source order."""
        if self.is_strict:
            return self
        return Kernel(
            self.__wrapped__,
            strict=True,
            budget=self._budget,
            thresholds=self.thresholds,
            background=self.background,
        )

    def stages(self, signature: Signature | None = None) -> Any:
        """The compiler's stages for argument types (inferred from the source where not given), see
        ``polytune.pipeline``.

        Raises:
            MissingLibraryError: the libraries of the compiler are not installed.
        """
        try:
            from polytune.codegen.target import Target
            from polytune.frontend import infer_signature
            from polytune.pipeline import Stages
        except ModuleNotFoundError as error:
            if error.name not in ("islpy", "sympy"):
                raise
            raise MissingLibraryError(
                f"compiling {self.__name__} needs {error.name}, which is not installed: pip install polytune "
                "with its dependencies, or import a package that polytune build has written where they are"
            ) from error

        types = signature or infer_signature(self.__wrapped__)
        return Stages(self.__wrapped__, types, self.is_strict, target=Target(*vector_registers()))

    def explain(self) -> str:
        """What was found parallel and why not more, and what the tuners have learned, for all types called so far."""
        from polytune.explanation import explain

        return explain(self)

    def example_arguments(
        self, sizes: Mapping[str, int], rng: np.random.Generator, signature: Signature | None = None
    ) -> tuple[Any, ...]:
        """Random arguments with the least shapes that the kernel's accesses allow for given parameter values.

        Raises:
            PolytuneError: a parameter is not given, or the accesses do not bound a shape.
        """
        from polytune.examples import example_arguments

        return example_arguments(self.stages(signature), sizes, rng)

    def _with_source(self, error: ArgumentError, values: tuple[Any, ...]) -> ArgumentError:
        """The refusal of a call's types, and that of the source, if it is refused too: both obstacles at once."""
        try:
            from polytune.frontend import analyse

            analyse(self.__wrapped__, usable_signature(self._names, values), strict=self.is_strict)
        except UnsupportedSourceError as refusal:
            return ArgumentError(f"{error}\nand, where the types are right:\n{refusal}")
        except (PolytuneError, ImportError, ValueError):
            pass  # what is said of the types is true without it
        return error

    def _provide(self, signature: Signature) -> tuple[str, GeneratedKernel]:
        """The module for a signature: from the disk cache, else compiled."""
        text, constants = source_identity(self.__wrapped__)
        with_devices = bool(devices())
        options = f"strict={self.is_strict} devices={with_devices} vectors={vector_registers()}"
        identity = key_of("kernel", text, constants, str(signature), options, _compiler_text())
        module = _cache().load(identity)
        if module is None:
            with collector_paused():
                stages = replace(self.stages(signature), devices=with_devices)
                source = stages.source
            module = _cache().store(identity, source)
        history_name = hashlib.sha256(f"{text}\n{constants}\n{signature}\n{self.is_strict}".encode()).hexdigest()
        return f"{self.__name__} {history_name[:16]}", GeneratedKernel(module)


def source_identity(function: FunctionType) -> tuple[str, str]:
    """A function's source with its place, and all that its meaning depends on outside of it: constants and functions
    called.

    The place is part of it because messages and generated code refer to lines.
    """
    parts: list[str] = []
    _collect(function, parts, set())
    code = function.__code__
    try:
        text = inspect.getsource(function)
    except OSError:
        text = ""
    return f"{code.co_filename}:{code.co_firstlineno}\n{text}", "\n".join(parts)


def _collect(function: FunctionType, parts: list[str], seen: set[int]) -> None:
    """Describe all that a function's names mean outside of it: functions called, constants, and both through
    modules."""
    if id(function) in seen:
        return
    seen.add(id(function))
    outside = inspect.getclosurevars(function)
    for name, value in sorted({**outside.globals, **outside.nonlocals}.items()):
        _describe(name, value, function.__code__.co_names, parts, seen)


def _describe(name: str, value: Any, attributes: tuple[str, ...], parts: list[str], seen: set[int]) -> None:
    inner = getattr(value, "__wrapped__", value)
    if isinstance(inner, FunctionType):
        try:
            parts.append(f"{name}: {inspect.getsource(inner)}")
        except OSError:
            parts.append(f"{name}: {inner.__code__.co_code.hex()} {inner.__code__.co_consts!r}")
        _collect(inner, parts, seen)
    elif isinstance(value, ModuleType):
        parts.append(f"{name} is module {value.__name__}")
        if value.__name__ in ("math", "numpy") or id(value) in seen:
            return
        seen.add(id(value))
        for attribute in attributes:
            if hasattr(value, attribute):
                _describe(f"{name}.{attribute}", getattr(value, attribute), attributes, parts, seen)
    elif isinstance(value, (bool, int, float, np.generic, type)):
        parts.append(f"{name} = {value!r}")
    else:
        parts.append(f"{name} is a {type(value).__qualname__}")


@functools.cache
def _cache() -> ModuleCache:
    return ModuleCache()


@functools.cache
def _compiler_text() -> str:
    """A hash over the compiler's own source: its output may change with any of it."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for folder in ("frontend", "schedule", "codegen"):
        for source in sorted((root / folder).glob("**/*.py")):
            digest.update(source.read_bytes())
    digest.update((root / "pipeline.py").read_bytes())
    return digest.hexdigest()
