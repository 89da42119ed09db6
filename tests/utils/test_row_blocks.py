import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphuq.utils import row_blocks
from graphuq.utils.row_blocks import collect_rows, column_signs, map_rows, row_slices


@given(n=st.integers(1, 60), width=st.integers(1, 9), size=st.integers(1, 40))
def test_slices_cover_all_rows_once(n, width, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_blocks, "BLOCK_SIZE", size)
        slices = row_slices(n, width)
    assert [i for rows in slices for i in range(*rows.indices(n))] == list(range(n))
    assert all(rows.stop - rows.start <= max(1, size // width) for rows in slices)


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_entry_of_each_column_decides_its_sign(monkeypatch, size, dtype):
    X = np.random.default_rng(0).standard_normal((31, 6)).astype(dtype)
    X[[4, 20], 2] = -9.0, 9.0  # the first of equal magnitudes decides
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", size)
    expected = np.sign(X[abs(X).argmax(axis=0), np.arange(6)])
    np.testing.assert_array_equal(column_signs(X), expected)
    assert expected[2] == -1


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_come_in_order_with_their_rows(monkeypatch, threads):
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 8)
    X, y = np.arange(34).reshape(17, 2), np.arange(17.0)
    parts = list(map_rows(lambda block, of: block[:, 0] - 2 * of, X, 2, y, threads=threads))
    assert [rows.start for rows, _ in parts] == list(range(0, 17, 4))
    assert not np.concatenate([part for _, part in parts]).any()
    doubled = collect_rows(lambda block: 2 * block, X, 2, 2, np.float32)
    np.testing.assert_array_equal(doubled, 2 * X)
    assert doubled.dtype == np.float32


def test_an_error_in_a_block_reaches_the_caller():
    def fail(block):
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError, match="no"):
        list(map_rows(fail, np.zeros((3, 1)), 1))
