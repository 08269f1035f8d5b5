"""Starts of large data: drawn by row numbers, chosen by rows that were not fitted."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fisherem.core.data.problem import prepare
from fisherem.core.data.sampling import Centres, RandomPartition, one_sample, two_samples
from fisherem.core.dlm.family import DLMFamily
from fisherem.core.engine import multistart
from fisherem.core.engine.loop import Fit, Settings
from fisherem.core.engine.multistart import Specification, starting_points
from fisherem.core.starts.partitions import STARTS, Start, kmeans_starts
from fisherem.model.dlm import MODELS
from tests.deciding import failing


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=3000)
    return rng.normal(size=(3000, 6)) + 6 * rng.normal(size=(3, 6))[truth] + 50, truth


def specification(**changes):
    family = DLMFamily(3, 2, MODELS["AkB"], "orthonormal", 1e-4)
    known = {"init": "kmeans", "n_init": 4, "random_state": 0}
    return Specification(family, Settings(50, 1e-4, "aitken"), **(known | changes))


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_do_not_depend_on_blocks(data, weighted, treat_as_large):
    treat_as_large(sample=300)
    Y, _ = data
    weights = np.random.default_rng(1).integers(0, 4, size=3000).astype(float) if weighted else None
    drawn = []
    for block_rows in (7, 500, 3000):
        problem = prepare(Y, weights, ridge=1e-3, block_rows=block_rows)
        one, other = two_samples(problem, np.random.RandomState(3))
        drawn.append(np.concatenate([one, other]) + problem.centre)
    np.testing.assert_allclose(drawn[0], drawn[1], atol=1e-12)
    np.testing.assert_allclose(drawn[0], drawn[2], atol=1e-12)
    assert len(np.unique(drawn[0][:, 0])) == 600  # 300 and 300 different rows
    if weighted:
        found = np.searchsorted(np.sort(Y[:, 0]), np.sort(drawn[0][:, 0]) - 1e-9)
        counts = np.bincount(weights[np.argsort(Y[:, 0])][found].astype(int), minlength=4)
        assert counts[0] == 0
        assert counts[3] > 1.5 * counts[1]


def test_small_data_are_their_own_sample(data):
    problem = prepare(data[0][:100], ridge=1e-3)
    one, other = two_samples(problem, np.random.RandomState(0))
    np.testing.assert_allclose(one, data[0][:100] - problem.centre)
    np.testing.assert_allclose(other, one)
    assert len(one_sample(problem, np.random.RandomState(0), 30)) == 30


def test_random_partitions_do_not_depend_on_blocks(data):
    labels = []
    for block_rows in (1, 64, 3000):
        problem = prepare(data[0], ridge=1e-3, block_rows=block_rows)
        states = problem.start_states(RandomPartition(5), 4)
        labels.append(problem.rows.gather(states, "labels"))
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])
    assert np.abs(np.bincount(labels[0]) / 750 - 1).max() < 0.15
    assert np.abs(np.corrcoef(labels[0][:-1], labels[0][1:])[0, 1]) < 0.05


def test_the_likelihood_of_other_rows_chooses(data, treat_as_large):
    treat_as_large(100, 500)
    Y, truth = data
    problem = prepare(Y, ridge=1e-3)
    good = np.array([Y[truth == k].mean(axis=0) for k in range(3)]) - problem.centre
    bad = np.concatenate([good[:1], good[:1] + 0.1, good[1:].mean(axis=0, keepdims=True)])
    candidates = Start(kmeans_starts, of_sample=lambda *_: [Centres(bad), Centres(good), Centres(bad)])
    with STARTS.having("candidates", candidates):
        (chosen,) = starting_points(problem, specification(init="candidates"))
        assert isinstance(chosen, Fit)
        fit, records = multistart.fit(problem, specification(init="candidates"))
        assert len(records) == 1
        assert adjusted_rand_score(truth, problem.rows.gather(fit.states, "labels")) > 0.9
        spec = specification(init="candidates")
        hopeless = replace(spec, family=replace(spec.family, model=failing("AkB")))
        (chosen,) = starting_points(problem, hopeless)
        assert isinstance(chosen, Centres)


def test_one_start_is_not_chosen_from(data, treat_as_large):
    treat_as_large(100)
    problem = prepare(data[0], ridge=1e-3)
    assert isinstance(starting_points(problem, specification(n_init=1))[0], Centres)
    assert [type(s) for s in starting_points(problem, specification(init="random", n_init=2))] == [RandomPartition] * 2
