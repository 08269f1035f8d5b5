import os
from pathlib import Path

import numpy as np
import pytest

from fisherem.datasets import mars_like


@pytest.fixture(scope="session")
def scene():
    """40 x 32 pixels, 48 bands, 3 classes; dead pixels and bad bands."""
    return mars_like(40, 32, 48, 3, seed=1, n_bad_bands=2, dead_share=0.01)


@pytest.fixture(scope="session")
def plain():
    """A clean float32 array of rows x columns x bands with two materials: (array, wavelengths in um, truth)."""
    rng = np.random.default_rng(3)
    wavelengths = np.linspace(0.5, 2.5, 24)
    truth = np.zeros((12, 9), int)
    truth[:, 5:] = 1
    array = np.full((12, 9, 24), 0.3) + 0.004 * rng.normal(size=(12, 9, 24))
    array[truth == 1, 10:13] -= 0.1
    return array.astype(np.float32), wavelengths, truth


@pytest.fixture
def hyperspectral():
    folder = os.environ.get("FISHEREM_DATA")
    if not folder:
        pytest.skip("needs the real scenes: set FISHEREM_DATA to their folder")
    return Path(folder) / "hyperspectral"
