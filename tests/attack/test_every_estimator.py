"""Every estimator on degenerate tables: gaps, collinear and constant columns, tiny floors, sparse rows, another order.

After every fit: `predict(X)` is `labels_`, `score_samples` sum to `log_likelihood_`, posteriors sum to 1, everything is
finite; and from the same start the order of the rows changes nothing.
"""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from fisherem import (
    BayesianFisherEM,
    Clustvarsel,
    FactorMixture,
    FisherEM,
    Selvarclust,
    SparseFisherEM,
    SparseKMeans,
)

from .invariants import check_any, check_fit, check_same_groups
from .outcomes import Case, attack
from .test_sparse_and_gaps import WORDS, Drawn, tables

RUN = {"random_state": 0, "n_jobs": 1}
# What is fitted; `floor` and `init` are replaced where the estimator has them.
ESTIMATORS = {
    "FisherEM": FisherEM(2, **RUN),
    "FisherEM, random": FisherEM(2, init="random", n_init=2, **RUN),
    "FisherEM, full means": FisherEM(2, model="DkBk", means="full", n_init=2, noise_factors=0, **RUN),
    "FisherEM, noise factors": FisherEM(2, noise_factors=1, n_init=2, **RUN),
    "FisherEM, standardised": FisherEM(2, scale="standardise", n_init=2, **RUN),
    "SparseFisherEM": SparseFisherEM(2, **RUN),
    "SparseFisherEM, svd": SparseFisherEM(2, method="svd", sparsity=0.6, n_init=2, **RUN),
    "SparseFisherEM, two-step": SparseFisherEM(2, method="two-step", sparsity=0.6, n_init=2, **RUN),
    "SparseFisherEM, regression": SparseFisherEM(2, method="regression", sparsity=0.6, n_init=2, **RUN),
    "BayesianFisherEM": BayesianFisherEM(2, **RUN),
    "BayesianFisherEM, random": BayesianFisherEM(2, init="random", n_init=2, **RUN),
    "BayesianFisherEM, svd": BayesianFisherEM(2, method="svd", sparsity=0.6, n_init=2, **RUN),
    "FactorMixture, none": FactorMixture(2, n_factors=0, n_init=2, **RUN),
    "FactorMixture": FactorMixture(2, n_factors=1, n_init=2, **RUN),
    "FactorMixture, MCFA": FactorMixture(2, n_factors=1, structure="MCFA", n_init=2, **RUN),
    "SparseKMeans": SparseKMeans(2, n_init=2, n_permutations=2, **RUN),
    "SparseKMeans, bound": SparseKMeans(2, bound=1.3, n_init=2, **RUN),
    "Clustvarsel": Clustvarsel(2, models=["EII", "VVV"], **RUN),
    "Selvarclust": Selvarclust(2, models=["EII", "VVV"], ranking="lasso", **RUN),
}
FLOORS = (1e-9, 1e-7)
# Beside those of the tables: why an estimator has no fit, or does not take such rows.
ALSO = (
    "bound", "n_factors", "column", "sparse", "variance_floor", "no convergence", "dense", "n_clusters", "group",
    "variable",
)  # fmt: skip


@dataclass(frozen=True)
class Attempt:
    """A table, how it is given, and what is fitted to it."""

    table: Drawn
    name: str
    rows: str  # "plain", "gaps" or "sparse"
    floor: float | None
    labels: bool  # whether the start is given, so that the rows can come in another order

    def X(self):
        """The rows."""
        if self.rows == "sparse":
            return sparse.csr_array(self.table.rows())
        return self.table.with_gaps() if self.rows == "gaps" else self.table.rows()

    def estimator(self, order):
        """Not fitted yet; a given start belongs to the rows in this order."""
        made = clone(ESTIMATORS[self.name])
        known = made.get_params()
        if self.floor is not None and "variance_floor" in known:
            made.set_params(variance_floor=self.floor)
        if self.starts_from_labels:
            made.set_params(init=(np.arange(self.table.n) % 2)[order])
        return made

    @property
    def starts_from_labels(self) -> bool:
        """Whether the estimator takes a start, and is given one."""
        return self.labels and "init" in ESTIMATORS[self.name].get_params()


def attempts():
    return st.builds(
        Attempt, tables(), st.sampled_from(sorted(ESTIMATORS)), st.sampled_from(["plain", "plain", "gaps", "sparse"]),
        st.none() | st.sampled_from(FLOORS), st.booleans(),
    )  # fmt: skip


def _settles(model) -> bool:
    """Whether the iterations came to an end: otherwise they magnify rounding."""
    return getattr(model, "converged_", True) and getattr(model, "stop_reason_", "") != "cycle"


def test_every_estimator():
    def case_of(drawn: Attempt) -> Case:
        X, n = drawn.X(), drawn.table.n
        order = np.random.default_rng(drawn.table.seed + 2).permutation(n)

        def run():
            model = drawn.estimator(np.arange(n)).fit(X)
            return model, drawn.estimator(order).fit(X[order]) if drawn.starts_from_labels else None

        def check(models):
            model, other = models
            (check_fit if hasattr(model, "latent_means_") and hasattr(model, "loadings_") else check_any)(model, X)
            if other is not None:
                check_any(other, X[order])
                if _settles(model) and _settles(other):
                    check_same_groups(model, other, order, X)

        return Case(run, (*WORDS, *ALSO), check)

    attack("every estimator", attempts(), case_of, default=60)
