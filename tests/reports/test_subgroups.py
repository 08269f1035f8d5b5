"""Groups inside the groups on the page: what is said of them, the rows that are in them, and in a browser."""

import re

import numpy as np
import pytest
from click.testing import CliRunner
from selenium.webdriver.common.by import By

from fisherem import FactorMixture, FisherEM, SparseFisherEM, explain, report, save
from fisherem.cli import main

from .browsing import click, data_of, needs_browser, one, visit
from .reading import Reader
from .reading import data_of as data_in


class Page:
    """A page on disk: its text, its data and the table of the groups inside, as lines of cells."""

    def __init__(self, path):
        html = path.read_text(encoding="utf-8")
        self.text, self.data = Reader(html).all_text, data_in(html)
        table = re.search(r'data-table="subgroups".*?</table>', html, re.S)
        lines = [] if table is None else re.findall(r"<tr.*?</tr>", table[0], re.S)
        self.inside = [
            [Reader(cell).all_text.strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", line, re.S)] for line in lines
        ]


@pytest.fixture(scope="module")
def nested():
    """Two groups on two columns; the second falls into two parts on a third."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 40, 50])
    X = rng.normal(size=(150, 6))
    X[:, :2] += 12 * (y > 0)[:, None]
    X[:, 2] += 9 * (y == 2)
    return X, y, SparseFisherEM(2, random_state=0).fit(X)


def test_every_group_is_split_on_demand(nested, tmp_path):
    X, y, model = nested
    page = Page(report(model, X, tmp_path / "page.html", subgroups="all"))
    table = page.inside
    large = model.labels_[y > 0][0] + 1
    assert [line[1].strip() for line in table[1:]] == [f"group {large}.1", f"group {large}.2"]
    assert sorted(int(line[2]) for line in table[1:]) == [40, 50]
    assert all("x3" in line[3] for line in table[1:])
    assert "is not split" in page.text


def test_splits_that_were_made_before_are_shown_with_the_rows(nested, tmp_path):
    X, y, model = nested
    found = model.subcluster(X, int(model.labels_[y > 0][0]) + 1, 2, random_state=0)
    page = Page(report(model, X, tmp_path / "page.html", subgroups=found))
    data = page.data
    names = [data["subgroups"][j]["name"] if j >= 0 else "" for j in data["subgroup"]]
    expected = [f"group {label}" if inside else "" for label, inside in zip(found.labels, found.inside, strict=True)]
    assert names == [expected[row - 1] for row in data["row"]]
    assert "is not split" not in page.text


def test_given_groups_can_be_split(nested, tmp_path):
    X, y, _ = nested
    about = explain(X, np.where(y > 0, "large", "small"))
    page = Page(about.report(X, tmp_path / "page.html", subgroups="all"))
    assert [line[1].strip() for line in page.inside[1:]] == ["large.1", "large.2"]


def test_wrong_subgroups_are_refused(nested, tmp_path):
    X, _, model = nested
    page = tmp_path / "page.html"
    first, again = model.subcluster(X, 1, 2), model.subcluster(X[:140], 2, 2)
    with pytest.raises(ValueError, match="two splits of the same group"):
        report(model, X, page, subgroups=[first, first])
    with pytest.raises(ValueError, match="split the same rows"):
        report(model, X, page, subgroups=[first, again])
    with pytest.raises(ValueError, match="X must be the 140 rows that were split; got 150"):
        report(model, X, page, subgroups=again)
    with pytest.raises(TypeError, match=r"subgroups must be 'all' or results of model\.subcluster"):
        report(model, X, page, subgroups="some")
    with pytest.raises(TypeError, match="the groups of a FactorMixture cannot be split"):
        report(FactorMixture(2, n_factors=1, n_init=1).fit(X), X, page, subgroups="all")
    assert not page.exists()


def test_the_command_line_splits_groups(nested, tmp_path):
    X, y, _ = nested
    np.savetxt(tmp_path / "data.csv", X, delimiter=",", header=",".join(f"x{j}" for j in range(1, 7)), comments="")
    path = save(FisherEM(2, random_state=0).fit(X), tmp_path / "model.skops")
    group = str(FisherEM(2, random_state=0).fit(X).labels_[y > 0][0] + 1)
    for wanted in (group, "all"):
        out = tmp_path / f"{wanted}.html"
        command = ["report", str(path), str(tmp_path / "data.csv"), "-o", str(out), "--subgroups", wanted]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output
        assert len(Page(out).inside) == 3
    result = CliRunner().invoke(main, [*command[:-3], str(tmp_path / "no.html"), "--subgroups", "7"])
    assert result.exit_code != 0
    assert "7" in result.output


@needs_browser
def test_rows_are_drawn_and_listed_with_the_groups_inside(nested, tmp_path, browser):
    X, _, model = nested
    visit(browser, report(model, X, tmp_path / "page.html", subgroups="all"))
    data = data_of(browser)

    def shapes():
        return browser.execute_script(
            "return [...document.querySelectorAll('#plot .point')].map((m) => m.getAttribute('d'))"
        )

    own = [data["marks"][data["groups"][k]["shape"]] for k in data["group"]]
    inner = [data["subgroups"][j]["shape"] if j >= 0 else None for j in data["subgroup"]]
    by_group = sorted(shapes())
    assert by_group == sorted(own)
    one(browser, "#show-subgroups").click()
    expected = [o if j is None else data["marks"][j] for o, j in zip(own, inner, strict=True)]
    assert sorted(shapes()) == sorted(expected) != by_group
    one(browser, "#show-subgroups").click()
    assert sorted(shapes()) == by_group
    click(browser, one(browser, "#row-table button[data-key='inside']"))
    cells = browser.find_elements(By.CSS_SELECTOR, "#row-body tr")
    assert len(cells) == 25
    assert not browser.get_log("browser")
