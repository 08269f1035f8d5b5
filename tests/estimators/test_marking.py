"""markers: the table against a naive transcription, its order, what it is joined with, and names of groups."""

import numpy as np
import pandas as pd
import pytest

import fisherem
from fisherem import FactorMixture, FisherEM, ModelSearch, SparseFisherEM, datasets


@pytest.fixture(scope="module")
def wine():
    return datasets.load("wine", as_frame=True)[0]


@pytest.fixture(scope="module")
def model(wine):
    return SparseFisherEM(3, random_state=0, n_init=2).fit(wine)


def naive(X, labels, names):
    """A dict per group and variable, by loops over groups, columns and rows."""
    found = []
    for k, name in enumerate(names):
        for column in X:
            values = X[column].to_numpy()
            there = ~np.isnan(values)
            by_group = [values[there & (labels == g)] for g in range(len(names))]
            inside = by_group[k].mean()
            outside = np.concatenate([v for g, v in enumerate(by_group) if g != k]).mean()
            squares = sum(((v - v.mean()) ** 2).sum() for v in by_group)
            overall = np.concatenate(by_group).std()
            within = max(np.sqrt(squares / there.sum()), 0.1 * overall)
            others = [g for g in range(len(names)) if g != k]
            near = min(others, key=lambda g: abs(by_group[g].mean() - inside))
            away = (by_group[k] - outside) * np.sign(inside - outside)
            beyond = away > 1e-9 * overall  # not where a value is the mean up to rounding
            found.append({
                "group": name, "variable": column, "direction": "high" if inside > outside else "low",
                "effect": (inside - outside) / within, "effect_nearest": (inside - by_group[near].mean()) / within,
                "nearest": names[near], "mean_inside": inside, "mean_outside": outside, "share_beyond": beyond.mean(),
            })  # fmt: skip
    return pd.DataFrame(found).set_index(["group", "variable"])


@pytest.mark.parametrize("gaps", [0.0, 0.05])
def test_the_table_is_that_of_loops(wine, gaps):
    X = wine.mask(np.random.default_rng(0).random(wine.shape) < gaps)
    model = SparseFisherEM(3, random_state=0, n_init=1).fit(X)
    found = model.markers(X)
    names = ["group 1", "group 2", "group 3"]
    expected = naive(X, model.predict(X), names)
    assert len(found) == 3 * 13
    pd.testing.assert_frame_equal(
        found.set_index(["group", "variable"]).loc[expected.index, expected.columns], expected, rtol=1e-9
    )
    roles = model.roles_.set_index("variable")["role"]
    assert (found["role"] == roles[found["variable"]].to_numpy()).all()


def test_it_is_sorted_by_group_and_effect(model, wine):
    found = model.markers(wine)
    assert list(dict.fromkeys(found["group"])) == ["group 1", "group 2", "group 3"]
    for _, part in found.groupby("group"):
        assert part["effect"].abs().is_monotonic_decreasing
    assert found["group"].iloc[0] == "group 1"
    assert wine.loc[model.labels_ == 0, "proline"].mean() == pytest.approx(
        found.set_index(["group", "variable"]).loc[("group 1", "proline"), "mean_inside"]
    )


def test_units_and_blocks_change_nothing_of_the_effects(model, wine, tmp_path):
    found = model.markers(wine)
    bent = SparseFisherEM(3, random_state=0, n_init=2).fit(wine * 1e3 + 7).markers(wine * 1e3 + 7)
    np.testing.assert_allclose(bent[["effect", "share_beyond"]], found[["effect", "share_beyond"]], rtol=1e-6)
    np.testing.assert_allclose(bent["mean_inside"], found["mean_inside"] * 1e3 + 7)
    rows = np.tile(wine.to_numpy(), (10, 1))
    np.save(tmp_path / "wine.npy", rows)
    small = SparseFisherEM(3, random_state=0, n_init=1, memory="150kB", n_jobs=1).fit(rows)  # the file takes 185 kB
    pd.testing.assert_frame_equal(small.markers(tmp_path / "wine.npy"), small.markers(rows), rtol=1e-9)


def test_constant_columns_and_empty_groups(blobs_with_a_constant):
    X, model = blobs_with_a_constant
    found = model.markers(X).set_index(["group", "variable"])
    for k in (1, 2):
        one = found.loc[(f"group {k}", "x4")]
        assert one["direction"] == ""
        assert one["effect"] == 0
        assert np.isnan(one["share_beyond"])
    part = model.markers(X[model.labels_ == 0])
    assert set(part["group"]) == {"group 1"}  # rows of one group only: there are no others
    assert part["mean_outside"].isna().all()
    assert (part["effect"] == 0).all()
    assert (part["nearest"] == "").all()


@pytest.fixture
def blobs_with_a_constant():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 3)) + 4 * (np.arange(80) % 2)[:, None], np.full(80, 5.0)])
    with pytest.warns(UserWarning, match="constant"):
        return X, FisherEM(2, random_state=0, n_init=1).fit(X)


def test_stability_and_significance_are_joined_by_variable(model, wine):
    sure = fisherem.stability(model, wine, n_subsamples=3, fitted=model, random_state=0, n_jobs=1)
    p_values = pd.DataFrame({"variable": wine.columns[::-1], "p": np.linspace(0, 1, 13), "q": np.linspace(0.5, 1, 13)})
    found = model.markers(wine, stability=sure, significance=p_values).set_index("variable")
    for j, name in enumerate(wine):
        assert (found.loc[name, "reproducibility"] == sure.frequencies[j]).all()
        assert (found.loc[name, "p"] == p_values.set_index("variable").loc[name, "p"]).all()
        assert (found.loc[name, "q"] == p_values.set_index("variable").loc[name, "q"]).all()


def test_p_values_of_pairs_are_those_with_the_nearest_group(model, wine):
    pairs = [(1, 2), (1, 3), (2, 3)]
    rows = [(a, b, name, i + j / 100, i) for i, (a, b) in enumerate(pairs) for j, name in enumerate(wine)]
    given = pd.DataFrame(rows, columns=["group", "other", "variable", "p", "q"])
    for one in model.markers(wine, significance=given).itertuples():
        pair = tuple(sorted((int(one.group[-1]), int(one.nearest[-1]))))
        assert one.q == pairs.index(pair)
        assert one.p == pytest.approx(pairs.index(pair) + list(wine).index(one.variable) / 100)


def test_what_does_not_belong_to_the_table_is_refused(model, wine):
    other = fisherem.stability(
        SparseFisherEM(2, n_init=1, random_state=0), wine.iloc[:, :5], n_subsamples=2, random_state=0, n_jobs=1
    )
    with pytest.raises(ValueError, match="these 13 variables"):
        model.markers(wine, stability=other)
    with pytest.raises(TypeError, match="variable, p and q"):
        model.markers(wine, significance={"p": 1})
    with pytest.raises(ValueError, match="no row for 'alcohol'"):
        model.markers(wine, significance=pd.DataFrame({"variable": list(wine)[1:], "p": 1.0, "q": 1.0}))


def test_names_of_groups_are_used_kept_and_forgotten(wine, tmp_path):
    model = SparseFisherEM(3, random_state=0, n_init=1).fit(wine)
    names = ["Barolo", "Grignolino", "Barbera"]
    assert model.name_groups(names) is model
    assert list(dict.fromkeys(model.markers(wine)["group"])) == names
    assert "Barolo with" in str(model.summary())
    assert set(model.contributions(wine).frame()["group"]) == set(names)
    assert set(model.contributions(wine).changes["to"]) <= {*names, ""}
    other = model.markers(wine, group_names=["a", "b", "c"])
    assert list(dict.fromkeys(other["group"])) == ["a", "b", "c"]
    back = fisherem.load(fisherem.save(model, tmp_path / "model.skops"))
    assert list(back.group_names_) == names
    assert "group 1 with" in str(model.fit(wine).summary())
    assert "group 1 with" in str(back.name_groups().summary())


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["a", "b"], ValueError, "each of the 3 groups; got 2"),
        (["a", "b", "a"], ValueError, "'a' is given twice"),
        (["a", " ", "c"], ValueError, "group 2 is"),
        ("abc", TypeError, "a sequence of 3 names"),
    ],
)
def test_bad_names_are_refused(model, names, error, message):
    with pytest.raises(error, match=message):
        model.name_groups(names)


def test_every_kind_of_fit_has_markers(wine):
    mixture = FactorMixture(3, 1, random_state=0, n_init=1).fit(wine)
    assert set(mixture.markers(wine)["role"]) == {"selected"}
    search = ModelSearch(SparseFisherEM(random_state=0, n_init=1), n_clusters=[2, 3], models=["DB"], n_jobs=1).fit(wine)
    pd.testing.assert_frame_equal(search.markers(wine), search.best_estimator_.markers(wine))
    names = [f"kind {k}" for k in range(len(search.weights_))]
    assert set(search.name_groups(names).markers(wine)["group"]) <= set(names)
