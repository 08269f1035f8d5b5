"""Shares, separation, p- and q-values of `significance` against loops and SciPy."""

import numpy as np
import pytest
from scipy import stats

from fisherem.policy.columns import spacing_floors
from fisherem.search.group_statistics import (
    alike,
    between_shares,
    f_test,
    pools,
    q_values,
    rank_p_values,
    separation,
    standardised_draws,
)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=50)
    return rng.normal(size=(50, 4)) + 2 * rng.normal(size=(3, 4))[labels] + 1e6, labels


def test_shares_are_sums_of_squares_between_over_total(table):
    X, labels = table
    for j, share in enumerate(between_shares(X, labels)):
        column = X[:, j]
        between = sum((labels == k).sum() * (column[labels == k].mean() - column.mean()) ** 2 for k in range(3))
        assert share == pytest.approx(between / sum((x - column.mean()) ** 2 for x in column), rel=1e-8)
    np.testing.assert_array_equal(between_shares(np.full((6, 1), 0.1), np.arange(6) % 2), [0.0])


def test_f_test_is_the_one_way_analysis_of_variance(table):
    X, labels = table
    parts = [X[labels == k] for k in range(3)]
    np.testing.assert_allclose(f_test(between_shares(X, labels), 50, 3), stats.f_oneway(*parts).pvalue, rtol=1e-6)
    assert f_test(np.array([0.0, 1.0]), 50, 3).tolist() == [1.0, 0.0]
    assert f_test(np.array([0.9]), 3, 3).tolist() == [1.0]  # no row is left for the variance


def test_separation_is_the_trace_of_w_inverse_b(table):
    X, labels = table
    X = X - 1e6
    B, W = np.zeros((4, 4)), np.zeros((4, 4))
    for k in range(3):
        rows = X[labels == k]
        shift = rows.mean(axis=0) - X.mean(axis=0)
        B += len(rows) * np.outer(shift, shift)
        W += sum(np.outer(row - rows.mean(axis=0), row - rows.mean(axis=0)) for row in rows)
    assert separation(X, labels) == pytest.approx(np.trace(np.linalg.inv(W) @ B))
    wide = np.hstack([X, X])  # W is singular
    assert separation(wide, labels) == pytest.approx(np.trace(B) / np.trace(W))
    assert separation(X[:, :0], labels) == 0.0


@pytest.mark.parametrize("exponent", [-700, 700])
def test_statistics_do_not_depend_on_the_unit(table, exponent):
    X, labels = table
    X = X - 1e6
    Z = np.ldexp(X, exponent)
    np.testing.assert_array_equal(between_shares(Z, labels), between_shares(X, labels))
    np.testing.assert_array_equal(spacing_floors(np.ldexp(np.round(X), exponent)), spacing_floors(np.round(X)))
    assert separation(Z, labels) == separation(X, labels)


def test_q_values_are_those_of_scipy():
    p = np.random.default_rng(0).uniform(size=40) ** 3
    np.testing.assert_allclose(q_values(p), stats.false_discovery_control(p, method="bh"))
    assert q_values(np.array([0.04, 0.04])).tolist() == [0.04, 0.04]


def test_ranks_count_the_table_once_and_ties():
    z = np.array([[2.0, 0.0], [1.0, 0.0], [2.0, -1.0], [3.0, 5.0]])
    assert rank_p_values(z[:, :1]).tolist() == [3 / 4]  # itself, the tie and 3
    assert rank_p_values(z).tolist() == [4 / 8, 7 / 8]


@pytest.mark.parametrize("common", [0.0, 0.8, 1.0])
def test_no_more_than_a_share_has_p_values_up_to_it(common):
    """Each of the alike rows is the table in turn: the share is exact, also for columns that depend on each other."""
    rng = np.random.default_rng(1)
    z = (1 - common) * rng.normal(size=(18, 7)) + common * rng.normal(size=(18, 1))
    p = np.array([rank_p_values(np.roll(z, -i, axis=0)) for i in range(18)])
    for level in (0.05, 0.1, 0.5):
        assert (p <= level).sum() <= level * p.size
        assert (p <= level).sum() >= level * p.size - 7  # of equal columns all or none


@pytest.mark.parametrize("common", [0.0, 1.0], ids=["independent", "dependent"])
def test_ranks_of_alike_columns_are_uniform(common):
    rng = np.random.default_rng(0)
    p = []
    for _ in range(400):
        drawn = (1 - common) * rng.chisquare(2, size=(40, 5)) + common * rng.chisquare(2, size=(40, 1))
        p.append(rank_p_values(standardised_draws(drawn * 10.0 ** np.arange(5))))
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.05)


def test_columns_are_pooled_with_those_that_are_alike():
    rng = np.random.default_rng(0)
    z = np.hstack([rng.normal(size=(300, 3)), 3 * rng.normal(size=(300, 2))])[:, [0, 3, 1, 4, 2]]
    sizes = np.array([0.1, 0.9, 0.12, 0.8, 0.11])
    assert sorted(map(list, pools(z, sizes))) == [[0, 2, 4], [1, 3]]
    assert [list(part) for part in pools(z[:, [0, 2, 4]], sizes[[0, 2, 4]])] == [[0, 1, 2]]
    assert [list(part) for part in pools(z[:, :0], sizes[:0])] == [[]]


def test_failed_draws_are_as_large_as_can_be():
    z = standardised_draws(np.array([[8.0], [1.0], [np.nan], [27.0]]))
    expected = (np.array([2.0, 1.0, 3.0]) - 2) / np.sqrt(2 / 3)
    np.testing.assert_allclose(z[[0, 1, 3], 0], expected)
    assert z[2, 0] == np.inf
    assert rank_p_values(z).tolist() == [3 / 4]


def test_columns_with_other_tails_are_not_alike():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 4))
    assert alike(z)
    assert not alike(np.where(np.arange(4) < 1, 3 * z, z))
    assert alike(z[:, :1])
