"""The bytes that cross a network in a call with arrays in chunks: by its tasks, beside the least that there can be.

There is a worker for each chunk of the array with the most chunks, and other arrays' chunks are where they belong by
their places.  A task runs where most of what it takes is, as schedulers have it, and what it takes from elsewhere is
sent once to each worker that needs it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from math import prod
from typing import Any

import dask
import dask.array
import numpy as np

from benchmarks.scale.halos import Holders, PartAccesses, inside
from polytune import Kernel
from polytune.records import dataclass
from polytune.shards.assembly import add_to, add_up, cut_out, cut_out_all, item_of, put_together
from polytune.shards.boxes import spans
from polytune.shards.call import types_of
from polytune.shards.code import run_shard

__all__ = ["Traffic", "traffic_of"]

ELSEWHERE = -1
"""Stands for the client, which sends arrays of NumPy and the code."""


@dataclass(frozen=True)
class Traffic:
    """The bytes that a call sends between workers.

    Attributes:
        workers: how many there are, one for each chunk of the array with the most chunks.
        shards, tasks: how many tasks run shards, and how many there are.
        sent: the bytes that its tasks send.
        least: the bytes of the elements that the workers' iterations read and have not, and of what has to be put
            together at the end, each once.
    """

    workers: int
    shards: int
    tasks: int
    sent: int
    least: int


def traffic_of(kernel: Kernel, arguments: Mapping[str, Any], steps: int = 1) -> Traffic:
    """The traffic of a call, of which nothing is computed.

    Args:
        kernel: the kernel.
        arguments: its arguments by name, arrays of Dask among them.
        steps: how many steps of loops over time there are for each exchange.
    """
    values = tuple(arguments[name] for name in inspect.signature(kernel.__wrapped__).parameters)
    with dask.config.set({"polytune.steps-per-exchange": steps}):
        returned = kernel(*values)
    results = [each for each in (returned if isinstance(returned, tuple) else (returned,)) if each.ndim]
    tasks: dict[Any, Any] = {}
    for array in results:
        tasks |= dict(array.__dask_graph__())
    placed = _Placed(tasks, [value for value in values if isinstance(value, dask.array.Array)])
    for array in results:
        for key in _keys_of(array):
            placed.place(key)
    least = _least(kernel, arguments, values, placed, results)
    return Traffic(placed.workers, len(placed.shards), len(placed.worker_of), placed.sent, least)


def _keys_of(array: dask.array.Array) -> Iterator[Any]:
    for index, _ in spans(array.chunks):
        yield (array.name, *index)


@dataclass
class _Value:
    """The size of a task's result: bytes, those of each item, and those of an element."""

    items: tuple[int, ...]
    itemsizes: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return sum(self.items)


class _Placed:
    """The tasks of a call on workers.

    Args:
        tasks: the tasks by their keys.
        arguments: the arrays of Dask among the arguments.

    Attributes:
        workers: how many workers there are.
        worker_of: by key, where each task is.
        shards: the keys of those that run shards.
        sent: the bytes that are sent.
    """

    def __init__(self, tasks: Mapping[Any, Any], arguments: list[dask.array.Array]):
        self.tasks, self.worker_of, self.shards, self.sent = tasks, {}, [], 0
        leader = max(arguments, key=lambda array: (prod(array.numblocks), array.nbytes))
        self.workers = prod(leader.numblocks)
        self._values: dict[Any, _Value] = {}
        self._moved: set[tuple[Any, int]] = set()
        self._given: set[Any] = set()
        for array in arguments:
            for index, box in spans(array.chunks):
                key = (array.name, *index)
                size = prod(stop - start for start, stop in box) * array.itemsize
                self._values[key] = _Value((size,), (array.itemsize,))
                self.worker_of[key] = home_of(box, array.shape, leader)
                self._given.add(key)

    def place(self, key: Any) -> None:
        """Place a task, and before it all that it takes."""
        waiting = [key]
        while waiting:
            key = waiting[-1]
            missing = [each for each in self._taken(key) if each not in self.worker_of]
            waiting += missing
            if not missing:
                waiting.pop()
                if key not in self.worker_of:
                    self._run(key)

    def _taken(self, key: Any) -> list[Any]:
        """The keys of what a task takes."""
        if key in self._given:
            return []
        task = self.tasks[key]
        if _is_key(task):
            return [task]
        if not isinstance(task, tuple):
            return []
        arguments = [part for each in task[1:] for part in (each[1:2] if _is_item(each) else (each,))]
        return [each for each in arguments if _is_key(each) and each in self.tasks]

    def _run(self, key: Any) -> None:
        task, taken = self.tasks[key], self._taken(key)
        self._values[key] = self._value(task)
        by_worker: dict[int, int] = {}
        for each in taken:
            worker = self.worker_of[each]
            if worker != ELSEWHERE:
                by_worker[worker] = by_worker.get(worker, 0) + self._values[each].nbytes
        if by_worker:
            worker = max(sorted(by_worker), key=by_worker.__getitem__)
        elif _is(task, run_shard):
            worker = len(self.shards) % self.workers
        else:
            worker = ELSEWHERE
        self.worker_of[key] = worker
        if _is(task, run_shard):
            self.shards.append(key)
        for each in taken:
            if self.worker_of[each] != worker and (each, worker) not in self._moved:
                self._moved.add((each, worker))
                self.sent += self._values[each].nbytes

    def _value(self, task: Any) -> _Value:
        """The bytes of what a task gives; none of the code."""
        if isinstance(task, np.ndarray):
            return _Value((task.nbytes,), (task.itemsize,))
        if _is_key(task):
            return self._values[task]
        if not isinstance(task, tuple):
            return _Value((0,), (1,))
        if _is(task, run_shard):
            itemsizes = {each.name: np.dtype(each.dtype).itemsize for each in task[5].value}
            sizes = [(_elements(each.box), itemsizes[each.name]) for each in task[6].value]
            return _Value(tuple(number * size for number, size in sizes), tuple(size for _, size in sizes))
        if _is(task, item_of):
            whole = self._values[task[1]]
            return _Value((whole.items[task[2]],), (whole.itemsizes[task[2]],))
        if _is(task, put_together) or _is(task, add_to):
            itemsize = np.dtype(task[2]).itemsize
            return _Value((prod(task[1]) * itemsize,), (itemsize,))
        if _is(task, add_up):
            (itemsize,) = self._values[task[2]].itemsizes
            return _Value((_elements(task[1].value[1]) * itemsize,), (itemsize,))
        if _is(task, np.full):
            itemsize = np.dtype(task[3]).itemsize
            return _Value((prod(task[1]) * itemsize,), (itemsize,))
        (itemsize,) = self._values[task[1]].itemsizes
        places = [task[2]] if _is(task, cut_out) else task[2].value
        assert _is(task, cut_out) or _is(task, cut_out_all), task[0]
        sizes = [prod(axis.stop - axis.start for axis in place) * itemsize for place in places]
        return _Value(tuple(sizes), (itemsize,) * len(sizes))


def home_of(box: tuple[tuple[int, int], ...], shape: tuple[int, ...], leader: dask.array.Array) -> int:
    """The worker of a chunk: that of the leader's chunk at the same place, axes being told apart from the first on.

    Args:
        box: the chunk.
        shape: its array's.
        leader: the array of whose chunks each has a worker.
    """
    index = []
    for axis, extents in enumerate(leader.chunks):
        place = 0.0
        if axis < len(box):
            start, stop = box[axis]
            place = (start + stop - 1) / 2 / max(shape[axis], 1) * sum(extents)
        ends = np.cumsum(extents)
        index.append(min(int(np.searchsorted(ends, place, side="right")), len(extents) - 1))
    return int(np.ravel_multi_index(index, leader.numblocks))


def _is(task: Any, function: Callable[..., Any]) -> bool:
    return isinstance(task, tuple) and bool(task) and task[0] is function


def _is_key(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], str)


def _is_item(argument: Any) -> bool:
    """Return whether an argument is an item of what another task gives, which is sent as a whole."""
    return _is(argument, item_of)


def _elements(box: tuple[tuple[int, int], ...]) -> int:
    return prod(stop - start for start, stop in box)


def _least(
    kernel: Kernel,
    arguments: Mapping[str, Any],
    values: tuple[Any, ...],
    placed: _Placed,
    results: list[dask.array.Array],
) -> int:
    """The bytes of the elements that have to be sent between the workers of shards."""
    stages = kernel.stages(types_of(tuple(arguments), values))
    holders, itemsizes = Holders(), {}
    for name, value in zip(arguments, values, strict=True):
        if isinstance(value, dask.array.Array):
            for index, box in spans(value.chunks):
                holders.begin_with(name, placed.worker_of[(value.name, *index)], box)
        elif isinstance(value, np.ndarray):
            holders.begin_with(name, ELSEWHERE, tuple((0, extent) for extent in value.shape))
    shards = sorted(placed.shards, key=lambda key: key[1])
    accesses: PartAccesses | None = None
    known: dict[str, Any] = {}
    for _, layer in groupby(shards, key=lambda key: key[1]):
        written, sums = [], set()
        for key in layer:
            task, worker = placed.tasks[key], placed.worker_of[key]
            taken = {each.name: each for each in task[5].value}
            itemsizes |= {name: np.dtype(each.dtype).itemsize for name, each in taken.items()}
            sums |= {name for name, each in taken.items() if each.operator is not None}
            accesses = accesses or PartAccesses(stages.scop, stages.shard_plan, task[3])
            needed, own = _needed_and_written(accesses, task[2].value)
            known |= own
            holders.need(worker, {name: each for name, each in needed.items() if name in taken and name not in sums})
            # What is computed beside that of several steps is of a step before the last one.
            given = {output.name: output.box for output in task[6].value if output.name in own}
            written.append((worker, {name: inside(own[name], box) for name, box in given.items()}))
        holders.write(written, sums)
    # Results that are no arguments come after those that are.
    for name, array in zip(_written(placed, arguments), results, strict=False):
        if name in known:
            for _, box in spans(array.chunks):
                holders.gather(name, box, known[name])
    return sum(number * itemsizes[name] for name, number in holders.sent.items())


def _written(placed: _Placed, arguments: Mapping[str, Any]) -> list[str]:
    """The arguments that a call writes, in order: those that shards give."""
    given = {output.name for key in placed.shards for output in placed.tasks[key][6].value}
    return [name for name in arguments if name in given]


def _needed_and_written(accesses: PartAccesses, runs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The elements that parts that run one after another need from before them, and those that they write."""
    needed: dict[str, Any] = {}
    written: dict[str, Any] = {}
    for number, integers in runs:
        reads, writes = accesses.of(number, integers)
        for name, elements in reads.items():
            before = written.get(name)
            rest = elements if before is None else elements.subtract(before)
            needed[name] = rest if name not in needed else needed[name].union(rest)
        for name, elements in writes.items():
            written[name] = elements if name not in written else written[name].union(elements)
    return needed, written
