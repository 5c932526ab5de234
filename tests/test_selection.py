"""Which tests `make quick` runs, and which share a process, follows from rules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import selection
from tests.selection import ONE_CASE_IN, ONE_IN, WHOLE, has_quick_tests, mark, quick_files

ROOT = Path(__file__).parents[1]
FILES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]


def test_every_folder_has_a_quick_test():
    outside = [path for path in FILES if not path.startswith(WHOLE)]
    chosen = quick_files(FILES)
    assert chosen <= set(outside)
    assert {Path(path).parent for path in chosen} == {Path(path).parent for path in outside}
    assert len(chosen) < len(outside) / ONE_IN * 2


def test_a_new_file_changes_nothing_for_the_others():
    several = [f"tests/some/test_{number}.py" for number in range(40)]
    before = quick_files(several)
    assert 1 < len(before) < 20
    assert quick_files([*several, "tests/some/test_more.py"]) - {"tests/some/test_more.py"} == before


def test_a_folder_of_which_the_checksum_takes_none_gives_its_first_file():
    alone = [f"tests/folder_{number}/test_only.py" for number in range(20)]
    assert quick_files(alone) == set(alone)


def test_no_file_is_left_out_that_has_a_quick_test():
    beside = {path: [each for each in FILES if Path(each).parent == Path(path).parent] for path in FILES}
    kept = {path for path in FILES if has_quick_tests(path, beside[path])}
    assert quick_files(FILES) <= kept
    assert {path for path in FILES if path.startswith(WHOLE)} <= kept
    assert len(kept) < len(FILES) / 2


WITH_KEPT_WORK = """
from functools import cache

@cache
def stages(): return 1

def test_first(): pass
def test_second(): pass
"""
WITH_OTHERS_WORK = """
import pytest
from functools import cache
from tests.schedule.kernels import polybench_case

@pytest.mark.slow
def test_slow(): pass
def test_first(): pass
def test_other(): pass
"""


WITH_FIXTURES = """
import pytest

@pytest.fixture(scope="module")
def built(): return 1

@pytest.fixture
def package(built): return built

@pytest.fixture(scope="session")
def process(): return 2

def test_first(built): pass
def test_second(package): pass
@pytest.mark.xdist_group("servers")
def test_server(built): pass
def test_other(process): pass
"""


def test_tests_that_share_work_share_a_process(marked_items):
    texts = {"test_kept.py": WITH_KEPT_WORK, "test_others.py": WITH_OTHERS_WORK, "test_fixtures.py": WITH_FIXTURES}
    marked = marked_items(texts)
    groups = {name: [each.args[0] for each in item.iter_markers("xdist_group")] for name, item in marked.items()}
    assert groups["test_kept.py::test_first"] == groups["test_kept.py::test_second"] != []
    assert groups["test_others.py::test_first"] == groups["test_others.py::test_other"] != []
    assert groups["test_fixtures.py::test_first"] == groups["test_fixtures.py::test_second"] != []
    assert groups["test_fixtures.py::test_server"] == ["servers"]
    assert groups["test_fixtures.py::test_other"] == groups["test_fixtures.py::test_first"]


def test_many_tests_without_anything_in_common_are_shared_out(marked_items, monkeypatch):
    monkeypatch.setattr(selection, "MOST_TOGETHER", 2)
    texts = {"test_kept.py": WITH_KEPT_WORK, "test_others.py": WITH_OTHERS_WORK, "test_fixtures.py": WITH_FIXTURES}
    marked = marked_items(texts)
    groups = {name: [each.args[0] for each in item.iter_markers("xdist_group")] for name, item in marked.items()}
    assert groups["test_kept.py::test_first"] == groups["test_kept.py::test_second"] != []
    assert groups["test_others.py::test_first"] == groups["test_others.py::test_other"] == []
    assert groups["test_fixtures.py::test_first"] == groups["test_fixtures.py::test_second"] != []
    assert groups["test_fixtures.py::test_other"] == []


OF_KERNELS = """
import pytest
from tests.schedule.kernels import polybench_case

@pytest.mark.parametrize("name", ["gemm", "lu", "other"])
def test_kernel(name): pass
"""


def test_tests_of_one_kernel_share_a_process(marked_items):
    """Those of several files do, which read what the compiler has made of it."""
    marked = marked_items({"test_one.py": OF_KERNELS, "test_two.py": OF_KERNELS})
    groups = {name: [each.args[0] for each in item.iter_markers("xdist_group")] for name, item in marked.items()}
    assert groups["test_one.py::test_kernel[gemm]"] == groups["test_two.py::test_kernel[gemm]"] != []
    assert groups["test_one.py::test_kernel[gemm]"] != groups["test_one.py::test_kernel[lu]"] != []
    assert groups["test_one.py::test_kernel[other]"] != groups["test_one.py::test_kernel[lu]"]


OF_FUNCTIONS = """
import pytest

def one(): pass
def other(): pass

@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("function", [one, other, lambda: 3])
def test_results(function, size): pass
"""


def test_tests_of_one_function_share_a_process_where_there_are_many(marked_items, monkeypatch):
    monkeypatch.setattr(selection, "MOST_TOGETHER", 5)
    marked = marked_items({"test_functions.py": OF_FUNCTIONS, "test_more.py": OF_FUNCTIONS})
    groups = {name: [each.args[0] for each in item.iter_markers("xdist_group")] for name, item in marked.items()}
    assert groups["test_functions.py::test_results[one-1]"] == groups["test_functions.py::test_results[one-2]"] != []
    assert groups["test_functions.py::test_results[one-1]"] != groups["test_functions.py::test_results[other-1]"] != []
    assert groups["test_functions.py::test_results[one-1]"] != groups["test_more.py::test_results[one-1]"]
    assert groups["test_functions.py::test_results[<lambda>-1]"] == []


def test_slow_tests_are_not_quick_and_the_next_one_takes_their_place(marked_items):
    marked = marked_items({"test_others.py": WITH_OTHERS_WORK})
    assert [name for name, item in marked.items() if item.get_closest_marker("quick")] == ["test_others.py::test_first"]


OF_CASES = """
import pytest

def test_alone(): pass

@pytest.mark.parametrize("number", range(60))
def test_many(number): pass

@pytest.mark.parametrize("number", range(2))
def test_few(number): pass
"""


def test_each_test_of_a_whole_folder_is_quick_in_some_of_its_cases(marked_items, monkeypatch):
    monkeypatch.setattr(selection, "WHOLE", "")
    marked = marked_items({"test_cases.py": OF_CASES})
    quick = [name.partition("[")[0] for name, item in marked.items() if item.get_closest_marker("quick")]
    assert quick.count("test_cases.py::test_alone") == 1
    assert 1 <= quick.count("test_cases.py::test_few") <= 2
    assert 60 / ONE_CASE_IN / 3 < quick.count("test_cases.py::test_many") < 60 / ONE_CASE_IN * 3


@pytest.fixture
def marked_items(tmp_path: Path):
    """A function that collects files with these texts, and marks what it finds."""

    class Collector:
        items: tuple[pytest.Item, ...] = ()

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            mark(items)
            self.items = tuple(items)

    def collect(texts: dict[str, str]) -> dict[str, pytest.Item]:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        collector = Collector()
        arguments = [
            "--collect-only",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:zarr",  # as in pyproject.toml, which is not read here
            "-p",
            "no:hypothesispytest",  # looks through all modules that there are
            "--import-mode=importlib",
            f"--rootdir={tmp_path}",
        ]
        assert pytest.main([*arguments, str(tmp_path)], plugins=[collector]) == 0
        return {f"{item.path.name}::{item.name}": item for item in collector.items}

    return collect


def test_quick_tests_are_those_that_the_rule_names():
    """The marks are there in time for ``-m``."""
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-m",
            "quick",
            "--collect-only",
            "-q",
            "tests/cli",
            "tests/test_architecture.py",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    collected = {line.partition("::")[0] for line in ran.stdout.splitlines() if "::" in line}
    assert collected == {"tests/test_architecture.py"} | quick_files(p for p in FILES if p.startswith("tests/cli/"))


def test_a_group_is_run_by_one_process():
    command = ["-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "tests/test_records.py"]
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(re.findall(r"^\[gw\d\] .*PASSED", ran.stdout, re.MULTILINE)) > 5
    assert len(set(re.findall(r"^\[(gw\d)\]", ran.stdout, re.MULTILINE))) == 1, ran.stdout
