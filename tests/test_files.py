"""Files that are written in one step."""

from __future__ import annotations

import os
import stat

import pytest

from polytune.errors import OutputError
from polytune.files import check_output, check_output_folder, failure_of, replace_private, replace_text


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are those of POSIX")
def test_what_is_no_file_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_text(pipe, "text")
        assert os.read(reader, 9) == b"text" and stat.S_ISFIFO(pipe.stat().st_mode)
    finally:
        os.close(reader)
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege on Windows")
def test_links_go_on_to_lead_where_they_did(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name in ("there", "new"):
        target, link = tmp_path / "elsewhere" / name, tmp_path / name
        link.symlink_to(target)
        replace_text(link, "text")
        assert link.is_symlink() and target.read_text() == "text"


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_private_files_are_for_their_user_alone(tmp_path):
    replace_private(tmp_path / "private", b"")
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_the_message_names_the_path_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "table.csv"
    with pytest.raises(OSError) as caught:
        replace_text(path, "text")
    assert caught.value.filename == str(path)
    assert failure_of(caught.value).startswith(f"{path}: No such file or directory; see whether")


def test_outputs_are_tried_before_there_is_anything_to_write(tmp_path):
    file = tmp_path / "file"
    file.touch()
    for good in (None, file, tmp_path / "new"):
        check_output(good)
    for good in (None, tmp_path, tmp_path / "new" / "folder"):
        check_output_folder(good)
    for path, said in (
        (tmp_path, "it is a folder; name a file in it"),
        (file / "x", f"{file} is a file; name a file in a folder"),
        (tmp_path / "no" / "x", f"there is no folder {tmp_path / 'no'}; make it, or name another file"),
    ):
        with pytest.raises(OutputError) as caught:
            check_output(path)
        assert str(caught.value) == f"{path} cannot be written: {said}"
    for path in (file, file / "x"):
        with pytest.raises(OutputError, match="is a file; name another folder, or remove the file"):
            check_output_folder(path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
