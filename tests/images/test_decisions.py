"""`Segmentation.decisions_`: what `segment` decides by itself, in front of what the fit of the model decides."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from fisherem.cli import main
from fisherem.images import segment

BANDS = np.linspace(0, 6, 12)
TRUTH = np.repeat([0, 1, 2], 96).reshape(18, 16)
GIVEN = {"normalise": False, "ridge": 0.2}


@pytest.fixture(scope="module")
def cube():
    """18 x 16 pixels of three materials under light that varies."""
    rng = np.random.default_rng(0)
    shapes = 1 + 0.3 * np.array([np.sin(BANDS), np.sin(BANDS + 1), np.cos(BANDS)])
    light = np.exp(0.5 * rng.normal(size=(18, 16, 1)))
    return shapes[TRUTH] * light * (1 + 0.03 * rng.normal(size=(18, 16, 12)))


def said(found, name):
    """(choice, alternatives, reason) of a decision; None if there is none."""
    table = found.decisions_.set_index("decision")
    return None if name not in table.index else tuple(table.loc[name, ["choice", "alternatives", "reason"]])


def test_those_of_the_scene_come_before_those_of_the_model(cube):
    found = segment(cube, [2, 3], spatial="auto")
    names = list(found.decisions_["decision"])
    assert list(found.decisions_.columns) == ["decision", "choice", "alternatives", "reason"]
    assert names[:5] == ["pixels", "ridge", "number of groups", "spatial prior", "scaling"]
    assert names[4:] == list(found.model.decisions_["decision"])
    assert len(set(names)) == len(names)
    assert found.decisions_["reason"].str.len().min() > 5


@pytest.mark.parametrize("way", [True, "soft", False])
def test_how_pixels_are_divided(cube, way):
    words = {True: "divided by their norms", "soft": "softly divided by their norms", False: "used as they are"}
    assert said(segment(cube, 3, normalise=way), "pixels") == (words[way], "", "as given")


def test_why_pixels_are_divided(cube):
    found = segment(cube, 3)
    choice, tried, reason = said(found, "pixels")
    assert (choice, reason) == ("divided by their norms", "their groups gain most over one group")
    values = [float(text) for text in re.findall(r"(-?[\d.]+)(?:,| nats)", tried)]
    assert values == pytest.approx([found.normalisation.gains[way] for way in (True, "soft", False)], abs=0.006)


@pytest.mark.parametrize(("way", "ridge", "other"), [(True, 0.3, 0.1), ("soft", 0.1, 0.3), (False, 0.1, 0.3)])
def test_the_ridge_depends_on_the_division(cube, way, ridge, other):
    found = segment(cube, 3, normalise=way)
    assert found.model.ridge == ridge
    choice, tried, reason = said(found, "ridge")
    assert (choice, tried) == (f"{ridge} times the mean variance", f"{other} for other pixels")
    assert ("divided by their norms" in reason) == (way is True)


def test_a_given_ridge_is_no_decision_and_that_of_a_share_is_estimated(cube):
    assert said(segment(cube, 3, **GIVEN), "ridge") is None
    shared = segment(cube, 3, normalise=True, sparsity=0.3)
    assert "Ledoit and Wolf" in said(shared, "ridge")[2]
    assert list(shared.decisions_["decision"]).count("ridge") == 1


def test_the_ridge_is_that_of_the_groups_that_are_left(cube):
    """Small groups are dissolved and the others fitted again."""
    options = {"normalise": True, "sparsity": 0.3}
    whole, left = segment(cube, 4, **options), segment(cube, 4, min_size=90, **options)
    assert left.shrunk
    assert said(whole, "ridge") != said(left, "ridge")


@pytest.mark.parametrize("options", [{}, {"criterion": "bic", "sparsity": 0.5}])
def test_the_number_of_groups(cube, options):
    assert said(segment(cube, 3, **GIVEN), "number of groups") is None
    found = segment(cube, [2, 3], normalise=True, **options)
    choice, tried, reason = said(found, "number of groups")
    assert choice == str(found.n_clusters) == "3"
    values = {int(K): float(value) for K, value in re.findall(r"(\d+) (-?[\d.]+)[, ]", tried)}
    if options:
        results = found.search.results_
        expected = results[results["method"] == "dense"].groupby("n_clusters")["bic"].max()
        assert (tried.partition("(")[2], reason) == ("BIC)", "the fit with the largest BIC")
    else:
        rules = found.search.verdict_.rules.set_index("rule").loc["score_gain"]
        expected = {K: rules[K] for K in values}
        assert reason == f"{found.search.verdict_.confidence}: {found.search.verdict_.reasons[0]}"
    assert {2, 3} <= set(values)
    assert values == pytest.approx(dict(expected), abs=0.06)


def test_the_spatial_prior(cube):
    assert said(segment(cube, 3, **GIVEN), "spatial prior") is None
    assert said(segment(cube, 3, spatial=1.5, **GIVEN), "spatial prior") == ("strength 1.5", "", "as given")
    clear = segment(cube, 3, spatial="auto", normalise=True)
    spectra = np.array([np.sin(np.arange(12)), np.cos(np.arange(12))])[np.indices((30, 30))[0] // 15]
    among_noise = spectra + 1.5 * np.random.default_rng(0).normal(size=spectra.shape)
    noisy = segment(among_noise, 2, spatial="auto", **GIVEN)
    assert clear.spatial == 0 < noisy.spatial
    choice, tried, reason = said(clear, "spatial prior")
    assert (choice, reason) == ("none", "no strength agrees clearly better than none")
    choice, tried, reason = said(noisy, "spatial prior")
    assert (choice, reason) == (f"strength {noisy.spatial:g}", "the two halves of the bands agree best")
    values = {float(strength): float(share) for strength, share in re.findall(r"([\d.]+) ([\d.]+)[, ]", tried)}
    assert max(values, key=values.get) == noisy.spatial
    one = segment(cube, 1, spatial="auto", **GIVEN)
    assert said(one, "spatial prior") == ("none", "", "one group")


def test_another_scene_has_the_decisions_of_its_model(cube):
    found = segment(cube, 3, normalise=True, spatial=1.0)
    again = found.predict(cube)
    assert again.decisions_.equals(found.model.decisions_)


def test_the_page_and_the_summary_show_them(cube, tmp_path):
    np.save(tmp_path / "a.npy", cube)
    run = ["segment", str(tmp_path / "a.npy"), "-k", "2:3", "--spatial", "1", "-o", str(tmp_path / "out")]
    shown = CliRunner().invoke(main, run)
    assert shown.exit_code == 0, shown.output
    assert "spatial prior: strength 1 (as given)" in shown.output
    assert "ridge: 0.3 times the mean variance (" in shown.output
    page = (tmp_path / "out" / "report.html").read_text()
    for name, text in {
        "Pixels": "divided by their norms: their groups gain most over one group",
        "Ridge": "0.3 times the mean variance: pixels that are divided",
        "Spatial prior": "strength 1: as given",
    }.items():
        assert f"<dt>{name}</dt><dd>{text}" in page
    assert re.search("<dt>Number of groups</dt><dd>3: .*pixels", page)
    result = json.loads(CliRunner().invoke(main, [*run, "--json"]).output)
    assert [one["decision"] for one in result["decisions"]][:2] == ["pixels", "ridge"]
