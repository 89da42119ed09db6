"""Hostile values in every argument of the public functions.

A call either works or is refused at once, by a `raise` statement of graphuq with a message. Errors
that come from inside NumPy, such as "operands could not be broadcast", are failures: they name
neither the argument nor a remedy.
"""

from __future__ import annotations

import contextlib
import decimal
import fractions
import json
import linecache
import time
import traceback
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import graphuq as gq

# Exceptions that the docstrings name.
DOCUMENTED = (ValueError, TypeError, MemoryError, OSError, RuntimeError)

# Packages whose refusals are taken for graphuq's own: scikit-learn checks data of estimators.
REFUSING = ("graphuq", "sklearn")

# Longest wall time of a call in seconds, on a busy machine.
LIMIT = 20.0

N = 30
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 3)), np.arange(N) % 2
GRAPH = gq.knn_graph(X, 5, connect=True)
SPECTRUM = gq.Spectrum.of(GRAPH)
LABELS = gq.Labels([0, 1, 2, 3, 8, 9], [0, 1, 0, 1, 0, 1])
PRIOR, FEATURES, PROBIT = gq.Prior.projected(SPECTRUM, 6), gq.FeaturePrior(X, 1.0), gq.Probit(0.3)
PROBLEM = {"prior": PRIOR, "likelihood": PROBIT, "labels": LABELS}
SHORT = {"draws": 4, "chains": 1, "warmup": 2, "seed": 0, "progress": False}
QUICK = gq.approximate(PRIOR, PROBIT, LABELS)
WEIGHTS = {"weights": "gaussian", "tau": 1.0, "n_neighbors": 4}
PRIOR_OPTIONS = {"graph": GRAPH, "alpha": 1.0, "tau": 0.1, "null_mode": True}
FORECASTS = {"probabilities": RNG.dirichlet([1, 1], size=N), "truth": Y, "classes": [0, 1]}
SUM = {"parts": (PRIOR, FEATURES), "fractions": (0.5,), "level": 1.0}


def make_cells():
    """What `gq.annotate` reads of an AnnData object, and writes into."""
    cells = types.SimpleNamespace(obs=pd.DataFrame({"type": ["a", "b", "Unknown"] * (N // 3)}))
    cells.obsm, cells.obsp = {"X_pca": X}, {"connectivities": GRAPH.adjacency}
    cells.uns, cells.obs_names = {"neighbors": {}}, range(N)
    return cells


def fitting(classifier):
    def fit(graph, labels, X=None, **options):
        return classifier(**options).fit(graph, labels, **({} if X is None else {"X": X}))

    return fit


def all_of(function):
    return lambda **options: list(function(**options))


NETWORK = types.SimpleNamespace(edge_index=[[0, 1], [1, 2]], num_nodes=N, x=X, y=Y)
LISTS = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[::-1]
EXPORT = [
    {"data": {"graphuq_node": node}, "annotations": [{"result": [
        {"type": "choices", "from_name": "label", "value": {"choices": [choice]}}]}]}
    for node, choice in enumerate("ab")
]  # fmt: skip
ON_GRAPH = {"graph": GRAPH, "labels": LABELS}

# Each function with arguments that it takes.
CALLS = {
    "Graph": (gq.Graph, {"adjacency": GRAPH.adjacency, "nodes": np.arange(N)}),
    "knn_graph": (gq.knn_graph, {"X": X, **WEIGHTS, "symmetrise": "union", "connect": True}),
    "knn_graph of lists": (gq.knn_graph, {"neighbors": LISTS, "n_neighbors": 4}),
    "Graph.from_edge_index": (
        gq.Graph.from_edge_index,
        {"edge_index": [[0, 1], [1, 2]], "edge_weight": [1.0, 2.0], "n_nodes": N},
    ),
    "from_pyg": (gq.from_pyg, {"data": NETWORK, "split": None}),
    "epsilon_graph": (gq.epsilon_graph, {"X": X, **WEIGHTS, "radius": 2.0}),
    "full_graph": (gq.full_graph, {"X": X, **WEIGHTS, "self_loops": False}),
    "pca": (gq.pca, {"X": X, "n_components": 2}),
    "annotate": (
        lambda **options: gq.annotate(make_cells(), **options),
        {"label": "type", "neighbors_key": "neighbors", "use_rep": "X_pca", "unknown": ["Unknown"],
         "reject": 0.2, "ask": 1, "key_added": "a", "likelihood": PROBIT, "graph_weight": 0.5,
         "method": "approximate", "seed": 0},
    ),
    "annotate cells": (
        lambda adata: gq.annotate(adata, "type", method="approximate"),
        {"adata": make_cells()},
    ),
    "union": (gq.union, {"graph_a": GRAPH, "graph_b": GRAPH}),
    "nystrom": (
        gq.nystrom,
        {"X": X, "rank": 4, **WEIGHTS, "n_landmarks": 10, "landmarks": "kmeans", "seed": 0},
    ),
    "Labels": (gq.Labels, {"nodes": [0, 1, 2], "values": [0, 1, 0], "classes": [0, 1]}),
    "Labels with confidence": (
        gq.Labels,
        {"nodes": [0, 1, 2], "values": [0, 1, 0], "confidence": [0.9, 1.0, 0.6]},
    ),
    "Labels.from_annotators": (
        gq.Labels.from_annotators,
        {"frame": [[0, 1], [1, 1], [0, 0]], "rates": [0.1, 0.2], "classes": [0, 1], "seed": 0},
    ),
    "krippendorff_alpha": (
        gq.krippendorff_alpha,
        {"frame": [["a", "b"], ["a", "a"], ["b", "b"]], "classes": ["a", "b"]},
    ),
    "annotator_rates": (
        gq.annotator_rates,
        {"frame": [[0, 1], [1, 1], [0, 0]], "probabilities": [[0.5, 0.5]] * 3, "classes": [0, 1],
         "draws": 5, "seed": 0},
    ),
    "Labels.of": (gq.Labels.of, {"labels": [0, 1, -1], "n_nodes": 3, "classes": [0, 1]}),
    "Labels.split": (LABELS.split, {"held_out": 0.5, "seed": 0}),
    "Labels.accuracy": (LABELS.accuracy, {"prediction": Y, "truth": Y}),
    "Labels.unlabelled_truth": (LABELS.unlabelled_truth, {"truth": Y, "n_nodes": N}),
    "reveal": (gq.reveal, {"y": Y, "fraction": 0.2, "seed": 0}),
    "reveal counts": (gq.reveal, {"y": Y, "counts": 2}),
    "Spectrum.of": (gq.Spectrum.of, {"graph": GRAPH, "rank": 4, "laplacian": "normalized"}),
    "Spectrum.truncated": (SPECTRUM.truncated, {"rank": 3}),
    "Prior.full": (gq.Prior.full, PRIOR_OPTIONS),
    "Prior.projected": (gq.Prior.projected, {**PRIOR_OPTIONS, "rank": 4}),
    "Prior.approximated": (gq.Prior.approximated, {**PRIOR_OPTIONS, "rank": 4, "lambda_bar": 1.0}),
    "Prior.with_parameters": (PRIOR.with_parameters, {"alpha": 1.0, "tau": 0.1, "rank": 3}),
    "Prior.covariance": (PRIOR.covariance, {"rows": [0, 1], "columns": [2]}),
    "Prior.at": (PRIOR.at, {"nodes": [0, 1]}),
    "Prior.draw": (PRIOR.draw, {"size": 2, "seed": 0}),
    "FeaturePrior": (gq.FeaturePrior, {"X": X, "length_scale": 1.0}),
    "PropagatedFeatures": (gq.PropagatedFeatures, {"X": X, "graph": GRAPH, "hops": 2}),
    "default_prior": (gq.default_prior, {"graph": GRAPH, "X": X, "labels": LABELS}),
    "Level": (gq.Level, {"scale": 1.0}),
    "ComponentLevel": (gq.ComponentLevel, {"graph": GRAPH}),
    "SumPrior": (gq.SumPrior, SUM),
    "SumPrior.of": (gq.SumPrior.of, {"terms": [PRIOR, FEATURES, gq.Level(1)], "weights": [1, 2]}),
    "SumPrior.with_parameters": (
        gq.SumPrior(**SUM).with_parameters,
        {"alpha": 1.0, "length_scale": 1.0, "weight": 0.2, "level": 0.1},
    ),
    "SumPrior.draw": (gq.SumPrior(**SUM).draw, {"size": 2, "seed": 0}),
    "SolvedPrior.of": (
        gq.SolvedPrior.of,
        {"graph": GRAPH, "nodes": [0, 1, 2, 3], "rank": 4, "probes": 10, "seed": 0, "threads": 1},
    ),
    "Probit": (gq.Probit, {"gamma": 0.1}),
    "LevelSet": (gq.LevelSet, {"gamma": 1.0}),
    "NoisyProbit": (gq.NoisyProbit, {"gamma": 0.1, "flip_rate": 0.1}),
    "GinzburgLandau": (gq.GinzburgLandau, {"epsilon": 1.0, "gamma": 0.5}),
    "check_likelihood": (gq.check_likelihood, {"likelihood": PROBIT, "seed": 0}),
    "PCN": (gq.PCN, {"beta": 0.3, "target_acceptance": 0.25, "thin": 2}),
    "EllipticalSlice": (gq.EllipticalSlice, {"thin": 2}),
    "Harmonic": (gq.Harmonic, {"thin": 1}),
    "HilbertHMC": (gq.HilbertHMC, {"step_size": 0.1, "target_acceptance": 0.9, "path": 1.0}),
    "PreconditionedHMC": (
        gq.PreconditionedHMC,
        {"step_size": 0.1, "target_acceptance": 0.9, "path": 1.0},
    ),
    "Tempered": (gq.Tempered, {"base": gq.PCN(), "replicas": 3, "thin": 1}),
    "sample": (
        gq.sample,
        {**PROBLEM, **SHORT, "sampler": "auto", "thin": 1, "nodes": [1], "threads": 1},
    ),
    "sample with a checkpoint": (gq.sample, {**PROBLEM, **SHORT, "checkpoint": None}),
    "sample_jointly": (gq.sample_jointly, {**PROBLEM, **SHORT, "alpha": (1, 3), "gamma": (0.1, 1)}),
    "tune": (gq.tune, {**PROBLEM, "gamma": (0.1, 1.0)}),
    "evidence": (gq.evidence, {**PROBLEM, "seed": 0}),
    "annealed_evidence": (
        gq.annealed_evidence,
        {**PROBLEM, "draws": 10, "chains": 2, "seed": 0, "threads": 1},
    ),
    "approximate": (gq.approximate, {**PROBLEM, "start": QUICK}),
    "map_estimate": (
        gq.map_estimate,
        {**PROBLEM, "method": "auto", "start": "auto", "tol": 1e-3, "max_iter": 100, "seed": 0},
    ),
    "brier_score": (gq.brier_score, FORECASTS),
    "calibrate": (gq.calibrate, {**FORECASTS, "n_bins": 5, "seed": 0}),
    "expected_calibration_error": (gq.expected_calibration_error, {**FORECASTS, "n_bins": 5}),
    "compare": (
        gq.compare,
        {**ON_GRAPH, "truth": Y, "methods": [gq.LaplaceLearning()], "X": X, "seed": 0},
    ),
    "LaplaceLearning": (fitting(gq.LaplaceLearning), {**ON_GRAPH, "max_iter": 10}),
    "PageRankSSL": (fitting(gq.PageRankSSL), {**ON_GRAPH, "sigma": 1.0, "alpha": 0.9}),
    "GDPCA": (
        fitting(gq.GDPCA),
        {**ON_GRAPH, "X": X, "sigma": 1.0, "alpha": 0.9, "delta": 1e-3, "solver": "auto"},
    ),
    "BelkinNiyogi": (fitting(gq.BelkinNiyogi), {**ON_GRAPH, "n_eigenvectors": 3}),
    "FiedlerClustering": (fitting(gq.FiedlerClustering), {**ON_GRAPH, "laplacian": "normalized"}),
    "LaplacianKernel": (
        fitting(gq.LaplacianKernel),
        {**ON_GRAPH, "scaling": "kernel", "alpha": 0.1, "reg": 1e-3, "rank": 4, "seed": 0},
    ),
    "RobustGC": (fitting(gq.RobustGC), {**ON_GRAPH, "eta": 0.9}),
    "ZhouGC": (fitting(gq.ZhouGC), {**ON_GRAPH, "gamma": 1.0}),
    "LabelledKFold": (
        lambda X, y, **options: list(gq.LabelledKFold(**options).split(X, y)),
        {"X": X, "y": Y, "n_splits": 3, "seed": 0},
    ),
    "BayesianGraphClassifier": (
        lambda X, y, **options: gq.BayesianGraphClassifier(**options).fit(X, y),
        {"X": X, "y": Y, "likelihood": PROBIT, "affinity": "self-tuning", "n_neighbors": 4,
         "rank": 5, "alpha": 1.0, "graph_weight": 1.0, "level": 0.0, "method": "approximate"},
    ),
    "accuracy": (QUICK.accuracy, {"truth": Y}),
    "calibration": (QUICK.calibration, {"truth": None, "n_bins": 5, "seed": 0}),
    "latent_draws": (
        all_of(QUICK.latent_draws),
        {"prior": PRIOR, "nodes": [1], "draws": 3, "seed": 0},
    ),
    "prediction_sets": (
        QUICK.prediction_sets,
        {"held_out": gq.Labels(np.arange(10, 24), Y[10:24]), "coverage": 0.5, "seed": 0},
    ),
    "prediction_sets daps": (
        QUICK.prediction_sets,
        {"held_out": gq.Labels(np.arange(10, 24), Y[10:24]), "coverage": 0.5, "score": "daps",
         "graph": GRAPH},
    ),
    "pred_probs": (QUICK.pred_probs, {"prior": PRIOR, "mistakes": False}),
    "find_mistakes": (gq.find_mistakes, {"post": QUICK, "prior": PRIOR}),
    "suspect_labels": (QUICK.suspect_labels, {"false_discovery_rate": 0.2}),
    "ranking": (QUICK.ranking, {"by": "entropy"}),
    "suggest": (QUICK.suggest, {"k": 2, "method": "bald", "prior": PRIOR, "candidates": 10}),
    "suggest with scores": (QUICK.suggest, {"return_scores": True}),
    "label_studio.write": (
        gq.label_studio.write,
        {"path": "tasks.json", "post": QUICK, "data": [{"text": "x"}] * N, "k": 2,
         "from_name": "label", "to_name": "text", "method": "bald"},
    ),
    "label_studio.read": (
        gq.label_studio.read,
        {"export": "export.json", "classes": ["a", "b"], "from_name": "label"},
    ),
    "with_class_shares": (
        QUICK.with_class_shares,
        {"class_shares": {0: 0.4, 1: 0.6}, "strength": 5.0},
    ),
    "class_shares": (QUICK.class_shares, {"groups": Y, "prior": PRIOR, "seed": 0}),
    "with_names": (QUICK.with_names, {"names": list(range(N))}),
    "save": (QUICK.save, {"path": "again.nc"}),
    "load": (gq.load, {"path": "quick.nc"}),
    "to_arviz": (QUICK.to_arviz, {"classifiers": {}}),
}  # fmt: skip


def serve_and_stop(**options):
    gq.label(**options).stop()


CALLS["label"] = (
    serve_and_stop,
    {
        "graph": GRAPH,
        "items": ["text"] * N,
        "answers": "labels.csv",
        "classes": ["a", "b"],
        "names": [f"n{k}" for k in range(N)],
        "features": X,
        "linked": False,
        "labels": LABELS,
        "likelihood": PROBIT,
        "rank": 6,
        "spectrum": SPECTRUM,
        "threshold": 0.9,
        "goal": 0.9,
        "risk": 0.1,
        "seed": 0,
        "who": "Ada",
        "question": "Which?",
        "guidelines": None,
        "host": "127.0.0.1",
        "port": 0,
        "open_browser": False,
    },
)

ARGUMENTS = [(name, argument) for name, (_, options) in CALLS.items() for argument in options]

HOSTILE = [
    None, True, "", "x", "auto", b"x", 1j, object(), int, gq.Probit, pd.NA, np.bool_(True),
    np.nan, np.inf, -np.inf, np.float32("nan"), np.datetime64("NaT", "D"), decimal.Decimal("NaN"),
    fractions.Fraction(1, 3), -1, 0, 2**63, 2**70, 10**400, 1e308, 5e-324, -1e308,
    [], [1], [None], [np.nan], [[]], [[1], [1, 2]], (1, 0), (np.nan, 1), ("a", "b"), {}, {1, 2},
    [-1, 0], [0, 10**6], [1, 1], [0.5], [[0, 1]], [True] * N, [2**70] * N,
    np.array(3), np.array(["a"]), np.zeros((0, 0)), np.zeros((0, 3)), np.zeros((3, 0)),
    np.zeros((N, 3)), np.full((N, 3), np.nan), np.full((N, N), np.nan), np.full((N, 3), 1e200),
    np.full((N, N), 1e300), np.full((N, N), 5e-324), -np.ones((N, N)), np.ones((N, N), dtype=bool),
    np.zeros((N, 2, 2)), X + 1j, np.full((N, 3), "a"), np.array([[1, "a", None]] * N, dtype=object),
    np.array([1, "a", None] * 10, dtype=object), np.full(N, 2**64 - 1, dtype=np.uint64),
    np.full((N, 3), np.datetime64("2020")), np.zeros(N, dtype=[("a", float)]), np.arange(N),
    np.ma.array(X, mask=X > 0), pd.DataFrame({"a": ["x"] * N}), pd.Series([1, None] * (N // 2)),
    sparse.csr_array((0, 0)), sparse.eye_array(N).tocsr(), sparse.csr_array(np.diag([np.nan] * N)),
    gq.Labels([0, 100], [0, 1]), gq.Labels([0, 1, 2], ["a", "b", "c"]), FEATURES, gq.Probit(),
    gq.Prior.projected(SPECTRUM, 4, alpha="auto"), gq.GinzburgLandau(1.0, 0.5), QUICK,
    gq.Prior.projected(gq.knn_graph(X[:9], 3, connect=True), 3), PRIOR + gq.Level(1.0),
]  # fmt: skip

generated = st.one_of(
    st.integers(-(2**70), 8),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.one_of(st.integers(-2, 40), st.floats(), st.none()), max_size=4),
    npst.arrays(npst.scalar_dtypes(), npst.array_shapes(min_dims=0, max_dims=3, min_side=0)),
)


def fault(function, options, again=True):
    """Return what is wrong with how a call ends, or None.

    A slow call is made ``again``, since the first one may compile.
    """
    begun = time.perf_counter()
    try:
        function(**options)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        if not isinstance(error, DOCUMENTED):
            return f"{type(error).__name__} in {last.filename}, line {last.lineno}: {error}"
        if not str(error).strip():
            return f"{type(error).__name__} without a message"
        frames = traceback.extract_tb(error.__traceback__)
        own = any(f"/{name}/" in frame.filename for frame in frames for name in REFUSING[1:])
        line = linecache.getline(last.filename, last.lineno).strip()
        deliberate = line.startswith("raise") and "/graphuq/" in last.filename
        if not (own or deliberate):
            return f"not refused, but failed in {last.filename}, line {last.lineno}: {error}"
    seconds = time.perf_counter() - begun
    if seconds <= LIMIT:
        return None
    return fault(function, options, again=False) if again else f"took {seconds:.0f} s"


def check(call, value):
    name, argument = call
    function, options = CALLS[name]
    found = fault(function, {**options, argument: value})
    assert found is None, f"{name}({argument}={value!r}): {found}"


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """Some values name files."""
    with contextlib.chdir(tmp_path_factory.mktemp("fuzz")):
        QUICK.save("quick.nc")
        Path("export.json").write_text(json.dumps(EXPORT), encoding="utf-8")
        yield


calls = st.sampled_from(ARGUMENTS)
values = st.one_of(st.sampled_from(HOSTILE), generated)


@given(calls, values)
@settings(max_examples=500, derandomize=True)
def test_hostile_values_are_refused(call, value):
    check(call, value)


@pytest.mark.slow
@given(calls, values)
@settings(max_examples=1500)
def test_many_hostile_values_are_refused(call, value):
    check(call, value)


# Arguments in which a masked entry is a missing label, which are names, or which nothing reads here
MAY_MISS = [("Labels.of", "labels"), ("LabelledKFold", "y"), ("BayesianGraphClassifier", "y")]
NAMES = [("Graph", "nodes"), ("with_names", "names")]
UNREAD = [("LabelledKFold", "X"), ("compare", "X")]


def spoiled():
    """Yield each array among the arguments with a masked entry, and with an imaginary part."""
    for name, (_, options) in CALLS.items():
        for argument, value in options.items():
            array = np.asarray(value) if isinstance(value, list | np.ndarray) else np.empty(0, "O")
            if array.dtype.kind not in "iuf" or (name, argument) in UNREAD:
                continue
            if (name, argument) not in MAY_MISS:
                mask = np.arange(array.size).reshape(array.shape) == array.size - 1
                yield pytest.param(name, argument, np.ma.array(array, mask=mask), id=f"{name}-mask")
            if (name, argument) not in NAMES:
                yield pytest.param(name, argument, array + 1j, id=f"{name}-complex")


@pytest.mark.parametrize(("name", "argument", "value"), list(spoiled()))
def test_no_mask_or_imaginary_part_is_ignored(name, argument, value):
    function, options = CALLS[name]
    with pytest.raises((TypeError, ValueError)):
        function(**{**options, argument: value})


@pytest.mark.parametrize("name", CALLS)
def test_the_values_that_are_replaced_are_taken(name):
    """Otherwise a call might be refused for another argument than the hostile one."""
    function, options = CALLS[name]
    function(**options)


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda: None.shape, "AttributeError"),
        (lambda: np.zeros(2) @ np.zeros(3), "not refused, but failed"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "not refused, but failed"),
        (lambda: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_is_no_refusal_is_found(function, found):
    assert found in fault(function, {})
    assert fault(gq.Probit, {"gamma": -1}) is None
