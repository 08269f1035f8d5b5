"""Data with known classes, for examples and for scoring.

    load(name)                    a table by name                         -> X (n x p), y (n)
    simulate, simulate_roles      the paper's simulation; variable roles  -> X (n x p), y (n) [, roles (p)]
    simulate_dlm(model)           a draw from one of the models           -> DLMSample with its parameters
    simulate_chang                two groups that principal components hide -> X (n x 15), y (n)
    simulate_rotated, simulate_snr  three groups in a rotated plane       -> RotatedSample with its axes
    mars_like()                   a simulated scene of Mars                 -> Scene: a cube, its classes, its features

iris and wine are part of scikit-learn; the paper's other tables are read from the folder FISHEREM_DATA. The classes y
are for scoring only and are not used in a fit.
"""

from .scene import Scene, mars_like
from .simulations import simulate, simulate_chang, simulate_dlm, simulate_roles, simulate_rotated, simulate_snr
from .tables import NAMES, load

__all__ = [
    "NAMES", "Scene", "load", "mars_like", "simulate", "simulate_chang", "simulate_dlm", "simulate_roles",
    "simulate_rotated", "simulate_snr",
]  # fmt: skip
