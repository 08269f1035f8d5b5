"""What surrounds a fit to rows with gaps: files, the command line, searches, comparisons, explanations."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem import FisherEM, ModelSearch, SparseFisherEM, compare, explain, stability
from fisherem.cli import main

from .test_fits import with_gaps


@pytest.fixture(scope="module")
def frame(wine):
    X = with_gaps(wine[0], 0.1)
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])


@pytest.fixture
def csv(frame, tmp_path):
    frame.to_csv(tmp_path / "wine.csv", index=False, na_rep="NA")
    return tmp_path / "wine.csv"


def run(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


def test_files_that_are_read_whole_may_have_empty_cells(frame, csv, tmp_path):
    parameters = {"model": "AkB", "noise_factors": 2, "random_state": 0}
    there = FisherEM(3, **parameters).fit(frame)
    assert (FisherEM(3, **parameters).fit(csv).labels_ == there.labels_).all()
    np.save(tmp_path / "wine.npy", frame.to_numpy())
    assert (FisherEM(3, **parameters).fit(tmp_path / "wine.npy").labels_ == there.labels_).all()
    with pytest.raises(ValueError, match="contains NaN: row 0"):
        FisherEM(3, **parameters, memory=30_000).fit(tmp_path / "wine.npy")


@pytest.mark.parametrize(("treatment", "columns"), [("model", 13), ("drop-rows", 13), ("drop-columns", 12)])
def test_the_command_line_says_what_is_done_about_gaps(frame, tmp_path, treatment, columns):
    rows = len(frame.dropna()) if treatment == "drop-rows" else len(frame)
    if treatment == "drop-columns":
        frame = frame.fillna(0.0)
        frame.iloc[3, 5] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    done = run("fit", tmp_path / "t.csv", "-k", 3, "--noise-factors", 2, "--missing", treatment, "-o", out)
    assert done.exit_code == 0, done.output
    assert f"(--missing {treatment})" in " ".join(done.output.split())
    assert len(pd.read_csv(out / "labels.csv")) == rows
    assert len(pd.read_csv(out / "roles.csv")) == columns


def test_gaps_can_be_refused(csv):
    done = run("fit", csv, "-k", 3, "--missing", "refuse")
    assert done.exit_code == 2
    assert "the cell is empty" in done.output


def test_predict_counts_the_gaps(csv, tmp_path):
    out = tmp_path / "out"
    assert run("fit", csv, "-k", 3, "-o", out).exit_code == 0
    done = run("predict", out / "model.skops", csv, "-o", tmp_path / "new.csv")
    assert done.exit_code == 0, done.output
    assert "cells are missing" in done.output
    assert (pd.read_csv(tmp_path / "new.csv")["cluster"] == pd.read_csv(out / "labels.csv")["cluster"]).all()


def test_rivals_get_the_models_imputation(frame, wine):
    found = compare(frame, wine[1], ["FisherEM", "k-means"], 3)
    assert found.n_missing == frame.isna().sum().sum()
    assert (found.table["accuracy"] > 0.85).all()
    assert found.models["FisherEM"].n_missing_ == found.n_missing


def test_a_search_by_a_criterion_takes_gaps(frame):
    search = ModelSearch(FisherEM(random_state=0), n_clusters=[2, 3], models=["AkB", "DkB"], criterion="bic").fit(frame)
    best = search.best_estimator_
    assert best.bic_ == pytest.approx(search.best_score_)
    assert best.bic(frame) == pytest.approx(search.best_score_, rel=1e-6)
    assert (search.predict(frame) == best.labels_).all()


def test_a_search_by_verdict_takes_gaps(frame):
    search = ModelSearch(FisherEM(random_state=0), n_clusters=[2, 3], n_splits=2).fit(frame)
    assert search.best_estimator_.n_missing_ == frame.isna().sum().sum()
    assert search.verdict_.n_clusters in (1, 2, 3)


def test_stability_takes_gaps(frame):
    found = stability(SparseFisherEM(3, model="AkB", noise_factors=2, random_state=0), frame, n_subsamples=2)
    assert not found.failures
    assert found.frequencies.max() > 0.5


def test_given_groups_are_explained_with_gaps(frame, wine):
    found = explain(frame, wine[1])
    assert np.isfinite(found.value)
    assert found.support.any()
