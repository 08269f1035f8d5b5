"""The values of a partition against their formulas written out."""

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm
from sklearn.preprocessing import PowerTransformer

from fisherem.policy.number_of_groups.halves import halves_of, prediction_strength
from fisherem.policy.number_of_groups.partition_values import judged, micl, mixture_gain, partition_c
from fisherem.policy.number_of_groups.transforms import (
    EXPONENTS,
    TRANSFORMS,
    Transformed,
    normal_scores,
    one_group_powers,
)
from fisherem.policy.powers import yeo_johnson


@pytest.fixture(scope="module")
def groups():
    """Three groups on two of four columns: X (90 x 4) with mean 0 and variance 1, and labels."""
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = rng.normal(size=(90, 4))
    X[:, :2] += np.array([[3.0, 0], [-3, 0], [0, 4]])[labels]
    return (X - X.mean(axis=0)) / X.std(axis=0), labels


def plain(X):
    return Transformed(X, np.zeros(X.shape[1]))


def naive_c(X, labels, S, rank, c, p):
    """C(K, S) from the eigenvalues of W^-1 B, term by term."""
    n, K = len(X), labels.max() + 1
    Z = X[:, S] - X[:, S].mean(axis=0)
    T = Z.T @ Z / n
    W = sum(
        (Z[labels == k] - Z[labels == k].mean(axis=0)).T @ (Z[labels == k] - Z[labels == k].mean(axis=0))
        for k in range(K)
    )
    values = np.sort(np.linalg.eigvals(np.linalg.solve(W / n, T - W / n)).real)[::-1][:rank]
    value = n / 2 * np.log1p(values).sum()
    for m in range(len(S)):
        if c == 1:
            value -= rank / 2 * np.log(n)
        else:
            value -= rank / 2 * np.log(n) + max(rank / 2 * np.log(n), np.log((p - m) / (m + 1)))
    sizes = np.bincount(labels)
    value += (sizes * np.log(sizes / n)).sum()
    return value - c / 2 * np.log(n) * (rank * (K - 1 - rank) + K - 1)


@pytest.mark.parametrize("c", [1, 2])
def test_c_is_the_formula_at_the_subset_it_prefers(groups, c):
    X, labels = groups
    found = partition_c(plain(X), labels, np.ones(90), c)
    np.testing.assert_array_equal(found.support, [0, 1])
    best = max(naive_c(X, labels, [0, 1], rank, c, 4) for rank in (1, 2))
    assert found.value == pytest.approx(best, rel=1e-6)
    others = [[0], [1], [0, 1, 2], [0, 1, 3], [0, 1, 2, 3]]
    assert all(naive_c(X, labels, S, rank, c, 4) < found.value for S in others for rank in (1, min(2, len(S))))


def test_c_is_0_for_one_group_and_pays_for_costs(groups):
    X, labels = groups
    assert partition_c(plain(X), np.zeros(90, int), np.ones(90), 1).value == 0
    free = partition_c(plain(X), labels, np.ones(90), 1)
    charged = partition_c(Transformed(X, np.array([5.0, 7.0, 0, 0])), labels, np.ones(90), 1)
    assert charged.value == pytest.approx(free.value - 12)
    dear = partition_c(Transformed(X, np.array([0, 1e4, 0, 0])), labels, np.ones(90), 1)
    assert 1 not in dear.support


def test_weights_mean_repetitions(groups):
    X, labels = groups
    weights = 1 + (np.arange(90) % 4 == 0)
    twice = np.repeat(np.arange(90), weights)
    for name, transform in TRANSFORMS.items():
        weighted = partition_c(transform.apply(X, labels, weights.astype(float)), labels, weights.astype(float), 1)
        repeated = partition_c(transform.apply(X[twice], labels[twice], np.ones(len(twice))), labels[twice],
                               np.ones(len(twice)), 1)  # fmt: skip
        if name != "power":  # medians and spreads, which the exponents bend about, do not know weights
            assert weighted.value == pytest.approx(repeated.value, rel=1e-6)
        np.testing.assert_array_equal(weighted.support, repeated.support)
    assert micl(X, labels, weights.astype(float)) == pytest.approx(micl(X[twice], labels[twice], np.ones(len(twice))))


def test_mixture_gain_of_separated_groups_is_that_of_the_partition(groups):
    X, labels = groups
    n, S = 90, X[:, :2]
    T = np.cov(S.T, bias=True)
    means = np.array([S[labels == k].mean(axis=0) for k in range(3)])
    W = T - (means.T / 3) @ means
    one = multivariate_normal(np.zeros(2), T).logpdf(S).sum()
    densities = np.stack([np.log(1 / 3) + multivariate_normal(m, W).logpdf(S) for m in means])
    gain = np.logaddexp.reduce(densities, axis=0).sum() - one - np.log(n) / 2 * (2 * 2 + 2)
    assert mixture_gain(S, labels, np.ones(n)) == pytest.approx(gain, abs=0.5)  # a few iterations change little here
    assert mixture_gain(S, np.zeros(n, int), np.ones(n)) == 0


def test_slices_of_one_group_gain_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2))
    for K in (2, 3, 4):
        labels = np.digitize(X[:, 0], norm.ppf(np.arange(1, K) / K))
        assert mixture_gain(X, labels, np.ones(500)) < 0
        # ... though slicing explains two thirds of the variance and more
        within = sum(((X[labels == k, 0] - X[labels == k, 0].mean()) ** 2).sum() for k in range(K))
        assert within < 0.4 * ((X[:, 0] - X[:, 0].mean()) ** 2).sum()


def test_micl_is_marbac_and_sedkis_formula(groups):
    X, labels = groups
    n0, n, K = 0.01, 90, 3

    def integral(x, mu):
        m, mean = len(x), x.mean()
        s2 = ((x - mean) ** 2).sum() + 1 + (mu - mean) ** 2 / (1 / n0 + 1 / m)
        return (-(m / 2) * np.log(np.pi) + gammaln((m + 1) / 2) - gammaln(0.5) - (m + 1) * np.log(np.sqrt(s2))
                + 0.5 * np.log(n0 / (m + n0)))  # fmt: skip

    value = gammaln(K / 2) - K * gammaln(0.5) - gammaln(n + K / 2)
    value += sum(gammaln((labels == k).sum() + 0.5) for k in range(K))
    for x in X.T:
        apart = sum(integral(x[labels == k], x.mean()) for k in range(K))
        value += max(integral(x, x.mean()), apart)
    assert micl(X, labels, np.ones(n)) == pytest.approx(value)


def test_prediction_strength_counts_pairs():
    rng = np.random.default_rng(2)
    own, other = rng.integers(0, 3, size=40), rng.integers(0, 3, size=40)
    shares = []
    for k in range(3):
        rows = np.flatnonzero(own == k)
        pairs = [(i, j) for i in rows for j in rows if i != j]
        shares.append(np.mean([other[i] == other[j] for i, j in pairs]))
    assert prediction_strength(own, other) == pytest.approx(min(shares))
    assert prediction_strength(own, own) == 1


def test_halves_are_disjoint_and_cover_the_rows():
    for first, second in halves_of(21, 4, np.random.RandomState(0)):
        assert len(first) == 10
        np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(21))


def test_yeo_johnson_is_scikit_learns():
    x = np.random.default_rng(3).normal(size=50) * 3
    for exponent in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0):
        theirs = PowerTransformer(standardize=False)
        theirs.lambdas_, theirs.n_features_in_ = np.array([exponent]), 1
        np.testing.assert_allclose(yeo_johnson(x, exponent), theirs.transform(x[:, None])[:, 0], rtol=1e-9)


def test_normal_scores_are_quantiles_of_mid_ranks():
    x = np.array([[3.0], [1.0], [2.0], [2.0]])
    scores = normal_scores(x, np.ones(4))[:, 0]
    np.testing.assert_allclose(scores, norm.ppf([3.5 / 4, 0.5 / 4, 0.5, 0.5]))


def test_powers_find_the_logarithm_and_leave_spikes_alone():
    rng = np.random.default_rng(4)
    skewed = np.exp(0.7 * rng.normal(size=400))
    spiked = np.where(rng.random(400) < 0.4, 0.0, skewed)
    bent, gains = one_group_powers(np.column_stack([skewed, rng.normal(size=400), spiked]), np.ones(400))
    assert gains[0] > 50
    assert gains[1] < 5
    assert gains[2] == 0
    np.testing.assert_allclose(bent.mean(axis=0), 0, atol=1e-9)
    third = [np.mean(((x - x.mean()) / x.std()) ** 3) for x in (skewed, bent[:, 0])]
    assert abs(third[1]) < 0.2 < third[0]
    assert 1.0 in EXPONENTS


def test_skew_is_no_group():
    """One log-normal group, cut at its median: C of the columns as they are calls it two, without skew it does not."""
    rng = np.random.default_rng(5)
    X = np.exp(0.8 * rng.normal(size=(300, 3)))
    labels = (X[:, 0] > np.quantile(X[:, 0], 0.9)).astype(int)
    found = judged(X, labels, np.ones(300))
    assert found["c1_plain"] > 0
    assert found["c1_scores"] < 0
    assert found["c1_power"] < 0
