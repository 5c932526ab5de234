"""Options and surroundings of all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.device_versions.real_gpu import VARIABLE
from tests.selection import ROOT, has_quick_tests, mark, name_groups

# Tests leave little garbage, and they and what each process keeps of kernels are much to look through.
gc.set_threshold(10_000, 20, 20)

# On a busy machine drawing an example may take long for once, which says nothing of the code.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fuzz",
        type=int,
        metavar="N",
        help="share N random programs of each kind among devices, other ones every time, instead of a few fixed ones",
    )
    parser.addoption(
        "--all-device-versions",
        action="store_true",
        help="run all versions of gemm's device kernels, and on PoCL as many of the others as on the stand-in for CUDA",
    )
    parser.addoption(
        "--intel-opencl",
        action="store_true",
        help="run a sample of the tests of OpenCL on Intel's driver for processors, though another driver runs them",
    )
    parser.addoption(
        "--gpu",
        action="store_true",
        help="run the tests of device versions, and random programs, on this machine's first CUDA device",
    )
    parser.addoption(
        "--renew-golden",
        action="store_true",
        help="write what is generated now to tests/golden/texts, to be read before it is committed",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--gpu"):
        os.environ[VARIABLE] = "1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without quick tests where nothing else is asked for: to import all of them takes long."""
    is_ours = collection_path.match("test_*.py") and ROOT in collection_path.parents
    if config.option.markexpr != "quick" or not is_ours:
        return None
    beside = [file.relative_to(ROOT).as_posix() for file in collection_path.parent.glob("test_*.py")]
    return None if has_quick_tests(collection_path.relative_to(ROOT).as_posix(), beside) else True


@pytest.hookimpl(tryfirst=True, wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark tests before ``-m`` and pytest-xdist look at their marks, and see that its groups are in their names."""
    mark(items)
    yield
    if getattr(config.option, "loadgroup", False):
        name_groups(items)


def pytest_collection_finish() -> None:
    """Leave the modules and the tests, which stay to the end, out of what the garbage collector looks through."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def renew_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written and not compared."""
    return bool(request.config.getoption("--renew-golden"))


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> int | None:
    """How many random programs are asked for; None without ``--fuzz``."""
    return request.config.getoption("--fuzz")


@pytest.fixture
def every_version(request: pytest.FixtureRequest) -> bool:
    """Whether more versions of device kernels are wanted than cover all pairs of choices."""
    return bool(request.config.getoption("--all-device-versions"))


@pytest.fixture(scope="session", autouse=True)
def no_devices() -> Iterator[None]:
    """Tests use the devices that they ask for, and no other ones that this machine or another test may have.

    And they use them for however small a call: the rules of the tuner measure nothing.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYTUNE_DEVICES", "none")
        patch.setenv("POLYTUNE_RHO", "0")
        patch.setenv("POLYTUNE_ALPHA", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def time_to_compile() -> Iterator[None]:
    """Kernels have all the processor time that they need, so that what is compiled does not depend on how busy the
    machine is; tests of what happens without set it themselves."""
    from polytune import pipeline
    from polytune.deferred import packing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "SECONDS", 1e6)
        patch.setattr(packing, "SECONDS_BESIDE", 1e6)
        patch.setattr(pipeline, "FIRST_CALL", 2e6)
        patch.setattr(pipeline, "WAIT", 1e6)
        patch.setattr(pipeline, "MANY_CONSTRAINTS", 10**9)
        yield


@pytest.fixture(scope="session", autouse=True)
def verified_programs() -> Iterator[None]:
    """Every program is verified after every transform."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYTUNE_VERIFY", "1")
        yield


@pytest.fixture(scope="session", autouse=True)
def nothing_in_background() -> Iterator[None]:
    """A call that tries a version compiles it, so that what a test sees does not depend on how fast another process is;
    tests of compiling in the background allow it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYTUNE_BACKGROUND", "0")
        yield


NUMBERS_OF_THREADS = {
    name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
}
"""The variables as the tests have found them."""


@pytest.fixture(autouse=True)
def no_threads_of_others() -> Iterator[None]:
    """What a test has set of the number of threads ends with it: a cluster of Dask's sets it to one in the process that
    starts its workers, and leaves it so."""
    yield
    for name, value in NUMBERS_OF_THREADS.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture(autouse=True)
def nothing_left_to_write() -> Iterator[None]:
    """What a test's tuners have not written yet is not written while others run, who may count what is written, or have
    made the disk full."""
    yield
    persistence = sys.modules.get("polytune.tuner.persistence")
    if persistence is not None:
        writer = persistence._WRITER
        with writer.writing, writer._lock:
            writer._waiting.clear()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled modules and history of the tests are kept apart from the user's.

    They are below a folder called ``tests``, as Hypothesis reads all other modules that there are for the numbers in
    them, which takes longer than its tests where thousands have been generated.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path_factory.mktemp("tests", numbered=False) / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def what_compiles_has_its_share() -> Iterator[None]:
    """Have what compiles stand no farther behind than it does at first: other tests keep all cores busy, so that it
    would do nothing once a test has called NumPy's linear algebra."""
    from polytune.runtime.background.priority import background_priority

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background_priority, "stand_farther", lambda: None)
        yield
