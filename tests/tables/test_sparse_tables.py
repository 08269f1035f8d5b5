"""scipy.sparse matrices: the fits of the dense table, without making it."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fisherem import FisherEM, ModelSearch, SelectDiscriminative, SparseFisherEM, SparseKMeans, compare, explain
from fisherem.core.data.problem import prepare
from fisherem.rows.base import ArrayRows
from fisherem.rows.sparse import SparseRows
from fisherem.tables.errors import TableError
from fisherem.tables.sparse_table import SparseTable
from tests.naive import accuracy
from tests.same import same

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def counts(n=400, p=30, seed=0, rate=0.15):
    """Counts, mostly zeros: three groups with other rates on six of p columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    rates = np.full((3, p), rate)
    for k in range(3):
        rates[k, 2 * k : 2 * k + 2] = 4.0
    return rng.poisson(rates[y]).astype(float), y


@pytest.fixture
def blocks():
    X, _ = counts(n=100)
    centre = X.mean(axis=0) + 0.1
    weights = np.random.default_rng(1).uniform(0.5, 2, size=100)
    pair = []
    for rows in (ArrayRows(X, weights, block_rows=40), SparseRows(sparse.csr_array(X), weights, block_rows=40)):
        rows.recentre(centre)
        pair.append([rows._block(span) for span in rows.slices])
    return list(zip(*pair, strict=True))


def test_products_are_those_of_the_centred_rows(blocks):
    rng = np.random.default_rng(2)
    for dense, thin in blocks:
        A, W, w = rng.normal(size=(4, 30)), rng.uniform(size=(3, len(dense))), rng.uniform(size=len(dense))
        np.testing.assert_allclose(thin.times(A), dense.times(A), atol=1e-10)
        np.testing.assert_allclose(thin.sums(W), dense.sums(W), atol=1e-10)
        np.testing.assert_allclose(thin.squared_norms(), dense.squared_norms(), atol=1e-9)
        np.testing.assert_allclose(thin.cross(w), dense.cross(w), atol=1e-8)
        np.testing.assert_allclose(thin.cross(None), dense.cross(None), atol=1e-8)
        whole = np.concatenate([tile.copy() for _, tile in thin.tiles()])
        np.testing.assert_allclose(whole, np.concatenate([tile.copy() for _, tile in dense.tiles()]), atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_every_kind_of_matrix_gives_the_dense_fit(kind):
    X, y = counts()
    same(FisherEM(3, scale="none", random_state=0).fit(kind(X)), FisherEM(3, scale="none", random_state=0).fit(X))
    model = FisherEM(3, scale="none", random_state=0).fit(kind(X))
    assert accuracy(y, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(kind(X)), model.labels_)
    np.testing.assert_allclose(model.score_samples(kind(X)), model.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(model.transform(kind(X)), model.transform(X), atol=1e-9)


@pytest.mark.parametrize(
    "changes", [{}, {"scale": "standardise"}, {"sparsity": 0.2}, {"means": "full", "sparsity": 0.3}, {"n_clusters": 1}]
)
def test_sparse_axes_and_scales(changes):
    X, _ = counts()
    options = {"n_clusters": 3, "random_state": 0} | changes
    weights = np.random.default_rng(0).integers(1, 3, size=len(X)).astype(float)
    dense = SparseFisherEM(**options).fit(X, sample_weight=weights)
    thin = SparseFisherEM(**options).fit(sparse.csr_array(X), sample_weight=weights)
    np.testing.assert_array_equal(thin.support_, dense.support_)
    assert (thin.labels_ == dense.labels_).mean() > 0.99  # a row between two groups may fall to either by rounding
    assert thin.bic_ == pytest.approx(dense.bic_, rel=1e-5)


@pytest.mark.filterwarnings("ignore:without scaling")
def test_powers_bend_sparse_rows_as_they_are_read():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(300, 8)) + 1.5 * (np.arange(300) % 3)[:, None] * (np.arange(8) < 3))
    X[rng.random(size=X.shape) < 0.1] = 0
    dense, thin = (
        FisherEM(3, scale="none", transformation="power", random_state=0).fit(Z) for Z in (X, sparse.csr_array(X))
    )
    assert (dense.exponents_ != 1).any()
    same(thin, dense)


@pytest.mark.filterwarnings("ignore:without scaling")
def test_more_rows_than_fit_are_never_made_dense():
    """40,000 x 400 counts take 128 MB as an array, 2% of that as they are stored."""
    X, y = counts(n=40_000, p=400, rate=0.01)
    thin = sparse.csr_array(X)
    del X
    tracemalloc.start()
    model = FisherEM(3, scale="none", model="AkB", noise_factors=0, random_state=0).fit(thin)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert accuracy(y, model.labels_) > 0.9
    assert peak < 100e6  # samples of 10,000 rows are dense for the starts


def test_fewer_rows_than_columns():
    X, _ = counts(n=60, p=300, rate=0.3)
    dense, thin = (FisherEM(3, scale="none", random_state=0).fit(Z) for Z in (X, sparse.csr_array(X)))
    same(thin, dense)
    with pytest.raises(TableError, match=r"fewer rows than columns \(60 x 300\).*keep fewer columns"):
        FisherEM(3, scale="none", memory="100kB").fit(sparse.csr_array(X))
    with pytest.raises(TableError, match="covariance of 300 columns"):
        FisherEM(3, scale="none", memory="100kB").fit(sparse.csr_array(np.vstack([X] * 6)))


def test_names_of_a_sparse_frame():
    X, _ = counts()
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X), columns=[f"w{j}" for j in range(30)])
    model = SparseFisherEM(3, scale="none", random_state=0).fit(frame)
    assert list(model.feature_names_in_[:2]) == ["w0", "w1"]
    np.testing.assert_array_equal(model.support_, SparseFisherEM(3, scale="none", random_state=0).fit(X).support_)


def test_search_and_selection_take_sparse_rows():
    X, y = counts(n=200, p=10)
    thin = sparse.csr_array(X)
    search = ModelSearch(FisherEM(random_state=0), n_clusters=(2, 3), models=["AkB"], criterion="bic", n_jobs=1).fit(
        thin
    )
    assert search.best_params_["n_clusters"] == 3
    assert accuracy(y, search.labels_) > 0.9
    selector = SelectDiscriminative(SparseFisherEM(3, scale="none", random_state=0)).fit(thin)
    chosen = selector.transform(thin)
    assert sparse.issparse(chosen)
    np.testing.assert_array_equal(chosen.toarray(), X[:, selector.get_support()])


def test_a_method_that_cannot_says_what_to_do():
    X, _ = counts()
    with pytest.raises(TypeError, match=r"SparseKMeans needs dense rows.*toarray\(\)"):
        SparseKMeans(3).fit(sparse.csr_array(X))
    with pytest.raises(TypeError, match=r"toarray\(\)"):
        FisherEM(3, scale="none", random_state=0).fit(X).impute(sparse.csr_array(X))


def test_a_comparison_says_which_methods_cannot():
    X, _ = counts()
    table = compare(sparse.csr_array(X), n_clusters=3, methods=["FisherEM", "k-means", "SparseKMeans"]).table
    assert table["n_variables"].isna().tolist() == [False, False, True]
    assert "toarray()" in table["reason"][2]


def test_values_that_are_not_finite_are_named():
    X, _ = counts()
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        X[7, 3] = value
        with pytest.raises(ValueError, match=f"contains {word}: row 7, column x4"):
            FisherEM(3, scale="none").fit(sparse.csr_array(X))


def test_text_and_other_shapes_are_refused():
    with pytest.raises(ValueError, match="must hold numbers"):
        SparseTable(sparse.csr_array(np.eye(3, dtype=complex)), 10**9)
    with pytest.raises(ValueError, match="1 dimensions"):
        SparseTable(sparse.coo_array(np.arange(3)), 10**9)


def test_prepared_rows_keep_their_covariance():
    X, _ = counts()
    problem = prepare(SparseTable(sparse.csr_array(X), 10**9), ridge=1e-3)
    np.testing.assert_allclose(problem.scatter.variances(), X.var(axis=0), rtol=1e-3, atol=1e-9)


def offset_rows(n=60):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 4)) + 5 * rng.integers(2, size=(n, 1))


def shifted(columns, by, zero=False):
    X = offset_rows()
    X[:, columns] += by
    if zero:
        X[3, 0] = 0
    return X


@pytest.mark.parametrize("X", [
    shifted([0], 1e4), shifted([0], 1e8), shifted([0, 1, 2, 3], 1e8), shifted([1], 1e10), shifted([0], 1e8, zero=True),
    shifted([0], 1.7e18) , offset_rows() * 1e-320, offset_rows() * 1e300,
], ids=["1e4", "1e8", "all", "1e10", "with a zero", "nanoseconds", "subnormal", "large"])  # fmt: skip
@pytest.mark.filterwarnings("ignore:without scaling")
@pytest.mark.parametrize("scale", ["none", "standardise"])
def test_offsets_and_units_give_the_dense_fit(X, scale):
    if X[0, 0] > 1e17:
        X = X * np.array([1, 1e4, 1e4, 1e4])
        X[:, 0] += 1e6 * np.arange(60)

    def fitted(rows):
        parameters = {"model": "DkB", "init": "random", "n_init": 2, "random_state": 0, "n_jobs": 1}
        return FisherEM(2, scale=scale, noise_factors=0, **parameters).fit(rows)

    dense, thin = fitted(X), fitted(sparse.csr_array(X))
    np.testing.assert_allclose(thin.log_likelihood_, dense.log_likelihood_, rtol=1e-8)
    np.testing.assert_array_equal(thin.labels_, dense.labels_)
    np.testing.assert_allclose(thin.score_samples(sparse.csr_array(X)), dense.score_samples(X), rtol=1e-7)
    some = sparse.csr_array(X[2:5])  # one row of them has a zero in a column with an offset
    np.testing.assert_allclose(thin.predict_proba(some), dense.predict_proba(X[2:5]), atol=1e-8)


def test_products_of_columns_with_an_offset():
    rng = np.random.default_rng(2)
    X, _ = counts(n=100)
    X[:, [3, 7]] = 1e9 + rng.normal(size=(100, 2))
    pair = ArrayRows(X, block_rows=40), SparseRows(sparse.csr_array(X), block_rows=40)
    for rows in pair:
        rows.recentre(X.mean(axis=0))
    for span in pair[0].slices:
        dense, thin = pair[0]._block(span), pair[1]._block(span)
        A, W, w = rng.normal(size=(4, 30)), rng.uniform(size=(3, len(dense))), rng.uniform(size=len(dense))
        np.testing.assert_allclose(thin.times(A), dense.times(A), atol=1e-9)
        np.testing.assert_allclose(thin.sums(W), dense.sums(W), atol=1e-9)
        np.testing.assert_allclose(thin.squared_norms(), dense.squared_norms(), atol=1e-9)
        for weights in (w, None):
            np.testing.assert_allclose(thin.cross(weights), dense.cross(weights), atol=1e-9)
        whole = np.concatenate([tile.copy() for _, tile in thin.tiles()])
        np.testing.assert_array_equal(whole, np.concatenate([tile.copy() for _, tile in dense.tiles()]))


def test_rows_whose_variance_cannot_be_computed_are_refused():
    with pytest.raises(ValueError, match="the variances of the columns cannot be computed"):
        prepare(offset_rows() * 1e-300, ridge=0.1, rescale=lambda rows, unit: rows)


def test_explained_groups_whose_noise_is_rounding():
    """All that varies is inside the axis: the densities of sparse rows are those of the dense ones."""
    X = np.full((5, 6), 2.5)
    X[:, 3:] = 0
    X[2, 3] = -1.385
    for rows in (X, sparse.csr_array(X)):
        model = explain(rows, np.arange(5) % 2).model
        np.testing.assert_allclose(model.score_samples(rows).sum(), model.log_likelihood_, rtol=1e-9)
