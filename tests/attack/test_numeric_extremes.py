"""Numbers at the edge of what a double holds: scales, offsets, weights, ties, constant columns, few rows."""

import warnings
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM, SparseKMeans

from .invariants import check_fit
from .outcomes import Case, attack

# Errors of these tables that name what is wrong with them as a whole.
WORDS = (
    "distinct row", "are equal", "starts led to a fit", "raise ridge", "ridge must be", "must be smaller than",
    "sample_weight", "fits failed", "leave it out", "is constant", "no bound leaves",
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A table with groups, and what is done to its numbers."""

    n: int
    p: int
    n_clusters: int
    seed: int
    exponent: int  # of the power of two that all values are multiplied by
    offset: float  # in units of the spread
    weights: str  # how heavy the rows are
    repeats: int  # rows that are copies of the first
    constant: int  # columns with one value
    outlier: float  # how far the first row lies, in units of the spread
    integers: bool  # whether values are rounded: ties everywhere
    parameters: tuple  # of the estimator

    def rows(self) -> np.ndarray:
        """The table (n x p)."""
        rng = np.random.default_rng(self.seed)
        labels = np.arange(self.n) % self.n_clusters
        X = rng.normal(size=(self.n, self.p)) + 4 * rng.normal(size=(self.n_clusters, self.p))[labels]
        X[: 1 + self.repeats] = X[0]
        X[0] += self.outlier
        X = np.round(X) if self.integers else X
        X += self.offset
        X[:, : self.constant] = self.offset + 3.5
        return np.ldexp(X, self.exponent)

    def sample_weight(self) -> np.ndarray | None:
        """Weights (n), or None."""
        rng = np.random.default_rng(self.seed + 1)
        return {
            "none": None,
            "small": np.full(self.n, 1e-40),
            "large": np.full(self.n, 1e40),
            "mixed": 10.0 ** rng.uniform(-3, 3, self.n),
            "zeros": (np.arange(self.n) % 4 > 0).astype(float),
            "absurd": np.r_[1e300, np.ones(self.n - 1)],
        }[self.weights]

    def estimator(self):
        """Not fitted yet."""
        cls, given = self.parameters
        return cls(self.n_clusters, random_state=0, n_jobs=1, **dict(given))


PARAMETERS = [
    (FisherEM, ()),
    (FisherEM, (("model", "DkBk"), ("init", "random"), ("n_init", 2))),
    (FisherEM, (("init", "ward"), ("noise_factors", 1))),
    (FisherEM, (("means", "full"), ("n_init", 2))),
    (FisherEM, (("scale", "standardise"), ("noise_factors", 0))),
    (SparseFisherEM, ()),
    (SparseFisherEM, (("sparsity", 0.3), ("method", "svd"), ("noise_factors", 0))),
    (SparseFisherEM, (("scale", "auto"),)),
]


@st.composite
def tables(draw) -> Drawn:
    K = draw(st.integers(1, 4))
    n = draw(st.integers(K + 1, K + 4) | st.integers(8, 40))
    p = draw(st.integers(2, 6) | st.integers(20, 50))
    exponent = draw(st.just(0) | st.integers(-1000, 950) | st.sampled_from([-1000, -500, -90, 90, 500, 950]))
    offset = draw(st.sampled_from([0.0, 0.0, 1e3, 1e8, 1e14]))
    return Drawn(
        n, p, K, draw(st.integers(0, 10**6)), exponent, offset,
        draw(st.sampled_from(["none", "none", "none", "small", "large", "mixed", "zeros", "absurd"])),
        draw(st.integers(0, n - 1)) if draw(st.booleans()) else 0, draw(st.integers(0, p - 2) | st.just(0)),
        draw(st.sampled_from([0.0, 0.0, 1e4, 1e8])), draw(st.booleans()), draw(st.sampled_from(PARAMETERS)),
    )  # fmt: skip


def _check(models, X, weights) -> None:
    model, again = models
    check_fit(model, X, weights)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.loadings_, model.loadings_)
    far = np.sign(X[:3]) * 1.5e308
    posteriors = model.predict_proba(far)
    assert np.isfinite(posteriors).all()
    np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(model.predict(far), posteriors.argmax(axis=1))


def test_numbers():
    def case_of(drawn: Drawn) -> Case:
        X, weights = drawn.rows(), drawn.sample_weight()

        def run():
            return [drawn.estimator().fit(X, sample_weight=weights) for _ in range(2)]

        absurd = False if drawn.weights == "absurd" else None
        return Case(run, (*WORDS, "row 0"), lambda models: _check(models, X, weights), absurd)

    attack("numbers", tables(), case_of, default=12)


@st.composite
def units(draw) -> tuple[Drawn, int, float]:
    drawn = draw(tables())
    plain = Drawn(
        max(drawn.n, 3 * drawn.n_clusters + 6), drawn.p, drawn.n_clusters, drawn.seed, 0, 0.0, "none", 0, 0, 0.0, False,
        drawn.parameters,
    )  # fmt: skip
    return plain, draw(st.integers(-1000, 1000)), 10.0 ** draw(st.floats(-150, 150))


def test_units():
    """Powers of two: the same numbers, up to the rounding of log densities, whose constants have the unit in them; any
    unit: the same groups."""

    def case_of(drawn: tuple[Drawn, int, float]) -> Case:
        plain, exponent, factor = drawn
        X = plain.rows()

        def fit(Z):
            return plain.estimator().fit(Z)

        def check(models):
            one, moved, other = models
            np.testing.assert_array_equal(moved.labels_, one.labels_)
            np.testing.assert_allclose(moved.loadings_, one.loadings_, atol=1e-10)
            np.testing.assert_allclose(moved.weights_, one.weights_, atol=1e-10)
            np.testing.assert_allclose(np.ldexp(moved.means_, -exponent), one.means_, atol=1e-10 * np.abs(X).max())
            for model, unit in ((moved, 2.0**exponent), (other, factor)):
                np.testing.assert_array_equal(model.support_, one.support_)
                # in other units than powers of two, rounding may number the groups in another order
                assert adjusted_rand_score(model.labels_, one.labels_) == 1
                np.testing.assert_allclose(np.abs(model.loadings_), np.abs(one.loadings_), atol=1e-5)
                change = X.size * np.log(unit)
                np.testing.assert_allclose(model.bic_ + change, one.bic_, rtol=1e-7, atol=1e-7 * abs(change) + 1e-6)
                assert model.n_parameters_ == one.n_parameters_

        return Case(lambda: [fit(X), fit(np.ldexp(X, exponent)), fit(X * factor)], WORDS, check)

    attack("units", units(), case_of, default=4)


def test_sparse_k_means_in_any_unit():
    X = Drawn(30, 5, 3, 1, 0, 0.0, "none", 0, 0, 0.0, False, (FisherEM, ())).rows()
    expected = SparseKMeans(3, bound=1.5, random_state=0).fit(X)
    for exponent in (-1000, -700, -340, 340, 700, 1010):
        Z = np.ldexp(X, exponent)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = SparseKMeans(3, bound=1.5, random_state=0).fit(Z)
        np.testing.assert_array_equal(model.feature_weights_, expected.feature_weights_)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(Z), model.labels_)
