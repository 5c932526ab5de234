"""The texts of a library: the C header, the file that has its kernels' tables and functions, and of a generated module
the part that needs neither Numba nor polytune, which checks calls and prepares them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from polytune.codegen.source_writer import CWriter
from polytune.records import dataclass
from polytune.shared_library.choices import Choice
from polytune.shared_library.entry import CEntry
from polytune.shared_library.expressions import c_string
from polytune.shared_library.levels import Level
from polytune.version import __version__

__all__ = ["MODULES", "LevelCode", "NativeKernel", "header_text", "host_text", "source_text"]

_STATUSES = (
    ("OK", 0, "the kernel has run"),
    ("NO_MEMORY", -1, "there is no memory for local arrays; nothing was written"),
    ("NO_PROCESSOR", -2, "the library has no code for this processor; nothing was written"),
    ("ARGUMENT", -3, "sizes or pointers do not fit the kernel; nothing was written"),
    ("OVERLAP", -4, "a written array overlaps with another argument or with itself; nothing was written"),
    ("SUBSCRIPT", -5, "a number in an index array is no subscript; nothing was written"),
    ("LATE_SUBSCRIPT", -6, "a subscript was out of range while the kernel ran; what came before it was written"),
    ("UNASSIGNED", -7, "a variable would be read that nothing has assigned; nothing was written"),
    ("REQUIREMENT", -8, "an assert or raise at the top of the kernel has failed; nothing was written"),
)


@dataclass(frozen=True)
class LevelCode:
    """A kernel's code for a level.

    Attributes:
        symbols: by the names of versions, those of their machine code.
        teams: the names of versions that teams run.
        choices: what runs for which sizes.
    """

    symbols: Mapping[str, str]
    teams: frozenset[str]
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class NativeKernel:
    """A kernel of a library.

    Attributes:
        name: its name, in letters that C has.
        documentation: what it does, in the words of its author.
        signature: the types of its arguments.
        words: how many words its contexts have, without sizes of tiles.
        parameters: how many of these are parameters.
        code: by the names of levels.
        entry: its C function; None where it has none.
        obstacle: why it has none.
    """

    name: str
    documentation: str
    signature: str
    words: int
    parameters: int
    code: Mapping[str, LevelCode]
    entry: CEntry | None
    obstacle: str = ""


def header_text(package: str, kernels: Sequence[NativeKernel]) -> str:
    """The header of a library.

    Args:
        package: its name.
        kernels: what it holds.
    """
    big = package.upper()
    lines = [
        f"/* {package}: kernels compiled by polytune {__version__}.",
        " *",
        " * Functions return 0, or a negative number where something is wrong; then NAME_message() says what.  Arrays",
        " * are passed as a pointer to their first element, then their extents, and where they may have any strides,",
        " * these, in bytes.  Arrays that are not written may overlap with one another.  Several threads may call",
        " * functions at the same time.",
        " */".replace("NAME", package),
        f"#ifndef {big}_H",
        f"#define {big}_H",
        "",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"enum {package}_status {{",
        *(f"    {big}_{name} = {number}, /* {meaning} */" for name, number, meaning in _STATUSES),
        "};",
        "",
        "/* What was wrong in the last call of this thread that has failed: where, why, and what to do. */",
        f"const char *{package}_message(void);",
        "",
        "/* Give back an array that a kernel has returned. */",
        f"void {package}_free(void *array);",
        "",
        "/* How many threads calls use at most: as many as the process has cores, or as OMP_NUM_THREADS says.  Set to",
        "   a smaller number, or to 0 for all again; both return what holds then. */",
        f"int {package}_threads(void);",
        f"int {package}_set_threads(int threads);",
        "",
        "/* The level of processors that the code in use is for, chosen when first needed; NULL for none.  A lower one",
        "   can be set, for comparisons. */",
        f"const char *{package}_level(void);",
        f"int {package}_set_level(const char *level);",
        "",
    ]
    for kernel in kernels:
        lines += _kernel_lines(package, kernel)
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(line.replace("NAME_message", f"{package}_message") for line in lines)


def _kernel_lines(package: str, kernel: NativeKernel) -> list[str]:
    said = [f"{kernel.name}({kernel.signature})"]
    if kernel.documentation:
        said += ["", *kernel.documentation.splitlines()]
    if kernel.entry is None:
        said += ["", f"It has no function in C: {kernel.obstacle}.", "It can be called from Python."]
    else:
        said += ["", *kernel.entry.notes]
    said = [line.replace("*/", "* /") for line in said]
    comment = ["/* " + said[0], *(f" * {line}".rstrip() for line in said[1:]), " */"]
    return [*comment, *([] if kernel.entry is None else [f"{kernel.entry.declaration};"]), ""]


def source_text(package: str, kernels: Sequence[NativeKernel], levels: Sequence[Level]) -> str:
    """The C file with the tables of the kernels and their functions.

    Args:
        package: the name of the package.
        kernels: what it holds.
        levels: the levels that it has code for, the lowest first.
    """
    writer = CWriter()
    writer.line(f'#include "{package}.h"')
    writer.line('#include "runtime.h"')
    writer.line("#include <stdlib.h>")
    writer.line('#define PT_API __attribute__((visibility("default")))')
    writer.line('#define PT_HIDDEN __attribute__((visibility("hidden")))')
    with writer.braces("const struct pt_level pt_levels[] = "):
        for level in levels:
            facts = ", ".join(f"{fact}u" for fact in level.facts)
            writer.line(f"{{{c_string(level.name)}, {{{facts}}}}},")
    writer.line(";")
    writer.line(f"const int pt_level_count = {len(levels)};")
    writer.line(f"const size_t pt_most_words = {_most_words(kernels)};")
    for kernel in kernels:
        _write_tables(writer, kernel, levels)
    for text in _MANAGEMENT.replace("PACKAGE", package).splitlines():
        writer.line(text)
    for kernel in kernels:
        run = f"int {package}_run_{kernel.name}_(const int64_t *words)"
        writer.line(f"PT_API {run};")
        writer.line(f"{run} {{ return pt_run(&pt_kernel_{kernel.name}, words); }}")
        if kernel.entry is not None:
            writer.line(f"PT_API {kernel.entry.declaration};")
            writer.verbatim(kernel.entry.definition)
    return writer.text()


_MANAGEMENT = """
PT_API const char *PACKAGE_message(void);
const char *PACKAGE_message(void) { return pt_message(); }
PT_API void PACKAGE_free(void *array);
void PACKAGE_free(void *array) { free(array); }
PT_API int PACKAGE_threads(void);
int PACKAGE_threads(void) { return pt_threads(); }
PT_API int PACKAGE_set_threads(int threads);
int PACKAGE_set_threads(int threads) { return pt_set_threads(threads); }
PT_API const char *PACKAGE_level(void);
const char *PACKAGE_level(void) { return pt_level() < 0 ? NULL : pt_levels[pt_level()].name; }
PT_API int PACKAGE_set_level(const char *level);
int PACKAGE_set_level(const char *level) { return pt_set_level(level); }
"""


def _most_words(kernels: Sequence[NativeKernel]) -> int:
    sizes = (len(choice.sizes) for kernel in kernels for code in kernel.code.values() for choice in code.choices)
    return max((kernel.words for kernel in kernels), default=0) + max(sizes, default=0) + 1


def _write_tables(writer: CWriter, kernel: NativeKernel, levels: Sequence[Level]) -> None:
    codes = []
    for number, level in enumerate(levels):
        code, name = kernel.code[level.name], f"{kernel.name}_{number}"
        sizes = {choice.version: len(choice.sizes) for choice in code.choices}
        for symbol in code.symbols.values():
            writer.line(f"PT_HIDDEN void {symbol}(void);")
        with writer.braces(f"static const struct pt_version pt_versions_{name}[] = "):
            for version, symbol in code.symbols.items():
                writer.line(f"{{{symbol}, {int(version in code.teams)}, {sizes[version]}}}, /* {version} */")
        writer.line(";")
        versions = list(code.symbols)
        for place, choice in enumerate(code.choices):
            numbers = ", ".join([*(value.hex() for value in choice.logarithms), "0.0"])
            writer.line(f"static const double pt_logarithms_{name}_{place}[] = {{{numbers}}};")
            tiles = ", ".join(map(str, (*choice.sizes, 0)))
            writer.line(f"static const int64_t pt_sizes_{name}_{place}[] = {{{tiles}}};")
        with writer.braces(f"static const struct pt_choice pt_choices_{name}[] = "):
            for place, choice in enumerate(code.choices):
                told = "measured" if choice.is_measured else "expected"
                writer.line(
                    f"{{{versions.index(choice.version)}, {choice.threads}, pt_logarithms_{name}_{place}, "
                    f"pt_sizes_{name}_{place}}}, /* {told} for {choice.parameters} */"
                )
        writer.line(";")
        codes.append(f"{{pt_versions_{name}, pt_choices_{name}, {len(code.choices)}}}")
    writer.line(f"static const struct pt_code pt_codes_{kernel.name}[] = {{{', '.join(codes)}}};")
    table = f"{{{kernel.words}, {kernel.parameters}, pt_codes_{kernel.name}}}"
    writer.line(f"static const struct pt_kernel pt_kernel_{kernel.name} = {table};")


MODULES = {
    "polytune.conversions": "conversions",
    "polytune.errors": "errors",
    "polytune.forking": "forking",
    "polytune.records": "records",
    "polytune.runtime.calls.arguments": "arguments",
    "polytune.runtime.calls.index_blocks": "index_blocks",
    "polytune.runtime.teams.local_arrays": "local_arrays",
    "polytune.runtime.intrinsics.subscripts": "subscripts",
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
