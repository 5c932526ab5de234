"""The bottlenecks of a kernel, read from its hardware counters, and which counters have to change for it to be faster.

The analysis of the profile-based search of Filipovič, Hozzová, Nezarat, Oľha, Petrovič, "Using hardware performance
counters to speed up autotuning convergence on GPUs" (J. Parallel Distrib. Comput. 160, 2022).
"""

from __future__ import annotations

from collections.abc import Mapping

from polytune.records import dataclass
from polytune.tuner.counters.names import GLOBAL_SIZE, Vocabulary, vocabulary_of

_THREADS_PER_CORE = 5
_COMPUTE_BOUND = 0.5
_MEMORY_BOUND = 0.7


@dataclass(frozen=True)
class Bottlenecks:
    """The share of the time, from 0 to 1, that each part of the device seems to hold the kernel up.

    Attributes:
        traffic: by the counter of the transactions that load a part of the memory system.
        instructions: by the counter of the instructions of a class: how far these fill the issue slots.
        issue: instructions that could not be issued, in a kernel that one class of them dominates.
        idle: multiprocessors without work.
        threads: threads that are missing to fill the device.
    """

    traffic: Mapping[str, float]
    instructions: Mapping[str, float]
    issue: float
    idle: float
    threads: float


def reaction(memory_bound: bool) -> float:
    """Return from which share of the issue slots on a class of instructions is a bottleneck."""
    return _MEMORY_BOUND if memory_bound else _COMPUTE_BOUND


def bottlenecks(counters: Mapping[str, float], *, cores: int, memory_bound: bool) -> Bottlenecks:
    """Analyse a profile.

    Args:
        counters: values by name, those of `vocabulary_of` and the number of threads among them.
        cores: of the device that was profiled (CUDA cores).
        memory_bound: whether the problem is known to be bound by memory rather than by computation.

    Raises:
        MeasurementError: counters are missing.
    """
    names = vocabulary_of(counters)
    share = {name: counters[name] / names.full for name in _utilisations(names)}
    traffic: dict[str, float] = {}
    for level in names.memory:
        reads, writes = counters[level.reads], counters[level.writes]
        for counter, transactions in ((level.reads, reads), (level.writes, writes)):
            traffic[counter] = share[level.utilisation] * _ratio(transactions, reads + writes)
    traffic[names.texture[1]] = share[names.texture[0]]
    caches = [names.memory[0].utilisation, names.memory[1].utilisation, names.texture[0]]
    local = _local_overhead(counters, names) * max(share[name] for name in caches)
    traffic.update(dict.fromkeys(names.local_traffic, local))

    executed = sum(counters[name] for name in names.instructions)
    shares = {name: _ratio(counters[name], executed) for name in names.instructions}
    issue = counters[names.issue] / 100
    filled = min(1.0, issue / names.issue_share)
    threshold = reaction(memory_bound)
    dominance = max(0.0, (max(shares.values()) - threshold) / (1 - threshold))
    wanted_threads = _THREADS_PER_CORE * cores
    return Bottlenecks(
        traffic=traffic,
        instructions={name: value * filled for name, value in shares.items()},
        issue=max(0.0, 1 - issue) * dominance,
        idle=max(0.0, 1 - counters[names.sm_activity] / 100),
        threads=max(0.0, (wanted_threads - counters[GLOBAL_SIZE]) / wanted_threads),
    )


def wanted_changes(counters: Mapping[str, float], *, cores: int, memory_bound: bool) -> dict[str, float]:
    """The direction in which each counter has to change, from -1 to 1, and how important that is; 0 is left out.

    Args:
        counters: values by name, those of `vocabulary_of` and the number of threads among them.
        cores: of the device that was profiled (CUDA cores).
        memory_bound: whether the problem is known to be bound by memory rather than by computation.
    """
    names = vocabulary_of(counters)
    found = bottlenecks(counters, cores=cores, memory_bound=memory_bound)
    threshold = reaction(memory_bound)
    changes = {name: -value for name, value in found.traffic.items()}
    for name, value in found.instructions.items():
        changes[name] = -max(0.0, (value - threshold) / (1 - threshold))
    changes[names.issue] = found.issue
    changes[names.sm_activity] = found.idle
    changes[GLOBAL_SIZE] = found.threads
    return {name: change for name, change in changes.items() if change != 0}


def _utilisations(names: Vocabulary) -> list[str]:
    return [*(level.utilisation for level in names.memory), names.texture[0]]


def _local_overhead(counters: Mapping[str, float], names: Vocabulary) -> float:
    if names.local_overhead is not None:
        return counters[names.local_overhead] / 100
    stores = counters[names.local_traffic[-1]]
    return min(1.0, _ratio(stores, counters[names.memory[1].writes]))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
