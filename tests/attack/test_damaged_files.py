"""Files of tables and images with damaged bytes: read, or refused by name; never an exception of some library."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from scipy.io import savemat

from fisherem.images import read
from fisherem.tables.opening import open_table

from ..images.files import write_mat73
from .changes import changed, changes
from .outcomes import Case, attack

ROWS = np.random.default_rng(0).normal(size=(20, 3))
CUBE = np.random.default_rng(1).uniform(0.1, 1, size=(4, 3, 5))
FRAME = pd.DataFrame(ROWS, columns=list("abc"))
FILES = {
    "t.npy": lambda path: np.save(path, ROWS),
    "t.npz": lambda path: np.savez(path, X=ROWS),
    "packed.npz": lambda path: np.savez_compressed(path, X=ROWS),
    "t.parquet": lambda path: FRAME.to_parquet(path, index=False),
    "t.xlsx": lambda path: FRAME.to_excel(path, index=False),
    "t.csv.gz": lambda path: FRAME.to_csv(path, index=False),
    "i.mat": lambda path: savemat(path, {"cube": CUBE}),
    "packed.mat": lambda path: savemat(path, {"cube": CUBE}, do_compression=True),
    "i73.mat": lambda path: write_mat73(path, cube=CUBE),
    "i.npy": lambda path: np.save(path, CUBE),
}
IMAGES = ("i.mat", "packed.mat", "i73.mat", "i.npy")


def _read_table(path) -> np.ndarray:
    return open_table(path).named().X.to_numpy()


def _read_image(path) -> np.ndarray:
    cube = read(path)
    return cube.pixels[: cube.shape[1]]


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """The bytes of every file, undamaged."""
    folder = tmp_path_factory.mktemp("good")
    for name, write in FILES.items():
        write(folder / name)
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_undamaged_files_are_read(contents, tmp_path, name):
    (tmp_path / name).write_bytes(contents[name])
    expected = CUBE[0] if name in IMAGES else ROWS
    np.testing.assert_allclose((_read_image if name in IMAGES else _read_table)(tmp_path / name), expected, rtol=1e-14)


def test_damaged_files(contents, tmp_path):
    def case_of(drawn) -> Case:
        name, edits = drawn
        path = tmp_path / name
        path.write_bytes(changed(contents[name], edits))

        def check(values):
            assert values.ndim == 2
            assert name in IMAGES or np.isfinite(values).all()

        load = _read_image if name in IMAGES else _read_table
        return Case(lambda: load(path), (name,), check)

    # the beginning holds what the rest means, and so does the end of some kinds of files
    def places(name):
        size = len(contents[name])
        last = changes(200).map(lambda edits: [(what, max(0, size - 200 + at), how) for what, at, how in edits])
        return st.tuples(st.just(name), changes(min(300, size)) | last | changes(size))

    drawn = st.sampled_from(sorted(FILES)).flatmap(places)
    attack("damaged files", drawn, case_of, default=200)
