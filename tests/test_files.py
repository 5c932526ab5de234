"""Files that are written in one step."""

from __future__ import annotations

import os
import stat

import pytest

from polytune.files import replace_private, replace_text


@pytest.mark.parametrize(
    ("write", "old", "new"), [(replace_text, "old", "né\nw\r\n"), (replace_private, b"old", b"new\0")]
)
def test_all_of_the_new_or_all_of_the_old(tmp_path, monkeypatch, write, old, new):
    path = tmp_path / "kept"
    write(path, old)
    write(path, new)
    assert path.read_bytes() == (new.encode() if isinstance(new, str) else new)

    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write(path, old)
    assert path.read_bytes() == (new.encode() if isinstance(new, str) else new)
    assert [file.name for file in tmp_path.iterdir()] == ["kept"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_private_files_are_for_their_user_alone(tmp_path):
    replace_private(tmp_path / "private", b"")
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
