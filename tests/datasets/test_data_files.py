"""Data files: found, checked, fetched from a server of the test's own; no test needs a network."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import os
import pickle
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import graphuq as gq
from graphuq.datasets import sources
from graphuq.datasets.digests import DIGESTS, digest
from graphuq.datasets.networks import matrix
from graphuq.datasets.sources import SOURCES, Source

# what the session's fixture empties
PUBLIC = dict(SOURCES)


class Server(http.server.ThreadingHTTPServer):
    """Serve ``pages``; send only half of those in ``cut``."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.pages, self.cut, self.asked = {}, set(), []
        self.address = f"http://127.0.0.1:{self.server_port}/"


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = self.path[1:]
        self.server.asked.append(page)
        if page not in self.server.pages:
            return self.send_error(404)
        content = self.server.pages[page]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if page in self.server.cut else content)
        return None

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder and an empty cache."""
    monkeypatch.setenv("GRAPHUQ_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "named").mkdir()
    return tmp_path / "named"


@pytest.fixture
def cache(folder):
    return folder.parent / "home" / "graphuq"


VOTES = b"republican,n,y,n,y,y,y,n,n,n,y,?,y,y,y,n,y\ndemocrat,?,y,y,?,y,y,n,n,n,n,y,n,y,y,n,n\n"


@pytest.fixture
def votes(server, cache, monkeypatch, tmp_path):
    """A server with the votes of two members, which are the whole data set."""
    server.pages["votes"] = VOTES
    (tmp_path / "raw").write_bytes(VOTES)
    arrays = sources.read_vote([tmp_path / "raw"])
    monkeypatch.setitem(DIGESTS, "vote", digest(arrays))
    monkeypatch.setitem(
        SOURCES, "vote", Source({server.address + "votes": None}, sources.read_vote)
    )
    return arrays


# What is found


def test_the_cache_is_looked_at_after_the_named_folder(folder, cache):
    with pytest.raises(FileNotFoundError, match=r"named or .*home/graphuq: put the file there"):
        gq.datasets.load_file("thing")
    cache.mkdir(parents=True)
    np.savez(cache / "thing.npz", a=[1])
    assert gq.datasets.load_file("thing")["a"].tolist() == [1]
    np.savez(folder / "thing.npz", a=[2])
    assert gq.datasets.load_file("thing")["a"].tolist() == [2]


@pytest.mark.parametrize("name", ["", "a/b", "../vote", 3, Path("vote")])
def test_names_are_those_of_files(name, folder):
    with pytest.raises(ValueError, match="name must be that of a file"):
        gq.datasets.load_file(name)


def test_damaged_and_pickled_files_are_refused(folder):
    np.savez(folder / "pickled.npz", a=np.array([{}], dtype=object))
    (folder / "bare.npz").write_bytes(pickle.dumps({"a": 1}))
    np.save(folder / "array.npz", np.arange(3))
    (folder / "array.npz.npy").rename(folder / "array.npz")
    whole = folder / "whole.npz"
    np.savez_compressed(whole, a=np.arange(1000))
    (folder / "cut.npz").write_bytes(whole.read_bytes()[:500])
    for name in ("pickled", "bare", "array", "cut"):
        with pytest.raises(ValueError, match=rf"named/{name}\.npz is damaged"):
            gq.datasets.load_file(name)


def test_no_wrong_byte_passes(folder, votes):
    np.savez_compressed(folder / "vote.npz", **votes)
    good = (folder / "vote.npz").read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(good), 100, replace=False):
        bad = bytearray(good)
        bad[place] ^= 1 << rng.integers(8)
        (folder / "vote.npz").write_bytes(bad)
        try:
            found = gq.datasets.load_file("vote")
        except ValueError as error:
            assert "named/vote.npz" in str(error)  # noqa: PT017
        else:  # bytes that say when and by what the archive was made
            assert digest(found) == digest(votes)


def test_a_damaged_file_of_the_users_is_refused_not_fetched(folder, votes, server):
    (folder / "vote.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"named/vote\.npz is damaged"):
        gq.datasets.vote()
    np.savez(folder / "vote.npz", **{**votes, "X": -votes["X"]})
    with pytest.raises(
        ValueError, match=r"named/vote\.npz does not hold the 'vote' with which .*replace"
    ):
        gq.datasets.vote()
    np.savez(folder / "vote.npz", **votes)
    assert gq.datasets.vote()[0].shape == (2, 16)
    assert server.asked == []


def test_digests_depend_on_names_dtypes_shapes_and_values():
    a = {"X": np.arange(6, dtype=np.int8).reshape(2, 3), "y": np.array(["a", "bc"])}
    same = {"y": a["y"].astype(">U2"), "X": np.asfortranarray(a["X"])}
    assert digest(a) == digest(same)
    others = (
        {**a, "X": a["X"].astype(np.int16)},
        {**a, "X": a["X"].reshape(3, 2)},
        {**a, "X": a["X"] + 1},
        {"Z": a["X"], "y": a["y"]},
        {**a, "z": a["y"]},
    )
    assert len({digest(other) for other in (a, *others)}) == 6


@pytest.mark.parametrize("place", ["named", "home"])
def test_what_may_not_be_read_is_named(place, folder, cache, monkeypatch, votes):
    path = (folder if place == "named" else cache) / "vote.npz"
    read = Path.read_bytes

    def guarded(self):
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", guarded)
    with pytest.raises(PermissionError, match=rf"{place}/.*vote\.npz cannot be read: change"):
        gq.datasets.vote()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read all")
@pytest.mark.parametrize(
    ("place", "mode", "message"),
    [
        ("named", 0o000, r"named/vote\.npz may not be read"),
        ("home/graphuq", 0o000, r"graphuq/vote\.npz may not be read"),
        ("home/graphuq", 0o500, r"the cache .*graphuq cannot be written"),
    ],
)
def test_a_folder_without_permission_is_named(place, mode, message, votes, tmp_path):
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(mode)
    try:
        with pytest.raises(PermissionError, match=message):
            gq.datasets.vote()
    finally:
        folder.chmod(0o700)


# What is fetched


def test_files_are_fetched_once_and_kept(votes, server, cache):
    X, y = gq.datasets.vote()
    assert X[0].tolist() == [-1, 1, -1, 1, 1, 1, -1, -1, -1, 1, 0, 1, 1, 1, -1, 1]
    assert X[1, :4].tolist() == [0, 1, 1, 0]
    assert y.tolist() == [1, 0]
    assert np.array_equal(gq.datasets.vote()[0], X)
    assert server.asked == ["votes"]
    assert [path.name for path in cache.iterdir()] == ["vote.npz"]


@pytest.mark.parametrize("damage", ["garbage", "other arrays"])
def test_a_damaged_file_in_the_cache_is_fetched_again(damage, votes, server, cache):
    cache.mkdir(parents=True)
    (cache / "vote.npz").write_bytes(b"nothing")
    if damage == "other arrays":
        np.savez(cache / "vote.npz", **{**votes, "y": 1 - votes["y"]})
    assert gq.datasets.vote()[1].tolist() == [1, 0]
    assert digest(dict(np.load(cache / "vote.npz"))) == digest(votes)
    assert server.asked == ["votes"]


def test_a_damaged_file_in_the_cache_is_refused_without_a_network(votes, server, cache):
    cache.mkdir(parents=True)
    (cache / "vote.npz").write_bytes(b"nothing")
    del server.pages["votes"]
    with pytest.raises(ValueError, match=r"vote\.npz is damaged.* not be fetched again: .*404"):
        gq.datasets.vote()
    assert (cache / "vote.npz").read_bytes() == b"nothing"


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (None, "no complete answer from http.*404"),
        (VOTES[: len(VOTES) // 3], "differ from the tested version"),
        (VOTES[: VOTES.index(b"\n") + 1], "differ from the tested version"),
        (VOTES[: VOTES.index(b"crat")], "cannot be read"),
        (VOTES.replace(b"y", b"n"), "differ from the tested version"),
        (b"<html>moved</html>", "cannot be read"),
        (b"\xff\x00" * 50, "cannot be read"),
        (b"", "differ from the tested version"),
    ],
)
def test_wrong_answers_leave_nothing_behind(page, message, votes, server, cache):
    server.pages["votes"] = page
    if page is None:
        del server.pages["votes"]
    with pytest.raises(FileNotFoundError, match=message) as caught:
        gq.datasets.vote()
    for part in ("there is no vote.npz", "could not be fetched", "put the file there", "named"):
        assert part in str(caught.value)
    assert list(cache.iterdir()) == []


def test_half_an_answer_leaves_nothing_behind(votes, server, cache):
    server.cut.add("votes")
    with pytest.raises(FileNotFoundError, match="no complete answer"):
        gq.datasets.vote()
    assert list(cache.iterdir()) == []


def test_the_published_checksum_is_checked(votes, server, cache, monkeypatch):
    address = server.address + "votes"
    monkeypatch.setitem(SOURCES, "vote", Source({address: "md5:" + "0" * 32}, sources.read_vote))
    with pytest.raises(FileNotFoundError, match="votes has changed"):
        gq.datasets.vote()
    assert list(cache.iterdir()) == []


def test_a_missing_network_is_a_clear_error(votes, server, cache, monkeypatch):
    server.shutdown()
    server.server_close()
    with pytest.raises(
        FileNotFoundError, match=r"no vote\.npz in .*no complete answer.* Otherwise put"
    ):
        gq.datasets.vote()


def test_missing_pooch_is_a_clear_error(votes, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"pip install 'graphuq\[fetch\]'"):
        gq.datasets.vote()


def test_sets_without_an_address_say_what_to_place(folder):
    for load in (lambda: gq.datasets.planetoid("cora"), gq.datasets.usps, gq.datasets.cct):
        with pytest.raises(FileNotFoundError, match=r"put the file there.*data\.md says what"):
            load()


def test_a_cache_that_cannot_be_written_is_named(votes, cache, server):
    cache.parent.write_text("a file, where there should be a folder")
    with pytest.raises(OSError, match=r"home/graphuq cannot be written .*XDG_CACHE_HOME"):
        gq.datasets.vote()
    assert server.asked == []


# What is read: small files by hand in each format


def read(name, tmp_path, *contents):
    paths = []
    for k, content in enumerate(contents):
        paths.append(tmp_path / str(k))
        paths[-1].write_bytes(content)
    return getattr(sources, f"read_{name}")(paths)


def test_idx_files_are_read(tmp_path):
    train = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (3, 2, 2)) + bytes(range(12))
    test = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (1, 2, 2)) + bytes([9, 8, 7, 6])
    digits = [b"\0\0\x08\x01" + len(y).to_bytes(4, "big") + y for y in (bytes([4, 9, 1]), b"\2")]
    files = [gzip.compress(content) for content in (train, digits[0], test, digits[1])]
    arrays = read("mnist", tmp_path, *files)
    assert arrays["X"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [9, 8, 7, 6]]
    assert arrays["y"].tolist() == [4, 9, 1, 2]
    assert arrays["train"].tolist() == [0, 1, 2]
    assert arrays["test"].tolist() == [3]
    with pytest.raises(ValueError, match="not an idx file of bytes"):
        read("mnist", tmp_path, gzip.compress(b"\0\0\x0d" + train[3:]), *files[1:])


def test_tables_are_read(tmp_path):
    glass = read("glass", tmp_path, b"1,1.52101,13.64,4.49,1.10,71.78,0.06,8.75,0.00,0.00,1\n\n")
    assert glass["X"].tolist() == [[1.52101, 13.64, 4.49, 1.1, 71.78, 0.06, 8.75, 0, 0]]
    assert glass["y"].tolist() == [1]
    ecoli = read("ecoli", tmp_path, b"AAT_ECOLI   0.49  0.29  0.48  0.50  0.56  0.24  0.35  imS\n")
    assert ecoli["X"].tolist() == [[0.49, 0.29, 0.48, 0.5, 0.56, 0.24, 0.35]]
    assert ecoli["classes"][ecoli["y"]].tolist() == ["imS"]
    radar = read("ionosphere", tmp_path, b"1,0,0.99539,-0.05889,g\r\n1,0,1,-.5,b\r\n")
    assert radar["X"].tolist() == [[1, 0, 0.99539, -0.05889], [1, 0, 1, -0.5]]
    assert radar["classes"][radar["y"]].tolist() == ["good", "bad"]
    pima = read("pima", tmp_path, b"6,148,72,35,0,33.6,0.627,50,1\n1,85,66,29,0,26.6,0.351,31,0")
    assert pima["X"][0].tolist() == [6, 148, 72, 35, 0, 33.6, 0.627, 50]
    assert pima["classes"][pima["y"]].tolist() == ["pos", "neg"]


def test_networks_are_read(tmp_path):
    node = '  node [ id {} label "{}" value {} source "a [list]" ]\n'
    blogs = [(1, "one.com", 0), (2, "two &#38; [2] ", 1), (5, "three", 1), (6, "alone", 0)]
    arcs = [(1, 2), (1, 2), (2, 1), (5, 2), (5, 5)]
    text = 'Creator "me, 2006"\ngraph [\n  directed 1\n'
    text += "".join(node.format(*blog) for blog in blogs)
    text += "".join(f"  edge [ source {a} target {b} ]\n" for a, b in arcs) + "]\n"
    found = read("polblogs", tmp_path, text.encode())
    assert found["names"].tolist() == ["one.com", "two &#38; [2] ", "three", "alone"]
    assert found["y"].tolist() == [0, 1, 1, 0]
    assert found["lcc"].tolist() == [0, 1, 2]
    directed = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    assert matrix(found, "directed").toarray().tolist() == directed
    undirected = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert matrix(found, "adj").toarray().tolist() == undirected

    text = "\ngraph\n[\n  directed 0\n" + "".join(
        f'  node\n  [\n    id {k}\n    label "Book\'s {k}"\n    value "{leaning}"\n  ]\n'
        for k, leaning in enumerate("nclc")
    )
    text += "".join(
        f"  edge\n  [\n    source {a}\n    target {b}\n  ]\n" for a, b in [(1, 0), (2, 1), (3, 1)]
    )
    found = read("polbooks", tmp_path, (text + "]\n").encode())
    assert found["titles"].tolist() == ["Book's 0", "Book's 1", "Book's 2", "Book's 3"]
    assert found["classes"][found["y"]].tolist() == [
        "neutral", "conservative", "liberal", "conservative",
    ]  # fmt: skip
    assert found["non_neutral"].tolist() == [1, 2, 3]
    adjacency = matrix(found, "adj").toarray()
    assert np.argwhere(np.triu(adjacency)).tolist() == [[0, 1], [1, 2], [1, 3]]
    assert np.array_equal(adjacency, adjacency.T)


# The real sets


def real(name):
    try:
        return gq.datasets.load_file(name)
    except FileNotFoundError as error:
        pytest.skip(f"needs {name}.npz: {error}")


@pytest.mark.parametrize("name", [name for name in DIGESTS if name != "mnist"])
def test_the_sets_at_hand_are_those_expected(name):
    assert digest(real(name)) == DIGESTS[name]


SETS = [
    ("vote", (), (435, 16), [267, 168]),
    ("uci", ("iris",), (150, 4), [50, 50, 50]),
    ("uci", ("wine",), (178, 13), [59, 71, 48]),
    ("uci", ("glass",), (214, 9), [0, 70, 76, 17, 0, 13, 9, 29]),
    ("uci", ("ecoli",), (336, 7), [143, 77, 52, 35, 20, 5, 2, 2]),
    ("uci", ("ionosphere",), (351, 34), [126, 225]),
    ("uci", ("pima",), (768, 8), [500, 268]),
    ("usps", (), (9298, 256), [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821]),
    ("jasper_ridge", (), (10_000, 198), [3493, 3326, 2428, 753]),
    ("digits", (), (1797, 64), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
]


@pytest.mark.parametrize(("name", "arguments", "shape", "counts"), SETS)
def test_tables_are_as_their_loaders_say(name, arguments, shape, counts):
    if name not in ("digits",) and arguments not in (("iris",), ("wine",)):
        real(arguments[0] if arguments else name)
    X, y, *_ = getattr(gq.datasets, name)(*arguments)
    assert X.shape == shape
    assert y.dtype == np.int64
    assert np.bincount(y).tolist() == counts


def test_mnist_is_as_its_loader_says():
    real("mnist")
    X, y = gq.datasets.mnist()
    assert X.shape == (70_000, 784)
    assert np.bincount(y).min() == 6313
    pair, digits = gq.datasets.digit_pair(4, 9, dataset="mnist", per_class=20)
    assert pair.max() <= 1
    assert np.unique(digits).tolist() == [4, 9]


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_what_scikit_learn_brings_is_what_the_files_hold(name):
    arrays = real(name)
    X, y = gq.datasets.uci(name)
    assert np.array_equal(X, arrays["X"])
    assert np.array_equal(y, arrays["y"])


def test_networks_are_as_their_loaders_say():
    for name, nodes, edges, counts in (
        ("karate", 34, 78, [17, 17]),
        ("polbooks", 92, 374, [43, 49]),
        ("polblogs", 1222, 16714, [586, 636]),
    ):
        real(name)
        graph, y = getattr(gq.datasets, name)()
        assert (graph.n_nodes, graph.n_edges, graph.n_components) == (nodes, edges, 1)
        assert np.bincount(y).tolist() == counts
    stored = matrix(real("karate"), "adj")
    assert abs(stored - gq.datasets.karate()[0].adjacency).max() == 0
    assert gq.datasets.polbooks()[0].nodes[0] == "Bush vs. the Beltway"


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "words", "labeled"),
    [
        ("cora", 2708, 5278, 1433, 140),
        ("citeseer", 3327, 4552, 3703, 120),
        ("pubmed", 19717, 44324, 500, 60),
    ],
)
def test_papers_are_as_their_loader_says(name, nodes, edges, words, labeled):
    real(name)
    graph, X, y, splits = gq.datasets.planetoid(name)
    assert (graph.n_nodes, graph.n_edges) == (nodes, edges)
    assert X.shape == (nodes, words)
    assert {part: ids.size for part, ids in splits.items()} == {
        "train": labeled, "val": 500, "test": 1000,
    }  # fmt: skip
    assert set(np.bincount(y[splits["train"]])) == {20}
    assert (y == -1).sum() == (15 if name == "citeseer" else 0)


def test_trials_are_as_their_loader_says():
    real("cct")
    trials = gq.datasets.cct()
    assert trials.X.shape == (2039, 7408)
    assert np.bincount(trials.y).tolist() == [934, 1105]
    assert trials.graph.adjacency.diagonal().all()
    assert trials.splits == {}


# Real sets, written in their public formats, served and fetched


def rows(X, y, *formats):
    """Return comma-separated lines with one format per column; the last format is repeated."""
    lines = []
    for x, label in zip(X, y, strict=True):
        kinds = (*formats, *[formats[-1]] * (len(x) - len(formats)))
        lines.append(",".join([*(f % v for f, v in zip(kinds, x, strict=True)), str(label)]))
    return "\n".join(lines) + "\n"


def gml(nodes, arcs, attributes):
    text = "graph [\n  directed 1\n"
    for node, values in zip(nodes, attributes, strict=True):
        text += f"  node [\n    id {node}\n    label {values[0]}\n    value {values[1]}\n  ]\n"
    text += "".join(f"  edge [ source {nodes[a]} target {nodes[b]} ]\n" for a, b in arcs)
    return text + "]\n"


def public(name, a):
    """Return the text of the data set's public file."""
    if name == "vote":
        votes = np.array(["?", "y", "n"])[a["X"]]
        parties = np.array(["democrat", "republican"])[a["y"]]
        return "".join(",".join([p, *v]) + "\n" for p, v in zip(parties, votes, strict=True))
    if name == "glass":
        numbered = np.column_stack([np.arange(1, 215), a["X"]])
        return rows(numbered, a["y"], "%d", "%.5f", "%.2f")
    if name == "pima":
        return rows(a["X"], a["y"], *["%d"] * 5, "%.1f", "%.3f", "%d")
    if name == "ionosphere":
        return rows(a["X"], np.array(["b", "g"])[a["y"]], "%d", "%d", "%.5f")
    if name == "ecoli":
        sites = a["classes"][a["y"]]
        return "".join(
            f"P{k}_ECOLI   " + "  ".join(f"{v:.2f}" for v in x) + f"   {site}\n"
            for k, (x, site) in enumerate(zip(a["X"], sites, strict=True))
        )
    arcs = np.argwhere(matrix(a, "adj" if name == "polbooks" else "directed").toarray())
    if name == "polbooks":
        leanings = np.array(['"l"', '"n"', '"c"'])[a["y"]]
        books = [(f'"{t}"', v) for t, v in zip(a["titles"], leanings, strict=True)]
        return gml(range(105), arcs[arcs[:, 0] > arcs[:, 1]], books)
    blogs = [(f'"{n}"', v) for n, v in zip(a["names"], a["y"], strict=True)]
    return gml(range(1, 1491), np.vstack([arcs, arcs[:65]]), blogs)


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "mnist"])
def test_real_sets_come_out_of_their_public_formats(name, server, tmp_path, monkeypatch):
    arrays = real(name)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("GRAPHUQ_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    content = public(name, arrays).encode()
    server.pages["file"] = content
    if name in ("vote", "glass"):  # to the byte, by checksums that others have published
        (known,) = PUBLIC[name].urls.values()
        assert known == "sha256:" + hashlib.sha256(content).hexdigest()
    source = Source({server.address + "file": None}, PUBLIC[name].read)
    monkeypatch.setitem(SOURCES, name, source)
    assert digest(gq.datasets.load_file(name)) == DIGESTS[name]
    assert (tmp_path / "home" / "graphuq" / f"{name}.npz").is_file()


def test_mnist_comes_out_of_idx_files(tmp_path):
    arrays = real("mnist")
    files = []
    for part in (slice(60_000), slice(60_000, None)):
        for values in (arrays["X"][part].reshape(-1, 28, 28), arrays["y"][part]):
            head = b"\0\0\x08" + bytes([values.ndim]) + np.array(values.shape, ">u4").tobytes()
            files.append(gzip.compress(head + values.tobytes(), 1))
    assert digest(read("mnist", tmp_path, *files)) == DIGESTS["mnist"]


def test_addresses_are_of_known_sets_and_secure():
    assert set(PUBLIC) < set(DIGESTS)
    for source in PUBLIC.values():
        for url, known in source.urls.items():
            assert url.startswith("https://")
            assert known is None or len(known) == {"md5": 36, "sha256": 71}[known.split(":")[0]]
