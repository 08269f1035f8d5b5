"""anndata, for the tests that need it: it may be missing, or not support the pandas that is installed."""

from importlib.metadata import requires, version

import pytest
from packaging.requirements import Requirement


def anndata_or_skip():
    """The module; without it, or with a version of pandas that it refuses, the tests of a module are skipped.

    anndata 0.12 needs pandas below 3, so that it is not among what `make test` installs; `make test-cells`, which CI
    runs, has an environment of its own.
    """
    anndata = pytest.importorskip("anndata", reason="anndata is not installed: make test-cells")
    for text in requires("anndata") or ():
        needed = Requirement(text)
        if needed.name == "pandas" and not needed.specifier.contains(version("pandas")):
            reason = f"anndata {version('anndata')} does not support pandas {version('pandas')}: make test-cells"
            pytest.skip(reason, allow_module_level=True)
    return anndata
