"""Fuzz the readers of data files: no traceback, and nothing wrong without a word."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from references.reading import take
from scipy import sparse

import graphuq as gq
from graphuq.cli import files
from graphuq.cli.program import main

# random numbers may dwarf others of their column
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*dwarfs:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.*if it is a typing error:RuntimeWarning"),
]

FEW, MANY = 40, 1000
EXPECTED = (ValueError, TypeError, OSError, ImportError)


def fuzz(n_examples):
    same = n_examples == FEW or "CI" in os.environ
    return settings(max_examples=n_examples, deadline=None, derandomize=same,
                    suppress_health_check=list(HealthCheck))  # fmt: skip


def few_and_many(test):
    """Run a property on few examples, and on many in the long suite."""
    return pytest.mark.parametrize("n_examples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])(
        test
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fuzz")
    with contextlib.chdir(place):
        yield place


# Tables whose meaning is known

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1,
    max_size=8,
).filter(lambda text: not _looks_like_a_number(text))  # fmt: skip
CLASSES = st.sampled_from(["u", "v", "0", "1", "NA", "null", "rose, red", 'say "x"', "=x", "été"])


def _looks_like_a_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@st.composite
def meanings(draw):
    """Ids, features and labels, None where there is no label."""
    n = draw(st.integers(4, 8))
    ids = draw(st.lists(NAMES, min_size=n, max_size=n, unique_by=str.strip))
    number = st.integers(-999, 999).map(lambda k: k / 8)
    X = draw(st.lists(st.tuples(number, number), min_size=n, max_size=n))
    classes = draw(st.lists(CLASSES, min_size=2, max_size=3, unique=True))
    labels = draw(st.lists(st.sampled_from([*classes, None]), min_size=n, max_size=n))
    labels[:3] = [classes[0], classes[1], None]  # blanks mark missing labels
    return ids, np.array(X), labels


@st.composite
def dialects(draw):
    separator = draw(st.sampled_from([",", ";", "\t"]))
    return {
        "separator": separator,
        "comma": separator != "," and draw(st.booleans()),
        "quoting": draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        "line": draw(st.sampled_from(["\n", "\r\n"])),
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
        "gz": draw(st.booleans()),
        "blank": draw(st.sampled_from(["", " "])),
    }


def spell(meaning, dialect):
    """Return a CSV file as bytes."""
    ids, X, labels = meaning
    out = io.StringIO()
    rows = csv.writer(out, delimiter=dialect["separator"], quoting=dialect["quoting"],
                      lineterminator=dialect["line"])  # fmt: skip
    rows.writerow(["id", "x", "y", "label"])
    for name, values, label in zip(ids, X, labels, strict=True):
        cells = [str(value).replace(".", "," if dialect["comma"] else ".") for value in values]
        rows.writerow([name, *cells, dialect["blank"] if label is None else label])
    raw = out.getvalue().encode(dialect["encoding"])
    return gzip.compress(raw) if dialect["gz"] else raw


def read(path, **options):
    """Return the items and "", or None and the message."""
    try:
        return files.read(path, files.ReadOptions(**options)), ""
    except EXPECTED as error:
        return None, str(error)


def require_meaning(items, meaning):
    ids, X, labels = meaning
    assert items.ids.tolist() == [name.strip() for name in ids]
    varying = np.ptp(X, axis=0) > 0
    np.testing.assert_array_equal(items.features, X[:, varying])
    assert items.known.tolist() == labels


@few_and_many
def test_a_table_means_the_same_in_every_dialect(folder, n_examples):
    @fuzz(n_examples)
    @given(meanings(), dialects())
    def check(meaning, dialect):
        path = folder / ("items.csv.gz" if dialect["gz"] else "items.csv")
        path.write_bytes(spell(meaning, dialect))
        encoding = "utf-16" if dialect["encoding"] == "utf-16" else "utf-8"
        items, message = read(path, scale=False, encoding=encoding)
        if "every feature column is constant" in message:
            assert (np.ptp(meaning[1], axis=0) == 0).all()
        elif "--decimal comma" in message:
            assert dialect["comma"]
        else:
            require_meaning(items, meaning)

    check()


@few_and_many
def test_a_table_means_the_same_in_every_kind_of_file(folder, n_examples):
    pytest.importorskip("pyarrow")

    @fuzz(n_examples)
    @given(meanings())
    def check(meaning):
        ids, X, labels = meaning
        if (np.ptp(X, axis=0) == 0).all():
            return
        frame = pd.DataFrame({"id": ids, "x": X[:, 0], "y": X[:, 1], "label": labels})
        frame.to_parquet(folder / "items.parquet")
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        text = "\n".join(json.dumps(row) for row in rows)
        (folder / "items.jsonl").write_text(text, encoding="utf-8")
        for name in ("items.parquet", "items.jsonl"):
            require_meaning(files.read(folder / name, files.ReadOptions(scale=False)), meaning)

    check()


# Lists of edges whose graph is known


@st.composite
def edge_lists(draw):
    """The weights of a connected graph, and the lines of a list of its edges."""
    n = draw(st.integers(3, 9))
    first = draw(st.sampled_from([0, 1, 100]))
    named = draw(st.booleans())
    names = [f"n{k}" if named else str(first + k) for k in range(n)]
    pairs = {(draw(st.integers(0, k - 1)), k) for k in range(1, n)}
    pairs |= set(draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(
        lambda pair: pair[0] < pair[1]), max_size=5)))  # fmt: skip
    lines = []
    for i, j in sorted(pairs):
        for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
            a, b = draw(st.permutations([i, j]))
            lines.append((names[a], names[b], draw(st.integers(1, 4))))
    return names, draw(st.permutations(lines))


@few_and_many
def test_a_list_of_edges_is_read_or_asked_about(folder, n_examples):
    headers = ["source,target,weight", "from,to,weight", "src,dst,w", "u,v,weight", "a,b,w",
               "source,target,cost", "i,j,k"]  # fmt: skip

    @fuzz(n_examples)
    @given(edge_lists(), st.sampled_from(headers), st.booleans())
    def check(edges, header, given_as_edges):
        names, lines = edges
        text = f"{header}\n" + "".join(f"{a},{b},{w}\n" for a, b, w in lines)
        (folder / "edges.csv").write_text(text, encoding="utf-8")
        ends = lines[0][0], lines[-1][1]
        if ends[0] == ends[1]:
            return
        (folder / "labels.csv").write_text(f"id,label\n{ends[0]},p\n{ends[1]},q\n")
        items, message = read(
            folder / "edges.csv", labels=folder / "labels.csv", edges=given_as_edges or None
        )
        if message:
            assert any(word in message for word in ("use --edges", "use --weight", "not one of"))
            return
        assert items.graph is not None
        total = np.zeros((len(names),) * 2)
        every = {(a, b): sum(w for c, d, w in lines if (c, d) == (a, b)) for a, b, _ in lines}
        listed = {(a, b): sorted(w for c, d, w in lines if (c, d) == (a, b)) for a, b, _ in lines}
        twice = all(listed.get((b, a)) == weights for (a, b), weights in listed.items())
        for (a, b), weight in every.items():
            i, j = names.index(a), names.index(b)
            total[i, j] += weight / (1 + twice)
            total[j, i] += weight / (1 + twice)
        order = [names.index(name) for name in items.ids]
        np.testing.assert_array_equal(items.graph.adjacency.toarray(), total[np.ix_(order, order)])

    check()


# Damaged files, and tables of odd cells


@pytest.fixture(scope="module")
def good_files(folder):
    """A small file of each kind."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((12, 3)).round(3), columns=list("abc"))
    frame["label"] = ["u", "v", None] * 4
    frame.to_csv(folder / "good.csv", index=False)
    frame.to_csv(folder / "good.csv.gz", index=False)
    frame.to_json(folder / "good.jsonl", orient="records", lines=True)
    X, y = frame[["a", "b", "c"]].to_numpy(), np.array([0, 1, -1] * 4)
    np.savez(folder / "good.npz", X=X, y=y)
    np.savez_compressed(folder / "packed.npz", X=X, y=y)
    made = ["good.csv", "good.csv.gz", "good.jsonl", "good.npz", "packed.npz"]
    with contextlib.suppress(ImportError):
        frame.to_parquet(folder / "good.parquet")
        made.append("good.parquet")
    with contextlib.suppress(ImportError):
        import networkx

        network = networkx.karate_club_graph()
        networkx.write_graphml(network, folder / "good.graphml")
        made.append("good.graphml")
    with contextlib.suppress(ImportError):
        import anndata

        obs = pd.DataFrame({"label": y.astype(float)}, index=list("abcdefghijkl"))
        adata = anndata.AnnData(np.zeros((12, 1)), obs=obs)
        adata.obsm["X_pca"], adata.uns["neighbors"] = X, {"params": {"n_neighbors": 1}}
        adata.obsp["connectivities"] = sparse.csr_array(np.eye(12, k=1) + np.eye(12, k=-1))
        adata.write_h5ad(folder / "good.h5ad")
        made.append("good.h5ad")
    return {name: (folder / name).read_bytes() for name in made}


@st.composite
def damages(draw):
    """A function that damages bytes."""
    kind = draw(st.sampled_from(["flip", "cut", "insert", "drop", "zeros"]))
    at, bit = draw(st.floats(0, 1, exclude_max=True)), draw(st.integers(0, 7))
    junk = draw(st.binary(min_size=1, max_size=5))

    def damage(raw):
        k = int(at * len(raw))
        return {
            "flip": raw[:k] + bytes([raw[k] ^ (1 << bit)]) + raw[k + 1 :],
            "cut": raw[:k],
            "insert": raw[:k] + junk + raw[k:],
            "drop": raw[:k] + raw[k + len(junk) :],
            "zeros": raw[:k] + bytes(len(junk)) + raw[k + len(junk) :],
        }[kind]

    return damage


@pytest.mark.parametrize(
    "name",
    ["good.csv", "good.csv.gz", "good.jsonl", "good.npz", "packed.npz", "good.parquet",
     "good.graphml", "good.h5ad"],
)  # fmt: skip
@few_and_many
def test_damage_is_told_and_never_a_traceback(folder, good_files, name, n_examples):
    if name not in good_files:
        pytest.skip("a package is missing")
    label = "club" if name.endswith("graphml") else None
    whole = files.read(folder / name, files.ReadOptions(label=label))

    @fuzz(n_examples)
    @given(damages())
    def check(damage):
        path = folder / f"damaged-{name}"
        path.write_bytes(damage(good_files[name]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a weight by another name, say
            items, message = read(path, label=label)
        if items is None:
            assert "damaged-" in message
            return
        if name.endswith((".npz", ".gz")):  # these have checksums
            np.testing.assert_array_equal(items.features, whole.features)
            assert items.known.tolist() == whole.known.tolist()

    check()


@few_and_many
def test_damaged_results_are_told_and_never_a_traceback(folder, n_examples, capsys):
    A = np.diag(np.ones(11), 1)
    labels = gq.Labels([0, 11], ["a", "b"])
    gq.approximate(gq.Graph(A + A.T), gq.Probit(), labels).save(folder / "good.nc")
    raw = (folder / "good.nc").read_bytes()
    assert main(["report", "good.nc", "--text"]) == 0
    whole = capsys.readouterr().out.replace("good.nc", "damaged.nc")

    @fuzz(n_examples)
    @given(damages())
    def check(damage):
        (folder / "damaged.nc").write_bytes(damage(raw))
        code = main(["report", "damaged.nc", "--text"])
        printed = capsys.readouterr()
        assert code in (0, 2), printed.err
        assert printed.out == (whole if code == 0 else "")
        assert code == 0 or printed.err.count("\n") == 1

    check()


CELLS = st.one_of(
    st.sampled_from(["", " ", "1", "-1", "0.5", "1,5", "1.234,5", "NA", "nan", "inf", "-inf", "?",
                     "yes", "n", "a", "b", "1e400", "1e-400", "9" * 40, "0x1f", "1_000", "٣",
                     "2020-01-01", "2020-13-45", "31.12.2020", "03/04/2020", "1:30", "12%",
                     '"', "'", '"a', "\x00", "\x1b[31m", "=1+1", "\ufeff", "\u2028", "none",
                     "True", "null", "--", "1 2", "\U0001d4b3"]),
    st.text(max_size=6),
    st.floats().map(str),
)  # fmt: skip


@few_and_many
def test_odd_tables_never_lead_to_a_traceback(folder, n_examples, capsys):
    option = st.sampled_from([
        [], ["--fill-missing"], ["--drop-missing"], ["--categorical"], ["--ignore", "c0"],
        ["--categorical", "c0", "--fill-missing"], ["--decimal", "comma"], ["--edges"],
        ["--table"], ["--truth", "c0"], ["--id", "c0"], ["--label", "c0"], ["--no-scale"],
        ["--unlabeled", "a"], ["--class", "NA"], ["--encoding", "latin-1"], ["--weight", "c0"],
        ["--labels", "odd.csv"],
    ])  # fmt: skip

    @fuzz(n_examples)
    @given(st.data())
    def check(data):
        d, n = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 7))
        cell = data.draw(st.sampled_from([CELLS, st.sampled_from(["1", "2,5", "", "7", "a"])]))
        rows = data.draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=n, max_size=n))
        header = [*(f"c{k}" for k in range(d - 1)), data.draw(st.sampled_from(["label", "z", ""]))]
        out = io.StringIO()
        quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        table = csv.writer(out, delimiter=data.draw(st.sampled_from([",", ";"])), quoting=quoting)
        table.writerows([header, *rows])
        raw = out.getvalue().encode("utf-8", "surrogatepass")
        if data.draw(st.booleans()):
            raw = data.draw(damages())(raw)
        Path("odd.csv").write_bytes(raw)
        arguments = data.draw(option)
        code, _ = take("odd.csv", *arguments)
        error = capsys.readouterr().err
        assert code in (0, 2), error
        assert (code == 0) == (error == "") or "warning" in error
        assert not (set(map(ord, error)) & {*range(32), 127} - {10})

    check()
