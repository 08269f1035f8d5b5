import numpy as np
import pandas as pd
import pytest

import fisherem
from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets

from . import browsing


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


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    """The folder into which the browser saves."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(tmp_path_factory, downloads):
    driver = browsing.start(tmp_path_factory.mktemp("profile"), downloads)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def pages(tmp_path_factory, wines, three, four, search):
    """Name -> file."""
    X, y = wines
    folder = tmp_path_factory.mktemp("pages")
    hostile = X.iloc[:, :5].set_axis(
        ["<script>alert(1)</script>", "</script>", "long_" * 30, "<b>x</b>", "a & b"], axis=1
    )
    two = SparseFisherEM(2, sparsity=0.6, random_state=0, n_init=1).fit(hostile)
    fisherem.report(three, X, folder / "three.html", labels=y)
    counted = fisherem.stability(three, X, n_subsamples=3, fitted=three, random_state=0, n_jobs=1)
    fisherem.report(three, X, folder / "counted.html", labels=y, stability=counted)
    fisherem.report(four, X, folder / "four.html")
    fisherem.report(search, X, folder / "search.html", labels=y)
    fisherem.report(two, hostile, folder / "hostile.html", title="<script>alert(2)</script>" * 4)
    return {page.stem: page for page in folder.iterdir()}
