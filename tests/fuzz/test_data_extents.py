"""The programs of ``tests.fuzz.data_extents``: NumPy runs them, and they are of as many kinds as they should be."""

from __future__ import annotations

import pytest

from tests.fuzz.data_extents import sample_of
from tests.fuzz.references import prepared
from tests.fuzz.samples import Sample, check_sources

NUMBER = 200


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [sample_of(seed) for seed in range(NUMBER)]


def test_a_seed_is_a_program() -> None:
    assert [sample_of(seed) for seed in range(20)] == [sample_of(seed) for seed in range(20)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nearly_all_can_be_compared(samples: list[Sample]) -> None:
    references = [prepared(sample)[1] for sample in samples]
    compared = [reference for reference in references if reference is not None and reference.error is None]
    assert len(compared) > 0.85 * NUMBER
    assert any(reference is not None and reference.error is not None for reference in references)


FEATURES = {
    "a part by data as target": (r"\n +[xyzM]\[[^\]]*[abc][^\]]*\] \S*= ", 25),
    "a bound that counts from the end": (r"\[[^\]]*-[abc123][^\]]*:|:-[abc123ij]", 15),
    "a negative step": (r"\[[^\]]*:-[12]\]", 8),
    "an array assigned from itself": (r"([xyzM])\[[^\]]*:[^\]]*\] \S*= .*\1\[[^\]]*:", 4),
    "a name for a part or a selection": (r"\n +v\d+ = ", 25),
    "a selection": (r"\[[^\]]* > |nonzero|unique|compress", 6),
    "a comprehension": (r" for \w+ in .*[\])]", 6),
    "a loop": (r"\n +for [ij] in range", 10),
    "a while": (r"\n +while ", 2),
    "a branch": (r"\n +if ", 8),
    "a sum or its like": (r"total \+= ", 40),
}


@pytest.mark.parametrize(("pattern", "percent"), FEATURES.values(), ids=FEATURES.keys())
def test_feature_is_common_enough(samples: list[Sample], pattern: str, percent: float) -> None:
    check_sources(samples, pattern, percent)
