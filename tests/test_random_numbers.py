"""Random numbers: those that NumPy and Python would have drawn, from generators that go on from there."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polytune
from polytune.draws import DRAWS
from polytune.errors import UnsupportedSourceError
from polytune.runtime.draws import states
from polytune.runtime.draws.distributions import DISTRIBUTIONS
from tests.every_version import check_versions, stages_of


def of_numpy(A, n):
    for i in range(n):
        A[i, 0] = np.random.random()
        A[i, 1] = np.random.uniform(-1.0, 3.0)
        A[i, 2] = np.random.standard_normal()
        A[i, 3] = np.random.normal(1.0, 2.0)
        A[i, 4] = np.random.lognormal(0.1, 0.2)
        A[i, 5] = np.random.standard_exponential()
        A[i, 6] = np.random.exponential(2.0)
        A[i, 7] = np.random.randint(-3, 10 + i)
        A[i, 8] = np.random.poisson(3.0) + np.random.poisson(40.0)
        A[i, 9] = np.random.rand() + np.random.randn()
        A[i, 10] = np.random.randint(1 << 40) + np.random.randint(0, 1 << 32) + np.random.randint(5, 6)
        A[i, 11] = np.random.uniform() + np.random.normal() + np.random.exponential() + np.random.uniform(high=2.0)


def of_python(A, n):
    for i in range(n):
        A[i, 0] = random.random()
        A[i, 1] = random.uniform(-1, 3.5)
        A[i, 2] = random.randint(-3, 10 + i)
        A[i, 3] = random.randrange(7)
        A[i, 4] = random.randrange(5, 1 << 40)
        A[i, 5] = random.normalvariate(1.0, 2.0)
        A[i, 6] = random.expovariate(3.0)
        A[i, 7] = random.randrange(1 << 32) + random.randint(4, 4)
        A[i, 8] = random.choice(A[0])


def of_generator(rng, A, n):
    for i in range(n):
        A[i, 0] = rng.random()
        A[i, 1] = rng.uniform(-1.0, 3.0)
        A[i, 2] = rng.standard_normal()
        A[i, 3] = rng.normal(1.0, 2.0)
        A[i, 4] = rng.lognormal(0.1, 0.2)
        A[i, 5] = rng.standard_exponential()
        A[i, 6] = rng.exponential(2.0)
        A[i, 7] = rng.integers(-3, 10 + i)
        A[i, 8] = rng.poisson(3.0) + rng.poisson(40.0)
        A[i, 9] = rng.integers(1 << 40) + rng.integers(0, 1 << 32) + rng.integers(5, 6)
        A[i, 10] = rng.integers(0, 5, endpoint=True)
        A[i, 11] = rng.uniform() + rng.normal() + rng.exponential() + rng.uniform(high=2.0)


def inside(rng, n):
    x = 0.0
    for _ in range(n):
        if rng.random() < 0.5:
            x += rng.normal()
        else:
            x -= 1.0
    return x


def in_branches(rng, A, n):
    """Draws where data decide how many there are, by a function too, beside loops that can be shared out."""
    steps = 0
    while rng.random() < 0.9 and steps < n:
        steps += 1
    A[:, 0] = inside(rng, steps)
    for i in range(n):
        for j in range(1, A.shape[1]):
            A[i, j] = 2.0 * A[i, j] + steps
        A[i, 0] += rng.random() if A[i, 1] > 0 else 1.0
    return steps


def of_two(rng, other, A, n):
    """Which may be one."""
    for i in range(n):
        A[i, 0] = rng.random()
        A[i, 1] = other.random()


def arrays_between(rng, A, n):
    for i in range(n):
        A[i, :] = rng.normal(size=A.shape[1])
        A[i, 0] = rng.random()
        A[i, 1:4] = rng.integers(0, 9, 3)
        A[i, 4] += rng.gamma(2.0, 0.5) + rng.binomial(10, 0.5)
        A[i, 5:] = rng.permutation(A[i, 5:])
    A[0, :] = rng.permutation(A.shape[1])
    rng.shuffle(A)
    A[1] = rng.integers(0, 100, A.shape[1], dtype=np.uint8, endpoint=True)


def global_arrays_between(A, n):
    np.random.seed(5)
    for i in range(n):
        A[i, :] = np.random.normal(size=A.shape[1])
        A[i, 0] = np.random.normal()
    np.random.shuffle(A)
    random.seed(n)
    A[0, 0] = random.random()
    b = A[:, 0].copy()
    random.shuffle(b)
    A[:, 0] = b


GLOBAL = [of_numpy, of_python, global_arrays_between]
OF_ARGUMENTS = [of_generator, in_branches, arrays_between]
BIT_GENERATORS = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM]


def seeded(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, and the states of the global generators after it."""
    np.random.seed(3)
    random.seed(4)
    result = function(*arguments)
    state = np.random.get_state(legacy=False)
    return (
        result,
        state["state"]["key"].tolist(),
        state["state"]["pos"],
        state["has_gauss"],
        state["gauss"],
        (random.getstate()),
    )


@pytest.mark.parametrize("strict", [False, True], ids=["fast", "strict"])
@pytest.mark.parametrize("function", GLOBAL, ids=lambda each: each.__name__)
def test_global_generators_give_what_they_give_python(function, strict):
    kernel = polytune.kernel(function, strict=strict)
    for n in (40, 0, 700):  # states are made anew every 624 words
        wanted, found = np.zeros((max(n, 1), 12)), np.zeros((max(n, 1), 12))
        right, got = seeded(function, wanted, n), seeded(kernel, found, n)
        if strict:
            np.testing.assert_array_equal(found, wanted)
            assert got == right
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
            assert got[1:4] == right[1:4]


@pytest.mark.parametrize("kind", BIT_GENERATORS)
@pytest.mark.parametrize("function", OF_ARGUMENTS, ids=lambda each: each.__name__)
def test_generators_that_are_arguments_give_what_they_give_python(function, kind):
    kernel = polytune.kernel(function, strict=True)
    for n in (40, 1, 300):
        first, second = np.random.Generator(kind(n)), np.random.Generator(kind(n))
        wanted, found = np.ones((max(n, 3), 12)), np.ones((max(n, 3), 12))
        for _ in range(3):
            assert kernel(second, found, n) == function(first, wanted, n)
        np.testing.assert_array_equal(found, wanted)
        assert first.random() == second.random()
        assert first.integers(0, 9) == second.integers(0, 9)


def test_two_arguments_may_be_one_generator():
    kernel = polytune.kernel(of_two)
    for both in (True, False):
        wanted, found = np.zeros((9, 2)), np.zeros((9, 2))
        for function, array in ((of_two, wanted), (kernel, found)):
            first = np.random.default_rng(1)
            function(first, first if both else np.random.default_rng(2), array, 9)
        np.testing.assert_array_equal(found, wanted)


def test_other_generators_need_no_other_code():
    kernel = polytune.kernel(of_generator)
    A = np.zeros((5, 12))
    for seed in range(20):
        kernel(np.random.default_rng(seed), A, 5)
    assert kernel.explain().count("of_generator(") == 1
    assert kernel.tuner(np.random.default_rng(21), A, 5) is kernel.tuner(np.random.default_rng(22), A, 5)


def made_inside(n, seed):
    rng = np.random.default_rng(seed)
    other = np.random.default_rng(rng)
    return rng.normal() + other.normal(), rng.normal(size=n)


def made_where_there_is_none(n, rng=None):
    if rng is None:
        rng = np.random.default_rng(5)
    return rng.random()


def in_a_tuple(state, n):
    rng, scale = state
    return rng.normal() * scale + n


def twice_as_large(rng, n):
    return 2 * n * rng.random()


def where_it_need_not_be_drawn(rng, n):
    total = 0.0
    for i in range(n):
        if i > 3 and twice_as_large(rng, i) > 7.5:
            total += twice_as_large(rng, 2) + twice_as_large(rng, 3)
        total += twice_as_large(rng, 1) if total < 9.0 or rng.random() < 0.1 else 0.25
        while True:
            x = rng.uniform(-1, 1)
            if x > 0:
                break
        total += x
    return total


def chosen(rng, n):
    values, weights = np.arange(7) * 1.5, np.array([0.1, 0.2, 0.7])
    several = rng.choice(values, (n, 2))
    one = rng.choice(values) + rng.choice(n) + rng.choice(3, p=weights)
    return several, one, rng.choice(n, 3, replace=False)


def chosen_globally(n):
    values = np.arange(7) * 1.5
    several = np.random.choice(values, n)
    return several, np.random.choice(values) + np.random.choice(n) + random.choice(values)


@pytest.mark.parametrize(
    "function, arguments",
    [
        (made_inside, lambda: (4, 7)),
        (made_where_there_is_none, lambda: (4,)),
        (made_where_there_is_none, lambda: (4, np.random.default_rng(1))),
        (in_a_tuple, lambda: ((np.random.default_rng(1), 2.5), 4)),
        (where_it_need_not_be_drawn, lambda: (np.random.default_rng(1), 60)),
        (chosen, lambda: (np.random.default_rng(1), 9)),
        (chosen_globally, lambda: (9,)),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_generators_are_used_as_in_python(function, arguments):
    kernel = polytune.kernel(function, strict=True)
    for _ in range(3):
        wanted, found = seeded(function, *arguments())[0], seeded(kernel, *arguments())[0]
        parts = (each if isinstance(each, tuple) else (each,) for each in (wanted, found))
        for right, got in zip(*parts, strict=True):
            np.testing.assert_array_equal(got, right)


def made_where_it_is_needed(n):
    x = 0.0
    if n > 0:
        rng = np.random.default_rng(n)
        x = rng.random()
    return x


def failing(A, seed, k):
    rng = np.random.default_rng(seed)
    A[k] = rng.random()
    return np.linalg.inv(A[:4].reshape(2, 2))


def test_generators_that_a_kernel_makes_are_released():
    kernel = polytune.kernel(made_inside)
    for seed in range(300):
        kernel(4, seed)
    assert not states._made
    perhaps = polytune.kernel(made_where_it_is_needed, strict=True)
    for n in (1, -1, -1):
        assert perhaps(n) == made_where_it_is_needed(n)
        assert not states._made
    broken = polytune.kernel(failing)
    for k in (0, 1):
        with pytest.raises(np.linalg.LinAlgError):
            broken(np.zeros(4), 1, k)
    assert not states._made


def in_a_loop(n):
    x = 0.0
    for i in range(n):
        x += i
        rng = np.random.default_rng(i)
        x += rng.random()
    return x


def test_loops_make_no_generators():
    with pytest.raises(UnsupportedSourceError, match="a loop makes generators"):
        polytune.kernel(in_a_loop)(3)


def with_unknown_method(rng, A):
    for i in range(len(A)):
        A[i] = rng.undefined()


def test_methods_that_generators_do_not_have_are_refused_as_such():
    with pytest.raises(UnsupportedSourceError, match=r"rng\.undefined is called") as refusal:
        polytune.kernel(with_unknown_method)(np.random.default_rng(0), np.zeros(3))
    assert "tuple" not in str(refusal.value)


def test_many_generators_may_be_passed():
    """They are not kept for ever, and those of late calls are there."""
    kernel = polytune.kernel(made_where_there_is_none)
    generators = [np.random.default_rng(seed) for seed in range(1500)]
    for generator, seed in zip(generators, range(1500), strict=True):
        assert kernel(2, generator) == np.random.default_rng(seed).random()
    assert len(states._generators) <= 1024


@pytest.mark.parametrize("function", [in_branches, of_generator, arrays_between], ids=lambda each: each.__name__)
def test_every_version_draws_in_the_order_of_the_source(function):
    """The interpreter has the library draw, and workers in random order."""

    def with_generator(A, n):
        return function(np.random.default_rng(n), A, n)

    A = np.ones((7, 12))
    for version_kernel in (polytune.kernel(function, strict=True),):
        space = version_kernel.space(np.random.default_rng(7), A, 7)
        for version in (each.name for each in version_kernel.generated(np.random.default_rng(7), A, 7).module.VERSIONS):
            wanted, found = A.copy(), A.copy()
            right = with_generator(wanted, 7)
            configuration = space.configuration(version=version)
            assert version_kernel.run(configuration, np.random.default_rng(7), found, 7) == right
            np.testing.assert_array_equal(found, wanted, err_msg=version)


@pytest.mark.parametrize("function", [of_numpy, of_python], ids=lambda each: each.__name__)
def test_interpreted_versions_draw_alike(function):
    stages = stages_of(function, [np.zeros((5, 12)), 5])

    def check(A, n):
        check_versions(function, stages, [A, n], tiles=((3,),))

    seeded(check, np.zeros((5, 12)), 0)


def scaled(rng, A, scale):
    for i in range(A.shape[0]):
        A[i] = rng.normal(0.0, scale) + np.random.exponential(scale) + rng.uniform(-scale, scale)


def test_what_compiled_code_does_not_draw_numpy_does():
    kernel = polytune.kernel(scaled, strict=True)
    for scale in (0.0, 1.0):
        wanted, found = np.zeros(4), np.zeros(4)
        seeded(scaled, np.random.default_rng(1), wanted, scale)
        seeded(kernel, np.random.default_rng(1), found, scale)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("scale", [-1.0, np.inf])
def test_errors_are_numpys(scale):
    with pytest.raises((ValueError, OverflowError)) as wanted:
        scaled(np.random.default_rng(1), np.zeros(4), scale)
    with pytest.raises(type(wanted.value), match=str(wanted.value)) as found:
        polytune.kernel(scaled)(np.random.default_rng(1), np.zeros(4), scale)
    frames = [frame.filename for frame in traceback.extract_tb(found.value.__traceback__)]
    assert not [frame for frame in frames if "/polytune/runtime/" in frame]


def test_every_draw_has_a_form():
    assert DRAWS.keys() == DISTRIBUTIONS.keys()


def test_places_that_are_not_found_leave_draws_to_python(monkeypatch):
    """As with an interpreter or a NumPy that keep their states otherwise."""
    states.fill_table()
    table = states._table.copy()
    kernel = polytune.kernel(of_numpy, strict=True)
    wanted, found = np.zeros((9, 12)), np.zeros((9, 12))
    right = seeded(of_numpy, wanted, 9)
    try:
        for place in range(len(table)):
            states._table[:] = table
            states._table[place] = 0
            found[:] = 0
            assert seeded(kernel, found, 9) == right
            np.testing.assert_array_equal(found, wanted)
    finally:
        states._table[:] = table


def by_python(A, n):
    random.seed(n)
    for i in range(n):
        A[i, 0] = random.gauss(0.0, 1.0)
        A[i, 1] = random.gauss(i, sigma=2) + random.random()
        A[i, 2] = random.triangular(0.0, 1, 0.25)
        A[i, 3] = random.betavariate(2.0, A[i, 3] + 1) if i % 2 else random.gammavariate(2, 0.5)
        A[i, 4] = random.lognormvariate(0.0, 0.5) + random.vonmisesvariate(0.0, 4.0)
        A[i, 5] = random.paretovariate(3.0) * random.weibullvariate(1.0, 1.5)
    return random.gauss(1, 2), random.gauss()


@pytest.mark.parametrize("strict", [False, True])
def test_distributions_that_python_draws(strict: bool) -> None:
    kernel = polytune.kernel(strict=strict, background=False)(by_python)
    for n in (0, 1, 6):
        found, wanted = np.ones((n, 6)), np.ones((n, 6))
        assert kernel(found, n) == by_python(wanted, n)
        np.testing.assert_array_equal(found, wanted)
        by_python(wanted, n)
        state = random.getstate()
        kernel(found, n)
        assert random.getstate() == state
