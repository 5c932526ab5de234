"""``python -m benchmarks.transfer``: how soon a kernel is near its best on a size that is new, with history of others.

Kernels of the corpus of applications in several sizes each.  Every configuration that a search asks for is measured
once, and kept in the folder that ``--keep`` names: what has been recorded is not measured again, and a run that was
stopped goes on.  First each size is tuned for by itself, with no history.  The best of everything that was measured of
a size is what counts as its best.  Then a tuner that knows what was measured for the other sizes, and nothing of this
one, makes a few trials.

Exit code 0: done; 1: a kernel failed; 2: the command line makes no sense.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Column, Table

from benchmarks import program

app = program.application("transfer", "What history of other sizes is worth on a size that is new.")

KERNELS = (
    "box_blur", "sobel", "median_3x3", "convolution_layer", "max_pooling", "game_of_life", "all_shortest_paths",
    "nearest_neighbours", "attention", "kernel_density", "hausdorff", "correlations",
)  # fmt: skip
"""Kernels with several versions, of which one size says something of another."""

FACTORS = (0.35, 0.6, 1.0, 1.6)
"""The sizes of each, beside the one of the corpus."""

NEAR = 1.1
"""The most times longer than the best that a configuration may take and count as near."""

_PORTION = 0.8  # of the cases that are to be near
_SECONDS = 0.05  # of measuring a configuration
_MOST = 0.3  # seconds, after which a configuration is measured no more
_LONGEST_CALLS = 2000  # of a tuner that makes few trials


class OutOfTimeError(Exception):
    """The end of the time that there was for measuring."""


@dataclass(frozen=True)
class Problem:
    """A kernel with arguments of one size.

    Attributes:
        name: the kernel.
        size: of its arguments.
        space: its choices, with the first choice as the default.
        starts: what is promising, the first choice first.
        risk: how many times longer than the first choice a configuration may take.
        measure: the seconds of a call; None where the configuration fails.
    """

    name: str
    size: int
    space: Any
    starts: tuple[Any, ...]
    risk: Callable[[Any], float]
    measure: Callable[[Any], float | None]

    @property
    def shape(self) -> str:
        return f"n={self.size}"


class Recording:
    """The times of a problem's configurations, each measured when it is first asked for.

    Args:
        problem: what is measured.
        file: where times are kept, in lines of JSON.
        end: when measuring ends, as ``time.monotonic`` has it.
    """

    def __init__(self, problem: Problem, file: Path, end: float = math.inf):
        self.problem = problem
        self._file = file
        self._end = end
        self._times: dict[str, float | None] = {}
        if file.exists():
            for line in file.read_text().splitlines():
                entry = json.loads(line)
                self._times[_text(entry["configuration"])] = entry["seconds"]

    def seconds(self, configuration: Mapping[str, Any]) -> float | None:
        """The time of a configuration; None where it fails.

        Raises:
            OutOfTimeError: it has not been measured, and there is no time left.
        """
        key = _text(configuration)
        if key not in self._times:
            if time.monotonic() > self._end:
                raise OutOfTimeError
            found = self._times[key] = self.problem.measure(configuration)
            with self._file.open("a") as stream:
                stream.write(json.dumps({"configuration": dict(configuration), "seconds": found}) + "\n")
        return self._times[key]

    @property
    def best(self) -> float:
        """Return the shortest time so far."""
        return min((seconds for seconds in self._times.values() if seconds is not None), default=math.inf)


def _text(configuration: Mapping[str, Any]) -> str:
    return json.dumps(dict(configuration), sort_keys=True)


@dataclass(frozen=True)
class Found:
    """The configuration that a tuner has come to on a size that is new.

    Attributes:
        kernel, size: which.
        first_choice: what the first choice takes, over the best of all that was measured.
        cold: what the best takes that was found in as many trials without history, over the best.
        transferred: and with history.
        trials: how many there were.
        near_after: after how many of them it was near; None where it never was.
        configurations: how many have been measured of this size by all searches.
    """

    kernel: str
    size: int
    first_choice: float
    cold: float
    transferred: float
    trials: int
    near_after: int | None
    configurations: int


def problems(name: str, factors: Sequence[float]) -> Iterator[Problem]:
    """The kernel of a name in several sizes.

    Args:
        name: of one whose data have a size.
        factors: of the size that the corpus has.
    """
    import polytune
    from benchmarks.applications.case import every_case

    case = every_case()[name]
    make = case.data
    if not isinstance(make, partial) or "n" not in make.keywords:
        raise ValueError(f"the data of {name} have one size alone")
    kernel = polytune.kernel(case.function)
    for factor in factors:
        size = max(2, round(factor * make.keywords["n"]))
        yield problem_of(name, size, kernel, make.func(np.random.default_rng(42), n=size))


def problem_of(name: str, size: int, kernel: Any, arguments: Sequence[Any]) -> Problem:
    """A problem whose configurations are measured by calls of a kernel.

    Args:
        name: of the kernel.
        size: of the arguments.
        kernel: as ``polytune.kernel`` makes it.
        arguments: of each call; they are put back before it.
    """
    from benchmarks.applications.program_of_calls import Beginning
    from polytune.errors import PolytuneError

    generated = kernel.generated(*arguments)
    beginning = Beginning(tuple(arguments))
    parameters = generated.prepare(tuple(arguments)).parameters
    starts = generated.first_choices.promising(parameters)

    def call(configuration: Any) -> float | None:
        beginning.restore()
        outcome = generated.run(configuration, generated.prepare(tuple(arguments)))
        return None if outcome.failure is not None else outcome.seconds

    def measure(configuration: Any) -> float | None:
        try:
            first = call(configuration)
            if first is None:
                return None
            began, times = time.perf_counter(), [first]
            while len(times) < 5 or time.perf_counter() - began < _SECONDS:
                if time.perf_counter() - began > _MOST:
                    break
                seconds = call(configuration)
                assert seconds is not None
                times.append(seconds)
            return min(times)
        except PolytuneError:
            return None

    risk = partial(generated.first_choices.risk, parameters)
    return Problem(name, size, generated.space.with_default(starts[0]), starts, risk, measure)


def tune(recording: Recording, store: Any, trials: int) -> tuple[Any, list[float]]:
    """Have a tuner make so many trials.  Return it, and what the best took after each call, in trials.

    Args:
        recording: gives the times.
        store: what it knows, and where it leaves what it finds.
        trials: how many calls of anything but the best known.
    """
    from polytune.tuner import Budget, Key, OnlineTuner

    problem = recording.problem
    tuner = OnlineTuner(
        problem.space,
        key=Key(problem.name, problem.shape, "here"),
        store=store,
        budget=Budget.of_calls(trials),
        starts=problem.starts,
        risk=problem.risk,
    )
    reached: list[float] = []
    for _ in range(_LONGEST_CALLS):
        made = tuner.statistics().trials
        if tuner.converged or made >= trials:
            break
        configuration = tuner.choose()
        seconds = recording.seconds(configuration)
        if seconds is None:
            tuner.fail(configuration, "it failed")
        else:
            tuner.report(configuration, seconds)
        made, best = tuner.statistics().trials, tuner.best
        reached += [math.inf] * (made + 1 - len(reached))
        reached[made] = math.inf if best is None else recording.seconds(best[0]) or math.inf
    return tuner, reached


def transferred(recordings: Sequence[Recording], long: int, trials: int) -> Iterator[Found]:
    """Leave out each size of a kernel in turn, and come to it with history of the others.

    Args:
        recordings: of the sizes.
        long: how many trials each size is tuned for with no history.
        trials: how many trials there are on a size that is new.

    Raises:
        OutOfTimeError: there was no time left.
    """
    from polytune.history import HistoryStore

    with tempfile.TemporaryDirectory() as folder:
        stores, cold = [], []
        for number, recording in enumerate(recordings):
            store = HistoryStore(Path(folder) / f"own{number}")
            tuner, reached = tune(recording, store, long)
            tuner.save()
            stores.append(store)
            cold.append(min(reached[: trials + 1], default=math.inf))
        warm = []
        for number, recording in enumerate(recordings):
            history = HistoryStore(Path(folder) / f"new{number}")
            for other, store in enumerate(stores):
                for measurement in store.all() if other != number else ():
                    history.add(measurement)
            warm.append(tune(recording, history, trials)[1])
        for recording, before, reached in zip(recordings, cold, warm, strict=True):
            best, last = recording.best, reached[-1]
            near = next((count for count, seconds in enumerate(reached) if seconds <= NEAR * best), None)
            yield Found(
                recording.problem.name,
                recording.problem.size,
                (recording.seconds(recording.problem.space.default()) or math.inf) / best,
                before / best,
                last / best,
                len(reached) - 1,
                near if last <= NEAR * best else None,
                len(recording._times),
            )


@app.command()
def transfer(
    kernels: Annotated[list[str] | None, typer.Argument(help="Which kernels of the corpus; some by default.")] = None,
    keep: Annotated[Path, typer.Option(metavar="FOLDER", help="Where times are kept.")] = Path("transfer"),
    seconds: Annotated[float, typer.Option(min=1, help="How long there may be measured; what is kept goes on.")] = 600,
    long: Annotated[int, typer.Option(min=8, help="Trials of each size with no history.")] = 80,
    trials: Annotated[int, typer.Option(min=1, help="Trials of a size that is new.")] = 15,
    threads: program.Threads = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Tune each size with no history, then with that of the others, and say how far from its best it is."""
    program.limit_threads(threads)
    keep.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    found: list[Found] = []
    failures: list[str] = []
    left: list[str] = []
    for name in kernels or KERNELS:
        program.live.print(name)
        try:
            recordings = [
                Recording(problem, keep / f"{name}-{problem.size}.jsonl", end) for problem in problems(name, FACTORS)
            ]
            found += list(transferred(recordings, long, trials))
        except OutOfTimeError:
            left.append(name)
        except Exception as error:
            if debug:
                raise
            failures.append(f"{name}: {type(error).__name__}: {error}")
    near = [each.near_after is not None for each in found]
    report = {
        **program.surroundings(),
        "cases": [asdict(each) for each in found],
        "near": sum(near),
        "of": len(near),
        "left": left,
        "failures": failures,
        "reached": bool(near) and sum(near) >= _PORTION * len(near),
    }
    if as_json:
        program.print_json(report)
    else:
        program.results.print(_table(found))
        share = f"{sum(near)} of {len(near)} sizes" if near else "nothing"
        program.results.print(f"{share} within {NEAR - 1:.0%} of the best after {trials} trials at most")
        if left:
            program.results.print(f"no time was left for {', '.join(left)}: the same command goes on")
        for each in failures:
            program.results.print(each, highlight=False, markup=False)
    if failures:
        raise typer.Exit(1)


def _table(found: Sequence[Found]) -> Table:
    headings = ("size", "first choice", "without history", "with history", "trials", "near after", "measured")
    table = Table(Column("over the best"), *(Column(heading, justify="right") for heading in headings), box=None)
    for each in found:
        ratios = [f"{ratio:.2f}" for ratio in (each.first_choice, each.cold, each.transferred)]
        near = "-" if each.near_after is None else str(each.near_after)
        table.add_row(each.kernel, str(each.size), *ratios, str(each.trials), near, str(each.configurations))
    return table


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.transfer")
