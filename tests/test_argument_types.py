"""The types that kernels are built for where nothing says which: the first guesses with which they can be compiled."""

import numpy as np
import pytest

import polytune
from polytune.argument_types import types_of_source
from polytune.errors import UnsupportedSourceError
from polytune.signature import parse_type


def periodic(h, dt, g=9.81):
    slope = (np.roll(h, -1, axis=0) - np.roll(h, 1, axis=1)) / 2
    return h - dt * g * slope


def half(A: "float32[:, ::1]", x):  # noqa: F821
    for i in range(A.shape[0]):
        A[i, 0] = x[i]


def refused(h, dt):
    print((dt, dt))
    return np.roll(h, 1, axis=1)


def test_guesses_are_made_until_one_is_accepted() -> None:
    assert str(types_of_source(periodic)) == "h: float64[:, ::1], dt: float, g: float"
    assert str(polytune.kernel(periodic).stages().signature) == "h: float64[:, ::1], dt: float, g: float"
    assert "np.roll" not in polytune.kernel(periodic).explain()


def test_annotations_and_given_types_decide() -> None:
    assert str(types_of_source(half)) == "A: float32[:, ::1], x: float64[::1]"
    given = {"x": parse_type("int32[:]")}
    assert str(types_of_source(half, given)) == "A: float32[:, ::1], x: int32[:]"
    assert str(types_of_source(periodic, {"h": parse_type("float32[:, :]")})).startswith("h: float32[:, :], dt: float")


def test_what_no_guess_makes_right_is_refused_with_the_guess_that_it_is_refused_for() -> None:
    with pytest.raises(UnsupportedSourceError, match="in a call of print") as refusal:
        polytune.kernel(refused).module_text(devices=False)
    assert len(refusal.value.obstacles) == 1
    (note,) = refusal.value.__notes__
    assert note.startswith("The types are guesses: h: float64[:, ::1], dt: float. Annotate")
