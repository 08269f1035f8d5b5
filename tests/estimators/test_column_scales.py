"""A column ten times as large as the median one is named where nothing is scaled."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fisherem import FisherEM, ModelSearch, datasets
from fisherem.cli import main
from fisherem.core.data.problem import prepare
from fisherem.policy.column_scales import large_columns


@pytest.fixture(scope="module")
def table():
    """Two groups on three columns of ordinary size, and an income that has nothing to do with them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[:40] += 5
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "income": 40_000 * rng.normal(size=80), "c": X[:, 2]})


def quick(**parameters):
    return FisherEM(2, n_init=1, random_state=0, **parameters)


def test_the_column_and_the_remedy_are_named(table):
    with pytest.warns(UserWarning, match=r"column 'income' has a standard deviation .* times the median") as said:
        quick().fit(table)
    assert len(said) == 1
    assert "scale='auto'" in str(said[0].message)
    assert "--auto-scale" in str(said[0].message)
    with pytest.warns(UserWarning, match="column 'x3' has"):
        quick().fit(table.to_numpy())


@pytest.mark.parametrize("scale", ["auto", "standardise"])
def test_the_remedy_helps(table, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = quick(scale=scale).fit(table)
        make_pipeline(StandardScaler(), quick()).fit(table)
    assert len(set(model.labels_[:40])) == len(set(model.labels_[40:])) == 1 or scale == "auto"


@pytest.mark.parametrize("options", [{"n_clusters": [2], "n_splits": 2}, {"n_clusters": [2], "models": ["AB"]}])
@pytest.mark.filterwarnings("ignore:2 is the largest number of groups")
def test_searches_say_it_once(table, options):
    with pytest.warns(UserWarning, match="column 'income' has") as said:
        ModelSearch(quick(), n_jobs=1, progress=False, **options).fit(table)
    assert sum("income" in str(w.message) for w in said) == 1


@pytest.mark.filterwarnings("always:without scaling")
def test_the_command_line_says_it_where_scaling_is_off(table, tmp_path):
    table.to_csv(tmp_path / "x.csv", index=False)
    options = [str(tmp_path / "x.csv"), "-k", "2", "--method", "dense", "--n-init", "1"]
    raw = CliRunner().invoke(main, ["fit", *options, "--no-scale", "-o", str(tmp_path / "raw")])
    assert raw.exit_code == 0
    assert "note: without scaling, the largest columns dominate the groups: column 'income'" in raw.stderr
    scaled = CliRunner().invoke(main, ["fit", *options, "-o", str(tmp_path / "scaled")])
    assert "without scaling" not in scaled.output


def found(sizes):
    X = np.random.default_rng(1).normal(size=(50, len(sizes)))
    X = (X - X.mean(axis=0)) / X.std(axis=0) * sizes
    columns, times = large_columns(prepare(X, ridge="auto"))
    return columns.tolist(), times


def test_ten_times_the_median_column():
    assert found([1, 2, 2500, 1])[0] == [2]
    assert found([1, 2, 30, 2])[1] == pytest.approx(15)
    assert found([1, 1, 9.9, 1])[0] == []
    assert found([1, 1, 10.1, 1])[0] == [2]
    assert found([50, 1, 20, 1, 1])[0] == [0, 2]
    assert found([1e4, 1e4, 1e4, 1])[0] == []  # most are large: it is one that is small
    assert found([3000, 0, 1, 1])[0] == [0]  # a constant column is no measure


def test_wide_tables_and_real_ones():
    X = np.random.default_rng(2).normal(size=(20, 60))
    X[:, 7] *= 1e5
    assert large_columns(prepare(X, ridge="auto"))[0].tolist() == [7]
    wine, iris = (datasets.load(name, as_frame=True)[0] for name in ("wine", "iris"))
    assert list(wine.columns[large_columns(prepare(wine.to_numpy(), ridge="auto"))[0]]) == ["magnesium", "proline"]
    assert not len(large_columns(prepare(iris.to_numpy(), ridge="auto"))[0])


@pytest.mark.filterwarnings("ignore:without scaling")
def test_the_summary_repeats_it(table):
    model = quick().fit(table)
    assert "column 'income' has a standard deviation" in model.scale_warning_
    assert f"  ! {model.scale_warning_}" in str(model.summary())
    scaled = quick(scale="standardise").fit(table)
    assert scaled.scale_warning_ == ""
    assert "without scaling" not in str(scaled.summary())


@pytest.mark.filterwarnings("ignore:without scaling")
def test_it_comes_first_where_a_fit_does_not_converge(table):
    with pytest.warns(ConvergenceWarning, match=r"^without scaling.* no convergence within max_iter=2"):
        quick(max_iter=2, tol=0.0).fit(table)
    with pytest.warns(ConvergenceWarning, match="^no convergence within max_iter=2"):
        quick(max_iter=2, tol=0.0, scale="standardise").fit(table)
