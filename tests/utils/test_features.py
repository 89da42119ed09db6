import numpy as np
import pytest
from scipy import sparse

from graphuq.utils.features import check_features, check_table, require_finite
from graphuq.utils.validation import MAX_MAGNITUDE

X = np.arange(12.0).reshape(6, 2)


def with_value(value):
    bad = X.copy()
    bad[[2, 4], 1] = value
    return bad


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "check",
    [
        check_features,
        require_finite,
        lambda X: check_features(sparse.csr_array(X), accept_sparse=True),
    ],
)
def test_rows_that_are_not_finite_are_named(check, value):
    with pytest.raises(ValueError, match=r"in 2 of 6 rows, first in row 2: drop those rows"):
        check(with_value(value))


@pytest.mark.parametrize("check", [check_features, require_finite])
def test_values_whose_squares_overflow_are_refused(check):
    with pytest.raises(ValueError, match="whose squares overflow: rescale it"):
        check(with_value(-10 * MAX_MAGNITUDE))


@pytest.mark.parametrize("check", [check_features, check_table])
def test_masked_values_are_refused(check):
    with pytest.raises(TypeError, match=r"X is masked.*X\.filled"):
        check(np.ma.masked_less(X, 3.0))
    np.testing.assert_array_equal(check(np.ma.masked_less(X, -1.0)), X)


def test_a_table_is_neither_copied_nor_converted():
    single = X.astype(np.float32)
    assert check_table(single) is single
    assert check_features(single).dtype == np.float64
