"""Whether hypothesis repeats its examples: in builds it does, so that whether one passes does not depend on luck.

By hand, `make test` and `make attack` try fresh examples.
"""

import os
import tempfile
from pathlib import Path

# before hypothesis is imported: its examples are kept outside the project's folder, which may be read-only
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir()) / "fisherem-hypothesis"))

from hypothesis import settings

settings.register_profile("ci", derandomize=True, database=None, deadline=None, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
