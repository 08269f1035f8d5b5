"""The reader of MATLAB's v5 format against SciPy's, and with numbers that are damaged."""

import struct

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from fisherem.images import read
from fisherem.images.matlab5 import is_matlab5, variables

RNG = np.random.default_rng(0)
VALUES = {
    "cube": RNG.random((4, 3, 5)), "single": RNG.random((2, 3)).astype(np.float32), "scalar": 3.0,
    **{kind: RNG.integers(0, 100, (2, 3, 4)).astype(kind) for kind in ("uint8", "int16", "uint32", "int64")},
    "a_long_name_of_something": np.eye(2), "ab": np.zeros((0, 3)),
}  # fmt: skip
OTHERS = {"text": "words", "complex": np.ones((2, 2)) + 1j, "flags": np.array([[True]]), "struct": {"a": np.eye(3)},
          "cell": np.array([[1, "a"]], dtype=object)}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_of_every_type(tmp_path, packed):
    path = tmp_path / "a.mat"
    savemat(path, VALUES | OTHERS, do_compression=packed)
    expected = loadmat(path)
    assert is_matlab5(path.read_bytes()[:128])
    found = {variable.name: variable for variable in variables(path)}
    assert found.keys() == VALUES.keys()
    for name, variable in found.items():
        array = variable.read()
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name])


def big_endian(name: str, array: np.ndarray) -> bytes:
    """A file as a program on another machine writes it, by hand."""

    def element(kind: int, data: bytes) -> bytes:
        return struct.pack(">II", kind, len(data)) + data + b"\0" * (-len(data) % 8)

    values = array.astype(">f8").tobytes(order="F")
    parts = element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(f">{array.ndim}i", *array.shape))
    body = parts + element(1, name.encode()) + element(9, values)
    return b"by hand".ljust(124) + b"\x01\x00MI" + struct.pack(">II", 14, len(body)) + body


def test_the_other_byte_order(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(big_endian("cube", VALUES["cube"]))
    np.testing.assert_array_equal(loadmat(path)["cube"], VALUES["cube"])  # the file is what it should be
    np.testing.assert_array_equal(read(path).data, VALUES["cube"])


def test_numbers_that_contradict_each_other(tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {"cube": VALUES["cube"]})
    good = path.read_bytes()
    sizes, values = good.index(struct.pack("<3i", 4, 3, 5)), good.index(struct.pack("<II", 9, 480))
    for place, number, words in (
        (values, 77, "the values of 'cube' have the unknown type 77"),  # SciPy ends the process with a signal
        (values + 4, 10**9, "an element of 1000000000 bytes goes beyond its end"),
        (values + 4, 472, "'cube' has 59 values where its size, 4 x 3 x 5, asks for others"),
        (sizes, 2**31 - 1, "asks for others"),
        (sizes, -4 & 0xFFFFFFFF, "an array has the sizes"),
        (132, 10**9, "goes beyond its end"),
    ):
        path.write_bytes(good[:place] + struct.pack("<I", number) + good[place + 4 :])
        with pytest.raises(ValueError, match=rf"^a\.mat .*{words}"):
            read(path)


def test_compressed_values_are_checked(tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {"cube": VALUES["cube"]}, do_compression=True)
    good = path.read_bytes()
    damaged = bytearray(good)
    damaged[-2] ^= 1  # the checksum
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"a\.mat (cannot be read|is damaged).*incorrect data check"):
        read(path)


def test_files_of_matlab_4(tmp_path):
    savemat(tmp_path / "a.mat", {"pixels": np.arange(24.0).reshape(2, 12)}, format="4")
    assert read(tmp_path / "a.mat", shape=(3, 4)).shape == (3, 4, 2)
