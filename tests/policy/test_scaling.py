"""Columns are scaled unless they share a unit; where nothing is to be scaled, a large column is named."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets
from fisherem.cli import main
from fisherem.core.data.problem import prepare
from fisherem.policy.scaling import large_columns_text, scaling, share_a_unit


@pytest.fixture(scope="module")
def table():
    """Two groups on three columns of ordinary size, and an income that has nothing to do with them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    X[:40] += 5
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "income": 40_000 * rng.normal(size=80), "c": X[:, 2]})


def quick(**parameters):
    return FisherEM(2, **{"n_init": 1, "random_state": 0, "scale": "none"} | parameters)


def test_the_column_and_the_remedy_are_named(table):
    with pytest.warns(UserWarning, match=r"column 'income' has a standard deviation .* times the median") as said:
        quick().fit(table)
    assert len(said) == 1
    assert "scale='auto'" in str(said[0].message)
    assert "--no-scale" in str(said[0].message)
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


def made(sizes):
    X = np.random.default_rng(1).normal(size=(50, len(sizes)))
    return prepare((X - X.mean(axis=0)) / X.std(axis=0) * sizes, ridge="auto")


def test_ten_times_the_median_column():
    assert large_columns_text(made([1, 1, 9.9, 1]), None) == ""
    assert "column 'x3' has a standard deviation 15 times" in large_columns_text(made([2, 2, 30, 2]), None)
    assert "columns 'x1', 'x3' have standard deviations up to 50" in large_columns_text(made([50, 1, 20, 1, 1]), None)
    assert large_columns_text(made([1e4, 1e4, 1e4, 1]), None) == ""  # most are large: it is one that is small
    assert "'x1'" in large_columns_text(made([3000, 0, 1, 1]), None)  # a constant column is no measure


def test_the_bound_on_the_largest_column_grows_with_their_number():
    few, many = np.ones(4), np.ones(4000)
    few[0], many[0] = 3, 3
    assert not share_a_unit(few)
    assert share_a_unit(many)
    assert share_a_unit(np.array([1.0, 1, 1, 0]))  # a constant column says nothing
    assert not share_a_unit(np.array([1.0, 1, 1, 1, 1, 9, 9, 9]))  # two kinds of columns: the quartiles tell


def test_real_tables_in_any_unit():
    """Python's default is as good on the raw wines as on standardised ones, and says what it did."""
    X, _ = datasets.load("wine", as_frame=True)
    raw = SparseFisherEM(3, random_state=0).fit(X)
    given = SparseFisherEM(3, random_state=0).fit((X - X.mean()) / X.std(ddof=0))
    np.testing.assert_array_equal(raw.labels_, given.labels_)
    assert raw.scale_ == "standardise"
    assert given.scale_ == "none"
    assert raw.decisions_["reason"][0].startswith(
        "the columns differ in unit: the largest standard deviation is 388 times"
    )
    assert "columns divided by their standard deviations" in str(raw.summary())
    assert scaling(prepare(datasets.simulate(100, 1.7, random_state=0)[0], ridge="auto"), "auto")[0] == "none"


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
