"""Rows in groups: sums by group against loops, in memory, sparse and in a file read in blocks; some rows only."""

import numpy as np
import pytest
import scipy.sparse as sp

from fisherem import FisherEM
from fisherem.tables.rows_by_group import table_rows


@pytest.fixture(scope="module", params=["memory", "sparse", "blocks"])
def rows(request, tmp_path_factory):
    """(the table, its rows as that kind, groups with some rows in none)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 6)) * (rng.random((2000, 6)) < 0.5) + 1e3 * (np.arange(6) == 2)
    groups = rng.integers(-1, 3, size=2000)
    model = FisherEM(2, n_init=1, random_state=0, memory="60kB", n_jobs=1)
    model.n_features_in_ = 6
    if request.param == "blocks":
        path = tmp_path_factory.mktemp("rows") / "x.npy"
        np.save(path, X)
        return X, table_rows(model, path), groups
    return X, table_rows(model, sp.csr_matrix(X) if request.param == "sparse" else X), groups


def test_moments_leave_out_rows_that_are_in_no_group(rows):
    X, table, groups = rows
    found = table.moments(groups, 3)
    inside = X[groups >= 0]
    np.testing.assert_allclose(found.mean, inside.mean(axis=0))
    np.testing.assert_allclose(found.deviation, inside.std(axis=0))
    np.testing.assert_allclose(found.means, [X[groups == k].mean(axis=0) for k in range(3)])
    np.testing.assert_array_equal(found.counts, [(groups == k).sum() for k in range(3)])


def test_rows_beyond_a_value_are_counted_by_group(rows):
    X, table, groups = rows
    rng = np.random.default_rng(1)
    limits, signs = rng.normal(size=(3, 6)), rng.choice([-1.0, 0.0, 1.0], size=(3, 6))
    expected = np.zeros((3, 6), int)
    for i, k in enumerate(groups):
        for j in range(6):
            expected[k, j] += k >= 0 and bool(signs[k, j] * (X[i, j] - limits[k, j]) > 0)
    np.testing.assert_array_equal(table.beyond(groups, limits, signs), expected)


def test_some_rows_are_like_a_table_of_these(rows):
    X, table, _ = rows
    kept = np.flatnonzero(np.random.default_rng(2).random(2000) < 0.3)
    some = table.among(kept)
    assert some.shape == (len(kept), 6)
    np.testing.assert_allclose(np.concatenate([np.asarray(block) for block in some.blocks()]), X[kept])
    np.testing.assert_allclose(some.at(np.array([5, 0, 3])), X[kept][[5, 0, 3]])
    for j, column in zip([4, 1], some.columns([4, 1]), strict=True):
        np.testing.assert_allclose(column, X[kept, j])
