"""What the page says in words: the groups, the conclusion at the top, its caveats."""

import copy
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fisherem
from fisherem import FisherEM, SparseFisherEM, explain
from fisherem.estimators.marking import effects
from fisherem.reports.page.conclusion import conclude
from fisherem.reports.page.table import render
from fisherem.reports.page.table_content import build
from fisherem.reports.words.how_many import VerdictPart
from fisherem.tables.rows_by_group import table_rows

from .reading import Reader


def naive_effect(column, inside):
    """Cohen's d of some rows against all others, with the deviation within the groups of the whole partition."""
    return column[inside].mean() - column[~inside].mean()


def test_effects_are_differences_to_all_other_rows_in_deviations_within(three, wines):
    X, _ = wines
    moments = table_rows(three, X).moments(three.labels_, 3)
    found = effects(moments)
    within = np.sqrt(sum(X[three.labels_ == k].var(ddof=0) * (three.labels_ == k).mean() for k in range(3)))
    for k in range(3):
        inside = three.labels_ == k
        expected = [naive_effect(X[name].to_numpy(), inside) / within[name] for name in X.columns]
        np.testing.assert_allclose(found[k], expected)
    np.testing.assert_allclose(moments.between, 1 - within**2 / X.var(ddof=0))


def test_effects_stay_finite():
    """Constant columns, columns that are constant in the groups, and groups without rows."""
    labels = np.repeat([0, 1], 20)
    X = np.column_stack([np.full(40, 3.0), 10.0 * labels, np.random.default_rng(0).normal(size=40) + 4 * labels])
    with pytest.warns(UserWarning, match="constant"):
        model = FisherEM(2, init=labels).fit(X)
    found = effects(table_rows(model, X).moments(np.where(labels == 0, 0, 2), 3))
    assert np.isfinite(found).all()
    assert (found[:, 0] == 0).all()
    assert (found[1] == 0).all()
    assert found[2, 1] == pytest.approx(20)  # half of the deviation is 5, a tenth of it at least


def test_each_group_names_its_variables_with_direction_and_effect(three, wines):
    X, _ = wines
    content = build(three, X)
    sizes = effects(table_rows(three, X).moments(three.labels_, 3))
    differing = (three.roles_["role"] != "no evidence").to_numpy()
    for words in content.words:
        assert words.count == (three.labels_ == words.k).sum()
        for sign, named in ((1, words.high), (-1, words.low)):
            signed = np.where(differing, sign * sizes[words.k], 0)
            assert [e.size for e in named] == pytest.approx(
                sorted((sizes[words.k, e.index] for e in named), reverse=sign > 0)
            )
            top = [j for j in np.argsort(-signed)[:4] if signed[j] >= 0.5]
            assert set(top) <= {e.index for e in named}
            assert all(e.name == X.columns[e.index] and e.selected == three.support_[e.index] for e in named)
    text = Reader(render(content)).all_text
    first = content.words[0]
    assert f"{first.count} rows, {100 * first.share:.1f}% : high in {first.high[0].name} ({first.high[0].text})" in text


def test_noise_is_not_named(blobs):
    """Among 600 variables some are far off in a small group by chance."""
    X, labels = blobs(40, 4, 600)
    model = SparseFisherEM(4, init=labels, random_state=0, n_init=1).fit(X)
    noise = set(np.flatnonzero(model.roles_["role"] == "no evidence"))
    assert noise
    for words in build(model, X).words:
        assert noise.isdisjoint({e.index for e in [*words.high, *words.low]})


# -- the conclusion ---------------------------------------------------------------------------------------------------


def caveats(content):
    return " ".join(conclude(content).caveats)


def test_the_conclusion_stands_above_the_sections(three, wines):
    X, y = wines
    html = render(build(three, X, labels=y))
    text = Reader(html).all_text
    assert html.index('id="conclusion"') < html.index("<main")
    agree = f"The groups agree with the known classes for {100 * np.mean(_matched(three.labels_, y)):.0f}% of the rows."
    assert agree in text
    content = build(three, X, labels=y)
    one_off = replace(content, agreement=replace(content.agreement, accuracy=0.9969))
    assert "agree with the known classes for 99.6% of the rows" in " ".join(conclude(one_off).sentences)
    assert "Limitations" in text
    assert "The number of groups, 3, was given; other numbers were not tried." in text
    assert "The stability of groups and variables on other rows was not checked." in text
    names = {e.name for words in conclude(build(three, X)).groups for e in [*words.high, *words.low]}
    assert names <= set(X.columns[three.support_])  # the line above the list speaks of the selected ones


def _matched(labels, y):
    table = pd.crosstab(labels, y)
    return np.array([table.loc[k].idxmax() == c for k, c in zip(labels, y, strict=True)])


def test_stability_is_part_of_the_conclusion(three, wines):
    X, _ = wines
    counted = fisherem.stability(three, X, n_subsamples=3, fitted=three, random_state=0, n_jobs=1)
    content = build(three, X, stability=counted)
    share = f"{100 * counted.row_frequencies.mean():.0f}%"
    seen = f"When the model is refitted to 50% of the rows, a row is assigned to its group {share} of the time."
    assert seen in conclude(content).sentences
    shaky, rare = (counted.row_frequencies < 0.75).sum(), (counted.frequencies[three.support_] < 0.75).sum()
    said = caveats(content)
    assert (f"{shaky} of 178 rows were assigned to their group" in said) == bool(shaky)
    assert (f"{rare} of the {three.support_.sum()} selected variables are selected in fewer" in said) == bool(rare)
    assert "was not checked" not in said


def test_caveats_speak_of_what_is_wrong(three, wines):
    content = build(three, wines[0])
    assert "gain over one group" not in caveats(content)
    assert "The gain over one group is −3.0, below 0" in caveats(replace(content, value=-3.0))
    assert "did not converge" in caveats(replace(content, converged=False))
    assert "20 of 178 rows (11%) have no clear group." in caveats(replace(content, n_doubts=20))
    assert "lie between groups" not in caveats(replace(content, n_doubts=10))
    groups = copy.copy(content.groups)
    groups.counts = np.array([9, 0, 169])
    said = caveats(replace(content, groups=groups))
    assert "Group 1 has fewer than 10 rows: its means and variances are uncertain." in said
    assert "No row is in group 2." in said
    assert "The page shows 50 rows; the model was fitted to 178 rows." in caveats(build(three, wines[0].iloc[:50]))


def test_fewer_rows_than_variables_is_a_caveat(blobs):
    X, labels = blobs(40, 3, 200)
    said = caveats(build(FisherEM(3, model="AB", init=labels).fit(X), X))
    assert "There are fewer rows (40) than variables (200)." in said


def test_a_search_gives_its_choice_and_no_caveat_of_the_number(search, wines):
    content = build(search, wines[0])
    found = conclude(content)
    assert f"{len(search.results_)} fits were compared by BIC; this is the best." in found.sentences
    assert "was given" not in " ".join(found.caveats)
    assert "interrupted" in caveats(replace(content, search=replace(content.search, interrupted=True)))


def test_what_the_verdict_says_is_not_said_twice(three, wines):
    content = build(three, wines[0])
    groups = copy.copy(content.groups)
    groups.counts = np.array([7, 100, 71])
    caution = "The smallest group has 7 rows: too few to say much about it."
    verdict = VerdictPart(
        "3 groups, more likely than 2.", "leaning", False, [], [caution], [2, 3], 3, [], [], None, np.zeros(0, int)
    )
    said = caveats(replace(content, groups=groups, verdict=verdict))
    assert caution in said
    assert "fewer than 10 rows" not in said
    assert "was given" not in said
    assert "was not checked" not in said


def test_many_groups_are_left_to_their_section(blobs):
    X, labels = blobs(300, 8, 20)
    content = build(FisherEM(8, model="AB", init=labels).fit(X), X)
    assert conclude(content).groups == []
    assert len(content.words) == 8


def test_given_groups_are_not_called_found(wines, tmp_path):
    """The page of `explain` names no option that the command `explain` lacks."""
    X, y = wines
    page = Reader(explain(X, y).report(X, tmp_path / "page.html").read_text()).all_text
    assert "178 rows were given in 3 groups" in page
    assert "The groups were given, not found." in page
    assert re.search(r"The selected variables alone would place \d+ of 178 rows \([\d.]+%\) in another group", page)
    assert "--stability" not in page
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 60)) + 4 * np.eye(3, 60)[np.arange(30) % 3])
    page = Reader(explain(wide, np.arange(30) % 3).report(wide, tmp_path / "wide.html").read_text()).all_text
    assert "The posteriors do not indicate how certain" in page
    assert "--stability" not in page
    assert "To check whether they are reproducible, run the method that made them again" in page
