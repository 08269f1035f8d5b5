"""explain: any partition, any table, bad input, the command line and the page."""

import json

import dask.array as da
import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.cluster import KMeans

from fisherem import datasets, explain, load
from fisherem.cli import main


@pytest.fixture(scope="module")
def simulated():
    return datasets.simulate(300, 2.5, random_state=11)


def test_the_variables_that_make_known_groups(simulated):
    X, y = simulated
    found = explain(X, y)
    assert list(np.flatnonzero(found.support)) == [0, 1, 2, 3, 4]
    assert list(found.roles["role"] == "selected") == list(found.support)
    assert found.value > 50
    assert found.agreement > 0.94
    shuffled = explain(X, np.random.default_rng(0).permutation(y))
    assert shuffled.value < 0  # groups that nothing makes


def test_the_value_is_invariant_to_units_and_linear_maps(simulated):
    X, y = simulated
    plain = explain(X, y)
    scaled = explain(X * np.geomspace(1e-4, 1e4, 25) + 1e3, y)
    assert scaled.value == pytest.approx(plain.value, rel=1e-6)
    assert (scaled.support == plain.support).all()
    assert scaled.agreement == pytest.approx(plain.agreement, abs=0.02)


def test_words_missing_labels_and_weights(simulated):
    X, y = simulated
    words = np.array(["up", "down", "middle"], object)[y]
    words[:20] = None
    found = explain(pd.DataFrame(X, columns=[f"g{j}" for j in range(25)]), words)
    assert found.classes == ["down", "middle", "up"]
    assert (found.labels[:20] == -1).all()
    assert list(found.roles["variable"][found.support]) == ["g0", "g1", "g2", "g3", "g4"]
    minus = np.where(np.arange(300) < 20, -1, y)
    left_out, kept = explain(X, minus), explain(X[20:], y[20:])
    assert left_out.value == pytest.approx(kept.value, rel=1e-9)
    assert left_out.value == pytest.approx(found.value, rel=1e-9)
    weights = np.random.default_rng(0).integers(1, 3, size=300)
    weighted = explain(X, y, sample_weight=weights.astype(float))
    assert weighted.value == pytest.approx(
        explain(np.repeat(X, weights, axis=0), np.repeat(y, weights)).value, rel=1e-9
    )


def test_wide_tables_files_and_dask(simulated, tmp_path):
    X, y = simulated
    wide = np.column_stack([X[:90], np.random.default_rng(2).normal(size=(90, 500))])
    found = explain(wide, y[:90])
    assert found.support[:5].sum() >= 4
    assert not found.support[5:].any()
    np.save(tmp_path / "rows.npy", X)
    for table in (tmp_path / "rows.npy", da.from_array(X, chunks=(70, -1))):
        assert explain(table, y).value == pytest.approx(explain(X, y).value, rel=1e-9)


def test_it_explains_what_another_method_made():
    X, _ = datasets.load("iris", as_frame=True)
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
    found = explain(X, labels)
    assert found.support.sum() <= 3
    assert found.agreement > 0.85
    np.testing.assert_array_equal(found.model.predict(X[X.columns[found.support]]), found.model.labels_)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(300, int), "one group only"),
        (np.full(300, -1), "no group"),
        (np.arange(299), r"one value per row \(300\); got 299"),
        (np.r_[np.zeros(298, int), 1, 2], "at least 2 rows each; '1', '2' have fewer"),
    ],
)
def test_bad_labels(simulated, labels, message):
    with pytest.raises(ValueError, match=message):
        explain(simulated[0], labels)


def test_groups_keep_their_names_and_labels(simulated):
    X, y = simulated
    words = np.array(["up", "down", "middle"], object)[np.r_[y[:200], (y[200:212] + 1) % 3, y[212:]]]
    words[:20] = None
    found = explain(X, words)
    assert found.placed_elsewhere.sum() > 5
    assert set(found.predict(X)) == {"up", "down", "middle"}
    assert (found.predict(X) == words)[20:].mean() == pytest.approx(found.agreement)
    assert repr(found).startswith(
        f"Explanation(down, middle, up: {found.support.sum()} of 25 variables, gain {found.value:.1f})"
    )
    assert len(repr(found)) < 120
    said = str(found.summary())
    assert "down with" in said
    assert f"gain       {found.value:.1f} nats over one group" in said
    assert found.model.gain_ == found.value  # every row wholly in its group, unlike the gain of groups that overlap
    assert found.value < found.model.criterion("gain", X)
    assert f"would place {found.placed_elsewhere.sum()} of 280 rows" in said
    assert "20 rows without a group left out" in said
    markers = found.markers(X)
    assert list(dict.fromkeys(markers["group"])) == ["down", "middle", "up"]
    inside = markers.set_index(["group", "variable"]).loc[("up", "x1"), "mean_inside"]
    assert inside == pytest.approx(X[words == "up", 0].mean())
    table = found.table(X)
    assert list(table["group"][20:]) == list(words[20:])
    assert table["group"][:20].isna().all()
    assert list(table["placed"]) == list(found.predict(X))
    with pytest.raises(ValueError, match="the 300 rows that were explained; got 10"):
        found.markers(X[:10])


def test_a_file_is_as_good_as_an_array(simulated, tmp_path):
    X, y = simulated
    labels = np.where(np.arange(300) % 10 == 0, -1, y)
    np.save(tmp_path / "rows.npy", X)
    path, found, other = tmp_path / "rows.npy", explain(X, labels), explain(tmp_path / "rows.npy", labels)
    pd.testing.assert_frame_equal(other.markers(path), found.markers(X), rtol=1e-9)
    pd.testing.assert_frame_equal(other.table(path), found.table(X), rtol=1e-6)
    assert "30 rows without a group are left out" in other.report(path, tmp_path / "page.html").read_text()
    with pytest.raises(TypeError, match="needs its rows in memory"):
        found.markers(da.from_array(X))


def test_numbers_stay_numbers(simulated):
    X, y = simulated
    found = explain(X, 10 * y)
    assert found.predict(X).dtype.kind == "i"
    assert set(found.predict(X)) == {0, 10, 20}
    assert set(found.markers(X)["group"]) == {0, 10, 20}
    assert found.classes == ["0", "10", "20"]
    assert found.group_names == ["label 0", "label 10", "label 20"]  # a number alone could be a count
    assert "label 10 with" in str(found.summary())


def test_the_plot_has_the_rows_where_they_were_given(simulated):
    X, y = simulated
    labels = np.where(np.arange(300) < 20, -1, y)
    found = explain(X, labels)
    display = found.plot(X, palette=["red", "green", "blue"])
    np.testing.assert_array_equal(display.labels, y[20:])
    assert len(display.points) == 280
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [f"label {k} ({n})" for k, n in enumerate(np.bincount(y[20:]))]
    assert any("were given, not found" in text.get_text() for text in display.ax_.texts)
    plt.close("all")


def test_the_command_line_and_the_page(tmp_path):
    X, y = datasets.load("wine", as_frame=True)
    path = tmp_path / "wine.csv"
    X.assign(cultivar=np.array(["Barolo", "Grignolino", "Barbera"])[y]).to_csv(path, index=False)
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["explain", str(path), "--label-column", "cultivar", "-o", str(out)])
    assert result.exit_code == 0, result.output
    roles = pd.read_csv(out / "roles.csv")
    selected = list(roles["variable"][roles["role"] == "selected"])
    assert all(name in result.output for name in selected)
    assert "Grignolino" in result.output
    page = (out / "report.html").read_text()
    assert "The variables that make these groups" in page
    assert "The role of every variable" in page
    assert "Barolo" in page
    assert load(out / "model.skops").predict(X).shape == (178,)
    labels, markers, variables = (pd.read_csv(out / f"{name}.csv") for name in ("labels", "markers", "variables"))
    assert list(labels.columns) == ["id", "group", "placed", "posterior", "tail_probability"]
    assert list(labels["group"]) == list(np.array(["Barolo", "Grignolino", "Barbera"])[y])
    moved = (labels["group"] != labels["placed"]).sum()
    assert f"would place {moved} of 178 rows" in result.output
    assert "outside all groups" not in result.output
    inside = markers.set_index(["group", "variable"]).loc[("Barolo", "proline"), "mean_inside"]
    assert inside == pytest.approx(X.loc[y == 0, "proline"].mean())
    assert variables.set_index("name").loc["proline", "mean Barolo"] == pytest.approx(inside)
    again = CliRunner().invoke(main, ["predict", str(out / "model.skops"), str(path), "-o", str(tmp_path / "l.csv")])
    assert again.exit_code == 0, again.output
    assert list(pd.read_csv(tmp_path / "l.csv")["group"]) == list(labels["placed"])
    as_json = CliRunner().invoke(main, ["explain", str(path), "--label-column", "cultivar", "-o", str(out), "--json"])
    told = json.loads(as_json.output)
    assert told["roles"]["selected"] == selected
    assert told["outside"] == 0
    assert f"gain over one group: {told['gain']:.1f} nats" in result.output
    assert f"{told['gain']:.1f}".replace("-", "\u2212") in page  # the same number on the page
    X.iloc[100] *= 3
    X.assign(cultivar=np.where(X.index == 100, "", np.array(["a", "b", "c"])[y])).to_csv(path, index=False)
    arguments = ["explain", str(path), "--label-column", "cultivar", "-o", str(out), "--force"]
    result = CliRunner().invoke(main, arguments)
    assert "1 of 178 rows lies outside all groups" in result.output
    assert pd.read_csv(out / "labels.csv")["tail_probability"][100] < 0.001
    without = CliRunner().invoke(main, ["explain", str(path), "-o", str(out)])
    assert without.exit_code == 2
    assert "--label-column" in without.output
