"""Counts against brute-force enumeration: every expression is evaluated as Python text for all small parameters."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polytune.frontend.polyhedral.budget import ARRAY_BUDGET
from polytune.schedule.counting.counts import (
    array_footprint,
    cardinality,
    compute_volume,
    count_part,
    memory_footprint,
    reuse,
)
from polytune.schedule.counting.quasi_polynomial import PiecewiseQuasiPolynomial

UNIVERSE = isl.Set("{ : }")


def points(domain: isl.Set | isl.UnionSet, values: dict[str, int]) -> set[str]:
    """The elements of a set at given parameters, by isl's own enumeration."""
    at = isl.UnionSet(domain) if isinstance(domain, isl.Set) else domain
    for name, value in values.items():
        at = at.intersect_params(isl.Set(f"[{name}] -> {{ : {name} = {value} }}"))
    found: set[str] = set()
    at.foreach_point(lambda point: found.add(str(isl.Set.from_point(point).project_out_all_params())))
    return found


def assignments(names: tuple[str, ...], values: range) -> list[dict[str, int]]:
    return [dict(zip(names, chosen, strict=True)) for chosen in product(values, repeat=len(names))]


@functools.lru_cache(maxsize=1)
def compiled(count: PiecewiseQuasiPolynomial) -> Callable[..., int]:
    """The function's Python source, run without any name but the builtins."""
    names: dict = {}
    exec(count.python("counted"), names)
    return names["counted"]


def by_text(count: PiecewiseQuasiPolynomial, values: dict[str, int]) -> int:
    """The value of the function's Python source."""
    return compiled(count)(*(values[name] for name in count.parameters))


DOMAINS = {
    "rectangular": "[n, m] -> { S[i, j] : 0 <= i < n and 0 <= j < m }",
    "triangular": "[n, m] -> { S[i, j] : 0 <= i < n and i <= j < m }",
    "tetrahedral": "[n] -> { S[i, j, k] : 0 <= i <= j <= k < n }",
    "step 3": "[n, m] -> { S[i] : m <= i < n and exists k : i = m + 3 k }",
    "step -2": "[n, m] -> { S[i] : m < i <= n and exists k : i = n - 2 k }",
    "step 2 in step 3": "[n] -> { S[i, j] : 0 <= i < n and i mod 3 = 0 and i <= j < n and (j - i) mod 2 = 0 }",
    "skewed by a floor": "[n, m] -> { S[i, j] : 0 <= i < n and floor(i / 2) <= j < floor((i + m) / 3) }",
    "tiles by 4": "[n, m] -> { T[a, b] : exists i, j : 0 <= i < n and i<=j<m and a = floor(i/4) and b = floor(j/4) }",
    "points of one tile": "[n, m] -> { S[i, j] : 0 <= i < n and i <= j < n and floor(i / 4) = m and floor(j / 4) = m }",
    "two overlapping pieces": "[n, m] -> { S[i, j] : 0 <= i, j < n; S[i, j] : m <= i, j < n + m }",
    "hole": "[n, m] -> { S[i] : 0 <= i < n and i != m }",
    "diagonal": "[n, m] -> { S[i, j] : 0 <= i < n and 2 j = i + m }",
    "empty": "[n] -> { S[i] : 0 <= i < n and i < 0 }",
    "scalar": "[n] -> { S[] : n >= 2 }",
    "scalar at every third": "[n] -> { S[] : n mod 3 = 1 }",
    "no parameter": "{ S[i, j] : 0 <= i < 7 and i <= j < 7 }",
}


@pytest.mark.parametrize("text", DOMAINS.values(), ids=DOMAINS.keys())
def test_count_of_a_set_equals_enumeration(text: str) -> None:
    domain = isl.Set(text)
    counted = compute_volume(isl.UnionSet(domain), UNIVERSE)
    assert counted is not None
    for values in assignments(counted.parameters, range(-3, 10)):
        expected = len(points(domain, values))
        assert by_text(counted, values) == expected, f"{counted} at {values}"
        assert counted.evaluate(**values) == expected


def test_statements_add_up() -> None:
    domains = isl.UnionSet("[n, m] -> { S[i] : 0 <= i < n; T[i, j] : 0 <= i < m and 0 <= j <= i; U[] }")
    counted = compute_volume(domains, UNIVERSE)
    assert counted is not None
    for values in assignments(("n", "m"), range(-1, 6)):
        assert by_text(counted, values) == len(points(domains, values))


def test_context_simplifies_and_stays_exact() -> None:
    context = isl.Set("[n, m] -> { : n >= 1 and m >= n }")
    counted = compute_volume(isl.UnionSet("[n, m] -> { S[i, j] : 0 <= i < n and i <= j < m }"), context)
    assert counted is not None
    assert counted.python("compute") == "def compute(n, m):\n    return n*(2*m - n + 1)//2\n"
    assert counted.evaluate(n=3, m=5, unrelated=9) == 5 + 4 + 3


def test_large_values_are_exact() -> None:
    counted = compute_volume(isl.UnionSet("[n] -> { S[i, j, k, l] : 0 <= i <= j <= k <= l < n }"), UNIVERSE)
    assert counted is not None
    n = 10**9 + 7
    assert counted.evaluate(n=n) == n * (n + 1) * (n + 2) * (n + 3) // 24


def test_parameters_follow_the_context_even_where_unused() -> None:
    counted = compute_volume(isl.UnionSet("[m] -> { S[i] : 0 <= i < m }"), isl.Set("[n, m] -> { : }"))
    assert counted is not None
    assert counted.parameters == ("n", "m")
    assert counted.evaluate(n=100, m=4) == 4


def test_missing_parameter_is_named() -> None:
    counted = compute_volume(isl.UnionSet("[n] -> { S[i] : 0 <= i < n }"), UNIVERSE)
    assert counted is not None
    with pytest.raises(KeyError, match="n"):
        counted.evaluate(m=3)


def test_infinite_is_unknown() -> None:
    assert compute_volume(isl.UnionSet("[n] -> { S[i] : i >= n }"), UNIVERSE) is None


def test_too_expensive_is_unknown_and_leaves_no_limit_behind() -> None:
    many_digits = (
        "[n, m, k] -> { S[i, j] : exists a, b, c : 0 <= a, b, c < n and i = 2a + 3b + 5c and j = a - 7b + c "
        "and a + b <= m and 2c - b <= k }"
    )
    assert compute_volume(isl.UnionSet(many_digits), UNIVERSE) is None
    many_pieces = "; ".join(f"S[i, j] : {4 * k} <= i <= n + {k} and {3 * k} <= j <= m - i" for k in range(30))
    assert compute_volume(isl.UnionSet(f"[n, m] -> {{ {many_pieces} }}"), UNIVERSE, operations=1000) is None
    after = compute_volume(isl.UnionSet("[n] -> { S[i] : 0 <= i < n }"), UNIVERSE)
    assert after is not None and after.evaluate(n=4) == 4


EXHAUSTED = """
import islpy as isl
from polytune.frontend.polyhedral.budget import ARRAY_BUDGET
from polytune.schedule.counting.counts import cardinality

context = isl.Set("[n, m] -> { : n >= 0 and m >= 0 }")
sets = [isl.Set(f"[n, m] -> {{ {text} }}") for text in (
    "S[i, j] : exists a, b : 0 <= a, b < n and i = 2a + 3b and j = a - 7b and a <= m",
    "S[i, j] : 0 <= i and exists a, b : i = 2a + 3b and 4j + 3i = n and 5j <= i + m and j >= i - 7m",
    "S[i, j, a, b] : 0 <= i < n and i <= j < m and a = floor(i / 32) and b = floor((i + j) / 16)",
    "S[i, j] : 0 <= i < n and i <= j < m and (i + j) mod 3 = 1; S[i, j] : 2i = j + m and 0 <= j < n",
)]
known = unknown = 0
for text in sets:
    operations = 10
    while operations < 40000:
        if cardinality([text], context, operations) is None:
            unknown += 1
        else:
            known += 1
        operations = operations * 6 // 5
print(known, unknown)
"""


def test_running_out_of_operations_anywhere_does_no_harm() -> None:
    """In a process of its own: what is at stake is a crash of the C libraries."""
    run = subprocess.run([sys.executable, "-c", EXHAUSTED], capture_output=True, text=True, check=False)
    assert run.returncode == 0, (run.returncode, run.stderr)
    known, unknown = map(int, run.stdout.split())
    assert known > 10 and unknown > 10


def test_infinite_function_is_refused_where_a_number_is_asked_for() -> None:
    with pytest.raises(ValueError, match="finite"):
        PiecewiseQuasiPolynomial.from_isl(isl.Set("[n] -> { S[i] : i >= n }").card())
    with pytest.raises(ValueError, match="parameters alone"):
        PiecewiseQuasiPolynomial.from_isl(isl.PwQPolynomial("[n] -> { [i] -> n * i }"))


STENCIL = [
    isl.Map(f"[n] -> {{ S[t, i] -> A[i {offset}] : 0 <= t < n and 1 <= i < n - 1 }}") for offset in ("- 1", "", "+ 1")
]


def test_memory_adds_accesses_and_footprint_joins_them() -> None:
    memory, footprint = memory_footprint(STENCIL, UNIVERSE), array_footprint(STENCIL, UNIVERSE)
    assert memory is not None and footprint is not None
    for n in range(12):
        inner = max(0, n - 2)
        assert by_text(memory, {"n": n}) == 3 * inner
        assert by_text(footprint, {"n": n}) == (n if inner else 0)


def brute_reuse(accesses: list[isl.Map], outer: isl.UnionMap, n: int) -> Fraction:
    """Accesses over (outer iteration, element) pairs, by enumeration."""
    at = isl.Set(f"[n] -> {{ : n = {n} }}")
    total, pairs = 0, set()
    for access in accesses:
        fixed = access.intersect_params(at)
        total += len(points(fixed.wrap(), {"n": n}))
        pairs |= points(outer.range_product(isl.UnionMap(fixed)).range(), {"n": n})
    return Fraction(total, len(pairs)) if pairs else Fraction(0)


@pytest.mark.parametrize(
    "outer",
    ["{ S[t, i] -> [t] }", "{ S[t, i] -> [] }", "{ S[t, i] -> [t, i] }", "{ S[t, i] -> [floor(t/3), floor(i/4)] }"],
)
def test_reuse_of_a_stencil_equals_enumeration(outer: str) -> None:
    counted = reuse(STENCIL, isl.UnionMap(outer), UNIVERSE)
    assert counted is not None
    for n in range(10):
        assert counted.evaluate(n=n) == brute_reuse(STENCIL, isl.UnionMap(outer), n)


def test_reuse_is_one_exactly_where_no_element_is_accessed_twice() -> None:
    row = [isl.Map("[n] -> { S[i, j] -> A[i, j] : 0 <= i, j < n }")]
    vector = [isl.Map("[n] -> { S[i, j] -> x[j] : 0 <= i, j < n }")]
    by_row, whole = isl.UnionMap("{ S[i, j] -> [i] }"), isl.UnionMap("{ S[i, j] -> [] }")
    for accesses, outer, expected in ((row, by_row, 1), (row, whole, 1), (vector, by_row, 1), (vector, whole, 6)):
        counted = reuse(accesses, outer, UNIVERSE)
        assert counted is not None and counted.evaluate(n=6) == expected


def gemm_part(domain: str) -> tuple[isl.UnionSet, list[isl.Map], isl.UnionMap, isl.Set]:
    accesses = ["C[i, j]", "C[i, j]", "A[i, k]", "B[k, j]"]
    return (
        isl.UnionSet(domain),
        [isl.Map(f"{{ S[i, j, k] -> {access} }}") for access in accesses],
        isl.UnionMap("{ S[i, j, k] -> [i] }"),
        isl.Set("[n, R] -> { : n >= 1 and 0 <= R <= n }"),
    )


def test_counts_of_a_matrix_product() -> None:
    counts = count_part(*gemm_part("[n, R] -> { S[i, j, k] : 0 <= i, j, k < n }"))
    assert counts.compute is not None and counts.memory is not None
    assert (counts.compute.evaluate(n=5, R=0), counts.memory.evaluate(n=5, R=0)) == (125, 4 * 25)
    reuses = {array.array: array.reuse.evaluate(n=5, R=0) for array in counts.arrays if array.reuse}
    assert reuses == {"C": 2 * 5, "A": 5, "B": 1}
    assert counts.reuse(n=5, R=0) == 10
    names: dict = {}
    exec(counts.python(), names)
    assert (names["footprint_B"](5, 0), names["accesses_C"](5, 0), names["elements_B"](5, 0)) == (25, 250, 125)
    assert str(counts).splitlines()[0] == "compute: n**3"


def test_partitions_of_a_matrix_product_share_the_work() -> None:
    first = count_part(*gemm_part("[n, R] -> { S[i, j, k] : 0 <= i < R and 0 <= j, k < n }"))
    second = count_part(*gemm_part("[n, R] -> { S[i, j, k] : R <= i < n and 0 <= j, k < n }"))
    for values in assignments(("n", "R"), range(1, 6)):
        if values["R"] > values["n"]:
            continue
        shares = [part.compute.evaluate(**values) for part in (first, second) if part.compute]
        assert shares == [values["R"] * values["n"] ** 2, (values["n"] - values["R"]) * values["n"] ** 2]


def test_unknown_count_is_shown_and_not_mistaken_for_a_number() -> None:
    domain, accesses, outer, context = gemm_part("[n, R] -> { S[i, j, k] : 0 <= i, j, k < n }")
    unbounded = isl.Map("{ S[i, j, k] -> D[l] }")
    counts = count_part(domain, [*accesses, unbounded], outer, context)
    assert counts.memory is None and counts.reuse(n=5, R=0) is None
    assert "memory: unknown" in str(counts) and "def memory" not in counts.python()


@st.composite
def random_sets(draw: st.DrawFn) -> isl.Set:
    """Bounded parametric sets of one to three dimensions, with affine bounds, strides and unions."""
    pieces = []
    for _ in range(draw(st.integers(1, 2))):
        names: list[str] = []
        constraints = []
        for name in ("i", "j", "k")[: draw(st.integers(1, 3))]:
            terms = [
                f"{coefficient} {variable}"
                for variable in ["n", "m", *names]
                if (coefficient := draw(st.sampled_from([0, 0, 1, 1, -1, 2]))) != 0
            ]
            lower = draw(st.integers(-2, 2))
            upper = " + ".join([*terms, str(draw(st.integers(-2, 4)))])
            constraints.append(f"{lower} <= {name} < {upper}")
            names.append(name)
            step = draw(st.sampled_from([1, 1, 2, 3]))
            if step > 1:
                other = draw(st.sampled_from(["n", "m", *names[:-1], "0"]))
                constraints.append(f"({name} - {other}) mod {step} = {draw(st.integers(0, step - 1))}")
        pieces.append(f"S[{', '.join(names)}] : {' and '.join(constraints)}")
    dimensions = min(piece.count(",") for piece in (text.split("]")[0] for text in pieces))
    kept = [piece for piece in pieces if piece.split("]")[0].count(",") == dimensions]
    return isl.Set(f"[n, m] -> {{ {'; '.join(kept)} }}")


@settings(max_examples=30, deadline=None)
@given(random_sets())
def test_count_of_a_random_set_equals_enumeration(domain: isl.Set) -> None:
    # Some of these sets take isl longer than the sets of kernels have.
    counted = cardinality([domain], UNIVERSE, 100 * ARRAY_BUDGET)
    assert counted is not None
    for values in assignments(("n", "m"), range(-2, 6)):
        assert by_text(counted, values) == len(points(domain, values)), f"{domain} counted as {counted} at {values}"
