"""The part of a generated module that needs neither Numba nor polytune: it checks calls and prepares them."""

from __future__ import annotations

import ast

__all__ = ["MODULES", "host_text"]

MODULES = {
    "polytune.conversions": "conversions",
    "polytune.errors": "errors",
    "polytune.forking": "forking",
    "polytune.records": "records",
    "polytune.runtime.arguments": "arguments",
    "polytune.runtime.index_blocks": "index_blocks",
    "polytune.runtime.local_arrays": "local_arrays",
    "polytune.runtime.subscripts": "subscripts",
    "polytune.signature": "signature",
}
"""The modules of polytune that packages have a copy of, by the names of the copies."""

_FUNCTIONS = ("require", "parameters", "check", "check_indexes", "scratch", "words", "result", "verify")
_TABLES_LEFT_OUT = ("VERSIONS", "PARTITIONED", "LOOPS")


def host_text(text: str) -> str:
    """The text of a module of a package without polytune.

    Args:
        text: of the generated module.
    """
    lines = text.splitlines()
    absent: set[str] = set()
    parts: list[str] = []
    for node in ast.parse(text).body:
        match node:
            case ast.ImportFrom(module=module) if module in MODULES:
                imported = ", ".join(ast.unparse(alias) for alias in node.names)
                parts.append(f"from ._support.{MODULES[module]} import {imported}")
            case ast.ImportFrom(module=module, names=names) if module is not None:
                absent |= {alias.asname or alias.name for alias in names}
            case ast.FunctionDef(name=name) if name not in _FUNCTIONS:
                absent.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) if name in _TABLES_LEFT_OUT or absent & _names(node.value):
                absent.add(name)
            case ast.Assign(value=ast.Call(func=ast.Name(id="dict"))):  # how Numba compiles
                pass
            case _:
                parts.append("\n".join(lines[node.lineno - 1 : node.end_lineno]))
    return "\n\n".join(parts) + "\n"


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
