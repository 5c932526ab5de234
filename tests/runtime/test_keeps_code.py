"""Whether Numba can keep machine code of a file."""

import pytest
from numba.core import caching

from polytune.runtime.modules.compilation import keeps_code


def test_code_of_a_writable_folder_is_kept(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("def probe(): pass\n")
    assert keeps_code(str(file))


def test_code_is_not_kept_where_nothing_can_be_written(tmp_path, monkeypatch: pytest.MonkeyPatch):
    def nowhere(self):
        raise OSError("read-only file system")

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", nowhere)
    file = tmp_path / "module.py"
    file.write_text("def probe(): pass\n")
    assert not keeps_code(str(file))
