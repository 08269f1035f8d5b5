"""FisherEM: parameters, checks, fitted attributes. The algorithms are in `core`, the automatic choices in `policy`."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from .._utils.public import public
from ..core.data.problem import AUTO_RIDGE
from ..core.dlm.f_step.step import DISCRIMINANTS
from ..core.dlm.family import DLMFamily, Means
from ..core.engine.loop import STOPPING, Settings
from ..core.engine.multistart import Specification
from ..core.starts.partitions import start_of
from ..model.dlm import AUTO, candidates
from ..policy.noise import NOISE_AUTO
from ..policy.thresholds import THRESHOLDS
from ..tables.anndata_object import of_cells
from ..tables.checking import check_init, check_number, check_one_of, check_table, check_weights
from ..tables.kinds import in_precision_of
from ..tables.parameters import DEFAULT_MEMORY
from .covariates import COVARIATE_ATTRIBUTES, check_combination, fit_and_attach
from .fitting import SCALES, TRANSFORMATIONS, adopt, check_run_parameters, counted, fit_rows, warn_unless_converged
from .missing import ToleratesGaps
from .prediction import FittedDLM
from .published import published_settings

__all__ = ["FisherEM"]

MEANS = tuple(means.value for means in Means)
# The greedy axes do not attain the maximum of eq. (6): with the means inside them, the accuracy on usps358 falls to
# 0.62. Full means keep the paper's axes.
_DISCRIMINANT = {"latent": "svd", "full": "orthonormal"}
# From here on the covariance is rounding beside the ridge.
_MOST_RIDGE = 1e12


@public
class FisherEM(ToleratesGaps, FittedDLM, BaseEstimator):
    """Cluster rows by a Gaussian mixture in the most discriminative subspace (the Fisher-EM algorithm).

    The groups differ in a latent space of d <= K - 1 axes U (p x d, orthonormal):
    y | k ~ N(m_k, U Sigma_k U' + beta_k (I - UU')). The loop alternates the F-step (axes that maximise Fisher's
    criterion, eq. 6), the M-step and the E-step.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of groups K < n. K = 1 is the model without groups (a spherical Gaussian without axes), a
        baseline for the criteria: nothing is selected and `transform` has no columns.
    model : str, default="auto"
        One of the twelve models: DkBk, DkB, DBk, DB, AkjBk, AkjB, AkBk, AkB, AjBk, AjB, ABk, AB, or the paper's
        notation ("alpha_kj beta"). "auto" chooses among AB, AkB and DkB, which have a common noise: each is fitted
        inside the axes of the most compact one, and the penalised likelihood there decides; where a covariance per
        group gains clearly more, it is DkB. With means="full" it
        chooses between AB and DkBk. With a noise per group (names that end in Bk) the size of a row's residual outside
        the axes also affects the posteriors, and with it all variables.
    discriminant : {"auto", "svd", "regression", "orthonormal"}, default="auto"
        How the axes are found. "svd" and "regression" attain the maximum of eq. (6), with different axes inside the
        same subspace; "orthonormal" is the paper's greedy Foley-Sammon construction, which does not. "auto" is "svd",
        and "orthonormal" with means="full".
    n_axes : int, optional
        The number of axes d, at most K - 1 and p - 1. By default K - 1, without those that separate the groups of the
        start no better than chance: three means on a line have one axis.
    init : {"kmeans", "random", "ward"} or array, default="kmeans"
        The start: k-means, random partitions, Ward's clustering, given labels (n) or posteriors (n x K).
    n_init : int, default=10
        Starts for "random"; the fit with the highest likelihood is kept. For "kmeans" the run of least inertia among
        twenty is fitted, and with more than one start other starts (in other metrics, on few of the variables) are
        tried and compared by their gain over one group, as `decisions_` says. With
        means="full" `n_init` starts are fitted for both, k-means runs that ended in different
        partitions first, and the most likely fit is kept.
    max_iter : int, default=200
        The limit of iterations per start. A run that ends there, or in a cycle, returns the most likely of its last
        20 iterates, which need not be the last one (except with stopping="aitken-alone").
    tol : float, default=1e-4
        For stopping="aitken" the change of Aitken's estimate of the final log-likelihood per observation; for
        "fisher" the change of the criterion of eq. (6).
    stopping : {"aitken", "fisher", "aitken-alone"}, default="aitken"
        The rule that ends the iterations: see `tol`. With "aitken-alone" nothing else ends them: cycles are not looked
        for, and at `max_iter` the last iterate is returned.
    ridge : float or "auto", default="auto"
        Added to the diagonal of the covariance S in the F-step, as a share of the mean variance. "auto" is the
        Ledoit-Wolf shrinkage of the covariance within the groups of the start. With means="full" it is
        0.001 for n > 6p and grows to 1 towards n = p.
    variance_floor : float, default=1e-4
        The least variance of a group in any direction, as a share of the mean variance; at least 1e-9.
    random_state : int, RandomState or None
        The seed of the starts.
    n_jobs : int or None
        Threads over blocks of rows; None means all cores. The result does not depend on it.
    memory : str or int, default="1GB"
        The budget for rows that are read from a file (a memory map, a path, Zarr, Parquet), such as "500MB". See
        the page on large data for what it covers. Arrays and frames in memory are not affected.
    means : {"latent", "full"}, default="latent"
        Where the groups' means may differ: inside the axes only, about the overall mean (the paper's eq. 4), or in
        every variable (its eqs 8 and 12). With "latent" and a common noise variance the groups depend only on the
        coordinates inside the axes, so with sparse axes only on the selected variables.
    noise_factors : int, "auto" or None, default=None
        Factors of the noise that all groups share (size, brightness, batch), in addition to a spherical part: 0 is the
        paper's model, p - 1 or more allow any covariance. "auto" chooses their number by BIC, once the groups are known
        (0 with means="full"). None is 0 for complete rows and "auto" with missing cells, which the factors predict.
    scale : {"auto", "standardise", "none"}, default="auto"
        Whether the columns are divided by their standard deviations. "auto" leaves columns that share a unit as they
        are, and standardises others; `decisions_` says which and why.
    transformation : {"none", "power", "log-counts"}, default="none"
        Transform skewed columns: "power" estimates an exponent per column (Yeo and Johnson) within the groups, in turn
        with the groups, and BIC decides whether a column is transformed at all. Likelihoods and criteria are those of
        the rows as given (the Jacobian is included), means are reported in the original units, and new rows are given
        untransformed. It takes two to five fits. "log-counts" is for counts: rows are divided by size factors (their
        totals over the median total) and log(1 + x) is taken, before everything else; means and likelihoods are those
        of the logarithms, and new rows are given as counts. (It is not called `transform`, which is a method.)
    min_size : int, float or "auto", default="auto"
        Rows (from 1 on) or share of the rows (below 1) that a group needs: a start other than k-means is not taken if
        it makes smaller groups, which are mostly outlying rows. "auto" is 5% of the rows, and at least 10.
    categories : list of column names or numbers, optional
        Columns of numbers that are categories. Columns of text, of the dtypes category and bool, and ordered
        categories are recognised by themselves.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The most probable group of each row.
    loadings_ : ndarray of shape (p, d)
        The orthonormal axes U; in each, the largest loading is positive. They are loadings of the columns divided by
        `scales_`.
    sparse_loadings_ : ndarray of shape (p, d)
        The same axes here; for sparse fits the loadings before they are made orthonormal.
    support_ : ndarray of shape (p,), bool
        The variables with a loading that is not 0.
    weights_ : ndarray of shape (K,)
        The proportions of the groups.
    means_ : ndarray of shape (K, p)
        The model's means: with means="latent" they differ inside the axes only.
    group_means_ : ndarray of shape (K, p)
        The means of the groups' rows in all variables.
    centre_ : ndarray of shape (p,)
        The mean of all rows.
    covariates_, covariate_effects_ : DataFrame, ndarray of shape (q, p)
        With covariates only: how they are coded as q columns, and the effects of these on the variables. All means are
        those of average covariates.
    covariate_share_, covariate_shares_ : DataFrame
        The share of the variance that each covariate explains beside the groups: of all variables, and of each.
    row_centre_, row_means_ : ndarray of shape (p,), (K, p)
        `centre_`, and the means less it, of the rows as they were fitted (scaled and transformed).
    distance_moments_ : ndarray of shape (2, K)
        Means and variances of the squared distances of the groups' rows, which `outlyingness` compares with.
    latent_means_ : ndarray of shape (K, d)
        The projections of `means_`, ``(means_ / scales_) @ loadings_``.
    covariances_ : ndarray of shape (K, d, d)
        The covariances of the groups inside the latent space.
    noise_variances_ : ndarray of shape (K,)
        The variances beta_k of the groups outside it.
    noise_factors_, noise_loadings_ : int, ndarray of shape (p, m)
        The number m of factors of the noise and their loadings F: a group has the covariance beta_k (I + F F') outside.
    scale_, scales_ : str, ndarray of shape (p,)
        "none" or "standardise", and what the columns were divided by: 1, or their standard deviations. Values whose
        squares a double cannot hold (about 1e150 and more, 1e-150 and less) are first divided by a power of two, which
        is included here.
    scale_warning_ : str
        With scale="none", names the columns that are at least ten times as large as the median column; "" if there are
        none.
    exponents_ : ndarray of shape (p,)
        The columns' exponents; 1 means that a column was not transformed.
    bending_ : ndarray of shape (3, p)
        Medians, spreads and factors of the transformed columns: z = factor * yeo_johnson((x - median) / spread,
        exponent).
    model_ : str
        The name of the model of this fit.
    log_likelihood_ : float
        The log-likelihood of the rows.
    n_missing_ : int
        The number of missing cells. The log-likelihood and the criteria are those of the observed ones.
    n_parameters_ : int
        The number of free parameters, as in Table 1; for sparse axes the effective number of section 3.4. Means outside
        the axes are not counted: p - d parameters, K (p - d) with means="full".
    bic_, icl_, aic_ : float
        log-likelihood - parameters/2 log n; the same less the entropy of the posteriors; log-likelihood - parameters.
        Larger is better, unlike in `GaussianMixture`. As means outside the axes are not counted, they do not compare
        with criteria of other families.
    gain_ : float
        By how much Gaussian groups with a common covariance, on the selected variables (all of them here), explain the
        rows better than one group does, in nats and less a price; 0 for one group. Groups may overlap. Skewed columns
        gain by being cut, whether there are groups or not; the gain on scores that decides on groups is in
        `decisions_`.
    n_iter_, converged_ : int, bool
        The iterations of the start that was kept, and whether the stopping rule was met.
    stop_reason_ : str
        The rule that was met, or "cycle", "max_iter" or which group collapsed.
    decisions_ : DataFrame
        A row per automatic decision, in their order: decision ("scaling", "start", "model", "variables", "noise", ...),
        choice, alternatives (what was compared, with its values), reason. On large data the values are of a sample.
    history_, starts_ : list of dict
        A record per iteration (log-likelihood, Fisher's criterion, selected variables, events), and one per start.
    count_total_ : float
        With transformation="log-counts" only: the median total of the rows.
    n_features_in_, feature_names_in_ : int, ndarray of shape (p,)
        The number of columns, and their names where X has them.
    encoding_ : Encoding
        Of a table with categories only: how its p columns became q columns of numbers, whose names are
        `encoding_.column_names`. `support_` and `roles_` have an entry per column of the table; loadings, means, scales
        and centres have one per column of numbers, so that the mean of an indicator is the share of its category.

    See Also
    --------
    SparseFisherEM : Also selects the variables that separate the groups.
    ModelSearch : Chooses the number of groups.

    Examples
    --------
    >>> from fisherem import FisherEM, datasets
    >>> X, _ = datasets.load("iris", as_frame=True)
    >>> model = FisherEM(3, random_state=0).fit(X)
    >>> model.transform(X).shape[0], model.predict_proba(X).shape
    (150, (150, 3))
    >>> model.plot(X)  # doctest: +SKIP
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
    ):
        self.n_clusters = n_clusters
        self.model = model
        self.discriminant = discriminant
        self.n_axes = n_axes
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.stopping = stopping
        self.ridge = ridge
        self.variance_floor = variance_floor
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory = memory
        self.means = means
        self.noise_factors = noise_factors
        self.scale = scale
        self.transformation = transformation
        self.min_size = min_size
        self.categories = categories

    @classmethod
    def as_published(cls, n_clusters, *, means="full", model="DkBk", **parameters):
        """The Fisher-EM algorithm of the paper: orthonormal axes, d = K - 1, no ridge, no noise factors, no scaling.

        The paper's formulas admit two readings of the means. Its eqs (8) and (12) take every group about its own mean
        in all variables, `means="full"`, which is nearer to its results on most tables. Its eq. (4) has the means
        inside the axes, `means="latent"`. The page on reproducing the paper compares the two.

        Parameters
        ----------
        n_clusters : int
            The number of groups K, below the number of columns.
        means : {"full", "latent"}, default="full"
            The reading of the means.
        model : str, default="DkBk"
            One of the twelve models.
        **parameters
            What the paper leaves open: `init` ("random"), `n_init` (1), `ridge` (0; a singular covariance needs one),
            `variance_floor` (1e-9), `stopping`, `max_iter`, `tol`, `random_state`, `n_jobs` and `memory`.

        Returns
        -------
        FisherEM
            An estimator that is not fitted yet.
        """
        return cls(**published_settings(n_clusters, model, means, parameters))

    # -- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, feature_names=None, covariates=None):
        """Fit to the rows of X. `y` is ignored. A weight of 2 is equivalent to repeating the row.

        X is an array or a frame (pandas, polars, Arrow), a scipy.sparse matrix, a memory map, a Zarr array, the path of
        a .npy, Zarr or Parquet file, or a dask array or data frame. `feature_names` are names for columns that have
        none, such as those of a sparse matrix. Rows in memory may have missing values (NaN, pd.NA, masked or empty
        cells): the fit uses the observed cells, and `impute` fills in the others.

        `covariates` (an array, series or frame of n rows) are numbers or categories, such as a batch or a size, whose
        effects are estimated with the groups: x = m_k + B'z + noise.
        """
        self._check_parameters()
        table = check_table(self, X, reset=True, elsewhere=True, feature_names=feature_names)
        weights = check_weights(sample_weight, table)
        if covariates is not None:
            check_combination(self, covariates, self.transformation)
        table = counted(self, table, self.transformation)
        for name in COVARIATE_ATTRIBUTES:  # of an earlier fit
            self.__dict__.pop(name, None)
        if covariates is None:
            fitted = fit_rows(self, table, weights)
            with fitted.problem.rows.closed_on_error():
                adopt(self, fitted)
        else:
            fitted = fit_and_attach(self, table, weights, of_cells(X, covariates))
        # rows that were completed or read from a file have become doubles
        for name in ("means_", "group_means_"):
            setattr(self, name, in_precision_of(table, getattr(self, name)))
        warn_unless_converged(self, fitted.chosen.fit)
        return self

    def _check_parameters(self) -> None:
        check_number("n_clusters", self.n_clusters, integer=True, least=1)
        candidates(self.model)
        check_one_of("means", self.means, MEANS)
        check_one_of("discriminant", self.discriminant, (AUTO, *DISCRIMINANTS))
        if self.n_axes is not None:
            check_number("n_axes", self.n_axes, integer=True, least=1)
        check_one_of("stopping", self.stopping, STOPPING)
        check_number("ridge", self.ridge, least=0, most=_MOST_RIDGE, word=AUTO_RIDGE)
        if self.noise_factors is not None:
            check_number("noise_factors", self.noise_factors, integer=True, least=0, word=NOISE_AUTO)
        check_number("min_size", self.min_size, above=0, word=AUTO)
        check_one_of("scale", self.scale, SCALES)
        check_one_of("transformation", self.transformation, TRANSFORMATIONS)
        check_run_parameters(self)

    # columns of text and categories are encoded (scikit-learn's tag would make its checks pass whole numbers only)
    _takes_categories = True
    _chooses_variables = False  # whether the fit itself selects the variables of the axes
    # the kind of grid of a search by a criterion (`search.search_parameters.GRIDS`), and the parameters it compares
    _grid = "dlm"
    _compared: tuple[str, ...] = ("model",)

    def _specification(self, n: int, p: int) -> Specification:
        most = min(self.n_clusters - 1, p - 1)
        if self.n_axes is not None:
            if self.n_clusters == 1:
                raise ValueError(f"n_axes must be None for n_clusters=1, as one group has no axes; got {self.n_axes!r}")
            check_number("n_axes", self.n_axes, integer=True, least=1, most=most)
        latent, start = self.means == Means.LATENT.value, start_of(self.init)
        # a random partition does not separate the groups, so it cannot say how many axes are needed
        adaptive_axes = latent and self.n_axes is None and start.separates
        family = DLMFamily(
            n_clusters=self.n_clusters,
            d=most if self.n_axes is None else min(most, self.n_axes),
            model=candidates(self.model)[0],
            discriminant=_DISCRIMINANT[self.means] if self.discriminant == AUTO else self.discriminant,
            variance_floor=self.variance_floor,
            means=Means(self.means),
            adaptive_ridge=latent and self.ridge == AUTO_RIDGE,
            least_separation=THRESHOLDS.axis_separation if adaptive_axes else None,
        )
        init = self.init if isinstance(self.init, str) else check_init(self.init, n, self.n_clusters)
        settings = Settings(self.max_iter, self.tol, self.stopping)
        return Specification(family, settings, init, self.n_init, self.random_state, latent and start.best_first)
