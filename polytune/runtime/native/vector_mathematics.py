"""Vector forms of C's mathematical functions, for loops whose sums may come in any order.

glibc has them for x86 in a library of its own, libmvec, whose results are at most four units in the last place away.
LLVM's vectoriser takes them where a call says so by the attribute ``vector-function-abi-variant`` (LLVM's Language
Reference, "Vector Function ABI Variants"), under the names of the x86-64 vector function ABI: ``_ZGVdN4v_exp`` is
``exp`` of four float64 in registers of AVX2.  Numba's functions call the scalar forms, one lane after the other.

Kernels that are strict keep the scalar forms, whose results are NumPy's.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Collection
from functools import cache

from llvmlite import binding

from polytune.runtime.native.integer_powers import SYMBOL, power_forms

__all__ = ["library", "with_vector_forms"]

_FUNCTIONS = (
    *("exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "cbrt", "erf", "erfc"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("pow", "atan2", "hypot"),
)
_OF_LLVM = frozenset(("exp", "exp2", "log", "log2", "log10", "sin", "cos", "pow"))
"""Those that are operations of LLVM's own, which become the same calls where no vectors come of them.  Until then LLVM
takes them for cheap, and writes out iterations of loops that it takes for too large with a call in them."""

_WIDTHS = (("b", 16, "sse4.1"), ("d", 32, "avx2"), ("e", 64, "avx512f"))
"""The letter that names registers, their bytes, and the feature of processors that have them."""

_CALL = re.compile(
    r'call (?P<flags>[a-z ]*)(?P<kind>double|float) (?:\([^)]*\) )?@"(?:llvm\.)?'
    rf'(?P<name>{"|".join(_FUNCTIONS)})(?:f|\.f32|\.f64)?"(?P<arguments>\([^)]*\))'
)
_DECLARATION = re.compile(
    rf'^declare (?:double|float) @"(?:llvm\.)?(?:{"|".join(_FUNCTIONS)})(?:f|\.f32|\.f64)?"\(.*\n', re.MULTILINE
)


@cache
def library() -> str:
    """Return which library of vector forms is loaded, now if it was not before; nothing where there is none."""
    return f"libmvec of glibc {platform.libc_ver()[1]}" if _has_library() else ""


@cache
def _has_library() -> bool:
    if not (sys.platform.startswith("linux") and platform.machine() == "x86_64"):
        return False
    try:
        binding.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return True


@cache
def _variants(name: str, kind: str, arguments: int, features: str) -> tuple[tuple[str, int], ...]:
    """The vector forms of a function that there are on this processor: their names, and how many lanes they have."""
    if not _has_library():
        return ()
    size = 8 if kind == "double" else 4
    symbol = name if kind == "double" else f"{name}f"
    found = []
    for letter, width, feature in _WIDTHS:
        lanes = width // size
        variant = f"_ZGV{letter}N{lanes}{'v' * arguments}_{symbol}"
        if f"+{feature}," in f"{features}," and binding.address_of_symbol(variant):
            found.append((variant, lanes))
    return tuple(found)


def _scalar_form(name: str, kind: str) -> str:
    """The name of a scalar function: LLVM's or that of C's library."""
    if name in _OF_LLVM:
        return f"llvm.{name}.{'f64' if kind == 'double' else 'f32'}"
    return name if kind == "double" else f"{name}f"


def with_vector_forms(text: str, features: str) -> str:
    """A module's text with calls of scalar functions that may be taken for several iterations at a time.

    Args:
        text: the module, as llvmlite prints it.
        features: what the processor can do, as LLVM names it.
    """
    attributes: dict[tuple[str, str, int], int] = {}

    def change(call: re.Match[str]) -> str:
        name, kind, arguments = call["name"], call["kind"], call["arguments"]
        key = name, kind, arguments.count(",") + 1
        if not _variants(*key, features):
            return call[0]
        number = attributes.setdefault(key, _FIRST + len(attributes))
        return f'call {call["flags"]}{kind} @"{_scalar_form(name, kind)}"{arguments} #{number}'

    changed = _CALL.sub(change, text)
    has_powers = f'@"{SYMBOL}"' in text
    if not attributes and not has_powers:
        return text
    own = {_scalar_form(name, kind) for name, kind, _ in attributes}
    kept = [line for line in _DECLARATION.findall(changed) if not _is_of(line, own, changed)]
    lines = (
        [_DECLARATION.sub("", changed).rstrip(), *(line.rstrip() for line in kept)] if attributes else [text.rstrip()]
    )
    used: list[str] = []
    for (name, kind, arguments), number in attributes.items():
        symbol = _scalar_form(name, kind)
        lines.append(f'declare {kind} @"{symbol}"({", ".join([kind] * arguments)})')
        mangled = []
        for variant, lanes in _variants(name, kind, arguments, features):
            vector = f"<{lanes} x {kind}>"
            lines.append(f"declare {vector} @{variant}({', '.join([vector] * arguments)})")
            mangled.append(f"_ZGV_LLVM_N{lanes}{'v' * arguments}_{symbol}({variant})")
            used.append(variant)
        facts = f'nounwind willreturn memory(none) "vector-function-abi-variant"="{",".join(mangled)}"'
        lines.append(f"attributes #{number} = {{ {facts} }}")
    if has_powers:
        used += _add_powers(lines, features)
    if used:
        pointers = ", ".join(f"ptr @{variant}" for variant in used)
        kind = f"[{len(used)} x ptr]"
        lines.append(f'@llvm.compiler.used = appending global {kind} [{pointers}], section "llvm.metadata"')
    return "\n".join(lines) + "\n"


def _add_powers(lines: list[str], features: str) -> list[str]:
    """Define the power to an integer in a module's text, and what it calls.  Return the names of its vector forms."""
    lanes = [width // 8 for _, width, feature in _WIDTHS if f"+{feature}," in f"{features},"]
    library = {count: variant for variant, count in _variants("pow", "double", 2, features)}
    forms, names = power_forms(lanes, library)
    text = re.sub(rf'^declare double @"{SYMBOL}"\(.*\n', "", "\n".join(lines) + "\n", flags=re.MULTILINE)
    known = set(re.findall(r'^declare [^@]*@"?([\w.]+)"?\(', text, re.MULTILINE))
    for result, name, arguments in re.findall(r"= call (.+?) @([\w.]+)\((.*)\)", "\n".join(forms)):
        if name not in known:
            known.add(name)
            kinds = re.findall(r"(?:^|, )(<\d+ x \w+>|\w+) %", arguments)
            forms.append(f"declare {result} @{name}({', '.join(kinds)})")
    lines[:] = [text.rstrip(), *forms]
    return names


_FIRST = 1000
"""The number of the first group of attributes, above those that llvmlite writes."""


def _is_of(declaration: str, own: Collection[str], text: str) -> bool:
    """Return whether a declaration is one of functions that are declared anew, or that nothing calls any more."""
    found = re.search(r'@"([^"]*)"', declaration)
    assert found is not None
    return found[1] in own or text.count(f'@"{found[1]}"') == 1
