"""The machine code of versions and of teams, as object code for a level of processors."""

from __future__ import annotations

from collections.abc import Collection
from types import FunctionType
from typing import Any

from llvmlite import ir

from polytune.runtime import admission
from polytune.runtime.native.kinds import NotNativeError
from polytune.runtime.native.lowering import lower
from polytune.runtime.native.machine_code import Processor, object_code
from polytune.runtime.native.source import parsed

__all__ = ["team_code", "version_code"]

_PROVIDED = ("polytune_await_event", "polytune_core", "polytune_signal_event", "polytune_yield_thread")
"""The functions of the interpreter's own runtime that ``runtime/team.c`` has."""

_OF_NUMPY = ("polytune_call_library", "polytune_small_call")
"""The first letters of the functions that call NumPy's, or the libraries that NumPy calls."""


def version_code(function: Any, symbol: str, processor: Processor) -> bytes:
    """The object code of a version.

    Args:
        function: what ``numba.njit`` made of a function of a generated module.
        symbol: what the machine code is called.
        processor: what it is for.

    Raises:
        NotNativeError: it cannot run without the interpreter.
    """
    fastmath = function.targetoptions.get("fastmath", ())
    return _code(function.py_func, symbol, {"fast"} if fastmath is True else (fastmath or ()), processor)


def team_code(processor: Processor) -> dict[str, bytes]:
    """The object code of what teams are run by (``polytune.runtime.admission``), by the names of the C functions."""
    functions = (admission.lead, admission.inside, admission.serve, admission.dismiss)
    plain = [function.py_func for function in functions]
    return {f"pt_{each.__name__}": _code(each, f"pt_{each.__name__}", (), processor) for each in plain}


def _code(plain: FunctionType, symbol: str, fastmath: Collection[str], processor: Processor) -> bytes:
    module = lower(parsed(plain), plain.__globals__, symbol, strict=not fastmath)
    missing = [each.name for each in module.global_values if _is_outside(each) and _is_of_interpreter(each.name)]
    if any(name.startswith(_OF_NUMPY) for name in missing):
        raise NotNativeError("it calls functions of NumPy's")
    if missing:
        raise NotNativeError(f"it calls {', '.join(missing)}, of the interpreter or of libraries that it has loaded")
    return object_code(module, fastmath, processor)


def _is_outside(value: ir.GlobalValue) -> bool:
    """Return whether a function or a variable is declared, and defined elsewhere."""
    return value.is_declaration if isinstance(value, ir.Function) else value.initializer is None


def _is_of_interpreter(name: str) -> bool:
    return name.startswith(("polytune_", "numba_", "Py")) and name not in _PROVIDED
