"""Tables that refer to other files or to the web: nothing outside the table's own files is opened."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from fisherem.tables.errors import TableError
from fisherem.tables.opening import open_table
from tests.serving import watched_server


def test_links_out_of_a_parquet_folder_are_refused(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 7]})
    folder, outside = tmp_path / "t.parquet", tmp_path / "outside.parquet"
    folder.mkdir()
    frame.to_parquet(folder / "1.parquet")
    frame.to_parquet(outside)
    assert open_table(folder).X.shape == (3, 2)
    (folder / "2.parquet").symlink_to(outside)
    with pytest.raises(TableError, match=r"2.parquet is a link to a place outside this folder"):
        open_table(folder)
    (folder / "2.parquet").unlink()
    (folder / "2.parquet").symlink_to(folder / "1.parquet")
    assert open_table(folder).X.shape == (6, 2)
    linked = tmp_path / "linked.parquet"
    linked.symlink_to(folder)  # the table itself may be a link
    assert open_table(linked).X.shape == (6, 2)


def test_links_out_of_a_zarr_store_are_refused(tmp_path):
    import zarr

    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.arange(6.0).tobytes())
    path = tmp_path / "t.zarr"
    array = zarr.open_array(path, mode="w", shape=(3, 2), chunks=(3, 2), dtype="f8", zarr_format=2, compressor=None)
    array[:] = 1
    assert open_table(path).X.shape == (3, 2)
    chunk = path / "0.0"
    chunk.unlink()
    chunk.symlink_to(secret)
    with pytest.raises(TableError, match=r"0.0 is a link to a place outside this folder"):
        open_table(path)


def test_links_of_a_workbook_are_not_followed(tmp_path):
    path, changed = tmp_path / "t.xlsx", tmp_path / "u.xlsx"
    pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 7]}).to_excel(path, index=False)
    with watched_server() as (address, asked):
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
            for name in old.namelist():
                data = old.read(name)
                if name == "xl/_rels/workbook.xml.rels":
                    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/externalLink"
                    link = f'<Relationship Id="rId99" Type="{kind}" TargetMode="External" Target="{address}/x.xlsx"/>'
                    data = data.replace(b"</Relationships>", link.encode() + b"</Relationships>")
                if name.startswith("xl/worksheets/sheet"):
                    data = data.replace(b"<v>7</v>", f"<f>WEBSERVICE(&quot;{address}/f&quot;)</f><v>7</v>".encode())
                new.writestr(name, data)
        assert open_table(changed).X.shape == (3, 2)
    assert asked == []
