"""Imports run along the data flow only: a module may use what comes before it, never what comes after."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fisherem

ROOT = Path(fisherem.__file__).parent
# In the order of the flow: rows -> statistics -> F -> M -> E -> criteria -> estimators -> ...
FLOW = [
    "dlm",
    "solvers.gram",
    "solvers.l1_budget",
    "solvers.procrustes",
    "solvers.penalized_svd",
    "engine.kernels",
    "engine.blocks",
    "engine.finite",
    "engine.spill",
    "engine.file_rows",
    "engine.dask_rows",
    "engine.statistics",
    "engine.prior",
    "engine.scatter",
    "engine.problem",
    "steps.between",
    "steps.discriminant",
    "steps.sparse_result",
    "steps.sparse_two_step",
    "steps.sparse_regression",
    "steps.sparse_svd",
    "steps.f_step",
    "steps.m_step",
    "engine.convergence",
    "engine.sample",
    "engine.start",
    "engine.loop",
    "engine.multistart",
    "criteria",
    "engine.choice",
    "engine.selected",
    "extras",
    "sources",
    "file_tables",
    "dask_tables",
    "validation",
    "fitted",
    "estimators",
    "selection",
    "paths",
    "atomic",
    "checkpoints",
    "parallel",
    "progress",
    "cells",
    "search",
    "subsampling",
    "persistence",
    "tables",
    "outputs",
    "images.lines",
    "images.cube",
    "datasets.scene",
    "rivals.base",
    "rivals.weighted_kmeans",
    "rivals.sparse_alternation",
    "rivals.sparse_kmeans",
    "rivals.shapes",
    "rivals.mixtures",
    "rivals.regressions",
    "rivals.subsets",
    "rivals.stepwise",
    "rivals.clustvarsel",
    "rivals.lasso_ranking",
    "rivals.roles",
    "rivals.selvarclust",
    "rivals",
    "scoring",
    "comparison",
    "datasets.simulations",
    "datasets.tables",
    "datasets",
    "plots.style",
    "plots.maps",
    "plots.projection",
    "plots.search",
    "plots.selection",
    "plots.stability",
    "plots.variables",
    "plots",
    "page.text",
    "page.rows",
    "page.variables",
    "page.choice",
    "page.svg",
    "page.figures",
    "page.content",
    "page.render",
    "page.image_pictures",
    "page.image_content",
    "page.image_page",
    "page",
    "images.extras",
    "images.units",
    "images.envi",
    "images.geotiff",
    "images.arrays",
    "images.read",
    "images.cleaning_report",
    "images.clean",
    "images.write",
    "images.segmentation",
    "images.segment",
    "images",
    "experiments.paper",
    "experiments.records",
    "experiments.jobs",
    "experiments.plan",
    "experiments.written",
    "experiments.protocols",
    "experiments.table1",
    "experiments.table2",
    "experiments.table3",
    "experiments.table4",
    "experiments.figures",
    "experiments.reading",
    "experiments.reproduce",
    "experiments",
    "demo",
    "cli_common",
    "cli_images",
    "cli_reproduce",
    "cli",
]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if path.read_text().strip() and name != "__init__":
            yield name, path


def imported(name: str, path: Path):
    """Modules of the package that `path` imports, as names in FLOW."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    known = {n for n, _ in modules()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                full = ".".join([*base, alias.name])
                if full in known or base:  # else a name of the package itself, such as its version
                    yield full if full in known else ".".join(base)


def test_every_module_stands_in_the_flow():
    assert {name for name, _ in modules()} == set(FLOW)


def test_imports_run_one_way():
    position = {name: i for i, name in enumerate(FLOW)}
    for name, path in modules():
        for other in imported(name, path):
            assert position[other] < position[name], f"{name} imports {other}, which comes after it"


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, fisherem; sys.exit(any(m in sys.modules for m in ('numpy', 'sklearn', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_are_to_be_had():
    for name in fisherem.__all__:
        assert getattr(fisherem, name) is not None
        assert name in dir(fisherem)
    with pytest.raises(AttributeError, match="nonsense"):
        fisherem.nonsense  # noqa: B018
