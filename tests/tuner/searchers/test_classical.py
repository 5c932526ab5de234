"""The classical searches, each against what its method promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from polytune.tuner import Integer, Is, Nominal, Space
from polytune.tuner.searchers import make_search
from polytune.tuner.searchers.finite.annealing import Annealing
from polytune.tuner.searchers.finite.genetic import Genetic
from polytune.tuner.searchers.finite.greedy import Greedy
from polytune.tuner.searchers.finite.greedy_restart import GreedyWithRestart
from polytune.tuner.searchers.finite.latin_hypercube import LatinHypercube
from polytune.tuner.searchers.finite.particle_swarm import ParticleSwarm
from polytune.tuner.spaces.finite import FiniteSpace

SIDE = 12
CUBE = FiniteSpace.from_space(Space([Integer(name, 0, SIDE - 1) for name in "abc"]))
OPTIMUM = (9, 2, 5)
BEST = CUBE.index_of(OPTIMUM)


def bowl(index):
    """One valley, without any parameter depending on another."""
    return 1.0 + sum((level - best) ** 2 for level, best in zip(CUBE.rows[index].tolist(), OPTIMUM, strict=True))


def two_valleys(index):
    """The deeper of two valleys is the smaller one, and between them is a wall of infeasible rows."""
    a, b, c = CUBE.rows[index].tolist()
    if a == 3:
        return math.inf
    return 2.0 + abs(a - 9) + abs(b - 6) + abs(c - 6) if a > 3 else 1.0 + 2 * (a + b + c)


def evaluations_until(name, wanted, cost, seed, space=CUBE, limit=None, **settings):
    search = make_search(name, space, np.random.default_rng(seed), **settings)
    for count in range(1, (limit or len(space)) + 1):
        row = search.ask()
        search.tell(row, cost(row))
        if row == wanted:
            return count
    return math.inf


def test_full_search_finds_a_row_when_its_turn_comes():
    for row in (0, 5, BEST, len(CUBE) - 1):
        assert evaluations_until("full", row, bowl, 0) == row + 1


def test_random_search_needs_half_of_the_rows():
    """The place of one row in a random order is uniform: its mean is (n + 1) / 2, its deviation n / sqrt(12)."""
    places = [evaluations_until("random", BEST, bowl, seed) for seed in range(200)]
    n = len(CUBE)
    assert abs(np.mean(places) - (n + 1) / 2) < 4 * n / math.sqrt(12 * 200)
    assert abs(np.std(places) - n / math.sqrt(12)) < 0.15 * n


def test_random_search_draws_every_pair_of_first_rows_equally_often():
    space = FiniteSpace.from_configurations(["a"], [{"a": value} for value in range(4)])
    counts = dict.fromkeys(itertools.permutations(range(4), 2), 0)
    rng = np.random.default_rng(0)
    for _ in range(2400):
        search = make_search("random", space, rng)
        pair = []
        for _ in range(2):
            pair.append(search.ask())
            search.tell(pair[-1], 1.0)
        counts[tuple(pair)] += 1
    assert min(counts.values()) > 140 and max(counts.values()) < 260  # 200 each, deviation 13.5


def test_a_latin_hypercube_takes_every_level_once():
    search = LatinHypercube(CUBE, np.random.default_rng(3), budget=SIDE)
    rows = []
    for _ in range(SIDE):
        rows.append(search.ask())
        search.tell(rows[-1], 1.0)
    for column in CUBE.rows[rows].T:
        assert sorted(column.tolist()) == list(range(SIDE))


@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize("first_improvement", [False, True])
def test_a_climb_ends_at_the_optimum_of_a_valley(adjacent, first_improvement):
    settings = {"adjacent": adjacent, "first_improvement": first_improvement}
    counts = [evaluations_until("greedy", BEST, bowl, seed, **settings) for seed in range(30)]
    # With all levels as neighbours, three climbs along one parameter each lead down; adjacent ones take a step each.
    assert max(counts) <= (6 * 3 * SIDE if adjacent else 3 * 3 * SIDE)


def test_the_steepest_climb_moves_to_the_best_neighbour():
    search = Greedy(CUBE, np.random.default_rng(0), first_improvement=False)
    start = search.ask()
    search.tell(start, bowl(start))
    around = {int(row) for row in CUBE.neighbours(start)}
    asked = set()
    for _ in around:
        asked.add(search.ask())
        search.tell(search.ask(), bowl(search.ask()))
    assert asked == around
    best = min(around, key=bowl)
    assert search.ask() in CUBE.neighbours(best)


def test_the_first_climb_moves_at_once():
    search = Greedy(CUBE, np.random.default_rng(0), first_improvement=True)
    at, cost = search.ask(), bowl(search.ask())
    search.tell(at, cost)
    for _ in range(40):
        row = search.ask()
        assert row in CUBE.neighbours(at)
        search.tell(row, bowl(row))
        if bowl(row) < cost:
            at, cost = row, bowl(row)
        if at == BEST:
            break
    assert at == BEST


def test_restarts_leave_a_valley_that_is_not_the_deepest():
    lowest = CUBE.index_of((0, 0, 0))
    once, again = [], []
    for seed in range(20):
        for found, kind in ((once, Greedy), (again, GreedyWithRestart)):
            search = kind(CUBE, np.random.default_rng(seed), adjacent=True)
            for _ in range(500):
                row = search.ask()
                search.tell(row, two_valleys(row))
            found.append(search.best[0] == lowest)
    assert np.mean(again) >= 0.9 > np.mean(once)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("epsilon_greedy", 0.1),
        ("nelder_mead", 0.2),
        ("annealing", 0.6),
        ("genetic", 0.5),
        ("particle_swarm", 0.35),
        ("portfolio", 0.03),
    ],
)
def test_it_finds_the_optimum_of_a_valley_sooner_than_by_chance(name, share):
    """By chance half of the rows are needed; the share is that of the median over seeds."""
    seeds = range(5 if name == "portfolio" else 15)
    counts = [evaluations_until(name, BEST, bowl, seed, limit=1000) for seed in seeds]
    assert np.median(counts) <= share * len(CUBE)


def test_epsilon_greedy_explores_with_the_probability_epsilon():
    def far_from_best(epsilon):
        count = 0
        for seed in range(40):
            search = make_search("epsilon_greedy", CUBE, np.random.default_rng(seed), epsilon=epsilon, decay=0.0)
            for _ in range(20):
                best = search.best
                row = search.ask()
                count += best is not None and len(search.costs) >= 10 and row not in CUBE.neighbours(best[0])
                search.tell(row, bowl(row))
        return count / (40 * 10)

    assert far_from_best(0.0) == 0
    assert 0.2 < far_from_best(0.3) < 0.4  # an explored row is hardly ever a neighbour
    assert far_from_best(1.0) > 0.95


def test_epsilon_decays_with_every_choice():
    search = make_search("epsilon_greedy", CUBE, np.random.default_rng(0), first=4, epsilon=0.5, decay=0.1)
    for _ in range(14):
        search.tell(search.ask(), bowl(search.ask()))
    assert search.state()["rule"]["epsilon"] == pytest.approx(0.5 * 0.9**10)


def test_annealing_walks_by_steps_of_at_most_three_parameters():
    space = FiniteSpace.from_space(Space([Integer(f"p{index}", 0, 3) for index in range(6)]))
    search = Annealing(space, np.random.default_rng(1), budget=300)
    at = None
    differences = []
    for _ in range(200):
        row = search.ask()
        if at is not None:
            differences.append(int((space.rows[row] != space.rows[at]).sum()))
        # Ever better: every step is taken, so that each is proposed from the row before.
        search.tell(row, 1000.0 - len(search.costs))
        at = row
    assert max(differences) == 3 and min(differences) == 1


@pytest.mark.parametrize(
    ("told", "expected"), [(1, math.exp(-0.2 / 0.495)), (50, math.exp(-0.2 / 0.25)), (99, math.exp(-0.2 / 0.005))]
)
def test_annealing_accepts_by_the_falling_temperature(told, expected):
    """T falls from half of the first cost, 1, to 0 over 100 evaluations; a row is worse by 0.2."""
    accepted = 0
    for seed in range(400):
        search = Annealing(CUBE, np.random.default_rng(seed), budget=100, temperature=0.5)
        first = search.ask()
        search.tell(first, 1.0)
        for other in [row for row in range(told) if row != first][: told - 1]:
            search.tell(other, 5.0)
        worse = search.ask()
        search._learn(worse, 1.2)
        accepted += search.state()["rule"]["at"] == worse
    assert abs(accepted / 400 - expected) < 4 * math.sqrt(0.25 / 400)


def test_annealing_never_accepts_an_infeasible_row():
    search = Annealing(CUBE, np.random.default_rng(0), budget=50)
    first = search.ask()
    search.tell(first, 1.0)
    for _ in range(20):
        search.tell(search.ask(), math.inf)
        assert search.state()["rule"]["at"] == first


def test_children_have_the_genes_of_two_parents_cut_at_one_point():
    search = Genetic(CUBE, np.random.default_rng(0), population=10, mutation=0.0)
    parents = []
    for _ in range(10):
        parents.append(search.ask())
        search.tell(parents[-1], bowl(parents[-1]))
    rows = {tuple(CUBE.rows[index].tolist()) for index in parents}
    possible = {one[:cut] + other[cut:] for one in rows for other in rows for cut in range(4)}
    children = search.state()["rule"]["generation"]
    assert len(children) == 10
    assert {tuple(CUBE.rows[index].tolist()) for index in children} <= possible


def test_better_rows_have_more_children():
    """Of rows apart in every gene, the genes of a child name its parents; the first has Beta(1, 2.5) below 1/20."""
    space = FiniteSpace.from_space(Space([Integer("a", 0, 19), Integer("b", 0, 19)]))
    search = Genetic(space, np.random.default_rng(0), mutation=0.0)
    ranked = [space.index_of([level, level]) for level in range(20)]
    genes = np.concatenate([space.rows[search._children(ranked)].ravel() for _ in range(4000)])
    share = np.bincount(genes, minlength=20) / len(genes)
    expected = np.diff([1 - (1 - place / 20) ** 2.5 for place in range(21)])
    assert share[:5] == pytest.approx(expected[:5], rel=0.12)  # two different parents flatten it slightly
    assert share[15:].sum() == pytest.approx(expected[15:].sum(), abs=0.02)


def test_a_gene_mutates_with_its_probability():
    search = Genetic(CUBE, np.random.default_rng(0), mutation=0.3)
    changed = [np.array(search._mutate(CUBE.rows[0])) != 0 for _ in range(3000)]
    assert np.mean(changed) == pytest.approx(0.3 * (SIDE - 1) / SIDE, abs=0.02)


def test_a_generation_is_replaced_as_a_whole():
    search = Genetic(CUBE, np.random.default_rng(5), population=20)
    generations = []
    for _ in range(4):
        generations.append(search.state()["rule"]["generation"])
        while search.state()["rule"]["generation"] == generations[-1]:
            search.tell(search.ask(), bowl(search.ask()))
    means = [np.mean([bowl(index) for index in generation]) for generation in generations]
    assert all(len(generation) == 20 for generation in generations)
    assert means[-1] < means[0]


def test_a_swarm_gathers_around_the_best_row():
    search = ParticleSwarm(CUBE, np.random.default_rng(0))
    spread = []
    for _ in range(200):
        search.tell(search.ask(), bowl(search.ask()))
        spread.append(np.std(search.state()["rule"]["position"], axis=0).mean())
    assert spread[-1] < 0.3 * spread[0]


def test_every_search_respects_conditions():
    space = FiniteSpace.from_space(
        Space(
            [
                Nominal("version", ("plain", "tiled")),
                Integer("outer", 1, 8, powers_of_two=True, when=Is("version", "tiled")),
                Integer("inner", 1, 8, powers_of_two=True, when=Is("version", "tiled")),
                Integer("threads", 1, 6),
            ]
        )
    )
    best = space.index_of([1, 2, 1, 4])

    def cost(index):
        return 1.0 + abs(space.rows[index].astype(int) - space.rows[best].astype(int)).sum()

    for name in (
        "greedy_restart",
        "epsilon_greedy",
        "nelder_mead",
        "annealing",
        "genetic",
        "particle_swarm",
        "portfolio",
    ):
        counts = [evaluations_until(name, best, cost, seed, space=space) for seed in range(5)]
        assert np.median(counts) < 0.6 * len(space), name
