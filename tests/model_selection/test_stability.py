import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from fisherem import SparseFisherEM, datasets, stability


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


def test_bound_is_that_of_meinshausen_and_buehlmann(result):
    q = result.n_selected.mean()
    assert result.error_bound(0.9) == pytest.approx(q**2 / (0.8 * 25))
    with pytest.raises(ValueError, match=r"threshold must be a number above 0\.5"):
        result.error_bound(0.5)


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


def test_noise_alone_selects_nothing_in_particular():
    X = np.random.default_rng(0).normal(size=(200, 30))
    result = stability(
        SparseFisherEM(3, sparsity=0.05, random_state=0, n_init=1), X, n_subsamples=10, random_state=0, n_jobs=1
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
