"""Tables of one group: covariances of the scores, margins and values are those of the given table."""

import numpy as np
import pytest
from scipy import stats

from fisherem.policy.scores import Scores
from fisherem.search.one_group_tables import OneGroupTables


def skewed(n=400, seed=0):
    """Three columns with a common factor: log-normal, of few values, and two groups."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    a, b = (0.7 * common + 0.7 * rng.normal(size=n) for _ in range(2))
    return np.column_stack([np.exp(a), np.round(b), rng.normal(size=n) + 8 * (np.arange(n) % 2)])


@pytest.mark.parametrize("shape", [(40, 5), (12, 30)], ids=["tall", "wide"])
def test_scores_have_exactly_the_means_and_covariances(shape):
    X = np.random.default_rng(1).normal(size=shape) @ np.diag(np.arange(1, shape[1] + 1.0))
    tables = OneGroupTables.of(X)
    given, drawn = Scores.of(X).transform(X), tables.scores(np.random.RandomState(0))
    np.testing.assert_allclose(drawn.mean(axis=0), given.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(given.T), atol=1e-8)
    assert not np.allclose(np.sort(drawn, axis=0), np.sort(given, axis=0), atol=0.05)


def test_rotations_are_uniform():
    """The first row of Q Z has the same distribution as any other: E = centre, and the covariance of all rows."""
    X = np.random.default_rng(2).normal(size=(10, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    tables, rng = OneGroupTables.of(X), np.random.RandomState(0)
    firsts = np.array([tables.scores(rng)[0] for _ in range(4000)])
    scores = Scores.of(X).transform(X)
    np.testing.assert_allclose(firsts.mean(axis=0), scores.mean(axis=0), atol=0.06)
    np.testing.assert_allclose(np.cov(firsts.T), np.cov(scores.T, ddof=0), atol=0.08)


def test_draws_have_the_margins_but_not_the_groups():
    X = skewed()
    drawn = OneGroupTables.of(X).draw(np.random.RandomState(0))
    assert stats.ks_2samp(drawn[:, 0], X[:, 0]).pvalue > 0.05
    assert drawn[:, 0].min() > -0.5  # skewed as the column, which a normal one would not be
    assert stats.skew(drawn[:, 0]) > 1
    np.testing.assert_array_equal(np.sort(drawn[:, 1]), np.sort(X[:, 1]))  # few values: the same
    assert stats.spearmanr(drawn[:, 0], drawn[:, 1])[0] == pytest.approx(stats.spearmanr(X[:, 0], X[:, 1])[0], abs=0.1)
    middle = np.abs(drawn[:, 2] - 4) < 1.5  # where the table has hardly a row
    assert middle.mean() > 5 * (np.abs(X[:, 2] - 4) < 1.5).mean()


def test_draws_have_the_fitted_margins_of_the_table():
    """Else the errors of skew and tail would count twice: once in the table, once more in every draw."""
    X = np.random.default_rng(3).normal(size=(100, 1))
    tables, own = OneGroupTables.of(X), Scores.of(X)
    skews = [Scores.of(tables.draw(np.random.RandomState(b))).skew[0] for b in range(40)]
    fresh = [Scores.of(np.random.default_rng(b).normal(size=(100, 1))).skew[0] for b in range(40)]
    assert np.mean(skews) == pytest.approx(own.skew[0], abs=0.03)
    assert np.std(skews) < np.std(fresh) / 3


def test_a_constant_column_stays_one():
    X = np.column_stack([np.random.default_rng(0).normal(size=20), np.full(20, 3.0)])
    np.testing.assert_array_equal(OneGroupTables.of(X).draw(np.random.RandomState(0))[:, 1], 3.0)
