"""Markers, names of groups and given groups on the page: every number is one of a table that can be saved."""

import time

import numpy as np
import pandas as pd
import pytest
from PIL import ImageColor
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

import fisherem
from fisherem import explain, report
from fisherem.plots.markers import effect_limit
from fisherem.plots.style import colours_of
from fisherem.reports.content.markers import Dots
from fisherem.reports.page.table import render
from fisherem.reports.page.table_content import build

from .browsing import assert_loads_alone_and_fits, click, data_of, needs_browser, one, visit
from .reading import Reader
from .reading import data_of as data_in

NAMES = np.array(["Barolo", "Grignolino", "Barbera"], object)


@pytest.fixture(scope="module")
def given(wines):
    """(labels by name with five that are missing, the explanation of them)."""
    X, y = wines
    labels = NAMES[y]
    labels[[0, 60, 61, 170, 177]] = None
    return labels, explain(X, labels)


@pytest.fixture(scope="module")
def given_page(given, wines, tmp_path_factory):
    X, _ = wines
    frame = pd.DataFrame({"cultivar": given[0], "alcohol": X["alcohol"]}, index=X.index)
    return given[1].report(X, tmp_path_factory.mktemp("given") / "given.html", annotate=frame)


def test_the_page_has_the_numbers_of_the_table(three, wines):
    X, _ = wines
    table = three.markers(X)
    content = build(three, X)
    assert len(content.markers.rows) == 36
    assert content.markers.n_rows == len(table) == 39
    for row in content.markers.rows:
        expected = table[(table["group"] == f"group {row.k + 1}") & (table["variable"] == X.columns[row.index])].iloc[0]
        for name in ("direction", "effect", "effect_nearest", "nearest", "mean_inside", "share_beyond", "role"):
            assert getattr(row, name) == expected[name]
    dots = content.markers.dots
    wide = table.pivot(index="variable", columns="group", values=["effect", "share_beyond"]).loc[dots.names]
    np.testing.assert_array_equal(dots.effect, wide["effect"])
    np.testing.assert_array_equal(dots.share, wide["share_beyond"])
    assert max(abs(e.size - table["effect"]).min() for w in content.words for e in [*w.high, *w.low]) == 0


def test_dots_have_the_area_of_the_share_and_the_colour_of_the_effect(three, wines):
    content = build(three, wines[0])
    dots, html = content.markers.dots, render(content)
    holder = html[html.index('class="dots"') : html.index("</svg>", html.index('class="dots"'))]
    circles = [attributes for tag, attributes in Reader(holder).tags if tag == "circle"]
    shares, effects = dots.share.ravel(), dots.effect.ravel()
    assert len(circles) == np.isfinite(shares).sum()
    radii = np.array([float(c["r"]) for c in circles])
    np.testing.assert_allclose(radii, 8.5 * np.sqrt(shares), atol=0.06)
    for circle, effect in zip(circles, effects, strict=True):
        red, _, blue = ImageColor.getrgb(circle["fill"])
        assert (red > blue) == (effect > 0) or abs(effect) < 0.2


@pytest.mark.parametrize(("largest", "limit"), [(1.0, 2.5), (2.6, 4.0), (9.0, 10.0), (300.0, 20.0)])
def test_colours_end_where_the_largest_effects_of_few_variables_are_larger(largest, limit):
    """At most one variable in ten has an effect beyond, however many groups have small ones."""
    effect = np.full((11, 12), 0.1)
    effect[np.arange(11), np.arange(11)] = -largest
    effect[10, 10], effect[0, 11] = 1000.0, np.nan
    assert effect_limit(effect) == limit
    names = [f"group {k + 1}" for k in range(12)]
    dots = Dots(list(range(11)), list("abcdefghijk"), effect, np.ones((11, 12)), list(range(11)), names)
    assert dots.limit == limit


def test_p_values_and_reproducibility_stand_in_the_table(three, wines):
    X, _ = wines
    p_values = pd.DataFrame({"variable": X.columns, "p": 0.0123, "q": 0.0456})
    sure = fisherem.stability(three, X, n_subsamples=2, fitted=three, random_state=0, n_jobs=1)
    content = build(three, X, significance=p_values, stability=sure)
    row = content.markers.rows[0]
    assert (row.p, row.q, row.reproducibility) == (0.0123, 0.0456, sure.frequencies[row.index])
    text = Reader(render(content)).all_text
    assert "0.0123 0.0456" in text
    assert "There are no p-values here" not in text
    assert "There are no p-values here" in Reader(render(build(three, X))).all_text
    with pytest.raises(ValueError, match="no row for"):
        build(three, X, significance=p_values.iloc[1:])


def test_names_of_groups_stand_everywhere(three, wines):
    X, y = wines
    names = ["North & South", "East <b>", "West"]
    html = render(build(three, X, labels=y, group_names=names))
    page = Reader(html)
    assert [g["name"] for g in data_in(html)["groups"]] == names
    assert "group 1" not in page.all_text
    assert "East <b>" in page.all_text
    assert "b" not in [tag for tag, attributes in page.tags if "east" in str(attributes).lower()]
    with pytest.raises(ValueError, match="each of the 3 groups; got 2"):
        build(three, X, group_names=["a", "b"])


def test_the_page_takes_a_palette(three, wines):
    html = render(build(three, wines[0], palette=["red", "#00ff00"]))
    style = html[html.index("<style>") : html.index("</style>")]
    assert style.rindex("--g0: #ff0000") > style.rindex(
        "--g0: #3a9bdc"
    )  # after the usual ones: it counts in the dark, too
    assert "--g1: #00ff00" in style
    assert "--g2: #ff0000" in style
    spread = build(three, wines[0], palette="viridis").palette[:3]
    assert spread == colours_of("viridis", 3)  # all of the map, however few the groups are
    with pytest.raises(ValueError, match="palette must be"):
        build(three, wines[0], palette="nonsense")


def test_rows_are_described_as_they_were_given(given, wines, given_page):
    X, _ = wines
    labels, found = given
    data, text = data_in(given_page.read_text()), Reader(given_page.read_text()).all_text
    assert [g["name"] for g in data["groups"]] == found.classes == ["Barbera", "Barolo", "Grignolino"]
    kept = np.flatnonzero(pd.notna(labels))
    assert data["ids"] == [X.index[i] for i in kept]
    assert [found.classes[k] for k in data["group"]] == list(labels[kept])
    assert data["placed"] == list(found.model.predict(X)[kept])
    moved = int(found.placed_elsewhere.sum())
    assert 0 < moved < 20
    assert f"would place {moved} of 173 rows" in text
    assert "5 rows without a group are left out" in text
    means = found.markers(X).set_index(["group", "variable"])["mean_inside"]
    for name in found.classes:
        np.testing.assert_allclose(means[name][list(X)], X[labels == name].mean())


def test_the_bars_of_a_given_row_are_those_of_its_group(given, wines, given_page):
    X, _ = wines
    why = given[1].contributions(X)
    data = data_in(given_page.read_text())
    kept = np.flatnonzero(pd.notna(given[0]))
    sums = np.array([sum(bars) for bars in data["why"]["rows"]])
    np.testing.assert_allclose(sums, why.log_odds[kept], atol=0.1)
    moved = np.flatnonzero(given[1].placed_elsewhere)
    assert (why.log_odds[moved] < 0).all()
    assert (why.changes["variable"][moved] == "").all()
    assert data["second"] == why.against[kept].tolist()


def test_a_model_file_of_given_groups_is_described_as_labelled(given, wines, tmp_path):
    X, _ = wines
    labels, found = given
    model = fisherem.load(fisherem.save(found.model, tmp_path / "model.skops"))
    page = Reader(report(model, X, tmp_path / "labelled.html", labels=labels).read_text()).all_text
    assert "173 rows were given in 3 groups" in page
    page = Reader(report(model, X, tmp_path / "placed.html").read_text()).all_text
    assert "rows are where the selected variables place them" in page
    assert "178 rows form 3 groups" in page


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_of_given_groups_in_the_browser(browser, given_page, width):
    visit(browser, given_page, width)
    assert_loads_alone_and_fits(browser)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#plot .point")) == 173
    assert one(browser, "#row-table th button[data-key='placed']").text.startswith("placed in")


@needs_browser
def test_names_of_rows_and_all_variables_on_demand(browser, given_page):
    visit(browser, given_page)
    data = data_of(browser)
    assert not browser.find_elements(By.CSS_SELECTOR, ".rowname")
    click(browser, one(browser, "#heat-names"))
    names = browser.find_elements(By.CSS_SELECTOR, "#heat .rowname")
    assert [n.text for n in names[:20]] == [data["ids"][i] for i in data["heat"]["places"][:20]]
    assert not one(browser, "#heat .plain").is_displayed()
    assert one(browser, "#heat .named svg").rect["width"] > 1400  # it scrolls; the page does not
    wide, room = browser.execute_script("const e = document.documentElement; return [e.scrollWidth, e.clientWidth]")
    assert wide <= room
    click(browser, one(browser, "#heat-names"))
    assert one(browser, "#heat .plain").is_displayed()
    assert not one(browser, "#heat-all").is_displayed()
    Select(one(browser, "#heat-which")).select_by_value("heat-all")
    assert one(browser, "#heat-all").is_displayed()
    assert not one(browser, "#heat").is_displayed()
    assert len(browser.find_elements(By.CSS_SELECTOR, "#heat-all .wide .pick")) == 13


@needs_browser
def test_pointing_at_a_track_says_its_value(browser, given_page):
    visit(browser, given_page)
    data = data_of(browser)
    area = one(browser, "#heat .wide .trackarea")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", area)
    ActionChains(browser).move_to_element_with_offset(area, 0, -5).perform()
    time.sleep(0.1)
    column = len(data["heat"]["places"]) // 2
    shown = one(browser, "#heat-tip").text
    near = {data["heat"]["tracks"][0]["texts"][column + i] for i in (-1, 0, 1)}
    assert any(shown.startswith(f"cultivar: {text}") for text in near)


@needs_browser
def test_a_row_placed_elsewhere_says_so(browser, given, given_page):
    visit(browser, given_page)
    data = data_of(browser)
    row = next(i for i, k in enumerate(data["group"]) if data["placed"][i] != k)
    one(browser, "#row-search").send_keys(data["ids"][row])
    click(browser, one(browser, f"#row-body tr[data-row='{row}'] button"))
    placed, own = (data["groups"][data[key][row]]["name"] for key in ("placed", "group"))
    assert one(browser, "#why-move").text == f"The selected variables would place it in {placed}."
    assert own in one(browser, "#why-title").text
