"""The online tuner beside OpenTuner on a kernel that runs: what the first calls cost, and what is found.

Both choose for the same kernel, in turns, so that a drift of the machine meets both alike.  All versions are compiled
before, and what OpenTuner itself takes is not counted: what is compared is the time of the calls.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.search.foreign import ForeignError
from benchmarks.timing import Workload, in_turns
from polybench.benchmark import Benchmark
from polybench.datasets import Dataset
from polytune.errors import CompilationError, SpaceError
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.partitioned.space import VERSION as PARTITIONED
from polytune.tuner import Configuration, Integer, OnlineTuner, Ratio, Space
from polytune.tuner.spaces.parameters import is_active

SCRIPT = Path(__file__).with_name("opentuner_live_script.py")
ITERATIONS = 100
LEAD = 1.7
TIMED = 15
"""The number of timings of what both have found, in the end and in turns."""


class Rival:
    """OpenTuner in a process of its own, asked for one configuration at a time.

    Attributes:
        invalid: how many of its proposals were no configuration of the space.
    """

    def __init__(self, python: Path, space: Space, seed: int):
        """
        Args:
            python: the interpreter that it is installed for.
            space: what it chooses from; it knows no conditions, so that it sets every parameter.
            seed: what its random choices come from.
        """
        self._space = space
        self.invalid = 0
        self._folder = tempfile.TemporaryDirectory(prefix="opentuner-")  # where it leaves its log
        self._process = subprocess.Popen(
            [Path(shutil.which(python) or python).absolute(), SCRIPT],
            cwd=self._folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: list[str] = []
        self._listener = threading.Thread(target=self._said.extend, args=(self._process.stderr,), daemon=True)
        self._listener.start()
        self._write({"seed": seed, "parameters": [_described(parameter) for parameter in space.parameters]})

    def ask(self) -> Configuration:
        """The next configuration to measure; what is not one is answered as an error.

        Raises:
            ForeignError: the process has ended.
        """
        while True:
            values = self._read()["proposal"]
            chosen: dict[str, Any] = {}
            for parameter in self._space.parameters:
                if is_active(parameter, chosen):
                    chosen[parameter.name] = values[parameter.name]
            try:
                return self._space.configuration(**chosen)
            except SpaceError:
                self.invalid += 1
                self.tell(None)

    def tell(self, seconds: float | None) -> None:
        """The time of the configuration that is asked for; None where it did not run."""
        self._write({"seconds": seconds})

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._folder.cleanup()

    def _write(self, document: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(document) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        return json.loads(line)

    def _ended(self) -> ForeignError:
        self._process.wait()
        self._listener.join()
        said = self._said[-1].strip() if self._said else f"exit code {self._process.returncode}"
        return ForeignError(f"opentuner ended with {said}")


def _described(parameter: Any) -> dict[str, Any]:
    if isinstance(parameter, Integer) and not parameter.powers_of_two and parameter.step == 1:
        low, high = parameter.low, parameter.high
        kind = "logarithmic" if parameter.logarithmic else "integer"
        return {"name": parameter.name, "kind": kind, "low": low, "high": high}
    if isinstance(parameter, Ratio):
        return {"name": parameter.name, "kind": "real", "low": parameter.low, "high": parameter.high}
    return {"name": parameter.name, "kind": "choice", "values": list(parameter.levels)}


@dataclass
class Run:
    """One run of both.

    Attributes:
        own, rival: seconds of the calls, as polytune and OpenTuner chose.
        calls: after how many calls in all polytune had converged, or was given up.
        converged: whether it had.
        own_best, rival_best: seconds of what they found, timed in turns in the end.
        invalid: how many of OpenTuner's proposals were no configurations.
    """

    own: list[float] = field(default_factory=list)
    rival: list[float] = field(default_factory=list)
    calls: int = 0
    converged: bool = False
    own_best: float = 0.0
    rival_best: float = 0.0
    invalid: int = 0


def study(
    entry: Benchmark,
    dataset: Dataset,
    python: Path,
    repeats: int,
    seed: int,
    most_calls: int,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Compare on one kernel.

    Args:
        entry: whose kernel.
        dataset: the suite's sizes.
        python: the interpreter that OpenTuner is installed for.
        repeats: how many runs there are of each.
        seed: of the first run.
        most_calls: when polytune's tuner is given up, if it has not converged.
        report: called before each run.

    Raises:
        ForeignError: OpenTuner's process ended badly.
    """
    workload = Workload(entry.initialise(**entry.sizes(dataset)))
    generated = entry.kernel.generated(*workload.initial)
    for version in generated.space["version"].values:
        if version != PARTITIONED:
            generated.functions.compile(version)
    runs = []
    for number in range(repeats):
        report(f"{entry.name} {dataset}, {number + 1} of {repeats}")
        rival = Rival(python, generated.space, seed + number)
        try:
            runs.append(one_run(generated, workload, rival, seed + number, most_calls))
        finally:
            rival.close()
    return summary(f"{entry.name} {dataset}", runs)


def one_run(generated: GeneratedKernel, workload: Workload, rival: Rival, seed: int, most_calls: int) -> Run:
    """A call that polytune chooses and one that OpenTuner chooses, in turns; polytune goes on until it converges."""
    choices = generated.first_choices
    risk = partial(choices.risk, generated.prepare(workload.initial).parameters)
    tuner = OnlineTuner(generated.space, starts=choices.starts, risk=risk, seed=seed)
    found = Run()

    def seconds_of(configuration: Configuration) -> float | None:
        try:
            return workload.timed(lambda *values: generated.run(configuration, generated.prepare(values)))
        except CompilationError:
            return None

    def own_call() -> float:
        while True:
            configuration = tuner.choose()
            seconds = seconds_of(configuration)
            if seconds is not None:
                tuner.report(configuration, seconds)
                return seconds
            tuner.fail(configuration, "it does not run")

    rival_best: tuple[float, Configuration] | None = None
    for _ in range(ITERATIONS):
        configuration = rival.ask()  # from now on its process waits and takes no core from the calls
        found.own.append(own_call())
        seconds = seconds_of(configuration)
        rival.tell(seconds)
        if seconds is not None:
            found.rival.append(seconds)
            if rival_best is None or seconds < rival_best[0]:
                rival_best = seconds, configuration
    found.calls, found.invalid = ITERATIONS, rival.invalid
    while not tuner.converged and found.calls < most_calls:
        own_call()
        found.calls += 1
    found.converged = tuner.converged
    assert tuner.best is not None and rival_best is not None
    contenders = {"own": tuner.best[0], "rival": rival_best[1]}
    samples = in_turns(
        {name: lambda *values, c=c: generated.run(c, generated.prepare(values)) for name, c in contenders.items()},
        workload,
        TIMED,
    )
    found.own_best, found.rival_best = samples["own"].median, samples["rival"].median
    return found


def summary(name: str, runs: list[Run]) -> dict[str, Any]:
    """The medians over the runs, and whether the goals are reached."""

    def median(values: Any) -> float:
        return statistics.median(list(values))

    own, rival = median(sum(run.own) for run in runs), median(sum(run.rival) for run in runs)
    excess = median(run.own_best / run.rival_best for run in runs)
    return {
        "space": name,
        "tuners": {
            "polytune": {
                "runs": len(runs),
                "median_seconds": own,
                "least_seconds": min(sum(run.own) for run in runs),
                "most_seconds": max(sum(run.own) for run in runs),
                "best_seconds": median(run.own_best for run in runs),
                "invalid_proposals": 0,
                "calls": median(run.calls for run in runs),
                "converged": sum(run.converged for run in runs),
            },
            "opentuner": {
                "runs": len(runs),
                "median_seconds": rival,
                "least_seconds": min(sum(run.rival) for run in runs),
                "most_seconds": max(sum(run.rival) for run in runs),
                "best_seconds": median(run.rival_best for run in runs),
                "invalid_proposals": statistics.fmean(run.invalid for run in runs),
                "calls": ITERATIONS,
                "converged": None,
            },
        },
        "lead": rival / own,
        "best_beside_opentuner": excess,
        "reached": {
            f"the first {ITERATIONS} calls take {LEAD} times less": rival / own >= LEAD,
            "what it converges to is no slower by more than the 3 % that repeated timings differ": excess <= 1.03,
        },
    }
