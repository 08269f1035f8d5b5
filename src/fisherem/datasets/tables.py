"""Named tables. iris and wine come with scikit-learn; the others are read from the folder FISHEREM_DATA."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

__all__ = ["NAMES", "load"]

_FILES = {
    "wine27": "tables/wine27.csv",
    "zoo": "tables/zoo.csv",
    "glass": "tables/glass.csv",
    "satimage": "tables/satimage.csv",
    "usps358": "tables/usps358.csv.gz",
    "colon": "expression/colon.npz",
    "lymphoma": "expression/lymphoma.npz",
}
NAMES = ("iris", "wine", *_FILES)


def load(name: str, *, as_frame: bool = False):
    """X (n x p) and y (n) of a named table; y is for scoring only. With `as_frame`, X is a pandas frame with names."""
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a data set, one of {', '.join(NAMES)}; got {name!r}")
    if name in ("iris", "wine"):
        from sklearn.datasets import load_iris, load_wine

        bunch = (load_iris if name == "iris" else load_wine)(as_frame=True)
        frame, y = bunch.data, bunch.target.to_numpy()
    elif name in _FILES:
        frame, y = _read(_path(name))
    else:
        raise ValueError(f"unknown data set {name!r}; choose one of {', '.join(NAMES)}")
    return (frame if as_frame else frame.to_numpy(float)), y


def _path(name: str) -> Path:
    folder = os.environ.get("FISHEREM_DATA")
    if not folder:
        raise FileNotFoundError(
            f"{name} does not come with fisherem: set the environment variable FISHEREM_DATA to a folder that holds "
            f"{_FILES[name]} (the UCI repository has zoo, glass and satimage; see docs/data.md for the others)"
        )
    path = Path(folder) / _FILES[name]
    if not path.exists():
        raise FileNotFoundError(f"FISHEREM_DATA is set to {folder}, but there is no {_FILES[name]} in it")
    return path


def _read(path: Path):
    import pandas as pd

    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as file:
            X, y = file["X"].astype(float), file["y"]
        return pd.DataFrame(X, columns=[f"gene{j + 1}" for j in range(X.shape[1])]), y
    frame = pd.read_csv(path)
    return frame.iloc[:, :-1].astype(float), frame.iloc[:, -1].to_numpy()
