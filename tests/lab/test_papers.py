"""``python -m polytune.lab papers``: the tables and figures of the papers, on one page."""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from polytune import lab
from polytune.errors import RecordingError
from polytune.lab.__main__ import main
from polytune.lab.papers.item import Effort, Reproduction, Table
from polytune.lab.papers.page import page
from polytune.lab.papers.report import ITEMS, find_recordings, write_report

pyplot = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("statsmodels")


@pytest.fixture
def data(tmp_path):
    """A kernel on two devices, a file of something else, and a small Laplacian space."""
    folder = tmp_path / "data"
    folder.mkdir()
    for device, best in (("A", 3), ("B", 5)):
        rows = [f"{a},{b},{c},{1 + (a - best) ** 2 + abs(b - 2)}" for a in range(8) for b in range(5) for c in range(4)]
        (folder / f"blur__{device}.csv").write_text("a,b,c,time\n" + "\n".join(rows) + "\n")
    (folder / "notes.csv").write_text("nothing of the kind\n")
    names = "vector_length,lws_y,y_component_number,elements_number,threads_number,time_per_pixel"
    rows = [
        f"{v},{y},{c},{e},{t},{v * (1 + math.log2(y)) * (1 + abs(c - 4)) * (1 + 1 / e) * (1 + 32 / t)}"
        for v in (1, 2, 4)
        for y in (1, 2, 8)
        for c in (1, 2, 4)
        for e in (1, 4, 8)
        for t in (32, 64, 256)
    ]
    (folder / "laplacian.csv").write_text(names + "\n" + "\n".join(rows) + "\n")
    return folder


def test_recordings_are_found_by_what_they_are(data):
    found = find_recordings(data)
    assert [recorded.name for recorded in found.spaces] == ["blur__A", "blur__B"]
    assert found.laplacian is not None and len(found.laplacian) == 243
    assert not found.profiled and len(found.examples) == 3
    assert {"bicg", "convolution", "gemm_batched"} <= {recorded.name for recorded in found.counted}
    (data / "more").mkdir()
    (data / "more" / "same.csv").write_bytes((data / "blur__A.csv").read_bytes())
    assert [recorded.name for recorded in find_recordings(data).spaces] == ["blur__A", "blur__B"]
    text = (data / "laplacian.csv").read_text()
    names, *rows = text.splitlines()
    runs = "\n".join([f"method,{names}", *(f"GA,{row}" for row in rows)])
    (data / "all_runs.csv").write_text(runs + "\n")  # what others made on it is no space of its own
    assert len(find_recordings(data).laplacian.space.names) == 5
    assert [recorded.name for recorded in find_recordings(data).spaces] == ["blur__A", "blur__B"]
    assert find_recordings(None).laplacian is None
    with pytest.raises(RecordingError, match="is no folder"):
        find_recordings(data / "absent")


def test_the_page_has_every_item_and_its_figures(data, tmp_path, capsys):
    names = ["historical-portions", "historical-information", "historical-convergence", "design-analysis"]
    arguments = ["papers", "-o", str(tmp_path / "report"), "--data", str(data), "--repeats", "4", "--only", *names]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.strip() == str(tmp_path / "report" / "index.html")
    assert [line for line in err.splitlines() if "of 4" in line] == [f"{n} of 4: {x}" for n, x in _in_order(names)]
    text = (tmp_path / "report" / "index.html").read_text()
    assert all(f"id='{name}'" in text for name in names)
    assert len(re.findall("<img ", text)) == text.count("data:image/png;base64,iVBOR") >= 3
    assert "Residuals" in text and "polytune transfer SPACE..." in text
    # At one scale, so that text is as large in wide figures as in others.
    scales = {
        _pixels_across(data) / float(width) for width, data in re.findall(r"width: ([\d.]+)em' src='.*?,(.*?)'", text)
    }
    assert max(scales) / min(scales) < 1.01

    # Once more: nothing is made again, but what was lost.
    (tmp_path / "report" / "historical-portions.json").unlink()
    assert main(arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    assert sum(line.endswith("made before") for line in lines) == 3
    assert (tmp_path / "report" / "index.html").read_text() == text


def _pixels_across(data):
    return pyplot.imread(BytesIO(b64decode(data))).shape[1]


def _in_order(names):
    return enumerate((item.name for item in ITEMS if item.name in names), start=1)


def test_another_effort_makes_it_anew(data, tmp_path):
    said = []
    for repeats in (2, 2, 3):
        write_report(tmp_path / "r", data, Effort(repeats), said.append, ["historical-portions"])
    made = [line for line in said if "historical-portions" in line]
    assert [line.endswith("made before") for line in made] == [False, True, False]


def test_what_one_process_has_made_two_do_not_make_again(data, tmp_path):
    said = []
    for jobs in (1, 2):
        write_report(tmp_path / "r", data, Effort(2, jobs=jobs), said.append, ["historical-portions"])
    made = [line for line in said if "historical-portions" in line]
    assert [line.endswith("made before") for line in made] == [False, True]


def test_other_recordings_with_counters_make_it_anew(data, tmp_path):
    said = []
    for name in (None, "bicg", "bicg"):
        if name:
            (data / "mine.jsonl.gz").write_bytes(
                (Path(lab.__file__).parent / "examples" / f"{name}.jsonl.gz").read_bytes()
            )
        write_report(tmp_path / "r", data, Effort(2), said.append, ["historical-recordings"])
    made = [line for line in said if "historical-recordings" in line]
    assert [line.endswith("made before") for line in made] == [False, False, True]


def test_how_times_are_distributed_and_correlate(data, tmp_path):
    names = ["hierarchical-density", "historical-correlation", "historical-recordings", "historical-pruning"]
    text = write_report(tmp_path / "r", data, Effort(2), lambda line: None, names).read_text()
    outcomes = {name: json.loads((tmp_path / "r" / f"{name}.json").read_text())["outcome"] for name in names}
    (densities,) = outcomes["hierarchical-density"]["tables"]
    found = find_recordings(data)
    assert [row[0] for row in densities["rows"]] == [each.name for each in [*found.examples, *found.counted]]
    gemm = next(each for each in found.examples if each.name == "gemm")
    (near,) = [row[3] for row in densities["rows"] if row[0] == "gemm"]
    assert near == f"{(gemm.seconds <= 1.1 * gemm.optimum).sum() / len(gemm):.2%}"
    (correlation,) = outcomes["historical-correlation"]["tables"]
    assert [row[:4] for row in correlation["rows"]] == [["blur", "A", "B", "160"]]
    assert float(correlation["rows"][0][4]) < 0.9  # other levels of the first parameter are best
    (recordings,) = outcomes["historical-recordings"]["tables"]
    assert ["blur__A", "A", "160", "0", "3", "0"] in recordings["rows"]
    titles = [table["title"] for table in outcomes["historical-pruning"]["tables"]]
    assert titles[0] == "Conservative pruning with polytune's settings" and len(titles) == 9
    assert all(len(table["rows"]) == 2 for table in outcomes["historical-pruning"]["tables"])
    assert "python -m benchmarks.cpu --dataset EXTRALARGE" in text


def test_long_tables_are_closed_and_items_can_be_reached():
    (item,) = [item for item in ITEMS if item.name == "historical-portions"]
    tables = [Table("short", ["x"], [["1"]] * 30), Table("long", ["x"], [["1"]] * 31)]
    text = page([(item, Reproduction("nothing", tables))], "made up")
    assert "<caption>short</caption>" in text and "<details><summary>long</summary>" in text
    assert "href='#historical-portions'" in text and "id='historical-portions'" in text


def test_what_takes_long_says_how_far_it_is(monkeypatch):
    seconds = iter(range(0, 1000, 4))
    monkeypatch.setattr("polytune.lab.papers.item.time.monotonic", lambda: next(seconds))
    said = []
    effort = Effort(2, say=said.append)
    assert list(effort.watched(iter("abcdefg"), "letters", 7)) == list("abcdefg")
    assert said == ["  letters: 3 of 7", "  letters: 6 of 7"]


def test_what_needs_a_recording_that_is_not_there_says_so(tmp_path):
    written = write_report(tmp_path / "r", None, Effort(2), lambda line: None, ["design-strategies"])
    assert "left out: a recording that it needs is not at hand" in written.read_text()
    assert json.loads((tmp_path / "r" / "design-strategies.json").read_text())["outcome"] is None


def test_traces_of_the_examples(tmp_path):
    written = write_report(tmp_path / "r", None, Effort(2), lambda line: None, ["hierarchical-traces"])
    text = written.read_text()
    assert "online:epsilon=0.5,decay=0" in text and text.count("<img ") == 6


def test_counters_of_own_kernels(tmp_path, capsys):
    """On each of the kernels that come with polytune a third of random search's steps is enough."""
    assert main(["papers", "-o", str(tmp_path), "--repeats", "20", "--only", "counters-own-kernels"]) == 0
    outcome = json.loads((tmp_path / "counters-own-kernels.json").read_text())["outcome"]
    (table,) = outcome["tables"]
    ratios = {name: float(ratio) for name, _, _, _, ratio in table["rows"]}
    assert len(ratios) >= 4 and all(ratio <= 1 / 3 for ratio in ratios.values())
    assert outcome["ours"].startswith("at most a third of random search's steps on 4 of 4")


def test_real_time_has_a_curve_of_each_kernel(tmp_path):
    (item,) = [item for item in ITEMS if item.name == "counters-real-time"]
    found = find_recordings(None)
    made = item.make(replace(found, counted=found.counted[:1]), Effort(4), tmp_path)
    (table,) = made.tables
    assert [file.read_bytes()[:4] for file in made.figures.values()] == [b"\x89PNG"]
    moments = [float(row[1]) for row in table.rows]
    assert moments == sorted(moments)
    for _, _, *slowdowns in table.rows:
        assert all(cell == "-" or float(cell) >= 1.0 for cell in slowdowns)
    assert item.make(replace(found, counted=[]), Effort(4), tmp_path) is None


def test_text_is_no_markup():
    (item,) = [item for item in ITEMS if item.name == "historical-portions"]
    text = page([(item, Reproduction("a < b & c", [Table("<b>", ["<i>"], [["<u>"]])]))], "<script>")
    assert not any(mark in text for mark in ("<script>", "<b>", "<i>", "<u>"))
    assert "a &lt; b &amp; c" in text


def test_what_makes_no_sense(tmp_path, capsys):
    assert main(["papers", "-o", str(tmp_path), "--only", "nothing"]) == 1
    assert "there is no item 'nothing'; there are hierarchical-density, hierarchical-traces," in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["papers", "-o", str(tmp_path), "--repeats", "-3"])
    assert ended.value.code == 2


def test_an_output_that_is_a_file_is_told_with_what_to_do(tmp_path, capsys):
    file = tmp_path / "report"
    file.touch()
    assert main(["papers", "-o", str(file)]) == 1
    assert (
        f"{file} cannot be a folder: {file} is a file; name another folder, or remove the file"
        in capsys.readouterr().err
    )
