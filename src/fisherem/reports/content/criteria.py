"""The criteria of a fit, as the register `CRITERIA` lists them: for the page, `criteria.csv`, the terminal and JSON."""

from __future__ import annotations

from typing import NamedTuple

from ...model.criteria import CRITERIA
from ...plots.style import is_given
from ..text import integer, number

__all__ = ["CriterionRow", "criteria", "criterion_values", "headline"]


_GAIN_OF_GIVEN = "with every row wholly in its given group, in nats, less a price; 0 for one group"


class CriterionRow(NamedTuple):
    """A row of the page's table of criteria: what is read first, its value as text and as it is, and what it is."""

    label: str
    value: str
    exact: float
    meaning: str


def criterion_values(model) -> dict[str, float]:
    """The value of each registered criterion by its name; a fit holds it as `<name>_`.

    A fit from before a criterion was registered has no value of it, and that criterion is left out.
    """
    return {name: float(getattr(model, f"{name}_")) for name in CRITERIA if hasattr(model, f"{name}_")}


def _row(name: str, value: float, meaning: str | None = None) -> CriterionRow:
    return CriterionRow(CRITERIA[name].label, number(value, 1), value, meaning or CRITERIA[name].formula)


def criteria(model) -> list[CriterionRow]:
    """The log-likelihood and the number of parameters of a fit, then its criteria."""
    value, counted = model.log_likelihood_, model.n_parameters_
    said = {"gain": _GAIN_OF_GIVEN} if is_given(model) else {}
    return [
        CriterionRow("Log-likelihood", number(value, 1), value, "of the rows under the model"),
        CriterionRow("Parameters", integer(counted), counted, "zeros of sparse loadings not counted"),
        *(_row(name, one, said.get(name)) for name, one in criterion_values(model).items()),
    ]


def headline(model, criterion: str | None = None) -> CriterionRow | None:
    """The criterion to show at the top of the page: the one that chose the fit, else the first that is registered."""
    values = criterion_values(model)
    name = criterion if criterion in values else next(iter(values), None)
    return None if name is None else _row(name, values[name])
