"""``graphuq label``: from a file to a page and a folder of results."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.cookiejar import CookieJar

import numpy as np
import pandas as pd
import pytest

import graphuq as gq
from graphuq.cli.files import ReadOptions, read
from graphuq.cli.program import main
from graphuq.cli.sample_steps import Data, ask
from graphuq.labeling.answers import AnswerFile
from graphuq.report.subject import Subject

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("jinja2")
Image = pytest.importorskip("PIL.Image")

WORDS = {
    "ham": ["meeting", "lunch", "project", "report", "budget", "team", "plan", "office"],
    "spam": ["win", "prize", "free", "money", "click", "offer", "cash", "lottery"],
}
COMMON = ["the", "and", "you", "for", "with", "this", "that", "will", "please", "today"]


def make_mail(n=120, seed=0):
    """Mails of two kinds that share some words."""
    rng = np.random.default_rng(seed)
    kinds = np.where(np.arange(n) % 3, "ham", "spam")
    other = {"ham": "spam", "spam": "ham"}
    bodies = [
        " ".join(
            [*rng.choice(WORDS[k], 8), *rng.choice(COMMON, 10), *rng.choice(WORDS[other[k]], 2)]
        )
        for k in kinds
    ]
    return pd.DataFrame({"id": [f"m{k}" for k in range(n)], "body": bodies, "kind": kinds})


@pytest.fixture
def mail(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = make_mail()
    frame.to_csv("mail.csv", index=False)
    return frame


def refused(capsys, *arguments):
    """Return the message of a command that is refused."""
    assert main(["label", *arguments, "--no-browser"]) == 2
    return capsys.readouterr().err


class Process:
    """A command in a process of its own, and its page as a browser sees it."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "graphuq", "label", *arguments, "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        self.said = ""
        while "the same command goes on." not in " ".join(self.said.split()):
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
        found = re.search(r"(http://\S+)/\?token=\S+", self.said)
        self.origin, jar = found[1], urllib.request.HTTPCookieProcessor(CookieJar())
        self.opener = urllib.request.build_opener(jar)
        self.opener.open(found[0], timeout=10).close()

    def tell(self, action, **values):
        body = json.dumps({"who": "Ada", "id": str(time.monotonic_ns()), **values}).encode()
        request = urllib.request.Request(
            f"{self.origin}/api/{action}", body, {"Origin": self.origin}
        )
        return self.load(request)

    def state(self):
        return self.load(f"{self.origin}/api/state")

    def load(self, request):
        try:
            with self.opener.open(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise
            self.stop()  # the terminal shows what went wrong
            raise AssertionError(self.said) from error

    def finish(self):
        self.tell("finish")
        until = time.monotonic() + 120
        while (state := self.state()["finish"])["state"] == "running" and time.monotonic() < until:
            time.sleep(0.5)
        assert state["state"] == "done", state
        return state["message"]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=60)
        self.said += rest
        return self.process.returncode


@pytest.mark.slow
def test_texts_are_labeled_from_nothing_to_a_folder_of_results(mail, tmp_path):
    kinds = dict(zip(mail["id"], mail["kind"], strict=True))
    arguments = (
        "mail.csv",
        "--text",
        "body",
        "--ignore",
        "kind",
        "--classes",
        "ham",
        "spam",
        "--draws",
        "50",
    )
    first = Process(*arguments)
    question = first.tell("ask")["question"]
    assert question["item"]["kind"] == "text"
    assert question["item"]["text"] in set(mail["body"])
    for _ in range(8):
        label = kinds[question["name"]]
        question = first.tell("answer", node=question["node"], label=label)["question"]
    assert first.stop() == 0
    assert "8 answers in labels.csv" in first.said

    second = Process(*arguments)  # goes on
    assert second.state()["progress"]["n_answers"] == 8
    question, drawn = second.tell("sample", size=22)["question"], []
    while question["apart"]:
        answer = {"node": question["node"], "label": kinds[question["name"]]}
        drawn.append(question["name"])
        sure = 0.7 if len(drawn) <= 2 else 1
        question = second.tell("answer", **answer, confidence=sure)["question"]
    assert "mail-graphuq" in second.finish()
    assert second.stop() == 0
    said = " ".join(second.said.split())
    assert "Answers are kept in labels.csv, which has 8 answers already." in said
    assert "of 20 labels of a random sample of 22 items are predicted correctly" in said

    nodes = pd.read_csv(tmp_path / "mail-graphuq" / "nodes.csv")
    assert (nodes["prediction"] == nodes["id"].map(kinds)).mean() > 0.9
    assert nodes["label"].notna().sum() == 8
    report = (tmp_path / "mail-graphuq" / "report.html").read_text()
    assert "22 items were drawn at random, 20 of them have" in report
    run = json.loads((tmp_path / "mail-graphuq" / "run.json").read_text())
    assert run["command"].startswith("graphuq label mail.csv --text body")
    assert not {*drawn} & {*run["label_next"], *(row["id"] for row in run["most_uncertain"])}
    assert run["random_sample"] == {"drawn": 22, "labeled": 20}
    answers = pd.read_csv("labels.csv").dropna(subset="who")
    assert (answers["label"] == answers["id"].map(kinds)).all()
    assert (answers["who"] == "Ada").all()
    # another command reads the answers, and predicts nearly the same
    again = [
        "sample",
        "mail.csv",
        "--text",
        "body",
        "--ignore",
        "kind",
        "--labels",
        "labels.csv",
        "--draws",
        "50",
    ]
    assert main([*again, "--out", "again"]) == 0
    other = pd.read_csv("again/nodes.csv")
    assert abs(other["confidence"] - nodes["confidence"]).mean() < 0.05


def test_items_of_the_random_sample_are_not_to_be_labeled_next(mail):
    items = read("mail.csv", ReadOptions(label="kind", text=("body",)))
    graph = items.to_graph(10)
    labels = gq.reveal(mail["kind"].to_numpy(), counts=5, seed=0)
    prior = gq.Prior.projected(graph, rank=10)
    post = gq.sample(prior, gq.Probit(0.1), labels, draws=50, seed=0, progress=False)
    hidden = np.setdiff1d(np.arange(120), labels.nodes)
    data = Data(items, labels, hidden, None, None, None)
    plain = ask(data, Subject(post), 0)
    drawn = [*plain.label_next[:3], *plain.most_uncertain[:3]]
    rest = data._replace(unlabeled=np.setdiff1d(hidden, drawn), drawn=drawn)
    found = ask(rest, Subject(post), 0)
    assert found.label_next.size == 5
    assert not np.isin(found.label_next, drawn).any()
    assert found.most_uncertain.tolist() == [n for n in plain.most_uncertain if n not in drawn]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["archive", "column"])
def test_pictures_are_served_by_number(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    X, y = gq.datasets.digits()
    X, y = X[:60], y[:60]
    if kind == "archive":
        np.savez("digits.npz", X=X.reshape(-1, 8, 8), y=y)
        arguments = ["--ignore", "y", "--images", "digits.npz"]
    else:
        for k, pixels in enumerate(X):
            image = Image.fromarray((15 * pixels.reshape(8, 8)).astype(np.uint8))
            image.save(f"{k}.png")
        frame = pd.DataFrame(X[:, ::4]).loc[:, lambda frame: frame.nunique() > 1]
        frame.columns = [f"x{k}" for k in range(frame.shape[1])]
        frame.assign(photo=[f"{k}.png" for k in range(60)]).to_csv("digits.csv", index=False)
        arguments = ["digits.csv", "--images", "photo"]
    page = Process(*arguments, "--classes", "0", "1")
    question = page.tell("ask")["question"]
    assert question["item"]["kind"] == "picture"
    with page.opener.open(f"{page.origin}/picture/{question['node']}", timeout=10) as answer:
        assert answer.read(4) == b"\x89PNG"
    assert page.stop() == 0


def test_rows_hide_labels_and_show_what_differs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).round(3), columns=["a", "b", "c"])
    frame["note"], frame["truth"] = [f"note {k}" for k in range(40)], ["x", "y"] * 20
    frame["label"] = ["x", "y", *[""] * 38]
    frame.to_csv("table.csv", index=False)
    page = Process("table.csv", "--ignore", "note", "--truth", "truth", "--goal", "0.8")
    assert (page.state()["goal"], page.state()["risk"]) == (0.8, 0.05)
    assert page.state()["classes"] == ["x", "y"]
    assert page.state()["progress"]["n_labeled"] == 2
    question = page.tell("ask")["question"]
    cells = question["item"]["cells"]
    assert {cell["column"] for cell in cells[:3]} == {"a", "b", "c"}
    assert [cell["column"] for cell in cells[3:]] == ["note"]
    written = {cell["column"]: cell["value"] for cell in cells}
    assert written["note"] == f"note {question['node']}"
    assert float(written["a"]) == frame["a"][question["node"]]
    assert page.stop() == 0


@pytest.mark.slow
def test_the_results_say_how_many_labels_are_new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"a": np.arange(40.0), "label": ["x", "y", *[""] * 38]})
    frame.to_csv("table.csv", index=False)
    page = Process("table.csv", "--draws", "20", "--chains", "2")
    node = page.tell("ask")["question"]["node"]
    for label in ("x", "y"):
        node = page.tell("answer", node=node, label=label)["question"]["node"]
    page.finish()
    page.stop()
    assert "40 items, 4 labeled: 2 x x, 2 x y." in page.said
    assert "  - added 2 labels from labels" in page.said


def test_mistakes_are_refused_before_the_page_opens(mail, capsys, tmp_path):
    assert "no column 'bodi'" in refused(capsys, "mail.csv", "--text", "bodi")
    assert "leave out one" in refused(
        capsys, "mail.csv", "--text", "body", "--ignore", "kind", "--images", "id"
    )
    assert "port must be" in refused(
        capsys, "mail.csv", "--text", "body", "--ignore", "kind", "--port", "70000"
    )
    assert "--risk must lie in (0, 1), got 5.0" in refused(
        capsys, "mail.csv", "--text", "body", "--ignore", "kind", "--risk", "5"
    )
    assert "all items have labels" in refused(
        capsys, "mail.csv", "--text", "body", "--label", "kind"
    )
    assert "no file" in refused(capsys, "males.csv")
    assert "does not exist" in refused(
        capsys, "mail.csv", "--text", "body", "--ignore", "kind", "--out", "no/x.csv"
    )
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    assert "did not write" in refused(
        capsys, "mail.csv", "--text", "body", "--ignore", "kind", "--results", "other"
    )


def test_labels_of_one_class_ask_for_the_others(mail, capsys):
    mail.assign(label=["ham", *[""] * 119]).to_csv("one.csv", index=False)
    assert "name the other classes with --classes" in refused(
        capsys, "one.csv", "--text", "body", "--ignore", "kind"
    )


def test_a_column_of_the_classes_is_probably_the_labels(mail, capsys):
    table = mail.assign(x=range(120)).drop(columns="body")
    table.to_csv("mail.csv", index=False)
    assert "--label" not in refused(capsys, "mail.csv", "--classes", "ham", "eggs")
    assert "--label kind, " in refused(capsys, "mail.csv", "--classes", "ham", "spam")


def test_answers_to_other_items_are_refused(mail, capsys):
    with open("labels.csv", "w") as file:
        file.write("id,label,confidence,who,when,apart\nzebra,ham,1,Ada,2026-01-01,0\n")
    assert "'zebra'" in refused(capsys, "mail.csv", "--text", "body", "--ignore", "kind")


def test_a_second_process_is_refused_before_the_file_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first = AnswerFile(tmp_path / "labels.csv", ["a"])
    assert "another session is writing labels.csv" in refused(capsys, "nowhere.csv")
    first.close()
    assert "no file nowhere.csv" in refused(capsys, "nowhere.csv")


def test_unreadable_pictures_are_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"x": np.arange(12.0) ** 2, "photo": [f"{k}.png" for k in range(12)]})
    frame.to_csv("photos.csv", index=False)
    message = refused(capsys, "photos.csv", "--images", "photo", "--classes", "a", "b")
    assert "12 pictures of 12 cannot be read" in message
    assert "'0.png'" in message
    assert "no column 'foto'" in refused(capsys, "photos.csv", "--images", "foto")


def test_texts_that_are_missing_are_named_or_dropped(mail):
    mail.loc[[3, 5], "body"] = ""
    mail.to_csv("mail.csv", index=False)
    with pytest.raises(
        ValueError, match=r"line 5, column 'body': the value is missing .found in 2 of 120"
    ):
        read("mail.csv", ReadOptions(text=("body",), label="kind"))
    items = read("mail.csv", ReadOptions(text=("body",), label="kind", missing="drop"))
    assert items.left_out == ("m3", "m5")
    assert items.features.shape[0] == 118
    assert np.allclose(np.linalg.norm(items.features, axis=1), 1)


def test_texts_without_common_words_are_refused(tmp_path):
    path = tmp_path / "texts.csv"
    path.write_text("text,label\naa,x\nbb,y\ncc,\ndd,\n")
    with pytest.raises(ValueError, match="share no words"):
        read(path, ReadOptions(text=("text",)))


def test_neighbors_of_texts_are_those_of_the_cosine(mail):
    from sklearn.feature_extraction.text import TfidfVectorizer

    items = read("mail.csv", ReadOptions(text=("body",), label="kind"))
    near = items.to_graph(5)
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=60).fit_transform(mail["body"])
    # few words: all components are kept, and the cosines of the words are those of the features
    if words.shape[1] <= items.features.shape[1] + 1:
        cosines = (words @ words.T).toarray()
        ours = items.features @ items.features.T
        assert np.corrcoef(cosines.ravel(), ours.ravel())[0, 1] > 0.95
    same = mail["kind"].to_numpy()
    rows, columns = near.adjacency.nonzero()
    assert (same[rows] == same[columns]).mean() > 0.9


def test_text_is_an_option_of_tables_alone(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(4), y=["a", "b", "", ""])
    with pytest.raises(ValueError, match=r"--text cannot be used with an \.npz file"):
        read(tmp_path / "x.npz", ReadOptions(text=("body",)))
