"""Every package begins with its contract, and everything public says what it does."""

import ast
from pathlib import Path

import pytest

import fisherem

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
