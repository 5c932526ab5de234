"""Recordings that are made to break what reads them: each is refused in a sentence, within the memory there is."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib

import pytest

from polytune.errors import RecordingError, SpaceError
from polytune.lab import load
from polytune.lab.results_files import read_results
from polytune.tuner import Configuration, Space

DEEP = {"lists": "[" * 50_000 + "]" * 50_000, "objects": '{"a":' * 50_000 + "1" + "}" * 50_000, "open": "[" * 50_000}
LONG = {"integer": "9" * 6000, "negative": "-" + "9" * 6000}
FORMATS = {
    "kernel tuner": (
        '{"tune_params_keys": ["a"], "tune_params": {"a": [1, 2]}, "cache": {\n"1": {"a": 1, "time": VALUE}}}'
    ),
    "kernel tuner's fields": (
        '{"device_name":\nVALUE, "tune_params_keys": ["a"], "tune_params": {"a": [1]}, "cache": {}}'
    ),
    "t4": (
        '{"metadata": {"timeunit": "ms"}, "results": [\n{"configuration": {"a": 1}, "times": {"runtimes": [VALUE]}}]}'
    ),
    "ktt": (
        '{"Metadata": {"TimeUnit": "us"}, "Results": [\n{"Status": "Ok", "TotalDuration": VALUE, "Configuration": []}]}'
    ),
    "journal": (
        '{"polytune_recording": 1, "name": "g", "parameters": ["a"]}\n{"configuration": {"a": 1}, "times": [VALUE]}\n{}'
    ),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("value", DEEP)
def test_values_in_one_another_too_deeply(write, form, value):
    file = write("f.json", FORMATS[form].replace("VALUE", DEEP[value]))
    with pytest.raises(RecordingError, match=r"f\.json:2: lists or objects lie in one another too deeply to be read"):
        load(file)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("value", LONG)
def test_numbers_that_python_does_not_read(write, form, value):
    file = write("f.json", FORMATS[form].replace("VALUE", LONG[value]))
    with pytest.raises(RecordingError, match=r"f\.json:2: the number has more digits than any that is read here"):
        load(file)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("depth", [200, 900, 980, 990, 995, 1000])
def test_values_that_can_just_be_decoded(write, form, depth):
    """They may be decoded, and then there is no room to look at them; in any case it is a sentence."""
    with pytest.raises(RecordingError, match=r"f\.json"):
        load(write("f.json", FORMATS[form].replace("VALUE", "[" * depth + "]" * depth)))


@pytest.mark.parametrize("text", [*DEEP.values(), *LONG.values()])
@pytest.mark.parametrize("form", ["{}", '{{"space": {}}}', '{{"space": "x"}}\n{{"search": {}}}\n'])
def test_results_of_a_simulation(write, form, text):
    with pytest.raises(RecordingError, match=r"r\.json"):
        read_results(write("r.json", form.format(text)))


@pytest.mark.parametrize("text", [*DEEP.values(), *LONG.values()])
def test_a_description(write, text):
    results = write("r.json", FORMATS["t4"].replace("VALUE", "1"))
    with pytest.raises(RecordingError, match=r"d\.json"):
        load(results, description=write("d.json", f'{{"ConfigurationSpace": {text}}}'))


def test_a_time_of_six_thousand_digits_is_not_printed_whole(write):
    with pytest.raises(RecordingError, match=r"999\.\.\.999.* is no time") as refused:
        load(write("t.csv", f"a,time\n1,{LONG['integer']}\n"))
    assert len(str(refused.value)) < 400


def test_a_small_file_that_fills_the_memory_when_it_is_decompressed(write):
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb") as stream:
        stream.write(b"a,time\n")
        for _ in range(90):
            stream.write(b"1,1\n" * (1 << 18))
    file = write("bomb.csv.gz", bomb.getvalue())
    tracemalloc.start()
    with pytest.raises(RecordingError, match=r"bomb\.csv\.gz: there are more than \d+ bytes.*decompress it \(gunzip\)"):
        load(file)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 300 << 20


def test_many_small_streams_in_one_file_count_together(write):
    part = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    stream = part.compress(b"1,1\n" * (1 << 20)) + part.flush()
    with pytest.raises(RecordingError, match="there are more than"):
        load(write("many.csv.gz", stream * 40))


def test_what_compresses_well_is_read(write):
    content = gzip.compress(("a,time\n" + "1,1.0\n2,1.5\n" * 20_000).encode())
    assert len(content) < 5000
    assert len(load(write("t.csv.gz", content))) == 2


@pytest.mark.parametrize("read", [Space.from_json, Configuration.from_json])
@pytest.mark.parametrize("text", [*DEEP.values(), *LONG.values()])
def test_a_space_and_a_configuration(read, text):
    with pytest.raises(SpaceError, match="not a "):
        read(text)


@pytest.mark.parametrize(
    "name, content",
    [
        ("f.csv", "time\n1\n2\n"),
        ("f.json", '{"tune_params_keys": [], "tune_params": {}, "cache": {"": {"time": 1.0}}}'),
        (
            "f.jsonl",
            '{"polytune_recording": 1, "name": "g", "parameters": []}\n{"configuration": {}, "times": [1.0]}\n',
        ),
    ],
)
def test_a_recording_without_parameters(write, name, content):
    with pytest.raises(RecordingError, match="there are no parameters"):
        load(write(name, content))
