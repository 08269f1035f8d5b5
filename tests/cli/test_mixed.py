"""Files with text, categories and counts on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

from fisherem import load
from tests.estimators.test_mixed import mixed
from tests.running import run


@pytest.fixture
def table(tmp_path):
    frame, groups = mixed()
    frame = frame.assign(grade=frame["grade"].cat.codes, letter=frame["letter"].map(ord), group=groups)
    frame.loc[3, "colour"] = None
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    frame.to_parquet(tmp_path / "mixed.parquet")
    return tmp_path


def fit(table, name, *more):
    arguments = ("-k", 3, "--label-column", "group", "--categories", "letter", "--jobs", 1, "-o", table / "out")
    return run("fit", table / name, *arguments, *more)


def test_text_takes_part_and_is_named(table):
    result = fit(table, "mixed.csv")
    assert "columns 'colour' (3 categories), 'warm' (2 categories), 'letter' (4 categories) take part" in result.stderr
    assert "--drop leaves them out, --label-column only scores" in result.stderr
    model = load(table / "out/model.skops")
    assert list(model.feature_names_in_[model.support_]) == ["number", "colour", "warm"]
    roles = pd.read_csv(table / "out/roles.csv")
    assert list(roles["variable"]) == ["number", "colour", "warm", "noise", "letter", "grade"]
    shares = pd.read_csv(table / "out/categories.csv")
    assert set(shares["variable"]) == {"colour", "warm", "letter"}
    columns = pd.read_csv(table / "out/variables.csv")
    assert list(columns["name"][:4]) == ["number", "colour=blue", "colour=green", "colour=red"]
    assert "The categories in each group" in (table / "out/report.html").read_text()


def test_new_rows_from_other_files(table):
    fit(table, "mixed.csv", "-q")
    wanted = pd.read_csv(table / "out/labels.csv")["cluster"]
    for name in ("mixed.csv", "mixed.parquet"):
        run("predict", table / "out/model.skops", table / name, "-o", table / "new.csv")
        np.testing.assert_array_equal(pd.read_csv(table / "new.csv")["cluster"], wanted)
    few = pd.read_csv(table / "mixed.csv")[["warm", "colour", "number"]]
    few.to_csv(table / "few.csv", index=False)
    run("predict", table / "out/model.skops", table / "few.csv", "-o", table / "new.csv")
    np.testing.assert_array_equal(pd.read_csv(table / "new.csv")["cluster"], wanted)
    run("report", table / "out/model.skops", table / "mixed.csv", "-o", table / "page.html")
    assert "The categories in each group" in (table / "page.html").read_text()
    few.assign(colour="purple").to_csv(table / "few.csv", index=False)
    result = run("predict", table / "out/model.skops", table / "few.csv", "-o", table / "new.csv", code=2)
    assert "'purple' is none of the categories" in result.stderr


def test_parquet_is_read_as_text_is(table):
    fit(table, "mixed.csv", "-q")
    wanted = pd.read_csv(table / "out/labels.csv")["cluster"]
    fit(table, "mixed.parquet", "-q", "--force")
    np.testing.assert_array_equal(pd.read_csv(table / "out/labels.csv")["cluster"], wanted)


def test_explain_and_search(table):
    arguments = ("--label-column", "group", "--categories", "letter", "-o", table / "out", "--json")
    found = json.loads(run("explain", table / "mixed.csv", *arguments).stdout)
    assert sorted(found["roles"]["selected"]) == ["colour", "number", "warm"]
    arguments = ("--label-column", "group", "-k", "3", "--jobs", 1, "-o", table / "out", "--force", "--json")
    found = json.loads(run("search", table / "mixed.csv", *arguments).stdout)
    assert found["n_variables"] == 6


def test_wrong_options(table):
    result = run("fit", table / "mixed.csv", "--categories", "no", "-o", table / "out", code=2)
    assert "--categories names 'no'" in result.stderr
    result = run("compare", table / "mixed.csv", "-k", 3, "--categories", "letter", code=2)
    assert "--categories is for fit, search and explain" in result.stderr
    result = run("compare", table / "mixed.csv", "-k", 3, code=2)
    assert "column 'colour' holds text" in result.stderr
    frame = pd.read_csv(table / "mixed.csv").assign(colour=[f"c{i % 200}" for i in range(240)])
    frame.to_csv(table / "names.csv", index=False)
    result = run("fit", table / "names.csv", "-k", 3, "-o", table / "out", code=2)
    assert "column 'colour' holds text" in result.stderr


@pytest.mark.filterwarnings("default:the table holds counts")
def test_counts(tmp_path):
    from tests.tables.test_counts import counts

    X, groups = counts()
    X = X[:, X.any(axis=0)]
    pd.DataFrame(X.astype(int), columns=[f"g{j}" for j in range(X.shape[1])]).assign(y=groups).to_csv(
        tmp_path / "counts.csv", index=False
    )
    common = (tmp_path / "counts.csv", "-k", 3, "--label-column", "y", "--jobs", 1, "-o", tmp_path / "out", "--force")
    assert "the table holds counts" in run("fit", *common).stderr
    found = json.loads(run("fit", *common, "--counts", "--json").stdout)
    assert found["scores"]["ari"] > 0.8
    same = json.loads(run("fit", *common, "--transformation", "log-counts", "--json").stdout)
    assert same["scores"] == found["scores"]
    run("predict", tmp_path / "out/model.skops", tmp_path / "counts.csv", "-o", tmp_path / "new.csv")
    labels = [pd.read_csv(tmp_path / name)["cluster"] for name in ("new.csv", "out/labels.csv")]
    np.testing.assert_array_equal(*labels)


@pytest.mark.parametrize(("option", "expected"), [("--scale", "standardise"), ("--no-scale", "none")])
def test_criteria_name_the_scaling(tmp_path, option, expected):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)) + 5 * (np.arange(60) < 30)[:, None], columns=list("abc"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = (tmp_path / "t.csv", "-k", 2, option, "--jobs", 1, "-o", tmp_path / "out", "--json")
    assert json.loads(run("fit", *arguments).stdout)["scale"] == expected
    assert pd.read_csv(tmp_path / "out/criteria.csv")["scale"].item() == expected
