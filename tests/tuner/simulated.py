"""Programs that call a tuned kernel, on a clock of their own: what calls and compilers take is drawn from a model.

The model has what real machines have: noise that only ever lengthens, interruptions of random length, phases in which
something else takes a part of the machine, first calls that find everything cold, calls that find the caches as another
configuration has left them, and versions that have to be compiled, in the call that tries them or beside the program.
What a call would have taken in another configuration is known exactly, so promises can be held against the truth and
not only against what the tuner believes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polytune.tuner import Configuration, Integer, Is, Nominal, OnlineTuner, Space

_DISTURBED = 1.4  # times longer is a call beside which something is compiled
_LOADING = 0.03  # seconds


@dataclass(frozen=True)
class Surroundings:
    """How a machine behaves.

    Attributes:
        noise: standard deviation of the noise, of which the positive half is added.
        interrupted: the share of calls that are interrupted.
        tail: the exponent of the distribution of the length of interruptions, in calls of the default: below 2 it has
            no variance, so some are very long.
        busiest: by how much phases of other work lengthen calls at most; 1 for no such phases.
        cold: by how much the first call is longer; it declines over the next calls.
        switched: by how much a call after one of another configuration is longer at most.
    """

    noise: float = 0.05
    interrupted: float = 0.03
    tail: float = 1.5
    busiest: float = 2.0
    cold: float = 3.0
    switched: float = 1.3


QUIET = Surroundings(0.0, 0.0, 1.5, 1.0, 1.0, 1.0)


def new_tuner(space: Space, **options: Any) -> OnlineTuner:
    """A tuner on a clock that stands still: proposals that this machine was slow to make are not charged as lost."""
    return OnlineTuner(space, clock=lambda: 0.0, **options)


class Kernel:
    """A kernel with random costs.

    Attributes:
        space: its choices.
        seconds: what the default takes.
        compile_seconds: of each version.
    """

    def __init__(self, rng: np.random.Generator, *, default_is_best: bool = False):
        names = tuple(f"v{k}" for k in range(int(rng.integers(2, 9))))
        self.space = Space(
            [
                Nominal("version", names),
                Integer("tile", 8, 256, powers_of_two=True, default=32, when=Is("version", *names[1:])),
                Integer("threads", 1, 4, default=4),
            ]
        )
        self.seconds = float(10 ** rng.uniform(-3, -0.5))
        spread = rng.uniform(0.05, 0.8)
        base = np.exp(rng.normal(0.1, spread, len(names)))
        self._base = dict(zip(names, base / base[0], strict=True))
        if default_is_best:
            self._base = {name: max(1.0, each) for name, each in self._base.items()}
        self._bend = {name: rng.uniform(0.0, 0.2) for name in names}
        self._optimum = {name: 5.0 if default_is_best else rng.uniform(3, 8) for name in names}
        self._scaling = rng.uniform(0.3, 1.0)
        longest = 10 ** rng.uniform(-1, 1)
        self.compile_seconds = {name: float(longest * rng.uniform(0.3, 1.0)) for name in names}

    def cost(self, configuration: Configuration) -> float:
        """The undisturbed seconds of a configuration."""
        version = configuration["version"]
        cost = self.seconds * self._base[version] * (4 / configuration["threads"]) ** self._scaling
        if "tile" in configuration:
            at, optimum = math.log2(configuration["tile"]), self._optimum[version]
            cost *= (1 + self._bend[version] * (at - optimum) ** 2) / (1 + self._bend[version] * (5 - optimum) ** 2)
        return cost


@dataclass
class Call:
    """One call: what it took and would have taken."""

    configuration: Configuration
    seconds: float
    waited: float
    """The time of waiting for the compiler, or for machine code to be loaded; the default's left out."""
    at_best: float
    """The time that it would have taken in the configuration that was the best known before it."""
    at_default: float
    """The time that it would have taken in the default configuration."""
    begins: bool
    """True where something is tried: anything but the best known and the default, and not amid a round of a race."""


@dataclass
class Program:
    """Calls of one kernel on one machine.

    Args:
        seed: of everything.
        budget, searchers: as for `OnlineTuner`.
        background: whether versions are compiled beside the program.
        surroundings: of the machine.
        default_is_best: of the kernel.
    """

    seed: int
    budget: Any = None
    background: bool = False
    surroundings: Surroundings = field(default_factory=Surroundings)
    default_is_best: bool = False
    searchers: dict[str, str] | None = None

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.seed, 1])
        self.kernel = Kernel(np.random.default_rng([self.seed, 2]), default_is_best=self.default_is_best)
        self.default = self.kernel.space.default()
        self.now = 0.0
        self.calls: list[Call] = []
        self._busy, self._until = 1.0, 0.0
        self._ready: dict[str, float] = {}  # when a version's machine code is there
        self._loaded: set[str] = set()
        self.tuner = self._new_tuner()

    def _new_tuner(self) -> OnlineTuner:
        return OnlineTuner(
            self.kernel.space,
            budget=self.budget,
            seed=self.seed,
            searchers=self.searchers,
            clock=lambda: self.now,
        )

    def _is_ready(self, configuration: Configuration) -> bool:
        version = configuration["version"]
        if version not in self._loaded and version not in self._ready:
            self._ready[version] = self.now + 1.5 * self.kernel.compile_seconds[version]
        return version in self._loaded or self.now >= self._ready[version]

    def _compiles(self) -> bool:
        return any(self.now < ready for ready in self._ready.values())

    def _disturbance(self) -> tuple[float, float]:
        """How many times longer this call is, and by how many seconds, whatever its configuration."""
        rng, it = self._rng, self.surroundings
        if self.now >= self._until:
            self._busy = 1.0 if rng.random() < 0.6 else float(rng.uniform(1.0, it.busiest))
            self._until = self.now + self.kernel.seconds * float(rng.exponential(120))
        factor = self._busy * (1 + abs(float(rng.normal(0, it.noise))))
        pause = self.kernel.seconds * float(rng.pareto(it.tail)) if rng.random() < it.interrupted else 0.0
        return factor * (1 + (it.cold - 1) * 0.5 ** len(self.calls)), pause

    def call(self) -> Call:
        """Make one call."""
        tuner, kernel = self.tuner, self.kernel
        best, is_in_round = tuner.best, tuner._search.is_in_round
        configuration = tuner.choose(self._is_ready if self.background else None)
        version, compiled = configuration["version"], 0.0
        if version not in self._loaded:
            in_background = version in self._ready
            compiled = _LOADING if in_background else kernel.compile_seconds[version]
            self._loaded.add(version)
        began = self._compiles()  # beside this call, which a program without a tuner would not do
        factor, pause = self._disturbance()
        seconds = kernel.cost(configuration) * factor * (_DISTURBED if began else 1.0)
        if self.calls and self.calls[-1].configuration != configuration:
            seconds *= 1 + (self.surroundings.switched - 1) * float(self._rng.random())
        seconds += pause
        self.now += compiled + seconds
        tuner.report(configuration, seconds, compile_seconds=compiled, disturbed=began)
        call = Call(
            configuration,
            seconds,
            0.0 if configuration == self.default else compiled,
            kernel.cost(configuration if best is None else best[0]) * factor + pause,
            kernel.cost(self.default) * factor + pause,
            not is_in_round and best is not None and configuration not in (best[0], self.default),
        )
        self.calls.append(call)
        return call

    def lost(self) -> np.ndarray:
        """What tuning has cost until after each call, in seconds, beside the best configuration known at each time."""
        return np.cumsum([call.seconds + call.waited - call.at_best for call in self.calls])

    def at_best(self) -> np.ndarray:
        """What all calls until after each would have taken with the best configuration known at each time."""
        return np.cumsum([call.at_best for call in self.calls])

    def run(self, calls: int) -> Program:
        """Make so many calls."""
        for _ in range(calls):
            self.call()
        return self
