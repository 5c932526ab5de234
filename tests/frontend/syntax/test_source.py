"""Where source comes from, and the places that point into it."""

from __future__ import annotations

import functools
import linecache
from pathlib import Path
from typing import Any

import pytest

from polytune.errors import UnsupportedSourceError
from polytune.frontend import analyse, infer_signature
from polytune.frontend.syntax.source import inlinable, plain_function, read_source
from tests.frontend import features


class Holder:
    @staticmethod
    def indented(A):
        # the first statement stands on the third line of the function
        A[0] = 1.0; A[1] = 'é' + A[0]  # noqa: E702  # fmt: skip


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call


@decorated
@decorated
def twice_decorated(A):
    A[0] = 2.0


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


def test_places_are_absolute_in_the_file_and_count_characters() -> None:
    source = read_source(Holder.indented)
    first, second = source.tree.body
    place = source.location(first)
    assert (place.file, place.line) == (__file__, line_of("A[0] = 1.0;"))
    assert place.text[place.column : place.end_column] == "A[0] = 1.0"
    place = source.location(second)
    assert place.text[place.column : place.end_column] == "A[1] = 'é' + A[0]" == source.segment(second)
    with pytest.raises(UnsupportedSourceError) as caught:
        analyse(Holder.indented, infer_signature(Holder.indented))
    place = caught.value.location
    assert place.text[place.column : place.end_column] == "'é'"


def test_decorators_are_looked_through() -> None:
    assert plain_function(twice_decorated) is twice_decorated.__wrapped__.__wrapped__
    scop = analyse(twice_decorated, infer_signature(twice_decorated))
    assert scop.name == "twice_decorated"
    assert scop.location.line == line_of("def twice_decorated")
    assert scop.statements[0].location.line == line_of("A[0] = 2.0")
    assert scop.statements[0].text == "A[0] = 2.0"


def test_source_that_linecache_holds_is_read() -> None:
    text = "def generated(A):\n    for i in range(len(A)):\n        A[i] = i\n"
    name = "<generated kernel>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, name, "exec"), namespace)
    function = namespace["generated"]
    scop = analyse(function, infer_signature(function))
    assert scop.source == text
    assert scop.statements[0].location.line == 3
    assert scop.statements[0].location.file == name


def test_a_statement_over_several_lines_keeps_its_text() -> None:
    scop = analyse(several_lines, infer_signature(several_lines))
    assert scop.statements[0].text.splitlines()[0] == "A[0] = ("
    assert scop.statements[0].text.endswith(")")
    place = scop.statements[0].accesses[0].location
    assert place.text[place.column : place.end_column] == "A[1]"


# fmt: off
def several_lines(A):
    A[0] = (
        A[1]
        + 1.0
    )
# fmt: on


def test_names_are_found_in_closures_modules_and_builtins() -> None:
    factor = 3.0

    def closed(A):
        A[0] = factor

    source = read_source(closed)
    assert source.resolve("factor") == 3.0
    assert source.resolve("features") is features
    assert source.resolve("len") is len
    with pytest.raises(KeyError):
        source.resolve("nowhere")
    assert analyse(closed, infer_signature(closed)).statements[0].operations[0].value.value == 3.0


def test_only_functions_of_the_user_are_inlined() -> None:
    import numpy as np

    assert inlinable(features.distance) is features.distance
    assert inlinable(np.sum) is None
    assert inlinable(np.sqrt) is None
    assert inlinable(len) is None
    assert inlinable(Holder) is None
