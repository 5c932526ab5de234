"""Every kernel that the project has, on arguments that its author had not in mind: ``python -m tests.fuzz.sweep``.

Of each kernel every version is interpreted (``tests.fuzz.interpreted``), in random tiles, on arguments of other sizes,
layouts, values and types, and what it computes is compared with plain Python: to the bit where it is strict, within a
tolerance where sums may be reassociated.  With ``--compiled`` the calls go through the public interface instead.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import math
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any
from unittest import mock

import numpy as np

import polytune
from polytune.codegen.transform import Target
from polytune.errors import ArgumentError, DataError, PolytuneError, SubscriptError, UnsupportedSourceError
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import check_overlap, signature_of
from polytune.signature import Signature
from tests.fuzz.checking import resized
from tests.fuzz.comparing import bits
from tests.fuzz.corpora import Call, Variant, kernels, variants_of
from tests.fuzz.interpreted import Interpreter
from tests.fuzz.references import ORDERED, differences

__all__ = ["Checker", "Finding", "main"]

_SECONDS_IN_PYTHON = 0.004
"""The seconds in plain Python above which a kernel would take minutes to interpret."""
_TARGET = Target(16, 8)
"""Few lanes and registers: small problems have whole blocks."""
_OF_PYTHON = re.compile(r"math\.\w+|(?<!\.)\b(?:min|max|sum)\(")
"""The functions that Python computes in the order and with the digits of a strict kernel, unlike NumPy's of the same
name."""


_UNDEFINED = re.compile("math domain|cannot convert float NaN")
"""The errors of numbers that functions and types do not have; kernels compute some number (docs/language.md)."""


@dataclass(frozen=True)
class Finding:
    """What is wrong with a kernel.

    Attributes:
        kernel: its name.
        variant: the name of the arguments' variant.
        configuration: what ran.
        message: what happened.
    """

    kernel: str
    variant: str
    configuration: dict[str, Any]
    message: str


class Checker:
    """Checks one kernel."""

    def __init__(self, call: Call, *, strict: bool, compiled: bool):
        self.call, self.strict, self.compiled = call, strict, compiled
        code = call.function.__code__
        self.names = code.co_varnames[: code.co_argcount]
        source = _OF_PYTHON.sub("", inspect.getsource(call.function))
        self.exactly = strict and call.is_exact and not ORDERED.search(source)
        self.outcomes: Counter[str] = Counter()
        self._interpreters: dict[Signature, Interpreter] = {}
        self._coarsest = 0.0

    @cached_property
    def _kernel(self) -> Any:
        return polytune.kernel(strict=self.strict, background=False)(self.call.function)

    def findings(self, variant: Variant, make: Callable[[], tuple[Any, ...]]) -> Iterator[Finding]:
        """Run a variant and yield what is wrong."""
        if variant.is_special and not self.exactly:
            return
        try:
            wanted = make()
        except Exception:
            self.outcomes["has no such arguments"] += 1
            return
        self._coarsest = _coarsest(wanted)
        begin = time.process_time()
        result, error = self._in_python(wanted)
        if not self.compiled and time.process_time() - begin > _SECONDS_IN_PYTHON:
            self.outcomes["takes too long"] += 1
            return
        kinds: set[str] = set()
        for configuration, run in self._runs(make):
            values = make()
            try:
                with np.errstate(all="ignore"):
                    found = run(values)
            except Exception as raised:
                message = self._wrong_error(raised, error, make(), values)
            else:
                self.outcomes["ran"] += 1
                message = self._wrong_values((wanted, result), error, (values, found))
                if message and self._reads_what_nothing_has_written(make):
                    self.outcomes["reads what nothing has written"] += 1
                    return
                # The type of a result is that of all versions.
                kind = "" if message or error is not None else _other_kind(result, found)
                message = message or ("" if kind in kinds else kind)
                kinds.add(kind)
            if message:
                yield Finding(self.call.name, variant.name, configuration, message)

    def _in_python(self, values: tuple[Any, ...]) -> tuple[Any, Exception | None]:
        try:
            with np.errstate(all="ignore"):
                return self.call.function(*values), None
        except Exception as error:
            return None, error

    def _reads_what_nothing_has_written(self, make: Callable[[], tuple[Any, ...]]) -> bool:
        """Return whether plain Python gives something else where new memory holds other numbers."""
        outcomes = []
        for number in (1, 2):
            with mock.patch.multiple(
                np, empty=partial(_filled, np.zeros, number), empty_like=partial(_filled, np.zeros_like, number)
            ):
                values = make()
                outcomes.append((values, self._in_python(values)[0]))
        return self._difference(*outcomes, exactly=False) != ""

    # Runs

    def _runs(
        self, make: Callable[[], tuple[Any, ...]]
    ) -> Iterator[tuple[dict[str, Any], Callable[[tuple[Any, ...]], Any]]]:
        if self.compiled:
            yield {}, lambda values: self._kernel(*values)
            return
        interpreter: Interpreter | None = None
        values = make()
        try:
            interpreter = self._interpreter(values)
        except Exception as error:
            refusal = error
            yield {}, lambda values: _raise(refusal)
            return
        choose = random.Random(len(self._interpreters))
        versions: set[str] = set()
        for nominal in interpreter.space.enumerate_nominal():
            if nominal["version"] not in versions:
                versions.add(nominal["version"])
                configuration = resized(nominal, choose, (1, 2, 3))
                yield (
                    configuration,
                    lambda values, configuration=configuration: self._interpreted(interpreter, configuration, values),
                )

    def _interpreter(self, values: tuple[Any, ...]) -> Interpreter:
        signature = signature_of(self.names, values)
        if signature not in self._interpreters:
            stages = Stages(self.call.function, signature, self.strict, target=_TARGET)
            self._interpreters[signature] = Interpreter(stages.source)
        return self._interpreters[signature]

    def _interpreted(self, interpreter: Interpreter, configuration: dict[str, Any], values: tuple[Any, ...]) -> Any:
        module = interpreter.module
        given = dict(zip(module["ARGUMENTS"], values, strict=True))
        run = interpreter.prepared(values)
        check_overlap({name: given[name] for name in module["ARRAYS"]}, module["WRITTEN"])
        return run(configuration, 0)

    # Results

    def _wrong_error(
        self, raised: Exception, wanted: Exception | None, before: tuple[Any, ...], after: tuple[Any, ...]
    ) -> str:
        """Return what is wrong with an exception; empty where nothing is."""
        late = isinstance(raised, SubscriptError | DataError) and raised.is_late
        if isinstance(raised, PolytuneError) and not late and self._difference(before, after, exactly=True):
            return f"changed arguments before it raised {raised!r}"
        if wanted is not None:
            self.outcomes["raises, as Python does"] += 1
            sensible = isinstance(raised, PolytuneError | type(wanted))
            return "" if sensible else f"raises {raised!r}, where Python raises {wanted!r}"
        if isinstance(raised, UnsupportedSourceError | ArgumentError):
            text = str(raised).split("\n")[0]
            self.outcomes[f"refused: {text[:90]}"] += 1
            return ""
        return f"raises {type(raised).__name__}: {raised}"

    def _wrong_values(self, wanted: Any, error: Exception | None, found: Any) -> str:
        if isinstance(error, ZeroDivisionError | OverflowError | FloatingPointError) or (
            isinstance(error, ValueError) and _UNDEFINED.search(str(error))
        ):
            self.outcomes["computes NaN or infinity where Python raises"] += 1
            return ""
        if error is not None:
            return f"ran, where Python raises {error!r}"
        return self._difference(wanted, found, exactly=self.exactly)

    def _difference(self, wanted: Any, found: Any, *, exactly: bool) -> str:
        if isinstance(wanted, tuple | list):
            if not isinstance(found, tuple | list) or len(wanted) != len(found):
                return f"{found!r} instead of {wanted!r}"
            parts = (self._difference(*pair, exactly=exactly) for pair in zip(wanted, found, strict=True))
            return next((part for part in parts if part), "")
        if not isinstance(wanted, np.ndarray | np.generic | int | float | complex):
            return ""
        first, second = np.asarray(wanted), np.asarray(found)
        if first.shape != second.shape or second.dtype.kind == "O":
            return f"{second.dtype}{second.shape} instead of {first.dtype}{first.shape}"
        different = np.atleast_1d(_differ(first, second.astype(first.dtype), exactly, self._coarsest))
        if not different.any():
            return ""
        place = tuple(int(index[0]) for index in np.nonzero(different))
        values = np.atleast_1d(first)[place], np.atleast_1d(second)[place]
        return f"{int(different.sum())} of {different.size} elements, at {place} {values[1]!r} instead of {values[0]!r}"


def _other_kind(wanted: Any, found: Any) -> str:
    """Return how a result differs in kind from what plain Python returns; empty where it does not.

    NumPy's scalars stand for Python's numbers, of a type that holds these, and for arrays without dimensions, and
    Python's truth values for NumPy's, as docs/language.md says.
    """
    if isinstance(wanted, tuple | list) and type(wanted) is type(found) and len(wanted) == len(found):
        return next(filter(None, map(_other_kind, wanted, found)), "")
    if isinstance(wanted, np.ndarray) and not wanted.ndim:
        wanted = wanted[()]
    containers = np.ndarray | tuple | list | None
    if isinstance(wanted, containers) or isinstance(found, containers):
        if type(wanted) is not type(found):
            return f"{type(found).__name__} {found!r} instead of {type(wanted).__name__} {wanted!r}"
        if wanted is None:
            return ""
    first, second = np.asarray(wanted).dtype, np.asarray(found).dtype
    python = isinstance(found, int | float | complex) and not isinstance(found, np.generic | bool)
    if isinstance(wanted, int | float | complex) and not isinstance(wanted, np.generic | bool) and second.kind != "b":
        holds = np.result_type(second, wanted) == second
    else:
        holds = first == second and not (isinstance(wanted, np.generic) and python)
    return "" if holds else f"a result of type {'Python ' * python}{second} instead of {first}"


def _filled(new: Callable[..., np.ndarray], number: int, *arguments: Any, **keywords: Any) -> np.ndarray:
    """Return a new array full of a number; the call is one of ``np.empty`` or ``np.empty_like``."""
    made = new(*arguments, **keywords)
    made[...] = number
    return made


def _coarsest(values: tuple[Any, ...]) -> float:
    """Return the greatest distance from 1 to the next number of the types of arrays and NumPy's scalars.

    Sums of ``float32`` that a result of ``float64`` is made of may be added up in another order.
    """
    types = (value.dtype for value in values if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc")
    return max((float(np.finfo(dtype).eps) for dtype in types), default=0.0)


def _differ(first: np.ndarray, second: np.ndarray, exactly: bool, coarsest: float) -> np.ndarray:
    """Return where two arrays of one type differ.

    Args:
        first: what plain Python computes.
        second: what the kernel computes.
        exactly: whether every bit counts.
        coarsest: the least relative difference of numbers of the arguments.
    """
    if first.dtype.kind == "c":
        return _differ(first.real, second.real, exactly, coarsest) | _differ(first.imag, second.imag, exactly, coarsest)
    if first.dtype.kind != "f" or (exactly and first.dtype.itemsize > 8):
        return np.asarray(first != second)
    if exactly:
        return (bits(first) != bits(second)) & ~(np.isnan(first) & np.isnan(second))
    return differences(first, second, math.sqrt(max(float(np.finfo(first.dtype).eps), coarsest)) / 10)


def _raise(error: Exception) -> Any:
    raise copy.copy(error)


def sweep(
    calls: Iterator[Call], variants: list[str] | None, *, modes: tuple[bool, ...], compiled: bool
) -> Iterator[Finding | Counter[str]]:
    """Yield what is found, and after each kernel what became of its calls."""
    for call in calls:
        for strict in modes:
            checker = Checker(call, strict=strict, compiled=compiled)
            for variant, make in variants_of(call, variants):
                yield from checker.findings(variant, make)
            yield checker.outcomes


def main() -> int:
    """Run the sweep; the status is 1 where something is wrong."""
    parser = argparse.ArgumentParser("python -m tests.fuzz.sweep", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kernels", nargs="*", metavar="PART", help="parts of kernels' names; by default all")
    parser.add_argument("--variant", action="append", help="only this variant of the arguments")
    parser.add_argument("--compiled", action="store_true", help="call kernels instead of interpreting their versions")
    parser.add_argument("--mode", choices=("strict", "default", "both"), default="both", help="of the kernels")
    parser.add_argument("--share", default="0/1", metavar="K/N", help="only kernels K, K + N, K + 2 N, ...")
    options = parser.parse_args()
    parts = options.kernels or [""]
    first, number = map(int, options.share.split("/"))
    chosen = [call for call in kernels() if any(part in call.name for part in parts)][first::number]
    modes = {"strict": (True,), "default": (False,), "both": (True, False)}[options.mode]
    outcomes: Counter[str] = Counter()
    findings = 0
    # A team's threads have NumPy's own settings.
    warnings.simplefilter("ignore", RuntimeWarning)
    for each in sweep(iter(chosen), options.variant, modes=modes, compiled=options.compiled):
        if isinstance(each, Finding):
            findings += 1
            print(f"{each.kernel}, {each.variant}, {each.configuration}: {each.message}", flush=True)
        else:
            outcomes += each
    print(f"{len(chosen)} kernels, {findings} wrong")
    for outcome, count in outcomes.most_common():
        print(f"{count:7} {outcome}")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
