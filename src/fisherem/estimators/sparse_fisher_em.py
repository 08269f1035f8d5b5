"""SparseFisherEM: Fisher-EM with sparse axes. The F-steps are in `core.dlm.f_step`, the choices in `policy`."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from .._utils.docstrings import with_sections_of
from .._utils.public import public
from ..core.dlm.f_step.sparse import ALTERNATIONS, BUDGETS
from ..core.dlm.f_step.step import AXIS_WEIGHTS, SPARSE_STEPS, equal_shares
from ..core.dlm.family import Means, SparseSettings
from ..core.engine.multistart import Specification
from ..model.dlm import AUTO
from ..tables.checking import check_flag, check_number, check_one_of, check_sparsity
from ..tables.parameters import DEFAULT_MEMORY
from .fisher_em import FisherEM
from .published import published_sparse_settings

__all__ = ["SparseFisherEM"]

COLD = "cold"
# Parameters that a sparse step is given if it has a keyword of that name.
_OF_STEPS = ("penalty", "rho", "budgets", "alternation")


@public
@with_sections_of(FisherEM, "Parameters", "Attributes")
class SparseFisherEM(FisherEM):
    """Fisher-EM with sparse axes: clusters the rows and selects the variables that separate the groups.

    With the means inside the axes, the default, the groups depend on the selected variables only: the other columns do
    not affect `predict`, and a table with just the selected columns (by name) is enough for it.

    Parameters
    ----------
    method : {"two-step", "regression", "svd"}, default="two-step"
        The sparse F-step of a given `sparsity`: the lasso of the projected data (Algorithm 1), the penalised
        regression (Algorithm 2) or the penalised SVD of the between-covariance (Algorithm 3).
    sparsity : "auto", float or sequence, default="auto"
        "auto" selects the variables after the groups are found: those that the criterion C(K, S) selects, if Fisher-EM
        on them gives the same groups, otherwise the shortest list that gives the groups back on other rows. A number
        in (0, 1], for all axes or one per axis, is the share of the full solution's l1 norm ("two-step",
        "regression") or of sqrt(p) ("svd"); 1 means dense.
    start : {"fisher-em", "cold"}, default="fisher-em"
        Run Fisher-EM first and start from its result (the paper's recommendation), or be sparse from the first
        iteration.
    scale_penalty : bool, default=False
        Weigh the l1 penalty of "two-step" and "regression" by the variables' standard deviations, as programs that
        standardise the predictors do. No effect on standardised data.
    axis_weights : {"equal", "relevance"}, default="equal"
        "equal" uses `sparsity` for every axis. With "relevance" the share of axis j is
        sparsity^(gamma_1 / gamma_j), gamma_j being the axis's part of Fisher's criterion: axes that separate the
        groups little are made sparser (the paper's first idea for further work).
    penalty : float or None, default=None
        The paper's lambda, in place of `sparsity`: of Proposition 1, whose squares are summed over the rows
        ("two-step"), of Proposition 3 ("regression"), or the bound of the l1 norm ("svd", between 1 and sqrt(p)).
    rho : float, default=1
        The weight of the ridge term b'S_W b of Proposition 3 ("regression"). Sparse axes depend on it.
    budgets : {"first", "each"}, default="first"
        Of which full solution `sparsity` is a share in "regression": that of the first round of an F-step, which makes
        one problem of all rounds, or that of each round.
    alternation : {"fast", "converged"}, default="fast"
        "fast" starts the alternations of "regression" and "svd" from the last iteration's axes, and "regression" stops
        when the loadings move by less than 1e-4 or the objective falls by less than 1e-6 of its value. "converged"
        starts every F-step anew and goes on until nothing moves. `history_` has the last move.

    Attributes
    ----------
    sparse_loadings_ : ndarray of shape (p, d)
        The loadings before they are made orthonormal: the criteria count the zeros of these.
    minimal_support_ : ndarray of shape (p,), bool
        With sparsity="auto" the smallest set of variables that C(K, S) selects for these groups. `support_` is larger
        where that set alone does not reproduce the groups.
    roles_ : DataFrame
        A row per variable. `role`: selected; redundant (it differs between the groups, but the selected variables
        explain the difference); additional (they do not explain it); no evidence (these rows do not show that it
        differs). `conditional_gain` in nats, given the selected variables, and `marginal_gain`, by itself;
        `between_share`, the share of its variance between the groups; `criterion_share`, its part of Fisher's criterion
        of the selection; `explained_by`, which selected variables explain it.

    See Also
    --------
    FisherEM : The dense algorithm.
    ModelSearch : Chooses the number of groups.
    explain : The same roles for a given partition.

    Examples
    --------
    >>> from fisherem import SparseFisherEM, datasets
    >>> X, _ = datasets.load("wine", as_frame=True)
    >>> X = (X - X.mean()) / X.std()
    >>> model = SparseFisherEM(3, random_state=0).fit(X)
    >>> print(model.summary())
    SparseFisherEM: 3 groups of 178 rows, made by 5 of 13 variables
      groups      group 1 with 60 rows (34%), group 2 with 70 rows (39%), group 3 with 48 rows (27%)
      variables   5 of 13: proline, flavanoids, color_intensity, alcohol, malic_acid
      model       AkB, ...
      iterations  ..., converged
    >>> only_five = X.loc[:, model.support_]
    >>> bool((model.predict(only_five) == model.labels_).all())
    True
    """

    def __init__(
        self,
        n_clusters=3,
        *,
        model="auto",
        discriminant="auto",
        n_axes=None,
        init="kmeans",
        n_init=10,
        max_iter=200,
        tol=1e-4,
        stopping="aitken",
        ridge="auto",
        variance_floor=1e-4,
        random_state=None,
        n_jobs=None,
        memory=DEFAULT_MEMORY,
        means="latent",
        noise_factors=None,
        scale="auto",
        transformation="none",
        min_size="auto",
        categories=None,
        method="two-step",
        sparsity="auto",
        start="fisher-em",
        scale_penalty=False,
        axis_weights="equal",
        penalty=None,
        rho=1.0,
        budgets="first",
        alternation="fast",
    ):
        given = locals()
        super().__init__(**{name: given[name] for name in signature(FisherEM).parameters})
        self.method = method
        self.sparsity = sparsity
        self.start = start
        self.scale_penalty = scale_penalty
        self.axis_weights = axis_weights
        self.penalty = penalty
        self.rho = rho
        self.budgets = budgets
        self.alternation = alternation

    @classmethod
    def as_published(cls, n_clusters, *, algorithm=1, sparsity=0.1, penalty=None, means="full", model="DkBk",
                     **parameters):  # fmt: skip
        """One of the paper's three sparse algorithms, with the settings of `FisherEM.as_published`.

        Fisher-EM runs first, and the sparse algorithm starts from its result (section 3.4). Algorithms 2 and 3
        start every F-step as printed and alternate until nothing moves.

        Parameters
        ----------
        n_clusters : int
            The number of groups K, below the number of columns.
        algorithm : {1, 2, 3}, default=1
            The number of the algorithm in the paper (sparseFEM-1, -2 or -3).
        sparsity : float, default=0.1
            The share of the full solution's l1 norm (section 5); of sqrt(p) in Algorithm 3.
        penalty : float, optional
            The paper's lambda, in place of `sparsity`.
        means : {"full", "latent"}, default="full"
            The reading of the means: see `FisherEM.as_published`.
        model : str, default="DkBk"
            One of the twelve models.
        **parameters
            What the paper leaves open: those of `FisherEM.as_published`, `start`, `rho`, `budgets`, `alternation`
            ("converged") and `scale_penalty`.

        Returns
        -------
        SparseFisherEM
            An estimator that is not fitted yet.
        """
        return cls(**published_sparse_settings(n_clusters, algorithm, sparsity, penalty, model, means, parameters))

    _compared = ("model", "sparsity", "axis_weights")

    @property
    def _chooses_variables(self) -> bool:  # type: ignore[override]
        return isinstance(self.sparsity, str) and self.penalty is None

    @property
    def _automatic(self) -> bool:
        return self._chooses_variables and self.sparsity == AUTO

    def _shares(self, d: int) -> np.ndarray | None:
        """The share of each axis; None for "auto", NaN with a penalty."""
        if self.penalty is not None:
            return np.full(d, np.nan)
        return None if self._automatic else check_sparsity(self.sparsity, d)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.means == Means.FULL.value and self._automatic:
            raise ValueError("sparsity='auto' needs means='latent': with full means every variable affects the groups")
        check_one_of("method", self.method, SPARSE_STEPS)
        check_one_of("start", self.start, ("fisher-em", COLD))
        if self.start == COLD and self._automatic:
            raise ValueError("start='cold' needs a number for sparsity: 'auto' begins with Fisher-EM's groups")
        check_one_of("axis_weights", self.axis_weights, AXIS_WEIGHTS)
        check_flag("scale_penalty", self.scale_penalty)
        check_number("rho", self.rho, above=0)
        check_one_of("budgets", self.budgets, BUDGETS)
        check_one_of("alternation", self.alternation, ALTERNATIONS)
        self._check_penalty()

    def _check_penalty(self) -> None:
        if self.penalty is None:
            return
        check_number("penalty", self.penalty, above=0)
        if not (isinstance(self.sparsity, str) and self.sparsity == AUTO):
            raise ValueError(f"penalty takes the place of sparsity: leave that at 'auto'; got {self.sparsity!r}")
        if "penalty" not in self._known_options():
            raise ValueError(f"method {self.method!r} has no penalty: give a sparsity")
        if AXIS_WEIGHTS[self.axis_weights] is not equal_shares:
            raise ValueError("penalty is one number for all axes: it needs axis_weights='equal'")

    def _step_options(self) -> dict[str, Any]:
        """The keywords of the sparse step that differ from its own."""
        known = self._known_options()
        return {name: getattr(self, name) for name, usual in known.items() if getattr(self, name) != usual}

    def _known_options(self) -> dict[str, Any]:
        """The parameters of this estimator that are keywords of its sparse step, with their defaults there."""
        keywords = signature(SPARSE_STEPS[self.method]).parameters
        return {name: keywords[name].default for name in _OF_STEPS if name in keywords}

    def _sparse_settings(self, shares: np.ndarray | None, axis_weights: str) -> SparseSettings:
        """The sparse step with these shares, one per axis (None: the variables are selected)."""
        scale, cold = bool(self.scale_penalty), self.start == COLD
        return SparseSettings(self.method, shares, cold, scale, axis_weights, self._step_options())

    def _specification(self, n: int, p: int) -> Specification:
        spec = super()._specification(n, p)
        family = spec.family
        sparse = self._sparse_settings(self._shares(family.d), self.axis_weights)
        return replace(spec, family=replace(family, sparse=sparse))
