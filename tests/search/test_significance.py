"""significance: finds what makes groups, rejects little where there are none, goes on where it stopped."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fisherem import FactorMixture, FisherEM, ModelSearch, SparseFisherEM, datasets, significance
from fisherem.search import one_group_fits

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(datasets.simulate(120, 2.5, p=5, q=2, random_state=0)[0], columns=NAMES)


@pytest.fixture(scope="module")
def model(frame):
    return SparseFisherEM(3, n_init=1, random_state=0, n_jobs=1).fit(frame)


@pytest.fixture(scope="module")
def found(model, frame):
    return significance(model, frame, 39, n_jobs=1)


def test_variables_that_make_the_groups_are_found_and_no_others(found):
    assert list(found.columns) == ["variable", "p", "q", "share", "null_share", "selected", "pooled"]
    assert found["variable"].tolist() == NAMES
    assert (found["q"] < 0.06).tolist() == [True, True, False, False, False]
    assert (found["q"] >= found["p"]).all()
    assert found["selected"].tolist() == [True, True, False, False, False]


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_not_significant_although_f_tests_say_so(seed):
    X = np.random.default_rng(seed).normal(size=(80, 4))
    model = SparseFisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(X)
    share = significance(model, X, 19, n_jobs=1)
    naive = one_group_fits.between_shares(X, model.labels_).max()
    assert naive > 0.3  # an F test has a p-value below 1e-7
    assert share["share"].max() == pytest.approx(naive)
    assert share["q"].min() > 0.05


def test_a_variable_without_part_in_real_groups_is_not_significant():
    """The groups beat all draws, so that the F test alone holds back the variables that have no part in them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 12))
    X[:75, :2] += 7
    found = significance(SparseFisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(X), X, 19, n_jobs=1)
    assert (found["p"][:2] <= 0.05).all()
    assert (found["q"][2:] > 0.05).all()


def test_results_do_not_depend_on_jobs_or_the_state_of_the_generator(model, frame, found):
    np.random.seed(5)
    pd.testing.assert_frame_equal(significance(model, frame, 39, n_jobs=2), found)
    other = significance(model, frame, 39, n_jobs=1, random_state=1)
    assert not other["null_share"].equals(found["null_share"])


def test_draws_go_on_from_a_checkpoint(model, frame, found, tmp_path, monkeypatch):
    path = tmp_path / "new" / "draws.npz"
    whole, done = one_group_fits._drawn, []

    def pressed(*arguments):
        done.append(arguments[3])
        if len(done) == 5:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(one_group_fits, "_drawn", pressed)
    with pytest.raises(KeyboardInterrupt):
        significance(model, frame, 39, n_jobs=1, checkpoint=path)
    resumed = significance(model, frame, 39, n_jobs=1, checkpoint=path)
    assert done[:5] == [1, 2, 3, 4, 5]
    assert done[5:] == list(range(5, 40))
    pd.testing.assert_frame_equal(resumed, found)
    pd.testing.assert_frame_equal(significance(model, frame, 39, n_jobs=1, checkpoint=path), found)
    assert len(done) == 40  # nothing was drawn again
    before = path.read_bytes()
    with pytest.raises(ValueError, match="belongs to another table, model, seed or version of fisherem: remove it"):
        significance(model, frame, 39, random_state=1, checkpoint=path)
    with pytest.raises(ValueError, match="needs random_state to be a number"):
        significance(model, frame, 39, random_state=None, checkpoint=path)
    monkeypatch.setattr("fisherem.search.significance.__version__", "0.1.0")
    with pytest.raises(ValueError, match="another table, model, seed or version"):
        significance(model, frame, 39, n_jobs=1, checkpoint=path)
    assert path.read_bytes() == before
    path.write_bytes(before[:100])
    with pytest.raises(ValueError, match="is not a file of finished draws"):
        significance(model, frame, 39, checkpoint=path)


def test_pairs_join_two_groups(model, frame):
    found = significance(model, frame, 19, pairs=True, n_jobs=1)
    assert list(zip(found["group"], found["other"], strict=True)) == [
        (a, b) for a, b in ((1, 2), (1, 3), (2, 3)) for _ in NAMES
    ]
    assert found["agreement"].min() > 0.8
    rows = model.labels_ != 2
    two = SparseFisherEM(2, n_init=1, random_state=0, n_jobs=1).fit(frame[rows])
    np.testing.assert_allclose(found["share"][:5], one_group_fits.between_shares(frame[rows].to_numpy(), two.labels_))
    assert found.loc[found["p"] <= 0.05, "variable"].isin(["a", "b"]).all()
    assert (found["p"] <= 0.05).sum() >= 3


def test_two_halves_of_one_group_do_not_differ():
    """Three groups are fitted where there are two: the pair that splits one of them is not significant."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    X[:50, :2] += 9
    model = FisherEM(3, n_init=1, random_state=0, n_jobs=1).fit(X)
    split = [k + 1 for k in np.unique(model.labels_[50:])]
    assert len(split) == 2
    found = significance(model, X, 19, pairs=True, n_jobs=1)
    inside = found["group"].isin(split) & found["other"].isin(split)
    assert found.loc[inside, "p"].min() > 0.05
    assert found.loc[~inside & found["variable"].isin(["x1", "x2"]), "p"].max() <= 0.1


@pytest.mark.parametrize("other", [
    KMeans(3, n_init=1, random_state=0),
    FactorMixture(3, 1, n_init=1, random_state=0, n_jobs=1),
    make_pipeline(StandardScaler(), SparseFisherEM(3, n_init=1, random_state=0, n_jobs=1)),
    make_pipeline(StandardScaler(), PCA(3), FisherEM(3, n_init=1, random_state=0, n_jobs=1)),
    ModelSearch(SparseFisherEM(n_init=1, random_state=0), n_clusters=[3], criterion="bic", models=["AkB"], n_jobs=1),
], ids=["k-means", "factors", "scaled", "components", "search"])  # fmt: skip
def test_other_models_pipelines_and_searches(frame, other):
    found = significance(other.fit(frame), frame, 9, n_jobs=1)
    assert found["variable"].tolist() == NAMES
    assert found["p"].between(0, 1).all()
    assert found["share"][:2].min() > found["share"][2:].max()


class Fails(ClusterMixin, BaseEstimator):
    """Two halves; tables with a positive first value cannot be fitted, or none at all."""

    def __init__(self, n_clusters=2, always=False):
        self.n_clusters = n_clusters
        self.always = always

    def fit(self, X, y=None):
        if X[0, 0] > 0 or self.always:
            raise ValueError("no luck")
        self.labels_ = (X[:, 0] > np.median(X[:, 0])).astype(int)
        return self


def test_failed_draws_count_as_large():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[0, 0] = -1
    model = Fails().fit(X)
    with pytest.warns(UserWarning, match=r"\d draws of 9 failed and count as differences as large: no luck"):
        found = significance(model, X, 9, n_jobs=1)
    assert found["p"].min() > 0.1
    with pytest.raises(ValueError, match="all draws failed: no luck"):
        significance(model.set_params(always=True), X, 9, n_jobs=1)


def test_bad_input_is_one_clear_error(model, frame):
    for arguments, match in (
        ((model, frame.iloc[:50], 9), r"the rows of the fit \(120\); got 50 rows"),
        ((model, frame.iloc[::-1].reset_index(drop=True), 9), "the rows of the fit in their order"),
        (
            (model, frame.mask(frame > frame.to_numpy().max() - 0.01), 9),
            r"no missing cells \(the first is row \d+, column '",
        ),
        ((model, frame, 0), "draws"),
        ((FisherEM(1, n_init=1).fit(frame), frame, 9), "the model has one group"),
        ((FisherEM(3, init=model.labels_, n_init=1).fit(frame), frame, 9), "init gives the groups of these rows"),
    ):
        with pytest.raises(ValueError, match=match):
            significance(*arguments)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        significance(model, frame, 9, sample_weight=np.ones(120))
    with pytest.raises(NotFittedError, match="call fit"):
        significance(SparseFisherEM(3), frame, 9)
    with pytest.raises(TypeError, match="must be a fitted clusterer"):
        significance("a model", frame, 9)
    small = FisherEM(2, n_init=1, random_state=0).fit(frame[:7])
    with pytest.raises(ValueError, match="groups 1 and 2 have 7 rows together"):
        significance(small, frame[:7], 9, pairs=True)
