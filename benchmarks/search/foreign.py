"""Searches of other tuners, each in the Python environment that it is installed in.

A script of this folder, which imports nothing of polytune, runs there.  It gets the recorded space and the runs wanted
as JSON on its standard input, and writes a line of JSON for each run: which rows of the space were evaluated.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polytune.lab import RecordedSpace, Run
from polytune.lab.run import Task


class ForeignError(Exception):
    """Another tuner cannot be run."""


@dataclass
class ForeignTuner:
    """Another tuner.

    Attributes:
        name: what its searches are called by: ``name:search``.
        python: the interpreter of the environment that it is installed in.
        script: what is run there.
        seed: what random choices come from.
        jobs: how many processes run at once.
        invalid: for each run made, how many proposals were no configuration of the space.
        failures: why runs could not be made, by search.
    """

    name: str
    python: Path
    script: Path
    seed: int
    jobs: int = 1
    invalid: dict[Task, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def check(self, module: str) -> str:
        """The version of the tuner.

        Raises:
            ForeignError: the interpreter is not there, or the tuner is not installed for it.
        """
        program = f"import importlib.metadata, {module}; print(importlib.metadata.version({module!r}))"
        try:
            ran = subprocess.run([self.python, "-c", program], capture_output=True, text=True, timeout=120)
        except OSError as error:
            raise ForeignError(f"{self.python} cannot be run ({error.strerror})") from None
        if ran.returncode != 0:
            reason = ran.stderr.strip().rpartition("\n")[2]
            raise ForeignError(f"{self.python} cannot import {module} ({reason}): pip install {module} there")
        return ran.stdout.split()[-1]

    def runs(self, recorded: RecordedSpace, tasks: Sequence[Task]) -> Iterator[Run]:
        """The runs, each as soon as it is made, in any order; those that fail are left out.

        Args:
            recorded: the space.
            tasks: the runs, with names that begin with the tuner's.

        Raises:
            ForeignError: a process of the tuner's ended badly.
        """
        shares = [tasks[number :: self.jobs] for number in range(self.jobs)]
        lines: queue.Queue[Any] = queue.Queue()
        processes = [self._start(recorded, share, lines) for share in shares if share]
        try:
            running = len(processes)
            while running:
                line = lines.get()
                if isinstance(line, ForeignError):
                    raise line
                if line is None:
                    running -= 1
                    continue
                document = json.loads(line)
                task = Task(f"{self.name}:{document['search']}", document["budget"], document["repeat"])
                if "error" in document:
                    self.failures[task.search] = document["error"]
                    continue
                self.invalid[task] = document["invalid"]
                yield Run(task, tuple(max(1.0, float(recorded.slowdowns[row])) for row in document["rows"]))
        finally:
            for process in processes:
                process.kill()
                process.wait()

    def _start(self, recorded: RecordedSpace, tasks: Sequence[Task], lines: queue.Queue[Any]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [self.python, self.script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        request = json.dumps(
            {
                "names": recorded.space.names,
                "levels": recorded.space.levels,
                "rows": recorded.space.rows.tolist(),
                "milliseconds": [1e3 * s if s < float("inf") else None for s in recorded.seconds.tolist()],
                "tasks": [[task.search.partition(":")[2], task.budget, task.repeat] for task in tasks],
                "seed": self.seed,
            }
        )
        threading.Thread(target=self._follow, args=(process, request, lines), daemon=True).start()
        return process

    def _follow(self, process: subprocess.Popen[str], request: str, lines: queue.Queue[Any]) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        messages: list[str] = []
        errors = process.stderr
        listener = threading.Thread(target=lambda: messages.extend(errors), daemon=True)
        listener.start()
        try:
            process.stdin.write(request)
            process.stdin.close()
        except BrokenPipeError:
            pass
        for line in process.stdout:
            if line.startswith("{"):  # tuners print greetings of their own
                lines.put(line)
        listener.join()
        if process.wait() > 0:
            reason = messages[-1].strip() if messages else f"exit code {process.returncode}"
            lines.put(ForeignError(f"{self.name} ended with {reason}"))
        lines.put(None)
