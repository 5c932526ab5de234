"""The comparisons of two values that Python's source may have, and their symbols, which C and LLVM share."""

from __future__ import annotations

import ast
from collections.abc import Mapping

__all__ = ["RELATIONS"]

RELATIONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
