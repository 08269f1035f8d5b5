"""The page of a segmented image: its maps against the labels, what it says, what it escapes, its size."""

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import fisherem
from fisherem import datasets
from fisherem.images import Cube, segment
from fisherem.plots.style import DARK_PALETTE, PALETTE
from fisherem.reports.images.content import build_image
from fisherem.reports.images.page import render_image
from fisherem.reports.images.pictures import MAX_SIDE, group_colours, reduce_map

from .reading import Reader


@pytest.fixture(scope="module")
def found():
    return segment(datasets.mars_like(40, 30, 60, 3, dead_share=0.01).cube, 3)


def picture(html, which):
    """rows x columns x 4 of an embedded PNG."""
    for tag, attributes in Reader(html).tags:
        if tag == "img" and attributes.get("id") == which:
            packed = base64.b64decode(attributes["src"].removeprefix("data:image/png;base64,"))
            return np.asarray(Image.open(io.BytesIO(packed)).convert("RGBA"))
    raise AssertionError(f"no picture {which}")


def test_the_maps_are_those_of_the_segmentation(found):
    html = render_image(build_image(found))
    shown = picture(html, "label-map")
    assert shown.shape == (40, 30, 4)
    np.testing.assert_array_equal(shown[..., 3] == 0, found.labels < 0)
    for k in range(3):
        colour = tuple(int(PALETTE[k][i : i + 2], 16) for i in (1, 3, 5))
        np.testing.assert_array_equal((shown[..., :3] == colour).all(axis=2) & (shown[..., 3] > 0), found.labels == k)
    doubt = picture(html, "uncertainty-map")
    np.testing.assert_array_equal(doubt[..., 3] == 0, found.labels < 0)


def test_uncertainty_gets_brighter(found):
    posteriors = found.posteriors.copy()
    posteriors[0, 0], posteriors[0, 1], posteriors[0, 2] = (1, 0, 0), (0.75, 0.25, 0), (0.4, 0.3, 0.3)
    labels = found.labels.copy()
    labels[0, :3] = 0
    doubt = picture(render_image(build_image(replace(found, posteriors=posteriors, labels=labels))), "uncertainty-map")
    greens = doubt[0, :3, 1].astype(int)
    assert greens[0] < greens[1] < greens[2]


def test_it_says_what_was_found_and_left_out(found):
    text = Reader(render_image(build_image(found, title="Crater"))).all_text
    assert "Crater" in text
    assert f"made by {found.support.sum()} of 60 bands" in text
    assert f"{(found.labels < 0).sum()} masked pixels are left empty" in text
    assert "4 bands in the bad-band list" in text
    assert "each pixel divided by its norm" in text
    assert "drawn smaller" not in text
    for band in found.selected_bands:
        assert f"{found.wavelengths[band]:.5g} µm" in text


def test_grey_bars_stand_at_the_selected_bands(found):
    html = render_image(build_image(found))
    wide = re.search(r'<div class="wide">(.*?)</div>', html, flags=re.S).group(1)
    bars = [float(x) + 0.5 * float(w) for x, w in re.findall(r'<rect x="([\d.]+)"[^>]*? width="([\d.]+)"', wide)]
    assert len(bars) == found.support.sum()
    low, high = found.wavelengths.min(), found.wavelengths.max()
    expected = 62 + (found.wavelengths[found.support] - low) / (high - low) * (880 - 16 - 62)
    np.testing.assert_allclose(bars, expected, atol=0.2)
    dense = segment(found.cube, 3, method=None)
    assert 'class="chosenband"' not in render_image(build_image(dense))


def test_pictures_are_described_and_nothing_comes_from_elsewhere(found):
    html = render_image(build_image(found))
    for tag, attributes in Reader(html).tags:
        if tag == "img":
            assert len(attributes["alt"]) > 20
        if tag == "svg":
            assert len(attributes.get("aria-label", "")) > 10 or attributes.get("aria-hidden") == "true"
        assert str(attributes.get("src", "data:")).startswith("data:")
        assert attributes.get("href", "#").startswith(("#", "data:"))
        assert tag != "script" or not attributes
    assert "http" not in html.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_text_from_the_file_stays_text(found):
    hostile = tuple(f"<script>alert({j})</script>" for j in range(60))
    cube = replace(found.cube, band_names=hostile, path="</title><b>x.hdr", wavelengths=None)
    html = render_image(build_image(replace(found, cube=cube)))
    page = Reader(html)
    assert "<b>x.hdr" not in html
    assert "<b>x.hdr" in page.all_text
    assert len(page.scripts) == 1  # the page's own, which saves tables and pictures
    assert f"<script>alert({found.selected_bands[0]})</script>" in page.all_text


def test_large_images_are_drawn_smaller_and_the_page_says_so():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=(7, MAX_SIDE * 2 + 1))
    labels[:2, :2] = -1
    uncertainty = np.where(labels < 0, np.nan, rng.random(labels.shape) / 2)
    small, doubt, factor = reduce_map(labels, uncertainty, 3)
    assert factor == 3
    assert small.shape == doubt.shape == (3, 667)
    block = labels[3:6, 3:6].ravel()
    assert small[1, 1] == np.bincount(block).argmax()
    np.testing.assert_allclose(doubt[1, 1], uncertainty[3:6, 3:6].mean())
    np.testing.assert_allclose(doubt[0, 0], np.nanmean(uncertainty[:3, :3]))
    assert reduce_map(np.full((1, 3000), -1), np.full((1, 3000), np.nan), 3)[0].max() == -1
    cube = np.concatenate([rng.normal(3, 1, size=(4, 1200, 3)), rng.normal([1, 3, 5], 1, size=(4, 1200, 3))])
    found = segment(Cube(cube.astype(np.float32)), 2)
    html = render_image(build_image(found))
    assert "The image is shown at reduced size: each pixel here represents 2 × 2" in Reader(html).all_text
    assert picture(html, "label-map").shape == (4, 600, 4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_page_of_the_largest_map_is_small():
    rng = np.random.default_rng(0)
    cube = rng.random((MAX_SIDE, MAX_SIDE, 3)).astype(np.float32)  # noise packs worst
    labels = rng.integers(0, 8, size=cube.shape[:2])
    base = segment(cube[:40, :40], 8, max_iter=1, tol=1e9, method=None)
    posteriors = np.full((*labels.shape, 8), 0.05)
    posteriors[np.arange(MAX_SIDE)[:, None], np.arange(MAX_SIDE), labels] = 0.5 + 0.15 * rng.random(labels.shape)
    found = replace(base, cube=Cube(cube), labels=labels, posteriors=posteriors, agreement=None)
    html = render_image(build_image(found))
    assert len(html) < 3_000_000


def test_colours_are_those_of_the_style_sheet():
    from fisherem.reports.page.document import asset

    css = asset("page.css").lower()
    for palette in (PALETTE, DARK_PALETTE):
        for k, colour in enumerate(palette):
            assert f"--g{k}: {colour.lower()};" in css
    light, dark = group_colours(12)
    assert len(set(light)) == 12
    assert light == dark


def test_from_python_and_with_a_search(found, tmp_path):
    assert fisherem.report(found, path=tmp_path / "a.html").stat().st_size < 500_000
    with pytest.raises(TypeError, match="needs a path"):
        fisherem.report(found)
    searched = segment(found.cube, [2, 3], model=["AkjB", "AB"], n_jobs=1)
    text = Reader(render_image(build_image(searched))).all_text
    assert "How it was chosen" in text
    assert "K from 2 to 3, 2 models" in text
    scope = {"cube": found.cube}
    usage = build_image(found).usage.replace('found.save("out")', "")
    exec(usage, scope)
    np.testing.assert_array_equal(scope["found"].labels, found.labels)


def test_a_sparsity_that_was_given_is_no_path(found):
    """The page does not claim a search that was not made."""
    given = segment(found.cube, [2, 3], model="AB", method="svd", sparsity=0.3, criterion="bic", n_jobs=1)
    content = build_image(given)
    assert content.search.path is None
    assert "The sparse fits have the sparsity 0.3, which was given." in content.search.sentence
    text = Reader(render_image(content)).all_text
    assert "path" not in text
    searched = segment(found.cube, [3], model="AB", method="svd", criterion="bic", n_jobs=1)
    path = build_image(searched).search.path
    assert len(path.shares) > 2
    assert "Along the sparsity path" in Reader(render_image(build_image(searched))).all_text


# -- the colour view, known classes, exchangeable bands, stability -----------------------------------------------------


@pytest.fixture(scope="module")
def rich(found):
    """A segmentation with a ground truth on some pixels, refits, and a class that matches no group."""
    truth = datasets.mars_like(40, 30, 60, 3, dead_share=0.01).truth + 1
    truth[::2] = 0
    truth[1, :8] = 9
    return segment(found.cube, 3, truth=truth, stability=2, n_jobs=1)


def test_the_view_of_the_scene_stands_beside_the_map(found):
    html = render_image(build_image(found))
    shown = picture(html, "colour-map")
    view = found.colours
    np.testing.assert_array_equal(shown[..., 3] == 0, ~view.shown)
    differences = np.abs(shown[..., :3].astype(int) - view.colours)[view.shown]
    assert differences.mean() < 10  # of 255: 63 colours stand for all of them
    text = Reader(html).all_text
    assert "Colour view" in text
    said = str(view).replace(" um", " µm")
    assert said[0].upper() + said[1:] in text
    assert html.index('id="label-map"') < html.index('id="colour-map"') < html.index('id="uncertainty-map"')


def test_views_of_large_images_are_means_of_blocks():
    from fisherem.reports.images.pictures import reduce_colours

    rng = np.random.default_rng(1)
    colours = rng.integers(0, 256, size=(6, 2 * MAX_SIDE, 3)).astype(np.uint8)
    shown = np.ones(colours.shape[:2], bool)
    shown[0, 0], shown[:2, 2:4] = False, False
    small, kept = reduce_colours(colours, shown)
    assert small.shape == (3, MAX_SIDE, 3)
    np.testing.assert_array_equal(kept[0, :3], [True, False, True])
    np.testing.assert_allclose(small[1, 1], colours[2:4, 2:4].mean(axis=(0, 1)), atol=0.51)
    inside = np.array([colours[0, 1], colours[1, 0], colours[1, 1]], float)
    np.testing.assert_allclose(small[0, 0], inside.mean(axis=0), atol=0.51)


def test_known_classes_have_a_map_in_the_colours_of_their_groups_and_a_table(rich):
    html = render_image(build_image(rich))
    compared = rich.comparison
    shown = picture(html, "known-map")
    np.testing.assert_array_equal(shown[..., 3] == 0, compared.classes < 0)
    for c, k in enumerate(compared.group):
        inside = shown[compared.classes == c][:, :3]
        colour = tuple(int(PALETTE[k][i : i + 2], 16) for i in (1, 3, 5)) if k >= 0 else (0x55 + 0,) * 3
        assert (inside == colour).all() or (k < 0 and (inside == inside[:, :1]).all())  # grey without a group
    text = Reader(html).all_text
    assert f"the accuracy is {compared.accuracy:.3f}" in text
    assert f"the adjusted Rand index is {compared.rand:.3f}" in text
    assert f"the {compared.n_compared:,} pixels that have a class" in text
    assert f"{compared.n_labelled - compared.n_compared:,} more have a class, but are masked" in text
    assert "no group" in text
    assert "Known classes" not in Reader(render_image(build_image(replace(rich, comparison=None)))).all_text


def test_the_page_says_which_contiguous_bands_are_exchangeable(rich):
    content = build_image(rich)
    text = Reader(render_image(content)).all_text
    known = {e.band + 1: e for e in rich.exchanges}
    n_free = sum(bool(e.instead) for e in rich.exchanges)
    said = f"{n_free} of {len(known)} selected bands" if n_free else f"None of the {len(known)} selected bands"
    assert said in text
    for band in content.bands:
        around = known[band.number].redundant
        assert bool(band.redundant) == bool(around)
        if around:
            waves = rich.wavelengths[list(around)]
            assert f"{waves.min():.4g}" in band.redundant
            assert str(around[0] + 1) in band.redundant
            assert band.redundant in text
    free = replace(rich, exchanges=[replace(rich.exchanges[0], instead=(4, 5, 6)), *rich.exchanges[1:]])
    (shown,) = [b.instead for b in build_image(free).bands if b.number == free.exchanges[0].band + 1]
    assert shown.startswith("5–7 (")
    assert shown.endswith(" µm)")


def test_the_page_shows_what_comes_back(rich):
    html = render_image(build_image(rich))
    text = Reader(html).all_text
    assert "Stability on other pixels" in text
    assert f"in {100 * rich.stability.pixels:.0f}% of the refits" in text
    assert "reproducibility" in text
    assert 'href="#stability"' in html
    moved = replace(rich, stability=replace(rich.stability, bands=None))
    assert "their selection frequency was not computed" in Reader(render_image(build_image(moved))).all_text


def test_notes_stand_at_the_top(rich):
    html = render_image(build_image(replace(rich, notes=("a group was dissolved",), shrunk=True)))
    assert '<p class="said">A group was dissolved.</p>' in html.split('<dl class="tiles">')[0]
    assert "min_size=..., truth=..." in html
