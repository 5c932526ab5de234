"""Calls in processes that were forked while other threads were in the middle of calls of the same kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
import polytune

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
ends = threading.Event()

def work():
    while not ends.is_set():
        calls(12)

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
codes = []
for _ in range(8):
    time.sleep(0.02)
    child = os.fork()
    if not child:
        signal.alarm(60)
        code = 1
        try:
            calls(30)
            code = 0
        finally:
            os._exit(code)
    codes.append(os.waitpid(child, 0)[1])
ends.set()
for thread in threads:
    thread.join()
print(codes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks on this system")
def test_no_lock_of_a_thread_that_is_gone_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    path = os.pathsep.join(sys.path)
    environment = {**os.environ, "POLYTUNE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
    ended = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, env=environment)
    assert ended.stdout.split() == ["[0,", "0,", "0,", "0,", "0,", "0,", "0,", "0]"], ended.stderr
