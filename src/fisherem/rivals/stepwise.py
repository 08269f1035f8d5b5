"""Stepwise search for the variables that cluster (Raftery & Dean 2006; Maugis, Celeux & Martin-Magniette 2009).

    difference(j | S) = BIC_clust(S + j) - BIC_clust(S) - BIC_reg(j | R),   R a subset of S selected by BIC

Where it is positive, variable j separates the groups more than its regression on the chosen variables explains. BIC
here is log-likelihood - parameters/2 log n, half of mclust's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .mixtures import Mixture
from .regressions import Regressions
from .subsets import Subsets

__all__ = ["DIRECTIONS", "PATH_COLUMNS", "StepwiseSearch", "start_with_all"]

PATH_COLUMNS = ["step", "variable", "action", "bic_difference", "accepted", "n_selected", "shape", "reason"]

# Headlong search: a variable with a difference below this is not tried again (-10 on mclust's scale, which doubles
# the log-likelihood).
_HOPELESS = -5.0


@dataclass
class StepwiseSearch:
    """The state of a search: the chosen variables S (indices) and the record of its steps."""

    subsets: Subsets
    regressions: Regressions
    candidates: tuple[int, ...]  # variables that may be chosen: all but the constant ones
    max_steps: int
    chosen: tuple[int, ...] = ()
    path: list[dict] = field(default_factory=list)
    converged: bool = True

    @property
    def mixture(self) -> Mixture:
        """The best mixture on the chosen variables."""
        return self.subsets.one(self.chosen)

    def take(self, variable: int, action: str, difference: float, accepted: bool, reason: str = "") -> bool:
        """Add or remove a variable if it is accepted, and record the step; returns whether it was accepted."""
        if accepted:
            without = tuple(j for j in self.chosen if j != variable)
            self.chosen = (*without, variable) if action == "add" else without
        self.path.append(
            {
                "step": len(self.path) + 1,
                "variable": variable,
                "action": action,
                "bic_difference": difference,
                "accepted": accepted,
                "n_selected": len(self.chosen),
                "shape": self.mixture.shape if self.chosen else "",
                "reason": reason,
            }
        )
        return accepted

    def additions(self, variables) -> np.ndarray:
        """out[i] = difference(variables[i] | S); -inf, recorded with the reason, where no mixture can be fitted."""
        S = self.chosen
        found = self.subsets.judge([(*S, j) for j in variables])
        base = self.mixture.bic if S else 0.0
        out = np.full(len(variables), -np.inf)
        for i, (j, mixture) in enumerate(zip(variables, found, strict=True)):
            if mixture.reason:
                self.take(j, "add", np.nan, False, f"skipped: {mixture.reason}")
            else:
                out[i] = mixture.bic - base - self.regressions.select(j, S)[0]
        return out

    def removals(self, variables) -> np.ndarray:
        """out[i] = difference(j | S - j) for j = variables[i] in S; inf, recorded, where no mixture can be fitted."""
        S = self.chosen
        rest = [tuple(s for s in S if s != j) for j in variables]
        found = self.subsets.judge(rest)
        out = np.full(len(variables), np.inf)
        for i, (j, without, mixture) in enumerate(zip(variables, rest, found, strict=True)):
            if mixture.reason:
                self.take(j, "remove", np.nan, False, f"skipped: {mixture.reason}")
            else:
                out[i] = self.mixture.bic - mixture.bic - self.regressions.select(j, without)[0]
        return out

    def add_best(self, *, force: bool = False) -> bool:
        """Add the variable with the largest positive difference (any with `force`); returns whether one was added."""
        outside = [j for j in self.candidates if j not in self.chosen]
        if not outside:
            return False
        differences = self.additions(outside)
        best = int(np.argmax(differences))
        if not np.isfinite(differences[best]):
            return False
        return self.take(outside[best], "add", differences[best], bool(force or differences[best] > 0))

    def remove_worst(self, least: int = 1) -> bool:
        """Remove the variable with the smallest difference if it is not positive; returns whether one was removed.

        At least `least` variables are kept.
        """
        if len(self.chosen) <= least:
            return False
        differences = self.removals(self.chosen)
        worst = int(np.argmin(differences))
        if not np.isfinite(differences[worst]) and differences[worst] > 0:
            return False
        return self.take(self.chosen[worst], "remove", differences[worst], bool(differences[worst] <= 0))

    def remove_if_redundant(self, j: int) -> bool:
        """Remove j from S if the other variables explain it; returns whether it was removed."""
        difference = self.removals([j])[0]
        return bool(np.isfinite(difference)) and self.take(j, "remove", difference, bool(difference <= 0))

    def alternate(self, steps) -> None:
        """Repeat the steps in turn until none of them changes S, or S recurs."""
        seen = {frozenset(self.chosen)}
        while len(self.path) < self.max_steps:
            changed = [step() for step in steps]
            if not any(changed) or frozenset(self.chosen) in seen:
                return
            seen.add(frozenset(self.chosen))
        self.converged = False


def _start_with_two(search: StepwiseSearch) -> None:
    """Choose the two best variables, whatever their differences: a single one rarely separates the groups.

    Where no single variable supports a mixture (few distinct values), the search starts from all of them instead.
    """
    if search.add_best(force=True):
        search.add_best(force=True)
    else:
        start_with_all(search)


def start_with_all(search: StepwiseSearch) -> None:
    """Choose all candidates; an error if no mixture fits them."""
    search.chosen = search.candidates
    if search.mixture.reason:
        raise ValueError(
            f"no mixture fits all {len(search.candidates)} variables ({search.mixture.reason}): lower n_clusters, "
            "search forward, or allow a diagonal shape such as models='EEI'"
        )


def forward(search: StepwiseSearch) -> None:
    """Start from no variables; add the best and remove the worst one in turn."""
    _start_with_two(search)
    search.alternate([search.add_best, search.remove_worst])


def backward(search: StepwiseSearch) -> None:
    """Start from all variables; remove the worst and add the best one in turn."""
    start_with_all(search)
    search.alternate([search.remove_worst, search.add_best])


def headlong(search: StepwiseSearch) -> None:
    """Forward, but add the first variable that improves the BIC, and do not retry those that lower it by much."""
    _start_with_two(search)
    hopeless: set[int] = set()

    def add() -> bool:
        for j in [j for j in search.candidates if j not in search.chosen and j not in hopeless]:
            difference = search.additions([j])[0]
            if difference > 0:
                return search.take(j, "add", difference, True)
            if difference < _HOPELESS:
                hopeless.add(j)
        return False

    def remove() -> bool:
        for j in search.chosen if len(search.chosen) > 1 else ():
            difference = search.removals([j])[0]
            if difference <= 0:
                hopeless.update({j} if difference < _HOPELESS else ())
                return search.take(j, "remove", difference, True)
        return False

    search.alternate([add, remove])


DIRECTIONS = {"forward": forward, "backward": backward, "headlong": headlong}
