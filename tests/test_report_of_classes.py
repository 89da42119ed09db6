"""The report on more than two classes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from test_report import SECTIONS, Page, outside

import graphuq as gq
from graphuq.report.reproduction import code_of

NAMES = ["ant", "<b>ee", "cow"]


@pytest.fixture(scope="module")
def spectrum():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((45, 2)) + 2.5 * np.eye(3)[np.repeat([0, 1, 2], 15), :2]
    return gq.Spectrum.of(gq.knn_graph(X, n_neighbors=6, connect=True))


@pytest.fixture(scope="module")
def truth():
    return np.repeat(NAMES, 15)


@pytest.fixture(scope="module")
def labels(truth):
    nodes = np.array([0, 7, 16, 20, 33, 40])
    return gq.Labels(nodes, truth[nodes])


@pytest.fixture(scope="module")
def prior(spectrum):
    return gq.Prior.projected(spectrum, 8, alpha=2.0)


@pytest.fixture(scope="module")
def post(prior, labels):
    return gq.sample(prior, gq.NoisyProbit(0.2, 0.05), labels, seed=0, progress=False)


@pytest.fixture(scope="module")
def pages(post, prior, truth, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    images = np.random.default_rng(0).random((45, 9))
    gq.write_report(post, folder / "full.html", truth=truth, images=images, prior=prior)
    gq.write_report(post, folder / "plain.html")
    return {file.stem: Page(file.read_text(encoding="utf-8")) for file in folder.iterdir()}


@pytest.mark.parametrize("kind", ["full", "plain"])
def test_every_section_is_there(pages, kind):
    page = pages[kind]
    assert [have["id"] for have in page.all("section")] == SECTIONS
    assert all(len(page.text(name)) > 80 for name in SECTIONS)
    assert outside(page) == []
    assert page.all("b") == [{"aria-hidden": "true"}]
    assert "<b>ee, ant or cow? 45 items, 6 labels" in page.whole
    assert "graphuq works" in page.whole


def test_it_says_how_many_are_of_each_class_and_how_many_unsure(pages, post):
    hidden = np.setdiff1d(np.arange(45), post.labels.nodes)
    for name in NAMES:
        assert f"{(post.prediction[hidden] == name).sum()} are {name}" in pages["plain"].whole
    doubtful = (post.probability[hidden].max(axis=1) < (1 + 0.5**0.5) / 2).sum()
    assert 0 < doubtful < 39
    assert f"The class of {doubtful} of them is unsure" in pages["plain"].whole


def test_uncertain_items_come_with_their_two_likeliest_classes(pages, post, truth):
    order = post.ranking()
    order = order[~np.isin(order, post.labels.nodes)][:20]
    for kind in ("full", "plain"):
        shown = pages[kind].text("uncertain")
        place = 0
        for node in order:
            best = np.argsort(-post.probability[node])[:2]
            (a, b), (p, q) = post.labels.classes[best], post.probability[node, best]
            row = f" {node} {a} {p:.1%} {b} {q:.1%} {post.entropy[node]:.2f}"
            place = shown.index(" ".join(row.split()), place) + 1
        assert "1.10 all 3 alike" in shown


def test_scores_are_held_against_as_many_classes(pages, post, truth):
    score = post.calibration(truth)
    shown = pages["full"].text("accuracy")
    assert f"accuracy {score.accuracy:.1%}" in shown
    assert "all classes are alike gives 0.67" in shown
    assert "all classes are alike gives 1.10" in shown


def test_the_pictures_of_many_classes_are_there(pages):
    said = {kind: [have["alt"] for have in page.all("img")] for kind, page in pages.items()}
    for kind, title in (
        ("full", "Confusion of classes, expected and counted."),
        ("plain", "How probable each class is where another was predicted."),
    ):
        assert title in said[kind]
        assert "The items in the triangle of their probabilities." in said[kind]
    assert "Images that are hard and easy to tell." in said["full"]
    assert "The items in a plane, coloured by their probable class." in said["full"]


def test_many_classes_are_counted_in_the_title(post, tmp_path):
    classes = [*NAMES, "d", "e", "f"]
    p = np.column_stack([post.probability, np.zeros((45, 3))])
    labels = gq.Labels(post.labels.nodes, post.labels.values, classes=classes)
    wide = {
        name: np.concatenate([getattr(post, name)] * 2, axis=-1)
        for name in ("mean", "mcse", "latent_mean", "latent_variance", "modes", "field", "read")
    }
    many = dataclasses.replace(post, labels=labels, probability=p, **wide)
    gq.write_report(many, tmp_path / "many.html")
    page = Page((tmp_path / "many.html").read_text(encoding="utf-8"))
    assert "Which of 6 classes? 45 items" in page.whole
    assert "triangle" not in page.whole


@pytest.mark.filterwarnings("ignore::graphuq.ConvergenceWarning")
def test_the_code_does_it_again(spectrum, prior, labels):
    listed = gq.Labels(labels.nodes, labels.values, classes=[*NAMES, "dog"])
    for given in (labels, listed):
        post = gq.sample(prior, gq.Probit(0.2), given, draws=40, seed=3, progress=False)
        code = code_of(post)
        assert ("classes=" in code) == (given is listed)
        line = "graph = ...  # yours, of 45 nodes\n"
        again = {"graph": spectrum}
        exec(code.replace(line, "").replace("seed=", "progress=False, seed="), again)
        np.testing.assert_array_equal(again["post"].probability, post.probability)
