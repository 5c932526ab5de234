"""Machine code: LLVM optimises a module for this processor, or for another one, and puts object code where it can be
run."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from llvmlite import binding, ir
from numba.core.cpu_options import FastMathOptions
from numba.core.fastmathpass import rewrite_module

from polytune.fastmath import OF_EVERY_KERNEL
from polytune.forking import at_fork
from polytune.records import dataclass
from polytune.runtime.native.kinds import NotNativeError
from polytune.runtime.native.vector_mathematics import library, with_vector_forms

__all__ = ["Processor", "host", "host_processor", "load", "load_all", "object_code"]


@dataclass(frozen=True)
class Processor:
    """A processor that code of a shared library is made for.

    Attributes:
        name: LLVM's name of it.
        features: LLVM's names of its instruction set extensions, each with ``+`` or ``-``, with commas between.
    """

    name: str
    features: str


_LOCK = threading.RLock()
"""LLVM is one thread's at a time, and nobody's while the process forks: its own locks would be held for ever there."""


def _locks() -> list[Any]:
    """Return what has to be held while the process forks: this file's lock, and llvmlite's, which is held for each
    call, also where an object of LLVM's is thrown away."""
    of_llvmlite = getattr(binding.ffi.lib, "_lock", None)
    return [_LOCK] if of_llvmlite is None else [_LOCK, of_llvmlite]


def _hold() -> None:
    for lock in _locks():
        lock.__enter__()


def _release() -> None:
    for lock in reversed(_locks()):
        lock.__exit__(None, None, None)


at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)


@cache
def host() -> str:
    """The processor that code is made for, with what it can do, and the library of vector forms that is linked."""
    return f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {_features()} {library()}"


@cache
def _features() -> str:
    return str(binding.get_host_cpu_features().flatten())


def host_processor() -> Processor:
    """The processor of this machine."""
    return Processor(binding.get_host_cpu_name(), _features())


_FULLY, _WELL, _SIMPLY, _HARDLY = 3, 2, 1, 0
"""The levels of what LLVM does for the speed of the code: well, it writes out fewer iterations of loops; simply, it
keeps no elements that loops read again."""


def _machine(processor: Processor | None = None, level: int = _FULLY) -> binding.TargetMachine:
    """LLVM's machine for code that this process runs, or for code of a shared library, with an effort of LLVM's."""
    _initialise()
    target = binding.Target.from_default_triple()
    if processor is not None:
        return target.create_target_machine(
            cpu=processor.name, features=processor.features, opt=level, reloc="pic", codemodel="default"
        )
    is_x86 = target.name.startswith("x86")
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=_features(),
        opt=level,
        reloc="static" if is_x86 else "default",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def _initialise() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def object_code(
    module: ir.Module, fastmath: Collection[str], processor: Processor | None = None, *, optimise: bool = True
) -> bytes:
    """The object code of a module.

    Args:
        module: functions in LLVM's language.
        fastmath: what floating-point arithmetic is allowed to do, by LLVM's names.
        processor: for which processor it is, as a part of a shared library that alone sees the functions; None for code
            that `load` puts into this process.
        optimise: whether the code is to be fast; else it is made in a quarter of the time.

    Raises:
        NotNativeError: LLVM does not take the module.
    """
    if fastmath:
        _allow_in_updates(module, fastmath)
        rewrite_module(module, FastMathOptions(set(fastmath)))
    with _LOCK:
        machine = _machine(processor, _FULLY if optimise else _HARDLY)
        module.triple = binding.get_process_triple()
        module.data_layout = str(machine.target_data)
    text = str(module)
    features = _features() if processor is None else processor.features
    with _LOCK:
        if optimise and len(text) > _VERY_LONG:
            machine = _machine(processor, _WELL)
        if fastmath:
            text = with_vector_forms(text, features)
        return _compiled(text, machine, features, is_hidden=processor is not None, optimise=optimise)


def _allow_in_updates(module: ir.Module, fastmath: Collection[str]) -> None:
    """Give updates of sums, which have flags of their own, also those that ``fastmath`` adds; all that there are only
    where all operations may be reassociated."""
    allowed = set(fastmath) if "reassoc" in fastmath else set(fastmath) - OF_EVERY_KERNEL
    for function in module.functions:
        for block in function.blocks:
            for each in block.instructions:
                if "reassoc" in getattr(each, "flags", ()):
                    each.flags.extend(sorted(allowed.difference(each.flags)))


def _compiled(text: str, machine: binding.TargetMachine, features: str, *, is_hidden: bool, optimise: bool) -> bytes:
    """Object code of a module's text; functions that are hidden are seen by the library that they are linked into.

    Args:
        text: in LLVM's language.
        machine: LLVM's, for the processor.
        features: LLVM's names of what the processor has.
        is_hidden: whether only that library sees the functions.
        optimise: as for `object_code`.
    """
    if optimise:
        return bytes(machine.emit_object(_optimised(text, machine, features, is_hidden=is_hidden)))
    parsed = _parsed(text, is_hidden)
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=_HARDLY))
    _put_into_registers(parsed, builder)
    return bytes(machine.emit_object(parsed))


def _parsed(text: str, is_hidden: bool) -> binding.ModuleRef:
    try:
        parsed = binding.parse_assembly(text, binding.create_context())
        parsed.verify()
    except RuntimeError as error:
        raise NotNativeError(str(error)) from error
    if is_hidden:
        for function in parsed.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.external:
                function.visibility = "hidden"
    _require_symbols(parsed)
    return parsed


_LONG = 50_000
"""Characters of a module that takes LLVM a tenth of a second to make vectors of once more."""

_VERY_LONG = 200_000
"""Characters of a module that would take LLVM a second: its loops are as fast without all that LLVM could write out of
them, which takes it half of that time."""

_VECTOR_LOOP, _PASSED_ON = "\nvector.body", "%vector.recur"
"""The beginnings of LLVM's names of loops that it has made vectors of, and of vectors that such a loop passes on from
one iteration to the next."""

_PASSED_KIND = re.compile(rf"{_PASSED_ON}\S* = phi <(\d+) x (\w+)>")
_STEP = re.compile(r"%index\.next\S* = add .*, (\d+)")
"""The types of such vectors, and how many iterations are computed at a time."""

_LINE = 64
"""Bytes of a line of the caches."""

_SHUFFLES_AT_ONCE = "+avx512vl"
"""The extension with an instruction that takes any lanes of two vectors of 32 bytes, for which others need two.  On an
Intel Xeon, a loop of 10 loads and 21 operations takes 1.3 to 1.6 times as long as one of 6 loads and 4 shuffles."""

_BYTES = {"double": 8, "float": 4, "i64": 8, "i32": 4, "i16": 2, "i8": 1}
"""The sizes of elements."""


def _optimised(text: str, machine: binding.TargetMachine, features: str, *, is_hidden: bool) -> binding.ModuleRef:
    """A module that is as fast as LLVM makes it.

    Of neighbours that a loop reads, ``u[i - 1]`` and ``u[i + 1]``, LLVM keeps in registers what a later iteration reads
    again, and makes vectors of the loop afterwards, in which lanes then have to be shuffled, where a load would have
    given them.  Where it has done so, vectors are made before elements are kept, if there are as many vectors then; but
    not in long modules, which would take twice as long to compile, nor where loads would cost more than shuffles.

    Args:
        text: the module in LLVM's language.
        machine, features, is_hidden: as for `_compiled`.
    """
    parsed = _parsed(text, is_hidden)
    _run_passes(parsed, machine, _FULLY if len(text) <= _VERY_LONG else _WELL)
    found = str(parsed)
    if _PASSED_ON not in found or len(text) > _LONG or _is_passed_on_cheaply(found, features):
        return parsed
    other = _parsed(text, is_hidden)
    _run_passes(other, machine, _SIMPLY)
    _run_passes(other, machine, _FULLY)
    made = str(other)
    is_better = _PASSED_ON not in made and made.count(_VECTOR_LOOP) >= found.count(_VECTOR_LOOP)
    return other if is_better else parsed


def _is_passed_on_cheaply(text: str, features: str) -> bool:
    """Return whether one of each vector that loops pass on is computed at a time, and either all are a line of the
    caches, or one instruction puts lanes of two vectors together.

    Of neighbours that are a line, all loads but one touch two lines each.  Where several vectors are computed at a
    time, LLVM computes what is left of a row, up to as many elements, one by one.

    Args:
        text: a module with vectors.
        features: LLVM's names of what the processor has.
    """
    shuffles_at_once = _SHUFFLES_AT_ONCE in features.split(",")
    for loop in text.split(_VECTOR_LOOP)[1:]:
        body = loop.partition("\n\n")[0]
        kinds, step = set(_PASSED_KIND.findall(body)), _STEP.search(body)
        for lanes, kind in kinds:
            is_line = int(lanes) * _BYTES.get(kind, 0) == _LINE
            if not (is_line or shuffles_at_once) or step is None or step[1] != lanes:
                return False
    return True


def _run_passes(parsed: binding.ModuleRef, machine: binding.TargetMachine, level: int) -> None:
    """Run LLVM's passes of a level, with vectors."""
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(parsed, builder)


def _put_into_registers(parsed: binding.ModuleRef, builder: binding.PassBuilder) -> None:
    """Take variables out of memory, and blocks that only lead to others out of the code, and do nothing else."""
    passes = binding.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    for function in parsed.functions:
        if not function.is_declaration:
            passes.run(function, builder)


_IMPLIED = ("memcpy", "memmove", "memset")
"""The functions that LLVM calls of its own accord."""

_NAMED = ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "pow", "floor", "ceil", "trunc", "rint")
"""Functions of C's library that LLVM calls under names of its own."""


def _require_symbols(parsed: binding.ModuleRef) -> None:
    """Raise unless all is there that a module calls: LLVM would end the process over what is not."""
    wanted = set(_IMPLIED)
    for function in parsed.functions:
        if function.is_declaration:
            _, of_llvm, rest = function.name.partition("llvm.")
            name, _, kind = rest.partition(".")
            if not of_llvm:
                wanted.add(function.name)
            elif name in _NAMED:
                wanted.add(f"{name}f" if kind == "f32" else name)
    missing = [name for name in sorted(wanted) if not binding.address_of_symbol(name)]
    if missing:
        raise NotNativeError(f"{', '.join(missing)} cannot be called")


@cache
def _engine() -> binding.ExecutionEngine:
    return binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())


def load(code: bytes, symbol: str) -> int:
    """The address of a function in object code, ready to be called.

    Raises:
        NotNativeError: it is not there.
    """
    return load_all(code, [symbol])[0]


def load_all(code: bytes, symbols: Sequence[str]) -> list[int]:
    """The addresses of functions in object code, ready to be called.

    Raises:
        NotNativeError: one is not there.
    """
    with _LOCK:
        library()
        engine = _engine()
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        addresses = [int(engine.get_function_address(symbol)) for symbol in symbols]
    if not all(addresses):
        raise NotNativeError(f"no {symbols[addresses.index(0)]} in object code")
    return addresses
