"""Generated modules run as plain Python: slowly, but with every promise of the compiler watched.

A generated module imports Numba and the parts of :mod:`polytune.runtime` that only mean something in compiled code.
Here they are replaced by Python that means the same, and checks what compiled code relies on:

- views raise IndexError where a subscript is outside its array;
- a team's workers are threads of which one runs at a time; when a task is claimed or completed, another may go on,
  chosen at random, and which of a region's tasks is claimed is left to chance, so that they are worked on in many
  orders;
- two tasks that touch an element, one of them writing, without a wait between them, are a data race and raise
  RaceError, and so does a value that one task leaves to another in a worker's own copy of an array; a team of which
  every worker waits raises DeadlockError;
- a copy to add up in is what all tasks of its worker add to in one region; what workers write while they are in a
  piece, of which each lets in one worker at a time, is written by the last task of the region.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from polytune.frontend.generated_names import REPORT, without_marks
from polytune.runtime.devices.discovery import devices
from polytune.runtime.intrinsics.library import run as run_library
from polytune.runtime.partitioned.call import CallPlan, SharedCall
from polytune.runtime.partitioned.description import Part
from polytune.runtime.partitioned.execution import Execution
from polytune.runtime.teams.context import STATE_LENGTH, array_words
from polytune.runtime.version import Version
from polytune.signature import ArrayType, parse_type
from tests.fuzz.interpreted_team import NO_TASK, Team
from tests.fuzz.interpreted_vectors import VECTORS, VECTORS_APART, greatest, least, power


class RaceError(AssertionError):
    """Two workers may touch an element at the same time, and one of them writes it."""


@dataclass(frozen=True)
class PartOfArray:
    """A part of an array that NumPy is given, or writes: its first element, the next one along each dimension, and its
    extents."""

    view: Elements
    first: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    extents: tuple[int, ...]

    def place(self, index: tuple[int, ...]) -> tuple[int, ...]:
        moved = ((step, number) for step, number in zip(self.steps, index, strict=True))
        place = np.array(self.first)
        for step, number in moved:
            place += number * (np.array(step) - np.array(self.first))
        return tuple(int(each) for each in place)

    def values(self) -> np.ndarray:
        found = np.empty(self.extents, self.view.array.dtype)
        for index in np.ndindex(self.extents):
            found[index] = self.view[self.place(index)]
        return found

    def write(self, values: np.ndarray) -> None:
        for index in np.ndindex(self.extents):
            self.view[self.place(index)] = values[index]


class _Typed(np.ndarray):
    """An array that NumPy writes what it has computed to, which has to be of the type that the compiler says."""

    def __setitem__(self, place: Any, value: Any) -> None:
        assert getattr(value, "dtype", self.dtype) == self.dtype, f"{value.dtype} where {self.dtype} was said to be"
        super().__setitem__(place, value)


def _call_library(text: str, results: int, memory: tuple[PartOfArray, ...]) -> None:
    """A call of NumPy; what it raises passes through the interpreted code."""
    _, *parts = memory
    kind = np.ndarray if text.startswith("def ") else _Typed  # the statements of a loop may convert
    found = [np.empty(part.extents, part.view.array.dtype).view(kind) for part in parts[:results]]
    run_library(text, found, [part.values() for part in parts[results:]])
    for part, values in zip(parts, found, strict=False):
        part.write(values)


_REPORT = without_marks(REPORT)
"""The variable that tells of a subscript out of range: any worker may write it, and only that is told."""


class Elements:
    """An array as compiled code sees it: shared by all workers, or one worker's own copy.

    A worker's own copy is only for values that one task writes and reads: the next task may be another worker's.
    A copy to add up in, which is made anew for each region, is the worker's alone.
    """

    def __init__(self, array: np.ndarray, name: str, own: bool, interpreter: Interpreter, layout: str = "C"):
        self.array, self.name, self.own, self.interpreter = array, name, own, interpreter
        self.layout = layout
        self.writers, self.readers = interpreter.history(array)

    def __getitem__(self, subscripts: Any) -> Any:
        position = self._position(subscripts)
        team = self.interpreter.team
        if team is not None:
            task = team.tasks[team.current]
            writer = self.writers.get(position, NO_TASK)
            if self.own and self.name.endswith("_sums"):
                if position not in self.writers:
                    raise RaceError(f"{self._place(position)} has not been cleared")
            elif not self.own:
                self._check(writer, task, position, "is written")
                newest = self.readers.get(position, (NO_TASK, NO_TASK))
                if task not in newest:
                    self.readers[position] = (max(task, newest[0]), max(min(task, newest[0]), newest[1]))
            elif writer != task:
                raise RaceError(f"{self._place(position)} of one worker is read by task {task}, which did not write it")
        return self.array[position]

    def __setitem__(self, subscripts: Any, value: Any) -> None:
        position = self._position(subscripts)
        team = self.interpreter.team
        if team is not None:
            task = team.tasks[team.current]
            if not self.own:
                self._check(self.writers.get(position, NO_TASK), task, position, "is written")
                for reader in self.readers.get(position, ()):
                    self._check(reader, task, position, "is read")
            self.writers[position] = task
        self.array[position] = value

    def ended(self, number: int) -> bool:
        """Whether the array, a flag, says that a loop has ended before an iteration; what says so has been waited for.

        It may be set while that is asked, which must make no difference.
        """
        flag, writer, team = int(self.array[0]), self.writers.get((0,), NO_TASK), self.interpreter.team
        is_over = flag != 0 and flag <= number
        if is_over and team is not None:
            self._check(writer, team.tasks[team.current], (0,), "is written")
        return is_over

    def _position(self, subscripts: Any) -> tuple[int, ...]:
        position = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(position) != self.array.ndim or not all(
            0 <= subscript < extent for subscript, extent in zip(position, self.array.shape, strict=True)
        ):
            raise IndexError(f"{self._place(position)} is outside the shape {self.array.shape}")
        return position

    def _check(self, other: int, task: int, position: tuple[int, ...], what: str) -> None:
        team = self.interpreter.team
        if self.name.startswith(_REPORT):
            return
        if team is not None and other not in (task, NO_TASK) and other >= team.waited[team.current]:
            what = f"{self._place(position)} {what}"
            raise RaceError(f"{what} by task {other} and touched by task {task} with no wait between them")

    def _place(self, position: tuple[int, ...]) -> str:
        return f"{self.name}[{', '.join(str(subscript) for subscript in position)}]"


class _Values:
    """The values of one call, checked: all arrays in memory, numbers, and parameters."""

    def __init__(self, module: Mapping[str, Any], values: Sequence[Any]):
        self.module, self.values = module, values
        if "require" in module:
            module["require"](*values)
        self.parameters: tuple[int, ...] = module["parameters"](*values)
        given = dict(zip(module["ARGUMENTS"], values, strict=True))
        named = zip(module["PARAMETERS"], self.parameters, strict=True)
        self.extra = [value for name, value in named if name not in module["ARGUMENTS"]]
        module["check"](*values, *self.extra)
        if module["INDEXES"]:
            module["check_indexes"](*values, *self.extra)
        self.scratch = module["scratch"](*values, *self.extra) if module["SCRATCH"] else ()
        self.arrays: dict[str, np.ndarray] = {name: given[name] for name in module["ARRAYS"]}
        self.arrays.update(zip(module["SCRATCH"], self.scratch, strict=True))
        self.scalars = {name: given[name] for name in module["SCALARS"]}

    def context(
        self, part: Sequence[int], tiles: Sequence[int], replaced: Mapping[str, np.ndarray] = MappingProxyType({})
    ) -> dict[int, Any]:
        """The context of a function of the module, some arrays replaced by others."""
        context: dict[int, Any] = {}
        position = STATE_LENGTH
        arrays = {**self.arrays, **replaced}
        for array, kind in zip(arrays.values(), map(parse_type, self.module["MEMORY"]), strict=True):
            assert isinstance(kind, ArrayType) and (array.dtype, array.ndim) == (np.dtype(kind.dtype), kind.ndim)
            context[position] = array
            position += array_words(kind)
        partitioned = self.module.get("PARTITIONED")
        unused = [0] * (0 if partitioned is None else partitioned.part_words - len(part))
        for value in (*self.scalars.values(), *self.parameters, *part, *unused, *tiles):
            context[position] = value
            position += 1
        return context

    def result(self) -> Any:
        """What the kernel returns.

        Raises:
            SubscriptError: a subscript was out of range while it ran.
        """
        if "verify" in self.module:
            self.module["verify"](*self.scratch)
        returned = self.module.get("result")
        return None if returned is None else returned(*self.values, *self.extra, *self.scratch)


def _without_errors(name: str) -> Callable[..., Any]:
    """A function of ``math`` that gives what C's library does where Python's raises an exception; of lanes, that of
    each."""
    function = getattr(math, name)
    quiet = getattr(np, _IN_NUMPY.get(name, name), None)

    def call(*arguments: Any) -> Any:
        if any(isinstance(argument, np.ndarray) and argument.ndim for argument in arguments):
            assert quiet is not None
            with np.errstate(all="ignore"):
                return quiet(*arguments)
        try:
            return function(*arguments)
        except (ValueError, OverflowError):
            assert quiet is not None
            with np.errstate(all="ignore"):
                return float(quiet(*map(float, arguments)))

    return call


_IN_NUMPY = {
    **{name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "atan2")},
    "pow": "power",
}
_MATH = SimpleNamespace(
    **{name: _without_errors(name) if callable(value) else value for name, value in vars(math).items()}
)


class _Integers:
    """An integer type of NumPy's that takes numbers of more bits as compiled code does: it wraps them round."""

    def __init__(self, kind: type[np.integer]):
        self.kind, self.dtype = kind, np.dtype(kind)

    def __call__(self, value: Any) -> np.integer:
        if isinstance(value, int) and not isinstance(value, bool):
            bits = 8 * self.dtype.itemsize
            value &= (1 << bits) - 1
            if self.dtype.kind == "i" and value >> (bits - 1):
                value -= 1 << bits
        return self.kind(value)


_NUMPY = SimpleNamespace(
    **{
        **vars(np),
        **{name: _Integers(getattr(np, name)) for name in ("int8", "int16", "int32", "int64")},
        **{name: _Integers(getattr(np, name)) for name in ("uint8", "uint16", "uint32", "uint64")},
    }
)


def _shifted_left(value: Any, amount: Any) -> Any:
    """NumPy's shift, 0 where no bit is left; a number of Python's stays within 64 bits."""
    if isinstance(value, np.integer):
        return np.left_shift(value, amount)
    return _NUMPY.int64(int(value) << int(min(amount, 64)))


def _number(context: Mapping[int, Any], position: int, dtype: str) -> Any:
    """A number of a type; those of 16 bits are computed with as ones of 32."""
    return getattr(np, "float32" if dtype == "float16" else dtype)(context[position])


class Interpreter:
    """Loads one generated module and runs its versions; a context is a dictionary from positions to what lies there."""

    def __init__(self, source: str):
        self.team: Team | None = None
        self._histories: dict[int, tuple[np.ndarray, dict, dict]] = {}
        replaced = {
            "math": _MATH,
            "numpy": _NUMPY,
            "numba": SimpleNamespace(njit=lambda **options: lambda function: function),
            "polytune.runtime.modules.compilation": SimpleNamespace(keeps_code=lambda file: False),
            "polytune.runtime.teams.team": SimpleNamespace(
                claim=lambda context, *region: self._team().claim(*region),
                complete=lambda context: self._team().complete(),
                wait=lambda context, target: self._team().wait(target),
            ),
            "polytune.runtime.intrinsics.private_sums": SimpleNamespace(
                complete_all=lambda context, tasks: self._team().complete_all(tasks),
                enter=lambda context, *turn: self._team().enter(*turn),
                leave=lambda context, piece: self._team().leave(piece),
                pieces=lambda workers: self._team().pieces(workers),
            ),
            "polytune.runtime.teams.context": SimpleNamespace(
                attach=self._attach,
                integer=lambda context, position: context[position],
                number=_number,
            ),
            "polytune.runtime.intrinsics.memory": SimpleNamespace(
                view=lambda array, name, names, order=None: Elements(array, name, True, self),
                keep_alive=lambda array: None,
                one_by_one=lambda: None,
            ),
            "polytune.runtime.intrinsics.arithmetic": SimpleNamespace(
                least=least,
                greatest=greatest,
                complex_quotient=np.true_divide,
                quotient=operator.floordiv,
                floor_quotient=operator.floordiv,
                remainder=operator.mod,
                power=power,
                library_pow=operator.pow,
                frozen=lambda value: value,
                rounded=lambda value: value,
                shifted_left=_shifted_left,
                shifted_right=lambda value, amount: value >> min(amount, 63),
            ),
            "polytune.runtime.intrinsics.early_ends": SimpleNamespace(
                has_ended=lambda flag, number: flag.ended(number)
            ),
            "polytune.runtime.intrinsics.half_precision": SimpleNamespace(
                half_value=np.float32,
                half_bits=np.float16,
                half_rounded=lambda value: np.float32(np.float16(value)),
            ),
            "polytune.runtime.intrinsics.library": SimpleNamespace(
                memory_of=PartOfArray,
                call_library=lambda context, *call: _call_library(*call),
                has_failed=lambda context: False,
                library_error=None,
            ),
            "polytune.runtime.intrinsics.vectors": VECTORS,
            "polytune.runtime.intrinsics.vectors_apart": VECTORS_APART,
        }

        def load(name: str, *arguments: Any, **keywords: Any) -> Any:
            return replaced.get(name) or builtins.__import__(name, *arguments, **keywords)

        self.module: dict[str, Any] = {
            "__name__": "interpreted",
            "__file__": "<generated module>",
            "__builtins__": {**vars(builtins), "__import__": load},
        }
        exec(compile(source, "<generated module>", "exec"), self.module)
        self.space = self.module["space"]()
        self._versions: dict[str, Version] = {version.name: version for version in self.module["VERSIONS"]}

    def run(self, configuration: Mapping[str, Any], values: Sequence[Any], seed: int) -> Any:
        """One call in one configuration, its tasks in an order that the seed decides; what the kernel returns.

        Sizes that the configuration does not have are those that the version starts from.
        """
        return self.prepared(values)(configuration, seed)

    def prepared(self, values: Sequence[Any]) -> Callable[[Mapping[str, Any], int], Any]:
        """A call whose arguments are checked; it takes the configuration to run, and a seed for the order of tasks.

        Raises:
            ArgumentError: an array is too small for the accesses, or a number in an index array is out of range.
        """
        call = _Values(self.module, values)

        def run(configuration: Mapping[str, Any], seed: int) -> Any:
            version = self._versions[configuration["version"]]
            tiles = [configuration.get(size, first) for size, first in version.sizes.items()]
            unused = [0] * (self.most_tiles - len(tiles))
            context = call.context((), (*tiles, *unused))
            self._work(version.function, configuration["threads"] if version.team else 0, context, seed)
            return call.result()

        return run

    def execution(self) -> Execution:
        """What runs the version that is shared with devices, on those that there are."""
        module = self.module
        return Execution(module["NAME"], module["PARTITIONED"], devices(), contract=not module["STRICT"])

    def run_partitioned(self, execution: Execution, plan: CallPlan, values: Sequence[Any], seed: int) -> Any:
        """One call shared among platforms; the processor's parts are interpreted.

        A device that fails makes the test fail: the processor must not serve its call.
        """
        call = _Values(self.module, values)
        tiles = [plan.configuration.get(f"tile_{member}", 2) for member in range(self.most_tiles)]

        def run_part(part: Part, integers: tuple[int, ...], threads: int, replaced: Mapping[str, np.ndarray]) -> None:
            self._work(part.run, threads or 2 if part.team else 0, call.context(integers, tiles, replaced), seed)

        temporary = frozenset(() if "result" in self.module else self.module["SCRATCH"])
        report = execution.run(SharedCall(call.arrays, call.scalars, call.parameters, plan, run_part, temporary))
        if report.failure is not None:
            raise report.failure
        return call.result()

    @property
    def most_tiles(self) -> int:
        """The largest number of sizes of tiles that anything in the module takes."""
        partitioned = self.module.get("PARTITIONED")
        parts = () if partitioned is None else partitioned.parts
        return max((*(len(version.sizes) for version in self._versions.values()), *(part.tiles for part in parts)))

    def _work(self, function: Callable[[Any], object], workers: int, context: dict[int, Any], seed: int) -> None:
        """Run a function of a context, by a team where there are workers."""
        self._histories = {}
        if workers:
            self.team = Team(workers, seed)
            try:
                self.team.run(lambda worker, of: function(context, worker, of))
            finally:
                self.team = None
        else:
            function(context)

    def history(self, array: np.ndarray) -> tuple[dict, dict]:
        """Who wrote and who read the elements of an array; the array is kept, so that its identity stays its own."""
        _, writers, readers = self._histories.setdefault(id(array), (array, {}, {}))
        return writers, readers

    def _attach(
        self, context: dict[int, Any], position: int, kind: str, name: str, names: str, order: str = ""
    ) -> Elements:
        assert name in names.split(), f"{name} is none of the arrays {names!r}"
        array = parse_type(kind)
        assert isinstance(array, ArrayType)
        return Elements(context[position], name, False, self, array.layout)

    def _team(self) -> Team:
        assert self.team is not None, "an operation of a team outside a team"
        return self.team
