"""What holds for every kind of statement, those to come included."""

from __future__ import annotations

import numpy as np
import pytest

from polytune.frontend.lowering import lower
from polytune.frontend.syntax.jumps import Structured
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of


def first_above(A, limit):
    for i in range(len(A)):
        if A[i] > limit:
            return i
    return -1


def test_a_return_that_was_not_made_a_branch_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one inside of a statement that ``jumps.py`` does not know: what comes after it would run all the same."""
    monkeypatch.setattr(lower, "structured", lambda body, fresh, is_over_values: Structured(list(body), None))
    stages = Stages(first_above, signature_of(("A", "limit"), (np.zeros(3), 1.0)))
    with pytest.raises(AttributeError, match="site"):
        _ = stages.scop
