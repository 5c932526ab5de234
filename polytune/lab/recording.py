"""A search space of which every configuration has been measured, or as many as there was time for."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from polytune.errors import RecordingError
from polytune.lab.place import FilePlace
from polytune.records import dataclass
from polytune.tuner.spaces.finite import FiniteSpace

OK = "ok"


@dataclass(frozen=True, eq=False)
class RecordedSpace:
    """The measured cost of each configuration of a space; it stands in for the measurement.

    Rows are numbered as in `space`: a row is one configuration.

    Attributes:
        name: what was tuned.
        device: where it ran; empty where the recording does not say.
        space: the configurations.
        seconds: (n,) float64, the median time of each row, infinite where it failed.
        measurements: for each row the single times in seconds, in the order in which they were made; none where it
            failed, and one where only a mean or a median was recorded.
        status: for each row ``"ok"``, or the recording's own word for how it failed.
        counters: by name (n,) float64, the performance counters; NaN where a row has none.
        compilation: (n,) float64, the seconds that compiling a row's code takes; 0 where that was not recorded.
        codes: (n,) int64, the number of each row's code: rows with the same one are compiled together, once.
    """

    name: str
    device: str
    space: FiniteSpace
    seconds: np.ndarray
    measurements: tuple[tuple[float, ...], ...]
    status: tuple[str, ...]
    counters: Mapping[str, np.ndarray] = field(default_factory=dict)
    compilation: np.ndarray = field(default_factory=lambda: np.zeros(0))
    codes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.seconds)

    def __repr__(self) -> str:
        return f"<recorded space {self.name}: {len(self)} configurations, {self.failed} of them failed>"

    @property
    def parameters(self) -> dict[str, tuple[Any, ...]]:
        """The values of each parameter that were recorded."""
        return dict(zip(self.space.names, self.space.levels, strict=True))

    def cost(self, index: int) -> float:
        """The median time of a row in seconds; infinite where it failed."""
        return float(self.seconds[index])

    @cached_property
    def best(self) -> int:
        """The fastest row."""
        return int(np.argmin(self.seconds))

    @property
    def optimum(self) -> float:
        """The time of the fastest row, in seconds."""
        return float(self.seconds[self.best])

    @cached_property
    def slowdowns(self) -> np.ndarray:
        """(n,) each row's time divided by the optimum; infinite where it failed."""
        return self.seconds / self.optimum

    @property
    def failed(self) -> int:
        """Return how many rows failed."""
        return int(np.isinf(self.seconds).sum())

    def counters_of(self, index: int) -> dict[str, float]:
        """The performance counters of a row.

        Raises:
            RecordingError: none were recorded.
        """
        if not self.counters:
            raise RecordingError(
                f"the recording of {self.name} has no performance counters; KTT and polytune tune --record write some "
                "that do"
            )
        return {name: float(values[index]) for name, values in self.counters.items()}


@dataclass
class _Row:
    configuration: Mapping[str, Any]
    times: list[float] = field(default_factory=list)
    status: str = OK
    counters: Mapping[str, float] = field(default_factory=dict)
    compilation: float = 0.0


class Recorder:
    """Collects rows, in any order, into a `RecordedSpace`.

    A configuration that comes several times is one row with all the measurements; if it ran at least once, it runs.

    Args:
        name, device: as for `RecordedSpace`.
        names: the parameters; a configuration may lack those that do not exist under the values of others.
        code: the parameters that decide what is compiled; None for all of them.
        absent: the value of a counter that a row lacks which has others.
    """

    def __init__(
        self,
        name: str,
        device: str,
        names: Sequence[str],
        *,
        code: Sequence[str] | None = None,
        absent: float = math.nan,
    ):
        self._name, self._device, self._names = name, device, tuple(names)
        self._code = tuple(code) if code else self._names
        self._absent = absent
        self._rows: dict[tuple[Any, ...], _Row] = {}

    def add(
        self,
        configuration: Mapping[str, Any],
        times: Sequence[float],
        status: str = OK,
        counters: Mapping[str, float] | None = None,
        *,
        compilation: float = 0.0,
        place: FilePlace,
    ) -> None:
        """Take one record.

        Args:
            configuration: the values of the parameters.
            times: in seconds, each finite and not negative; at least one if the status is ``"ok"``.
            status: ``"ok"``, or how it failed.
            counters: the performance counters.
            compilation: how many seconds compiling took.
            place: where the record stands, for refusals.

        Raises:
            RecordingError: the configuration has a parameter that is not declared, a value of a kind that no parameter
                can have, or it ran and there is no time.
        """
        for name, value in configuration.items():
            if name not in self._names:
                raise place.at(name).error(f"there is no such parameter; they are {', '.join(self._names)}")
            if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
                raise place.at(name).error(f"{value!r} is no value of a parameter; text, numbers, true and false are")
        if status == OK and not times:
            raise place.error("the configuration ran, but no time is recorded")
        key = tuple(
            (type(configuration[name]) is bool, configuration[name]) if name in configuration else None
            for name in self._names
        )
        row = self._rows.setdefault(key, _Row(configuration, status=status))
        if status == OK:
            row.status = OK
            row.times.extend(times)
        row.counters = counters or row.counters
        row.compilation = max(row.compilation, compilation)

    def __len__(self) -> int:
        return len(self._rows)

    def build(self, file: str) -> RecordedSpace:
        """The space as recorded.

        Args:
            file: what messages call the recording.

        Raises:
            RecordingError: nothing was recorded, nothing that ran, or no parameter.
        """
        rows = list(self._rows.values())
        if not self._names:
            raise RecordingError(f"{file}: there are no parameters, so that there is nothing to search for")
        if not any(row.status == OK for row in rows):
            what = f"all {len(rows)} configurations failed" if rows else "no configuration was recorded"
            raise RecordingError(f"{file}: {what}, so that there is nothing to search for")
        space = FiniteSpace.from_configurations(self._names, [row.configuration for row in rows])
        ordered = [rows[position] for position in _in_order_of(space, rows)]
        seconds = [statistics.median(row.times) if row.status == OK else math.inf for row in ordered]
        if min(seconds) == 0:
            raise RecordingError(f"{file}: a configuration takes no time at all, so that no slowdown can be told")
        names = dict.fromkeys(name for row in ordered for name in row.counters)
        codes, compilation = self._compilations(ordered)
        return RecordedSpace(
            name=self._name,
            device=self._device,
            space=space,
            seconds=np.array(seconds),
            measurements=tuple(tuple(row.times) if row.status == OK else () for row in ordered),
            status=tuple(row.status for row in ordered),
            counters={name: np.array([self._counter(row, name) for row in ordered]) for name in names},
            compilation=compilation,
            codes=codes,
        )

    def _counter(self, row: _Row, name: str) -> float:
        return row.counters.get(name, self._absent if row.counters else math.nan)

    def _compilations(self, rows: Sequence[_Row]) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each row's code, and how long that takes to compile: the longest that was recorded."""
        numbers: dict[tuple[Any, ...], int] = {}
        longest: list[float] = []
        codes = []
        for row in rows:
            key = tuple((type(row.configuration.get(name)) is bool, row.configuration.get(name)) for name in self._code)
            code = numbers.setdefault(key, len(numbers))
            if code == len(longest):
                longest.append(0.0)
            longest[code] = max(longest[code], row.compilation)
            codes.append(code)
        return np.array(codes, np.int64), np.array([longest[code] for code in codes])


def _in_order_of(space: FiniteSpace, rows: Sequence[_Row]) -> np.ndarray:
    """Return which of the rows is the space's first, second, ...: its table is in lexicographic order."""
    columns = []
    for name, levels in zip(space.names, space.levels, strict=True):
        index = {(type(level) is bool, level): position for position, level in enumerate(levels)}
        values = (row.configuration.get(name) for row in rows)
        columns.append([index[type(value) is bool, value] for value in values])
    return np.lexsort(columns[::-1])
