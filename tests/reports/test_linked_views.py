"""The page in a real browser: what is marked in one view is marked in all, by pointer and by key; rows are searched
and sorted."""

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

import fisherem
from fisherem import FisherEM

from .browsing import click, data_of, drawn_place, marks, needs_browser, one, outermost, visit

pytestmark = needs_browser


def marked(browser):
    return one(browser, "#marked-text").text


def classes(element):
    return element.get_attribute("class").split()


def points(browser):
    return browser.find_elements(By.CSS_SELECTOR, "#plot .point")


def table(browser):
    """The rows of the table that are shown, as lists of text."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#row-body tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )


# -- marking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_key", [False, True])
def test_a_group_of_the_legend_is_marked_everywhere(browser, pages, three, by_key):
    visit(browser, pages["three"])
    button = one(browser, "#scatter .toggle[data-group='1']")
    if by_key:
        button.send_keys(Keys.ENTER)
    else:
        click(browser, button)
    assert button.get_attribute("aria-pressed") == "true"
    assert marked(browser) == f"Marked: group 2 ({(three.labels_ == 1).sum()} rows)"
    for view in ("#scatter svg", "#groups table", "#heat .wide", "#variables .boxes", "#profile .wide", "#conclusion"):
        on = browser.find_elements(By.CSS_SELECTOR, f"{view} [data-group='1']")
        off = browser.find_elements(By.CSS_SELECTOR, f"{view} [data-group='0']")
        assert on, view
        assert all("on-group" in classes(e) for e in on), view
        assert not any("on-group" in classes(e) for e in off), view

    def opacity(k):
        selector = f"#plot g[data-group='{k}']"
        return float(browser.execute_script("return getComputedStyle(arguments[0]).opacity", one(browser, selector)))

    assert opacity(1) == 1 > opacity(0)
    body = table(browser)
    lit = [classes(row) for row in browser.find_elements(By.CSS_SELECTOR, "#row-body tr")]
    assert [("on-group" in c) for c in lit] == [line[2].endswith("2") for line in body]
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert button.get_attribute("aria-pressed") == "false"
    assert not one(browser, "#marked").is_displayed()
    assert opacity(0) == 1


def test_the_page_says_how_the_marked_group_is_split(browser, pages, three):
    visit(browser, pages["three"])
    largest = int(np.bincount(three.labels_).argmax())
    for k in (largest, 2, 0):
        if k != largest:
            click(browser, one(browser, f"#groups tr[data-group='{k}'] th"))
        said = one(browser, "#split").text
        assert f"For group {k + 1}, fisherem subcluster model.skops DATA --group {k + 1} -o inside" in said
        assert f"model.subcluster(X, {k + 1})" in said


def test_strips_of_groups_have_their_names(browser, wines, tmp_path):
    model = FisherEM(2, random_state=0, n_init=1).fit(wines[0])
    fisherem.report(model, wines[0], tmp_path / "page.html", group_names=["Nebbiolo of the hills", "b" * 40])
    visit(browser, tmp_path / "page.html")
    frame = one(browser, "#plot .frame")
    names = [e for e in browser.find_elements(By.CSS_SELECTOR, "#plot text.tick") if e.text[0] in "Nb"]
    assert [e.text for e in names] == ["Nebbiolo of the hills", "b" * 11 + "…" + "b" * 10]
    assert all(e.rect["x"] >= one(browser, "#scatter").rect["x"] for e in names)
    assert all(e.rect["x"] + e.rect["width"] <= frame.rect["x"] for e in names)


def test_only_the_marked_group_is_drawn_if_asked(browser, pages, three):
    visit(browser, pages["three"])
    click(browser, one(browser, "#only-marked"))
    assert len(marks(browser, 0)) == (three.labels_ == 0).sum()  # nothing is marked yet
    click(browser, one(browser, "#scatter .toggle[data-group='1']"))
    assert marks(browser, 0) == []
    assert len(marks(browser, 1)) == (three.labels_ == 1).sum()
    click(browser, one(browser, "#scatter .toggle[data-group='1']"))
    assert len(marks(browser, 0)) == (three.labels_ == 0).sum()


def test_a_row_of_the_table_is_marked_in_the_subspace_and_the_heat_map(browser, pages, wines):
    visit(browser, pages["three"])
    ring, line = one(browser, "#plot .ringed"), one(browser, "#heat .wide .rowline")
    assert not ring.is_displayed()
    button = one(browser, "#row-body tr[data-row='5'] button")
    button.send_keys(Keys.SPACE)
    assert button.get_attribute("aria-pressed") == "true"
    assert wines[0].index[5] in marked(browser)
    data = data_of(browser)
    place = points(browser)[drawn_place(data, 5)].get_attribute("transform")
    x, y = (float(v) for v in place.split("(")[1].split(")")[0].split(","))
    assert float(ring.get_attribute("cx")) == pytest.approx(x, abs=0.1)
    assert float(ring.get_attribute("cy")) == pytest.approx(y, abs=0.1)
    assert ring.is_displayed()
    area = one(browser, "#heat .wide .area")
    start, across = float(area.get_attribute("x")), float(area.get_attribute("width")) / 178
    column = data["heat"]["places"].index(5)
    middle = float(line.get_attribute("x")) + float(line.get_attribute("width")) / 2
    assert middle == pytest.approx(start + (column + 0.5) * across, abs=0.2)
    click(browser, one(browser, "#marked-clear"))
    assert not ring.is_displayed()
    assert not line.is_displayed()


def test_a_row_in_doubt_is_the_same_row(browser, pages, three, wines):
    X, _ = wines
    visit(browser, pages["three"])
    least = int(three.predict_proba(X).max(axis=1).argmin())
    click(browser, one(browser, "#doubt tbody tr"))
    assert f"row {X.index[least]} (" in marked(browser)
    assert "on-row" in classes(one(browser, f"#row-body tr[data-row='{least}']"))


def test_a_click_on_a_point_brings_its_row_into_the_table(browser, pages, wines):
    visit(browser, pages["three"])
    data = data_of(browser)
    row = outermost(data)
    click(browser, points(browser)[drawn_place(data, row)])
    assert f"row {wines[0].index[row]} (" in marked(browser)
    assert "on-row" in classes(one(browser, f"#row-body tr[data-row='{row}']"))
    click(browser, points(browser)[drawn_place(data, row)])
    assert not one(browser, "#marked").is_displayed()


@pytest.mark.parametrize("by_key", [False, True])
def test_a_variable_of_the_heat_map_is_marked_everywhere(browser, pages, wines, three, by_key):
    visit(browser, pages["counted"])
    names = browser.find_elements(By.CSS_SELECTOR, "#heat .wide .pick")
    indices = [int(name.get_attribute("data-variable")) for name in names]
    assert sorted(indices) == list(np.flatnonzero(three.support_))
    if by_key:  # one stop for the tab key, arrows go on from there
        assert [name.get_attribute("tabindex") for name in names] == ["0"] + ["-1"] * (len(names) - 1)
        browser.execute_script("arguments[0].focus()", names[0])
        ActionChains(browser).send_keys(Keys.ARROW_DOWN, Keys.ENTER).perform()
    else:
        click(browser, names[1].find_element(By.CSS_SELECTOR, ".name"))
    j = indices[1]
    assert marked(browser) == f"Marked: variable {wines[0].columns[j]}"
    assert names[1].get_attribute("aria-pressed") == "true"
    for view in ("#variables table", "#variables .boxes", "#roles", "#profile .wide", "#stability", "#plot"):
        on = browser.find_elements(By.CSS_SELECTOR, f"{view} [data-variable='{j}']")
        assert on, view
        assert all("on-variable" in classes(e) for e in on), view
        assert len(browser.find_elements(By.CSS_SELECTOR, f"{view} .on-variable")) == len(on), view
    assert one(browser, f"#plot [data-variable='{j}'] .arrow").is_displayed()
    assert one(browser, f"#variables tr[data-variable='{j}'] button").get_attribute("aria-pressed") == "true"


def test_pointing_at_the_heat_map_says_what_a_cell_is_and_a_click_marks_it(browser, pages, wines):
    X, _ = wines
    visit(browser, pages["three"])
    heat = data_of(browser)["heat"]
    area = one(browser, "#heat .wide .area")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", area)
    line, column = len(heat["variables"]) // 2, len(heat["places"]) // 2
    box = browser.execute_script("const b = arguments[0].getBoundingClientRect(); return [b.width, b.height]", area)
    dx = ((column + 0.5) / len(heat["places"]) - 0.5) * box[0]
    dy = ((line + 0.5) / len(heat["variables"]) - 0.5) * box[1]
    ActionChains(browser).move_to_element_with_offset(area, int(dx), int(dy)).perform()
    tip = one(browser, "#heat-tip")
    row, variable = heat["places"][column], heat["variables"][line]
    z = (X.iloc[row, variable] - X.iloc[:, variable].mean()) / X.iloc[:, variable].std(ddof=0)
    name, who, value = tip.text.split("\n")
    assert name == X.columns[variable]
    assert who.startswith(X.index[row] + ", group ")
    assert float(value.split()[0].replace("−", "-")) == pytest.approx(np.clip(z, -2.5, 2.5), abs=0.14)
    ActionChains(browser).click().perform()
    assert f"variable {X.columns[variable]}" in marked(browser)
    assert X.index[row] in marked(browser)
    ActionChains(browser).move_to_element(one(browser, "#heat figcaption")).perform()
    assert not tip.is_displayed()


# -- the table of rows ------------------------------------------------------------------------------------------------


def test_rows_are_sorted_by_click_and_by_key(browser, pages, three, wines):
    X, _ = wines
    visit(browser, pages["three"])
    assert [line[1] for line in table(browser)] == list(X.index[:25])
    head = one(browser, "#row-table th button[data-key='posterior']")
    largest = three.predict_proba(X).max(axis=1)
    click(browser, head)
    assert [float(line[3]) for line in table(browser)] == pytest.approx(np.sort(largest)[:25], abs=6e-4)
    column = one(browser, "#row-table th[aria-sort='ascending']")
    assert column.text.startswith("posterior")
    head.send_keys(Keys.ENTER)
    assert [float(line[3]) for line in table(browser)] == pytest.approx(np.sort(largest)[::-1][:25], abs=6e-4)
    assert column.get_attribute("aria-sort") == "descending"
    click(browser, one(browser, "#row-table th button[data-key='id']"))  # "wine 9" before "wine 10"
    assert [line[1] for line in table(browser)] == [f"wine {i}" for i in range(25)]


def test_rows_are_searched_filtered_and_turned_over(browser, pages, three, wines):
    X, y = wines
    visit(browser, pages["three"])
    count = one(browser, "#row-count")
    assert count.text == "Rows 1 to 25 of 178"
    click(browser, one(browser, "#row-after"))
    assert count.text == "Rows 26 to 50 of 178"
    assert [line[1] for line in table(browser)] == list(X.index[25:50])
    search = one(browser, "#row-search")
    search.send_keys("WINE 17")
    assert [line[1] for line in table(browser)] == ["wine 17"] + [f"wine {i}" for i in range(170, 178)]
    assert not one(browser, "#row-after").is_enabled()
    search.clear()
    search.send_keys("nobody")
    assert (count.text, table(browser)) == ("No matching rows", [])
    search.clear()
    search.send_keys(Keys.SPACE, Keys.BACKSPACE)
    Select(one(browser, "#row-group")).select_by_visible_text("group 3")
    assert count.text == f"Rows 1 to 25 of {(three.labels_ == 2).sum()}"
    assert {line[2].strip() for line in table(browser)} == {"group 3"}
    expected = [str(y[i]) for i in np.flatnonzero(three.labels_ == 2)[:25]]
    assert [line[-1] for line in table(browser)] == expected


# -- for every reader -------------------------------------------------------------------------------------------------


def test_a_screen_reader_hears_buttons_tables_and_regions(browser, pages, three):
    visit(browser, pages["counted"])
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    heard = {"button": [], "region": [], "image": []}
    for node in nodes:
        if not node["ignored"] and node["role"]["value"] in heard:
            heard[node["role"]["value"]].append(node["name"]["value"].strip())
    assert all(heard["button"])
    count = int((three.labels_ == 0).sum())
    wanted = {f"group 1 {count} rows", "Zoom in", "Save the picture heatmap as SVG", "proline", "posterior"}
    assert wanted <= set(heard["button"])
    assert {"Conclusion", "Rows with their groups"} <= set(heard["region"])
    assert len(heard["image"]) > 5
    assert all(len(name) > 10 for name in heard["image"])
    for head in browser.find_elements(By.TAG_NAME, "th"):
        assert head.get_attribute("scope") in ("row", "col")
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


def test_the_bars_of_the_loadings_share_a_zero_line(browser, pages):
    """Also where a loading is 0, whose number is shorter."""
    for width in (400, 1400):
        visit(browser, pages["search"], width)
        cells = browser.execute_script("""
            const middle = (bar) => { const b = bar.getBoundingClientRect(); return b.left + b.width / 2; };
            const rows = [...document.querySelectorAll('.loadings tbody tr')];
            return rows.map((row) => [...row.querySelectorAll('.bar')].map(middle));
        """)
        middles = np.array(cells)
        assert np.ptp(middles, axis=0) == pytest.approx(0, abs=0.01)


def test_names_do_not_break(browser, pages):
    """A name of 28 characters without a space stands on one line wherever it occurs."""
    name = "od280/od315_of_diluted_wines"
    for width in (400, 1400):
        visit(browser, pages["four"], width)
        lines = browser.execute_script(
            """
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
            while (walker.nextNode()) {
                const node = walker.currentNode, at = node.data.indexOf(arguments[0]), parent = node.parentElement;
                if (at < 0 || parent.closest("script, svg, pre") || !parent.offsetParent) continue;
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + arguments[0].length);
                found.push(new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size);
            }
            return found;
        """,
            name,
        )
        assert len(lines) >= 2
        assert set(lines) == {1}


# -- many rows --------------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_rows_are_thinned(browser, blobs, tmp_path):
    """The page holds as many elements as one of 4,000 rows, and answers."""
    X, labels = blobs(100_000, 3, 8)
    model = FisherEM(3, model="AB", init=labels, max_iter=5, tol=1e3).fit(X.astype(np.float32))
    page = fisherem.report(model, X, tmp_path / "many.html", ids=[f"id{i:06d}" for i in range(len(X))])
    assert page.stat().st_size < 1_500_000
    visit(browser, page)
    assert len(points(browser)) <= 4000
    assert browser.execute_script("return document.querySelectorAll('*').length") < 8000
    assert one(browser, "#row-count").text == "Rows 1 to 25 of 10,000"
    said = [e.text for e in browser.find_elements(By.CSS_SELECTOR, ".sampled")]
    assert any("of 100,000 rows are drawn" in text for text in said)
    assert any("10,000 of 100,000 rows are listed" in text for text in said)
    click(browser, one(browser, "#row-table th button[data-key='posterior']"))
    least = np.sort(model.predict_proba(X).max(axis=1))[:25]
    assert [float(line[3]) for line in table(browser)] == pytest.approx(least, abs=6e-4)  # none of these is left out
    click(browser, one(browser, "#scatter .toggle[data-group='0']"))
    assert marked(browser).startswith("Marked: group 1 (")
    assert browser.get_log("browser") == []
