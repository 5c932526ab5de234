"""Models of counters in files: JSON, which runs no code when it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from polytune.errors import MeasurementError
from polytune.files import replace_text
from polytune.tuner.counters.models import CounterModel, LeastSquaresCounters, RecordedCounters, TreeCounters

__all__ = ["is_model", "load_model", "save_model"]

_MARK, _VERSION = "polytune_counter_model", 1
_KINDS: Mapping[str, Callable[[Mapping[str, Any]], CounterModel]] = {
    kind.kind: kind.from_json for kind in (RecordedCounters, TreeCounters, LeastSquaresCounters)
}


def save_model(path: str | os.PathLike[str], model: CounterModel) -> None:
    """Write a trained model of counters to a file, which `load_model` reads here or on another machine.

    Raises:
        MeasurementError: the model is of a kind that is made anew each time.
        OSError: the file cannot be written.
    """
    document = {_MARK: _VERSION, "kind": model.kind, "model": model.to_json()}
    replace_text(Path(path), json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n")


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file begins as `save_model` begins one; False where there is none."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_MARK) + 2).decode("utf-8", "replace") == f'{{"{_MARK}'
    except OSError:
        return False


def load_model(path: str | os.PathLike[str]) -> CounterModel:
    """The model of counters in a file.

    Raises:
        MeasurementError: the file has none, or it does not hold together, or cannot be read.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise MeasurementError(f"the model of counters {path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise MeasurementError(f"{path} is no model of counters: it is no JSON; save_model writes one") from None
    if not isinstance(document, dict) or _MARK not in document:
        raise MeasurementError(f"{path} is no model of counters: there is no {_MARK!r} in it; save_model writes one")
    if document[_MARK] != _VERSION or document.get("kind") not in _KINDS:
        raise MeasurementError(
            f"{path}: the format is {document[_MARK]!r} and the model {document.get('kind')!r}, and this polytune "
            f"reads {_VERSION} and {', '.join(_KINDS)}; update polytune"
        )
    try:
        return _KINDS[document["kind"]](document["model"])
    except (ArithmeticError, LookupError, TypeError, ValueError, MeasurementError) as error:
        raise MeasurementError(f"{path}: the model does not hold together ({error}); train it anew") from None
