"""The cache of generated modules: one process, several at once, and disks that fail."""

import json
import os
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest
from numba import typeof

from polytune.errors import CacheWarning
from polytune.runtime.modules import cache as module
from polytune.runtime.modules.cache import ModuleCache
from polytune.runtime.modules.compilation import compile_for
from polytune.runtime.teams.team import new_state
from tests.warned import saying

KEY = "ab" * 32
SMALL = "VALUE = 42\n"


@pytest.fixture(autouse=True)
def own_temporary_directory(tmp_path, monkeypatch):
    """What one test left in the process's temporary directory, another must not find there."""
    fresh = tmp_path / "temporary"
    fresh.mkdir()
    monkeypatch.setattr(module, "_private", [fresh])


@pytest.fixture
def cache(tmp_path):
    return ModuleCache(tmp_path / "cache")


def file_of(cache, key=KEY):
    (file,) = (cache.directory / "modules" / key[:2] / key).glob("kernel_*.py")
    return file


def works(loaded) -> bool:
    array = np.zeros(5, np.int64)
    loaded.run(1, new_state(), array, 5)
    return array.tolist() == [1] * 5


def test_a_stored_module_is_found_again(cache, tmp_path):
    assert cache.load(KEY) is None
    stored = cache.store(KEY, SMALL)
    assert stored.VALUE == 42
    assert cache.load(KEY) is stored
    again = ModuleCache(tmp_path / "cache").load(KEY)
    assert again is not stored
    assert again.VALUE == 42
    assert again.__file__ == str(file_of(cache))
    assert sys.modules[again.__name__] is again


def test_modules_of_different_keys_do_not_meet(cache):
    first, second = cache.store("11" * 32, "VALUE = 1\n"), cache.store("22" * 32, "VALUE = 2\n")
    assert (first.VALUE, second.VALUE) == (1, 2)
    assert first.__name__ != second.__name__


def test_the_directory_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path / "chosen"))
    cache = ModuleCache()
    cache.store(KEY, SMALL)
    assert file_of(cache).is_relative_to(tmp_path / "chosen")


def test_an_error_in_a_module_is_its_own(cache):
    with pytest.raises(ZeroDivisionError):
        cache.store(KEY, "1 / 0\n")
    assert f"polytune_kernel_{KEY[:32]}" not in sys.modules
    assert cache.store(KEY, SMALL).VALUE == 42


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content.replace(b"42", b"43"),
        lambda content: b"\xff\x00" * 50,
        lambda content: content + b"VALUE = 0\n",
    ],
    ids=["empty", "truncated", "changed", "garbled", "extended"],
)
def test_a_damaged_source_is_noticed_and_replaced(cache, tmp_path, damage):
    cache.store(KEY, SMALL)
    file = file_of(cache)
    file.write_bytes(damage(file.read_bytes()))
    fresh = ModuleCache(tmp_path / "cache")
    with pytest.warns(CacheWarning, match="damaged"):
        assert fresh.load(KEY) is None
    assert not file.exists()
    assert fresh.store(KEY, SMALL).VALUE == 42
    assert ModuleCache(tmp_path / "cache").load(KEY).VALUE == 42


def test_clear_deletes_what_is_on_disk(cache):
    stored = cache.store(KEY, SMALL)
    cache.clear()
    assert cache.load(KEY) is None
    assert not (cache.directory / "modules").exists()
    assert stored.VALUE == 42


def test_the_size_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_STORES_BETWEEN_EVICTIONS", 1)
    writer = ModuleCache(tmp_path / "cache")
    for number in range(5):
        key = f"{number:02d}" * 32
        writer.store(key, SMALL + "#" * 1000)
        os.utime(file_of(writer, key).parent, (number, number))
    monkeypatch.setenv("POLYTUNE_CACHE_LIMIT", "0.003")
    ModuleCache(tmp_path / "cache").store(KEY, SMALL)
    left = {file.parent.name[:2] for file in (tmp_path / "cache" / "modules").glob("*/*/kernel_*.py")}
    assert left == {"03", "04", KEY[:2]}


def test_a_limit_that_is_no_number_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYTUNE_CACHE_LIMIT", "much")
    with pytest.warns(CacheWarning, match="POLYTUNE_CACHE_LIMIT='much'"):
        ModuleCache(tmp_path)


def test_a_directory_that_cannot_be_made_gives_way_to_a_temporary_one(tmp_path, source):
    (tmp_path / "file").write_text("in the way")
    cache = ModuleCache(tmp_path / "file" / "cache")
    assert cache.load(KEY) is None
    with pytest.warns(CacheWarning, match="POLYTUNE_CACHE_DIR") as caught:
        loaded = cache.store(KEY, source)
        cache.store("cd" * 32, SMALL)
    assert len(saying(caught, CacheWarning, tmp_path)) == 1
    assert works(loaded)
    assert cache.directory == tmp_path / "temporary"
    assert cache.load(KEY) is loaded


def test_a_directory_that_became_read_only_is_left(cache, tmp_path, monkeypatch):
    cache.store(KEY, SMALL)

    def refuse(*arguments, **options):
        if str(options.get("dir", "")).startswith(str(tmp_path)):
            raise PermissionError(13, "Permission denied")
        return original(*arguments, **options)

    original = module.tempfile.TemporaryFile
    monkeypatch.setattr(module.tempfile, "TemporaryFile", refuse)
    fresh = ModuleCache(tmp_path / "cache")
    assert fresh.load(KEY) is None
    with pytest.warns(CacheWarning, match="Permission denied"):
        assert fresh.store(KEY, SMALL).VALUE == 42


def test_a_full_disk_leaves_modules_in_memory(tmp_path, monkeypatch, source):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.tempfile, "mkstemp", full)
    cache = ModuleCache(tmp_path / "cache")
    with pytest.warns(CacheWarning, match="No space left"):
        loaded = cache.store(KEY, source)
    assert cache.directory is None
    assert works(loaded)
    compile_for(loaded.double, [typeof(1)])
    assert loaded.double(21) == 42
    assert loaded.run.stats.cache_path is None
    assert cache.load(KEY) is loaded
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.store("cd" * 32, SMALL).VALUE == 42


ANOTHER_PROCESS = """
    import json, sys, time
    import numpy as np
    from numba import typeof
    from polytune.runtime.modules.cache import ModuleCache
    from polytune.runtime.modules.compilation import compile_for
    from polytune.runtime.teams.team import new_state

    directory, key, source, start = sys.argv[1:]
    time.sleep(max(0.0, float(start) - time.time()))
    cache = ModuleCache(directory)
    loaded = cache.load(key)
    found = loaded is not None
    loaded = loaded or cache.store(key, source)
    array = np.zeros(5, np.int64)
    arguments = (1, new_state(), array, 5)
    compile_for(loaded.run, [typeof(each) for each in arguments])
    loaded.run(*arguments)
    hits, misses = (sum(count.values()) for count in loaded.run.stats[1:])
    print(json.dumps({"found": found, "array": array.tolist(), "hits": hits, "misses": misses}))
"""


def start_process(directory, source, start=0.0) -> subprocess.Popen:
    arguments = [str(directory), KEY, source, str(start)]
    return subprocess.Popen(
        [sys.executable, "-W", "error::UserWarning", "-c", textwrap.dedent(ANOTHER_PROCESS), *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen) -> dict:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(out)


def test_processes_racing_for_one_entry_all_win_and_the_next_one_compiles_nothing(tmp_path, source):
    start = time.time() + 3.0  # by then all have imported what they need
    racing = [start_process(tmp_path / "cache", source, start) for _ in range(3)]
    for process in racing:
        assert outcome(process)["array"] == [1] * 5
    warm = outcome(start_process(tmp_path / "cache", source))
    assert warm == {"found": True, "array": [1] * 5, "hits": 1, "misses": 0}
    assert not list((tmp_path / "cache").rglob("*.tmp*"))
