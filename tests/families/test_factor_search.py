"""ModelSearch over number of groups, structure and number of factors."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fisherem import FactorMixture, FisherEM, ModelSearch, load, save
from fisherem.model.factors import STRUCTURES

QUICK = {"n_init": 1, "random_state": 0, "tol": 1e-4}


def three_groups():
    rng = np.random.default_rng(0)
    y = np.arange(180) % 3
    L = rng.normal(size=(6, 1))
    return rng.normal(size=(180, 1)) @ L.T + 0.6 * rng.normal(size=(180, 6)) + 4 * rng.normal(size=(3, 6))[y], y


def test_groups_structure_and_factors_are_found(tmp_path):
    X, y = three_groups()
    options = {"n_clusters": [2, 3, 4], "models": ["CCU", "UUU", "MCFA"], "n_factors": [1, 2], "progress": False}
    search = ModelSearch(FactorMixture(**QUICK), checkpoint=tmp_path / "kept", n_jobs=1, **options).fit(X)
    assert len(search.results_) == 18
    assert search.best_params_ == {"n_clusters": 3, "structure": "CCU", "n_factors": 1}
    assert search.best_score_ == search.results_["bic"].max() == search.best_estimator_.bic_
    best = search.results_.loc[search.best_index_]
    np.testing.assert_allclose(search.best_estimator_.score_samples(X).sum(), best["log_likelihood"])
    np.testing.assert_array_equal(search.labels_[:, None] == search.labels_, y[:, None] == y)
    np.testing.assert_array_equal(search.predict(X), search.labels_)
    again = ModelSearch(FactorMixture(**QUICK), checkpoint=tmp_path / "kept", n_jobs=2, **options).fit(X)
    assert again.results_["seconds"].tolist() == search.results_["seconds"].tolist()  # nothing was computed again
    np.testing.assert_allclose(again.best_estimator_.predict_proba(X), search.predict_proba(X))
    back = load(save(search, tmp_path / "model.skops"))
    np.testing.assert_array_equal(back.predict(X), search.labels_)


def test_in_a_pipeline_by_another_criterion():
    X, _ = three_groups()
    search = ModelSearch(
        make_pipeline(StandardScaler(), FactorMixture(n_factors=1, **QUICK)),
        n_clusters=[2, 3], criterion="icl", models="PPCA", progress=False, n_jobs=1,
    ).fit(X)  # fmt: skip
    assert search.best_params_["n_clusters"] == 3
    assert search.criterion_ == "icl"


def test_all_structures_are_tried():
    X, _ = three_groups()
    search = ModelSearch(FactorMixture(n_factors=1, **QUICK), n_clusters=3, models="all", progress=False, n_jobs=1).fit(
        X
    )
    assert set(search.results_["structure"]) == set(STRUCTURES)
    assert np.isfinite(search.results_["bic"]).all()


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (FactorMixture(), {"criterion": "verdict"}, "criterion must be"),
        (FactorMixture(), {"models": ["DkBk"]}, "unknown structure 'DkBk'"),
        (FactorMixture(), {"n_factors": []}, "n_factors is empty"),
        (FactorMixture(init=np.zeros(180, int)), {}, "init must be a name in a search"),
        (FisherEM(), {"n_factors": [1]}, "n_factors is for a FactorMixture"),
    ],
)
def test_what_makes_no_sense_is_said(estimator, options, message):
    with pytest.raises(ValueError, match=message):
        ModelSearch(estimator, progress=False, **options).fit(three_groups()[0])
