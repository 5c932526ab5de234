"""The results of several files as one for each space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from polytune.errors import RecordingError
from polytune.lab.results import Results, Setting
from polytune.lab.run import Run, Task

__all__ = ["merge", "named_apart"]

_FINGERPRINT = 6  # digits of it that tell two spaces apart, of the same name and device


def merge(results: Iterable[Results]) -> list[Results]:
    """One for each space, with the runs of all files about it; a run that is in several of them counts once.

    Runs of different seeds are different runs: their repeats are numbered on.  Spaces of one name are told apart by
    the device, or else by digits of their fingerprint, which are then part of their names.

    Raises:
        RecordingError: two files have different runs where there should be one, as versions of polytune that search
            differently make them, or runs with different options.
    """
    of_space: dict[str, dict[int, list[Results]]] = {}
    for result in results:
        of_space.setdefault(result.setting.fingerprint, {}).setdefault(result.setting.seed, []).append(result)
    return named_apart([_merged(list(seeds.values())) for seeds in of_space.values()])


def _merged(of_seeds: Sequence[Sequence[Results]]) -> Results:
    """The results on one space."""
    runs: dict[Task, Run] = {}
    setting = of_seeds[0][0].setting
    for of_seed in of_seeds:
        first = max((task.repeat for task in runs), default=-1) + 1
        for result in of_seed:
            if not setting.options:
                setting = replace(setting, options=result.setting.options)
            if result.setting.options not in ("", setting.options):
                raise RecordingError(
                    f"the results on {setting.space} were made with different options ({setting.options}, and "
                    f"{result.setting.options}): compare them one at a time"
                )
            for run in result.runs:
                task = replace(run.task, repeat=first + run.task.repeat)
                if runs.setdefault(task, replace(run, task=task)).slowdowns != run.slowdowns:
                    raise RecordingError(
                        f"two files have a run of {task.search} with {task.budget} evaluations on {setting.space} from "
                        f"seed {result.setting.seed}, but not the same one, as another version of polytune may have "
                        "made it: compare them one at a time"
                    )
    return Results.ordered(setting, runs.values())


def named_apart(results: Sequence[Results]) -> list[Results]:
    """The results with names of their spaces that are all different."""

    def by_device(setting: Setting) -> str:
        return f"{setting.space}, {setting.device}" if setting.device else setting.space

    def by_fingerprint(setting: Setting) -> str:
        return f"{setting.space}, {setting.fingerprint[:_FINGERPRINT]}"

    for name in (by_device, by_fingerprint):
        results = _renamed(results, name)
    return list(results)


def _renamed(results: Sequence[Results], name: Callable[[Setting], str]) -> list[Results]:
    """The results with new names for those spaces that share theirs."""
    count = Counter(result.setting.space for result in results)
    return [
        replace(result, setting=replace(result.setting, space=name(result.setting)))
        if count[result.setting.space] > 1
        else result
        for result in results
    ]
