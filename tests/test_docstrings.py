"""Every package begins with its contract, and everything public says what it does."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import fisherem
from fisherem import datasets

ROOT = Path(fisherem.__file__).parent
PARTS = sorted({path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")} - {"__init__"})
# A contract says more than a title: what goes in, what comes out.
SHORTEST_CONTRACT = 80


def files(part: str) -> list[Path]:
    """The modules of a package, or the one module of that name at the root."""
    return sorted((ROOT / part).rglob("*.py")) or [ROOT / f"{part}.py"]


def public(body: list[ast.stmt], prefix: str = ""):
    """(name, node) of the public functions and classes of a body, and of the public methods of those classes."""
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from public(node.body, f"{prefix}{node.name}.")


def silent(path: Path) -> list[str]:
    """Public names of a module that have no docstring, as path:line name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    where = path.relative_to(ROOT)
    found = [f"{where}:{node.lineno} {name}" for name, node in public(tree.body) if not ast.get_docstring(node)]
    return found if ast.get_docstring(tree) else [f"{where}:1 the module", *found]


@pytest.mark.parametrize("part", PARTS)
def test_everything_public_has_a_docstring(part):
    missing = [line for path in files(part) for line in silent(path)]
    assert not missing, "no docstring:\n" + "\n".join(missing)


@pytest.mark.parametrize("part", [part for part in PARTS if (ROOT / part).is_dir()])
def test_packages_begin_with_their_contract(part):
    text = ast.get_docstring(ast.parse((ROOT / part / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(text) >= SHORTEST_CONTRACT, f"{part}/__init__.py does not say what goes in and what comes out: {text!r}"


def fitted():
    """An estimator of every public class, fitted to iris."""
    X, _ = datasets.load("iris", as_frame=True)
    quick = {"random_state": 0, "n_init": 1}
    models = [
        fisherem.FisherEM(3, **quick),
        fisherem.SparseFisherEM(3, **quick),
        fisherem.BayesianFisherEM(3, **quick),
        fisherem.FactorMixture(3, 1, **quick),
        fisherem.ModelSearch(fisherem.SparseFisherEM(**quick), n_clusters=[2, 3], n_jobs=1),
        fisherem.ModelSearch(fisherem.FisherEM(**quick), n_clusters=[3], models=["AB"], criterion="bic", n_jobs=1),
        fisherem.SelectDiscriminative(fisherem.SparseFisherEM(3, **quick)),
        fisherem.SparseKMeans(3, n_permutations=2, random_state=0, n_jobs=1),
        fisherem.Clustvarsel(3, models=["EEE"], n_jobs=1),
        fisherem.Selvarclust(3, models=["EEE"], n_jobs=1),
    ]
    return [model.fit(X) for model in models]


def test_every_public_attribute_of_a_fitted_estimator_is_documented():
    classes = {getattr(fisherem, name) for name in fisherem.__all__}
    estimators = {c for c in classes if inspect.isclass(c) and hasattr(c, "fit")}
    models = fitted()
    assert {type(model) for model in models} == estimators
    for model in models:
        text = inspect.getdoc(type(model))
        text = text[text.index("Attributes\n") :]
        found = {name for name in vars(model) if not name.startswith("_")} - set(model.get_params(deep=False))
        silent = [name for name in found if not re.search(rf"\b{name}\b", text)]
        assert not silent, f"{type(model).__name__}: {silent}"


@pytest.mark.parametrize("name", ["bic", "aic"])
def test_criteria_say_first_that_larger_is_better(name):
    for cls in (fisherem.FisherEM, fisherem.FactorMixture):
        first = inspect.getdoc(getattr(cls, name)).splitlines()[0]
        assert "larger is better" in first
        assert "GaussianMixture" in first
