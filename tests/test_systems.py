"""What some operating systems lack is used in one module each, which the page on systems names."""

from __future__ import annotations

import ast
import os
import re
import sys
import threading
from pathlib import Path

import pytest

from polytune import cores, forking

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "systems.md"

ONLY_IN = {
    "sched_getaffinity": "polytune.cores",
    "sched_setaffinity": "polytune.cores",
    "register_at_fork": "polytune.forking",
    "sched_getcpu": "polytune.runtime.teams.admission",
    "sched_yield": "polytune.runtime.teams.team",
    "SwitchToThread": "polytune.runtime.teams.team",
    "setitimer": "polytune.frontend.polyhedral.interruption",
    "geteuid": "polytune.runtime.modules.trust",
    "getuid": "polytune.runtime.modules.trust",
    "BELOW_NORMAL_PRIORITY_CLASS": "polytune.runtime.background.process",
}
"""Names that not every system has, and where alone they stand."""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_what_systems_lack_is_in_one_module_each():
    found: dict[str, set[str]] = {}
    for path in (ROOT / "polytune").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ONLY_IN:
                found.setdefault(node.attr, set()).add(module_of(path))
    assert {name: modules for name, modules in found.items() if modules != {ONLY_IN[name]}} == {}
    assert {"sched_getaffinity", "register_at_fork", "geteuid", "sched_yield"} <= set(found)


def test_the_page_names_modules_that_there_are():
    named = set(re.findall(r"`(polytune[\w.]*)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 10
    for name in named:
        assert (ROOT / f"{name.replace('.', '/')}.py").exists(), name
    assert set(ONLY_IN.values()) <= named


def test_what_looks_at_the_system_is_on_the_page():
    """A new test of the system is a new line there."""
    named = set(re.findall(r"`(polytune[\w.]*)`", PAGE.read_text(encoding="utf-8")))
    looking = {
        module_of(path)
        for path in (ROOT / "polytune").rglob("*.py")
        if re.search(r"sys\.platform|os\.name ==", path.read_text(encoding="utf-8"))
    }
    assert looking <= named


def test_systems_without_cores_of_a_process(monkeypatch):
    assert cores.count_of_cores() == len(cores.allowed_cores() or range(os.cpu_count() or 1))
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert cores.allowed_cores() == frozenset() and cores.count_of_cores() == (os.cpu_count() or 1)
    cores.keep_thread_on(0, {0})  # has nothing to do


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be kept on cores here")
def test_a_thread_is_kept_on_cores():
    seen = []

    def look() -> None:
        least = min(cores.allowed_cores())
        cores.keep_thread_on(threading.get_native_id(), {least})
        seen.append((cores.allowed_cores(), frozenset({least})))
        cores.keep_thread_on(threading.get_native_id(), {100_000})  # there is none
        seen.append((cores.allowed_cores(), frozenset({least})))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert len(seen) == 2 and all(found == wanted for found, wanted in seen)


def test_systems_without_forks(monkeypatch):
    registered = []
    monkeypatch.setattr(os, "register_at_fork", lambda **functions: registered.append(functions), raising=False)
    forking.at_fork(after_in_child=sys.getrefcount)
    assert registered[0]["after_in_child"] is sys.getrefcount
    assert registered[0]["before"]() is None
    monkeypatch.delattr(os, "register_at_fork")
    forking.at_fork(after_in_child=sys.getrefcount)
    assert len(registered) == 1
