"""A kernel: the one place that joins compile time to run time."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np

from polytune import notebook
from polytune.compiler import import_whole
from polytune.defects import defects_named
from polytune.errors import (
    ArgumentError,
    MissingLibraryError,
    PolytuneError,
    RecompilationWarning,
    SourceLocation,
    UnsupportedSourceError,
)
from polytune.fastmath import flags_of
from polytune.kernel_modules import KernelModules
from polytune.module_cache import short_extents, with_ones
from polytune.runtime.calls.arguments import usable_signature
from polytune.runtime.calls.calls import CallableKernel
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.modules.outside import OutsideValues
from polytune.runtime.teams.threads import current_threads
from polytune.runtime.tuning.rules import Thresholds
from polytune.signature import Signature, Structure
from polytune.structures import has_structure, taken_apart
from polytune.tracebacks import shows_frames_of_callers, warn_caller
from polytune.tuner import Budget, OnlineTuner, Search, Space
from polytune.tuner.budget import seconds_text
from polytune.tuner.trials import values_text
from polytune.version import DISTRIBUTION

if TYPE_CHECKING:
    from polytune.codegen.transform import Target
    from polytune.pipeline import Stages
    from polytune.shards.call import ShardedKernel
    from polytune.shards.plan import ShardPlan

__all__ = ["Kernel"]

_LOGGER = logging.getLogger(__name__)

_MANY_CHANGES = 3
"""The number of changes of what a kernel uses from outside after which a warning says what they cost."""


P = ParamSpec("P")
R = TypeVar("R")
"""The parameters of a function, and what it returns."""


class Kernel(CallableKernel, Generic[P, R]):
    """A function that runs compiled; ``kernel`` makes it.  It has the function's parameters, and returns what that
    does.

    Args:
        function, strict, fastmath, budget, thresholds, background, seed: those of ``kernel``.

    Attributes:
        __wrapped__: the function itself.
        is_strict: whether sums keep their source order.
        fastmath: the names of the flags that ``fastmath`` gives; none where it is not given.
    """

    @shows_frames_of_callers
    def __init__(
        self,
        function: Callable[P, R],
        *,
        strict: bool = False,
        fastmath: bool | Collection[str] = False,
        budget: Budget | int | str | None = None,
        thresholds: Thresholds | None = None,
        background: bool = True,
        seed: int = 0,
        search: Search | None = None,
    ):
        is_of_numba = type(function).__module__.partition(".")[0] == "numba" and not hasattr(function, "py_func")
        if isinstance(function, str) or is_of_numba:
            raise PolytuneError(
                "@polytune.kernel takes no types: those of a call's arguments count, and annotations as strings, "
                'x: "float64[::1]", where polytune build needs them; write @polytune.kernel alone'
            )
        if not isinstance(function, FunctionType):
            raise PolytuneError(_no_function(function))
        self.__wrapped__ = function
        self.is_strict = strict
        self.fastmath: frozenset[str] = flags_of(fastmath, strict=strict)
        self._modules = KernelModules(function, strict=strict, fastmath=self.fastmath, on_description=self._look_at)
        self._changes = 0
        functools.update_wrapper(self, function)
        super().__init__(
            function.__name__,
            inspect.signature(function),
            self._provide,
            budget=budget,
            thresholds=thresholds,
            background=background,
            seed=seed,
            search=search,
        )

    def __repr__(self) -> str:
        mode = " (strict)" if self.is_strict else " (fastmath)" if self.fastmath else ""
        return f"<polytune kernel {self.__wrapped__.__qualname__}{mode}>"

    def _repr_html_(self) -> str:
        parts = [notebook.paragraph(f"polytune kernel {self.__name__}{self.__signature__}", strong=True)]
        if self.__doc__:
            parts.append(notebook.text(inspect.cleandoc(self.__doc__)))
        rows = [
            (case, seconds_text(best[1]), values_text(best[0]), tuner.statistics().calls, tuner.converged)
            for case, tuner in self.tuners.items()
            if (best := tuner.best) is not None
        ]
        if rows:
            parts.append(notebook.table(("calls with", "best time", "configuration", "calls", "converged"), rows))
        return "".join(parts)

    if TYPE_CHECKING:

        def __call__(self, *arguments: P.args, **keywords: P.kwargs) -> R: ...

        def run(self, configuration: Mapping[str, object], /, *arguments: P.args, **keywords: P.kwargs) -> R: ...

        def space(self, *arguments: P.args, **keywords: P.kwargs) -> Space: ...

        def tuner(self, *arguments: P.args, **keywords: P.kwargs) -> OnlineTuner: ...

    @functools.cached_property
    def strict(self) -> Kernel[P, R]:
        """The same kernel, with every sum in source order, and without ``fastmath``."""
        return self if self.is_strict else self._like(strict=True, fastmath=False)

    def _like(self, **changed: Any) -> Kernel[P, R]:
        """A kernel with the settings of this one, but for those that are given."""
        settings: dict[str, Any] = {
            "strict": self.is_strict,
            "fastmath": self.fastmath,
            "budget": self._budget,
            "thresholds": self.thresholds,
            "background": self.background,
            "seed": self._seed,
            "search": self._search,
        }
        return Kernel(self.__wrapped__, **{**settings, **changed})

    @shows_frames_of_callers
    def searched(self, search: Search | None = None, seed: int | None = None) -> Kernel[P, R]:
        """The same kernel, tuned by another search or with other random choices; the two share what is remembered.

        Args:
            search, seed: as for ``polytune.kernel``; this kernel's own where they are not given.

        Raises:
            SearchError: there is no such search, or no such setting.
        """
        return self._like(seed=self._seed if seed is None else seed, search=self._search if search is None else search)

    @shows_frames_of_callers
    def stages(self, signature: Signature | None = None) -> Stages:
        """The compiler's stages for argument types (inferred from the source where not given), see
        ``polytune.pipeline``.

        Raises:
            MissingLibraryError: the libraries of the compiler are not installed.
        """
        return self._modules.stages(signature)

    @shows_frames_of_callers
    def module_text(
        self,
        signature: Signature | None = None,
        *,
        devices: bool,
        places: Callable[[SourceLocation], SourceLocation] | None = None,
        target: Target | None = None,
    ) -> str:
        """The text of the generated module for argument types (inferred from the source where not given).

        Args:
            signature: the types.
            devices: whether it is to have a version for devices too.
            places: under what name it is to know a place of the source; as it is where not given.
            target: the processor that it is for; this machine's where not given.

        Raises:
            UnsupportedSourceError: the source cannot be compiled.
            DefectError: the compiler failed.
        """
        return self._modules.text(signature, devices=devices, places=places, target=target)

    def _call(self, arguments: tuple[Any, ...], keywords: dict[str, Any], mode: str) -> Any:
        """Make a call that goes the long way, or the tasks of one with arrays of Dask."""
        if "dask.array" in sys.modules:
            from polytune.shards.call import call_in_chunks, holds_chunks

            if holds_chunks((*arguments, *keywords.values())):
                values = self._bind(arguments, keywords)
                return call_in_chunks(self._sharded(values), self._names, values)
        return super()._call(arguments, keywords, mode)

    @shows_frames_of_callers
    def shards(self, *arguments: Any, **keywords: Any) -> ShardPlan:
        """Show how a call with arrays of Dask is cut, without making it.

        Args:
            arguments, keywords: those of a call.

        Raises:
            MissingLibraryError: Dask, of the extra ``dask``, is not installed.
            ArgumentError: the arguments do not fit.
            UnsupportedSourceError: the kernel cannot be cut.
        """
        try:
            from polytune.shards.call import plan_shards
        except ModuleNotFoundError as error:
            raise MissingLibraryError(f"shards are Dask's: pip install {DISTRIBUTION}[dask]") from error
        values = self._bind(arguments, keywords)
        return plan_shards(self._sharded(values), self._names, values)

    def _sharded(self, values: tuple[Any, ...]) -> ShardedKernel:
        """The kernel with regions that can be cut, for the types of a call's arguments."""
        import_whole("polytune.shards.call")
        from polytune.shards.call import types_of

        if self._outside is not None and (changed := self._outside.changed()) is not None:
            self._reconsider(changed)
        signature = types_of(self._names, values)
        return self._modules.sharded(with_ones(signature, _shapes(signature, values), self._modules.deciding))

    @shows_frames_of_callers
    def warm_up(self, signature: Signature | None = None, *, every: bool = False) -> list[str]:
        """Compile what first calls of arguments of some types run, so that they need not wait for it; it stays in the
        disk cache.

        Args:
            signature: the types; those of the annotations and the source where not given.
            every: whether to compile every version, of which most are wanted by the tuner alone.

        Returns:
            The names of the versions that can be run now.

        Raises:
            UnsupportedSourceError: the source cannot be compiled, or does not tell the types.
            CompilationError: the first choice cannot be compiled.
        """
        types = signature or self.stages().signature
        generated = self._generate(types, current_threads())[1]
        return generated.first_choices.warm_up(every=every)

    @shows_frames_of_callers
    def explain(self) -> str:
        """Return what was found parallel and why not more, and what the tuners have learned, for all types called so
        far."""
        import_whole("polytune.explanation")
        from polytune.explanation import explain

        self._wait_for_versions()
        with defects_named(self.__wrapped__):
            return notebook.ShownText(explain(self))

    @shows_frames_of_callers
    def profile(self, configuration: Mapping[str, Any], /, *arguments: Any, **keywords: Any) -> dict[str, float]:
        """Run the kernel once in exactly one configuration, and return what is counted of it, as `docs/counters.md`
        lists it: what its source does, what the version does, what is moved to devices, and what the processor counts.

        Args:
            configuration: a value for each parameter of the space of these arguments that matters, by name.
            arguments, keywords: those of a call, positional and by name.

        Returns:
            The counters by name, the same ones for all configurations.

        Raises:
            SpaceError: the configuration is not in the space of these arguments.
            ArgumentError: the arguments do not fit; nothing has been written.
            CompilationError: the version cannot be compiled; nothing has been written.
        """
        import_whole("polytune.pipeline")
        from polytune.counters import read_counters

        with defects_named(self.__wrapped__):
            return read_counters(self, self.prepared(configuration, *arguments, **keywords), self.stages)

    @shows_frames_of_callers
    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write a page that shows the kernel: the source with what is parallel and why not more, the dependences, the
        versions, the tuning as it went, what was measured, the roofline and the generated code.

        The page is one file of HTML that needs no other, nor a network; it is for a browser.

        Args:
            path: the file; one that is there is replaced.

        Returns:
            The file.

        Raises:
            MissingLibraryError: Matplotlib, of the extra ``report``, is not installed.
            PolytuneError: the file cannot be written, or the kernel cannot be compiled.
        """
        with defects_named(self.__wrapped__):
            import_whole("polytune.report")
            from polytune.report import write_report

            self._wait_for_versions()
            return write_report(self, path)

    @shows_frames_of_callers
    def example_arguments(
        self, sizes: Mapping[str, int], rng: np.random.Generator, signature: Signature | None = None
    ) -> tuple[Any, ...]:
        """Random arguments with the least shapes that the kernel's accesses allow for given parameter values.

        Args:
            sizes: a value for every parameter that is an extent or an integer argument, by name.
            rng: where the contents come from; floats are uniform in [0.5, 1.5), integers in 0 .. 9.
            signature: the types of the arguments; None where annotations or calls so far say what they are.

        Raises:
            PolytuneError: a parameter is not given, or the accesses do not bound a shape.
        """
        import_whole("polytune.examples")
        from polytune.examples import example_arguments

        with defects_named(self.__wrapped__):
            return example_arguments(self.stages(signature), sizes, rng)

    def _taken_apart(
        self, values: tuple[Any, ...]
    ) -> tuple[tuple[str, ...], tuple[Any, ...], tuple[tuple[str, Structure], ...]]:
        if not has_structure(values):
            return self._names, values, ()
        code = self.__wrapped__.__code__
        taken = (*code.co_varnames, *code.co_names, *code.co_freevars, *code.co_cellvars)
        found = taken_apart(self._names, values, taken, self._modules.identity.known_function)
        return found.names, found.values, found.structure

    def _with_source(self, error: ArgumentError, values: tuple[Any, ...]) -> ArgumentError:
        """The refusal of a call's types, and that of the source, if it is refused too: both obstacles at once."""
        import_whole("polytune.frontend")
        try:
            from polytune.frontend import analyse

            analyse(self.__wrapped__, usable_signature(self._names, values), strict=self.is_strict)
        except UnsupportedSourceError as refusal:
            return ArgumentError(f"{error}\nand, where the types are right:\n{refusal}")
        except (PolytuneError, ImportError, ValueError):
            pass  # what is said of the types is true without it
        return error

    def _with_extents(self, signature: Signature, values: tuple[Any, ...]) -> Signature:
        """The types with those extents of 1 that NumPy stretches to others of the call, and with short ones that
        make faster code, where there is much to do."""
        shapes = _shapes(signature, values)
        has_ones = any(1 in shape for shape in shapes.values())
        if has_ones:
            signature = with_ones(signature, shapes, self._modules.deciding)
        extents = short_extents(shapes, lambda: self._modules.deciding(signature).telling)
        if not extents:
            return signature
        known = self._modules.with_short_extents(signature, extents)
        return with_ones(known, shapes, self._modules.deciding) if has_ones else known

    @shows_frames_of_callers
    def name_in_history(self, signature: Signature | None = None) -> str:
        """Return what the kernel is called in the history, for arguments of some types: its name, and a hash of what
        its source says.

        Args:
            signature: the types; those of the annotations and the source where not given.
        """
        return self._modules.name_in_history(signature)

    def _provide(self, signature: Signature) -> tuple[str, GeneratedKernel]:
        return self._provided(signature, may_defer=False)

    def _provided(self, signature: Signature, *, may_defer: bool) -> tuple[str, GeneratedKernel]:
        return self._modules.provide(signature, in_background=self.background, may_defer=may_defer)

    def _wait_for_versions(self) -> None:
        """Wait until kernels that calls have been made of have all their versions."""
        for signature, threads in list(self._generated):
            self._generate(signature, threads)

    def _look_at(self, outside: OutsideValues | None) -> None:
        """Have calls look at what the kernel uses from outside, as it has just been described."""
        self._outside = outside or None

    def _reconsider(self, name: str) -> None:
        """See whether what has changed outside makes a difference; if so, compile anew when a call comes."""
        with self._lock:
            if not self._modules.are_outdated():
                return
            self._changes += 1
            _LOGGER.info("%s: is compiled again, as %r outside of it has changed", self.__name__, name)
            if self._changes == _MANY_CHANGES:
                warn_caller(
                    RecompilationWarning(
                        f"{name!r}, outside of kernel {self.__name__!r}, has changed again; what kernels use from "
                        "outside is a constant in them, and they are compiled again for each value: pass what changes "
                        "as an argument"
                    )
                )
            self._forget()


def _shapes(signature: Signature, values: tuple[Any, ...]) -> dict[str, tuple[int, ...]]:
    """The shapes of a call's arguments, by name; numbers have none."""
    names = (name for name, _ in signature.arguments)
    return {name: np.shape(value) for name, value in zip(names, values, strict=True)}


def _no_function(given: object) -> str:
    """Return what is wrong with something that is to be a kernel and is no function."""
    wrong = f"@polytune.kernel takes a plain Python function, not {type(given).__name__}"
    if isinstance(getattr(given, "py_func", None), FunctionType):  # as functions that Numba compiles have it
        return f"{wrong}: put it in place of Numba's decorator, or pass polytune.kernel the function's py_func"
    if isinstance(given, staticmethod):
        return f"{wrong}: put it below @staticmethod"
    return wrong
