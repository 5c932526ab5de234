"""The decorator: it makes kernels of functions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, overload

from polytune.errors import PolytuneError
from polytune.fastmath import flags_of
from polytune.kernel import Kernel
from polytune.runtime.tuning.rules import Thresholds
from polytune.tracebacks import shorten, shows_frames_of_callers
from polytune.tuner import Budget, Search

__all__ = ["Decorator", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")
"""The parameters of a function, and what it returns."""


@overload
def kernel(function: Callable[P, R], /) -> Kernel[P, R]: ...


@overload
def kernel(
    *,
    strict: bool = False,
    fastmath: bool | Collection[str] = False,
    budget: Budget | int | str | None = None,
    thresholds: Thresholds | None = None,
    background: bool = True,
    seed: int = 0,
    search: Search | None = None,
    parallel: Literal[True] = True,
    cache: Literal[True] = True,
    nogil: Literal[True] = True,
    nopython: Literal[True] = True,
) -> Decorator: ...


def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool = False,
    fastmath: bool | Collection[str] = False,
    budget: Budget | int | str | None = None,
    thresholds: Thresholds | None = None,
    background: bool = True,
    seed: int = 0,
    search: Search | None = None,
    **options: Any,
) -> Kernel[Any, Any] | Callable[[Callable[..., Any]], Kernel[Any, Any]]:
    """Compile a plain loop nest over NumPy arrays when it is called, in parallel, and tune it from call to call.

    Args:
        function: a function of arrays and numbers, in the language of ``docs/language.md``.
        strict: keep the source order of every sum and the rounding of every power, so that results are those of the
            interpreted function bit for bit.  Without it sums may be reassociated, as NumPy and BLAS do, and powers of
            constant integers are multiplied out, and quotients in sums by what stays the same are products.
        fastmath: what LLVM may do with all arithmetic, as Numba's option of this name: True, or some of LLVM's names of
            flags, ``{"arcp", "reassoc"}``.  True is all of them, under which numbers that are NaN or infinite may be
            taken for others: results that come of such are any numbers.  Subscripts, sizes and arguments are checked as
            without it.  Versions for GPUs take no notice of it.  It excludes ``strict``.
        budget: how much tuning may cost: a number of calls, a time such as ``"2 s"``, by how much all calls may be
            slower than with the best configuration known, such as ``"5 %"``, or a ``polytune.tuner.Budget``.
        thresholds: how much a call has to compute for a device to be tried; measured on the machine where they are not
            given.
        background: whether versions that are to be tried are compiled in the background, while calls go on with the
            best that there is.  With False a call that tries a version waits for it.
        seed: what is tried is a function of it and of the times measured.
        search: how configurations are searched for, see ``docs/searches.md``: a name, also with settings, as
            ``"genetic:population=30"``, a ``polytune.tuner.Method``, a subclass of ``polytune.tuner.FiniteSearcher``,
            or one of these for each of several nodes of the space, as
            ``{"nominal": "epsilon_greedy:epsilon=0.1", "numeric": "portfolio"}``.
        options: ``parallel``, ``cache``, ``nogil`` and ``nopython`` of Numba's ``njit``, if they are True: they say
            what holds anyway.  The others of Numba's are refused with what stands for them here.

    Raises:
        PolytuneError: what is decorated is no plain function, there is no such option or flag, or options exclude each
            other.
        SpaceError: the budget cannot be read.
        SearchError: there is no such search, or no such setting.

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

    refusals = [_refusal(name, value) for name, value in options.items() if name not in _HOLDING or value is not True]
    if refusals:
        raise PolytuneError("\n".join(refusals))
    flags = flags_of(fastmath, strict=strict)

    @shows_frames_of_callers
    def decorate(function: Callable[P, R]) -> Kernel[P, R]:
        return Kernel(
            function,
            strict=strict,
            fastmath=flags,
            budget=budget,
            thresholds=thresholds,
            background=background,
            seed=seed,
            search=search,
        )

    try:
        return decorate if function is None else decorate(function)
    except Exception as error:
        shorten(error)
        raise


_HOLDING = {
    "parallel": "loops that are parallel are found; OMP_NUM_THREADS or numba.set_num_threads says how many threads run",
    "cache": "what is compiled is kept on disk; POLYTUNE_CACHE_DIR says where",
    "nogil": "other threads of Python run meanwhile",
    "nopython": "nothing runs as Python",
}
"""The options of Numba's ``njit`` that say, if True, what holds of every kernel."""

_OF_NUMBA = {
    "boundscheck": "accesses are always checked",
    "error_model": "a division by zero gives an infinity or NaN, as NumPy's does",
    "inline": "functions that a kernel calls are always inlined",
    "locals": "types of variables follow from what is assigned; write np.float32(x) where another one is wanted",
}
"""The other options of Numba's ``njit``, with what stands for them here."""


def _refusal(name: str, value: object) -> str:
    """The message about an option that is not accepted."""
    if name in _HOLDING:
        return (
            f"@polytune.kernel takes Numba's option {name!r} as True alone, not {value!r}: {_HOLDING[name]}, of every "
            "kernel; leave it out"
        )
    if name in _OF_NUMBA:
        return f"@polytune.kernel does not need Numba's option {name!r}: {_OF_NUMBA[name]}; leave it out"
    return (
        f"@polytune.kernel has no option {name!r}; it has strict, fastmath, budget, thresholds, background, seed and "
        "search, see help(polytune.kernel)"
    )


class Decorator(Protocol):
    """The result of ``kernel`` for settings alone: it makes a kernel of a function, with the function's parameters."""

    def __call__(self, function: Callable[P, R], /) -> Kernel[P, R]: ...
