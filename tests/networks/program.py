"""A cluster whose two workers are on machines of their own, as far as their network goes, and what runs on it.

    unshare --net python -m tests.networks.program FOLDER

The process has a network of its own, with nothing in it, and gives each worker another one, which a bridge joins to its
own.  Scheduler, client and workers then have addresses of three machines, and all that they send to one another crosses
that network.  What has come of it is printed as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import polytune
from tests.campaigns.kernels import shift
from tests.shards.kernels import diffused, diffusion

NETWORK = "10.77.0"
HERE = f"{NETWORK}.1"


def ip(*arguments: str, inside: int | None = None) -> None:
    """Run ``ip`` in this network, or in that of a process."""
    where = [] if inside is None else ["nsenter", f"--net=/proc/{inside}/ns/net"]
    subprocess.run([*where, "ip", *arguments], check=True)


def make_network() -> None:
    """Give this machine an address on a network."""
    ip("link", "set", "lo", "up")
    ip("link", "add", "bridge0", "type", "bridge")
    ip("link", "set", "bridge0", "up")
    ip("addr", "add", f"{HERE}/24", "dev", "bridge0")


def start_worker(number: int, scheduler: str, folder: Path) -> subprocess.Popen[str]:
    """Start a worker on a machine of its own.

    Args:
        number: the last part of its address.
        scheduler: the scheduler's address.
        folder: for its files.
    """
    folder.mkdir()
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny", "--no-dashboard"]
    worker += ["--nthreads", "1", "--resources", "polytune=1", "--local-directory", str(folder)]
    # It waits for its network: the line that it reads comes when that is there.
    command = ["unshare", "--net", "sh", "-c", 'read line; exec "$@"', "sh", *worker]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=Path.cwd()
    )
    own = os.stat("/proc/self/ns/net").st_ino
    deadline = time.monotonic() + 60
    while os.stat(f"/proc/{process.pid}/ns/net").st_ino == own:
        assert time.monotonic() < deadline, "the worker has no network of its own"
        time.sleep(0.01)
    ip("link", "add", f"worker{number}", "type", "veth", "peer", "name", "eth0", "netns", str(process.pid))
    ip("link", "set", f"worker{number}", "master", "bridge0")
    ip("link", "set", f"worker{number}", "up")
    ip("addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0", inside=process.pid)
    ip("link", "set", "eth0", "up", inside=process.pid)
    ip("link", "set", "lo", "up", inside=process.pid)
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return process


def received() -> int:
    """Return how many bytes have reached the network of this process from outside."""
    for line in Path("/proc/self/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "eth0":
            return int(counts.split()[0])
    return 0


def shards(client: Any) -> dict[str, Any]:
    """A call on arrays whose chunks both workers have."""
    import dask
    import dask.array
    from distributed import wait

    A, B, expected = diffusion((600, 500), 2)
    given = client.persist([dask.array.from_array(each, chunks=(100, 250)) for each in (A, B)])
    wait(given)
    before = client.run(received)
    with dask.config.set({"polytune.steps-per-exchange": 1}):
        after = client.persist(diffused(2, *given))
    wait(after)
    moved = client.run(received)
    computed = dask.compute(*after)
    return {
        "equal": [bool(np.array_equal(now, then)) for now, then in zip(computed, expected, strict=True)],
        "workers": sorted(client.has_what()),
        "shards": {worker: len(keys) for worker, keys in client.has_what().items()},
        "received": {worker: moved[worker] - before[worker] for worker in moved},
    }


def campaign(client: Any, folder: Path) -> dict[str, Any]:
    """A campaign that both workers measure for."""
    from polytune.history import HistoryStore

    workers = set()

    def look(progress: Any) -> None:
        workers.update(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.workers)))

    limits: dict[str, Any] = {"trials": 4, "runs": 1, "seconds": 0.01}
    store = HistoryStore(folder)
    found = polytune.campaign(shift, [{"n": 1000}], client=client, history=store, progress=look, **limits)
    (entry,) = found.entries
    return {
        "finished": entry.finished,
        "trials": entry.trials,
        "kept": len(store.all()),
        "workers": sorted(workers),
    }


def main(folder: Path) -> None:
    """Make the network and the cluster, and print what runs on it."""
    from distributed import Client, LocalCluster

    make_network()
    with ExitStack() as stack:
        options: dict[str, Any] = {"n_workers": 0, "host": HERE, "dashboard_address": None, "silence_logs": 50}
        cluster = stack.enter_context(LocalCluster(**options, processes=False, protocol="tcp://"))
        client = stack.enter_context(Client(cluster))
        for number in (2, 3):
            process = start_worker(number, cluster.scheduler_address, folder / f"worker {number}")
            stack.callback(process.wait)
            stack.callback(process.kill)
        client.wait_for_workers(2, timeout=120)
        print(json.dumps({"shards": shards(client), "campaign": campaign(client, folder / "history")}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
