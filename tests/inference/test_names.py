"""Results keep the names of a graph's nodes."""

from __future__ import annotations

import networkx
import numpy as np
import pandas as pd
import pytest

import graphuq as gq

NETWORK = networkx.les_miserables_graph()
GRAPH = gq.Graph(NETWORK)
LABELS = gq.Labels({"Valjean": "good", "Javert": "bad", "Cosette": "good", "Babet": "bad"}, GRAPH)
MODES = gq.Prior.projected(GRAPH, 10)
PRIORS = {
    "network": NETWORK,
    "graph": GRAPH,
    "modes": MODES,
    "fewer modes": gq.Prior.projected(MODES.spectrum, 5),
    "sum": gq.SumPrior.of([gq.Level(0.5), MODES]),
    "solved": gq.SolvedPrior.of(GRAPH, LABELS.nodes, rank=10, probes=5),
}


def sampled(prior, **options):
    return gq.sample(
        prior, gq.Probit(0.3), LABELS, draws=20, chains=2, seed=0, progress=False, **options
    )


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
def test_names_reach_the_posterior(prior):
    post = gq.approximate(prior, gq.Probit(0.3), LABELS)
    assert post.names.tolist() == list(NETWORK)


@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_names_stay_with_draws_and_in_files(tmp_path):
    post = sampled(MODES, nodes=["Fantine"])
    assert post.draws.traced.tolist() == [list(NETWORK).index("Fantine")]
    joint = gq.sample_jointly(
        MODES, gq.Probit(0.3), LABELS, alpha=(0.5, 3), draws=20, chains=2, seed=0, progress=False
    )
    for each in (post, joint):
        each.save(tmp_path / "post.nc")
        assert gq.load(tmp_path / "post.nc").names.tolist() == list(NETWORK)
    tree = post.to_arviz(nodes=["Javert"])
    assert tree["posterior"]["u"]["node"].item() == "Javert"


def test_eigenpairs_of_a_file_get_the_names_of_the_graph(tmp_path):
    MODES.spectrum.save(tmp_path / "modes.npz")
    assert gq.Spectrum.load(tmp_path / "modes.npz").names is None
    found = gq.Spectrum.load(tmp_path / "modes.npz", GRAPH)
    assert found.names.tolist() == list(NETWORK)


def test_positions_are_no_names():
    path = gq.Graph(networkx.path_graph(4))
    assert gq.approximate(path, gq.Probit(0.3), gq.Labels([0, 3], [0, 1])).names is None
    with pytest.warns(RuntimeWarning):
        one = gq.Graph(networkx.relabel_nodes(networkx.path_graph(4), lambda k: k + 1))
    assert gq.approximate(one, gq.Probit(0.3), gq.Labels([0, 3], [0, 1])).names.tolist() == [
        "1", "2", "3", "4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "build", [lambda X: gq.knn_graph(X, 2), lambda X: gq.epsilon_graph(X, 1.5), gq.full_graph]
)
def test_texts_that_index_a_data_frame_are_names(build):
    names = [f"town {k}" for k in range(12)]
    frame = pd.DataFrame({"a": np.arange(12.0), "b": 0.0}, index=names)
    graph = build(frame)
    labels = gq.Labels({"town 0": "low", "town 11": "high"}, graph)
    assert gq.approximate(graph, gq.Probit(0.3), labels).names.tolist() == names
    # a number may be a position
    assert build(frame.set_index(np.arange(12)[::-1])).names is None
    assert build(frame.to_numpy().tolist()).names is None


def test_the_nodes_of_a_component_keep_their_numbers():
    parts = gq.Graph(networkx.disjoint_union(networkx.path_graph(2), networkx.path_graph(3)))
    kept = parts.largest_component()
    post = gq.approximate(kept, gq.Probit(0.3), gq.Labels([0, 2], [0, 1]))
    assert post.names.tolist() == ["2", "3", "4"]


def test_what_no_file_can_hold_is_refused_before_any_work():
    odd = gq.Graph(GRAPH.adjacency, ["a\0b", *list(NETWORK)[1:]])
    with pytest.raises(ValueError, match=r"the name of node 0.*replace it"):
        sampled(gq.Prior.projected(odd, 5))


def test_a_name_that_no_node_has_is_refused():
    with pytest.raises(ValueError, match="no node is called 'Jean'"):
        sampled(MODES, nodes=["Jean"])


def test_a_name_that_several_nodes_have_is_refused():
    graph = gq.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], nodes=["ann", "ann", "cy"])
    labels = gq.Labels([0, 2], ["a", "b"])
    post = gq.approximate(graph, gq.Probit(0.3), labels)
    assert post.node_numbers("cy").tolist() == [2]
    for ask in (
        post.node_numbers,
        lambda nodes: gq.sample(graph, gq.Probit(0.3), labels, nodes=nodes),
    ):
        with pytest.raises(ValueError, match="several nodes are called 'ann'"):
            ask(["ann"])


def test_labels_as_a_dictionary_need_the_graph():
    with pytest.raises(TypeError, match=r"gq\.Labels\(\{name: class, \.\.\.\}, graph\), got dict"):
        gq.approximate(GRAPH, gq.Probit(0.3), {"Valjean": "good", "Javert": "bad"})
