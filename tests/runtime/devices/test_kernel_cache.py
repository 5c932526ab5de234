"""Compiled kernels on disk: found again by others, damaged, not to be written."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from polytune.errors import CacheWarning
from polytune.runtime.devices.kernel_cache import KernelCache, kernel_cache, key_of_kernel
from tests.device_stand_in import compiler
from tests.runtime.devices.kernels import ADD, compiled, run

KEY = "ab" * 32
CODE = bytes(range(256)) * 10


@pytest.fixture
def cache(tmp_path):
    return KernelCache(tmp_path)


def file_of(tmp_path):
    (file,) = tmp_path.glob("kernels/??/*/code")
    return file


def test_code_is_found_again(cache, tmp_path):
    assert cache.load(KEY) is None
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
    assert KernelCache(tmp_path).load(KEY) == CODE
    assert KernelCache(tmp_path).load("cd" * 32) is None


@pytest.mark.parametrize(
    "damage",
    [lambda content: content[:-1], lambda content: b"", lambda content: content[:50] + b"x" + content[51:]],
)
def test_damaged_code_is_deleted(cache, tmp_path, damage):
    cache.store(KEY, CODE)
    file = file_of(tmp_path)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(CacheWarning, match="damaged"):
        assert KernelCache(tmp_path).load(KEY) is None
    assert not file.exists()
    cache.store(KEY, CODE)
    assert KernelCache(tmp_path).load(KEY) == CODE


def test_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "kernels").write_text("a file")
    cache = KernelCache(tmp_path)
    with pytest.warns(CacheWarning, match=r"cannot be kept .*POLYTUNE_CACHE_DIR"):
        cache.store(KEY, CODE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store("cd" * 32, CODE[1:])
        assert cache.load(KEY) == CODE
        assert cache.load("cd" * 32) == CODE[1:]


def test_old_code_makes_room(tmp_path):
    old, new = KernelCache(tmp_path, limit=3000), KernelCache(tmp_path, limit=3000)
    old.store(KEY, CODE)
    new.store("cd" * 32, CODE)
    assert KernelCache(tmp_path).load("cd" * 32) == CODE
    assert KernelCache(tmp_path).load(KEY) is None


def test_key_covers_every_part():
    keys = {key_of_kernel(*parts) for parts in (("a", "b"), ("ab",), ("b", "a"), ("a", "b", ""), ("a", "B"))}
    assert len(keys) == 5


def test_directory_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "chosen"))
    kernel_cache().store(KEY, CODE)
    assert KernelCache(tmp_path / "chosen").load(KEY) == CODE
    assert kernel_cache() is kernel_cache()


def test_device_compiles_a_text_once(cuda, tmp_path, monkeypatch):
    """Another device of the same kind finds the code on disk; another text, or other options, are another entry."""
    calls = []

    def counted(source, arch, options):
        calls.append(options)
        return original(source, arch, options)

    original = compiler.compile
    monkeypatch.setattr(compiler, "compile", counted)
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        kernel = compiled(cuda, ADD, "add")
        a, b = np.arange(8.0), np.zeros(8)
        run(cuda, kernel, (1, 1, 1), (8, 1, 1), [np.int64(8), np.float64(1), a, b])
        assert b[7] == 8
    assert len(calls) == 1
    compiled(cuda, ADD, "add", contract=True)
    compiled(cuda, ADD.replace("number;", "number + 1;"), "add")
    assert len(calls) == 3
    file = next(iter(tmp_path.glob("kernels/??/*/code")))
    file.write_bytes(b"rubbish")
    with pytest.warns(CacheWarning, match="damaged"):
        for contract in (False, True):
            compiled(cuda, ADD, "add", contract=contract)
            compiled(cuda, ADD.replace("number;", "number + 1;"), "add", contract=contract)
    assert len(calls) == 5
