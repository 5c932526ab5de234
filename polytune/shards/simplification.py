"""Simplification of a call's tasks: fewer of them, which do the same.

A scheduler takes about as long for a task that cuts a row out of a chunk as for one that runs a shard.  So the boxes
that are cut out of a chunk are cut out by one task, where that costs less than more tasks would; and what a shard of
several steps has computed of arrays that nobody needs after it is not given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from polytune.shards.assembly import cut_out, cut_out_all, item_of
from polytune.shards.blocks import SECONDS_PER_MOVED_BYTE, SECONDS_PER_TASK
from polytune.shards.code import Quoted, run_shard
from polytune.shards.held import Key

__all__ = ["is_shard", "with_borders_together", "without_unneeded"]

_OUTPUTS = 6
"""The place of the outputs among the arguments of a task that runs a shard."""


def is_shard(task: Any) -> bool:
    """Return whether a task runs a shard."""
    return _is(task, run_shard)


def without_unneeded(tasks: Mapping[Key, Any], results: Iterable[Key]) -> tuple[dict[Key, Any], dict[Key, Key]]:
    """Leave out the outputs of shards that no task takes.

    Args:
        tasks: the tasks of a call.
        results: the keys of what the call is made for.

    Returns:
        The tasks, and for keys that are none any more those of the tasks that have the same.
    """
    needed = {*results, *(argument for task in tasks.values() for argument in _keys_in(task, tasks))}
    items: dict[Key, dict[int, Key]] = {}
    for key, task in tasks.items():
        if _is(task, item_of):
            items.setdefault(task[1], {})[task[2]] = key
    after, renamed = dict(tasks), {}
    for shard, by_position in items.items():
        kept = [position for position, key in by_position.items() if key in needed]
        if len(kept) == len(by_position) or not kept:
            continue
        task = list(tasks[shard])
        outputs = task[_OUTPUTS].value
        task[_OUTPUTS] = Quoted(tuple(outputs[position] for position in kept))
        after[shard] = tuple(task)
        for key in by_position.values():
            del after[key]
        if len(kept) == 1:
            renamed[by_position[kept[0]]] = shard
            continue
        for place, position in enumerate(kept):
            after[by_position[position]] = (item_of, shard, place)
    return _substituted(after, renamed), renamed


def with_borders_together(tasks: Mapping[Key, Any], itemsizes: Mapping[str, int]) -> dict[Key, Any]:
    """Have the boxes that are cut out of one chunk cut out by one task, but for those that are many bytes.

    Whoever needs one of them is sent all: that is a little more to send, in place of tasks.  A box is cut out on its
    own where sending it to all who need the others would take longer than a task.

    Args:
        tasks: the tasks of a call.
        itemsizes: per beginning of the keys of tasks that cut out boxes, the bytes of an element.
    """
    cuts: dict[Key, list[Key]] = {}
    for key, task in tasks.items():
        if _is(task, cut_out) and key[0] in itemsizes:
            cuts.setdefault(task[1], []).append(key)
    after: dict[Key, Any] = dict(tasks)
    within: dict[Key, Any] = {}
    takers = Counter(argument for task in tasks.values() for argument in _keys_in(task, tasks))
    for chunk, found in cuts.items():
        sizes = {key: prod(axis.stop - axis.start for axis in tasks[key][2]) * itemsizes[key[0]] for key in found}
        keys, others = list(found), sum(takers[key] for key in found)
        for key in sorted(found, key=sizes.__getitem__, reverse=True):
            others -= takers[key]
            if sizes[key] * others * SECONDS_PER_MOVED_BYTE <= SECONDS_PER_TASK:
                break
            keys.remove(key)
        if len(keys) < 2:
            continue
        together: Key = (*keys[0], "all")
        after[together] = (cut_out_all, chunk, Quoted([tasks[key][2] for key in keys]))
        for position, key in enumerate(keys):
            del after[key]
            within[key] = (item_of, together, position)
    return _substituted(after, within)


def _is(task: Any, function: Any) -> bool:
    return isinstance(task, tuple) and bool(task) and task[0] is function


def _is_key(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], str)


def _keys_in(task: Any, tasks: Mapping[Key, Any]) -> Iterable[Key]:
    """The keys of other tasks that a task takes, but for those of which it only takes an item."""
    if isinstance(task, tuple) and not _is_key(task):
        return [each for each in task[1:] if _is_key(each) and each in tasks]
    return [task] if _is_key(task) and task in tasks else []


def _substituted(tasks: Mapping[Key, Any], others: Mapping[Key, Any]) -> dict[Key, Any]:
    """Tasks with something else in place of some keys."""
    if not others:
        return dict(tasks)
    return {
        key: (
            tuple(others.get(each, each) if _is_key(each) else each for each in task)
            if isinstance(task, tuple) and task and callable(task[0])
            else task
        )
        for key, task in tasks.items()
    }
