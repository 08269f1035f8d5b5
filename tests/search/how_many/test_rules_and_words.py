"""Rules for the number of groups, and the verdict in words."""

import numpy as np
import pytest

from fisherem.model.criteria import CRITERIA, Criterion
from fisherem.policy.number_of_groups.rules import RULES, Rule, all_rules, largest, largest_above
from fisherem.policy.number_of_groups.verdict import CLEAR, LEANING, NOT_DECIDED, NumberDecision, decide
from fisherem.policy.number_of_groups.wording import NEXT, rule_table, said

from .known import THREE, evidence


def test_every_rule_has_values_and_a_pick():
    found = evidence(**THREE)
    table = rule_table(found).set_index("rule")
    assert list(table.index) == list(all_rules()) == [*RULES, *CRITERIA]
    assert table["votes"].tolist() == [True] * 5 + [False] * len(CRITERIA)
    assert table["picks"].to_dict() | {"one_group": None} == {
        "score_gain": 3, "valley": 3, "agreement": 2, "one_group": None, "strength": 3, **dict.fromkeys(CRITERIA, 4)
    }  # fmt: skip
    assert np.isnan(table.loc["agreement", 1])
    assert largest({}) is None
    assert largest_above({2: 0.5}, 0.8) == 1


def test_a_rule_sees_the_rows_and_a_criterion_is_one_by_itself():
    first = Rule("spread", "spread", "of the rows", lambda seen: {5: float(seen.data.values.std())}, largest)
    half = Criterion("half", "half of BIC", "half", lambda log_likelihood, n_parameters, n, entropy: 0.0)
    with RULES.having("spread", first), CRITERIA.having("half", half):
        found = evidence(k2=(30, 0.2, 0.9), k5=(20, 0.5, 0.9))
        table = rule_table(found).set_index("rule")
        assert table.loc["spread", 5] == found.data.values.std()
        assert table.loc["spread", "picks"] == 5
        assert table.loc["half", "picks"] == 5
    assert "half" not in all_rules()


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (NumberDecision(1, CLEAR), "One group: nothing speaks for more."),
        (NumberDecision(1, LEANING, (2,)), "One group, but 2 groups are not ruled out."),
        (
            NumberDecision(1, NOT_DECIDED, (2,)),
            "Not decided by these data: one or 2 groups are possible. One group is shown.",
        ),
        (NumberDecision(3, CLEAR), "3 groups, clearly."),
        (NumberDecision(3, LEANING, (2, 4)), "3 groups, more likely than 2 or 4."),
        (
            NumberDecision(3, NOT_DECIDED, (2, 4)),
            "Not decided by these data: 2, 3 or 4 groups are possible. 3 groups are shown.",
        ),
        (NumberDecision(2, NOT_DECIDED), "Not decided by these data. 2 groups are shown."),
    ],
)
def test_headlines(decision, words):
    text = said(evidence(**THREE), decision, ()).text
    assert text.startswith(words + "\n")
    assert (NEXT in text) == (decision.confidence == NOT_DECIDED)


@pytest.mark.parametrize(
    ("p_value", "words"), [(0.05, "the smallest that 19 draws can give"), (0.65, "no evidence against one group")]
)
def test_the_p_value_in_words(p_value, words):
    found = evidence(**THREE)
    found.one_group, found.compared = p_value, 3
    text = said(found, decide(found), ()).text
    assert f"p = {p_value:.2f}" in text
    assert "3 groups gain " in text
    assert words in text
    assert text.startswith("Not decided") == (p_value > 0.05)


def test_the_smallest_group_is_that_of_the_fit_shown():
    found = evidence(**THREE)
    assert "The smallest group has 7 rows" in said(found, decide(found), (), 7).text
    assert "smallest" not in said(found, decide(found), (), 15).text


def test_the_spread_over_splits_is_no_error():
    text = said(evidence(**THREE), decide(evidence(**THREE)), ()).text
    assert "agree by 0.85 on average of 3 splits" in text
    assert "±" not in text
