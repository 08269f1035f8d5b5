"""What a fit says of its decisions: a row of `decisions_`, its values, and the unrounded records behind it."""

from __future__ import annotations

import re

import numpy as np

from fisherem.estimators.fitting import fit_rows


def decided(model, name):
    """The row of `decisions_` of that name; None if it was not decided."""
    table = model.decisions_.set_index("decision")
    return table.loc[name] if name in table.index else None


def compared(model, name):
    """What the alternatives of a decision were compared by: "AkB -652.8, DkB -652.5" as a dictionary."""
    return {
        key: float(value) for key, value in re.findall(r"(\w+) (-?[\d.]+|-?inf)", decided(model, name).alternatives)
    }


def records(estimator, X, name, sample_weight=None):
    """The records behind a decision of a fit to these rows, unrounded."""
    weights = None if sample_weight is None else np.asarray(sample_weight, float)
    estimator.n_features_in_ = X.shape[1]
    decision = fit_rows(estimator, np.asarray(X, float), weights).chosen.about(name)
    return [] if decision is None else list(decision.records)
