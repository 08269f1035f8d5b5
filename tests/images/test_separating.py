"""Bands that lie apart, bands that can take another's place, and what that costs in C(K, S) and agreement."""

import re

import numpy as np
import pandas as pd
import pytest

from fisherem import datasets
from fisherem.core.data.problem import prepare
from fisherem.images import clean, segment
from fisherem.images.separating import _Swaps, exchanges, neighbours_of, separated
from fisherem.policy.criterion import Partition, judge
from fisherem.policy.thresholds import THRESHOLDS
from tests.naive import accuracy


@pytest.fixture(scope="module")
def mars():
    return datasets.mars_like(rows=50, cols=40, bands=100)


@pytest.fixture(scope="module")
def blocks(mars):
    return segment(mars.cube, 5, sparsity=0.1)


@pytest.fixture(scope="module")
def partition(mars, blocks):
    rows = np.array(clean(mars.cube, normalise=blocks.cleaning.normalised).rows[:], float)
    problem = prepare(rows, ridge="auto", n_jobs=1)
    return Partition.of_labels(problem, blocks.labels[blocks.labels >= 0], 5)


def value(partition, bands):
    """C at full rank, from determinants."""
    bands = np.asarray(bands)
    total = partition.scatter.block(bands)
    within = total - partition.H[bands] @ partition.H[bands].T
    return partition.n / 2 * (np.linalg.slogdet(total)[1] - np.linalg.slogdet(within)[1])


def test_swaps_are_differences_of_the_criterion(partition):
    support = np.array([5, 6, 7, 30, 52, 70])
    gains = _Swaps(partition).gains(support)
    for a in (0, 1, 3, 5):
        others = np.delete(support, a)
        for j in (support[a], 2, 8, 31, 60):
            np.testing.assert_allclose(
                gains[a, j], value(partition, [*others, j]) - value(partition, others), rtol=1e-5
            )


def test_separated_bands_are_as_many_lie_apart_and_lose_nothing(partition, blocks):
    before = np.flatnonzero(blocks.model.support_)
    after = separated(partition, before)
    assert len(after) == len(before)
    assert (np.diff(before) == 1).sum() > 2 * (np.diff(after) == 1).sum()
    assert judge(partition, after).value > judge(partition, before).value
    np.testing.assert_array_equal(separated(partition, after), after)
    np.testing.assert_array_equal(separated(partition, np.array([4])), [4])
    everything = np.arange(partition.p)
    np.testing.assert_array_equal(separated(partition, everything), everything)


def test_the_groups_are_fitted_again_to_the_bands_that_lie_apart(mars, blocks):
    found = segment(mars.cube, 5, sparsity=0.1, separate_bands=True)
    assert found.support.sum() == blocks.support.sum()
    np.testing.assert_array_equal(found.model.sparse_loadings_.any(axis=1), found.model.support_)
    assert found.model.gain_ > blocks.model.gain_  # the criterion loses nothing
    valid = found.labels >= 0
    scores = [accuracy(mars.truth[valid], one.labels[valid]) for one in (blocks, found)]
    assert scores[0] < 0.95
    assert scores[1] > 0.98
    edges = np.diff(np.concatenate([[0], mars.informative_bands.astype(int), [0]]))
    features = list(zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True))
    reached = [sum(one.support[a:b].any() for a, b in features) for one in (blocks, found)]
    assert reached[1] > reached[0]  # more features, not more bands
    (note,) = found.notes
    assert "were exchanged for as many that lie further apart" in note
    before, after = (
        float(value.replace(",", "")) for value in re.search(r"went from ([\d,]+) to ([\d,]+)", note).groups()
    )
    assert after >= before
    np.testing.assert_array_equal(found.model.predict(_rows(found)), found.labels[valid])


def _rows(found):
    return np.array(clean(found.cube, normalise=found.cleaning.normalised).rows[:], float)


def test_a_fit_in_blocks_says_that_others_would_do_better(blocks):
    (note,) = blocks.notes
    assert note.startswith("the selected bands lie in blocks (")
    assert "separate_bands=True (--separate-bands) takes them" in note
    assert not blocks.moved


def test_automatic_bands_lie_in_every_feature_already(mars):
    """Where the bands were found with the groups, no exchange for a band apart is free: nothing changes."""
    found = segment(mars.cube, 5)
    same = segment(mars.cube, 5, separate_bands=True)
    assert not found.notes
    np.testing.assert_array_equal(found.support, same.support)
    np.testing.assert_array_equal(found.labels, same.labels)


def test_exchangeable_bands_are_contiguous_and_free():
    """Two materials that differ in one broad band of equal strength: each of its bands would do."""
    rng = np.random.default_rng(2)
    labels = np.arange(400) % 2
    shared = rng.normal(size=(400, 1))
    rows = 0.3 * rng.normal(size=(400, 20))
    rows[:, 8:13] = 6 * labels[:, None] + shared + 1e-2 * rng.normal(size=(400, 5))
    partition = Partition.of_labels(prepare(rows, ridge="auto", n_jobs=1), labels, 2)
    roles = np.full(20, "no evidence", object)
    roles[8:13], roles[10] = "redundant", "selected"
    (found,) = exchanges(partition, np.array([10]), roles)
    assert found.band == 10
    assert found.instead == (8, 9, 10, 11, 12)
    assert found.redundant == (8, 9, 11, 12)
    for j in range(20):
        loss = value(partition, [10]) - value(partition, [j])
        assert (loss <= THRESHOLDS.free_exchange) == (j in found.instead)
    assert exchanges(partition, np.arange(20), roles) == []


def test_redundant_bands_belong_to_the_nearest_selected_one():
    redundant = np.ones(12, bool)
    redundant[[2, 6, 10]] = False
    assert neighbours_of(np.array([2, 6]), redundant) == {2: (0, 1, 3, 4), 6: (5, 7, 8, 9)}
    assert neighbours_of(np.array([2]), redundant) == {2: (0, 1, 3, 4, 5)}


def test_the_table_of_bands_names_them(scene):
    found = segment(scene.cube, 3)
    table = found.bands_table()
    assert len(found.exchanges) == found.support.sum()
    known = {e.band + 1: e for e in found.exchanges}
    for band, instead, redundant in table[["band", "instead", "redundant"]].itertuples(index=False):
        numbers = {n for part in redundant.split(", ") if part for n in _range(part)}
        assert numbers == {j + 1 for j in known[band].redundant}
        assert band in {n for part in instead.split(", ") if part for n in _range(part)} | {band}
    roles = dict(zip(np.flatnonzero(~scene.cube.bad_bands), found.model.roles_["role"], strict=True))
    assert all(roles[j] == "redundant" for e in found.exchanges for j in e.redundant)
    assert any(e.redundant for e in found.exchanges)
    assert isinstance(table, pd.DataFrame)
    assert "instead" not in segment(scene.cube, 3, method=None).bands_table()


def _range(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)
