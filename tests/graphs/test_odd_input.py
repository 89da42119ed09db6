"""Input that would give wrong answers in silence: masks, dates, complex numbers, outliers."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import graphuq as gq
from graphuq.utils.outliers import find_dwarfing

A = np.ones((4, 4)) - np.eye(4)
X = np.arange(8.0).reshape(4, 2)
MASKED = np.ma.array([0, 1, 0, 1], mask=[0, 0, 0, 1])
PRIOR = gq.Prior.full(gq.Graph(A))
DAYS = np.array(["2020-01-01", "2020-01-02", "NaT", "2020-01-02"], dtype="M8[ns]")
MASKED_ROWS, MASKED_PAIR = np.ma.masked_equal(X, 3.0), np.ma.array([0.5, 0.5], mask=[0, 1])
masked_pair = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)


def test_masked_labels_are_missing():
    assert gq.Labels.of(MASKED, 4).nodes.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="label of node 3 is missing"):
        gq.Labels([0, 1, 2, 3], MASKED)
    with pytest.raises(ValueError, match="that of node 3 is missing"):
        gq.reveal(MASKED, counts=1)
    with pytest.raises(ValueError, match="that of node 3 is missing"):
        gq.Labels([0, 1], [0, 1]).accuracy(np.zeros(4), MASKED)
    with pytest.raises(ValueError, match=r"prediction must give every .*node 3 is missing"):
        gq.Labels([0, 1], [0, 1]).accuracy(MASKED, MASKED.data)
    # a mask without masked entries is none
    assert len(gq.Labels([0, 1, 2, 3], np.ma.array(MASKED.data))) == 4


def test_dates_that_are_missing_are_no_classes():
    labels = gq.Labels.of(DAYS, 4)
    assert labels.nodes.tolist() == [0, 1, 3]
    assert "datetime(2020, 1, 1" in repr(labels)
    with pytest.raises(ValueError, match="label of node 2 is missing"):
        gq.Labels([0, 1, 2, 3], DAYS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gq.Labels(np.ma.array([0, 1], mask=[0, 1]), [0, 1]), "nodes must not be masked"),
        (lambda: gq.Graph(np.ma.array(A, mask=masked_pair)), r"masked weights; fill them in"),
        (lambda: gq.knn_graph(np.ma.masked_equal(X, 3.0), 2), r"X is masked.*X\.filled"),
        (lambda: gq.knn_graph([np.ma.masked_equal([1, 2], 2), [3, 4], [5, 6]], 1), "X is masked"),
        (lambda: gq.full_graph(X + 1j, n_neighbors=2), "complex128 values are not real numbers"),
        (lambda: gq.knn_graph(np.tile(DAYS[:, None], 2), 2), "datetime64.* not real numbers.*drop"),
        (lambda: gq.Graph(A * (1 + 1j)), "complex128 weights"),
        (lambda: gq.Graph(sparse.csr_array(A * (1 + 1j))), "complex128 weights"),
        (lambda: gq.Graph(A.astype("m8[s]")), "timedelta64.* weights"),
        (lambda: gq.Graph(nx.Graph([(0, 1, {"weight": 1j})])), "no numeric weights"),
        (lambda: gq.Labels([0, 1, 2], np.array([1, 1j, 1])), "use texts for them"),
        (
            lambda: gq.Labels([0, 1, 2], [(1, 2), (3, 4), (1, 2)]),
            r"got \(1, 2\) of type tuple",
        ),
        (lambda: gq.reveal([(1, 2), (3, 4), (1, 2)], counts=1), r"got \(1, 2\) of type tuple"),
        (lambda: gq.Graph(A, nodes=MASKED), "nodes must not be masked"),
        (lambda: gq.Labels(np.array([0, 1], dtype="m8[s]"), [0, 1]), "nodes must be integers"),
        (lambda: PRIOR.at(np.array([0, 1], dtype="m8[s]")), "integer node ids"),
        (lambda: gq.brier_score([MASKED_PAIR] * 2, [0, 1], [0, 1]), "probabilities .* masked"),
        (lambda: gq.SumPrior.of([PRIOR] * 2, MASKED_PAIR), "weights must not be masked"),
        (lambda: gq.SumPrior.of([PRIOR] * 2, np.array([1, 1j])), "weights must hold real numbers"),
        (lambda: gq.BayesianGraphClassifier().fit(MASKED_ROWS, [0, 1, 0, 1]), "X is masked"),
        (
            lambda: gq.BayesianGraphClassifier(affinity="precomputed").fit(
                np.ma.array(A, mask=masked_pair), [0, 1, 0, 1]
            ),
            "X is masked",
        ),
        (lambda: gq.KAssociatedOptimalGraph().fit(MASKED_ROWS, [0, 1, 0, 1]), "X is masked"),
        (lambda: gq.KAssociatedOptimalGraph().fit(X, MASKED), "y must not be masked"),
        (
            lambda: gq.BayesianGraphClassifier().fit(np.tile(DAYS[:, None], 2), [0, 1, 0, 1]),
            "X must hold real numbers, got datetime64",
        ),
        (
            lambda: gq.KAssociatedOptimalGraph().fit(X, [0, 1, 0, 1]).predict(MASKED_ROWS),
            "X is masked",
        ),
        (lambda: gq.Labels([0, 1], [2**70, 1]), r"64 bits.*1180591620717411303424"),
        (lambda: gq.reveal([2**63, -1], counts=1), "64 bits"),
        (lambda: gq.Labels([0, 1], np.array([1, 2 + 2.0**-60], dtype=np.longdouble)), None),
    ],
)
def test_values_that_would_lose_something_are_refused(call, message):
    if message is None:  # no loss
        assert call().classes.tolist() == [1.0, 2.0]
        return
    with pytest.raises(TypeError, match=message):
        call()


def test_nodes_beyond_64_bits_are_refused():
    with pytest.raises(ValueError, match="positions in the graph, got 9223372036854775808"):
        gq.Labels(np.array([0, 2**63], dtype=np.uint64), [0, 1])


def test_labels_in_extended_precision_are_those_in_double_precision():
    values = np.array([1, 2, 1], dtype=np.longdouble)
    assert gq.Labels([0, 1, 2], values).classes.tolist() == [1.0, 2.0]
    assert gq.Labels([0, 1, 2], list(values)).classes.tolist() == [1.0, 2.0]
    assert len(gq.Labels.of(np.array([1, 2, -1], dtype=np.longdouble), 3)) == 2
    third = np.longdouble(1) / 3
    if third != float(third):
        with pytest.raises(TypeError, match="at most 64 bits"):
            gq.Labels([0, 1], [third, np.longdouble(1)])


def test_texts_that_numpy_made_from_nan_are_refused_in_arrays_of_texts():
    y = np.array([np.nan, "a", "b"])
    for call in (lambda: gq.Labels([0, 1, 2], y), lambda: gq.reveal(y, counts=1)):
        with pytest.raises(ValueError, match=r"'nan' is among the labels.*give a list of texts"):
            call()
    assert "nan" in gq.Labels([0, 1, 2], y.tolist()).classes
    assert "nan" in gq.reveal(y.tolist(), counts=1).classes
    assert "nan" in gq.Labels([0, 1, 2], y, classes=["a", "b", "nan"]).classes


def test_minus_one_in_an_unsigned_type_is_refused():
    y = np.array([0, 1, -1]).astype(np.uint8)
    with pytest.raises(ValueError, match="255, to which NumPy converts -1 in uint8: give integers"):
        gq.Labels.of(y, 3)
    assert gq.Labels.of(y, 3, classes=[0, 1, 255]).nodes.tolist() == [0, 1, 2]


def test_a_truth_that_is_no_class_is_an_error():
    labels = gq.Labels([0, 1], [0, 1])
    message = (
        r"truth has -1, which is not one of the classes \[0, 1\], for 1 of 2 nodes: give it in"
    )
    with pytest.raises(ValueError, match=message):
        labels.accuracy(np.array([0, 1, 0, 1]), [0, 1, -1, 1])
    for score in (gq.calibrate, gq.brier_score, gq.expected_calibration_error):
        with pytest.raises(ValueError, match="which is not one of the classes"):
            score([[0.5, 0.5]] * 2, [-1, 1], [0, 1])
    # a class without labels is listed
    listed = gq.Labels([0, 1], [0, 1], classes=[-1, 0, 1])
    assert listed.accuracy(np.array([0, 1, 0, 1]), [0, 1, -1, 1]) == 0.5


def test_a_truth_in_single_precision_matches_the_classes():
    labels = gq.Labels([0, 1], [0.1, 0.2])
    truth = np.array([0.1, 0.2, 0.1, 0.2], dtype=np.float32)
    assert labels.accuracy(np.array([0.1, 0.2, 0.1, 0.2]), truth) == 1.0
    assert gq.brier_score([[1.0, 0.0], [0.0, 1.0]], truth[:2], [0.1, 0.2]) == 0


@pytest.fixture(scope="module", name="moons")
def two_moons():
    return gq.datasets.two_moons(300, d=4, seed=0)[0]


@pytest.mark.parametrize("value", [1e18, 9.97e36, -1e20])
def test_a_fill_value_costs_other_items_no_edge_and_is_named(moons, value):
    filled = moons.copy()
    filled[7, 1] = value
    kept = np.delete(np.arange(300), 7)
    with pytest.warns(RuntimeWarning, match=r"row 7, column 1 of X is .*dwarfs 299 other values"):
        graph = gq.knn_graph(filled, 10)
    alone, beside = (
        (found.adjacency[kept][:, kept] > 0) for found in (gq.knn_graph(moons, 10), graph)
    )
    assert alone.multiply(beside).nnz / alone.nnz > 0.99


@pytest.mark.parametrize(
    "build",
    [
        lambda X: gq.full_graph(X),
        lambda X: gq.epsilon_graph(X, 1.0),
        lambda X: gq.pca(X, 2),
    ],
)
def test_every_graph_names_a_fill_value(moons, build):
    filled = moons.copy()
    filled[:3, :2] = -9999.0
    with pytest.warns(RuntimeWarning, match=r"row 0, column 0 of X is -9999.* 1 other column has"):
        build(filled)


def test_heavy_tails_and_rare_values_do_not_dwarf():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.lognormal(0, 2, 5000),
            rng.standard_cauchy(5000),
            rng.random(5000) < 0.001,
            rng.poisson(0.01, 5000),
            np.zeros(5000),
            rng.lognormal(0, 1, 5000).round(),
            rng.geometric(0.3, 5000),
        ]
    )
    assert not find_dwarfing(X, np.median(X, axis=0)).column.size
    for first in range(0, 1500, 100):  # pixels at the border are 0 in most images
        pixels = gq.datasets.digits()[0][first : first + 300]
        assert not find_dwarfing(pixels, np.median(pixels, axis=0)).column.size


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_array.toarray])
def test_an_edge_that_dwarfs_all_others_is_named(moons, form):
    A = gq.knn_graph(moons, 10).adjacency.tolil()
    A[3, 250] = A[250, 3] = 1e3
    with pytest.warns(RuntimeWarning, match=r"edge \(3, 250\) has weight 1000, .* 0\.9"):
        gq.Graph(form(A.tocsr()))


@pytest.mark.parametrize("weight", [1e3, 1e300])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_one_edge_may_dwarf_the_few_others(weight, form):
    few = np.ones((5, 5)) - np.eye(5)
    few[0, 1] = few[1, 0] = weight
    with pytest.warns(RuntimeWarning, match=r"edge \(0, 1\) has weight .* at most 1: it outweighs"):
        gq.Graph(form(few))
    few[2, 3] = few[3, 2] = weight  # two of ten are no exceptions
    gq.Graph(form(few))


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_weights_whose_sums_overflow_are_refused(form):
    with pytest.raises(ValueError, match=r"a weight is 1\.7e\+308, .* overflow: multiply"):
        gq.Graph(form(1.7e308 * (np.ones((5, 5)) - np.eye(5))))


def test_a_graph_that_nearly_falls_apart_is_said_to():
    A = np.ones((10, 10)) - np.eye(10)
    A[:3, 3:] *= 1e-10
    A[3:, :3] *= 1e-10
    with pytest.warns(RuntimeWarning, match=r"lambda_1 = .*; 3 nodes, first node 0, are attached"):
        gq.Spectrum.of(A, 3)


def test_a_dense_graph_is_solved_for():
    graph = gq.Graph(A)
    prior = gq.SolvedPrior.of(graph, [0, 1], rank=1, probes=200)
    exact = gq.Prior.full(graph).covariance(range(4), [0, 1])
    np.testing.assert_allclose(prior.columns, exact, atol=0.05)


@pytest.mark.parametrize("model", [gq.Probit, lambda gamma: gq.NoisyProbit(gamma, 0.1)])
def test_noise_in_which_the_field_is_lost_is_refused(model):
    with pytest.raises(ValueError, match=r"gamma must be .*got 1e\+90; .*larger noise leaves"):
        model(1e90)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gq.Graph(nx.Graph()), ValueError, "the networkx graph has 0 nodes, and at least"),
        (lambda: gq.Graph(None), TypeError, "adjacency must be a numeric matrix.* got NoneType"),
        (lambda: gq.Graph([[0, 1], [1]]), TypeError, "got list"),
        (
            lambda: gq.evidence(gq.Graph(A), gq.Probit(0.1), gq.Labels([0, 1], [0, 1])),
            TypeError,
            r"or gq\.tune\(graph, labels\)\.prior, which the labels choose, got Graph",
        ),
        (lambda: gq.from_arviz(5), ValueError, "not a result of graphuq: got int"),
        (lambda: gq.from_arviz({}), ValueError, "not a result of graphuq: 'node_summary' is miss"),
    ],
)
def test_what_came_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_folder_is_no_missing_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        gq.load(tmp_path)


def test_a_data_frame_of_weights_names_the_nodes():
    A, names = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0.0]]), ["ann", "bob", "cy"]
    for index, columns in ((names, names), (names, None), (None, names)):
        graph = gq.Graph(pd.DataFrame(A, index, columns))
        assert graph.nodes.tolist() == names
        assert gq.Labels({"cy": 1, "ann": 0}, graph).nodes.tolist() == [0, 2]
    assert gq.Graph(pd.DataFrame(A)).nodes.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="must have the same names in the same order"):
        gq.Graph(pd.DataFrame(A, names, names[::-1]))
