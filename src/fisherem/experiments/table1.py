"""Table 1: free parameters of the DLM models, the paper's twelve and any others, and of nine other models."""

from __future__ import annotations

import pandas as pd

from ..model.dlm import MODELS, OTHER_MODELS
from .paper import TABLE_1, TABLE_1_OTHERS

__all__ = ["shown", "table"]


def table(K: int = 4, p: int = 100) -> pd.DataFrame:
    """Counts for d = K - 1, beside the printed ones; missing for models that are not in the paper."""
    d = K - 1
    rows = [(m.paper_name, TABLE_1.get(name), m.n_parameters(K, p, d)) for name, m in MODELS.items()]
    rows += [(name, TABLE_1_OTHERS.get(name), count(K, p, d)) for name, count in OTHER_MODELS.items()]
    found = pd.DataFrame(rows, columns=["model", "paper", "ours"])
    found["paper"] = found["paper"].astype("Int64")
    found["difference"] = found["ours"] - found["paper"]
    return found


def shown(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as texts; empty for models that are not in the paper."""
    return numbers.astype(object).where(numbers.notna(), "")
