"""JSON that anyone may have written: what Python's decoder gives up on is an error that has a place."""

from __future__ import annotations

import json
import re
from typing import Any

_DECODER = json.JSONDecoder()
_MANY_DIGITS = re.compile(r"\d{1000,}")
_SPACE = re.compile(r"[ \t\n\r]*")


class TooLargeError(json.JSONDecodeError):
    """The text is JSON, but a value in it is larger than any that is read here."""


def decode_at(text: str, position: int) -> tuple[Any, int]:
    """The value that begins at a position of a text, and the position after it.

    Raises:
        TooLargeError: lists or objects lie in one another some hundred deep, or a number has thousands of digits.
        JSONDecodeError: there is no value.
    """
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise TooLargeError("lists or objects lie in one another too deeply to be read", text, position) from None
    except ValueError:  # Python makes no integers of that many digits
        digits = _MANY_DIGITS.search(text, position)
        place = position if digits is None else digits.start()
        raise TooLargeError("the number has more digits than any that is read here", text, place) from None


def decode(text: str) -> Any:
    """The value that a whole text is.

    Raises:
        TooLargeError, JSONDecodeError: as of `decode_at`.
    """
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    value, end = decode_at(text, start)
    end = _SPACE.match(text, end).end()  # type: ignore[union-attr]
    if end != len(text):
        raise json.JSONDecodeError("something follows the value", text, end)
    return value


def why(error: json.JSONDecodeError) -> str:
    """Return what is wrong, as a sentence without its end."""
    return error.msg if isinstance(error, TooLargeError) else f"this is no JSON: {error.msg}"
