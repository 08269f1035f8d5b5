"""Bad input: one clear error, or the behaviour that the documentation states."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from fisherem import FactorMixture, FisherEM, SparseFisherEM, datasets
from tests.deciding import decided, failing_model
from tests.naive import accuracy


@pytest.fixture
def frame():
    return datasets.load("iris", as_frame=True)[0].copy()


def fails(match, X, *, weights=None, **parameters):
    with pytest.raises(ValueError, match=match):
        SparseFisherEM(**{"random_state": 0, **parameters}).fit(X, sample_weight=weights)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_named(frame, value):
    frame.iloc[17, 2] = value
    fails("contains infinity: row 17, column 'petal length", frame)
    frame.iloc[3, 1] = np.nan  # a missing value beside it is not what is wrong
    fails("contains infinity: row 17, column 'petal length", frame)
    fails("contains infinity: row 17, column 2", frame.to_numpy())
    with pytest.raises(ValueError, match="row 17"):
        FisherEM(random_state=0).fit(frame.fillna(0).replace([np.inf, -np.inf], 0)).predict(frame)


def test_values_that_only_overflow_when_added_are_not_taken_for_infinite():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:, 0] *= 1e300
    from fisherem.tables.checking import check_finite

    check_finite(np.full((10, 2), 1e308))


def test_text_columns_are_named_where_categories_are_not_taken(frame):
    frame["species"] = "setosa"
    frame["place"] = pd.Categorical(["a"] * 150)
    with pytest.raises(ValueError, match="'species' holds text; 'place' holds categories: drop or encode them"):
        FactorMixture(2).fit(frame)
    with pytest.raises(ValueError, match="'name' holds text"):
        FactorMixture(2).fit(pl.DataFrame({"name": ["x", "y", "z"], "a": [1.0, 2, 3], "b": [1.0, 2, 4]}))


@pytest.mark.parametrize("K", [0, -1, 2.5, "3", None, True])
def test_n_clusters_must_be_a_positive_whole_number(frame, K):
    fails("n_clusters must be a whole number at least 1", frame, n_clusters=K)


@pytest.mark.parametrize("K", [150, 151, 1000])
def test_as_many_clusters_as_rows(frame, K):
    fails("must be smaller than the number of rows", frame, n_clusters=K)


def test_one_cluster_is_the_model_without_groups(frame):
    X = frame.to_numpy()
    model = SparseFisherEM(1, scale="none", noise_factors=0).fit(X)
    assert not model.labels_.any()
    assert model.loadings_.shape == (4, 0)
    assert not model.support_.any()
    assert model.transform(X).shape == (150, 0)
    variance = ((X - X.mean(axis=0)) ** 2).sum() / X.size
    expected = -0.5 * X.size * (np.log(2 * np.pi * variance) + 1)
    np.testing.assert_allclose(model.log_likelihood_, expected)
    assert model.n_parameters_ == 1  # the noise variance; as in Table 1 the overall mean is not counted


def test_one_cluster_with_factors_is_one_gaussian(frame):
    X = frame.to_numpy()
    n, p = X.shape
    model = SparseFisherEM(1, scale="none", noise_factors=p - 1).fit(X)
    log_det = np.linalg.slogdet(np.cov(X.T, bias=True))[1]
    np.testing.assert_allclose(model.log_likelihood_, -n / 2 * (p * np.log(2 * np.pi) + log_det + p))
    assert model.n_parameters_ == p * (p + 1) // 2
    chosen = SparseFisherEM(1, scale="none", noise_factors="auto").fit(X)
    assert not chosen.labels_.any()
    assert chosen.bic_ > SparseFisherEM(1, scale="none", noise_factors=0).fit(X).bic_


def test_more_clusters_than_columns_use_one_axis_less_than_columns():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9], [9, 9, 0], [9, 0, 9.0]])
    X = centres[np.arange(300) % 6] + rng.normal(size=(300, 3))
    model = FisherEM(6, scale="none", random_state=0).fit(X)
    assert model.loadings_.shape == (3, 2)
    fails("n_axes must be a whole number at least 1 and at most 2", X, n_clusters=6, n_axes=3)
    fails("n_axes must be None for n_clusters=1", X, n_clusters=1, n_axes=1)


def test_constant_columns_are_named_and_never_selected(frame):
    frame.insert(1, "constant", 3.7)
    frame["zero"] = 0.0
    for model in (
        FisherEM(3, scale="none", random_state=0),
        SparseFisherEM(3, scale="none", random_state=0, method="svd"),
    ):
        with pytest.warns(UserWarning, match="'constant', 'zero'"):
            model.fit(frame)
        assert not model.support_[[1, 5]].any()
        assert not model.loadings_[[1, 5]].any()
    wide = np.column_stack([np.random.default_rng(0).normal(size=(20, 30)), np.full(20, 1e6)])
    with pytest.warns(UserWarning, match="constant columns .*: 30$"):
        model = FisherEM(2, scale="none", random_state=0).fit(wide)
    assert not model.support_[30]


@pytest.mark.filterwarnings("ignore:constant columns:UserWarning")
@pytest.mark.parametrize(
    "estimator", [FisherEM(3, scale="none", random_state=0), SparseFisherEM(3, scale="none", random_state=0)]
)
def test_constant_columns_change_nothing(frame, estimator):
    def others(model):
        """The choices but the number of variables and the ridge."""
        return model.decisions_[["decision", "choice"]].query("decision not in ('variables', 'ridge')")

    without = estimator.fit(frame)
    model, labels, support = without.model_, without.labels_, without.support_
    decisions, ridge = others(without), float(decided(without, "ridge").choice.split()[0])
    top = np.sort(without.predict_proba(frame), axis=1)
    more = estimator.fit(np.column_stack([frame, np.zeros((150, 3))]))
    assert more.model_ == model
    assert others(more).equals(decisions)
    assert float(decided(more, "ridge").choice.split()[0]) == pytest.approx(ridge, rel=0.05)
    tied = top[:, -1] - top[:, -2] < 0.05  # the ridge is a share of the mean variance, which constant columns change
    assert tied.sum() <= 1
    np.testing.assert_array_equal(more.labels_[~tied], labels[~tied])
    np.testing.assert_array_equal(more.support_, np.r_[support, [False] * 3])


@pytest.mark.parametrize("noise", [0, 3])
def test_a_variable_with_one_value_in_each_group_is_selected(noise):
    labels = np.arange(60) % 3
    others = np.random.default_rng(0).normal(scale=0.5, size=(60, 1 + noise))  # k-means would rather cut a wider one
    X = np.column_stack([5.0 * (labels == 0), labels, others])
    model = SparseFisherEM(3, scale="none", random_state=0).fit(X)
    assert model.support_[:2].any()
    assert not model.support_[2:].any()
    assert accuracy(labels, model.labels_) == 1


def test_constant_is_judged_on_rows_that_count(frame):
    X = frame.to_numpy().copy()
    weights = np.ones(150)
    weights[0] = 0
    X[1:, 3] = 1.0
    with pytest.warns(UserWarning, match="constant columns"):
        assert not FisherEM(2, scale="none", random_state=0).fit(X, sample_weight=weights).support_[3]


def test_duplicated_rows_are_rows(frame):
    model = FisherEM(3, scale="none", random_state=0).fit(pd.concat([frame, frame, frame.iloc[:10]]))
    assert model.labels_.shape == (310,)


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat(np.eye(4)[:2], 10, axis=0)
    fails("only 2 distinct rows, fewer than n_clusters=3", X)
    weights = np.ones(30)
    weights[20:] = 0
    fails("only 2 distinct rows", np.vstack([X, np.random.default_rng(0).normal(size=(10, 4))]), weights=weights)


def test_one_column_or_one_row():
    fails(r"1 feature\(s\)", np.arange(10.0)[:, None])
    fails(r"1 sample\(s\)", np.ones((1, 5)))
    fails("2D array", np.arange(10.0))


def test_weights(frame):
    weights = np.ones(150)
    fails("one value per row", frame, weights=weights[:10])
    weights[7] = -0.5
    fails("must not be negative; row 7 has -0.5", frame, weights=weights)
    fails("zero for every row", frame, weights=np.zeros(150))
    fails("NaN", frame, weights=np.full(150, np.nan))
    only = np.zeros(150)
    only[:3] = 1
    fails("n_samples=3 with positive weight", frame, weights=only)
    # twice as many rows ask for less ridge and may pay for more parameters: both are given here
    given = FisherEM(3, scale="none", model="AkB", n_axes=2, ridge=0.01, random_state=0)
    scalar, plain = clone(given).fit(frame, sample_weight=2.0), clone(given).fit(frame)
    assert adjusted_rand_score(scalar.labels_, plain.labels_) == 1
    np.testing.assert_allclose(scalar.log_likelihood_, 2 * plain.log_likelihood_, rtol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"model": "nonsense"}, "unknown model 'nonsense'; choose one of DkBk"),
        ({"method": "lasso"}, "method must be one of 'two-step', 'regression', 'svd'; got 'lasso'"),
        ({"discriminant": "pca"}, "discriminant must be one of"),
        ({"init": "zeros"}, "init must be one of"),
        ({"start": "warm"}, "start must be one of"),
        ({"stopping": "never"}, "stopping must be one of"),
        ({"sparsity": 0}, r"\(0, 1\]"),
        ({"sparsity": 1.5}, r"\(0, 1\]"),
        ({"sparsity": float("nan")}, r"\(0, 1\]"),
        ({"sparsity": [0.1, 0.2, 0.3]}, "one per axis"),
        ({"sparsity": "much"}, "sparsity must be"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol"),
        ({"ridge": -1}, "ridge"),
        ({"ridge": "big"}, "'auto' or a number at least 0"),
        ({"model": "Auto"}, "also take 'auto'"),
        ({"variance_floor": 9e-10}, "variance_floor must be a number at least 1e-09; got 9e-10"),
        ({"n_axes": 0}, "n_axes"),
        ({"n_jobs": "all"}, "n_jobs"),
        ({"scale_penalty": 1}, "scale_penalty"),
        ({"random_state": "x"}, "seed"),
        ({"init": np.zeros(10)}, "one label per row"),
        ({"init": np.zeros(150)}, "3 different labels; got 1"),
        ({"init": np.zeros((150, 2))}, r"shape \(150, 3\)"),
        ({"init": np.ones((150, 3))}, "sum to 1"),
    ],
)
def test_parameters_are_checked_before_any_work(frame, parameters, match):
    fails(match, frame, **parameters)


def test_collinear_columns_need_the_ridge(frame):
    frame["copy"] = frame.iloc[:, 0] * 2
    fails("singular .* raise ridge", frame, ridge=0.0)
    fails("ridge must be above 0", np.random.default_rng(0).normal(size=(10, 30)), ridge=0.0)
    assert SparseFisherEM(3, scale="none", random_state=0).fit(frame).labels_.shape == (150,)


@pytest.mark.parametrize("given", [{"ridge": 0.01, "n_axes": 2}, {"ridge": 0.01}, {"n_axes": 1}, {"ridge": 0}])
def test_variables_are_chosen_with_whatever_else_is_given(frame, given):
    model = SparseFisherEM(3, scale="none", random_state=0, **given).fit(frame)
    assert model.support_.any()
    assert model.loadings_.shape[1] <= given.get("n_axes", 2)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)


def test_large_tables_of_one_group_and_samples_without_a_fit(treat_as_large):
    from fisherem.core.engine.multistart import FitError
    from fisherem.core.starts.partitions import STARTS

    def for_all_rows_only(problem, n_clusters, n_init, rng):
        sizes.append(problem.rows.n)
        if problem.rows.n < 6000:
            raise FitError("not this sample")
        return STARTS["kmeans"](problem, n_clusters, n_init, rng)

    sizes = []
    X, _ = datasets.simulate(6000, 1.7, random_state=0)
    treat_as_large(80_000)
    assert not SparseFisherEM(1, scale="none").fit(X).support_.any()
    with STARTS.having("for-all-rows", for_all_rows_only):
        model = SparseFisherEM(3, scale="none", init="for-all-rows", random_state=0).fit(X)
        dense = FisherEM(3, scale="none", init="for-all-rows", random_state=0).fit(X)
    assert min(sizes) < 6000  # a sample was tried
    np.testing.assert_array_equal(model.labels_, dense.labels_)


def test_not_converging_is_a_warning_with_the_limit(frame):
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = FisherEM(3, scale="none", random_state=0, n_init=1, max_iter=2).fit(frame)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match="cycle"):
        FisherEM(3, scale="none", random_state=0, means="full", discriminant="svd").fit(frame)


def test_not_fitted():
    from sklearn.exceptions import NotFittedError

    for method in ("predict", "transform", "score_samples", "bic"):
        with pytest.raises(NotFittedError):
            getattr(FisherEM(), method)(np.ones((3, 2)))
    with pytest.raises(NotFittedError):
        FisherEM().sample()


def test_all_starts_failing_says_why(frame):
    with failing_model("AB", "the log-likelihood became nan"):
        fails("none of the 10 starts led to a fit: the log-likelihood became nan", frame)


@pytest.mark.parametrize("shape", [(10, 3), (5, 9)])
def test_equal_rows_are_named(shape):
    with pytest.raises(ValueError, match=r"all rows .* are equal"):
        FisherEM(1, scale="none").fit(np.full(shape, 2.5))
    rows = np.random.default_rng(0).normal(size=shape)
    rows[:2] = 1.0
    with pytest.raises(ValueError, match=r"all rows .* are equal"):
        FisherEM(1, scale="none").fit(rows, sample_weight=np.r_[1.0, 1.0, np.zeros(shape[0] - 2)])
