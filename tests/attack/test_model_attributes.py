"""Model files whose attributes were changed and saved again: refused, or a model that still gives probabilities."""

import copy
import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

from fisherem import BayesianFisherEM, FactorMixture, FisherEM, SparseFisherEM, load, save

from .outcomes import Case, attack

VALUES = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, 1e-300)
# What may be put in the place of an attribute.
OTHERS = (None, "text", 3, -1, 2.5, [], {}, np.zeros(0), np.zeros((2, 2)), np.array(["a"]), True)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)) + 6 * rng.integers(2, size=(40, 1))


@pytest.fixture(scope="module")
def models(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            FisherEM(2, init="random", n_init=1, random_state=0, n_jobs=1).fit(rows),
            FisherEM(2, model="DkBk", noise_factors=1, n_init=1, random_state=0, n_jobs=1).fit(rows),
            SparseFisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(rows),
            BayesianFisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(rows),
            FactorMixture(2, n_factors=1, n_init=1, random_state=0, n_jobs=1).fit(rows),
        ]


def _changed(model, name: str, how: str, place: int, value):
    other = copy.deepcopy(model)
    held = getattr(other, name)
    if how == "other" or not isinstance(held, np.ndarray) or held.size == 0:
        setattr(other, name, OTHERS[place % len(OTHERS)])
    elif how == "cell":
        held = held.astype(float)
        held.flat[place % held.size] = value
        setattr(other, name, held)
    elif how == "shorter":
        setattr(other, name, held[:-1])
    elif how == "turned":
        setattr(other, name, held.T)
    else:
        delattr(other, name)
    return other


def test_changed_attributes(models, rows, tmp_path):
    path = tmp_path / "model.skops"

    def case_of(drawn) -> Case:
        which, at, how, place, value = drawn
        model = models[which]
        names = sorted(name for name in vars(model) if name.endswith("_"))

        def run():
            return load(save(_changed(model, names[at % len(names)], how, place, value), path))

        def check(found):
            posteriors = np.asarray(found.predict_proba(rows))
            assert np.isfinite(posteriors).all()
            np.testing.assert_allclose(posteriors.sum(axis=1), 1, atol=1e-6)

        return Case(run, (str(path), "cannot be saved"), check)

    drawn = st.tuples(
        st.integers(0, len(models) - 1), st.integers(0, 60),
        st.sampled_from(["cell", "cell", "shorter", "turned", "other", "gone"]), st.integers(0, 60),
        st.sampled_from(VALUES),
    )  # fmt: skip
    attack("model attributes", drawn, case_of, default=60)
