"""Every threshold of an automatic decision, with where it comes from.

`tests/policy/test_thresholds*.py` have a test for each of them that fails when it moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["THRESHOLDS", "NumberOfGroups", "Thresholds"]


@dataclass(frozen=True)
class NumberOfGroups:
    """What the decision about the number of groups compares with.

    The values were chosen on the draws of `benchmarks/how_many.py --first 0`, revised after those of `--first 100000`,
    `300000`, `500000` and `1100000`, and checked on those of `--first 1300000` (400 draws) and, once the gain of single
    columns had changed, of `--first 2300000` (260 draws). Their tests stand in `tests/search/how_many/test_verdict.py`.
    """

    # A gain that is closer to 0 than this, in nats, is compared with tables of one group. The best of 1 to 5 groups of
    # pure noise of nine kinds gained -1 at most in 60 tables, and more than -10 in a quarter of them.
    close: float = 10.0
    # The p-value at which one group is called unlikely: the smallest that nineteen draws can give.
    significant: float = 0.05
    # Groups are apart if the density between any two of them is at most this share of that inside. Groups 3 standard
    # deviations apart have 0.76 or more (`valleys`), groups cut from one cloud 0.6 to 1.
    apart: float = 0.6
    # Nothing more is clear: groups 3.5 to 4 standard deviations apart.
    clearly_apart: float = 0.5
    # A larger number of groups that are nearly apart, and gain as much or are reproducible, keeps a smaller one from
    # being clear: four groups at 4 standard deviations with tails had 0.61. Groups above this touch and are not
    # decided, however reproducible: cuts of censored columns behind one factor had 0.84 to 1, and agreed by up to 0.73.
    nearly_apart: float = 0.8
    # Reproducible groups that are only nearly apart are preferred to groups that are apart if they gain this many times
    # as much: 1.5 on five phonemes, at most 1.24 where too many groups followed the shape of the right ones.
    much_more: float = 1.25
    # Of numbers that gain the same (within `close`) the larger one is taken if its smallest group has this share of the
    # rows: groups with heavy tails lose a few nats against two of them taken together, outlying rows are no group.
    share: float = 0.1
    # Where few variables cannot be told from chance (wide tables), the gain grows with every group, and the largest
    # number with this prediction strength is taken, as Tibshirani and Walther (2005) do.
    strong: float = 0.8
    # Groups are reproducible if fits to halves agree by this (adjusted Rand index) and half of the pairs of rows in
    # every group stay together. Cuts along a common factor of the noise reach 0.7: this alone is no evidence.
    reproducible: float = 0.6
    holds_together: float = 0.5
    # Nothing less is clear.
    clearly_reproducible: float = 0.75
    # Below this agreement on the first split no other split is made. Halves of pure noise agree by less, unless it has
    # common factors: with more, one group is not clear.
    hopeless: float = 0.3
    # A larger number that is nearly apart and gains less by at most this share, or by `close` where that is more, keeps
    # another one from being clear.
    less: float = 0.03
    # Joint tails beyond this many standard errors: groups that differ in spread alone reach 10, noise of nine kinds 3.
    tails: float = 5.0
    # A single column that gains this much, in nats, shows groups. The best of 120 tables of one group of six kinds
    # gained -2, that of two groups 6 standard deviations apart 70 (250 rows).
    column: float = 8.0
    # One that gains more than this, before the price of having looked at p columns, keeps one group from being clear:
    # of 157 tables of one group (200 rows or more) three had more, and so had five of several groups that nothing else
    # told from one.
    hint: float = -5.0
    # A column whose kurtosis is this many standard errors below that of a Gaussian one is flat: several groups that
    # overlap look like that, and so does a uniform column. The flattest of 50 Gaussian columns has 2.4.
    flat: float = 2.5
    # With fewer rows, or fewer rows per column, one group is never clear: groups on few columns stay hidden then. Where
    # nothing else spoke against one group of 60 or 100 rows, it was right in 21 of 26 searches.
    rows: int = 200
    rows_per_column: float = 2.0
    # Groups below this share of the rows, or of fewer rows, are outliers to every rule, unless min_size says otherwise.
    # Round values; others have not been compared.
    candidate_share: float = 0.03
    candidate_rows: int = 5


@dataclass(frozen=True)
class Thresholds:
    """What the decisions compare with."""

    # -- columns ---------------------------------------------------------------------------------------------------

    # Columns share a unit, and stay as they are, if the largest standard deviation is no further above the median
    # than that of as many log-normal draws with this spread of the logarithm (twice the median for 4 columns, six
    # times for 4,000), and if the quartiles of the standard deviations are within this factor. On 27 tables, all of
    # which were looked at, standardising lost where both hold (usps358: 0.80 to 0.23, lymphoma 0.95 to 0.43) and
    # gained where one does not (diabetes, body, oils, segment, wine).
    unit_spread: float = 0.45
    unit_quartiles: float = 4.0
    # Where nothing is to be scaled, columns this many times the median one are warned of: they weigh a hundred times as
    # much as half of the others. Tables in one unit stay below it (lymphoma 4.8), the raw wines have 388.
    dominates: float = 10.0
    # Columns whose spacing of values has more than this share of their variance are of few values, and keep them.
    few_valued: float = 1e-3

    # A Gaussian density cannot judge a column in which one value has more than this share of the rows (zeros of counts,
    # saturated pixels, yes and no): with 0.2 the judge left the right groups of usps358 for worse ones.
    spike: float = 0.25
    # Columns whose spacing of values has more than this share of their variance are categories: six or fewer equally
    # frequent values. Where they are at least half of the columns, k-means' own groups stay: Fisher-EM takes the small
    # variance of such a column within a group for a small noise (ARI: a table of 690 x 14 0.22 for 0.42, zoo 0.66 for
    # 0.74; digits, whose 17 values are none, 0.72 for 0.66).
    category: float = 0.02
    # transformation="power" leaves a column as it is if one value has more than this share of the rows: bending drives
    # the other values away from the spike, and any likelihood rises.
    power_spike: float = 0.2
    # The judge has no opinion where it can see less than this share of the columns: it took 35 outlying rows on one of
    # 14 columns for a group (0.02). Between 0.36 and 0.49 nothing changes on the tables that were looked at.
    seen: float = 0.5

    # -- groups ----------------------------------------------------------------------------------------------------

    # Differences in gain below this share of log K, in nats per row, or below this share of a large gain, say nothing:
    # on breast cancer partitions within 0.02 nats per row have an adjusted Rand index with the classes of 0.45 to 0.86.
    tie: float = 0.05
    # Groups that another start than k-means led to must gain more by this share. Between 0.1 and 0.2 it makes no
    # difference on the 44 tables that were looked at; with 0.05 the oils are left for worse groups.
    move: float = 0.1
    # From this many columns per row on, few variables cannot be told from chance, and all are judged together.
    # With 1.5 to 3 columns per row (wine with noise columns) few variables are still the better judge.
    columns_per_row: float = 4.0
    # Groups with fewer rows than this share, or than this number, are outliers: no partition with them is moved to.
    small_share: float = 0.05
    small_rows: int = 10
    # Partitions that agree more than this (adjusted Rand index) are one.
    same_partition: float = 0.95
    # Fits that agree more than this differ in single rows, and are not judged against each other.
    same_groups: float = 0.999
    # Covariances of their own are looked for on so many principal components at most. On 70 tables that were looked
    # at, 10 components gained nothing, and 20 and 30 the same 0.01 in the mean adjusted Rand index (usps358 0.69 to
    # 0.83, digits 0.66 to 0.76).
    components: int = 20
    # ... and on no more than leave this many rows per group to each.
    rows_per_component: int = 5
    # A covariance of its own is mixed with the common one as if so many rows per component had shown the common one: 2
    # gained 0.003 over 1/2 on the 70 tables, 5 and 10 found the groups of fewer tables.
    rows_of_common: float = 2.0
    # ... and on this many rows at most: covariances of many groups need more of them than other starts do.
    own_rows: int = 4000
    # Where the means of groups show nothing, each parameter of a covariance needs this many rows in the smallest group.
    rows_per_own_parameter: float = 3.0
    # Numbers of groups whose criterion lies within this of the best are not ruled out by the dense fits of a search:
    # the selection of variables, which removes the noise of the others, decides between them. Kass & Raftery (1995)
    # call a difference of 5 very strong; the dense criterion counts K d means where K p are used, so twice that is left
    # open.
    undecided: float = 10.0
    number_of_groups: NumberOfGroups = field(default_factory=NumberOfGroups)

    # -- models ----------------------------------------------------------------------------------------------------

    # A variance of its own needs some rows in every group: below this many AB is a candidate, from there on AkB takes
    # its place, which loses nothing where variances are equal and was better on real tables.
    own_variance_rows: int = 20
    # Covariances with more parameters than a variance per group need this many rows per axis in the smallest group.
    rows_per_axis: int = 5
    # A dispersion of the noise above this is noise that the model does not know. In simulations from the models it was
    # 0.74 to 1.17, on fifteen real tables 1.5 to 11.7 (python benchmarks/default_model.py choice).
    dispersion: float = 1.25
    # By how much, relatively, the flexible model has to separate the groups better: from other starts Fisher's
    # criterion changes by some tenths of a per cent (iris), and what flexible models gain where they are right was 1.2%
    # to 6%.
    flexible_gain: float = 0.01
    # The least separation of an axis, in units of what chance gives; axes below it are dropped. On the paper's
    # simulation the second axis, which separates nothing, had 0.4 to 1.8 (2.8 once, from a poor start); real axes on
    # nine tables had 3.5 and more, except for satimage's last.
    axis_separation: float = 3.0
    # With fewer rows per variable Fisher's criterion says little: of a random partition it is (K - 1) p / n already.
    rows_per_variable: int = 2

    # -- noise -----------------------------------------------------------------------------------------------------

    # Partitions that agree less than this (adjusted Rand index) are distant: BIC does not choose between them, as
    # margins that are not Gaussian decide more than the groups do. A round value; others have not been compared.
    distant: float = 0.7
    # The rest of the noise is never exactly spherical, and with enough rows BIC favours factors that only describe the
    # variables' different variances: the smallest number of factors with this share of the largest gain is chosen.
    factor_gain: float = 0.95
    # With missing cells a full covariance is tried for this many variables at most: it costs p^3 for every pattern of
    # gaps.
    full_noise: int = 32

    # -- missing cells ---------------------------------------------------------------------------------------------

    # Observed cells may ask for this many times as many factors as the completed rows do (20% missing on wine: 0.95
    # with the factors that BIC names, 0.96 with more).
    more_factors: int = 4
    # Up to this many rows nearest neighbours are asked for groups of rows with missing cells, too: the distances of all
    # pairs cost n^2 p, and the fit from there as much as another fit. At 20% missing (four draws) that raised the
    # accuracy on breast cancer from 0.945 to 0.957 (dense) and from 0.944 to 0.953 (sparse).
    neighbours_rows: int = 1000

    # -- large data ------------------------------------------------------------------------------------------------

    # On large data the choices are made on a sample: as many rows per variable as the tables have that the rules were
    # tried on, and at least so many.
    sample_rows_per_variable: int = 8
    sample_rows: int = 2000
    # Other starts than k-means are compared on this many rows per variable, and at least so many: with twice as many
    # the adjusted Rand index on 44 tables is the same within 0.01, at twice the price.
    few_rows_per_variable: int = 4
    few_rows: int = 1000

    # -- variables -------------------------------------------------------------------------------------------------

    # The fewest variables are selected if the groups that they make agree this much (adjusted Rand index) with those
    # they were found for: among columns of noise, longer lists have some of these (wine with 20 times as many).
    same_again: float = 0.9
    # Otherwise the shortest list of variables is selected that gives the groups back on other rows as well as the best
    # list, up to this adjusted Rand index. On 32 tables 0.02 selects 45% of the variables and loses nothing against the
    # dense fit; 0.05 selects 40% and loses 0.006 in the mean, as single lists then miss groups (sorlie 0.67 to 0.59).
    gives_back: float = 0.02
    # A variable whose variance within the groups is explained by the selected ones up to this share has nothing of its
    # own to add, and the logarithm of what is left would be noise.
    own_variance: float = 1e-3
    # At most one variable per so many rows (those left after the groups' means) is selected: with more, any partition
    # can be separated.
    rows_per_selected: int = 4

    # A climb to a better partition ends at groups that differ in more variables than this, and in more than one per so
    # many rows: a fit on them differs little from one on all.
    climb_variables: int = 50
    climb_rows_per_variable: float = 4.0

    # P-values of several variables share their one-group draws unless the draws of the variables differ: the shares
    # above a common 5% point have a dispersion (chi-squared test) with a p-value below this. At 0.01, one table in a
    # hundred whose variables are alike is not pooled, which costs resolution and no validity.
    alike: float = 0.01

    # Of the selected variables that explain a redundant one, those are named that contribute this share of the largest
    # contribution; of those that make an axis, the ones with this share of the largest. Round values.
    explains: float = 0.2
    names_axis: float = 0.3
    # A variable, or the group of a row, is stable from this share of the refits: the threshold of Meinshausen and
    # Buehlmann (2010) must lie above one half, and they find little difference between 0.6 and 0.9.
    comes_back: float = 0.75

    # -- rows ------------------------------------------------------------------------------------------------------

    # A row is outside all groups if a member of its nearest group would be as far away with less than this probability:
    # one row in a thousand is, by chance. Fits to half of the rows put 0 to 0.002 of these rows outside on seven
    # tables, and of the other half none of usps358 and satimage, 0.03 of iris, 0.06 of the wines (89 rows of 13
    # variables).
    outside: float = 1e-3

    # -- covariates ------------------------------------------------------------------------------------------------

    # Whole numbers with at most this many different values are levels of a category: batches, plates and sites are
    # numbered, and a regression on their numbers would leave most of their effects in the rows. Taken as levels, a real
    # number of few values costs some parameters and no truth.
    covariate_levels: int = 20
    # Effects are settled where a round moves them by less than this many standard errors (root mean square over the
    # variables): what is left is far below what the rows can tell.
    covariate_settled: float = 0.05
    # Model, variables and start are chosen anew where effects have moved by more standard errors than this: less is
    # within what the rows can tell. Chosen anew in every round, they change with small steps and do not settle (700
    # blood cells with depth and mitochondrial share: moves of 0.2 to 0.5 without end).
    covariate_anew: float = 0.5
    # Effects and groups can hardly be told apart where less than this share of a covariate's variance lies within the
    # groups: a variance inflation of 10, from which on textbooks on regression warn.
    covariate_within: float = 0.1

    # -- scenes ----------------------------------------------------------------------------------------------------

    # The ridge of scenes, in mean variances: k-means is Fisher-EM with one covariance and an endless ridge, and without
    # any the axes follow directions of little variance. Adjusted Rand index with 0.1, 0.3 and 1 on samples of twelve
    # scenes: 0.68, 0.63, 0.61; on eleven drawn ones 0.66, 0.67, 0.64.
    scene_ridge: float = 0.1
    # The same where pixels are divided by their norms: with 0.1, 0.3 and 1 on Samson 0.83, 0.95, 0.95 (k-means 0.91),
    # on the two noisy demo scenes 0.73, 0.74, 0.74, on seven made-up ones 0.46, 0.44, 0.42.
    divided_ridge: float = 0.3
    # Groups of the three ways to divide pixels by their norms are compared on this many main axes of the softly divided
    # pixels. On samples of the fifteen scenes that `against` in benchmarks/images.py began with, the mean adjusted Rand
    # index of what is chosen is 0.62 with 8 axes, 0.68 with 16 and with 30; on 22 drawn ones 0.69 with each. The best
    # of the three has 0.71 on both, the better k-means 0.55 and 0.52.
    scene_axes: int = 16
    # A spatial prior is used if it raises the agreement of both halves of the bands by this many standard errors. On
    # nine scenes the gains were below 0 (Samson: -0.001), 1 or more than 5 standard errors (the noisy demo scene).
    neighbours_gain: float = 3.0
    # Another byte order or data type than the header's is the right one if neighbours then differ in rank by less than
    # this share. On eight scenes the right reading never had more than 1.00 of a wrong one, unsigned integers above
    # 32,767 read as signed ones had 1.5 times the right one, other byte orders 2.4 to 14 times.
    layout_rougher: float = 0.8
    # Interleaves are told apart (images/layout.py) in cubes whose sides are at least this long. On 190 cut-outs of 32
    # scenes in each interleave, seams of bip files were 4 to 70 times the mean step, others 0.8 to 1.5 times. The next
    # band or line as another interleave has it lay 0.66 times as far as the header's or more where that was bil or bip
    # (a tile of CRISM with sides below 20: 0.2), and 1.23 times or more where it was bsq. Of the wrong ones of 379
    # other cut-outs 82% are found (bil said to be bsq: half), and none of their 1,137 right ones is taken for wrong.
    interleave_side: int = 20
    interleave_seam: float = 3.0
    interleave_rougher: float = 0.5
    bsq_rougher: float = 0.8
    # Smaller cubes are not judged: chance would decide.
    layout_cells: int = 1000
    # One value in all of this many bands or more is no spectrum, but fill or saturation.
    flat_bands: int = 8
    # A band is noise if neighbouring pixels differ this many times as much in it as in the bands around. Good bands had
    # up to 2.5 times on Samson and Indian Pines (the first band), 1.2 times on the CRISM tile and on demo scenes, and
    # broken ones 24 times or more.
    band_noise: float = 4.0
    # ... or, against bands farther off, if besides neighbouring pixels differ as much as this many robust deviations of
    # the band: two random pixels differ by 0.95.
    band_white: float = 0.8
    # ... or if it lies this many times the signal level off the bands around.
    band_level: float = 10.0
    # Fewer pairs of pixels do not tell.
    band_pairs: int = 30
    # A column is striped in a band if it lies this many times the usual difference of neighbouring pixels off the
    # columns to its left and to its right, and striped altogether if it is so in this share of the bands: one whose
    # detector is dead in half of the bands is. Samson, Indian Pines, the CRISM tile and 26 demo scenes, whose columns
    # have offsets of a fifth of the noise, have 0.
    stripe_noise: float = 3.0
    stripe_bands: float = 0.45
    # Fewer rows do not tell.
    stripe_rows: int = 10
    # With a larger share of striped columns nothing is left out: too little of the scene would remain.
    stripe_most: float = 0.25
    # The same where every column has a level of its own: columns then lie this many times as far off the mean of their
    # neighbours as single pixels do. Samson, Indian Pines, the CRISM tile and 26 made-up scenes have 0.1 to 0.3, with
    # offsets of the columns as large as the difference of neighbouring pixels 0.9 to 2.2, and twice as large 1.7 to 4.
    stripe_bend: float = 1.0
    # A column is stuck if this share more of its values repeat the one above than in the median column.
    stuck_share: float = 0.2
    # Bands of another scene may be this far from the model's, as a share of the distance between neighbouring bands of
    # the model. Sensors are about as wide in wavelength as their bands are apart, so a band that is off by a quarter
    # measures three quarters of the same light. Repeated scenes of one sensor differ by less than a tenth.
    band_distance: float = 0.25
    # Resampling interpolates between bands that are at most this many distances of neighbouring bands away (of the
    # model or the cube, the wider ones): one bad band may be bridged, a gap of many, as in the atmosphere's water, not.
    band_reach: float = 2.0
    # Bands that are not selected may be missing in another scene, up to this share of the model's: the norm of a pixel
    # is then that of the others.
    bands_absent: float = 0.25
    # Absorption features are listed from this depth on: reflectances are calibrated to about 1% at best. On five demo
    # scenes, where the noise of a pixel is 1.5%, every feature that is this deep is one of the model's minerals or gas.
    feature_depth: float = 0.01
    # A library spectrum is compared if it covers this share of the bands: with less, the angle is that of other bands.
    library_overlap: float = 0.5
    # missing="auto" fits around pixels that lack values in some bands where they are more than this share of the
    # pixels; fewer are left out, which costs nothing but these pixels.
    few_gaps: float = 0.05
    # A band that is missing in more than this share of the pixels is dropped; otherwise the pixels without it are.
    empty_band: float = 0.5
    # Scenes whose mean values differ by more than this factor are not in the same unit: light, slope and season
    # together change it by less than ten, a scale factor that one file applies and the other does not by 100 to 10,000.
    other_unit: float = 20.0
    # Maps that agree less than this (adjusted Rand index) differ much: both are shown. A map of five even classes in
    # which every tenth pixel changed its class has 0.78.
    maps_differ: float = 0.8
    # The loss of C, in nats, below which exchanging a band for another costs nothing: Kass & Raftery (1995) call
    # evidence below 3 not strong, and C varies more between two images of one scene.
    free_exchange: float = 3.0


THRESHOLDS = Thresholds()
