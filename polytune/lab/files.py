"""The text of a recording, compressed or not, as much of it as there is."""

from __future__ import annotations

import zlib
from pathlib import Path

from polytune.errors import RecordingError
from polytune.records import dataclass

_GZIP = b"\x1f\x8b"
_ALWAYS = 1 << 26
_MOST_TIMES = 200
"""Recordings become 10 to 50 times as large as compressed files, and what is made to fill memory a thousand times."""


@dataclass(frozen=True)
class TextFile:
    """A file that has been read.

    Attributes:
        name: what messages call it.
        stem: the file's name without folder and endings: ``gemm`` for ``spaces/gemm.json.gz``.
        text: its content.
        cut: whether the compressed stream ends before its end, so that the text does as well.
    """

    name: str
    stem: str
    text: str
    cut: bool = False


def read(path: Path) -> TextFile:
    """Read a text file, decompressing it if it is compressed with gzip, whatever it is called.

    Raises:
        OSError: there is no such file, or it cannot be read.
        RecordingError: its compression is damaged, or it is no text in UTF-8, or what is compressed is so much larger
            than the file that it can hardly be a recording.
    """
    content = path.read_bytes()
    cut = False
    if content.startswith(_GZIP):
        content, cut = _decompress(content, path, max(_ALWAYS, _MOST_TIMES * len(content)))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # the file ends within a character
            text, cut = content[: error.start].decode("utf-8-sig"), True
        else:
            line = content.count(b"\n", 0, error.start) + 1
            raise RecordingError(f"{path}:{line}: this is no text in UTF-8; recordings are CSV or JSON") from None
    return TextFile(str(path), path.name.split(".")[0], text, cut)


def _decompress(content: bytes, path: Path, most: int) -> tuple[bytes, bool]:
    """Return what a gzip stream holds, at most so many bytes, and whether it ends early."""
    parts: list[bytes] = []
    left = most
    while content:
        stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            parts.append(stream.decompress(content, left + 1))
        except zlib.error as error:
            raise RecordingError(f"{path}: the compressed file is damaged ({error}); fetch or write it again") from None
        left -= len(parts[-1])
        if left < 0:
            raise RecordingError(
                f"{path}: there are more than {most} bytes in this compressed file of {path.stat().st_size}, which no "
                "recording has; if it is one all the same, decompress it (gunzip) and name the file that comes of it"
            )
        if not stream.eof:
            return b"".join(parts), True
        content = stream.unused_data
    return b"".join(parts), False


def device_by_name(file: TextFile) -> str:
    """The device in a file's name, where the community's benchmark hub puts it: ``<kernel>__<device>.csv``."""
    return file.stem.partition("__")[2].replace("_", " ")
