"""Recordings, descriptions of spaces and histories from elsewhere are data: they can be wrong, and nothing else."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("lab", "history", "tuner", "cli")

CODE = "__import__('os').system('touch MARK')"

READER = """
import sys, warnings
from pathlib import Path
from polytune.errors import PolytuneError
from polytune.lab import load, simulate
from polytune.lab.description import read_description
from polytune.lab.files import read
from polytune.tuner import Constraint

warnings.simplefilter("ignore")
FORBIDDEN = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect")
load("example:gemm")  # with all that is imported for it
looking = []

def hook(event, arguments):
    if looking and (event in FORBIDDEN or event == "exec" and "<constraint" not in str(arguments[0])):
        print("RAN", event, arguments, flush=True)

sys.addaudithook(hook)
for name in sys.argv[1:]:
    for reading in (load, lambda path: read_description(read(Path(path)))):
        looking.append(True)
        try:
            found = reading(name)
            print(type(found).__name__)
        except PolytuneError as error:
            print(type(error).__name__)
        finally:
            looking.clear()
"""


class Mark:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch MARK",)


def recordings() -> dict[str, bytes]:
    """Files with code wherever a format has room for text."""
    journal = [
        {"polytune_recording": 1, "name": CODE, "device": CODE, "unit": "s", "parameters": ["x"], "about": {"a": CODE}},
        {"configuration": {"x": CODE}, "times": [0.5]},
        {"configuration": {"x": 2}, "status": "failed", "reason": CODE},
    ]
    tuner = {
        "device_name": CODE,
        "kernel_name": CODE,
        "tune_params_keys": ["x", CODE],
        "tune_params": {"x": [1, 2], CODE: [CODE]},
        "cache": {"1,a": {"x": 1, CODE: CODE, "time": 1.0}, "2,a": {"x": 2, CODE: CODE, "time": CODE}},
    }
    description = {
        "General": {"BenchmarkName": CODE},
        "ConfigurationSpace": {
            "TuningParameters": [{"Name": "x", "Type": "int", "Values": "[1, 2]", "Default": 1}],
            "Conditions": [{"Parameters": ["x"], "Expression": CODE}],
        },
    }
    values = {**description, "ConfigurationSpace": {"TuningParameters": [{"Name": "x", "Type": "int", "Values": CODE}]}}
    return {
        "journal.jsonl": "\n".join(map(json.dumps, journal)).encode(),
        "tuner.json": json.dumps(tuner).encode(),
        "description.json": json.dumps(description).encode(),
        "values.json": json.dumps(values).encode(),
        "table.csv": f'x,"{CODE}",time\n1,"{CODE}",2.0\n"{CODE}",3,"{CODE}"\n'.encode(),
        "pickle.jsonl": pickle.dumps(Mark()),
        "pickle.json": pickle.dumps({"cache": Mark()}, 0),
        "ktt.csv": f'Kernel name,Computation duration (us),x\n"{CODE}",5,"{CODE}"\n'.encode(),
        "t4.json": json.dumps({"results": [{"configuration": {"x": CODE}, "times": {"x": CODE}}]}).encode(),
        "ktt.json": json.dumps({"Metadata": {"TimeUnit": CODE}, "Results": [{"KernelName": CODE}]}).encode(),
    }


def test_no_text_of_a_recording_is_run(tmp_path):
    for name, content in recordings().items():
        (tmp_path / name).write_bytes(content)
    ran = subprocess.run(
        [sys.executable, "-c", READER, *recordings()],
        env={**os.environ, "PYTHONPATH": str(ROOT), "POLYTUNE_CACHE_DIR": str(tmp_path / "kept")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    outcomes = ran.stdout.split()
    assert len(outcomes) == 2 * len(recordings()), ran.stdout
    assert "RAN" not in outcomes
    assert "RecordedSpace" in outcomes  # some are right, but for what they say
    assert "RecordingError" in outcomes
    assert not (tmp_path / "MARK").exists()


TUNED = """
import sys
import numpy as np
import polytune

@polytune.kernel(background=False)
def total(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i] += A[i, j]

A, B, expected = np.ones((40, 30)), np.zeros(40), np.zeros(40)
for _ in range(6):
    total(A, B)
    expected += 30
assert (B == expected).all(), B
for tuner in total.tuners.values():
    tuner.save()
"""

CONFIGURATIONS = (
    {"version": "source; import os", "threads": 1},
    {"version": CODE},
    {"version": "parallel", "threads": 10**9, "tile_0": 0, "tile_1": -5},
    {"version": "parallel", "threads": 0, "tile_0": 0},
    {"version": "parallel", "threads": 1.5, "tile_0": "32"},
    {"version": ["parallel"], "tile_0": {"$": CODE}},
    [CODE],
    CODE,
)


def without_sense(state: str) -> str:
    return json.dumps({**json.loads(state), "search": CODE})


def with_other_numbers(state: str) -> str:
    changed = re.sub(r'("(?:tile_\d|threads)": )\d+', r"\1-7", state)
    assert changed != state
    return changed


@pytest.mark.parametrize("altered", [without_sense, with_other_numbers, lambda state: json.dumps([CODE])])
def test_history_from_elsewhere_can_only_be_wrong(tmp_path, altered):
    """Configurations that are no configurations, under the names of those that are, are the fastest ones there."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "POLYTUNE_CACHE_DIR": str(tmp_path / "kept")}
    (tmp_path / "application.py").write_text(TUNED)

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "application.py"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300
        )

    assert run().returncode == 0
    path = tmp_path / "kept" / "history.sqlite"
    with sqlite3.connect(path) as connection:
        columns = [row[1] for row in connection.execute("pragma table_info(measurements)")]
        row = dict(zip(columns, connection.execute("select * from measurements").fetchone(), strict=True))
        assert {"configuration", "best_seconds"} <= set(columns)
        for number, configuration in enumerate(CONFIGURATIONS):
            seconds = 1e-12 * (number + 1)
            told = {
                **row,
                "configuration": json.dumps(configuration),
                "best_seconds": seconds,
                "median_seconds": seconds,
            }
            places = ", ".join("?" * len(columns))
            connection.execute(f"insert or replace into measurements values ({places})", [told[c] for c in columns])
        (state,) = connection.execute("select state from searches").fetchone()
        connection.execute("update searches set state = ?", [altered(state)])
    connection.close()
    again = run()
    assert again.returncode == 0, again.stderr
    assert not (tmp_path / "MARK").exists()


UNPICKLING = frozenset(("pickle", "marshal", "shelve", "dill", "joblib"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_is_unpickled_and_nothing_evaluated_but_constraints(folder):
    """Constraints are looked at before, see ``tests/tuner/spaces``: names, numbers, comparisons and arithmetic.

    Of a file that is checked, functions are defined, bare of decorators and of defaults that would be evaluated; and
    ``report --live`` runs the program that it is told to run."""
    seen = 0
    for file in sorted((ROOT / "polytune" / folder).rglob("*.py")):
        seen += 1
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not {name.partition(".")[0] for name in names} & {
                    "pickle",
                    "marshal",
                    "shelve",
                    "dill",
                    "joblib",
                }
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"):
                assert file.name in ("constraint.py", "unexecuted.py", "report.py"), f"{file}:{node.lineno}"
    assert seen > 3
