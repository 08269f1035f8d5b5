"""A simulated scene of Mars with known truth: the class of each pixel, and the bands that differ between classes.

    out[i, b] = light[i] continuum[b] prod_f (1 - depth[class i, f] strength[i] g_f(b)) (1 - gas[i, b]) + noise[i, b]

where g_f, a Gaussian in the wavelength, is an absorption feature of a mineral. Light (sun and slope) and gas (CO2,
deeper where the ground is low) vary over the scene but carry no information about the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from ..images.cube import Cube
from ..tables.parameters import check_number

__all__ = ["Scene", "mars_like"]

# Absorption features by centre and width (standard deviation), micrometres: Fe3+ of oxides, Fe2+ of olivine and of
# low- and high-calcium pyroxene, water ice, hydrated minerals, Fe/Mg-OH of clays. Depths per class below.
FEATURES = np.array([(0.86, 0.035), (1.05, 0.05), (1.25, 0.03), (1.50, 0.04), (1.92, 0.03), (2.30, 0.035)])
# class x feature: bright dust, mafic plains, icy ground, clays, olivine-rich, oxides, hydrated dust, frosted mafics
DEPTHS = np.array(
    [
        (0.03, 0.01, 0.00, 0.00, 0.01, 0.01),
        (0.02, 0.16, 0.02, 0.01, 0.01, 0.04),
        (0.01, 0.02, 0.09, 0.18, 0.05, 0.02),
        (0.03, 0.02, 0.01, 0.03, 0.14, 0.14),
        (0.14, 0.09, 0.07, 0.00, 0.01, 0.00),
        (0.17, 0.01, 0.00, 0.01, 0.06, 0.01),
        (0.04, 0.01, 0.01, 0.06, 0.16, 0.02),
        (0.01, 0.13, 0.06, 0.13, 0.02, 0.03),
    ]
)
# Atmospheric CO2: common to all classes, so its bands are not informative.
GAS = ((2.01, 0.02), (2.06, 0.02))
# Within this many widths a band counts as part of a feature: the depth there is 13% of that at the centre.
FEATURE_REACH = 2.0
FILL = -9999.0


@dataclass(frozen=True)
class Scene:
    """A simulated image and its truth.

    cube (rows x columns x bands) · truth (rows x columns), the classes 0 to K - 1, given for dead pixels too ·
    informative_bands (bool, bands) · wavelengths (bands), in um · dead (bool, rows x columns) · spectra (K x bands).
    """

    cube: Cube
    truth: np.ndarray
    informative_bands: np.ndarray
    wavelengths: np.ndarray
    dead: np.ndarray
    spectra: np.ndarray


def _field(rng, shape, sigma) -> np.ndarray:
    """A smooth random field of mean 0 and variance 1."""
    values = gaussian_filter(rng.normal(size=shape), sigma, mode="wrap")
    return (values - values.mean()) / values.std()


def _class_map(rng, shape, n_classes) -> np.ndarray:
    """Classes (rows x columns): broad zones (the largest of K smooth fields) cut by narrow winding channels."""
    size = max(4.0, min(shape) / 8)
    zones = np.stack([_field(rng, shape, (1.5 * size, size)) for _ in range(n_classes)]).argmax(axis=0)
    for k in range(1, n_classes, 2):  # every other class also runs through the others
        course = _field(rng, shape, size / 2)
        zones[np.abs(course) < 0.07] = k  # about two to three pixels wide
    return zones


def mars_like(
    rows=300, cols=128, bands=256, n_classes=5, seed=0, noise=0.015, *, n_bad_bands=4, dead_share=0.002
) -> Scene:
    """A scene, by default of the size of the paper's OMEGA image: rows x cols x bands with `n_classes` classes.

    `noise` is the standard deviation of the sensor noise relative to the mean reflectance; half of its variance is
    correlated between neighbouring bands. `n_bad_bands` bands are noisy and listed as bad, and the share `dead_share`
    of the pixels has no values.
    """
    for name, value, least, most in (
        ("rows", rows, 8, None), ("cols", cols, 8, None), ("bands", bands, 16, None),
        ("n_classes", n_classes, 2, len(DEPTHS)), ("n_bad_bands", n_bad_bands, 0, bands),
    ):  # fmt: skip
        check_number(name, value, integer=True, least=least, most=most)
    check_number("noise", noise, least=0)
    check_number("dead_share", dead_share, least=0, most=1)
    if seed is not None:
        check_number("seed", seed, integer=True, least=0)
    rng = np.random.default_rng(seed)
    wavelengths = np.linspace(0.5, 2.6, bands)
    shapes = np.exp(-0.5 * ((wavelengths - FEATURES[:, :1]) / FEATURES[:, 1:]) ** 2)
    depths = DEPTHS[:n_classes]
    continuum = 0.28 - 0.20 * np.exp(-(wavelengths - 0.5) / 0.18) - 0.02 * (wavelengths - 1.0)
    truth = _class_map(rng, (rows, cols), n_classes)
    cube = _reflectance(rng, truth, depths, shapes, continuum, wavelengths, noise)
    bad = np.zeros(bands, bool)
    bad[np.sort(rng.choice(bands, n_bad_bands, replace=False))] = True
    cube[:, :, bad] += rng.normal(0, 0.5, size=(rows, cols, n_bad_bands)).astype(np.float32)
    dead = rng.random((rows, cols)) < dead_share
    cube[dead] = FILL
    differs = np.ptp(depths, axis=0) > 0
    reach = np.abs(wavelengths - FEATURES[:, :1]) <= FEATURE_REACH * FEATURES[:, 1:]
    return Scene(
        cube=Cube(cube, wavelengths, "um", bad_bands=bad, fill_value=FILL),
        truth=truth,
        informative_bands=(reach & differs[:, None]).any(axis=0),
        wavelengths=wavelengths,
        dead=dead,
        spectra=continuum * np.prod(1 - depths[:, :, None] * shapes, axis=1),
    )


def _reflectance(rng, truth, depths, shapes, continuum, wavelengths, noise) -> np.ndarray:
    """The cube (float32, rows x columns x bands): minerals, light and gas, then the sensor's noise."""
    size = truth.shape
    # broad hills, but at most half a side wide: in small scenes a wider filter would leave only rounding errors
    broad = tuple(min(24.0, side / 2) for side in size)
    elevation = _field(rng, size, broad) + 0.3 * _field(rng, size, (3, 3))
    light = np.exp(0.10 * elevation + 0.12 * np.gradient(elevation, axis=1) / 0.1)
    strength = np.clip(1 + 0.15 * _field(rng, size, 4) + 0.08 * rng.normal(size=size), 0.2, 2.0)
    cube = np.empty((*size, len(wavelengths)), np.float32)
    gas = sum(np.exp(-0.5 * ((wavelengths - c) / w) ** 2) for c, w in GAS)
    depth_of_gas = np.clip(0.08 - 0.03 * elevation, 0, 0.2)
    # stripes: each column of a pushbroom sensor has its own detector
    stripes = 0.2 * noise * rng.normal(size=(size[1], len(wavelengths)))
    for r in range(size[0]):  # a line at a time: no second cube in memory
        mineral = np.prod(1 - (depths[truth[r]] * strength[r][:, None])[:, :, None] * shapes, axis=1)
        line = mineral * continuum * (1 - depth_of_gas[r][:, None] * gas) * light[r][:, None]
        white, smooth = rng.normal(size=(2, *line.shape))
        smooth = gaussian_filter1d(smooth, 1.5, axis=1)
        smooth /= np.sqrt((smooth**2).mean())
        error = noise * np.sqrt(0.5) * (white + smooth) + stripes
        cube[r] = line + error * continuum.mean()
    return cube
