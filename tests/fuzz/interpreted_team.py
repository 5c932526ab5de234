"""A team of workers in interpreted code: threads of which one runs at a time, each turn chosen at random."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

NO_TASK = -1

LATEST = (10, 100, 1000)
"""After how many turns of others a worker that is late may begin."""


class DeadlockError(AssertionError):
    """Every worker waits for another."""


class _Stopped(BaseException):
    """Ends the other workers after one has failed."""


class Team:
    """Workers as threads that take turns; see :mod:`polytune.runtime.teams.team` for what the operations mean.

    In every fourth team all workers but one are late: they begin when much is done, or all.
    """

    def __init__(self, workers: int, seed: int):
        self.random = random.Random(seed)
        self.turns = [threading.Semaphore(0) for _ in range(workers)]
        self.alive = set(range(workers))
        self.targets = [0] * workers
        self.tasks = [NO_TASK] * workers
        self.waited = [0] * workers
        self.entered: dict[int, int] = {}
        self.wanted: dict[int, int] = {}
        self.unclaimed: list[int] = []
        self.regions_end = self.completed = self.current = self.turn = 0
        self.begins = [0] * workers
        late = random.Random(f"late {seed}")
        if late.random() < 0.25:
            self.begins = [late.choice(LATEST) for _ in range(workers)]
            self.begins[late.randrange(workers)] = 0
        self.failure: BaseException | None = None
        self.finished = threading.Event()

    def run(self, work: Callable[[int, int], object]) -> None:
        """Let every worker do the same work, given its number and how many there are; raises what the first worker to
        fail raised."""
        threads = [threading.Thread(target=self._live, args=(worker, work)) for worker in self.alive]
        for thread in threads:
            thread.start()
        self._pass_on()
        self.finished.wait()
        for thread in threads:
            thread.join()
        if self.failure is not None:
            raise self.failure

    def claim(self, worker: int, workers: int, base: int, total: int) -> int:
        assert worker in (self.current, workers - 1 - self.current) and workers == len(self.turns)
        worker = self.current
        if base + total > self.regions_end:
            assert base == self.regions_end and not self.unclaimed, "a region begins before the last one is claimed"
            self.regions_end = base + total
            self.unclaimed = list(range(base, base + total))
            self.random.shuffle(self.unclaimed)
        task = base + total
        if task == self.regions_end and self.unclaimed:
            task = self.tasks[worker] = self.unclaimed.pop()
        self._switch()
        return task

    def complete(self) -> None:
        self.completed += 1
        self._switch()

    def complete_all(self, tasks: int) -> None:
        self.completed += tasks
        self.tasks[self.current] = NO_TASK
        self._switch()

    def pieces(self, workers: int) -> int:
        assert workers == len(self.turns)
        return workers

    def enter(self, worker: int, workers: int, turn: int) -> int:
        assert (worker, workers) == (self.current, len(self.turns)) and worker not in self.entered.values()
        piece = self.wanted[worker] = (worker + turn) % workers
        while piece in self.entered:
            self._switch()
        del self.wanted[worker]
        self.entered[piece] = worker
        self.tasks[worker] = self.regions_end - 1
        self._switch()
        return piece

    def leave(self, piece: int) -> None:
        assert self.entered.pop(piece) == self.current, "a worker leaves a piece that it is not in"
        self._switch()

    def wait(self, target: int) -> None:
        worker = self.current
        self.targets[worker] = target
        if self.completed < target:
            self._switch()
        self.waited[worker] = max(self.waited[worker], target)

    def _live(self, worker: int, work: Callable[[], object]) -> None:
        self.turns[worker].acquire()
        try:
            if self.failure is None:
                work(worker, len(self.turns))
        except _Stopped:
            pass
        except BaseException as error:
            self.failure = self.failure or error
        self.alive.remove(worker)
        if self.alive:
            self._pass_on()
        else:
            self.finished.set()

    def _switch(self) -> None:
        worker = self.current
        self._pass_on()
        self.turns[worker].acquire()
        if self.failure is not None:
            raise _Stopped

    def _pass_on(self) -> None:
        """Give the turn to a worker that is not waiting, and not late; after a failure to any, so that all end."""
        ready = [
            worker
            for worker in sorted(self.alive)
            if self.completed >= self.targets[worker] and self.wanted.get(worker) not in self.entered
        ]
        self.turn += 1
        ready = [worker for worker in ready if self.begins[worker] <= self.turn] or ready
        if not ready and self.failure is None:
            self.failure = DeadlockError(f"workers wait for {self.targets} tasks, {self.completed} are completed")
        self.current = self.random.choice(ready or sorted(self.alive))
        self.turns[self.current].release()
