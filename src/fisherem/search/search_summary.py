"""A search in words: what was chosen, how sure that is, and the fit that was chosen."""

from __future__ import annotations

from typing import Any

from .._utils.wording import count
from ..estimators.describing import Summary, summary_lines, warnings_of
from ..model.criteria import CRITERIA

__all__ = ["summary_of"]

# Reasons of a verdict that a summary has room for; the verdict itself has all of them.
_MOST_REASONS = 2


def summary_of(search: Any, best: Any) -> Summary:
    """The summary of a fitted search; `best` is its best estimator, the last step where that is a pipeline."""
    K, n = len(best.weights_), len(best.labels_)
    notes = ["interrupted: the choice rests on the fits that were done"] if search.interrupted_ else []
    verdict = getattr(search, "verdict_", None)
    if verdict is not None:
        title = f"ModelSearch: {count(K, 'group')} of {count(n, 'row')} ({verdict.degree})"
        said = [("verdict", verdict.headline), *(("", reason) for reason in verdict.reasons[:_MOST_REASONS])]
        # a caution of the verdict says of few rows what the estimator would say
        notes = [*verdict.cautions, *(text for text in warnings_of(best) if not text.startswith("fewer rows"))]
    else:
        chosen = ", ".join(f"{name} {_short(value)}" for name, value in search.best_params_.items())
        label = CRITERIA[search.criterion_].label
        title = f"ModelSearch: {count(K, 'group')} of {count(n, 'row')}, chosen by {label}"
        said = [
            ("chosen", f"{chosen} ({label} {search.best_score_:.1f}, best of {count(len(search.results_), 'fit')})")
        ]
        notes += warnings_of(best)
    return Summary(title, [*said, *summary_lines(best)], notes)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
