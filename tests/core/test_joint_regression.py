"""The regression of rows on posteriors and covariates together, against least squares on the whole design."""

import numpy as np
import pytest

from fisherem.core.data.joint_regression import joint_regression, within_shares
from fisherem.rows.base import ArrayRows


def naive(X, posteriors, Z, weights=None):
    """Least squares on a design of group indicators and covariates; a row is there once per group, with weight w t."""
    K, n = posteriors.shape
    w = np.ones(n) if weights is None else weights
    design = np.concatenate([np.hstack([np.tile(np.eye(K)[k], (n, 1)), Z]) for k in range(K)])
    half = np.sqrt(np.concatenate([w * posteriors[k] for k in range(K)]))[:, None]
    found = np.linalg.lstsq(half * design, half * np.tile(X, (K, 1)), rcond=None)[0]
    left = half * (np.tile(X, (K, 1)) - design @ found)
    return found[K:], (left**2).sum(axis=0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def drawn(rng):
    n, p = 60, 5
    Z = rng.normal(size=(n, 3)) + 2
    posteriors = rng.dirichlet([1, 1, 1], n).T
    X = rng.normal(size=(n, p)) + Z @ rng.normal(size=(3, p)) + 3 * posteriors.T @ rng.normal(size=(3, p))
    return X, posteriors, Z - Z.mean(axis=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_effects_are_those_of_least_squares(drawn, rng, weighted, hard):
    X, posteriors, Z = drawn
    if hard:
        posteriors = (posteriors == posteriors.max(axis=0)).astype(float)
    weights = rng.integers(0, 4, len(X)).astype(float) if weighted else None
    rows = ArrayRows(X, weights, block_rows=7)
    rows.recentre(X[3])  # any centre will do
    found = joint_regression(rows, posteriors, Z)
    effects, squares = naive(X, posteriors, Z, weights)
    np.testing.assert_allclose(found.effects, effects, atol=1e-10)
    _, without = naive(X, posteriors, Z[:, :0], weights)
    np.testing.assert_allclose(found.explained(found.effects), without - squares, rtol=1e-9)
    _, others = naive(X, posteriors, Z[:, [1]], weights)  # what two columns explain beside the third
    np.testing.assert_allclose(found.explained(found.effects, np.array([0, 2])), others - squares, rtol=1e-8)


def test_rows_less_effects_give_what_is_missing(drawn):
    X, posteriors, Z = drawn
    whole = joint_regression(ArrayRows(X), posteriors, Z).effects
    half = whole / 2
    rest = joint_regression(ArrayRows(X - Z @ half), posteriors, Z).effects
    np.testing.assert_allclose(half + rest, whole, atol=1e-10)


def test_directions_that_the_groups_determine_have_no_effect(rng):
    labels = np.repeat([0, 1, 2], 20)
    posteriors = (labels == np.arange(3)[:, None]).astype(float)
    Z = np.stack([labels == 1, rng.normal(size=60)], axis=1).astype(float)
    Z -= Z.mean(axis=0)
    X = rng.normal(size=(60, 4)) + 5 * Z[:, :1]
    found = joint_regression(ArrayRows(X), posteriors, Z)
    np.testing.assert_allclose(within_shares(found.within, found.total)[0], 0, atol=1e-12)
    within = X - np.stack([X[labels == k].mean(axis=0) for k in labels])
    expected = np.linalg.lstsq(Z - np.stack([Z[labels == k].mean(axis=0) for k in labels]), within, rcond=None)[0]
    np.testing.assert_allclose(found.within @ found.effects, found.within @ expected, atol=1e-8)


def test_within_shares_are_one_less_the_squared_correlations(rng):
    labels = rng.integers(0, 2, 80)
    z = rng.normal(size=80) + labels
    found = joint_regression(
        ArrayRows(rng.normal(size=(80, 2))), (labels == np.arange(2)[:, None]).astype(float), (z - z.mean())[:, None]
    )
    correlation = np.corrcoef(z, labels)[0, 1]
    assert within_shares(found.within, found.total) == pytest.approx([1 - correlation**2])
