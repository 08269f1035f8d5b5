"""`gain_`: a lower bound of what a mixture of overlapping Gaussian groups gains over one group."""

import numpy as np
import pytest
from scipy.special import entr
from scipy.stats import multivariate_normal

from fisherem import FactorMixture, FisherEM, SparseFisherEM
from fisherem.core.data.problem import prepare
from fisherem.policy.criterion import Partition, gain, price


def mixture_gain(X, T, support):
    """The log-likelihood of Gaussian groups with the weighted moments of T (n x K) less that of one Gaussian."""
    X = X[:, support]
    n = len(X)
    shares = T.mean(axis=0)
    means = T.T @ X / T.sum(axis=0)[:, None]
    within = sum((T[:, k, None] * (X - means[k])).T @ (X - means[k]) for k in range(T.shape[1])) / n
    groups = sum(share * multivariate_normal(m, within).pdf(X) for share, m in zip(shares, means, strict=True))
    one = multivariate_normal(X.mean(axis=0), np.cov(X.T, bias=True)).logpdf(X)
    posteriors = np.stack(
        [s * multivariate_normal(m, within).pdf(X) for s, m in zip(shares, means, strict=True)], axis=1
    )
    return np.log(groups).sum() - one.sum(), posteriors / posteriors.sum(axis=1, keepdims=True)


def bound(X, T, support):
    """`gain` without its price, K = 2."""
    problem = prepare(X, ridge=1e-12)
    partition = Partition.of(problem, problem.start_states(T, 2))
    n, p = X.shape
    prices = sum(price(n, p, 1, i) for i in range(len(support))) + np.log(n)
    return gain(partition, np.array(support), float(entr(T).sum())) + prices


def overlapping(n=400, p=4, apart=2.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, 0] += apart * y
    return X, y


def test_it_is_a_lower_bound_and_exact_for_the_groups_own_posteriors():
    X, y = overlapping()
    T = np.eye(2)[y] * 0.8 + 0.1
    support = [0, 2]
    assert bound(X, T, support) < mixture_gain(X, T, support)[0]
    for _ in range(3000):  # EM: at its fixed point the posteriors are those of the groups
        value, T = mixture_gain(X, T, support)
    assert bound(X, T, support) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("apart", [3.0, 8.0])
def test_it_is_positive_for_groups_that_overlap_and_for_groups_that_are_apart(apart):
    X, _ = overlapping(5000, 2, apart)
    assert FisherEM(2, random_state=0).fit(X).gain_ > 0


def test_it_is_0_for_one_group_and_negative_for_noise():
    X = np.random.default_rng(0).normal(size=(300, 5))
    assert FisherEM(1).fit(X).gain_ == 0
    assert SparseFisherEM(2, random_state=0).fit(X).gain_ < 0


def test_the_rows_of_the_fit_have_its_gain():
    X, _ = overlapping(apart=4.0)
    for model in (FisherEM(2, random_state=0), SparseFisherEM(2, random_state=0), FactorMixture(2, 1, random_state=0)):
        model.fit(X)
        assert model.criterion("gain", X) == pytest.approx(model.gain_, rel=1e-6)
