"""The prior by which neighbours agree: naive sums, the maximum of its own likelihood, and what it is good for."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from fisherem import datasets
from fisherem.core.data.spatial_prior import SpatialPrior
from fisherem.estimators.fitting import fit_rows
from fisherem.images import segment
from tests.naive import accuracy

STEPS = {
    4: [(0, 1), (1, 0), (0, -1), (-1, 0)],
    8: [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b],
}


def naive_means(mask, posteriors, neighbours):
    number = {tuple(x): i for i, x in enumerate(np.argwhere(mask))}
    out = np.zeros_like(posteriors)
    for (r, c), i in number.items():
        near = [number[r + a, c + b] for a, b in STEPS[neighbours] if (r + a, c + b) in number]
        if near:
            out[:, i] = posteriors[:, near].mean(axis=1)
    return out


@pytest.mark.parametrize("neighbours", [4, 8])
def test_neighbour_means_are_the_naive_ones(neighbours):
    rng = np.random.default_rng(0)
    mask = rng.random((7, 5)) < 0.7
    posteriors = rng.dirichlet(np.ones(3), size=mask.sum()).T
    prior = SpatialPrior(mask, 1.0, neighbours)
    np.testing.assert_allclose(prior.neighbour_means(posteriors), naive_means(mask, posteriors, neighbours))


def test_the_strength_maximises_the_pseudo_likelihood():
    rng = np.random.default_rng(1)
    zones = np.repeat(np.arange(3), 10)[:, None] * np.ones((1, 20), int)
    labels = np.where(rng.random(zones.shape) < 0.3, rng.integers(3, size=zones.shape), zones).ravel()
    posteriors = np.eye(3)[labels].T
    proportions = np.array([0.5, 0.2, 0.3])
    prior = SpatialPrior(np.ones(zones.shape, bool), None)
    means = naive_means(prior.mask, posteriors, 4)

    def loss(b):
        return -(posteriors * log_softmax(np.log(proportions)[:, None] + b * means, axis=0)).sum()

    best = minimize_scalar(loss, bounds=(0, 12), method="bounded", options={"xatol": 1e-6}).x
    assert prior.estimate(posteriors, means, np.log(proportions)) == pytest.approx(best, abs=2e-3)


def test_zero_strength_is_the_method_without_it_and_priors_are_normalised(scene):
    plain = segment(scene.cube, 3)
    from fisherem.images import clean

    cleaned = clean(scene.cube)
    model = plain.model.__class__(**plain.model.get_params())
    model.n_features_in_ = cleaned.rows.shape[1]
    fitted = fit_rows(model, cleaned.rows, prior=SpatialPrior(cleaned.mask, 0.0))
    problem, chosen = fitted.problem, fitted.chosen
    fit = chosen.fit
    np.testing.assert_allclose(problem.rows.gather(fit.states, "posteriors").T, plain.posteriors[cleaned.mask])
    assert plain.spatial == 0
    assert "spatial" not in plain.model.history_[0]
    log_prior = problem.rows.gather(fit.states, "log_prior") + np.log(fit.solution.density.proportions)[:, None]
    np.testing.assert_allclose(np.exp(log_prior).sum(axis=0), 1, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_neighbours_help_where_the_noise_is_high():
    scene = datasets.mars_like(rows=64, cols=64, bands=80, noise=0.08, seed=3)
    alone = segment(scene.cube, 5, max_iter=15)
    together = segment(scene.cube, 5, spatial="auto", max_iter=15)
    assert together.spatial > 0
    valid = ~scene.dead
    gain = accuracy(scene.truth[valid], together.labels[valid]) - accuracy(scene.truth[valid], alone.labels[valid])
    assert gain >= 0.03


def test_a_search_with_the_prior_keeps_it(scene):
    found = segment(scene.cube, [2, 3], spatial=1.0, neighbours=8, n_jobs=1)
    assert found.spatial == 1.0
    np.testing.assert_allclose(found.posteriors[~scene.dead].sum(axis=1), 1)
