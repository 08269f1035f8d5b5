"""The stability of groups and variables under refits to subsamples, for the page, the terminal and the files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...search.scoring import best_matching, contingency
from ...search.stability import COMES_BACK, Stability
from ..text import clean, tally
from .rows import MAX_DOUBTS

__all__ = ["RowBack", "RowsBack", "StabilityTable", "VariableBack", "stability_of", "stability_record"]

# Most variables in the table, by selection frequency.
_MAX_STABLE = 40


@dataclass(frozen=True)
class RowBack:
    """A row that often changes groups: its number in X and its group (both from 0), the share of refits that assign it
    to this group, and its known class."""

    row: int
    id: str
    group: int
    share: float
    known: str | None


@dataclass(frozen=True)
class RowsBack:
    """How often the refits assign the n rows to their groups.

    `shares` (n) are the shares of refits that assign each row to its group, `mean` is their mean and `groups` (K) are
    their means by group (NaN for an empty group). `n_shaky` rows are below the threshold; `shaky` holds at most 200 of
    them, least stable first. `n_moved` rows have a different group on the page than in the fit that the refits are
    compared with.
    """

    shares: np.ndarray
    mean: float
    groups: np.ndarray
    shaky: list[RowBack]
    n_shaky: int
    n_moved: int


@dataclass(frozen=True)
class VariableBack:
    """A variable: its column (from 0), its name, the share of refits that select it, whether the page's fit selects it
    and whether it is stable."""

    index: int
    name: str
    frequency: float
    selected: bool
    stable: bool


@dataclass
class StabilityTable:
    """How often the refits of `fisherem.stability` select each variable, and how well their groups agree.

    `rows` holds at most 40 of the `n_variables`, most frequent first, and `frequencies` the shares of all. A
    variable is stable if a share of at least `threshold` of the `n_refits`, each on a share `fraction` of the rows,
    selects it; `n_stable` are, and `bound` is the bound on how many of them are expected to be false. `agreement`
    is the mean adjusted Rand index with the fit to all rows, `pairwise` that between refits. `other_selection` says
    whether the refitted estimator selects other variables than the page's fit; `failures` counts the reasons of
    failed refits. `back` is None where the rows were not counted.
    """

    rows: list[VariableBack]
    frequencies: np.ndarray
    n_variables: int
    threshold: float
    bound: float
    agreement: float
    pairwise: float
    n_refits: int
    fraction: float
    n_stable: int
    other_selection: bool
    back: RowsBack | None = None
    failures: dict[str, int] = field(default_factory=dict)


def stability_of(
    stability: Stability, support: np.ndarray, posteriors: np.ndarray, ids, known=None, threshold: float = COMES_BACK
) -> StabilityTable:
    """The table of a `Stability` next to the selection of the page's fit, `support` (bool p) and posteriors (n x K)."""
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
        rows=[
            VariableBack(int(j), clean(stability.names[j]), float(frequency[j]), bool(support[j]), bool(stable[j]))
            for j in order
        ],
        frequencies=frequency,
        n_variables=p,
        threshold=threshold,
        bound=stability.error_bound(threshold),
        agreement=float(np.mean(stability.agreement)),
        pairwise=float(np.mean(stability.pairwise)) if len(stability.pairwise) else float("nan"),
        n_refits=len(stability.n_selected),
        fraction=stability.fraction,
        n_stable=int(stable.sum()),
        other_selection=bool((stability.selected != support).any()),
        back=_rows_back(stability, posteriors, ids, known, threshold),
        failures=tally(stability.failures),
    )


def _rows_back(stability: Stability, posteriors: np.ndarray, ids, known, threshold: float) -> RowsBack | None:
    shares, labels = stability.row_frequencies, stability.labels
    if shares is None or labels is None:
        return None
    n, K = posteriors.shape
    if len(shares) != n:
        raise ValueError(f"stability covers {len(shares)} rows, but X has {n}: compute it for this table")
    group = posteriors.argmax(axis=1)
    table = contingency(group, labels, (K, max(K, int(labels.max()) + 1)))
    counts = np.bincount(group, minlength=K)
    sums = np.bincount(group, weights=shares, minlength=K)
    shaky = np.flatnonzero(shares < threshold)
    listed = shaky[np.argsort(shares[shaky], kind="stable")][:MAX_DOUBTS]
    return RowsBack(
        shares=shares,
        mean=float(shares.mean()),
        groups=np.divide(sums, counts, out=np.full(K, np.nan), where=counts > 0),
        shaky=[
            RowBack(int(i), clean(ids[i]), int(group[i]), float(shares[i]), None if known is None else known[i])
            for i in listed
        ],
        n_shaky=len(shaky),
        n_moved=n - int(table[best_matching(table)].sum()),
    )


def stability_record(stability: Stability, ids) -> dict[str, Any]:
    """The figures of a `Stability` as plain values, for --json and the terminal; `ids` (n) name the rows.

    The shares of all rows and variables are in labels.csv and variables.csv.
    """
    shares, frequency = stability.row_frequencies, stability.frequencies
    assert shares is not None
    shaky = np.flatnonzero(shares < COMES_BACK)
    shaky = shaky[np.argsort(shares[shaky], kind="stable")]
    return {
        "n_refits": len(stability.n_selected),
        "fraction": stability.fraction,
        "threshold": COMES_BACK,
        "rows": float(shares.mean()),
        "n_shaky": len(shaky),
        "shaky_rows": {str(ids[i]): float(shares[i]) for i in shaky[:MAX_DOUBTS]},
        "agreement": float(np.mean(stability.agreement)),
        "variables": {
            name: float(f) for name, f, s in zip(stability.names, frequency, stability.selected, strict=True) if s
        },
        "n_stable": int(stability.stable().sum()),
        "failures": tally(stability.failures),
    }
