"""Polytune's default search beside every strategy of Kernel Tuner, on the same spaces with the same budgets.

On each space and with each budget polytune wins if its mean slowdown is smaller than that of Kernel Tuner's strategy
that is the best there, and ties where both are the same, as at the optimum: a choice among strategies that nobody can
make beforehand.  Means of few runs differ by chance, and by single runs that missed: whether that strategy is better
tells the Mann-Whitney test of the runs, at the level and with the correction for all spaces and budgets together that
`polytune.lab.statistics` has.  Besides, polytune is compared with the one strategy that has the highest score over all
spaces and budgets.  Scores are against polytune's random search, see `polytune.lab.score`.

Most strategies are far from the best in most places.  With a screening, all make a few runs, and of each space and
budget only the strategies with the least mean slowdowns make the others: those that may be the best there.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.search.collection import Collection, tasks_of
from benchmarks.search.foreign import ForeignTuner
from polytune.lab import RecordedSpace, Results
from polytune.lab.merging import named_apart
from polytune.lab.run import Task
from polytune.lab.score import aggregate, score, score_interval
from polytune.lab.statistics import SIGNIFICANCE, holm, mann_whitney

NAME = MODULE = "kernel_tuner"
SCRIPT = Path(__file__).with_name("kernel_tuner_script.py")
BUDGETS = (25, 50, 100, 200, 400)
STRATEGIES = (
    "random_sample",
    "genetic_algorithm",
    "simulated_annealing",
    "pso",
    "firefly_algorithm",
    "diff_evo",
    "mls",
    "greedy_mls",
    "ordered_greedy_mls",
    "greedy_ils",
    "basinhopping",
    "dual_annealing",
    "minimize",
    "bayes_opt",
    "hybrid_vndx",
    "adaptive_tabu_greywolf",
)
"""All that run without further packages and search: ``brute_force`` does not, ``nsga2`` is for several objectives."""

CONTENDERS = 4
"""The number of strategies of a space and budget that go on after a screening."""

_SHARE_OF_SPACES = 0.75
_SHARE_OF_RUNS = 0.9
_NEITHER = 0.5  # the probability of the faster configuration, of searches that are alike
_SAME = 1e-9  # of a mean, by which two differ that are the same


def study(
    spaces: Sequence[RecordedSpace],
    collection: Collection,
    tuner: ForeignTuner | None,
    search: str,
    strategies: Sequence[str],
    repeats: Mapping[int, int],
    screening: int | None = None,
) -> dict[str, Any]:
    """Compare on every space.

    Args:
        spaces: the recorded spaces.
        collection: makes polytune's runs.
        tuner: makes Kernel Tuner's; None leaves them out.
        search: polytune's search.
        strategies: Kernel Tuner's.
        repeats: how many runs there are with each budget.
        screening: how many of Kernel Tuner's decide which strategies make the rest; None makes all of all.
    """
    rivals = [f"{NAME}:{strategy}" for strategy in strategies] if tuner is not None else []
    own = list(dict.fromkeys([search, "random"]))
    found: list[Results] = []
    for recorded in spaces:
        runs = list(collection.collect(recorded, tasks_of(own, dict(repeats))).runs)
        if tuner is not None:
            tasks = tasks_of(rivals, {budget: min(count, screening or count) for budget, count in repeats.items()})
            results = collection.collect(recorded, tasks, tuner.runs)
            runs += results.runs
            if screening is not None:
                rest = remaining(results, rivals, repeats, screening)
                runs += collection.collect(recorded, rest, tuner.runs).runs
        else:
            results = collection.collect(recorded, [])
        found.append(Results.ordered(results.setting, runs, [*own, *rivals]))
    found = named_apart(found)
    scores = {
        name: {budget: aggregate(score(r, name, "random", budget) for r in found) for budget in repeats}
        for name in [*own, *rivals]
        if all(r.of_search(name, budget) for r in found for budget in repeats)
    }
    overall = {name: aggregate(by_budget.values()) for name, by_budget in scores.items()}
    scored = [name for name in rivals if not math.isnan(overall.get(name, math.nan))]
    single = max(scored, key=overall.__getitem__, default=None)
    rows = [row(results, search, rivals, single, budget) for results in found for budget in repeats]
    correct(rows)
    report: dict[str, Any] = {
        "rows": rows,
        "scores": scores,
        "intervals": [interval(found, search, budget) for budget in repeats],
        "overall": overall,
    }
    if rivals:
        report["single_best"] = single
        report["failures"] = tuner.failures if tuner is not None else {}
        report["reached"] = reached(rows, scores, search, len(spaces))
    return report


def interval(results: Sequence[Results], search: str, budget: int) -> dict[str, Any]:
    """The confidence interval of polytune's score with a budget, over all spaces."""
    low, high = score_interval(results, search, budget)
    return {"search": search, "budget": budget, "low": low, "high": high}


def remaining(screened: Results, rivals: Sequence[str], repeats: Mapping[int, int], screening: int) -> list[Task]:
    """The runs that are left to the contenders of each budget.

    Args:
        screened: the first runs of all rivals on a space.
        rivals: their names.
        repeats: how many runs there are with each budget.
        screening: how many have been made.
    """
    tasks = []
    for budget, count in repeats.items():
        ran = [name for name in rivals if screened.of_search(name, budget)]
        best = sorted(ran, key=lambda name: statistics.fmean(screened.slowdowns(name, budget)))[:CONTENDERS]
        tasks += [Task(name, budget, repeat) for repeat in range(screening, count) for name in best]
    return tasks


def row(results: Results, search: str, rivals: Sequence[str], single: str | None, budget: int) -> dict[str, Any]:
    """One space with one budget; `single` is the rival that is the best over all of them."""
    means = {
        name: statistics.fmean(results.slowdowns(name, budget))
        for name in [search, "random", *rivals]
        if results.of_search(name, budget)
    }
    runs = {name: len(results.of_search(name, budget)) for name in rivals if name in means}
    # A strategy that failed now and then is still one; those that a screening has ended have far fewer runs.
    contenders = [name for name, count in runs.items() if count >= _SHARE_OF_RUNS * max(runs.values())]
    best = min(contenders, key=means.__getitem__, default=None)
    own = results.slowdowns(search, budget)
    against = [] if best is None else results.slowdowns(best, budget)
    u, p = mann_whitney(own, against) if against else (None, None)
    return {
        "space": results.setting.space,
        "budget": budget,
        "runs": len(own),
        "mean_slowdown": means[search],
        "random": means["random"],
        "best_rival": best,
        "best_rival_runs": None if best is None else runs[best],
        "best_rival_mean_slowdown": None if best is None else means[best],
        "wins": None if best is None else _is_less(means[search], means[best]),
        "ties": None if best is None else math.isclose(means[search], means[best], rel_tol=_SAME),
        "effect": None if u is None else u / (len(own) * len(against)),
        "p": p,
        "single_best_mean_slowdown": None if single is None else means[single],
        "wins_against_single_best": None if single is None else _is_less(means[search], means[single]),
        "ties_with_single_best": None if single is None else math.isclose(means[search], means[single], rel_tol=_SAME),
        "means": means,
    }


def correct(rows: Sequence[dict[str, Any]]) -> None:
    """Replace the p-values of rows by those corrected for all of them, and say in which the best rival is better, which
    is not where chance alone explains the difference."""
    tested = [row for row in rows if row["p"] is not None]
    for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p"] = p
        row["is_behind"] = p < SIGNIFICANCE and row["effect"] < _NEITHER


def _is_less(one: float, other: float) -> bool:
    return one < other and not math.isclose(one, other, rel_tol=_SAME)


def reached(
    rows: Sequence[Mapping[str, Any]], scores: Mapping[str, Mapping[int, float]], search: str, spaces: int
) -> dict[str, bool]:
    """The verdict for each budget: whether polytune wins or ties on enough spaces, and whether its score is higher than
    any rival's."""
    goals = {}
    for budget in sorted({row["budget"] for row in rows}):
        at = [row for row in rows if row["budget"] == budget]
        for whom, win, tie in (
            ("", "wins", "ties"),
            (" against the best strategy overall", "wins_against_single_best", "ties_with_single_best"),
        ):
            wins, ties = (sum(bool(row[name]) for row in at) for name in (win, tie))
            goal = f"{budget} evaluations: {wins} of {spaces} spaces won{f' and {ties} tied' if ties else ''}{whom}"
            goals[goal] = wins + ties >= _SHARE_OF_SPACES * spaces
        behind = sum(row["is_behind"] for row in at)
        goal = f"{budget} evaluations: on {behind} of {spaces} spaces the best strategy is better by the test"
        goals[goal] = not behind
        rivals = [by_budget[budget] for name, by_budget in scores.items() if name.startswith(f"{NAME}:")]
        highest = max(rivals, default=float("nan"))
        own = scores[search][budget]
        goals[f"{budget} evaluations: score {own:.3f}, the best rival's {highest:.3f}"] = own > highest
    return goals
