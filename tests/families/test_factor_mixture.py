"""FactorMixture: likelihoods that never fall, limits, facts of other programs, engines, what scikit-learn expects."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from fisherem import FactorMixture, load, save
from fisherem.model.dlm import OTHER_MODELS
from fisherem.model.factors import STRUCTURES
from tests.contract import expected_failures
from tests.families import naive_factors


def simulated(n=240, p=70, K=3, q=2, seed=0):
    """Groups with own factors in p variables: (X, labels)."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % K
    L = rng.normal(size=(K, p, q))
    X = np.einsum("nq,npq->np", rng.normal(size=(n, q)), L[labels]) + rng.normal(size=(n, p))
    return X + 1.5 * rng.normal(size=(K, p))[labels], labels


# -- the likelihood --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few iterations are enough here
@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_likelihood_never_falls(wine, structure):
    many, labels = simulated()
    for X, start in ((wine[0], np.arange(178) % 3), (many, np.roll(labels, 40))):
        model = FactorMixture(3, 2, structure=structure, init=start, n_init=1, max_iter=60, tol=1e-9).fit(X)
        values = [record["log_likelihood"] for record in model.history_]
        assert len(values) > 3
        assert (np.diff(values) > -1e-7).all()
        np.testing.assert_allclose(model.score_samples(X).sum(), model.log_likelihood_)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


# log-likelihoods of EMMIXmfa 2.0.14 and pgmm 1.2.8, the best of ten starts
FACTS = [
    ("iris", "MFA", -290.68), ("wine", "MFA", -2292.67), ("wine27", "MFA", -5085.15),
    ("iris", "MCFA", -360.08), ("wine", "MCFA", -2612.76), ("wine27", "MCFA", -5784.11),
]  # fmt: skip


@pytest.mark.parametrize(("name", "structure", "known"), FACTS)
def test_what_the_r_programs_reach_is_reached(real_table, name, structure, known):
    X, _ = real_table(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = FactorMixture(3, 2, structure=structure, random_state=0).fit(X)
    assert model.log_likelihood_ >= known
    # no noise is below its floor of a share of 1e-4, and no group a handful of rows that fits itself
    assert (model.noise_variances_ >= 0.99e-4).all()
    assert model.weights_.min() * len(X) > 5


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("structure", "n_factors", "kind"), [("MFA", 0, "diag"), ("PPCA", 12, "full")])
def test_the_ends_are_the_usual_mixtures(wine, structure, n_factors, kind):
    """Without factors a diagonal mixture, with p - 1 and spherical noise any covariance."""
    X, y = wine
    model = FactorMixture(3, n_factors, structure=structure, init=y, n_init=1, variance_floor=1e-9).fit(X)
    rival = GaussianMixture(3, covariance_type=kind, tol=1e-10, max_iter=2000, reg_covar=0)
    rival.means_init = np.array([X[y == k].mean(axis=0) for k in range(3)])
    rival.weights_init = np.bincount(y) / len(y)
    spread = np.array([np.cov(X[y == k].T, bias=True) for k in range(3)])
    spread = np.einsum("kjj->kj", spread) if kind == "diag" else spread
    rival.precisions_init = 1 / spread if kind == "diag" else np.linalg.inv(spread)
    rival.fit(X)
    np.testing.assert_allclose(model.log_likelihood_ / len(X), rival.score(X), rtol=1e-6)
    np.testing.assert_allclose(model.means_, rival.means_, atol=1e-3)
    assert (model.labels_ == rival.predict(X)).mean() > 0.99


def test_one_group_has_nothing_in_common_with_others(wine):
    X = wine[0][:, :6]
    found = {name: FactorMixture(1, 2, structure=name, random_state=0).fit(X) for name in STRUCTURES}
    pairs = [("UUU", name) for name in ("CUU", "UCU", "CCU")]
    pairs += [("UUC", name) for name in ("CCC", "UCC", "AkjBQk", "AkjBkQk")]
    for own, common in [*pairs, ("AkBkQk", "ABQk")]:
        np.testing.assert_allclose(found[own].log_likelihood_, found[common].log_likelihood_, atol=0.02)
        assert found[own].n_parameters_ == found[common].n_parameters_
    # one group in a factor space is one factor model
    np.testing.assert_allclose(found["MCFA"].log_likelihood_, found["UUU"].log_likelihood_, atol=0.02)


def test_equal_groups_are_as_likely_with_a_common_structure():
    rng = np.random.default_rng(2)
    one = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) + 0.5 * rng.normal(size=(80, 6))
    X, y = np.concatenate([one, one + 100]), np.repeat([0, 1], 80)
    found = {
        name: FactorMixture(2, 2, structure=name, init=y, n_init=1).fit(X).log_likelihood_
        for name in ("UUU", "CUU", "UCU", "CCU", "UUC", "UCC", "CCC", "AkjBkQk", "AkjBQk")
    }
    for common in ("CUU", "UCU", "CCU"):
        np.testing.assert_allclose(found[common], found["UUU"], atol=0.02)
    for common in ("UCC", "CCC", "AkjBkQk", "AkjBQk"):
        np.testing.assert_allclose(found[common], found["UUC"], atol=0.02)


def test_counts_are_those_of_table_1_where_its_formulas_hold():
    K, p, d = 4, 100, 3
    for table, name in (("MFA", "UUU"), ("MCUFSA", "MCUFSA")):
        assert STRUCTURES[name].n_parameters(K, p, d) == OTHER_MODELS[table](K, p, d)
    # the printed formulas count what a rotation changes (PGMM-CUU, MCFA), or a dimension (Mixt-PPCA)
    assert STRUCTURES["CUU"].n_parameters(K, p, d) == OTHER_MODELS["PGMM-CUU"](K, p, d) + d
    assert STRUCTURES["MCFA"].n_parameters(K, p, d) == OTHER_MODELS["MCFA"](K, p, d) - d * (d - 1) // 2
    assert STRUCTURES["AkjBkQk"].n_parameters(K, p, d) == OTHER_MODELS["Mixt-PPCA"](K, p, d) - 1


def test_each_group_may_have_its_own_number_of_factors():
    rng = np.random.default_rng(0)
    sizes = np.array([1, 3])
    X, y = [], np.repeat([0, 1], 200)
    for k, q in enumerate(sizes):
        axes = np.linalg.qr(rng.normal(size=(10, q)))[0]
        X.append(30 * k + 5 * rng.normal(size=(200, q)) @ axes.T + 0.3 * rng.normal(size=(200, 10)))
    X = np.concatenate(X)
    for structure in ("PPCA", "AkBkQk", "ABQk"):
        model = FactorMixture(2, "auto", structure=structure, init=y, n_init=1).fit(X)
        np.testing.assert_array_equal(model.n_factors_, sizes)
        assert not model.factor_loadings_[0, :, 1:].any()
        assert (np.diff([r["log_likelihood"] for r in model.history_]) > -1e-7).all()
    assert model.n_parameters_ == STRUCTURES["ABQk"].n_parameters(2, 10, sizes)
    with pytest.raises(ValueError, match="structure CUU has common loadings, give a number"):
        FactorMixture(2, "auto", structure="CUU").fit(X)


# -- where the rows are ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few iterations are enough here
@pytest.mark.parametrize("structure", ["MFA", "CUU", "PPCA", "MCFA"])
def test_files_dask_and_blocks_give_the_same_fit(tmp_path, structure):
    da = pytest.importorskip("dask.array")
    X, labels = simulated()
    options = {"structure": structure, "init": np.roll(labels, 20), "n_init": 1, "max_iter": 15, "tol": 1e-3}
    np.save(tmp_path / "rows.npy", X)
    here = FactorMixture(3, 2, **options).fit(X)
    for rows in (tmp_path / "rows.npy", da.from_array(X, chunks=(50, -1))):
        other = FactorMixture(3, 2, memory="20MB", **options).fit(rows)
        np.testing.assert_allclose(other.log_likelihood_, here.log_likelihood_, rtol=1e-9)
        np.testing.assert_array_equal(other.labels_, here.labels_)
        np.testing.assert_allclose(np.asarray(other.transform(rows)), here.transform(X), atol=1e-6)


@pytest.mark.parametrize("structure", ["MFA", "MCFA"])
def test_large_data_start_from_a_sample(structure, treat_as_large):
    X, labels = simulated(n=900, p=70)
    treat_as_large(1000, 400)
    model = FactorMixture(3, 2, structure=structure, random_state=0).fit(X)
    assert (np.diff([record["log_likelihood"] for record in model.history_]) > -1e-7).all()
    assert len(model.starts_) == 1  # that of the sample, chosen by the likelihood of another
    if structure == "MFA":
        np.testing.assert_array_equal(model.labels_[:, None] == model.labels_, labels[:, None] == labels)


@pytest.mark.parametrize("structure", ["MFA", "CUU", "ABQk", "MCFA", "MCUFSA"])
def test_more_variables_than_rows(structure):
    X, labels = simulated(n=60, p=2500, seed=3)
    model = FactorMixture(3, 2, structure=structure, n_init=1, random_state=0, max_iter=100, tol=1e-3)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2500**2 * 8 * 0.8  # no p x p array
    np.testing.assert_array_equal(model.labels_[:, None] == model.labels_, labels[:, None] == labels)
    assert np.isfinite(model.bic_)


@pytest.mark.parametrize("structure", ["MFA", "PPCA", "MCFA"])
def test_a_weight_of_two_is_the_row_twice(wine, structure):
    X, _ = wine
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    model = FactorMixture(3, 2, structure=structure, random_state=0, n_init=1, tol=1e-5)
    weighted = clone(model).fit(X, sample_weight=weights)
    twice = clone(model).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.log_likelihood_, twice.log_likelihood_, atol=1e-3)
    np.testing.assert_array_equal(weighted.predict(X), twice.predict(X))


@pytest.mark.parametrize("structure", ["MFA", "MCFA", "CUU"])
def test_units_and_offsets_do_not_matter(wine, structure):
    X, y = wine
    units = np.exp(np.random.default_rng(0).normal(size=13))
    model = FactorMixture(3, 2, structure=structure, init=y, n_init=1).fit(X)
    other = FactorMixture(3, 2, structure=structure, init=y, n_init=1).fit(1e-6 * X * units + 1e3)
    jacobian = -len(X) * np.log(1e-6 * units).sum()
    np.testing.assert_allclose(other.log_likelihood_ - jacobian, model.log_likelihood_, atol=0.05)
    assert (other.labels_ == model.labels_).mean() > 0.99


def test_standardising_is_counted_and_undone(wine):
    X = wine[0] * np.linspace(1, 50, 13) + 7
    model = FactorMixture(3, 2, structure="PPCA", scale="standardise", random_state=0, n_init=1).fit(X)
    plain = FactorMixture(3, 2, structure="PPCA", random_state=0, n_init=1).fit(X / X.std(axis=0))
    assert model.n_parameters_ == plain.n_parameters_ + 13
    np.testing.assert_allclose(model.log_likelihood_, plain.log_likelihood_ - 178 * np.log(X.std(axis=0)).sum())
    np.testing.assert_allclose(model.score_samples(X).sum(), model.log_likelihood_)
    np.testing.assert_allclose(model.means_, plain.means_ * X.std(axis=0))


# -- using it --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", ["MFA", "MCFA", "ABQk"])
def test_a_fitted_model_samples_saves_and_reports(wine, structure, tmp_path):
    X, _ = wine
    model = FactorMixture(3, 2, structure=structure, random_state=0, n_init=1, tol=1e-4).fit(X)
    draws, labels = model.sample(30_000, random_state=1)
    for k in range(3):
        rows = draws[labels == k]
        L = model.factor_loadings_ if structure == "MCFA" else model.factor_loadings_[k]
        inner = model.covariances_[k] if structure == "MCFA" else np.eye(2)
        covariance = L @ inner @ L.T + np.diag(model.noise_variances_[k])
        np.testing.assert_allclose(rows.mean(axis=0), model.means_[k], atol=0.06)
        np.testing.assert_allclose(np.cov(rows.T), covariance, atol=0.12)
    back = load(save(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    assert back.bic(X) == pytest.approx(model.bic_)
    S = naive_factors.covariances(model.factor_loadings_, model.noise_variances_) if structure != "MCFA" else None
    if S is not None:
        naive = naive_factors.log_joint(X, model.weights_, model.means_, S)
        np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(naive, axis=1))


def test_what_makes_no_sense_is_said(wine):
    X, _ = wine
    for options, message in (
        ({"structure": "full"}, "unknown structure 'full'; choose one of MFA"),
        ({"n_factors": -1}, "n_factors must be"),
        ({"structure": "MCFA", "n_factors": 0}, "MCFA needs at least one factor"),
        ({"init": "nowhere"}, "init must be"),
        ({"scale": "auto"}, "scale must be"),
    ):
        with pytest.raises(ValueError, match=message):
            FactorMixture(3, **{"n_factors": 2} | options).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:constant columns:UserWarning")
@parametrize_with_checks([
    FactorMixture(random_state=0, n_init=1, max_iter=100, tol=1e-4),
    FactorMixture(n_factors=1, structure="MCFA", random_state=0, n_init=1, max_iter=100, tol=1e-4),
], expected_failed_checks=expected_failures)  # fmt: skip
def test_scikit_learn_checks(estimator, check):
    check(estimator)
