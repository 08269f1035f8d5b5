import numpy as np
import pytest

from fisherem import FisherEM
from fisherem.plots import MergeDisplay
from fisherem.search.merging import merge_tree


def entropy(T):
    return -sum(t * np.log(t) for row in T for t in row if t > 0)


@pytest.fixture(scope="module")
def posteriors():
    """Groups 0 and 2 overlap, group 3 is apart."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60, 4))
    scores[:20, 3] += 20
    scores[20:, [0, 2]] += 4
    T = np.exp(scores)
    return T / T.sum(axis=1, keepdims=True)


def test_each_join_is_the_one_that_lowers_the_entropy_most(posteriors):
    tree = merge_tree(posteriors)
    T, members = posteriors.copy(), [(0,), (1,), (2,), (3,)]
    assert tree.entropy == pytest.approx(entropy(T))
    for join in tree.joins:
        found = {}
        for a in range(len(members)):
            for b in range(a + 1, len(members)):
                rest = [k for k in range(len(members)) if k not in (a, b)]
                found[a, b] = np.column_stack([T[:, a] + T[:, b], T[:, rest]])
        a, b = min(found, key=lambda pair: entropy(found[pair]))
        assert (join.first, join.second) == (members[a], members[b])
        assert join.entropy == pytest.approx(entropy(found[a, b]), abs=1e-9)
        assert join.fall == pytest.approx(entropy(T) - entropy(found[a, b]))
        rest = [members[k] for k in range(len(members)) if k not in (a, b)]
        T, members = found[a, b], [tuple(sorted(members[a] + members[b])), *rest]
        order = np.argsort([m[0] for m in members])  # the tree keeps a joined group at the place of its first
        T, members = T[:, order], [members[k] for k in order]
    assert (tree.joins[0].first, tree.joins[0].second) == ((0,), (2,))
    assert tree.table()["n_clusters"].tolist() == [3, 2, 1]


def test_labels_after_joins(posteriors):
    tree, labels = merge_tree(posteriors), np.arange(8) % 4
    np.testing.assert_array_equal(tree.labels(labels, 3), [0, 1, 0, 2, 0, 1, 0, 2])
    assert (tree.labels(labels, 1) == 0).all()
    np.testing.assert_array_equal(tree.labels(labels, 4), labels)
    with pytest.raises(ValueError, match="between 1 and 4; got 5"):
        tree.labels(labels, 5)
    assert tree.named()[0] == ("group 1", "group 3")
    assert tree.named(list("ABCD"))[0] == ("A", "C")


def test_weights_mean_repetitions(posteriors):
    weights = 1 + np.arange(60) % 3
    weighted = merge_tree(posteriors, weights).table()
    repeated = merge_tree(np.repeat(posteriors, weights, axis=0)).table()
    np.testing.assert_allclose(weighted["fall"], repeated["fall"])


def test_one_group_has_no_joins():
    tree = merge_tree(np.ones((5, 1)))
    assert len(tree.joins) == 0
    with pytest.raises(ValueError, match="shape"):
        merge_tree(np.ones(5))


def test_display_draws_a_tree_without_crossings(iris):
    X, _ = iris
    model = FisherEM(4, random_state=0, n_jobs=1).fit(X)
    display = MergeDisplay.from_estimator(model, X)
    assert sorted(display.order) == [0, 1, 2, 3]
    assert (np.diff(display.heights) >= 0).all()
    places = [display.order.index(k) for k in display.tree.joins[0].groups]
    assert abs(places[0] - places[1]) == 1
    ax = display.plot().ax_
    assert len(ax.lines) == 3 + 4  # joins and leaves
    assert [label.get_text() for label in ax.get_xticklabels()] == [f"group {k + 1}" for k in display.order]
