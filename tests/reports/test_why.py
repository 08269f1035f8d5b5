"""The page in a real browser: the bars of a row that is clicked."""

import re

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import fisherem

from .browsing import click, data_of, drawn_place, needs_browser, one, outermost, point_at, visit
from .test_saving import as_rows, saved

pytestmark = needs_browser
MINUS = "\u2212"


def lines(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#why-body tr')]"
        ".map((r) => [r.cells[0].textContent, r.cells[1].dataset.value])"
    )


def test_a_row_that_is_clicked_shows_its_bars(browser, pages, wines, three):
    X = wines[0]
    found = three.contributions(X)
    visit(browser, pages["three"])
    panel = one(browser, "#why")
    assert not panel.is_displayed()
    click(browser, one(browser, "#row-body tr[data-row='3'] button"))
    assert panel.is_displayed()
    i = data_of(browser)["row"][3] - 1
    title = f"Why row {X.index[i]} is in group {found.groups[i] + 1} and not in group {found.against[i] + 1}"
    assert one(browser, "#why-title").text == title
    shown = {name: float(value) for name, value in lines(browser)}
    for name, value in shown.items():
        if name in found.names:
            assert value == pytest.approx(found.values[i, found.names.index(name)], abs=0.006)
    assert shown["baseline"] == pytest.approx(found.baseline[i], abs=0.006)
    assert sum(shown.values()) == pytest.approx(found.log_odds[i], abs=0.1)
    assert float(one(browser, "#why-odds").text.replace(MINUS, "-")) == pytest.approx(found.log_odds[i], abs=0.1)
    change = found.changes.iloc[i]
    told = re.fullmatch(r"With (.*) at (.*) instead of (.*), it would be in (.*)\.", one(browser, "#why-move").text)
    assert told.group(1, 3, 4) == (change.variable, f"{change.value:.4g}".replace("-", MINUS), change.to)
    assert float(told[2].replace(MINUS, "-")) == pytest.approx(change.becomes, rel=1e-3)
    moved = X.iloc[[i]].copy()
    moved[change.variable] = float(told[2].replace(MINUS, "-"))  # rounded, but still beyond the border
    assert f"group {three.predict(moved)[0] + 1}" == change.to
    widths = browser.execute_script(
        "return [...document.querySelectorAll('#why-body .bar i')].map((b) => [b.className, parseFloat(b.style.width)])"
    )
    largest = max(abs(value) for value in shown.values())
    for (side, width), value in zip(widths, shown.values(), strict=True):
        assert side == ("neg" if value < 0 else "pos")
        assert width == pytest.approx(50 * abs(value) / largest, abs=0.01)
    click(browser, one(browser, "#row-body tr[data-row='4'] button"))
    assert one(browser, "#why-title").text != title
    one(browser, "body").send_keys(Keys.ESCAPE)
    assert not panel.is_displayed()
    assert browser.get_log("browser") == []


def test_rows_with_missing_cells_say_so(browser, wines, tmp_path):
    X = wines[0].copy()
    X.iloc[2, 3] = np.nan
    model = fisherem.FisherEM(3, model="AkB", random_state=0, n_init=1).fit(X)
    visit(browser, fisherem.report(model, X, tmp_path / "gaps.html"))
    click(browser, one(browser, "#row-body tr[data-row='2'] button"))
    assert "missing cells" in one(browser, "#why-odds").text
    assert lines(browser) == []
    click(browser, one(browser, "#row-body tr[data-row='5'] button"))
    assert len(lines(browser)) > 3
    assert browser.find_elements(By.CSS_SELECTOR, "#why-body tr[data-variable]")


def test_the_bars_of_a_row_are_saved_and_interactions_are_named(browser, pages, downloads, wines, tmp_path):
    X = wines[0]
    model = fisherem.FisherEM(3, model="DkBk", means="full", random_state=0, n_init=1).fit(X)
    found = model.contributions(X)
    visit(browser, fisherem.report(model, X, tmp_path / "full.html"))
    assert not one(browser, "#why + .saves").is_displayed()
    click(browser, one(browser, "#row-body tr[data-row='7'] button"))
    name, content = saved(browser, downloads, "#why", "CSV")
    head, *bars = as_rows(content)
    assert (name, head) == ("why.csv", ["variable", "log-odds"])
    assert bars == [list(line) for line in lines(browser)]
    i = data_of(browser)["row"][7] - 1
    told = one(browser, "#why-pair").text
    first, other, value = (one[i] for one in found.largest_pairs(data_of(browser)["why"]["variables"]))
    names = data_of(browser)["why"]["names"]
    assert f"{names[first]} with {names[other]}, " in told
    assert f"{abs(value):.2f}" in told
    visit(browser, pages["four"])  # a common covariance
    click(browser, one(browser, "#row-body tr[data-row='7'] button"))
    assert not browser.find_elements(By.CSS_SELECTOR, "#why-pair")
    assert len(lines(browser)) > 3
    assert browser.get_log("browser") == []


def test_a_row_that_is_clicked_in_the_plot_has_a_link_to_its_bars(browser, pages):
    visit(browser, pages["three"])
    row = outermost(data_of(browser))
    point_at(browser, browser.find_elements(By.CSS_SELECTOR, "#plot .point")[drawn_place(data_of(browser), row)])
    ActionChains(browser).click().perform()
    assert data_of(browser)["ids"][row] in one(browser, "#why-title").get_attribute("textContent")
    link = one(browser, "#marked-why")
    assert link.is_displayed()
    link.click()
    top = "const top = document.getElementById('why').getBoundingClientRect().top; return top >= 0 && top < 900"
    WebDriverWait(browser, 20).until(lambda browser: browser.execute_script(top))  # the page scrolls smoothly
    one(browser, "body").send_keys(Keys.ESCAPE)
    click(browser, one(browser, "#groups tr[data-group='1'] th"))
    assert one(browser, "#marked").is_displayed()
    assert not link.is_displayed()
