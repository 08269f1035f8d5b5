"""Worker processes are started in a child of a process that has used them already."""

import multiprocessing
import sys

import numpy as np
import pytest

from fisherem import FisherEM, ModelSearch


def searched(X):
    search = ModelSearch(
        FisherEM(n_init=2, random_state=0), n_clusters=[2, 3], models=["AB", "DkB"], n_jobs=2, progress=False,
        criterion="bic",
    )  # fmt: skip
    return search.fit(X).results_["bic"].tolist()


def answered(X, queue):
    queue.put(searched(X))


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_a_process_with_workers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 5 * (np.arange(60) % 3)[:, None] * rng.normal(size=4)
    expected = searched(X)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=answered, args=(X, queue))
    child.start()
    try:
        assert queue.get(timeout=240) == expected
    finally:
        child.join(10)
        if child.is_alive():
            child.terminate()
