"""Sparse rows against dense ones, tables with gaps, and rows in another order: the same answers, or clear errors."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from fisherem import BayesianFisherEM, FactorMixture, FisherEM, SparseFisherEM, SparseKMeans

from .invariants import check_fit, check_order
from .outcomes import Case, attack

WORDS = (
    "distinct row", "are equal", "starts led to a fit", "raise ridge", "ridge must be", "must be smaller than",
    "cannot be computed", "nothing to cluster", "no observed", "missing", "is constant", "no bound leaves",
    "fits failed",
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A table with groups, and what is done to its numbers."""

    n: int
    p: int
    seed: int
    exponent: int
    offsets: tuple[float, ...]  # of the first columns
    zeros: float  # share of the cells that are 0
    gaps: float  # share of the cells that are missing
    constant: int  # columns with one value
    collinear: bool  # whether the last column is a combination of others
    far: int = 0  # the power of two that one cell is multiplied by

    def rows(self) -> np.ndarray:
        """The table (n x p), without gaps."""
        rng = np.random.default_rng(self.seed)
        X = rng.normal(size=(self.n, self.p)) + 6 * (np.arange(self.n) % 2)[:, None] * rng.normal(size=self.p)
        X[rng.uniform(size=X.shape) < self.zeros] = rng.choice([0.0, -0.0])
        for j, offset in enumerate(self.offsets[: self.p]):
            X[:, j] += offset
        X[:, : self.constant] = 2.5
        if self.collinear:
            X[:, -1] = X[:, 0] - X[:, 1]
        X[self.seed % self.n, self.seed % self.p] *= 2.0**self.far
        return np.ldexp(X, self.exponent)

    def with_gaps(self) -> np.ndarray:
        """The table with NaN in some cells."""
        X = self.rows()
        X[np.random.default_rng(self.seed + 1).uniform(size=X.shape) < self.gaps] = np.nan
        return X


@st.composite
def tables(draw, *, most_gaps=0.4) -> Drawn:
    n, p = draw(st.integers(3, 8) | st.integers(20, 40)), draw(st.integers(2, 6))
    found = Drawn(
        n, p, draw(st.integers(0, 10**6)), draw(st.just(0) | st.integers(-1050, 900)),
        tuple(draw(st.lists(st.sampled_from([0.0, 1e4, 1e8, 1.7e9, 1e12]), max_size=4))),
        draw(st.sampled_from([0.0, 0.3, 0.8])), draw(st.sampled_from([0.02, 0.1, most_gaps])),
        draw(st.integers(0, p) if draw(st.integers(0, 4)) == 0 else st.just(0)), draw(st.integers(0, 4)) == 0,
        far=draw(st.sampled_from([0] * 12 + [40, 300, 700])),
    )  # fmt: skip
    return found if found.exponent + found.far < 950 else replace(found, far=0)


def test_sparse_rows_are_the_dense_ones():
    def case_of(drawn: Drawn) -> Case:
        X = drawn.rows()

        def run():
            def fitted(rows):
                options = {"model": "DkB", "init": np.arange(len(X)) % 2, "noise_factors": 0, "scale": "none"}
                return FisherEM(2, random_state=0, n_jobs=1, **options).fit(rows)

            try:
                dense = fitted(X)
            except ValueError:
                dense = None  # refused: the sparse rows must be, too
            try:
                return dense, fitted(sparse.csr_array(X))
            except ValueError:
                assert dense is None, "the dense rows were fitted"
                raise

        def check(models):
            dense, thin = models
            assert dense is not None, "the dense rows were refused"
            if dense.stop_reason_ == "cycle" or not dense.converged_:
                return  # iterations that do not settle magnify rounding, also that of dense rows in another order
            np.testing.assert_allclose(thin.log_likelihood_, dense.log_likelihood_, rtol=1e-8, atol=1e-6)
            np.testing.assert_array_equal(thin.labels_, dense.labels_)
            np.testing.assert_allclose(thin.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), atol=1e-6)

        return Case(run, WORDS, check)

    attack("sparse rows", tables(), case_of, default=30)


def test_gaps():
    def case_of(drawn) -> Case:
        table, sparse_too = drawn
        X = table.with_gaps()
        options = {"init": "random", "n_init": 1, "random_state": 0, "n_jobs": 1}

        def run():
            if sparse_too:
                return SparseFisherEM(2, method="svd", sparsity=0.6, **options).fit(X)
            return FisherEM(2, **options).fit(X)

        return Case(run, (*WORDS, "column", "row"), lambda model: check_fit(model, X))

    attack("gaps", st.tuples(tables(), st.booleans()), case_of, default=15)


def test_other_families():
    """predict(X) is labels_ for every estimator."""
    makers = [
        lambda: BayesianFisherEM(2, init="random", n_init=2, random_state=0, n_jobs=1),
        lambda: BayesianFisherEM(2, random_state=0, n_jobs=1),
        lambda: FactorMixture(2, n_factors=0, n_init=1, random_state=0, n_jobs=1),
        lambda: FactorMixture(2, n_factors=1, n_init=1, random_state=0, n_jobs=1),
        lambda: SparseKMeans(2, bound=1.3, random_state=0),
    ]

    def case_of(drawn) -> Case:
        table, which = drawn
        X = table.rows()

        def check(model):
            found = np.asarray(model.predict(X))
            if hasattr(model, "predict_proba"):
                posteriors = np.sort(np.asarray(model.predict_proba(X)), axis=1)
                clear = posteriors[:, -1] - posteriors[:, -2] > 1e-6
            else:
                clear = np.ones(len(X), bool)
            np.testing.assert_array_equal(found[clear], model.labels_[clear])

        return Case(lambda: makers[which]().fit(X), (*WORDS, "bound", "n_factors", "column"), check)

    attack("other families", st.tuples(tables(), st.integers(0, len(makers) - 1)), case_of, default=30)


def test_order_of_rows():
    def case_of(drawn: Drawn) -> Case:
        X = drawn.rows()

        def run():
            check_order(
                lambda rows: FisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(rows), X, np.random.default_rng(0)
            )

        return Case(run, WORDS)

    plain = st.builds(
        Drawn, st.integers(20, 40), st.integers(2, 6), st.integers(0, 10**6), st.just(0), st.just(()), st.just(0.0),
        st.just(0.0), st.integers(0, 1), st.booleans(),
    )  # fmt: skip
    attack("order of rows", plain, case_of, default=6)
