"""Calls in processes that were forked while another thread held locks of the same kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import contextlib, os, signal, threading
import numpy as np
import polytune
from polytune.history.store import default_store
from polytune.module_cache import module_cache
from polytune.runtime.teams.local_arrays import local_arrays

def scaled(factor, x, out):
    for i in range(len(x)):
        out[i] = factor * x[i]

kernel = polytune.kernel(scaled)

def calls(number):
    for k in range(number):
        x = np.arange(k % 12) + 1.0
        out = np.zeros(k % 12)
        kernel(k, x, out)
        assert np.array_equal(out, k * x)

calls(30)
modules = kernel._modules
holders = [kernel, modules, modules.identity, module_cache(), local_arrays, default_store()._history.database]
for tuner in kernel.tuners.values():
    holders += [tuner, tuner._persistence]
is_held, ends = threading.Event(), threading.Event()

def hold():
    with contextlib.ExitStack() as stack:
        for holder in holders:
            stack.enter_context(holder._lock)
        is_held.set()
        ends.wait()

thread = threading.Thread(target=hold)
thread.start()
is_held.wait()
child = os.fork()
if not child:
    signal.alarm(60)
    code = 1
    try:
        calls(30)
        polytune.kernel(scaled, strict=True)(2.0, np.ones(3), np.ones(3))
        for tuner in kernel.tuners.values():
            tuner.save()
        code = 0
    finally:
        os._exit(code)
status = os.waitpid(child, 0)[1]
ends.set()
thread.join()
calls(30)
print("ended with", status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_no_lock_of_a_thread_that_is_gone_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "POLYTUNE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
    ended = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, env=environment)
    assert ended.stdout == "ended with 0\n", ended.stderr
