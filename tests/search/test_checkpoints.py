"""Finished fits are used again for the same rows and settings only, and never when their file is damaged."""

import warnings

import dask.array as da
import numpy as np
import pytest

from fisherem import FisherEM, ModelSearch
from fisherem.core.data.problem import prepare
from fisherem.core.data.spatial_prior import SpatialPrior
from fisherem.core.engine.checkpoints import fingerprint
from fisherem.search import search_parameters
from fisherem.tables.dask_table import DaskTable
from fisherem.tables.opening import open_table


def mark(rows, weights=None, settings="", **options):
    return fingerprint(prepare(rows, weights, ridge=0.1, **options), settings)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(900, 6)) + 4 * rng.normal(size=(3, 6))[np.arange(900) % 3]


def test_every_value_in_its_place_counts(table):
    marks = {mark(table)}
    rng = np.random.default_rng(1)
    for _ in range(40):  # the moments and nearly all rows stay what they were
        changed = table.copy()
        pair, column = rng.choice(900, 2, replace=False), rng.integers(6)
        changed[pair, column] = changed[pair[::-1], column]
        marks.add(mark(changed))
    for change in (
        lambda X: X[rng.permutation(900)],
        lambda X: X[:, [1, 0, 2, 3, 4, 5]],
        lambda X: np.where(np.arange(6) < 2, -X, X),
        lambda X: np.where((np.arange(900) < 2)[:, None] & (np.arange(6) == 0), -X, X),  # two signs
        lambda X: np.where((np.arange(900) == 5)[:, None] & (np.arange(6) == 3), np.nextafter(X, 9), X),
    ):
        marks.add(mark(change(table)))
    assert len(marks) == 46


def test_weights_settings_types_and_priors_count(table):
    weights = np.random.default_rng(2).uniform(1, 2, 900)
    pixels = np.ones((30, 30), bool)
    found = [
        mark(table),
        mark(table, weights),
        mark(table, weights[::-1].copy()),
        mark(table, settings="other"),
        mark(table.astype(np.float32)),
        mark(table, prior=SpatialPrior(pixels, 1.0)),
        mark(table, prior=SpatialPrior(pixels, 2.0)),
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_where_the_rows_live_does_not_count(table, tmp_path, no_merging, dtype, weighted):
    rows = table.astype(dtype)
    weights = np.random.default_rng(3).uniform(1, 2, 900) if weighted else None
    np.save(tmp_path / "rows.npy", rows)
    expected = mark(rows, weights)
    assert mark(rows, weights, block_rows=77, n_jobs=1) == expected
    for memory in ("20kB", "12kB"):
        file = open_table(tmp_path / "rows.npy", memory=memory).X
        assert mark(file, weights, n_jobs=1) == expected
    assert mark(DaskTable(da.from_array(rows, chunks=(130, 2))), weights) == expected


def test_the_rows_are_centred_again_after_hashing(table):
    problem = prepare(table, ridge=0.1)
    centre = problem.given.centre.copy()
    fingerprint(problem, "")
    np.testing.assert_array_equal(problem.given.centre, centre)


def test_wide_tables(table):
    wide = table[:4].copy()
    before = mark(wide)
    wide[1, 3] += 1e-9
    assert mark(wide) != before


GRID = {"n_clusters": [2], "models": ["DB"], "n_init": 1, "n_jobs": 1}


def test_fits_of_another_version_are_computed_again(table, tmp_path, monkeypatch):
    with monkeypatch.context() as other:
        other.setattr(search_parameters, "__version__", "0.1.0")
        ModelSearch(FisherEM(random_state=0), **GRID, checkpoint=tmp_path).fit(table)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ModelSearch(FisherEM(random_state=0), **GRID, checkpoint=tmp_path).fit(table)
    assert len(before) == 1
    assert len(list(tmp_path.iterdir())) == 2
    assert all((tmp_path / name).read_bytes() == content for name, content in before.items())


def test_a_damaged_checkpoint_is_reported_and_the_fit_computed_again(table, tmp_path):
    """One flipped bit at a time, in the data, in the names and in the directory of the archive."""
    grid = {**GRID, "checkpoint": tmp_path}
    search = ModelSearch(FisherEM(random_state=0), **grid).fit(table)
    (file,) = tmp_path.glob("*.npz")
    good = file.read_bytes()
    directory = good.rindex(b"PK\x01\x02")
    # the version that is needed, the way of packing, a flag, the size, the name, and a value
    for place in (6, 8, directory + 8, directory + 10, directory + 24, directory + 46, len(good) // 2):
        damaged = bytearray(good)
        damaged[place] ^= 64
        file.write_bytes(damaged)
        again = _quietly_or_reported(grid, table, file)
        np.testing.assert_array_equal(again.labels_, search.labels_)
        assert again.results_["bic"].tolist() == search.results_["bic"].tolist()


def _quietly_or_reported(grid, table, file):
    """Some bits of an archive mean nothing; those that do must be reported with the file's name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ModelSearch(FisherEM(random_state=0), **grid).fit(table)
    assert all(f"checkpoint {file} cannot be used" in str(w.message) for w in caught)
    return found
