"""A finite search space as a table: what searches work on that compare, count and combine whole configurations."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from polytune.errors import SpaceError
from polytune.records import dataclass
from polytune.tuner.spaces.condition import plain_value
from polytune.tuner.spaces.parameters import Nominal
from polytune.tuner.spaces.space import Space
from polytune.tuner.spaces.tabulation import MAX_LEVELS, nearest_row, tabulate

_SEED = 0x5EED  # of the multipliers of a hash; any would do


@dataclass(frozen=True, eq=False, repr=False)
class FiniteSpace:
    """The configurations of a finite space, numbered in lexicographic order; immutable.

    A configuration is a row of level indices.  A parameter that does not exist in some configurations has, as its
    last level, None.

    Attributes:
        names: the parameters.
        levels: per parameter its values; of those with an order from one end to the other.
        ordered: per parameter whether its levels have an order (numbers and ordinals) or are mere names.
        rows: (n, parameters) uint16 level indices, in lexicographic order, each column contiguous; read only.
        deciding: the columns of the parameters that decide whether others are active; where it is not given, all.

    Raises:
        SpaceError: there is no row, a row is there twice, or the table does not fit the levels.

    >>> from polytune.tuner import Integer, Is, Nominal, Space
    >>> from polytune.tuner.spaces.finite import FiniteSpace
    >>> space = FiniteSpace.from_space(Space([
    ...     Nominal("version", ("source_order", "tiled")),
    ...     Integer("tile", 8, 64, powers_of_two=True, when=Is("version", "tiled")),
    ... ]))
    >>> len(space), space.levels[1]
    (5, (8, 16, 32, 64, None))
    >>> space.configuration(0), space.configuration(2)
    ({'version': 'source_order'}, {'version': 'tiled', 'tile': 16})
    """

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    ordered: tuple[bool, ...]
    rows: np.ndarray
    deciding: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows)
        if not len(self.names) == len(self.levels) == len(self.ordered) or rows.shape[1:] != (len(self.names),):
            raise SpaceError(f"a table of {len(self.names)} parameters cannot have rows of the shape {rows.shape}")
        if not len(rows):
            raise SpaceError("the space is empty: it has no configuration at all")
        for name, values, largest in zip(self.names, self.levels, rows.max(axis=0).tolist(), strict=True):
            if not largest < len(values) <= MAX_LEVELS + 1:
                raise SpaceError(f"parameter {name!r} has {len(values)} levels, but level {largest} in a row")
        order = np.lexsort(rows.T[::-1]) if len(self.names) else np.arange(len(rows))
        if (order[1:] < order[:-1]).any():
            rows = rows[order]
        rows = np.array(rows, np.uint16, order="F")
        rows.flags.writeable = False
        object.__setattr__(self, "rows", rows)
        same = np.flatnonzero(np.logical_and.reduce(rows[1:] == rows[:-1], axis=1))
        if same.size:
            raise SpaceError(f"the configuration {self.configuration(int(same[0]))} is there more than once")

    @classmethod
    def from_space(cls, space: Space, *, levels: int | None = None) -> FiniteSpace:
        """The table of all configurations of a space.

        Args:
            space: the space.
            levels: how many evenly spaced values stand for each `Ratio` parameter.

        Raises:
            SpaceError: a parameter is a real number and `levels` is not given, or there are too many configurations.
        """
        values, rows = tabulate(space, levels=levels)
        ordered = tuple(not isinstance(parameter, Nominal) for parameter in space.parameters)
        names = [parameter.name for parameter in space.parameters]
        looked_at = {name for p in space.parameters if p.when is not None for name in p.when.names()}
        deciding = tuple(column for column, name in enumerate(names) if name in looked_at)
        return cls(tuple(names), tuple(values), ordered, rows, deciding)

    @classmethod
    def from_configurations(cls, names: Sequence[str], configurations: Iterable[Mapping[str, Any]]) -> FiniteSpace:
        """The table of the configurations given, which may come in any order.

        A parameter whose values are all numbers (not booleans) is ordered by them; the values of another have the
        order in which they appear, which means nothing.  A parameter missing from a configuration, or None in it, is
        inactive there.

        Raises:
            SpaceError: there is none, one is given twice, or one has a parameter that is not among the names.
        """
        known: list[dict[tuple[bool, Any], int]] = [{} for _ in names]  # True is not 1
        table = []
        for number, configuration in enumerate(configurations):
            unknown = configuration.keys() - set(names)
            if unknown:
                raise SpaceError(
                    f"configuration {number} has the parameter {min(unknown)!r}; the parameters are {', '.join(names)}"
                )
            row = []
            for name, levels in zip(names, known, strict=True):
                value = plain_value(configuration.get(name))
                row.append(levels.setdefault((isinstance(value, bool), value), len(levels)))
            table.append(row)
        rows = np.array(table, np.int64).reshape(len(table), len(names))
        values, ordered = [], []
        for column, levels in enumerate(known):
            present = [value for _, value in levels]
            active = [value for value in present if value is not None]
            ordered.append(all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in active))
            wanted = (sorted(active) if ordered[-1] else active) + [None] * (len(active) < len(present))
            position = {(isinstance(value, bool), value): index for index, value in enumerate(wanted)}
            rows[:, column] = np.array([position[key] for key in levels], np.int64)[rows[:, column]]
            values.append(tuple(wanted))
        return cls(tuple(names), tuple(values), tuple(ordered), rows)

    def __deepcopy__(self, memo: object) -> FiniteSpace:
        return self

    def __len__(self) -> int:
        """The number of configurations."""
        return len(self.rows)

    def __repr__(self) -> str:
        return f"FiniteSpace({len(self)} configurations of {', '.join(self.names)})"

    def configuration(self, index: int) -> dict[str, Any]:
        """The values of the parameters that are active in a configuration."""
        chosen = zip(self.names, self.levels, self.rows[index].tolist(), strict=True)
        return {name: levels[level] for name, levels, level in chosen if levels[level] is not None}

    @cached_property
    def inactive(self) -> tuple[int | None, ...]:
        """The level of each parameter that stands for its absence; None where it is always there."""
        return tuple(len(levels) - 1 if levels and levels[-1] is None else None for levels in self.levels)

    # ---- finding rows: a number for each row, sorted

    @cached_property
    def _numbering(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return what a level counts in the number of a row; the rows' numbers, ascending; and which row has each.

        Numbers to the mixed base of the level counts where 63 bits hold them: then the rows themselves ascend, and the
        last is None.  Else the weights are random odd multipliers modulo 2^64 that give no two rows the same number.
        """
        weights, size = [], 1
        for levels in reversed(self.levels):
            weights.append(size)
            size *= len(levels)
        if size < 1 << 63:
            mixed_base = np.array(weights[::-1], np.int64)
            return mixed_base, self._weigh(mixed_base), None
        rng = np.random.default_rng(_SEED)
        while True:
            multipliers = rng.integers(-(1 << 63), 1 << 63, len(self.levels), np.int64) | 1
            numbers = self._weigh(multipliers)
            order = np.argsort(numbers, kind="stable")
            numbers = numbers[order]
            if (numbers[1:] > numbers[:-1]).all():
                return multipliers, numbers, order

    def _weigh(self, weights: np.ndarray) -> np.ndarray:
        numbers = np.zeros(len(self), np.int64)
        for column, weight in enumerate(weights):
            numbers += self.rows[:, column].astype(np.int64) * weight
        return numbers

    @property
    def weights(self) -> np.ndarray:
        """Return what a level of each parameter counts in the number by which a row is found: int64, modulo 2^64."""
        return self._numbering[0]

    def rows_numbered(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The row that has each number, and whether there is one.

        Args:
            numbers: int64 of any shape, as `weights` gives them to rows; where none has a number, the first result
                means nothing.
        """
        _, known, order = self._numbering
        place = np.minimum(known.searchsorted(numbers), len(known) - 1)
        return place if order is None else order[place], known[place] == numbers

    def index_of(self, levels_row: Sequence[int] | np.ndarray) -> int | None:
        """The number of the configuration with these levels; None if it is not valid.

        Args:
            levels_row: (parameters,) integers, a level per parameter.
        """
        row = levels_row.tolist() if isinstance(levels_row, np.ndarray) else list(levels_row)
        number = sum(map(operator.mul, row, self._python_weights))
        _, known, order = self._numbering
        # Python's numbers have no bounds: back to what is left of it modulo 2^64.
        place = int(known.searchsorted(np.int64((number + (1 << 63)) % (1 << 64) - (1 << 63))))
        if place == len(known):
            return None
        index = place if order is None else int(order[place])
        return index if self.rows[index].tolist() == row else None

    @cached_property
    def _python_weights(self) -> list[int]:
        return [int(weight) for weight in self.weights]

    # ---- neighbourhoods

    def neighbours(self, index: int, hamming: int = 1, adjacent: bool = False) -> np.ndarray:
        """The valid configurations that differ from one in at least one and at most `hamming` parameters.

        Where the change of one parameter makes others appear or vanish, there is one neighbour with that change, in
        which those that appear have their middle levels or, where these are not valid together, levels close to them.

        Args:
            index: the configuration.
            hamming: the largest number of parameters that differ; above two, the whole table is searched.
            adjacent: the levels of ordered parameters differ by one at most.

        Returns:
            Ascending indices.
        """
        return _neighbours(self, index, hamming, adjacent)

    def nearest(self, levels_row: Sequence[float] | np.ndarray) -> int:
        """A valid configuration close to a row of levels that need be neither whole nor valid.

        Close is a small sum, over the parameters that are active in both, of the share of its levels that lies
        between for an ordered one, and of one for another that differs.  Mostly it is the closest one; the search for
        that is cut off after a while.

        Args:
            levels_row: a level per parameter; NaN where nothing is wanted.
        """
        target = np.asarray(levels_row, float)
        if not np.isnan(target).any():
            whole = np.rint(target).astype(np.int64)
            index = self.index_of(np.clip(whole, 0, [len(levels) - 1 for levels in self.levels]))
            if index is not None:
                return index
        return nearest_row(self.rows, _distances(self, target))

    # ---- as numbers, for models

    def features(self) -> np.ndarray:
        """Each configuration as real numbers from 0 to 1, for models: (n, columns) float64.

        An ordered parameter is one column, its level as a share of the way from the first to the last: the rank
        rather than the value, as the values of tuning parameters mostly grow by ratio.  Where it can be inactive, its
        value is 1/2 there, and another column tells with 1 that it is active.  Another parameter is one column per
        level with 1 where it has that level (a single column if there are two levels).  A parameter with one level
        has no column.
        """
        return self.encode(self.rows)

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return what `features` says of some rows of levels, (m, parameters)."""
        columns: list[np.ndarray] = []
        for column, levels in enumerate(self.levels):
            level = rows[:, column]
            absence = self.inactive[column]
            if self.ordered[column]:
                active = np.ones(len(rows), bool) if absence is None else level != absence
                steps = len(levels) - 1 - (absence is not None)
                if steps:
                    columns.append(np.where(active, level / steps, 0.5))
                if absence is not None:
                    columns.append(active.astype(float))
            elif len(levels) == 2:
                columns.append((level == 1).astype(float))
            elif len(levels) > 2:
                columns.extend((level == number).astype(float) for number in range(len(levels)))
        return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))


def _neighbours(space: FiniteSpace, index: int, hamming: int, adjacent: bool) -> np.ndarray:
    """See `FiniteSpace.neighbours`: found by looking up the numbers of the rows that may be."""
    row = space.rows[index].astype(np.int64)
    sizes = [len(levels) for levels in space.levels]
    columns = np.repeat(np.arange(len(sizes)), sizes)
    levels = np.concatenate([np.arange(size) for size in sizes]) if sizes else columns
    wanted = levels != row[columns]
    if adjacent:
        ordered = np.array(space.ordered, bool)[columns]
        appears = _is_absence(space, columns, levels) | _is_absence(space, columns, row[columns])
        wanted &= ~ordered | appears | (abs(levels - row[columns]) == 1)
    columns, levels = columns[wanted], levels[wanted]
    if hamming > 2:
        return _scan(space, row, hamming, columns, levels)
    number = (row * space.weights).sum()
    steps = (levels - row[columns]) * space.weights[columns]
    numbers = [number + steps]
    if hamming == 2:
        one, other = np.array(list(combinations(range(len(steps)), 2)), int).reshape(-1, 2).T
        numbers.append((number + steps[one] + steps[other])[columns[one] != columns[other]])
    rows, valid = space.rows_numbered(np.concatenate(numbers))
    found = rows[valid]
    # A row found by a hash may be another one; what counts is how far it is.
    found = found[(space.rows[found] != row).sum(axis=1) <= hamming]
    if any(level is not None for level in space.inactive):
        missing = ~valid[: len(steps)]
        if space.deciding is not None:
            missing &= np.isin(columns, space.deciding)
        found = np.concatenate([found, _activations(space, row, columns[missing], levels[missing])])
    return np.unique(found[found != index]).astype(np.int64)


def _is_absence(space: FiniteSpace, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
    absent = np.array([-1 if level is None else level for level in space.inactive])
    is_absent: np.ndarray = levels == absent[columns]
    return is_absent


def _scan(space: FiniteSpace, row: np.ndarray, hamming: int, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The rows with few differences, each to one of the levels given, by looking at every row."""
    allowed = [np.zeros(len(values), bool) for values in space.levels]
    for column, level in zip(columns, levels, strict=True):
        allowed[column][level] = True
    differing = np.zeros(len(space), np.int64)
    within = np.ones(len(space), bool)
    for column, level in enumerate(row):
        differs = space.rows[:, column] != level
        differing += differs
        within &= ~differs | allowed[column][space.rows[:, column]]
    return np.flatnonzero(within & (differing > 0) & (differing <= hamming))


def _activations(space: FiniteSpace, row: np.ndarray, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The neighbours whose other differences are parameters that appear or vanish."""
    found = []
    here = np.arange(len(row))
    absent = _is_absence(space, here, row)
    for column, level in zip(columns.tolist(), levels.tolist(), strict=True):
        if absent[column] or space.levels[column][level] is None:
            continue  # it appears or vanishes by the change of another
        target = np.where(absent, np.nan, row).astype(float)
        target[column] = level
        index = nearest_row(space.rows, _distances(space, target, decisive=column))
        differs = space.rows[index] != row
        differs[column] = space.rows[index, column] != level
        if not (differs & ~absent & ~_is_absence(space, here, space.rows[index])).any():
            found.append(index)
    return np.array(found, np.int64)


def _distances(space: FiniteSpace, target: np.ndarray, decisive: int | None = None) -> list[np.ndarray]:
    """The distance of each level from the target, column by column: nothing where either is the absence of the
    parameter.

    Where nothing is wanted, or absence but there is none, the middle level is slightly better than others.

    Args:
        space: whose levels.
        target: (parameters,) levels; not a number where nothing is wanted.
        decisive: a column whose distance outweighs all others.
    """
    found = []
    for size, absence, ordered, wanted in zip(
        map(len, space.levels), space.inactive, space.ordered, target.tolist(), strict=True
    ):
        level = np.arange(size)
        active = size - (absence is not None)
        if math.isnan(wanted) or round(wanted) == absence:
            away = abs(level - active // 2) / (4 * size)
        elif ordered:
            away = np.minimum(abs(level - wanted) / max(active - 1, 1), 1.0)
        else:
            away = (level != round(wanted)).astype(float)
        if absence is not None:
            away[absence] = 0.0
        found.append(away)
    if decisive is not None:
        found[decisive] = found[decisive] * 1e6
    return found
