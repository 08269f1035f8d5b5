"""The page in a real browser: loads without a network, answers to the pointer and the keyboard, fits every width."""

import warnings

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from sklearn.exceptions import ConvergenceWarning

from .browsing import (
    assert_loads_alone_and_fits,
    data_of,
    drawn_place,
    marks,
    needs_browser,
    outermost,
    point_at,
    positions,
    visit,
)

pytestmark = needs_browser


@pytest.fixture(scope="module")
def image_pages(tmp_path_factory):
    """Name -> file of the page of a segmented image: a plain one, and a chosen number of groups with many bands."""
    from fisherem import datasets
    from fisherem.images import segment

    folder = tmp_path_factory.mktemp("images")
    scene = datasets.mars_like(40, 30, 60, 8, n_bad_bands=2)
    title = "<script>x</script>" * 4
    with warnings.catch_warnings():  # a fit may end in a cycle; the pages say so
        warnings.simplefilter("ignore", ConvergenceWarning)
        segment(scene.cube, 8).report(folder / "eight.html")
        segment(scene.cube, [2, 3], method=None, criterion="bic", n_jobs=1).report(folder / "chosen.html", title=title)
        segment(scene.cube, [3], method=None, noise_factors=0).report(folder / "judged.html")
    return {page.stem: page for page in folder.iterdir()}


@pytest.mark.parametrize("name", ["three", "counted", "four", "search", "hostile"])
@pytest.mark.parametrize("width", [400, 1400])
def test_loads_without_network_errors_or_sideways_scrolling(browser, pages, name, width):
    visit(browser, pages[name], width)
    assert_loads_alone_and_fits(browser)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#plot .point")) == 178


@pytest.mark.parametrize("name", ["eight", "chosen", "judged"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_of_an_image_loads_and_fits(browser, image_pages, name, width):
    visit(browser, image_pages[name], width)
    assert_loads_alone_and_fits(browser)
    for which in ("label-map", "uncertainty-map"):
        image = browser.find_element(By.ID, which)
        assert browser.execute_script("return [arguments[0].naturalWidth, arguments[0].naturalHeight]", image) == [
            30,
            40,
        ]
        shown = image.rect
        assert shown["width"] > 200  # small images are enlarged, in their own proportions
        assert shown["height"] / shown["width"] == pytest.approx(4 / 3, abs=0.02)
    assert browser.find_element(By.CSS_SELECTOR, ".narrow" if width == 400 else ".wide").is_displayed()


def test_the_map_takes_the_colours_of_the_page(browser, image_pages):
    """The dark page has other colours: the map must have those of its legend in both."""

    def colours():
        return browser.execute_script("""
            const image = document.getElementById("label-map"), canvas = document.createElement("canvas");
            canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
            const context = canvas.getContext("2d"); context.drawImage(image, 0, 0);
            const data = context.getImageData(0, 0, canvas.width, canvas.height).data, seen = new Set();
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3]) seen.add(`rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`);
            const swatches = [...document.querySelectorAll("#map .swatch")];
            return [[...seen].sort(), swatches.map((s) => getComputedStyle(s).backgroundColor).sort()];
        """)

    found = []
    for dark in (False, True):
        visit(browser, image_pages["eight"], dark=dark)
        on_map, in_legend = colours()
        assert on_map == in_legend
        found.append(on_map)
    assert found[0] != found[1]


def test_hovering_shows_id_group_and_posterior(browser, pages, wines, three):
    X, _ = wines
    visit(browser, pages["three"])
    data = data_of(browser)
    row = outermost(data)
    point_at(browser, browser.find_elements(By.CSS_SELECTOR, "#plot .point")[drawn_place(data, row)])
    tip = browser.find_element(By.ID, "tip")
    assert tip.is_displayed()
    posterior = three.predict_proba(X)[row].max()
    assert X.index[row] in tip.text
    assert f"group {three.labels_[row] + 1}, posterior {posterior:.3f}" in tip.text
    ActionChains(browser).move_to_element(browser.find_element(By.ID, "reset")).perform()
    assert not tip.is_displayed()


def test_hovering_says_how_often_a_row_was_found_again(browser, pages):
    visit(browser, pages["counted"])
    data = data_of(browser)
    row = outermost(data)
    point_at(browser, browser.find_elements(By.CSS_SELECTOR, "#plot .point")[drawn_place(data, row)])
    share = round(100 * data["reproducibility"][row])
    assert f"found again in {share}% of the refits" in browser.find_element(By.ID, "tip").text


def test_axes_are_switched(browser, pages):
    visit(browser, pages["four"])
    before = positions(browser)
    Select(browser.find_element(By.ID, "axis-x")).select_by_value("2")
    after = positions(browser)
    assert before != after
    assert browser.find_element(By.ID, "label-x").text.startswith("axis 3: ")
    data = data_of(browser)
    across = [float(t.split("(")[1].split(",")[0]) for t in after]
    rows = sorted(range(178), key=lambda i: (data["group"][i], i))
    low, high = (f(range(178), key=lambda a: across[a]) for f in (min, max))
    values = data["axes"][2]
    assert values[rows[low]] == pytest.approx(min(values), abs=0.02)
    assert values[rows[high]] == pytest.approx(max(values), abs=0.02)
    # choosing the same axis twice makes the two change places
    Select(browser.find_element(By.ID, "axis-y")).select_by_value("2")
    assert browser.find_element(By.ID, "label-x").text.startswith("axis 2: ")
    assert browser.find_element(By.ID, "label-y").text.startswith("axis 3: ")


def test_zoom_by_wheel_drag_buttons_and_keys_and_back(browser, pages):
    visit(browser, pages["three"])
    plot = browser.find_element(By.ID, "plot")
    browser.execute_script("document.getElementById('scatter').scrollIntoView({behavior: 'instant'})")
    home = positions(browser)

    def scroll():
        from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

        ActionChains(browser).scroll_from_origin(ScrollOrigin.from_element(plot), 0, -200).perform()

    def drag():
        ActionChains(browser).move_to_element_with_offset(plot, -150, -100).click_and_hold().move_by_offset(
            300, 200
        ).release().perform()

    for act in (scroll, drag, browser.find_element(By.ID, "zoom-in").click, lambda: plot.send_keys("+")):
        act()
        assert positions(browser) != home
        browser.find_element(By.ID, "reset").click()
        assert positions(browser) == home
    assert browser.get_log("browser") == []


def test_variables_as_arrows_and_ellipses(browser, pages):
    visit(browser, pages["three"])

    def names():
        return [name.is_displayed() for name in browser.find_elements(By.CSS_SELECTOR, "#plot .arrowname")]

    assert names()
    assert not any(names())
    browser.find_element(By.ID, "show-arrows").click()
    assert all(names())
    ellipses = browser.find_elements(By.CSS_SELECTOR, "#plot .ellipse")
    assert all(e.is_displayed() for e in ellipses)
    browser.find_element(By.ID, "show-ellipses").click()
    assert not any(e.is_displayed() for e in ellipses)


def test_a_single_axis_is_a_strip_and_hostile_names_are_text(browser, pages):
    visit(browser, pages["hostile"], 400)
    assert "<script>alert(1)</script>" in browser.find_element(By.ID, "profile").text
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("<script>alert(2)</script>")
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2
    assert len(browser.find_elements(By.CSS_SELECTOR, "#plot .centre")) == 2
    point_at(browser, marks(browser, 0)[0])
    tip = browser.find_element(By.ID, "tip")
    assert tip.is_displayed()
    assert tip.rect["x"] >= 0
    assert tip.rect["x"] + tip.rect["width"] <= 400


def test_dark_mode_and_print(browser, pages):
    def ink():
        return browser.execute_script("return getComputedStyle(document.body).color")

    visit(browser, pages["three"])
    light = ink()
    visit(browser, pages["three"], dark=True)
    assert ink() != light
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [dark]})
    assert ink() == light
    assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
