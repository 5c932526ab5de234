"""A model of the time that versions take: what runs first, and in which order the tuner tries the others.

The time of a region is a sum over what is counted of it (``polytune.runtime.tuning.work``), each kind at a rate; what
workers share out takes as long as the worker with the most pieces, and each region has a start that all wait for.  The
rates were fitted to 96 kernels in all their versions (``benchmarks/calibration.py``): what counts is that versions of
one kernel come in the right order, more than that the times are right.  What has been tuned on a machine corrects them
there (`polytune.runtime.tuning.machine_rates`).

For some calls NumPy's library for products of matrices is no choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import permutations, product
from types import ModuleType
from typing import Any

from polytune.environment import MKL_THREADS, OPENBLAS_THREADS, OPENMP_THREADS
from polytune.runtime.machine import machine
from polytune.runtime.teams.threads import first_number
from polytune.runtime.tuning.machine_rates import GROUPS, Corrections
from polytune.runtime.tuning.rates import RATES
from polytune.runtime.tuning.work import Account, Kind
from polytune.runtime.version import Version
from polytune.tuner import Configuration, Space

__all__ = ["Prediction", "reason_against_library"]

_TEAM = 3000.0  # nanoseconds more for a region that several threads begin and end together
_TASK = 65.0  # nanoseconds for each task, where threads take them in turns
_CALLS, _SECONDS = 300, 0.3  # the calls of a short program, and what they take at least: what a compiler's time is for
_SHORTEST = 1e-6  # seconds of a call
_NEAR = 1.03  # times as long: what is expected to be no slower than that is as good
_TRIED_SIZES = (8, 32, 128, 512, 4096)
_SIZES_ALONG_WAVES = (32, 64, 128)
_FEW_ROWS, _LONG_ROWS = (8, 32), (512, 1024, 2048, 4096)
_WAITING = 0.15  # of the time, from which on rows that begin again and again are what takes it
_TUNED_VERSIONS = 3  # whose sizes are chosen too
_WORTH_OF_SIZE = 0.95  # of the time before, from which on one size for all tiles is taken in place of the version's
_WORTH_OF_ROWS = 0.8  # and tiles of few long rows
_MOST_TURNS = 4  # of a thread, in which even pieces are tried
_LONG_PIECE, _WRITTEN_OUT = 1024, 32  # iterations: of long pieces, whole turns of loops of several vectors
_WORTH_OF_EVEN = 0.9  # and one tile for each thread: of more tiles, others take those of a thread that is disturbed
_WORTH_OF_EQUAL = 0.98  # and as many tiles as before, but all of one size
# Arithmetic, of that of the source order: below the least an account has missed some of it, above the most it has taken
# its tiles for all there are.
_LEAST_ARITHMETIC, _MOST_ARITHMETIC = 0.98, 1.02
_LEAST_OF_REGISTERS, _MOST_OF_REGISTERS = 0.15, 1.6  # whose operations are counted roughly
_LEAST_OF_PLAIN, _MOST_OF_PLAIN = 0.9, 1.1  # without registers, beyond which that holds of an account with them too
_GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds}


class Prediction:
    """The expectations of a model of the versions of a kernel, for one call's sizes.

    Args:
        module: the generated module.
        space: what there is to choose from.
        parameters: the sizes of the call.
        threads: how many threads it may have.
        corrections: of the rates, on this machine.
    """

    def __init__(
        self,
        module: ModuleType,
        space: Space,
        parameters: Sequence[int],
        threads: int,
        corrections: Corrections | None = None,
    ):
        self._space, self._parameters, self._threads = space, tuple(parameters), threads
        self._corrections = dict(corrections or {})
        self._rates = {kind: RATES[kind] * self._correction(_GROUP_OF[kind.name.lower()]) for kind in Kind}
        self._team, self._task = (each * self._correction(_GROUP_OF["starts"]) for each in (_TEAM, _TASK))
        self._versions: dict[str, Version] = {version.name: version for version in module.VERSIONS}
        here = machine()
        self._caches = tuple(here.cache(level).share for level in (1, 2, 3))
        self._vector_bytes = here.vector_bytes
        self._known: dict[tuple[Any, ...], float] = {}
        self._accounts: dict[tuple[str, tuple[int, ...]], Account] = {}
        source = next((version for version in module.VERSIONS if not version.team), None)
        self._arithmetic = 0.0
        if source is not None and source.work is not None:
            with suppress(Exception):  # nothing can be measured by it then
                self._arithmetic = self._account(source, ()).arithmetic

    @property
    def refused(self) -> dict[str, str]:
        """Return the versions that give products to NumPy's library, where that is no choice, with the reason."""
        names = [version.name for version in self._versions.values() if version.by_library]
        reason = reason_against_library(self._arithmetic, self._threads) if names else None
        return {} if reason is None else dict.fromkeys(names, reason)

    def seconds(self, configuration: Mapping[str, Any]) -> float | None:
        """Return how long a configuration is expected to take; None where nothing is known of it."""
        version = self._versions.get(configuration["version"])
        if version is None or version.work is None:
            return None
        sizes = tuple(configuration[name] for name in version.sizes)
        threads = min(configuration.get("threads", 1), self._threads) if version.team else 1
        key = (version.name, sizes, threads)
        if key not in self._known:
            try:
                self._known[key] = self._expected(version, sizes, threads)
            except Exception:
                # What nothing is expected of comes last; it is no reason for a call to fail.
                self._known[key] = math.inf
        return self._known[key]

    def completed(self, values: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the values of a part of the parameters, with those of its version that are missing: its own sizes, and
        all threads; None where nothing is known of the version."""
        version = self._versions.get(values.get("version", ""))
        if version is None or version.work is None:
            return None
        return {**version.sizes, "threads": self._threads, **values}

    def times(self, configuration: Mapping[str, Any]) -> dict[str, float] | None:
        """Return how many nanoseconds the busiest thread is expected to need for each kind of work, by the names of
        `Kind` and ``starts`` and ``tasks``, which are what it costs to share work out; None where nothing is known.

        Args:
            configuration: a value for each parameter of its version.
        """
        version = self._versions.get(configuration["version"])
        if version is None or version.work is None:
            return None
        sizes = [configuration[name] for name in version.sizes]
        account, seen = self._account(version, sizes), self._share_seen(version, sizes)
        if not seen:
            return None
        threads = self.workers(configuration)
        found = {kind.name.lower(): 0.0 for kind in Kind} | {"starts": 0.0, "tasks": 0.0}
        for region in account.regions:
            busiest = region.part_of_busiest(threads)
            if region.by_library:
                busiest /= self._threads
            for kind, count in zip(Kind, region.counts, strict=True):
                found[kind.name.lower()] += self._rates[kind] * count * busiest / _seen_of(kind, seen)
            if threads > 1 and not region.is_serial:
                executions = region.counts[Kind.REGIONS] / _seen_of(Kind.REGIONS, seen)
                found["starts"] += self._team * executions
                found["tasks"] += self._task * region.pieces * executions
        return found

    def uncorrected(self, configuration: Mapping[str, Any]) -> tuple[float, ...] | None:
        """Return how many nanoseconds the busiest thread is expected to need for each of `GROUPS` by the rates that
        polytune ships with; None where nothing is known.

        Args:
            configuration: a value for each parameter of its version.
        """
        times = self.times(configuration)
        if times is None:
            return None
        return tuple(sum(times[kind] for kind in kinds) / self._correction(group) for group, kinds in GROUPS.items())

    def _correction(self, group: str) -> float:
        return self._corrections.get(group, 1.0)

    def workers(self, configuration: Mapping[str, Any]) -> int:
        """Return how many threads a configuration works with."""
        version = self._versions.get(configuration["version"])
        has_team = version is None or version.team
        return max(1, min(configuration.get("threads", 1), self._threads)) if has_team else 1

    def ranked(self, compilation: Callable[[Configuration], float]) -> list[Configuration]:
        """The versions that something is known of, each with the sizes and threads that suit it, the most promising
        first: of which as many calls as a short program makes take the shortest time, compiling included.

        Args:
            compilation: how many seconds it takes to have a configuration ready.
        """
        refused = self.refused
        versions = [version for version in self._versions.values() if version.name not in refused]
        found = [best for version in versions if (best := self._best_threads(version, version.sizes))]
        found = list(map(self._with_missing_pieces, found))
        found.sort(key=self._seconds_or_never)
        found[:_TUNED_VERSIONS] = map(self._with_better_sizes, found[:_TUNED_VERSIONS])
        following = slice(_TUNED_VERSIONS, 2 * _TUNED_VERSIONS)
        found[following] = map(self._with_long_rows, found[following])
        found.sort(key=self._seconds_or_never)
        if found:
            calls = max(_CALLS, _SECONDS / max(self._seconds_or_never(found[0]), _SHORTEST))
            costs = {each: calls * self._seconds_or_never(each) + compilation(each) for each in found}
            least = min(costs.values())
            near = [each for each in found if costs[each] <= _NEAR * least]
            first = min(near or found, key=self._preference)
            found.remove(first)
            found.insert(0, first)
        return found

    def _preference(self, configuration: Configuration) -> tuple[int, int]:
        """Return what decides between near equals: the fewer loops are cut into tiles, the fewer rows and streams of
        lines begin anew, at more than the rates say where data lie in the last cache; then the order of the module,
        which is that of what versions promise."""
        name = str(configuration["version"])
        return len(self._versions[name].sizes), list(self._versions).index(name)

    def _seconds_or_never(self, configuration: Mapping[str, Any]) -> float:
        seconds = self.seconds(configuration)
        return math.inf if seconds is None else seconds

    def _best_threads(self, version: Version, sizes: Mapping[str, int]) -> Configuration | None:
        """All threads, or one where that is expected to be faster; None where nothing is known."""
        if version.work is None:
            return None
        choices = ({"threads": self._threads}, {"threads": 1}) if version.team else ({},)
        found = [self._space.configuration(version=version.name, **sizes, **choice) for choice in choices]
        return min(found, key=self._seconds_or_never)

    def _with_better_sizes(self, start: Configuration) -> Configuration:
        """One size for all tiles, where that is expected to be better: what one size alone gains, as a row of tiles of
        few elements does, is less sure than what follows from the whole tile."""
        version, best = self._versions[str(start["version"])], start
        tiles = [name for name in version.sizes if name.startswith("tile")]
        limit = _WORTH_OF_SIZE * self._seconds_or_never(start)
        tried = [dict.fromkeys(tiles, size) for size in _TRIED_SIZES] if tiles else []
        for sizes in (*tried, *self._sizes_of_waves(start, tiles)):
            other = self._best_threads(version, {each: int(start[each]) for each in version.sizes} | sizes)
            if other is not None and self._seconds_or_never(other) < min(limit, self._seconds_or_never(best)):
                best = other
        even = min(map(self._with_even_pieces, (best, start)), key=self._seconds_or_never)
        return self._with_long_rows(self._with_equal_pieces(even))

    def _with_even_pieces(self, start: Configuration) -> Configuration:
        """Outermost loops cut into pieces of which each thread has as many, where that is expected to be better: loops
        of few iterations have no size among those tried that leaves all threads as much, and where two of them have
        different ones, what is even for one need not be for the other."""
        sizes = {size for extent in self._extents_of(start) for size in self._even_sizes(extent)}
        return self._in_pieces(start, sizes, _WORTH_OF_EVEN)

    def _with_equal_pieces(self, start: Configuration) -> Configuration:
        """Outermost loops cut into no fewer pieces than before, but all of one size, where that is expected to be
        better: of 300 iterations in pieces of 32, one of two threads has 160, as the last piece has 12."""
        sizes = set()
        for extent in self._extents_of(start):
            turns = math.ceil(extent / (self._threads * int(start["tile_0"])))
            sizes.add(self._even_size(extent, turns))
        return self._in_pieces(start, {size for size in sizes if size < int(start["tile_0"])}, _WORTH_OF_EQUAL)

    def _extents_of(self, start: Configuration) -> set[int]:
        """The extents of outermost loops that are cut and shared out; none where there is nothing to choose."""
        if "tile_0" not in self._versions[str(start["version"])].sizes or self._threads < 2:
            return set()
        return {region.extent for region in self._account_of(start).regions if region.extent}

    def _in_pieces(self, start: Configuration, pieces: Collection[int], worth: float) -> Configuration:
        """Outermost loops cut into pieces of the best of some sizes, where that is worth it."""
        version, best = self._versions[str(start["version"])], start
        limit = worth * self._seconds_or_never(start)
        for size in sorted(pieces, reverse=True):
            sizes = {each: int(start[each]) for each in version.sizes} | {"tile_0": size}
            other = self._best_threads(version, sizes)
            if other is not None and self._seconds_or_never(other) < min(limit, self._seconds_or_never(best)):
                best = other
        return best

    def _with_missing_pieces(self, start: Configuration) -> Configuration:
        """Loops, or the first of those whose diagonals of tiles are shared out, cut into as many pieces as there are
        threads, where they have fewer though there are iterations enough: before that nothing says how long such a
        version takes."""
        regions = self._account_of(start).regions
        if any(each.pieces < self._threads <= each.extent for each in regions):
            return self._with_even_pieces(start)
        version, best = self._versions[str(start["version"])], start
        tiles = [name for name in version.sizes if name.startswith("tile")]
        for sizes in self._sizes_of_waves(start, tiles):
            if len(sizes) == 1:
                other = self._best_threads(version, {each: int(start[each]) for each in version.sizes} | sizes)
                best = min(filter(None, (best, other)), key=self._seconds_or_never)
        return best

    def _even_sizes(self, extent: int) -> Iterator[int]:
        """Sizes of pieces of a loop of which each thread has one, or a few, but for what the last one lacks."""
        fewest = math.ceil(extent / (self._threads * _TRIED_SIZES[-1]))
        for turns in range(fewest, fewest + _MOST_TURNS):
            yield self._even_size(extent, turns)

    def _even_size(self, extent: int, turns: int) -> int:
        """Return the size of pieces of a loop of which each thread has so many.

        Of an innermost loop, LLVM computes what is left of each piece one vector, and one element, at a time.
        """
        size = max(1, math.ceil(extent / (self._threads * turns)))
        return size if size < _LONG_PIECE else -(-size // _WRITTEN_OUT) * _WRITTEN_OUT

    def _sizes_of_waves(self, start: Configuration, tiles: Sequence[str]) -> Iterator[dict[str, int]]:
        """Sizes by which each diagonal of tiles has as many as there are threads, or twice as many, all of one size:
        where the first loop is one over few steps of time, it has to be cut for that."""
        for region in self._account_of(start).regions:
            if region.pieces < self._threads and len(region.waves) > 1 and region.members == len(tiles):
                for times in (1, 2):
                    first = -(-region.waves[0] // (times * self._threads))
                    yield {tiles[0]: first}  # the others are those that suit the innermost loops
                    for others in _SIZES_ALONG_WAVES:
                        yield {each: first if each == tiles[0] else others for each in tiles}

    def _account_of(self, configuration: Configuration) -> Account:
        version = self._versions[str(configuration["version"])]
        return self._account(version, [int(configuration[name]) for name in version.sizes])

    def _with_long_rows(self, start: Configuration) -> Configuration:
        """Tiles of few long rows, where a configuration is expected to wait where rows begin, for memory or the third
        cache: these need two sizes at once that are worth nothing each."""
        version, times, best = self._versions[str(start["version"])], self.times(start), start
        if times is None or times["apart_4"] + times["unforeseen_3"] < _WAITING * sum(times.values()):
            return best
        tiles = [name for name in version.sizes if name.startswith("tile")]
        for (few, long), (rows, length) in product(permutations(tiles, 2), product(_FEW_ROWS, _LONG_ROWS)):
            sizes = {each: int(start[each]) for each in version.sizes} | {few: rows, long: length}
            other = self._best_threads(version, sizes)
            limit = min(_WORTH_OF_ROWS * self._seconds_or_never(start), self._seconds_or_never(best))
            if other is not None and self._seconds_or_never(other) < limit:
                best = other
        return best

    def _account(self, version: Version, sizes: Sequence[int]) -> Account:
        key = version.name, tuple(sizes)
        account = self._accounts.get(key)
        if account is None:
            account = Account(self._vector_bytes, self._caches)
            assert version.work is not None
            version.work(account, *self._parameters, *sizes)
            self._accounts[key] = account
        return account

    def counts(self, configuration: Mapping[str, Any]) -> tuple[float, ...] | None:
        """Return what a configuration has to do, by `Kind`; None where that is not known."""
        version = self._versions.get(configuration["version"])
        if version is None or version.work is None:
            return None
        sizes = [configuration[name] for name in version.sizes]
        account, seen = self._account(version, sizes), self._share_seen(version, sizes)
        if not seen:
            return None
        return tuple(count / _seen_of(kind, seen) for kind, count in zip(Kind, account.counts, strict=True))

    def _share_seen(self, version: Version, sizes: Sequence[int]) -> float:
        """Return how much of the work an account has seen, by the arithmetic of the source order: 1 where that is
        most of it; 0 where there is some, and it has seen none."""
        account = self._account(version, sizes)
        if not self._arithmetic:
            return 1.0  # the source order's account has no arithmetic that another could be measured by
        if not account.arithmetic:
            return 0.0
        least, most = _LEAST_ARITHMETIC, _MOST_ARITHMETIC
        if _is_rough(account):
            # What tiles of these sizes hold is seen as well in the same order without registers.
            plain = self._without_registers(version, sizes)
            if plain is not None and not _LEAST_OF_PLAIN <= plain.arithmetic / self._arithmetic <= _MOST_OF_PLAIN:
                account = plain
            else:
                least, most = _LEAST_OF_REGISTERS, _MOST_OF_REGISTERS
        # Members of a band that are combinations of loops range over a box with more points than there are instances.
        seen = account.arithmetic / self._arithmetic
        return 1.0 if least <= seen <= most else seen

    def _without_registers(self, version: Version, sizes: Sequence[int]) -> Account | None:
        """Return the account of the same order in tiles of the same sizes, as far as it is no rough one itself."""
        order = version.name.partition("_")[0]
        plain, tiles = self._versions.get(order), sizes[: len(version.tiles)]
        if plain is None or plain.work is None or len(plain.sizes) != len(tiles):
            return None
        account = self._account(plain, tiles)
        return None if _is_rough(account) or not account.arithmetic else account

    def _expected(self, version: Version, sizes: Sequence[int], threads: int) -> float:
        account, seen = self._account(version, sizes), self._share_seen(version, sizes)
        if not seen:
            return math.inf
        nanoseconds = 0.0
        for region in account.regions:
            counts = zip(Kind, region.counts, strict=True)
            time = sum(self._rates[kind] * count / _seen_of(kind, seen) for kind, count in counts if count)
            time *= region.part_of_busiest(threads)
            if region.by_library:
                time /= self._threads
            if threads > 1 and not region.is_serial:
                executions = region.counts[Kind.REGIONS] / _seen_of(Kind.REGIONS, seen)
                time += (self._team + self._task * region.pieces) * executions
            nanoseconds += time
        return nanoseconds * 1e-9


def _is_rough(account: Account) -> bool:
    """Return whether there are loops over vector registers, which are none over elements, and whose operations are
    counted roughly."""
    return any(region.counts[Kind.REGISTERS] for region in account.regions)


def _seen_of(kind: Kind, seen: float) -> float:
    """Return how much an account has seen of a kind of work: of regions and tiles there are as many as it says, also
    where it takes what is in them for more than it is.

    Args:
        kind: the kind of work.
        seen: how much it has seen of the arithmetic.
    """
    return min(seen, 1.0) if kind in (Kind.REGIONS, Kind.TILES) else seen


LEAST_ARITHMETIC = 1e6
"""The least number of operations of a kernel of which products are given to the library: with fewer, to reach it by way
of Python takes longer than all else."""


def reason_against_library(arithmetic: float, threads: int) -> str | None:
    """Return why a call is to have no version that gives products to the library; None where it may.

    Args:
        arithmetic: how many operations on numbers it has.
        threads: how many threads it may have.
    """
    if arithmetic < LEAST_ARITHMETIC:
        return (
            f"Min-Arithmetic: {arithmetic:.4g} operations are too few to give products to NumPy's library, which may "
            f"pay from {LEAST_ARITHMETIC:.4g} on"
        )
    if threads < _library_threads():
        return (
            f"Max-Threads: NumPy's library may run products on more threads than the {threads} that calls may have; "
            f"OPENBLAS_NUM_THREADS={threads} or MKL_NUM_THREADS={threads} says how many it may have itself"
        )
    return None


def _library_threads() -> int:
    """The most threads that the library has: by the variables that it reads, or one for each core."""
    said = (first_number(each.text) for each in (OPENBLAS_THREADS, MKL_THREADS, OPENMP_THREADS))
    limits = [each for each in said if each is not None]
    # Which of the variables the library reads is not known.
    return min(machine().cores, max(limits, default=machine().cores))
