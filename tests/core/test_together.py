"""Runs side by side: the same fits as alone, by fewer passes, on every engine."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from fisherem import FisherEM, ModelSearch
from fisherem.core.data.kernels import expect, measure, place
from fisherem.core.data.problem import prepare
from fisherem.core.engine import concurrent_runs as together
from fisherem.core.engine import multistart
from fisherem.core.engine.loop import Run, StopKind
from fisherem.core.engine.multistart import best_of, best_of_each, starting_points
from fisherem.estimators.fitting import specification
from fisherem.rows.base import ArrayRows
from fisherem.rows.on_disk import FileRows
from fisherem.tables.dask_table import DaskTable
from fisherem.tables.file_table import FileTable
from fisherem.tables.npy import open_npy
from tests.same import same

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture
def problem(wine):
    return prepare(wine[0], ridge="auto", block_rows=60)


def runs(problem, n_starts=4, **changes):
    """Runs from random starts, and the specification that they come from."""
    estimator = FisherEM(3, init="random", n_init=n_starts, random_state=0, noise_factors=0, **changes)
    spec = specification(estimator, problem.rows.n, problem.p)
    family = spec.family.phases()[0].family
    starts = starting_points(problem, spec)
    return [Run(problem, problem.start_states(s, 3), family, spec.settings, "") for s in starts], spec, starts


@pytest.mark.parametrize("changes", [{"model": "AkB"}, {"model": "DkBk", "means": "full"}, {"model": "AB"}])
def test_side_by_side_gives_what_each_gives_alone(problem, changes):
    one_by_one = [run.until_stopped() for run in runs(problem, **changes)[0]]
    beside = together.run_together(runs(problem, **changes)[0])
    for alone, other in zip(one_by_one, beside, strict=True):
        assert other.n_iter == alone.n_iter
        assert other.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-9)
        np.testing.assert_allclose(
            problem.rows.gather(other.states, "posteriors"), problem.rows.gather(alone.states, "posteriors"), atol=1e-6
        )


def test_a_run_does_not_depend_on_those_beside_it(problem):
    few, more = runs(problem, 2)[0], runs(problem, 5)[0]
    first, again = together.run_together(few)[0], together.run_together([more[0]])[0]
    assert again.log_likelihood == pytest.approx(first.log_likelihood, rel=1e-9)


class Counted:
    """An engine of rows that counts the fits that share each pass."""

    def __init__(self, *args, **keywords):
        self.seen = []
        super().__init__(*args, **keywords)

    def fold_several(self, kernel, states, args, *, read=True):
        self.seen.append((kernel, len(states)))
        return super().fold_several(kernel, states, args, read=read)


class CountedRows(Counted, ArrayRows):
    pass


class CountedFileRows(Counted, FileRows):
    pass


class CountedTable:
    def __init__(self, X):
        self.X = X

    def rows(self, weights, n_jobs):
        return CountedRows(self.X, weights, n_jobs=n_jobs, block_rows=60)


class CountedFileTable(FileTable):
    made = ()

    def rows(self, weights, n_jobs):
        found = CountedFileRows(self.source, weights, memory=self.memory, n_jobs=n_jobs, names=self.names)
        self.made = (*self.made, found)
        return found


def test_all_runs_share_every_pass(wine):
    problem = prepare(CountedTable(wine[0]), ridge="auto")
    found = together.run_together(runs(problem, 5)[0])
    seen = problem.rows.seen
    assert {kernel for kernel, _ in seen} == {measure, expect}
    assert len(seen) == 2 * max(fit.n_iter for fit in found)  # not 2 per fit and iteration
    assert seen[0] == (measure, 5)


def test_one_that_fails_leaves_the_others_alone(problem):
    three = runs(problem, 3)[0]

    class Broken:
        def place(self, sums):
            raise FloatingPointError("no axes")

    three[1].family = type("Family", (), {"begin": lambda self, problem: Broken(), "monotone": False})()
    first, second, third = together.run_together(three)
    assert str(second) == "no axes"
    for fit, alone in ((first, 0), (third, 2)):
        expected = runs(problem, 3)[0][alone].until_stopped()
        assert fit.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-9)


def test_starts_that_have_met_are_joined(problem):
    _, spec, starts = runs(problem, 3)
    fit, records = best_of(problem, [starts[0], starts[1], starts[0]], spec, spec.family.phases()[0])
    assert [record["stop_reason"] == StopKind.JOINED.value for record in records] == [False, False, True]
    alone, _ = best_of(problem, [starts[0], starts[1]], spec, spec.family.phases()[0])
    assert fit.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-9)


def test_starts_that_fall_behind_are_dropped(problem):
    _, spec, starts = runs(problem, 20)
    phase = spec.family.phases()[0]
    fit, records = best_of(problem, starts, spec, phase)
    behind = [record for record in records if record["stop_reason"] == StopKind.BEHIND.value]
    assert len(behind) >= 8  # of those that did not end by themselves
    assert {record["n_iter"] for record in behind} <= {15, 16, 20, 21, 25, 26}  # a refill is an iteration late
    alone = sorted((run.until_stopped().log_likelihood for run in runs(problem, 20)[0]), reverse=True)
    assert fit.log_likelihood >= alone[3] - 1e-6  # among the best of all that might have been


def test_models_race_apart_from_each_other(problem):
    """Starts of several models side by side end as the starts of each model do alone."""
    specs = [runs(problem, 8, model=name)[1] for name in ("AB", "DkB")]
    starts = runs(problem, 8)[2]
    both = best_of_each(problem, starts, [(spec, spec.family.phases()[0]) for spec in specs])
    for spec, (fit, records) in zip(specs, both, strict=True):
        alone, expected = best_of(problem, starts, spec, spec.family.phases()[0])
        assert fit.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-9)
        assert [r["stop_reason"] for r in records] == [r["stop_reason"] for r in expected]


def test_few_starts_all_go_to_the_end(problem):
    _, spec, starts = runs(problem, 3)
    _, records = best_of(problem, starts, spec, spec.family.phases()[0])
    assert StopKind.BEHIND.value not in {record["stop_reason"] for record in records}


def test_runs_that_were_dropped_are_tried_if_all_others_fail(problem, monkeypatch):
    """Dropped runs come back when nothing else led to a fit."""
    _, spec, starts = runs(problem, 6)
    phase, real = spec.family.phases()[0], together.run_together
    first = []

    def failing(some, *, races=None):
        found = real(some, races=races)
        if races is not None:
            first.extend(found)
            for fit in found[:4]:
                fit.stop = type(fit.stop)(StopKind.COLLAPSED, "group 1")
            for fit in found[4:]:
                fit.stop = type(fit.stop)(StopKind.BEHIND)
        return found

    monkeypatch.setattr(multistart, "run_together", failing)
    fit, records = best_of(problem, starts, spec, phase)
    assert len(first) == 6
    assert len(records) == 8
    assert fit.whole
    assert not fit.given_up


def test_a_batch_keeps_no_more_than_the_rows_take():
    rows = ArrayRows(np.zeros((100_000, 50), np.float32))
    problem = type("P", (), {"rows": rows})()
    assert together.shares_of(problem, 3, 20) == 6
    assert together.shares_of(problem, 50, 20) == 1
    rows = ArrayRows(np.zeros((200, 10)))
    assert together.shares_of(type("P", (), {"rows": rows})(), 3, 20) == 20


@pytest.fixture(params=["memory", "file", "dask"])
def rows(request, wine, tmp_path):
    X = wine[0]
    if request.param == "memory":
        return ArrayRows(X, block_rows=50)
    if request.param == "file":
        np.save(tmp_path / "X.npy", X)
        return FileTable(open_npy(tmp_path / "X.npy"), 60_000).rows(None, 2)
    return DaskTable(da.from_array(X, chunks=(50, -1))).rows(None, None)


@pytest.mark.parametrize("kernel", [measure, place])
def test_several_folds_are_as_many_single_ones(rows, kernel):
    problem = prepare(type("T", (), {"rows": lambda self, w, j: rows, "shape": (rows.n, rows.p)})(), ridge="auto")
    three, _, _ = runs(problem, 3, model="AkB")
    steps = [run.family.begin(problem) for run in three]
    placings = [step.place(problem.group_sums(run.states)) for step, run in zip(steps, three, strict=True)]
    keep = ("squared_norms", "weights", "posteriors", "first")
    single = [rows.derive(run.states, keep) for run in three]
    beside = [rows.derive(run.states, keep) for run in three]
    found = rows.fold_several(kernel, beside, [(p,) for p in placings])
    for i, placing in enumerate(placings):
        expected = rows.fold(kernel, single[i], placing)
        if kernel is measure:
            np.testing.assert_allclose(found[i].covariances, expected.covariances, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            rows.gather(beside[i], "placed"), rows.gather(single[i], "placed"), rtol=1e-8, atol=1e-8
        )


def test_several_models_from_one_reading(wine, tmp_path):
    """A search by BIC on a file: the models of one number of groups are fitted side by side."""
    X = wine[0]
    np.save(tmp_path / "X.npy", X)
    table = CountedFileTable(open_npy(tmp_path / "X.npy"), 35_000)  # half of what wine takes

    def search(data):
        estimator = FisherEM(random_state=0, noise_factors=0, n_jobs=1)
        return ModelSearch(estimator, n_clusters=[2, 3], criterion="bic", n_jobs=1).fit(data)

    memory, file = search(X), search(table)
    assert max(together for rows in table.made for _, together in rows.seen) == 12
    assert len(file.results_) == 24
    for column in ("n_clusters", "model", "n_iter", "stop_reason"):
        assert (memory.results_[column] == file.results_[column]).all()
    np.testing.assert_allclose(file.results_["bic"], memory.results_["bic"], rtol=1e-8)
    same(memory.best_estimator_, file.best_estimator_)


def test_models_that_lose_a_group_ask_the_other_starts(problem):
    _, spec, starts = runs(problem, 3)
    phase = spec.family.phases()[0]
    first = replace(spec, first_start=True)
    empty = np.zeros(problem.rows.n, int)  # a start without groups fails
    (fit, records), other = best_of_each(problem, [empty, *starts], [(first, phase), (spec, phase)])
    assert len(records) == 2
    assert fit.whole
    assert other[0].log_likelihood >= fit.log_likelihood - 1e-9 * abs(fit.log_likelihood)
