"""Tables with categories through the whole package: fit, predict, impute, explain, search, model files, the page."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import adjusted_rand_score

from fisherem import BayesianFisherEM, FisherEM, ModelSearch, SparseFisherEM, explain, load, report, save, stability
from fisherem.estimators.mixed import shares_of
from fisherem.persistence import ModelFileError

KNOWN = ["number", "colour", "warm"]


def mixed(seed=0, n=240):
    """(frame, classes): three groups in a number, a colour and a boolean; a number and two categories are noise."""
    rng = np.random.RandomState(seed)
    groups = rng.randint(3, size=n)
    frame = pd.DataFrame(
        {
            "number": np.array([-2.5, 0, 2.5])[groups] + rng.normal(size=n),
            "colour": np.where(rng.uniform(size=n) < 0.8, np.array(["red", "blue", "green"])[groups],
                               rng.choice(["red", "blue", "green"], size=n)),
            "warm": rng.uniform(size=n) < np.array([0.95, 0.1, 0.9])[groups],
            "noise": rng.normal(size=n),
            "letter": rng.choice(list("abcd"), size=n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], size=n), ["low", "mid", "high"], ordered=True),
        }
    )  # fmt: skip
    return frame, groups


@pytest.fixture(scope="module")
def fitted():
    frame, groups = mixed()
    return SparseFisherEM(3, random_state=0).fit(frame), frame, groups


def test_groups_and_variables_are_found(fitted):
    model, frame, groups = fitted
    assert adjusted_rand_score(groups, model.labels_) > 0.75
    assert list(frame.columns[model.support_]) == KNOWN
    assert list(model.feature_names_in_) == list(frame)
    assert model.n_features_in_ == 6
    np.testing.assert_array_equal(model.predict(frame), model.labels_)


def test_attributes_of_variables_and_of_columns(fitted):
    model, frame, _ = fitted
    names = model.encoding_.column_names
    assert names[:4] == ["number", "colour=blue", "colour=green", "colour=red"]
    assert model.support_.shape == (6,)
    assert list(model.roles_["variable"]) == list(frame)
    assert list(model.roles_["role"] == "selected") == list(model.support_)
    assert model.loadings_.shape[0] == model.means_.shape[1] == len(model.scales_) == len(names)
    # a category is left out as a whole
    selected = model.sparse_loadings_.any(axis=1)
    np.testing.assert_array_equal(selected, model.support_[model.encoding_.blocks.variable])
    # the mean of an indicator is the share of its category
    shares = (frame["colour"] == "red").groupby(model.labels_).mean()
    np.testing.assert_allclose(model.group_means_[:, names.index("colour=red")], shares, atol=0.06)
    np.testing.assert_allclose(model.scales_[3] ** 2, (frame["colour"] == "red").mean())


def test_shares_of_the_categories(fitted):
    model, frame, _ = fitted
    table = shares_of(model)
    assert list(table.columns) == ["variable", "category", "selected", "all", "group 1", "group 2", "group 3"]
    assert list(table["variable"].unique()) == ["colour", "warm", "letter"]
    np.testing.assert_allclose(table.groupby("variable")[["all", "group 1", "group 2", "group 3"]].sum(), 1)
    own = shares_of(model, frame)
    known = frame["colour"].groupby(model.labels_).value_counts(normalize=True).unstack(0, fill_value=0)
    of_colours = own[own["variable"] == "colour"].set_index("category").iloc[:, 3:].to_numpy()
    np.testing.assert_allclose(of_colours, known.loc[["blue", "green", "red"]].to_numpy())
    red = table[(table["variable"] == "colour") & (table["category"] == "red")]
    assert red["all"].item() == pytest.approx((frame["colour"] == "red").mean())
    assert red["selected"].item()
    assert shares_of(FisherEM(2, random_state=0).fit(frame[["number", "noise"]])).empty


def test_what_it_says(fitted):
    model, _, _ = fitted
    text = str(model.summary())
    assert "made by 3 of 6 variables" in text
    assert "colour: " in text
    assert "categories by the square roots of their shares" in text
    reasons = " ".join(model.decisions_["reason"])
    assert "a table with categories: 3 of 6 variables tell the classes apart" in reasons


@pytest.mark.parametrize(
    "change",
    [
        lambda X: pl.from_pandas(X.assign(grade=X["grade"].cat.codes)),
        lambda X: X.assign(colour=X["colour"].astype("category"), grade=X["grade"].cat.codes),
        lambda X: X.assign(warm=X["warm"].astype("boolean"), grade=X["grade"].cat.codes),
        lambda X: X.assign(warm=np.where(X["warm"], "yes", "no"), grade=X["grade"].cat.codes),
    ],
    ids=["polars", "category", "nullable", "renamed levels"],
)
def test_the_kind_of_the_columns_makes_no_difference(fitted, change):
    model, frame, _ = fitted
    other = SparseFisherEM(3, random_state=0).fit(change(frame))
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_array_equal(other.support_, model.support_)


def test_numbers_that_are_categories(fitted):
    model, frame, _ = fitted
    codes = frame.assign(colour=frame["colour"].map({"blue": 1, "green": 2, "red": 7}), grade=frame["grade"].cat.codes)
    codes = codes.assign(warm=codes["warm"].astype(int), letter=codes["letter"].map(ord))
    found = SparseFisherEM(3, random_state=0, categories=["colour", "warm", "letter"]).fit(codes)
    np.testing.assert_array_equal(found.labels_, model.labels_)
    array = SparseFisherEM(3, random_state=0, categories=[1, 2, 4]).fit(codes.to_numpy(float))
    np.testing.assert_array_equal(array.labels_, model.labels_)
    np.testing.assert_array_equal(array.predict(codes.to_numpy(float)), model.labels_)
    assert not hasattr(array, "feature_names_in_")


def test_an_unknown_category_is_an_error_and_a_missing_one_is_not(fitted):
    model, frame, _ = fitted
    row = frame.iloc[[0]].astype({"colour": object})
    with pytest.raises(ValueError, match=r"column 'colour', row 0: 'purple' is none of the categories"):
        model.predict(row.assign(colour="purple"))
    found = model.predict_proba(row.assign(colour=None))
    assert found.sum() == pytest.approx(1)


def test_the_selected_columns_are_enough(fitted):
    model, frame, _ = fitted
    np.testing.assert_array_equal(model.predict(frame[KNOWN]), model.labels_)
    np.testing.assert_array_equal(model.predict(frame[KNOWN[::-1]]), model.labels_)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["number", "noise"]])


def test_missing_cells(fitted):
    _, frame, groups = fitted
    rng = np.random.RandomState(1)
    holes = frame.astype(object).mask(rng.uniform(size=frame.shape) < 0.08)
    holes["grade"] = frame["grade"].where(holes["grade"].notna())
    for name in ("number", "noise"):
        holes[name] = holes[name].astype(float)
    model = SparseFisherEM(3, random_state=0).fit(holes)
    assert adjusted_rand_score(groups, model.labels_) > 0.65
    full = model.impute(holes)
    assert not full.isna().any(axis=None)
    assert list(full) == list(holes)
    seen = holes.notna()
    assert (full.astype(object)[seen].fillna(0) == holes.astype(object)[seen].fillna(0)).all(axis=None)
    assert set(full["colour"]) == {"red", "blue", "green"}
    lost = holes["colour"].isna()
    assert (full["colour"] == frame["colour"])[lost].mean() > 0.6
    assert len(model.impute(holes, draws=2, random_state=0)) == 2


def test_drawn_rows_have_categories(fitted):
    model, frame, _ = fitted
    rows, labels = model.sample(300, random_state=0)
    assert list(rows) == list(frame)
    assert set(rows["colour"]) <= {"red", "blue", "green"}
    assert np.mean(model.predict(rows.assign(warm=rows["warm"] == "True")) == labels) > 0.7


def test_other_methods_of_the_model(fitted):
    model, frame, _ = fitted
    assert model.transform(frame).shape == (240, model.loadings_.shape[1])
    assert model.score_samples(frame).sum() == pytest.approx(model.log_likelihood_)
    assert model.bic(frame) == pytest.approx(model.bic_)
    assert model.criterion("gain", frame) == pytest.approx(model.gain_)
    why = model.contributions(frame)
    assert why.names == model.encoding_.column_names
    np.testing.assert_array_equal(why.groups, model.labels_)
    assert model.outlyingness(frame).shape == (240,)


def test_model_files(fitted, tmp_path):
    model, frame, _ = fitted
    found = load(save(model, tmp_path / "model.skops"))
    assert found.encoding_ == model.encoding_
    np.testing.assert_array_equal(found.predict(frame), model.labels_)


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("levels", [None] * 3, "encoding_.levels"),
        ("names", list("abcdef"), "feature_names_in_"),
        ("ordered", ["no"] * 6, "true or false"),
        ("levels", [None, [1, 2, 3], None, None, None, None], "lists of texts"),
    ],
)
def test_damaged_model_files(fitted, tmp_path, attribute, value, said):
    import copy

    model = copy.copy(fitted[0])
    model.encoding_ = copy.copy(model.encoding_)
    setattr(model.encoding_, attribute, value)
    with pytest.raises(ModelFileError, match=said):
        load(save(model, tmp_path / "model.skops"))


def test_explain_has_a_row_per_variable(fitted):
    _, frame, groups = fitted
    found = explain(frame, groups)
    assert list(found.roles["variable"]) == list(frame)
    assert list(frame.columns[found.support]) == KNOWN
    assert found.agreement > 0.9
    np.testing.assert_array_equal(explain(frame.assign(letter=1.0), groups, categories=["warm"]).support[:3], [1, 1, 1])


def test_the_search_chooses_the_number_of_groups(fitted):
    _, frame, groups = fitted
    search = ModelSearch(SparseFisherEM(random_state=0), n_jobs=1, n_splits=2, progress=False).fit(frame)
    assert search.verdict_.n_clusters == 3
    assert adjusted_rand_score(groups, search.predict(frame)) > 0.75
    assert search.encoding_ == search.best_estimator_.encoding_
    assert "3 of 6: " in str(search.summary())


def test_a_search_by_a_criterion(fitted):
    _, frame, _ = fitted
    search = ModelSearch(FisherEM(random_state=0), n_clusters=[2, 3], models=["AB"], n_jobs=1, progress=False).fit(
        frame
    )
    assert search.best_estimator_.support_.shape == (6,)
    assert search.predict(frame).shape == (240,)


def test_refits_count_variables(fitted):
    model, frame, _ = fitted
    found = stability(model, frame, n_subsamples=3, fitted=model, progress=False, random_state=0)
    assert found.names == list(frame)
    assert found.frequencies.shape == (6,)
    assert not found.failures


def test_the_page_shows_shares(fitted, tmp_path):
    model, frame, groups = fitted
    refits = stability(model, frame, n_subsamples=2, fitted=model, progress=False, random_state=0)
    text = report(model, frame, tmp_path / "page.html", labels=groups, stability=refits).read_text()
    assert "The categories in each group" in text
    assert "made by <b>3 of 6 variables</b>" in text
    assert "colour=red" in text


def test_a_refit_to_numbers_forgets_the_encoding(fitted):
    _, frame, _ = fitted
    model = FisherEM(2, random_state=0).fit(frame)
    model.fit(frame[["number", "noise"]])
    assert not hasattr(model, "encoding_")
    assert model.predict(frame[["number", "noise"]]).shape == (240,)


def test_what_is_refused(fitted):
    _, frame, _ = fitted
    with pytest.raises(ValueError, match="has categories"):
        FisherEM(2, transformation="power").fit(frame)
    with pytest.raises(ValueError, match=r"'colour' and|'colour'.*hold"):
        BayesianFisherEM(2).fit(frame)
    with pytest.raises(ValueError, match="categories names 'no'"):
        FisherEM(2, categories=["no"]).fit(frame)
    with pytest.raises(ValueError, match="names the rows"):
        FisherEM(2).fit(frame.assign(letter=[f"id{i}" for i in range(240)]))


def test_one_hot_columns_are_noticed():
    frame, _ = mixed()
    indicators = pd.get_dummies(frame["colour"]).astype(float).assign(number=frame["number"], noise=frame["noise"])
    with pytest.warns(UserWarning, match=r"columns 'blue', 'green', 'red' are 0 or 1 and add up to one in every row"):
        FisherEM(3, random_state=0).fit(indicators)


def test_weights_of_two_are_repeated_rows(fitted):
    _, frame, _ = fitted
    weights = np.random.RandomState(0).randint(1, 3, size=len(frame))
    one = FisherEM(3, random_state=0).fit(frame, sample_weight=weights.astype(float))
    other = FisherEM(3, random_state=0).fit(frame.loc[frame.index.repeat(weights)])
    assert adjusted_rand_score(np.repeat(one.labels_, weights), other.labels_) > 0.9
    np.testing.assert_allclose(one.scales_, other.scales_)
