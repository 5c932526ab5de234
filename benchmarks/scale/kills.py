"""Campaigns whose workers, scheduler and client are killed at random moments, and what is left of their trials.

    python -m benchmarks.scale kills --count 50

All of it is real: processes of their own for a scheduler of Dask, workers and the client, kernels that are compiled and
measured, a history in a file.  Again and again one of the processes gets a signal that it cannot catch (SIGKILL), and
what has ended is started again.  The client keeps a journal: a line before it records a trial, and one when the history
has taken it, which is when a trial counts as acknowledged.  In the end

- each trial that was acknowledged is in the history, with as many measurements as were acknowledged of it;
- nothing is in the history that no client has recorded, and nothing twice, as after a record that was repeated;
- no configuration was measured as a trial again after one of it was acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from polytune.records import dataclass

__all__ = ["PARTS", "Journal", "Outcome", "check_journal", "run_kills"]

SHAPES = {"shift": ({"n": 100},), "product": ({"C_0": 20, "C_1": 30, "A_1": 10}, {"C_0": 60, "C_1": 20, "A_1": 30})}
"""The kernels that are tuned: calls of some microseconds, so that most of the time goes by between measurements."""

PARTS = ("worker", "scheduler", "client")
"""The processes that are killed."""

RUNS = 1
CLIENT_GAVE_UP = 3
"""The exit code of a client that says that it cannot go on, as its scheduler is gone."""

_PRELOADED = ["distributed", "numba", "islpy", "sympy", "sqlite3", "polytune.kernel", "polytune.campaigns.worker"]


@dataclass(frozen=True)
class Outcome:
    """The result of campaigns with kills.

    Attributes:
        kills: how many times each kind of process was killed.
        campaigns: how many campaigns came to their end.
        clients: how many clients it took.
        trials: how many trials were acknowledged.
        unfinished: how many records were begun by clients that were killed before they knew of their end.
        faults: what is wrong: trials that were lost, or doubled, and clients that ended otherwise than they should.
        seconds: how long it took.
    """

    kills: Mapping[str, int]
    campaigns: int
    clients: int
    trials: int
    unfinished: int
    faults: tuple[str, ...]
    seconds: float


# ---- the processes


def _scheduler(port: int) -> None:
    from distributed import Scheduler

    async def serve() -> None:
        async with Scheduler(host="127.0.0.1", port=port, dashboard=False) as scheduler:
            await scheduler.finished()

    _quietly()
    asyncio.run(serve())


def _worker(port: int, folder: str) -> None:
    from distributed import Worker

    async def serve() -> None:
        options = {"nthreads": 1, "resources": {"polytune": 1}, "local_directory": folder, "dashboard": False}
        async with Worker(f"tcp://127.0.0.1:{port}", **options) as worker:
            await worker.finished()

    _quietly()
    with contextlib.suppress(Exception):  # the scheduler is gone, or not there yet
        asyncio.run(serve())


def _client(port: int, folder: str, trials: int) -> None:
    from benchmarks.scale.kernels import product, shift
    from polytune.campaigns.pools import pool_of
    from polytune.campaigns.running import Running
    from polytune.campaigns.search import Settings
    from polytune.campaigns.work import Shapes, work_of
    from polytune.errors import CampaignError

    _quietly()
    journal = Journal(Path(folder) / "journal")
    work = work_of([shift, product], {name: Shapes(sizes) for name, sizes in SHAPES.items()})
    settings = Settings(trials, RUNS, 0.01, 60.0, None, 0)
    try:
        with pool_of(f"tcp://127.0.0.1:{port}") as pool:
            history = _journalled_history(folder, journal)
            running = Running(work, _JournalledPool(pool, journal), settings, history)
            running.run()
            if not all(entry.finished for entry in running.entries()):
                raise AssertionError("a campaign has ended that is not finished")
    except CampaignError as error:
        print(f"the client gave up: {error}", file=sys.stderr)
        os._exit(CLIENT_GAVE_UP)
    journal.note("finished")
    os._exit(0)  # what is in the history now has to be enough


def _quietly() -> None:
    import logging

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)


class Journal:
    """A file of lines, each written at once, so that none is lost with the process.

    Args:
        path: the file, which is added to.
    """

    def __init__(self, path: Path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, event: str, **more: Any) -> None:
        """Add a line.

        Args:
            event: what has happened.
            more: to what.
        """
        os.write(self._file, (json.dumps({"event": event, **more}, sort_keys=True) + "\n").encode())


def _journalled_history(folder: str, journal: Journal) -> Any:
    from polytune.history import HistoryStore

    class Journalled(HistoryStore):
        def record(self, kernel: str, shape: str, *rest: Any, count: int = 1, **more: Any) -> None:
            what = {"kernel": kernel.partition(" ")[0], "shape": shape, "configuration": dict(rest[1]), "count": count}
            journal.note("recording", **what)
            super().record(kernel, shape, *rest, count=count, **more)
            journal.note("recorded", **what)

    return Journalled(Path(folder) / "history")


class _JournalledPool:
    """A pool that notes which configurations are measured.

    Args:
        pool: that does all else.
        journal: where it notes them.
    """

    def __init__(self, pool: Any, journal: Journal):
        self._pool, self._journal = pool, journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def submit(self, place: Any, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a worker call a function, as the pool does."""
        if function.__name__ == "measure":
            work, _, configuration = arguments[:3]
            self._journal.note("measured", kernel=work.kernel, shape=work.shape, configuration=configuration)
        return self._pool.submit(place, name, function, *arguments)


# ---- what is left


def check_journal(folder: Path) -> tuple[int, int, list[str]]:
    """Hold a history against the journal of the clients that have written it.

    Args:
        folder: where both are.

    Returns:
        How many trials were acknowledged, how many records were begun and not known to have ended, and what is wrong.
    """
    from polytune.history import HistoryStore

    begun: Counter[str] = Counter()
    acknowledged: Counter[str] = Counter()
    trials: set[str] = set()
    faults = []
    for line in (folder / "journal").read_text().splitlines():
        note = json.loads(line)
        event, count = note.pop("event"), note.pop("count", 1)
        what = json.dumps(note, sort_keys=True)
        if event == "recording":
            begun[what] += count
        elif event == "recorded":
            acknowledged[what] += count
            trials.add(what)
        elif event == "measured" and what in trials:
            faults.append(f"measured again although acknowledged: {what}")
    kept: Counter[str] = Counter()
    for each in HistoryStore(folder / "history").all():
        kernel, configuration = each.kernel.partition(" ")[0], dict(each.configuration)
        kept[json.dumps({"kernel": kernel, "shape": each.shape, "configuration": configuration}, sort_keys=True)] += (
            each.count
        )
    for what in acknowledged | kept:
        if kept[what] < acknowledged[what]:
            faults.append(f"lost, {kept[what]} of {acknowledged[what]}: {what}")
        if kept[what] > begun[what]:
            faults.append(f"doubled, {kept[what]} of {begun[what]}: {what}")
    return len(trials), (begun - acknowledged).total(), faults


# ---- the kills


class _Cast:
    """The processes of a campaign, of which what has ended can be started again.

    Args:
        folder: where history, journal and files of workers are.
        workers: how many workers there are.
        trials: how many each search may have.
    """

    def __init__(self, folder: Path, workers: int, trials: int):
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOADED)
        self.folder, self._trials = folder, trials
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._parts = {"scheduler": 1, "worker": workers, "client": 1}
        self.living: dict[str, list[BaseProcess]] = {part: [] for part in self._parts}
        self.ended: list[int | None] = []
        self.clients = 0

    def complete(self) -> None:
        """Start what is not there, or no longer; note how clients have ended that nobody has killed."""
        for part, number in self._parts.items():
            for process in [each for each in self.living[part] if not each.is_alive()]:
                self.living[part].remove(process)
                if part == "client":
                    self.ended.append(process.exitcode)
            while len(self.living[part]) < number:
                self.living[part].append(self._start(part))

    def _start(self, part: str) -> BaseProcess:
        targets: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
            "scheduler": (_scheduler, (self._port,)),
            "worker": (_worker, (self._port, str(self.folder))),
            "client": (_client, (self._port, str(self.folder), self._trials)),
        }
        target, arguments = targets[part]
        self.clients += part == "client"
        process = self._context.Process(target=target, args=arguments, daemon=True)
        process.start()
        return process

    def kill(self, part: str, process: BaseProcess) -> None:
        """End a process at once."""
        process.kill()
        process.join()
        self.living[part].remove(process)

    def end(self) -> None:
        """End all that is there."""
        for part in reversed(self._parts):
            for process in list(self.living[part]):
                self.kill(part, process)


@contextlib.contextmanager
def _cast(workers: int, trials: int) -> Iterator[_Cast]:
    with tempfile.TemporaryDirectory(prefix="polytune-kills-", ignore_cleanup_errors=True) as folder:
        cast = _Cast(Path(folder), workers, trials)
        try:
            yield cast
        finally:
            cast.end()


def run_kills(
    parts: Sequence[str],
    *,
    workers: int = 2,
    trials: int = 20,
    longest: float = 2.0,
    seed: int = 0,
    timeout: float = 1800.0,
    tell: Callable[[str], object] = lambda _: None,
) -> Outcome:
    """Kill processes of campaigns, one after another, and let the last campaign come to its end.

    Where a campaign has come to its end before all have been killed, another one begins.

    Args:
        parts: what is killed each time, in this order: ``"worker"``, ``"scheduler"`` or ``"client"``.
        workers: how many workers a campaign has.
        trials: how many configurations are measured for each kernel and shape.
        longest: seconds between two kills at most; each moment until then is as likely.
        seed: what victims and moments come from.
        timeout: after how many seconds all of it ends, as something hangs.
        tell: is told what is killed.
    """
    chance = random.Random(seed)
    killed: Counter[str] = Counter()
    faults: list[str] = []
    begun, campaigns, clients, acknowledged, unfinished = time.monotonic(), 0, 0, 0, 0
    while killed.total() < len(parts) and not faults:
        with _cast(workers, trials) as cast:
            cast.complete()
            next_kill = time.monotonic() + chance.uniform(0.0, longest)
            while 0 not in cast.ended:
                time.sleep(0.02)
                cast.complete()
                if any(code not in (0, CLIENT_GAVE_UP) for code in cast.ended):
                    faults.append(f"a client has ended with {cast.ended}")
                    break
                if time.monotonic() - begun > timeout:
                    faults.append(f"nothing came to its end within {timeout:g} s")
                    break
                if killed.total() < len(parts) and time.monotonic() >= next_kill:
                    part = parts[killed.total()]
                    victim = chance.choice(cast.living[part])
                    tell(f"{time.monotonic() - begun:.1f} s: kill {part}")
                    cast.kill(part, victim)
                    killed[part] += 1
                    next_kill = time.monotonic() + chance.uniform(0.0, longest)
            cast.end()
            done, open_ones, wrong = check_journal(cast.folder)
            clients += cast.clients
            campaigns += not faults
            acknowledged, unfinished = acknowledged + done, unfinished + open_ones
            faults += wrong
    return Outcome(dict(killed), campaigns, clients, acknowledged, unfinished, tuple(faults), time.monotonic() - begun)
