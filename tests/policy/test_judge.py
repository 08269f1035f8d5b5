"""The judge of partitions: its gain against a naive mixture, and what it sees and does not see."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fisherem.core.data.problem import prepare
from fisherem.policy.judge import Judge, mixture_gain


def naive_gain(Z, labels, iterations):
    """EM of Gaussian groups with a common covariance and means of full rank, in loops; BIC less that of one group."""
    n, m = Z.shape
    K = labels.max() + 1
    P = np.eye(K)[labels]
    values = []
    for _ in range(iterations):
        sizes = P.sum(axis=0)
        means = [sum(P[i, k] * Z[i] for i in range(n)) / sizes[k] for k in range(K)]
        W = sum(P[i, k] * np.outer(Z[i] - means[k], Z[i] - means[k]) for i in range(n) for k in range(K)) / n
        joint = np.array(
            [[sizes[k] / n * multivariate_normal(means[k], W).pdf(Z[i]) for k in range(K)] for i in range(n)]
        )
        values.append(np.log(joint.sum(axis=1)).sum())
        P = joint / joint.sum(axis=1, keepdims=True)
    centred = Z - Z.mean(axis=0)
    one = multivariate_normal(np.zeros(m), centred.T @ centred / n).logpdf(centred).sum()
    return max(values) - one - np.log(n) / 2 * ((K - 1) * m + K - 1)


@pytest.mark.parametrize("K", [2, 3])
def test_the_gain_is_that_of_a_mixture(K):
    rng = np.random.default_rng(K)
    labels = np.arange(60) % K
    Z = rng.normal(size=(60, 3)) + 2 * rng.normal(size=(K, 3))[labels]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    found = mixture_gain(Z, labels, np.ones(60), {K - 1})
    values = [naive_gain(Z, labels, i) for i in (1, 2, 3)]
    assert min(abs(found - value) for value in values) < 0.01
    assert found == pytest.approx(max(values), abs=0.2)


def test_one_group_gains_nothing():
    assert mixture_gain(np.random.default_rng(0).normal(size=(50, 2)), np.zeros(50, int), np.ones(50)) == 0.0


def judged(X, labels):
    return Judge(prepare(X, ridge="auto")).gain(labels)


def test_overlapping_groups_gain_where_they_are_real():
    """C is below 0 for groups three standard deviations apart, at the true labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=3000)
    X = rng.normal(size=(3000, 6))
    X[:, 0] += 4 * labels
    gain = judged(X, labels)
    assert gain.value > 0
    assert 0 in gain.support


def test_slices_of_one_group_gain_nothing():
    rng = np.random.default_rng(1)
    for X in (rng.normal(size=(400, 5)), np.exp(rng.normal(size=(400, 5))), rng.standard_t(3, size=(400, 5))):
        labels = (X[:, 0] > np.median(X[:, 0])).astype(int)
        assert judged(X, labels).value < 0


def test_a_few_outlying_rows_are_small_groups():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4))
    X[:7] += 30
    labels = (np.arange(300) < 7).astype(int)
    gain = judged(X, labels)
    assert gain.smallest == 7
    assert gain.has_outliers("auto")
    assert not gain.has_outliers(7)
    assert not gain.has_outliers(0.02)
    assert not judged(X, (np.arange(300) < 20).astype(int)).has_outliers("auto")


def test_columns_with_a_frequent_value_have_no_opinion():
    rng = np.random.default_rng(3)
    labels = np.arange(100) % 2
    X = np.maximum(rng.normal(size=(100, 3)) + labels[:, None], 0.5)  # half of the rows have 0.5
    assert judged(X, labels).value == -np.inf


def test_weights_are_repetitions():
    rng = np.random.default_rng(4)
    labels = np.arange(60) % 2
    X = rng.normal(size=(60, 4))
    X[:, :2] += 3 * labels[:, None]
    counts = rng.integers(1, 4, size=60)
    weighted = Judge(prepare(X, counts.astype(float), ridge="auto")).gain(labels)
    repeated = judged(np.repeat(X, counts, axis=0), np.repeat(labels, counts))
    assert weighted.value == pytest.approx(repeated.value, rel=1e-8)
    assert weighted.rows == repeated.rows


def test_the_gain_of_a_binary_column_is_finite():
    rng = np.random.default_rng(5)
    labels = np.arange(200) % 2
    thirds = np.where(np.arange(200) % 10 < 5, labels, rng.integers(2, 9, size=200))  # no value is frequent
    X = np.column_stack([thirds, rng.normal(size=(200, 3))]).astype(float)
    assert judged(X, labels).per_row < 1.0  # without a floor it would be tens of nats
