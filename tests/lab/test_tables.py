"""Recordings in CSV: plain tables and KTT's."""

from __future__ import annotations

import gzip
import math

import pytest

from polytune.errors import RecordingError, RecordingWarning
from polytune.lab import load
from tests.warned import of_the_code

HUB = """block,padded,time,time_std,n_times,compile_time,status
16,0,2.5,0.1,10,900.0,ok
32,1,1.5,0.1,10,,ok
64,1,,,,,RuntimeFailedConfig
"""
KTT = """Kernel name,Computation duration (us),Global size,Local size,BLOCK,lower_case,dram__reads.sum,Registers count
add,250.0,1024,32,32,0,7.5,12
add,125.0,1024,64,64,1,9,14
"""
LEGACY = """Kernel name,Computation duration (ms),Global size,Local size,BLOCK,dram_reads,Registers count
add,0.25,1024,32,32,7.5,12
"""


def costs(recorded):
    return {tuple(recorded.space.configuration(i).values()): recorded.cost(i) for i in range(len(recorded))}


def test_hub(write):
    recorded = load(write("convolve__RTX_3090.csv", HUB))
    assert recorded.device == "RTX 3090"
    assert costs(recorded) == {(16, 0): 0.0025, (32, 1): 0.0015, (64, 1): math.inf}
    assert recorded.status[2] == "RuntimeFailedConfig"


def test_gzip_by_content(write):
    assert costs(load(write("t.csv", gzip.compress(HUB.encode())))) == costs(load(write("u.csv", HUB)))


@pytest.mark.parametrize(
    ("header", "seconds"), [("time_per_pixel", 2.5), ("time_us", 2.5e-6), ("duration (ns)", 2.5e-9), ("runtime", 2.5)]
)
def test_other_names_of_the_time(write, header, seconds):
    assert load(write("t.csv", f"a,{header}\n1,2.5\n")).optimum == pytest.approx(seconds)


def test_time_and_unit_by_hand(write):
    path = write("t.csv", "a,cost,time_std\n1,2.5,0\n")
    assert load(path, time="cost", unit="us").optimum == pytest.approx(2.5e-6)
    with pytest.raises(RecordingError, match=r"t\.csv:1: none of the columns a, cost, time_std is called 'time'"):
        load(path)
    with pytest.raises(RecordingError, match="field 'speed': there is no such column"):
        load(path, time="speed")
    with pytest.raises(RecordingError, match="'hours' is no unit of time"):
        load(path, time="cost", unit="hours")


def test_values_of_parameters(write):
    recorded = load(write("t.csv", "on,kind,size,time\ntrue,a,1.5,1\nFALSE,b,2,1\n"))
    assert recorded.parameters == {"on": (True, False), "kind": ("a", "b"), "size": (1.5, 2)}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("48,0,nan,0,1,0,ok", "t.csv:5, field 'time': nan is no time"),
        ("48,0,-2,0,1,0,ok", "t.csv:5, field 'time': -2 is negative"),
        ("48,0,quick,0,1,0,ok", "t.csv:5, field 'time': 'quick' stands where a number belongs"),
        ("48,0,,0,1,0,ok", "t.csv:5, field 'time': '' stands where a number belongs"),
        ("large,0,2,0,1,0,ok", "t.csv:5, field 'block': 'large' stands where the parameter has numbers"),
        ("48,0,2,0,1,ok", "t.csv:5: the line has 6 cells, the header 7 columns"),
    ],
)
def test_bad_cells_name_file_line_and_field(write, row, message):
    with pytest.raises(RecordingError) as refused:
        load(write("t.csv", HUB + row + "\n"))
    assert message in str(refused.value)


@pytest.mark.parametrize("ending", ["128,1,2.5", "128", "128,1,2.5,0.1,10,,Runti"])
def test_a_table_cut_in_mid_line_keeps_the_lines_before(write, ending):
    with pytest.warns(RecordingWarning, match=r"t\.csv:5: the file ends within this entry; the 3 before it are used"):
        assert len(load(write("t.csv", HUB + ending))) == 3


@pytest.mark.parametrize("ending", ["128,1,2.5,0.1,10,,ok", "128,1,,,,,RuntimeFailedConfig"])
def test_only_the_newline_is_missing(write, ending, recwarn):
    assert len(load(write("t.csv", HUB + ending))) == 4
    assert not of_the_code(recwarn)


@pytest.mark.parametrize("ending", ["8,1.79", "8,1.79e-", "8,"])
def test_a_last_number_that_may_be_cut_off_is_not_believed(write, ending):
    """Half of 1.79e-10 is a number too, and would be taken for another optimum."""
    with pytest.warns(RecordingWarning, match=r"t\.csv:3: no newline follows.*; the 1 before it are used"):
        recorded = load(write("t.csv", "a,time_s\n4,2.5e-10\n" + ending))
    assert costs(recorded) == {(4,): pytest.approx(2.5e-10)}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_last_number_with_its_newline_is(write, newline, recwarn):
    text = newline.join(["a,time_s", "4,2.5e-10", "8,1.79"]) + newline
    assert len(load(write("t.csv", text))) == 2
    assert not of_the_code(recwarn)


def test_a_last_counter_that_may_be_cut_off_is_not_believed(write):
    with pytest.warns(RecordingWarning, match=r"k\.csv:3: no newline follows"):
        assert len(load(write("k.csv", KTT[:-1]))) == 1


def test_compression_cut_short_keeps_what_is_there(write):
    rows = "".join(f"{size},0,{size}.5,0,1,0,ok\n" for size in range(1000, 9000))
    whole = gzip.compress((HUB + rows).encode())
    with pytest.warns(RecordingWarning, match="the file ends within this entry"):
        recorded = load(write("t.csv.gz", whole[: len(whole) // 2]))
    assert 1000 < len(recorded) < 8003


def test_damaged_compression_is_a_sentence(write):
    whole = bytearray(gzip.compress(HUB.encode() * 100))
    whole[20:30] = b"\xff" * 10
    with pytest.raises(RecordingError, match=r"t\.gz: the compressed file is damaged"):
        load(write("t.gz", bytes(whole)))


def test_a_stray_carriage_return_is_a_sentence(write):
    path = write("hub.csv", HUB.replace("32,1,1.5", "32,\r1,1.5"))
    with pytest.raises(RecordingError, match=r"hub\.csv:3: the line holds a carriage return"):
        load(path)


def test_a_header_with_a_stray_carriage_return_is_a_sentence(write):
    with pytest.raises(RecordingError, match=r"hub\.csv:1: the line holds a carriage return"):
        load(write("hub.csv", HUB.replace("block,", '"block"\rx,')))


def test_two_columns_of_one_name(write):
    with pytest.raises(RecordingError, match=r"t\.csv:1, field 'a': two columns"):
        load(write("t.csv", "a,a,time\n1,2,3\n"))


def test_ktt(write):
    recorded = load(write("k.csv", KTT))
    assert recorded.name == "add"
    assert recorded.space.names == ("BLOCK", "lower_case")
    assert costs(recorded) == {(32, 0): pytest.approx(250e-6), (64, 1): pytest.approx(125e-6)}
    assert recorded.counters_of(recorded.best) == {
        "Global size": 1024.0,
        "Local size": 64.0,
        "dram__reads.sum": 9.0,
        "Registers count": 14.0,
    }


def test_ktt_for_older_devices_and_another_unit(write):
    recorded = load(write("k.csv", LEGACY))
    assert recorded.space.names == ("BLOCK",)
    assert recorded.optimum == pytest.approx(250e-6)
    assert "dram_reads" in recorded.counters


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("125.0", "-1", "k.csv:3, field 'Computation duration .us.': -1 is negative"),
        (",9,", ",many,", "k.csv:3, field 'dram__reads.sum': 'many' stands where a number belongs"),
        ("(us)", "(fortnights)", "k.csv:1, field .*: 'fortnights' is no unit of time"),
        ("Computation duration (us)", "Duration", "k.csv:1: the first columns must be"),
        ("BLOCK,lower_case,", "", "k.csv:.*"),
    ],
)
def test_bad_ktt(write, old, new, message):
    with pytest.raises(RecordingError, match=message):
        load(write("k.csv", KTT.replace(old, new)))


def test_text_that_is_none(write):
    with pytest.raises(RecordingError, match=r"t\.csv:2: this is no text in UTF-8"):
        load(write("t.csv", b"a,time\n\xff\xfe\x01,2\n3,4\n"))
    with pytest.raises(RecordingError, match="the file is empty"):
        load(write("e.csv", ""))
