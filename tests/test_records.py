"""The package's ``dataclass``, against the standard library's."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest

import polytune
from polytune.records import dataclass

MAKERS = pytest.mark.parametrize("make", [dataclass, dataclasses.dataclass], ids=["own", "standard"])


@MAKERS
def test_a_class_has_what_the_standard_one_has(make: Any) -> None:
    @make(frozen=True)
    class Point:
        x: int
        y: float = 2.0
        parts: list[int] = field(default_factory=list, compare=False)
        note: str = field(default="", repr=False, compare=False, kw_only=True)
        made: int = field(init=False, default=7)
        size: ClassVar[int] = 3

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

        @cached_property
        def total(self) -> float:
            return self.x + self.y

    point = Point(1)
    assert (point.x, point.y, point.parts, point.note, point.made, point.total) == (1, 2.0, [], "", 7, 3.0)
    assert repr(point).endswith("Point(x=1, y=2.0, parts=[], made=7)")
    assert point == Point(1, parts=[4], note="other")
    assert point != Point(2)
    assert point != (1, 2.0, [], 7)
    assert hash(point) == hash(Point(1, 2.0, [5])) == hash((1, 2.0, 7))
    assert Point(1).parts is not Point(1).parts
    assert replace(point, y=5.0, note="n") == Point(1, 5.0)
    assert asdict(point) == {"x": 1, "y": 2.0, "parts": [], "note": "", "made": 7}
    assert Point.__match_args__ == ("x", "y", "parts")
    assert list(inspect.signature(Point).parameters) == ["x", "y", "parts", "note"]
    for wrong in (lambda: Point(-1), lambda: Point(), lambda: Point(1, 2, [], "n"), lambda: Point(1, z=2)):
        with pytest.raises((ValueError, TypeError)):
            wrong()
    for name in ("x", "other"):
        with pytest.raises(FrozenInstanceError):
            setattr(point, name, 3)
    with pytest.raises(FrozenInstanceError):
        del point.x


@MAKERS
def test_a_class_that_changes_has_no_hash(make: Any) -> None:
    @make
    class Counter:
        count: int = 0

    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    with pytest.raises(TypeError):
        hash(counter)


@MAKERS
def test_methods_of_the_class_stay(make: Any) -> None:
    @make(frozen=True)
    class Named:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named)

        def __repr__(self) -> str:
            return "named"

    @make(frozen=True)
    class Hashed:
        name: str

        def __hash__(self) -> int:
            return 5

    @make(frozen=True, eq=False)
    class Same:
        name: str

    assert repr(Named("a")) == "named"
    assert Named("a") == Named("b")
    assert hash(Named("a")) == hash(("a",))
    assert hash(Hashed("a")) == 5
    assert Same("a") != Same("a")
    assert len({Same("a"), Same("a")}) == 2


@MAKERS
def test_fields_are_inherited(make: Any) -> None:
    @make(frozen=True)
    class Base:
        a: int
        b: int = 1

    @make(frozen=True)
    class Derived(Base):
        c: int = 2

    assert repr(Derived(0)).endswith("Derived(a=0, b=1, c=2)")
    assert Derived(0) != Base(0)
    match Derived(5, 6, 7):
        case Derived(a, b, c):
            assert (a, b, c) == (5, 6, 7)


@MAKERS
def test_not_a_number_is_itself(make: Any) -> None:
    """A class of one field compares as one of two does: what is identical is equal."""

    @make(frozen=True)
    class One:
        value: float

    nan = float("nan")
    assert One(nan) == One(nan)


@dataclass(frozen=True)
class Kept:
    left: Any
    right: Any = None


def test_instances_are_copied_and_pickled() -> None:
    kept = Kept(Kept(1), [2])
    assert pickle.loads(pickle.dumps(kept)) == kept == copy.deepcopy(kept)


def test_a_class_that_holds_itself_is_shown() -> None:
    parts: list[Any] = []
    kept = Kept(parts)
    parts.append(kept)
    assert repr(kept) == "Kept(left=[...], right=None)"


def test_the_package_makes_its_classes_here() -> None:
    root = Path(polytune.__file__).parent
    for path in root.glob("**/*.py"):
        if path.name == "records.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                assert "dataclass" not in [alias.name for alias in node.names], path
