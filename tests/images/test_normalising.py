"""normalise="auto": light is divided out where it hides the groups, and stays where it makes them."""

import numpy as np
import pytest

from fisherem.images import segment
from fisherem.images.clean import CleanPixels
from fisherem.images.cube import Pixels
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
