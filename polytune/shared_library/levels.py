"""The levels of processors that a library has code for, and the machine code of versions and of teams for one level."""

from __future__ import annotations

import platform
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

from llvmlite import ir

from polytune.errors import PolytuneError
from polytune.records import dataclass
from polytune.runtime.machine import vector_registers
from polytune.runtime.native.kinds import NotNativeError
from polytune.runtime.native.lowering import lower
from polytune.runtime.native.machine_code import Processor, host_processor, object_code
from polytune.runtime.native.source import parsed
from polytune.runtime.teams import admission
from polytune.shared_library.linking import RUNTIME, Compiler

__all__ = ["OWN", "Level", "level_names", "levels", "team_code", "version_code"]

OWN = "own"
"""The level of the machine that builds, which other machines use that can do all that it can."""

_FACTS = 8


@dataclass(frozen=True)
class Level:
    """A set of processors that can run the same code.

    Attributes:
        name: what it is called.
        processor: what LLVM is to make code for.
        vector_bytes: the width of vector registers that code is generated for.
        vector_registers: how many of them there are.
        facts: what a processor of the level has, as ``pt_read_facts`` in ``runtime/levels.c`` reads it: eight words of
            32 bits.
    """

    name: str
    processor: Processor
    vector_bytes: int
    vector_registers: int
    facts: tuple[int, ...]


def _bits(*places: int) -> int:
    return sum(1 << place for place in places)


_V2_FEATURES = ("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2")
_V3_FEATURES = (*_V2_FEATURES, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4_FEATURES = (*_V3_FEATURES, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")

# The words of cpuid that have these features: 1 ecx, 80000001 ecx, 7 ebx, and the state that the system keeps.
_V2_FACTS = (_bits(0, 9, 13, 19, 20, 23), _bits(0), 0, 0)
_V3_FACTS = (_bits(0, 9, 12, 13, 19, 20, 22, 23, 28, 29), _bits(0, 5), _bits(3, 5, 8), _bits(1, 2))
_V4_FACTS = (*_V3_FACTS[:2], _bits(3, 5, 8, 16, 17, 28, 30, 31), _bits(1, 2, 5, 6, 7))


def _x86_level(number: int, features: Sequence[str], width: int, facts: tuple[int, int, int, int]) -> Level:
    one, extended, seven, state = facts
    text = ",".join(f"+{feature}" for feature in features)
    registers = 32 if width == 64 else 16
    name = f"x86-64-v{number}"
    return Level(name, Processor(name, text), width, registers, (one, extended, seven, 0, 0, 0, 0, state))


_X86 = (
    _x86_level(2, _V2_FEATURES, 16, _V2_FACTS),
    _x86_level(3, _V3_FEATURES, 32, _V3_FACTS),
    _x86_level(4, _V4_FEATURES, 64, _V4_FACTS),
)

_BASELINE = Level("baseline", Processor("generic", ""), 16, 32, (0,) * _FACTS)
"""The instructions that every processor has, of an architecture whose levels cannot be told from one another here."""


def _is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def level_names() -> tuple[str, ...]:
    """The names of the levels that libraries can have here, the lowest first."""
    return (*(level.name for level in _X86), OWN) if _is_x86() else (_BASELINE.name,)


def levels(names: Sequence[str], compiler: Compiler) -> tuple[Level, ...]:
    """The levels of some names, the lowest first; all that there are where none is named.

    Args:
        names: their names.
        compiler: makes the program that tells what this machine's processor can do.

    Raises:
        PolytuneError: there is no such level.
    """
    known = level_names()
    for name in names:
        if name not in known:
            raise PolytuneError(f"there is no level {name!r} of processors here; there is {', '.join(known)}")
    wanted = names or known
    if not _is_x86():
        return (_BASELINE,)
    found = [level for level in _X86 if level.name in wanted]
    if OWN in wanted:
        width, registers = vector_registers()
        found.append(Level(OWN, host_processor(), width, registers, _own_facts(compiler)))
    return tuple(found)


def _own_facts(compiler: Compiler) -> tuple[int, ...]:
    """Return what this machine's processor can do."""
    with tempfile.TemporaryDirectory(prefix="polytune-") as folder:
        program = Path(folder) / "facts"
        compiler.run(["-DPT_PRINT_FACTS", str(RUNTIME / "levels.c"), "-o", str(program)])
        printed = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout
    facts = tuple(map(int, printed.split()))
    assert len(facts) == _FACTS
    return facts


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
    """The object code of what teams are run by (``polytune.runtime.teams.admission``), by the names of the C
    functions."""
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
