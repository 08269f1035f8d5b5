"""Frames of every library give the same fits and predictions, and names come from wherever there are some."""

import datetime

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fisherem import BayesianFisherEM, FactorMixture, FisherEM, ModelSearch, SparseFisherEM, SparseKMeans, explain
from fisherem.tables.frames import as_frame, with_names
from fisherem.tables.kinds import in_precision_of
from tests.same import same

NAMES = ["a", "b", "c", "d", "e"]


def rows(n=150, seed=0):
    """Three groups in two of five columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, :2] += 5 * np.array([[0, 0], [1, 0], [0, 1]])[np.arange(n) % 3]
    return X


X = rows()
FRAMES = {
    "pandas": lambda values: pd.DataFrame(values, columns=NAMES),
    "polars": lambda values: pl.DataFrame(values, schema=NAMES),
    "arrow": lambda values: pa.table(dict(zip(NAMES, values.T, strict=True))),
    "batch": lambda values: pa.RecordBatch.from_arrays(list(map(pa.array, values.T)), names=NAMES),
}


def fitted(table, **changes):
    return SparseFisherEM(3, **({"n_init": 1, "random_state": 0} | changes)).fit(table)


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_fits_and_predicts(kind):
    make, expected = FRAMES[kind], fitted(FRAMES["pandas"](X))
    model = fitted(make(X))
    same(model, expected)
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.predict(make(X)), model.labels_)
    np.testing.assert_array_equal(model.transform(make(X)), expected.transform(FRAMES["pandas"](X)))
    assert model.score(make(X)) == expected.score(FRAMES["pandas"](X))
    assert SparseKMeans(3, bound=1.5, random_state=0).fit(make(X)).predict(make(X)).shape == (150,)
    assert explain(make(X), model.labels_).agreement > 0.9


@pytest.mark.parametrize("kind", FRAMES)
def test_the_selected_columns_are_enough(kind):
    model = fitted(FRAMES["pandas"](X))
    assert not model.support_.all()
    frame = FRAMES[kind](X)
    chosen = [name for name, selected in zip(NAMES, model.support_, strict=True) if selected]
    np.testing.assert_array_equal(
        model.predict(frame[chosen] if kind == "pandas" else frame.select(chosen)), model.labels_
    )


def test_columns_keep_what_they_hold():
    day = datetime.datetime(2020, 1, 1)
    frame = pl.DataFrame(
        {"i": [1, None], "f": [0.5, 1.5], "b": [True, None], "s": ["x", None], "c": ["u", "v"], "t": [day, day],
         "n": [None, None]},
        schema_overrides={"f": pl.Float32, "c": pl.Enum(["v", "u"])},
    )  # fmt: skip
    found = as_frame(frame)
    np.testing.assert_array_equal(found["i"], [1, np.nan])
    assert str(found["b"].dtype) == "boolean"
    assert list(found["b"].isna()) == [False, True]
    assert found["f"].dtype == np.float32
    assert str(found["s"].dtype) == "string"
    assert found["c"].cat.ordered
    assert list(found["c"].cat.categories) == ["v", "u"]
    assert found["t"].dtype.kind == "M"
    assert found["n"].isna().all()
    assert found["n"].dtype == float
    with pytest.raises(ValueError, match=r"'s' holds text; 'c' holds categories; 't' holds dates"):
        BayesianFisherEM(2).fit(frame)


@pytest.mark.parametrize("kind", [pa.float16(), pa.int16(), pa.decimal128(6, 3), pa.uint64(), pa.float32()])
def test_numbers_of_arrow(kind):
    values = np.arange(6).astype(np.float16)
    column = pa.array(values) if kind == pa.float16() else pa.array(values.astype(float)).cast(kind)
    np.testing.assert_array_equal(as_frame(pa.table({"a": column}))["a"].astype(float), np.arange(6))


def test_gaps_of_polars_are_missing_cells():
    gappy = X.copy()
    gappy[3, 1] = np.nan
    frame = pl.DataFrame(gappy, schema=NAMES).with_columns(pl.col("b").fill_nan(None))
    assert FisherEM(3, n_init=1, random_state=0).fit(frame).n_missing_ == 1


def test_frames_that_cannot_be_read_are_refused():
    with pytest.raises(TypeError, match=r"lazy frame \(polars.*call collect\(\)"):
        FisherEM(3).fit(pl.DataFrame(X, schema=NAMES).lazy())
    with pytest.raises(ValueError, match=r"two columns have the same name: rename or drop one .*'a' 2 times"):
        FisherEM(3).fit(pa.Table.from_arrays([pa.array(X[:, 0]), pa.array(X[:, 1])], names=["a", "a"]))


# -- sparse columns ------------------------------------------------------------------------------------------------


def test_sparse_columns_of_any_kind():
    frame = FRAMES["pandas"](X)
    expected = fitted(frame)
    for table in (
        frame.astype(pd.SparseDtype("float", 0.0)),
        frame.astype(pd.SparseDtype("float")),  # what is left out is NaN
        frame.assign(b=pd.arrays.SparseArray(X[:, 1], fill_value=0.0)),
        frame.astype(pd.SparseDtype("float", float(X[0, 0]))),
    ):
        model = fitted(table)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(table), expected.labels_)
        assert list(model.feature_names_in_) == NAMES
        assert model.bic_ == pytest.approx(expected.bic_, rel=1e-9)


def test_missing_cells_of_sparse_columns():
    gappy = X.copy()
    gappy[3, 1] = np.nan
    frame = pd.DataFrame(gappy, columns=NAMES).astype(pd.SparseDtype("float"))
    assert FisherEM(3, n_init=1, random_state=0).fit(frame).n_missing_ == 1


# -- names ---------------------------------------------------------------------------------------------------------


def test_names_that_are_numbers_and_text():
    frame = pd.DataFrame(X, columns=[0, "b", 2, "d", np.str_("e")])
    model = fitted(frame)
    assert list(model.feature_names_in_) == ["0", "b", "2", "d", "e"]
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    np.testing.assert_array_equal(
        model.predict(frame.loc[:, list(np.array(frame.columns, object)[model.support_])]), model.labels_
    )
    with pytest.raises(ValueError, match="two columns are named '0'"):
        fitted(pd.DataFrame(X, columns=[0, "0", 2, "d", "e"]))
    assert not hasattr(fitted(pd.DataFrame(X)), "feature_names_in_")


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, np.asarray, da.from_array, pd.DataFrame])
def test_names_for_tables_without(kind):
    model = SparseFisherEM(3, scale="none", n_init=1, random_state=0).fit(kind(X), feature_names=NAMES)
    assert list(model.feature_names_in_) == NAMES
    assert list(model.roles_["variable"]) == NAMES
    assert list(explain(kind(X), model.labels_, feature_names=np.array(NAMES)).roles["variable"]) == NAMES
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X, columns=NAMES)), model.labels_)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_sparse_matrix_is_predicted_without_names():
    model = SparseFisherEM(3, scale="none", n_init=1, random_state=0).fit(sparse.csr_array(X), feature_names=NAMES)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), model.labels_)
    with pytest.raises(ValueError, match="4 features"):
        model.predict(sparse.csr_array(X[:, :4]))


@pytest.mark.parametrize("estimator", [
    FisherEM(3, n_init=1), BayesianFisherEM(3, n_init=1), FactorMixture(3, 1, n_init=1),
    ModelSearch(FisherEM(n_init=1), n_clusters=(2, 3), models=["AB"], criterion="bic", n_jobs=1),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_fit_takes_names(estimator):
    assert list(estimator.fit(sparse.csr_array(X), feature_names=NAMES).feature_names_in_) == NAMES


def test_names_that_do_not_fit():
    for names, match in (
        (NAMES[:4], r"one name per column \(5\); got 4"),
        (["a"] * 5, "'a' twice, at 1 and 2"),
        ("abcde", "must be a list"),
    ):
        with pytest.raises(ValueError, match=match):
            FisherEM(3).fit(sparse.csr_array(X), feature_names=names)
    with pytest.raises(ValueError, match="X has names: rename its columns instead"):
        FisherEM(3).fit(FRAMES["polars"](X), feature_names=list("vwxyz"))
    assert with_names(FRAMES["pandas"](X), NAMES) is not None  # the same names again do no harm


# -- precision -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [
    FisherEM(3, n_init=1, random_state=0), SparseFisherEM(3, n_init=1, random_state=0),
    SparseFisherEM(3, n_init=1, random_state=0, scale="standardise"), BayesianFisherEM(3, n_init=1, random_state=0),
    FactorMixture(3, 1, n_init=1, random_state=0),
], ids=lambda one: type(one).__name__)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_single_precision_stays(estimator):
    single = X.astype(np.float32)
    model = estimator.fit(single)
    doubles = model.predict_proba(X), model.transform(X)
    assert model.means_.dtype == np.float32
    for table in (single, sparse.csr_array(single), da.from_array(single)):
        with np.errstate(all="ignore"):
            found = model.predict_proba(table), model.transform(table)
        assert [np.asarray(one).dtype for one in found] == [np.float32] * 2
        assert [one.dtype for one in found] == [np.float32] * 2  # what a lazy array says of itself, too
        for one, double in zip(found, doubles, strict=True):
            np.testing.assert_allclose(np.asarray(one), double, atol=2e-5)
    assert [one.dtype for one in doubles] == [float] * 2
    assert estimator.fit(pl.DataFrame(single)).transform(pl.DataFrame(single)).dtype == np.float32
    assert estimator.fit(X).means_.dtype == float


def test_single_precision_with_missing_cells_and_in_files(tmp_path):
    single = X.astype(np.float32)
    np.save(tmp_path / "t.npy", single)
    model = FisherEM(3, n_init=1, scale="standardise", memory="5kB", random_state=0).fit(tmp_path / "t.npy")
    assert {model.means_.dtype, model.group_means_.dtype, model.transform(tmp_path / "t.npy").dtype} == {np.dtype("f4")}
    single[3, 1] = np.nan
    model = FisherEM(3, n_init=1, random_state=0).fit(single)
    assert {model.means_.dtype, model.transform(single).dtype, model.predict_proba(single).dtype} == {np.dtype("f4")}


def test_values_beyond_single_precision_become_the_largest():
    found = in_precision_of(np.zeros(1, np.float32), np.array([1e300, -1e300, 1.0, np.nan]))
    np.testing.assert_array_equal(found, np.array([np.finfo("f4").max, -np.finfo("f4").max, 1, np.nan], "f4"))
