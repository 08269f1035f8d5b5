"""What the groups of a fitted model are called: "group 1", "group 2", ..., or the names that a user has given.

In: a fitted model with K groups. Out: K different names. They are saved with the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.wording import column_name, group_names_of, shorten
from ..policy.thresholds import THRESHOLDS

__all__ = ["Named", "axis_names", "names_of_groups", "variable_names"]


def names_of_groups(model: Any, given: Sequence | None = None) -> list[str]:
    """K names: those given, else those that the model was given, else "group 1", "group 2", ..."""
    known = getattr(model, "group_names_", None)
    return group_names_of(known if given is None else given, len(model.weights_))


def variable_names(model: Any, p: int) -> list[str]:
    """p names: those that the model was fitted with, else x1, x2, ..."""
    names = getattr(model, "feature_names_in_", None)
    return [column_name(j) for j in range(p)] if names is None else [str(name) for name in names]


# Variables that name an axis.
_MOST_NAMING = 2
# Characters of such a name: two of them fit below a picture.
_CHARACTERS = 24


def axis_names(model: Any, names: Sequence[str] | None = None) -> list[str]:
    """A name for each axis: "axis 1: flavanoids, proline".

    These are the variables that contribute most to the differences of the groups along it: by the size of their loading
    times the standard deviation of the groups' means, in divided columns. `names` are p.
    """
    loadings, weights = np.asarray(model.loadings_), np.asarray(model.weights_)
    names = variable_names(model, len(loadings)) if names is None else names
    means = np.asarray(model.group_means_, float) / getattr(model, "scales_", np.ones(len(loadings)))
    sizes = np.abs(loadings) * np.sqrt(weights @ (means - weights @ means) ** 2)[:, None]
    found = []
    for j, column in enumerate(sizes.T):
        order = np.argsort(-column, kind="stable")[:_MOST_NAMING]
        named = [i for i in order if column[i] >= THRESHOLDS.names_axis * column[order[0]] > 0]
        shown = [shorten(str(names[i]), _CHARACTERS) for i in named]
        found.append(f"axis {j + 1}: {', '.join(shown)}" if shown else f"axis {j + 1}")
    return found


class Named:
    """Mixin of `FittedMixture`: names of its groups."""

    def name_groups(self, names=None):
        """Call the groups by these `names` (K, in the order of `labels_`) wherever people read them; returns the model.

        Without names they are "group 1", "group 2", ... again: group 1 is ``labels_ == 0``. Summaries, pictures, tables
        and pages use the names, and `fisherem.save` keeps them. Arrays still count groups from 0. Another fit
        forgets the names.
        """
        check_is_fitted(self)
        model: Any = self
        checked = None if names is None else group_names_of(names, len(model.weights_))
        vars(self).pop("group_names_", None)
        if checked is not None:
            model.group_names_ = np.array(checked, object)
        return self
