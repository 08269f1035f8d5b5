"""Rows near 0 are multiplied as they are: the same products, for the rows that this is right for."""

import numpy as np
import pytest

from fisherem.core.data.problem import prepare
from fisherem.rows.base import ArrayRows
from fisherem.rows.blocks import Block, UncentredBlock, block_of


def rows_at(offset, n=700, p=6, dtype=float):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(n, p)) * rng.uniform(0.5, 2, size=p) + offset).astype(dtype)


@pytest.mark.parametrize("tile_rows", [100, 333, 700])
def test_products_are_those_of_centred_rows(tile_rows):
    Y = rows_at(3.0)
    centre = Y.mean(axis=0)
    block = block_of(Y, centre, uncentred=True)
    block._tile_rows = tile_rows
    rng = np.random.default_rng(2)
    A, W = rng.normal(size=(4, 6)), rng.random((3, len(Y)))
    np.testing.assert_allclose(block.times(A), A @ (Y - centre).T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(block.sums(W), W @ (Y - centre), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(block.squared_norms(), ((Y - centre) ** 2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(block.cross(None), (Y - centre).T @ (Y - centre), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("offset", "dtype", "kind"),
    [(0.0, float, UncentredBlock), (50.0, float, UncentredBlock), (1e4, float, Block), (0.0, np.float32, Block)],
)
def test_which_rows_need_centring_first(offset, dtype, kind):
    """Far from 0 digits would be lost, and single precision is made double by the copy that centres it."""
    Y = np.repeat(rows_at(offset, dtype=dtype), 200, axis=0)  # several tiles
    problem = prepare(Y, ridge="auto")
    assert type(problem.rows._block(problem.rows.slices[0])) is kind


def test_a_constant_column_far_away_is_centred():
    Y = np.repeat(rows_at(0.0), 200, axis=0)
    Y[:, 2] = 7.0
    problem = prepare(Y, ridge="auto")
    assert type(problem.rows._block(problem.rows.slices[0])) is Block


def test_rows_of_one_tile_are_centred_once():
    rows = ArrayRows(rows_at(0.0))
    rows.learn_spreads(np.ones(6))
    block = rows._block(rows.slices[0])
    assert type(block) is Block
    assert next(block.tiles())[1] is next(block.tiles())[1]
