"""Data drawn from each of the twelve models: the parameters come back, and BIC knows the model."""

import numpy as np
import pytest

from fisherem import FisherEM, ModelSearch, datasets
from fisherem.experiments.paper import TABLE_1
from fisherem.model.dlm import MODELS
from tests.naive import principal_angle


def match(model, sample):
    """The order of the fitted groups that goes with the true ones."""
    return [int(((model.means_ - m) ** 2).sum(axis=1).argmin()) for m in sample.means]


@pytest.mark.parametrize("name", TABLE_1)
def test_parameters_are_recovered(name):
    sample = datasets.simulate_dlm(name, random_state=0)
    model = FisherEM(4, model=name, random_state=0, n_init=2).fit(sample.X)
    order = match(model, sample)
    assert sorted(order) == [0, 1, 2, 3]
    assert (np.array(order)[sample.y] == model.labels_).mean() > 0.995
    np.testing.assert_allclose(model.weights_[order], 0.25, atol=0.03)
    np.testing.assert_allclose(model.means_[order], sample.means, atol=0.25)
    np.testing.assert_allclose(model.noise_variances_[order], sample.noise_variances, rtol=0.08)
    assert principal_angle(model.loadings_, sample.loadings) < 12  # sampling error: sqrt(p/n) radians and more
    # covariances in the space of the variables: free of the choice of axes
    U, V = model.loadings_, sample.loadings
    for k, o in enumerate(order):
        ours, truth = U @ model.covariances_[o] @ U.T, V @ sample.covariances[k] @ V.T
        assert np.abs(ours - truth).max() < 0.2 * np.abs(truth).max()


def test_bic_knows_the_model():
    known = []
    for name in TABLE_1:
        truth = MODELS[name]
        sample = datasets.simulate_dlm(name, random_state=1)
        search = ModelSearch(FisherEM(random_state=0), n_clusters=[4], models=TABLE_1, n_init=1, n_jobs=1)
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
