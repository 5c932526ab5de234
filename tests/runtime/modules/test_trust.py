"""What somebody else could have written is not run: folders and files of the caches, by owner and permissions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from numba import types

from polytune.errors import CacheWarning
from polytune.runtime.background import worker
from polytune.runtime.devices.kernel_cache import KernelCache
from polytune.runtime.modules import compilation, trust
from polytune.runtime.modules.cache import ModuleCache
from polytune.runtime.modules.compilation import compile_for, keeps_code
from polytune.runtime.modules.trust import UntrustedError, check_folder, check_folders, make_folders, read_trusted

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows keeps users apart by other means")

as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")

KEY = "ab" * 32
SOMEBODY = 54321
"""The number of a user who is not this one."""


@pytest.fixture(autouse=True)
def on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests are warned again, and each has a temporary directory of its own, where no other one leaves code."""
    compilation.warn_untrusted.cache_clear()
    monkeypatch.setattr("polytune.runtime.modules.cache._private", [])


@pytest.fixture
def no_mask() -> Iterator[None]:
    """Files and folders have all permissions that are not left out."""
    before = os.umask(0)
    yield
    os.umask(before)


def entry_of(root: Path) -> Path:
    return root / "modules" / KEY[:2] / KEY


def kept(root: Path, source: str) -> Path:
    """A module in a cache, with machine code of its function ``double``; the module's file."""
    compile_for(ModuleCache(root).store(KEY, source).double, [types.int64])
    (file,) = entry_of(root).glob("kernel_*.py")
    return file


def planted(text: str) -> str:
    """A module that is as whole as one of the cache's own, and tells when it is run."""
    from polytune.runtime.modules.cache import _with_hash

    return _with_hash(f"import sys\nsys.modules['planted'] = None\n{text}")


def was_run() -> bool:
    return sys.modules.pop("planted", True) is None


LEVELS = ("", "modules", f"modules/{KEY[:2]}", f"modules/{KEY[:2]}/{KEY}", f"modules/{KEY[:2]}/{KEY}/__pycache__")


@pytest.mark.parametrize("level", LEVELS)
def test_folder_that_all_may_write_to_is_refused(tmp_path, source, level):
    root = tmp_path / "cache"
    file = kept(root, source)
    file.write_text(planted(source))
    assert ModuleCache(root).load(KEY) is not None
    assert was_run()
    (root / level).chmod(0o777)
    cache = ModuleCache(root)
    with pytest.warns(CacheWarning, match="every user may write to .*What is in it would be run") as found:
        assert cache.load(KEY) is None
        module = cache.store(KEY, source)
        compile_for(module.double, [types.int64])
    assert len(found) == 1
    assert not was_run()
    assert module.double(4) == 8
    assert cache.directory is not None
    assert not cache.directory.is_relative_to(root)
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700


def give_away(path: Path) -> None:
    os.chown(path, SOMEBODY, -1, follow_symlinks=False)


@as_root
@pytest.mark.parametrize("level", [*LEVELS, "kernel"])
def test_what_belongs_to_another_user_is_refused(tmp_path, source, level):
    root = tmp_path / "cache"
    file = kept(root, source)
    file.write_text(planted(source))
    give_away(file if level == "kernel" else root / level)
    cache = ModuleCache(root)
    with pytest.warns(CacheWarning, match=f"belongs to another user, number {SOMEBODY}") as found:
        assert cache.load(KEY) is None
        assert cache.store(KEY, source).double(4) == 8
    assert len(found) == 1
    assert not was_run()


@pytest.mark.parametrize("mode", [0o602, 0o666])
def test_file_that_all_may_write_to_is_refused(tmp_path, source, mode):
    file = kept(tmp_path, source)
    file.write_text(planted(source))
    file.chmod(mode)
    with pytest.warns(CacheWarning, match=rf"every user may write to .*{file.name}"):
        assert ModuleCache(tmp_path).load(KEY) is None
    assert not was_run()


def test_link_is_refused(tmp_path, source):
    file = kept(tmp_path / "cache", source)
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text(planted(source))
    file.unlink()
    file.symlink_to(elsewhere)
    with pytest.warns(CacheWarning, match=r"kernel_\w+\.py is a link"):
        assert ModuleCache(tmp_path / "cache").load(KEY) is None
    assert not was_run()


def test_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UntrustedError, match="pipe is not a plain file"):
        read_trusted(tmp_path / "pipe")


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("how", ["mode", "link", pytest.param("owner", marks=as_root)])
def test_machine_code_that_others_may_write_is_not_loaded(tmp_path, source, suffix, how):
    root = tmp_path / "cache"
    kept(root, source)
    (code,) = root.rglob(f"*{suffix}")
    content = code.read_bytes()
    if how == "mode":
        code.chmod(0o666)
    elif how == "owner":
        give_away(code)
    else:
        code.rename(tmp_path / "moved")
        code.symlink_to(tmp_path / "moved")
    module = ModuleCache(root).load(KEY)
    assert module is not None
    with pytest.warns(CacheWarning, match="is not used .*as it would be run; functions are") as found:
        compile_for(module.double, [types.int64])
        compile_for(module.double, [types.float64])
    assert len(found) == 1
    assert not module.double.stats.cache_hits
    assert (module.double(4), module.double(1.5)) == (8, 3.0)
    assert code.read_bytes() == content


def test_folder_of_machine_code_is_looked_at_before_numba_uses_it(tmp_path):
    file = tmp_path / "package.py"
    file.write_text("def probe(): pass\n")
    assert keeps_code(str(file))
    (tmp_path / "__pycache__").chmod(0o777)
    with pytest.warns(CacheWarning, match="every user may write to .*__pycache__"):
        assert not keeps_code(str(file))
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        assert not keeps_code(str(file))


def test_worker_runs_the_text_and_no_bytecode_beside_it(tmp_path, source):
    import importlib.util
    import py_compile

    file = kept(tmp_path, source)
    other = tmp_path / "other.py"
    other.write_text(planted(source))
    bytecode = importlib.util.cache_from_source(str(file))
    py_compile.compile(str(other), cfile=bytecode, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    name = f"polytune_kernel_{KEY[:32]}"
    assert isinstance(worker._load(name, str(file)), ModuleType)
    assert not was_run()
    file.chmod(0o666)
    with pytest.raises(UntrustedError):
        worker._load(name, str(file))


def test_group_of_others_is_refused_and_the_users_own_is_not(tmp_path, source, monkeypatch):
    file = kept(tmp_path, source)
    file.chmod(0o660)
    monkeypatch.setattr(trust, "_is_own_group", lambda group: False)
    with pytest.warns(CacheWarning, match="other users of its group may write to"):
        assert ModuleCache(tmp_path).load(KEY) is None
    monkeypatch.setattr(trust, "_is_own_group", lambda group: True)
    assert ModuleCache(tmp_path).load(KEY) is not None


def test_group_is_the_users_own_if_it_has_the_name_and_nobody_else(monkeypatch):
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")

    def decided(name: str, members: list[str], primary: int = 77) -> bool:
        trust._is_own_group.cache_clear()
        monkeypatch.setattr(pwd, "getpwuid", lambda user: pwd.struct_passwd(("ada", "", user, primary, "", "", "")))
        monkeypatch.setattr(grp, "getgrgid", lambda group: grp.struct_group((name, "", group, members)))
        return trust._is_own_group(77)

    try:
        assert decided("ada", [])
        assert decided("ada", ["ada"])
        assert not decided("ada", ["ada", "eve"])
        assert not decided("users", [])
        assert not decided("ada", [], primary=78)
    finally:
        trust._is_own_group.cache_clear()


def test_folder_of_ones_own_in_a_place_for_all(tmp_path, source):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    kept(shared / "cache", source)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ModuleCache(shared / "cache").load(KEY) is not None


def test_cache_folder_itself_may_be_a_link(tmp_path, source):
    kept(tmp_path / "real", source)
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    assert ModuleCache(tmp_path / "cache").load(KEY) is not None
    (tmp_path / "real").chmod(0o777)
    with pytest.warns(CacheWarning, match="every user may write to"):
        assert ModuleCache(tmp_path / "cache").load(KEY) is None


def test_what_is_new_is_for_this_user_alone(tmp_path, source, no_mask):
    root = tmp_path / "cache"
    kept(root, source)
    KernelCache(root).store(KEY, b"code")
    found = [root, *root.rglob("*")]
    assert {path.suffix for path in found} >= {".py", ".nbi", ".nbc", ".seal"}
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = ModuleCache(root).load(KEY)
        assert module is not None
        compile_for(module.double, [types.int64])
    assert module.double.stats.cache_hits


DAMAGES: dict[str, Callable[[Path], None]] = {
    "file": lambda code: code.chmod(0o666),
    "folder": lambda code: code.parent.chmod(0o777),
    "root": lambda code: code.parents[3].chmod(0o777),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_device_code_that_others_may_write_is_not_loaded(tmp_path, what):
    root = tmp_path / "cache"
    KernelCache(root).store(KEY, b"code")
    (code,) = root.rglob("code")
    assert KernelCache(root).load(KEY) == b"code"
    DAMAGES[what](code)
    cache = KernelCache(root)
    with pytest.warns(CacheWarning, match="every user may write to .*a directory of your own") as found:
        assert cache.load(KEY) is None
        cache.store(KEY, b"anew")
    assert len(found) == 1
    assert cache.load(KEY) == b"anew"
    assert code.read_bytes().endswith(b"code")


@as_root
def test_device_code_of_another_user_is_not_loaded(tmp_path):
    KernelCache(tmp_path).store(KEY, b"code")
    (code,) = tmp_path.rglob("code")
    give_away(code)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert KernelCache(tmp_path).load(KEY) is None


def test_file_is_looked_at_after_it_was_opened(tmp_path, monkeypatch):
    """Another file in its place, after the look, is not what is read; and one before it is what is looked at."""
    path, other = tmp_path / "file", tmp_path / "other"
    path.write_bytes(b"own")
    other.write_bytes(b"planted")
    other.chmod(0o666)
    real = os.fstat

    def looked_at(descriptor):
        facts = real(descriptor)
        os.replace(other, path)
        return facts

    monkeypatch.setattr(trust.os, "fstat", looked_at)
    assert read_trusted(path) == b"own"
    monkeypatch.undo()
    with pytest.raises(UntrustedError):
        read_trusted(path)


def test_folders_that_are_there_are_looked_at_and_not_changed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o777)
    with pytest.raises(UntrustedError, match=r"every user may write to .*a$"):
        make_folders(tmp_path, tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o777
    with pytest.raises(UntrustedError):
        check_folders(tmp_path, tmp_path / "a" / "b")
    (tmp_path / "plain").touch(0o600)
    with pytest.raises(UntrustedError, match="is not a folder"):
        check_folder(tmp_path / "plain")


APPLICATION = """
import numpy as np
import polytune

@polytune.kernel
def twice(A):
    for i in range(A.shape[0]):
        A[i] *= 2.0

A = np.ones(50)
for _ in range(3):
    twice(A)
assert (A == 8.0).all()
"""


def test_kernels_run_where_the_cache_is_refused(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    kept.chmod(0o777)
    (tmp_path / "application.py").write_text(APPLICATION)
    env = {**os.environ, "POLYTUNE_CACHE_DIR": str(kept), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(
        [sys.executable, "application.py"], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("CacheWarning: ") == 1, ran.stderr
    assert f"(every user may write to {kept})" in ran.stderr
    assert not (kept / "modules").exists()


def test_doctor_says_that_the_cache_is_refused(tmp_path, monkeypatch):
    from polytune.cli.findings import find_disk_cache

    monkeypatch.setenv("POLYTUNE_CACHE_DIR", str(tmp_path))
    assert "every user" not in str(find_disk_cache())
    tmp_path.chmod(0o777)
    assert f"it is not used, as what is in it would be run: every user may write to {tmp_path}" in str(
        find_disk_cache()
    )
