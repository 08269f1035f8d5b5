"""A structure that is added to the register is known to the estimator, the search, model files and `compare`."""

import numpy as np
import pytest

from fisherem import FactorMixture, ModelSearch, compare, load, save
from fisherem.model.factors import STRUCTURES, Noise, Structure

QUICK = {"n_init": 1, "random_state": 0, "tol": 1e-3}


class Halfway(Noise):
    """Noises half-way between the groups' own and the common one."""

    def tie(self, noises, proportions, varies):
        return (noises + proportions @ noises) / 2


def test_a_structure(wine, tmp_path):
    X, _ = wine
    new = Structure("UHU", "own loadings, noise half-way", Halfway(False, False), STRUCTURES["UCU"].loadings)
    with STRUCTURES.having(new.name, new):
        model = FactorMixture(3, 1, structure="uhu", **QUICK).fit(X)
        assert model.structure_ == "UHU"
        assert model.n_parameters_ == STRUCTURES["UUU"].n_parameters(3, 13, 1)
        between = np.ptp(model.noise_variances_, axis=0).max()
        assert (
            0 < between < np.ptp(FactorMixture(3, 1, init=model.labels_, **QUICK).fit(X).noise_variances_, axis=0).max()
        )
        back = load(save(model, tmp_path / "kept.skops"))
        np.testing.assert_array_equal(back.predict(X), model.labels_)
        search = ModelSearch(FactorMixture(n_factors=1, **QUICK), n_clusters=3, models=["UHU", "CCC"], progress=False)
        assert set(search.fit(X).results_["structure"]) == {"UHU", "CCC"}
        own = FactorMixture(3, 1, structure="UHU", **QUICK)
        assert compare(X, methods={"new": own}).table["reason"].tolist() == [""]
    with pytest.raises(ValueError, match="unknown structure 'UHU'"):
        FactorMixture(3, 1, structure="UHU").fit(X)


def test_compare_knows_the_models_of_table_1(iris):
    X, y = iris
    found = compare(X, y, methods=["MFA", "mcufsa", "bayesianfisherem"], n_clusters=3)
    assert list(found.table["method"]) == ["MFA", "MCUFSA", "BayesianFisherEM"]
    assert (found.table["accuracy"] > 0.8).all()
    assert found.models["MFA"].n_factors == 2
