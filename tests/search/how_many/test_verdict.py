"""The verdict: how evidence is weighed, and what comes out on tables whose groups are known."""

from dataclasses import fields, replace

import numpy as np
import pytest

from fisherem import ModelSearch, SparseFisherEM
from fisherem.policy.number_of_groups.agenda import Agenda, Plan, _leading
from fisherem.policy.number_of_groups.candidates import Data
from fisherem.policy.number_of_groups.rules import RULES
from fisherem.policy.number_of_groups.verdict import CLEAR, LEANING, NOT_DECIDED, decide
from fisherem.policy.number_of_groups.wording import said
from fisherem.policy.thresholds import NumberOfGroups
from fisherem.search.verdict_search import _plan
from tests.policy.holding import Holds

from .known import THREE, Known, N, candidate, evidence

PLAN = Plan(None, [2], 5, 3, 0, 1)
holds = Holds()


def verdict(**by_number):
    found = decide(evidence(**by_number))
    return found.n_clusters, found.confidence


def test_the_largest_gain_among_groups_that_are_apart_and_reproducible():
    assert verdict(**THREE) == (3, CLEAR)
    assert verdict(k2=(50, 0.2, 0.9), k3=(60, 0.3, 0.4), k4=(60, 0.9)) == (2, LEANING)
    assert verdict(k2=(50, 0.2, 0.9), k3=(80, 0.9, 0.9), k4=(60, 0.9)) == (2, LEANING)


def test_every_threshold_has_a_test():
    assert set(holds) == {field.name for field in fields(NumberOfGroups)}


@holds("apart", "clearly_apart")
def test_how_far_apart_groups_are():
    for between, expected in ((0.49, CLEAR), (0.51, LEANING)):
        assert verdict(**THREE | {"k3": (80, between, 0.85)}) == (3, expected)
    assert verdict(**THREE | {"k3": (60, 0.59, 0.85)})[0] == 3
    assert verdict(**THREE | {"k3": (60, 0.61, 0.85)})[0] == 2


@holds("reproducible", "clearly_reproducible", "holds_together")
def test_how_reproducible_groups_are():
    for agreement, expected in ((0.76, (3, CLEAR)), (0.74, (3, LEANING)), (0.61, (3, LEANING)), (0.59, (2, LEANING))):
        assert verdict(**THREE | {"k3": (61, 0.3, agreement, 0.8)}) == expected
    for strength, confidence in ((0.76, CLEAR), (0.74, LEANING)):
        assert verdict(**THREE | {"k3": (80, 0.3, 0.85, strength)}) == (3, confidence)
    assert verdict(**THREE | {"k3": (61, 0.3, 0.85, 0.51)})[0] == 3
    assert verdict(**THREE | {"k3": (61, 0.3, 0.85, 0.49)})[0] == 2


@holds("hopeless")
def test_groups_that_are_not_found_again_are_not_decided():
    assert verdict(k2=(30, 0.2, 0.31), k3=(-5, 0.9)) == (2, LEANING)
    assert verdict(k2=(30, 0.2, 0.29), k3=(-5, 0.9)) == (2, NOT_DECIDED)
    assert verdict(k2=(30, 0.8, 0.5), k3=(-5, 0.9)) == (1, NOT_DECIDED)  # nothing but the gain speaks for them
    for agreement, again in ((0.31, 2), (0.29, None)):  # nor is there another split
        found = evidence(k2=(30, 0.2, agreement), k3=(-5, 0.9))
        found.halves[2] = Known(agreement, agreement, n_splits=1)
        assert _leading(found) == again


@holds("less")
def test_a_number_that_gains_as_much_keeps_another_from_being_clear():
    for gain, confidence in ((969, CLEAR), (971, LEANING)):
        assert verdict(k2=(1000, 0.2, 0.9), k3=(gain, 0.7, 0.5), k4=(60, 0.9)) == (2, confidence)
    for gain, confidence in ((1249, CLEAR), (1251, LEANING)):  # cuts of one cloud have to gain much more
        assert verdict(k2=(1000, 0.2, 0.9), k3=(gain, 0.9, 0.9), k4=(60, 0.9)) == (2, confidence)


def test_a_smaller_number_that_gains_more_keeps_another_from_being_clear():
    for gain, confidence in ((44, CLEAR), (46, LEANING)):
        assert verdict(k2=(gain, 0.2, 0.9), k3=(45, 0.3, 0.9), k4=(-5, 0.9)) == (3, confidence)


def test_what_lies_beyond_a_clear_number_was_looked_at():
    assert verdict(k2=(50, 0.2, 0.9), k3=(80, 0.3, 0.85)) == (3, LEANING)
    found = evidence(k2=(50, 0.2, 0.9), k3=(80, 0.3, 0.85))
    labels = np.minimum(np.arange(N) % 3 + 3 * (np.arange(N) < 3), 3)
    found.candidates[4] = candidate(4, 75, 0.1, labels=labels)  # more groups set a few rows apart
    assert (decide(found).n_clusters, decide(found).confidence) == (3, CLEAR)
    found.candidates[4] = replace(found.candidates[4], reason="the fit failed")
    assert decide(found).confidence == LEANING


def test_groups_of_few_rows_are_never_clear():
    for rows, confidence in ((10, CLEAR), (9, LEANING)):
        found = evidence(**THREE)
        found.candidates[3] = candidate(3, 80, 0.3, labels=np.repeat([0, 1, 2], [240, 240 - rows, rows]))
        assert (decide(found).n_clusters, decide(found).confidence) == (3, confidence)


@holds("close")
def test_a_small_gain_is_never_clear_and_is_compared_with_one_group():
    assert verdict(k2=(11, 0.2, 0.9), k3=(-5, 0.9)) == (2, CLEAR)
    found = decide(evidence(k2=(9, 0.2, 0.9), k3=(-5, 0.9)))
    assert (found.confidence, found.runners_up) == (LEANING, (1,))
    for gain, asked in ((-11, False), (-9, True), (9, True), (11, False)):
        agenda = Agenda(PLAN, evidence(k2=(gain, 0.2, 0.9)))
        assert any(task[0] == "draw" for task in agenda.due()) == asked


@holds("significant")
def test_tables_of_one_group_that_gain_as_much_are_a_doubt():
    found = evidence(**THREE)
    found.one_group = 0.05
    assert decide(found).confidence == CLEAR
    found.one_group = 0.1
    assert (decide(found).confidence, decide(found).runners_up[0]) == (NOT_DECIDED, 1)
    lost = evidence(k2=(30, 0.2, 0.1), k3=(-5, 0.9))  # nor are they found again: one group is shown
    assert (decide(lost).n_clusters, decide(lost).confidence) == (2, NOT_DECIDED)
    lost.one_group = 0.1
    assert (decide(lost).n_clusters, decide(lost).confidence, decide(lost).runners_up) == (1, NOT_DECIDED, (2,))
    none = evidence(k2=(-30, 0.9, 0.1))
    none.one_group = 0.1
    assert decide(none).confidence == CLEAR
    none.one_group = 0.05
    assert (decide(none).confidence, decide(none).runners_up) == (LEANING, (2,))


def test_a_larger_number_that_is_apart_as_well_keeps_it_from_being_clear():
    assert verdict(**THREE | {"k4": (60, 0.7, 0.7)}) == (3, LEANING)
    assert verdict(**THREE | {"k4": (60, 0.9, 0.7)}) == (3, CLEAR)
    assert verdict(**THREE | {"k4": (60, 0.7, 0.5)}) == (3, CLEAR)
    assert verdict(k2=(50, 0.2, 0.9), k3=(80, 0.3, 0.85)) == (3, LEANING)  # nothing beyond it was fitted


def test_no_gain_is_one_group():
    assert verdict(k2=(-40, 0.9, 0.2), k3=(-80, 0.9)) == (1, CLEAR)
    found = decide(evidence(k2=(-5, 0.9, 0.2), k3=(-80, 0.9)))
    assert (found.n_clusters, found.confidence, found.runners_up) == (1, LEANING, (2,))
    assert verdict(k2=(-40, 0.9, 0.29), k3=(-80, 0.9)) == (1, CLEAR)
    assert verdict(k2=(-40, 0.9, 0.31), k3=(-80, 0.9)) == (1, LEANING)
    assert verdict(k2=(-40, 0.9, 0.8), k3=(-80, 0.9)) == (1, NOT_DECIDED)  # halves agree all the same


@holds("column", "hint")
def test_groups_that_a_single_column_shows():
    found = evidence(k2=(-40, 0.9, 0.2))
    for gain, confidence in ((-5.1 - np.log(3), CLEAR), (-4.9 - np.log(3), LEANING), (7, LEANING), (9, NOT_DECIDED)):
        found.column = gain
        assert (decide(found).n_clusters, decide(found).confidence) == (1, confidence)
    found = evidence(**THREE)
    for gain, confidence in ((79.0, CLEAR), (81.0, LEANING)):  # more than what the fit with three groups gains
        found.column = gain
        assert decide(found).confidence == confidence


@holds("tails")
def test_joint_tails_leave_one_group_undecided():
    found = evidence(k2=(-40, 0.9, 0.2))
    found.joint_tails = 4.9
    assert decide(found).confidence == CLEAR
    found.joint_tails = 5.1
    assert (decide(found).n_clusters, decide(found).confidence) == (1, NOT_DECIDED)
    again = evidence(k2=(-40, 0.9, 0.7))
    again.joint_tails = 5.1  # one group does not fit, and two are found again
    assert (decide(again).n_clusters, decide(again).confidence, decide(again).runners_up) == (2, NOT_DECIDED, (1,))


@holds("flat")
def test_a_flat_column_is_a_sign_against_one_group():
    found = evidence(k2=(-40, 0.9, 0.2))
    for flat, confidence in ((2.4, CLEAR), (2.6, LEANING)):
        found.flatness = flat
        assert decide(found).confidence == confidence


@holds("rows", "rows_per_column")
@pytest.mark.parametrize(
    ("n", "p", "confidence"), [(200, 3, CLEAR), (199, 3, LEANING), (400, 200, CLEAR), (400, 201, LEANING)]
)
def test_one_group_of_few_rows_is_never_clear(n, p, confidence):
    found = evidence(k2=(-40, 0.9, 0.2))
    found.data = Data.of(np.zeros((n, p)), None)
    assert decide(found).confidence == confidence


@holds("nearly_apart")
def test_a_larger_number_that_gains_as_much_and_is_nearly_apart():
    for between, confidence in ((0.81, CLEAR), (0.79, LEANING)):
        assert verdict(**THREE | {"k4": (75, between)}) == (3, confidence)
    assert verdict(**THREE | {"k4": (65, 0.7)}) == (3, CLEAR)
    for between, confidence in ((0.81, CLEAR), (0.79, LEANING)):
        assert verdict(**THREE | {"k4": (60, between, 0.9)}) == (3, confidence)


@holds("much_more")
def test_groups_that_are_nearly_apart_and_gain_much_more():
    apart, far = {"k2": (100, 0.2, 0.9)}, {"k4": (20, 0.9)}
    assert verdict(**apart, k3=(126, 0.7, 0.7), **far) == (3, LEANING)
    assert verdict(**apart, k3=(124, 0.7, 0.7), **far)[0] == 2
    assert verdict(**apart, k3=(126, 0.85, 0.7), **far)[0] == 2
    assert verdict(**apart, k3=(126, 0.7, 0.5), **far)[0] == 2
    assert verdict(**apart, k3=(126, 0.5, 0.5), **far) == (3, LEANING)


@holds("strong")
def test_wide_tables_take_the_largest_number_that_holds_together():
    wide = Data.of(np.random.default_rng(0).normal(size=(20, 90)), None)
    for strength, number in ((0.81, 3), (0.79, 2)):
        found = evidence(k2=(500, 0.1, 0.9, 0.9), k3=(700, 0.1, 0.8, strength), k4=(900, 0.1, 0.7, 0.6))
        found.data = wide
        assert decide(found).n_clusters == number


@holds("candidate_share", "candidate_rows")
def test_groups_of_less_than_three_per_cent_are_no_candidates():
    search = ModelSearch(SparseFisherEM())
    assert [_plan(search, n, 0, 1).min_size for n in (100, 166, 167, 1000)] == [5, 5, 6, 30]


@holds("share")
def test_the_larger_of_numbers_that_gain_the_same():
    found = evidence(k2=(50, 0.2, 0.9), k3=(45, 0.3, 0.9), k4=(-5, 0.9))
    assert decide(found).n_clusters == 3
    for rows, number in ((49, 3), (47, 2)):  # of 480
        labels = np.repeat([0, 1, 2], [240, 240 - rows, rows])
        found.candidates[3] = candidate(3, 45, 0.3, labels=labels)
        assert decide(found).n_clusters == number
    assert verdict(k2=(50, 0.2, 0.9), k3=(39, 0.3, 0.9), k4=(-5, 0.9))[0] == 2


def test_groups_inside_a_group_keep_a_number_from_being_clear():
    found = evidence(**THREE)
    for gain, confidence in ((-0.1, CLEAR), (0.1, LEANING)):
        found.inside[3] = gain
        assert decide(found).confidence == confidence


def test_groups_that_are_apart_and_found_again_where_one_group_is_unlikely():
    for valley, agreement, p_value, number, confidence in (
        (0.5, 0.8, 0.05, 3, LEANING),
        (0.5, 0.8, 0.1, 3, NOT_DECIDED),  # one group is not unlikely, but these are shown
        (0.7, 0.8, 0.05, 1, NOT_DECIDED),
        (0.5, 0.5, 0.05, 1, LEANING),
    ):
        found = evidence(k3=(-5, valley, agreement), k4=(-60, 0.9))
        found.one_group = p_value
        assert (decide(found).n_clusters, decide(found).confidence) == (number, confidence)


def test_groups_that_touch_are_not_decided_however_often_they_are_found():
    assert verdict(k2=(30, 0.79, 0.9), k3=(-5, 0.9)) == (2, LEANING)
    assert verdict(k2=(30, 0.81, 0.9), k3=(-5, 0.9)) == (1, NOT_DECIDED)  # cuts of a gradient are


def test_tables_of_one_group_are_compared_with_the_number_that_gains_most():
    agenda = Agenda(PLAN, evidence(k2=(-8, 0.2, 0.9), k3=(-3, 0.2, 0.9)))
    assert {task[2] for task in agenda.due() if task[0] == "draw"} == {3}
    wide = evidence(k2=(500, 0.1, 0.9), k3=(700, 0.1, 0.8))  # where the gain grows with every group, two are compared
    wide.data = Data.of(np.random.default_rng(0).normal(size=(20, 90)), None)
    assert {task[2] for task in Agenda(PLAN, wide).due() if task[0] == "draw"} == {2}


def test_groups_are_looked_into_beside_the_further_splits_of_the_number_that_leads():
    found = evidence(k2=(50, 0.2, 0.9), k3=(80, 0.3, 0.85), k4=(60, 0.9))
    found.halves = {3: Known(0.85, 0.85, n_splits=1)}
    inside, *further = Agenda(PLAN, found).due()[-5:]
    assert inside == ("inside", 3, *found.candidates[3].labels)
    assert further == [("half", 3, split, side) for split in (1, 2) for side in (0, 1)]
    one = evidence(k2=(-40, 0.9, 0.1), k3=(-50, 0.9), k4=(-60, 0.9))
    assert not any(task[0] == "inside" for task in Agenda(PLAN, one).due())


def test_columns_that_cannot_be_judged_decide_nothing():
    found = evidence(k2=(-np.inf, np.nan, 0.2))
    found.judged = False
    assert (decide(found).n_clusters, decide(found).confidence) == (1, NOT_DECIDED)
    assert "few values" in said(found, decide(found), ()).text


def test_what_is_judged_on_components_is_never_clear():
    for by_number in (THREE, {"k2": (-40, 0.9, 0.2)}):
        found = evidence(**by_number)
        assert decide(found).confidence == CLEAR
        found.on_components = True
        assert decide(found).confidence == LEANING
        assert "principal components" in said(found, decide(found), ()).text


def test_groups_that_are_too_small_are_no_candidates():
    found = evidence(k2=(30, 0.2, 0.9))
    lone = np.zeros(N, int)
    lone[:3], lone[3:20] = 1, 2
    found.candidates[3] = candidate(3, 300, 0.1, labels=lone)
    assert found.usable == [2]
    assert decide(found).n_clusters == 2
    assert RULES["score_gain"].values(found)[3] == 300  # shown all the same
