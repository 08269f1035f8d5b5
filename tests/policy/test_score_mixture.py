"""The mixture on scores against a naive transcription of its EM."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fisherem.policy.score_mixture import ScoreMixture


def scores(n=120, p=5, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p)) + 1.5 * rng.normal(size=(3, p))[np.arange(n) % 3]
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def naive(Z, weights, floors, ridge, labels, K):
    """EM with full matrices: the groups' common covariance is that of all rows less what the means explain."""
    total = sum(w * np.outer(z, z) for w, z in zip(weights, Z, strict=True)) / weights.sum() + np.diag(floors + ridge)
    posteriors = np.eye(K)[labels]
    for _ in range(25):
        sizes = weights @ posteriors
        shares = sizes / sizes.sum()
        means = [(weights * posteriors[:, k]) @ Z / sizes[k] for k in range(K)]
        within = total - sum(share * np.outer(m, m) for share, m in zip(shares, means, strict=True))
        groups = zip(shares, means, strict=True)
        logs = np.stack([np.log(share) + multivariate_normal(mean, within).logpdf(Z) for share, mean in groups])
        posteriors = np.exp(logs - logs.max(axis=0)).T
        posteriors /= posteriors.sum(axis=1, keepdims=True)
        if (logs.argmax(axis=0) == labels).all():
            break
        labels = logs.argmax(axis=0)
    return labels


@pytest.mark.parametrize("weighted", [False, True])
def test_several_starts_settle_as_each_of_them_does_by_itself(weighted):
    Z, K = scores(), 3
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, size=len(Z)).astype(float) if weighted else np.ones(len(Z))
    floors, ridge = np.array([0, 0.1, 0, 0, 0.02]), 0.05
    starts = [rng.integers(K, size=len(Z)) for _ in range(4)] + [np.arange(len(Z)) % K]
    found = ScoreMixture(Z, weights, floors, ridge).settle(starts, K)
    for start, labels in zip(starts, found, strict=True):
        np.testing.assert_array_equal(labels, naive(Z, weights, floors, ridge, start, K))


def test_a_start_that_loses_a_group_says_so_and_the_others_go_on():
    Z = scores()
    whole, lost = np.arange(len(Z)) % 3, np.zeros(len(Z), int)
    mixture = ScoreMixture(Z, np.ones(len(Z)), np.zeros(5), 0.01)
    first, second = mixture.settle([lost, whole], 3)
    assert first is None
    np.testing.assert_array_equal(second, mixture.settle([whole], 3)[0])
