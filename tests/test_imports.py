"""Imports run along the data flow only: a module may use what comes before it, never what comes after."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fisherem

ROOT = Path(fisherem.__file__).parent
# Packages (and the modules of the root) in the order of the flow: each may import those above it, never those below.
PACKAGES = [
    "_utils",  # files, words, progress: nothing of mixtures
    "model",  # what a mixture is, without data
    "solvers",  # penalised problems
    "rows",  # where rows live, and the verb that visits them
    "em",  # from rows and a specification to a fit
    "selection",  # which variables make the groups
    "tables",  # what comes from outside: opened, checked
    "estimators",  # what users construct
    "rivals",  # other methods under the same interface
    "model_selection",  # search, path, stability, comparison
    "persistence",
    "plots",
    "reports",
    "explaining",  # groups that something else made
    "images",
    "datasets",
    "experiments",
    "demo",
    "cli",
]
# The order of the modules inside a package, where it is more than one layer.
INSIDE = {
    "rows": ["threads", "finite", "blocks", "spill", "base", "in_memory", "sparse", "on_disk", "on_dask"],
    "em": [
        "kernels", "spatial_prior", "noise_metric", "scatter", "problem", "family", "passes", "quadratics", "placing",
        "f_step", "m_step", "adapting", "gap_patterns", "gap_expectation", "gap_completing", "gap_passes", "dlm_batch",
        "dlm_family", "stopping", "sampling", "starts", "metric_starts", "loop", "together", "multistart",
        "model_choice", "latent_choice", "selection_likelihood", "factor_moments", "factor_density", "factor_steps",
        "factor_axes", "leaping", "factor_family", "latent_factors", "latent_factor_family", "factor_starts",
        "bayes_step", "bayes_family",
    ],
    "selection": [
        "criterion", "forward_backward", "roles", "alternation", "pool", "automatic", "noise", "scaling", "powers",
    ],
    "em.f_step": ["between", "dense", "base", "sparse_two_step", "sparse_regression", "sparse_svd", "step"],
    "tables": [
        "errors", "kinds", "masked", "gaps", "parameters", "missing", "cells", "watch", "sources", "readers", "layout",
        "series_matrix", "text", "npy", "zarr_array", "parquet", "whole_files", "streamed_files", "file_table",
        "dask_table", "sparse_table", "scaling", "transposing", "opening", "checking",
    ],
    "estimators": [
        "gap_rows", "settling", "column_scales", "fitting", "pipelines", "describing", "selected", "prediction",
        "missing", "fisher_em", "sparse_fisher_em", "factor_fitting", "factor_mixture", "bayesian",
    ],
    "rivals": [
        "base", "sparse_kmeans", "shapes", "mixtures", "subsets", "regressions", "stepwise", "clustvarsel",
        "lasso_ranking", "roles", "selvarclust", "register",
    ],
    "model_selection": [
        "scoring", "checkpoints", "factor_search", "sparsity_path", "grid", "searching", "merging", "how_many",
        "search_parameters", "search_summary", "verdict_search", "search", "search_tables", "select_variables",
        "stability", "comparison",
    ],
    "model_selection.how_many": [
        "transforms", "partition_values", "one_or_two", "candidates", "halves", "evidence", "rules", "verdict",
        "saying", "shortening", "gathering",
    ],
    "plots": ["style", "projection", "variables", "search", "verdict", "stability", "selection", "merging", "maps"],
    "reports": [
        "text", "svg", "pixels", "document", "usage", "page_rows", "inputs", "rows", "criteria", "variables", "roles",
        "how_chosen", "how_many", "certainty", "stability", "summary", "facts", "group_words", "heat", "figures",
        "table_content", "conclusion", "page_data", "factor_page", "table", "image_pictures", "image_content", "image",
        "writers",
    ],
    "reports.figures": ["frame", "boxes", "criterion", "heat", "path", "profile"],
    "images": [
        "units", "lines", "cube", "matlab5", "arrays", "envi", "geotiff", "read", "clean_pixels", "colours", "truth",
        "cleaning_report", "clean", "normalising", "sample_stability", "spreading", "grouping", "write", "segmentation",
        "segment",
    ],
    "experiments": [
        "paper", "plan", "records", "jobs", "methods", "protocols", "written", "reading", "table1", "models", "table2",
        "table3", "table4", "figures", "reproduce",
    ],
    "cli": [
        "common", "choices", "options", "data", "folders", "results", "fitting", "explaining", "using", "comparing",
        "images", "reproduce", "commands", "__main__",
    ],
}  # fmt: skip


@cache
def imports() -> dict[str, list[str]]:
    """The modules, each with those of the package that it imports, as names in PACKAGES and INSIDE; files read once."""
    files = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__" and (text := path.read_text()).strip():
            files[name] = (path, text)
    return {name: list(imported(name, path, text, files)) for name, (path, text) in files.items()}


def imported(name: str, path: Path, text: str, known):
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                full = ".".join([*base, alias.name])
                if full in known or base:  # else a name of the package itself, such as its version
                    yield full if full in known else ".".join(base)


def below(order: list[str], name: str, other: str) -> bool:
    return order.index(other) < order.index(name)


def test_every_package_stands_in_the_flow():
    assert {name.partition(".")[0] for name in imports()} == set(PACKAGES)


def test_packages_import_one_way():
    for name, others in imports().items():
        own = name.partition(".")[0]
        for other in others:
            package = other.partition(".")[0]
            assert package == own or below(PACKAGES, own, package), f"{name} imports {other}, which comes after it"


@pytest.mark.parametrize("package", INSIDE)
def test_modules_inside_a_package_import_one_way(package):
    prefix, order = f"{package}.", INSIDE[package]
    first = {name: name.removeprefix(prefix).partition(".")[0] for name in imports() if name.startswith(prefix)}
    assert set(first.values()) == set(order)
    for name in first:
        for other in imports()[name]:
            if other in first and first[other] != first[name]:
                assert below(order, first[name], first[other]), f"{name} imports {other}, which comes after it"


def test_no_module_imports_in_a_circle():
    graph = {name: set(others) - {name} for name, others in imports().items()}
    while graph:
        free = [name for name, others in graph.items() if not others & graph.keys()]
        assert free, f"modules that import each other: {sorted(graph)}"
        for name in free:
            del graph[name]


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, fisherem; sys.exit(any(m in sys.modules for m in ('numpy', 'sklearn', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_can_be_imported():
    for name in fisherem.__all__:
        assert getattr(fisherem, name) is not None
        assert name in dir(fisherem)
    with pytest.raises(AttributeError, match="nonsense"):
        fisherem.nonsense  # noqa: B018
