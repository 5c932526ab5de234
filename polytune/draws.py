"""The random numbers that compiled code draws one at a time, by generator and function.

Shared by compile time, which writes what is drawn into programs as the text of a call, and run time, which draws.
"""

from __future__ import annotations

import numpy as np

from polytune.records import dataclass

__all__ = ["DRAWS", "MAKING", "METHODS", "Draw", "draw_of", "draw_text"]

MAKING = "numpy.random.default_rng"
"""The function whose calls make generators, which are released when the kernel has ended."""


METHODS = frozenset(name for name in dir(np.random.Generator) if name[0] != "_") - frozenset(dir(np.ndarray))
"""The methods of generators, by which an argument is known to be one; no array has any of them."""


@dataclass(frozen=True)
class Draw:
    """A function that gives one number.

    Attributes:
        parameters: the types of what it depends on, ``float64`` or ``int64``.
        dtype: the type of the number.
    """

    parameters: tuple[str, ...]
    dtype: str = "float64"


_TWO = ("float64", "float64")
_OF_NUMPY = {
    "uniform": Draw(_TWO),
    "standard_normal": Draw(()),
    "normal": Draw(_TWO),
    "lognormal": Draw(_TWO),
    "standard_exponential": Draw(()),
    "exponential": Draw(("float64",)),
    "poisson": Draw(("float64",), "int64"),
}

DRAWS = {
    **{f"numpy {name}": each for name, each in _OF_NUMPY.items()},
    "numpy random_sample": Draw(()),
    "numpy randint": Draw(("int64", "int64"), "int64"),
    # The first argument is the generator's address.
    **{f"generator {name}": Draw(("int64", *each.parameters), each.dtype) for name, each in _OF_NUMPY.items()},
    "generator random": Draw(("int64",)),
    "generator integers": Draw(("int64", "int64", "int64"), "int64"),
    "python random": Draw(()),
    "python uniform": Draw(_TWO),
    "python normalvariate": Draw(_TWO),
    "python expovariate": Draw(("float64",)),
    "python randint": Draw(("int64", "int64"), "int64"),
    "python randrange": Draw(("int64", "int64"), "int64"),
}
"""The functions, by the generator, a blank, and their names."""

_BEGINNING = "draw "


def draw_text(source: str, name: str) -> str | None:
    """The text of a call that draws; None where compiled code has no form of it.

    Args:
        source: the generator: ``numpy``, ``generator`` or ``python``.
        name: its function's.
    """
    key = f"{source} {name}"
    return f"{_BEGINNING}{key}" if key in DRAWS else None


def draw_of(text: str) -> Draw | None:
    """Return what a call of the library draws, by its text; None where it is no draw."""
    return DRAWS[text.removeprefix(_BEGINNING)] if text.startswith(_BEGINNING) else None
