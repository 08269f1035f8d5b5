"""compare: fit Fisher-EM, its sparse versions and the rivals to one table."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from .._utils.limited import LimitedWorker, TimeUpError
from .._utils.wording import column_name
from ..core.dlm.f_step.step import SPARSE_STEPS
from ..estimators import FisherEM, SparseFisherEM
from ..estimators.pipelines import last_step, support_on
from ..policy.missing import imputed
from ..rivals import RIVALS
from ..tables.checking import check_list, check_number, takes_gaps
from ..tables.parameters import named_errors
from .scoring import accuracy

__all__ = ["Comparison", "compare", "method_names", "methods"]

# (n_clusters, random_state) -> an unfitted estimator.
Make = Callable[[int, Any], Any]
# Called with (name of the method, None) before and with (name, its row of the table) after a fit.
Callback = Callable[[str, dict[str, Any] | None], None]
# Errors that are reported as a failure of the method; others are bugs.
_FAILURES = (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError, MemoryError)


def methods() -> dict[str, Make]:
    """Every method by name, from the current registers.

    FisherEM and SparseFisherEM with their defaults, SparseFisherEM with each sparse step at a share of 0.1, the rivals.
    """
    found: dict[str, Make] = {
        "FisherEM": lambda K, seed: FisherEM(K, random_state=seed),
        "SparseFisherEM": lambda K, seed: SparseFisherEM(K, random_state=seed),
    }
    found |= {f"SparseFisherEM {step}": _sparse(step) for step in SPARSE_STEPS}
    return found | {name: rival.make for name, rival in RIVALS.items()}


def _sparse(step: str) -> Make:
    return lambda K, seed: SparseFisherEM(K, method=step, sparsity=0.1, random_state=seed)


def _key(name: str) -> str:
    """The name in lower case without punctuation: "kmeans", "K-Means" and "k-means" are the same."""
    return "".join(c for c in str(name).casefold() if c.isalnum())


@dataclass
class Comparison:
    """The result of `compare`.

    `table` (a row per method: method, accuracy, ari, n_variables, seconds, reason) · `agreement` (methods x methods,
    adjusted Rand index of their partitions; NaN for methods that failed) · `supports` (variables x methods, bool) ·
    `models` the fitted estimators by name · `n_missing` missing cells: for methods that do not support them they are
    imputed by the conditional means of one group with common factors.
    """

    table: pd.DataFrame
    agreement: pd.DataFrame
    supports: pd.DataFrame
    models: dict[str, Any] = field(repr=False)
    n_missing: int = 0


def compare(
    X,
    y=None,
    methods="all",
    n_clusters=3,
    *,
    random_state=0,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Comparison:
    """Fit several methods to X and compare accuracy, selected variables, time and agreement.

    Parameters
    ----------
    X : table (n x p), array or frame
    y : labels, optional
        Used for scoring only: they add the accuracy (under the best matching) and the adjusted Rand index to the table.
    methods : "all", names, or a mapping of names to estimators of your own
        The names are FisherEM, SparseFisherEM, "SparseFisherEM <method>" for each sparse step, and the rivals; case,
        blanks and hyphens do not matter. An estimator of your own needs `fit` and `labels_` or `predict`; without
        `support_` it uses every variable. It may be a pipeline.
    n_clusters : int, default=3
        For the methods by name.
    random_state : int, default=0
    time_limit : float, optional
        Seconds that each method may take. With a limit the methods run in a separate process, which is stopped when
        it is reached; the row of the method says so.
    callback : callable, optional
        callback(name, None) is called before a method is fitted and callback(name, row) after it, with its row of the
        table as a dictionary.

    If a method fails, its row has the reason, and the other methods are still fitted.
    """
    check_number("n_clusters", n_clusters, integer=True, least=1)
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    if callback is not None and not _takes_two(callback):
        raise TypeError(f"callback must be a function of a name and a row; got {callback!r}")
    chosen = _estimators(methods, n_clusters, random_state)
    columns = getattr(X, "columns", None)
    with named_errors("X"):
        shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must be a table of rows x columns; got the shape {shape}")
    names = [column_name(j) for j in range(shape[1])] if columns is None else list(map(str, columns))
    y, known = _known(y, shape[0])
    n_missing = 0 if issparse(X) else int(np.count_nonzero(pd.isna(np.asarray(X))))
    filled = imputed(X) if n_missing else X
    rows, labels, supports, models = [], {}, {}, {}
    tell = callback or _silent
    with LimitedWorker(_ready) as worker:
        for name, estimator in chosen.items():
            tell(name, None)
            row: dict[str, Any] = {"method": name}
            begin = time.perf_counter()
            try:
                given = X if not n_missing or takes_gaps(estimator) else filled
                found = _fitted(worker, estimator, given, len(names), time_limit)
            except (*_FAILURES, TimeUpError) as error:
                row |= {"seconds": time.perf_counter() - begin, "reason": str(error)}
            else:
                models[name], partition, support, took, reason = found
                row |= {"n_variables": int(support.sum()), "seconds": took}
                if y is not None:
                    row |= {"accuracy": accuracy(y, partition[known]), "ari": adjusted_rand_score(y, partition[known])}
                row["reason"] = reason
                labels[name], supports[name] = partition, support
            rows.append(row)
            tell(name, dict(row))
    scores = [] if y is None else ["accuracy", "ari"]
    table = pd.DataFrame(rows, columns=["method", *scores, "n_variables", "seconds", "reason"])
    table["n_variables"] = table["n_variables"].astype("Int64")
    return Comparison(table, _agreement(list(chosen), labels), pd.DataFrame(supports, index=names), models, n_missing)


def _known(y, n: int) -> tuple[np.ndarray | None, np.ndarray]:
    """(the known classes as text, bool n: the rows that have one); rows without a class are not scored."""
    if y is None:
        return None, np.ones(n, bool)
    with named_errors("y"):
        classes = np.asarray(y, object)
    if classes.shape != (n,):
        raise ValueError(f"y must have one class per row, shape ({n},); got {classes.shape}")
    known = np.asarray(pd.notna(classes))
    if not known.any():
        raise ValueError("y has no class: every row's is missing")
    return classes[known].astype(str), known


def _estimators(wanted, n_clusters: int, seed) -> dict[str, Any]:
    """The estimators to fit, by the name of their row."""
    if isinstance(wanted, Mapping):
        if bad := [name for name, one in wanted.items() if not hasattr(one, "fit") or not hasattr(one, "get_params")]:
            raise TypeError(f"methods must map names to estimators; {bad[0]!r} is {wanted[bad[0]]!r}")
        return {str(name): clone(estimator) for name, estimator in wanted.items()}
    known = methods()
    return {name: known[name](n_clusters, seed) for name in method_names(wanted)}


def method_names(wanted) -> list[str]:
    """The names of methods as in the table, for "all" or for names such as "kmeans" or "K-Means"."""
    known = methods()
    keys = {_key(name): name for name in known}
    chosen = [wanted] if isinstance(wanted, str) else check_list("methods", wanted)
    chosen = list(known) if chosen == ["all"] else chosen
    if not chosen or not all(_key(name) in keys for name in chosen):
        raise ValueError(f"methods must be 'all', names among {', '.join(known)}, or a mapping; got {wanted!r}")
    return list(dict.fromkeys(name if name in known else keys[_key(name)] for name in chosen))


def _ready() -> None:
    """Do nothing: unpickling this function in another process imports this module."""


def _takes_two(function: Any) -> bool:
    """Whether something can be called with two arguments, as far as it says."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind("", None)
    except TypeError:
        return False
    except ValueError:  # it does not say
        return True
    return True


def _silent(name: str, row: dict | None) -> None:
    """The default of `callback`."""


def _fitted(worker: LimitedWorker, estimator, X, p: int, time_limit: float | None):
    """`_fit` in this process, or with a time limit in another one."""
    if time_limit is None:
        return _fit(estimator, X, p)
    from concurrent.futures.process import BrokenProcessPool

    try:
        return worker.run(_fit, estimator, X, p, time_limit=time_limit)
    except BrokenProcessPool:
        worker.stop()
        raise MemoryError("its process was killed, possibly because memory ran out") from None


def _fit(estimator, X, p: int):
    """(fitted estimator, labels, support, seconds, warnings)."""
    begin = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(X)
        labels = np.asarray(model.labels_ if hasattr(model, "labels_") else model.predict(X))
    own = getattr(last_step(model)[1], "support_", None)
    support = np.ones(p, bool) if own is None else support_on(model, np.asarray(own, bool), p)
    said = "; ".join(dict.fromkeys(str(w.message) for w in caught))
    return model, labels, support, time.perf_counter() - begin, said


def _agreement(names: list[str], labels: dict[str, np.ndarray]) -> pd.DataFrame:
    found = {a: {b: adjusted_rand_score(labels[a], labels[b]) for b in labels} for a in labels}
    return pd.DataFrame.from_dict(found, orient="index", dtype=float).reindex(index=names, columns=names)
