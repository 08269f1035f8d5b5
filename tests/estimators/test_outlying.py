"""How far outside of the groups rows are, against distances with explicit p x p covariances."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from click.testing import CliRunner
from scipy.stats import chi2
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fisherem
from fisherem import BayesianFisherEM, FactorMixture, FisherEM, ModelSearch, SparseFisherEM
from fisherem.cli import main

from .. import naive

KINDS = {
    "latent": lambda: FisherEM(3, random_state=0, n_init=1),
    "full": lambda: FisherEM(3, means="full", model="DkBk", random_state=0, n_init=1),
    "factors": lambda: FisherEM(3, model="AkB", noise_factors=2, random_state=0, n_init=1),
    "standardised": lambda: FisherEM(3, scale="standardise", random_state=0, n_init=1),
    "sparse": lambda: SparseFisherEM(3, random_state=0, n_init=1),
    "bayesian": lambda: BayesianFisherEM(3, random_state=0, n_init=1),
    "MFA": lambda: FactorMixture(3, 2, random_state=0, n_init=2),
    "MCFA": lambda: FactorMixture(3, 2, structure="MCFA", random_state=0, n_init=2),
}


@pytest.fixture(scope="module")
def rows(wine):
    return wine[0] + np.arange(wine[0].shape[1])  # standardised wines, and an offset


@pytest.fixture(scope="module")
def fitted(rows):
    return {name: make().fit(rows) for name, make in KINDS.items()}


def covariance(model, k):
    """S_k (p x p) of the columns divided by the scales."""
    if not isinstance(model, FactorMixture):
        return naive.group_covariance(model, k)
    if model.factor_loadings_.ndim == 3:
        L = model.factor_loadings_[k]
        return L @ L.T + np.diag(model.noise_variances_[k])
    A = model.factor_loadings_
    return A @ model.covariances_[k] @ A.T + np.diag(model.noise_variances_[k])


def squared_distances(model, X):
    """n x K"""
    out = []
    for k, mean in enumerate(model.means_):
        off = (X - mean) / model.scales_
        out.append(np.einsum("np,pq,nq->n", off, np.linalg.inv(covariance(model, k)), off))
    return np.column_stack(out)


def moments(D, T, p, w=None):
    """Means and variances per group, each with ten rows of all groups added; the variance is at least 2 mean^2 / p."""
    T = T if w is None else T * w[:, None]
    pooled = (T * D).sum() / T.sum()
    pooled_variance = (T * D**2).sum() / T.sum() - pooled**2
    found = []
    for t, d in zip(T.T, D.T, strict=True):
        share = t.sum() / (t.sum() + 10)
        mean = np.average(d, weights=t)
        variance = np.average((d - mean) ** 2, weights=t)
        mean, variance = share * mean + (1 - share) * pooled, share * variance + (1 - share) * pooled_variance
        found.append((mean, max(variance, 2 * mean**2 / p)))
    return np.array(found).T


def probabilities(D, mean, variance):
    return np.max(chi2.sf(D * 2 * mean / variance, 2 * mean**2 / variance), axis=1)


@pytest.mark.parametrize("name", KINDS)
def test_tails_are_those_of_explicit_distances(name, fitted, rows):
    model = fitted[name]
    D = squared_distances(model, rows)
    expected = moments(D, model.predict_proba(rows), rows.shape[1])
    assert model.distance_moments_ == pytest.approx(expected, rel=1e-6)
    other = np.vstack([rows[:20] * 1.2, rows[:5] * 100, np.zeros((1, rows.shape[1]))])
    found = model.outlyingness(other)
    assert found == pytest.approx(probabilities(squared_distances(model, other), *expected), rel=1e-5, abs=1e-200)


@pytest.mark.parametrize("name", KINDS)
def test_noise_rows_times_100_and_zeros_are_outside(name, fitted, rows):
    """Posteriors of 1 say nothing about them."""
    model = fitted[name]
    noise = np.random.default_rng(0).uniform(-60, 60, size=(50, rows.shape[1]))
    far = np.vstack([noise, rows[:5] * 100, np.zeros((1, rows.shape[1])), np.full((1, rows.shape[1]), 1e200)])
    assert model.predict_proba(far).max(axis=1).mean() > 0.9
    assert (model.outlyingness(far) < 1e-3).all()
    assert (model.predict(far, noise_label=True) == -1).all()
    assert (model.predict(far) >= 0).all()
    labels = model.predict(rows, noise_label=True)
    assert (labels == -1).mean() <= 0.03
    assert (labels[labels >= 0] == model.predict(rows)[labels >= 0]).all()
    assert model.labels_.min() == 0


def test_weights_are_repetitions(rows):
    w = np.ones(len(rows))
    w[:30] = 2
    weighted = FisherEM(3, model="AkB", random_state=0, n_init=1).fit(rows, sample_weight=w)
    D = squared_distances(weighted, rows)
    assert weighted.distance_moments_ == pytest.approx(
        moments(D, weighted.predict_proba(rows), rows.shape[1], w), rel=1e-6
    )


def test_rows_with_gaps_are_judged_by_their_observed_cells(rows):
    X = rows.copy()
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.1] = np.nan
    model = FisherEM(3, model="AkB", noise_factors=1, random_state=0, n_init=1).fit(X)
    p, W = X.shape[1], [covariance(model, k) for k in range(3)]
    D, share = np.empty((len(X), 3)), (~np.isnan(X)).mean(axis=1)
    for i, row in enumerate(X):
        o = ~np.isnan(row)
        for k in range(3):
            off = ((row - model.means_[k]) / model.scales_)[o]
            D[i, k] = off @ np.linalg.inv(W[k][np.ix_(o, o)]) @ off
    T = model.predict_proba(X)

    def estimated(T, D):
        mean = (T * D).sum() / (T.T @ share).sum()
        return mean, ((T * D**2).sum() - mean**2 * (T.T @ share**2).sum()) / (T.T @ share).sum()

    pooled = estimated(T, D)
    expected = []
    for k in range(3):
        q = T[:, k] @ share / (T[:, k] @ share + 10)
        mean, variance = (q * a + (1 - q) * b for a, b in zip(estimated(T[:, [k]], D[:, [k]]), pooled, strict=True))
        expected.append((mean, max(variance, 2 * mean**2 / p)))
    mean, variance = np.array(expected).T
    assert model.distance_moments_ == pytest.approx(np.stack([mean, variance]), rel=1e-6)
    found = np.max(chi2.sf(D * 2 * mean / variance, share[:, None] * 2 * mean**2 / variance), axis=1)
    assert model.outlyingness(X) == pytest.approx(found, rel=1e-6)
    X[0] *= 100
    assert model.predict(X, noise_label=True)[0] == -1
    X[1] = np.nan
    with pytest.warns(UserWarning, match="no observed"):
        assert model.outlyingness(X)[1] == 1.0


def test_everywhere_that_predict_works(rows, tmp_path):
    import dask.array as da

    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(rows.shape[1])])
    model = FisherEM(3, random_state=0, n_init=1).fit(rows)
    there = model.outlyingness(rows)
    assert model.outlyingness(scipy.sparse.csr_matrix(rows)) == pytest.approx(there, rel=1e-6)
    np.save(tmp_path / "rows.npy", rows)
    model.memory = 2 * rows.nbytes // 3
    assert model.outlyingness(tmp_path / "rows.npy") == pytest.approx(there, rel=1e-9)
    assert (model.predict(tmp_path / "rows.npy", noise_label=True) == model.predict(rows, noise_label=True)).all()
    lazy = model.outlyingness(da.from_array(rows, chunks=(50, -1)))
    assert lazy.compute() == pytest.approx(there, rel=1e-9)
    fisherem.save(model, tmp_path / "m.skops")
    assert (fisherem.load(tmp_path / "m.skops").outlyingness(rows) == there).all()
    pipe = make_pipeline(StandardScaler(), FisherEM(3, random_state=0, n_init=1)).fit(frame)
    frame.iloc[3] *= 100
    assert pipe.predict(frame, noise_label=True)[3] == -1
    search = ModelSearch(pipe, n_clusters=[3], models=["AkB"], n_init=1, n_jobs=1, progress=False).fit(frame.drop(3))
    assert search.outlyingness(frame)[3] < 1e-9
    assert search.predict(frame, noise_label=True)[3] == -1


def test_dask_and_files_have_the_moments_of_arrays(rows, wine, tmp_path):
    import dask.array as da

    inside = FisherEM(3, model="AkB", init=wine[1], tol=1e-6).fit(rows)
    np.save(tmp_path / "rows.npy", rows)
    for given, memory in ((da.from_array(rows, chunks=(60, -1)), "1GB"), (tmp_path / "rows.npy", rows.nbytes)):
        there = FisherEM(3, model="AkB", init=wine[1], tol=1e-6, memory=memory).fit(given)
        assert there.distance_moments_ == pytest.approx(inside.distance_moments_, rel=1e-6)


def test_files_of_earlier_versions_use_the_chi_squared_distribution_of_the_model(fitted, rows):
    import copy

    old = copy.copy(fitted["latent"])
    del old.distance_moments_
    expected = chi2.sf(squared_distances(old, rows), rows.shape[1]).max(axis=1)
    assert old.outlyingness(rows) == pytest.approx(expected, rel=1e-5)


def test_bad_calls(fitted, rows):
    with pytest.raises(ValueError, match="noise_label"):
        fitted["latent"].predict(rows, noise_label="yes")
    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(rows.shape[1])])
    sparse = SparseFisherEM(3, random_state=0, n_init=1).fit(frame)
    some = frame.loc[:, sparse.support_]
    assert (sparse.predict(some) == sparse.labels_).all()
    with pytest.raises(ValueError, match="missing"):
        sparse.outlyingness(some)


def test_the_page_counts_them(rows, tmp_path):
    model = FisherEM(3, random_state=0, n_init=1).fit(rows)
    far = rows.copy()
    far[[3, 5]] *= 100
    n = int((model.outlyingness(far) < 1e-3).sum())
    page = fisherem.report(model, far, tmp_path / "page.html").read_text()
    assert f'<dt>rows outside</dt><dd><a href="#rows">{n}</a>' in page
    assert f"<b>{n} rows lie outside all groups</b> (below 0.001, where 0.2 are to be expected)" in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["tail"] == pytest.approx(model.outlyingness(far)[np.array(data["row"]) - 1], abs=1e-4)


def test_the_command_line_counts_them(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(rows.shape[1])])
    model = SparseFisherEM(3, random_state=0, n_init=1).fit(frame)
    fisherem.save(make_pipeline(StandardScaler(with_mean=False, with_std=False).fit(frame), model), "m.skops")
    new = frame.copy()
    new.iloc[[3, 5]] *= 100
    new.to_csv("new.csv", index=False)
    run = CliRunner()
    said = run.invoke(main, ["predict", "m.skops", "new.csv"])
    assert said.exit_code == 0, said.output
    table = pd.read_csv("labels.csv")
    expected = model.outlyingness(new)
    assert table["tail_probability"].to_numpy() == pytest.approx(expected, rel=1e-6, abs=1e-300)
    n = int((expected < 1e-3).sum())
    assert f"{n} of 178 rows lie outside all groups (tail_probability below 0.001; by chance 0.18)" in said.output
    assert table["cluster"].min() == 1
    found = run.invoke(main, ["predict", "m.skops", "new.csv", "--noise-label", "--json"])
    result = json.loads(found.output)
    assert result["outside"] == n
    assert sum(result["sizes"]) == 178 - n
    assert (pd.read_csv("labels.csv")["cluster"][[3, 5]] == -1).all()
    new.loc[:, model.support_].to_csv("some.csv", index=False)
    assert run.invoke(main, ["predict", "m.skops", "some.csv"]).exit_code == 0
    assert "tail_probability" not in pd.read_csv("labels.csv")
    refused = run.invoke(main, ["predict", "m.skops", "some.csv", "--noise-label"])
    assert refused.exit_code == 2
    assert "all of its columns" in refused.output
