"""The model of functions with jumps and with what depends on data, against Python."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from polytune.frontend import analyse
from polytune.frontend.array_expressions import data_sizes
from polytune.frontend.scop import Scop
from polytune.runtime.calls.arguments import signature_of
from polytune.signature import Signature
from tests.frontend.accepted import ACCEPTED
from tests.frontend.interpreter import Run, check_accesses

CASES = [
    pytest.param(function, make, id=f"{function.__name__}-{number}") for number, (function, make) in enumerate(ACCEPTED)
]


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accesses are compared element by element, also of arrays of which nothing says how large they are."""
    monkeypatch.setattr(data_sizes, "ROOM", 64)


@cache
def model_of(function: Callable[..., Any], signature: Signature) -> Scop:
    """The model, of which all instances are run, for all arguments of these types."""
    return analyse(function, signature, may_end=False)


@pytest.mark.parametrize(("function", "make"), CASES)
def test_the_model_computes_what_python_does(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]]) -> None:
    names = tuple(inspect.signature(function).parameters)
    wanted, found = make(), make()
    right = function(*wanted)
    run = Run(
        model_of(function, signature_of(names, found)), dict(zip(names, copy.deepcopy(found), strict=True))
    ).execute()
    np.testing.assert_equal(run.result, right)
    for name, value in zip(names, wanted, strict=True):
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(run.memory[name], value)
    check_accesses(run)
