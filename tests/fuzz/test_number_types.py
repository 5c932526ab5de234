"""The programs of ``tests.fuzz.number_types`` and ``tests.fuzz.flags``: they run, and are of many kinds."""

from __future__ import annotations

import pytest

from tests.fuzz import flags
from tests.fuzz.number_types import sample_of
from tests.fuzz.references import prepared
from tests.fuzz.samples import Sample, check_setups, check_sources

NUMBER = 150


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [sample_of(seed) for seed in range(NUMBER)]


def test_a_seed_is_a_program() -> None:
    assert [sample_of(seed) for seed in range(10)] == [sample_of(seed) for seed in range(10)]
    assert [flags.sample_of(seed) for seed in range(3)] == [flags.sample_of(seed) for seed in range(3)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nearly_all_can_be_compared(samples: list[Sample]) -> None:
    references = [prepared(sample)[1] for sample in samples[:100]]
    assert sum(reference is not None and reference.error is None for reference in references) > 90


@pytest.mark.parametrize("kind", ["int8", "int16", "uint8", "uint16", "uint32", "uint64", "float16", "float32"])
def test_type_is_common_enough(samples: list[Sample], kind: str) -> None:
    check_setups(samples, rf"^np\.{kind}\(", 15)


FEATURES = {
    "a size as a bound": (r"range\([^)]*[nm]", 40),
    "a step": (r"range\(0, n, s\)|::s", 10),
    "a subscript": (r"\[[^\]]*\bk\b[^\]]*\]", 30),
    "a factor": (r"\* [abkn]\b", 15),
    "an extent": (r"np\.(zeros|ones|full|arange|empty)\(", 8),
}


@pytest.mark.parametrize(("pattern", "percent"), FEATURES.values(), ids=FEATURES.keys())
def test_feature_is_common_enough(samples: list[Sample], pattern: str, percent: float) -> None:
    check_sources(samples, pattern, percent)


def test_some_have_all_flags_and_some_a_few() -> None:
    sets = {len(flags.sample_of(seed).flags) for seed in range(12)}
    assert len(flags.FLAGS) in sets and len(sets) > 1
