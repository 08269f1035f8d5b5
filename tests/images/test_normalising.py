"""normalise="auto": light is divided out where it hides the groups, and stays where it makes them."""

import numpy as np
import pytest

from fisherem.images import segment
from fisherem.images.clean import CleanPixels
from fisherem.images.cube import Pixels
from fisherem.images.neighbours import pairs_among, shared_information
from fisherem.images.normalising import Rule, divided
from fisherem.search.scoring import accuracy

BANDS = np.linspace(0, 6, 40)
TRUTH = np.repeat([0, 1, 2], 300).reshape(30, 30)


def noise(seed, size=0.05):
    return size * np.random.default_rng(seed).normal(size=(30, 30, 40))


@pytest.fixture(scope="module")
def bright():
    """Materials of one shape that differ in brightness."""
    levels = np.array([0.4, 0.8, 1.4])[TRUTH]
    return levels[..., None] * (1 + 0.3 * np.sin(BANDS)) + noise(0)


@pytest.fixture(scope="module")
def lit():
    """Materials of three shapes under light that varies by a factor of four."""
    shapes = 1 + 0.3 * np.array([np.sin(BANDS), np.sin(BANDS + 0.5), np.cos(BANDS)])
    light = np.exp(0.6 * np.random.default_rng(1).normal(size=(30, 30, 1)))
    return shapes[TRUTH] * light + noise(2, 0.02)


def test_brightness_that_makes_the_groups_stays(bright):
    found = segment(bright, 3)
    assert not found.normalisation.normalised
    assert not found.cleaning.normalised
    assert accuracy(TRUTH.ravel(), found.labels.ravel()) > 0.98
    assert accuracy(TRUTH.ravel(), segment(bright, 3, normalise=True).labels.ravel()) < 0.6


def test_light_that_hides_the_groups_is_divided_out(lit):
    found = segment(lit, 3)
    assert found.normalisation.normalised
    assert found.cleaning.normalised
    assert accuracy(TRUTH.ravel(), found.labels.ravel()) > 0.95
    assert found.normalisation.normalised_ratio > found.normalisation.raw_ratio
    np.testing.assert_array_equal(found.labels, segment(lit, 3, normalise=True).labels)


def test_both_maps_are_kept_and_shown_where_both_have_groups_and_differ(tmp_path):
    # brightness makes two halves, shape two others
    top, left = np.indices((30, 30)) // 15
    levels = np.array([0.5, 1.5])[top]
    shapes = 1 + 0.3 * np.array([np.sin(BANDS), np.cos(BANDS)])
    found = segment(levels[..., None] * shapes[left] + noise(3, 0.02), 2)
    choice = found.normalisation
    assert choice.normalised
    assert choice.agreement < 0.5
    assert accuracy(left.ravel(), found.labels.ravel()) > 0.98
    assert accuracy(top.ravel(), choice.other.ravel()) > 0.98
    assert "other" in found.displays()
    assert "a different map" in str(choice)
    assert 'id="other-map"' in found.report(tmp_path / "page.html").read_text()


def test_a_given_choice_is_not_questioned_and_a_wrong_one_is_refused(bright):
    assert segment(bright, 3, normalise=False).normalisation is None
    with pytest.raises(ValueError, match="normalise must be True, False or 'auto'; got 'maybe'"):
        segment(bright, 3, normalise="maybe")


def test_rows_of_zeros_stay_when_they_are_divided():
    np.testing.assert_array_equal(divided(np.array([[0.0, 0.0], [3.0, 4.0]])), [[0, 0], [0.6, 0.8]])


def test_pixels_without_enough_different_values_show_no_groups():
    rule = Rule(3, 0)
    flat = CleanPixels(Pixels(np.ones((5, 10, 4))), None, None)
    assert rule(flat)  # neither way shows any: the default stands
    assert rule.ratios == (0.0, 0.0)


def test_pairs_are_two_apart_and_inside_the_image():
    mask = np.random.default_rng(0).random((6, 7)) < 0.8
    index = np.flatnonzero(mask.ravel())
    chosen = np.arange(0, len(index), 2)
    found = {(int(a), int(b)) for a, b in index[pairs_among(index, 7, chosen)].T}
    wanted = set()
    for i in index[chosen]:
        r, c = divmod(int(i), 7)
        wanted |= {
            (i, (r + a) * 7 + c + b) for a, b in ((0, 2), (2, 0)) if r + a < 6 and c + b < 7 and mask[r + a, c + b]
        }
    assert found == wanted


def test_shared_information_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    first, second = rng.integers(3, size=200), rng.integers(3, size=200)
    second = np.where(rng.random(200) < 0.7, first, second)
    both = np.concatenate([np.stack([first, second]), np.stack([second, first])], axis=1)
    expected = 0.0
    for k in range(3):
        for m in range(3):
            joint = ((both[0] == k) & (both[1] == m)).mean()
            expected += joint * np.log(joint / ((both[0] == k).mean() * (both[0] == m).mean()))
    assert shared_information(first, second, 3) == pytest.approx(expected)
    assert shared_information(first, first, 3) > shared_information(first, second, 3)
    assert shared_information(np.zeros(0, int), np.zeros(0, int), 3) == 0


def dark_and_bright(*, seed=5, size=60):
    """Patches of water, nearly black, and of two bright grounds; noise of one size everywhere; and the classes."""
    rng = np.random.default_rng(seed)
    truth = np.kron(rng.integers(3, size=(6, 6)), np.ones((size // 6, size // 6), int))
    bands = np.linspace(0, 1, 30)
    spectra = np.array([0.02 * np.exp(-3 * bands), 0.25 + 0.15 * bands, 0.6 + 0.25 * bands])
    return spectra[truth] * np.exp(0.05 * rng.normal(size=(size, size, 1))) + 0.02 * rng.normal(
        size=(size, size, 30)
    ), truth


def test_neighbours_decide_where_both_ways_show_groups():
    array, truth = dark_and_bright()
    found = segment(array, 3)
    choice = found.normalisation
    assert choice.information is not None
    assert choice.information[0] > choice.information[1]
    assert not choice.normalised
    assert choice.normalised_ratio > choice.raw_ratio  # which alone would divide
    assert accuracy(truth.ravel(), found.labels.ravel()) > 0.98
    assert accuracy(truth.ravel(), segment(array, 3, normalise=True).labels.ravel()) < 0.9
    assert "neighbouring pixels share" in str(choice)


def test_pixels_in_no_order_are_decided_without_neighbours():
    array, _ = dark_and_bright()
    shuffled = np.random.default_rng(0).permutation(array.reshape(-1, 30)).reshape(array.shape)
    assert segment(shuffled, 3).normalisation.information is None
