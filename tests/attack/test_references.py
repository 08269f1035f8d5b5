"""Files that lead elsewhere or unpack to too much, and outputs that are inputs: nothing is fetched or overwritten."""

import gzip
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import rasterio
from click.testing import CliRunner
from hypothesis import strategies as st

from fisherem import FisherEM, save
from fisherem.cli import main
from fisherem.images import read, read_mask, read_truth
from fisherem.tables.opening import open_table
from tests.images.files import write_envi
from tests.serving import watched_server

from .outcomes import Case, attack

SHAPE = (4, 5)


@pytest.fixture(scope="module")
def server():
    with watched_server() as found:
        yield found


def _texts(address: str, secret: str) -> list[str]:
    """Descriptions of rasters that GDAL would follow."""
    size = f'rasterXSize="{SHAPE[1]}" rasterYSize="{SHAPE[0]}"'
    sources = [f"/vsicurl/{address}/a.tif", f"{address}/a.tif", f"/vsizip/{secret}", f"GTIFF_DIR:1:{secret}", secret]
    simple = [
        f'<VRTDataset {size}><VRTRasterBand dataType="Byte" band="1"><SimpleSource><SourceFilename>{source}'
        "</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>"
        for source in sources
    ]
    raw = (
        f'<VRTDataset {size}><VRTRasterBand dataType="Byte" band="1" subClass="VRTRawRasterBand"><SourceFilename>'
        f"{secret}</SourceFilename></VRTRasterBand></VRTDataset>"
    )
    return [*simple, raw, f"<GDAL_WMS><Service name='TMS'><ServerUrl>{address}/</ServerUrl></Service></GDAL_WMS>"]


SIDECARS = (".ovr", ".msk", ".aux.xml", ".vrt")


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_rasters(server, tmp_path):
    address, asked = server
    secret = tmp_path / "secret.bin"
    secret.write_bytes(bytes(range(1, 101)))
    texts = _texts(address, str(secret))
    plain = np.arange(1, 21, dtype=np.uint8).reshape(1, *SHAPE)
    path = tmp_path / "x.tif"
    readers = [lambda: read(path).data, lambda: read_mask(path, SHAPE), lambda: read_truth(path, SHAPE).classes]

    def case_of(drawn) -> Case:
        text, beside, reader = drawn
        for old in tmp_path.glob("x.tif*"):
            old.unlink()
        if beside is None:
            path.write_text(texts[text])
        else:
            with rasterio.open(path, "w", driver="GTiff", height=4, width=5, count=1, dtype="uint8") as file:
                file.write(plain)
            (tmp_path / f"x.tif{beside}").write_text(texts[text])

        def check(found):
            assert np.asarray(found).size == plain.size
            assert not asked

        return Case(lambda: np.asarray(readers[reader]()), ("x.tif",), check, False if beside is None else None)

    drawn = st.tuples(st.integers(0, len(texts) - 1), st.none() | st.sampled_from(SIDECARS), st.integers(0, 2))
    attack("rasters", drawn, case_of, default=40)
    assert asked == []


def test_headers_that_lie(server, tmp_path):
    address, asked = server
    path = tmp_path / "x.hdr"
    lies = {
        "lines": [10**9, -1, 0, "1e9"], "samples": [10**9, 2**63], "bands": [10**6, -3],
        "header_offset": [-1, 10**12, 7], "data_file": ["/etc/hosts", "../x.img"], "byte_order": [2],
        "coordinate_system_string": [f"{{{address}/crs}}", "{/etc/hosts}", "{+init=/etc/hosts:1}"],
        "map_info": [f"{{{address}}}", "{UTM, 1, 1, nan, 0, 1, 1, 99, North}"],
    }  # fmt: skip
    flat = [(name, value) for name, values in lies.items() for value in values]

    def case_of(which) -> Case:
        write_envi(path, np.ones((4, 5, 3), np.uint8), **dict(flat[i] for i in which))

        def check(cube):
            assert cube.shape == (4, 5, 3)
            assert (np.asarray(cube.data) == 1).all()

        return Case(lambda: read(path), ("x.hdr", "x.img"), check)

    attack("lying headers", st.lists(st.integers(0, len(flat) - 1), min_size=1, max_size=3), case_of, default=40)
    assert asked == []


def test_files_that_unpack_to_more(tmp_path):
    budget = 2_000_000

    def case_of(drawn) -> Case:
        kind, columns, millions = drawn
        path = tmp_path / f"t.{kind}"
        values = np.ones((millions * 10**6 // columns, columns))
        if kind == "csv.gz":
            with gzip.open(path, "wb", compresslevel=1) as file:
                line = ",".join("1" * columns) + "\n"
                for _ in range(10):
                    file.write(line.encode() * (len(values) // 10))
        elif kind == "npz":
            np.savez_compressed(path, X=values)
        else:
            pd.DataFrame(values).add_prefix("v").to_parquet(path, row_group_size=len(values))

        def run():
            tracemalloc.start()
            try:
                open_table(path, memory=budget).named()
            finally:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
                assert peak < 5 * budget + 10**7, f"{peak} bytes"

        return Case(run, ("memory budget",), valid=False)

    drawn = st.tuples(st.sampled_from(["csv.gz", "npz", "parquet"]), st.integers(2, 9), st.integers(2, 4))
    attack("bombs", drawn, case_of, default=6)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with a table, a model and links to them."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)) + 6 * (np.arange(30) % 2)[:, None], columns=list("abc"))
    frame["g"] = np.arange(30) % 2
    for name in ("labels.csv", "report.html.csv", "d.csv"):
        frame.to_csv(folder / name, index=False)
    save(FisherEM(2, init="random", n_init=1, random_state=0, n_jobs=1).fit(frame[list("abc")]), folder / "model.skops")
    for name in ("labels.csv", "d.csv", "model.skops"):
        os.symlink(folder / name, folder / f"soft-{name}")
        os.link(folder / name, folder / f"hard-{name}")
    return folder


def test_outputs_that_are_inputs(inputs, monkeypatch):
    monkeypatch.chdir(inputs)
    kinds = ("", "soft-", "hard-", "./", "../" + inputs.name + "/")

    def case_of(drawn) -> Case:
        command, table, first, second = drawn
        data, output = f"{kinds[first]}{table}", f"{kinds[second]}{table}"
        model = f"{kinds[first]}model.skops"
        words = {
            "predict": ["predict", model, data, "-o", output], "report": ["report", model, data, "-o", output],
            "model": ["predict", model, data, "-o", f"{kinds[second]}model.skops"],
            "compare": ["compare", data, "-k", "2", "--methods", "k-means", "-o", output],
            "fit": ["fit", f"{kinds[first]}labels.csv", "-k", "2", "--force", "-o", "."],
        }[command]  # fmt: skip
        before = {path: path.read_bytes() for path in inputs.iterdir()}

        def run():
            return CliRunner().invoke(main, words)

        def check(result):
            assert {path: path.read_bytes() for path in inputs.iterdir()} == before
            assert result.exit_code == 2, result.output
            assert "would be overwritten" in result.output

        return Case(run, (), check)

    drawn = st.tuples(
        st.sampled_from(["predict", "report", "model", "compare", "fit"]), st.sampled_from(["d.csv", "labels.csv"]),
        st.integers(0, len(kinds) - 1), st.integers(0, len(kinds) - 1),
    )  # fmt: skip
    attack("outputs", drawn, case_of, default=25)
