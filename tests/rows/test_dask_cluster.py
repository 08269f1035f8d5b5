"""A cluster of two processes: the same answer, also when one of them dies, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets
from fisherem._utils.passes import looking_on
from fisherem.rows.on_dask import Cluster
from fisherem.tables import dask_table as dask_tables
from tests.passing import AtPass
from tests.same import same

pytestmark = [
    pytest.mark.usefixtures("no_merging"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # Dask's own: a killed worker leaves connections behind
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def tasks(client) -> int:
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def soon(condition) -> bool:
    """Whether it holds within a minute: what the scheduler does arrives later, on a busy machine much later."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def nothing_left(client) -> bool:
    return soon(lambda: tasks(client) == 0)


@pytest.mark.parametrize("chunk", [150, 800])
def test_the_same_fit(client, rows, in_memory, chunk):
    X = da.from_array(rows, chunks=(chunk, -1))
    model = SparseFisherEM(3, sparsity=0.5, model="AkB", n_init=1, random_state=0).fit(X)
    same(model, in_memory)
    lazy = model.predict(X)
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy.compute(), in_memory.labels_)
    del lazy
    assert nothing_left(client)


def test_blocks_of_one_row(client, rows):
    few = rows[:40]
    options = {"model": "AkB", "n_init": 1, "max_iter": 2, "random_state": 0}
    same(FisherEM(2, **options).fit(da.from_array(few, chunks=(1, -1))), FisherEM(2, **options).fit(few))


def test_unknown_lengths_and_a_search(client, rows):
    X = da.from_array(rows, chunks=(200, -1))
    X = X[X[:, 0] > -np.inf]
    estimator = FisherEM(n_init=1, random_state=0)
    one = ModelSearch(estimator, n_clusters=[2, 3], models=["AkB"]).fit(X)
    other = ModelSearch(estimator, n_clusters=[2, 3], models=["AkB"]).fit(rows)
    assert one.best_params_ == other.best_params_
    np.testing.assert_allclose(one.results_["bic"], other.results_["bic"], rtol=1e-9)


def test_blocks_stay_on_the_workers_and_sums_travel(client):
    """What workers send, by Dask's count, is of the size of the sums and parameters, not of the rows or posteriors."""
    table = datasets.simulate(40_000, mu=2.0, random_state=0)[0]
    X = da.from_array(table, chunks=(10_000, -1)).persist()

    def sent() -> int:
        return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())

    def fit(count: int) -> tuple[int, int]:
        before = sent()
        model = FisherEM(3, model="AkB", init=np.arange(40_000) % 3, max_iter=count, tol=0).fit(X)
        return sent() - before, model.n_iter_

    (few, first), (many, last) = fit(2), fit(12)
    per_iteration = (many - few) / (last - first)
    K, d, p, threads = 3, 2, 25, 2
    sums = 8 * threads * (K * p + K * d * d + 3 * K)
    assert sums / 2 < per_iteration < sums + 8 * 2 * (K + d) * p + 5_000  # what each message costs on top
    assert per_iteration < 40_000 * 8 * K / 10  # a tenth of the posteriors


def test_every_thread_gets_its_share_of_the_rows(client, rows, in_memory):
    one = next(iter(client.nthreads()))
    X = client.persist(da.from_array(rows, chunks=(100, -1)), workers=[one], allow_other_workers=False)
    table = dask_tables.DaskTable(X).load()
    assert [len(bundle.numbers) for bundle in table.bundles] == [4, 4]
    assert {bundle.worker for bundle in table.bundles} == set(client.nthreads())
    assert sorted(number for bundle in table.bundles for number in bundle.numbers) == list(range(8))
    same(SparseFisherEM(3, sparsity=0.5, model="AkB", n_init=1, random_state=0).fit(X), in_memory)


def test_an_earlier_state_is_not_needed_to_compute_a_later_one(client, rows):
    """The scheduler forgets old iterations: what it remembers does not grow with them."""
    counts = []

    class Counting:
        def resume(self, n, phase):
            return None

        def passed(self, n, phase, history, posteriors):
            counts.append(tasks(client))

    X = da.from_array(rows, chunks=(150, -1))
    with looking_on(Counting()):
        FisherEM(3, model="AkB", n_init=1, max_iter=25, tol=0, random_state=0).fit(X)
    assert len(counts) >= 20
    assert max(counts[-5:]) <= max(counts[2:8]) + 4


def test_a_worker_that_is_killed_changes_nothing(rows, in_memory):
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        pid = int(next(iter(client.run(os.getpid).values())))
        watch = AtPass(3, lambda: os.kill(pid, signal.SIGKILL))
        X = da.from_array(rows, chunks=(100, -1))
        with looking_on(watch):
            model = SparseFisherEM(3, sparsity=0.5, model="AkB", n_init=1, random_state=0).fit(X)
        assert watch.passes > 4
    same(model, in_memory)


INTERRUPTED = """
import os, signal, threading, time, warnings
import dask.array as da, numpy as np
from distributed import Client, LocalCluster
from fisherem import FisherEM

if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            X = da.random.default_rng(0).normal(size=(100_000, 20), chunks=(12_500, -1))
            tasks = lambda: [t.key for t in cluster.scheduler.tasks.values() if "fisherem" in str(t.key)]

            def interrupt():
                while not tasks():
                    time.sleep(0.05)
                time.sleep(1)  # in the middle of the iterations
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=interrupt, daemon=True).start()
            try:
                FisherEM(5, init=np.arange(100_000) % 5, max_iter=100_000, tol=0).fit(X)
            except KeyboardInterrupt as error:
                kept = error                     # and with it the frames that hold the futures
                time.sleep(1)
                print("left", sorted(tasks()))
                print("running", sum(len(w.processing) for w in cluster.scheduler.workers.values()))
"""


def test_ctrl_c_leaves_no_work_behind(tmp_path):
    (tmp_path / "script.py").write_text(INTERRUPTED)
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["left []", "running 0"], done.stderr


def _until_there(path) -> None:
    while not os.path.exists(path):
        time.sleep(0.02)


def test_close_cancels_what_is_held(client, tmp_path):
    """Tasks that wait or run are cancelled; a running one ends when it is let go, and nothing is left of it."""
    gate = tmp_path / "go"
    cluster = Cluster(client)
    futures = cluster.call(_until_there, [(str(gate),)] * 3)
    try:
        assert soon(lambda: len(client.processing()) and any(client.processing().values()))
        cluster.close()
        assert soon(lambda: all(future.cancelled() for future in futures))
    finally:
        gate.touch()  # also where an assertion fails: the workers are shared with other tests
    assert nothing_left(client)
