import numpy as np
import pandas as pd
import pytest

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets


@pytest.fixture(scope="session")
def wines():
    X, y = datasets.load("wine", as_frame=True)
    X = (X - X.mean()) / X.std()
    X.index = pd.Index([f"wine {i}" for i in range(len(X))])
    return X, y


@pytest.fixture(scope="session")
def three(wines):
    return SparseFisherEM(3, random_state=0, n_init=2).fit(wines[0])


@pytest.fixture(scope="session")
def four(wines):
    return FisherEM(4, model="AB", random_state=0, n_init=2).fit(wines[0])


@pytest.fixture(scope="session")
def search(wines):
    estimator = SparseFisherEM(random_state=0, n_init=1)
    return ModelSearch(
        estimator, n_clusters=[2, 3], models=["AB", "DB"], sparsities=[0.1, 0.3, 1], axis_weights=["equal"], n_jobs=1
    ).fit(wines[0])


@pytest.fixture(scope="session")
def blobs():
    """(n, K, p) -> rows around K well separated centres in the first columns."""

    def make(n, K, p, seed=0):
        rng = np.random.default_rng(seed)
        labels = np.arange(n) % K
        centres = np.zeros((K, p))
        centres[:, : min(p, 2 * K)] = 6 * rng.normal(size=(K, min(p, 2 * K)))
        return rng.normal(size=(n, p)) + centres[labels], labels

    return make
