"""Imputing, the forms that gaps come in, and what else takes tables with gaps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import get_tags

from fisherem import FisherEM, SparseFisherEM

from . import naive
from .test_fits import with_gaps


@pytest.fixture(scope="module")
def frame(wine):
    X = with_gaps(wine[0])
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])


@pytest.fixture(scope="module")
def model(frame):
    return FisherEM(3, model="AkB", noise_factors=2, random_state=0).fit(frame)


def test_tags_say_that_nan_is_allowed():
    for estimator in (FisherEM(), SparseFisherEM()):
        assert get_tags(estimator).input_tags.allow_nan


def test_missing_cells_of_any_kind_are_the_same(frame, model):
    there = model.predict_proba(frame)
    missing = frame.isna().to_numpy()
    assert np.allclose(model.predict_proba(frame.astype("Float64")), there)
    assert np.allclose(model.predict_proba(frame.astype(object).mask(missing, pd.NA)), there)
    masked = np.ma.masked_array(frame.fillna(-9999).to_numpy(), missing)
    on_array = FisherEM(3, model="AkB", noise_factors=2, random_state=0).fit(masked)
    assert np.allclose(on_array.predict_proba(masked), there)
    assert on_array.n_missing_ == missing.sum() == model.n_missing_


def test_a_gap_in_one_row_changes_nothing_for_another(frame, model, wine):
    whole = pd.DataFrame(wine[0], columns=frame.columns)
    some = whole.copy()
    some.iloc[:5] = frame.iloc[:5]
    assert (model.predict_proba(some)[5:] == model.predict_proba(whole)[5:]).all()
    assert (model.transform(some)[5:] == model.transform(whole)[5:]).all()
    assert np.allclose(model.predict_proba(some)[:5], model.predict_proba(frame)[:5])


def test_imputed_tables_keep_what_was_observed(frame, model):
    filled = model.impute(frame)
    assert list(filled.columns) == list(frame.columns)
    assert not filled.isna().any(axis=None)
    seen = frame.notna().to_numpy()
    assert (filled.to_numpy()[seen] == frame.to_numpy()[seen]).all()
    again = model.impute(filled)
    assert (again == filled).all(axis=None)


def test_draws_have_the_conditional_moments(frame, model):
    """Means and covariances of many draws of two rows, against explicit sub-matrices."""
    two = frame.iloc[:2]
    draws = np.stack([table.to_numpy() for table in model.impute(two, draws=1000, random_state=0)])
    log_joint, rows, spread = naive.of_model(model, two.to_numpy())
    T, _ = naive.posteriors(log_joint)
    mean = np.einsum("kn,knp->np", T, rows)
    second = np.einsum("kn,knpq->npq", T, spread + np.einsum("knp,knq->knpq", rows, rows))
    covariance = second - np.einsum("np,nq->npq", mean, mean)
    for i in range(2):
        assert np.allclose(draws[:, i].mean(axis=0), mean[i], atol=0.15)
        assert np.allclose(np.cov(draws[:, i].T), covariance[i], atol=0.2)
    same = model.impute(two, draws=1, random_state=5)[0]
    assert same.equals(model.impute(two, draws=1, random_state=5)[0])


def test_draws_are_counted(frame, model):
    assert len(model.impute(frame, draws=2)) == 2
    with pytest.raises(ValueError, match="draws"):
        model.impute(frame, draws=0)


def test_the_selected_columns_are_enough_with_gaps_too(frame):
    sparse = SparseFisherEM(3, random_state=0).fit(frame)
    kept = frame.loc[:, sparse.support_]
    log_joint, *_ = naive.conditionals(
        kept.to_numpy(), sparse.weights_, sparse.means_[:, sparse.support_], _within(sparse)
    )
    assert np.allclose(sparse.predict_proba(kept), naive.posteriors(log_joint)[0].T, atol=1e-8)


def _within(model):
    """The covariances of the selected variables alone."""
    N = np.eye(len(model.loadings_)) + model.noise_loadings_ @ model.noise_loadings_.T
    G = model.loadings_.T @ N @ model.loadings_
    B = N @ model.loadings_ @ np.linalg.inv(G)
    pairs = zip(model.covariances_, model.noise_variances_, strict=True)
    W = np.stack([B @ s @ B.T + b * (N - B @ G @ B.T) for s, b in pairs])
    kept = np.flatnonzero(model.support_)
    return W[:, kept[:, None], kept]
