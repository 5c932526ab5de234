"""One variable's sum taken out of a loop that computes others beside it (loop distribution).

In ``for k: ab += x[a, k] * x[b, k]; aa += x[a, k] * x[a, k]`` the second sum is the same for all b, but no computation
of its own.  A loop for each of the two computes both, and ``invariant.py`` can move the second one.

Soundness rests on the structure of the program, as in ``repeated.py``.  A variable's updates get a loop of their own if

- the block assigns to it once before that loop, without reading any element, and nothing in between mentions it;
- the loop has nothing but loops and statements inside, none of which ends early, and of these statements some write the
  variable and nothing else, and the others do not mention it;
- what the others write is not read by the updates, nor by the bounds of loops.

So the two parts of an iteration do not touch what the other one writes, and may be run one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Iterator as Iteration
from dataclasses import replace

from polytune.frontend.expression import Assign, Element, walk
from polytune.frontend.program import Node, Perform, RangeLoop
from polytune.frontend.rewrites.repeated import uses_of

__all__ = ["with_one_apart"]


def with_one_apart(block: Sequence[Node], endings: Collection[str]) -> Iteration[tuple[str, tuple[Node, ...]]]:
    """Give the ways to take a variable's sum out of a loop: the variable, and the block in which its assignment and a
    loop of its own stand before what is left of the loop.

    Args:
        block: neighbouring nodes.
        endings: the iterators of loops that end early.
    """
    for place, loop in enumerate(block):
        if not isinstance(loop, RangeLoop) or not _has_only_statements(loop, endings):
            continue
        for name in uses_of(loop).written:
            begin = _beginning(block[:place], name)
            apart = None if begin is None else _apart(loop, name)
            if begin is not None and apart is not None:
                own, rest = apart
                others = (*block[:begin], *block[begin + 1 : place])
                yield name, (*others, block[begin], own, *rest, *block[place + 1 :])


def _has_only_statements(node: Node, endings: Collection[str]) -> bool:
    if isinstance(node, RangeLoop):
        return node.iterator not in endings and all(_has_only_statements(child, endings) for child in node.body)
    return isinstance(node, Perform)


def _beginning(before: Sequence[Node], name: str) -> int | None:
    """Return where the nodes before a loop assign to a variable, if that is the last that they do with it."""
    for place in reversed(range(len(before))):
        if uses_of(before[place]).mentioned[name]:
            match before[place]:
                case Perform((Assign(Element(array, ()), value),)) if array == name:
                    return None if any(isinstance(part, Element) for part in walk(value)) else place
            return None
    return None


def _apart(loop: RangeLoop, name: str) -> tuple[RangeLoop, tuple[RangeLoop, ...]] | None:
    """A loop with the updates of a variable alone, and one with the others, if there are any; None where these two need
    one another."""
    own, others = _part(loop, name, True), _part(loop, name, False)
    if own is None:
        return None
    if others is None:
        return own, ()
    kept, left = uses_of(own), uses_of(others)
    if left.mentioned[name] or set(kept.written) != {name} or not kept.mentioned.keys().isdisjoint(left.written):
        return None
    return own, (others,)


def _part(loop: RangeLoop, name: str, is_own: bool) -> RangeLoop | None:
    """The loop with the statements that write a variable, or with those that do not; None where there are none."""
    body: list[Node] = []
    for child in loop.body:
        if isinstance(child, RangeLoop):
            inside = _part(child, name, is_own)
            if inside is not None:
                body.append(inside)
        elif bool(uses_of(child).written[name]) == is_own:
            body.append(child)
    return replace(loop, body=tuple(body)) if body else None
