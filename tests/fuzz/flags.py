"""Random programs with flags of ``fastmath``: those of other generators, where all of their numbers are finite.

What flags allow is then reassociation, contraction and approximations of functions, and results are held against the
exact ones within what those may be apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polytune.fastmath import FLAGS
from tests.fuzz.arrays import programs as arrays
from tests.fuzz.early_ends import sample_of as ending_sample_of
from tests.fuzz.references import numbers_of, prepared
from tests.fuzz.samples import Sample, first_made
from tests.fuzz.seeded import programs as seeded
from tests.fuzz.seeded.choices import Choices

_SETS = (
    ("nnan", "ninf"),
    ("reassoc", "nsz"),
    ("contract", "arcp", "afn"),
    ("nnan",),
    ("fast",),
    ("nnan", "ninf", "nsz", "arcp", "reassoc"),
)


def sample_of(seed: int) -> Sample:
    """The program of a seed."""
    return first_made(lambda attempt: _with_flags(Choices(f"flags {seed}/{attempt}")))


def _with_flags(choices: Choices) -> Sample | None:
    """A program with flags, or None where it has to do with numbers that are not finite, or with refusals."""
    make = choices.pick((seeded.sample_of, seeded.sample_of, arrays.sample_of, ending_sample_of))
    sample = replace(make(choices.randint(0, 10**9)), strict=False)
    with np.errstate(all="ignore"):
        found, reference = prepared(sample)
    if found.strict or reference is None or reference.error is not None:
        return None
    function = sample.function()
    try:
        with np.errstate(all="raise", under="ignore"):
            function(*sample.arguments(function).values)
    except (ArithmeticError, TypeError):
        return None  # Something on the way is not finite, although nothing at the end need be.
    values = [*numbers_of(reference), *sample.arguments(function).arrays.values()]
    if not all(np.isfinite(each).all() for each in values if each.dtype.kind in "fc"):
        return None
    if any(word in sample.source for word in ("inf", "nan", "sqrt(", "log(")):
        return None
    return replace(sample, flags=tuple(FLAGS) if choices.chance(50) else choices.pick(_SETS))
