"""Graphs as collections of networks hand them out: SNAP, KONECT, igraph, Matrix Market."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import io, sparse

from graphuq.cli import files

EDGES = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)]
SNAP = "# Undirected graph: toy.txt\n# Nodes: 6 Edges: 7\n# FromNodeId\tToNodeId\n"
KONECT = "% sym weighted\n% 7 6 6\n"


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text("id,label\n0,u\n5,v\n")


def lines(separator, more=""):
    return "".join(f"{a}{separator}{b}{more}\n" for a, b in EDGES)


def adjacency(weight=1.0):
    A = np.zeros((6, 6))
    for a, b in EDGES:
        A[a, b] = A[b, a] = weight
    return A


def read(name, text, **options):
    with open(name, "w") as file:
        file.write(text)
    items = files.read(name, files.ReadOptions(labels="labels.csv", **options))
    order = np.argsort(items.ids)
    return items.ids[order].tolist(), items.graph.adjacency.toarray()[np.ix_(order, order)]


@pytest.mark.parametrize(
    ("name", "text", "weight"),
    [
        ("toy.txt", SNAP + lines("\t"), 1),
        ("toy.csv", SNAP + lines(" "), 1),
        ("out.tsv", KONECT + lines(" ", " 3"), 3),
        ("out.txt", KONECT + lines(" ", " 3 1280000000"), 3),  # the fourth column is a time
        ("toy.edges", lines(" "), 1),
        ("toy.edgelist", lines("  ", "\t0.5"), 0.5),
        ("toy.ncol", lines(" ", " 2").replace("\n", "\n\n"), 2),
    ],
)
def test_lines_of_edges_are_read_without_options(name, text, weight):
    ids, A = read(name, text)
    assert ids == [*"012345"]
    np.testing.assert_array_equal(A, adjacency(weight))


def test_names_are_ends_where_the_suffix_says_edges():
    with open("labels.csv", "w") as file:
        file.write("id,label\nann,u\neve,v\n")
    ids, A = read("friends.ncol", "ann bob\nbob cat\ncat ann\ndan eve\ncat dan\n")
    assert ids == ["ann", "bob", "cat", "dan", "eve"]
    assert A.sum() == 10


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("#id,x,label\n0,1,u\n5,2,v\n", {}),
        ("# id\tx\tlabel\n0\t1\tu\n5\t2\tv\n", {}),
        ("# id\tx\ty\n0\t1\t0\n5\t2\t1\n", {"label": "y"}),
        ("# id\tx\ty\n0\t1\t0\n5\t2\t1\n", {"edges": False, "label": "y"}),
    ],
)
def test_tables_stay_tables(text, options):
    with open("table.txt", "w") as file:
        file.write(text)
    assert files.read("table.txt", files.ReadOptions(**options)).features.shape[0] == 2


def test_wrong_lines_are_named():
    with pytest.raises(ValueError, match=r"toy.edges, line 2: .*'-1' is not a positive number|"
                       r"toy.edges, line 2, column 'weight': '-1' is not a positive"):  # fmt: skip
        read("toy.edges", "0 1 2\n1 2 -1\n2 0 1\n")
    with pytest.raises(ValueError, match="line 60: expected source target, got 3 columns"):
        read("toy.edges", "0 1\n" * 59 + "1 2 7\n")


@pytest.mark.parametrize("symmetry", ["symmetric", "general"])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_matrix_market_is_read(symmetry, weight):
    A = sparse.coo_array(adjacency(weight))
    io.mmwrite("toy.mtx", A, symmetry=symmetry)
    with open("labels.csv", "w") as file:
        file.write("id,label\n1,u\n6,v\n")
    items = files.read("toy.mtx", files.ReadOptions(labels="labels.csv"))
    assert items.ids.tolist() == [*"123456"]
    assert items.known.tolist() == ["u", None, None, None, None, "v"]
    np.testing.assert_array_equal(items.graph.adjacency.toarray(), A.toarray())


def test_directions_of_a_matrix_are_dropped_with_a_note():
    io.mmwrite("toy.mtx", sparse.coo_array(np.triu(adjacency())), symmetry="general")
    with open("labels.csv", "w") as file:
        file.write("id,label\n1,u\n6,v\n")
    items = files.read("toy.mtx", files.ReadOptions(labels="labels.csv"))
    np.testing.assert_array_equal(items.graph.adjacency.toarray(), adjacency())
    assert "added the weights of both directions of the edges" in items.notes


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), "an adjacency matrix is square, got shape"),
        (-adjacency(), "negative"),
    ],
)
def test_other_matrices_are_refused(matrix, message):
    io.mmwrite("toy.mtx", sparse.coo_array(matrix))
    with pytest.raises(ValueError, match=message):
        files.read("toy.mtx", files.ReadOptions(labels="labels.csv"))


@pytest.mark.parametrize(
    "text", ["", "nonsense", "%%MatrixMarket matrix coordinate real general\n"]
)
def test_a_damaged_matrix_is_refused(text):
    with open("toy.mtx", "w") as file:
        file.write(text)
    with pytest.raises(ValueError, match="is not in Matrix Market format, or is damaged"):
        files.read("toy.mtx", files.ReadOptions(labels="labels.csv"))


@pytest.mark.parametrize("kind", ["graphml", "gml", "gexf", "pajek"])
def test_formats_of_networks(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    networkx = pytest.importorskip("networkx")
    network = networkx.Graph()
    network.add_weighted_edges_from([("ann", "bob", 2.0), ("bob", "cy", 1.0), ("cy", "dee", 3.0)])
    for name, team in (("ann", "red"), ("bob", "?"), ("cy", "?"), ("dee", "blue")):
        network.nodes[name]["team"] = team
    path = f"friends.{'net' if kind == 'pajek' else kind}"
    getattr(networkx, f"write_{kind}")(network, path)
    items = files.read(path, files.ReadOptions(label="team"))
    assert items.ids.tolist() == ["ann", "bob", "cy", "dee"]
    assert items.known.tolist() == ["red", None, None, "blue"]
    assert items.graph.adjacency.toarray()[[0, 1, 2], [1, 2, 3]].tolist() == [2, 1, 3]
    with open(path, "w") as file:
        file.write("neither this nor that")
    with pytest.raises(ValueError, match=r"is damaged|no edge|no nodes|at least two"):
        files.read(path, files.ReadOptions(label="team"))
