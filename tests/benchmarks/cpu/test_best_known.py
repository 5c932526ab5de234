"""The table of how far the best of other compilers is ahead."""

import pytest

from benchmarks.cpu.best_known import BestKnownError, read_best_known


def test_table_is_read(tmp_path):
    file = tmp_path / "best.csv"
    file.write_text("kernel,ratio,compiler\ngemm,4.3,Pluto\n jacobi-1d , 1.0,gcc\n")
    assert read_best_known(file) == {"gemm": 4.3, "jacobi-1d": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gemm,4.3\n", "no columns 'kernel' and 'ratio'"),
        ("", "no columns"),
        ("kernel,ratio\ngem,4.3\n", "line 2: .*did you mean 'gemm'"),
        ("kernel,ratio\ngemm,4.3\natax,fast\n", "line 3: 'fast' is no number"),
        ("kernel,ratio\ngemm\n", "line 2: None is no number"),
        ("kernel,ratio\ngemm,0\n", "a ratio is positive"),
        ("kernel,ratio\ngemm,inf\n", "a ratio is positive"),
    ],
)
def test_table_that_makes_no_sense(tmp_path, text, message):
    file = tmp_path / "best.csv"
    file.write_text(text)
    with pytest.raises(BestKnownError, match=message):
        read_best_known(file)


def test_there_is_no_table(tmp_path):
    with pytest.raises(BestKnownError, match="cannot be read"):
        read_best_known(tmp_path / "best.csv")
