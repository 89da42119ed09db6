"""Disconnected graphs: their modes, the levels of their components, and exact posteriors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.exact import class_probabilities, errors_in_mcse, exact_mean
from scipy import linalg, sparse

import graphuq as gq
from graphuq.cli.program import main
from graphuq.priors.default_sum import default_graph_prior, default_sum
from graphuq.report import reproduction
from graphuq.report.prior_rows import prior_rows


def disconnected(seed, sizes=(6, 4, 2, 1), form=np.asarray):
    """A weighted graph with components of these sizes, in a random order of the nodes."""
    rng = np.random.default_rng(seed)
    blocks = []
    for m in sizes:
        A = rng.random((m, m)) * (rng.random((m, m)) < 0.5)
        A[np.arange(m - 1), np.arange(1, m)] = 0.5 + rng.random(m - 1)  # a path through all
        A = np.triu(A, 1)
        blocks.append(A + A.T)
    where = rng.permutation(sum(sizes))
    return gq.Graph(form(linalg.block_diag(*blocks)[np.ix_(where, where)]))


def dense_covariance(graph, alpha, tau, weights, level):
    """The covariance of graph, component levels and level, from a dense eigendecomposition."""
    A = np.asarray(graph.adjacency.toarray() if graph.is_sparse else graph.adjacency)
    d = A.sum(axis=1)
    root = np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    L = np.diag((d > 0).astype(float)) - root[:, None] * A * root
    values, Q = np.linalg.eigh(L)
    kept = values > 1e-10
    C = (Q[:, kept] * (values[kept] + tau**2) ** -alpha) @ Q[:, kept].T
    C *= graph.n_nodes / np.trace(C)
    same = np.equal.outer(graph.component, graph.component)
    return weights[0] * C + weights[1] * same + level**2


def summed(graph, alpha=1.5, tau=0.4, weights=(0.6, 0.4), level=0.5):
    parts = [gq.Prior.full(graph, alpha=alpha, tau=tau), gq.ComponentLevel(graph), gq.Level(level)]
    return gq.SumPrior.of(parts, weights)


@given(
    seed=st.integers(0, 2**32 - 1),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
    laplacian=st.sampled_from(["normalized", "combinatorial"]),
)
@settings(max_examples=8, deadline=None)
def test_modes_are_those_of_the_dense_laplacian(seed, form, laplacian):
    graph = disconnected(seed, form=form)
    A = np.asarray(disconnected(seed).adjacency)
    d = A.sum(axis=1)
    scale = np.where(d > 0, d, 1) ** -0.5 if laplacian == "normalized" else np.ones(13)
    L = scale[:, None] * (np.diag(d) - A) * scale
    values = np.linalg.eigvalsh(L)

    whole, some = (gq.Spectrum.of(graph, rank, laplacian) for rank in (None, 5))

    assert (whole.n_components, whole.rank, some.rank) == (4, 9, 5)
    np.testing.assert_allclose(whole.values, values[4:], atol=1e-12)
    np.testing.assert_allclose(L @ whole.vectors, whole.vectors * whole.values, atol=1e-12)
    assert some.next_value == pytest.approx(values[9])
    assert whole.next_value == np.inf
    np.testing.assert_allclose(some.values, values[4:9], atol=1e-12)


def test_spectra_of_components_are_saved_and_shortened(tmp_path):
    graph = disconnected(0)
    spectrum = gq.Spectrum.of(graph)
    spectrum.save(tmp_path / "pairs.npz")
    again = gq.Spectrum.load(tmp_path / "pairs.npz", graph)
    for other in (again, again.truncated(3), gq.Spectrum.of(graph, 3, known=again)):
        np.testing.assert_array_equal(other.component, graph.component)
    with pytest.raises(ValueError, match=r"rank must be between 1 and 9, got 10; .*9 modes"):
        gq.Spectrum.of(graph, 10)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8, deadline=None)
def test_covariances_are_those_of_dense_matrices(seed):
    graph = disconnected(seed)
    expected = dense_covariance(graph, 1.5, 0.4, (0.6, 0.4), 0.5)
    prior, nodes = summed(graph), np.arange(13)
    np.testing.assert_allclose(prior.covariance(nodes, nodes), expected, atol=1e-10)
    np.testing.assert_allclose(prior.law.covariance(), expected, atol=1e-10)
    np.testing.assert_allclose(prior.variance(), np.diag(expected), atol=1e-10)
    some = np.array([1, 4, 12])
    F = prior.root(some)
    np.testing.assert_allclose(F @ F.T, expected[np.ix_(some, some)], atol=1e-10)
    wrong = dense_covariance(graph, 1.5, 0.4, (0.5, 0.5), 0.5)
    assert abs(prior.covariance(nodes, nodes) - wrong).max() > 0.01


def test_draws_have_the_covariance():
    graph = disconnected(0)
    draws, size = summed(graph).draw(40_000, seed=0), 40_000
    expected = dense_covariance(graph, 1.5, 0.4, (0.6, 0.4), 0.5)
    variance = np.diag(expected)
    error = np.sqrt((np.outer(variance, variance) + expected**2) / size)
    assert (abs(draws.T @ draws / size - expected) < 5 * error).all()


def labeled(graph, values):
    """Labels in the two largest components, so that two others have none."""
    nodes = [np.flatnonzero(graph.component == c)[k] for c, k in ((0, 0), (0, 3), (1, 1), (1, 2))]
    return gq.Labels(nodes[: len(values)], values, sorted(set(values)))


@pytest.mark.filterwarnings("ignore:2 of 4 components")
def test_two_classes_are_exact():
    graph = disconnected(0)
    prior, labels, model = summed(graph), labeled(graph, [1, 0, 1, 1]), gq.Probit(0.3)
    nodes = np.setdiff1d(np.arange(13), labels.nodes)
    exact = exact_mean(prior, model, labels, nodes)

    post = gq.sample(prior, model, labels, draws=4_000, seed=0, progress=False)
    quick = gq.approximate(prior, model, labels)

    assert errors_in_mcse(post, exact, nodes).max() < 4.5
    np.testing.assert_allclose(quick.mean[nodes], exact, atol=0.02)
    # a prior whose components have no level of their own is told apart
    other = exact_mean(summed(graph, weights=(1, 0)), model, labels, nodes)
    assert errors_in_mcse(post, other, nodes).max() > 20


@pytest.mark.filterwarnings("ignore:2 of 4 components")
def test_three_classes_are_exact():
    graph = disconnected(2, sizes=(5, 3, 2, 1))
    prior, labels = summed(graph), labeled(graph, ["a", "b", "c"])
    model = gq.Probit(0.3)
    unlabeled = np.setdiff1d(np.arange(11), labels.nodes)
    nodes = np.array([unlabeled[graph.component[unlabeled] == c][0] for c in range(4)])
    exact = class_probabilities(prior, labels, nodes, 0.3, np.inf)

    post = gq.sample(prior, model, labels, draws=4_000, seed=0, progress=False)
    quick = gq.approximate(prior, model, labels)

    error = np.sqrt(exact * (1 - exact) / 16_000)
    assert (abs(post.latent_by_class[nodes] - exact) / error).max() < 6
    np.testing.assert_allclose(quick.latent_by_class[nodes], exact, atol=0.04)
    other = class_probabilities(summed(graph, weights=(1, 0)), labels, nodes, 0.3, np.inf)
    assert (abs(post.latent_by_class[nodes] - other) / error).max() > 20


def test_components_without_labels_are_at_the_base_rate_and_said_to_be():
    graph = disconnected(0)
    labels = labeled(graph, [1, 1, 0, 1])
    bare = graph.component >= 2
    told = r"2 of 4 components have no label \(3 nodes, first node \d+\), and get the base rate"
    with pytest.warns(RuntimeWarning, match=told):
        post = gq.approximate(summed(graph, level=1.0), gq.Probit(0.3), labels)
    with pytest.warns(RuntimeWarning, match=told):
        even = gq.approximate(summed(graph, level=0.0), gq.Probit(0.3), labels)
    # three of four labels are of the second class, which only the level carries over
    assert (post.probability[bare] > 0.6).all()
    np.testing.assert_allclose(even.probability[bare], 0.5, atol=1e-12)
    each = [np.flatnonzero(graph.component == c)[0] for c in range(4)]
    gq.approximate(summed(graph), gq.Probit(0.3), gq.Labels(each, [0, 1, 1, 0]))  # says nothing


def test_a_graph_in_place_of_a_prior_may_be_disconnected():
    graph = gq.Graph(linalg.block_diag(*[[[0, 1], [1, 0]]] * 5, 0))
    labels = gq.Labels([0, 2, 4], [0, 1, 1])
    with pytest.warns(RuntimeWarning, match="3 of 6 components have no label"):
        post = gq.approximate(graph, gq.Probit(0.5), labels)
    # the mode of a pair opposes its nodes, and is left out
    np.testing.assert_array_equal(post.prediction[:6], [0, 0, 1, 1, 1, 1])
    assert "ComponentLevel(6 components)" in repr(post.prior)
    path = gq.Graph(linalg.block_diag(np.eye(6, k=1) + np.eye(6, k=-1), [[0, 1], [1, 0]]))
    kept = default_graph_prior(path, 6)
    assert kept.rank == 2
    assert kept.spectrum.values[-1] < 1
    summed_up = gq.tune(path, gq.Labels([0, 5, 6], [0, 1, 1])).prior
    assert repr(summed_up).startswith("0.5 Prior.projected(8 nodes, rank 2")


def with_strays(seed, n_classes, joined=False):
    """A connected graph and its labels; the same beside five nodes; where it is there."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(70) % n_classes)
    graph = gq.knn_graph(rng.standard_normal((70, 3)) + 2.0 * y[:, None], 8, connect=True)
    where = np.sort(rng.choice(75, 70, replace=False))
    others = np.setdiff1d(np.arange(75), where)
    A = np.zeros((75, 75))
    A[np.ix_(where, where)] = graph.adjacency.toarray()
    if joined:  # three of the five
        A[np.ix_(others[2:], others[2:])] = 1 - np.eye(3)
    labels = [gq.Labels(nodes[:20], y[:20], sampling="random") for nodes in (np.arange(70), where)]
    return (graph, labels[0]), (gq.Graph(A), labels[1]), where


def fixed(graph, labels):
    """The default prior with parameters that the labels do not choose."""
    modes = default_graph_prior(graph, graph.n_nodes - graph.n_components, 4.0, labels)
    return default_sum(modes, level=0.5, labels=labels)


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.sampled_from([2, 3]))
@settings(max_examples=8, deadline=None)
@pytest.mark.filterwarnings("ignore:expectation propagation", "ignore:5 of 6 components")
def test_nodes_without_edges_leave_the_others_as_they_are(seed, n_classes):
    (graph, labels), (whole, shifted), where = with_strays(seed, n_classes)
    alone = gq.approximate(graph, gq.Probit(), labels).by_class
    assert abs(gq.approximate(whole, gq.Probit(), shifted).by_class[where] - alone).max() < 0.01


@given(seed=st.integers(0, 2**32 - 1), n_classes=st.sampled_from([2, 3]))
@settings(max_examples=8, deadline=None)
@pytest.mark.filterwarnings("ignore:expectation propagation", "ignore:3 of 4 components")
def test_small_components_without_labels_hardly_change_the_others(seed, n_classes):
    """With the same parameters: the search for them may end at others that are as probable."""
    both = with_strays(seed, n_classes, joined=True)
    alone, found = (
        gq.approximate(fixed(*part), gq.Probit(0.1), part[1]).by_class for part in both[:2]
    )
    assert abs(found[both[2]] - alone).max() < 0.01


@pytest.mark.filterwarnings("ignore:expectation propagation", "ignore:5 of 6 components")
def test_levels_of_all_components_do_move_the_others():
    moved = []
    for seed in range(3):
        (graph, labels), (whole, shifted), where = with_strays(seed, 2)
        alone = gq.approximate(graph, gq.Probit(), labels).by_class
        prior = default_sum(default_graph_prior(whole, 69))
        moved.append(abs(gq.approximate(prior, gq.Probit(), shifted).by_class[where] - alone).max())
    assert max(moved) > 0.03


@pytest.mark.parametrize("labeled", [[0, 1], [0, 5], [0, 1, 5, 6]])
def test_levels_have_the_variances_of_labeled_and_other_components(labeled):
    component = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 3])
    levels = gq.ComponentLevel(component, labeled=labeled)
    own = 0.5 if max(labeled) > 4 else 0.0
    expected = np.where(np.isin(component, component[labeled]), own, 1.0)

    assert levels.share == pytest.approx(expected.mean())
    np.testing.assert_allclose(levels.share * levels.variance(), expected)
    assert levels.variance().mean() == pytest.approx(1)
    assert repr(levels) == f"ComponentLevel(4 components, {1 + (own > 0)} labeled)"
    same = np.equal.outer(component, component)
    nodes = np.arange(10)
    covariance = levels.covariance(nodes, nodes)
    np.testing.assert_allclose(covariance, same * levels.variance(), atol=1e-12)


def test_levels_of_components_that_all_have_labels_are_the_usual_ones():
    graph = disconnected(0)
    each = [np.flatnonzero(graph.component == c)[0] for c in range(4)]
    all_labeled = gq.ComponentLevel(graph, labeled=each)
    assert all_labeled.fingerprint() == gq.ComponentLevel(graph).fingerprint()
    assert all_labeled.share == 0.5
    assert all_labeled.variance().tolist() == [1.0] * 13


def test_two_components_with_a_class_each_are_told_apart():
    rng = np.random.default_rng(0)
    for sizes in ((110, 90), (180, 20)):
        y = np.repeat([0, 1], sizes)
        graph = gq.knn_graph(rng.standard_normal((200, 2)) + 20.0 * y[:, None], 8)
        assert graph.n_components == 2
        nodes = np.append(rng.choice(sizes[0], 10, replace=False), [198, 199])
        post = gq.approximate(graph, gq.Probit(), gq.Labels(nodes, y[nodes], sampling="random"))
        assert post.accuracy(y) == 1


@pytest.mark.filterwarnings("ignore:expectation propagation", "ignore:3 of 4 components")
def test_the_code_of_a_report_makes_the_prior_with_strays_again():
    _, (graph, labels), _ = with_strays(0, 2, joined=True)
    prior = gq.tune(graph, labels).prior
    described = prior.fingerprint()
    again = eval(reproduction._prior(described, None), {"gq": gq, "graph": graph})
    assert prior.matches(again.fingerprint())
    every = gq.SumPrior.of([prior.parts[0], gq.ComponentLevel(graph)], prior.weights)
    assert not gq.SumPrior(every.parts, every.fractions, prior.level).matches(described)
    np.testing.assert_allclose(again.variance(), prior.variance(), atol=1e-12)
    assert "ComponentLevel(4 components, 1 labeled)" in repr(again)


def test_the_levels_of_components_are_described_and_tell_priors_apart():
    graph = disconnected(0)
    prior = summed(graph)
    described = prior.fingerprint()
    rows = {name: value for name, value, _ in prior_rows(described)}
    assert rows["prior_2"] == "components"
    assert "gq.ComponentLevel(graph)" in reproduction._prior(described, None)
    again = summed(graph)
    assert again.matches(described)
    others = gq.ComponentLevel(np.roll(graph.component, 1))
    other = gq.SumPrior.of([prior.parts[0], others, gq.Level(0.5)], [0.6, 0.4])
    assert not other.matches(described)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:2 of 4 components")
def test_results_are_saved_and_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    graph = disconnected(0)
    prior, labels = summed(graph), labeled(graph, [1, 0, 1, 1])
    post = gq.sample(prior, gq.Probit(0.3), labels, draws=100, seed=0, progress=False)
    post.save("post.nc")
    again = gq.load("post.nc")
    np.testing.assert_array_equal(again.by_class, post.by_class)
    assert again.suggest(2, prior=prior).tolist() == post.suggest(2).tolist()
    assert main(["report", "post.nc", "--text"]) == 0
    assert "prior_2 = components" in capsys.readouterr().out
    assert main(["report", "post.nc"]) == 0
    page = (tmp_path / "post-report.html").read_text(encoding="utf-8")
    assert "gq.ComponentLevel(graph)" in page


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda graph: gq.Prior.approximated(graph, 3),
            ValueError,
            r"a connected graph.*4 co",
        ),
        (
            lambda graph: gq.Prior.full(graph, tau=1, null_mode=True),
            ValueError,
            "null_mode needs a",
        ),
        (lambda graph: gq.SolvedPrior.of(graph, [0, 1]), ValueError, "disconnected: 4 components"),
        (lambda graph: gq.Spectrum.of(np.eye(3)), ValueError, "no edge between two nodes"),
        (lambda graph: gq.ComponentLevel([0.5, 1]), TypeError, "must be integers"),
        (lambda graph: gq.ComponentLevel([1, 2]), ValueError, "counted from 0, got 1 to 2"),
        (lambda graph: gq.ComponentLevel([0, 1], [2]), ValueError, "labeled must hold nodes of"),
        (lambda graph: gq.ComponentLevel("x"), TypeError, "adjacency must be a numeric matrix"),
        (
            lambda graph: gq.ComponentLevel(graph).with_parameters(alpha=1.0),
            TypeError,
            "no parameters, got alpha",
        ),
        (
            lambda graph: gq.approximate(
                gq.SumPrior.of(
                    [
                        gq.Prior.full(graph),
                        # the node without edges has neither modes nor, as if labeled, a level
                        gq.ComponentLevel(graph, np.flatnonzero(graph.component == 3)),
                    ],
                    [1, 1],
                ),
                gq.Probit(0.3),
                labeled(graph, [1, 0]),
            ),
            ValueError,
            r"1 node of the disconnected graph, first node \d+, has no prior variance: add gq\.Com",
        ),
    ],
)
def test_what_a_disconnected_graph_does_not_serve_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(disconnected(0))


@pytest.mark.filterwarnings("ignore:2 of 4 components")
def test_modes_alone_of_a_disconnected_graph_are_refused():
    graph = disconnected(0)
    labels, modes, X = labeled(graph, [1, 0, 1, 1]), gq.Prior.full(graph), np.arange(13.0)[:, None]
    three = gq.Graph(linalg.block_diag(*[np.ones((4, 4)) - np.eye(4)] * 3))
    given = gq.Labels([0, 4, 8], ["a", "b", "b"])
    for prior in (
        gq.Prior.full(three),
        gq.Prior.full(three) + gq.Level(1.0),
        gq.SumPrior.of([gq.Prior.full(three), gq.ComponentLevel(three)], [1, 0]),
    ):
        for infer in (gq.approximate, lambda prior, model, labels: gq.tune(prior, labels, model)):
            with pytest.raises(ValueError, match=r"has 3 components, and its modes have mean 0"):
                infer(prior, gq.Probit(0.5), given)
    for prior, names in ((modes + gq.FeaturePrior(X, 1.0), labels), (summed(graph), labels)):
        assert np.isfinite(gq.approximate(prior, gq.Probit(0.5), names).probability).all()
    assert gq.approximate(three, gq.Probit(0.5), given).prediction.tolist() == [
        *["a"] * 4, *["b"] * 8
    ]  # fmt: skip
