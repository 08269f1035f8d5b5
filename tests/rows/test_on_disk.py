"""A table in a file is fitted, in a budget of memory, to the same result as in memory."""

import os
import pickle
import re
import tempfile

import numpy as np
import pandas as pd
import pytest
import zarr

import fisherem
from fisherem import FisherEM, ModelSearch, SelectDiscriminative, SparseFisherEM
from fisherem._utils.passes import looking_on
from fisherem.rows import on_disk as file_rows
from fisherem.rows.on_disk import FileRows
from fisherem.tables.file_table import FileTable
from fisherem.tables.parameters import parse_memory
from fisherem.tables.streamed_files import open_source
from tests.passing import AtPass
from tests.same import same

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SMALL = "150kB"  # less than twice the rows: they stay in the file
TINY = "84kB"  # not enough for what is kept per row, hardly more than the least that 25 columns need


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "rows.npy", rows)
    np.save(folder / "columns.npy", np.asfortranarray(rows))
    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(rows.shape[1])])
    frame.to_parquet(folder / "rows.parquet", row_group_size=20)
    zarr.create_array(str(folder / "rows.zarr"), shape=rows.shape, chunks=(20, 25), dtype="f8")[:] = rows
    return folder


KINDS = ["rows.npy", "columns.npy", "rows.parquet", "rows.zarr", "map", "zarr array"]


# blocks of one row are slow: one kind of file is enough for them
@pytest.mark.parametrize(("kind", "block_rows"), [("rows.npy", 1), *((k, b) for k in KINDS for b in (13, 10_000))])
def test_every_kind_of_file_gives_the_same_fit(folder, in_memory, rows, kind, block_rows, monkeypatch):
    monkeypatch.setattr(file_rows, "_MOST_BLOCK_ROWS", block_rows)
    X = folder / kind
    if kind == "map":
        X = np.load(folder / "rows.npy", mmap_mode="r")
    elif kind == "zarr array":
        X = zarr.open(str(folder / "rows.zarr"), mode="r")
    memory = {1: SMALL, 13: TINY, 10_000: SMALL}[block_rows]
    visits = []
    fold = FileRows.fold
    monkeypatch.setattr(
        FileRows, "fold", lambda self, *a, **k: (visits.append(len(self.slices)), fold(self, *a, **k))[1]
    )
    model = SparseFisherEM(3, sparsity=0.5, model="AkB", n_init=1, random_state=0, memory=memory).fit(X)
    assert min(visits) >= {1: 800, 13: 40, 10_000: 2}[block_rows]
    same(model, in_memory)
    np.testing.assert_array_equal(model.predict(X), in_memory.predict(rows))
    np.testing.assert_allclose(model.predict_proba(X), in_memory.predict_proba(rows), atol=1e-9)
    np.testing.assert_allclose(model.transform(X), in_memory.transform(rows), atol=1e-9)
    np.testing.assert_allclose(model.score_samples(X), in_memory.score_samples(rows))
    assert model.bic(X) == pytest.approx(in_memory.bic_, rel=1e-9)
    assert model.score(X) == pytest.approx(in_memory.score(rows), rel=1e-9)
    if kind == "rows.parquet":
        assert list(model.feature_names_in_) == [f"v{j}" for j in range(25)]


def test_other_options_are_the_same_too(folder, rows):
    weights = np.random.default_rng(0).integers(0, 3, size=len(rows))
    labels = np.arange(len(rows)) % 3
    for options, fit in (
        ({"n_clusters": 1}, {}),
        ({"init": "random", "n_init": 2}, {}),
        ({"init": "ward"}, {}),
        ({"init": labels, "discriminant": "svd"}, {}),
        ({"n_init": 2}, {"sample_weight": weights}),
        ({"n_init": 1, "max_iter": 3}, {}),
    ):
        options = {"model": "DkBk", "random_state": 1, **options}
        expected = FisherEM(**options).fit(rows, **fit)
        same(FisherEM(memory=SMALL, **options).fit(folder / "rows.npy", **fit), expected)


def test_sampled_starts_do_not_depend_on_the_engine(folder, rows, treat_as_large):
    treat_as_large(1000, 200)
    weights = np.random.default_rng(0).random(len(rows))
    for options, fit in (
        ({"n_init": 4}, {}),
        ({"n_init": 1}, {}),
        ({"n_init": 3}, {"sample_weight": weights}),
        ({"init": "random", "n_init": 2}, {}),
        ({"init": "ward"}, {}),
    ):
        options = {"model": "AkB", "random_state": 0, **options}
        expected = FisherEM(3, **options).fit(rows, **fit)
        same(FisherEM(3, memory=SMALL, **options).fit(folder / "rows.npy", **fit), expected)


def test_float32_and_integers(tmp_path, rows):
    for dtype in (np.float32, np.int16):
        table = (rows * 10).astype(dtype)
        np.save(tmp_path / "rows.npy", table)
        same(
            FisherEM(3, model="AkB", random_state=0, n_init=1, memory="42kB").fit(tmp_path / "rows.npy"),
            FisherEM(3, model="AkB", random_state=0, n_init=1).fit(table),
        )


def test_fewer_rows_than_columns(tmp_path):
    rng = np.random.default_rng(1)
    table = rng.normal(size=(30, 40)) + 3 * rng.normal(size=(3, 40))[np.arange(30) % 3]
    np.save(tmp_path / "wide.npy", table.astype(np.float64))
    wide = FileTable(open_source(tmp_path / "wide.npy"), 200_000)
    assert wide.whole() is not None  # fits: a wide table is never larger than its covariance
    same(SparseFisherEM(random_state=0).fit(tmp_path / "wide.npy"), SparseFisherEM(random_state=0).fit(table))


def test_constant_columns_are_found_in_a_file(tmp_path, rows):
    table = rows.copy()
    table[:, 3] = 1.5
    table[:, 4] = 2.5
    table[-1, 4] = 3.0  # varies in the last row only
    np.save(tmp_path / "rows.npy", table)
    with pytest.warns(UserWarning, match="never selected: 3$"):
        model = FisherEM(3, model="AkB", random_state=0, n_init=1, memory=SMALL).fit(tmp_path / "rows.npy")
    assert not model.support_[3]


def behind_a_factor(rng):
    labels = np.arange(150) % 3
    rows = rng.normal(size=(150, 20)) + 4 * rng.normal(size=(150, 1)) * rng.normal(size=20)
    rows[:, :6] = rng.normal(size=(150, 6)) + 2.5 * rng.normal(size=(3, 6))[labels]
    return rows


def tight_and_wide(rng):
    rows = rng.normal(size=(300, 5)) * np.repeat([3.0, 0.4], [200, 100])[:, None]
    rows[200:, :2] += 2
    return rows


@pytest.mark.parametrize("estimator", [FisherEM, SparseFisherEM])
@pytest.mark.parametrize(
    ("make", "K", "decision", "otherwise"),
    [(behind_a_factor, 3, "start", "k-means on the columns"), (tight_and_wide, 2, "covariances", "common")],
)
def test_groups_of_another_start_are_fitted_to_the_rows_of_the_file(tmp_path, estimator, make, K, decision, otherwise):
    X = make(np.random.default_rng(102))
    np.save(tmp_path / "rows.npy", X)
    here = estimator(K, random_state=0).fit(X)
    assert here.decisions_.set_index("decision").loc[decision, "choice"] != otherwise
    read = estimator(K, random_state=0, memory=int(1.9 * X.nbytes)).fit(tmp_path / "rows.npy")
    np.testing.assert_array_equal(read.labels_, here.labels_)
    assert read.log_likelihood_ == pytest.approx(here.log_likelihood_)


def test_a_search_and_a_selector_on_a_file(folder, rows):
    def search(X, **options):
        estimator = SparseFisherEM(n_init=1, random_state=0, **options)
        return ModelSearch(estimator, n_clusters=[2, 3], models=["AkB"], sparsities=[1, 0.5], n_jobs=1).fit(X)

    one, other = search(folder / "rows.npy", memory=SMALL), search(rows)
    assert one.best_params_ == other.best_params_
    pd.testing.assert_frame_equal(one.results_.drop(columns="seconds"), other.results_.drop(columns="seconds"))
    np.testing.assert_array_equal(one.predict(folder / "rows.npy"), other.predict(rows))
    selector = SelectDiscriminative(SparseFisherEM(random_state=0, memory=SMALL)).fit(folder / "rows.npy")
    expected = SelectDiscriminative(SparseFisherEM(random_state=0)).fit(rows)
    np.testing.assert_array_equal(selector.transform(folder / "rows.npy"), expected.transform(rows))


def test_models_are_saved_as_ever(folder, tmp_path):
    model = FisherEM(3, random_state=0, n_init=1, memory=SMALL).fit(folder / "rows.npy")
    fisherem.save(model, tmp_path / "model.skops")
    for copy in (fisherem.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.predict(folder / "rows.npy"), model.labels_)


def test_only_posteriors_and_projections_are_kept(folder):
    """n x (K + d) at most, and two numbers a row that do not change with K."""
    rows = FileTable(open_source(folder / "rows.npy"), 60_000).rows(None, 1)
    from fisherem.core.data.problem import prepare
    from fisherem.core.dlm.family import DLMFamily
    from fisherem.core.engine.loop import Settings, run
    from fisherem.model.dlm import MODELS

    class Table:
        def rows(self, weights, n_jobs):
            return rows

    problem = prepare(Table(), ridge=1e-3)
    most = []
    keep = rows.spill.keep
    rows.spill.keep = lambda array: (keep(array), most.append(_bytes_in_use(rows.spill)))[0]
    states = problem.start_states(np.arange(800) % 3, 3)
    run(problem, states, DLMFamily(3, 2, MODELS["AkB"], "orthonormal", 1e-4), Settings(4, 0.0, "aitken"))
    K, d = 3, 2
    assert max(most) <= 800 * 8 * (K + d + 2) + 3 * 8 * (K + d) * rows.slices[0].stop  # and the block at work
    assert rows.spill.in_memory <= 30_000
    assert rows.spill.on_disk > 0


def _bytes_in_use(spill):
    return spill.in_memory + spill.on_disk - sum(size * len(offsets) for size, offsets in spill._free.items())


# -- bad input -----------------------------------------------------------------------------------------------------


def test_nan_in_block_731_is_named(tmp_path):
    table = np.random.default_rng(0).normal(size=(4000, 4))
    np.save(tmp_path / "rows.npy", table)
    one = FisherEM(2, n_jobs=1, memory="2kB")
    step = FileTable(open_source(tmp_path / "rows.npy"), 2000).rows(None, 1).slices[0].stop
    row = 731 * step + 1
    table[row, 2] = np.nan
    np.save(tmp_path / "rows.npy", table)
    where = f"contains NaN: row {row}, column 2, in block 731 (rows {731 * step} to {732 * step - 1})"
    with pytest.raises(ValueError, match=re.escape(where)):
        one.fit(tmp_path / "rows.npy")
    one.fit(table[:100])
    with pytest.raises(ValueError, match=re.escape(where)):
        one.predict(tmp_path / "rows.npy")


def open_below(folder):
    """Files below a folder that this process has open, whether or not they were deleted."""
    links = (os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd"))
    return [name for link in links if os.path.islink(link) and (name := os.readlink(link)).startswith(str(folder))]


@pytest.fixture
def spilling(tmp_path, rows, monkeypatch):
    """A fit to a file, in which `act` is called after a pass that left what is kept per row in a temporary file."""
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "spill").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spill"))

    def fit(act, **parameters):
        spilt = AtPass(None, lambda: open_below(tmp_path / "spill") and act())
        with looking_on(spilt):
            FisherEM(3, random_state=0, memory=TINY, **parameters).fit(tmp_path / "rows.npy")

    yield fit
    assert not open_below(tmp_path / "spill")
    assert not list((tmp_path / "spill").iterdir())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_file_that_shrinks_during_the_fit(spilling, tmp_path, n_jobs):
    with pytest.raises(OSError, match="has become shorter while it was being read: it has 50000 bytes"):
        spilling(lambda: os.truncate(tmp_path / "rows.npy", 50_000), n_jobs=n_jobs)


def test_an_interruption_closes_the_temporary_file(spilling):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spilling(interrupt)


def test_wrong_tables_and_budgets(tmp_path, folder, rows):
    with pytest.raises(ValueError, match="memory must be a budget like '1GB'"):
        FisherEM(memory="much").fit(rows)
    with pytest.raises(ValueError, match=r"memory is too small for rows of 25 columns.*give at least 0.04\d*MB"):
        FisherEM(memory=4000).fit(folder / "rows.npy")
    model = FisherEM(random_state=0, n_init=1).fit(rows)
    np.save(tmp_path / "few.npy", rows[:, :12])
    with pytest.raises(ValueError, match="12 features"):
        model.predict(tmp_path / "few.npy")
    model = FisherEM(random_state=0, n_init=1, memory=SMALL).fit(folder / "rows.parquet")
    pd.DataFrame(rows, columns=[f"w{j}" for j in range(25)]).to_parquet(tmp_path / "other.parquet", row_group_size=100)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(tmp_path / "other.parquet")
    np.save(tmp_path / "one.npy", rows[:1])
    with pytest.raises(ValueError, match="1 rows where at least 2"):
        FisherEM().fit(tmp_path / "one.npy")
    np.save(tmp_path / "equal.npy", np.ones((2000, 25)))
    with pytest.raises(ValueError, match="only 1 distinct row,"):
        FisherEM(memory=SMALL).fit(tmp_path / "equal.npy")


@pytest.mark.parametrize(
    ("text", "size"), [("1GB", 10**9), ("500 MB", 5 * 10**8), ("2GiB", 2**31), (1000, 1000), ("1.5kB", 1500)]
)
def test_budgets(text, size):
    assert parse_memory(text) == size


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch, folder):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    FisherEM(3, random_state=0, n_init=2, memory=TINY).fit(folder / "rows.npy")
    assert not list(tmp_path.iterdir())
