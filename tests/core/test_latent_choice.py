"""The model that fits inside given axes: against scikit-learn's mixtures of the coordinates."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from fisherem import FisherEM, SparseFisherEM
from fisherem.policy.latent_model import roomy_model
from tests.deciding import compared, decided, records

SETTINGS = {"random_state": 0, "tol": 1e-10, "max_iter": 1000, "scale": "none"}


def triangle(n=300, *, p=8, shapes=None, sizes=(1, 1, 1), seed=0):
    """Three groups at the corners of a triangle in the first two of p variables: (X, labels)."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=n, p=np.array(sizes) / sum(sizes))
    shapes = np.array([np.eye(2)] * 3) if shapes is None else np.array(shapes, float)
    X = rng.normal(size=(n, p))
    corners = 5 * np.array([[1.0, 0.8], [-1.0, 0.8], [0.0, -1.2]])
    X[:, :2] = corners[labels] + np.einsum("nij,nj->ni", shapes[labels], X[:, :2])
    return X, labels


OVAL = [[[2.5, 0], [0, 0.4]], [[1, 0], [0, 1]], [[1.2, 1.1], [1.1, 1.2]]]


def coordinates_mixture(coordinates, T, kind):
    """scikit-learn's mixture of the coordinates, from the moments of posteriors."""
    sizes = T.sum(axis=0)
    means = T.T @ coordinates / sizes[:, None]
    covariances = [np.cov(coordinates.T, aweights=t, bias=True) for t in T.T]
    precisions = np.linalg.inv(covariances) if kind == "full" else np.array([2 / np.trace(C) for C in covariances])
    return GaussianMixture(
        3, covariance_type=kind, weights_init=sizes / sizes.sum(), means_init=means, precisions_init=precisions,
        tol=1e-12, max_iter=5000, reg_covar=0,
    ).fit(coordinates)  # fmt: skip


def outside_log_likelihood(X, U):
    """Of normal noise of one variance in the p - d directions outside the axes, at its maximum."""
    n, (p, d) = len(X), U.shape
    Z = X - X.mean(axis=0)
    beta = ((Z - Z @ U @ U.T) ** 2).sum() / (n * (p - d))
    return -n * (p - d) / 2 * (np.log(2 * np.pi * beta) + 1)


@pytest.mark.parametrize("shapes", [None, OVAL])
def test_values_are_those_of_mixtures_inside_the_axes(shapes):
    """log-likelihood - log n * covariance parameters: K for a sphere per group, K d (d + 1) / 2 for full ones."""
    X, _ = triangle(shapes=shapes)
    chosen, compact = FisherEM(3, **SETTINGS).fit(X), FisherEM(3, model="AB", **SETTINGS).fit(X)
    values = {record["model"]: record["value"] for record in records(FisherEM(3, **SETTINGS), X, "model")}
    assert set(values) == {"AkB", "DkB"}
    U, T = compact.loadings_, compact.predict_proba(X)
    assert U.shape == (8, 2)
    for name, kind, count in [("AkB", "spherical", 3), ("DkB", "full", 9)]:
        inside = coordinates_mixture(X @ U, T, kind).score(X @ U) * len(X)
        expected = inside + outside_log_likelihood(X, U) - np.log(len(X)) * count
        assert values[name] == pytest.approx(expected, abs=1e-3)
    assert chosen.model_ == max(values, key=values.get)


def test_weights_are_repetitions():
    X, _ = triangle(150)
    counts = np.random.default_rng(2).integers(1, 4, size=len(X))
    weighted = records(FisherEM(3, **SETTINGS), X, "model", counts)
    repeated = records(FisherEM(3, **SETTINGS), np.repeat(X, counts, axis=0), "model")
    for one, other in zip(weighted, repeated, strict=True):
        assert one["model"] == other["model"]
        assert one["value"] == pytest.approx(other["value"], rel=1e-7)


def test_round_groups_keep_the_compact_shapes_and_oval_ones_their_own():
    for seed in range(3):
        assert FisherEM(3, scale="none", random_state=0).fit(triangle(seed=seed)[0]).model_ == "AkB"
        assert FisherEM(3, scale="none", random_state=0).fit(triangle(600, shapes=OVAL, seed=seed)[0]).model_ == "DkB"


def test_small_groups_have_the_common_variance_as_a_candidate():
    X, _ = triangle(45)
    model = FisherEM(3, scale="none", random_state=0).fit(X)
    assert set(compared(model, "model")) == {"AB", "AkB", "DkB"}
    tiny = FisherEM(3, scale="none", random_state=0).fit(X[:21])
    assert set(compared(tiny, "model")) <= {"AB", "AkB"}
    assert roomy_model(19) == "AB"
    assert roomy_model(20) == "AkB"


def test_one_model_is_kept_with_a_common_noise():
    for seed in range(4):
        X, _ = triangle(90, shapes=OVAL if seed % 2 else None, seed=10 + seed)
        model = FisherEM(3, scale="none", random_state=0).fit(X)
        assert decided(model, "model").choice == model.model_
        assert len(set(model.noise_variances_)) == 1


def test_one_group():
    model = FisherEM(1, scale="none").fit(triangle()[0])
    assert tuple(decided(model, "model")) == ("AB", "", "one group")


def test_a_group_of_equal_rows_does_not_win_by_its_density():
    """Its own variance falls to the floor, and the likelihood says nothing."""
    X, labels = triangle(120)
    X[labels == 2] = X[labels == 2][0] + 1e-6 * X[labels == 2]
    model = FisherEM(3, scale="none", random_state=0).fit(X)
    assert tuple(decided(model, "model")) == ("AB", "", "no other model could be fitted")
    assert model.model_ == "AB"


@pytest.mark.parametrize(("method", "share"), [("two-step", 0.3), ("regression", 0.3), ("svd", 0.25)])
def test_a_given_sparsity_is_obeyed_with_the_model_chosen(method, share):
    """The model is chosen on the dense fit; the sparse phase follows with that model."""
    X, _ = triangle(p=20)
    model = SparseFisherEM(3, scale="none", method=method, sparsity=share, random_state=0).fit(X)
    assert 0 < model.support_.sum() < 20
    assert model.support_[:2].all()
    assert {record["phase"] for record in model.history_} == {"dense", "sparse"}
    given = SparseFisherEM(3, scale="none", method=method, sparsity=share, model=model.model_, random_state=0).fit(X)
    np.testing.assert_allclose(model.sparse_loadings_, given.sparse_loadings_, atol=1e-8)


def test_a_cold_start_is_sparse_from_the_first_iteration():
    X, _ = triangle(p=20)
    model = SparseFisherEM(3, scale="none", sparsity=0.3, start="cold", random_state=0).fit(X)
    assert {record["n_selected"] for record in model.history_} <= set(range(1, 20))
