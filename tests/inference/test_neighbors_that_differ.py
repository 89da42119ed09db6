"""Graphs whose neighbors differ: modes of the signless Laplacian, taken by the evidence."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

import graphuq as gq
from graphuq.inference.evidence.evidence import evidence_of_shares
from graphuq.posterior.new_items import new_probability

tune_module = importlib.import_module("graphuq.inference.tune")


def planted(n_classes, share, seed, degree=12, n=240):
    """Return a graph with a share of its edges within classes of equal size, and the classes."""
    size = n // n_classes
    within, between = n_classes * share * degree / n, (1 - share) * degree / (n - size)
    return gq.datasets.planted_partition([size] * n_classes, within, between, seed=seed)


def scores(prior, labels, y):
    tuned = gq.tune(prior, labels)
    return tuned, gq.approximate(tuned.prior, tuned.likelihood, labels).calibration(y)


def laplacian(tuned):
    return tuned.prior.graph_part.spectrum.laplacian


@pytest.mark.parametrize(
    ("n_classes", "share", "kind", "least"),
    [
        (2, 0.0, "signless", 0.97),
        (2, 0.1, "signless", 0.95),
        (2, 0.9, "normalized", 0.95),
        (3, 0.0, "signless", 0.8),
        (3, 0.8, "normalized", 0.9),
    ],
)
def test_the_evidence_says_whether_neighbors_agree(n_classes, share, kind, least):
    graph, y = planted(n_classes, share, seed=1)
    labels = gq.reveal(y, counts=10, seed=1)
    tuned, score = scores(graph, labels, y)
    assert laplacian(tuned) == kind
    assert score.accuracy > least
    # a spectrum is taken as it is, and smooth modes predict nothing where neighbors differ
    smooth, other = scores(gq.Spectrum.of(graph), labels, y)
    assert laplacian(smooth) == "normalized"
    assert (other.accuracy > least) == (kind == "normalized")
    if kind == "signless":
        assert tuned.log_evidence > smooth.log_evidence + 2
        assert score.log_score < np.log(n_classes) < other.log_score


def test_chance_does_not_keep_smooth_modes():
    """They have a little more evidence here than labels that say nothing of each other."""
    graph, y = planted(2, 0.1, seed=12, n=400)
    labels = gq.reveal(y, counts=10, seed=12)
    smooth = gq.tune(gq.Spectrum.of(graph, 300), labels)
    assert smooth.log_evidence > -20 * np.log(2)
    assert laplacian(gq.tune(graph, labels)) == "signless"


def test_a_little_more_evidence_is_not_enough():
    found = []
    for seed in range(100, 106):
        graph, y = planted(2, 0.4, seed, n=400)
        labels = gq.reveal(y, counts=10, seed=seed)
        kinds = (gq.Spectrum.of(graph, 300, kind) for kind in ("normalized", "signless"))
        smooth, other = (float(gq.tune(modes, labels).log_evidence) for modes in kinds)
        chosen = laplacian(gq.tune(graph, labels))
        assert (chosen == "signless") == (other > smooth + np.log(10))
        found.append(other > smooth)
    assert any(found)


def test_what_the_other_modes_cannot_do_leaves_the_smooth_ones(monkeypatch):
    graph, y = planted(2, 0.1, seed=0)
    labels = gq.reveal(y, counts=10, seed=0)
    climb = tune_module._climb

    def fails(prior, *rest):
        if prior.graph_part.spectrum.laplacian == "signless":
            raise RuntimeError("expectation propagation did not converge at any point")
        return climb(prior, *rest)

    monkeypatch.setattr(tune_module, "_climb", fails)
    assert laplacian(gq.tune(graph, labels)) == "normalized"


def test_several_components_keep_smooth_modes():
    graph, y = planted(2, 0.1, seed=0)
    both = gq.Graph(np.block([
        [graph.adjacency, np.zeros((240, 2))], [np.zeros((2, 240)), np.eye(2)[::-1]]
    ]))  # fmt: skip
    labels = gq.reveal(np.append(y, [0, 1]), counts=10, seed=0)
    assert laplacian(gq.tune(both, labels)) == "normalized"


def test_given_numbers_are_kept():
    graph, y = planted(2, 0.0, seed=0)
    labels = gq.reveal(y, counts=5, seed=0)
    tuned = gq.tune(graph, labels, alpha=2.0, level=0.5)
    assert laplacian(tuned) == "signless"
    assert (tuned.prior.graph_part.alpha, tuned.prior.level) == (2.0, 0.5)
    assert "signless" in repr(tuned.prior)


def test_covariance_is_that_of_the_dense_formula():
    graph, _ = planted(2, 0.1, seed=3, n=60)
    prior = gq.Prior.full(gq.Spectrum.of(graph, laplacian="signless"), alpha=2.0, tau=0.3)
    A = graph.adjacency
    d = A.sum(axis=1)
    S = np.eye(60) + A / np.sqrt(np.outer(d, d))
    q = np.sqrt(d / d.sum())
    value, Q = np.linalg.eigh(S + 10 * np.outer(q, q))
    C = (Q[:, :-1] * (value[:-1] + 0.09) ** -2.0) @ Q[:, :-1].T
    C *= 60 / np.trace(C)
    np.testing.assert_allclose(prior.law.covariance(), C, atol=1e-10)
    # neighbors are correlated negatively
    i, j = np.nonzero(A)
    assert C[i, j].mean() < -0.1


def test_a_bipartite_graph_has_its_two_sides():
    A = np.zeros((9, 9))
    A[:4, 4:] = np.random.default_rng(0).uniform(0.5, 1.5, (4, 5))
    spectrum = gq.Spectrum.of(A + A.T, laplacian="signless")
    assert spectrum.values[0] == 2e-6
    side = np.sign(spectrum.vectors[:, 0])
    np.testing.assert_array_equal(side, np.repeat([-side[4], side[4]], [4, 5]))
    # with tau = 0 that is nearly the whole prior
    draw = gq.Prior.full(spectrum).draw(1, seed=0)[0]
    np.testing.assert_allclose(abs(draw / spectrum.vectors[:, 0]).std(), 0, atol=0.05)


def test_a_new_item_differs_from_its_neighbors():
    graph, y = planted(2, 0.05, seed=2)
    kept, new = np.arange(240) % 12 > 0, np.arange(240) % 12 == 0
    A = sparse.csr_array(graph.adjacency)
    part = gq.Graph(A[kept][:, kept])
    labels = gq.reveal(y[kept], counts=10, seed=0)
    tuned = gq.tune(part, labels)
    assert laplacian(tuned) == "signless"
    post = gq.approximate(tuned.prior, tuned.likelihood, labels)
    links = A[new][:, kept]
    found = new_probability(post, tuned.prior, part.degrees, links)
    assert (found.argmax(axis=1) == y[new]).mean() > 0.9


@pytest.mark.parametrize("counts", [(3, 4), (0, 5), (10, 10), (1, 30)])
def test_evidence_of_shares(counts):
    n, m = counts
    uniform = gammaln(n + 1) + gammaln(m + 1) - gammaln(n + m + 2)
    assert evidence_of_shares(np.array(counts)) == pytest.approx(max(uniform, -(n + m) * np.log(2)))


def test_a_file_keeps_the_laplacian(tmp_path):
    graph, _ = planted(2, 0.1, seed=0)
    spectrum = gq.Spectrum.of(graph, 20, "signless")
    spectrum.save(tmp_path / "modes.npz")
    assert gq.Spectrum.load(tmp_path / "modes.npz").laplacian == "signless"
    again = gq.Spectrum.load(tmp_path / "modes.npz", graph, "signless")
    np.testing.assert_array_equal(again.vectors, spectrum.vectors)
    assert again.truncated(5).laplacian == "signless"
    with pytest.raises(ValueError, match="other Laplacian: give laplacian='signless'"):
        gq.Spectrum.load(tmp_path / "modes.npz", graph)
    with pytest.raises(ValueError, match="laplacian must be one of"):
        gq.Spectrum([1.0], [[0.6], [-0.8]], [0.8, 0.6], laplacian="odd")
    with pytest.raises(ValueError, match="null_mode has no use"):
        gq.Prior.projected(spectrum, 10, tau=0.1, null_mode=True)
