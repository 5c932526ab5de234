"""Run in OpenTuner's environment: its default ensemble of techniques on a recorded space.

Standard input and output are described in `foreign`.  A parameter is the number of its level, for numbers an integer
and otherwise an enumeration.  A proposal that is no configuration of the space is answered as an error, which costs no
evaluation but is counted.
"""

import argparse
import json
import logging
import math
import random
import sys
import tempfile
import zlib
from pathlib import Path

import numpy
import opentuner
from opentuner.api import TuningRunManager
from opentuner.measurement.interface import DefaultMeasurementInterface
from opentuner.resultsdb.models import Result
from opentuner.search.manipulator import ConfigurationManipulator, EnumParameter, IntegerParameter

MOST_INVALID = 50
"""The most invalid proposals for each evaluation of the budget before the run is given up."""


def main():
    logging.disable(logging.CRITICAL)
    request = json.load(sys.stdin)
    row_of = {tuple(levels): row for row, levels in enumerate(request["rows"])}
    for search, budget, repeat in request["tasks"]:
        seed = zlib.crc32(f"{request['seed']} {search} {budget} {repeat}".encode())
        rows, invalid = run(request, row_of, budget, seed)
        answer = {"search": search, "budget": budget, "repeat": repeat, "rows": rows, "invalid": invalid}
        print(json.dumps(answer), file=sys.__stdout__, flush=True)


def run(request, row_of, budget, seed):
    """The rows evaluated, each once, and how many proposals were invalid."""
    random.seed(seed)
    numpy.random.seed(seed)
    manipulator = ConfigurationManipulator()
    for name, levels in zip(request["names"], request["levels"], strict=True):
        is_number = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in levels)
        last = len(levels) - 1
        if is_number and last:
            manipulator.add_parameter(IntegerParameter(name, 0, last))
        else:
            manipulator.add_parameter(EnumParameter(name, list(range(last + 1))))
    with tempfile.TemporaryDirectory() as folder:
        parser = argparse.ArgumentParser(parents=opentuner.argparsers())
        arguments = parser.parse_args(["--no-dups", "--database", str(Path(folder) / "runs.db"), "--quiet"])
        interface = DefaultMeasurementInterface(
            args=arguments, manipulator=manipulator, project_name="recorded", program_name="recorded"
        )
        manager = TuningRunManager(interface, arguments)
        rows, seen, invalid = [], set(), 0
        size = len(row_of)
        while len(rows) < min(budget, size) and invalid < MOST_INVALID * budget:
            wanted = manager.get_next_desired_result()
            if wanted is None:
                break
            chosen = wanted.configuration.data
            row = row_of.get(tuple(int(chosen[name]) for name in request["names"]))
            time = None if row is None else request["milliseconds"][row]
            if row is None:
                invalid += 1
            elif row not in seen:
                seen.add(row)
                rows.append(row)
            state = "ERROR" if time is None else "OK"
            manager.report_result(wanted, Result(time=math.inf if time is None else time, state=state))
        manager.finish()
    return rows, invalid


if __name__ == "__main__":
    sys.stdout = sys.stderr  # what the tuner prints is no answer
    main()
