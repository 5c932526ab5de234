"""The programs of ``tests.fuzz.seeded``: they run, and they are of as many kinds as they are meant to be."""

from __future__ import annotations

import re

import pytest

from tests.fuzz.reach import reach
from tests.fuzz.references import prepared
from tests.fuzz.samples import Sample, check_setups, check_sources
from tests.fuzz.seeded.programs import sample_of

NUMBER = 600


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [sample_of(seed) for seed in range(NUMBER)]


def test_a_seed_is_a_program() -> None:
    assert [sample_of(seed) for seed in range(20)] == [sample_of(seed) for seed in range(20)]


def test_nearly_all_can_be_compared(samples: list[Sample]) -> None:
    some = samples[:300]
    references = [prepared(sample)[1] for sample in some]
    assert sum(reference is None for reference in references) < 0.05 * len(some)
    errors = [reference for reference in references if reference is not None and reference.error is not None]
    assert 1 <= len(errors) < 0.06 * len(some)


def test_nearly_all_are_in_range(samples: list[Sample]) -> None:
    inside = 0
    for sample in samples[:300]:
        function = sample.function()
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        values = dict(zip(names, sample.arguments(function).values, strict=True))
        inside += all(array.is_inside for array in reach(sample.source, values, {}, 10**6).values())
    assert 0.93 * 300 < inside < 300


ITERATOR = "[ijkl]"
FEATURES = {
    "a strided loop": (r"range\(.*, [234]\):", 8),
    "a reversed loop": (r"range\(.*, -[123]\):", 8),
    "n - 1 - i": (rf"\b[nm] - 1 - {ITERATOR}", 4),
    "n - i": (rf"\[.*\b[nm] - {ITERATOR}\b", 2),
    "2 * i": (rf"\[.*2 \* {ITERATOR}", 4),
    "i // 2": (rf"{ITERATOR} // \d", 5),
    "i % 3 in a subscript": (rf"\[[^\]]*{ITERATOR}\)? % \d", 3),
    "abs in a subscript": (r"\[[^\]]*abs\(", 3),
    "min or max in a subscript": (r"\[[^\]]*m(in|ax)\(", 5),
    "min or max in a bound": (r"range\(.*m(in|ax)\(", 2),
    "a quotient or remainder in a bound": (r"range\(.*(//|%)", 1),
    "an extent as a bound": (r"range\(.*shape", 4),
    "a guard by congruence": (r"if .*% \d (==|!=)", 6),
    "three dimensions, two of one loop": (rf"\[[^,\]]*({ITERATOR})\b[^,\]]*,[^,\]]*\b\1\b[^,\]]*,", 4),
    "a scalar in a loop": (r"\n {8,}[xp]\d = ", 12),
    "a scalar that outlives a loop": (r"\n    [xp]\d = (.|\n)*\n        +[xp]\d ", 6),
    "a conditional expression with accesses": (r"= .*\] if .* else ", 4),
    "an exchange": (r"(\w\[.*\]), (\w\[.*\]) = \2, \1", 4),
    "control that depends on data": (r"\n +(while|if \w\[)", 3),
    "a local array": (r"np\.(zeros|empty)", 1),
    "a sum": (r"\n +[xp]\d \+= ", 4),
    "a product": (r" \*= ", 4),
    "a minimum or maximum of a variable": (r"(x\d) = m(in|ax)\(\1, ", 2),
    "a result": (r"return x\d|return p\d", 2),
    "a helper function": (r"def blend(.|\n)*def kernel(.|\n)*(blend|bump)\(", 0.7),
    "an integer variable in a subscript": (r"\n +t\d = ", 2),
    "a variable of truth values": (r"\n +b\d = ", 4),
    "the inverse of a truth value": (r"~b\d", 0.6),
    "infinity": (r"np\.inf|np\.nan|float\('inf'\)", 0.3),
    "a default": (r"beta=", 4),
}
ARGUMENTS = {
    "Fortran's layout": (r"asfortranarray", 8),
    "strides": (r"\[.*::2", 10),
    "negative strides": (r"np\.flip|::-", 6),
    "an offset view": (r"np\.pad", 4),
    "permuted axes": (r"np\.transpose", 2),
    "a read-only input": (r"frombuffer|broadcast_to", 3),
    "aliases": (r"base", 2),
    "NaN and infinities": (r"np\.nan", 5),
    "a NumPy scalar": (r"^np\.(int|float)(32|64)\([-\d.]+\)$", 5),
    "int32": (r"int32", 5),
    "int64": (r"int64", 8),
    "float32": (r"float32", 12),
    "float64": (r"float64", 40),
}


@pytest.mark.parametrize(("pattern", "percent"), FEATURES.values(), ids=FEATURES.keys())
def test_feature_is_common_enough(samples: list[Sample], pattern: str, percent: float) -> None:
    check_sources(samples, pattern, percent)


@pytest.mark.parametrize(("pattern", "percent"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_kind_of_argument_is_common_enough(samples: list[Sample], pattern: str, percent: float) -> None:
    check_setups(samples, pattern, percent)


def test_calls_sizes_and_strictness_vary(samples: list[Sample]) -> None:
    assert 0.3 * NUMBER < sum(sample.strict for sample in samples) < 0.6 * NUMBER
    assert sum("=" in sample.call for sample in samples) > 0.05 * NUMBER
    sizes = {int(text) for sample in samples for name, text in sample.setup if name in "nm" and text.isdigit()}
    assert {0, 1, 2, 3, 32, 33} <= sizes <= set(range(34))
    assert any(sample.tolerance for sample in samples)
    setups = [sample.arguments(sample.function()).arrays for sample in samples[:300]]
    assert any(0 in array.shape for arrays in setups for array in arrays.values())


LOST = r"\[[^\]]*[nm] - (1 - )?{0}[^\]]*\] = [^=]*\b{0}\b"
"""The form of which ``A[n - 1 - i, i + 3] = A[i, i + 2]`` is an example: the elements written go against those read."""


def test_kinds_that_splitting_lost_iterations_of_are_there(samples: list[Sample]) -> None:
    having = sum(any(re.search(LOST.format(name), sample.source) for name in "ijk") for sample in samples)
    assert having > 0.01 * NUMBER
