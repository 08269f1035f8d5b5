"""sparsity="auto": the variables that make the groups, found together with the groups.

The dense fit's partition is the first guess, and the alternation of selection and Fisher-EM goes on from there. Other
partitions are tried only where the guess is not to be trusted: where k-means explains no more than chance offers, or
where C(K, S) says that the selected variables explain nothing. C decides between partitions, together with C on
normal scores (every selected column replaced by the normal quantiles of its ranks), which a few outlying rows cannot
deceive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_random_state

from ..core.data.problem import Problem
from ..core.dlm.family import Means, Subset
from ..core.engine.family import Phase
from ..core.engine.loop import Fit
from ..core.engine.multistart import NUMERICAL_ERRORS, FitError, Specification, continue_from
from ..core.starts.partitions import is_large
from ..model.dlm import AUTO, MODELS, candidates, resolve
from .alternation import Alternation, Candidate, Climb, Wanted, alternate, fit_subset, round_of
from .alternative_starts import TRUST, TRUST_SHUFFLED, Pool, same_partition
from .criterion import Partition, eigen, judge
from .forward_backward import select
from .latent_model import COMPACT, fit_latent
from .model import Chosen, fit_best, sample_problem

__all__ = ["fit_automatic", "fit_dense"]

# Another partition must be this much better, in nats: Kass & Raftery (1995) call a difference of 5 very strong, and the
# best of many candidates is better by chance alone.
_MARGIN = 10.0
# Of many starts the alternation goes on from this many: with all of sixty the same partition was kept on the tables
# with added noise.
_MOST_STARTS = 12
# Groups of fewer rows than this, or than this share of them, are outliers to C.
_LEAST_ROWS, _LEAST_SHARE = 4, 0.02


@dataclass
class _Run:
    """One search for variables and groups, on rows in memory."""

    problem: Problem
    spec: Specification
    dense: Chosen
    pool: Pool
    trusted: bool  # whether k-means found more than chance offers

    def __post_init__(self):
        self.labels = self.problem.rows.gather(self.dense.fit.states, "labels")
        self.d = self.dense.fit.solution.axes.d

    def best(self) -> Candidate | None:
        """The candidate to keep; None if nothing could be fitted."""
        whole = len(np.unique(self.labels)) == self.spec.n_clusters
        best = own = alternate(self.problem, self.spec, self.labels, self.d, self._model()) if whole else None
        if own is None or own.value < 0 or not self.trusted:
            best = self._among_others(own)
        if best is not None and best.value < 0 and whole:
            best = self._more_variables(best)
        return best

    def _model(self) -> str | None:
        """The dense fit's model, where its partition is trusted."""
        return self.dense.model.name if self.trusted else None

    def _among_others(self, own: Candidate | None) -> Candidate | None:
        """The best of the alternations from other partitions, if it is enough better."""
        others = [c for c in self._others() if c.smallest >= max(_LEAST_ROWS, _LEAST_SHARE * c.partition.n)]
        if own is not None:
            others = [other for other in others if self._is_better(other, own)]
        return max(others, key=lambda c: c.value + self._robust(c), default=own)

    def _others(self) -> list[Candidate]:
        """Candidates from k-means runs (where k-means is lost), from sparse k-means and from the shrunk metric."""
        starts, seen = [], [self.labels]
        for start in self._starts():
            if not same_partition(start, seen):
                seen.append(start)
                starts.append(start)
        if len(starts) > _MOST_STARTS:  # those that C thinks most of at once
            starts = sorted(starts, key=self._first_value, reverse=True)[:_MOST_STARTS]
        found = [Alternation(self.problem, self.spec, start, self.spec.n_clusters - 1) for start in starts]
        while going := [one for one in found if not one.ended]:
            round_of(going)
        return [one.best for one in found if one.best is not None]

    def _starts(self):
        """Partitions, and what all variables that differ make of each; of k-means runs only that."""
        runs = [] if self.trusted else self.pool.kmeans()
        others = self.pool.sparse_kmeans() + self._behind_a_factor()
        others += [] if self.trusted else self.pool.linked_kmeans()
        climbs = self._climbed(runs + others)
        for climb in climbs[: len(runs)]:
            yield climb.labels
        for labels, climb in zip(others, climbs[len(runs) :], strict=True):
            yield labels
            if climb.best is not None:
                yield climb.labels

    def _climbed(self, starts: list[np.ndarray]) -> list[Climb]:
        """Climbs from the starts, round by round: those that C thinks least of stop after the first round."""
        climbs = [Climb(self.problem, self.spec, labels, self.spec.n_clusters - 1) for labels in starts]
        going = climbs
        while going:
            round_of(going)
            going = sorted((climb for climb in going if not climb.ended), key=lambda climb: -climb.value)[:_MOST_STARTS]
        return climbs

    def _first_value(self, labels: np.ndarray) -> float:
        """C of a partition with the variables that it prefers."""
        K = self.spec.n_clusters
        partition = Partition.of_labels(self.problem, labels, K)
        if (partition.sizes <= 0).any():
            return -np.inf
        return judge(partition, select(partition, np.zeros(0, int), K - 1)).value

    def _behind_a_factor(self) -> list[np.ndarray]:
        """Partitions of dense fits whose noise has a factor, from the first one and from the shrunk metric."""
        found = []
        phase = Phase("noise", replace(self.spec.family, model=MODELS[COMPACT], n_factors=1))
        for labels in [self.labels, *self.pool.shrunk_kmeans()]:
            try:
                fit = continue_from(self.problem, labels, self.spec, phase)
            except NUMERICAL_ERRORS:
                continue
            if fit.whole:
                found.append(self.problem.rows.gather(fit.states, "labels"))
        return found

    def _is_better(self, other: Candidate, own: Candidate) -> bool:
        robust, robust_own = self._robust(other), self._robust(own)
        if self.trusted:
            clearly = other.value > max(0.0, own.value + _MARGIN) and other.value + robust > 0
            return clearly and robust >= robust_own
        better = other.value + robust > own.value + robust_own + _MARGIN
        return other.value > own.value and better

    def _robust(self, candidate: Candidate) -> float:
        """C on normal scores of the selected columns."""
        given, support = self.problem.given, candidate.support
        values = np.ascontiguousarray(given.everything()[:, support], float)
        weights = np.ones(given.n) if given.weights is None else given.weights
        scores = _normal_scores(values, weights)
        member = (candidate.labels == np.arange(self.spec.n_clusters)[:, None]) * weights
        sizes = member.sum(axis=1)
        H = (member @ scores / np.maximum(sizes, 1e-300)[:, None] * np.sqrt(sizes / sizes.sum())[:, None]).T
        total = (scores.T * weights) @ scores / weights.sum()
        values = eigen(total, H)[0][: min(self.spec.n_clusters - 1, len(support))]
        ranked = np.zeros_like(values)
        ranked[: candidate.rank] = values[: candidate.rank]
        return judge(candidate.partition, support, ranked).value

    def _more_variables(self, best: Candidate) -> Candidate:
        """C is below 0: too few rows to say which variables suffice. Keep all that differ between the dense groups."""
        wide = self.problem.weight < 3 * self.problem.p
        found = Climb(self.problem, self.spec, self.labels, self.d, from_all=not wide).to_the_end()
        if found is None:
            return best
        return found if self.trusted or found.value > best.value - 2 * _MARGIN else best


def _normal_scores(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Columns replaced by the normal quantiles of their (weighted) mid-ranks; ties share one."""
    out = np.empty_like(values)
    for j, column in enumerate(values.T):
        _, index = np.unique(column, return_inverse=True)
        mass = np.bincount(index, weights)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        out[:, j] = norm.ppf(np.clip(middle, 1e-9, 1 - 1e-9))[index]
    return out - (weights @ out) / weights.sum()


def fit_automatic(problem: Problem, spec: Specification, model) -> Chosen:
    """The dense fit with its model (given or chosen), then the variables and the groups that they make."""
    dense_spec = replace(spec, family=replace(spec.family, sparse=None))
    # rows of their row space have no variables to choose from in a sample, and a given partition is one of all rows
    sampled = is_large(problem) and problem.rows is problem.given and isinstance(spec.init, str)
    if not sampled or spec.n_clusters == 1:
        return _found(problem, dense_spec, model)
    try:
        return _continued(problem, dense_spec, model)
    except FitError:  # the sample lacks what the rows have
        return _dense(problem, dense_spec, model)


def _found(problem: Problem, spec: Specification, model) -> Chosen:
    """The same on these rows, however many."""
    dense = _dense(problem, spec, model)
    if spec.n_clusters == 1:
        return dense
    pool = Pool(problem, spec.n_clusters, check_random_state(spec.random_state))
    labels = problem.rows.gather(dense.fit.states, "labels")
    with problem.rows.threads():
        # a prior over the rows makes up for a poor start
        trusted = problem.prior is not None or (pool.trust() >= TRUST and pool.above_shuffled(labels) >= TRUST_SHUFFLED)
        best = _Run(problem, spec, dense, pool, trusted).best()
    return dense if best is None else _with(dense, best, model, problem, spec)


def fit_dense(problem: Problem, spec: Specification, model) -> Chosen:
    """The fit without selection; where k-means is lost, from the groups that the search for variables finds."""
    latent = spec.family.means is Means.LATENT
    given = problem.prior is not None or not spec.first_start  # another start than k-means was asked for
    if not latent or spec.n_clusters == 1 or given:
        return _dense(problem, spec, model)
    sampled = is_large(problem) and problem.rows is problem.given
    try:
        small = sample_problem(problem, check_random_state(spec.random_state)) if sampled else problem
        found = _unless_lost(small, spec, model)
        if found is None or not sampled:
            return found or _dense(problem, spec, model)
        family = replace(spec.family, model=found.model, d=found.fit.solution.axes.d)
        return _on_all(problem, small, spec, found, family.phases())
    except FitError:  # the sample lacks what the rows have
        return _dense(problem, spec, model)


def _unless_lost(problem: Problem, spec: Specification, model) -> Chosen | None:
    """The dense fit from better groups than those of k-means; None where k-means is not lost or nothing is better."""
    pool = Pool(problem, spec.n_clusters, check_random_state(spec.random_state))
    if pool.trust() >= TRUST:
        return None
    dense_spec = replace(spec, family=replace(spec.family, sparse=None))  # type: ignore[type-var]
    dense = _dense(problem, dense_spec, model)
    with problem.rows.threads():
        best = _Run(problem, dense_spec, dense, pool, False).best()
    if best is None or same_partition(best.labels, [problem.rows.gather(dense.fit.states, "labels")]):
        return None
    return _dense(problem, replace(spec, init=best.labels, first_start=False), model)


def _dense(problem: Problem, spec: Specification, model) -> Chosen:
    """The given model, or for model="auto" the one that is chosen."""
    if spec.family.means is Means.LATENT and model == AUTO:
        return fit_latent(problem, spec)
    return fit_best(problem, spec, candidates(model))


def _with(dense: Chosen, best: Candidate, model, problem: Problem, spec: Specification) -> Chosen:
    """The candidate as the result, with the history of the dense fit before its own."""
    fit, name = best.fit, best.model
    if model != AUTO and name != resolve(model).name:  # the variables were found with another model: fit the given one
        name = resolve(model).name
        fit = fit_subset(problem, spec, Wanted(best.labels, best.support, best.rank, name)) or fit
    before = dense.fit.history
    fit.history = before + [{**r, "iteration": r["iteration"] + len(before)} for r in fit.history]
    chosen = replace(dense, fit=fit, model=MODELS.get(name, dense.model))
    if model != AUTO or chosen.model.name == dense.model.name:
        return chosen
    kept = {"model": chosen.model.name, "kept": True, "reason": "by the size of the smallest group"}
    left = [r | {"kept": False, "reason": ""} for r in dense.candidates if r["model"] != kept["model"]]
    return replace(chosen, candidates=[*left, kept])


def _continued(problem: Problem, spec: Specification, model) -> Chosen:
    """Large data: variables and groups are found on a sample of the rows, and fitted to all of them from there."""
    small = sample_problem(problem, check_random_state(spec.random_state))
    found = _found(small, spec, model)  # with many columns a sample is large, too
    axes = found.fit.solution.axes
    support = np.arange(problem.p) if axes.sparse is None else np.flatnonzero(axes.sparse.any(axis=1))
    family = replace(spec.family, model=found.model, subset=Subset(support), d=axes.d)
    return _on_all(problem, small, spec, found, [Phase("sparse", family)])


def _on_all(problem: Problem, small: Problem, spec: Specification, found: Chosen, phases: Sequence[Phase]) -> Chosen:
    """What was found on a sample, gone on with on all rows."""
    fit: Fit = replace(found.fit, solution=found.fit.solution.moved(small.centre), states=[], history=[])
    with problem.rows.threads():
        for phase in phases:
            fit = continue_from(problem, fit, spec, phase)
    if not fit.whole:
        raise FitError(f"the groups of a sample of the rows are not those of all: {fit.stop}")
    return replace(found, fit=fit)
