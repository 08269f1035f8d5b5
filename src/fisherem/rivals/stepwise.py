"""Stepwise search for the variables that cluster (Raftery & Dean 2006; Maugis, Celeux & Martin-Magniette 2009).

    difference(j | S) = BIC_clust(S + j) - BIC_clust(S) - BIC_reg(j | R),   R a subset of S selected by BIC

Where it is positive, variable j says more about the groups than its regression on the chosen variables explains. BIC
here is log-likelihood - parameters/2 log n, half of mclust's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .mixtures import Mixture
from .regressions import Regressions
from .subsets import Subsets

__all__ = ["DIRECTIONS", "PATH_COLUMNS", "Search", "start_with_all"]

PATH_COLUMNS = ["step", "variable", "action", "bic_difference", "accepted", "n_selected", "shape", "reason"]

# Headlong search: a variable with a difference below this is not looked at again (-10 on mclust's scale, which doubles
# the log-likelihood).
_HOPELESS = -5.0


@dataclass
class Search:
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

    def _record(self, variable: int, action: str, difference: float, accepted: bool, reason: str = "") -> None:
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

    def additions(self, variables) -> np.ndarray:
        """out[i] = difference(variables[i] | S); -inf, recorded with the reason, where no mixture can be fitted."""
        S = self.chosen
        found = self.subsets.judge([(*S, j) for j in variables])
        base = self.mixture.bic if S else 0.0
        out = np.full(len(variables), -np.inf)
        for i, (j, mixture) in enumerate(zip(variables, found, strict=True)):
            if mixture.reason:
                self._record(j, "add", np.nan, False, f"skipped: {mixture.reason}")
            else:
                out[i] = mixture.bic - base - self.regressions.select(j, S)[0]
        return out

    def removals(self, variables) -> np.ndarray:
        """out[i] = difference(j | S - j) for j = variables[i], in S: the smallest are the candidates to leave."""
        S = self.chosen
        rest = [tuple(s for s in S if s != j) for j in variables]
        found = self.subsets.judge(rest)
        out = np.full(len(variables), np.inf)
        for i, (j, without, mixture) in enumerate(zip(variables, rest, found, strict=True)):
            if mixture.reason:
                self._record(j, "remove", np.nan, False, f"skipped: {mixture.reason}")
            else:
                out[i] = self.mixture.bic - mixture.bic - self.regressions.select(j, without)[0]
        return out

    def add_best(self, *, force: bool = False) -> bool:
        """Add the variable with the largest difference if it is positive (or with `force`); whether one was added."""
        outside = [j for j in self.candidates if j not in self.chosen]
        if not outside:
            return False
        differences = self.additions(outside)
        best = int(np.argmax(differences))
        accepted = bool(np.isfinite(differences[best]) and (force or differences[best] > 0))
        if accepted:
            self.chosen = (*self.chosen, outside[best])
        if np.isfinite(differences[best]):
            self._record(outside[best], "add", differences[best], accepted)
        return accepted

    def remove_worst(self, least: int = 1) -> bool:
        """Remove the variable with the smallest difference if it is not positive; whether one was removed.

        At least `least` variables are kept.
        """
        if len(self.chosen) <= least:
            return False
        differences = self.removals(self.chosen)
        worst = int(np.argmin(differences))
        if not np.isfinite(differences[worst]) and differences[worst] > 0:
            return False
        variable, accepted = self.chosen[worst], bool(differences[worst] <= 0)
        if accepted:
            self.chosen = tuple(j for j in self.chosen if j != variable)
        self._record(variable, "remove", differences[worst], accepted)
        return accepted

    def remove_if_redundant(self, j: int) -> bool:
        """Remove j from S if the others explain it; whether it was removed."""
        difference = self.removals([j])[0]
        if not np.isfinite(difference):
            return False
        if difference <= 0:
            self.chosen = tuple(i for i in self.chosen if i != j)
        self._record(j, "remove", difference, bool(difference <= 0))
        return bool(difference <= 0)

    def alternate(self, steps) -> None:
        """Take the steps in turn until none of them changes S, or S is one that was seen before."""
        seen = {frozenset(self.chosen)}
        while len(self.path) < self.max_steps:
            changed = [step() for step in steps]
            if not any(changed) or frozenset(self.chosen) in seen:
                return
            seen.add(frozenset(self.chosen))
        self.converged = False


def _start_with_two(search: Search) -> None:
    """Choose the two best variables, whatever their differences: a single one seldom shows the groups.

    Where no single variable supports a mixture (few distinct values), the search starts from all of them instead.
    """
    if search.add_best(force=True):
        search.add_best(force=True)
    else:
        start_with_all(search)


def start_with_all(search: Search) -> None:
    """Choose all candidates; an error where no mixture fits them."""
    search.chosen = search.candidates
    if search.mixture.reason:
        raise ValueError(
            f"no mixture fits all {len(search.candidates)} variables ({search.mixture.reason}): lower n_clusters, "
            "search forward, or allow a diagonal shape such as models='EEI'"
        )


def forward(search: Search) -> None:
    """Add the best variable, remove the worst, in turn, from none."""
    _start_with_two(search)
    search.alternate([search.add_best, search.remove_worst])


def backward(search: Search) -> None:
    """Remove the worst variable, add the best, in turn, from all."""
    start_with_all(search)
    search.alternate([search.remove_worst, search.add_best])


def headlong(search: Search) -> None:
    """Forward, but take the first variable that improves, and forget those that are far from it."""
    _start_with_two(search)
    hopeless: set[int] = set()

    def add() -> bool:
        for j in [j for j in search.candidates if j not in search.chosen and j not in hopeless]:
            difference = search.additions([j])[0]
            if difference > 0:
                search.chosen = (*search.chosen, j)
                search._record(j, "add", difference, True)
                return True
            if difference < _HOPELESS:
                hopeless.add(j)
        return False

    def remove() -> bool:
        for j in search.chosen if len(search.chosen) > 1 else ():
            difference = search.removals([j])[0]
            if difference <= 0:
                search.chosen = tuple(i for i in search.chosen if i != j)
                search._record(j, "remove", difference, True)
                hopeless.update({j} if difference < _HOPELESS else ())
                return True
        return False

    search.alternate([add, remove])


DIRECTIONS = {"forward": forward, "backward": backward, "headlong": headlong}
