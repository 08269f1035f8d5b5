"""Groups inside a group: labels, variables chosen anew, what is left alone, the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from fisherem import FactorMixture, FisherEM, SparseFisherEM, explain, save
from fisherem.cli import main


@pytest.fixture(scope="module")
def nested():
    """Three groups along x1; the second one is two along x6, by less than the three are apart."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 10)), np.repeat([0, 1, 2], 100)
    X[:, 0] += 12 * y
    X[100:150, 5] += 5
    X = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(10)])
    return X, y


@pytest.fixture(scope="module")
def model(nested):
    X, _ = nested
    fitted = FisherEM(3, random_state=0, n_init=2).fit(X)
    assert (np.bincount(fitted.labels_) == 100).all()
    return fitted


def group_of(model, y, k):
    """The number, from 1, of the group that holds the rows of class k."""
    return int(np.bincount(model.labels_[y == k]).argmax()) + 1


def test_a_group_is_split_by_variables_of_its_own(nested):
    X, y = nested
    model = SparseFisherEM(3, random_state=0, n_init=2).fit(X)
    assert model.support_[0]
    g = group_of(model, y, 1)
    found = model.subcluster(X, g, 2)
    assert list(X.columns[found.model.support_]) == ["x6"]
    assert found.names == [f"{g}.1", f"{g}.2"]
    assert set(found.labels) == {*map(str, {1, 2, 3} - {g}), f"{g}.1", f"{g}.2"}
    np.testing.assert_array_equal(found.predict(X), found.labels)
    inside = found.labels[found.inside]
    truth = np.arange(100, 200) < 150
    mine = np.flatnonzero(found.inside)
    agreement = np.mean(
        (inside == f"{g}.1")[(mine >= 100) & (mine < 200)] == truth[mine[(mine >= 100) & (mine < 200)] - 100]
    )
    assert max(agreement, 1 - agreement) > 0.95
    assert set(found.markers(X)["group"]) == {f"group {g}.1", f"group {g}.2"}
    assert f"into {g}.1, {g}.2 by 1 of 10 variables" in repr(found)


def test_the_number_inside_is_chosen_and_may_be_one(nested, model):
    X, y = nested
    first = model.subcluster(X, group_of(model, y, 0), n_jobs=1)
    assert "is not split" in repr(first)
    np.testing.assert_array_equal(first.labels, (model.labels_ + 1).astype(str))
    second = model.subcluster(X, group_of(model, y, 1), n_jobs=1)
    assert len(second.names) == 2


def test_the_same_seed_gives_the_same_labels(nested, model):
    X, y = nested
    g = group_of(model, y, 1)
    one, other = (model.subcluster(X, g, 2, random_state=3).labels for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_names_are_kept(nested, model, tmp_path):
    X, y = nested
    names = [f"kind {c}" for c in "abc"]
    model = FisherEM(3, random_state=0, n_init=2).fit(X).name_groups(names)
    name = names[group_of(model, y, 1) - 1]
    found = model.subcluster(X, name, 2)
    assert found.names == [f"{name}.1", f"{name}.2"]
    page = found.report(X, tmp_path / "page.html").read_text()
    assert f"Groups inside {name}" in page
    assert f"{name}.1" in page
    assert "the page shows the 100 of 300 rows" in page


def test_given_groups_and_factor_mixtures_are_split_too(nested):
    X, y = nested
    words = np.array(["low", "middle", "high"])[y]
    found = explain(X, words).model.subcluster(X, "middle", 2, random_state=0)
    assert set(found.labels) == {"low", "high", "middle.1", "middle.2"}
    mixture = FactorMixture(3, 1, random_state=0, n_init=1).fit(X)
    assert len(mixture.subcluster(X, 1, 2).names) == 2


@pytest.mark.parametrize(
    ("group", "n_clusters", "message"),
    [
        (0, 2, "group must be a whole number from 1 to 3|group must be"),
        (4, 2, "group must be"),
        ("nine", 2, "there is no group 'nine': the groups are group 1, group 2, group 3"),
        (1, 1, "n_clusters must be"),
    ],
)
def test_bad_arguments(nested, model, group, n_clusters, message):
    with pytest.raises(ValueError, match=message):
        model.subcluster(nested[0], group, n_clusters)


def test_too_few_rows(nested, model):
    X, y = nested
    g = group_of(model, y, 1)
    with pytest.raises(ValueError, match=f"group {g} has 3 rows of X"):
        model.subcluster(X.iloc[97:103], g, 2)


def test_the_command(nested, model, tmp_path):
    X, y = nested
    g = group_of(model, y, 1)
    X.assign(row=[f"r{i}" for i in range(300)], batch=np.arange(300) % 3).to_csv(tmp_path / "x.csv", index=False)
    save(model, tmp_path / "model.skops")
    place = [str(tmp_path / "model.skops"), str(tmp_path / "x.csv"), "--id-column", "row", "--annotate", "batch"]
    arguments = ["subcluster", *place, "--group", str(g), "-k", "2", "-o", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert told["split"]
    labels = pd.read_csv(tmp_path / "out" / "subgroups.csv", dtype=str)
    assert list(labels["id"]) == [f"r{i}" for i in range(300)]
    assert labels["group"].value_counts().to_dict() == told["sizes"]
    assert list(labels["batch"][:3]) == ["0", "1", "2"]
    inside = pd.read_csv(tmp_path / "out" / "labels.csv")
    assert list(inside["id"]) == list(labels["id"][labels["group"].str.startswith(f"{g}.")])
    assert set(inside["group"]) == {f"group {g}.1", f"group {g}.2"}
    markers = pd.read_csv(tmp_path / "out" / "markers.csv")
    assert set(markers["group"]) == {f"group {g}.1", f"group {g}.2"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"Inside group {g}" in page
    assert f"group {g}.2" in page
    missing = CliRunner().invoke(main, ["subcluster", *place, "--group", "9", "-o", str(tmp_path / "two")])
    assert missing.exit_code == 2
    assert "group must be" in missing.output
