"""The programs of ``tests.fuzz.arrays``: NumPy runs them, they are of as many kinds as they are meant to be, and most
of them are in the language."""

from __future__ import annotations

import re

import pytest

from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse
from polytune.runtime.calls.arguments import signature_of
from tests.fuzz.arrays.programs import sample_of
from tests.fuzz.references import prepared
from tests.fuzz.samples import Sample, check_setups, check_share, check_sources

NUMBER = 500


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return [sample_of(seed) for seed in range(NUMBER)]


def test_a_seed_is_a_program() -> None:
    assert [sample_of(seed) for seed in range(20)] == [sample_of(seed) for seed in range(20)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nearly_all_can_be_compared(samples: list[Sample]) -> None:
    references = [prepared(sample)[1] for sample in samples]
    assert sum(reference is None for reference in references) < 0.08 * NUMBER
    errors = [reference.error for reference in references if reference is not None and reference.error is not None]
    assert 0.01 * NUMBER < len(errors) < 0.08 * NUMBER
    assert {IndexError, ValueError} <= set(map(type, errors))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_most_are_in_the_language(samples: list[Sample]) -> None:
    outside = 0
    for sample in samples[:120]:
        function = sample.function()
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        try:
            analyse(function, signature_of(names, sample.arguments(function).values), strict=sample.strict)
        except UnsupportedSourceError:
            outside += 1
    assert outside < 0.25 * 120


FEATURES = {
    "a part of an array as target": (r"\n +[A-D]\[.*[:.].*\] \S*= ", 60),
    "a negative step": (r"\[[^\]]*::?-\d", 10),
    "a step": (r"\[[^\]]*::[23]", 10),
    "a bound from the end": (r"\[[^\]]*:-\d", 15),
    "a start from the end": (r"\[[^\]]*-\d:", 10),
    "an ellipsis": (r"\.\.\.", 8),
    "a new axis": (r"None\]|np.newaxis\]", 1.5),
    "a bound by a size": (r"\[[^\]]*:\s*[nm]\b", 1.5),
    "a bound by a loop's variable": (r"\[[^\]]*: ?[ijk]\b|\[[^\]]*\b[ijk] ?:", 3),
    "an array assigned from itself": (r"([A-D])\[[^\]]*:[^\]]*\] \S*= .*\1\[[^\]]*:", 8),
    "a bound by a remainder or quotient of a size": (r": [nm] (%|//) [23]|\([nm] (%|//) [23]", 1.5),
    "a result whose size a loop's variable gives": (r"return .*(\w\[(:[ijk]|[ijk]:)\] [+*]|ones\([ijk] \+ 1)", 0.5),
    "an augmented assignment": (r"\n +\w+(\[.*\])? (\+|-|\*|/|//|%)= ", 40),
    "a view by a name": (r"\n +v\d+ = ", 8),
    "a transpose": (r"\.T\b|np\.transpose|swapaxes", 4),
    "a new array": (r"\n +t\d+ = ", 40),
    "a mask": (r"\[.*[<>]=? .*\] \S*= ", 8),
    "a choice": (r"np\.where\(", 15),
    "clip": (r"np\.clip\(", 6),
    "a lesser or greater": (r"np\.(minimum|maximum)\(", 8),
    "a reduction along an axis": (r"axis=", 12),
    "keepdims": (r"keepdims=True", 1),
    "a whole reduction": (r"(sum|mean|max|min|prod|var|std)\(\w*\)|np\.(sum|mean|max)\(", 10),
    "a product of matrices": (r" @ |np\.dot\(", 5),
    "argmin or argmax": (r"arg(min|max)", 4),
    "cumsum, roll, diff, flip or concatenate": (r"np\.(cumsum|roll|diff|flip|concatenate)\(", 6),
    "out=": (r"out=", 3),
    "an exchange": (r"\n +(\S.*\]), (\S.*\]) = \2, \1", 2),
    "several targets": (r"\n +\S.* = [A-Dtv].* = ", 0.6),
    "a loop": (r"\n +for [ijk] in range", 20),
    "a loop over an array": (r"for r\d+ in [A-Dtv]|enumerate\(|zip\(", 5),
    "a loop over a tuple": (r"for c\d+ in \(", 2),
    "a while": (r"\n +while ", 3),
    "a branch": (r"\n +if ", 20),
    "break": (r"\n +break", 0.5),
    "continue": (r"\n +continue", 0.8),
    "an early return": (r"\n {8,}return ", 3),
    "an update by an index array": (r"\[[IJ]\[\w+\]\] [-+]= ", 3),
    "a subscript from an index array": (r"[IJ]\[", 8),
    "a conversion": (r"astype\(|np\.u?int\d+\(", 6),
    "a list that grows": (r"\n +g\d+ = \[", 1.5),
    "a list comprehension": (r"\[.* for e\d+ in ", 1),
    "a list of subscripts": (r"\w\[\[", 1),
    "an imaginary number": (r"\dj\b", 1),
    "a complex number's part": (r"\.real|\.imag|conj", 3),
    "several results": (r"\n    return [^(]*, ", 15),
    "a test of arguments": (r"assert |raise ValueError", 2),
}
ARGUMENTS = {
    "Fortran's layout": (r"asfortranarray", 8),
    "strides": (r"\[.*::2", 10),
    "negative strides": (r"np\.flip|::-", 6),
    "a read-only input": (r"frombuffer|broadcast_to", 2),
    "aliases": (r"base", 2),
    "NaN and infinities": (r"np\.nan", 3),
    **{name: (rf"\b{name}\b", 4) for name in ("int8", "int16", "int32", "int64", "float32", "bool_")},
    **{name: (rf"\b{name}\b", 4) for name in ("uint8", "uint16", "uint32", "uint64")},
    "float64": (r"float64", 38),
    "complex numbers": (r"complex(64|128)", 4),
}


@pytest.mark.parametrize(("pattern", "percent"), FEATURES.values(), ids=FEATURES.keys())
def test_feature_is_common_enough(samples: list[Sample], pattern: str, percent: float) -> None:
    check_sources(samples, pattern, percent)


@pytest.mark.parametrize(("pattern", "percent"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_kind_of_argument_is_common_enough(samples: list[Sample], pattern: str, percent: float) -> None:
    check_setups(samples, pattern, percent)


def test_sizes_and_strictness_vary(samples: list[Sample]) -> None:
    assert 0.3 * NUMBER < sum(sample.strict for sample in samples) < 0.6 * NUMBER
    extents = {
        extent
        for sample in samples[:300]
        for array in sample.arguments(sample.function()).arrays.values()
        for extent in array.shape
    }
    assert {0, 1, 2, 3, 32, 33} <= extents


def test_single_precision_meets_integers_of_8_bits(samples: list[Sample]) -> None:
    types = [" ".join(text for _, text in sample.setup) for sample in samples]
    check_share(("float32" in text and bool(re.search(r"\bu?int8", text)) for text in types), 2)
