"""T4 results with their T1 descriptions, and KTT's JSON."""

from __future__ import annotations

import json
import math

import pytest

from polytune.errors import RecordingError, RecordingWarning, SpaceError
from polytune.lab import load
from polytune.lab.description import evaluate_list


def result(block, runtimes=None, value=None, unit="", invalidity="correct", **more):
    return {
        "configuration": {"block": block, "kind": "a", **more},
        "times": {} if runtimes is None else {"runtimes": runtimes},
        "invalidity": invalidity,
        "measurements": [{"name": "time", "value": value, "unit": unit}],
        "objectives": ["time"],
    }


def t4(*results, timeunit="miliseconds"):
    return json.dumps({"metadata": {"timeunit": timeunit}, "results": list(results), "schema_version": "1"}, indent=1)


def t1(values="[16 * i for i in range(1, 5)]", conditions=("block != 48",)):
    parameters = [{"Name": "block", "Values": values}, {"Name": "kind", "Values": "['a', 'b']"}]
    space = {"TuningParameters": parameters, "Conditions": [{"Expression": text} for text in conditions]}
    return json.dumps({"ConfigurationSpace": space})


def ktt(*results, unit="Microseconds"):
    return json.dumps({"Metadata": {"Device": "GPU", "TimeUnit": unit}, "Results": list(results)}, indent=1)


def ktt_result(block, duration, status="Ok", **fields):
    computed = {
        "CompilationData": {"RegistersCount": 21},
        "GlobalSize": {"X": 6, "Y": 2, "Z": 1},
        "ProfilingData": {"Counters": [{"Name": "dram__reads.sum", "Type": "Int", "Value": 17}]},
    }
    return {
        "ComputationResults": [computed] if status == "Ok" else [],
        "Configuration": [{"Name": "BLOCK", "Value": block}],
        "KernelName": "pnpoly",
        "Status": status,
        "TotalDuration": duration,
        **fields,
    }


def costs(recorded):
    return {recorded.space.configuration(i)["block"]: recorded.cost(i) for i in range(len(recorded))}


def test_t4(write):
    text = t4(result(16, [3.0, 1.0, 2.0]), result(32, value=5.0), result(64, invalidity="runtime"))
    recorded = load(write("convolve__A100.json", text))
    assert costs(recorded) == {16: pytest.approx(2e-3), 32: pytest.approx(5e-3), 64: math.inf}
    assert recorded.device == "A100"
    assert "runtime" in recorded.status


def test_t4_cut_in_mid_line(write):
    text = t4(result(16, [1.0]), result(32, [2.0]), result(64, [3.0]))
    cut = text[: text.index("64") + 1]
    line = text[: text.index("[", text.index("results"))].count("\n")  # of the list
    assert line > 0
    with pytest.warns(RecordingWarning, match="the 2 before it are used"):
        assert costs(load(write("t.json", cut))) == {16: pytest.approx(1e-3), 32: pytest.approx(2e-3)}


@pytest.mark.parametrize(
    ("bad", "field", "message"),
    [
        (result(32, value=2.0, unit="s"), "measurements.0.unit", "the time is in 's', but the file's 'timeunit' is ms"),
        (result(32, value=2.0, unit="parsecs"), "measurements.0.unit", "'parsecs' is no unit"),
        (result(32, value="slow"), "measurements.0.value", "'slow' stands where a number belongs"),
        (result(32, [1.0, -2.0]), "times.runtimes.1", "-2.0 is negative"),
        (result(32, [math.nan]), "times.runtimes.0", "nan is no time"),
        ({"invalidity": "correct"}, "configuration", "must have a configuration"),
        (result(32, [1.0], colour=1), "configuration", "the configuration has 'colour', which the first one has not"),
    ],
)
def test_bad_t4_names_file_line_and_field(write, bad, field, message):
    text = t4(result(16, [1.0]), bad)
    with pytest.raises(RecordingError) as refused:
        load(write("t.json", text))
    where, _, said = str(refused.value).partition(": ")
    assert message in said
    assert f"field '{field}'" in where
    line = int(where.split("t.json:")[1].partition(",")[0])
    assert 1 < line <= text.count("\n") + 1


def test_the_line_is_that_of_the_field(write):
    text = t4(result(16, [1.0]), result(32, [1.0, 2.0, -7.0]))
    line = text[: text.index("-7.0")].count("\n") + 1
    with pytest.raises(RecordingError, match=rf"t\.json:{line}, field 'times\.runtimes\.2'"):
        load(write("t.json", text))


def test_t4_needs_a_unit(write):
    with pytest.raises(RecordingError, match=r"t\.json:2, field 'metadata.timeunit': 'lightyears' is no unit"):
        load(write("t.json", t4(result(16, [1.0]), timeunit="lightyears")))
    with pytest.raises(RecordingError, match="neither a 'timeunit' in the metadata nor a 'unit' here"):
        load(write("t.json", json.dumps({"results": [result(16, [1.0])]})))


def test_the_unit_of_a_measurement_will_do(write):
    text = json.dumps({"results": [result(16, value=3.0, unit="us"), result(32, value=2.0, unit="ns")]})
    assert costs(load(write("t.json", text))) == {16: pytest.approx(3e-6), 32: pytest.approx(2e-9)}


def test_t4_against_its_description(write):
    description = write("t1.json", t1())
    text = t4(result(16, [1.0]), result(64, [2.0]))
    assert len(load(write("t.json", text), description=description)) == 2
    for bad, message in [
        (result(17, [1.0]), "block = 17 is not"),
        (result(48, [1.0]), "breaks the constraint"),
        (result(16, [1.0], colour=1), "there is no parameter 'colour'"),
    ]:
        with pytest.raises(RecordingError, match=rf"t\.json:\d+, field 'configuration': .*{message}"):
            load(write("t.json", t4(result(16, [1.0]), bad)), description=description)


def test_a_description_alone_is_no_recording(write):
    with pytest.raises(RecordingError, match="is a T1 description: it has no times"):
        load(write("t1.json", t1()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"d\.json:1: this is no JSON"),
        ("{}", "no T1 description"),
        (t1(values="[1, 1 +]"), "no expression"),
        (t1(conditions=["block @ 2"]), "MatMult is not allowed"),
        (t1(conditions=["width == 2"]), "'width', which is not a parameter"),
        (json.dumps({"ConfigurationSpace": {"TuningParameters": [{"Name": "a"}]}}), "lacks the field 'Values'"),
    ],
)
def test_bad_descriptions(write, text, message):
    with pytest.raises(RecordingError, match=message):
        load(write("t.json", t4(result(16, [1.0]))), description=write("d.json", text))


@pytest.mark.parametrize(
    "text", ["[32 * i for i in range(1, 32)]", "[1] + [2 * i for i in range(1, 11)]", "['a', -1, 2.5]", "range(3)"]
)
def test_lists_of_values_are_what_python_makes_of_them(text):
    assert evaluate_list(text) == list(eval(text))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').getcwd()",
        "[i for i in range(10) if i]",
        "[x for x in y]",
        "range(10**9)",
        "[2 ** 4096]",
        "[0] * 10**9",
        "1",
        "[1 // 0]",
        "[1, 'a' * 2 + 3]",
    ],
)
def test_other_expressions_are_refused(text):
    with pytest.raises(SpaceError):
        evaluate_list(text)


def test_ktt_json(write):
    recorded = load(write("k.json", ktt(ktt_result(8, 50.0), ktt_result(16, 0.0, "ComputationFailed"))))
    assert (recorded.name, recorded.device) == ("pnpoly", "GPU")
    assert recorded.optimum == pytest.approx(50e-6)
    assert recorded.failed == 1
    assert recorded.counters_of(recorded.best) == {"Global size": 12.0, "RegistersCount": 21.0, "dram__reads.sum": 17.0}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (ktt_result(16, "long"), r"k\.json:\d+, field 'TotalDuration': 'long' stands where a number belongs"),
        (ktt_result(16, -4.0), r"field 'TotalDuration': -4.0 is negative"),
        (ktt_result(16, 4.0, Configuration=[]), "field 'Configuration': a result must have the list"),
        (ktt_result(16, 4.0, Configuration=[{"Name": "B"}]), r"field 'Configuration.0': .* a 'Name' and a 'Value'"),
        (ktt_result(16, 4.0, Configuration=[{"Name": "B", "Value": 1}]), "has no 'BLOCK', which the first one has"),
    ],
)
def test_bad_ktt_json(write, bad, message):
    with pytest.raises(RecordingError, match=message):
        load(write("k.json", ktt(ktt_result(8, 50.0), bad)))


def test_ktt_json_with_another_unit(write):
    assert load(write("k.json", ktt(ktt_result(8, 50.0), unit="Nanoseconds"))).optimum == pytest.approx(50e-9)
    with pytest.raises(RecordingError, match=r"field 'Metadata\.TimeUnit': 'Moons' is no unit"):
        load(write("k.json", ktt(ktt_result(8, 50.0), unit="Moons")))


@pytest.mark.parametrize(
    ("change", "field", "wanted"),
    [
        ({"times": [1.0]}, "times", "an object"),
        ({"times": {"runtimes": 1.0}}, r"times\.runtimes", "a list"),
        ({"measurements": {"time": 1.0}}, "measurements", "a list"),
        ({"measurements": [1.0]}, r"measurements\.0", "an object"),
        ({"measurements": [{"name": "time", "value": 1.0, "unit": 7}]}, r"measurements\.0\.unit", "text"),
        ({"objectives": 7}, "objectives", "a list"),
    ],
)
def test_t4_fields_of_other_kinds_are_refused(write, change, field, wanted):
    with pytest.raises(RecordingError, match=rf"t\.json:\d+, field '{field}': .* stands where {wanted} belongs"):
        load(write("t.json", t4(result(16, [1.0]), {**result(32, value=2.0), **change})))


@pytest.mark.parametrize(
    ("computed", "field", "wanted"),
    [
        ({}, "ComputationResults", "a list"),
        ([3], r"ComputationResults\.0", "an object"),
        ([{"GlobalSize": 6}], r"ComputationResults\.0\.GlobalSize", "an object"),
        ([{"LocalSize": {"X": 1, "Y": 1}}], r"ComputationResults\.0\.LocalSize\.Z", "a number"),
        ([{"CompilationData": []}], r"ComputationResults\.0\.CompilationData", "an object"),
        ([{"ProfilingData": {"Counters": 3}}], r"ComputationResults\.0\.ProfilingData\.Counters", "a list"),
        ([{"ProfilingData": {"Counters": [{"Value": 3}]}}], r".*\.Counters\.0\.Name", "text"),
    ],
)
def test_ktt_fields_of_other_kinds_are_refused(write, computed, field, wanted):
    with pytest.raises(RecordingError, match=rf"k\.json:\d+, field '{field}': .* stands where {wanted} belongs"):
        load(write("k.json", ktt(ktt_result(8, 50.0), ktt_result(16, 4.0, ComputationResults=computed))))


@pytest.mark.parametrize(
    ("parameters", "conditions", "message"),
    [
        ([3], [], r"d\.json, field 'TuningParameters\.0': 3 stands where an object"),
        ([{"Name": 3, "Values": "[1]"}], [], r"field 'TuningParameters\.0\.Name': 3 stands where text"),
        ([{"Name": "block", "Values": 16}], [], r"field 'TuningParameters\.0\.Values': 16 stands where a list"),
        ([{"Name": "block", "Values": "[[16]]"}], [], r"field 'TuningParameters\.0\.Values': \[16\] is no value"),
        ([{"Name": "block", "Values": [16]}], [7], r"field 'Conditions\.0': 7 stands where an object"),
        ([{"Name": "block", "Values": [16]}], [{}], r"field 'Conditions\.0': .* lacks the field 'Expression'"),
        ([{"Name": "block", "Values": [16]}], [{"Expression": 1}], r"field 'Conditions\.0\.Expression': 1 stands"),
    ],
)
def test_description_fields_of_other_kinds_are_refused(write, parameters, conditions, message):
    space = {"ConfigurationSpace": {"TuningParameters": parameters, "Conditions": conditions}}
    with pytest.raises(RecordingError, match=message):
        load(write("t.json", t4(result(16, [1.0]))), description=write("d.json", json.dumps(space)))
