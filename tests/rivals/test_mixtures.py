"""Mixtures and regressions against scipy's densities, numpy's least squares, scikit-learn's mixtures and optimisers."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.mixture import GaussianMixture

from fisherem.rivals.mixtures import em, log_densities
from fisherem.rivals.regressions import REGRESSION_SHAPES, Regressions, sweep
from fisherem.rivals.shapes import SHAPES, SKLEARN_SHAPES
from fisherem.rivals.subsets import CovarianceKind, Subsets, resolve_shapes, start_labels


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(4)
    y = rng.integers(3, size=240)
    X = rng.normal(size=(240, 3)) * np.array([[2, 3, 0.8], [0.7, 1, 1], [1, 0.3, 1.5]])[y]
    return X + np.array([[0, 0, 0], [5, 3, -4], [-4, 4, 4.0]])[y], y


def hard(y, K=3):
    return (y == np.arange(K)[:, None]).astype(float)


def naive_log_likelihood(X, mixture):
    densities = [
        p * multivariate_normal.pdf(X, m, C)
        for p, m, C in zip(mixture.proportions, mixture.means, mixture.covariances, strict=True)
    ]
    return np.log(sum(densities)).sum()


@pytest.mark.parametrize("name", SHAPES)
def test_likelihood_is_scipys_and_never_decreases(sample, name):
    X, y = sample
    values = [em(X[None], hard(y)[None], SHAPES[name], max_iter=i, tol=0)[0] for i in range(1, 12)]
    likelihoods = [m.log_likelihood for m in values]
    # the parameters are those before the last posteriors: their likelihood is what is reported
    for mixture in values:
        np.testing.assert_allclose(mixture.log_likelihood, naive_log_likelihood(X, mixture))
    assert np.diff(likelihoods).min() > -1e-6 * abs(likelihoods[-1])
    joint = log_densities(X, values[-1])
    np.testing.assert_allclose(np.logaddexp.reduce(joint, axis=1).sum(), values[-1].log_likelihood)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_what_its_name_says(sample, name):
    X, y = sample
    C = em(X[None], hard(y)[None], SHAPES[name], max_iter=3, tol=0)[0].covariances
    volume, form, axes = name
    values, vectors = np.linalg.eigh(C)
    if axes == "I":
        np.testing.assert_allclose(C, C * np.eye(3))
        values = np.einsum("kjj->kj", C)
    volumes = np.prod(values, axis=1) ** (1 / 3)
    forms = values / volumes[:, None]
    assert np.allclose(volumes, volumes[0]) == (volume == "E")
    if form == "I":
        np.testing.assert_allclose(forms, 1)
    else:
        assert np.allclose(forms, forms[0], rtol=1e-4) == (form == "E")
    if axes == "E":
        np.testing.assert_allclose(
            np.abs(np.einsum("kij,il->kjl", vectors, vectors[0])), np.stack([np.eye(3)] * 3), atol=1e-4
        )


@pytest.mark.parametrize("name", SHAPES)
def test_the_m_step_is_a_maximum_among_its_kind(sample, name):
    """No other covariance of the same kind, reached by fitting other scatter matrices, has a higher likelihood."""
    X, y = sample
    rng = np.random.default_rng(0)
    n_k = np.bincount(y).astype(float)
    W = np.array([(X[y == k] - X[y == k].mean(axis=0)).T @ (X[y == k] - X[y == k].mean(axis=0)) for k in range(3)])

    def value(C):
        return sum(
            -0.5 * n * np.linalg.slogdet(c)[1] - 0.5 * np.trace(np.linalg.solve(c, w))
            for n, c, w in zip(n_k, C, W, strict=True)
        )

    best = value(SHAPES[name].covariances(W[None], n_k[None])[0])
    for _ in range(20):
        noise = rng.normal(size=(3, 3, 3)) * 8
        other = W + noise @ np.swapaxes(noise, 1, 2) * rng.uniform(0, 1)
        assert value(SHAPES[name].covariances(other[None], n_k[None])[0]) <= best + 1e-6 * abs(best)


@pytest.mark.parametrize(("theirs", "ours"), SKLEARN_SHAPES.items())
def test_scikit_learn_ends_in_the_same_mixture(sample, theirs, ours):
    X, y = sample
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    reference = GaussianMixture(3, covariance_type=theirs, means_init=means, tol=1e-9, max_iter=1000, reg_covar=0).fit(
        X
    )
    mixture = em(X[None], hard(y)[None], SHAPES[ours], max_iter=1000, tol=1e-12)[0]
    np.testing.assert_allclose(mixture.log_likelihood, reference.score(X) * 240, rtol=1e-6)
    assert mixture.n_parameters == reference._n_parameters()
    np.testing.assert_allclose(-2 * mixture.bic, reference.bic(X), rtol=1e-6)


def test_a_stack_is_as_good_as_one_by_one(sample):
    X, y = sample
    stack = np.stack([X[:, [0, 1]], X[:, [1, 2]], X[:, [0, 2]]])
    T = np.stack([hard(y)] * 3)
    together = em(stack, T, SHAPES["VEV"], max_iter=100, tol=1e-6)
    for Z, mixture in zip(stack, together, strict=True):
        alone = em(Z[None], hard(y)[None], SHAPES["VEV"], max_iter=100, tol=1e-6)[0]
        assert alone.bic == pytest.approx(mixture.bic, rel=1e-12)
        assert alone.n_iter == mixture.n_iter


def test_a_singular_covariance_is_a_reason_and_spoils_no_neighbour(sample):
    X, y = sample
    stack = np.stack([X[:, [0, 1]], X[:, [0, 0]], X[:, [0, 2]]])
    found = em(stack, np.stack([hard(y)] * 3), SHAPES["VVV"], max_iter=50, tol=1e-6)
    assert found[1].reason == "singular covariance of a group"
    assert found[1].bic == -np.inf
    assert not found[0].reason
    assert not found[2].reason


def test_the_family_takes_the_best_shape_and_number_of_groups(sample):
    X, _ = sample
    judged = Subsets(X, CovarianceKind((2, 3, 4), tuple(SHAPES), 200, 1e-6)).one((0, 1, 2))
    assert len(judged.proportions) == 3
    assert judged.shape == "VVI"  # how the sample was drawn
    assert start_labels(np.repeat([[0.0, 1.0], [1.0, 0.0]], 10, axis=0), 3) is None
    assert resolve_shapes(["diag", "EEE"]) == ("VVI", "EEE")
    with pytest.raises(ValueError, match="models must be 'all' or names among EII"):
        resolve_shapes("XYZ")


# -- regressions -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 6)) + 100
    X[:, 4] = 2 * X[:, 0] - X[:, 2] + 0.3 * rng.normal(size=80)
    return X


def naive_bic(X, j, R):
    design = np.column_stack([np.ones(len(X)), X[:, list(R)]])
    residuals = X[:, j] - design @ np.linalg.lstsq(design, X[:, j], rcond=None)[0]
    return norm.logpdf(residuals, scale=residuals.std()).sum() - 0.5 * (len(R) + 2) * np.log(len(X))


def test_selected_regressions_against_least_squares(table):
    from itertools import chain, combinations

    regressions = Regressions(table)
    for j in range(6):
        among = [k for k in range(6) if k != j]
        value, R = regressions.select(j, among)
        assert value == pytest.approx(naive_bic(table, j, R), rel=1e-8)
        subsets = chain.from_iterable(combinations(among, m) for m in range(6))
        assert value == pytest.approx(max(naive_bic(table, j, s) for s in subsets), rel=1e-8)
    assert regressions.select(4, [0, 1, 2, 3])[1] == (0, 2)
    assert regressions.select(3, [])[1] == ()


def test_collinear_regressors_are_left_out(table):
    doubled = np.column_stack([table, table[:, 0]])
    value, R = Regressions(doubled).select(4, [0, 6, 2])
    assert value == pytest.approx(naive_bic(table, 4, (0, 2)), rel=1e-8)
    assert len(R) == 2


def test_sweeping_out_undoes_sweeping_in(table):
    C = np.cov(table.T)
    A = C.copy()
    sweep(A, 1)
    sweep(A, 3)
    coefficients = np.linalg.lstsq(table[:, [1, 3]] - table[:, [1, 3]].mean(axis=0), table[:, 4] - table[:, 4].mean())[
        0
    ]
    np.testing.assert_allclose(A[[1, 3], 4], coefficients)
    sweep(A, 1, -1)
    sweep(A, 3, -1)
    np.testing.assert_allclose(A, C, atol=1e-12)


@pytest.mark.parametrize("shape", REGRESSION_SHAPES)
def test_joint_regressions_against_scipys_density(table, shape):
    U, R = [3, 4, 5], [0, 2]
    design = np.column_stack([np.ones(80), table[:, R]])
    residuals = table[:, U] - design @ np.linalg.lstsq(design, table[:, U], rcond=None)[0]
    C = residuals.T @ residuals / 80
    C, size = {
        "LI": (np.eye(3) * np.trace(C) / 3, 1),
        "LB": (np.diag(np.diag(C)), 3),
        "LC": (C, 6),
    }[shape]
    expected = multivariate_normal.logpdf(residuals, np.zeros(3), C).sum() - 0.5 * (9 + size) * np.log(80)
    assert Regressions(table).multivariate_bic(U, R, shape) == pytest.approx(expected, rel=1e-8)
