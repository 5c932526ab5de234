"""Python function to SCoP: the only part that reads the user's source."""

from polytune.frontend.analyse import analyse
from polytune.frontend.syntax.inference import infer_signature

__all__ = ["analyse", "infer_signature"]
