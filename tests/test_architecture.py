"""The arrows between the package's folders run one way, and names have one meaning."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from polytune.module_cache import COMPILER
from tests.package_syntax import statements

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "polytune"

SHARED = {
    "polytune",
    "polytune.caches",
    "polytune.conversions",
    "polytune.cores",
    "polytune.draws",
    "polytune.environment",
    "polytune.errors",
    "polytune.fastmath",
    "polytune.records",
    "polytune.relations",
    "polytune.files",
    "polytune.forking",
    "polytune.notebook",
    "polytune.signature",
    "polytune.syntax_trees",
    "polytune.tracebacks",
    "polytune.version",
}
"""The modules that every folder may import: they import nothing of the package's folders themselves."""

MAY_IMPORT = {
    "frontend": {"frontend"},
    "schedule": {"frontend", "schedule"},
    "codegen": {"frontend", "schedule", "codegen"},
    "runtime": {"runtime", "tuner", "history"},
    "tuner": {"tuner"},
    "history": {"history"},
    "lab": {"lab", "tuner"},
    "shards": {"shards", "runtime", "tuner", "history"},
}
"""The folders of the package that each folder may import."""

COMPILE_TIME_ONLY = {"islpy", "sympy"}
RUN_TIME = ("runtime", "tuner", "history", "lab", "shards")


class Read(NamedTuple):
    """What is looked at of a text: its imports, and the names and lines of its classes, wherever they stand."""

    imports: tuple[ast.Import | ast.ImportFrom, ...]
    classes: tuple[tuple[str, int], ...]


@functools.cache
def read(text: str) -> Read:
    found = list(statements(ast.parse(text)))
    return Read(
        tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom)),
        tuple((node.name, node.lineno) for node in found if isinstance(node, ast.ClassDef)),
    )


def import_nodes(file: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return read(file.read_text()).imports


def imports(file: Path) -> set[str]:
    """The full names of the modules that a file imports anywhere in it, also within functions."""
    package = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts[:-1])
    found: set[str] = set()
    for node in import_nodes(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                outer = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*outer, base]).rstrip(".")
            # "from polytune import frontend" imports a folder by way of the package.
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names if base == "polytune"}
    return found


def files(folder: str) -> list[Path]:
    return sorted((PACKAGE / folder).rglob("*.py"))


def folder_of(module: str) -> str | None:
    """The folder of the package that a module is in, or the module right under the package; None if it is not ours."""
    parts = module.split(".")
    return parts[1] if parts[0] == "polytune" and len(parts) > 1 else None


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folder_imports_only_what_comes_before_it(folder):
    assert files(folder)
    allowed = MAY_IMPORT[folder]
    wrong = {
        (str(file.relative_to(PACKAGE)), module)
        for file in files(folder)
        for module in imports(file) - SHARED
        if folder_of(module) is not None and folder_of(module) not in allowed
    }
    assert not wrong


@pytest.mark.parametrize("folder", RUN_TIME)
def test_run_time_names_no_compile_time_library(folder):
    wrong = {
        (str(file.relative_to(PACKAGE)), module)
        for file in files(folder)
        for module in imports(file)
        if module.split(".")[0] in COMPILE_TIME_ONLY
    }
    assert not wrong


def test_only_commands_import_the_lab():
    """What an application imports and what those who study searches run are apart."""
    importing = {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if any(module.startswith("polytune.lab") for module in imports(file))
    }
    assert importing == {"lab", "cli"}


def test_only_the_kernel_and_commands_import_reports():
    """They are for people: nothing that compiles, runs or tunes needs them."""
    importing = {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if any(module.startswith("polytune.report") for module in imports(file))
    }
    assert importing == {"report", "kernel.py", "cli"}


def test_dask_is_imported_where_its_arrays_are_used():
    """Who has none does not wait for it."""
    importing = {
        file.relative_to(PACKAGE).parts[0]
        for file in PACKAGE.rglob("*.py")
        if any(module.startswith("polytune.shards") for module in imports(file))
    }
    assert importing == {"shards", "kernel.py", "kernel_modules.py"}
    program = "import sys, polytune, polytune.kernel; print('dask' in sys.modules, 'polytune.shards' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).split() == ["False", "False"]


@pytest.mark.parametrize("folder", ["tuner", "lab"])
def test_tuner_and_lab_need_only_numpy(folder):
    foreign = {module.split(".")[0] for file in files(folder) for module in imports(file)}
    assert foreign - set(sys.stdlib_module_names) <= {"numpy", "polytune"}


def test_shared_modules_import_no_folder():
    for name in (
        "caches",
        "conversions",
        "draws",
        "environment",
        "errors",
        "files",
        "records",
        "relations",
        "signature",
        "tracebacks",
        "version",
    ):
        assert not {module for module in imports(PACKAGE / f"{name}.py") if folder_of(module)} - SHARED


def test_no_module_imports_one_that_imports_it():
    """Nor does it by way of others, imports within functions and those for types alone included."""
    assert cycles(import_graph()) == []


def test_cycles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"e"}, "f": {"a", "g"}, "g": {"h"}, "h": {"g"}}
    assert cycles(graph) == [["a", "b", "c"], ["e"], ["g", "h"]]


def import_graph() -> dict[str, set[str]]:
    """For each module of the package, those modules of the package that it names in an import, wherever it stands."""
    modules = {module_name(file): file for file in PACKAGE.rglob("*.py")}
    return {
        name: {found for found in named_modules(file, modules) if found in modules} for name, file in modules.items()
    }


def module_name(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named_modules(file: Path, modules: Container[str]) -> set[str]:
    """The modules of the package that a file imports; of ``from package import module``, the module."""
    found = imports(file)
    for node in import_nodes(file):
        if isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            inside = {member for member in members if member in modules}
            found |= inside
            if inside == members:
                found.discard(node.module)
    return {name for name in found if name in modules}


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules in which each imports each, directly or by way of others, sorted."""
    reached = {name: reachable(graph, name) for name in graph}
    groups = {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in graph}
    return sorted(list(group) for group in groups if group)


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def test_modules_in_the_disk_cache_depend_on_all_that_makes_their_text():
    """A module that an older compiler made is not taken for one of today's, whichever of its files has changed."""
    graph = import_graph()
    starts = ("polytune.frontend", "polytune.versions", "polytune.partitioned_version", "polytune.codegen.module")
    reached = {folder_of(module) for start in starts for module in {start} | reachable(graph, start)}
    told_to_people = {"errors", "environment", "records", "version"}
    hashed = {Path(name).stem for name in COMPILER}
    assert reached - told_to_people == hashed - {"pipeline"}
    assert all((PACKAGE / name).exists() for name in COMPILER)


def test_each_class_has_a_name_of_its_own():
    """A name that two files define, private ones included, has two meanings; those of kernels are the suites' own."""
    texts = {
        module_name(file): file.read_text()
        for package in ("polytune", "polybench", "gallery")
        for file in (ROOT / package).rglob("*.py")
        if "kernels" not in file.parts
    }
    assert shared_class_names(texts) == {}


def test_shared_class_names_are_found():
    texts = {"a": "class Box: pass\nclass Own: pass", "b": "def f():\n    class Box: pass", "c": "Own = 1"}
    assert shared_class_names(texts) == {"Box": ["a:1", "b:2"]}


def shared_class_names(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of classes, those inside functions too, that are defined more than once, and where: module and line."""
    places: dict[str, list[str]] = {}
    for module, text in sorted(texts.items()):
        for name, line in read(text).classes:
            places.setdefault(name, []).append(f"{module}:{line}")
    return {name: found for name, found in places.items() if len(found) > 1}


@pytest.mark.parametrize("folder", RUN_TIME)
def test_importing_run_time_loads_no_compile_time_library(folder):
    """Also what is imported on the way, by the package's own __init__ for one, leaves the compiler alone."""
    program = f"import sys, polytune.{folder}; print(*sorted({COMPILE_TIME_ONLY!r} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == ""


def test_imports_are_found(tmp_path, monkeypatch):
    """The reader of imports sees each form there is: what it would miss could break every rule above."""
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "polytune")
    file = tmp_path / "polytune" / "runtime" / "module.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import islpy as isl\nfrom polytune import frontend\nfrom ..codegen import text\n"
        "from . import machine\ndef f():\n    from sympy.core import Symbol\n"
    )
    assert imports(file) == {
        "islpy",
        "polytune",
        "polytune.frontend",
        "polytune.codegen",
        "polytune.runtime",
        "sympy.core",
    }
