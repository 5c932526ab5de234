"""The twelve strategies of P. Bruel's design-of-experiments slides, which compare them on the Laplacian kernel."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["STRATEGIES", "named"]

STRATEGIES: Mapping[str, str] = {
    "RS": "random",
    "LHS": "latin_hypercube",
    "GS": "greedy",
    "GSR": "greedy_restart",
    "GA": "genetic",
    "LM": "linear_model:final=1,elimination=1,transform=false",
    "LMB": "linear_model:final=1,transform=false",
    "LMBT": "linear_model:final=1",
    "RQ": "linear_model:final=1,quantile=0.05",
    "DOPT": "linear_model:final=1,sample=d_optimal,elimination=1,transform=false",
    "DLM": "dlmt:transform=false",
    "DLMT": "dlmt",
}
"""The searches here, by the paper's names of the strategies.

The linear models measure the configuration with the best prediction after a sample that takes the rest of the budget:
LM by least squares, LMB without the terms that mean nothing, LMBT of the transformed response besides, RQ of a low
quantile, DOPT from one D-optimal design.  The designed experiments go on stage by stage.
"""

named: Mapping[str, str] = {written: name for name, written in STRATEGIES.items()}
"""The paper's names, by the searches here."""
