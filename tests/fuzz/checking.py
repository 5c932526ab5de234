"""One random program through the compiler, against plain Python."""

from __future__ import annotations

import ast
import random
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

import polytune
from polytune.codegen.transform import Target
from polytune.errors import (
    ArgumentError,
    CompilationError,
    DataError,
    LegalityError,
    PolytuneError,
    SubscriptError,
    UnassignedVariableError,
    UncommonSubscriptError,
    UnprovenError,
    UnsupportedSourceError,
)
from polytune.fastmath import flags_of
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import check_overlap, signature_of
from polytune.runtime.teams.threads import maximum_threads
from tests.fuzz.comparing import Difference, bits, compare
from tests.fuzz.interpreted import Interpreter
from tests.fuzz.reach import Reached, TooManyInstances, reach
from tests.fuzz.references import Reference, prepared
from tests.fuzz.samples import Arguments, Sample

_INSTANCES = 200_000
_PACKAGE = str(Path(polytune.__file__).parent)


@dataclass(frozen=True)
class Failure:
    """What is wrong with a program.

    Attributes:
        kind: the same for failures with the same cause, as far as can be told: what a campaign reports once.
        message: what happened.
        configuration: the version that ran, with its sizes; empty before any did, and for a call without one.
        interpreted: whether it ran as Python.
        seed: what decided the order of tasks.
        registers: the target's bytes of a vector and number of registers.
    """

    kind: str
    message: str
    configuration: dict[str, Any] = field(default_factory=dict)
    interpreted: bool = True
    seed: int = 0
    registers: tuple[int, int] | None = None


@dataclass
class Verdict:
    """What became of a program.

    Attributes:
        outcome: ``passed``; ``refused``, and rightly so; ``unsupported``, where a program of array expressions is
            outside of the language; ``unusable``, as numbers overflow; or ``failed``.
        failure: what is wrong, where it failed.
        unsupported: why it is outside of the language.
        configurations: how many different ones ran.
        executions: how many calls ran.
        analysis_seconds: processor time from the function to the text of its module.
        call_seconds: processor time of a first call, with what Numba compiled for it; 0 where there was none.
    """

    outcome: str = "passed"
    failure: Failure | None = None
    unsupported: str = ""
    configurations: int = 0
    executions: int = 0
    analysis_seconds: float = 0.0
    call_seconds: float = 0.0


# Checking


def check(
    sample: Sample,
    seed: int,
    compiled: bool,
    versions: int | None = None,
    only: Mapping[str, Any] | None = None,
) -> Verdict:
    """Run versions of a program and compare with plain Python.

    Args:
        sample: the program.
        seed: decides tile sizes, workers and orders.
        compiled: run it through Numba, with a call that leaves the choice to the tuner first; else the generated module
            is run as Python, and every version of it (see ``tests.fuzz.interpreted``).
        versions: how many versions to compile beside the default.
        only: compile nothing but this configuration, where there is one.
    """
    verdict = Verdict()
    try:
        sample, reference = prepared(sample)
    except Exception as error:
        verdict.outcome, verdict.failure = "failed", Failure(f"{type(error).__name__} in plain Python", _text(error))
        return verdict
    if reference is None:
        verdict.outcome = "unusable"
        return verdict
    runner = _Compiled(sample, versions, only) if compiled else _Interpreted(sample, seed)
    configuration: dict[str, Any] = {}
    arguments: Arguments | None = None
    try:
        for configuration in runner.configurations(random.Random(seed), verdict):
            arguments = sample.arguments(runner.function)
            started = time.process_time()
            result = runner.run(configuration, arguments)
            if not verdict.executions and compiled:
                verdict.call_seconds = time.process_time() - started
            verdict.executions += 1
            if reference.error is not None:
                raise Accepted(f"ran, where plain Python raises {reference.error!r}")
            compare(reference, arguments, result, sample)
        verdict.configurations = runner.tried
    except Exception as error:
        if sample.numpy and _is_unsupported(error, sample, arguments, reference):
            verdict.outcome, verdict.unsupported = "unsupported", _words(error)
            return verdict
        message = _refusal(error, sample, arguments, reference)
        if message == "":
            verdict.outcome = "refused"
            return verdict
        verdict.outcome = "failed"
        text = f"{message}\n{_text(error)}" if message else _text(error)
        kind = f"refused, and should not be: {_words(error)}" if message else kind_of(error, configuration)
        verdict.failure = Failure(kind, text, configuration, not compiled, seed, runner.registers)
    return verdict


class Accepted(AssertionError):
    """A call ran that plain Python ends with an error."""


class _Compiled:
    """Versions compiled by Numba, run through the public interface, called as the sample says."""

    registers: tuple[int, int] | None = None

    def __init__(self, sample: Sample, versions: int | None, only: Mapping[str, Any] | None):
        self.sample, self.versions, self.only = sample, versions, only
        self.function = sample.function()
        self.kernel = polytune.kernel(strict=sample.strict, fastmath=sample.flags, background=False)(self.function)
        self.tried = 1

    def configurations(self, choose: random.Random, verdict: Verdict) -> Iterator[dict[str, Any]]:
        """Two calls that leave the choice to the tuner (no configuration), then some versions."""
        if not self.only:
            yield {}
            yield {}
        space = self.kernel.space(*self.sample.arguments(self.function).values)
        if self.only:
            yield dict(space.configuration(**{**self.only, "threads": min(2, self.only.get("threads", 1))}))
            return
        nominal = list(space.enumerate_nominal())
        choose.shuffle(nominal)
        for each in nominal if self.versions is None else nominal[: self.versions]:
            self.tried += 1
            yield dict(space.configuration(**resized(each, choose, (1, min(2, maximum_threads())))))

    def run(self, configuration: dict[str, Any], arguments: Arguments) -> Any:
        if configuration:
            return self.kernel.run(configuration, *arguments.values)
        return eval(f"kernel({self.sample.call})", {"np": np, "kernel": self.kernel, **arguments.names})


def defers(seed: int) -> bool:
    """Whether a seed is one with the versions that a large kernel has while the others are deferred."""
    return seed % 4 == 3


class _Interpreted:
    """Versions interpreted, each in a random order of tasks; of one sample in four those that a large kernel has while
    the others are deferred."""

    def __init__(self, sample: Sample, seed: int):
        self.sample, self.seed = sample, seed
        self.function = sample.function()
        # Few lanes and registers: small problems have whole blocks then.
        self.registers = random.Random(seed).choice(((16, 8), (16, 16), (32, 32)))
        self.defers = defers(seed)
        self.interpreter: Interpreter | None = None
        self.tried = 0

    def configurations(self, choose: random.Random, verdict: Verdict) -> Iterator[dict[str, Any]]:
        """Every version once, and every fourth one more, with other tiles and workers."""
        values = self.sample.arguments(self.function).values
        names = self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        started = time.process_time()
        try:
            stages = Stages(
                self.function,
                signature_of(names, values),
                self.sample.strict,
                target=Target(*self.registers),
                fastmath=flags_of(self.sample.flags),
            )
            vars(stages)["defers"] = self.defers
            self.interpreter = Interpreter(stages.source)
            if _wants_tests(self.interpreter, values):
                tested = replace(stages.signature, any_subscripts=True)
                self.interpreter = Interpreter(replace(stages, signature=tested).source)
        finally:
            verdict.analysis_seconds = time.process_time() - started
        by_version: dict[str, list[Mapping[str, Any]]] = {}
        for nominal in self.interpreter.space.enumerate_nominal():
            by_version.setdefault(nominal["version"], []).append(nominal)
        for nominals in by_version.values():
            for _ in range(2 if choose.random() < 0.25 else 1):
                self.tried += 1
                yield resized(choose.choice(nominals), choose, (1, 2, 3))

    def run(self, configuration: dict[str, Any], arguments: Arguments) -> Any:
        assert self.interpreter is not None
        module = self.interpreter.module
        given = dict(zip(module["ARGUMENTS"], arguments.values, strict=True))
        with np.errstate(all="ignore"):
            # In the order of a call: bounds first, which the interpreter checks.
            result_of = self.interpreter.prepared(arguments.values)
            check_overlap({name: given[name] for name in module["ARRAYS"]}, module["WRITTEN"])
            return result_of(configuration, self.seed)


def _wants_tests(interpreter: Interpreter, values: tuple[Any, ...]) -> bool:
    """Whether accesses that data decide on might be out of range, so that a call runs the kernel that tests them."""
    with suppress(Exception):  # other refusals are looked at where the call is made
        try:
            interpreter.prepared(values)
        except UncommonSubscriptError:
            return True
    return False


def resized(nominal: Mapping[str, Any], choose: random.Random, threads: tuple[int, ...]) -> dict[str, Any]:
    """The configuration with random threads, and tile sizes that are small or divide nothing."""
    return {
        name: choose.choice(threads)
        if name == "threads"
        else choose.choice((1, 2, 3, 5, 7, 33))
        if name.startswith("tile_")
        else value
        for name, value in nominal.items()
    }


# Refusals


def _refusal(error: Exception, sample: Sample, arguments: Arguments | None, reference: Reference) -> str | None:
    """Empty where an error rightly refuses a program and nothing is written; None where it is no refusal; else what is
    wrong with it."""
    is_raised_by_both = reference.error is not None and repr(error) == repr(reference.error)
    if not isinstance(error, PolytuneError) and not is_raised_by_both:
        return None
    if isinstance(error, CompilationError | LegalityError | UnprovenError):
        return None
    function = sample.function()
    fresh = sample.arguments(function)
    is_late = isinstance(error, SubscriptError | DataError) and error.is_late
    if arguments is not None and not is_late:
        changed = [name for name, array in arguments.arrays.items() if not _is_same(array, fresh.arrays[name])]
        if changed:
            return f"refused after {', '.join(changed)} had been changed"
    if sample.numpy:
        return "" if reference.error is not None else "refused for what plain Python does without an error"
    if isinstance(error, UnsupportedSourceError) and "no statement that is ever executed" in error.what:
        idle = all(_is_same(array, fresh.arrays[name]) for name, array in reference.arrays.items())
        return "" if idle and reference.result is None else "refused as idle, but plain Python does something"
    if isinstance(error, UnsupportedSourceError) and "around loops that change" in error.what:
        return ""  # Outside the language: see the remedies of refusals.
    if reference.error is not None or _reasons(sample, function, fresh):
        return ""
    return "refused, though in range and without overlaps"


def _is_unsupported(error: Exception, sample: Sample, arguments: Arguments | None, reference: Reference) -> bool:
    """Whether an error refuses a program of array expressions as outside of the language, and nothing is written.

    Shapes that fit by chance, as an extent of 1 where another is wanted, and bounds that turn out to be negative are
    outside as well: these calls are refused by their arguments.
    """
    if not isinstance(error, UnsupportedSourceError | ArgumentError) or reference.error is not None:
        return False
    if isinstance(error, SubscriptError | DataError | UnassignedVariableError):
        return False
    fresh = sample.arguments(sample.function())
    return arguments is None or all(_is_same(array, fresh.arrays[name]) for name, array in arguments.arrays.items())


def _is_same(first: np.ndarray, second: np.ndarray) -> bool:
    return bool((bits(first) == bits(second)).all())


def _reasons(sample: Sample, function: FunctionType, arguments: Arguments) -> list[str]:
    """Why a call has to be refused."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    given = dict(zip(names, arguments.values, strict=True))
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    found: list[str] = []
    try:
        reached: dict[str, Reached] = reach(sample.source, given, {}, _INSTANCES)
    except TooManyInstances:
        return ["too large to tell"]
    except Exception as error:
        return [f"plain Python fails: {error!r}"]
    found += [f"{name} is too small" for name, array in reached.items() if not array.is_inside]
    for name in written_arrays(sample.source):
        array = arrays.get(name)
        if array is None:
            continue
        if not array.flags.writeable:
            found.append(f"{name} is read-only")
        if 0 in array.strides and array.size > 1:
            found.append(f"{name} overlaps itself")
        for other, value in arrays.items():
            if other != name and np.shares_memory(array, value):
                found.append(f"{name} overlaps {other}")
    return found


def written_arrays(source: str) -> set[str]:
    """The arrays of a kernel's text that it writes, or gives to procedures that may."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            found.add(node.value.id)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            found.update(argument.id for argument in node.value.args if isinstance(argument, ast.Name))
    return found


# Kinds


def kind_of(error: BaseException, configuration: Mapping[str, Any]) -> str:
    """What failures with the same cause have in common: the type of the exception, and where in polytune it was raised,
    or the version whose code did."""
    version = configuration.get("version", "default call")
    if isinstance(error, Difference):
        return f"wrong result of {version}"
    if isinstance(error, Accepted):
        return f"ran where plain Python raises {str(error).partition('raises ')[2].partition('(')[0]}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(_PACKAGE)]
    generated = any(frame.filename == "<generated module>" for frame in traceback.extract_tb(error.__traceback__))
    if generated or not frames:
        return f"{type(error).__name__} in {version}"
    place = f"{Path(frames[-1].filename).relative_to(_PACKAGE)}:{frames[-1].name}"
    return f"{type(error).__name__} in {place}"


def _words(error: BaseException) -> str:
    """The start of a refusal, without the names and numbers of its program."""
    text = error.what if isinstance(error, UnsupportedSourceError) else str(error)
    return " ".join(word for word in text.split("\n")[0].split() if word.isalpha())[:80]


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-6:])[-3000:]
