"""What scikit-learn users may rely on, for the rivals as for the core."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from fisherem import Clustvarsel, Selvarclust, SparseKMeans, datasets

FEW = ("VII", "EEI", "VVV")
ESTIMATORS = [
    SparseKMeans(random_state=0, n_permutations=2, n_init=2),
    Clustvarsel(models=FEW),
    Selvarclust(models=FEW, ranking="lasso"),
]
ids = {"ids": lambda e: type(e).__name__}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:constant columns:UserWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def frame():
    X, _ = datasets.load("iris", as_frame=True)
    noise = pd.DataFrame(np.random.default_rng(0).normal(size=(150, 2)), columns=["noise a", "noise b"])
    return pd.concat([X, noise], axis=1)


@pytest.mark.parametrize("estimator", ESTIMATORS, **ids)
def test_frames_names_clone_and_pickle(frame, estimator):
    plain = clone(estimator).fit(frame.to_numpy())
    for table in (frame, pl.DataFrame(frame.to_dict("list"))):
        model = clone(estimator).fit(table)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        np.testing.assert_array_equal(model.predict(table), plain.labels_)
        assert list(model.get_feature_names_out()) == list(frame.columns[model.support_])
    kept = clone(estimator).set_output(transform="pandas").fit(frame).transform(frame)
    pd.testing.assert_frame_equal(kept, frame.loc[:, plain.support_])
    assert isinstance(clone(estimator).set_output(transform="polars").fit(frame).transform(frame), pl.DataFrame)
    copy = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(copy.transform(frame.to_numpy()), frame.to_numpy()[:, plain.support_])
    np.testing.assert_array_equal(copy.predict(frame.to_numpy()), plain.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS, **ids)
def test_constant_columns_are_named_and_never_selected(frame, estimator):
    table = frame.assign(constant=3.7)
    with pytest.warns(UserWarning, match="constant columns carry no information and are never selected: 'constant'"):
        model = clone(estimator).fit(table)
    assert not model.support_[-1]
    np.testing.assert_array_equal(model.support_[:-1], clone(estimator).fit(frame).support_)
    with pytest.warns(UserWarning, match="constant"), pytest.raises(ValueError, match="every column of X is constant"):
        clone(estimator).set_params(n_clusters=2).fit(np.ones((20, 3)) * [1, 2, 3] + 1e-15 * np.arange(20)[:, None])


@pytest.mark.parametrize("estimator", ESTIMATORS, **ids)
def test_bad_input(frame, estimator):
    for K in (0, -1, 2.5, "3", None):
        with pytest.raises(ValueError, match="n_clusters must be a whole number at least 1"):
            clone(estimator).set_params(n_clusters=K).fit(frame)
    with pytest.raises(ValueError, match="must be smaller than the number of rows"):
        clone(estimator).set_params(n_clusters=150).fit(frame)
    bad = frame.copy()
    bad.iloc[17, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN: row 17, column 'petal length"):
        clone(estimator).fit(bad)
    with pytest.raises(ValueError, match="'species' holds text"):
        clone(estimator).fit(frame.assign(species="setosa"))
    with pytest.raises(ValueError, match="feature names"):
        clone(estimator).fit(frame).predict(frame[frame.columns[::-1]])
    for parameter, value in {"max_iter": 0, "tol": -1, "n_jobs": 1.5}.items():
        with pytest.raises(ValueError, match=f"{parameter} must be"):
            clone(estimator).set_params(**{parameter: value}).fit(frame)


@pytest.mark.parametrize("estimator", ESTIMATORS, **ids)
def test_an_offset_does_not_change_the_result(frame, estimator):
    X = frame.to_numpy()
    plain, moved = clone(estimator).fit(X), clone(estimator).fit(X + 1e6)
    np.testing.assert_array_equal(plain.support_, moved.support_)
    np.testing.assert_array_equal(plain.labels_, moved.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS, **ids)
def test_one_cluster_has_no_groups_and_selects_nothing(frame, estimator):
    model = clone(estimator).set_params(n_clusters=1).fit(frame)
    assert not model.labels_.any()
    assert not model.predict(frame).any()
    assert not model.support_.any()
