"""--stability N: how often each row's group and each variable came back, in the terminal, the files and the page."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.running import printed


@pytest.fixture(scope="module")
def blobs_csv(tmp_path_factory):
    """90 rows in three groups that three of six columns make."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    X[:30, :2] += 5
    X[30:60, 1:3] -= 5
    path = tmp_path_factory.mktemp("data") / "blobs.csv"
    pd.DataFrame(X, columns=list("abcdef")).assign(id=[f"r{i}" for i in range(90)]).to_csv(path, index=False)
    return path


FAST = ("--n-init", 1, "--jobs", 1, "--noise-factors", 0)


def test_fit_says_what_comes_back(blobs_csv, tmp_path):
    out = tmp_path / "out"
    shown = printed("fit", blobs_csv, "-k", 3, "--id-column", "id", "--stability", 3, "-o", out, *FAST)
    labels, variables, roles = (pd.read_csv(out / f"{name}.csv") for name in ("labels", "variables", "roles"))
    assert list(labels.columns) == ["id", "cluster", "posterior", "tail_probability", "reproducibility"]
    assert (np.round(3 * labels["reproducibility"], 9) % 1 == 0).all()
    share = f"{labels['reproducibility'].mean():.0%}"
    assert f"assigned to their group again in {share} of 3 refits on 50% of the rows" in " ".join(shown.split())
    assert labels["reproducibility"].mean() > 0.9
    for table in (variables, roles):
        assert table["reproducibility"].between(0, 1).all()
    np.testing.assert_array_equal(variables["reproducibility"], roles["reproducibility"])
    assert "selected again" in shown
    page = (out / "report.html").read_text()
    assert "Stability on other rows" in page
    assert "stable rows" in page


def test_search_refits_the_number_of_groups_that_it_chose(blobs_csv, tmp_path):
    arguments = ("search", blobs_csv, "--id-column", "id", "-k", "2,3", "--stability", 2, "--n-init", 1, "--jobs", 1)
    result = json.loads(printed(*arguments, "-o", tmp_path / "out", "--json"))
    found = result["stability"]
    assert result["n_clusters"] == 3
    assert found["n_refits"] == 2
    assert 0.5 <= found["rows"] <= 1
    assert set(found["variables"]) == set(result["variables"])
    assert "reproducibility" in pd.read_csv(tmp_path / "out" / "labels.csv").columns


def test_without_it_saturated_posteriors_are_not_called_certain(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 40)), columns=[f"v{j}" for j in range(40)])
    X.to_csv(tmp_path / "wide.csv", index=False)
    arguments = ("fit", tmp_path / "wide.csv", "-k", 2, "--method", "dense", "-o", tmp_path / "out", *FAST)
    shown = " ".join(printed(*arguments).split())
    assert "fewer rows (30) than variables (40)" in shown
    assert "Use --stability 20 to check which groups and variables are found again" in shown
    assert "reproducibility" not in pd.read_csv(tmp_path / "out" / "labels.csv").columns
    result = json.loads(printed(*arguments, "--json"))
    assert result["certainty"]["saturated"]
    assert result["stability"] is None
    assert "rows in doubt</dt><dd>unknown" in (tmp_path / "out" / "report.html").read_text()


def test_a_table_in_blocks_is_sampled_within_its_budget(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    X[:2000, :2] += 6
    np.save(tmp_path / "big.npy", X)
    arguments = ("fit", tmp_path / "big.npy", "-k", 2, "--stability", 2, "--memory", "100kB", "--method", "dense")
    result = json.loads(printed(*arguments, *FAST, "-o", tmp_path / "out", "--json"))
    assert result["stability"]["fraction"] == 520 / 4000  # a quarter of the budget: 25,000 bytes of 48 a row
    assert result["stability"]["rows"] > 0.98


def test_one_refit_is_refused(blobs_csv):
    assert "--stability" in printed("fit", blobs_csv, "-k", 2, "--stability", 1, code=2)
