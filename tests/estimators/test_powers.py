"""transformation="power": exponents within the groups, with the Jacobian, on every engine."""

import dask.array as da
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fisherem import FisherEM, ModelSearch, SparseFisherEM, load, save
from fisherem.policy.powers import Powers, yeo_johnson
from tests.naive import accuracy

PATTERN = np.array([[1.0, 1, 1, 1], [-1, -1, -1, -1], [1, -1, 1, -1]])


def skewed(seed=0, n=300, p=8, mu=1.7):
    """Three groups on four of p columns that are log-normal, but for the last one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, p))
    X[:, :4] += mu * PATTERN[y]
    bent = np.exp(0.6 * X)
    bent[:, -1] = X[:, -1]
    return bent, y


def dense(**changes):
    return FisherEM(**{"n_clusters": 3, "transformation": "power", "random_state": 0, "scale": "standardise"} | changes)


@pytest.fixture(scope="module")
def fitted():
    X, y = skewed()
    return X, y, dense().fit(X)


def test_inverse_and_slopes_are_those_of_the_bending():
    X, _ = skewed()
    powers = Powers(np.array([0, 0.5, 1, 1.5, 2, 0.25, 1.75, 1]), X.mean(0), X.std(0), np.linspace(0.5, 3, 8))
    Z = powers.transform(X)
    np.testing.assert_allclose(powers.inverse(Z), X, rtol=1e-9, atol=1e-9)
    step = 1e-6
    slopes = (powers.transform(X + step) - powers.transform(X - step)) / (2 * step)
    np.testing.assert_allclose(powers.log_slopes(Z), np.log(slopes).sum(axis=1), atol=1e-6)


def test_bent_columns_keep_their_standard_deviation_and_straight_ones_stay():
    X, y = skewed()
    powers = Powers.within(X, y, np.ones(len(X)))
    assert not powers.bent[-1]
    assert powers.bent[:-1].all()
    Z = powers.transform(X)
    np.testing.assert_allclose(Z.std(axis=0), X.std(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(Z[:, -1], X[:, -1])
    assert powers.transform(X.astype(np.float32)).dtype == np.float32


def test_exponents_are_those_of_the_groups_not_of_all_rows():
    """Two far groups on one column look skewed together; within the groups nothing is."""
    rng = np.random.default_rng(0)
    labels = (np.arange(400) < 80).astype(int)
    x = (rng.normal(size=400) + 6 * labels)[:, None]
    ones = np.ones(400)
    assert Powers.within(x, np.zeros(400, int), ones).bent[0]
    assert not Powers.within(x, labels, ones).bent[0]


def test_a_weight_is_a_repeated_row():
    """Weights of 0 and 2 are rows left out and rows twice, up to medians, which count every row once."""
    X, y = skewed()
    straight, twice = Powers.within(X, y, np.ones(len(X))), Powers.within(X, y, np.full(len(X), 2.0))
    np.testing.assert_array_equal(straight.exponents, twice.exponents)
    np.testing.assert_allclose(straight.factors, twice.factors)
    weights = np.r_[np.ones(200), np.zeros(100)]
    one, other = dense().fit(X, sample_weight=weights), dense().fit(X[:200])
    np.testing.assert_array_equal(one.exponents_, other.exponents_)
    np.testing.assert_array_equal(one.labels_[:200], other.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the skewed columns: a cycle
def test_it_serves_the_fit(fitted):
    X, y, model = fitted
    plain = dense(transformation="none").fit(X)
    assert accuracy(y, model.labels_) > 0.95
    assert accuracy(y, plain.labels_) > 0.95  # the groups are found on scores without skew in any case
    assert model.bic_ > plain.bic_ + 100  # of the same rows: the Jacobian makes them comparable
    assert (model.exponents_[:-1] < 1).all()
    assert model.exponents_[-1] == 1


def test_log_densities_are_those_of_the_given_rows(fitted):
    X, _, model = fitted
    exponents, (middle, spread, factor) = model.exponents_, model.bending_
    bent = exponents != 1
    Z = np.where(bent, factor * yeo_johnson((X - middle) / spread, exponents), X) / model.scales_
    means = (
        np.where(bent, factor * yeo_johnson((model.means_ - middle) / spread, exponents), model.means_) / model.scales_
    )
    U, F, p = model.loadings_, model.noise_loadings_, X.shape[1]
    N = np.eye(p) + F @ F.T
    V = N @ U @ np.linalg.inv(U.T @ N @ U)  # how the noise carries the other variables along
    outside = N - V @ (U.T @ N)
    density = np.zeros(len(X))
    for k, weight in enumerate(model.weights_):
        cov = V @ model.covariances_[k] @ V.T + model.noise_variances_[k] * outside
        density += weight * multivariate_normal(means[k], cov).pdf(Z)
    step = 1e-5 * model.scales_

    def column(x):
        return np.where(bent, factor * yeo_johnson((x - middle) / spread, exponents), x) / model.scales_

    slopes = (column(X + step) - column(X - step)) / (2 * step)
    np.testing.assert_allclose(model.score_samples(X), np.log(density) + np.log(slopes).sum(axis=1), atol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the straight fit is a poor one
def test_likelihood_criteria_and_labels_agree_with_those_of_the_fit(fitted):
    X, _, model = fitted
    assert model.score_samples(X).sum() == pytest.approx(model.log_likelihood_, rel=1e-9)
    for name in ("bic", "icl", "aic", "gain"):
        assert model.criterion(name, X) == pytest.approx(getattr(model, f"{name}_"), rel=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    own = model.n_parameters_ - (model.exponents_ != 1).sum()
    given = {"noise_factors": model.noise_factors_, "model": model.model_, "n_axes": model.loadings_.shape[1]}
    straight = dense(transformation="none", init=model.labels_, **given).fit(X)
    assert own == straight.n_parameters_


def test_means_are_in_the_original_units(fitted):
    X, _, model = fitted
    for k in range(3):
        group = X[model.labels_ == k]
        # a mean of bent values, bent back: near the median of a skewed group, below its mean
        np.testing.assert_allclose(model.group_means_[k], np.median(group, axis=0), atol=0.35 * group.std(axis=0).max())
    assert (model.means_[:, :-1] > 0).all()


def test_draws_are_like_the_rows(fitted):
    X, _, model = fitted
    drawn, _ = model.sample(4000, random_state=0)
    np.testing.assert_allclose(np.median(drawn, axis=0), np.median(X, axis=0), atol=0.25 * X.std(axis=0).max())
    assert (np.mean(drawn[:, :7], axis=0) > np.median(drawn[:, :7], axis=0)).all()  # skewed as the rows are


@pytest.mark.parametrize("changes", [{}, {"scale": "none"}])
def test_files_and_dask_give_the_same(tmp_path, changes):
    X, _ = skewed(n=240)
    model = dense(**changes).fit(X)
    np.save(tmp_path / "X.npy", X)
    for other in (tmp_path / "X.npy", da.from_array(X, chunks=(100, -1))):
        there = dense(**changes).fit(other)
        np.testing.assert_array_equal(there.labels_, model.labels_)
        np.testing.assert_allclose(there.exponents_, model.exponents_)
        assert there.bic_ == pytest.approx(model.bic_, rel=1e-8)
        np.testing.assert_allclose(np.asarray(model.score_samples(other)), model.score_samples(X), rtol=1e-8)


def test_units_do_not_matter():
    X, _ = skewed()
    model, other = dense().fit(X), dense().fit(1024.0 * X)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.exponents_, other.exponents_)
    assert other.log_likelihood_ == pytest.approx(model.log_likelihood_ - X.size * np.log(1024.0), rel=1e-9)


def test_saved_models_predict_the_same_and_selected_columns_suffice(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = skewed()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = SparseFisherEM(3, scale="none", transformation="power", random_state=0).fit(frame)
    assert accuracy(y, model.labels_) > 0.95
    assert model.support_.tolist() == [True] * 4 + [False] * 4
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(frame), model.labels_)
    np.testing.assert_array_equal(model.predict(frame[list("abcd")]), model.labels_)


def test_a_grid_search_says_what_to_do():
    with pytest.raises(ValueError, match=r"transformation='power'.*PowerTransformer"):
        ModelSearch(dense(scale="none"), criterion="bic").fit(skewed()[0])


def test_another_name_is_refused():
    with pytest.raises(ValueError, match="transformation"):
        dense(transformation="log").fit(skewed()[0])


def test_given_groups_give_the_first_exponents():
    X, y = skewed()
    model = dense(init=y).fit(X)
    assert accuracy(y, model.labels_) > 0.95
