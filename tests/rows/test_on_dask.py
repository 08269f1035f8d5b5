"""Dask collections under the schedulers of one process."""

import re
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import fisherem
from fisherem import FisherEM, ModelSearch, SelectDiscriminative, SparseFisherEM
from fisherem.tables import dask_table as dask_tables
from fisherem.tables.dask_table import DaskTable
from tests.same import same

pytestmark = [
    pytest.mark.usefixtures("no_merging"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
NAMES = [f"v{j}" for j in range(25)]


def unknown(array):
    """The same rows in chunks whose lengths Dask does not know."""
    return array[array[:, 0] > -np.inf]


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
@pytest.mark.parametrize(
    ("chunks", "known"),
    # Dask itself cannot filter the rows of several column chunks, which would make their lengths unknown
    [((200, 7), True), *((chunks, known) for chunks in ((77, -1), (800, -1)) for known in (True, False))],
)
def test_arrays_give_the_same_fit(rows, in_memory, scheduler, chunks, known):
    X = da.from_array(rows, chunks=chunks)
    X = X if known else unknown(X)
    with dask.config.set(scheduler=scheduler):
        model = SparseFisherEM(3, sparsity=0.5, model="AkB", n_init=1, random_state=0).fit(X)
        same(model, in_memory)
        for name, expected in (
            ("predict", in_memory.labels_),
            ("predict_proba", in_memory.predict_proba(rows)),
            ("transform", in_memory.transform(rows)),
            ("score_samples", in_memory.score_samples(rows)),
        ):
            lazy = getattr(model, name)(X)
            assert isinstance(lazy, da.Array)
            assert lazy.ndim == expected.ndim
            np.testing.assert_allclose(lazy.compute(), expected, atol=1e-8)
        assert model.bic(X) == pytest.approx(in_memory.bic_, rel=1e-9)
        assert model.score(X) == pytest.approx(in_memory.score(rows), rel=1e-9)


def test_chunks_of_one_row(rows, monkeypatch):
    few = rows[:60]
    model = FisherEM(2, model="AkB", n_init=1, max_iter=3, random_state=0).fit(few)
    with dask.config.set(scheduler="synchronous"):
        X = da.from_array(few, chunks=(1, -1))
        same(FisherEM(2, model="AkB", n_init=1, max_iter=3, random_state=0).fit(X), model)
    assert len(DaskTable(X).load().blocks) == 60
    monkeypatch.setattr(dask_tables, "LEAST_ELEMENTS", 1000)
    table = DaskTable(X).load()
    assert [s.stop for s in table.slices] == [60]  # 1500 values: the rest is too small for a block of its own
    assert dask_tables._merge([0, 10, 0, 30, 40, 1, 0], 25) == [40, 41]
    assert dask_tables._merge([0, 0], 25) == []


def test_frames_keep_their_names(rows, in_memory):
    frame = dd.from_pandas(pd.DataFrame(rows, columns=NAMES), npartitions=4)
    model = SparseFisherEM(3, sparsity=0.5, model="AkB", n_init=1, random_state=0).fit(frame)
    same(model, in_memory)
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.predict(frame).compute(), in_memory.labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[::-1]])
    empty = frame[frame["v0"] < frame["v0"].min().compute()]  # partitions without rows
    assert model.predict_proba(empty).compute().shape == (0, 3)
    some = frame[frame["v0"] > 0]
    here = pd.DataFrame(rows, columns=NAMES)
    same(
        FisherEM(3, n_init=1, random_state=0).fit(some),
        FisherEM(3, n_init=1, random_state=0).fit(here[here["v0"] > 0]),
    )


def test_other_options_are_the_same_too(rows, treat_as_large):
    weights = np.random.default_rng(0).integers(0, 3, size=len(rows)).astype(float)
    X = da.from_array(rows, chunks=(250, -1))

    def compare(options, sample_weight=None):
        options = {"model": "DkBk", "random_state": 1, **options}
        expected = FisherEM(**options).fit(rows, sample_weight=sample_weight)
        given = None if sample_weight is None else da.from_array(sample_weight, chunks=100)
        same(FisherEM(**options).fit(X, sample_weight=given), expected)

    compare({"n_clusters": 1})
    compare({"init": np.arange(len(rows)) % 3, "discriminant": "svd"})
    compare({"init": np.eye(3)[np.arange(len(rows)) % 3] * 0.7 + 0.1})
    compare({"n_init": 2}, weights)
    treat_as_large(1000, 200)
    compare({"n_init": 3})
    compare({"n_init": 1}, weights)
    compare({"init": "random", "n_init": 2})


def test_integers_and_float32(rows):
    for dtype in (np.float32, np.int16):
        table = (rows * 10).astype(dtype)
        same(
            FisherEM(3, model="AkB", n_init=1, random_state=0).fit(da.from_array(table, chunks=(150, -1))),
            FisherEM(3, model="AkB", n_init=1, random_state=0).fit(table),
        )


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(30, 40)) + 3 * rng.normal(size=(3, 40))[np.arange(30) % 3]
    same(
        SparseFisherEM(random_state=0).fit(da.from_array(table, chunks=(7, -1))),
        SparseFisherEM(random_state=0).fit(table),
    )


def test_a_search_and_a_selector(rows):
    def search(X):
        estimator = SparseFisherEM(n_init=1, random_state=0)
        return ModelSearch(estimator, n_clusters=[2, 3], models=["AkB"], sparsities=[1, 0.5]).fit(X)

    X = da.from_array(rows, chunks=(200, -1))
    one, other = search(X), search(rows)
    assert one.best_params_ == other.best_params_
    pd.testing.assert_frame_equal(one.results_.drop(columns="seconds"), other.results_.drop(columns="seconds"))
    np.testing.assert_array_equal(one.predict(X).compute(), other.predict(rows))
    selector = SelectDiscriminative(SparseFisherEM(random_state=0, n_init=1)).fit(X)
    kept = selector.transform(X)
    assert isinstance(kept, da.Array)
    np.testing.assert_array_equal(kept.compute(), rows[:, selector.get_support()])


def test_models_are_saved_as_ever(rows, tmp_path):
    X = da.from_array(rows, chunks=(200, -1))
    model = FisherEM(3, random_state=0, n_init=1).fit(X)
    fisherem.save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(fisherem.load(tmp_path / "model.skops").predict(rows), model.labels_)


def test_lazy_predictions_do_not_hold_the_labels_of_the_fit(rows):
    model = FisherEM(3, random_state=0, n_init=1).fit(rows)
    assert not hasattr(model._light(), "labels_")
    assert hasattr(model, "labels_")


# -- bad input -----------------------------------------------------------------------------------------------------


def test_nan_in_block_731_is_named():
    table = np.random.default_rng(0).normal(size=(3000, 3))
    table[731 * 4 + 1, 2] = np.nan
    X = da.from_array(table, chunks=(4, -1))
    with dask.config.set(scheduler="synchronous"):
        where = re.escape("contains NaN: row 2925, column 2, in block 731 (rows 2924 to 2927)")
        with pytest.raises(ValueError, match=where):
            FisherEM(2, n_init=1).fit(X)
        model = FisherEM(2, n_init=1, random_state=0).fit(table[:100])
        with pytest.raises(ValueError, match="row 1, column 2 of block 731"):
            model.predict(X).compute()


def test_what_is_no_table(rows):
    with pytest.raises(ValueError, match="a dask array with 1 dimensions"):
        FisherEM().fit(da.from_array(rows[0], chunks=5))
    with pytest.raises(ValueError, match="got a dask series"):
        FisherEM().fit(dd.from_pandas(pd.DataFrame(rows, columns=NAMES), npartitions=2)["v0"])
    with pytest.raises(ValueError, match="must hold numbers"):
        FisherEM().fit(da.from_array(np.full((4, 2), "x"), chunks=2))
    with pytest.raises(ValueError, match="has no rows"):
        FisherEM().fit(da.from_array(rows[:0], chunks=(100, -1)))
    frame = pd.DataFrame(rows[:, :2], columns=["a", "b"]).assign(name="x")
    with pytest.raises(ValueError, match="columns must be numeric; 'name' holds text"):
        FisherEM().fit(dd.from_pandas(frame, npartitions=2))
    with pytest.raises(TypeError, match="SparseKMeans needs its rows in memory"):
        fisherem.SparseKMeans(2).fit(da.from_array(rows, chunks=(100, -1)))
    with pytest.raises(ValueError, match="12 features"):
        FisherEM(random_state=0, n_init=1).fit(rows).predict(da.from_array(rows[:, :12], chunks=(100, -1)))


def test_without_dask_the_extra_is_named(rows, monkeypatch):
    X = da.from_array(rows, chunks=(100, -1))
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(ImportError, match=r"pip install 'fisherem\[dask\]'"):
        FisherEM().fit(X)
