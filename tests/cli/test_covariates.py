"""--covariate: a column of the file or of the sample sheet whose effect is estimated with the groups."""

import json

import numpy as np
import pandas as pd
import pytest

from fisherem import load
from tests.running import printed

FAST = ("--n-init", 1, "--jobs", 1, "-k", 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with one.csv (genes, batch and kind), plain.csv and turned.csv (genes), and samples.csv."""
    rng = np.random.default_rng(0)
    n = 120
    batch = rng.integers(0, 2, n)
    kind = (rng.uniform(size=n) < np.where(batch == 0, 0.7, 0.3)).astype(int)
    X = rng.normal(size=(n, 30))
    X[:, :10] += 2 * kind[:, None]
    X[:, 10:] += 3 * batch[:, None]
    genes = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    genes.insert(0, "id", [f"s{i}" for i in range(n)])
    folder = tmp_path_factory.mktemp("data")
    genes.to_csv(folder / "plain.csv", index=False)
    genes.assign(batch=np.where(batch, "B", "A"), kind=kind).to_csv(folder / "one.csv", index=False)
    genes.assign(batch=np.where(batch, "B", "A"), kind=kind).to_parquet(folder / "one.parquet", index=False)
    genes.set_index("id").T.to_csv(folder / "turned.csv")
    about = pd.DataFrame({"sample": genes["id"], "batch": batch + 1, "age": rng.normal(50, 9, n), "kind": kind})
    about.sample(frac=1, random_state=0).to_csv(folder / "samples.csv", index=False)
    return folder


def accuracy(out):
    return json.loads(out.splitlines()[-1])["scores"]["accuracy"]


@pytest.mark.parametrize(
    "given",
    [
        ("one.csv", "--covariate", "batch"),
        ("one.parquet", "--covariate", "batch", "--id-column", "id"),
        ("plain.csv", "--samples", "samples.csv", "--covariate", "batch", "--covariate", "age"),
        ("turned.csv", "--transpose", "--samples", "samples.csv", "--covariate", "batch"),
        ("one.csv", "--covariate", "batch", "--scale"),
    ],
)
def test_a_covariate_is_taken_out_and_is_no_variable(files, tmp_path, monkeypatch, given):
    monkeypatch.chdir(files)
    out = tmp_path / "out"
    shown = printed("fit", *given, "--label-column", "kind", "-o", out, "--json", *FAST)
    assert accuracy(shown) > 0.95
    variables = pd.read_csv(out / "variables.csv")
    assert len(variables) == 30
    assert variables["explained by batch"][10:].min() > 0.4
    assert "batch explains" in json.loads(shown.splitlines()[-1])["covariates"]
    page = (out / "report.html").read_text()
    assert "batch explains" in page
    assert "taken out of all values shown" in page
    assert list(load(out / "model.skops").covariates_["covariate"].unique()) == list(
        dict.fromkeys(given[i + 1] for i, word in enumerate(given) if word == "--covariate")
    )


def test_a_model_file_finds_its_covariates(files, tmp_path):
    out, labels = tmp_path / "out", tmp_path / "labels.csv"
    printed(
        "fit", files / "plain.csv", "--samples", files / "samples.csv", "--covariate", "batch", "-o", out, "-q", *FAST
    )
    model, sheet = out / "model.skops", ("--samples", files / "samples.csv")
    printed("predict", model, files / "plain.csv", *sheet, "-o", labels)
    written = pd.read_csv(out / "labels.csv")
    pd.testing.assert_series_equal(pd.read_csv(labels)["cluster"], written["cluster"])
    printed("predict", model, files / "plain.csv", *sheet, "-o", labels, "--contributions", tmp_path / "why.csv")
    assert "batch explains" in (tmp_path / "why.csv").parent.joinpath("out", "report.html").read_text()
    printed("report", model, files / "plain.csv", *sheet, "-o", tmp_path / "page.html")
    assert "the effects of &#39;batch&#39; were removed" in (tmp_path / "page.html").read_text()
    printed("significance", model, files / "plain.csv", *sheet, "-o", tmp_path / "s.csv", "--draws", 2, "--jobs", 1)
    said = printed("predict", model, files / "plain.csv", "-o", labels, code=2)
    assert "'batch'" in said
    said = printed("predict", model, files / "one.csv", "--covariate", "kind", "-o", labels, code=2)
    assert "fitted with 'batch'; omit the option" in said


def test_given_groups_and_stability(files, tmp_path):
    out = tmp_path / "out"
    printed("explain", files / "one.csv", "--label-column", "kind", "--covariate", "batch", "-o", out)
    roles = pd.read_csv(out / "roles.csv")
    assert not (roles["role"][10:] == "selected").any()
    printed(
        "fit",
        files / "one.csv",
        "--covariate",
        "batch",
        "--drop",
        "kind",
        "--stability",
        2,
        "-o",
        tmp_path / "s",
        *FAST,
    )
    assert pd.read_csv(tmp_path / "s" / "labels.csv")["reproducibility"].mean() > 0.9


@pytest.mark.filterwarnings("ignore:the iterations ended")  # of a group without groups inside
def test_markers_explanations_and_parts_are_of_adjusted_rows(files, tmp_path):
    data, out, model = files / "one.csv", tmp_path / "out", tmp_path / "out" / "model.skops"
    given = ("--covariate", "batch", "--annotate", "kind")
    printed("fit", data, *given, "--group-names", "low,high", "-o", out, *FAST)
    best = load(model)
    assert list(best.group_names_) == ["low", "high"]
    table = pd.read_csv(data)
    rows = best.adjusted(table[list(best.feature_names_in_)], table["batch"])[1]
    means = pd.read_csv(out / "markers.csv").set_index(["group", "variable"])["mean_inside"]
    assert means["low", "g12"] == pytest.approx(rows["g12"][best.labels_ == 0].mean())
    assert "kind" in (out / "report.html").read_text()
    printed("explain", data, "--label-column", "kind", "--covariate", "batch", "-o", tmp_path / "e")
    effects = pd.read_csv(tmp_path / "e" / "markers.csv").query("variable == 'g12'")["effect"]
    assert effects.abs().max() < 0.6  # of the batch alone
    printed("subcluster", model, data, "--group", "low", "-k", 2, "-o", tmp_path / "s", "--jobs", 1)
    inside = load(tmp_path / "s" / "model.skops")
    labels = pd.read_csv(tmp_path / "s" / "labels.csv")
    part = table[table["id"].isin(labels["id"])]
    found = inside.predict(part[list(best.feature_names_in_)], covariates=part["batch"])
    np.testing.assert_array_equal(found, inside.labels_)


def test_categories_are_refused(files, tmp_path):
    table = pd.read_csv(files / "one.csv").assign(colour=lambda X: np.where(X["kind"], "red", "blue"))
    table.to_csv(tmp_path / "mixed.csv", index=False)
    said = printed("fit", tmp_path / "mixed.csv", "--covariate", "batch", "-o", tmp_path / "out", *FAST, code=2)
    assert "covariates need numbers, and this table has categories" in said
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--covariate", "bach"), "--covariate names 'bach', but the columns are"),
        (("--covariate", "id", "--drop", "batch"), "is it an identifier"),
    ],
)
def test_a_wrong_covariate_is_named(files, tmp_path, given, message):
    assert message in printed("fit", files / "one.csv", *given, "-o", tmp_path / "out", *FAST, code=2)


def test_compare_knows_no_covariates(files):
    assert "--covariate is for" in printed("compare", files / "one.csv", "-k", 2, "--covariate", "batch", code=2)
