"""Versions that take long to look for: calls go on without them, and are right whatever becomes of who makes them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polytune
from polytune import kernel_modules, pipeline
from polytune.codegen.transform import Target
from polytune.deferred.packing import pack, unpack
from polytune.frontend.analyse import lower_function
from polytune.frontend.polyhedral.budget import ProcessorTime, is_time_left, note_shortage
from polytune.normal_form import NormalForm, normal_location
from polytune.runtime.background.process import WorkerError, WorkerProcess
from polytune.runtime.background.versions import VersionMaker, version_maker
from polytune.runtime.calls import calls
from polytune.runtime.modules.cache import ModuleCache
from tests.every_version import check_versions, stages_of

ROOT = Path(__file__).parents[1]

needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def smoothed(A: np.ndarray, B: np.ndarray, steps: int) -> None:
    for _ in range(steps):
        for i in range(1, len(A) - 1):
            B[i] = 0.25 * A[i - 1] + 0.5 * A[i] + 0.25 * A[i + 1]
        for i in range(1, len(A) - 1):
            A[i] = B[i]


def normalised(A, weights):
    shifted = A - A.max(axis=1)[:, None]
    total = np.exp(shifted).sum(axis=1)
    return (shifted - np.log(total)[:, None]) @ weights


def products(A, B):
    return A @ B + A @ A.T


def powers(A, n):
    P = A.copy()
    for _ in range(n):
        P = P @ A
        P -= P.sum()
    return P


def gathered(A, indices, out):
    for k in range(len(indices)):
        out[k] += A[indices[k]]


def first_above(A, limit):
    for i in range(len(A)):
        if A[i] > limit:
            return i
    return -1


def started(A: np.ndarray) -> list[np.ndarray]:
    return [A.copy(), np.zeros_like(A)]


@pytest.fixture(autouse=True)
def deferring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Here all kernels leave versions for later, and nothing is known of any."""
    cache = ModuleCache(tmp_path / "cache")
    monkeypatch.delenv("POLYTUNE_BACKGROUND")
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", -1.0)
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


class HeldProcess(WorkerProcess):
    """A process whose answers wait until the test lets them go."""

    may_answer = threading.Event()

    def versions_of(self, packed: bytes, seconds: float) -> str:
        text = super().versions_of(packed, seconds)
        self.may_answer.wait()
        return text


class KilledProcess(WorkerProcess):
    """A process that is killed when something is wanted of it."""

    started = 0

    def __init__(self, module: str):
        super().__init__(module)
        type(self).started += 1

    def versions_of(self, packed: bytes, seconds: float) -> str:
        self._process.kill()
        return super().versions_of(packed, seconds)


def until(is_so: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def versions(kernel: Any) -> list[str]:
    """The versions that calls so far can run."""
    return [version.name for _, generated in kernel._generated.values() for version in generated.module.VERSIONS]


def holds(kernel: Any) -> bool:
    """Return whether calls go on without some versions."""
    return any(generated.deferred is not None for _, generated in kernel._generated.values())


def check_smoothed(kernel: Any, size: int = 50, steps: int = 3) -> None:
    start = np.random.default_rng(size).uniform(size=size)
    ours, theirs = started(start), started(start)
    smoothed(*theirs, steps)
    kernel(*ours, steps)
    for mine, his in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, his, rtol=1e-12)


ARGUMENTS = {
    smoothed: (np.ones(9), np.ones(9), 2),
    normalised: (np.ones((300, 4)), np.ones(4)),
    gathered: (np.ones(9), np.array([1, 2, 3]), np.ones(3)),
    first_above: (np.ones(9), 0.5),
}


def packed_kernel(function: Any, *, strict: bool = False) -> tuple[pipeline.Stages, bytes]:
    """The compiler's stages for a function, and what another process is sent of it."""
    kernel = polytune.kernel(strict=strict)(function)
    signature = kernel.generated(*ARGUMENTS[function]).module.SIGNATURE
    stages = replace(kernel.stages(signature), places=partial(normal_location, [NormalForm(function, 0)]))
    packed = pack(stages, lower_function(function, signature, strict=strict))
    assert packed is not None
    return stages, packed


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", ARGUMENTS, ids=lambda function: function.__name__)
def test_another_process_writes_the_same_text(function, strict):
    stages, packed = packed_kernel(function, strict=strict)
    process = WorkerProcess("polytune.deferred.worker")
    try:
        process.wait_until_ready()
        texts = {process.versions_of(packed, 100.0) for _ in range(2)}
    finally:
        process.end()
    assert texts == {unpack(packed).source} == {stages.source}


def test_versions_made_beside_the_application_have_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "SECONDS", 0.0)
    stages, packed = packed_kernel(smoothed)
    assert [program.name for program in stages.programs] == ["source"] and stages.given_up
    beside = unpack(packed)
    assert len(beside.programs) > 2 and not beside.given_up


def test_what_cannot_be_sent_is_made_here(monkeypatch):
    monkeypatch.setattr("polytune.deferred.packing._Pickler.persistent_id", None)
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2


def test_names_of_parameters_are_sent_as_they_are():
    def shifted(p1, min, p0):  # as isl's own words, and as what stands for names
        return p0[: len(min)] + min + p1

    kernel = polytune.kernel(shifted)
    arguments = np.arange(4.0), np.arange(4.0), np.arange(6.0)
    np.testing.assert_array_equal(kernel(*arguments), shifted(*arguments))
    kernel.explain()
    np.testing.assert_array_equal(kernel(*arguments), shifted(*arguments))
    assert not holds(kernel) and kernel._may_defer


def test_calls_go_on_with_few_versions_and_then_have_all(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        for _ in range(5):
            check_smoothed(kernel)
        check_smoothed(kernel, size=33)
        assert set(versions(kernel)) <= {"parallel", "source"}
        assert holds(kernel) and not kernel.tuners
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    assert len(versions(kernel)) > 2
    ((case, tuner),) = kernel.tuners.items()
    assert case.parameters[0] == 33 and tuner.statistics().calls == 0
    for _ in range(30):
        check_smoothed(kernel, size=57)
    (tuner,) = (tuner for case, tuner in kernel.tuners.items() if case.parameters[0] == 57)
    assert tuner.statistics().calls == 30
    assert {str(each["version"]) for each, _ in tuner.ranking()} <= set(versions(kernel))
    for version in versions(kernel):
        start = np.random.default_rng(1).uniform(size=40)
        ours, theirs = started(start), started(start)
        space = kernel.space(*ours, 3)
        smoothed(*theirs, 3)
        kernel.run(space.configuration(version=version), *ours, 3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_products_of_matrices_do_not_wait(monkeypatch, makers, dtype):
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as many as calls of the tests have beside others
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(products)
    A, B = (np.random.default_rng(0).integers(-4, 5, (130, 130)).astype(dtype) for _ in range(2))
    try:
        np.testing.assert_array_equal(kernel(A, B), products(A, B))
        assert holds(kernel)
        assert {"library", "source"} < set(versions(kernel))
        (generated,) = (each for _, each in kernel._generated.values())
        assert "library" in generated.first_choices.versions
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    np.testing.assert_array_equal(kernel(A, B), products(A, B))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_versions_of_products_that_do_not_wait_are_right(monkeypatch, dtype, strict):
    """Also where the products are in a loop that nothing takes them out of."""
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    A = np.random.default_rng(0).integers(-1, 2, (5, 5)).astype(dtype)
    for function, arguments in ((products, [A, A.T.copy()]), (powers, [A, 3])):
        stages = replace(stages_of(function, arguments, strict=strict), may_defer=True)
        names = {program.name for program in stages.programs}
        assert stages.defers and "source" in names
        by_library = function is products and not strict
        assert ("library" in names) == by_library
        assert by_library or ("distributed" if dtype == "complex128" else "distributed_packed") in names
        check_versions(function, stages, arguments)


def cosines(x, out):
    for a in range(x.shape[0]):
        for b in range(x.shape[0]):
            both = 0.0
            first = 0.0
            second = 0.0
            for k in range(x.shape[1]):
                both += x[a, k] * x[b, k]
                first += x[a, k] * x[a, k]
                second += x[b, k] * x[b, k]
            out[a, b] = both / math.sqrt(first * second)


def test_there_is_a_version_of_each_order_for_a_team_to_choose_from(monkeypatch):
    """Loops joined in bands need not be faster than those of the source, as where rows are added up in order."""
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    x = np.random.default_rng(2).random((7, 5))
    stages = replace(stages_of(cosines, [x, np.zeros((7, 7))], target=Target()), may_defer=True)
    teams = [program.recipe.order.name for program in stages.programs if program.team]
    assert sorted(teams) == ["banded", "source"]
    check_versions(cosines, stages, [x, np.zeros((7, 7))])


def test_no_product_of_matrices_is_looked_for_in_large_kernels(monkeypatch):
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "MOST_OF_PRODUCTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 100.0)
    stages = replace(stages_of(powers, [np.ones((5, 5)), 3]), may_defer=True)
    assert "distributed" not in {program.recipe.order.name for program in stages.programs}


def test_products_that_are_not_called_for_in_time_are_left_for_later(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(products)
    A = np.arange(16.0).reshape(4, 4)
    try:
        np.testing.assert_array_equal(kernel(A, A.T), products(A, A.T))
        assert set(versions(kernel)) <= {"parallel", "source"}
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    assert "library" in versions(kernel)


def test_nothing_is_left_of_few_versions_in_the_history(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        for _ in range(5):
            check_smoothed(kernel, size=61)
    finally:
        HeldProcess.may_answer.set()
    tuner = kernel.tuner(np.ones(61), np.ones(61), 3)
    assert tuner.statistics().calls == 0 and not tuner.ranking()


@pytest.mark.parametrize("strict", [False, True])
def test_results_are_those_of_numpy(strict):
    kernel = polytune.kernel(strict=strict)(normalised)
    values = np.random.default_rng(0).normal(size=(200, 7))
    weights = np.random.default_rng(1).normal(size=7)
    for _ in range(20):
        np.testing.assert_allclose(kernel(values, weights), normalised(values, weights), rtol=1e-9)
    values[3, 2], values[5, 1] = np.nan, np.inf
    kernel.explain()
    with np.errstate(invalid="ignore"):
        for _ in range(20):
            np.testing.assert_allclose(kernel(values, weights), normalised(values, weights), rtol=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        lambda kernel, *given: kernel.space(*given),
        lambda kernel, *given: kernel.tuner(*given),
        lambda kernel, *given: kernel.generated(*given),
        lambda kernel, *given: kernel.run(kernel.space(*given).default(), *given),
        lambda kernel, *given: kernel.explain(),
        lambda kernel, *given: kernel.warm_up(),
        lambda kernel, *given: kernel.tune(*given, seconds=0.1),
    ],
    ids=["space", "tuner", "generated", "run", "explain", "warm_up", "tune"],
)
def test_who_asks_for_versions_is_given_all(use):
    def scaled(A, B, steps: int):
        for _ in range(steps):
            for i in range(len(A)):
                A[i] = A[i] + B[i] * 0.5

    scaled.__annotations__ |= {"A": "float64[:]", "B": "float64[:]"}
    kernel = polytune.kernel(scaled)
    kernel(np.ones(20), np.ones(20), 2)
    use(kernel, np.ones(20), np.ones(20), 2)
    assert not any(
        generated.deferred is not None
        for (types, _), (_, generated) in kernel._generated.items()
        if types == kernel.generated(np.ones(20), np.ones(20), 2).module.SIGNATURE
    )


def test_who_asks_first_is_given_all():
    kernel = polytune.kernel(smoothed)
    assert len(kernel.space(np.ones(9), np.ones(9), 2)["version"].values) > 2
    assert not holds(kernel)


def test_calls_that_take_long_wait_for_all(monkeypatch):
    monkeypatch.setattr(calls, "_LONG_CALL", 0.0)
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2


def test_calls_that_take_long_wait_no_longer_than_versions_usually_take(makers, monkeypatch):
    monkeypatch.setattr(calls, "_LONG_CALL", 0.0)
    monkeypatch.setattr(calls, "_LONGEST_WAIT", 0.01)
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    try:
        kernel = polytune.kernel(smoothed)
        check_smoothed(kernel)
        assert holds(kernel)
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    check_smoothed(kernel)
    assert len(versions(kernel)) > 2


@pytest.mark.parametrize("mode", ["off", "frozen"])
def test_calls_that_are_not_tuned_have_all(mode):
    kernel = polytune.kernel(smoothed)
    with polytune.tuning(mode):
        check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2


def test_calls_that_wait_for_compilers_have_all(monkeypatch):
    for setting in ("background=False", "POLYTUNE_BACKGROUND", "one core"):
        kernel = polytune.kernel(background=setting != "background=False")(smoothed)
        if setting == "POLYTUNE_BACKGROUND":
            monkeypatch.setenv("POLYTUNE_BACKGROUND", "0")
        elif setting == "one core":
            monkeypatch.delenv("POLYTUNE_BACKGROUND")
            monkeypatch.setattr(kernel_modules, "machine", lambda: SimpleNamespace(cores=1))
        monkeypatch.setattr(kernel_modules, "module_cache", partial(_fresh_cache, setting))
        check_smoothed(kernel)
        assert not holds(kernel) and len(versions(kernel)) > 2


_caches: dict[str, ModuleCache] = {}


def _fresh_cache(name: str) -> ModuleCache:
    import tempfile

    return _caches.setdefault(name, ModuleCache(tempfile.mkdtemp()))


def test_a_process_that_is_killed_leaves_it_to_a_call(makers):
    makers(KilledProcess)
    KilledProcess.started = 0
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    until(lambda: not holds(kernel))
    for _ in range(3):
        check_smoothed(kernel)
    assert not holds(kernel) and len(versions(kernel)) > 2
    assert KilledProcess.started == 1


def test_what_cannot_be_started_leaves_it_to_a_call(makers, monkeypatch):
    maker = makers(WorkerProcess)
    monkeypatch.setattr(sys, "executable", "")
    kernel = polytune.kernel(smoothed)
    for _ in range(2):
        check_smoothed(kernel)
        until(lambda: not holds(kernel))
    assert len(versions(kernel)) > 2
    maker.close()
    another = polytune.kernel(gathered)
    for _ in range(2):
        out = np.zeros(3)
        another(np.arange(9.0), np.array([1, 2, -3]), out)
        np.testing.assert_array_equal(out, [1, 2, 6])


def test_what_changes_outside_is_seen_before_and_after(makers, monkeypatch):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    monkeypatch.setitem(globals(), "FACTOR", 2.0)

    def multiplied(A, B):
        for i in range(len(A)):
            B[i] = A[i] * FACTOR  # noqa: F821

    kernel = polytune.kernel(multiplied)
    B = np.zeros(5)
    try:
        kernel(np.ones(5), B)
        assert (B == 2).all()
        monkeypatch.setitem(globals(), "FACTOR", 3.0)
        kernel(np.ones(5), B)
        assert (B == 3).all()
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    kernel(np.ones(5), B)
    assert (B == 3).all()


def test_the_next_process_goes_on_from_what_one_has_left(makers, monkeypatch):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    try:
        check_smoothed(polytune.kernel(smoothed))
        cache = kernel_modules.module_cache()
        monkeypatch.setattr(kernel_modules, "module_cache", lambda: next_one)
        next_one = ModuleCache(cache.directory)
        monkeypatch.setattr(kernel_modules, "written_module", None)
        kernel = polytune.kernel(smoothed)
        check_smoothed(kernel)
        assert holds(kernel) and set(versions(kernel)) <= {"parallel", "source"}
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    check_smoothed(kernel)
    assert len(versions(kernel)) > 2
    another = polytune.kernel(smoothed)
    check_smoothed(another)
    assert not holds(another) and versions(another) == versions(kernel)


def test_threads_share_what_is_made():
    kernel = polytune.kernel(smoothed)
    wrong: list[BaseException] = []

    def work(size: int) -> None:
        try:
            for _ in range(50):
                check_smoothed(kernel, size)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(20 + number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    kernel.explain()
    check_smoothed(kernel)
    assert not holds(kernel)


@needs_forks
def test_a_child_makes_its_own(makers):
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        check_smoothed(kernel)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                check_smoothed(kernel)
                HeldProcess.may_answer.set()
                code = 0 if len(kernel.space(np.ones(50), np.ones(50), 3)["version"].values) > 2 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    check_smoothed(kernel)


APPLICATION = """
    import numpy as np
    import polytune
    from polytune import pipeline
    from polytune.runtime.background.versions import version_maker

    pipeline.FEW_CONSTRAINTS = -1
    pipeline.WAIT = -1.0

    @polytune.kernel
    def smoothed(A, B, steps):
        for _ in range(steps):
            for i in range(1, len(A) - 1):
                B[i] = 0.25 * A[i - 1] + 0.5 * A[i] + 0.25 * A[i + 1]
            for i in range(1, len(A) - 1):
                A[i] = B[i]

    A, B = np.ones(30), np.zeros(30)
    smoothed(A, B, 3)
    assert (A == 1).all()
    while version_maker._process is None:
        pass
    print(version_maker._process.pid)
"""


def test_nothing_is_left_of_an_application_that_ends_at_once(tmp_path):
    """It has no ``if __name__ == "__main__"``, and is not run again in another process."""
    program = tmp_path / "application.py"
    program.write_text(textwrap.dedent(APPLICATION))
    environment = {**os.environ, "POLYTUNE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=200)
    assert ran.stderr == ""
    (process,) = ran.stdout.split()
    if os.name == "posix":
        until(lambda: not _lives(int(process)), 20.0)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_process_ends_when_nothing_is_wanted():
    maker = VersionMaker(idle_seconds=0.1)
    _, packed = packed_kernel(smoothed)
    assert "VERSIONS" in maker.make(packed).result(120)
    until(lambda: maker._thread is None and maker._process is None)
    assert "VERSIONS" in maker.make(packed).result(120)
    maker.close()
    assert version_maker.is_usable


@pytest.fixture
def not_to_be_started(makers) -> None:
    """Has a test fail that starts a process."""

    class Unwanted(WorkerProcess):
        def __init__(self, module: str):
            raise AssertionError("nothing is left for later")

    makers(Unwanted)


def test_a_first_call_has_all_versions_that_are_made_in_time(monkeypatch, not_to_be_started):
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    kernel = polytune.kernel(smoothed)
    check_smoothed(kernel)
    assert not holds(kernel) and kernel._may_defer
    arguments = ARGUMENTS[smoothed]
    signature = kernel.generated(*arguments).module.SIGNATURE
    assert versions(kernel) == [program.name for program in kernel.stages(signature).programs]
    for version in versions(kernel):
        start = np.random.default_rng(1).uniform(size=40)
        ours, theirs = started(start), started(start)
        smoothed(*theirs, 3)
        kernel.run(kernel.space(*ours, 3).configuration(version=version), *ours, 3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def changed_over(makers: Callable[[type[Any]], VersionMaker]) -> Any:
    """A kernel that has left versions for later, was right before they were there, and has them now."""
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(smoothed)
    try:
        check_smoothed(kernel)
        assert holds(kernel) and set(versions(kernel)) <= {"parallel", "source"}
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    return kernel


def summed_columns(X, y, out):
    for j in range(X.shape[1]):
        total = 0.0
        for i in range(X.shape[0]):
            total += X[i, j] * y[i]
        out[j] = total


def test_versions_at_once_have_what_is_written_for_vectors(makers):
    """Two of them, of the source order: one for a team, with what is made of its loops, and one for a worker alone."""
    makers(HeldProcess)
    HeldProcess.may_answer.clear()
    kernel = polytune.kernel(summed_columns)
    generator = np.random.default_rng(3)
    try:
        for shape in ((1, 1), (0, 5), (40, 77), (300, 200)):
            X, y, out = generator.uniform(size=shape), generator.uniform(size=shape[0]), np.empty(shape[1])
            kernel(X, y, out)
            np.testing.assert_allclose(out, X.T @ y, rtol=1e-12)
        assert holds(kernel) and versions(kernel) == ["parallel_registers", "source"]
    finally:
        HeldProcess.may_answer.set()
    until(lambda: not holds(kernel))
    assert len(versions(kernel)) > 2


@pytest.mark.parametrize("phase", ["candidate_schedules", "make_plans", "make_programs"])
def test_versions_that_are_not_all_made_in_time_are_left_for_later(monkeypatch, makers, phase):
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    whole, tried = getattr(pipeline, phase), []

    def short(*arguments):
        """What is made first is cut off; what is made in its place is not."""
        if not tried:
            note_shortage()
        tried.append(phase)
        return whole(*arguments)

    monkeypatch.setattr(pipeline, phase, short)
    kernel = changed_over(makers)
    assert len(tried) == 2 and len(versions(kernel)) > 2
    check_smoothed(kernel)


def test_the_smallest_kernels_wait_and_the_largest_do_not(monkeypatch):
    """However long it takes, and without a try."""
    stages = polytune.kernel(smoothed).stages()
    deferring = replace(stages, may_defer=True)
    assert deferring.defers and "_generated" not in vars(deferring)
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", deferring.dependences.constraints)
    assert not replace(stages, may_defer=True).defers
    monkeypatch.setattr(pipeline, "FEW_CONSTRAINTS", -1)
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    monkeypatch.setattr(pipeline, "MANY_CONSTRAINTS", deferring.dependences.constraints - 1)
    assert replace(stages, may_defer=True).defers


def test_a_process_is_started_when_half_of_the_time_is_used(makers):
    maker = makers(WorkerProcess)
    time = ProcessorTime(1.0, used=0.6, on_half=maker.expect)
    with time.running():
        assert is_time_left() and is_time_left()
    until(lambda: maker._process is not None)
    stages, packed = packed_kernel(smoothed)
    assert maker.make(packed).result(100.0) == stages.source
    maker.close()


def test_nobody_is_told_of_a_process_that_cannot_be_started(makers):
    class Missing(WorkerProcess):
        def __init__(self, module: str):
            raise WorkerError("there is none")

    maker = makers(Missing)
    maker.expect()
    with pytest.raises(WorkerError, match="there is none"):
        maker.make(b"").result(100.0)
    maker.close()


def test_loops_are_not_begun_where_plans_have_taken_too_long(monkeypatch, makers):
    monkeypatch.setattr(pipeline, "WAIT", 1e6)
    monkeypatch.setattr(pipeline, "PLANNED_BY", 0.0)
    check_smoothed(changed_over(makers))
