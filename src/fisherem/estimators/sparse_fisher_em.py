"""SparseFisherEM: Fisher-EM with axes that use few of the variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._utils.public import public
from ..em.dlm_family import DLMFamily, SparseSettings
from ..em.f_step.step import AXIS_WEIGHTS, SPARSE_STEPS
from ..em.multistart import Specification
from ..tables.checking import check_one_of, check_sparsity
from ..tables.file_table import DEFAULT_MEMORY
from .fisher_em import FisherEM

__all__ = ["SparseFisherEM"]


@public
class SparseFisherEM(FisherEM):
    """Fisher-EM with sparse axes: clusters the rows and selects the variables that make the groups.

    The parameters from `n_clusters` to `memory` are those of `FisherEM`.

    Parameters
    ----------
    method : {"two-step", "regression", "svd"}, default="two-step"
        The sparse F-step: the lasso of the projected data (Algorithm 1), the penalised regression (Algorithm 2) or
        the penalised SVD of the between-covariance (Algorithm 3).
    sparsity : float or sequence, default=0.1
        In (0, 1], for all axes or one per axis: the share of the full solution's l1 norm ("two-step",
        "regression") or of sqrt(p) ("svd"). 1 means dense.
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

    See Also
    --------
    FisherEM : The dense algorithm, with the other parameters and attributes.
    ModelSearch : Chooses the sparsity.
    """

    def __init__(
        self,
        n_clusters=3,
        *,
        model="auto",
        discriminant="orthonormal",
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
        method="two-step",
        sparsity=0.1,
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
        )
        self.method = method
        self.sparsity = sparsity
        self.start = start
        self.scale_penalty = scale_penalty
        self.axis_weights = axis_weights

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("method", self.method, SPARSE_STEPS)
        check_one_of("start", self.start, ("fisher-em", "cold"))
        check_one_of("axis_weights", self.axis_weights, AXIS_WEIGHTS)
        if not isinstance(self.scale_penalty, (bool, np.bool_)):
            raise ValueError(f"scale_penalty must be True or False; got {self.scale_penalty!r}")

    def _specification(self, n: int, p: int) -> Specification:
        spec = super()._specification(n, p)
        family = spec.family
        assert isinstance(family, DLMFamily)
        sparse = SparseSettings(
            method=self.method,
            sparsity=check_sparsity(self.sparsity, family.d),
            start=self.start,
            scale_penalty=bool(self.scale_penalty),
            axis_weights=self.axis_weights,
        )
        return replace(spec, family=replace(family, sparse=sparse))
