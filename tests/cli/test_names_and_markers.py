"""Names of groups, annotation and markers on the command line."""

import numpy as np
import pandas as pd
import pytest

from fisherem import SparseFisherEM, datasets, load, save
from tests.running import run


@pytest.fixture(scope="module")
def wines(tmp_path_factory):
    """(the table, its file)."""
    X, y = datasets.load("wine", as_frame=True)
    path = tmp_path_factory.mktemp("wines") / "wine.csv"
    X.assign(wine=[f"w{i}" for i in range(178)], cellar=np.array(["north", "south", None], object)[y]).to_csv(
        path, index=False
    )
    return X, path


@pytest.fixture(scope="module")
def model(wines, tmp_path_factory):
    X, _ = wines
    fitted = SparseFisherEM(3, random_state=0, n_init=2).fit(X)
    return fitted, save(fitted, tmp_path_factory.mktemp("model") / "model.skops")


def beside():
    return ("--id-column", "wine", "--annotate", "cellar")


def test_fit_names_the_groups_in_every_file(wines, tmp_path):
    X, path = wines
    out = tmp_path / "out"
    result = run("fit", path, "-k", 3, "--n-init", 2, "--group-names", "one, two,three", "-o", out, *beside())
    labels, markers = pd.read_csv(out / "labels.csv"), pd.read_csv(out / "markers.csv")
    fitted = load(out / "model.skops")
    assert list(labels["group"]) == list(np.array(["one", "two", "three"])[fitted.labels_])
    assert labels["cellar"].value_counts().to_dict() == {"north": 59, "south": 71}
    pd.testing.assert_frame_equal(markers, fitted.markers(X), rtol=1e-9)
    assert {"mean one", "mean two", "mean three"} <= set(pd.read_csv(out / "variables.csv"))
    assert "one with" in result.output
    page = (out / "report.html").read_text()
    assert "cellar" in page
    assert '"name":"two"' in page


def test_means_are_in_the_units_of_the_file(wines, tmp_path):
    X, path = wines
    run("fit", path, "-k", 3, "--n-init", 2, "--scale", "-o", tmp_path / "out", *beside())
    markers = pd.read_csv(tmp_path / "out" / "markers.csv").set_index(["group", "variable"])
    labels = pd.read_csv(tmp_path / "out" / "labels.csv")["cluster"]
    for k in (1, 2, 3):
        inside = markers.loc[(f"group {k}", "proline"), "mean_inside"]
        assert inside == pytest.approx(X.loc[(labels == k).to_numpy(), "proline"].mean())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--group-names", "a,b"), "--group-names needs -k"),
        (("-k", 3, "--group-names", "a,b"), "each of the 3 groups; got 2"),
        (("-k", 2, "--group-names", "a,a"), "'a' is given twice"),
        (("-k", 2, "--group-names", "a,,b"), "names separated by commas"),
        (("-k", 2, "--annotate", "nothing"), "--annotate names 'nothing'"),
    ],
)
def test_bad_options_end_before_the_work(wines, tmp_path, options, message):
    result = run("fit", wines[1], *options, "-o", tmp_path / "out", "--id-column", "wine", "--drop", "cellar", code=2)
    assert message in result.output
    assert not list((tmp_path / "out").glob("*.csv"))


def test_report_takes_names_p_values_and_writes_markers(wines, model, tmp_path):
    X, path = wines
    p_values = pd.DataFrame({"variable": X.columns, "p": np.linspace(0, 1, 13), "q": np.linspace(0, 1, 13)})
    p_values.to_csv(tmp_path / "p.csv", index=False)
    given = ("--significance", tmp_path / "p.csv", "--markers", tmp_path / "m.csv", "--group-names", "a,b,c")
    run("report", model[1], path, *given, "-o", tmp_path / "page.html", *beside())
    markers = pd.read_csv(tmp_path / "m.csv")
    pd.testing.assert_frame_equal(
        markers, model[0].markers(X, significance=p_values, group_names=["a", "b", "c"]), rtol=1e-9
    )
    assert '"name":"c"' in (tmp_path / "page.html").read_text()
    for name, content in (("bad.csv", "a,b\n1,2\n"), ("empty.csv", "")):
        (tmp_path / name).write_text(content)
        result = run("report", model[1], path, "--significance", tmp_path / name, "-o", tmp_path / "x.html", code=2)
        assert f"{name}: not a" in result.output
    bad = run("report", model[1], path, "--palette", "red,nonsense", "-o", tmp_path / "x.html", code=2)
    assert "got 'nonsense'" in bad.output
    run("report", model[1], path, "--palette", "viridis", "-o", tmp_path / "v.html", *beside())
    assert "--g0: #" in (tmp_path / "v.html").read_text()
    both = ("--markers", tmp_path / "y.html", "-o", tmp_path / "y.html")
    assert "give two files" in run("report", model[1], path, *both, code=2).output


def test_predict_says_the_names(wines, model, tmp_path):
    _, path = wines
    result = run("predict", model[1], path, "--group-names", "a,b,c", "-o", tmp_path / "l.csv", *beside())
    labels = pd.read_csv(tmp_path / "l.csv")
    assert list(labels["group"]) == list(np.array(["a", "b", "c"])[labels["cluster"] - 1])
    assert "a with" in result.output
    far = tmp_path / "far.csv"
    X = pd.read_csv(path)
    X.iloc[:2, :13] *= 100
    X.to_csv(far, index=False)
    run("predict", model[1], far, "--group-names", "a,b,c", "--noise-label", "-o", tmp_path / "n.csv", *beside())
    labels = pd.read_csv(tmp_path / "n.csv")
    assert list(labels["cluster"][:2]) == [-1, -1]
    assert labels["group"][:2].isna().all()
    without = run("predict", model[1], path, "-o", tmp_path / "m.csv", *beside())
    assert "group" not in pd.read_csv(tmp_path / "m.csv")
    assert "groups of sizes" in without.output
