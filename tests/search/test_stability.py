from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info

from fisherem import SparseFisherEM, datasets, stability
from fisherem.search.stability import _refit, _reproduced
from tests.naive import accuracy


@pytest.fixture(scope="module")
def result():
    X, _ = datasets.simulate(300, 1.7, random_state=3)
    X = pd.DataFrame(X, columns=[f"v{j}" for j in range(25)])
    model = SparseFisherEM(3, model="AkB", sparsity=0.5, axis_weights="relevance", random_state=0, n_init=2)
    return stability(model, X, n_subsamples=12, random_state=0, n_jobs=1)


def test_true_variables_are_stable(result):
    assert result.frequencies.shape == (25,)
    assert result.frequencies[:5].min() >= 0.9
    assert result.frequencies[5:].max() <= 0.5
    np.testing.assert_array_equal(result.stable(0.75), np.arange(25) < 5)
    assert result.agreement.mean() > 0.8
    assert result.pairwise.shape == (12 * 11 / 2,)
    assert not result.failures


def test_rows_come_back_as_often_as_refits_put_them_into_their_group(result):
    assert result.row_frequencies.shape == result.labels.shape == (300,)
    assert set(np.round(12 * result.row_frequencies, 9)) <= set(range(13))
    # the mean over rows is the mean accuracy of the refits against the fit to all rows
    assert result.row_frequencies.mean() > 0.9
    _, y = datasets.simulate(300, 1.7, random_state=3)
    right = _reproduced(y, result.labels, 3)
    assert right.mean() == pytest.approx(accuracy(y, result.labels))
    assert result.row_frequencies[right].mean() > result.row_frequencies[~right].mean()  # rows on a border are lost


def test_groups_are_matched_whatever_their_numbers():
    reference = np.array([0, 0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(
        _reproduced(reference, np.array([2, 2, 0, 0, 0, 1, 1]), 3), [True, True, False, True, True, True, True]
    )
    # a refit with fewer groups loses one whole, one with more loses what it splits off
    np.testing.assert_array_equal(_reproduced(reference, np.array([0, 0, 0, 0, 0, 1, 1]), 3)[3:5], [False, False])
    split = _reproduced(reference, np.array([3, 3, 1, 0, 0, 2, 2]), 3)
    np.testing.assert_array_equal(split, [True, True, False, True, True, True, True])


class Watching(BaseEstimator):
    """Says by its support how it was run: on one thread, with one job, without a bar, with a seed."""

    def __init__(self, estimator=None, n_jobs=None, progress="auto", random_state=None):
        self.estimator = estimator
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def fit(self, X):
        threads = all(pool["num_threads"] == 1 for pool in threadpool_info())
        inner = self.estimator is None or (self.estimator.n_jobs, self.estimator.random_state) == (1, 7)
        self.support_ = np.array([threads, self.n_jobs == 1, not self.progress, self.random_state == 7, inner])
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


@pytest.mark.parametrize("inner", [None, SparseFisherEM(3)], ids=["alone", "inside"])
def test_a_refit_runs_on_one_thread_wherever_it_runs(inner):
    support, labels = _refit(Watching(inner), np.zeros((8, 2)), np.arange(4), 7)
    assert support.all()
    assert len(labels) == 8  # all rows, not only those that it has seen


def test_a_fit_that_is_there_is_not_made_again(wine):
    X, _ = wine
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = SparseFisherEM(3, sparsity=0.3, random_state=0, n_init=1, n_jobs=1).fit(X)
    given = stability(model, X, n_subsamples=2, fitted=model, random_state=0, n_jobs=1)
    fresh = stability(model, X, n_subsamples=2, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(given.labels, model.labels_)
    np.testing.assert_array_equal(given.row_frequencies, fresh.row_frequencies)
    np.testing.assert_array_equal(given.frequencies, fresh.frequencies)


def test_bound_is_that_of_meinshausen_and_buehlmann(result):
    q = result.n_selected.mean()
    assert result.error_bound(0.9) == pytest.approx(q**2 / (0.8 * 25))
    with pytest.raises(ValueError, match=r"threshold must be a number above 0\.5"):
        result.error_bound(0.5)


def test_there_is_no_bound_where_subsamples_share_rows(result):
    """The theorem needs two subsamples without a row in common."""
    assert np.isfinite(replace(result, fraction=0.4).error_bound(0.9))
    assert replace(result, fraction=0.51).error_bound(0.9) == np.inf


def test_table_is_sorted_and_named(result):
    table = result.table()
    assert list(table.columns) == ["variable", "frequency", "selected", "stable"]
    assert set(table["variable"][:5]) == {f"v{j}" for j in range(5)}
    assert table["frequency"].is_monotonic_decreasing


def test_the_same_with_a_seed(result):
    X, _ = datasets.simulate(300, 1.7, random_state=3)
    X = pd.DataFrame(X, columns=[f"v{j}" for j in range(25)])
    model = SparseFisherEM(3, model="AkB", sparsity=0.5, axis_weights="relevance", random_state=0, n_init=2)
    again = stability(model, X, n_subsamples=12, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(again.frequencies, result.frequencies)
    np.testing.assert_array_equal(again.pairwise, result.pairwise)


# in pure noise a group may end without rows, which the fit says
@pytest.mark.filterwarnings("ignore:.*no rows:sklearn.exceptions.ConvergenceWarning")
def test_noise_alone_selects_nothing_in_particular():
    X = np.random.default_rng(0).normal(size=(200, 30))
    result = stability(
        SparseFisherEM(3, sparsity=0.05, random_state=0, n_init=1), X, n_subsamples=6, random_state=0, n_jobs=1
    )
    assert result.stable(0.9).sum() <= max(1, result.error_bound(0.9))
    assert result.pairwise.mean() < 0.5


def test_bad_input(wine):
    X, _ = wine
    for parameters, match in (
        ({"n_subsamples": 1}, "n_subsamples"),
        ({"fraction": 0}, "fraction"),
        ({"fraction": 1.2}, "fraction"),
    ):
        with pytest.raises(ValueError, match=match):
            stability(SparseFisherEM(3), X, **parameters)
    with pytest.raises(TypeError, match="KMeans has no support_"):
        stability(KMeans(3, n_init=1), X)


def test_failing_refits_are_counted_not_fatal(wine):
    X, _ = wine
    # subsamples of three rows hold too few for three groups
    with pytest.raises(ValueError, match="all 3 refits failed: n_clusters=3 must be smaller"):
        stability(SparseFisherEM(3, random_state=0, n_init=1), X, n_subsamples=3, fraction=0.017, random_state=0)
