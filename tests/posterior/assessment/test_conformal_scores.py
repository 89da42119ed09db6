"""Adaptive and diffused conformal scores: by hand, by other packages, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from references.mutation import mutated

import graphuq as gq
from graphuq.posterior.assessment import prediction_sets as module
from graphuq.posterior.assessment.prediction_sets import conformal_scores, prediction_sets


def draw(rng, n, n_classes, sharpness=1.0):
    """Return probabilities, right if the sharpness is 1, true classes, and a graph."""
    X = rng.normal(size=(n, 2))
    q = np.exp(1.5 * X @ rng.normal(size=(2, n_classes)))
    q /= q.sum(axis=1, keepdims=True)
    y = (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    y[:n_classes] = np.arange(n_classes)
    p = q**sharpness
    return p / p.sum(axis=1, keepdims=True), y, gq.knn_graph(X, n_neighbors=5)


def test_scores_by_loops():
    rng = np.random.default_rng(0)
    p, _, graph = draw(rng, 30, 4)
    u = rng.random(30)
    adaptive, diffused = np.empty(p.shape), np.empty(p.shape)
    for i in range(30):
        for k in range(4):
            adaptive[i, k] = sum(p[i, m] for m in range(4) if p[i, m] > p[i, k]) + u[i] * p[i, k]
    A = graph.adjacency.toarray()
    for i in range(30):
        around = sum(A[i, j] * adaptive[j] for j in range(30)) / A[i].sum()
        diffused[i] = 0.5 * adaptive[i] + 0.5 * around
    np.testing.assert_allclose(conformal_scores(p, "aps", None, u), adaptive)
    np.testing.assert_allclose(conformal_scores(p, "daps", graph, u), diffused)


def test_a_node_without_neighbors_keeps_its_own():
    p = np.array([[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
    graph = gq.Graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    u = np.full(3, 0.5)
    alone = conformal_scores(p, "aps", None, u)[2]
    np.testing.assert_array_equal(conformal_scores(p, "daps", graph, u)[2], alone)


def covered(make, kind, coverage=0.85, n=17, sharpness=3.0, splits=200):
    rng = np.random.default_rng(5)
    shares = []
    for seed in range(splits):
        p, y, graph = draw(rng, 80, 3, sharpness)
        nodes = 3 + rng.permutation(77)[:n]
        given = gq.Labels([0, 1, 2], [0, 1, 2])
        held_out = gq.Labels(nodes, y[nodes], [0, 1, 2])
        graph = graph if kind == "daps" else None
        result = make(p, given, held_out, coverage, seed=seed, score=kind, graph=graph)
        shares.append(result.coverage(y))
    return np.mean(shares), np.std(shares) / np.sqrt(splits)


@pytest.mark.parametrize("kind", ["aps", "daps"])
def test_coverage_is_the_nominal_one(kind):
    share, error = covered(prediction_sets, kind)
    assert abs(share - 16 / 18) < 4 * error


def test_scores_of_the_held_out_alone_miss_it(monkeypatch):
    """Scores must not know which nodes are held out: those without their random share do."""

    def wrong(p, kind, graph, u):
        scores = conformal_scores(p, kind, graph, u)
        return np.where(np.arange(len(p))[:, None] % 2 == 0, scores, scores + u[:, None])

    monkeypatch.setattr("graphuq.posterior.assessment.prediction_sets.conformal_scores", wrong)
    rng = np.random.default_rng(5)
    shares = []
    for seed in range(200):
        p, y, _ = draw(rng, 80, 3, 3.0)
        nodes = 4 + 2 * rng.permutation(38)[:17]  # even nodes only
        held_out = gq.Labels(nodes, y[nodes], [0, 1, 2])
        given = gq.Labels([0, 1, 2], [0, 1, 2])
        result = prediction_sets(p, given, held_out, 0.85, seed=seed, score="aps")
        shares.append(result.coverage(y))
    assert np.mean(shares) < 16 / 18 - 5 * np.std(shares) / np.sqrt(200)


def test_adaptive_sets_cover_hard_nodes_too():
    """Where the largest probability is small, 1 - p covers less than it says."""
    rng = np.random.default_rng(1)
    found = {"probability": [], "aps": []}
    for seed in range(60):
        p, y, _ = draw(rng, 600, 6)
        nodes = 6 + rng.permutation(594)[:200]
        held_out = gq.Labels(nodes, y[nodes], range(6))
        given = gq.Labels(range(6), range(6))
        free = np.setdiff1d(np.arange(600), np.append(nodes, range(6)))
        hard = free[p[free].max(axis=1) < 0.45]
        for kind, shares in found.items():
            sets = prediction_sets(p, given, held_out, 0.8, seed=seed, score=kind).sets
            shares.append(sets[hard, y[hard]].mean())
    assert abs(np.mean(found["aps"]) - 0.8) < 0.03
    assert np.mean(found["probability"]) < 0.75


@pytest.mark.filterwarnings("ignore")
def test_scores_are_those_of_mapie():
    sets = pytest.importorskip("mapie.conformity_scores.sets")
    p, y, _ = draw(np.random.default_rng(2), 200, 4)
    score = sets.APSConformityScore()
    score.set_external_attributes(classes=np.arange(4), random_state=7)
    theirs = score.get_conformity_scores(y, p.copy(), y_enc=y).ravel()
    u = np.random.RandomState(7).uniform(size=200)
    # their random share is taken away from the whole
    ours = conformal_scores(p, "aps", None, 1 - u)[np.arange(200), y]
    np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("kind", ["probability", "aps", "daps"])
def test_sets_are_those_of_crepes(kind):
    crepes = pytest.importorskip("crepes")
    rng = np.random.default_rng(3)
    p, y, graph = draw(rng, 150, 4)
    nodes = 4 + rng.permutation(146)[:41]
    held_out, given = gq.Labels(nodes, y[nodes], range(4)), gq.Labels(range(4), range(4))
    graph = graph if kind == "daps" else None
    ours = prediction_sets(p, given, held_out, 0.9, seed=11, score=kind, graph=graph)
    both = np.random.default_rng(np.random.SeedSequence(11))
    both.random(size=150)  # for ties, of which there are none
    scores = conformal_scores(p, kind, graph, both.random(size=150))
    peer = crepes.ConformalClassifier().fit(scores[nodes, y[nodes]])
    free = np.setdiff1d(np.arange(150), ours.known.nodes)
    theirs = peer.predict_set(scores[free], confidence=0.9, smoothing=False)
    np.testing.assert_array_equal(ours.sets[free], np.asarray(theirs, dtype=bool))
    assert 0 < ours.sets[free].mean() < 1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("above + ...", "u[:, None] * sorted_p"),
        ("np.cumsum(sorted_p, axis=1) - sorted_p", "0 * sorted_p"),
    ],
)
def test_wrong_scores_differ(right, wrong):
    p, _, _ = draw(np.random.default_rng(4), 20, 3)
    u = np.full(20, 0.3)
    made = mutated(module.conformal_scores, right, wrong)(p, "aps", None, u)
    assert abs(made - conformal_scores(p, "aps", None, u)).max() > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "raps"}, "score must be"),
        ({"score": "daps"}, "needs the graph"),
        ({"graph": gq.Graph(np.ones((3, 3)) - np.eye(3))}, "do not use one"),
        ({"score": "daps", "graph": gq.Graph(np.ones((3, 3)) - np.eye(3))}, "3 nodes"),
        ({"score": "daps", "graph": [[0, 1], [1, 0]]}, "gq.Graph"),
    ],
)
def test_bad_scores_are_refused(options, message):
    p, y, _ = draw(np.random.default_rng(6), 60, 2)
    given, held_out = gq.Labels([0, 1], [0, 1]), gq.Labels(np.arange(2, 40), y[2:40], [0, 1])
    with pytest.raises((ValueError, TypeError), match=message):
        prediction_sets(p, given, held_out, 0.8, **options)
