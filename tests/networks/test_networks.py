"""Shards and campaigns on workers that are on other machines, as far as the network goes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

ADDRESSES = ("tcp://10.77.0.2:", "tcp://10.77.0.3:")


def unshared() -> list[str]:
    """The command that runs another one in a network of its own; the test is skipped where there can be none."""
    for name in ("unshare", "nsenter", "ip"):
        if shutil.which(name) is None:
            pytest.skip(f"a network of the test's own needs the command {name}, which is not here")
    command = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    bridge = "ip link set lo up && ip link add name bridge0 type bridge && ip link add name one type veth peer name two"
    tried = subprocess.run([*command, "sh", "-c", bridge], capture_output=True, text=True, timeout=60)
    if tried.returncode:
        pytest.skip(f"this machine gives no networks of their own to processes: {tried.stderr.strip()}")
    return command


@pytest.mark.slow
def test_messages_cross_a_network(tmp_path):
    pytest.importorskip("distributed")
    command = [*unshared(), sys.executable, "-m", "tests.networks.program", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-4000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    shards, campaign = found["shards"], found["campaign"]
    assert shards["equal"] == [True, True]
    assert [worker.startswith(address) for worker, address in zip(shards["workers"], ADDRESSES, strict=True)] == [
        True,
        True,
    ]
    assert all(shards["shards"].values()), "both workers have chunks of the results"
    # At the least the halo rows of one border of the two workers' chunks, of 8 bytes for each of 250 columns.
    assert all(bytes_received > 250 * 8 for bytes_received in shards["received"].values())
    assert campaign["finished"] and 1 <= campaign["trials"] == campaign["kept"] <= 4
    assert campaign["workers"] == shards["workers"]
