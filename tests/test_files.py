"""Files that are written in one step."""

from __future__ import annotations

import os
import stat

import pytest

from polytune.files import replace_private, replace_text, require_folder, require_writable, what_the_system_says


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


def test_errors_name_the_file_that_people_know(tmp_path):
    path = tmp_path / "missing" / "kept"
    with pytest.raises(FileNotFoundError) as raised:
        replace_text(path, "new")
    assert raised.value.filename == str(path) and raised.value.filename2 is None
    assert what_the_system_says(raised.value) == (
        f"{path}: No such file or directory; check how its name is written, or make it"
    )


def test_what_cannot_be_written_is_told_before(tmp_path):
    file = tmp_path / "file"
    require_writable(file)
    assert not file.exists()
    file.write_text("kept")
    require_writable(file)
    for path, error in (
        (tmp_path, IsADirectoryError),
        (tmp_path / "missing" / "file", FileNotFoundError),
        (file / "under", NotADirectoryError),
    ):
        with pytest.raises(error):
            require_writable(path)
    with pytest.raises(NotADirectoryError):
        require_folder(file)
    require_folder(tmp_path / "a" / "b")
    require_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir() and file.read_text() == "kept"
