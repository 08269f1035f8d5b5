"""Python code that fits the page's model again and uses it."""

from __future__ import annotations

from inspect import signature

import numpy as np

from ...estimators import FactorMixture, FisherEM
from ...plots.style import is_given
from ...search.model_search import ModelSearch

__all__ = ["usage"]

# How a fit was run, not what was fitted.
_INCIDENTAL = ("n_jobs", "checkpoint", "progress")
_USES = (
    "groups = model.predict(X_new)  # the most probable group of each row, counted from 0",
    "posteriors = model.predict_proba(X_new)  # one column per group",
    "outside = model.outlyingness(X_new) < 0.001  # rows that belong to none of the groups",
    "why = model.contributions(X_new).frame()  # each variable's part in the log-odds against the next group",
    "axes = model.transform(X_new)  # coordinates in the discriminative subspace",
    "chosen = model.support_  # True for the selected variables",
    "inside = model.subcluster(X, 1)  # the first group, split by variables of its own",
    "",
    'fisherem.save(model, "model.skops")',
    'model = fisherem.load("model.skops")',
)


def usage(model: FisherEM | ModelSearch) -> str:
    """The lines of a script that fits the estimator or the search again, puts new rows into groups and saves it.

    Groups that were given are explained again.
    """
    same = "# the table of this page, prepared in the same way"
    names = [type(model).__name__]
    fit = [f"model = {_call(model)}", f"model.fit(X)  {same}"]
    if isinstance(model, ModelSearch):
        names.append(type(model.estimator).__name__)
        fit = [f"search = {_call(model)}", f"search.fit(X)  {same}", "model = search.best_estimator_"]
    elif is_given(model):
        names = ["explain"]
        fit = [f"found = explain(X, labels)  {same}, and the groups that were given", "model = found.model"]
    text = "\n".join(["import fisherem", f"from fisherem import {', '.join(sorted(names))}", "", *fit, "", *_USES])
    if not hasattr(getattr(model, "best_estimator_", model), "covariate_share_"):
        return text
    for call, rows in (("(X)", "X"), ("(X, labels)", "X, labels"), ("(X, 1)", "X, 1")):
        text = text.replace(call, f"({rows}, covariates=Z)")
    return text.replace("(X_new)", "(X_new, covariates=Z_new)")


def _call(estimator) -> str:
    """A call that makes the estimator again. Defaults other than K are left out; what is not a plain value is `...`."""
    parts = []
    for name, parameter in signature(type(estimator)).parameters.items():
        value = getattr(estimator, name)
        value = value.item() if isinstance(value, np.generic) else value
        usual = type(value) is type(parameter.default) and value == parameter.default
        if name in _INCIDENTAL or (usual and name != "n_clusters"):
            continue
        if isinstance(value, (FisherEM, FactorMixture)):
            parts.append(_call(value))
        else:
            parts.append(f"{name}={value!r}" if _plain(value) else f"{name}=...")
    return f"{type(estimator).__name__}({', '.join(parts)})"


def _plain(value) -> bool:
    """Whether repr(value) is Python that gives the value."""
    if isinstance(value, (list, tuple)):
        return all(_plain(v) for v in value)
    return value is None or isinstance(value, (bool, int, float, str, range))
