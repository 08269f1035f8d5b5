"""The rows as the page shows them: points of the subspace, sizes of the groups, rows without a clear group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ...estimators.outlying import outside
from ...search.scoring import best_matching, contingency
from ..text import clean

__all__ = [
    "Agreement", "Doubt", "GroupSizes", "Placement", "Points", "agreement", "doubts", "groups", "placement", "points",
    "stratified",
]  # fmt: skip

# Points drawn. A browser redraws 4,000 marks without delay while zooming. The coordinates of all axes together are
# limited to 40,000 numbers (0.3 MB), but at least 2,000 points are drawn.
_POINTS = 4000
_NUMBERS = 40_000
_FEWEST = 2000
# Rows in the searchable table: about 40 bytes each, 0.4 MB in total.
MAX_LISTED = 10_000
# Axes offered by the scatter plot, in order of their discriminating power.
MAX_AXES = 12
# A row is uncertain if no group has at least this posterior.
DOUBT = 0.9
# Most uncertain rows that are listed, and most known classes that get a column.
MAX_DOUBTS = 200
_MAX_CLASSES = 30


@dataclass
class Points:
    """The m rows that the page lists, of `total`; the first `n_drawn` of them are points of the subspace.

    `rows` are their numbers in X (from 0), `coordinates` (n_drawn x axes) where they are drawn. `ids`, `groups` (from
    0) and `posteriors` of the group, `seconds` (-1: there is none) and `second_posteriors` of the most probable other
    one, and the known `classes` ("" where missing) or None. Of groups that were given, `placed` are those that the
    selected variables would choose; None otherwise. `tails` are the probabilities of a distance from the group that
    is at least as large.
    """

    rows: np.ndarray
    ids: list[str]
    groups: np.ndarray
    posteriors: np.ndarray
    seconds: np.ndarray
    second_posteriors: np.ndarray
    classes: list[str] | None
    coordinates: np.ndarray
    tails: np.ndarray
    total: int
    placed: np.ndarray | None = None

    @property
    def n_drawn(self) -> int:
        """How many of the rows are drawn."""
        return len(self.coordinates)

    @property
    def places(self) -> dict[int, int]:
        """Where a row of X stands among those that are listed."""
        return {int(row): i for i, row in enumerate(self.rows)}

    @property
    def sampled(self) -> bool:
        """Whether some rows are not drawn."""
        return self.n_drawn < self.total

    @property
    def thinned(self) -> bool:
        """Whether some rows are not listed."""
        return len(self.rows) < self.total


@dataclass
class GroupSizes:
    """Four arrays of K: `counts` of the rows, the fitted proportions (`shares`), the mean posterior (`confidence`), and
    how many rows are in doubt (`doubtful`)."""

    counts: np.ndarray
    shares: np.ndarray
    confidence: np.ndarray
    doubtful: np.ndarray


@dataclass
class Doubt:
    """A row whose group has a posterior below 0.9: its number in X (from 0), its group and the most probable other one
    (both from 0) and its known class or None."""

    row: int
    id: str
    group: int
    posterior: float
    second: int
    second_posterior: float
    known: str | None


@dataclass
class Agreement:
    """Groups against known classes: `table` (K x classes) counts rows; accuracy under the best matching of groups and
    classes; adjusted Rand index. At most 30 classes have a column; the scores are of all classes."""

    classes: list[str]
    table: np.ndarray
    accuracy: float
    rand: float
    n_scored: int
    n_missing: int
    n_hidden_classes: int


def stratified(groups: np.ndarray, K: int, size: int, seed: int = 0) -> np.ndarray:
    """Numbers of at most `size` rows, in order: a quarter of them is shared evenly among the groups, so that
    small groups are represented, the rest in proportion to the group sizes."""
    n = len(groups)
    if n <= size:
        return np.arange(n)
    rng = np.random.default_rng(seed)
    counts = np.bincount(groups, minlength=K)
    quota = np.minimum(counts, size // (4 * K))
    left = counts - quota
    quota = quota + np.floor((size - quota.sum()) * left / max(left.sum(), 1)).astype(int)
    chosen = [rng.choice(np.flatnonzero(groups == k), quota[k], replace=False) for k in range(K) if quota[k]]
    return np.sort(np.concatenate(chosen))


@dataclass
class Placement:
    """Groups that were given against those that the selected variables would choose: `table` (K x K) counts rows, the
    given groups in its lines; `n_elsewhere` rows would be in another group."""

    table: np.ndarray
    n_elsewhere: int


def placement(group: np.ndarray, posteriors: np.ndarray) -> Placement:
    """How the given groups (n) agree with the most probable ones (posteriors n x K)."""
    placed, K = posteriors.argmax(axis=1), posteriors.shape[1]
    return Placement(contingency(group, placed, (K, K)), int((group != placed).sum()))


def _own(posteriors: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The posterior of each row's group (n)."""
    return np.take_along_axis(posteriors, group[:, None], axis=1)[:, 0]


def points(
    coordinates: np.ndarray, posteriors: np.ndarray, tails: np.ndarray, ids, known, group: np.ndarray, given: bool
) -> Points:
    """The rows to draw and to list. `posteriors` n x K; `tails`, `ids`, `known` and `group` n.

    `known` are class names (None where missing), or None; `given` says that the groups were given.

    Up to 10,000 rows are all listed. Of more, those that are drawn are, and then those outside all groups and the least
    certain.
    """
    n, K = posteriors.shape
    largest = _own(posteriors, group)
    shown = coordinates[:, :MAX_AXES]
    drawn = stratified(group, K, max(_FEWEST, min(_POINTS, _NUMBERS // max(shown.shape[1], 1))))
    others = np.setdiff1d(np.arange(n), drawn, assume_unique=True)
    if n > MAX_LISTED:
        order = np.lexsort((largest[others], ~outside(tails[others])))
        others = np.sort(others[order][: MAX_LISTED - len(drawn)])
    rows = np.concatenate([drawn, others])
    second, second_posterior = _runner_up(posteriors[rows], group[rows])
    return Points(
        rows=rows,
        ids=[clean(ids[i]) for i in rows],
        groups=group[rows],
        posteriors=largest[rows],
        seconds=second,
        second_posteriors=second_posterior,
        classes=None if known is None else ["" if known[i] is None else known[i] for i in rows],
        coordinates=shown[drawn],
        tails=tails[rows],
        total=n,
        placed=posteriors[rows].argmax(axis=1) if given else None,
    )


def _runner_up(posteriors: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(group, posterior) of the most probable other group than `group` (n); group -1 if there is only one."""
    if posteriors.shape[1] == 1:
        return np.full(len(posteriors), -1), np.zeros(len(posteriors))
    others = posteriors.copy()
    np.put_along_axis(others, group[:, None], -1.0, axis=1)
    second = others.argmax(axis=1)
    return second, np.take_along_axis(posteriors, second[:, None], axis=1)[:, 0]


def groups(
    posteriors: np.ndarray,
    weights: np.ndarray,
    group: np.ndarray | None = None,
    in_doubt: np.ndarray | None = None,
) -> GroupSizes:
    """Sizes and certainty of the groups, from posteriors (n x K), the fitted proportions (K) and the rows' groups (n).

    The groups are the most probable ones by default, as in `doubts`. `in_doubt` (bool, n): which rows are, by default
    those whose group has a posterior below 0.9.
    """
    group = posteriors.argmax(axis=1) if group is None else group
    K, largest = posteriors.shape[1], _own(posteriors, group)
    counts = np.bincount(group, minlength=K)
    sums = np.bincount(group, weights=largest, minlength=K)
    doubtful = np.bincount(group, weights=largest < DOUBT if in_doubt is None else in_doubt, minlength=K).astype(int)
    confidence = np.divide(sums, counts, out=np.full(K, np.nan), where=counts > 0)
    return GroupSizes(counts, np.asarray(weights, float), confidence, doubtful)


def doubts(posteriors: np.ndarray, ids, known, group: np.ndarray | None = None) -> tuple[list[Doubt], int]:
    """At most 200 rows whose group has a posterior (of n x K) below 0.9, least certain first; and how many in all."""
    group = posteriors.argmax(axis=1) if group is None else group
    largest = _own(posteriors, group)
    rows = np.flatnonzero(largest < DOUBT)
    listed = rows[np.argsort(largest[rows], kind="stable")][:MAX_DOUBTS]
    second, second_posterior = _runner_up(posteriors[listed], group[listed])
    found = [
        Doubt(
            row=int(i),
            id=clean(ids[i]),
            group=int(group[i]),
            posterior=float(largest[i]),
            second=int(second[a]),
            second_posterior=float(second_posterior[a]),
            known=None if known is None else known[i],
        )
        for a, i in enumerate(listed)
    ]
    return found, len(rows)


def _natural(name: str) -> tuple[int, float, str]:
    """Sort key: numbers by value, followed by other names alphabetically."""
    try:
        return (0, float(name), name)
    except ValueError:
        return (1, 0.0, name)


def agreement(posteriors: np.ndarray, known: list[str | None]) -> Agreement:
    """How the most probable groups (posteriors n x K) agree with n known classes; rows without a class are left out."""
    scored = np.array([c is not None for c in known])
    group = posteriors.argmax(axis=1)[scored]
    present = [c for c in known if c is not None]
    names = sorted(set(present), key=_natural)
    place = {name: i for i, name in enumerate(names)}
    classes = np.array([place[c] for c in present], int)
    K = posteriors.shape[1]
    table = contingency(group, classes, (K, len(names)))
    matched = table[best_matching(table)].sum()
    largest = np.argsort(-table.sum(axis=0), kind="stable")[:_MAX_CLASSES]
    shown = np.sort(largest)
    return Agreement(
        classes=[names[c] for c in shown],
        table=table[:, shown],
        accuracy=float(matched / len(group)) if len(group) else float("nan"),
        rand=float(adjusted_rand_score(classes, group)) if len(group) else float("nan"),
        n_scored=len(group),
        n_missing=int((~scored).sum()),
        n_hidden_classes=len(names) - len(shown),
    )
