"""Data drawn from each of the twelve models: the parameters come back, and BIC knows the model."""

import numpy as np
import pytest

from fisherem import FisherEM, ModelSearch, datasets
from fisherem.model.dlm import MODELS
from tests.naive import principal_angle


def match(model, sample):
    """The order of the fitted groups that goes with the true ones."""
    return [int(((model.means_ - m) ** 2).sum(axis=1).argmin()) for m in sample.means]


def inside(sample, U):
    """(means, noises) of the sample's model as axes U see them: what they miss of the means is noise to them."""
    overall = sample.means.mean(axis=0)
    means = overall + (sample.means - overall) @ U @ U.T
    p, d = U.shape
    V, Q = sample.loadings, np.eye(p) - U @ U.T
    outside = np.array([Q @ (V @ own @ V.T) @ Q for own in sample.covariances])
    outside += sample.noise_variances[:, None, None] * (Q @ (np.eye(p) - V @ V.T) @ Q)
    noises = np.trace(outside, axis1=1, axis2=2) + ((sample.means - means) ** 2).sum(axis=1)
    return means, noises / (p - d)


@pytest.mark.parametrize("means", ["latent", "full"])
@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_recovered(name, means):
    sample = datasets.simulate_dlm(name, random_state=0)
    model = FisherEM(4, model=name, means=means, noise_factors=0, random_state=0, n_init=2).fit(sample.X)
    order = match(model, sample)
    assert sorted(order) == [0, 1, 2, 3]
    assert (np.array(order)[sample.y] == model.labels_).mean() > 0.995
    np.testing.assert_allclose(model.weights_[order], 0.25, atol=0.03)
    true_means, noises = sample.means, sample.noise_variances
    if means == "latent":  # axes that are some degrees off miss a part of each mean
        true_means, noises = inside(sample, model.loadings_)
        if name.endswith("B"):
            noises = np.full(4, noises.mean())
    np.testing.assert_allclose(model.means_[order], true_means, atol=0.25)
    np.testing.assert_allclose(model.noise_variances_[order], noises, rtol=0.08)
    assert principal_angle(model.loadings_, sample.loadings) < 12  # sampling error: sqrt(p/n) radians and more
    # covariances in the space of the variables: free of the choice of axes
    U, V = model.loadings_, sample.loadings
    for k, o in enumerate(order):
        ours, truth = U @ model.covariances_[o] @ U.T, V @ sample.covariances[k] @ V.T
        assert np.abs(ours - truth).max() < 0.2 * np.abs(truth).max()


def test_bic_knows_the_model():
    known = []
    for name in MODELS:
        truth = MODELS[name]
        sample = datasets.simulate_dlm(name, random_state=1)
        estimator = FisherEM(noise_factors=0, random_state=0)
        search = ModelSearch(estimator, n_clusters=[4], models=list(MODELS), criterion="bic", n_init=1, n_jobs=1)
        search.fit(sample.X)
        found = MODELS[search.best_params_["model"]]
        difference = abs(found.n_parameters(4, 20, 3) - truth.n_parameters(4, 20, 3))
        known.append(found is truth or (nested(found, truth) and difference <= 3))
    assert sum(known) >= 10, known


def nested(a, b) -> bool:
    """Whether one of the two models is a special case of the other."""

    def within(small, large):
        covariances = {
            "A": {"A", "Ak", "Aj", "Akj", "D", "Dk"},
            "Ak": {"Ak", "Akj", "Dk"},
            "Aj": {"Aj", "Akj", "D", "Dk"},
            "Akj": {"Akj", "Dk"},
            "D": {"D", "Dk"},
            "Dk": {"Dk"},
        }
        noises = {"B": {"B", "Bk"}, "Bk": {"Bk"}}
        return (
            large.covariance.name in covariances[small.covariance.name] and large.noise.name in noises[small.noise.name]
        )

    return within(a, b) or within(b, a)
