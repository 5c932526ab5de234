"""Short ways to analyse a function, and to compare isl objects with their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import islpy as isl

from polytune.frontend import analyse, infer_signature
from polytune.frontend.expression import Element, walk
from polytune.frontend.scop import Scop
from polytune.signature import Signature, parse_type


def analysed(function: Callable[..., Any], **types: str) -> Scop:
    """The SCoP of a function; arguments that no type is given for have the one that the source suggests."""
    inferred = infer_signature(function)
    return analyse(
        function,
        Signature(
            tuple((name, parse_type(types[name]) if name in types else kind) for name, kind in inferred.arguments)
        ),
    )


def domain_is(scop: Scop, statement: str, text: str) -> bool:
    """Whether a statement's domain is the set that the text says."""
    return scop.statement(statement).domain.is_equal(isl.Set.read_from_str(scop.context.get_ctx(), text))


def relation_of(scop: Scop, reference: str) -> isl.Map:
    accesses = (access for statement in scop.statements for access in statement.accesses)
    return next(access.relation for access in accesses if access.reference == reference)


def relation_is(scop: Scop, reference: str, text: str) -> bool:
    """Whether the relation of an access is the one that the text says."""
    return relation_of(scop, reference).is_equal(isl.Map.read_from_str(scop.context.get_ctx(), text))


def dtypes(scop: Scop) -> dict[str, str]:
    """The types of all arrays and scalars."""
    return {array.name: array.dtype for array in scop.arrays}


def elements(node: Any) -> list[Element]:
    return [part for part in walk(node) if isinstance(part, Element)]
