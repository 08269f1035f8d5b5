"""Imports run along the data flow only: a module may use what comes before it, never what comes after."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fisherem

ROOT = Path(fisherem.__file__).parent
# Packages and modules in the order of the flow: each may import those above it, never those below. Inside a package
# that is not listed by its parts, the only rule is that imports do not run in a circle.
FLOW = [
    "_utils",  # files, words, progress: nothing of mixtures
    "model",  # what a mixture is, without data
    "solvers",  # penalised problems
    "rows",  # where rows live, and the verb that visits them
    "tables",  # what comes from outside: opened, checked
    "core.data",  # rows made ready
    "core.starts",  # partitions to begin with
    "core.engine",  # the loop of any family
    "core.dlm",
    "core.factors",
    "core.bayes",
    "core.missing",
    "policy",  # every automatic decision
    "estimators",  # what users construct
    "rivals",  # other methods under the same interface
    "search",  # search, path, stability, comparison
    "persistence",
    "plots",
    "reports.text",
    "reports.content",
    "reports.words",
    "reports.figures",
    "reports.page",
    "reports.images",
    "reports.writers",
    "explaining",  # groups that something else made
    "anndata",  # objects of scanpy: groups and genes written into them
    "images",
    "datasets",
    "experiments",
    "demo",
    "cli",
]


@cache
def imports() -> dict[str, list[str]]:
    """The modules, each with those of the package that it imports, by their full names; files are read once."""
    files = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__" and (text := path.read_text()).strip():
            files[name] = (path, text)
    return {name: list(imported(name, path, text, files)) for name, (path, text) in files.items()}


def imported(name: str, path: Path, text: str, known):
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(text)
    unseen = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }  # for annotations alone: never run
    for node in (node for node in ast.walk(tree) if node not in unseen):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                full = ".".join([*base, alias.name])
                if full in known or base:  # else a name of the package itself, such as its version
                    yield full if full in known else ".".join(base)


def place(name: str) -> int | None:
    """Where a module stands in the flow; None for the front page of a package that is listed by its parts."""
    return next((i for i, part in enumerate(FLOW) if name == part or name.startswith(f"{part}.")), None)


def test_every_module_stands_in_the_flow():
    fronts = {name for name in imports() if place(name) is None}
    assert fronts == {part.partition(".")[0] for part in FLOW if "." in part}


def test_a_new_file_in_a_package_needs_no_place_of_its_own():
    for name in ("core.dlm.f_step.hard", "model.common", "policy.number_of_groups.silhouette", "rivals.birch"):
        assert place(name) is not None


def test_imports_run_along_the_flow():
    for name, others in imports().items():
        for other in others:
            here, there = place(name), place(other)
            assert here is None or there is None or there <= here, f"{name} imports {other}, which comes after it"


def test_no_module_imports_in_a_circle():
    graph = {name: set(others) - {name} for name, others in imports().items()}
    while graph:
        free = [name for name, others in graph.items() if not others & graph.keys()]
        assert free, f"modules that import each other: {sorted(graph)}"
        for name in free:
            del graph[name]


def test_a_class_name_stands_for_one_thing():
    places: dict[str, list[str]] = {}
    for path in ROOT.rglob("*.py"):
        for name in re.findall(r"^ *class (\w+)", path.read_text(), re.MULTILINE):
            places.setdefault(name, []).append(path.relative_to(ROOT).as_posix())
    several = {name: found for name, found in places.items() if len(found) > 1}
    # both are public, each in its own namespace: a comparison of methods, and of a map with known classes
    assert set(several) == {"Comparison"}, several


@pytest.mark.parametrize(("divided", "most"), [(False, 45), (True, 46)])
def test_a_plain_fit_enters_few_modules(iris, divided, most):
    """What a reader who follows the default fit of numbers in memory has to open; options are entered where used.

    Columns in different units are divided by their standard deviations: one module more.
    """
    X = iris[0] * [1, 20, 1, 1] if divided else iris[0]
    model = fisherem.SparseFisherEM(3, random_state=0).fit(X)  # imports are not counted
    assert model.scale_ == ("standardise" if divided else "none")
    entered = set()

    def note(frame, event, argument):
        if event == "call" and (file := frame.f_code.co_filename).startswith(str(ROOT)):
            entered.add(Path(file).relative_to(ROOT))

    sys.setprofile(note)
    try:
        model.fit(X)
    finally:
        sys.setprofile(None)
    assert len(entered) <= most, sorted(map(str, entered))


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, fisherem; sys.exit(any(m in sys.modules for m in ('numpy', 'sklearn', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_can_be_imported():
    for name in fisherem.__all__:
        assert getattr(fisherem, name) is not None
        assert name in dir(fisherem)
    with pytest.raises(AttributeError, match="nonsense"):
        fisherem.nonsense  # noqa: B018
