"""Model files: written with skops, which stores data and names of types, and never executes anything it reads.

Types that skops itself considers safe, our estimators and the classes of the registered rivals are loaded; any other
type is an error that names it.
"""

from __future__ import annotations

import copy
import inspect
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import fisherem

from . import __version__
from ._utils.atomic import atomic_file
from ._utils.register import Register
from .estimators.pipelines import last_step
from .estimators.schema import check_model
from .model.dlm import resolve
from .policy.decisions import decisions_of, decisions_table, model_decision
from .policy.noise import noise_decision
from .tables.encoding import Encoding
from .tables.parameters import check_path

__all__ = ["KINDS", "ModelFileError", "load", "save"]

# Format 2 stores names and frames as bytes (`_packed`), format 1 cell by cell. Format 3 adds the content of `KINDS`.
_ESTIMATOR_FORMAT, _FORMAT = 2, 3
# What a file may hold instead of an estimator alone: a class with `kind`, its name here, `to_file()` -> (estimator,
# dict of arrays and plain values) and `from_file(estimator, dict)`, which checks them.
KINDS: Register[Any] = Register("kind of model file", filled_by="fisherem.images.scene_model")
# Modules of public classes in files of version 0.1.0; since then all classes are stored as `fisherem.<class>`.
_OLD_HOMES = ("fisherem.estimators", "fisherem.selection", "fisherem.rivals.")


class ModelFileError(ValueError):
    """A file that is not one of our models, or is incomplete."""


def save(model, path) -> Path:
    """Write a fitted estimator (or a pipeline that ends in one) to `path`, atomically; returns the path.

    A `ModelSearch` is saved as its best estimator, with the preceding steps if it searched a pipeline; a
    `Segmentation` as the model that segments another scene (`fisherem.images.SceneModel`).
    """
    import skops.io

    check_path("path", path)
    model = getattr(model, "scene_model", getattr(model, "best_estimator_", model))
    held: dict[str, Any] = {"format": _ESTIMATOR_FORMAT}
    if isinstance(kind := getattr(model, "kind", None), str) and kind in KINDS:
        model, about = model.to_file()
        held = {"format": _FORMAT, "kind": kind, "about": about}
    path = Path(path)
    content = skops.io.dumps(held | {"fisherem": __version__, "model": _packed(model)})
    untrusted = set(skops.io.get_untrusted_types(data=content)) - set(_trusted())
    if untrusted:
        raise TypeError(f"cannot be saved as a model file: it holds {', '.join(sorted(untrusted))}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        file.write(content)
    return path


def load(path):
    """The estimator in a model file, or the `SceneModel` that `segment` wrote.

    Files of earlier versions work: parameters they lack get their defaults.
    """
    import skops.io

    check_path("path", path)
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such model file")
    if path.is_dir():
        raise ModelFileError(f"{path}: a folder, where a model file is expected")
    _check_container(path)
    trusted = _trusted()
    try:
        data = _with_present_homes(path)
        unknown = set(skops.io.get_untrusted_types(data=data)) - set(trusted)
    except Exception as error:  # a damaged file can make a parser raise anything
        raise ModelFileError(f"{path}: not a fisherem model file ({error})") from None
    if unknown:
        raise ModelFileError(
            f"{path}: refused, it contains types that are not allowed in a model file: {', '.join(sorted(unknown))}"
        )
    try:
        content: Any = skops.io.loads(data, trusted=trusted)
    except Exception as error:
        raise ModelFileError(f"{path}: damaged model file ({type(error).__name__}: {error})") from None
    if not isinstance(content, dict) or "model" not in content or type(content.get("format")) is not int:
        raise ModelFileError(f"{path}: a skops file, but not a fisherem model")
    if content["format"] > _FORMAT:
        raise ModelFileError(
            f"{path}: written by fisherem {content.get('fisherem')}, whose format this version ({__version__}) "
            "cannot read: upgrade fisherem"
        )
    _check_type(path, content["model"])
    if content["format"] < 1 or not isinstance(content.get("fisherem"), str):
        raise ModelFileError(f"{path}: damaged model file (its version is {content['format']!r})")
    try:
        model = _with_defaults(_unpacked(content["model"]))
        check_model(model)
        if "kind" not in content:
            return model
        return KINDS.find(content["kind"]).from_file(model, dict(content["about"]))
    except Exception as error:  # attributes that were changed after the file was written
        raise ModelFileError(f"{path}: damaged model file ({type(error).__name__}: {error})") from None


def _check_type(path: Path, model) -> None:
    """Raise an error unless this is one of our estimators, a rival, or a pipeline that ends in one of them."""
    from .rivals import RIVALS

    steps = getattr(model, "steps", None) if isinstance(model, Pipeline) else None
    last = last_step(model)[1] if steps else model
    rivals = tuple(type(rival.make(2, 0)) for rival in RIVALS.values())
    if not isinstance(last, (*_own_classes(), *rivals)):
        held = type(model).__name__ if steps is None else f"Pipeline that ends in {type(last).__name__}"
        expected = "FisherEM, SparseFisherEM, BayesianFisherEM, FactorMixture, SelectDiscriminative or a rival"
        raise ModelFileError(f"{path}: holds a {held} where a model is expected: {expected}")


def _trusted() -> list[str]:
    """Names of the types that a model file may contain besides those that skops trusts: our classes and the rivals'."""
    from .rivals import RIVALS

    rivals = [rival.cls for rival in RIVALS.values() if rival.cls is not None]
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in (*_own_classes(), *rivals, Encoding)]


def _own_classes() -> tuple[type, ...]:
    from .estimators import BayesianFisherEM, FactorMixture, FisherEM, SparseFisherEM
    from .search.select_variables import SelectDiscriminative

    return FisherEM, SparseFisherEM, BayesianFisherEM, FactorMixture, SelectDiscriminative


# A dict with this key stands for a data frame in a file, which skops cannot store.
_FRAME = "__frame__"
# A dict with this key stands for a sequence of text, numbers and missing values. skops would store each as a separate
# node: a model of 100,000 named columns took minutes and 200 MB.
_CELLS = "__cells__"
_PLAIN = (str, float, int, bool, type(None))


def _packed(value):
    """`value` with dicts of plain arrays in place of the data frames and the arrays of names that it holds."""
    if isinstance(value, pd.DataFrame):
        columns = {str(name): _packed_cells(value[name].tolist()) for name in value}
        return {_FRAME: columns, "dtypes": [str(d) for d in value.dtypes], "index": _packed_cells(value.index.tolist())}
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1:
        cells = _packed_cells(value.tolist())
        return cells if isinstance(cells, dict) else value
    return _inside(value, _packed)


def _packed_cells(cells: list):
    """Text, numbers and missing values as the bytes of their JSON, which is lossless; other cells unchanged."""
    if not all(type(cell) in _PLAIN for cell in cells):
        return cells
    return {_CELLS: np.frombuffer(json.dumps(cells).encode(), np.uint8)}


def _cells(packed) -> list:
    return json.loads(packed[_CELLS].tobytes()) if isinstance(packed, dict) else packed


def _unpacked(value):
    """The opposite of `_packed`."""
    if isinstance(value, dict) and _FRAME in value:
        index = _cells(value["index"])
        columns = zip(value[_FRAME].items(), value["dtypes"], strict=True)
        series = {name: pd.Series(_cells(cells), index, dtype=dtype) for (name, cells), dtype in columns}
        return pd.DataFrame(series, index)
    if isinstance(value, dict) and _CELLS in value:
        return np.array(_cells(value), dtype=object)
    return _inside(value, _unpacked)


def _inside(value, change: Callable):
    """`value` with `change` applied to the contents of an estimator or container; `value` itself if nothing changes."""
    if type(value) in (list, tuple):
        parts = [change(part) for part in value]
        return type(value)(parts) if any(new is not old for new, old in zip(parts, value, strict=True)) else value
    estimator = isinstance(value, BaseEstimator)
    if not estimator and type(value) is not dict:
        return value
    held = vars(value) if estimator else value
    changed = {name: new for name, part in held.items() if (new := change(part)) is not part}
    if not changed:
        return value
    if not estimator:
        return held | changed
    other = copy.copy(value)
    vars(other).update(changed)
    return other


def _with_present_homes(path: Path) -> bytes:
    """The bytes of a model file, with the classes of version 0.1.0 under their current names."""
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read("schema.json"))
        old = [node for node in _nodes(schema) if _has_moved(node)]
        if not old:
            return path.read_bytes()
        for node in old:
            node["__module__"] = "fisherem"
        renewed = io.BytesIO()
        with zipfile.ZipFile(renewed, "w") as copy:
            for name in archive.namelist():
                copy.writestr(name, json.dumps(schema) if name == "schema.json" else archive.read(name))
    return renewed.getvalue()


def _nodes(schema) -> Iterator[dict]:
    """Every object inside a schema."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _nodes(inner)


def _has_moved(node: dict) -> bool:
    return str(node.get("__module__")).startswith(_OLD_HOMES) and node.get("__class__") in fisherem.__all__


def _check_container(path: Path) -> None:
    """Reject a file that is not one of our archives before anything in it is unpacked.

    Members are stored uncompressed, so together they are no larger than the file. A compressed member could expand to
    any amount of data, whatever the directory says about its size.
    """
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            pickled = file.read(1) == b"\x80"
        kind = "a pickle file, which could run code" if pickled else "not a model file"
        raise ModelFileError(f"{path}: {kind}; model files are written by fisherem.save")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except Exception as error:  # zipfile raises errors of many types for a damaged directory
        raise ModelFileError(f"{path}: damaged model file ({str(error) or type(error).__name__})") from None
    if "schema.json" not in {member.filename for member in members}:
        raise ModelFileError(f"{path}: a zip archive, but not a model file (no schema.json in it)")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ModelFileError(f"{path}: refused, it contains compressed data, which fisherem.save never writes")
    if any(member.compress_size != member.file_size for member in members):
        raise ModelFileError(f"{path}: damaged model file (its directory is inconsistent)")
    size = sum(member.file_size for member in members)
    if size > path.stat().st_size:
        raise ModelFileError(f"{path}: refused, it would unpack to {size / 2**20:.0f} MB, more than its own size")


# Attributes that had other names in version 0.1.0, by class.
_RENAMED = {"SparseKMeans": {"weights_": "feature_weights_"}}


def _rename(estimator) -> None:
    for old, new in _RENAMED.get(type(estimator).__name__, {}).items():
        if old in vars(estimator):
            setattr(estimator, new, vars(estimator).pop(old))


def _gather_decisions(estimator) -> None:
    """Convert the choices of model and noise from earlier versions, which stored them as lists of records."""
    if not hasattr(estimator, "loadings_"):
        return
    known = vars(estimator)
    decisions = decisions_of(known["decisions_"]) if "decisions_" in known else []
    for name, decision in (("model_choice_", model_decision), ("noise_choice_", noise_decision)):
        records = known.pop(name, [])
        if any(record["kept"] for record in records):
            decisions.append(decision(records))
    estimator.decisions_ = decisions_table(decisions)


def _with_defaults(model):
    """Give an estimator from an earlier version the parameters and attributes that it lacks."""
    for one in [step for _, step in getattr(model, "steps", [])] or [model]:
        if type(one).__module__.partition(".")[0] == "fisherem":
            for held in (one, getattr(one, "estimator_", None)):  # of a selector
                _rename(held)
                _gather_decisions(held)
            if hasattr(one, "loadings_") and not hasattr(one, "means"):
                one.means = "full"  # the only option in version 0.1.0
                one.group_means_ = one.means_
            for name, parameter in inspect.signature(type(one).__init__).parameters.items():
                if name != "self" and not hasattr(one, name):
                    setattr(one, name, parameter.default)
            if hasattr(one, "loadings_") and not hasattr(one, "model_"):
                one.model_ = resolve(one.model).name
    return model
