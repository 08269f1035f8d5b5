"""The selected variables make the groups: nothing else of a row counts, and the plane gives back the labels."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fisherem import FisherEM, SparseFisherEM, datasets, load, save
from tests.naive import estimator_log_densities, group_covariance, posteriors_of, spread_along

KEPT = Path(__file__).parent.parent / "files"
SPARSE = {
    "two-step": {"method": "two-step", "sparsity": 0.4},
    "regression": {"method": "regression", "sparsity": 0.4},
    "svd": {"method": "svd", "sparsity": 0.4},
    "auto": {"sparsity": "auto"},
}


@pytest.fixture(scope="module", params=SPARSE)
def sparse_fit(request, wine):
    """A sparse fit of wine with a common noise and its factors."""
    return SparseFisherEM(3, random_state=0, noise_factors="auto", **SPARSE[request.param]).fit(wine[0]), wine[0]


@pytest.fixture(scope="module")
def wide_fit():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 200)) + 30
    X[:, :10] += 4 * rng.normal(size=(3, 10))[np.arange(40) % 3]
    return SparseFisherEM(3, random_state=0).fit(X), X


def plane_labels(model, X):
    """Labels of a mixture in the plane of `transform`, with the latent parameters that were fitted."""
    coordinates = model.transform(X)
    return np.argmax(
        [
            np.log(share) + multivariate_normal.logpdf(coordinates, mean, covariance)
            for share, mean, covariance in zip(model.weights_, model.latent_means_, model.covariances_, strict=True)
        ],
        axis=0,
    )


def others_replaced(model, X):
    """Tables that differ from X in the columns that are not selected."""
    rng = np.random.default_rng(0)
    others = np.flatnonzero(~model.support_)
    noisy, shuffled, equal = X.copy(), X.copy(), X.copy()
    noisy[:, others] = 1e6 * rng.normal(size=(len(X), len(others)))
    shuffled[:, others] = rng.permuted(X[:, others], axis=0)
    equal[:, others] = -3.0
    return [noisy, shuffled, equal]


def assert_only_selected_columns_count(model, X):
    assert 0 < model.support_.sum() < X.shape[1]
    labels, posteriors, plane = model.predict(X), model.predict_proba(X), model.transform(X)
    for changed in others_replaced(model, X):
        np.testing.assert_array_equal(model.predict(changed), labels)
        np.testing.assert_array_equal(model.predict_proba(changed), posteriors)
        np.testing.assert_array_equal(model.transform(changed), plane)


def test_columns_that_are_not_selected_change_no_bit(sparse_fit):
    model, X = sparse_fit
    assert len(set(model.noise_variances_)) == 1
    assert_only_selected_columns_count(model, X)


def test_columns_that_are_not_selected_change_no_bit_where_they_are_many(wide_fit):
    assert_only_selected_columns_count(*wide_fit)


@pytest.mark.parametrize("name", ["AB", "AkjB", "DkB"])
def test_every_model_with_a_common_noise(wine, name):
    model = SparseFisherEM(3, model=name, sparsity=0.3, random_state=0).fit(wine[0])
    assert_only_selected_columns_count(model, wine[0])


def test_the_plane_gives_back_the_labels(sparse_fit, wide_fit):
    for model, X in (sparse_fit, wide_fit):
        np.testing.assert_array_equal(plane_labels(model, X), model.labels_)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_the_plane_of_a_dense_fit_gives_back_the_labels(iris, wine):
    for X, _ in (iris, wine):
        model = FisherEM(3, random_state=0).fit(X)
        np.testing.assert_array_equal(plane_labels(model, X), model.labels_)


def test_with_a_noise_per_group_the_residual_affects_the_posteriors(wine):
    """A row far outside the axes goes to the group with the largest noise, whatever its coordinates in the plane."""
    X = wine[0]
    model = SparseFisherEM(3, model="DkBk", sparsity=0.4, random_state=0).fit(X)
    assert len(set(model.noise_variances_)) == 3
    far = others_replaced(model, X)[0]
    np.testing.assert_array_equal(model.transform(far), model.transform(X))
    assert (model.predict(far) == model.noise_variances_.argmax()).all()
    assert len(set(model.predict(X))) == 3


@pytest.mark.parametrize("name", ["DkBk", "AkB"])
def test_densities_and_posteriors_are_those_of_the_model_written_out(wine, name):
    X = wine[0]
    model = SparseFisherEM(3, model=name, sparsity=0.4, random_state=0).fit(X)
    new = X[::3] + np.random.default_rng(0).normal(size=X[::3].shape)
    posteriors, density, _ = posteriors_of(estimator_log_densities(model, new))
    np.testing.assert_allclose(model.score_samples(new), density)
    np.testing.assert_allclose(model.predict_proba(new), posteriors, atol=1e-9)
    assert model.score(new) == pytest.approx(density.mean())
    _, density, entropy = posteriors_of(estimator_log_densities(model, X))
    assert model.log_likelihood_ == pytest.approx(density.sum())
    assert model.bic_ - model.icl_ == pytest.approx(entropy.sum(), rel=1e-5)


@pytest.mark.parametrize("options", SPARSE.values(), ids=SPARSE)
def test_means_lie_inside_the_axes_about_the_overall_mean(wine, options):
    X = wine[0]
    model = SparseFisherEM(3, random_state=0, noise_factors=0, **options).fit(X)
    from_overall = model.means_ - X.mean(axis=0)
    inside = from_overall @ model.loadings_ @ model.loadings_.T
    np.testing.assert_allclose(inside, from_overall, atol=1e-10)
    np.testing.assert_allclose(
        model.means_[:, ~model.support_], np.tile(X.mean(axis=0), (3, 1))[:, ~model.support_], atol=1e-12
    )


def test_factors_of_the_noise_carry_the_other_means_along(sparse_fit):
    """Given the selected variables the others have the same distribution in every group."""
    model, X = sparse_fit
    assert model.noise_factors_ > 0
    from_overall = model.means_ - X.mean(axis=0)
    B = spread_along(model.loadings_, model.noise_loadings_)[2]
    np.testing.assert_allclose(from_overall @ model.loadings_ @ B.T, from_overall, atol=1e-10)
    assert np.abs(from_overall[:, ~model.support_]).max() > 0.1


def test_criteria_of_the_fitted_rows_are_those_of_the_fit(sparse_fit, wide_fit):
    for model, X in (sparse_fit, wide_fit):
        assert model.bic(X) == pytest.approx(model.bic_, rel=1e-9)
        assert model.icl(X) == pytest.approx(model.icl_, rel=1e-9)
        assert model.aic(X) == pytest.approx(model.aic_, rel=1e-9)


@pytest.mark.parametrize("factors", [0, 2])
@pytest.mark.parametrize("name", ["DkBk", "AkB"])
def test_draws_have_the_moments_of_the_model(name, factors):
    rows = datasets.simulate_dlm(name, 400, p=6, random_state=0).X
    model = FisherEM(4, model=name, noise_factors=factors, random_state=0).fit(rows)
    assert model.noise_factors_ == factors
    n = 200_000
    X, labels = model.sample(n, random_state=1)
    for k in range(4):
        drawn = X[labels == k]
        covariance = group_covariance(model, k)
        # five standard errors of a mean and of a variance
        error = 5 * np.sqrt(np.diag(covariance) / len(drawn))
        assert (np.abs(drawn.mean(axis=0) - model.means_[k]) < error).all()
        sizes = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        assert (np.abs(np.cov(drawn.T) - covariance) < 5 * np.sqrt(2 / len(drawn)) * sizes).all()
    np.testing.assert_allclose(np.bincount(labels) / n, model.weights_, atol=5 * np.sqrt(0.25 / n))


def test_model_files(sparse_fit, tmp_path):
    model, X = sparse_fit
    back = load(save(model, tmp_path / "model.skops"))
    assert back.means == "latent"
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(back.score_samples(X), model.score_samples(X))


def test_a_file_of_the_first_version_has_full_means():
    """Its posteriors were kept with it, and every variable votes in them."""
    with np.load(KEPT / "model-0.1.0.npz") as kept:
        X, posteriors = kept["X"], kept["posteriors"]
    model = load(KEPT / "model-0.1.0.skops")
    assert model.means == "full"
    np.testing.assert_allclose(model.predict_proba(X), posteriors, atol=1e-10)
    np.testing.assert_allclose(posteriors_of(estimator_log_densities(model, X))[0], posteriors, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), posteriors.argmax(axis=1))


def test_rows_in_files_give_the_same_groups(tmp_path):
    X, _ = datasets.simulate(400, mu=2.5, random_state=5)
    np.save(tmp_path / "rows.npy", X)
    known = {"sparsity": 0.3, "method": "svd", "random_state": 0}
    here, there = (
        SparseFisherEM(3, **known).fit(X),
        SparseFisherEM(3, **known, memory="50kB").fit(tmp_path / "rows.npy"),
    )
    np.testing.assert_array_equal(there.predict(X), here.labels_)
    np.testing.assert_array_equal(plane_labels(there, X), here.labels_)
    np.testing.assert_allclose(there.log_likelihood_, here.log_likelihood_, rtol=1e-9)
