"""Which tests are quick, and which belong in one process: by rules, so that nobody keeps lists."""

from __future__ import annotations

import sys
import zlib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from types import FunctionType, ModuleType

import pytest

__all__ = ["has_quick_tests", "mark", "name_groups", "process_group", "quick_files"]

ROOT = Path(__file__).parents[1]

WHOLE = ("tests/frontend/", "tests/tuner/spaces/", "tests/test_architecture.py")
"""The folders of which the quick tests have every test; of a test with many cases, some."""

ONE_CASE_IN = 6
"""The divisor of the cases of such a test: the quick tests have one in so many, and at least one."""

MOST_TOGETHER = 100
"""The most cases of a file that share a process only because they may use the same compiled code: more than these are
shared out by the functions that they are given, or one by one, at the end, so that all processes have something to do
until then."""

ONE_IN = 8
"""The divisor of the other files: the quick tests have the first test of one in so many."""


def quick_files(paths: Iterable[str]) -> set[str]:
    """The files outside of `WHOLE` of which the quick tests have the first test.

    A checksum of a file's path decides, so that a new file changes nothing for the others; a folder of which it takes
    none gives its first file.

    Args:
        paths: the test files below the project, as in ``tests/cli/test_build.py``.
    """
    folders: dict[PurePosixPath, list[str]] = {}
    for path in sorted(set(paths)):
        if not path.startswith(WHOLE):
            folders.setdefault(PurePosixPath(path).parent, []).append(path)
    chosen = set()
    for files in folders.values():
        chosen |= set([file for file in files if _is_drawn(file)] or files[:1])
    return chosen


def has_quick_tests(path: str, beside: Iterable[str]) -> bool:
    """Whether quick tests may come from a file, as far as its path says: where they do not, it need not be imported.

    Args:
        path: of the test file, below the project.
        beside: the paths of the test files in its folder.
    """
    return path.startswith(WHOLE) or _is_drawn(path) or not any(_is_drawn(each) for each in beside)


def _is_drawn(name: str, one_in: int = ONE_IN) -> bool:
    return zlib.crc32(name.encode()) % one_in == 0


def process_group(item: pytest.Item) -> str | None:
    """The group of the tests that have to share a process with a test; None for those that need not.

    It is the file, where that keeps what a function has made of a kernel for the next test (`functools.cache`), or for
    tests that have what is made once for their file (a fixture whose scope is the module), as it would be made in each
    process; and for tests of one kernel of the suite, in whichever file, it is the kernel, of which
    `tests.schedule.kernels` keeps the compiler's stages.
    """
    module = getattr(item, "module", None)
    names = vars(module) if module else {}
    if module is not None and (_keeps_work(module) or _shares_a_fixture(item)):
        return _path(item)
    if "polybench_case" not in names:
        return None
    cases = sys.modules[names["polybench_case"].__module__]
    parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
    return next((f"kernel {name}" for name in parameters if isinstance(name, str) and name in cases.POLYBENCH), None)


def _function_group(item: pytest.Item) -> str | None:
    """Return the group of the tests of a file that are given the same function; None for those that are given none."""
    parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
    names = [value.__name__ for value in parameters if isinstance(value, FunctionType)]
    return f"{_path(item)} {names[0]}" if names and names[0].isidentifier() else None


@cache
def _keeps_work(module: ModuleType) -> bool:
    """Return whether a module has a function of its own that keeps what it has made."""
    return any(hasattr(value, "cache_info") and value.__module__ == module.__name__ for value in vars(module).values())


def _shares_a_fixture(item: pytest.Item) -> bool:
    """Return whether a test has a fixture that is made once for its file."""
    information = getattr(item, "_fixtureinfo", None)
    definitions = information.name2fixturedefs.values() if information is not None else ()
    return any(definition.scope == "module" for several in definitions for definition in several[-1:])


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark the quick tests as `quick`, and give each test its group of processes.

    Tests that are marked as `slow` are never quick: in their place comes the next one of their file.  A group that a
    test itself names stays.  Tests without a group share a process with the others of their file, where these are not
    too many, or else with those of the same function: what one has compiled, the next one finds compiled.
    """
    items = list(items)
    number = Counter(_path(item) for item in items)
    cases = _quick_cases(item for item in items if item.get_closest_marker("slow") is None)
    files = quick_files(_path(item) for item in items if item.get_closest_marker("slow") is None)
    for item in items:
        path = _path(item)
        group = process_group(item) or (path if number[path] <= MOST_TOGETHER else _function_group(item))
        if group is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(group))
        if item.nodeid in cases:
            item.add_marker(pytest.mark.quick)
        elif path in files and item.get_closest_marker("slow") is None:
            files.discard(path)
            item.add_marker(pytest.mark.quick)


def name_groups(items: Iterable[pytest.Item]) -> None:
    """Write the group of each test at the end of its name, where pytest-xdist has not: it shares tests out by that.

    pytest-xdist 3.8 does it in an attribute that pytest 9.2 no longer reads, so that all tests were shared out alone.
    """
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if mark is None or item.nodeid.endswith(f"@{mark.args[0]}") or not hasattr(item, "_id"):
            continue
        item._id = type(item._id).parse(f"{item.nodeid}@{mark.args[0]}")


def _quick_cases(items: Iterable[pytest.Item]) -> set[str]:
    """The names of the tests in `WHOLE` that are quick; of each test that has cases, the checksums of these decide."""
    tests: dict[str, list[str]] = {}
    for item in items:
        if _path(item).startswith(WHOLE):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item.nodeid)
    drawn = {name: [case for case in cases if _is_drawn(case, ONE_CASE_IN)] for name, cases in tests.items()}
    return {case for name, cases in tests.items() for case in (drawn[name] or cases[:1])}


def _path(item: pytest.Item) -> str:
    return _below_root(item.path)


@cache
def _below_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.as_posix()
