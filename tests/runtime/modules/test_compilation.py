"""Compiling with Numba's disk cache: kept, checked, and made anew where it is damaged."""

import os
import warnings

import numpy as np
import pytest
from numba import njit, typeof, types

from polytune.errors import CacheWarning, CompilationError, WorkingFolderError
from polytune.runtime.modules.cache import ModuleCache
from polytune.runtime.modules.compilation import compile_for
from tests.warned import saying

KEY = "ab" * 32


@pytest.fixture
def fresh(tmp_path, source):
    """Gives the function ``double`` as a new process would find it."""

    def load():
        cache = ModuleCache(tmp_path / "cache")
        return (cache.load(KEY) or cache.store(KEY, source)).double

    return load


def files(folder, suffix):
    found = list((folder / "cache").rglob(f"*{suffix}"))
    assert found
    return found


def test_the_second_time_nothing_is_compiled(fresh):
    first = fresh()
    compile_for(first, [types.int64])
    assert dict(first.stats.cache_misses) == {(types.int64,): 1}
    second = fresh()
    assert second is not first
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_for(second, [types.int64])
    assert dict(second.stats.cache_hits) == {(types.int64,): 1}
    assert not second.stats.cache_misses
    assert second(21) == 42


def test_other_types_are_added_to_what_is_kept(fresh):
    compile_for(fresh(), [types.int64])
    compile_for(fresh(), [types.float64])
    last = fresh()
    for kind in (types.int64, types.float64):
        compile_for(last, [kind])
    assert not last.stats.cache_misses
    assert (last(21), last(1.5)) == (42, 3.0)


def truncate(content):
    return content[: len(content) // 2]


def garble(content):
    return bytes(255 - byte for byte in content)


def flip_one_bit(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [truncate, garble, flip_one_bit, lambda content: b""])
def test_damaged_files_are_noticed_and_compiled_again(fresh, tmp_path, suffix, damage):
    compile_for(fresh(), [types.int64])
    for file in files(tmp_path, suffix):
        file.write_bytes(damage(file.read_bytes()))
        os.utime(file, (1e9, 1e9))
    again = fresh()
    with pytest.warns(CacheWarning, match="not as it was written"):
        compile_for(again, [types.int64])
    assert again(21) == 42
    last = fresh()
    compile_for(last, [types.int64])
    assert last.stats.cache_hits, "the repaired files are not used"


def test_files_that_were_never_sealed_are_not_trusted_for_long(fresh, tmp_path):
    compile_for(fresh(), [types.int64])
    for seal in files(tmp_path, ".seal"):
        seal.unlink()
    young = fresh()
    compile_for(young, [types.int64])
    assert young.stats.cache_hits, "another process may be about to seal them"
    for file in files(tmp_path, ".nbi"):
        os.utime(file, (1e9, 1e9))
    with pytest.warns(CacheWarning, match="not as it was written"):
        compile_for(fresh(), [types.int64])


@pytest.mark.parametrize("damage", [garble, lambda content: b""])
def test_damage_that_seals_cannot_show_is_survived(fresh, tmp_path, damage):
    compile_for(fresh(), [types.int64])
    for file in files(tmp_path, ".nbi"):
        file.write_bytes(damage(file.read_bytes()))
    again = fresh()
    with pytest.warns(CacheWarning, match="damaged"):
        compile_for(again, [types.int64])
    assert again(21) == 42


def test_an_index_that_names_code_for_other_types_is_not_believed(fresh, tmp_path):
    compile_for(fresh(), [types.int64])
    compile_for(fresh(), [types.float64])
    first, second = sorted(files(tmp_path, ".nbc"))
    first.write_bytes(second.read_bytes())  # as two processes that save at the same time can do
    for seal in files(tmp_path, ".seal"):
        seal.unlink()
    again = fresh()
    with pytest.warns(CacheWarning, match="index is wrong"):
        compile_for(again, [types.int64])
    assert again(2**60) == 2**61


def test_code_that_cannot_be_kept_is_ready_all_the_same(fresh, monkeypatch):
    function = fresh()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.tempfile.TemporaryFile", full)
    with pytest.warns(CacheWarning, match="cannot be kept.*No space left") as caught:
        compile_for(function, [types.int64])
        compile_for(function, [types.float64])
    assert len(saying(caught, CacheWarning, "No space left")) == 1
    assert set(function.overloads) == {(types.int64,), (types.float64,)}
    assert (function(21), function(1.5)) == (42, 3.0)


def test_functions_without_disk_cache_are_compiled_too():
    function = njit(lambda array: array.sum())
    array = np.arange(4.0)
    compile_for(function, [typeof(array)])
    assert list(function.overloads) == [(typeof(array),)]
    assert function(array) == 6.0


def test_what_numba_refuses_is_said(fresh):
    with pytest.raises(CompilationError, match="double cannot be compiled"):
        compile_for(fresh(), [types.none])


def test_folder_that_is_gone_is_said(fresh, monkeypatch):
    def gone():
        raise FileNotFoundError(2, "No such file or directory")

    function = fresh()
    with monkeypatch.context() as patched:
        patched.setattr("os.getcwd", gone)
        with pytest.raises(WorkingFolderError, match=r"double .* working folder .* os\.chdir"):
            compile_for(function, [types.int64])
    compile_for(function, [types.int64])
    assert function(21) == 42
