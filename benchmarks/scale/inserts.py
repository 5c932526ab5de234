"""Measurements that many processes write to one history on PostgreSQL, and what a call costs with such a history.

    python -m benchmarks.scale history --clients 16 --measurements 2000

Each client is a process with files of its own, as if it were on a machine of its own: what it records goes through its
outbox to the server.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from polytune.records import dataclass

__all__ = ["CallCost", "Inserted", "call_cost", "insert"]


@dataclass(frozen=True)
class Inserted:
    """The measurements that clients have brought to a server.

    Attributes:
        clients: how many wrote at once.
        measurements: how many they have brought in all.
        seconds: from when all began until the last one was there.
        kept: how many of them the server has, counted there.
    """

    clients: int
    measurements: int
    seconds: float
    kept: int

    @property
    def per_second(self) -> float:
        """Return how many came each second."""
        return self.measurements / self.seconds


def _client(address: str, folder: str, number: int, count: int, ready: Any, go: Any, done: Any) -> None:
    os.environ["POLYTUNE_CACHE_DIR"] = folder
    from polytune.history import HistoryStore

    store = HistoryStore(address)
    store.all("nothing")  # connects, and makes the tables
    ready.release()
    go.wait()
    for step in range(count):
        configuration = {"version": "tiled_packed", "tile_0": step, "tile_1": number, "threads": 2}
        store.record("kernel 0123", "n=1000", "machine", configuration, 1e-3 + step * 1e-6, count=3, code="0123456789")
    store.close()
    done.put((time.monotonic(), store.in_memory))


def insert(address: str, clients: int, count: int) -> Inserted:
    """Have clients write to a history at once.

    Args:
        address: of an empty history.
        clients: how many processes.
        count: how many measurements each of them makes, all of configurations of its own.

    Raises:
        RuntimeError: a client could not write.
    """
    from polytune.history import HistoryStore

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sqlalchemy", "psycopg", "polytune.history.shared", "polytune.history.tables"])
    ready, go, done = context.Semaphore(0), context.Event(), context.Queue()
    with tempfile.TemporaryDirectory(prefix="polytune-clients-") as folder:
        processes = []
        for number in range(clients):
            own = Path(folder) / str(number)
            own.mkdir()
            arguments = (address, str(own), number, count, ready, go, done)
            processes.append(context.Process(target=_client, args=arguments, daemon=True))
            processes[-1].start()
        for _ in processes:
            if not ready.acquire(timeout=120):
                raise RuntimeError("a client does not begin")
        begun = time.monotonic()
        go.set()
        ends = [done.get(timeout=600) for _ in processes]
        for process in processes:
            process.join()
        if any(in_memory for _, in_memory in ends):
            raise RuntimeError("a client could not write to its own files")
        store = HistoryStore(address)
        kept = sum(each.count for each in store.all("kernel 0123")) // 3
        store.close()
    return Inserted(clients, clients * count, max(ended for ended, _ in ends) - begun, kept)


@dataclass(frozen=True)
class CallCost:
    """The overhead of calls of a small kernel, in seconds: medians over batches, one for each process.

    Attributes:
        file: with a history in a file.
        server: with a history on a server.
    """

    file: tuple[float, ...]
    server: tuple[float, ...]

    @property
    def growth(self) -> float:
        """Return how many seconds more a call takes with a server: of processes that ran one after another."""
        return statistics.median(there - here for here, there in zip(self.file, self.server, strict=True))


def call_cost(address: str, rounds: int, calls: int) -> CallCost:
    """Measure calls with a history in a file and with one on a server, in turns.

    Args:
        address: of the server's history.
        rounds: how many processes there are of each.
        calls: how many calls each of them measures.
    """
    found: dict[str, list[float]] = {"": [], address: []}
    with tempfile.TemporaryDirectory(prefix="polytune-calls-") as folder:
        for place in (*found, *[each for _ in range(rounds) for each in found]):  # the first of each compiles
            environment = {**os.environ, "POLYTUNE_CACHE_DIR": folder, "POLYTUNE_HISTORY": place}
            command = [sys.executable, "-m", "benchmarks.call_overhead", str(calls), "5"]
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            found[place].append(statistics.median(json.loads(ran.stdout)["overhead"]))
    return CallCost(tuple(found[""][1:]), tuple(found[address][1:]))
