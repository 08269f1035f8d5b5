"""Model files and checkpoints whose bytes are not those that were written: refused, or exactly as good as before."""

import io
import json
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from fisherem import FisherEM, load, save
from fisherem.core.data.problem import prepare
from fisherem.core.engine import multistart
from fisherem.core.engine.checkpoints import Store
from fisherem.estimators.fitting import specification

from .changes import changed, changes
from .outcomes import Case, attack

# Types and functions that no model file may bring to life.
FOREIGN = (
    ("os", "system"), ("builtins", "eval"), ("builtins", "print"), ("subprocess", "Popen"), ("pathlib", "Path"),
    ("sklearn.cluster", "KMeans"), ("builtins", "str"), ("numpy", "ndarray"), ("fisherem", "nonsense"),
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)) + 6 * rng.integers(2, size=(40, 1))


@pytest.fixture(scope="module")
def good(rows, tmp_path_factory):
    """(bytes of a model file, posteriors of the model)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether it has converged is not the question
        model = FisherEM(2, init="random", n_init=1, random_state=0, n_jobs=1).fit(rows)
    path = save(model, tmp_path_factory.mktemp("good") / "model.skops")
    return path.read_bytes(), model.predict_proba(rows)


def test_changed_bytes(good, rows, tmp_path):
    content, posteriors = good
    path = tmp_path / "model.skops"

    def case_of(edits) -> Case:
        path.write_bytes(changed(content, edits))

        def check(model):
            np.testing.assert_array_equal(model.predict_proba(rows), posteriors)

        return Case(lambda: load(path), (str(path),), check)

    # half of the changes go to the directory at the end, where few bytes mean much
    near_end = changes(1500).map(lambda edits: [(w, len(content) - 1500 + at, how) for w, at, how in edits])
    attack("model bytes", changes(len(content)) | near_end, case_of, default=150)


# -- a well-formed archive that says something else --------------------------------------------------------------------


def _places(node, path=()):
    """The places of all values inside a schema."""
    yield path
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from _places(inner, (*path, key))


def _with(schema, path, value):
    other = json.loads(json.dumps(schema))
    node = other
    for key in path[:-1]:
        node = node[key]
    if isinstance(value, tuple) and isinstance(node[path[-1]], dict):
        node[path[-1]] |= {"__module__": value[0], "__class__": value[1]}
    else:
        node[path[-1]] = list(value) if isinstance(value, tuple) else value
    return other


def test_changed_schemas(good, rows, tmp_path, capfd):
    with zipfile.ZipFile(io.BytesIO(good[0])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    places = [path for path in _places(schema) if path]
    path = tmp_path / "model.skops"

    def case_of(drawn) -> Case:
        index, value = drawn
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                text = json.dumps(_with(schema, places[index], value)) if name == "schema.json" else data
                archive.writestr(name, text)

        def check(model):
            assert isinstance(model, BaseEstimator)

        return Case(lambda: load(path), (str(path),), check)

    values = st.sampled_from(FOREIGN) | st.none() | st.integers(-3, 10**12) | st.text(max_size=8) | st.just([])
    attack("model schemas", st.tuples(st.integers(0, len(places) - 1), values), case_of, default=60)
    assert capfd.readouterr().out.count("\n") <= 1  # nothing was printed but the seed


# -- checkpoints -------------------------------------------------------------------------------------------------------


def test_changed_checkpoints(rows, tmp_path):
    model = FisherEM(2, init="random", n_init=1, random_state=0, n_jobs=1)
    spec = specification(model, *rows.shape)
    problem = prepare(rows, ridge=0.1)
    store = Store(tmp_path, "mark")
    fit, _ = multistart.fit(problem, spec)
    store.put("key", fit, {"seconds": 1.0})
    (path,) = tmp_path.glob("*.npz")
    content = path.read_bytes()

    def case_of(edits) -> Case:
        path.write_bytes(changed(content, edits))

        def run():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                return store.get("key", spec.family), [str(w.message) for w in caught]

        def check(found):
            got, messages = found
            if got is None:
                assert any(str(path) in message for message in messages)
                return
            assert got[1] == {"seconds": 1.0}
            assert got[0].log_likelihood == fit.log_likelihood
            arrays, values = got[0].solution.pack()
            expected, others = fit.solution.pack()
            assert arrays.keys() == expected.keys()
            assert all(np.array_equal(arrays[name], expected[name]) for name in arrays)
            assert values == others

        return Case(run, (str(path),), check, valid=True)

    attack("checkpoint bytes", changes(len(content)), case_of, default=60)
