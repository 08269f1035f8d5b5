"""The groups that a fit begins with: several starts, the same climbs from each, one judge.

    starts    k-means on the columns (the anchor), on scores, in shrunk metrics, sparse k-means
    climbs    Gaussian groups on the scores (Fisher-EM with fewer rows than columns), then on the variables that differ
    judge     the gain over one group (`judge`)

What k-means leads to stays unless the judge clearly prefers another partition. Where it cannot see most of the columns,
halves of the rows decide between the groups of k-means and those of Fisher-EM from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from ..core.data.problem import Problem
from ..core.dlm.family import DLMFamily
from ..core.engine.loop import Fit
from ..core.engine.multistart import Specification, side_by_side
from .alternation import Climb, alternate, round_of
from .decisions import Decision
from .halves import agreements, fisher_em, kmeans
from .judge import Gain, Judge
from .latent_classes import LatentClasses
from .score_mixture import ScoreMixture
from .starts import other_starts, same_partition
from .thresholds import THRESHOLDS

__all__ = ["Groups", "Kind", "best_groups", "class_groups", "margin"]

# Iterations of Fisher-EM from each start: enough to see where it leads.
_ITERATIONS = 15
# Groups that are climbed from on few variables: those that gain most.
_MOST_CLIMBS = 3
# Rounds of the alternation that looks for the fewest variables of the best groups.
_ROUNDS = 2
_ANCHOR, _FEW = "k-means on the columns", "on the variables that differ"


class Kind(Enum):
    """Where groups come from."""

    ANCHOR = "Fisher-EM from k-means"
    OTHER = "another start or climb"


@dataclass(frozen=True)
class Groups:
    """A partition that a fit begins with, and what its judge says of it."""

    name: str
    labels: np.ndarray
    gain: Gain
    kind: Kind = Kind.OTHER


def margin(gain: Gain, n_clusters: int, share: float = THRESHOLDS.tie) -> float:
    """What other groups must gain more, in nats: a share of a large gain, too, as wide tables have."""
    return share * max(np.log(n_clusters) * gain.rows, gain.value)


def best_groups(
    problem: Problem,
    spec: Specification[DLMFamily],
    start: np.ndarray,
    first: np.ndarray,
    judge: Judge,
    min_size: float | str,
    rng: np.random.RandomState,
) -> tuple[Groups, Decision]:
    """(the groups to begin with, why): `first` (n labels) is what Fisher-EM from `start`, k-means, led to."""
    K = spec.n_clusters
    anchor = Groups(_ANCHOR, first, judge.gain(first), kind=Kind.ANCHOR)
    if not judge.sees_enough:
        return _unseen(problem, spec, start, anchor, rng)
    starts = {_ANCHOR: start}
    for name, labels in other_starts(problem, judge, K, rng):
        if len(np.unique(labels)) == K and not same_partition(labels, list(starts.values())):
            starts[name] = labels
    found = [anchor]

    def judged(name: str, labels: np.ndarray) -> None:
        if not same_partition(labels, [one.labels for one in found], THRESHOLDS.same_groups):
            found.append(Groups(name, labels, judge.gain(labels)))

    for name, labels in _climbed(problem, spec, judge, starts):
        judged(name, labels)
    # groups that few variables make may be lost in fits to all variables: climb on few from each partition as well
    for name, labels in _on_few(problem, spec, sorted(found, key=lambda one: -one.gain.value)[:_MOST_CLIMBS]):
        judged(name, labels)
    tried = ", ".join(f"{one.name} {one.gain.per_row:+.2f}" for one in found)
    tried = f"{tried} (gain over one group in nats per row)"
    own = [one for one in found if one.name.startswith(_ANCHOR) and not one.name.endswith(_FEW)]
    if not np.isfinite(max(one.gain.value for one in own)):
        return _not_moved(start, anchor, tried, "no column tells groups apart")
    anchor = _best(own[0], own[1:], K, min_size, THRESHOLDS.tie)
    best = _best(anchor, [one for one in found if one not in own], K, min_size, THRESHOLDS.move)
    if best is own[0]:
        return best, Decision("start", best.name, tried, "no other start leads to groups that clearly gain more")
    decision = Decision("start", best.name, tried, "its groups gain most over one group")
    return _on_fewest(problem, spec, judge, best), decision


def _unseen(
    problem: Problem, spec: Specification[DLMFamily], start: np.ndarray, anchor: Groups, rng: np.random.RandomState
) -> tuple[Groups, Decision]:
    """k-means' own groups, or those of Fisher-EM from there, whichever halves of the rows agree more about.

    k-means' own where halves have fewer rows than columns: Fisher-EM separates almost any groups of these.
    """
    why = "most columns are categories or have a frequent value and cannot be judged"
    if problem.p >= problem.rows.n // 2:
        return _not_moved(start, anchor, "", why)
    pipelines = [kmeans, fisher_em(spec.at_most(_ITERATIONS))]
    own, moved = agreements(problem, spec.n_clusters, pipelines, rng)
    tried = f"k-means {own:.2f}, {_ANCHOR} {moved:.2f} (agreement of halves)"
    if moved > own:
        return anchor, Decision("start", _ANCHOR, tried, f"{why}: halves of the rows agree most about these groups")
    return _not_moved(start, anchor, tried, why)


def class_groups(problem: Problem, start: np.ndarray, n_clusters: int) -> tuple[Groups, Decision]:
    """The groups of a table with categories, which are kept: latent classes from k-means (n labels), or k-means'."""
    sizes = np.bincount(start, minlength=n_clusters)
    nothing = Gain(-np.inf, problem.weight, np.zeros(0, int), float(sizes.min()))
    classes = LatentClasses(problem).settle(start, n_clusters)
    if classes is None or not classes.gain > 0:
        groups = Groups(f"{_ANCHOR}, not moved", start, nothing)
        return groups, Decision("start", groups.name, "", "latent classes from there gain nothing over one class")
    tried = f"latent classes {classes.gain / problem.weight:+.2f} (gain over one class in nats per row)"
    reason = f"{len(classes.variables)} of {problem.n_variables} variables tell the classes apart"
    name = "latent classes from k-means"
    return Groups(name, classes.labels, nothing), Decision("start", name, tried, f"a table with categories: {reason}")


def _not_moved(start: np.ndarray, anchor: Groups, tried: str, reason: str) -> tuple[Groups, Decision]:
    """k-means' own groups, which a fit keeps as they have no gain."""
    groups = Groups(f"{_ANCHOR}, not moved", start, replace(anchor.gain, value=-np.inf))
    return groups, Decision("start", groups.name, tried, f"{reason}: the groups of k-means stay")


def _on_fewest(problem: Problem, spec: Specification[DLMFamily], judge: Judge, groups: Groups) -> Groups:
    """The groups that the fewest variables make, where they gain more: they are cleaner among noise."""
    few = alternate(problem, spec.at_most(_ITERATIONS), groups.labels, spec.n_clusters - 1, rounds=_ROUNDS)
    if few is None:
        return groups
    fewer = judge.gain(few.labels)
    return Groups(groups.name, few.labels, fewer) if fewer.value > groups.gain.value else groups


def _best(own: Groups, others: list[Groups], n_clusters: int, min_size: float | str, share: float) -> Groups:
    """The groups that clearly gain most; outlying rows that the present ones did not set apart are no groups."""

    def worth(other: Gain) -> bool:
        outliers = other.has_outliers(min_size) and other.smallest < own.gain.smallest
        return not outliers and other.value > max(own.gain.value, 0.0) + margin(own.gain, n_clusters, share)

    return max([own, *(one for one in others if worth(one.gain))], key=lambda one: one.gain.value)


def _climbed(
    problem: Problem, spec: Specification[DLMFamily], judge: Judge, starts: dict[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """(name, labels) of where the starts lead on all variables; k-means itself comes first."""
    K, phase = spec.n_clusters, replace(spec.family, sparse=None, n_factors=0).phases()[0]
    yield f"{_ANCHOR}, not moved", starts[_ANCHOR]
    if problem.p >= problem.rows.n:
        others = {name: labels for name, labels in starts.items() if name != _ANCHOR}
        cells = [(labels, spec.at_most(_ITERATIONS), phase) for labels in others.values()]
        for name, fit in zip(others, side_by_side(problem, cells) if cells else (), strict=True):
            if isinstance(fit, Fit) and fit.whole:
                yield name, problem.rows.gather(fit.states, "labels")
    else:
        share = problem.scatter.ridge / problem.scatter.mean_variance
        mixture = ScoreMixture(judge.scores, judge.weights, judge.floors, share)
        for name, settled in zip(starts, mixture.settle(list(starts.values()), K), strict=True):
            if settled is not None:
                yield f"{name}, Gaussian groups", settled


def _on_few(problem: Problem, spec: Specification[DLMFamily], found: list[Groups]) -> Iterator[tuple[str, np.ndarray]]:
    """(name, labels) of where groups lead on the variables that differ between them."""
    distinct = [one for i, one in enumerate(found) if not same_partition(one.labels, [o.labels for o in found[:i]])]
    climbs = {one.name: Climb(problem, spec.at_most(_ITERATIONS), one.labels, spec.n_clusters - 1) for one in distinct}
    while going := [climb for climb in climbs.values() if not climb.ended]:
        round_of(going)
    for name, climb in climbs.items():
        if climb.best is not None:
            yield f"{name}, {_FEW}", climb.labels
