"""Keys of generated modules."""

import pytest

from polytune.runtime.modules import cache
from polytune.runtime.modules.cache import key_of


def test_a_key_is_a_stable_function_of_its_parts():
    assert key_of("source", "options") == key_of("source", "options")
    assert len(key_of()) == 64
    assert int(key_of("source"), 16)


def test_different_parts_give_different_keys():
    keys = {key_of(), key_of(""), key_of("ab"), key_of("a", "b"), key_of("b", "a"), key_of("", "ab"), key_of("1:b")}
    assert len(keys) == 7


@pytest.fixture
def before(monkeypatch):
    key = key_of("source")
    forget()
    yield key
    monkeypatch.undo()
    forget()


def forget():
    cache._surroundings.cache_clear()
    cache.runtime_digest.cache_clear()


def test_another_version_of_numba_gives_another_key(before, monkeypatch):
    monkeypatch.setattr("numba.__version__", "0.0")
    assert key_of("source") != before


def test_another_text_of_the_runtime_gives_another_key(before, monkeypatch, tmp_path):
    (tmp_path / "cache.py").write_text("# nothing like it\n")
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))
    assert key_of("source") != before


def test_the_text_of_each_folder_of_the_runtime_counts(before, monkeypatch, tmp_path):
    """The one that translates generated code, say, in whose place another text gives other machine code."""
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))
    folder = tmp_path / "native"
    folder.mkdir()
    digests = set()
    for number, name in enumerate(("lowering.py", "lowering.py", "expressions.py")):
        (folder / name).write_text(f"ROUNDING = {number}\n")
        forget()
        digests.add(cache.runtime_digest())
    (folder / "expressions.py").rename(tmp_path / "expressions.py")
    forget()
    digests.add(cache.runtime_digest())
    assert len(digests) == 4
