"""Rows with missing cells on their way to a fit: checked, completed, and counted."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from .._utils.wording import column_name, count, listed
from ..em.dlm_family import DLMFamily, Means
from ..em.gap_completing import complete_first
from ..em.multistart import Specification
from ..em.problem import Problem
from ..tables.scaling import in_unit

__all__ = ["NO_POWERS", "check_gaps", "completed", "for_gaps", "log_jacobian", "warn_of_empty_rows"]

NO_POWERS = (
    "transformation='power' takes no missing values yet: fit with transformation='none' and impute them, or leave out "
    "the rows or columns that have them"
)


def check_gaps(table: np.ndarray, names=None, weights: np.ndarray | None = None) -> None:
    """An error for columns (p) without any observed cell, by name; a warning for rows without any."""
    missing = np.isnan(table)
    counting = missing if weights is None else missing[weights > 0]
    if len(empty := np.flatnonzero(counting.all(axis=0))):
        shown = listed([column_name(int(j)) for j in empty] if names is None else [names[j] for j in empty])
        where = "" if weights is None else " of positive weight"
        raise ValueError(f"every value is missing in {shown}{where}: leave out such columns")
    warn_of_empty_rows(missing)


def warn_of_empty_rows(missing: np.ndarray) -> None:
    """Say how many rows (of a bool n x p) have no observed cell at all."""
    if n := int(missing.all(axis=1).sum()):
        verb, pronoun = ("has", "its") if n == 1 else ("have", "their")
        warnings.warn(
            f"{count(n, 'row')} {verb} no observed value: {pronoun} groups are the most frequent one, with the prior "
            "probabilities",
            stacklevel=4,
        )


def for_gaps(spec: Specification, noise_factors: int | str) -> Specification:
    """The specification for rows with gaps: factors of the noise from the first iteration on.

    What is observed of a row says something about the rest of it only through them.
    """
    assert isinstance(spec.family, DLMFamily)
    if isinstance(noise_factors, str):
        adaptive = spec.family.means is Means.LATENT and spec.n_clusters > 1
        return replace(spec, family=replace(spec.family, adaptive_factors=adaptive))
    return replace(spec, family=replace(spec.family, n_factors=int(noise_factors) if spec.n_clusters > 1 else 0))


def completed(table: np.ndarray, weights, *, ridge, n_jobs, prior=None) -> Problem:
    """The problem of a checked table (n x p) with gaps."""
    return complete_first(table, weights, rescale=in_unit, ridge=ridge, n_jobs=n_jobs, prior=prior)


def log_jacobian(problem: Problem, divisors: np.ndarray) -> float:
    """What dividing the columns adds to the log-likelihood of the observed cells as they were given."""
    rows = problem.gaps.rows
    seen = rows.patterns.sums(rows.weights[:, None])[:, 0] @ rows.patterns.observed
    return -float(seen @ np.log(divisors))
