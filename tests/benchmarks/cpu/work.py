"""What processes of a test do."""

import os
import signal
import subprocess
import sys
import time

from benchmarks.cpu.isolation import IsolationError, isolated


def double(number, report):
    report(f"doubling {number}")
    return 2 * number


def fail(report):
    raise ValueError("no such number\nand more")


def die(report):
    os.kill(os.getpid(), signal.SIGSEGV)


def start_and_wait(report):
    """Start a process, say its number, and never end."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    report(str(child.pid))
    time.sleep(600)


def nested(report):
    """A process that starts another that never ends, and gives it up."""
    try:
        isolated(start_and_wait, seconds=0.5)
    except IsolationError as problem:
        return str(problem)
