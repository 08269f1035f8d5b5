"""The prior by which neighbours agree: naive sums, the strength that is chosen for it, and what it is good for."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import multivariate_normal

from fisherem import datasets
from fisherem.core.data.spatial_prior import SpatialPrior
from fisherem.estimators.fitting import fit_rows
from fisherem.images import segment
from fisherem.images.spatial_strength import STRENGTHS, _middle_lines, agreements
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


def test_agreement_is_that_of_naive_discriminants():
    rng = np.random.default_rng(1)
    mask = rng.random((9, 8)) < 0.9
    labels = (np.indices(mask.shape)[1] > 3)[mask].astype(int)
    values = labels[:, None] * np.array([1.0, 0.5, -1.0, 0.7]) + rng.normal(size=(len(labels), 4))
    said, smooth = [], []
    for half in (values[:, ::2], values[:, 1::2]):
        means = np.array([half[labels == k].mean(axis=0) for k in (0, 1)])
        W = sum((x - means[k])[:, None] * (x - means[k]) for x, k in zip(half, labels, strict=True)) / len(half)
        W += 0.1 * half.var(axis=0).mean() * np.eye(2)
        logs = np.array(
            [multivariate_normal(m, W).logpdf(half) + np.log((labels == k).mean()) for k, m in enumerate(means)]
        )
        said.append(logs.argmax(axis=0))
        posteriors = np.exp(log_softmax(logs, axis=0))
        for _ in range(8):
            posteriors = np.exp(log_softmax(logs + 2.0 * naive_means(mask, posteriors, 4), axis=0))
        smooth.append(posteriors.argmax(axis=0))
    found = agreements(values, labels, mask, 2, 4)
    np.testing.assert_allclose(found[0], said[0] == said[1])
    np.testing.assert_allclose(found[STRENGTHS.index(2.0)], ((smooth[0] == said[1]) * 1.0 + (smooth[1] == said[0])) / 2)


def test_no_prior_where_the_spectra_are_clear_and_a_strong_one_among_noise():
    truth = np.indices((30, 30))[0] // 15
    spectra = np.array([np.sin(np.arange(12)), np.cos(np.arange(12))])[truth]
    rng = np.random.default_rng(0)
    speckled = np.where(rng.random((30, 30)) < 0.2, 1 - truth, truth)  # single pixels of the other material
    clear = np.array([np.sin(np.arange(12)), np.cos(np.arange(12))])[speckled] + 0.1 * rng.normal(size=spectra.shape)
    alone = segment(clear, 2, spatial="auto", normalise=False)
    assert alone.spatial == 0
    assert "no spatial prior was used" in " ".join(alone.notes)
    assert accuracy(speckled.ravel(), alone.labels.ravel()) == 1
    noisy = segment(spectra + 1.5 * rng.normal(size=spectra.shape), 2, spatial="auto", normalise=False)
    assert noisy.spatial >= 1
    assert accuracy(truth.ravel(), noisy.labels.ravel()) > 0.97


def test_lines_in_the_middle_are_looked_at():
    mask = np.ones((50, 2000), bool)
    mask[20, :800] = False
    inside, part = _middle_lines(mask)
    assert part.shape[1] == 2000
    assert 12_000 <= part.sum() <= 20_000
    assert inside.stop - inside.start == part.sum()
    np.testing.assert_array_equal(np.flatnonzero(mask.ravel())[inside] // 2000 >= 18, True)


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
