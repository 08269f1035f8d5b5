"""Pipelines that end in one of our estimators are taken everywhere, and names come through their steps."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, PowerTransformer, StandardScaler

from fisherem import FisherEM, ModelSearch, SelectDiscriminative, SparseFisherEM, compare, datasets, load, report, save
from fisherem import stability as refit
from fisherem.estimators.pipelines import columns_of, last_step, names_of, on_its_rows, support_on
from fisherem.plots import (
    LoadingsDisplay,
    MergeDisplay,
    ProfilesDisplay,
    ProjectionDisplay,
    SelectionDisplay,
    StabilityDisplay,
)


@pytest.fixture(scope="module")
def frame():
    return datasets.load("wine", as_frame=True)[0]


@pytest.fixture(scope="module")
def pipe(frame):
    return make_pipeline(StandardScaler(), SparseFisherEM(3, random_state=0)).fit(frame)


@pytest.fixture(scope="module")
def alone(frame):
    """The same fit without a pipeline."""
    Z = pd.DataFrame(StandardScaler().fit_transform(frame), columns=frame.columns, index=frame.index)
    return SparseFisherEM(3, random_state=0).fit(Z), Z


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_displays_of_a_pipeline_equal_those_of_its_estimator(pipe, frame, alone):
    model, Z = alone
    plane, expected = ProjectionDisplay.from_estimator(pipe, frame), ProjectionDisplay.from_estimator(model, Z)
    np.testing.assert_allclose(plane.points, expected.points)
    assert plane.names == expected.names
    assert set(plane.names) == set(frame.columns[pipe[-1].support_])
    assert LoadingsDisplay.from_estimator(pipe).names == LoadingsDisplay.from_estimator(model).names
    profiles = ProfilesDisplay.from_estimator(pipe, frame)
    np.testing.assert_allclose(profiles.values, ProfilesDisplay.from_estimator(model, Z).values)
    assert profiles.names == list(frame.columns)
    assert MergeDisplay.from_estimator(pipe, frame).order == MergeDisplay.from_estimator(model, Z).order
    chart = SelectionDisplay.from_models({"pipeline": pipe, "alone": model})
    np.testing.assert_allclose(*chart.values)
    assert chart.names == list(frame.columns)
    for display in (plane, profiles, LoadingsDisplay.from_estimator(pipe), chart):
        display.plot()


def test_the_page_of_a_pipeline_has_names_index_and_what_was_done(pipe, frame, tmp_path):
    named = frame.set_axis([f"wine-{i}" for i in range(178)], axis=0)
    page = report(pipe, named, tmp_path / "page.html", notes="from the cellar").read_text()
    assert "flavanoids" in page
    assert "wine-17" in page
    assert "values are those after StandardScaler" in page
    assert "from the cellar" in page


def test_stability_fits_the_steps_again_and_names_the_columns(pipe, frame, alone):
    found = refit(pipe, frame, n_subsamples=3, fitted=pipe, random_state=0, n_jobs=1, progress=False)
    assert found.names == list(frame.columns)
    np.testing.assert_array_equal(found.selected, alone[0].support_)
    np.testing.assert_array_equal(found.labels, alone[0].labels_)
    assert found.agreement.mean() > 0.7
    assert set(StabilityDisplay.from_stability(found).table["variable"]) <= set(frame.columns)
    # the refits' scalers saw half of the rows: scaling all rows once gives other numbers
    once = refit(alone[0], alone[1], n_subsamples=3, fitted=alone[0], random_state=0, n_jobs=1, progress=False)
    assert once.names == found.names
    with pytest.raises(TypeError, match="StandardScaler has no support_"):
        refit(make_pipeline(StandardScaler(), StandardScaler()), frame, n_subsamples=2)


def test_steps_that_keep_another_number_of_columns_are_a_failure_of_the_refit(frame):
    # the columns that half of the rows need for 97% of the variance are not always as many
    mixed = make_pipeline(StandardScaler(), PCA(0.93), FisherEM(2, n_init=1, random_state=0))
    found = refit(mixed, frame, n_subsamples=6, random_state=1, n_jobs=1, progress=False)
    assert found.names[0] == "pca0"
    assert any("columns, and" in reason for reason in found.failures)


def test_compare_knows_which_columns_a_pipeline_selects(frame, alone):
    mine = {
        "scaled": make_pipeline(StandardScaler(), SparseFisherEM(3, random_state=0)),
        "mixed": make_pipeline(StandardScaler(), PCA(4), FisherEM(3, n_init=1, random_state=0)),
    }
    found = compare(frame, methods=mine)
    assert found.table["reason"].tolist() == ["", ""]
    np.testing.assert_array_equal(found.supports["scaled"], alone[0].support_)
    assert found.supports["mixed"].all()  # every column enters every component
    assert SelectionDisplay.from_comparison(found).values.shape == (2, 13)


@pytest.fixture(scope="module")
def searched(frame):
    pipeline = make_pipeline(StandardScaler(), SparseFisherEM(random_state=0))
    grid = {"n_clusters": [2, 3], "models": ["AkB"], "n_init": 1, "n_jobs": 1, "progress": False}
    return ModelSearch(pipeline, **grid).fit(frame)


def test_a_search_with_a_pipeline_is_the_search_on_its_rows(searched, frame, alone, tmp_path):
    grid = {"n_clusters": [2, 3], "models": ["AkB"], "n_init": 1, "n_jobs": 1, "progress": False}
    expected = ModelSearch(SparseFisherEM(random_state=0), **grid).fit(alone[1])
    pd.testing.assert_frame_equal(searched.results_.drop(columns="seconds"), expected.results_.drop(columns="seconds"))
    assert isinstance(searched.best_estimator_, Pipeline)
    assert list(searched.feature_names_in_) == list(frame.columns)
    assert searched.n_features_in_ == 13
    np.testing.assert_array_equal(searched.predict(frame), expected.labels_)
    np.testing.assert_array_equal(searched.labels_, expected.labels_)
    assert searched.transform(frame).shape == (178, len(searched.loadings_.T))
    # the file of the search takes raw rows, and the page shows the search
    kept = load(save(searched, tmp_path / "model.skops"))
    np.testing.assert_array_equal(kept.predict(frame), expected.labels_)
    page = report(searched, frame, tmp_path / "page.html").read_text()
    assert "flavanoids" in page
    assert "ModelSearch(SparseFisherEM(" in page
    assert ProjectionDisplay.from_estimator(searched, frame).names[0] in set(frame.columns)


def test_a_verdict_with_a_pipeline(frame):
    search = ModelSearch(
        make_pipeline(StandardScaler(), SparseFisherEM(n_init=1, random_state=0)),
        n_clusters=[3], n_splits=2, n_jobs=1, progress=False,
    ).fit(frame.iloc[::2])  # fmt: skip
    assert search.verdict_.n_clusters in search.results_["n_clusters"].to_list()
    np.testing.assert_array_equal(search.predict(frame.iloc[::2]), search.labels_)
    with pytest.raises(TypeError, match=r"must be a FisherEM.* got PCA"):
        ModelSearch(make_pipeline(StandardScaler(), PCA())).fit(frame)


def test_files_keep_pipelines_with_other_steps(frame, tmp_path):
    columns = ColumnTransformer([("num", PowerTransformer(), list(frame.columns[:6]))], remainder=MinMaxScaler())
    for steps in ([columns], [StandardScaler(), PCA(5)], [StandardScaler().set_output(transform="pandas")]):
        model = make_pipeline(*steps, FisherEM(3, n_init=1, random_state=0)).fit(frame)
        kept = load(save(model, tmp_path / "model.skops"))
        np.testing.assert_array_equal(kept.predict(frame), model.predict(frame))
        assert names_of(kept) == names_of(model)


def test_selecting_behind_a_scaler(frame, alone):
    chosen = SelectDiscriminative(make_pipeline(StandardScaler(), SparseFisherEM(3, random_state=0))).fit(frame)
    assert list(chosen.get_feature_names_out()) == list(frame.columns[alone[0].support_])
    mixed = make_pipeline(StandardScaler(), PCA(4), SparseFisherEM(3, n_init=1, random_state=0))
    with pytest.raises(ValueError, match="mix the columns"):
        SelectDiscriminative(mixed).fit(frame)


# -- names ---------------------------------------------------------------------------------------------------------


def quick():
    return FisherEM(2, n_init=1, max_iter=50, random_state=0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_names_through_the_steps(frame):
    first = list(frame.columns[:4])
    few = frame[first]
    parts = make_column_transformer((StandardScaler(), first[2:]), (MinMaxScaler(), first[:2]))
    twice = make_column_transformer((StandardScaler(), first[:2]), (MinMaxScaler(), first[:2]))
    cases = {
        "scaler": ([StandardScaler()], first, [0, 1, 2, 3]),
        "nothing": (["passthrough", StandardScaler()], first, [0, 1, 2, 3]),
        "parts": ([parts], first[2:] + first[:2], [2, 3, 0, 1]),  # without the prefixes of the parts
        "twice": ([twice], [f"{s}__{c}" for s in ("standardscaler", "minmaxscaler") for c in first[:2]], None),
        "pca": ([StandardScaler(), PCA(3)], ["pca0", "pca1", "pca2"], None),
        "silent": ([StandardScaler(), FunctionTransformer(np.tanh)], None, None),
    }
    for name, (steps, names, places) in cases.items():
        model = make_pipeline(*steps, quick()).fit(few)
        assert names_of(model) == names, name
        found = columns_of(model)
        assert (None if found is None else found.tolist()) == places, name
        estimator, rows = on_its_rows(model, few)
        np.testing.assert_array_equal(estimator.predict(rows), model.predict(few))
    # frames keep their names through a step that cannot say what becomes of them
    kept = make_pipeline(FunctionTransformer(np.log), quick()).fit(few)
    assert names_of(kept) == first


def test_tables_without_names_count_from_one(frame):
    X = frame.to_numpy()[:, :4]
    model = make_pipeline(StandardScaler(), quick()).fit(X)
    assert names_of(model) == ["x1", "x2", "x3", "x4"]
    assert LoadingsDisplay.from_estimator(model).plot().names[0].startswith("x")
    assert names_of(quick().fit(StandardScaler().fit_transform(X))) is None


def test_set_output_and_nested_pipelines(frame):
    few = frame.iloc[:, :4]
    nested = make_pipeline(StandardScaler(), make_pipeline(PowerTransformer(), quick())).set_output(transform="pandas")
    nested.fit(few)
    before, estimator = last_step(nested)
    assert [type(step).__name__ for _, step in before.steps] == ["StandardScaler", "PowerTransformer"]
    assert isinstance(estimator, FisherEM)
    assert names_of(nested) == list(few.columns)
    np.testing.assert_array_equal(on_its_rows(nested, few)[0].labels_, nested.predict(few))


def test_roles_have_the_names_of_the_columns(pipe, frame, alone):
    estimator, _ = on_its_rows(pipe, frame)
    pd.testing.assert_frame_equal(estimator.roles_, alone[0].roles_)
    assert pipe[-1].roles_["variable"][0] == "x1"  # the fitted pipeline itself is left as it is


def test_a_value_per_column(pipe, frame):
    np.testing.assert_array_equal(support_on(pipe, pipe[-1].support_, 13), pipe[-1].support_)
    few = make_column_transformer((StandardScaler(), list(frame.columns[[5, 2]])))
    model = make_pipeline(few, quick()).fit(frame)
    assert np.flatnonzero(support_on(model, np.array([True, True]), 13)).tolist() == [2, 5]


def test_files_go_through_the_steps(pipe, frame, tmp_path):
    path = tmp_path / "wine.csv"
    frame.to_csv(path, index=False)
    np.testing.assert_allclose(
        ProjectionDisplay.from_estimator(pipe, path).points, ProjectionDisplay.from_estimator(pipe, frame).points
    )
    np.save(tmp_path / "wine.npy", frame.to_numpy())
    X = frame.to_numpy()
    model = make_pipeline(StandardScaler(), quick()).fit(X)
    np.testing.assert_allclose(
        ProjectionDisplay.from_estimator(model, tmp_path / "wine.npy").points,
        ProjectionDisplay.from_estimator(model, X).points,
    )
