"""Has all kernels leave versions for later, and processes make them that tests choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polytune import kernel_modules, pipeline
from polytune.runtime.background.versions import VersionMaker
from polytune.runtime.modules.cache import ModuleCache


@pytest.fixture(autouse=True)
def deferring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Here all kernels leave versions for later, and nothing is known of any."""
    cache = ModuleCache(tmp_path / "cache")
    monkeypatch.delenv("POLYTUNE_BACKGROUND")
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", -1.0)
    monkeypatch.setattr(pipeline, "WAIT_OF_PRODUCTS", -1.0)
    monkeypatch.setattr(kernel_modules, "module_cache", lambda: cache)
    monkeypatch.setattr(kernel_modules, "machine", lambda: SimpleNamespace(cores=2))


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> Callable[[type[Any]], VersionMaker]:
    """Has versions made by processes of some class."""

    def use(process: type[Any]) -> VersionMaker:
        maker = VersionMaker()
        monkeypatch.setattr("polytune.runtime.background.versions.WorkerProcess", process)
        monkeypatch.setattr(kernel_modules, "version_maker", maker)
        return maker

    return use
