"""What is kept per row: in memory up to the limit, then in a file that nobody sees."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from fisherem.rows.spill import Spill


def test_arrays_come_back_from_memory_and_from_disk():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(3, 50)) for _ in range(6)]
    spill = Spill(2 * arrays[0].nbytes)
    kept = [spill.keep(a) for a in arrays]
    assert spill.in_memory == 2 * arrays[0].nbytes
    assert spill.on_disk == 4 * arrays[0].nbytes
    for array, one in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(one.get(), array)


def test_room_is_used_again():
    spill = Spill(0)
    array = np.arange(100.0)
    for _ in range(5):
        kept = spill.keep(array)
        np.testing.assert_array_equal(kept.get(), array)
        del kept
        gc.collect()
    assert spill.on_disk == array.nbytes
    held = Spill(array.nbytes)
    for _ in range(3):
        kept = held.keep(array)
        del kept
    assert (held.in_memory, held.on_disk) == (0, 0)


def test_a_view_does_not_hold_on_to_the_whole():
    whole = np.zeros((10, 100))
    assert Spill(10**6).keep(whole[:1]).get().base is None


def test_the_file_has_no_name_and_goes_with_close(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spill = Spill(0)
    kept = spill.keep(np.zeros(10))
    assert not list(tmp_path.iterdir())
    spill.close()
    with pytest.raises(ValueError, match="closed"):
        kept.get()


FULL = """
import os, resource, sys, tempfile
import numpy as np
from fisherem import FisherEM
tempfile.tempdir = sys.argv[2]
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))   # the disk ends after 20 kB
try:
    FisherEM(2, init=np.arange(4000) % 2, memory="30kB").fit(sys.argv[1])
except OSError as error:
    print(error)
left = [os.readlink(f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{f}")]
print([name for name in left if "deleted" in name], os.listdir(sys.argv[2]))
"""


@pytest.mark.skipif(
    not hasattr(os, "preadv") or not os.path.isdir("/proc/self/fd"),
    reason="the disk is made full by a limit that Linux has",
)
def test_a_full_disk_raises_an_error_and_leaves_no_file(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(4000, 5)))
    (tmp_path / "spill").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "rows.npy", tmp_path / "spill"], capture_output=True, text=True
    )
    message, left = done.stdout.splitlines()
    assert done.stderr == ""
    assert "File too large" in message
    assert "set TMPDIR to a folder with more room, or raise memory" in message
    assert left == "[] []"
