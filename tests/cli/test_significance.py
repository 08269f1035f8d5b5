"""`fisherem significance MODEL DATA`: p-values in a file, in the terminal and as JSON, and where they cannot be had."""

import json

import numpy as np
import pandas as pd
import pytest

from fisherem import load, save, significance
from fisherem.search import one_group_fits
from tests.running import printed


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """(a table of 90 rows in two groups that two of five columns make, the model file of its fit)."""
    folder = tmp_path_factory.mktemp("fitted")
    X = np.random.default_rng(0).normal(size=(90, 5))
    X[:45, :2] += 5
    frame = pd.DataFrame(X, columns=["=a", "b", "c", "d", "e"]).assign(id=[f"r{i}" for i in range(90)])
    frame.to_csv(folder / "table.csv", index=False)
    printed("fit", folder / "table.csv", "-k", 2, "--n-init", 1, "--jobs", 1, "--scale", "-o", folder / "out")
    return folder / "table.csv", folder / "out" / "model.skops"


def test_the_file_holds_what_python_returns(fitted):
    table, model = fitted
    shown = printed("significance", model, table, "--draws", 24, "--seed", 3, "--jobs", 1, "-o", "new/p.csv")
    written = pd.read_csv("new/p.csv")
    expected = significance(load(model), pd.read_csv(table).drop(columns="id"), 24, random_state=3, n_jobs=1)
    assert written["variable"].tolist() == ["'=a", "b", "c", "d", "e"]  # spreadsheets compute nothing
    pd.testing.assert_frame_equal(written.drop(columns="variable"), expected.drop(columns="variable"))
    assert (written["q"] < 0.05).tolist() == [True, True, False, False, False]
    first, last = shown.strip().splitlines()
    assert first.startswith("q < 0.05 for 2 of 5 variables: ")
    assert f"b {written['q'][1]:.2g}" in first
    assert last == "24 tables of one group: new/p.csv"


def test_pairs_json_and_quiet(fitted):
    table, model = fitted
    result = json.loads(printed("significance", model, table, "--draws", 3, "--pairs", "--jobs", 1, "--json"))
    assert result["file"] == "significance.csv"
    assert result["draws"] == 3
    assert [row["variable"] for row in result["results"]] == ["=a", "b", "c", "d", "e"]
    assert {(row["group"], row["other"]) for row in result["results"]} == {(1, 2)}
    assert printed("significance", model, table, "--draws", 2, "--jobs", 1, "--quiet") == ""


def test_pairs_are_called_by_the_names_of_their_groups(fitted):
    table, model = fitted
    arguments = ("--draws", 24, "--pairs", "--jobs", 1)
    first, second, _ = printed("significance", model, table, *arguments).strip().splitlines()
    assert first == "q < 0.05 for 2 of 5 differences"
    assert second == "group 1 and group 2: b 0.04, =a 0.04"
    named = load(model)
    named[-1].name_groups(["low", "high"])
    save(named, "named.skops")
    _, second, _ = printed("significance", "named.skops", table, *arguments).strip().splitlines()
    assert second == "low and high: b 0.04, =a 0.04"


def test_an_interrupted_command_goes_on(fitted, monkeypatch):
    table, model = fitted
    arguments = ("significance", model, table, "--draws", 6, "--jobs", 1, "--checkpoint", "draws.npz")
    whole, done = one_group_fits._drawn, []

    def pressed(*given):
        done.append(given[3])
        if len(done) == 4:
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(one_group_fits, "_drawn", pressed)
    said = printed(*arguments, code=130)
    assert "interrupted: finished draws are in draws.npz, and the same command resumes from there" in said
    printed(*arguments)
    assert done[4:] == [4, 5, 6]
    assert len(pd.read_csv("significance.csv")) == 5


def test_bad_input_is_one_line(fitted, tmp_path):
    table, model = fitted
    frame = pd.read_csv(table)
    frame[:50].to_csv("short.csv", index=False)
    frame.assign(b=frame["b"].mask(frame.index == 7)).to_csv("gap.csv", index=False)
    before = model.read_bytes()
    for arguments, said in (
        ((model, "short.csv"), "X must be the rows of the fit (90); got 50 rows"),
        ((model, "gap.csv"), "the first is row 8, column 'b'"),
        ((model, table, "--draws", 0), "--draws"),
        ((model, table, "-o", model), "would be overwritten"),
        ((model, table, "--checkpoint", table), "would be overwritten"),
        ((model, table, "--checkpoint", "same.csv", "-o", "same.csv"), "is both --checkpoint and -o"),
        ((model, table, "--checkpoint", "short.csv"), "is not a file of finished draws"),
    ):
        assert said in printed("significance", *arguments, code=2)
    assert model.read_bytes() == before
    printed("explain", table, "--label-column", "d", "-o", "explained", code=2)  # too many groups
    frame.assign(g=frame["b"] > 2.5).to_csv("given.csv", index=False)
    printed("explain", "given.csv", "--label-column", "g", "-o", "explained")
    assert "init gives the groups" in printed("significance", "explained/model.skops", table, code=2)
