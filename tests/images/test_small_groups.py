"""A minimum size of groups: what is dissolved, what is kept, and that it is said."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.images import segment
from fisherem.images.grouping import least_pixels
from tests.naive import accuracy


@pytest.fixture(scope="module")
def spotted():
    """30 x 20 pixels of two materials (bands 3-5 and 9-11 differ), and 12 odd pixels: (array, truth of 0, 1, 2)."""
    rng = np.random.default_rng(5)
    truth = np.zeros((30, 20), int)
    truth[:, 11:] = 1
    array = 0.5 + 0.01 * rng.normal(size=(30, 20, 16))
    array[truth == 1, 3:6] -= 0.1
    truth[4:7, 4:8] = 2
    array[4:7, 4:8, 9:12] += 0.2
    return array, truth


@pytest.fixture(scope="module")
def kept(spotted):
    return segment(spotted[0], 3, normalise=False)


def test_the_odd_pixels_are_a_group_without_a_minimum(kept, spotted):
    assert accuracy(spotted[1].ravel(), kept.labels.ravel()) == 1
    assert kept.notes == ()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sparsity": 0.4},
        {"method": None},
        {"spatial": 1.0},
        {"standardise": True},
        {"scale": "standardise"},
        {"transformation": "power"},
    ],
    ids=["auto", "share", "dense", "spatial", "standardised", "scaled", "bent"],
)
def test_a_small_group_is_dissolved_and_the_model_fitted_again(spotted, options):
    array, truth = spotted
    found = segment(array, 3, normalise=False, min_size=30, **options)
    assert found.n_clusters == len(found.model.weights_) == found.posteriors.shape[2] == 2
    regular = truth < 2
    assert accuracy(truth[regular], found.labels[regular]) == 1
    assert (found.labels >= 0).all()  # its pixels are in the other groups, not masked
    assert np.bincount(found.labels.ravel()).min() >= 30
    (note,) = [note for note in found.notes if "dissolved" in note]
    gone = 1 if "sparsity" in options else 12  # so few bands put most of the odd pixels elsewhere at once
    assert note.startswith(
        f"a group was smaller than 30 pixels (with {gone}) and dissolved: the pixels went to the most"
    )
    assert note.endswith("2 groups left")
    if "sparsity" not in options and options.get("method", 1):
        assert set(found.selected_bands) <= {3, 4, 5}  # bands that only the small group needed are gone


def test_large_groups_are_left_alone(kept, spotted):
    for least in (12, 0.02):  # 12 of 600 pixels
        same = segment(spotted[0], 3, normalise=False, min_size=least)
        np.testing.assert_array_equal(same.labels, kept.labels)
        assert same.notes == ()


def test_all_but_one_may_go(spotted):
    found = segment(spotted[0], 3, normalise=False, min_size=0.6)
    assert found.n_clusters == 1
    assert "2 groups were smaller than 360 pixels" in found.notes[0]
    assert found.notes[0].endswith("1 group left")


def test_sizes_that_make_no_sense():
    assert least_pixels(0.01, 950) == 10
    assert least_pixels(50, 950) == 50
    for wrong in (-1, float("nan"), "many", True):
        with pytest.raises(ValueError, match="min_size must be a number of pixels, or a share"):
            segment(np.ones((3, 3, 3)), 2, min_size=wrong)
    with pytest.raises(ValueError, match="min_size=601 is more than the 600 pixels"):
        least_pixels(601, 600)


def test_a_number_that_was_searched_may_shrink_too(spotted):
    found = segment(spotted[0], [3], model="AkjB", criterion="bic", normalise=False, min_size=30, n_jobs=1)
    assert found.n_clusters == 2
    assert set(found.search.results_["n_clusters"]) == {3}
    assert "2 groups left" in found.notes[0]


def test_the_command_and_the_page_say_it(spotted, tmp_path):
    np.save(tmp_path / "a.npy", spotted[0])
    asked = ["segment", str(tmp_path / "a.npy"), "-k", "3", "--no-normalise", "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*asked, "--min-size", "5%"])
    assert "a group was smaller than 30 pixels (with 12) and dissolved" in result.output
    assert "A group was smaller than 30 pixels (with 12) and dissolved" in (tmp_path / "out/report.html").read_text()
    assert "and dissolved" in (tmp_path / "out/cleaning.txt").read_text()
    result = CliRunner().invoke(main, [*asked, "--min-size", "30", "--json"])
    assert (json.loads(result.output)["n_clusters"], sum(json.loads(result.output)["sizes"])) == (2, 600)
    result = CliRunner().invoke(main, [*asked, "--min-size", "few"])
    assert (result.exit_code, "is not a number of pixels or a share" in result.output) == (2, True)
