"""What scikit-learn users may rely on."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fisherem import FisherEM, SelectDiscriminative, SparseFisherEM, datasets
from fisherem.core.dlm.f_step.step import SPARSE_STEPS
from tests.contract import expected_failures
from tests.naive import estimator_log_densities

# With sparsity="auto", and from k-means that is not trusted, whole searches are run on every little table: one of each
# is enough.
ESTIMATORS = [
    FisherEM(random_state=0, n_init=1),
    SparseFisherEM(random_state=0, n_init=1),
    *(SparseFisherEM(random_state=0, init="ward", method=m, sparsity=0.3) for m in SPARSE_STEPS),
    SelectDiscriminative(SparseFisherEM(random_state=0, init="ward", sparsity=0.3)),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:constant columns:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    X, _ = datasets.load("wine", as_frame=True)
    return (X - X.mean()) / X.std()


@pytest.mark.parametrize("estimator", [FisherEM(random_state=0), SparseFisherEM(random_state=0)])
def test_frames_of_either_kind_keep_their_names(frame, estimator):
    plain = clone(estimator).fit(frame.to_numpy())
    for table in (frame, pl.DataFrame(frame.to_dict("list"))):
        model = clone(estimator).fit(table)
        assert list(model.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_array_equal(model.predict(table), plain.labels_)


def test_output_frames(frame):
    model = SparseFisherEM(random_state=0).set_output(transform="pandas").fit(frame)
    out = model.transform(frame)
    assert list(out.columns) == ["sparsefisherem0", "sparsefisherem1"]
    assert out.index.equals(frame.index)
    assert isinstance(model.set_output(transform="polars").transform(frame), pl.DataFrame)


def test_reordered_or_missing_columns_are_refused(frame):
    model = FisherEM(random_state=0).fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[1:]])
    with pytest.raises(ValueError, match="12 features"):
        FisherEM(random_state=0).fit(frame.to_numpy()).predict(frame.to_numpy()[:, 1:])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clone_pickle_joblib(frame, estimator, tmp_path):
    model = clone(estimator).fit(frame)
    joblib.dump(model, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(copy.transform(frame), model.transform(frame))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # random starts lead to the odd cycle
@pytest.mark.parametrize("init", ["kmeans", "ward", "random"])
@pytest.mark.parametrize(
    "estimator",
    [
        FisherEM(random_state=0),
        SparseFisherEM(random_state=0),
        SparseFisherEM(random_state=0, sparsity=0.3, method="svd"),
        FisherEM(random_state=0, means="full"),
        SparseFisherEM(random_state=0, means="full", sparsity=0.1, method="svd"),
    ],
)
def test_a_weight_of_two_is_the_row_twice(wine, estimator, init):
    X, _ = wine
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = np.repeat(X, weights, axis=0)
    estimator = clone(estimator).set_params(init=init)
    weighted = clone(estimator).fit(X, sample_weight=weights)
    twice = clone(estimator).fit(repeated)
    np.testing.assert_allclose(weighted.log_likelihood_, twice.log_likelihood_, rtol=1e-9)
    np.testing.assert_allclose(weighted.bic_, twice.bic_, rtol=1e-9)
    np.testing.assert_allclose(weighted.loadings_, twice.loadings_, atol=1e-7)
    np.testing.assert_array_equal(weighted.predict(X), twice.predict(X))
    np.testing.assert_allclose(weighted.score(X, sample_weight=weights), twice.score(repeated))
    np.testing.assert_allclose(weighted.icl(X, sample_weight=weights), twice.icl(repeated), rtol=1e-9)


def test_weights_also_in_the_wide_case():
    rng = np.random.default_rng(1)
    labels = np.arange(30) % 3
    X = rng.normal(size=(30, 60)) + 3 * rng.normal(size=(3, 60))[labels]
    weights = rng.integers(0, 3, size=30)
    weighted = SparseFisherEM(random_state=0).fit(X, sample_weight=weights)
    twice = SparseFisherEM(random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.log_likelihood_, twice.log_likelihood_, rtol=1e-6)
    np.testing.assert_array_equal(weighted.support_, twice.support_)


@pytest.mark.parametrize(
    "estimator", [FisherEM(model="DkBk"), SparseFisherEM(model="AkB"), SparseFisherEM(method="svd")]
)
def test_posteriors_are_those_of_scipys_normal_density(wine, estimator):
    X, _ = wine
    model = clone(estimator).set_params(random_state=0).fit(X[:150])
    naive = estimator_log_densities(model, X)
    density = np.logaddexp.reduce(naive, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(naive - density[:, None]), atol=1e-8)
    np.testing.assert_allclose(model.score_samples(X), density)
    np.testing.assert_allclose(model.score(X), density.mean())
    np.testing.assert_allclose(model.log_likelihood_, density[:150].sum())
    np.testing.assert_array_equal(model.labels_, model.predict(X[:150]))
    np.testing.assert_allclose(model.transform(X), X @ model.loadings_, atol=1e-10)
    np.testing.assert_allclose(model.loadings_.T @ model.loadings_, np.eye(2), atol=1e-10)


@pytest.mark.parametrize("m", [0, 3])
@pytest.mark.parametrize(("name", "own"), [("DkBk", 3 * 3 + 3), ("AkB", 3 + 1)])
def test_criteria_are_their_formulas(wine, name, own, m):
    X, _ = wine
    model = SparseFisherEM(model=name, noise_factors=m, random_state=0).fit(X)
    T = model.predict_proba(X)
    entropy = -(T * np.log(np.maximum(T, 1e-300))).sum()
    K, p, d = 3, 13, 2
    zeros = (model.sparse_loadings_ == 0).sum()
    parameters = (K - 1) + K * d + d * (p - (d + 1) / 2) - zeros + own  # of the covariances and the noise
    parameters += p * m - m * (m - 1) / 2  # of its factors
    assert model.n_parameters_ == parameters
    bic = model.log_likelihood_ - parameters / 2 * np.log(178)
    np.testing.assert_allclose(model.bic_, bic)
    np.testing.assert_allclose(model.icl_, bic - entropy)
    np.testing.assert_allclose(model.aic_, model.log_likelihood_ - parameters)
    for name in ("bic", "icl", "aic"):
        np.testing.assert_allclose(getattr(model, name)(X), getattr(model, name + "_"))


def test_sampling_gives_back_the_parameters(wine):
    model = SparseFisherEM(noise_factors=0, random_state=0).fit(wine[0])
    X, labels = model.sample(40_000, random_state=1)
    np.testing.assert_allclose(np.bincount(labels) / 40_000, model.weights_, atol=0.01)
    for k in range(3):
        rows = X[labels == k]
        np.testing.assert_allclose(rows.mean(axis=0), model.means_[k], atol=0.05)
        U = model.loadings_
        np.testing.assert_allclose(np.cov((rows @ U).T), model.covariances_[k], atol=0.05)
        outside = rows - rows @ U @ U.T
        np.testing.assert_allclose(outside.var(axis=0).sum() / 11, model.noise_variances_[k], rtol=0.03)


@pytest.mark.parametrize(
    "options", [{"sparsity": "auto"}, *({"method": method, "sparsity": 0.3} for method in SPARSE_STEPS)]
)
def test_the_same_on_every_run_and_for_any_number_of_jobs(wine, options):
    models = [SparseFisherEM(random_state=3, n_jobs=j, **options).fit(wine[0]) for j in (None, 1, 2)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.loadings_, models[0].loadings_)
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        assert model.bic_ == models[0].bic_


def test_signs_of_the_axes_are_fixed(wine):
    X, _ = wine
    model = FisherEM(random_state=0).fit(X)
    largest = np.abs(model.loadings_).argmax(axis=0)
    assert (model.loadings_[largest, [0, 1]] > 0).all()
    np.testing.assert_allclose(model.latent_means_, model.means_ @ model.loadings_)


def test_float32_in(wine):
    X, _ = wine
    single = SparseFisherEM(random_state=0).fit(X.astype(np.float32))
    double = SparseFisherEM(random_state=0).fit(X)
    np.testing.assert_array_equal(single.support_, double.support_)
    np.testing.assert_allclose(single.log_likelihood_, double.log_likelihood_, rtol=1e-5)


def test_selector_in_a_pipeline(frame):
    pipeline = make_pipeline(StandardScaler(), SelectDiscriminative(SparseFisherEM(random_state=0))).set_output(
        transform="pandas"
    )
    kept = pipeline.fit_transform(frame)
    selected = pipeline[-1].estimator_.support_
    assert list(kept.columns) == list(frame.columns[selected])
    assert 0 < kept.shape[1] < 13
    assert isinstance(kept, pd.DataFrame)
    weighted = SelectDiscriminative(SparseFisherEM(random_state=0)).fit(frame, sample_weight=np.ones(178))
    np.testing.assert_array_equal(
        weighted.get_support(), SelectDiscriminative(SparseFisherEM(random_state=0)).fit(frame).get_support()
    )


def test_selector_needs_an_estimator_that_selects(frame):
    from sklearn.cluster import KMeans

    with pytest.raises(TypeError, match="KMeans has no support_"):
        SelectDiscriminative(KMeans(2, n_init=1)).fit(frame)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # random starts lead to the odd cycle
@pytest.mark.parametrize("means", ["latent", "full"])
def test_starts_of_every_kind_and_the_best_is_kept(wine, means):
    X, y = wine
    posteriors = np.eye(3)[y] * 0.8 + 0.2 / 3
    for init in ("kmeans", "random", "ward", y, np.array(["a", "b", "c"])[y], posteriors):
        # factors of the noise come after the starts
        model = FisherEM(init=init, random_state=0, n_init=3, model="AkB", means=means, noise_factors=0).fit(X)
        assert model.labels_.shape == (178,)
        records = [r for r in model.starts_ if np.isfinite(r["log_likelihood"])]
        # with latent means k-means counts once: the run of least inertia
        several = ("kmeans", "random") if means == "full" else ("random",)
        assert len(model.starts_) == (3 if isinstance(init, str) and init in several else 1)
        assert model.log_likelihood_ == max(r["log_likelihood"] for r in records)


@pytest.mark.parametrize("changes", [{}, {"sparsity": 0.5}, {"means": "full", "sparsity": 0.1}])
def test_history_of_a_sparse_fit_has_both_phases(wine, changes):
    order = ["dense", "sparse", "noise"]
    for noise in (0, "auto"):
        model = SparseFisherEM(random_state=0, noise_factors=noise, **changes).fit(wine[0])
        factors = bool(noise) and changes.get("means") != "full"  # full means keep spherical noise
        assert factors == (model.noise_factors_ > 0)
        phases = [r["phase"] for r in model.history_]
        assert phases == sorted(phases, key=order.index)
        assert set(phases) == set(order if factors else order[:2])
        assert [r["iteration"] for r in model.history_] == list(range(1, model.n_iter_ + 1))
    if "sparsity" in changes:
        cold = SparseFisherEM(random_state=0, start="cold", noise_factors=0, **changes).fit(wine[0])
        assert {r["phase"] for r in cold.history_} == {"sparse"}


# With factors the ridge of a dense fit is in the metric of the noise, that of a sparse one in the variables: the axes
# agree where it is small.
@pytest.mark.parametrize("options", [{"noise_factors": 0}, {"ridge": 1e-3, "noise_factors": "auto"}])
@pytest.mark.parametrize("method", SPARSE_STEPS)
def test_sparsity_one_is_fisher_em(wine, method, options):
    dense = FisherEM(random_state=0, **options).fit(wine[0])
    assert (dense.noise_factors_ > 0) == ("ridge" in options)
    for start in ("fisher-em", "cold"):
        options = {"sparsity": 1.0, "method": method, "start": start, "tol": 1e-6} | options
        full = SparseFisherEM(random_state=0, **options).fit(wine[0])
        difference = full.loadings_ @ full.loadings_.T - dense.loadings_ @ dense.loadings_.T
        assert np.abs(difference).max() < 0.05
        assert full.support_.all()
