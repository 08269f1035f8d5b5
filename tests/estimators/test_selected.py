"""Prediction from the selected columns: what depends on them alone, and what does not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

from fisherem import SparseFisherEM, datasets
from fisherem.cli import main


@pytest.fixture(scope="module")
def fitted():
    X, _ = datasets.load("wine", as_frame=True)
    X = (X - X.mean()) / X.std()
    return SparseFisherEM(3, random_state=0).fit(X), X


def test_the_selected_columns_are_enough(fitted):
    model, X = fitted
    names = list(X.columns[model.support_])
    for table in (X[names], X[names[::-1]], X[names].assign(other=1.0), X.assign(other=1.0)):
        np.testing.assert_array_equal(model.predict(table), model.labels_)
        np.testing.assert_allclose(model.predict_proba(table), model.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose(model.transform(table), model.transform(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(pl.from_pandas(X[names])), model.labels_)


def test_densities_need_all_columns_and_a_missing_selected_one_is_named(fitted):
    model, X = fitted
    names = list(X.columns[model.support_])
    with pytest.raises(ValueError, match="missing"):
        model.score_samples(X[names])
    with pytest.raises(ValueError, match=names[0]):
        model.predict(X.drop(columns=names[0]))
    with pytest.raises(ValueError, match="order"):
        model.predict(X[X.columns[::-1]])


def test_where_all_variables_vote_all_are_needed(fitted):
    _, X = fitted
    for changes in ({"means": "full", "sparsity": 0.2}, {"model": "DkBk", "sparsity": 0.4}):
        model = SparseFisherEM(3, random_state=0, **changes).fit(X)
        with pytest.raises(ValueError, match="missing"):
            model.predict(X[X.columns[model.support_]])


def test_the_command_line_predicts_from_the_selected_columns(tmp_path):
    X, _ = datasets.load("wine", as_frame=True)
    X.to_csv(tmp_path / "wine.csv", index=False)
    out = tmp_path / "out"
    run = CliRunner().invoke(main, ["fit", str(tmp_path / "wine.csv"), "-k", "3", "-o", str(out)])
    assert run.exit_code == 0, run.output
    roles = pd.read_csv(out / "roles.csv")
    chosen = list(roles["variable"][roles["role"] == "selected"])
    X[chosen[::-1]].to_csv(tmp_path / "few.csv", index=False)
    labels = tmp_path / "labels.csv"
    run = CliRunner().invoke(main, ["predict", str(out / "model.skops"), str(tmp_path / "few.csv"), "-o", str(labels)])
    assert run.exit_code == 0, run.output
    assert list(pd.read_csv(labels)["cluster"]) == list(pd.read_csv(out / "labels.csv")["cluster"])
