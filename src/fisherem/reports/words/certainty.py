"""How sure the groups of the rows are: where posteriors can say it, and where they cannot."""

from __future__ import annotations

from dataclasses import dataclass

from ..._utils.wording import count

__all__ = ["SATURATED", "Certainty", "certainty"]

# Rows whose groups overlap at all lower the mean of the largest posteriors below this. Above it nearly every row has a
# posterior of 1, and "no row in doubt" says no more than that the groups were cut apart.
SATURATED = 0.999


@dataclass(frozen=True)
class Certainty:
    """What posteriors can say of how sure the groups are.

    `mean` is the mean of the largest posteriors; `saturated` says that posteriors carry no information here, and
    `reasons` why, in words (none otherwise).
    """

    mean: float
    saturated: bool
    reasons: tuple[str, ...]

    @property
    def text(self) -> str:
        """The reasons in one line."""
        return " ".join(self.reasons)


def certainty(mean: float, n_clusters: int, n: int, p: int, words: tuple[str, str] = ("row", "variable")) -> Certainty:
    """Whether posteriors say how sure the groups are, of a fit to n rows of p variables with this mean posterior.

    `words` are what a row and a variable are called.
    """
    row, variable = words
    if n_clusters == 1 or (n >= p and mean <= SATURATED):
        return Certainty(mean, False, ())
    head = f"The posteriors carry no information on how sure the groups are: on average the largest is {mean:.4f}."
    if n < p:
        why = (
            f"There are fewer {row}s ({n:,}) than {variable}s ({p:,}). Almost any grouping of so few {row}s can be "
            f"separated perfectly by some of the {variable}s, so every {row} looks certain, whether its group is real "
            "or not."
        )
    else:
        why = (
            f"Over {count(p, variable)} small differences add up, and the model takes them all for real: every {row} "
            "looks certain, even where two groups are halves of one."
        )
    return Certainty(mean, True, (head, why))
