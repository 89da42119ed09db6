import numpy as np
import pytest
from scipy import sparse

import graphuq as gq
from graphuq.utils.features import check_features, check_table, require_finite, require_spread
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


@pytest.mark.parametrize("check", [require_spread, lambda X: require_spread(require_finite(X))])
def test_distances_whose_squares_underflow_are_refused(check):
    for offset in (0.0, [1.0, 0.0]):  # a constant column beside a tiny one is no help
        with pytest.raises(ValueError, match="squares of distances underflow: multiply X"):
            check(X * [0.0, 1e-200] + offset)
    check(X * [1.0, 1e-200])
    check(X * 1e-99)
    check(np.ones((6, 2)))


@pytest.mark.parametrize(
    "call",
    [
        lambda X: gq.knn_graph(X, 2),
        lambda X: gq.knn_graph(X, 2, weights="cosine"),
        lambda X: gq.full_graph(X, n_neighbors=2),
        lambda X: gq.epsilon_graph(X, 1.0),
        lambda X: gq.nystrom(X, 2, tau=1.0, n_landmarks=5),
        lambda X: gq.FeaturePrior(X),
        lambda X: gq.KAssociatedOptimalGraph().fit(X, [0, 1] * 3),
    ],
)
def test_tiny_features_are_refused_wherever_distances_are_measured(call):
    with pytest.raises(ValueError, match="squares of distances underflow"):
        call(X * 1e-200)


@pytest.mark.parametrize("check", [check_features, check_table])
def test_masked_values_are_refused(check):
    with pytest.raises(TypeError, match=r"X is masked.*X\.filled"):
        check(np.ma.masked_less(X, 3.0))
    np.testing.assert_array_equal(check(np.ma.masked_less(X, -1.0)), X)


def test_a_table_is_neither_copied_nor_converted():
    single = X.astype(np.float32)
    assert check_table(single) is single
    assert check_features(single).dtype == np.float64
