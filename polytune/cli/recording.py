"""The loop behind ``polytune tune --record``: measure configurations and write each down at once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polytune.cli.console import progress_text
from polytune.cli.interrupts import Interrupts
from polytune.cli.tuning import Arguments, random_arguments
from polytune.errors import PolytuneError, SpaceError
from polytune.records import dataclass
from polytune.tuner import Configuration, Integer, Ordinal, Ratio, Space
from polytune.tuner.spaces.parameters import Parameter

if TYPE_CHECKING:
    from polytune.kernel import Kernel
    from polytune.signature import Signature

_SEED = 0
_NEGLIGIBLE = 0.01  # seconds of compiling that are only a look at whether there is anything to compile
_RATIOS = 11
_MOST = 1_000_000
"""Larger spaces are not measured configuration by configuration."""

_DRAWS = 50
"""The draws for each configuration that is wanted, after which a sample is taken to be all there is."""


@dataclass(frozen=True)
class Recorded:
    """A report of what was written.

    Attributes:
        size: how many configurations the space has, with the values that numbers take in recordings.
        wanted: how many were to be measured.
        recorded: how many the file has now, those of earlier recordings among them.
        failed: how many of those measured now failed.
        best: the fastest measured now, with its median seconds; None if none was.
        without: why the processor's own counters are not in the file; empty where they are.
    """

    size: int
    wanted: int
    recorded: int
    failed: int
    best: tuple[Configuration, float] | None
    without: str = ""


def record_space(
    kernel: Kernel[..., Any],
    sizes: Mapping[str, int],
    file: Path,
    sample: int | None,
    repeats: int = 5,
    signature: Signature | None = None,
) -> Recorded:
    """Measure configurations on random arguments of the given sizes, and append them to a recording, with counters.

    The order is random, so that a recording that is stopped is a fair sample.  An interrupt (Ctrl-C) ends it and
    loses nothing; configurations that the file has already are not measured again.

    Args:
        kernel: what to measure.
        sizes: the kernel's parameters.
        file: the recording, begun or gone on with.
        sample: how many configurations; all of them if None.
        repeats: how often each is timed, after one call that is not.
        signature: the types of its arguments; those that its source gives if None.

    Raises:
        PolytuneError: the file records something else, or the kernel cannot be run at all.
        SpaceError: all configurations were asked for, and there are too many.
    """
    from polytune.counters import hardware
    from polytune.history.machine import machine_key
    from polytune.lab.journal import Header, Journal
    from polytune.runtime.teams.threads import current_threads

    arguments = random_arguments(kernel, sizes, _SEED, signature)
    space = grid_of(kernel.space(*arguments.values), max(sizes.values(), default=1))
    chosen = list(choose(space, sample))
    about = {"sizes": dict(sizes), "space": space.fingerprint}
    if signature is not None:
        about["types"] = str(signature)
    header = Header(
        kernel.__name__, machine_key(current_threads()), tuple(parameter.name for parameter in space.parameters), about
    )
    failed = 0
    best: tuple[Configuration, float] | None = None
    recording = progress_text(f"{kernel.__name__}: recording")
    with Journal(file, header) as journal, recording as line, Interrupts() as interrupts:
        done = {Configuration(configuration) for configuration in journal.recorded}
        recorded = len(done)
        started = time.perf_counter()
        missing = [configuration for configuration in chosen if configuration not in done]
        try:
            for number, configuration in enumerate(missing):
                fastest = f", best {best[1] * 1e3:.3f} ms" if best else ""
                elapsed = time.perf_counter() - started
                line.update(f"{kernel.__name__}: {number} of {len(missing)} in {elapsed:.0f} s{fastest}")
                measured = _Measured()
                reason: str | None = None
                try:
                    measured = _measure(kernel, arguments, configuration, repeats)
                except PolytuneError as error:
                    reason = f"{type(error).__name__}: {error}"
                with interrupts.held():  # what is counted is what the file has
                    recorded += 1
                    if reason is None:
                        journal.measured(configuration, measured.times, measured.counters, measured.compilation)
                    else:
                        journal.failed(configuration, reason)
                        failed += 1
                if reason is None and (best is None or statistics.median(measured.times) < best[1]):
                    best = configuration, statistics.median(measured.times)
        except KeyboardInterrupt:
            line.update(f"{kernel.__name__}: interrupted")
    return Recorded(int(space.size()), len(chosen), recorded, failed, best, hardware().reason)


def grid_of(space: Space, extent: int) -> Space:
    """The space with few values for each number: what can be measured one by one.

    Tile sizes and the like are powers of two, up to the first one that is no smaller than the largest extent, for
    larger tiles hold the whole problem just as well; ratios go in steps of a tenth.

    Args:
        space: the kernel's.
        extent: the largest of the sizes.
    """
    numeric = {parameter.name for parameter in space.numeric}
    return Space([_grid(p, extent) if p.name in numeric else p for p in space.parameters], space.constraints)


def _grid(parameter: Parameter, extent: int) -> Parameter:
    if isinstance(parameter, Ratio):
        values = parameter.grid(_RATIOS)
        return Ordinal(parameter.name, values, min(values, key=lambda v: abs(v - parameter.default)), parameter.when)
    if isinstance(parameter, Integer) and parameter.logarithmic and not parameter.powers_of_two:
        high = min(parameter.high, 1 << (extent - 1).bit_length())
        powers = [1 << exponent for exponent in range(high.bit_length()) if 1 << exponent >= parameter.low]
        if powers:
            default = max((power for power in powers if power <= parameter.default), default=powers[0])
            return replace(parameter, high=powers[-1], powers_of_two=True, default=default)
    return parameter


def choose(space: Space, sample: int | None) -> Iterator[Configuration]:
    """The default configuration, then others in random order: all of them, or so many together.

    Raises:
        SpaceError: all were asked for, and there are too many.
    """
    rng = np.random.default_rng(_SEED)
    default = space.default()
    size = space.size()
    if sample is None and size > _MOST:
        raise SpaceError(f"the space has {size} configurations, more than {_MOST}: take a --sample of them")
    if sample is None or sample >= size:
        others = [configuration for configuration in space.enumerate() if configuration != default]
        yield default
        for position in rng.permutation(len(others)):
            yield others[position]
        return
    seen = {default}
    yield default
    for _ in range(_DRAWS * sample):
        if len(seen) == sample:
            return
        drawn = space.sample(rng)
        if drawn not in seen:
            seen.add(drawn)
            yield drawn
    if len(seen) < sample:
        raise SpaceError(f"only {len(seen)} different configurations were drawn; ask for a smaller sample")


@dataclass(frozen=True)
class _Measured:
    """The times of a configuration in seconds, its counters, and how many seconds compiling took for it."""

    times: tuple[float, ...] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    compilation: float = 0.0


def _measure(
    kernel: Kernel[..., Any], arguments: Arguments, configuration: Mapping[str, Any], repeats: int
) -> _Measured:
    arguments.restore()
    started = time.perf_counter()
    kernel.prepared(configuration, *arguments.values).compile()
    compilation = time.perf_counter() - started
    arguments.timed(kernel.run, configuration)  # warms the caches up, and what is compiled with the run
    # The clock counts nanoseconds; what follows them is rounding.
    times = tuple(round(arguments.timed(kernel.run, configuration), 9) for _ in range(repeats))
    arguments.restore()
    counters = kernel.profile(configuration, *arguments.values)
    return _Measured(times, counters, round(compilation, 3) if compilation > _NEGLIGIBLE else 0.0)
