"""Which functions are compiled in the background, and what becomes of them, whatever becomes of the process."""

import os
import threading
from collections.abc import Callable

import pytest
from numba.core import types

from polytune.runtime.background import compiler as compiler_module
from polytune.runtime.background.compiler import request_for
from polytune.runtime.background.process import WorkerError
from polytune.runtime.background.protocol import Answer, Request
from polytune.runtime.modules.cache import ModuleCache
from polytune.runtime.modules.compilation import compile_for, is_on_disk

WORD = (types.int64,)
KEPT = Answer("", True)
DIED = WorkerError("the process that compiled it ended (signal 9)")


class Processes:
    """Stands in for the class of processes: they answer what the test says."""

    def __init__(self, answers: list[Answer | WorkerError]):
        self.answers = answers
        self.requests: list[Request] = []
        self.started = self.ended = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.can_start = True
        self.lowered: list[int] = []  # at which numbers of requests

    def __call__(self) -> "Processes":
        self.started += 1
        return self

    def stand_behind(self, niceness: int) -> None:
        self.lowered.append(len(self.requests))

    def wait_until_ready(self) -> None:
        if not self.can_start:
            raise WorkerError("it did not start")

    def compile(self, request: Request) -> Answer:
        self.requests.append(request)
        self.may_answer.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, WorkerError):
            raise answer
        return answer

    def end(self) -> str:
        self.ended += 1
        self.may_answer.set()
        return "signal 9"


@pytest.fixture(autouse=True)
def left_to_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here nothing is translated, and so all is compiled by processes."""
    monkeypatch.setenv("POLYTUNE_NATIVE", "0")


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Processes]:
    def make(*answers: Answer | WorkerError) -> Processes:
        made = Processes(list(answers))
        monkeypatch.setattr(compiler_module, "WorkerProcess", made)
        return made

    return make


def test_a_function_is_compiled_once_and_then_provided(load, compilers, processes, until):
    made, compiler, module = processes(KEPT), compilers(), load()
    made.may_answer.clear()
    assert not compiler.provides([(module.double, 1)])
    assert not compiler.provides([(module.double, 1)])
    made.may_answer.set()
    until(lambda: compiler.provides([(module.double, 1)]))
    assert [request.function for request in made.requests] == ["double"]
    assert made.started == 1


def test_what_is_at_hand_is_provided_while_something_else_is_compiled(load, compilers, processes, until):
    made, compiler, module = processes(KEPT), compilers(), load()
    compile_for(module.triple, WORD)
    made.may_answer.clear()
    assert compiler.provides([(module.triple, 1)])
    assert not compiler.provides([(module.double, 1)])
    assert compiler.provides([(module.triple, 1)])
    assert compiler.provides([])
    assert not compiler.provides([(module.triple, 1), (module.double, 1)])
    made.may_answer.set()
    until(lambda: compiler.provides([(module.double, 1)]))


def test_activity_tells_what_was_disturbed(load, compilers, processes, until):
    made, compiler, module = processes(KEPT, KEPT), compilers(), load()
    before = compiler.activity
    assert not compiler.disturbs_since(before)
    made.may_answer.clear()
    compiler.provides([(module.double, 1), (module.triple, 1)])
    during = compiler.activity
    assert compiler.disturbs_since(before) and compiler.disturbs_since(during)
    made.may_answer.set()
    until(lambda: compiler.provides([(module.double, 1), (module.triple, 1)]))
    assert compiler.disturbs_since(before) and compiler.disturbs_since(during)
    assert not compiler.disturbs_since(compiler.activity)


def test_what_is_on_disk_needs_no_process(load, compilers, processes):
    compile_for(load().double, WORD)
    made = processes()
    assert compilers().provides([(load().double, 1)])
    assert made.started == 0


def test_what_cannot_be_kept_on_disk_needs_no_process(load, compilers, processes):
    made = processes()
    assert compilers().provides([(load().not_kept, 1)])
    assert made.started == 0


def test_modules_in_memory_need_no_process(source, tmp_path, compilers, processes):
    """As where no directory can be written."""
    cache = ModuleCache(tmp_path)
    cache.directory = None
    module = cache.store("cd" * 32, source)
    made = processes()
    assert request_for(module.double, 1) is None
    assert compilers().provides([(module.double, 1)])
    assert made.started == 0


@pytest.mark.parametrize("word", ["0", "off", "No", " false "])
def test_the_environment_can_forbid_it(load, compilers, processes, monkeypatch, word):
    monkeypatch.setenv("POLYTUNE_BACKGROUND", word)
    made = processes()
    assert compilers().provides([(load().double, 1)])
    assert made.started == 0


def test_one_end_of_the_process_costs_nothing(load, compilers, processes, until):
    made, compiler, module = processes(DIED, KEPT), compilers(), load()
    assert not compiler.provides([(module.double, 1)])
    until(lambda: compiler.provides([(module.double, 1)]))
    assert made.started == 2
    assert compiler.failure_of(module.double, 1) == ""


def test_a_function_that_ends_every_process_is_given_up(load, compilers, processes, until):
    made, compiler, module = processes(KEPT, DIED, DIED, KEPT), compilers(), load()
    functions = [(module.triple, 1), (module.double, 1), (module.add, 3)]
    assert not compiler.provides(functions)
    until(lambda: compiler.provides(functions))
    assert [compiler.failure_of(*function) for function in functions] == ["", str(DIED), ""]
    assert [request.function for request in made.requests] == ["triple", "double", "double", "add"]


@pytest.mark.parametrize("answers", [[DIED, DIED], [Answer("", False)]])
def test_processes_that_never_did_anything_right_are_done_without(load, compilers, processes, until, answers):
    made, compiler, module = processes(*answers), compilers(), load()
    assert not compiler.provides([(module.double, 1), (module.triple, 1)])
    until(lambda: compiler.provides([(module.double, 1)]))
    assert compiler.failure_of(module.double, 1) == ""
    started = made.started
    assert compiler.provides([(module.add, 3)])
    assert made.started == started


def test_where_no_process_starts_everything_is_at_hand(load, compilers, processes, until):
    made, compiler, module = processes(), compilers(), load()
    made.can_start = False
    assert not compiler.provides([(module.double, 1), (module.triple, 1)])
    until(lambda: compiler.provides([(module.double, 1)]))
    assert compiler.provides([(module.add, 3)])
    assert made.started == 1


def test_what_numba_refuses_is_said_and_no_reason_to_give_up(load, compilers, processes, until):
    made, compiler, module = processes(Answer("no such thing", False), KEPT), compilers(), load()
    functions = [(module.impossible, 1), (module.double, 1)]
    assert not compiler.provides(functions)
    until(lambda: compiler.provides(functions))
    assert compiler.failure_of(module.impossible, 1) == "no such thing"
    assert made.started == 1


def test_the_process_ends_when_nothing_is_wanted_and_another_one_starts(load, compilers, processes, until):
    made, compiler, module = processes(KEPT, KEPT), compilers(idle_seconds=0.05), load()
    assert not compiler.provides([(module.double, 1)])
    until(lambda: made.ended == 1)
    assert compiler.provides([(module.double, 1)])
    assert not compiler.provides([(module.triple, 1)])
    until(lambda: compiler.provides([(module.triple, 1)]))
    assert made.started == 2


def test_closing_ends_it_in_the_middle(load, compilers, processes, until):
    made, compiler, module = processes(DIED), compilers(), load()
    made.may_answer.clear()
    assert not compiler.provides([(module.double, 1)])
    until(lambda: bool(made.requests))
    compiler.close()
    assert made.ended == 1
    assert compiler.provides([(module.triple, 1)])
    until(lambda: compiler.activity % 2 == 0)
    assert compiler.failure_of(module.double, 1) == ""
    assert made.started == 1


def test_an_older_file_on_disk_is_not_trusted(load, tmp_path):
    """A package that was built again under the same name: Numba would refuse the machine code."""
    module = load()
    assert not is_on_disk(module.double)
    compile_for(module.double, WORD)
    assert is_on_disk(module.double)
    assert not is_on_disk(module.triple)
    for index in tmp_path.rglob("*.nbi"):
        os.utime(index, (1e9, 1e9))
    assert not is_on_disk(module.double)


def test_the_process_can_be_started_before_something_is_wanted(load, compilers, processes, until):
    made, compiler, module = processes(KEPT), compilers(), load()
    activity = compiler.activity
    compiler.expect()
    until(lambda: made.started == 1)
    assert not compiler.disturbs_since(activity), "nothing is compiled yet"
    assert not compiler.provides([(module.double, 1)])
    until(lambda: compiler.provides([(module.double, 1)]))
    assert made.started == 1


def test_what_the_application_would_wait_for_is_compiled_with_its_own_priority(load, compilers, processes, until):
    made, compiler, module = processes(KEPT, KEPT), compilers(), load()
    compiler.provides([(module.double, 1)], urgent=True)
    until(lambda: compiler.provides([(module.double, 1)]))
    assert made.lowered == []
    compiler.provides([(module.triple, 1)])
    until(lambda: compiler.provides([(module.triple, 1)]))
    assert made.lowered == [1]
