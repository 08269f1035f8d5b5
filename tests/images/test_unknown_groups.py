"""An open number of groups: a verdict on a sample of pixels, kept with the map and shown on its page."""

import numpy as np
import pytest

from fisherem.images import segment
from fisherem.images.request import looked_at
from tests.naive import accuracy
from tests.reports.reading import Reader

FAST = {"noise_factors": 0, "n_jobs": 1}
TRUTH = np.repeat([0, 1, 2], 75).reshape(15, 15)


@pytest.fixture(scope="module")
def cube():
    """15 x 15 pixels of three materials under light that varies."""
    rng = np.random.default_rng(0)
    bands = np.linspace(0, 6, 8)
    shapes = 1 + 0.3 * np.array([np.sin(bands), np.sin(bands + 1), np.cos(bands)])
    light = np.exp(0.5 * rng.normal(size=(15, 15, 1)))
    return shapes[TRUTH] * light * (1 + 0.03 * rng.normal(size=(15, 15, 8)))


@pytest.fixture(scope="module")
def found(cube):
    return segment(cube, "auto", spatial=0.5, method=None, **FAST)


def test_the_number_is_found_and_the_verdict_kept(found):
    assert found.search.criterion_ == "verdict"
    assert found.n_clusters == found.search.verdict_.n_clusters == 3
    assert found.search.verdict_.confidence in ("clear", "leaning")
    assert accuracy(TRUTH.ravel(), found.labels.ravel()) > 0.98
    assert found.model is found.search.best_estimator_


def test_the_prior_and_the_division_work_with_it(found):
    assert found.spatial == 0.5
    assert found.normalisation.normalised
    assert found.cleaning.normalised


def test_the_page_says_the_verdict_in_its_own_words(found, tmp_path):
    html = found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    text = Reader(html).all_text
    assert 'href="#verdict"' in html
    assert found.search.verdict_.headline in text
    assert "fits to halves of the pixels agree" in text
    assert "halves of the rows" not in text
    assert "How it was chosen" not in text  # of a criterion
    assert "segment(cube, 'auto'" in text


def test_several_numbers_go_to_the_verdict_and_a_criterion_to_the_grid(cube):
    asked = {"model": "AB", "method": None, "normalise": True, **FAST}
    judged = segment(cube, [3], **asked)
    assert judged.search.criterion_ == "verdict"
    assert {1, 3} <= set(judged.search.results_["n_clusters"])
    searched = segment(cube, [2, 3], criterion="bic", **asked)
    assert searched.search.criterion_ == "bic"
    assert not hasattr(searched.search, "verdict_")
    assert set(searched.search.results_["n_clusters"]) == {2, 3}
    compared = segment(cube, [2, 3], **asked | {"model": ["AB", "DB"]})
    assert compared.search.criterion_ == "bic"  # several models are compared by a criterion


def test_one_group_has_a_map_and_a_page(tmp_path):
    noise = np.random.default_rng(0).normal(5, 1, size=(9, 9, 3))
    found = segment(noise, [2], method=None, normalise=False, **FAST)
    assert found.n_clusters == 1
    assert set(found.labels.ravel()) == {0}
    found.save(tmp_path)
    assert "one group" in (tmp_path / "report.html").read_text()


def test_the_choice_of_the_division_looks_at_three_numbers():
    assert looked_at("auto") == (2, 4, 7)
    assert looked_at(range(2, 9)) == (2, 5, 8)
    assert looked_at([1, 4]) == (4,)
    assert looked_at([1]) == (2,)


def test_other_words_are_refused(cube):
    with pytest.raises(ValueError, match="n_clusters must be a number, several numbers or 'auto'; got 'many'"):
        segment(cube, "many")
