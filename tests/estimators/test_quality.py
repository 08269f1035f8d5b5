"""What the fits are worth. Labels are used for scoring only."""

import numpy as np
import pytest

from fisherem import FisherEM, SparseFisherEM, datasets
from tests.naive import accuracy

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_iris_with_two_variables(iris):
    X, y = iris
    model = SparseFisherEM(3, model="AkB", random_state=0).fit(X)
    assert model.support_.sum() == 2
    assert accuracy(y, model.labels_) >= 0.94


@pytest.mark.parametrize(("method", "sparsity"), [("two-step", 0.2), ("regression", 0.1), ("svd", 0.1)])
def test_wine_with_few_variables(wine, method, sparsity):
    X, y = wine
    model = SparseFisherEM(3, method=method, sparsity=sparsity, random_state=0).fit(X)
    assert 2 <= model.support_.sum() <= 5
    assert accuracy(y, model.labels_) >= 0.97


def test_usps358(real_table):
    X, y = real_table("usps358")
    dense = FisherEM(3, model="AkB", random_state=0).fit(X)
    assert accuracy(y, dense.labels_) >= 0.84
    sparse = SparseFisherEM(3, model="AkB", sparsity=0.05, random_state=0).fit(X)
    assert sparse.support_.sum() <= 16
    assert accuracy(y, sparse.labels_) >= 0.80


@pytest.mark.parametrize(("method", "sparsity"), [("two-step", 0.5), ("regression", 0.5), ("svd", 0.4)])
def test_simulation_finds_the_true_variables(method, sparsity):
    errors = []
    for seed in range(5):
        X, y = datasets.simulate(300, 1.7, random_state=seed)
        model = SparseFisherEM(3, model="AkB", method=method, sparsity=sparsity, random_state=0).fit(X)
        assert model.support_[:5].all()
        errors.append(1 - accuracy(y, model.labels_))
    assert np.mean(errors) <= 0.05


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_the_default_call_does_not_end_below_its_start(name, request):
    from sklearn.cluster import KMeans

    X, y = request.getfixturevalue(name)
    kmeans = accuracy(y, KMeans(3, n_init=10, random_state=0).fit(X).labels_)
    assert accuracy(y, FisherEM(3, random_state=0).fit(X).labels_) >= kmeans - 0.01
