"""Legal schedules pass the exact check, and wrong ones are found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import islpy as isl
import pytest

from polytune.errors import LegalityError
from polytune.pipeline import ORDERS
from polytune.schedule.analysis.dependences import Dependences, compute_dependences
from polytune.schedule.analysis.legality import (
    _lexicographically_positive,
    check_legality,
    is_proven_legal,
    violation,
)
from polytune.schedule.candidate import Attempted, Candidate, Known, Order, candidate_schedules
from polytune.schedule.orders.source import SOURCE
from polytune.schedule.scheduler import Strategy, compute_schedule, legal_schedule
from polytune.schedule.unions import domain_of
from tests.schedule.kernels import SMALL


def dependences_of(name: str) -> Dependences:
    return SMALL[name].stages.dependences


def flat(dependences: Dependences, times: Callable[[int, str], str]) -> isl.Schedule:
    """A schedule of one band: per statement, by number and by iterators separated by commas, the text of its time."""
    scop = dependences.scop
    schedule = isl.Schedule.from_domain(domain_of(scop).intersect_params(scop.context))
    parts = []
    for number, statement in enumerate(scop.statements):
        iterators = ", ".join(statement.iterators)
        parts.append(f"{statement.name}[{iterators}] -> [{times(number, iterators)}]")
    parameters = ", ".join(parameter.name for parameter in scop.parameters)
    relation = isl.UnionMap.read_from_str(scop.context.get_ctx(), f"[{parameters}] -> {{ {'; '.join(parts)} }}")
    return schedule.insert_partial_schedule(isl.MultiUnionPwAff.from_union_map(relation))


@pytest.mark.parametrize("name", SMALL)
def test_every_candidate_is_legal(name: str) -> None:
    candidates = SMALL[name].stages.candidates
    assert candidates[0].name == "source"
    for candidate in candidates:
        assert violation(candidate.schedule, candidate.dependences) is None, candidate.name


@pytest.mark.parametrize("name", ["product_of_sums", "stencil", "triangular", "in_place_stencil"])
def test_isl_finds_more_than_the_source_order(name: str) -> None:
    assert "tiled" in {candidate.name for candidate in SMALL[name].stages.candidates}


def test_reversed_loop_is_found() -> None:
    """A[i] = 2 A[i + 1] must run upwards, as it reads what the next iteration overwrites."""
    dependences = dependences_of("reversed_dependence")
    upwards = flat(dependences, lambda number, i: f"{number}, {i}")
    assert violation(upwards, dependences) is None
    downwards = flat(dependences, lambda number, i: f"{number}, -{i}" if number == 0 else f"{number}, {i}")
    found = violation(downwards, dependences)
    assert found is not None and found.startswith("violates dependences")
    assert "S0" in found and "S1" not in found


def test_swapped_statements_are_found() -> None:
    dependences = dependences_of("reversed_dependence")
    found = violation(flat(dependences, lambda number, i: f"{-number}, {i}"), dependences)
    assert found is not None and "S0" in found and "S1" in found


def test_statements_at_one_time_are_found() -> None:
    """Equal times are no order: a dependence must go forward, not stay."""
    dependences = dependences_of("stencil")
    assert violation(flat(dependences, lambda number, iterators: iterators), dependences) is not None


def test_order_of_independent_iterations_is_free() -> None:
    dependences = dependences_of("two_live_ranges")
    assert violation(flat(dependences, lambda number, i: f"-{i}, {number}"), dependences) is None


def test_live_ranges_may_be_swapped_as_wholes() -> None:
    """Lines 3 and 4 before lines 1 and 2 in each iteration: t is written twice in the other order, but never mixed."""
    dependences = dependences_of("two_live_ranges")
    assert violation(flat(dependences, lambda number, i: f"{i}, {(number + 2) % 4}"), dependences) is None


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 2, 3, 1), (2, 0, 1, 3)])
def test_mixed_live_ranges_are_found(order: tuple[int, ...]) -> None:
    """All flow goes forward, but t is overwritten before it is read."""
    dependences = dependences_of("two_live_ranges")
    found = violation(flat(dependences, lambda number, i: f"{i}, {order.index(number)}"), dependences)
    assert found == "interleaves live ranges of 't'"


def test_distributing_a_scalar_is_found() -> None:
    """All writes of total[] first, then all its uses, as if every iteration had a scalar of its own."""
    dependences = dependences_of("two_live_ranges")
    found = violation(flat(dependences, lambda number, i: f"{number}, {i}"), dependences)
    assert found == "interleaves live ranges of 't'"


def test_time_steps_must_be_skewed() -> None:
    """Without a skew a stencil's time loop cannot be the inner one; with it the order is legal."""
    dependences = dependences_of("in_place_stencil")

    def inner(number: int, iterators: str) -> str:
        t, i, j = iterators.split(", ")
        return f"{i}, {t}, {j}"

    def skewed(number: int, iterators: str) -> str:
        t, i, j = iterators.split(", ")
        return f"{t} + {i}, {t}, {j}"

    assert violation(flat(dependences, inner), dependences) is not None
    assert violation(flat(dependences, skewed), dependences) is None


def test_illegal_candidate_is_reported_as_a_defect() -> None:
    dependences = dependences_of("reversed_dependence")
    backwards = Order(name="backwards", meaning="from the last to the first", find=lambda known: Attempted((), ()))
    candidate = Candidate(backwards, flat(dependences, lambda number, i: f"{number}, -{i}"), dependences)
    with pytest.raises(LegalityError, match=r"'backwards' of kernel 'reversed_dependence'(.|\n)*defect of polytune"):
        check_legality(candidate)


def test_wrong_schedule_of_isl_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where isl's own treatment of live ranges mixes them, the schedule is computed without; never generated from."""
    dependences = dependences_of("two_live_ranges")
    wrong = flat(dependences, lambda number, i: f"{number}, {i}")
    asked: list[bool] = []

    def computed(scop, dependences, strategy, *, reorder_live_ranges=True):
        asked.append(reorder_live_ranges)
        if reorder_live_ranges:
            return wrong
        return compute_schedule(scop, dependences, strategy, reorder_live_ranges=False)

    monkeypatch.setattr("polytune.schedule.scheduler._clustered_schedule", lambda *_: wrong)
    monkeypatch.setattr("polytune.schedule.scheduler.compute_schedule", computed)
    schedule = legal_schedule(dependences.scop, dependences, Strategy())
    assert asked == [True, False]
    assert schedule is not None and violation(schedule, dependences) is None


def test_strategy_without_legal_schedule_gives_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    dependences = dependences_of("two_live_ranges")
    wrong = flat(dependences, lambda number, i: f"{number}, {i}")
    for name in ("_clustered_schedule", "compute_schedule"):
        monkeypatch.setattr(f"polytune.schedule.scheduler.{name}", lambda *_, **__: wrong)
    monkeypatch.setattr("polytune.schedule.candidate.nest_of_points", lambda _: None)
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"]


def test_what_isl_gives_up_on_is_not_legal(monkeypatch: pytest.MonkeyPatch) -> None:
    dependences = compute_dependences(SMALL["triangular"].stages.scop)
    source = Candidate(SOURCE, dependences.scop.schedule, dependences)
    with monkeypatch.context() as patch:
        patch.setattr("polytune.schedule.analysis.legality.PHASE_BUDGET", 100)
        assert not check_legality(source) and not is_proven_legal(source.schedule, dependences)
    assert check_legality(source) and is_proven_legal(source.schedule, dependences)


def test_orders_are_given_up_where_isl_cannot_prove_them(monkeypatch: pytest.MonkeyPatch) -> None:
    dependences = compute_dependences(SMALL["triangular"].stages.scop)
    monkeypatch.setattr("polytune.schedule.analysis.legality.PHASE_BUDGET", 100)
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"] and "tiled" in found.given_up


def test_proven_order_is_not_proven_again_and_a_wrong_one_is_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    dependences = compute_dependences(SMALL["two_live_ranges"].stages.scop)
    wrong = flat(dependences, lambda number, i: f"{number}, {i}")
    asked: list[isl.Schedule] = []

    def counted(schedule, *arguments, **options):
        asked.append(schedule)
        return violation(schedule, *arguments, **options)

    monkeypatch.setattr("polytune.schedule.analysis.legality.violation", counted)
    right = dependences.scop.schedule
    assert is_proven_legal(right, dependences) and is_proven_legal(right, dependences)
    assert len(asked) == 1
    assert not is_proven_legal(wrong, dependences) and not is_proven_legal(wrong, dependences)
    assert len(asked) == 3
    # With copies of arrays it is another question.
    assert is_proven_legal(right, dependences, copied=dependences.privatisable) and len(asked) == 4


@pytest.mark.parametrize(
    "steps",
    [
        "[n] -> { [i, j] : i > 0 }",
        "[n] -> { [i, j] : i >= 0 and j > 0 }",
        "[n] -> { [i, j] : i > 0 or (i = 0 and j > 0) }",
        "[n] -> { [i, j, k] : 0 <= i < n and j >= 0 and k >= 1 - i - j }",
        "[n] -> { [i, j] : i > 0 or j = 0 }",
        "[n] -> { [i, j] : i >= 0 and j >= 0 }",
        "[n] -> { [i, j] : i > 0 or (i = 0 and j >= n) }",
        "[n] -> { [i, j] : i > -1 and exists (e : j = 2e + 1) }",
        "[n] -> { [i, j] : i = n and j > 0 }",
        "[n] -> { [i] : false }",
        "{ [] }",
    ],
)
def test_positive_differences_are_those_of_the_order_of_all_pairs(steps: str) -> None:
    """Place by place the answer is isl's own for the relation of members to the zero that is not less."""
    differences = isl.Set(steps)
    zero = isl.Set.from_multi_aff(isl.MultiAff.zero(differences.get_space()))
    assert _lexicographically_positive(differences) == differences.lex_le_set(zero).is_empty()


def test_problem_too_large_for_isl_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A linear program's pivots are not counted by isl, so its size is what is bounded."""
    for limit in ("MOST_CONSTRAINTS", "MOST_IN_DEEP_BANDS"):
        monkeypatch.setattr(f"polytune.schedule.scheduler.{limit}", 10)
    dependences = dependences_of("triangular")
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"] and "tiled" in found.given_up


def test_budget_of_isl_leaves_the_source_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polytune.schedule.scheduler.PHASE_BUDGET", 100)
    dependences = dependences_of("triangular")
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"]
    monkeypatch.undo()
    assert len(candidate_schedules(dependences, ORDERS).made) > 1


def test_strategy_on_which_isl_gives_up_gives_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_):
        raise isl.Error("unable to carry dependences")

    monkeypatch.setattr("polytune.schedule.scheduler.simplified", gives_up)
    dependences = dependences_of("triangular")
    found = candidate_schedules(dependences, ORDERS)
    assert [candidate.name for candidate in found.made] == ["source"]


def test_a_schedule_is_proven_before_the_next_order_is_looked_for() -> None:
    """So that it is not lost where the others use up the time that there is."""
    dependences = dependences_of("triangular")
    seen: list[str] = []

    def after_the_others(order: Order) -> Order:
        def find(known: Known) -> Attempted[Candidate]:
            seen.append(f"{order.name} is looked for")
            return order.find(known)

        return replace(order, find=find)

    def is_proven(candidate: Candidate) -> bool:
        seen.append(f"{candidate.name} is proven")
        return candidate.name != "tiled"

    orders = [after_the_others(order) for order in ORDERS if order.name in ("source", "tiled", "coincident")]
    found = candidate_schedules(dependences, orders, is_proven)
    assert seen[:4] == [
        "source is looked for",
        "tiled is looked for",
        "tiled is proven",
        "coincident is looked for",
    ]
    assert "tiled" in found.given_up and "tiled" not in {candidate.name for candidate in found.made}
