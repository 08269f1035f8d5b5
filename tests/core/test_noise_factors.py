"""Noise with common factors: the engine against covariances that are written out, p x p."""

import re
from functools import cache

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from fisherem import FisherEM, SparseFisherEM, datasets, load, save
from fisherem.core.data.noise_metric import NoiseMetric, metric_of
from fisherem.core.data.problem import prepare
from fisherem.core.dlm.family import DLMFamily, Means
from fisherem.core.dlm.ridge_and_axes import GroupMeans, noise_covariance
from fisherem.core.engine.loop import Settings, run
from fisherem.model.dlm import MODELS
from fisherem.policy.noise import factor_numbers
from tests.deciding import decided, records
from tests.naive import (
    accuracy,
    estimator_log_densities,
    group_covariance,
    noisy_covariance,
    posteriors_of,
    spread_along,
    within_centred,
)
from tests.same import same

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CORNERS = 1.7 * np.array([[1, 1, 1, 1, 1], [-1, -1, -1, -1, -1], [1, -1, 1, -1, 1]])


@cache
def factor_table(n=300, p=25, share=0.36, seed=0, n_factors=1):
    """Groups of 50, 30 and 20% that differ on five variables; the others share factors of the noise: (X, labels)."""
    rng = np.random.default_rng(1000 + seed)
    labels = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(n, p))
    for group in np.array_split(np.arange(5, p), n_factors):
        X[:, group] = np.sqrt(1 - share) * X[:, group] + np.sqrt(share) * rng.normal(size=(n, 1))
    X[:, :5] += CORNERS[labels]
    return X, labels


@cache
def wide_table(n=30, p=45, seed=0):
    """Fewer rows than variables, two factors in all of them: (X, labels)."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    X = rng.normal(size=(n, p)) + 0.6 * rng.normal(size=(n, 2)) @ rng.normal(size=(2, p)) + 7
    X[:, :15] += 4 * rng.normal(size=(3, 15))[labels]
    return X, labels


# -- the metric ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [0, 1, 4, 8])
def test_the_metric_is_that_of_its_matrix(m):
    rng = np.random.default_rng(0)
    V, gains = np.linalg.qr(rng.normal(size=(9, m)))[0], rng.uniform(0.1, 20, size=m)
    metric, N = NoiseMetric(V, gains), np.eye(9) + (V * gains) @ V.T
    A = rng.normal(size=(9, 3))
    np.testing.assert_allclose(metric.times(A), N @ A)
    np.testing.assert_allclose(metric.solve(A), np.linalg.solve(N, A))
    half = metric.half_times(np.eye(9))
    np.testing.assert_allclose(half, half.T, atol=1e-12)
    np.testing.assert_allclose(half @ half, N, atol=1e-12)
    np.testing.assert_allclose(metric.half_solve(A), np.linalg.solve(half, A))
    assert metric.log_det == pytest.approx(np.linalg.slogdet(N)[1], abs=1e-12)
    U = np.linalg.qr(A)[0]
    _, G, B = spread_along(U, V * np.sqrt(gains))
    np.testing.assert_allclose(metric.gram(U), G, atol=1e-12)
    np.testing.assert_allclose(metric.spread_along(U), B, atol=1e-12)
    assert metric.m == m


@pytest.mark.parametrize(("r", "p"), [(7, 7), (7, 30)])
@pytest.mark.parametrize("m", [0, 1, 3, 6, 100])
def test_m_eigenvalues_are_kept_and_the_others_are_their_mean(r, p, m):
    """A covariance of r dimensions in p variables: in the others it is 0."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(r, 20)) * np.geomspace(5, 1, r)[:, None]
    basis = np.linalg.qr(rng.normal(size=(p, r)))[0]
    within = basis @ root @ root.T @ basis.T
    metric = metric_of(root @ root.T, m, p)
    kept = min(m, r, p - 1)
    assert metric.m == kept
    values, vectors = np.linalg.eigh(within)
    order = np.argsort(-values)
    values, vectors = values[order], vectors[:, order]
    rest = max(values[kept:].mean(), 1e-9 * values.mean())  # a rest of 0 would not be invertible
    expected = (vectors * np.r_[values[:kept], np.full(p - kept, rest)]) @ vectors.T
    V = basis @ metric.vectors
    found = rest * (np.eye(p) + (V * metric.gains) @ V.T)
    np.testing.assert_allclose(found, expected, atol=1e-8 * values[0])


@pytest.mark.parametrize("table", [factor_table, wide_table])
def test_given_the_coordinates_the_noise_is_that_of_the_groups(table):
    """Regression on U'y and what it leaves are those of W; inside the axes there is just the mean variance."""
    X, labels = table()
    p = X.shape[1]
    problem = prepare(X, ridge=1e-3)
    U = np.linalg.qr(np.random.default_rng(2).normal(size=(p, 2)))[0]
    H = GroupMeans.of(problem, problem.start_states(labels, 3)).between(problem).H
    found = noise_covariance(problem, H, problem.scatter.to_rows(U))
    found = problem.scatter.to_variables(problem.scatter.to_variables(found).T)
    inside = within_centred(X, labels)
    W = inside.T @ inside / len(X)

    def given_inside(C):
        slope = C @ U @ np.linalg.inv(U.T @ C @ U)
        return slope, C - slope @ U.T @ C

    slope, left = given_inside(W)
    for one, other in zip(given_inside(found), (slope, left), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
    np.testing.assert_allclose(U.T @ found @ U, np.trace(left) / (p - 2) * np.eye(2), atol=1e-8)


# -- densities -----------------------------------------------------------------------------------------------------


def assert_written_out(model, X):
    """Everything that the estimator says of rows, against Gaussian densities with p x p covariances."""
    new = X[::2] + 0.3 * np.random.default_rng(0).normal(size=X[::2].shape)
    posteriors, density, _ = posteriors_of(estimator_log_densities(model, new))
    np.testing.assert_allclose(model.score_samples(new), density, rtol=1e-7)
    np.testing.assert_allclose(model.predict_proba(new), posteriors, atol=1e-7)
    np.testing.assert_array_equal(model.predict(new), posteriors.argmax(axis=1))
    posteriors, density, entropy = posteriors_of(estimator_log_densities(model, X))
    assert model.log_likelihood_ == pytest.approx(density.sum(), rel=1e-9)
    np.testing.assert_array_equal(model.labels_, posteriors.argmax(axis=1))
    bic = density.sum() - model.n_parameters_ / 2 * np.log(len(X))
    assert model.bic_ == pytest.approx(bic, rel=1e-9)
    assert model.icl_ == pytest.approx(bic - entropy.sum(), rel=1e-7)
    for name in ("bic", "icl", "aic"):
        assert getattr(model, name)(X) == pytest.approx(getattr(model, name + "_"), rel=1e-8)
    U, F = model.loadings_, model.noise_loadings_
    np.testing.assert_allclose(U.T @ U, np.eye(U.shape[1]), atol=1e-9)
    assert F.shape == (X.shape[1], model.noise_factors_)
    np.testing.assert_allclose(F.T @ F, np.diag(np.diag(F.T @ F)), atol=1e-8 * (F**2).sum())


KINDS = {
    "dense": (FisherEM, {}),
    "full means": (FisherEM, {"means": "full"}),
    "one group": (FisherEM, {"n_clusters": 1}),
    "two-step": (SparseFisherEM, {"method": "two-step", "sparsity": 0.4}),
    "regression": (SparseFisherEM, {"method": "regression", "sparsity": 0.4}),
    "svd": (SparseFisherEM, {"method": "svd", "sparsity": 0.4}),
    "auto": (SparseFisherEM, {"sparsity": "auto"}),
    "sparse, full means": (SparseFisherEM, {"means": "full", "method": "svd", "sparsity": 0.4}),
    "sparse, one group": (SparseFisherEM, {"n_clusters": 1, "method": "svd", "sparsity": 0.4}),
    "auto, one group": (SparseFisherEM, {"n_clusters": 1}),
}


@pytest.mark.parametrize("table", [factor_table, wide_table])
@pytest.mark.parametrize("name", ["DkBk", "AkB"])
@pytest.mark.parametrize("kind", KINDS)
def test_densities_are_those_of_written_out_covariances(kind, name, table):
    X, _ = table()
    estimator, options = KINDS[kind]
    options = {"n_clusters": 3, "model": name, "n_init": 1, "random_state": 0, "scale": "none"} | options
    model = estimator(noise_factors=2, **options).fit(X)
    assert model.noise_factors_ == 2
    assert_written_out(model, X)


@pytest.mark.parametrize("name", MODELS)
def test_every_model(name):
    X, _ = factor_table(n=150, p=10)
    model = FisherEM(3, scale="none", model=name, noise_factors=1, n_init=1, random_state=0).fit(X)
    assert model.noise_factors_ == 1
    assert_written_out(model, X)


@pytest.mark.parametrize("m", [9, 10, 1000])
def test_any_covariance(m):
    """p - 1 factors or more."""
    X, _ = factor_table(n=150, p=10)
    model = FisherEM(3, scale="none", model="DB", noise_factors=m, n_init=1, random_state=0).fit(X)
    assert model.noise_factors_ == 9
    assert_written_out(model, X)


def test_more_factors_than_the_rows_span():
    """The rest is next to nothing then, but the groups are still found."""
    X, labels = wide_table()
    model = FisherEM(3, scale="none", model="AB", noise_factors=40, n_init=1, random_state=0).fit(X)
    assert model.noise_factors_ <= 29
    assert np.isfinite(model.log_likelihood_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert accuracy(labels, model.labels_) == 1


@pytest.mark.parametrize("means", ["latent", "full"])
@pytest.mark.parametrize("table", [factor_table, wide_table])
def test_factors_carry_means_along(table, means):
    """Latent means lie on N U about the overall mean; full ones are the groups' own."""
    X, _ = table()
    model = FisherEM(3, scale="none", model="AkB", means=means, noise_factors=2, n_init=1, random_state=0).fit(X)
    B = spread_along(model.loadings_, model.noise_loadings_)[2]
    about = X.mean(axis=0)
    np.testing.assert_allclose(model.weights_ @ model.group_means_, about, atol=1e-9)
    own = model.group_means_ - about
    expected = own if means == "full" else own @ model.loadings_ @ B.T
    np.testing.assert_allclose(model.means_, about + expected, atol=1e-9)


@pytest.mark.parametrize("smallest", [1.0, 3e-3])
@pytest.mark.parametrize("means", Means)
def test_one_iteration_with_any_covariance_is_that_of_a_tied_mixture(groups, means, smallest):
    """DB with p - 1 factors from given posteriors: proportions, group means and the pooled covariance.

    Columns of other units have variances below the floor, which is one in the metric of the noise and touches nothing.
    """
    Y, T = groups
    n, p = Y.shape
    Y = Y * np.geomspace(1, smallest, p)
    problem = prepare(Y, ridge=1e-12)
    states = problem.start_states(T, 3)
    family = DLMFamily(3, 2, MODELS["DB"], "svd", 1e-4, means=means, n_factors=p - 1)
    problem, family = family.adapt(problem, states)
    fit = run(problem, states, family, Settings(1, 0.0, "aitken"))
    n_k = T.sum(axis=0)
    centres = T.T @ Y / n_k[:, None]
    pooled = sum(((Y - m).T * t) @ (Y - m) for m, t in zip(centres, T.T, strict=True)) / n
    rival = GaussianMixture(
        3,
        covariance_type="tied",
        max_iter=1,
        reg_covar=0,
        weights_init=n_k / n,
        means_init=centres,
        precisions_init=np.linalg.inv(pooled),
    ).fit(Y)
    assert fit.log_likelihood / n == pytest.approx(rival.lower_bound_, rel=1e-8)  # at what it was started from
    # its proportions and means are those of the posteriors that these parameters give
    posteriors = problem.rows.gather(fit.states, "posteriors").T
    np.testing.assert_allclose(posteriors.mean(axis=0), rival.weights_, rtol=1e-6)
    np.testing.assert_allclose(posteriors.T @ Y / posteriors.sum(axis=0)[:, None], rival.means_, rtol=1e-6)
    solution = fit.solution
    F = solution.metric.vectors * np.sqrt(solution.metric.gains)
    covariance = noisy_covariance(solution.axes.rows, solution.density.covariances[0], solution.density.noises[0], F)
    np.testing.assert_allclose(covariance, pooled, rtol=1e-4, atol=1e-8 * np.trace(pooled))
    assert solution.density.n_floored == 0


# -- what must not matter ------------------------------------------------------------------------------------------


def test_no_factors_is_the_papers_model():
    """ "auto" finds none on the paper's own simulation, and the fit is the one without."""
    for seed, estimator in enumerate((FisherEM, SparseFisherEM)):
        X, _ = datasets.simulate(300, mu=1.7, random_state=seed)
        auto, none = (estimator(3, noise_factors=m, random_state=0).fit(X) for m in ("auto", 0))
        assert auto.noise_factors_ == none.noise_factors_ == 0
        assert auto.noise_loadings_.shape == (25, 0)
        same(auto, none)


OPTIONS = {
    "dense": (FisherEM, {"model": "AkB", "noise_factors": "auto"}),
    "noise of each group": (FisherEM, {"model": "DkBk", "noise_factors": 2}),
    "sparse": (SparseFisherEM, {"method": "svd", "sparsity": 0.5, "noise_factors": 1}),
    "chosen variables": (SparseFisherEM, {"model": "AB", "noise_factors": "auto"}),
}


def made(kind, **more):
    estimator, options = OPTIONS[kind]
    return estimator(3, **{"n_init": 1, "random_state": 0} | options | more)


@pytest.mark.parametrize("kind", OPTIONS)
def test_weights_are_repetitions(kind):
    X, _ = factor_table(n=150, p=12)
    counts = np.random.default_rng(5).integers(0, 4, size=len(X))
    repeated = np.repeat(X, counts, axis=0)
    weighted, twice = made(kind).fit(X, sample_weight=counts), made(kind).fit(repeated)
    assert weighted.noise_factors_ == twice.noise_factors_ > 0
    assert weighted.log_likelihood_ == pytest.approx(twice.log_likelihood_, rel=1e-8)
    assert weighted.bic_ == pytest.approx(twice.bic_, rel=1e-8)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, counts), twice.labels_)
    F, G = weighted.noise_loadings_, twice.noise_loadings_
    np.testing.assert_allclose(F @ F.T, G @ G.T, atol=1e-5)
    assert weighted.icl(X, sample_weight=counts) == pytest.approx(twice.icl(repeated), rel=1e-8)


def test_weights_are_repetitions_where_rows_are_few():
    X, labels = wide_table()
    counts = np.random.default_rng(5).integers(0, 3, size=len(X))
    options = {"model": "AkB", "noise_factors": 2, "random_state": 0}
    weighted = FisherEM(3, scale="none", init=labels, **options).fit(X, sample_weight=counts)
    twice = FisherEM(3, scale="none", init=np.repeat(labels, counts), **options).fit(np.repeat(X, counts, axis=0))
    assert weighted.noise_factors_ == twice.noise_factors_ == 2
    assert weighted.log_likelihood_ == pytest.approx(twice.log_likelihood_, rel=1e-8)
    np.testing.assert_allclose(weighted.loadings_, twice.loadings_, atol=1e-6)


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("where", ["file", "dask", "threads"])
def test_where_the_rows_are(kind, where, tmp_path):
    X, _ = factor_table(n=400, p=12)
    expected = made(kind).fit(X)
    assert expected.noise_factors_ > 0
    if where == "file":
        np.save(tmp_path / "rows.npy", X)
        table, more = tmp_path / "rows.npy", {"memory": "40kB"}  # the rows are 38 kB: they stay in the file
    elif where == "dask":
        table, more = da.from_array(X, chunks=(130, -1)), {}
    else:
        table, more = X, {"n_jobs": 2}
    model = made(kind, **more).fit(table)
    same(model, expected)
    assert model.noise_factors_ == expected.noise_factors_
    F, G = model.noise_loadings_, expected.noise_loadings_
    np.testing.assert_allclose(F @ F.T, G @ G.T, atol=1e-6)
    np.testing.assert_allclose(np.asarray(model.score_samples(table)), expected.score_samples(X))
    np.testing.assert_array_equal(np.asarray(model.predict(table)), expected.labels_)
    assert model.bic(table) == pytest.approx(expected.bic_, rel=1e-9)


@pytest.mark.parametrize(("factor", "offset"), [(1e4, 0.0), (1e-4, 0.0), (1.0, 1e5)])
def test_units_and_offsets(factor, offset):
    X, _ = factor_table()
    one, other = made("dense").fit(X), made("dense").fit(factor * X + offset)
    assert one.noise_factors_ == other.noise_factors_
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert other.log_likelihood_ + X.size * np.log(factor) == pytest.approx(one.log_likelihood_, rel=1e-6)
    np.testing.assert_allclose(np.abs(other.noise_loadings_), np.abs(one.noise_loadings_), atol=1e-4)


@pytest.mark.parametrize(
    "options", [{"sparsity": "auto"}, *({"method": m, "sparsity": 0.4} for m in ("two-step", "regression", "svd"))]
)
@pytest.mark.parametrize("table", [factor_table, wide_table])
def test_with_a_common_noise_only_selected_columns_count(options, table):
    X, _ = table()
    model = SparseFisherEM(3, scale="none", model="AkB", noise_factors=2, n_init=1, random_state=0, **options).fit(X)
    assert model.noise_factors_ == 2
    assert 0 < model.support_.sum() < X.shape[1]
    changed = X.copy()
    changed[:, ~model.support_] = 1e3 * np.random.default_rng(0).normal(size=changed[:, ~model.support_].shape)
    np.testing.assert_array_equal(model.predict(changed), model.labels_)
    np.testing.assert_array_equal(model.predict_proba(changed), model.predict_proba(X))
    assert (model.score_samples(changed) < model.score_samples(X)).all()


@pytest.mark.parametrize("kind", OPTIONS)
def test_model_files(kind, tmp_path):
    X, _ = factor_table()
    model = made(kind).fit(X)
    back = load(save(model, tmp_path / "model.skops"))
    assert back.noise_factors_ == model.noise_factors_ > 0
    np.testing.assert_array_equal(back.noise_loadings_, model.noise_loadings_)
    np.testing.assert_array_equal(back.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert back.decisions_.equals(model.decisions_)
    np.testing.assert_array_equal(back.sample(5, random_state=0)[0], model.sample(5, random_state=0)[0])


@pytest.mark.parametrize("table", [factor_table, wide_table])
def test_draws_have_the_moments_of_the_model(table):
    X, _ = table()
    model = SparseFisherEM(3, scale="none", model="DkBk", sparsity=0.4, noise_factors=2, n_init=1, random_state=0).fit(
        X
    )
    drawn, labels = model.sample(60_000, random_state=1)
    for k in range(3):
        rows, covariance = drawn[labels == k], group_covariance(model, k)
        sizes = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        # six standard errors of a mean and of a variance, for some thousand of them
        assert (np.abs(rows.mean(axis=0) - model.means_[k]) < 6 * np.sqrt(np.diag(covariance) / len(rows))).all()
        assert (np.abs(np.cov(rows.T) - covariance) < 6 * np.sqrt(2 / len(rows)) * sizes).all()


# -- how many ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_found_behind_a_common_factor(seed):
    X, labels = factor_table(seed=seed)
    dense = FisherEM(3, scale="none", noise_factors="auto", random_state=0).fit(X)
    assert dense.noise_factors_ == 1
    assert accuracy(labels, dense.labels_) > 0.95
    # the factor is in the last twenty variables, all with the same sign
    loads = dense.noise_loadings_[:, 0] * np.sign(dense.noise_loadings_[5:, 0].sum())
    assert loads[5:].min() > 2 * np.abs(loads[:5]).max()


@pytest.mark.parametrize("seed", range(2))
def test_the_variables_are_found_behind_a_common_factor(seed):
    X, labels = factor_table(seed=seed)
    sparse = SparseFisherEM(3, scale="none", noise_factors="auto", random_state=0).fit(X)
    assert list(np.flatnonzero(sparse.support_)) == [0, 1, 2, 3, 4]
    assert accuracy(labels, sparse.labels_) > 0.95
    assert sparse.noise_factors_ == 1


def test_two_factors():
    X, labels = factor_table(n=600, share=0.5, n_factors=2)
    model = FisherEM(3, scale="none", noise_factors="auto", random_state=0).fit(X)
    assert model.noise_factors_ == 2
    assert accuracy(labels, model.labels_) > 0.95


def test_numbers_that_are_tried():
    """Powers of two up to a tenth of the rows and half of the variables; all where there are three rows for each."""
    assert factor_numbers(300, 25) == [0, 1, 2, 4, 8, 24]
    assert factor_numbers(75, 25) == [0, 1, 2, 4]
    assert factor_numbers(76, 25) == [0, 1, 2, 4, 24]
    assert factor_numbers(10_000, 1000) == [0, 1, 2, 4, 8, 16, 999]
    assert factor_numbers(60, 2000) == [0, 1, 2, 4]
    assert factor_numbers(9, 100) == [0]
    assert factor_numbers(100, 2) == [0, 1]
    assert factor_numbers(100, 1) == [0]


def assert_tried(model, tried):
    """The decision names every number that was tried, with BIC for those that were fitted; returns those."""
    row = decided(model, "noise")
    assert [int(one.split()[0]) for one in row.alternatives.split(", ")] == tried
    assert row.choice.split()[0] == str(model.noise_factors_ or "no")
    return {int(m): float(value) for m, value in re.findall(r"(\d+) \(BIC (-?[\d.]+)\)", row.alternatives)}


@pytest.mark.parametrize(
    "estimator",
    [
        FisherEM(3, scale="none", noise_factors="auto", random_state=0),
        SparseFisherEM(3, scale="none", noise_factors="auto", random_state=0),
    ],
)
def test_the_number_of_factors_is_recorded(estimator):
    X, _ = factor_table()
    model = estimator.fit(X)
    fitted = assert_tried(model, [0, 1, 2, 4, 8, 24])
    assert fitted[model.noise_factors_] == pytest.approx(model.bic_, abs=0.06)
    assert fitted[0] < fitted[model.noise_factors_]
    assert decided(estimator.set_params(noise_factors=1).fit(X), "noise") is None


def test_numbers_of_factors_whose_rest_is_below_the_floor_are_refused():
    """Columns that hold next to nothing, as at the rim of images, would call for every factor there is."""
    X, _ = factor_table()
    X = X.copy()
    X[:, 20:] *= 1e-4
    model = FisherEM(3, scale="none", noise_factors="auto", random_state=0).fit(X)
    found = {record["n_factors"]: record for record in records(clone(model), X, "noise")}
    assert found[24]["bic_at_partition"] == -np.inf
    assert "variance_floor" in found[24]["reason"]
    assert model.noise_factors_ < 24
    assert not any(record["reason"] for m, record in found.items() if m < 8)


def test_bic_at_the_partition_is_that_of_a_tied_covariance():
    """Differences between numbers of factors, from the eigenvalues of the covariance within the groups."""
    X, _ = factor_table()
    none = FisherEM(3, scale="none", noise_factors=0, random_state=0).fit(X)
    inside = within_centred(X, none.labels_)
    W, U = inside.T @ inside / len(X), none.loadings_
    slope = W @ U @ np.linalg.inv(U.T @ W @ U)
    left = W - slope @ U.T @ W
    N = left + np.trace(left) / (25 - U.shape[1]) * slope @ slope.T
    e = np.linalg.eigvalsh(N)[::-1]

    def value(m):
        rest = e[m:].mean()
        return -len(X) / 2 * (np.log(e[:m]).sum() + (25 - m) * np.log(rest)) - (25 * m - m * (m - 1) / 2) / 2 * np.log(
            len(X)
        )

    for record in records(FisherEM(3, scale="none", noise_factors="auto", random_state=0), X, "noise"):
        assert record["bic_at_partition"] == pytest.approx(value(record["n_factors"]), rel=1e-9)


@pytest.mark.parametrize("table", [factor_table, wide_table])
def test_large_tables(table, treat_as_large):
    """Chosen on a sample, or in the row space, and fitted to all rows; records hold plain values there, too."""
    X, labels = table(n=1500) if table is factor_table else table()
    treat_as_large(100, 400)
    model = FisherEM(3, scale="none", noise_factors="auto", random_state=0).fit(X)
    tried = [0, 1, 2] if table is wide_table else [0, 1, 2, 4, 8, 24]
    assert_tried(model, tried)
    if table is factor_table:
        assert model.noise_factors_ == 1
        assert accuracy(labels, model.labels_) > 0.95
    assert_written_out(model, X)


@pytest.mark.parametrize("value", [-1, 1.5, "many", [1]])
@pytest.mark.parametrize("estimator", [FisherEM, SparseFisherEM])
def test_what_is_no_number_of_factors(estimator, value):
    with pytest.raises((ValueError, TypeError), match=r"noise_factors must be .*'auto'"):
        estimator(noise_factors=value).fit(factor_table()[0])
