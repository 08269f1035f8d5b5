"""How stable the selection is, as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..model_selection.stability import Stability
from .text import clean, tally

__all__ = ["StabilityTable", "stability_of"]

# Variables with a row in the table: the most frequent ones; the others were rarely selected.
_MAX_STABLE = 40


@dataclass
class StabilityTable:
    """How often the refits of `fisherem.stability` select each variable, and how well their groups agree.

    `rows` holds (variable, frequency, whether the page's fit selects it, whether it is stable) of at most 40 of the
    `n_variables`, most frequent first. A variable is stable if a share of at least `threshold` of the `n_refits`
    selects it; `n_stable` are, and `bound` is the bound on how many of them are expected to be false. `agreement` is
    the mean adjusted Rand index with the fit to all rows, `pairwise` that between refits. `other_selection` says
    whether the refitted estimator selects other variables than the page's fit; `failures` counts the reasons of
    failed refits.
    """

    rows: list[tuple[str, float, bool, bool]]
    n_variables: int
    threshold: float
    bound: float
    agreement: float
    pairwise: float
    n_refits: int
    n_stable: int
    other_selection: bool
    failures: dict[str, int] = field(default_factory=dict)


def stability_of(stability: Stability, support: np.ndarray, threshold: float = 0.75) -> StabilityTable:
    """The table of a `Stability` beside the page's own selection `support` (bool p)."""
    if not isinstance(stability, Stability):
        raise TypeError(f"stability must be the result of fisherem.stability(...); got a {type(stability).__name__}")
    p = len(support)
    if len(stability.frequencies) != p:
        raise ValueError(
            f"stability covers {len(stability.frequencies)} variables, but X has {p}: compute it for this table"
        )
    frequency, stable = stability.frequencies, stability.stable(threshold)
    order = np.argsort(-frequency, kind="stable")[:_MAX_STABLE]
    return StabilityTable(
        rows=[(clean(stability.names[j]), float(frequency[j]), bool(support[j]), bool(stable[j])) for j in order],
        n_variables=p,
        threshold=threshold,
        bound=stability.error_bound(threshold),
        agreement=float(np.mean(stability.agreement)),
        pairwise=float(np.mean(stability.pairwise)) if len(stability.pairwise) else float("nan"),
        n_refits=len(stability.n_selected),
        n_stable=int(stable.sum()),
        other_selection=bool((stability.selected != support).any()),
        failures=tally(stability.failures),
    )
