"""SparseFisherEM: Fisher-EM with sparse axes. The sparse F-steps are in `core.dlm.f_step`, the choice in `policy`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._utils.docstrings import with_sections_of
from .._utils.public import public
from ..core.dlm.f_step.step import AXIS_WEIGHTS, SPARSE_STEPS
from ..core.dlm.family import Means, SparseSettings
from ..core.engine.multistart import Specification
from ..model.dlm import AUTO
from ..tables.checking import check_flag, check_one_of, check_sparsity
from ..tables.file_table import DEFAULT_MEMORY
from .fisher_em import FisherEM

__all__ = ["SparseFisherEM"]


@public
@with_sections_of(FisherEM, "Parameters", "Attributes")
class SparseFisherEM(FisherEM):
    """Fisher-EM with sparse axes: clusters the rows and selects the variables that make the groups.

    With the means inside the axes, the default, the groups depend on the selected variables alone: changing any other
    column changes nothing in `predict`, and a table with just the selected columns (by name) is enough for it.

    Parameters
    ----------
    method : {"two-step", "regression", "svd"}, default="two-step"
        The sparse F-step of a given `sparsity`: the lasso of the projected data (Algorithm 1), the penalised
        regression (Algorithm 2) or the penalised SVD of the between-covariance (Algorithm 3).
    sparsity : "auto", float or sequence, default="auto"
        "auto" finds the variables together with the groups: the criterion C(K, S) selects for a partition, Fisher-EM
        on the selected variables improves the partition, and so on; sparse k-means is asked where k-means is lost
        among noise. A number in (0, 1], for all axes or one per axis, is the share of the full solution's l1 norm
        ("two-step", "regression") or of sqrt(p) ("svd"); 1 means dense.
    start : {"fisher-em", "cold"}, default="fisher-em"
        Run Fisher-EM first and start from its result (the paper's recommendation), or be sparse from the first
        iteration.
    scale_penalty : bool, default=False
        Weigh the l1 penalty of "two-step" and "regression" by the variables' standard deviations, as programs that
        standardise the predictors do. No effect on standardised data.
    axis_weights : {"equal", "relevance"}, default="equal"
        "equal" uses `sparsity` for every axis. With "relevance" the share of axis j is
        sparsity^(gamma_1 / gamma_j), gamma_j being the axis's part of Fisher's criterion: axes that tell little
        about the groups are made sparser (the paper's first idea for further work).

    Attributes
    ----------
    sparse_loadings_ : ndarray of shape (p, d)
        The loadings before they are made orthonormal: their zeros are what the criteria count.
    minimal_support_ : ndarray of shape (p,), bool
        With sparsity="auto" the fewest variables that C(K, S) names for these groups. `support_` has more where those
        few make other groups.
    roles_ : DataFrame
        A row per variable: its role (selected; redundant: it differs between the groups, but the selected ones explain
        how; missed: it differs beyond that; noise), its gain in nats, its gain alone, its Fisher's criterion, its
        share of that of the selection, and which selected variables explain it.

    See Also
    --------
    FisherEM : The dense algorithm.
    ModelSearch : Chooses the number of groups.
    explain : The same roles for groups that something else made.

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
        noise_factors="auto",
        scale="auto",
        transformation="none",
        method="two-step",
        sparsity="auto",
        start="fisher-em",
        scale_penalty=False,
        axis_weights="equal",
    ):
        super().__init__(
            n_clusters,
            model=model,
            discriminant=discriminant,
            n_axes=n_axes,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            stopping=stopping,
            ridge=ridge,
            variance_floor=variance_floor,
            random_state=random_state,
            n_jobs=n_jobs,
            memory=memory,
            means=means,
            noise_factors=noise_factors,
            scale=scale,
            transformation=transformation,
        )
        self.method = method
        self.sparsity = sparsity
        self.start = start
        self.scale_penalty = scale_penalty
        self.axis_weights = axis_weights

    @property
    def _chooses_variables(self) -> bool:  # type: ignore[override]
        return isinstance(self.sparsity, str)

    def _shares(self, d: int) -> np.ndarray | None:
        """A share per axis; None for "auto"."""
        automatic = isinstance(self.sparsity, str) and self.sparsity == AUTO
        return None if automatic else check_sparsity(self.sparsity, d)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.means == Means.FULL.value and isinstance(self.sparsity, str) and self.sparsity == AUTO:
            raise ValueError("sparsity='auto' needs means='latent': with full means every variable makes the groups")
        check_one_of("method", self.method, SPARSE_STEPS)
        check_one_of("start", self.start, ("fisher-em", "cold"))
        if self.start == "cold" and isinstance(self.sparsity, str) and self.sparsity == AUTO:
            raise ValueError("start='cold' needs a number for sparsity: 'auto' begins with Fisher-EM's groups")
        check_one_of("axis_weights", self.axis_weights, AXIS_WEIGHTS)
        check_flag("scale_penalty", self.scale_penalty)

    def _specification(self, n: int, p: int) -> Specification:
        spec = super()._specification(n, p)
        family = spec.family
        sparse = SparseSettings(
            method=self.method,
            sparsity=self._shares(family.d),
            start=self.start,
            scale_penalty=bool(self.scale_penalty),
            axis_weights=self.axis_weights,
        )
        return replace(spec, family=replace(family, sparse=sparse))
