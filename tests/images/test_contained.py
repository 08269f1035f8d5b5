"""Images that refer to other files or to the web: nothing outside the image's own files is opened."""

import warnings

import h5py
import numpy as np
import pytest
import rasterio
from PIL import Image

from fisherem.images import Georeference, read, read_mask, read_truth
from fisherem.images.rasters import write_geotiff
from tests.images.files import write_envi, write_mat73, write_tif
from tests.serving import watched_server

SHAPE = (4, 5)
SECRET = bytes(range(1, 101))


def vrt(source, raw=False):
    """A virtual raster of the values in `source`."""
    if raw:
        kind = ' subClass="VRTRawRasterBand"'
        inside = f'<SourceFilename relativeToVRT="0">{source}</SourceFilename><ImageOffset>0</ImageOffset>'
    else:
        kind = ""
        inside = (
            f'<SimpleSource><SourceFilename relativeToVRT="0">{source}</SourceFilename>'
            "<SourceBand>1</SourceBand></SimpleSource>"
        )
    return (
        f'<VRTDataset rasterXSize="{SHAPE[1]}" rasterYSize="{SHAPE[0]}">'
        f'<VRTRasterBand dataType="Byte" band="1"{kind}>{inside}</VRTRasterBand></VRTDataset>'
    )


def wms(address):
    return (
        f'<GDAL_WMS><Service name="TMS"><ServerUrl>{address}/${{z}}/${{x}}/${{y}}.png</ServerUrl></Service>'
        "<DataWindow><UpperLeftX>0</UpperLeftX><UpperLeftY>0</UpperLeftY><LowerRightX>5</LowerRightX>"
        "<LowerRightY>4</LowerRightY><SizeX>5</SizeX><SizeY>4</SizeY></DataWindow>"
        "<BandsCount>1</BandsCount></GDAL_WMS>"
    )


def readers(path):
    """Everything that reads a raster: the image, its mask and its truth."""
    return [lambda: np.asarray(read(path).data), lambda: read_mask(path, SHAPE), lambda: read_truth(path, SHAPE)]


@pytest.mark.parametrize("suffix", [".tif", ".tiff"])
def test_descriptions_named_tif_are_refused(tmp_path, suffix):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(SECRET)
    hostile = tmp_path / f"x{suffix}"
    with watched_server() as (address, asked):
        texts = [vrt(f"/vsicurl/{address}/a.tif"), wms(address), vrt(secret, raw=True), vrt(tmp_path / "good.tif")]
        for text in texts:
            hostile.write_text(text)
            for attempt in readers(hostile):
                with pytest.raises(ValueError, match=f"x{suffix} is not a TIFF file"):
                    attempt()
    assert asked == []


def test_files_beside_a_tiff_do_not_lead_elsewhere(tmp_path):
    values = np.arange(1, 21, dtype=np.uint8).reshape(*SHAPE, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        path = write_tif(tmp_path / "x.tif", values)
    with watched_server() as (address, asked):
        (tmp_path / "x.tif.ovr").write_text(vrt(f"/vsicurl/{address}/ovr.tif"))
        (tmp_path / "x.tif.aux.xml").write_text(
            '<PAMDataset><Metadata domain="OVERVIEWS">'
            f'<MDI key="OVERVIEW_FILE">/vsicurl/{address}/aux.tif</MDI></Metadata></PAMDataset>'
        )
        np.testing.assert_array_equal(np.asarray(read(path).data), values)
        (tmp_path / "x.tif.msk").write_text(vrt(f"/vsicurl/{address}/msk.tif"))
        with pytest.raises(ValueError, match=r"x.tif.msk is not a TIFF file"):
            read(path)
    assert asked == []


def test_world_file_and_mask_beside_a_tiff_are_read(tmp_path):
    values = np.arange(1, 21, dtype=np.uint8).reshape(*SHAPE, 1)
    mask = np.zeros((*SHAPE, 1), np.uint8)
    mask[1:, 2:] = 255
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
        path = write_tif(tmp_path / "x.tif", values)
        write_tif(tmp_path / "m.tif", mask).rename(tmp_path / "x.tif.msk")
    (tmp_path / "x.tfw").write_text("10\n0\n0\n-10\n105\n195\n")
    cube = read(path)
    assert cube.georeference.transform == (10, 0, 100, 0, -10, 200)
    np.testing.assert_array_equal(cube.mask, mask[:, :, 0] > 0)
    (tmp_path / "x.tfw").write_text("root:x:0:0")
    with pytest.raises(ValueError, match="six numbers") as caught:
        read(path)
    assert "root" not in str(caught.value)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "x.tif.msk").rename(elsewhere / "x.tif.msk")
    (tmp_path / "x.tfw").unlink()
    (tmp_path / "x.tif.msk").symlink_to(elsewhere / "x.tif.msk")
    with pytest.raises(ValueError, match="link to another folder"):
        read(path)


def test_hdf5_references_are_refused(tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.arange(24.0).tobytes())
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["cube"] = np.arange(24.0).reshape(2, 3, 4)

    def external_link(file):
        file["cube"] = h5py.ExternalLink(str(other), "/cube")

    def soft_link(file):
        file["deep"] = h5py.ExternalLink(str(other), "/")
        file["cube"] = h5py.SoftLink("/deep/cube")

    def raw(file):
        file.create_dataset("cube", (2, 3, 4), "f8", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])

    def virtual(file):
        layout = h5py.VirtualLayout((2, 3, 4), "f8")
        layout[...] = h5py.VirtualSource(str(other), "cube", (2, 3, 4))
        file.create_virtual_dataset("cube", layout)

    for make in (external_link, soft_link, raw, virtual):
        path = tmp_path / "x.mat"
        with h5py.File(path, "w") as file:
            make(file)
        for attempt in (lambda: read(path), lambda: read_truth(path, (4, 3)), lambda: read(path, variable="cube")):  # noqa: B023
            with pytest.raises(ValueError, match="is a reference to data elsewhere"):
                attempt()
    plain = write_mat73(tmp_path / "plain.mat", cube=np.arange(24.0).reshape(2, 3, 4))
    assert read(plain).shape == (2, 3, 4)


def test_envi_headers_do_not_lead_elsewhere(tmp_path):
    secret = tmp_path / "secret.bin"
    secret.write_bytes(SECRET)
    folder = tmp_path / "scene"
    folder.mkdir()
    values = np.ones((2, 2, 3), np.uint8)
    path = write_envi(folder / "x.hdr", values, data_file=str(secret))
    np.testing.assert_array_equal(np.asarray(read(path).data), values)
    (folder / "x.img").unlink()
    with pytest.raises(FileNotFoundError, match="no data file"):
        read(path)
    (folder / "x.img").symlink_to(secret)
    with pytest.raises(ValueError, match=r"x.img beside x.hdr is a link to another folder"):
        read(path)
    secret.write_bytes(bytes(range(12)))
    assert read(folder / "x.img").shape == (2, 2, 3)  # the file that was asked for may be a link
    linked = tmp_path / "linked"
    linked.mkdir()
    write_envi(folder / "y.hdr", values)
    for name in ("y.hdr", "y.img"):  # both links lead to one folder
        (linked / name).symlink_to(folder / name)
    assert read(linked / "y.hdr").shape == (2, 2, 3)


def test_coordinate_systems_are_not_opened_as_addresses(tmp_path):
    values = np.ones((2, 2, 3), np.uint8)
    with watched_server() as (address, asked):
        path = write_envi(tmp_path / "x.hdr", values, coordinate_system_string=f"{{{address}/crs}}")
        with pytest.raises(ValueError, match="'coordinate system string' must be a coordinate system in WKT"):
            read(path)
        place = Georeference(f"{address}/crs", (1.0, 0.0, 0.0, 0.0, -1.0, 0.0))
        with pytest.warns(UserWarning, match="coordinate system is left out"):
            write_geotiff(tmp_path / "out.tif", values[:, :, 0], place, nodata=None)
    assert asked == []


def test_pictures_of_other_formats_are_refused(tmp_path):
    path = tmp_path / "x.png"
    Image.fromarray(np.zeros(SHAPE, np.uint8)).convert("RGB").save(path, format="EPS")
    with pytest.raises(ValueError, match="cannot be read as a picture"):
        read_truth(path, SHAPE)


def test_pictures_that_expand_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.png"
    Image.fromarray(np.ones((40, 50), np.uint8)).save(path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ValueError, match="cannot be read as a picture"):
        read_truth(path, (40, 50))
