"""Docstrings before they are Markdown: examples become blocks of code, and references names."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"(?:^[ \t]*>>> .*\n?(?:^[ \t]*\S.*\n?)*)", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([^`]+)`")


class Docstrings(griffe.Extension):
    """Fences what stands at a prompt, as in ``>>> f()``, and gives methods without a docstring that of a base class."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        _inherit(pkg)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = _ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = _EXAMPLE.sub(_fenced, text)


def _fenced(found: re.Match[str]) -> str:
    return f"```pycon\n{found[0].rstrip()}\n```\n"


def _inherit(module: griffe.Module) -> None:
    for member in module.members.values():
        if member.is_alias:
            continue
        if isinstance(member, griffe.Module):
            _inherit(member)
        elif isinstance(member, griffe.Class):
            for name, method in member.members.items():
                if not method.is_alias and method.docstring is None:
                    found = (base.members.get(name) for base in member.mro())
                    method.docstring = next((each.docstring for each in found if each and each.docstring), None)
