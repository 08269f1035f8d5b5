"""Data: the paper's simulation, a made-up scene, iris and wine, and the paper's real tables (from FISHEREM_DATA)."""

from .scene import Scene, mars_like
from .simulations import simulate, simulate_dlm, simulate_roles
from .tables import NAMES, load

__all__ = ["NAMES", "Scene", "load", "mars_like", "simulate", "simulate_dlm", "simulate_roles"]
