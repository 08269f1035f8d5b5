"""What users install: wheel and sdist hold what they should, and the demo runs from the wheel in a clean environment.

`make package` sets FISHEREM_DIST to a folder with the two files that it has built; otherwise they are built here.
Nothing is downloaded: the clean environment borrows the dependencies of the running one, but not its fisherem.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import fisherem

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fisherem"


def called(*command, **options) -> str:
    """The output of a command; where it fails, an error with all that it printed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the wheel and the sdist; the wheel is built from the sdist."""
    if folder := os.environ.get("FISHEREM_DIST"):
        return Path(folder)
    folder = tmp_path_factory.mktemp("dist")
    called(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (path,) = built.glob("fisherem-*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(built) -> Path:
    (path,) = built.glob("fisherem-*.tar.gz")
    return path


def package_files() -> set[str]:
    """All files of the package as a user should get them, relative to src."""
    return {str(f.relative_to(PACKAGE.parent)) for f in PACKAGE.rglob("*") if f.is_file() and f.suffix != ".pyc"}


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == package_files()
    assert "fisherem/py.typed" in inside
    for ending in ("html", "css", "js"):
        assert any(name.startswith("fisherem/reports/templates/") and name.endswith(ending) for name in inside)
    assert any(name.endswith("LICENSE") for name in names - inside)


def test_sdist_holds_what_a_build_needs_and_no_tests_or_data(sdist):
    with tarfile.open(sdist) as file:
        names = {member.name.partition("/")[2] for member in file if member.isfile()}
    assert {f"src/{name}" for name in package_files()} <= names
    tops = {name.partition("/")[0] for name in names}
    wanted = {"src", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "PKG-INFO"}
    assert wanted <= tops <= wanted | {".gitignore"}


def test_metadata_are_valid_and_carry_the_version(wheel):
    metadata = pytest.importorskip("packaging.metadata")
    with zipfile.ZipFile(wheel) as file:
        (name,) = (n for n in file.namelist() if n.endswith(".dist-info/METADATA"))
        found = metadata.Metadata.from_email(file.read(name), validate=True)
    assert str(found.version) == fisherem.__version__
    assert found.description_content_type == "text/markdown"
    assert found.description.startswith("# fisherem")
    assert {"dask", "images", "tables"} <= set(found.provides_extra)


def test_demo_runs_from_the_wheel_in_a_clean_environment(wheel, tmp_path):
    environment = tmp_path / "environment"
    called(sys.executable, "-m", "venv", "--without-pip", environment)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    python = environment / folder / "python"
    called(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel)
    # A path in a .pth file is searched, but its own .pth files are not read: the editable fisherem stays out of sight.
    site = called(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    borrowed = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (Path(site) / "dependencies.pth").write_text("\n".join(borrowed) + "\n")

    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    options = {"cwd": tmp_path, "env": clean | {"MPLCONFIGDIR": str(tmp_path)}}
    where, version = called(
        python, "-c", "import fisherem; print(fisherem.__file__); print(fisherem.__version__)", **options
    ).split()
    assert Path(where).is_relative_to(site)
    assert version == fisherem.__version__
    assert version in called(environment / folder / "fisherem", "--version", **options)
    text = called(python, "-m", "fisherem.demo", **options)
    assert "Variables that make the groups" in text
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


def test_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (\S+)$", text, re.M)[1] == fisherem.__version__


def test_the_conda_recipe_has_this_version_and_the_dependencies_of_the_package():
    text = (ROOT / "conda" / "recipe.yaml").read_text()
    assert re.search(r'^  version: "(\S+)"$', text, re.M)[1] == fisherem.__version__
    run = re.search(r"^  run:\n((?:    - .*\n)+)", text, re.M)[1]
    listed = {line.strip().removeprefix("- ").replace(" ", "") for line in run.splitlines()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {f"python{project['requires-python']}", *project["dependencies"]}
    assert listed == {name.replace("matplotlib>", "matplotlib-base>") for name in wanted}


def test_the_matrix_has_the_lowest_scikit_learn_that_is_allowed():
    matrix = (ROOT / ".github/workflows/test.yml").read_text()
    lowest = re.search(r'"scikit-learn>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())[1]
    assert re.search(r'scikit-learn: "([\d.]+)"', matrix)[1] == f"{lowest}.0"


def test_the_paper_cites_what_its_bibliography_holds():
    cited = set(re.findall(r"@(\w+\d{4})", (ROOT / "paper.md").read_text()))
    held = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(), re.M))
    assert cited == held


def test_the_paper_has_the_form_that_joss_asks_for():
    """Its sections in their order, and 750 to 1,750 words; who submits it adds names and statements of their own."""
    head, body = (ROOT / "paper.md").read_text().removeprefix("---\n").split("\n---\n", 1)
    assert re.findall(r"^# (.*)$", body, re.M) == [
        "Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
        "References",
    ]  # fmt: skip
    assert 750 <= len(body.split()) <= 1750
    for name in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        assert re.search(rf"^{name}:", head, re.M)


def test_pre_commit_runs_the_linters_of_make():
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)[1]
    made = [line.strip().removeprefix("$(BIN)/").removesuffix(" .") for line in lint.splitlines()]
    hooks = re.findall(r"entry: \.venv/bin/(.+)", (ROOT / ".pre-commit-config.yaml").read_text())
    assert hooks == made
