"""compare, and the picture of selections."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from fisherem import Clustvarsel, SparseKMeans, compare, datasets
from fisherem.core.dlm.f_step.step import SPARSE_STEPS
from fisherem.plots import SelectionDisplay
from fisherem.rivals import RIVALS
from fisherem.search.comparison import method_names, methods
from fisherem.search.scoring import accuracy as matched_accuracy
from tests.naive import accuracy


@pytest.fixture(scope="module")
def compared():
    X, y, _ = datasets.simulate_roles(200, random_state=0)
    frame = pd.DataFrame(X, columns=[f"v{j}" for j in range(12)])
    names = [m for m in methods() if m != "Clustvarsel"]
    return compare(frame, y, methods=names, n_clusters=4), y, names


def test_a_row_per_method(compared):
    result, y, names = compared
    table = result.table
    assert list(table["method"]) == names
    assert list(table.columns) == ["method", "accuracy", "ari", "n_variables", "seconds", "reason"]
    for row in table.itertuples():
        model = result.models[row.method]
        labels = model.labels_ if hasattr(model, "labels_") else None
        if labels is not None:
            assert row.accuracy == pytest.approx(accuracy(y, labels))
            assert row.ari == pytest.approx(adjusted_rand_score(y, labels))
        assert row.n_variables == result.supports[row.method].sum()
    assert result.supports["k-means"].all()
    assert list(result.supports.index) == [f"v{j}" for j in range(12)]
    np.testing.assert_allclose(np.diag(result.agreement), 1)
    np.testing.assert_allclose(result.agreement, result.agreement.T)
    a, b = result.models["k-means"].labels_, result.models["SparseKMeans"].labels_
    assert result.agreement.loc["k-means", "SparseKMeans"] == adjusted_rand_score(a, b)


def test_failures_are_rows_and_truth_is_optional(wine):
    X, _ = wine
    methods = {"good": KMeans(3, n_init=1), "bad": SparseKMeans(3, bound=99.0), "odd": Clustvarsel(3, models="none")}
    result = compare(X, methods=methods)
    assert list(result.table.columns) == ["method", "n_variables", "seconds", "reason"]
    reasons = dict(zip(result.table["method"], result.table["reason"], strict=True))
    assert reasons["good"] == ""
    assert "bound must be" in reasons["bad"]
    assert "models must be" in reasons["odd"]
    assert result.table["n_variables"].isna().tolist() == [False, True, True]
    assert list(result.models) == ["good"]
    assert result.agreement.loc["bad"].isna().all()


def test_unknown_methods(wine):
    with pytest.raises(ValueError, match=r"'all', names among FisherEM, .* k-means, .*; got \['magic'\]"):
        compare(wine[0], methods=["magic"])
    assert list(compare(wine[0], methods="k-means").table["method"]) == ["k-means"]


def test_names_match_whatever_their_case_blanks_and_hyphens(wine):
    table = compare(wine[0], methods=["KMeans", "sparse-fisher-em SVD", "fisher em"]).table
    assert list(table["method"]) == ["k-means", "SparseFisherEM svd", "FisherEM"]
    assert list(compare(wine[0], methods=["kmeans", "K-Means"]).table["method"]) == ["k-means"]


def test_columns_without_names_are_counted_from_1(wine):
    assert list(compare(wine[0], methods="k-means").supports.index)[:2] == ["x1", "x2"]


def test_every_registered_method_is_there():
    assert list(methods()) == [
        "FisherEM", "SparseFisherEM", *(f"SparseFisherEM {step}" for step in SPARSE_STEPS), *RIVALS
    ]  # fmt: skip


def test_matched_accuracy_is_the_naive_one():
    rng = np.random.default_rng(0)
    y, labels = rng.integers(3, size=50), rng.integers(4, size=50)
    assert matched_accuracy(y, labels) == pytest.approx(accuracy(y, labels))
    assert matched_accuracy(np.array(["a", "b", "b"]), np.array([1, 0, 0])) == 1


def test_the_picture_holds_what_it_shows(compared):
    result, _, names = compared
    data = SelectionDisplay.from_comparison(result)
    assert data.methods == names
    assert data.values.shape == (len(names), 12)
    np.testing.assert_array_equal(data.values > 0, result.supports.T.to_numpy())
    weights = result.models["SparseKMeans"].feature_weights_
    np.testing.assert_allclose(data.values[names.index("SparseKMeans")], weights / weights.max())
    assert data.counts == [int(c) for c in result.supports.sum()]
    assert data.plot().ax_ is not None
    plt.close("all")


def test_images(compared):
    result, _, names = compared
    data = SelectionDisplay.from_comparison(result, image_shape=(3, 4)).plot()
    shown = [ax for ax in data.ax_ if ax.images]
    assert len(shown) == len(names)
    np.testing.assert_allclose(shown[0].images[0].get_array(), data.values[0].reshape(3, 4))
    plt.close("all")
    with pytest.raises(ValueError, match=r"image_shape=\(5, 5\) has 25 pixels; X has 12 columns"):
        SelectionDisplay.from_comparison(result, image_shape=(5, 5))
    with pytest.raises(ValueError, match="no fitted models"):
        SelectionDisplay.from_models({})
    with pytest.raises(ValueError, match="one axes per method"):
        SelectionDisplay.from_comparison(result, image_shape=(3, 4)).plot(plt.subplots()[1])
    plt.close("all")


# -- time limits, and rows as they come ----------------------------------------------------------------------------


class Endless(KMeans):
    """k-means that never comes to an end."""

    def fit(self, X, y=None, sample_weight=None):
        while True:
            pass


def test_a_method_past_its_limit_is_stopped_and_the_others_go_on(wine):
    X, y = wine
    seen = []
    chosen = {"first": KMeans(3, n_init=1, random_state=0), "endless": Endless(3), "bad": SparseKMeans(3, bound=99.0)}
    chosen["last"] = KMeans(3, n_init=1, random_state=0)
    result = compare(X, y, chosen, time_limit=2, callback=lambda name, row: seen.append((name, row)))
    table = result.table.set_index("method")
    assert table.loc["endless", "reason"] == "stopped at its time limit of 2 s"
    assert 2 <= table.loc["endless", "seconds"] < 20
    assert "endless" not in result.models
    assert "bound must be" in table.loc["bad", "reason"]
    alone = compare(X, y, {name: chosen[name] for name in ("first", "last")}).table.set_index("method")
    assert table.loc["last", "accuracy"] == alone.loc["last", "accuracy"]
    # a call as each method begins, and its row as it ends
    assert [name for name, row in seen if row is None] == list(chosen)
    assert [name for name, row in seen if row is not None] == list(chosen)
    assert [seen.index((name, None)) for name in chosen] == [0, 2, 4, 6]
    assert dict(seen)["first"]["accuracy"] == table.loc["first", "accuracy"]
    for wrong in (0, -1, "long"):
        with pytest.raises(ValueError, match="time_limit"):
            compare(X, methods=chosen, time_limit=wrong)
    with pytest.raises(TypeError, match="callback"):
        compare(X, methods=chosen, callback="rows")


def test_k_means_goes_by_many_spellings():
    assert method_names(["kmeans", "K-Means", "k-means", "KMEANS", "k means"]) == ["k-means"]
    assert method_names(["sparse fisher-em", "gaussian mixture"]) == ["SparseFisherEM", "GaussianMixture"]
    assert method_names("all") == list(methods())
    with pytest.raises(ValueError, match="names among FisherEM, "):
        method_names(["magic"])


@pytest.mark.parametrize("callback", [len, 3, lambda name: None])
def test_a_callback_that_cannot_be_called_so(callback):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(TypeError, match="callback must be a function of a name and a row"):
        compare(X, n_clusters=2, methods=["k-means"], callback=callback)
