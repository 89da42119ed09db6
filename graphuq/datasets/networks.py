"""Networks of people, books, blogs and papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from graphuq.datasets.files import load_file
from graphuq.utils import validation

if TYPE_CHECKING:
    from graphuq.graphs import Graph

PLANETOID = ("cora", "citeseer", "pubmed")


class FeaturedNetwork(NamedTuple):
    """A network whose nodes have features.

    Attributes
    ----------
    graph : Graph
        N nodes; it may be disconnected.
    X : csr_array, shape (N, d)
        Words in the text of each node.
    y : ndarray of int, shape (N,)
        Classes from 0, or -1 for a node without a class.
    splits : dict of ndarray of int
        Nodes of "train", "val" and "test"; empty if there is no standard split.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> pair = gq.Graph([[0, 1], [1, 0]])
    >>> two = gq.datasets.FeaturedNetwork(pair, np.eye(2), np.array([0, -1]), {})
    >>> two.graph, two.y
    (Graph(2 nodes, 1 edges, dense), array([ 0, -1]))
    """

    graph: Graph
    X: Any
    y: NDArray[np.int64]
    splits: Mapping[str, NDArray[np.int64]]


def karate() -> tuple[Graph, NDArray[np.int64]]:
    """Return Zachary's karate club, which split in two.

    Bundled with networkx (BSD): ``pip install 'graphuq[networkx]'``. Cite: W. W. Zachary, Journal
    of Anthropological Research 33, 1977.

    Returns
    -------
    graph : Graph
        34 members, 78 unweighted ties.
    y : ndarray of int, shape (34,)
        The club that a member joined: 0 for Mr. Hi's, 1 for the Officer's, 17 members each. Alaíz,
        Fanuel and Suykens 2016 count 16 and 18: member 8 supported the Officer, but joined Mr.
        Hi's club.

    Raises
    ------
    ImportError
        networkx is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.karate()
    >>> graph
    Graph(34 nodes, 78 edges, sparse)
    >>> np.bincount(y)
    array([17, 17])
    """
    try:
        import networkx
    except ImportError as error:
        raise ImportError(
            "the karate club is bundled with networkx: pip install 'graphuq[networkx]'"
        ) from error
    from graphuq.graphs import Graph

    club = networkx.karate_club_graph()
    y = np.array([int(joined == "Officer") for _, joined in club.nodes(data="club")])
    return Graph(networkx.to_scipy_sparse_array(club, weight=None)), y


def polbooks() -> tuple[Graph, NDArray[np.int64]]:
    """Return books on US politics, with edges between books often bought together, in 2004.

    Read from ``$GRAPHUQ_DATA/polbooks.npz`` or the cache, or downloaded from a public copy. No
    license is stated. Cite: V. Krebs, unpublished, orgnet.com; classes by M. E. J. Newman.

    Returns
    -------
    graph : Graph
        The 92 books that are not neutral, with 374 edges; ``graph.nodes`` are their titles.
        `load_file` also returns the 13 neutral books.
    y : ndarray of int, shape (92,)
        0 for the 43 liberal books, 1 for the 49 conservative ones.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.polbooks()  # doctest: +SKIP
    >>> graph  # doctest: +SKIP
    Graph(92 nodes, 374 edges, sparse)
    """
    arrays = load_file("polbooks")
    kept = arrays["non_neutral"]
    return _subgraph(arrays, kept, arrays["titles"]), (arrays["y"][kept] > 0).astype(np.int64)


def polblogs() -> tuple[Graph, NDArray[np.int64]]:
    """Return blogs on US politics, with edges between blogs that link to each other, in 2004.

    Read from ``$GRAPHUQ_DATA/polblogs.npz`` or the cache, or downloaded from a public copy. No
    license is stated. Cite: L. A. Adamic and N. Glance, The political blogosphere and the 2004 US
    election, 2005.

    Returns
    -------
    graph : Graph
        The largest component: 1222 blogs and 16714 unweighted edges; ``graph.nodes`` are their
        addresses. `load_file` returns all 1490 blogs, and the directions of links.
    y : ndarray of int, shape (1222,)
        0 for the 586 liberal blogs, 1 for the 636 conservative ones.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, y = gq.datasets.polblogs()  # doctest: +SKIP
    >>> graph  # doctest: +SKIP
    Graph(1222 nodes, 16714 edges, sparse)
    """
    arrays = load_file("polblogs")
    kept = arrays["lcc"]
    return _subgraph(arrays, kept, arrays["names"]), arrays["y"][kept].astype(np.int64)


def planetoid(name: str) -> FeaturedNetwork:
    """Return a network of papers that cite each other, with the split of Planetoid.

    ========  ======  ======  =======  ========================================
    name      nodes   edges   words    classes
    ========  ======  ======  =======  ========================================
    cora      2708    5278    1433     7; 351, 217, 418, 818, 426, 298, 180
    citeseer  3327    4552    3703     6; 249, 590, 668, 701, 596, 508; 15 none
    pubmed    19717   44324   500      3; 4103, 7739, 7875
    ========  ======  ======  =======  ========================================

    Words are indicators; in pubmed they are weighted by TF-IDF. There are 20 training nodes of each
    class, 500 nodes for validation and 1000 for testing. In citeseer, 15 test nodes have neither
    words nor a class: y is -1.

    Read from ``$GRAPHUQ_DATA/NAME.npz`` or the cache; never downloaded, since the public files
    (github.com/kimiyoung/planetoid, ``data/ind.*``, MIT) are pickles, which can execute any code
    when they are read. Cite: Z. Yang, W. W. Cohen and R. Salakhutdinov, Revisiting semi-supervised
    learning with graph embeddings, ICML 2016; P. Sen et al., Collective classification in network
    data, AI Magazine 29, 2008.

    Parameters
    ----------
    name : {"cora", "citeseer", "pubmed"}

    Returns
    -------
    FeaturedNetwork
        ``graph``, ``X``, ``y`` and ``splits`` of "train", "val" and "test".

    Raises
    ------
    ValueError
        An unknown name, or a damaged file.
    FileNotFoundError, PermissionError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> graph, X, y, splits = gq.datasets.planetoid("cora")  # doctest: +SKIP
    >>> len(splits["train"])  # doctest: +SKIP
    140
    """
    from graphuq.graphs import Graph

    validation.one_of("name", name, PLANETOID)
    arrays = load_file(name)
    splits = {part: arrays[part].astype(np.int64) for part in ("train", "val", "test")}
    graph = Graph(matrix(arrays, "adj"))
    return FeaturedNetwork(graph, matrix(arrays, "feat"), arrays["y"].astype(np.int64), splits)


def cct() -> FeaturedNetwork:
    """Return clinical trials of COVID treatments, with edges between the most similar texts.

    Read from ``$GRAPHUQ_DATA/cct.npz`` or the cache; never downloaded. The arrays are those of
    github.com/KamalovMikhail/GDPCA, ``data/CCT``, under the Hippocratic License 2.1; the texts are
    public domain. Cite: K. Avrachenkov, A. Boisbunon and M. Kamalov, Graph diffusion and PCA
    framework for semi-supervised learning, LION 2021.

    Returns
    -------
    FeaturedNetwork
        2039 trials; a graph of seven nearest neighbors by Dice's similarity, with self-loops;
        counts of 7408 words; and y, 0 for 934 blind trials and 1 for 1105 with open masking. No
        splits.

    Raises
    ------
    FileNotFoundError, PermissionError, ValueError
        See `load_file`.

    Examples
    --------
    >>> import graphuq as gq
    >>> trials = gq.datasets.cct()  # doctest: +SKIP
    >>> trials.X.shape  # doctest: +SKIP
    (2039, 7408)
    """
    from graphuq.graphs import Graph

    arrays = load_file("cct")
    graph = Graph(matrix(arrays, "graph"))
    return FeaturedNetwork(graph, matrix(arrays, "feat"), arrays["y"].astype(np.int64), {})


def matrix(arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """Return the sparse matrix whose CSR parts are stored under ``name``."""
    parts = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sparse.csr_array(tuple(parts), shape=tuple(arrays[f"{name}_shape"]), dtype=np.float64)


def _subgraph(arrays: Mapping[str, NDArray[Any]], kept: NDArray[Any], names: NDArray[Any]) -> Graph:
    from graphuq.graphs import Graph

    return Graph(matrix(arrays, "adj")[kept][:, kept], names[kept])
