"""The seam for families: another mixture through the loop, the starts, the engines, checkpoints and evaluation."""

import dask.array as da
import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from fisherem import FisherEM
from fisherem.core.data.e_step import evaluate
from fisherem.core.data.problem import prepare
from fisherem.core.engine.checkpoints import Store
from fisherem.core.engine.loop import Settings, restore, run
from fisherem.core.engine.multistart import Specification, fit
from fisherem.rows.base import ArrayRows
from fisherem.tables.checking import check_table

from .diagonal_family import DiagonalFamily


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    labels = rng.integers(3, size=600)
    scales = np.exp(rng.normal(scale=0.4, size=(3, 5)))
    return 2.5 * rng.normal(size=(3, 5))[labels] + rng.normal(size=(600, 5)) * scales[labels] + 7, labels


def specification(**changes):
    known = {"init": "kmeans", "n_init": 3, "random_state": 0}
    return Specification(DiagonalFamily(3), Settings(500, 1e-9, "aitken"), **(known | changes))


def sklearn_fit(Y, labels):
    """scikit-learn's diagonal mixture from the same partition, to convergence."""
    member = np.eye(3)[labels]
    means = member.T @ Y / member.sum(axis=0)[:, None]
    variances = np.array([Y[labels == k].var(axis=0) for k in range(3)])
    return GaussianMixture(
        3, covariance_type="diag", weights_init=member.mean(axis=0), means_init=means, precisions_init=1 / variances,
        tol=1e-10, max_iter=2000, reg_covar=0,
    ).fit(Y)  # fmt: skip


def test_the_loop_agrees_with_scikit_learn(data):
    Y, labels = data
    problem = prepare(Y, ridge=1e-3)
    ours = run(problem, problem.start_states(labels, 3), DiagonalFamily(3), Settings(500, 1e-12, "aitken"))
    theirs = sklearn_fit(Y, labels)
    assert ours.converged
    assert ours.log_likelihood / len(Y) == pytest.approx(theirs.score(Y), rel=1e-7)
    density = ours.solution.density
    np.testing.assert_allclose(density.means + problem.centre, theirs.means_, atol=1e-3)
    np.testing.assert_allclose(density.variances, theirs.covariances_, rtol=1e-3)
    np.testing.assert_allclose(problem.rows.gather(ours.states, "posteriors").T, theirs.predict_proba(Y), atol=1e-4)
    assert DiagonalFamily(3).n_parameters(ours.solution, 5) == theirs._n_parameters()


def test_the_likelihood_never_falls(data):
    Y, labels = data
    problem = prepare(Y, ridge=1e-3)
    start = np.random.default_rng(0).permutation(labels)
    found = run(problem, problem.start_states(start, 3), DiagonalFamily(3), Settings(200, 1e-9, "aitken"))
    values = [record["log_likelihood"] for record in found.history]
    assert (np.diff(values) > -1e-8).all()
    assert len(values) > 5


def test_starts_weights_and_blocks(data):
    Y, _ = data
    weights = np.random.default_rng(1).integers(1, 4, size=len(Y))
    repeated, _ = fit(prepare(np.repeat(Y, weights, axis=0), ridge=1e-3), specification())
    weighted, records = fit(prepare(Y, weights.astype(float), ridge=1e-3, block_rows=70, n_jobs=2), specification())
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-7)
    assert len(records) == 3


@pytest.mark.parametrize("kind", ["file", "dask"])
def test_files_and_dask(data, kind, tmp_path):
    Y, labels = data

    known = FisherEM(memory="20kB")
    if kind == "file":
        np.save(tmp_path / "rows.npy", Y)
        table = check_table(known, tmp_path / "rows.npy", reset=True, elsewhere=True)
    else:
        table = check_table(known, da.from_array(Y, chunks=(90, -1)), reset=True, elsewhere=True)
    problem, plain = prepare(table, ridge=1e-3), prepare(Y, ridge=1e-3)
    settings = Settings(30, 1e-9, "aitken")
    there = run(problem, problem.start_states(labels, 3), DiagonalFamily(3), settings)
    here = run(plain, plain.start_states(labels, 3), DiagonalFamily(3), settings)
    assert there.log_likelihood == pytest.approx(here.log_likelihood, rel=1e-9)
    np.testing.assert_allclose(
        problem.rows.gather(there.states, "posteriors"), plain.rows.gather(here.states, "posteriors"), atol=1e-9
    )


def test_large_data_choose_a_start_on_a_sample(data, treat_as_large):
    Y, labels = data
    treat_as_large(1000)
    found, records = fit(prepare(Y, ridge=1e-3), specification())
    assert len(records) == 1
    assert found.log_likelihood == pytest.approx(len(Y) * sklearn_fit(Y, labels).score(Y), rel=1e-5)


def test_checkpoints_and_new_rows(data, tmp_path):
    Y, labels = data
    problem = prepare(Y, ridge=1e-3)
    found = run(problem, problem.start_states(labels, 3), DiagonalFamily(3), Settings(100, 1e-9, "aitken"))
    store = Store(tmp_path, "mark")
    store.put("key", found, {"some": 1})
    kept, record = store.get("key", DiagonalFamily(3))
    assert record == {"some": 1}
    assert kept.stop == found.stop
    again = restore(problem, kept)
    np.testing.assert_allclose(
        problem.rows.gather(again.states, "posteriors"), problem.rows.gather(found.states, "posteriors"), atol=1e-6
    )
    new = ArrayRows(Y[:50] - problem.centre)
    states = new.states()
    sums = evaluate(new, states, kept.solution, ("log_density",))
    assert sums.log_likelihood == pytest.approx(new.gather(states, "log_density").sum())


def test_an_emptied_group_is_refilled(data):
    Y, labels = data
    problem = prepare(Y, ridge=1e-3)
    T = np.zeros((len(Y), 3))
    T[np.arange(len(Y)), np.where(labels == 2, 1, labels)] = 1 - 1.01 / len(Y)
    T[:, 2] = 1.01 / len(Y)
    T /= T.sum(axis=1, keepdims=True)
    found = run(problem, problem.start_states(T, 3), DiagonalFamily(3), Settings(300, 1e-9, "aitken"))
    assert problem.rows.gather(found.states, "posteriors").sum(axis=1).min() > 1
