"""Arguments are bound to parameters as Python binds them, the quick way as the other one."""

from __future__ import annotations

import inspect
from itertools import combinations, product
from typing import Any

import pytest

from polytune.errors import ArgumentError
from polytune.runtime.calls.argument_binding import ArgumentBinding


def plain(a, b, c):
    return a, b, c


def with_defaults(a, b=20, c=30):
    return a, b, c


def by_position_alone(a, b, /, c=30):
    return a, b, c


def by_name_alone(a, *, b, c=30):
    return a, b, c


def expected(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...] | None:
    """The values of the parameters by a call of Python's; None where it refuses."""
    try:
        return function(*arguments, **keywords)
    except TypeError:
        return None


CALLS = [
    (tuple(range(count)), {name: 100 + k for k, name in enumerate(names)})
    for count, size in product(range(5), range(4))
    for names in combinations(("a", "b", "c", "d"), size)
]


@pytest.mark.parametrize("function", (plain, with_defaults, by_position_alone, by_name_alone))
def test_arguments_are_bound_as_python_binds_them(function):
    binding = ArgumentBinding(function.__name__, inspect.signature(function))
    assert binding.names == ("a", "b", "c")
    accepted = 0
    for arguments, keywords in CALLS:
        wanted = expected(function, arguments, keywords)
        assert binding.bind_quickly(arguments, keywords) == wanted, (arguments, keywords)
        if wanted is None:
            with pytest.raises(ArgumentError, match=rf"^{function.__name__}\(a, .*: "):
                binding.bind(arguments, keywords)
        else:
            accepted += 1
            assert binding.bind(arguments, keywords) == wanted, (arguments, keywords)
    assert accepted >= 3
