"""Calls with arrays in chunks: what is checked before any task is made, and what the call returns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import dask.array
import dask.config
import numpy as np
from dask.array import from_delayed
from dask.base import tokenize
from dask.delayed import delayed
from dask.highlevelgraph import HighLevelGraph

from polytune.errors import ArgumentError, SourceLocation
from polytune.records import dataclass
from polytune.runtime.calls.arguments import signature_of
from polytune.shards.boxes import spans
from polytune.shards.code import Quoted, ShardCode, module_of
from polytune.shards.exchange import begin, choose, identity_of
from polytune.shards.held import Held, Key, keys_of
from polytune.shards.plan import ShardPlan, planned
from polytune.shards.tasks import TaskBuilder
from polytune.signature import Signature

__all__ = ["ShardedKernel", "call_in_chunks", "holds_chunks", "plan_shards", "types_of"]


@dataclass(frozen=True)
class ShardedKernel:
    """A kernel whose regions can be cut.

    Attributes:
        module: the generated module of its shards.
        text: the module's text, for workers.
        places: where in the user's source now is what the module knows under other places.
    """

    module: ModuleType
    text: str
    places: Callable[[SourceLocation], SourceLocation]


def holds_chunks(values: Sequence[Any]) -> bool:
    """Return whether one of some arguments is an array of Dask."""
    return any(isinstance(value, dask.array.Array) for value in values)


def types_of(names: Sequence[str], values: Sequence[Any]) -> Signature:
    """The types of a call's arguments; shards get contiguous parts of arrays.

    Args:
        names: the kernel's parameters, in order.
        values: one value for each.

    Raises:
        ArgumentError: a value is of a kind or an element type that kernels cannot use, or chunks are not known, or
            empty.
    """
    for name, value in zip(names, values, strict=True):
        if isinstance(value, dask.array.Array):
            _check_chunks(name, value)
    return signature_of(names, [_stand_in(value) for value in values])


def _stand_in(value: Any) -> Any:
    """An argument of the same type in one piece, or the argument itself where it is no array."""
    if isinstance(value, dask.array.Array) or type(value) in (np.ndarray, np.memmap):
        return np.empty((1,) * value.ndim, value.dtype)
    return value


def _check_chunks(name: str, array: dask.array.Array) -> None:
    if type(array._meta) is not np.ndarray:
        raise ArgumentError(
            f"argument {name!r}: its chunks are of type {type(array._meta).__qualname__}, from "
            f"{type(array._meta).__module__}; pass {name}.map_blocks(numpy.asarray), the chunks of which are NumPy's"
        )
    if array.ndim == 0:
        raise ArgumentError(
            f"argument {name!r}: a dask array without dimensions has no elements to loop over; pass its value, "
            f"{name}.compute()[()]"
        )
    for axis, extents in enumerate(array.chunks):
        if any(np.isnan(extent) for extent in extents):
            raise ArgumentError(
                f"argument {name!r}: the sizes of its chunks along axis {axis} are not known, so that nothing can be "
                f"cut there; call {name}.compute_chunk_sizes() first"
            )
        if 0 in extents:
            raise ArgumentError(
                f"argument {name!r}: a chunk along axis {axis} is empty (chunks {extents}); pass "
                f"{name}.rechunk({{{axis}: 'auto'}}), or make no call where the array is empty"
            )


def call_in_chunks(kernel: ShardedKernel, names: Sequence[str], values: Sequence[Any]) -> Any:
    """Make the tasks of a call.

    Args:
        kernel: the kernel.
        names: its parameters, in order.
        values: the arguments.

    Returns:
        Arrays of Dask: what the call writes, in the order of the parameters, then what the kernel returns; in a tuple
        where there are several.

    Raises:
        ArgumentError: the arguments do not fit; no task has been made.
    """
    builder, _, parameters = _built(kernel, names, values, is_call=True)
    module = kernel.module
    made = functools.partial(_array, builder, [value for value in values if isinstance(value, dask.array.Array)])
    given = [made(name) for name in module.WRITTEN]
    if hasattr(module, "result"):
        given += _returned(module, values, parameters, builder, made, kernel.text)
    if len(given) == 1:
        return given[0]
    return tuple(given) if given else None


def plan_shards(kernel: ShardedKernel, names: Sequence[str], values: Sequence[Any]) -> ShardPlan:
    """The cut of a call, which is not made.

    Args:
        kernel: the kernel.
        names: its parameters, in order.
        values: the arguments.

    Raises:
        ArgumentError: the arguments do not fit.
    """
    if not holds_chunks(values):
        raise ArgumentError(
            f"{kernel.module.NAME}: calls with arrays of Dask are cut, and none of the arguments is one; pass "
            "dask.array.from_array(x, chunks=...) of those that are to be divided"
        )
    builder, arrays, _ = _built(kernel, names, values, is_call=False)
    return planned(kernel.module.NAME, builder, arrays)


def _built(
    kernel: ShardedKernel, names: Sequence[str], values: Sequence[Any], *, is_call: bool
) -> tuple[TaskBuilder, dict[str, Held], tuple[int, ...]]:
    """Check a call and make its tasks; the arrays as they were before it, and the parameters."""
    module = kernel.module
    parameters, extra = _checked(kernel, values)
    named = dict(zip(names, values, strict=True))
    for name in module.WRITTEN:
        if not isinstance(named[name], dask.array.Array):
            raise ArgumentError(
                f"argument {name!r}: the kernel writes to it, and it is a NumPy array among arrays of Dask, of which a "
                f"call returns new ones; pass dask.array.from_array({name}, chunks=...) and use what is returned"
            )
    token = tokenize(kernel.text, [_identity(value) for value in values])
    code: Key = (f"{module.NAME}-code-{token}", 0)
    tasks: dict[Key, Any] = {code: ShardCode(kernel.text)}
    held: dict[str, Held] = {}
    for name in module.ARRAYS:
        held[name], more = _taken_in(module.NAME, token, name, named[name])
        tasks |= more
    for name, (shape, dtype, first) in zip(module.SCRATCH, module.memory(*values, *extra), strict=True):
        held[name] = Held(name, dtype, tuple(shape), first, None, {})
    before = {name: Held(**vars(each)) for name, each in held.items()}
    scalars = {name: value for name, value in named.items() if name not in module.ARRAYS}
    builder = TaskBuilder(module.NAME, token, module.PARTITIONED, parameters, scalars, held, code)
    builder.tasks |= tasks
    asked = _steps_per_exchange()
    if asked is not None or not builder.has_loops:
        builder.build(asked)
        return builder, before, parameters
    identity = identity_of(kernel.text, _described(module, parameters, before))
    choice = choose(identity, module.NAME, token, builder.estimates, is_call=is_call)
    builder.token = tokenize(token, choice.steps)
    builder.build(choice.steps, is_timed=choice.is_timed)
    if choice.is_timed:
        begin(identity, token, builder.token, choice, builder.shards)
    return builder, before, parameters


def _described(module: ModuleType, parameters: Sequence[int], before: Mapping[str, Held]) -> str:
    """The parameters and the extents of chunks, as the history has the sizes of a call."""
    sizes = dict(zip(module.PARAMETERS, parameters, strict=True))
    for name, held in before.items():
        sizes |= {f"{name}_{axis}_chunk": max(extents, default=0) for axis, extents in enumerate(held.chunks or ())}
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def _steps_per_exchange() -> int | None:
    """The number of steps that the configuration of Dask asks for in loops over time; None where it does not.

    Raises:
        ArgumentError: it is no number above zero.
    """
    asked = dask.config.get("polytune.steps-per-exchange", None)
    if asked is None or (isinstance(asked, int) and asked > 0):
        return asked
    raise ArgumentError(f"polytune.steps-per-exchange is {asked!r} in Dask's configuration; it is a number above zero")


def _identity(value: Any) -> Any:
    return value.name if isinstance(value, dask.array.Array) else value


def _checked(kernel: ShardedKernel, values: Sequence[Any]) -> tuple[tuple[int, ...], list[int]]:
    """The parameters of a call, and those of them that are no arguments, if the arguments fit."""
    module = kernel.module
    if hasattr(module, "require"):
        module.require(*values)
    try:
        parameters = tuple(int(each) for each in module.parameters(*values))
    except (ArithmeticError, ValueError) as error:
        raise ArgumentError(
            f"{module.NAME}: the integers that are computed from the arguments before all loops cannot be: {error}"
        ) from error
    extra = [value for name, value in zip(module.PARAMETERS, parameters, strict=True) if name not in module.ARGUMENTS]
    module.check(*values, *extra, places=[*map(kernel.places, module.PLACES)])
    return parameters, extra


def _taken_in(kernel: str, token: str, name: str, value: Any) -> tuple[Held, dict[Key, Any]]:
    """An argument as it is before the first region, and the tasks that it needs."""
    if isinstance(value, dask.array.Array):
        keys = {index: (value.name, *index) for index, _ in spans(value.chunks)}
        return Held(name, value.dtype.name, value.shape, 0, value.chunks, keys), {}
    key = (f"{kernel}-argument-{name}-{token}", 0)
    chunks = tuple((extent,) for extent in value.shape)
    tasks: dict[Key, Any] = {key: np.array(value)} if value.size else {}
    return Held(name, value.dtype.name, value.shape, 0, chunks, {(0,) * value.ndim: key} if value.size else {}), tasks


def _array(builder: TaskBuilder, before: Sequence[dask.array.Array], name: str) -> dask.array.Array:
    """An array after a call."""
    held = builder.held[name]
    if held.chunks is None:
        held.chunks = tuple((extent,) for extent in held.shape)
    label = f"{builder.prefix}-result-{name}-{builder.token}"
    tasks: dict[Key, Any] = {}
    for index, key in keys_of(held).items():
        if key is not None:
            tasks[(label, *index)] = key
        else:
            shape = tuple(extents[k] for extents, k in zip(held.chunks, index, strict=True))
            tasks[(label, *index)] = (np.full, shape, _scalar(held.first), held.dtype)
    graph = _graph(builder, before, label, tasks)
    return dask.array.Array(graph, label, held.chunks, dtype=held.dtype)


def _scalar(first: Any) -> Any:
    return 0 if isinstance(first, np.ndarray) else first


def _graph(
    builder: TaskBuilder, before: Sequence[dask.array.Array], label: str, tasks: Mapping[Key, Any]
) -> HighLevelGraph:
    """The graph of something that follows from a call's tasks."""
    made: Any = builder.tasks
    arguments: Any = before
    graph = HighLevelGraph.from_collections(builder.layer, made, dependencies=arguments)
    return HighLevelGraph(
        {**graph.layers, label: dict(tasks)}, {**graph.dependencies, label: {builder.layer, *(a.name for a in before)}}
    )


def _returned(
    module: ModuleType,
    values: Sequence[Any],
    parameters: Sequence[int],
    builder: TaskBuilder,
    made: Callable[[str], dask.array.Array],
    text: str,
) -> list[Any]:
    """The results of the kernel: arrays as arrays of Dask, numbers as such without dimensions.

    Which is which does not depend on data, so it is found by numbers and names in place of what the kernel computes.
    """
    extra = [value for name, value in zip(module.PARAMETERS, parameters, strict=True) if name not in module.ARGUMENTS]
    scalars = {name for name in module.SCRATCH if name not in module.RETURNED and builder.held[name].shape == (1,)}
    named = [
        _Named(name) if name in module.ARRAYS else value for name, value in zip(module.ARGUMENTS, values, strict=True)
    ]
    ones = [np.ones(1, builder.held[name].dtype) if name in scalars else _Named(name) for name in module.SCRATCH]
    items = _items(module.result(*named, *extra, *ones))
    numbers = [name for name in module.SCRATCH if name in scalars]
    given: list[Any] = []
    for position, item in enumerate(items):
        if isinstance(item, _Named):
            given.append(made(item.name))
            continue
        label = f"{builder.prefix}-result-{position}-{builder.token}"
        blocks = [made(name).to_delayed().item() for name in numbers]
        place = Quoted((position, tuple(named), tuple(extra), module.SCRATCH, tuple(numbers)))
        value = delayed(number_of, pure=True)(ShardCode(text), place, *blocks, dask_key_name=label)
        given.append(from_delayed(value, (), dtype=np.asarray(item).dtype))
    return given


class _Named:
    """Stands for an array of a name.

    Args:
        name: the name.
    """

    def __init__(self, name: str):
        self.name = name


def number_of(code: ShardCode, place: Quoted, *blocks: np.ndarray) -> np.ndarray:
    """One of the numbers that a kernel returns, as an array without dimensions.

    Args:
        code: the kernel's.
        place: which one, and what else it is computed from.
        blocks: the numbers that the kernel has computed, an array of one element each.
    """
    position, named, extra, scratch, numbers = place.value
    computed = dict(zip(numbers, blocks, strict=True))
    memory = [computed.get(name, _Named(name)) for name in scratch]
    return np.asarray(_items(module_of(code).result(*named, *extra, *memory))[position])


def _items(returned: Any) -> Sequence[Any]:
    return returned if isinstance(returned, tuple) else [returned]
