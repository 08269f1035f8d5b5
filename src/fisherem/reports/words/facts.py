"""What was fitted, as pairs of a word and a value."""

from __future__ import annotations

import platform

import numpy as np
import scipy
import sklearn

from ...core.engine.loop import STOPPING
from ...estimators import BayesianFisherEM, FisherEM, SparseFisherEM
from ...model.dlm import resolve
from ..text import clean, integer
from .summary import covariate_words, model_words, noise_words, scale_words

__all__ = ["GIVEN_GROUPS", "facts", "made_by_selected"]

# What `stop_reason_` says of a model whose groups something else made (see `fisherem.explain`).
GIVEN_GROUPS = "given groups"

_MEANS = {
    "latent": "inside the axes: the groups depend on the selected variables",
    "full": "in every variable: the groups depend on all of them",
}
_STOPS = {
    "aitken": "the likelihood converged",
    "fisher": "Fisher's criterion converged",
    "groups kept": "further iterations lead to groups that gain less over one group than those of the start",
    "cycle": "the iterations ended in a cycle; the iterate with the largest likelihood is shown",
    "max_iter": "the maximum number of iterations was reached",
}


def facts(model: FisherEM, n: int, p: int, words=("rows", "variables")) -> list[tuple[str, str]]:
    """The settings of a fit and how it ended.

    `n` rows are shown on the page and `p` variables were fitted; `words` says what the rows and the columns are called.
    """
    dlm, why, scaling = resolve(model.model_), model_words(model), scale_words(model)
    given = str(model.stop_reason_) == GIVEN_GROUPS
    found = [
        ("Method", _method(model)),
        ("Model", f"{dlm.name} — {dlm.paper_name}" + (f"; {why}" if why else "")),
        ("Means", _MEANS[model.means]),
        ("Noise", noise_words(model)),
        *([("Scaling", scaling)] if scaling else []),
        *([("Covariates", said)] if (said := covariate_words(model)) else []),
        *([] if given else [("Discriminant", str(model.discriminant))]),
        ("Groups K", str(len(model.weights_))),
        ("Axes d", str(model.loadings_.shape[1])),
    ]
    found += _decisions(model)
    if isinstance(model, SparseFisherEM):
        found += _sparsity(model)
    if not given:
        found.append(("Converged", f"{'yes' if model.converged_ else 'no'}: {_how_it_stopped(model)}"))
        found.append(("Iterations", integer(model.n_iter_)))
    found.append(("Fitted to", f"{integer(len(model.labels_))} {words[0]} × {integer(p)} {words[1]}"))
    if len(model.labels_) != n:
        found.append(("Shown here", f"{integer(n)} {words[0]}, not those of the fit"))
    return [*found, ("Versions", _versions())]


def made_by_selected(model: FisherEM) -> bool:
    """Whether the groups depend on the selected variables alone: means inside the axes and a common noise."""
    noises = np.asarray(model.noise_variances_)
    return model.means == "latent" and bool((noises == noises[0]).all())


def _method(model: FisherEM) -> str:
    if str(model.stop_reason_) == GIVEN_GROUPS:
        return "explain: the groups were given, and the variables that separate them were selected"
    if isinstance(model, BayesianFisherEM):
        return "Bayesian Fisher-EM" + ("" if model.method is None else f", {model.method}")
    if not isinstance(model, SparseFisherEM):
        return "Fisher-EM"
    return "sparse Fisher-EM" + ("" if isinstance(model.sparsity, str) else f", {model.method}")


def _decisions(model) -> list[tuple[str, str]]:
    """What was decided about the rows, the start, the variables and the ridge, and why."""
    table = model.decisions_
    shown = table[table["decision"].isin(["rows", "start", "variables", "missing cells", "ridge"])]
    return [(str(one.decision).capitalize(), f"{one.choice}: {one.reason}") for one in shown.itertuples()]


def _sparsity(model: SparseFisherEM) -> list[tuple[str, str]]:
    """The shares that were given; or that the variables were chosen with the groups."""
    if getattr(model, "penalty", None) is not None:
        return [("Sparsity", f"a penalty of {model.penalty:g} on the loadings")]
    if isinstance(model.sparsity, str):
        whose = "for the given groups" if str(model.stop_reason_) == GIVEN_GROUPS else "with the groups"
        return [("Sparsity", f"{model.sparsity}: the variables were chosen {whose}, by C(K, S)")]
    shares = np.atleast_1d(np.asarray(model.sparsity, float))
    return [("Sparsity", ", ".join(f"{s:.3g}" for s in shares)), ("Axis weights", str(model.axis_weights))]


def _how_it_stopped(model: FisherEM) -> str:
    reason = str(model.stop_reason_)
    rule = f"the stopping rule {reason!r} was met" if reason in STOPPING else reason
    return clean(_STOPS.get(reason, rule), 120)


def _versions() -> str:
    import fisherem

    return (
        f"fisherem {fisherem.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, Python {platform.python_version()}"
    )
