"""n << p: no p x p array, in any method."""

import tracemalloc

import numpy as np
import pytest

from fisherem import FisherEM, SparseFisherEM
from fisherem.core.data import problem
from fisherem.core.dlm.f_step.step import SPARSE_STEPS
from fisherem.core.starts import partitions as metric_starts
from fisherem.core.starts import partitions as starts
from tests.naive import accuracy


def wide(n=60, p=8_000, informative=400, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    X = rng.normal(size=(n, p))
    X[:, :informative] += 2.5 * rng.normal(size=(3, informative))[labels]
    return X, labels


@pytest.mark.parametrize(("method", "means"), [*((method, "latent") for method in SPARSE_STEPS), ("two-step", "full")])
def test_sixty_by_eight_thousand(method, means):
    X, y = wide()
    options = {"means": means, "sparsity": 0.02, "method": method}
    SparseFisherEM(3, scale="none", random_state=0, **options).fit(X[:, :100])
    tracemalloc.start()
    model = SparseFisherEM(3, scale="none", random_state=0, **options).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * X.nbytes  # and so far from 8,000 x 8,000
    assert accuracy(y, model.labels_) == 1
    assert model.support_[:400].sum() >= 0.95 * model.support_.sum()
    np.testing.assert_allclose(model.loadings_.T @ model.loadings_, np.eye(2), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_sixty_by_eight_thousand_with_chosen_variables():
    X, y = wide()
    tracemalloc.start()
    model = SparseFisherEM(3, scale="none", random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * X.nbytes
    assert accuracy(y, model.labels_) == 1
    assert not model.support_[400:].any()
    assert (model.roles_["role"][400:] == "no evidence").mean() > 0.99
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("method", SPARSE_STEPS)
def test_lymphoma(real_table, method):
    X, y = real_table("lymphoma")
    assert X.shape == (62, 4026)
    model = SparseFisherEM(3, scale="none", means="full", method=method, sparsity=0.05, random_state=0).fit(X)
    assert model.support_.sum() < 200
    assert accuracy(y, model.labels_) >= 0.9


def test_lymphoma_with_chosen_genes(real_table):
    X, y = real_table("lymphoma")
    model = SparseFisherEM(3, scale="none", random_state=0).fit(X)
    assert 2 <= model.support_.sum() <= 10
    assert accuracy(y, model.labels_) >= 0.96


def test_wide_and_tall_paths_agree():
    """31 rows x 30 columns go through the p x p matrix, the same rows with one column more through the row space."""
    X, y = wide(n=45, p=44, informative=10)
    start = np.roll(y, 1)
    start[:9] = np.arange(9) % 3
    tall = FisherEM(3, scale="none", init=start, ridge=1e-3, noise_factors=0).fit(X)
    # a column of next to nothing: 45 x 45
    more = FisherEM(
        3, scale="none", init=start, ridge=1e-3 * 45 / 44, variance_floor=1e-4 * 45 / 44, noise_factors=0
    ).fit(np.column_stack([X, 1e-9 * np.random.default_rng(1).normal(size=45)]))
    np.testing.assert_array_equal(tall.labels_, more.labels_)
    np.testing.assert_allclose(tall.loadings_, more.loadings_[:44], atol=1e-6)


@pytest.mark.parametrize("means", ["latent", "full"])
@pytest.mark.parametrize("factors", [0, 2, "auto"])
def test_wide_and_tall_paths_agree_for_any_noise(factors, means):
    """45 rows x 45 columns go through the row space; the same with one row as two halves through the p x p matrix."""
    X, y = wide(n=45, p=45, informative=10)
    X += np.random.default_rng(1).normal(size=(45, 1)) * np.linspace(0, 3, 45)
    options = {"model": "AkB", "means": means, "noise_factors": factors}
    few = FisherEM(3, scale="none", init=y, **options).fit(X)
    halves = np.r_[np.ones(44), 0.5, 0.5]
    tall = FisherEM(3, scale="none", init=np.r_[y, y[-1]], **options).fit(np.vstack([X, X[-1:]]), sample_weight=halves)
    # full means have no factors by themselves
    chosen = {"latent": 1, "full": 0}[means] if factors == "auto" else factors
    assert few.noise_factors_ == tall.noise_factors_ == chosen
    assert tall.log_likelihood_ == pytest.approx(few.log_likelihood_, rel=1e-8)
    np.testing.assert_allclose(tall.loadings_, few.loadings_, atol=1e-6)
    np.testing.assert_allclose(np.abs(tall.noise_loadings_), np.abs(few.noise_loadings_), atol=1e-5)
    np.testing.assert_array_equal(tall.labels_[:-1], few.labels_)


def test_more_variables_than_rows_at_large_shares():
    """The path goes on past n variables (the ridge makes it the elastic net)."""
    X, _ = wide(n=20, p=200, informative=20)
    counts = [
        SparseFisherEM(3, scale="none", sparsity=s, random_state=0).fit(X).support_.sum() for s in (0.05, 0.5, 0.95)
    ]
    assert counts == sorted(counts)
    assert counts[-1] > 100


@pytest.mark.parametrize("method", SPARSE_STEPS)
def test_rows_of_weight_zero_change_nothing(method):
    """They span directions without variance; the other rows' fit must not see them."""
    X, y = wide(n=40, p=60, informative=10)
    more = np.vstack([X, np.random.default_rng(3).normal(size=(6, 60))])
    weights = np.r_[np.ones(40), np.zeros(6)]
    options = {"method": method, "sparsity": 0.9}
    alone = SparseFisherEM(3, scale="none", init=y, **options).fit(X)
    with_them = SparseFisherEM(3, scale="none", init=np.r_[y, np.zeros(6, int)], **options).fit(
        more, sample_weight=weights
    )
    np.testing.assert_allclose(with_them.loadings_, alone.loadings_, atol=1e-6)
    assert with_them.log_likelihood_ == pytest.approx(alone.log_likelihood_, rel=1e-8)


def test_the_rotation_makes_one_copy_of_the_rows(monkeypatch):
    monkeypatch.setattr(problem, "_PIECE", 2**16)
    X = np.random.default_rng(0).normal(size=(60, 60_000)).astype(np.float32) + 1000
    X[50:] = X[:10]  # the rows span 49 dimensions
    tracemalloc.start()
    prepared = problem.prepare(X, ridge=0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.4 * X.size * 8  # doubles; the singular value decomposition itself took four of them
    basis, coordinates = prepared.scatter.basis, prepared.rows.everything()
    assert basis.shape == (60_000, 49)
    np.testing.assert_allclose(basis.T @ basis, np.eye(49), atol=1e-12)
    np.testing.assert_allclose(coordinates @ basis.T, X - X.mean(axis=0, dtype=float), atol=1e-10)


def test_large_tables_are_looked_at_in_pieces(monkeypatch):
    X, y = wide()
    whole = SparseFisherEM(3, scale="none", n_init=1, random_state=0).fit(X)
    for module, name, size in ((problem, "_PIECE", 2**16), (starts, "_PIECE", 2**16), (metric_starts, "LARGE", 2**17)):
        monkeypatch.setattr(module, name, size)
    for Z in (X, X.astype(np.float32)):  # single precision is kept where it comes
        pieces = SparseFisherEM(3, scale="none", n_init=1, random_state=0).fit(Z)
        assert accuracy(y, pieces.labels_) == 1
        np.testing.assert_array_equal(pieces.support_, whole.support_)
