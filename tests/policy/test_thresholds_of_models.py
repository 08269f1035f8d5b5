"""One test for each threshold of models, variables, noise and covariates: it holds on both sides of the threshold."""

from types import SimpleNamespace

import numpy as np
import pytest

from fisherem import FisherEM, SparseFisherEM, Stability
from fisherem.core.data.joint_regression import JointRegression
from fisherem.core.data.problem import prepare
from fisherem.estimators.fitting import specification
from fisherem.estimators.naming import axis_names
from fisherem.model.dlm import MODELS
from fisherem.policy import missing, noise, variables
from fisherem.policy.alternation import Climb
from fisherem.policy.covariates import confounded, decides_anew, distance_moved, is_settled
from fisherem.policy.criterion import Partition
from fisherem.policy.decisions import Chosen
from fisherem.policy.forward_backward import Selector
from fisherem.policy.latent_model import model_candidates, roomy_model
from fisherem.policy.missing import most_factors, prepared_rows
from fisherem.policy.model import _better
from fisherem.policy.noise import numbers_of_factors
from fisherem.policy.powers import Powers

from .holding import holds, of_sizes


@holds("power_spike")
def test_columns_with_a_frequent_value_are_not_bent():
    def bent(frequent):
        values = np.exp(np.random.default_rng(0).normal(size=(200, 1)))
        values[:frequent] = values.min()
        return Powers.within(values, np.zeros(200, int), np.ones(200)).bent[0]

    assert bent(39)
    assert not bent(41)


@holds("axis_separation")
def test_axes_separate_three_times_as_much_as_chance():
    """The first of two axes separates the groups well, the second `times` as much as chance would."""
    n, p, labels = 300, 6, np.arange(300) % 3
    rest = np.random.default_rng(0).normal(size=(n, p))
    for k in range(3):
        rest[labels == k] -= rest[labels == k].mean(axis=0)
    rest = rest @ np.linalg.inv(np.linalg.cholesky(rest.T @ rest / n).T)  # within the groups S is the identity
    for times, d in ((2.9, 1), (3.1, 2)):
        b = np.sqrt(times * p / (n - 3) / 2)
        means = np.zeros((3, p))
        means[:, 0], means[:, 1] = (4, -4, 0), (b, b, -2 * b)
        problem = prepare(rest + means[labels], ridge=1e-6)
        family = specification(FisherEM(3, ridge=1e-6), n, p).family
        assert family.adapt(problem, problem.start_states(labels, 3))[1].d == d


@holds("factor_gain")
def test_the_fewest_factors_with_nearly_all_of_the_gain():
    assert noise._named({0: 0.0, 1: 94.0, 2: 100.0}) == [1, 2]
    assert noise._named({0: 0.0, 1: 96.0, 2: 100.0}) == [0, 1]


@holds("climb_variables", "climb_rows_per_variable")
def test_climbs_end_at_groups_that_differ_in_many_variables():
    def ended(n, p):
        labels = np.arange(n) % 2
        X = np.random.default_rng(0).normal(size=(n, p)) + 3 * labels[:, None]
        climb = Climb(prepare(X, ridge="auto"), specification(SparseFisherEM(2), n, p), labels, 1)
        climb.wanted()
        return climb.ended

    assert [ended(200, p) for p in (50, 51)] == [False, True]
    assert [ended(n, 60) for n in (240, 244)] == [True, False]


@holds("explains")
def test_variables_that_explain_a_fifth_of_the_most_are_named():
    assert variables._named(np.array([0.19, 1.0, 0.21]), np.array([5, 6, 7]), list("abcdefgh")) == "g, h"


@holds("names_axis")
def test_an_axis_is_named_by_variables_with_three_tenths_of_the_largest_contribution():
    def named(share):
        model = SimpleNamespace(
            loadings_=np.array([[1.0], [share]]), weights_=np.ones(2) / 2, group_means_=np.array([[-1.0, -1], [1, 1]])
        )
        return axis_names(model, ["a", "b"])

    assert named(0.29) == ["axis 1: a"]
    assert named(0.31) == ["axis 1: a, b"]


@holds("comes_back")
def test_what_three_quarters_of_the_refits_find_is_stable():
    found = Stability(
        np.array([0.74, 0.76]), np.ones(2, bool), ["a", "b"], np.array([1]), np.ones(1), np.ones(1), failures=[]
    )
    assert found.stable().tolist() == [False, True]
    assert found.table()["stable"].tolist() == [True, False]  # the most frequent first


@holds("covariate_levels")
def test_whole_numbers_of_few_values_are_levels():
    def width(values):
        return len(covariate_effects_of(np.tile(np.arange(values), 10)))

    assert width(20) == 19
    assert width(21) == 1


def covariate_effects_of(covariate):
    rows = np.random.default_rng(0).normal(size=(len(covariate), 2))
    return FisherEM(1).fit(rows, covariates=covariate).covariate_effects_


@holds("covariate_settled")
def test_effects_are_settled_below_a_share_of_their_standard_errors():
    total = np.diag([50.0, 200.0])  # Z'Z of 100 rows
    found = JointRegression(np.zeros((2, 3)), total, total, np.zeros((2, 3)))
    error = np.array([[1.0, 2.0, 0.5], [0, 0, 0]]) / np.sqrt(50)  # standard errors of the first covariate
    variances = np.array([1.0, 4.0, 0.25])
    assert distance_moved(0.3 * error, found, variances, 100.0) == pytest.approx(0.3)
    assert is_settled(0.049)
    assert not is_settled(0.051)


@holds("covariate_anew")
def test_decisions_are_made_anew_where_effects_move_far():
    assert decides_anew(0.51)
    assert not decides_anew(0.49)


@holds("covariate_within")
def test_covariates_and_groups_are_told_apart_up_to_a_share():
    def judged(share):
        total = np.array([[2.0, 1.0], [1.0, 3.0]])
        half = np.linalg.cholesky(total)
        return confounded(
            JointRegression(np.zeros((2, 1)), half @ np.diag([share, 1.0]) @ half.T, total, np.zeros((2, 1)))
        )

    assert judged(0.099)
    assert not judged(0.101)


# -- the selection ---------------------------------------------------------------------------------------------------


def two_alike(share, n=400):
    """Three columns: the first separates two groups, the second is the first but for this share of its variance."""
    labels = np.arange(n) % 2
    rng = np.random.default_rng(0)
    first = 3.0 * labels + rng.normal(size=n)
    first -= np.where(labels, first[labels == 1].mean() - 3, first[labels == 0].mean())
    own = rng.normal(size=n)
    for k in (0, 1):  # orthogonal to the first column within the groups, so that the share is exact
        here, inside = labels == k, first[labels == k] - first[labels == k].mean()
        own[here] -= own[here].mean()
        own[here] -= inside * (inside @ own[here]) / (inside @ inside)
    inside = first - np.where(labels, 3.0, 0.0)
    own *= np.sqrt(share / (1 - share) * (inside @ inside) / (own @ own))
    X = np.column_stack([first, first + own, rng.normal(size=n)])
    return Partition.of_labels(prepare(X, ridge=0), labels, 2)


@holds("own_variance")
def test_a_variable_that_others_explain_but_for_a_thousandth_adds_nothing():
    for share, adds in ((0.9e-3, False), (1.1e-3, True)):
        partition = two_alike(share)
        selector = Selector(partition, partition.directions(np.zeros(0, int), 1))
        selector.add(0)
        assert np.isfinite(selector.conditional_gains()[1]) == adds


@holds("rows_per_selected")
def test_one_variable_per_four_rows_at_most():
    X = np.random.default_rng(0).normal(size=(42, 30))
    partition = Partition.of_labels(prepare(X, ridge="auto"), np.arange(42) % 2, 2)
    assert Selector(partition, partition.directions(np.zeros(0, int), 1)).most == 10  # (42 - 2) / 4


# -- models and noise --------------------------------------------------------------------------------------------------


@holds("own_variance_rows")
def test_groups_of_twenty_rows_have_variances_of_their_own():
    assert (model_candidates(19.9, 1), roomy_model(19.9)) == (["AB", "AkB"], "AB")
    assert (model_candidates(20, 1), roomy_model(20)) == (["AkB"], "AkB")


@holds("rows_per_axis")
def test_covariances_of_groups_need_five_rows_per_axis():
    assert "DkB" not in model_candidates(9.9, 2)
    assert "DkB" in model_candidates(10, 2)


def better(**flexible):
    """The model that is kept: a compact one with criterion 1 and BIC 0, or a flexible one."""
    fits = [Chosen(SimpleNamespace(whole=True), [], MODELS[name]) for name in ("AB", "DkBk")]
    one = (fits[0], {"fisher": 1.0, "bic": 0.0, "dispersion": 1.0})
    other = (fits[1], {"fisher": 1.0, "bic": 1.0, "dispersion": 1.0} | flexible)
    return _better(one, other)[0][0].model.name


@holds("dispersion")
def test_bic_is_believed_up_to_a_dispersion_of_five_quarters():
    assert better(dispersion=1.24) == "DkBk"
    assert better(dispersion=1.26) == "AB"


@holds("flexible_gain")
def test_flexible_models_must_separate_by_one_per_cent_more():
    assert better(dispersion=2.0, fisher=1.009) == "AB"
    assert better(dispersion=2.0, fisher=1.011) == "DkBk"


@holds("rows_per_variable")
def test_models_are_compared_from_two_rows_per_variable_on():
    X = np.random.default_rng(0).normal(size=(16, 8))
    X[::2, 0] += 6
    for n, compared in ((15, False), (16, True)):
        model = FisherEM(2, means="full", scale="none", noise_factors=0, random_state=0, tol=1e-2).fit(X[:n])
        reason = model.decisions_.set_index("decision").loc["model", "reason"]
        assert (reason != "fewer than 2 rows per variable") == compared


@holds("distant")
def test_partitions_that_agree_by_seven_tenths_are_near():
    labels = np.arange(400) % 2
    X = np.random.default_rng(0).normal(size=(400, 3))
    X[:, 0] += 5 * labels

    class Known(noise._Judge):
        def labels(self, fit):
            return fit

    judge = Known(prepare(X, ridge="auto"), 2, 1e-6, labels)
    for wrong, worse in ((32, False), (34, True)):  # adjusted Rand index 0.705 and 0.688
        assert judge.worse(np.where(np.arange(400) < wrong, 1 - labels, labels)) == worse


def with_a_gap(n, p):
    X = np.random.default_rng(0).normal(size=(n, p))
    X[0, 0] = np.nan
    return prepared_rows(X)


@holds("full_noise")
def test_with_missing_cells_32_variables_may_have_any_covariance():
    assert numbers_of_factors(with_a_gap(110, 32))[-1] == 31
    assert numbers_of_factors(with_a_gap(110, 33))[-1] < 32
    assert numbers_of_factors(of_sizes([1.0] * 33, 110))[-1] == 32


@holds("more_factors")
def test_observed_cells_may_ask_for_four_times_as_many_factors():
    problem = with_a_gap(110, 32)
    assert (most_factors(problem, 2), most_factors(problem, 8)) == (8, 31)


@holds("neighbours_rows")
def test_neighbours_are_asked_up_to_a_thousand_rows():
    spec = SimpleNamespace(n_clusters=2, init="kmeans")
    for n, asked in ((1000, True), (1001, False)):
        problem = SimpleNamespace(prior=None, rows=SimpleNamespace(n=n))
        assert missing._neighbours_tell(problem, spec) == asked


@holds("same_groups")
def test_fits_that_differ_in_two_of_ten_thousand_rows_are_one():
    labels = np.arange(10_000) % 2
    for moved, one in ((2, True), (3, False)):  # adjusted Rand index 0.9992 and 0.9988
        assert missing._are_one(labels, np.where(np.arange(10_000) < moved, 1 - labels, labels)) == one
