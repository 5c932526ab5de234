"""Runs of searches, made once and kept: a benchmark of hours can be stopped and gone on with."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks import program
from polytune.lab import RecordedSpace, Results, Run
from polytune.lab.results import Setting
from polytune.lab.results_files import RunLog
from polytune.lab.run import Settings, Task
from polytune.lab.simulation import make_runs

MakeRuns = Callable[[RecordedSpace, Sequence[Task]], Iterable[Run]]
"""Makes the runs of tasks on a space, in any order; it may leave some out."""


@dataclass(frozen=True)
class Collection:
    """The making of runs, and the place where they are kept.

    Attributes:
        folder: where; None keeps them in memory only.
        seed: what their random choices come from.
        jobs: in how many processes they are made.
        settings: of polytune's searches, by their names.
        options: what is set besides, for people.
    """

    folder: Path | None
    seed: int
    jobs: int
    settings: Settings = field(default_factory=dict)
    options: str = ""

    def own_runs(self, recorded: RecordedSpace, tasks: Sequence[Task]) -> Iterator[Run]:
        """The runs of polytune's searches."""
        return make_runs(recorded, tasks, self.seed, self.jobs, self.settings)

    def collect(self, recorded: RecordedSpace, tasks: Sequence[Task], make: MakeRuns | None = None) -> Results:
        """The runs of the tasks on a space: those that are kept, and the others newly made.

        Args:
            recorded: the space.
            tasks: which runs.
            make: what makes them; polytune's searches by default.
        """
        setting = Setting.of(recorded, self.seed, self.options)
        wanted = set(tasks)
        with self._log(setting) as log:
            known = {} if log is None else {run.task: run for run in log.runs if run.task in wanted}
            missing = [task for task in tasks if task not in known]
            with progress_bar() as bar:
                line = bar.add_task(setting.space, total=len(missing))
                for run in (make or self.own_runs)(recorded, missing) if missing else ():
                    known[run.task] = run
                    if log is not None:
                        log.add(run)
                    bar.advance(line)
        return Results.ordered(setting, known.values(), [task.search for task in tasks])

    def _log(self, setting: Setting) -> RunLog | nullcontext[None]:
        if self.folder is None:
            return nullcontext()
        self.folder.mkdir(parents=True, exist_ok=True)
        # What differs in anything has a file of its own, also where it has the same name.
        key = f"{zlib.crc32(repr((setting.fingerprint, setting.seed, setting.options)).encode()):08x}"
        return RunLog(self.folder / f"{setting.space}-{key}.runs", setting, resume=True)


def progress_bar() -> Progress:
    """A bar on standard error, on a terminal only."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    return Progress(*columns, console=program.live, transient=True, disable=not program.live.is_terminal)


def tasks_of(searches: Iterable[str], repeats: dict[int, int]) -> list[Task]:
    """Runs of every search.

    Args:
        searches: their names.
        repeats: how many runs there are with each budget.
    """
    return [Task(search, budget, r) for budget, n in repeats.items() for r in range(n) for search in searches]
