"""The order in which expressions and operations are walked over, and what changes of parts leave as it is."""

from __future__ import annotations

from polytune.errors import SourceLocation
from polytune.frontend.expression import (
    Assign,
    Binary,
    Branch,
    Break,
    Compare,
    Constant,
    Element,
    Iterator,
    Loop,
    map_children,
    walk,
)
from polytune.frontend.program import Perform

INDEX = Iterator("i")
A = Element("A", (INDEX, Constant(1, "int64")), "float64")
SUM = Binary("+", A, Constant(2.0, "float64"), "float64")
TEST = Compare("<", SUM, A)
LOOP = Loop("k", Constant(0, "int64"), INDEX, 1, (Assign(A, SUM), Branch(TEST, (Break(),))))


def test_nodes_come_in_the_order_of_the_source() -> None:
    assert list(walk(SUM)) == [SUM, A, INDEX, A.subscripts[1], SUM.right]
    kinds = [type(part).__name__ for part in walk(LOOP)]
    element, total = ["Element", "Iterator", "Constant"], ["Binary", "Element", "Iterator", "Constant", "Constant"]
    assert kinds == [
        *("Loop", "Constant", "Iterator"),
        *("Assign", *element, *total),
        *("Branch", "Compare", *total, *element, "Break"),
    ]


def test_statements_are_walked_over_with_their_places() -> None:
    place = SourceLocation("file.py", 1, 0, 5, "A = 1")
    assert [type(part).__name__ for part in walk(Perform((Break(),), place, "text"))] == [
        "Perform",
        "Break",
        "SourceLocation",
    ]


def test_a_node_of_which_nothing_changes_is_the_same_object() -> None:
    assert map_children(LOOP, lambda part: part) is LOOP
    changed = map_children(SUM, lambda part: INDEX if part == A else part)
    assert changed == Binary("+", INDEX, Constant(2.0, "float64"), "float64")
    assert changed.right is SUM.right
