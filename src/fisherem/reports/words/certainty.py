"""Whether the posteriors indicate how certain the groups are."""

from __future__ import annotations

from dataclasses import dataclass

from ..._utils.wording import count

__all__ = ["SATURATED", "Certainty", "certainty"]

# If groups overlap at all, the mean of the largest posteriors is below this. Above it, nearly every row has a posterior
# of 1, so the posteriors do not indicate which rows are uncertain.
SATURATED = 0.999


@dataclass(frozen=True)
class Certainty:
    """Whether the posteriors are informative.

    `mean` is the mean of the largest posteriors; `saturated` says that the posteriors are not informative, and
    `reasons` explain why (empty otherwise).
    """

    mean: float
    saturated: bool
    reasons: tuple[str, ...]

    @property
    def text(self) -> str:
        """The reasons in one line."""
        return " ".join(self.reasons)


def certainty(mean: float, n_clusters: int, n: int, p: int, words: tuple[str, str] = ("row", "variable")) -> Certainty:
    """Judge the posteriors of a fit to n rows of p variables from the mean of the largest posteriors.

    `words` are what a row and a variable are called.
    """
    row, variable = words
    if n_clusters == 1 or (n >= p and mean <= SATURATED):
        return Certainty(mean, False, ())
    head = f"The posteriors do not indicate how certain the groups are: the largest is on average {mean:.4f}."
    if n < p:
        why = (
            f"There are fewer {row}s ({n:,}) than {variable}s ({p:,}). Almost any grouping of so few {row}s can be "
            f"separated perfectly by some of the {variable}s, so every {row} looks certain, whether its group is real "
            "or not."
        )
    else:
        why = (
            f"Small differences add up over {count(p, variable)}, so every {row} looks certain, even if two groups "
            "are halves of a single one."
        )
    return Certainty(mean, True, (head, why))
