"""Everything that speaks for a number of groups, in one object."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .candidates import COLUMNS, Candidate

__all__ = ["Evidence", "Halves"]


@dataclass(frozen=True)
class Halves:
    """Agreement and prediction strength of each split of the rows."""

    agreements: np.ndarray
    strengths: np.ndarray

    @property
    def agreement(self) -> float:
        """The mean adjusted Rand index; nan if no split could be fitted."""
        return float(np.nanmean(self.agreements)) if np.isfinite(self.agreements).any() else float("nan")

    @property
    def error(self) -> float:
        """Its standard error over the splits."""
        known = self.agreements[np.isfinite(self.agreements)]
        return float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else float("nan")

    @property
    def strength(self) -> float:
        """The mean prediction strength."""
        return float(np.nanmean(self.strengths)) if np.isfinite(self.strengths).any() else float("nan")


@dataclass
class Evidence:
    """Candidates by number of groups, and the fits to halves of the rows.

    n : rows that were judged; min_size : rows that a group needs to be one.
    candidates : by K, every partition that was found.
    halves : by K, of the best candidate.
    spiked : the share of columns in which one value is frequent.
    one_group : the p-value of one group against two; nan where it was not computed.
    """

    n: int
    min_size: int
    candidates: dict[int, list[Candidate]] = field(default_factory=dict)
    halves: dict[int, Halves] = field(default_factory=dict)
    spiked: float = 0.0
    one_group: float = float("nan")

    def add(self, candidate: Candidate) -> None:
        """One more partition."""
        self.candidates.setdefault(candidate.n_clusters, []).append(candidate)

    def fits(self, candidate: Candidate) -> bool:
        """Whether all groups are there and large enough to be estimated."""
        return not candidate.reason and (candidate.n_clusters == 1 or candidate.smallest >= self.min_size)

    def best(self, K: int) -> Candidate | None:
        """The partition into K groups that C prefers on columns without skew; None if none has groups large enough.

        Merged groups are a start for the estimator and no candidate of their own.
        """
        usable = [c for c in self.candidates.get(K, []) if self.fits(c)]
        return max(usable, key=lambda c: c.robust, default=None)

    def own(self, K: int) -> Candidate | None:
        """The estimator's fit to the columns as they are, whatever the size of its groups; None if it failed."""
        found = [c for c in self.candidates.get(K, []) if c.source == COLUMNS and not c.reason]
        return found[0] if found else None

    @property
    def numbers(self) -> list[int]:
        """Every number of groups that was tried, ascending."""
        return sorted(self.candidates)

    @property
    def usable(self) -> list[int]:
        """Numbers of groups with a candidate, two or more."""
        return [K for K in self.numbers if K > 1 and self.best(K) is not None]
