"""The programs of all generators, each with a number of its own."""

from __future__ import annotations

import random

from tests.fuzz import data_extents, early_ends, flags, number_types
from tests.fuzz.arrays import programs as arrays
from tests.fuzz.programs import ArrayArgument, Program
from tests.fuzz.samples import Sample
from tests.fuzz.seeded.programs import sample_of
from tests.fuzz.strategy import program_of

AFFINE, SEEDED, ARRAYS, DATA_EXTENTS = "affine", "seeded", "arrays", "data extents"
EARLY_ENDS, NUMBER_TYPES, FLAGS = "early ends", "number types", "flags"
"""The generators: of ``tests.fuzz.strategy``, ``tests.fuzz.seeded``, ``tests.fuzz.arrays``,
``tests.fuzz.data_extents``, ``tests.fuzz.early_ends``, ``tests.fuzz.number_types`` and ``tests.fuzz.flags``."""

GENERATORS = (AFFINE, SEEDED, ARRAYS, DATA_EXTENTS, EARLY_ENDS, NUMBER_TYPES, FLAGS)
"""The generators, each of the programs whose numbers leave its place here when they are divided by how many it has."""

_SCALES = (*((1, 2),) * 10, *((2, 2),) * 6, *((3, 3),) * 4, (5, 3), (8, 4))
"""The most statements that the affine programs have, and the depth of their loops."""


def generator_of(number: int) -> str:
    """The generator that makes the program of a number."""
    return GENERATORS[number % len(GENERATORS)]


def numbered(number: int) -> Sample:
    """The program of a number."""
    generator = generator_of(number)
    if generator == ARRAYS:
        return arrays.sample_of(number)
    if generator == DATA_EXTENTS:
        return data_extents.sample_of(number)
    if generator == EARLY_ENDS:
        return early_ends.sample_of(number)
    if generator == NUMBER_TYPES:
        return number_types.sample_of(number)
    if generator == FLAGS:
        return flags.sample_of(number)
    if generator == SEEDED:
        return sample_of(number // 2)
    choose = random.Random(f"affine {number}")
    statements, depth = choose.choice(_SCALES)
    strict, rounds = choose.random() < 0.5, choose.random() < 0.5
    return sample_from(program_of(number // 2, statements, depth), strict=strict, rounds=rounds)


def sample_from(program: Program, strict: bool, rounds: bool = False) -> Sample:
    """An affine program as what fuzzing runs.

    Args:
        program: the program.
        strict: whether it is compiled without reassociation; then its data have all digits.
        rounds: whether they have otherwise, too, and results are held against bounds on errors
            (``tests.fuzz.rounding``).
    """
    exact = not strict and not rounds
    setup = tuple(
        (name, value.text(exact=exact) if isinstance(value, ArrayArgument) else repr(value))
        for name, value in zip(program.names, program.values, strict=True)
    )
    single = any(array.dtype == "float32" for array in program.tree.arrays)
    tolerance = 0.0 if not exact else 1e-3 if single else 1e-9
    return Sample(program.source, setup, ", ".join(program.names), strict, tolerance)


def is_compiled(number: int, share: float) -> bool:
    """Whether the program of a number is one of the share of programs that are compiled."""
    return random.Random(f"compiled {number}").random() < share
