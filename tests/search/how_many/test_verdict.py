"""The verdict: how evidence is weighed, and what comes out on tables whose groups are known."""

import numpy as np
import pytest

from fisherem import FisherEM, ModelSearch, SparseFisherEM, datasets
from fisherem.policy.number_of_groups.candidates import WITHOUT_SKEW, Candidate
from fisherem.policy.number_of_groups.evidence import Evidence, Halves
from fisherem.policy.number_of_groups.rules import RULES, Rule, largest, largest_above
from fisherem.policy.number_of_groups.verdict import CLEAR, LEANING, Decision, decide
from fisherem.policy.number_of_groups.wording import rule_table, said
from fisherem.search.scoring import accuracy

N = 120


def evidence(**by_number):
    """Evidence from (C, gain over one group, agreement) per number of groups: k2=(30, 10, 0.9)."""
    found = Evidence(N, 5)
    found.add(candidate(1, 0.0, 0.0))
    for name, (c, gain, agreement, *strength) in by_number.items():
        K = int(name[1:])
        found.add(candidate(K, c, gain))
        found.halves[K] = Halves(np.full(3, agreement), np.full(3, strength[0] if strength else agreement))
    return found


def candidate(K, c, gain, source="columns", labels=None):
    names = [name for name in RULES if name.startswith("c") or name in ("bic", "icl", "aic", "micl")]
    values = dict.fromkeys([*names, *WITHOUT_SKEW], float(c)) | {"mixture_scores": gain, "mixture_power": gain + 1}
    values |= {"log_likelihood": -500.0 + 10 * K, "n_parameters": 5.0 * K}
    labels = np.arange(N) % K if labels is None else labels
    return Candidate(K, source, labels, np.ones(3, bool), values, True, 0.1)


def test_the_best_c_among_those_that_come_back():
    decision = decide(evidence(k2=(30, 10, 0.9), k3=(80, 40, 0.85), k4=(75, 45, 0.3)))
    assert (decision.n_clusters, decision.degree) == (3, "clear")
    assert decision.back == (2, 3)


def test_a_close_rival_makes_it_leaning():
    decision = decide(evidence(k2=(78, 10, 0.9), k3=(80, 40, 0.85)))
    assert (decision.n_clusters, decision.degree, decision.runners_up) == (3, "leaning", (2,))


def test_one_variant_of_c_for_a_rival_makes_it_leaning():
    found = evidence(k2=(30, 10, 0.9), k3=(80, 40, 0.85))
    found.candidates[2][0].values["c2_plain"] = 90.0
    assert decide(found).degree == "leaning"


def test_groups_that_hardly_come_back_are_not_clear():
    assert decide(evidence(k2=(30, 10, 0.65))).degree == "leaning"
    # one group falls apart on other rows, though the partitions agree by and large
    assert decide(evidence(k2=(30, 10, 0.9, 0.9), k3=(50, 10, 0.8, 0.3))).n_clusters == 2


def test_no_gain_is_one_group():
    decision = decide(evidence(k2=(-40, -9, 0.2), k3=(-80, -20, 0.1)))
    assert (decision.n_clusters, decision.degree, decision.runners_up) == (1, "clear", ())
    by_chance = decide(evidence(k2=(-40, 6, 0.3), k3=(-80, -20, 0.1)))
    assert (by_chance.n_clusters, by_chance.degree) == (1, "clear")
    doubtful = decide(evidence(k2=(-40, -1, 0.8), k3=(-80, -20, 0.1)))
    assert (doubtful.n_clusters, doubtful.degree, doubtful.runners_up) == (1, "leaning", (2,))


def test_gain_without_coming_back_is_not_decided():
    decision = decide(evidence(k2=(40, 30, 0.2), k3=(50, 40, 0.4)))
    assert (decision.n_clusters, decision.degree) == (3, "not decided")
    assert decision.runners_up == (1, 2)


def test_much_more_in_groups_that_do_not_come_back_is_not_decided():
    decision = decide(evidence(k2=(40, 30, 0.95), k3=(60, 40, 0.7), k5=(300, 200, 0.3)))
    assert (decision.n_clusters, decision.degree, decision.runners_up, decision.larger) == (2, "not decided", (3,), 5)
    text = said(evidence(k2=(40, 30, 0.95), k3=(60, 40, 0.7), k5=(300, 200, 0.3)), decision, ()).text
    assert text.startswith("Not decided by these data: 2 or 3 groups are possible. 2 groups are shown.")
    assert "C keeps rising up to 5 groups" in text


def test_columns_with_a_frequent_value_leave_it_to_the_rows():
    found = evidence(k2=(40, 30, 0.95), k3=(90, 40, 0.7))
    assert decide(found).n_clusters == 3
    found.spiked = 0.8
    decision = decide(found)
    assert (decision.n_clusters, decision.degree, decision.runners_up) == (2, "not decided", (3,))
    assert "In 80% of the columns one value is frequent" in said(found, decision, ()).text


def test_groups_that_are_too_small_are_no_candidates():
    found = evidence(k2=(30, 10, 0.9))
    lone = np.zeros(N, int)
    lone[:3], lone[3:20] = 1, 2
    found.add(candidate(3, 500, 300, labels=lone))
    assert found.usable == [2]
    assert decide(found).n_clusters == 2
    found.add(candidate(3, 80, 40, source="powers"))
    assert found.best(3).source == "powers"
    assert RULES["bic"].values(found)[3] == 500  # the estimator's own fit, whatever its groups


def test_every_rule_has_values_and_a_pick():
    found = evidence(k2=(30, 10, 0.9), k3=(80, 40, 0.85), k4=(75, 45, 0.3))
    table = rule_table(found).set_index("rule")
    assert list(table.index) == list(RULES)
    assert table.loc["c1_power", "picks"] == 3
    assert table.loc["agreement", "picks"] == 2
    assert table.loc["strength", "picks"] == 3  # the largest with at least 0.8
    assert table.loc["groups", 2] == 10  # the smaller of the two
    assert np.isnan(table.loc["agreement", 1])
    # K = 1 ... 4 lie on one line of slope 2 per parameter: nothing is gained by more groups
    assert table.loc["slope", "picks"] == 1
    assert largest({}) is None
    assert largest_above({2: 0.5}, 0.8) == 1


def test_a_rule_can_be_added():
    always = Rule("five", "five", "always five", "rows", lambda evidence: {5: 1.0}, largest)
    with RULES.having("five", always):
        found = evidence(k2=(30, 10, 0.9), k5=(20, 5, 0.9))
        assert rule_table(found).set_index("rule").loc["five", "picks"] == 5
        assert "five" in said(found, decide(found), ()).reasons[1]


# -- on tables ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wine_search(wine):
    return ModelSearch(SparseFisherEM(random_state=0), n_clusters=range(1, 5), n_splits=3, n_jobs=1).fit(wine[0])


def test_wine_has_three_cultivars_and_few_variables(wine, wine_search):
    verdict = wine_search.verdict_
    assert verdict.n_clusters == 3
    assert verdict.degree in ("clear", "leaning")
    assert wine_search.support_.sum() <= 8
    assert accuracy(wine[1], wine_search.labels_) > 0.95
    assert wine_search.best_params_ == {"n_clusters": 3}
    assert len(wine_search.best_estimator_.weights_) == 3
    assert "3 groups" in str(verdict)
    np.testing.assert_array_equal(wine_search.predict(wine[0]), wine_search.labels_)


def test_results_have_a_row_per_number_and_a_column_per_rule(wine_search):
    results = wine_search.results_
    assert results["n_clusters"].tolist() == [1, 2, 3, 4]
    assert set(RULES) <= set(results.columns)
    assert (results.loc[0, ["c1_plain", "c2_power", "groups"]] == 0).all()
    assert results.loc[wine_search.best_index_, "n_clusters"] == 3
    table = wine_search.verdict_.rules.set_index("rule")
    np.testing.assert_allclose(results["c1_power"], table.loc["c1_power", [1, 2, 3, 4]].astype(float))


def test_iris_names_both(iris):
    X, _ = iris
    search = ModelSearch(SparseFisherEM(random_state=0), n_clusters=[2, 3], n_splits=3, n_jobs=1).fit(X)
    assert {search.verdict_.n_clusters, *search.verdict_.runners_up} >= {2, 3}


def test_simulation_of_the_paper():
    X, y = datasets.simulate(300, 2.5, p=10, random_state=0)
    search = ModelSearch(SparseFisherEM(random_state=0), n_clusters=[2, 3], n_splits=3, n_jobs=1).fit(X)
    assert search.verdict_.n_clusters == 3
    np.testing.assert_array_equal(np.flatnonzero(search.support_), np.arange(5))
    assert accuracy(y, search.labels_) > 0.9


@pytest.mark.parametrize("kind", ["spherical", "correlated", "skewed"])
def test_pure_noise_is_one_group(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 6))
    if kind == "correlated":
        X = 0.8 * X + 0.6 * rng.normal(size=(150, 1))
    if kind == "skewed":
        X = np.exp(0.7 * X)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    estimator = FisherEM(init="ward", random_state=0)  # one start: k-means would look for groups for seconds
    search = ModelSearch(estimator, n_clusters=[2, 3], n_splits=3, n_jobs=1).fit(X)
    assert search.verdict_.n_clusters == 1
    assert search.verdict_.headline.startswith("These rows")
    assert not search.support_.any()
    assert (search.labels_ == 0).all()


def test_skewed_groups_are_found_on_bent_columns():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    Z = rng.normal(size=(240, 4))
    Z[:, :3] += 2 * np.array([[1.0, 1, 1], [-1, -1, -1], [1, -1, 1]])[y]
    X = np.exp(0.5 * Z)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    search = ModelSearch(FisherEM(random_state=0), n_clusters=[2, 3, 4], n_splits=2, n_jobs=1).fit(X)
    assert search.verdict_.n_clusters == 3
    assert set(search.results_["source"]) <= {"columns", "powers", "merged"}


@pytest.mark.parametrize(
    ("degree", "others", "words"),
    [
        (CLEAR, (), "These rows form one group: nothing speaks for more."),
        (LEANING, (2,), "These rows seem to form one group, but 2 groups are not ruled out."),
        (LEANING, (2, 3), "These rows seem to form one group, but 2 or 3 groups are not ruled out."),
        (LEANING, (), "These rows seem to form one group."),
    ],
)
def test_one_group_is_said_with_what_speaks_against_it(degree, others, words):
    found = evidence(k2=(5, 1, 0.8), k3=(2, 1, 0.7))
    assert said(found, Decision(1, degree, others, (), (2,), None), ()).headline == words
