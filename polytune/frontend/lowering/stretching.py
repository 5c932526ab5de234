"""The extents of arguments that may decide what code a call needs.

Some decide the meaning of a kernel: where they are 1, NumPy stretches them to others.  Others make faster code where
they are short and known: loops over the components of points and colours have as many iterations in each call, and
points lie as far apart.
"""

from __future__ import annotations

from collections.abc import Iterator as Iteration
from typing import Any

from polytune.frontend.expression import Constant, Counter, Element, Extent, Iterator, Loop, ParameterValue, walk
from polytune.frontend.lowering.frame import Place
from polytune.frontend.lowering.lower import Lowered, lower
from polytune.frontend.lowering.parameters import refused_arguments
from polytune.frontend.program import Guard, Node, RangeLoop
from polytune.frontend.syntax.source import read_source
from polytune.signature import Signature

__all__ = ["deciding_extents"]


def deciding_extents(
    function: Any, signature: Signature, *, strict: bool = False
) -> tuple[tuple[tuple[Place, ...], ...], tuple[Place, ...], Lowered]:
    """The extents that are stretched, and those that make faster code where they are short and known.

    The first are pairs of extents that meet and need not agree where one of them alone is 1, and single extents that
    meet something else: a call in which there is such a 1 needs the kernel compiled for it.

    Args:
        function: a plain function, or an object whose ``__wrapped__`` is one.
        signature: the types of its arguments.
        strict: whether sums keep their source order.

    Returns:
        Both, and the program that was made to find them, which ``analyse`` can go on with.

    Raises:
        UnsupportedSourceError: the source is outside the language.
    """
    source = read_source(function)
    lowered = lower(source, signature, strict=strict, refused=refused_arguments(source, signature))
    return tuple(lowered.kernel.stretched), _telling_extents(lowered), lowered


def _telling_extents(lowered: Lowered) -> tuple[Place, ...]:
    """The extents that bounds of loops are made of, those that meet one of them, and those of which subscripts go along
    such a loop or are constants."""
    kernel = lowered.kernel
    places = {
        parameter.name: (parameter.source.array, parameter.source.dimension)
        for parameter in kernel.parameters.values()
        if isinstance(parameter.source, Extent)
    }
    arguments = kernel.signature_names
    found: dict[Place, None] = {}
    counted: set[Iterator | Counter] = set()
    for variable, *bounds in _loops(lowered.nodes):
        mentioned = [part.name for bound in bounds for part in walk(bound) if isinstance(part, ParameterValue)]
        own = [places[name] for name in mentioned if name in places]
        if own:
            counted.add(variable)
            found.update(dict.fromkeys(own))
    for element in (part for node in lowered.nodes for part in walk(node) if isinstance(part, Element)):
        for dimension, subscript in enumerate(element.subscripts):
            along = [part for part in walk(subscript) if isinstance(part, Iterator | Counter)]
            is_component = isinstance(subscript, Constant)
            if element.array in arguments and (is_component or not counted.isdisjoint(along)):
                found[element.array, dimension] = None
    for met in kernel.stretched:
        if not found.keys().isdisjoint(met):
            found.update(dict.fromkeys(met))
    return tuple(found)


def _loops(nodes: tuple[Node, ...]) -> Iteration[tuple[Any, ...]]:
    """The variable of each loop in nodes, and its bounds."""
    for node in nodes:
        match node:
            case RangeLoop():
                yield Iterator(node.iterator), node.start, node.stop
                yield from _loops(node.body)
            case Guard():
                yield from _loops((*node.then, *node.otherwise))
            case _:
                for part in walk(node):
                    if isinstance(part, Loop):
                        yield Counter(part.counter), part.start, part.stop
