"""Groups with covariances of their own: the mixture against a naive one, and when it decides."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from fisherem import FisherEM, SparseFisherEM
from fisherem.core.data.problem import prepare
from fisherem.policy.default_fit import few_rows
from fisherem.policy.own_covariances import OwnCovariances, covariances_decision, own_covariances_allowed
from fisherem.policy.scores import Scores, standardised
from fisherem.policy.thresholds import THRESHOLDS

from .holding import holds, of_sizes


def tight_and_wide(rng, n=300, p=5, apart=2.0):
    """Two groups that differ in their covariances more than in their means."""
    labels = np.repeat([0, 1], [2 * n // 3, n - 2 * n // 3])
    X = rng.normal(size=(n, p)) * np.where(labels, 0.4, 3.0)[:, None]
    X[labels == 1, :2] += apart
    return X, labels


def naive(Z, labels, iterations, rows_of_common):
    """(labels, gain in nats per row) of EM in loops."""
    n, q = Z.shape
    K = labels.max() + 1
    P = np.eye(K)[labels]
    T = Z.T @ Z / n
    for _ in range(iterations):
        sizes = P.sum(axis=0)
        means = [(P[:, k] @ Z) / sizes[k] for k in range(K)]
        within = sum(P[i, k] * np.outer(Z[i] - means[k], Z[i] - means[k]) for i in range(n) for k in range(K)) / n
        joint = np.empty((n, K))
        for k in range(K):
            own = sum(P[i, k] * np.outer(Z[i] - means[k], Z[i] - means[k]) for i in range(n))
            own = (own + rows_of_common * q * within) / (sizes[k] + rows_of_common * q)
            joint[:, k] = sizes[k] / n * multivariate_normal(means[k], own).pdf(Z)
        P = joint / joint.sum(axis=1, keepdims=True)
    one = multivariate_normal(np.zeros(q), T).logpdf(Z).sum()
    parameters = (K - 1) * (1 + q + q * (q + 1) / 2)
    return joint.argmax(axis=1), (np.log(joint.sum(axis=1)).sum() - one - np.log(n) / 2 * parameters) / n


def ready(X):
    return prepare((X - X.mean(axis=0)) / X.std(axis=0), ridge="auto")


@holds("rows_of_common")
def test_em_is_that_of_a_naive_transcription():
    X, labels = tight_and_wide(np.random.default_rng(0), n=120, p=3)
    mixture = OwnCovariances(ready(X), 2)
    rng = np.random.default_rng(1)
    start = np.where(rng.uniform(size=120) < 0.2, 1 - labels, labels)
    for iterations in (1, 3):
        found = mixture.climbed(start, iterations)
        expected, gain = naive(mixture.scores, start, iterations, 2.0)
        np.testing.assert_array_equal(found.labels, expected)
        assert found.gain == pytest.approx(gain, abs=1e-7)


def test_scores_are_those_of_principal_components():
    rng = np.random.default_rng(2)
    X = rng.gamma(2.0, size=(200, 30)) * 0.8 ** np.arange(30)
    mixture = OwnCovariances(prepare(X, ridge="auto"), 2)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    components = (U * s)[:, : mixture.q]
    expected = standardised(Scores.of(components, None, np.zeros(mixture.q)).transform(components), np.ones(200))
    for ours, one in zip(mixture.scores.T[:10], expected.T[:10], strict=True):
        assert abs(np.corrcoef(ours, one)[0, 1]) > 0.999


def test_weights_are_repetitions():
    X, labels = tight_and_wide(np.random.default_rng(3), n=150, p=4)
    times = np.random.default_rng(4).integers(0, 4, size=150)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    weighted = OwnCovariances(prepare(Z, times.astype(float), ridge="auto"), 2)
    repeated = OwnCovariances(prepare(np.repeat(Z, times, axis=0), ridge="auto"), 2)
    one, other = weighted.climbed(labels), repeated.climbed(np.repeat(labels, times))
    np.testing.assert_array_equal(np.repeat(one.labels, times), other.labels)
    assert one.gain == pytest.approx(other.gain, abs=1e-2)  # scores are fitted to quantiles, which weights interpolate


@holds("components", "rows_per_component")
def test_components_are_few_for_the_rows():
    def components(n, p, K):
        return OwnCovariances(of_sizes([1.0] * p, n), K).q

    assert components(400, 30, 2) == 20
    assert components(400, 7, 2) == 7
    assert components(199, 30, 2) == 19  # 199 // (5 * 2)
    assert components(60, 30, 4) == 3


def test_heavy_rows_have_no_more_components_than_directions():
    X = np.random.default_rng(0).normal(size=(7, 50))
    weights = np.where(np.arange(7) < 5, 1e40, 0.0)
    mixture = OwnCovariances(prepare(X, weights, ridge="auto"), 2)
    assert mixture.q == 4
    assert mixture.scores.shape == (7, 4)


def test_components_that_could_not_hold_the_means_do_not_decide():
    X = np.random.default_rng(0).normal(size=(40, 10))
    found, _, _, decision = covariances_decision(ready(X), np.arange(40) % 5, 5, "auto")
    assert found is None
    assert decision.reason == "too few rows for covariances of their own"


@holds("rows_per_own_parameter")
def test_covariances_alone_decide_where_rows_are_many():
    """Three rows in the smaller group for each of the p (p + 3) / 2 parameters of a mean and a covariance."""
    mixture = OwnCovariances(of_sizes([1.0] * 5, 300), 2)
    assert mixture.enough(60)
    assert not mixture.enough(59)
    assert not OwnCovariances(of_sizes([1.0] * 25, 3000), 2).enough(1500)  # more columns than components


@holds("own_rows")
def test_covariances_are_looked_at_on_some_of_many_rows():
    problem = of_sizes([1.0, 1.0], 4100)
    one, other = (few_rows(problem, np.random.RandomState(3), THRESHOLDS.own_rows)[0] for _ in range(2))
    assert len(one) == 4000
    np.testing.assert_array_equal(one, other)


def test_a_tight_group_in_a_wide_one_is_found():
    X, labels = tight_and_wide(np.random.default_rng(102))
    assert adjusted_rand_score(labels, KMeans(2, n_init=10, random_state=0).fit_predict(X)) < 0.2
    for kind in (FisherEM, SparseFisherEM):
        model = kind(2, random_state=0).fit(X)
        assert adjusted_rand_score(labels, model.labels_) > 0.5
        assert model.decisions_.set_index("decision").at["covariances", "choice"] == "own"


def test_pictures_of_digits_have_covariances_of_their_own():
    """Wide groups (ones) beside tight ones (zeros), in columns of which most have a frequent value."""
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    start = adjusted_rand_score(y, KMeans(10, n_init=10, random_state=0).fit_predict(X))
    model = SparseFisherEM(10, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > start + 0.05
    assert model.model_ == "DkB"
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_a_core_of_a_cloud_is_no_group():
    """Groups of k-means in one heavy-tailed cloud of many columns: the likelihood prefers its core and its rim."""
    rng = np.random.default_rng(5)
    X = rng.standard_t(4, size=(400, 1)) ** 2 * rng.normal(size=(400, 25))
    model = FisherEM(2, random_state=0).fit(X)
    decision = model.decisions_.set_index("decision").loc["covariances"]
    assert decision["choice"] == "common"


def test_means_stay_as_far_apart():
    """Rows that lie close together, across groups that one column tells apart, gain most and are no group."""
    rng = np.random.default_rng(6)
    labels = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 4))
    X[labels == 1, 0] += 2.5
    close = np.arange(400) % 2 == 0
    X[close, 1:] *= 0.05
    found, mixture, _, decision = covariances_decision(ready(X), labels, 2, "auto")
    climbed = mixture.climbed(labels)
    assert adjusted_rand_score(climbed.labels, close) > 0.9
    assert climbed.gain > mixture.in_common(labels) > 0
    assert found is None
    assert decision.reason == "with covariances of their own, the groups' means are less apart"


@pytest.mark.parametrize(("model", "own"), [("auto", True), ("DkBk", True), ("AkjB", True), ("DB", False)])
def test_models_with_a_common_covariance_stay(model, own):
    assert own_covariances_allowed(model) == own
    X, _ = tight_and_wide(np.random.default_rng(7))
    decisions = set(FisherEM(2, model=model, random_state=0).fit(X).decisions_["decision"])
    assert ("covariances" in decisions) == own
