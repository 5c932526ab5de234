"""Corrections of the model of times by what a machine's history holds of all kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polytune
from polytune.history.machine import machine_key
from polytune.history.store import HistoryStore, default_store
from polytune.runtime.teams.threads import current_threads
from polytune.runtime.tuning import first_choices, machine_rates
from polytune.runtime.tuning.machine_rates import (
    GROUPS,
    FastestVersions,
    corrections_here,
    fitted,
    known_cases,
    note_case,
)
from polytune.runtime.tuning.work import Kind
from polytune.tuner import Configuration, Key
from polytune.tuner.budget import Budget

RNG = np.random.default_rng


def cases_of(factors: dict[str, float], count: int, seed: int, noise: float = 0.05) -> list[FastestVersions]:
    """Cases of a machine on which groups of kinds take so many times longer than expected."""
    rng = RNG(seed)
    true = np.array([factors.get(group, 1.0) for group in GROUPS])
    found = []
    for number in range(count):
        expected = rng.dirichlet(np.full(len(GROUPS), 0.3), 6) * rng.lognormal(0, 0.3, (6, 1)) * 1e5
        seconds = expected @ true * rng.lognormal(0, noise, 6) * rng.lognormal(0, 0.5) * 1e-9
        order = np.argsort(seconds)
        found.append(
            FastestVersions(f"k{number}", "n=8", tuple(seconds[order]), tuple(map(tuple, expected[order].tolist())))
        )
    return found


def lost(cases: list[FastestVersions], corrections: machine_rates.Corrections) -> float:
    """The geometric mean of how many times longer than the fastest version the choices take."""
    factors = np.array([corrections.get(group, 1.0) for group in GROUPS])
    logarithms = [
        math.log(each.seconds[int(np.argmin(np.array(each.expected) @ factors))] / each.seconds[0]) for each in cases
    ]
    return math.exp(sum(logarithms) / len(logarithms))


@pytest.mark.parametrize("factors", [{"memory": 3.0}, {"second cache": 0.4, "functions": 2.5}, {"threads": 3.5}])
def test_what_kernels_have_taught_makes_better_choices_for_others(factors):
    corrections = fitted(cases_of(factors, 40, seed=1))
    for group, factor in factors.items():
        assert (corrections[group] - 1) * (factor - 1) > 0
    others = cases_of(factors, 200, seed=2)
    assert math.log(lost(others, corrections)) < 0.5 * math.log(lost(others, {}))


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_corrected_where_choices_are_good(seed):
    assert fitted(cases_of({}, 40, seed)) == {}


def test_few_kernels_correct_nothing():
    cases = cases_of({"memory": 4.0}, 40, seed=1)
    assert fitted(cases[: machine_rates._FEWEST_CASES - 1]) == {}
    of_one = [FastestVersions("k", f"n={number}", each.seconds, each.expected) for number, each in enumerate(cases)]
    assert fitted(of_one) == {}
    assert fitted(cases) != {}


def noted(store: HistoryStore, case: FastestVersions, machine: str) -> None:
    work = dict(zip(range(len(case.seconds)), case.expected, strict=True))
    measured = [(Configuration({"version": str(number)}), each) for number, each in enumerate(case.seconds)]
    note_case(store, Key(case.kernel, case.shape, machine), lambda each: work[int(each["version"])], measured)


def test_cases_are_kept_and_correct_the_rates(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    store, threads = default_store(), current_threads()
    cases = cases_of({"memory": 4.0}, 20, seed=1)
    for case in cases:
        noted(store, case, machine_key(threads))
    known = known_cases(store, machine_key(threads))
    assert [each.kernel for each in known] == [each.kernel for each in cases]
    np.testing.assert_allclose(known[3].expected, cases[3].expected, rtol=1e-3)
    found = corrections_here(threads)
    assert found["memory"] > 1.3
    assert known_cases(store, "another machine") == []


def test_a_case_is_noted_anew_when_its_times_have_changed(tmp_path):
    store = HistoryStore(tmp_path)
    (case,) = cases_of({}, 1, seed=3)
    noted(store, case, "m")
    saved = []
    store.save_search = lambda *arguments: saved.append(arguments)
    noted(store, case, "m")
    assert not saved
    noted(store, FastestVersions(case.kernel, case.shape, tuple(2 * each for each in case.seconds), case.expected), "m")
    assert len(saved) == 1 and len(saved[0][3]["cases"]) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(version=0),
        lambda document: document.update(rates=[1.0]),
        lambda document: document.update(cases="none"),
        lambda document: document.update(cases=[["k", "n", ["x"], [1.0]]]),
        lambda document: document.update(cases=[["k", "n", [1.0] * 8, [math.nan] * 8]]),
    ],
)
def test_what_is_kept_otherwise_teaches_nothing(tmp_path, change):
    store = HistoryStore(tmp_path)
    (case,) = cases_of({}, 1, seed=3)
    noted(store, case, "m")
    document = store.load_search("model of times", "", "m")
    change(document)
    store.save_search("model of times", "", "m", document)
    assert known_cases(store, "m") == []


@pytest.mark.parametrize("factors", [{"memory": "x"}, {"memory": 1e9}, {"memory": math.nan}, {"nothing": 2.0}, [2.0]])
def test_factors_that_cannot_be_correct_nothing(tmp_path, factors):
    store = HistoryStore(tmp_path)
    rates = machine_rates._rates_now()
    store.save_search("model of times", "", "m", {"version": 1, "rates": rates, "factors": factors})
    assert machine_rates._corrections_at(store, "m") == {}


def test_groups_hold_each_kind_once():
    kinds = [kind for kinds in GROUPS.values() for kind in kinds]
    assert sorted(kinds) == sorted([*(kind.name.lower() for kind in Kind), "starts", "tasks"])


def doubled(A: np.ndarray, B: np.ndarray) -> None:
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = 2 * A[j, i]


def test_calls_note_what_versions_have_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    kernel = polytune.kernel(budget=Budget.unlimited(), background=False)(doubled)
    A, B = np.ones((300, 300)), np.zeros((300, 300))
    for _ in range(60):
        kernel(A, B)
    ((_, tuner),) = kernel.tuners.items()
    tuner.save()
    (known,) = known_cases(default_store(), tuner.key.machine)
    assert known.kernel == tuner.key.kernel and known.shape == tuner.key.shape
    fastest: dict[str, float] = {}
    for configuration, seconds in tuner.ranking():
        fastest.setdefault(configuration["version"], seconds)
    np.testing.assert_allclose(known.seconds, sorted(fastest.values())[:8], rtol=0.06)
    assert min(map(sum, known.expected)) > 0


def test_first_choices_are_corrected_unless_the_history_is_not_to_be_read(monkeypatch):
    A, B = np.ones((30, 30)), np.zeros((30, 30))
    generated = polytune.kernel(doubled).generated(A, B)
    sizes = (3000,) * len(generated.module.PARAMETERS)
    monkeypatch.setattr(first_choices, "corrections_here", lambda threads: {"memory": 3.0})
    configuration = generated.space.default()
    corrected = generated.first_choices.prediction(sizes).seconds(configuration)
    with polytune.tuning("off"):
        assert corrected > 1.2 * generated.first_choices.prediction(sizes).seconds(configuration)
    assert generated.first_choices.prediction(sizes).seconds(configuration) == corrected


def test_corrections_change_what_is_expected(tmp_path, monkeypatch):
    from polytune.runtime.tuning.prediction import Prediction

    A, B = np.ones((3000, 3000)), np.zeros((3000, 3000))
    generated = polytune.kernel(doubled).generated(A, B)
    parameters = generated.prepare((A, B), {}).parameters
    plain = Prediction(generated.module, generated.space, parameters, 1)
    slow = Prediction(generated.module, generated.space, parameters, 1, {"memory": 3.0})
    configuration = generated.space.default()
    assert slow.seconds(configuration) > 1.2 * plain.seconds(configuration)
    np.testing.assert_allclose(slow.uncorrected(configuration), plain.uncorrected(configuration))
    assert sum(slow.times(configuration).values()) == pytest.approx(1e9 * slow.seconds(configuration))
