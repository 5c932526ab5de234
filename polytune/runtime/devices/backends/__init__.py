"""The backends for devices, one a file: found here, and nowhere listed.

A file declares its backend as ``BACKEND``; it imports the package that reaches its devices only when it looks for them.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from polytune.runtime.devices.backend import Backend, Found, Listing

__all__ = ["BACKENDS", "KINDS", "PRELUDES", "Found", "Listing", "listed"]


def _declared() -> dict[str, Backend]:
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    backends: list[Backend] = sorted((module.BACKEND for module in modules), key=lambda backend: backend.precedence)
    return {backend.kind: backend for backend in backends}


BACKENDS = _declared()
"""All backends by their kinds, those first that a GPU is used through where several reach it."""

KINDS = tuple(BACKENDS)

PRELUDES = {kind: backend.prelude for kind, backend in BACKENDS.items()}
"""The text before a kernel's, by the name of the dialect: ``Device.dialect``."""


@functools.cache
def listed(kind: str) -> Listing:
    """Return what there is of a kind, looked for once in a process; an unknown kind has no devices."""
    if kind not in BACKENDS:
        return Listing(kind, (), f"devices are of the kinds {' and '.join(KINDS)}", "name one of these")
    return BACKENDS[kind].look()
