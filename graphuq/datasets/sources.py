"""Addresses of data sets for download, and readers of their files."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

Arrays = dict[str, NDArray[Any]]

PIMA = ["pregnant", "glucose", "pressure", "triceps", "insulin", "mass", "pedigree", "age"]


class Source(NamedTuple):
    """Addresses of files, each with its published checksum or None, and their reader."""

    urls: dict[str, str | None]
    read: Callable[[list[Path]], Arrays]


def read_mnist(paths: list[Path]) -> Arrays:
    """Return the images and digits of four idx files, training images first."""
    X, y = (np.concatenate([_read_idx(path) for path in paths[k::2]]) for k in (0, 1))
    train = len(_read_idx(paths[1]))
    order = np.arange(len(y), dtype=np.int32)
    return {"X": X.reshape(len(X), -1), "y": y, "train": order[:train], "test": order[train:]}


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Return bytes in LeCun's idx format: two zeros, type 8, number of axes, lengths of axes."""
    content = gzip.decompress(path.read_bytes())
    axes = content[3]
    if content[:3] != b"\0\0\x08":
        raise ValueError("this is not an idx file of bytes")
    shape = np.frombuffer(content, ">u4", axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def read_vote(paths: list[Path]) -> Arrays:
    """Return votes, 1 for yes and -1 for no, and parties. Rows: a party and 16 of y, n or ?."""
    rows = _read_rows(paths)
    votes = {"y": 1, "n": -1, "?": 0}
    parties = ["democrat", "republican"]
    return {
        "X": np.array([[votes[cell] for cell in row[1:]] for row in rows], dtype=np.int8),
        "y": np.array([parties.index(row[0]) for row in rows], dtype=np.int8),
    }


def read_glass(paths: list[Path]) -> Arrays:
    """Return oxides and kinds of glass. Rows: a number, nine measurements and a code."""
    rows = _read_rows(paths)
    return {
        "X": np.array([row[1:-1] for row in rows], dtype=np.float64),
        "y": np.array([row[-1] for row in rows], dtype=np.int8),
        "features": np.array(["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"]),
    }


def read_ecoli(paths: list[Path]) -> Arrays:
    """Return scores and sites of proteins. Rows: a name, seven scores and a site."""
    classes = ["cp", "im", "pp", "imU", "om", "omL", "imL", "imS"]
    lines = paths[0].read_text(encoding="ascii").splitlines()
    rows = [line.split() for line in lines if line.strip()]
    return {
        "X": np.array([row[1:-1] for row in rows], dtype=np.float64),
        "y": np.array([classes.index(row[-1]) for row in rows], dtype=np.int8),
        "classes": np.array(classes),
        "features": np.array(["mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2"]),
    }


def read_ionosphere(paths: list[Path]) -> Arrays:
    """Return radar returns and their quality. Rows: 34 numbers and b(ad) or g(ood)."""
    rows = _read_rows(paths)
    return {
        "X": np.array([row[:-1] for row in rows], dtype=np.float64),
        "y": np.array(["bg".index(row[-1]) for row in rows], dtype=np.int8),
        "classes": np.array(["bad", "good"]),
    }


def read_pima(paths: list[Path]) -> Arrays:
    """Return measurements and diagnoses. Rows: eight numbers and 0 or 1."""
    rows = _read_rows(paths)
    return {
        "X": np.array([row[:-1] for row in rows], dtype=np.float64),
        "y": np.array([row[-1] for row in rows], dtype=np.int8),
        "classes": np.array(["neg", "pos"]),
        "features": np.array(PIMA),
    }


def read_polbooks(paths: list[Path]) -> Arrays:
    """Return books, edges between books bought together, and their leaning: l, n or c."""
    books, adjacency = _read_gml(paths[0])
    y = np.array(["lnc".index(book["value"]) for book in books], dtype=np.int8)
    return {
        **_csr_parts("adj", adjacency.maximum(adjacency.T)),
        "y": y,
        "classes": np.array(["liberal", "neutral", "conservative"]),
        "titles": np.array([book["label"] for book in books]),
        "non_neutral": np.flatnonzero(y != 1).astype(np.int32),
    }


def read_polblogs(paths: list[Path]) -> Arrays:
    """Return blogs, their links with and without direction, and their leaning: 0 or 1."""
    blogs, directed = _read_gml(paths[0])
    undirected = directed.maximum(directed.T)
    undirected.setdiag(0)
    undirected.eliminate_zeros()
    _, component = csgraph.connected_components(undirected, directed=False)
    return {
        **_csr_parts("adj", undirected),
        **_csr_parts("directed", directed),
        "y": np.array([blog["value"] for blog in blogs], dtype=np.int8),
        "classes": np.array(["liberal", "conservative"]),
        "lcc": np.flatnonzero(component == np.bincount(component).argmax()).astype(np.int32),
        "names": np.array([blog["label"] for blog in blogs]),
    }


def _read_rows(paths: list[Path]) -> list[list[str]]:
    with paths[0].open(encoding="ascii", newline="") as lines:
        return [row for row in csv.reader(lines) if row]


def _csr_parts(name: str, matrix: Any) -> Arrays:
    matrix = sparse.csr_array(matrix, dtype=np.int8)
    matrix.sort_indices()
    return {
        f"{name}_data": matrix.data,
        f"{name}_indices": matrix.indices.astype(np.int32),
        f"{name}_indptr": matrix.indptr.astype(np.int32),
        f"{name}_shape": np.array(matrix.shape, dtype=np.int64),
    }


def _read_gml(path: Path) -> tuple[list[dict[str, str]], Any]:
    """Return the attributes of the nodes, and the distinct arcs as a matrix of 0 and 1.

    networkx refuses files that list an arc twice, such as that of polblogs.
    """
    words = iter(re.findall(r'"[^"]*"|[][]|[^][\s"]+', path.read_text(encoding="utf-8")))
    graph = next(value for key, value in _read_pairs(words) if key == "graph")
    nodes = [dict(value) for key, value in graph if key == "node"]
    position = {node["id"]: k for k, node in enumerate(nodes)}
    arcs = {
        (position[arc["source"]], position[arc["target"]])
        for arc in (dict(value) for key, value in graph if key == "edge")
    }
    rows, columns = np.array(sorted(arcs)).T
    ones = np.ones(len(arcs), dtype=np.int8)
    return nodes, sparse.csr_array((ones, (rows, columns)), shape=(len(nodes), len(nodes)))


def _read_pairs(words: Iterator[str]) -> list[tuple[str, Any]]:
    """Return the keys and values up to the closing bracket of this list; values may be lists."""
    found: list[tuple[str, Any]] = []
    for key in words:
        if key == "]":
            break
        value = next(words)
        found.append((key, _read_pairs(words) if value == "[" else value.strip('"')))
    return found


_LECUN = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_GITHUB = "https://raw.githubusercontent.com/"
SOURCES = {
    "mnist": Source(
        {
            _LECUN + "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
            _LECUN + "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
            _LECUN + "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
            _LECUN + "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
        },
        read_mnist,
    ),
    "vote": Source(
        {
            _UCI + "voting-records/house-votes-84.data": "sha256:"
            "c87c14110a5ba91d4a1e313ec7392824458152bf071fa5f5452340488337936e"
        },
        read_vote,
    ),
    "glass": Source(
        {
            _UCI + "glass/glass.data": "sha256:"
            "dd67373f4baf2807345df02cbfef2093d342e61ad0d82a4fb79af43ef8ce449d"
        },
        read_glass,
    ),
    "ecoli": Source(
        {
            _UCI + "ecoli/ecoli.data": "sha256:"
            "008bd8fbb1d8b34040c3c8c4e987cac2a7ebf116e008b140cc6441be5261ba1d"
        },
        read_ecoli,
    ),
    "ionosphere": Source(
        {
            _UCI + "ionosphere/ionosphere.data": "sha256:"
            "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"
        },
        read_ionosphere,
    ),
    "pima": Source(
        {_GITHUB + "jbrownlee/Datasets/master/pima-indians-diabetes.data.csv": None}, read_pima
    ),
    "polbooks": Source(
        {
            _GITHUB + "gml4gtk/gml4gtk/bff025292eee1772f27d11ef0fe6801439554e0d/data/"
            "polbooks.gml": None
        },
        read_polbooks,
    ),
    "polblogs": Source(
        {
            _GITHUB + "qinyuenlp/CommunityDetection/ef7a7991ff2a19df66ac8a5152cec7f1a4fe65ed/data/"
            "polblogs.gml": None
        },
        read_polblogs,
    ),
}
