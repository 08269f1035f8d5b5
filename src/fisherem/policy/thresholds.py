"""Every threshold of an automatic decision, with where it comes from.

`tests/policy/test_thresholds.py` has a test for each of them that fails when it moves.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["THRESHOLDS", "Thresholds"]


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

    # -- variables -------------------------------------------------------------------------------------------------

    # A selection is enough if the groups that it makes agree this much (adjusted Rand index) with those it is made for.
    gives_back: float = 0.8

    # -- rows ------------------------------------------------------------------------------------------------------

    # A row is outside all groups if a member of its nearest group would be as far away with less than this probability:
    # one row in a thousand is, by chance. Fits to half of the rows put 0 to 0.002 of these rows outside on seven
    # tables, and of the other half none of usps358 and satimage, 0.03 of iris, 0.06 of the wines (89 rows of 13
    # variables).
    outside: float = 1e-3

    # -- scenes ----------------------------------------------------------------------------------------------------

    # Another byte order or data type than the header's is the right one if neighbours then differ in rank by less than
    # this share. On eight scenes the right reading never had more than 1.00 of a wrong one, unsigned integers above
    # 32,767 read as signed ones had 1.5 times the right one, other byte orders 2.4 to 14 times.
    layout_rougher: float = 0.8
    # The same for another interleave, from this many bands on: the spectra of a CRISM tile of 20 x 20 pixels are
    # smoother than its rows, which gave 0.83; with three bands the interleave cannot be told. Missed are bil files read
    # as bip (0.80 on the demo scene).
    interleave_rougher: float = 0.6
    interleave_bands: int = 16
    # Smaller cubes are not judged: chance would decide.
    layout_cells: int = 1000
    # One value in all of this many bands or more is no spectrum, but fill or saturation.
    flat_bands: int = 8
    # A band is noise if neighbouring pixels differ this many times as much in it as in the bands around. Good bands had
    # up to 1.6 times on Samson, Indian Pines, the CRISM tile and demo scenes, and broken ones 22 times or more.
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


THRESHOLDS = Thresholds()
