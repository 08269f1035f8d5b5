"""What a fit says of its decisions (a row of `decisions_`, its values, the unrounded records); models that fail, and a
criterion during which Ctrl-C is pressed."""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy as np

from fisherem.estimators.fitting import fit_rows
from fisherem.model.criteria import Criterion
from fisherem.model.dlm import DLM, MODELS, CovarianceShape


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


def failing(name, reason="it did not work"):
    """A model of that name, such as "AkB", whose M-step fails."""

    def constrain(covariances, proportions):
        raise FloatingPointError(reason)

    own = MODELS[name]
    shape = CovarianceShape(own.covariance.name, own.covariance.symbol, own.covariance.count, constrain)
    return DLM(shape, own.noise, own.candidate)


@contextmanager
def failing_model(name, reason="it did not work"):
    """The model of that name fails inside the with block."""
    entries = dict(MODELS)
    broken = failing(name, reason)

    def fill(wanted):
        for one in entries:
            MODELS.remove(one)
        for one, model in wanted.items():
            MODELS.add(one, model)

    fill(entries | {name: broken})
    try:
        yield
    finally:
        fill(entries)


def ctrl_c(fit: int) -> Criterion:
    """A criterion during whose evaluation of the n-th fit the user presses Ctrl-C; 0 for never."""
    seen: list[float] = []

    def value(log_likelihood, *others):
        if log_likelihood not in seen:
            seen.append(log_likelihood)
            if len(seen) == fit:
                raise KeyboardInterrupt
        return log_likelihood

    return Criterion("pressed", "Pressed", "log-likelihood", value)
