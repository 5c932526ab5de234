"""Run in OpenTuner's environment: its default ensemble of techniques, one proposal at a time.

The first line of standard input describes the parameters, ``{"seed", "parameters": [{"name", "kind", "low",
"high"} | {"name", "kind", "values"}, ...]}``.  Then each line of standard output is a proposal, ``{"proposal": {name:
value, ...}}``, and each line of standard input its answer, ``{"seconds": number, or null for an error}``.
"""

import argparse
import json
import logging
import math
import random
import sys
import tempfile
from pathlib import Path

import numpy
import opentuner
from opentuner.api import TuningRunManager
from opentuner.measurement.interface import DefaultMeasurementInterface
from opentuner.resultsdb.models import Result
from opentuner.search.manipulator import (
    ConfigurationManipulator,
    EnumParameter,
    FloatParameter,
    IntegerParameter,
    LogIntegerParameter,
)


def main():
    logging.disable(logging.CRITICAL)
    request = json.loads(sys.stdin.readline())
    random.seed(request["seed"])
    numpy.random.seed(request["seed"])
    manipulator = ConfigurationManipulator()
    for parameter in request["parameters"]:
        manipulator.add_parameter(parameter_of(parameter))
    with tempfile.TemporaryDirectory() as folder:
        parser = argparse.ArgumentParser(parents=opentuner.argparsers())
        arguments = parser.parse_args(["--no-dups", "--database", str(Path(folder) / "runs.db"), "--quiet"])
        interface = DefaultMeasurementInterface(
            args=arguments, manipulator=manipulator, project_name="live", program_name="live"
        )
        manager = TuningRunManager(interface, arguments)
        while True:
            wanted = manager.get_next_desired_result()
            if wanted is None:
                break
            print(json.dumps({"proposal": dict(wanted.configuration.data)}), file=sys.__stdout__, flush=True)
            answer = sys.stdin.readline()
            if not answer:
                break
            seconds = json.loads(answer)["seconds"]
            state = "ERROR" if seconds is None else "OK"
            manager.report_result(wanted, Result(time=math.inf if seconds is None else seconds, state=state))
        manager.finish()


def parameter_of(described):
    """OpenTuner's kind of a parameter."""
    if described["kind"] == "choice":
        return EnumParameter(described["name"], described["values"])
    kinds = {"integer": IntegerParameter, "logarithmic": LogIntegerParameter, "real": FloatParameter}
    return kinds[described["kind"]](described["name"], described["low"], described["high"])


if __name__ == "__main__":
    sys.stdout = sys.stderr  # what the tuner prints is no answer
    main()
