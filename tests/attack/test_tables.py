"""Tables in memory and in files: every container and type of numbers, and every kind of cell that is none."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import strategies as st

from fisherem import FisherEM

from .invariants import check_fit
from .outcomes import Case, attack

BAD_CELLS = {
    "NaN": np.nan, "infinity": np.inf, "none": None, "word": "n.d.", "date": pd.Timestamp("2020-02-02"),
    "duration": pd.Timedelta("3h"), "list": [1, 2],
}  # fmt: skip


# What is a missing cell: fitted around in memory, refused in a file.
GAPS = ("NaN", "none", "mask")


@dataclass(frozen=True)
class Drawn:
    """A table of n x p numbers in two groups, how it is held, and what is wrong with it."""

    n: int
    p: int
    seed: int
    dtype: str
    container: str
    damage: str
    place: tuple[int, int]

    def rows(self) -> np.ndarray:
        """The numbers."""
        rng = np.random.default_rng(self.seed)
        rows = rng.normal(size=(self.n, self.p)) + 8 * rng.integers(2, size=(self.n, 1)) * rng.normal(size=self.p)
        return (10 * rows).astype(self.dtype)


def _object_frame(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows).add_prefix("v").astype(object)


CONTAINERS = {
    "array": lambda rows, folder: rows,
    "columns first": lambda rows, folder: np.asfortranarray(rows),
    "strided": lambda rows, folder: np.repeat(rows, 2, axis=0)[::2],
    "read only": lambda rows, folder: _frozen(rows),
    "list": lambda rows, folder: rows.tolist(),
    "pandas": lambda rows, folder: pd.DataFrame(rows).add_prefix("v"),
    "objects": lambda rows, folder: _object_frame(rows),
    "nullable": lambda rows, folder: pd.DataFrame(rows).add_prefix("v").convert_dtypes(),
    "polars": lambda rows, folder: pl.DataFrame({f"v{j}": rows[:, j] for j in range(rows.shape[1])}),
    "masked": lambda rows, folder: np.ma.masked_array(rows, mask=False),
    "npy": lambda rows, folder: _saved(rows, folder),
    "parquet": lambda rows, folder: _written(rows, folder, "parquet"),
    "csv": lambda rows, folder: _written(rows, folder, "csv"),
}


def _frozen(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows.setflags(write=False)
    return rows


def _saved(rows: np.ndarray, folder):
    np.save(folder / "t.npy", rows)
    return folder / "t.npy"


def _written(rows: np.ndarray, folder, kind: str):
    path = folder / f"t.{kind}"
    native = rows.astype(rows.dtype.newbyteorder("="))  # other byte orders cannot be written
    getattr(pd.DataFrame(native).add_prefix("v"), f"to_{kind}")(path, index=False)
    return path


def _damaged(drawn: Drawn, folder):
    """(what is fitted, words of which an error must contain one)."""
    rows = drawn.rows()
    i, j = drawn.place
    where = (f"row {i}", f"row {i + 1},", f"line {i + 2},", f"column {j}", f"'v{j}'")
    if drawn.damage == "nothing":
        return CONTAINERS[drawn.container](rows, folder), where
    if drawn.damage == "mask":
        mask = np.zeros(rows.shape, bool)
        mask[i, j] = True
        return np.ma.masked_array(rows, mask), where
    if drawn.damage == "twice":
        return pd.DataFrame(rows, columns=["v0"] * drawn.p), ("'v0'",)
    if drawn.damage == "one row":
        return CONTAINERS[drawn.container](rows[:1], folder), ("row", "sample")
    if drawn.damage == "flat":
        return rows[:, 0], ("2D",)
    frame = _object_frame(rows)
    frame.iat[i, j] = BAD_CELLS[drawn.damage]
    if drawn.container == "csv" and drawn.damage != "list":
        frame.to_csv(folder / "bad.csv", index=False)
        return folder / "bad.csv", where
    return frame if drawn.container != "list" else frame.to_numpy().tolist(), where


@st.composite
def tables(draw) -> Drawn:
    n, p = draw(st.integers(6, 40)), draw(st.integers(2, 8))
    damage = draw(st.sampled_from(["nothing"] * 8 + ["mask", "twice", "one row", "flat", *BAD_CELLS]))
    return Drawn(
        n, p, draw(st.integers(0, 10**6)), draw(st.sampled_from(["f8", "f4", "f2", "i4", "u1", "i8", ">f8"])),
        draw(st.sampled_from(sorted(CONTAINERS))), damage, (draw(st.integers(0, n - 1)), draw(st.integers(0, p - 1))),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def test_tables(folder):
    def case_of(drawn: Drawn) -> Case:
        X, names = _damaged(drawn, folder)

        def run():
            return FisherEM(2, model="DkB", init="random", n_init=1, random_state=0, n_jobs=1).fit(X)

        # equal rows, or a group that cannot be told apart, are refused as well, in words of their own
        fine = drawn.damage in ("nothing", *GAPS)
        return Case(run, (*names, "distinct row", "are equal", "starts led to a fit") if fine else names,
                    lambda model: check_fit(model, X), None if fine else False)  # fmt: skip

    attack("tables", tables(), case_of, default=60)


def test_every_container_gives_the_same_fit(folder):
    rows = Drawn(30, 4, 1, "f8", "array", "nothing", (0, 0)).rows()
    expected = FisherEM(2, model="DkB", init="random", n_init=1, random_state=0, n_jobs=1).fit(rows)
    for name, hold in CONTAINERS.items():
        model = FisherEM(2, model="DkB", init="random", n_init=1, random_state=0, n_jobs=1).fit(hold(rows, folder))
        np.testing.assert_array_equal(model.labels_, expected.labels_, err_msg=name)
        np.testing.assert_allclose(model.bic_, expected.bic_, rtol=1e-9, err_msg=name)
