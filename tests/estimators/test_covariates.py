"""Groups and the effects of covariates, estimated together."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from fisherem import (
    FisherEM,
    ModelSearch,
    SparseFisherEM,
    explain,
    load,
    report,
    save,
    significance,
    stability,
)
from fisherem.plots import ProfilesDisplay
from fisherem.policy.covariates import kmeans_with_covariates
from tests.naive import accuracy


def batches(share, seed=0, n=200, real=40, moved=400, others=360, apart=1.5, size=2.0):
    """(X, groups, batches): groups in the first columns, batches in the next; `share` of a batch is of one group."""
    rng = np.random.default_rng(seed)
    batch = rng.integers(0, 2, n)
    groups = (rng.uniform(size=n) < np.where(batch == 0, share, 1 - share)).astype(int)
    X = rng.normal(size=(n, real + moved + others))
    X[:, :real] += apart * groups[:, None] * rng.choice([-1, 1], real)
    X[:, real : real + moved] += size * batch[:, None] * rng.choice([-1, 1], moved)
    return X, groups, np.array(["north", "south"])[batch]


def small(seed=0, n=240):
    """(frame, groups, covariates): three groups, unbalanced over three batches, and a size, in eight columns."""
    rng = np.random.default_rng(seed)
    batch = rng.integers(0, 3, n)
    groups = np.array([rng.choice(3, p=[0.7, 0.2, 0.1][-b:] + [0.7, 0.2, 0.1][:-b]) for b in batch])
    size = rng.normal(size=n)
    means = np.zeros((3, 8))
    means[:, :4] = 3 * rng.normal(size=(3, 4))
    X = means[groups] + 2 * rng.normal(size=(3, 8))[batch] + size[:, None] * rng.normal(size=8)
    X += rng.normal(size=X.shape)
    names = [f"gene{j}" for j in range(8)]
    return pd.DataFrame(X, columns=names), groups, pd.DataFrame({"batch": [f"b{b}" for b in batch], "size": size})


@pytest.fixture(scope="module")
def fitted():
    X, groups, Z = small()
    return X, groups, Z, FisherEM(3, random_state=0).fit(X, covariates=Z)


@pytest.mark.parametrize("share", [0.5, 0.7, 0.8])
@pytest.mark.parametrize("kind", [FisherEM, SparseFisherEM])
def test_groups_behind_a_large_batch(share, kind):
    X, groups, batch = batches(share)
    assert accuracy(groups, kind(2, random_state=0).fit(X).labels_) < 0.85  # the batch is what is found
    model = kind(2, random_state=0).fit(X, covariates=batch)
    assert accuracy(groups, model.labels_) >= 0.95
    assert not model.support_[40:].any() or kind is FisherEM


def test_residuals_taken_before_would_not_do():
    """The effects are those beside the groups: regressed alone, unbalanced batches would take part of the groups."""
    X, _, batch = batches(0.7, n=400)
    model = FisherEM(2, random_state=0).fit(X, covariates=batch)
    z = (batch == "south").astype(float)
    alone = X[z == 1].mean(axis=0) - X[z == 0].mean(axis=0)
    effects = model.covariate_effects_[0] * (1 if model.covariates_["level"][0] == "south" else -1)
    assert np.abs(alone[:40]).mean() > 0.4
    assert np.abs(effects[:40]).mean() < 0.15


def test_effects_are_those_of_the_joint_regression(fitted):
    X, groups, Z, model = fitted
    assert adjusted_rand_score(groups, model.labels_) > 0.95
    T = model.predict_proba(X, covariates=Z)
    levels = list(model.covariates_["level"][model.covariates_["spread"] > 0][:-1])
    raw = np.column_stack(
        [*(Z["batch"] == level for level in levels), (Z["size"] - Z["size"].mean()) / Z["size"].std(ddof=0)]
    )
    half = np.sqrt(T.T.ravel())[:, None]
    design = np.vstack([np.hstack([np.tile(np.eye(3)[k], (len(X), 1)), raw]) for k in range(3)])
    expected = np.linalg.lstsq(half * design, half * np.tile(X, (3, 1)), rcond=None)[0][3:]
    errors = X.std().to_numpy() / np.sqrt(len(X))
    assert np.abs((model.covariate_effects_ - expected) / errors).max() < 0.2


def test_the_likelihood_is_that_of_the_rows_given_their_covariates(fitted):
    X, _, Z, model = fitted
    levels = model.covariates_[model.covariates_["spread"] > 0]
    codes = [
        Z["batch"].eq(r.level) - r.centre if r.level else (Z["size"] - r.centre) / r.spread for r in levels.itertuples()
    ]
    rows = X.to_numpy() - np.column_stack(codes) @ model.covariate_effects_
    U, s = model.loadings_, model.scales_
    total = np.zeros(len(X))
    for weight, mean, inner, noise in zip(
        model.weights_, model.means_, model.covariances_, model.noise_variances_, strict=True
    ):
        covariance = (U @ inner @ U.T + noise * (np.eye(8) - U @ U.T)) * np.outer(s, s)
        total += weight * multivariate_normal(mean, covariance).pdf(rows)
    assert model.log_likelihood_ == pytest.approx(np.log(total).sum(), rel=1e-9)
    np.testing.assert_allclose(model.score_samples(X, covariates=Z), np.log(total), rtol=1e-7)


def test_criteria_count_the_effects(fitted):
    X, _, Z, model = fitted
    plain, rows = model.adjusted(X, Z)
    again = FisherEM(3, model=model.model_, init=model.labels_, scale=model.scale_).fit(rows)
    extra = model.n_parameters_ - again.n_parameters_
    assert extra == 3 * 8  # two levels and a number, for each of the variables
    assert model.bic_ == pytest.approx(model.log_likelihood_ - model.n_parameters_ / 2 * np.log(len(X)), rel=1e-12)
    for name in ("bic", "icl", "aic"):
        assert getattr(model, name)(X, covariates=Z) == pytest.approx(getattr(model, f"{name}_"), rel=1e-9)
    assert not hasattr(plain, "covariates_")


def test_shares_are_those_that_leaving_a_covariate_out_loses(fitted):
    X, _, Z, model = fitted
    T = model.predict_proba(X, covariates=Z)
    dummies = pd.get_dummies(Z["batch"], drop_first=True, dtype=float).to_numpy()
    size = Z[["size"]].to_numpy()
    half = np.sqrt(T.T.ravel())[:, None]

    def squares(*parts):
        Y = np.hstack([*parts, np.zeros((len(X), 0))])
        design = np.vstack([np.hstack([np.tile(np.eye(3)[k], (len(X), 1)), Y]) for k in range(3)])
        target = half * np.tile(X, (3, 1))
        return ((target - half * design @ np.linalg.lstsq(half * design, target, rcond=None)[0]) ** 2).sum(axis=0)

    total, both = len(X) * X.var(ddof=0).to_numpy(), squares(dummies, size)
    np.testing.assert_allclose(model.covariate_shares_["batch"], (squares(size) - both) / total, atol=2e-3)
    np.testing.assert_allclose(model.covariate_shares_["size"], (squares(dummies) - both) / total, atol=2e-3)
    np.testing.assert_allclose(model.covariate_shares_["all of them"], (squares() - both) / total, atol=2e-3)
    assert "batch explains" in str(model.summary())
    assert model.decisions_["decision"][0] == "covariates"


def test_a_covariate_without_effect_leaves_the_groups():
    X, _, _ = batches(0.5, moved=0, others=20, real=10)
    noise = np.random.default_rng(1).normal(size=len(X))
    one, other = FisherEM(2, random_state=0).fit(X), FisherEM(2, random_state=0).fit(X, covariates=noise)
    assert adjusted_rand_score(one.labels_, other.labels_) > 0.97
    assert other.covariate_share_["share"][0] < 0.02


def test_a_covariate_that_determines_the_groups_is_said():
    X, groups, _ = batches(0.5, moved=0, others=20, real=10)
    with pytest.warns(UserWarning, match="nearly determines the group of a row"):
        found = explain(X, groups, covariates=np.where(groups == 1, "x", "y"))
    assert "cannot be told apart" in str(found.model.summary())
    mixed = np.where(np.arange(len(X)) % 2 == 0, "x", "y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert explain(X, groups, covariates=mixed).agreement > 0.9


def test_explain_takes_out_what_the_batch_explains_within_the_groups():
    X, groups, batch = batches(0.7)
    found = explain(X, groups, covariates=batch)
    assert not found.support[40:].any()
    assert found.agreement > 0.98
    expected = np.linalg.lstsq(
        np.column_stack([groups == 0, groups == 1, batch == found.model.covariates_["level"][0]]).astype(float),
        X,
        rcond=None,
    )[0][2]
    np.testing.assert_allclose(found.model.covariate_effects_[0], expected, atol=1e-9)


def test_every_method_asks_for_the_covariates(fitted, tmp_path):
    X, _, Z, model = fitted
    for call in (
        model.predict, model.predict_proba, model.transform, model.score_samples, model.score, model.bic,
        model.contributions, model.outlyingness, model.impute, model.plot,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="fitted with covariates: give 'batch', 'size'"):
            call(X)
    np.testing.assert_array_equal(model.predict(X, covariates=Z), model.labels_)
    np.testing.assert_array_equal(model.predict(X[:7], covariates=Z[:7][["size", "batch"]]), model.labels_[:7])
    why = model.contributions(X, covariates=Z)
    np.testing.assert_allclose(why.log_odds, why.baseline + why.values.sum(axis=1), rtol=1e-8)
    assert model.outlyingness(X, covariates=Z).shape == (len(X),)
    with pytest.raises(ValueError, match="fitted without covariates"):
        FisherEM(2, random_state=0).fit(X).predict(X, covariates=Z)


def test_the_adjusted_model_is_the_same_one(fitted, tmp_path):
    X, _, Z, model = fitted
    plain, rows = model.adjusted(X, Z)
    assert list(rows.columns) == list(X.columns)
    np.testing.assert_allclose(plain.transform(rows), model.transform(X, covariates=Z), rtol=1e-12)
    page = report(model, X, tmp_path / "page.html", covariates=Z).read_text()
    assert "batch explains" in page
    assert "covariates=Z" in page
    assert model.plot(X, covariates=Z) is not None
    with pytest.raises(ValueError, match="fitted with covariates"):
        ProfilesDisplay.from_estimator(model, X)
    assert ProfilesDisplay.from_estimator(plain, rows).values.shape == (3, 8)


def test_files_keep_the_effects(fitted, tmp_path):
    X, _, Z, model = fitted
    again = load(save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict_proba(X, covariates=Z), model.predict_proba(X, covariates=Z))
    pd.testing.assert_frame_equal(again.covariates_, model.covariates_)
    model = load(save(model, tmp_path / "m.skops"))
    model.covariate_effects_ = model.covariate_effects_[:1]
    with pytest.raises(ValueError, match="do not fit each other"):
        load(save(model, tmp_path / "broken.skops"))


def test_selected_columns_are_enough_to_predict():
    X, _, batch = batches(0.5, moved=20, others=20, real=20)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(60)])
    model = SparseFisherEM(2, random_state=0).fit(frame, covariates=batch)
    few = frame.loc[:, model.support_]
    np.testing.assert_array_equal(model.predict(few, covariates=batch), model.labels_)


def test_a_later_fit_forgets_the_covariates(fitted):
    X, _, Z, _ = fitted
    model = FisherEM(3, random_state=0).fit(X, covariates=Z).fit(X)
    assert not [name for name in vars(model) if name.startswith("covariate")]
    model.predict(X)


def test_sparse_rows_and_floats_of_four_bytes():
    X, _, batch = batches(0.6, n=150, real=10, moved=20, others=10)
    X = np.where(np.abs(X) < 0.7, 0, X)
    dense = FisherEM(2, random_state=0).fit(X, covariates=batch)
    thin = FisherEM(2, random_state=0).fit(sparse.csr_matrix(X), covariates=batch)
    np.testing.assert_array_equal(dense.labels_, thin.labels_)
    np.testing.assert_allclose(thin.covariate_effects_, dense.covariate_effects_, atol=1e-8)
    np.testing.assert_array_equal(thin.predict(sparse.csr_matrix(X), covariates=batch), thin.labels_)
    single = FisherEM(2, random_state=0).fit(X.astype(np.float32), covariates=batch)
    assert single.means_.dtype == np.float32
    assert adjusted_rand_score(single.labels_, dense.labels_) > 0.98


def test_weights_are_repetitions():
    X, _, batch = batches(0.6, n=100, real=10, moved=5, others=5)
    w = np.tile([1, 2, 0, 1, 3], 20)
    start = np.tile([0, 1], 50)
    one = FisherEM(2, init=start, model="DB").fit(X, sample_weight=w, covariates=batch)
    times = np.repeat(np.arange(100), w)
    other = FisherEM(2, init=start[times], model="DB").fit(X[times], covariates=batch[times])
    np.testing.assert_allclose(one.covariate_effects_, other.covariate_effects_, atol=1e-6)
    np.testing.assert_array_equal(one.labels_[times], other.labels_)
    assert one.bic_ == pytest.approx(other.bic_, rel=1e-8)


def test_what_cannot_be_combined_is_refused(fitted):
    X, _, Z, _ = fitted
    with pytest.raises(ValueError, match="without missing cells"):
        FisherEM(3).fit(X.mask(X > 9), covariates=Z)
    with pytest.raises(ValueError, match="transformation='power'"):
        FisherEM(3, transformation="power").fit(X, covariates=Z)
    with pytest.raises(ValueError, match="same value in every row"):
        FisherEM(3).fit(X, covariates=np.ones(len(X)))
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="compute"):
        FisherEM(3).fit(da.from_array(X.to_numpy()), covariates=Z)


def mixed_frame(X):
    """The frame with a column of text."""
    return X.assign(colour=np.where(np.arange(len(X)) % 3, "red", "blue"))


@pytest.mark.parametrize("kind", [FisherEM, SparseFisherEM, ModelSearch])
def test_categories_and_counts_are_refused_before_any_work(fitted, kind):
    """The covariates, of another length, would be refused when they are read."""
    X, _, Z, _ = fitted
    Z = Z[:5]
    estimator = ModelSearch(SparseFisherEM(), n_clusters=[2, 3]) if kind is ModelSearch else kind(3)
    counts = ModelSearch(SparseFisherEM(transformation="log-counts")) if kind is ModelSearch else None
    counts = kind(3, transformation="log-counts") if counts is None else counts

    with pytest.raises(ValueError, match="covariates must have one row per row of X"):
        estimator.fit(X, covariates=Z)
    with pytest.raises(ValueError, match="covariates need numbers, and this table has categories"):
        estimator.fit(mixed_frame(X), covariates=Z)
    with pytest.raises(ValueError, match="covariates need numbers, not transformation='log-counts'"):
        counts.fit(np.abs(X).round(), covariates=Z)


def test_explain_refuses_categories(fitted):
    X, groups, Z, _ = fitted
    with pytest.raises(ValueError, match="covariates need numbers, and this table has categories"):
        explain(mixed_frame(X), groups, covariates=Z)


def test_models_of_categories_and_counts_take_no_covariates(fitted):
    X, _, Z, _ = fitted
    for model, rows in (
        (FisherEM(3, random_state=0).fit(mixed_frame(X)), mixed_frame(X)),
        (FisherEM(3, random_state=0, transformation="log-counts").fit(np.abs(X).round()), np.abs(X).round()),
    ):
        for call in (model.predict, model.score, model.markers, model.contributions, model.bic):
            with pytest.raises(ValueError, match="fitted without covariates"):
                call(rows, covariates=Z)


def test_markers_are_those_of_adjusted_rows(fitted):
    X, _, Z, model = fitted
    with pytest.raises(ValueError, match="fitted with covariates"):
        model.markers(X)
    found = model.markers(X, covariates=Z)
    plain, rows = model.adjusted(X, Z)
    pd.testing.assert_frame_equal(found, plain.markers(rows))
    first = found[(found["group"] == "group 1") & (found["variable"] == "gene2")].iloc[0]
    assert first["mean_inside"] == pytest.approx(rows["gene2"][model.labels_ == 0].mean())


def test_a_group_is_split_by_adjusted_rows(fitted):
    X, _, Z, model = fitted
    with pytest.raises(ValueError, match="fitted with covariates"):
        model.subcluster(X, 1, 2)
    found = model.subcluster(X, 1, 2, covariates=Z)
    plain, rows = model.adjusted(X, Z)
    np.testing.assert_array_equal(found.labels, plain.subcluster(rows, 1, 2).labels)
    np.testing.assert_array_equal(found.predict(X, covariates=Z), found.labels)
    pd.testing.assert_frame_equal(found.rows(X, covariates=Z), rows[found.inside])
    assert set(found.markers(X, covariates=Z)["group"]) == {"group 1.1", "group 1.2"}
    for call in (found.predict, found.rows, found.markers):
        with pytest.raises(ValueError, match="fitted with covariates"):
            call(X)


def test_a_search_hands_the_covariates_on():
    X, _, Z = small()
    search = ModelSearch(FisherEM(random_state=0), n_clusters=[3], n_jobs=1).fit(X, covariates=Z)
    best = search.best_estimator_
    pd.testing.assert_frame_equal(search.markers(X, covariates=Z), best.markers(X, covariates=Z))
    found = search.subcluster(X, 1, 2, n_jobs=1, covariates=Z)
    np.testing.assert_array_equal(found.labels, best.subcluster(X, 1, 2, n_jobs=1, covariates=Z).labels)


def test_an_explanation_takes_rows_with_their_covariates(fitted, tmp_path):
    X, groups, Z, _ = fitted
    found = explain(X, groups, covariates=Z)
    for call in (found.predict, found.markers, found.contributions, found.table, found.plot):
        with pytest.raises(ValueError, match="fitted with covariates"):
            call(X)
    np.testing.assert_array_equal(found.predict(X, covariates=Z), found.values[found.placed])
    rows = found.model.adjusted(X, Z)[1]
    marks = found.markers(X, covariates=Z).set_index(["group", "variable"])["mean_inside"]
    assert marks[1, "gene2"] == pytest.approx(rows["gene2"][groups == 1].mean())
    assert found.contributions(X, covariates=Z).values.shape[0] == len(X)
    assert list(found.table(X, covariates=Z)["group"]) == groups.tolist()
    assert found.plot(X, covariates=Z) is not None
    for k, page in enumerate(
        (
            found.report(X, tmp_path / "a.html", covariates=Z),
            report(found, X, tmp_path / "b.html", covariates=Z),
        )
    ):
        assert "batch explains" in page.read_text(), k


def test_rows_in_a_file_are_adjusted_when_they_are_read(tmp_path):
    X, _, batch = batches(0.6, n=400, real=10, moved=20, others=10)
    expected = FisherEM(2, random_state=0, model="DB").fit(X, covariates=batch)
    np.save(tmp_path / "x.npy", X)
    model = FisherEM(2, random_state=0, model="DB", memory=100_000).fit(tmp_path / "x.npy", covariates=batch)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.covariate_effects_, expected.covariate_effects_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(tmp_path / "x.npy", covariates=batch), expected.labels_)
    with pytest.raises(ValueError, match=r"dense: .* more than the memory budget"):
        model.adjusted(tmp_path / "x.npy", batch)
    X[7, 3] = np.nan
    np.save(tmp_path / "y.npy", X)
    with pytest.raises(ValueError, match="row 7, column 3"):
        FisherEM(2, memory=100_000).fit(tmp_path / "y.npy", covariates=batch)


def test_refits_take_adjusted_rows_only(fitted):
    X, _, Z, model = fitted
    with pytest.raises(ValueError, match="fitted with covariates"):
        significance(model, X, draws=1)
    with pytest.raises(ValueError, match="fitted with covariates"):
        stability(model, X, n_subsamples=2)
    plain, rows = model.adjusted(X, Z)
    found = stability(plain, rows, n_subsamples=2, fitted=plain, random_state=0, n_jobs=1, progress=False)
    assert found.agreement.min() > 0.9


def test_kmeans_with_covariates_minimises_its_sum_of_squares():
    X, groups, batch = batches(0.7, n=120, real=10, moved=10, others=0)
    Z = (batch == "north")[:, None] - (batch == "north").mean()
    X = X - X.mean(axis=0)
    alone = np.linalg.lstsq(Z, X, rcond=None)[0]
    effects, labels = kmeans_with_covariates(X, Z, None, 2, np.ones(20), alone, seed=0)
    design = np.column_stack([labels == 0, labels == 1, Z[:, 0]]).astype(float)
    found = np.linalg.lstsq(design, X, rcond=None)[0]
    np.testing.assert_allclose(effects[0], found[2], atol=1e-9)
    distances = ((X - Z @ effects)[:, None] - found[None, :2]) ** 2
    np.testing.assert_array_equal(labels, distances.sum(axis=2).argmin(axis=1))
    assert accuracy(groups, labels) > 0.95


def test_a_search_chooses_the_number_behind_a_batch():
    X, groups, batch = batches(0.7, n=160, real=15, moved=40, others=5)
    search = ModelSearch(SparseFisherEM(random_state=0), n_clusters=[1, 2, 3], n_jobs=1, progress=False)
    search.fit(X, covariates=batch)
    assert search.verdict_.n_clusters == 2
    assert accuracy(groups, search.predict(X, covariates=batch)) > 0.95
    assert "covariate explains" in str(search.summary())
    plain, rows = search.adjusted(X, batch)
    np.testing.assert_array_equal(plain.predict(rows), search.labels_)
    with pytest.raises(ValueError, match="fitted with covariates"):
        search.transform(X)


def test_a_search_by_a_criterion_counts_the_effects():
    X, _, Z = small()
    search = ModelSearch(FisherEM(random_state=0), n_clusters=[2, 3], models=["DB", "AB"], n_jobs=1, progress=False)
    best = search.fit(X, covariates=Z).best_estimator_
    row = search.results_.iloc[search.best_index_]
    assert row["n_parameters"] == best.n_parameters_
    assert row["bic"] == pytest.approx(search.best_score_)
    assert best.bic(X, covariates=Z) == pytest.approx(best.bic_, rel=1e-9)
