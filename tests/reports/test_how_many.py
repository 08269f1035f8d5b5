"""The verdict on the page: its words, its table of rules, and the merge tree."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fisherem import FisherEM, ModelSearch, report
from fisherem.policy.number_of_groups.rules import all_rules
from fisherem.reports.page.data import tables
from fisherem.reports.page.table_content import build
from fisherem.reports.words.how_many import joins_of, verdict_of

from .browsing import needs_browser, visit


@pytest.fixture(scope="module")
def judged(wines):
    return ModelSearch(FisherEM(init="ward", random_state=0), n_clusters=[2, 3, 4], n_splits=2, n_jobs=1).fit(wines[0])


def test_the_page_says_the_verdict(judged, wines, tmp_path):
    page = report(judged, wines[0], tmp_path / "report.html").read_text()
    assert judged.verdict_.headline in page
    assert 'href="#verdict"' in page
    assert "How many groups" in page
    assert "<details><summary>Rules without a vote</summary>" in page  # closed by default
    assert "Consensus matrix of" in page
    assert "is not a standard error" in page
    docs = (Path(__file__).parents[2] / "docs" / "how-many.md").read_text()
    quoted = "a clear verdict was right in 114 of 118 searches"
    assert quoted in page
    assert quoted in docs
    for rule in all_rules().values():
        assert rule.label in page


@needs_browser
def test_the_groups_of_the_consensus_matrix_have_their_colours(browser, judged, wines, tmp_path):
    visit(browser, report(judged, wines[0], tmp_path / "report.html"))
    script = (
        "return [...document.querySelectorAll('[data-picture=consensus] .strip')].map(e => getComputedStyle(e).fill)"
    )
    colours = browser.execute_script(script)
    assert len(set(colours)) == judged.verdict_.n_clusters
    assert "rgb(0, 0, 0)" not in colours


def test_rules_are_rows_with_what_they_pick(judged):
    part = verdict_of(judged)
    assert part.numbers == [1, 2, 3, 4]
    assert part.chosen == judged.verdict_.n_clusters
    rules = all_rules().values()
    assert [row.label for row in part.rules] == [rule.label for rule in rules if rule.votes]
    assert [row.label for row in part.others] == [rule.label for rule in rules if not rule.votes]
    picks = judged.verdict_.rules.set_index("label")["picks"]
    for row in part.rules + part.others:
        assert row.picks == ("–" if pd.isna(picks[row.label]) else str(picks[row.label]))
        assert len(row.values) == 4
    assert part.rules[2].values[0] == "–"  # one group has no halves
    assert part.consensus.shape == (len(part.groups),) * 2


def test_the_consensus_of_the_groups_is_saved(judged, wines):
    content = build(judged, wines[0])
    head, *lines = tables(content)["consensus"]
    part = content.verdict
    assert head == ["group", *content.names]
    for a, (name, *shares) in enumerate(lines):
        assert name == content.names[a]
        for b, share in enumerate(shares):
            pairs = [
                part.consensus[i, j] for i in np.flatnonzero(part.groups == a) for j in np.flatnonzero(part.groups == b)
            ]
            assert share == pytest.approx(np.mean(pairs), rel=1e-3)


def test_a_criterion_has_no_verdict(search, wines):
    content = build(search, wines[0])
    assert content.verdict is None
    assert content.search is not None


def test_one_group_has_a_page(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 3))
    search = ModelSearch(FisherEM(init="ward", random_state=0), n_clusters=[2], n_splits=2, n_jobs=1).fit(X)
    assert search.verdict_.n_clusters == 1
    page = report(search, X, tmp_path / "one.html").read_text()
    assert "one group" in page


def test_joins_are_those_of_the_merge_tree():
    rng = np.random.default_rng(0)
    T = rng.dirichlet(np.ones(4), size=30)
    joins = joins_of(T, list("abcd"))
    assert [join.left for join in joins] == [3, 2, 1]
    pair = (T[:, ord(joins[0].first) - ord("a")], T[:, ord(joins[0].second) - ord("a")])
    both = pair[0] + pair[1]
    fall = sum(-(t * np.log(t)).sum() for t in pair) + (both * np.log(both)).sum()
    assert joins[0].fall == pytest.approx(fall / both.sum())
    assert joins_of(T[:, :2]) == []
