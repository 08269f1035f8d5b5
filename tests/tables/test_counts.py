"""Counts are named as such, and their logarithms after size factors are those of a naive transcription."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, ModelSearch, SparseFisherEM, load, save
from fisherem.tables.kinds import counts_text, indicators_text
from fisherem.tables.sparse_table import SparseTable


def counts(n=150, p=80, seed=0):
    """(counts, classes): three groups in 30 of the columns, rows of different totals."""
    rng = np.random.RandomState(seed)
    groups = rng.randint(3, size=n)
    means = np.tile(rng.gamma(0.3, 0.25, size=p) + 0.02, (3, 1))
    for k in range(3):
        means[k, 10 * k : 10 * (k + 1)] += 0.9
    return rng.poisson(means[groups] * rng.lognormal(0, 0.6, size=n)[:, None]).astype(float), groups


@pytest.fixture(scope="module")
def table():
    X, groups = counts()
    return X[:, X.any(axis=0)], groups


def test_logarithms_after_size_factors(table):
    X, groups = table
    totals = X.sum(axis=1)
    factors = np.where(totals > 0, totals / np.median(totals[totals > 0]), 1)
    model = SparseFisherEM(3, transformation="log-counts", random_state=0).fit(X)
    by_hand = SparseFisherEM(3, random_state=0).fit(np.log1p(X / factors[:, None]))
    assert model.count_total_ == np.median(totals[totals > 0])
    np.testing.assert_allclose(model.means_, by_hand.means_)
    np.testing.assert_array_equal(model.labels_, by_hand.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X[:20]), model.labels_[:20])  # the median total is that of the fit
    assert adjusted_rand_score(groups, model.labels_) > 0.8


def test_sparse_counts_give_the_same_and_stay_sparse(table):
    X, _ = table
    dense = FisherEM(3, transformation="log-counts", random_state=0).fit(X)
    matrix = sparse.csr_matrix(X)
    thin = FisherEM(3, transformation="log-counts", random_state=0).fit(matrix)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(dense.means_, thin.means_, atol=1e-9)
    np.testing.assert_allclose(thin.predict_proba(matrix), dense.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(matrix.toarray(), X)  # the table that was given is not changed


def test_frames_searches_and_files(table, tmp_path):
    X, _ = table
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(X.shape[1])])
    estimator = SparseFisherEM(transformation="log-counts", random_state=0)
    search = ModelSearch(estimator, n_clusters=[2, 3], n_splits=2, n_jobs=1, progress=False).fit(frame)
    K = len(search.weights_)
    own = SparseFisherEM(K, transformation="log-counts", random_state=0).fit(frame)
    np.testing.assert_array_equal(search.labels_, own.labels_)
    np.testing.assert_array_equal(search.predict(frame), own.labels_)
    found = load(save(own, tmp_path / "model.skops"))
    np.testing.assert_array_equal(found.predict(frame), own.labels_)
    with pytest.raises(ValueError, match="feature names"):  # totals are those of all columns
        found.predict(frame.iloc[:, :5])
    three = SparseFisherEM(3, transformation="log-counts", random_state=0).fit(frame)
    assert three.contributions(frame).values.shape == frame.shape


def test_counts_are_named(table):
    X, _ = table
    for one in (X, SparseTable(sparse.csr_matrix(X), 10**9)):
        said = counts_text(one)
        assert "the table holds counts" in said
        assert f"{(X == 0).mean():.0%} of them 0" in said
        assert "transformation='log-counts'" in said
        assert "--counts" in said
    with pytest.warns(UserWarning, match="the table holds counts"):
        FisherEM(3, random_state=0).fit(X)


@pytest.mark.parametrize(
    "other",
    [
        lambda X: X + 0.5,
        lambda X: -X,
        lambda X: np.minimum(X, 1),
        lambda X: X + 1,
        lambda X: np.where(X > 3, np.nan, X),
        lambda X: load_digits().data,
    ],
    ids=["no whole numbers", "negative", "yes and no", "no zeros", "gaps", "digits"],
)
def test_other_tables_are_not(table, other):
    assert counts_text(other(table[0])) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: np.where(X.max() == X, -1, X), r"counts must not be negative; row \d+, column 'x\d+'"),
        (lambda X: sparse.csr_matrix(np.where(X.max() == X, -1, X)), "counts must not be negative; row"),
        (lambda X: np.where(X.max() == X, np.nan, X), "no missing cells"),
        (lambda X: pd.DataFrame(X).assign(c="a").rename(columns=str), "has categories"),
    ],
    ids=["negative", "sparse negative", "missing", "categories"],
)
def test_what_has_no_logarithms_of_counts(table, change, message):
    with pytest.raises(ValueError, match=message):
        FisherEM(3, transformation="log-counts").fit(change(table[0]))


def test_indicators_of_a_category():
    rng = np.random.RandomState(0)
    rows = np.hstack([rng.normal(size=(30, 1)), np.eye(3)[rng.randint(3, size=30)], np.eye(2)[rng.randint(2, size=30)]])
    said = indicators_text(rows, list("abcdef"))
    assert "columns 'b', 'c', 'd' are 0 or 1" in said
    assert "and 1 more such blocks" in said
    assert indicators_text(rows[:, :3]) == ""
    assert indicators_text(rng.randint(2, size=(40, 5)).astype(float)) == ""
