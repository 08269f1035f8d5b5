"""normalise="auto": light is divided out where it hides the groups, and stays where it makes them."""

import numpy as np
import pytest

from fisherem import FisherEM
from fisherem.images import Cube, clean, segment
from fisherem.images.clean import CleanPixels
from fisherem.images.cube import Pixels
from fisherem.images.normalising import NormRule, divided
from fisherem.policy.judge import mixture_gain
from tests.naive import accuracy

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
    assert found.normalisation.normalised is not True
    assert found.cleaning.normalised == found.normalisation.normalised
    assert accuracy(TRUTH.ravel(), found.labels.ravel()) > 0.98
    assert accuracy(TRUTH.ravel(), segment(bright, 3, normalise=True).labels.ravel()) < 0.6


def test_light_that_hides_the_groups_is_divided_out(lit):
    found = segment(lit, 3)
    assert found.normalisation.normalised is True
    assert found.cleaning.normalised is True
    assert accuracy(TRUTH.ravel(), found.labels.ravel()) > 0.95
    np.testing.assert_array_equal(found.labels, segment(lit, 3, normalise=True).labels)


def test_both_maps_are_kept_and_shown_where_both_have_groups_and_differ(tmp_path):
    # brightness makes two halves, shape two others
    top, left = np.indices((30, 30)) // 15
    levels = np.array([0.5, 1.5])[top]
    shapes = 1 + 0.3 * np.array([np.sin(BANDS), np.cos(BANDS)])
    found = segment(levels[..., None] * shapes[left] + noise(3, 0.02), 2)
    choice = found.normalisation
    assert choice.gains[False] > choice.gains[True] > 0
    assert choice.agreement < 0.5
    assert accuracy(top.ravel(), found.labels.ravel()) > 0.98
    assert accuracy(left.ravel(), choice.other.ravel()) > 0.98
    assert "other" in found.displays()
    assert "the best other map differs" in str(choice)
    assert 'id="other-map"' in found.report(tmp_path / "page.html").read_text()


def test_a_given_choice_is_not_questioned_and_a_wrong_one_is_refused(bright):
    assert segment(bright, 3, normalise=False).normalisation is None
    with pytest.raises(ValueError, match="normalise must be True, False, 'soft' or 'auto'; got 'maybe'"):
        segment(bright, 3, normalise="maybe")


def test_rows_of_zeros_stay_when_they_are_divided():
    np.testing.assert_array_equal(divided(np.array([[0.0, 0.0], [3.0, 4.0]])), [[0, 0], [0.6, 0.8]])


def test_pixels_without_enough_different_values_show_no_groups():
    rule = NormRule([FisherEM(3)], 0)
    assert rule(CleanPixels(Pixels(np.ones((5, 10, 4))), None, None)) is True  # no way shows any: the first stands
    assert set(rule.gains.values()) == {-np.inf}
    assert rule.second is None


def test_four_thousand_pixels_decide():
    rule = NormRule([FisherEM(2, scale="none", max_iter=1)], 0)
    rule(CleanPixels(Pixels(np.random.default_rng(0).random((70, 70, 3))), None, None))
    assert len(np.unique(rule.index)) == 4000


def dark_and_bright(*, seed=5, size=60):
    """Patches of water, nearly black, and of two bright grounds; noise of one size everywhere; and the classes."""
    rng = np.random.default_rng(seed)
    truth = np.kron(rng.integers(3, size=(6, 6)), np.ones((size // 6, size // 6), int))
    bands = np.linspace(0, 1, 30)
    spectra = np.array([0.02 * np.exp(-3 * bands), 0.25 + 0.15 * bands, 0.6 + 0.25 * bands])
    return spectra[truth] * np.exp(0.05 * rng.normal(size=(size, size, 1))) + 0.02 * rng.normal(
        size=(size, size, 30)
    ), truth


def test_dark_pixels_are_not_blown_up():
    array, truth = dark_and_bright()
    found = segment(array, 3)
    assert found.normalisation.normalised is not True
    assert accuracy(truth.ravel(), found.labels.ravel()) > 0.98
    assert accuracy(truth.ravel(), segment(array, 3, normalise=True).labels.ravel()) < 0.9


def test_the_gain_is_that_of_the_mixture_on_the_main_axes_of_softly_divided_pixels(lit):
    rows = lit.reshape(-1, 40)
    rule = NormRule([FisherEM(3, scale="none", random_state=0)], 0)
    way = rule(CleanPixels(Pixels(lit), None, None))
    norms = np.linalg.norm(rows, axis=1)
    soft = rows / np.sqrt(norms**2 + np.median(norms) ** 2)[:, None]
    left, _, _ = np.linalg.svd(soft - soft.mean(axis=0), full_matrices=False)
    axes = left[:, :16] * np.sqrt(len(rows))
    for treated, made in ((True, rows / norms[:, None]), ("soft", soft), (False, rows)):
        labels = FisherEM(3, scale="none", random_state=0).fit(made).labels_
        gain = mixture_gain(axes, labels, np.ones(len(rows))) / len(rows)
        assert rule.gains[treated] == pytest.approx(gain, rel=1e-3)
    assert way == max(rule.gains, key=rule.gains.get)


def test_soft_division_is_that_of_the_formula(bright):
    cleaned = clean(Cube(bright), normalise="soft", clip=None)
    rows = bright.reshape(-1, 40)
    norms = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(cleaned.rows, rows / np.sqrt(norms**2 + np.median(norms) ** 2)[:, None])
    assert cleaned.dark == pytest.approx(np.median(norms))
    assert "each pixel divided softly by its norm" in cleaned.report.done()


def test_another_scene_is_divided_by_what_the_first_was(bright):
    found = segment(bright, 3, normalise="soft")
    np.testing.assert_array_equal(found.predict(bright[:10]).labels, found.labels[:10])


def test_several_numbers_of_groups_are_looked_at_together(lit):
    found = segment(lit, [2, 3, 4], criterion="bic", sparsity=0.5)
    assert found.normalisation.normalised is True
