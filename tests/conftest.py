import os
from pathlib import Path

if os.environ.get("FISHEREM_DATA"):  # every test has a working directory of its own
    os.environ["FISHEREM_DATA"] = str(Path(os.environ["FISHEREM_DATA"]).resolve())

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from fisherem import SparseFisherEM, datasets
from fisherem._utils import parallel
from fisherem.core.data import sampling
from fisherem.core.starts import partitions
from fisherem.tables import dask_table as dask_tables
from tests import profiles, watching

PROFILES = profiles  # hypothesis has its profile from now on


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    watching.WATCH.test = item.nodeid
    try:
        return (yield)
    finally:
        watching.WATCH.test = None


@pytest.fixture(scope="session", autouse=True)
def elsewhere(tmp_path_factory):
    """The session runs in a folder of its own, and leaves the project's as it was."""
    before, started_in = watching.files(), Path.cwd()
    os.chdir(tmp_path_factory.mktemp("session"))
    yield
    os.chdir(started_in)
    new = sorted(watching.files() - before)
    assert not new, f"tests wrote into the project's folder: {', '.join(new[:5])}"


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Every test runs in a folder of its own: a command without -o writes there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def iris():
    X, y = datasets.load("iris")
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="session")
def wine():
    X, y = datasets.load("wine")
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def real_table():
    """A loader of the real tables; skips with the reason where they are not to be had."""

    def load(name):
        if not os.environ.get("FISHEREM_DATA"):
            pytest.skip(f"{name} needs the real tables: set FISHEREM_DATA to their folder")
        return datasets.load(name)

    return load


@pytest.fixture
def groups():
    """Three overlapping groups in 8 correlated variables with an offset, with soft posteriors: (Y, T)."""
    rng = np.random.default_rng(5)
    labels = rng.integers(3, size=120)
    mixing = rng.normal(size=(8, 8))
    Y = (rng.normal(size=(120, 8)) + 2 * rng.normal(size=(3, 8))[labels]) @ mixing + 10
    T = rng.dirichlet(np.ones(3), size=120) + 3 * (labels[:, None] == np.arange(3))
    return Y, T / T.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def rows():
    """Rows that tests bring somewhere else: into files and Dask's blocks."""
    return datasets.simulate(800, mu=2.0, random_state=0)[0]


@pytest.fixture(scope="session")
def in_memory(rows):
    return SparseFisherEM(3, sparsity=0.5, model="AkB", n_init=1, random_state=0).fit(rows)


@pytest.fixture
def no_merging(monkeypatch):
    """Dask's blocks stay as small as they are."""
    monkeypatch.setattr(dask_tables, "LEAST_ELEMENTS", 1)


@pytest.fixture
def workers_at_once(monkeypatch):
    """Worker processes begin at once, however short the tasks are."""
    for limit in ("_BEGIN_SECONDS", "_WORTH_SECONDS"):
        monkeypatch.setattr(parallel, limit, -1.0)


@pytest.fixture
def treat_as_large(monkeypatch):
    """treat_as_large(elements, sample): tables of more than `elements` values start from samples of `sample` rows."""

    def set_limits(elements=None, sample=None):
        if elements is not None:
            monkeypatch.setattr(partitions, "_EXACT_ELEMENTS", elements)
        if sample is not None:
            monkeypatch.setattr(sampling, "SAMPLE_ROWS", sample)
            monkeypatch.setattr(partitions, "_WARD_ROWS", sample)

    return set_limits
