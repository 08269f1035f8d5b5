"""Data: the paper's simulation, iris and wine, and the real tables of its section 4.2 (from FISHEREM_DATA)."""

from .simulations import simulate, simulate_dlm, simulate_roles
from .tables import NAMES, load

__all__ = ["NAMES", "load", "simulate", "simulate_dlm", "simulate_roles"]
