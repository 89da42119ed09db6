"""Labeling sessions: questions, answers and what follows from them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import graphuq as gq
from graphuq.labeling.answers import parse
from graphuq.labeling.book import Book
from graphuq.labeling.curve import Point
from graphuq.labeling.kept_progress import Kept
from graphuq.labeling.known_labels import KnownLabels
from graphuq.labeling.learner import BINS
from graphuq.labeling.reasons import SENTENCES
from graphuq.labeling.records import Answer, Stop
from graphuq.labeling.session import LabelingSession
from graphuq.labeling.stopping import judge

NAMES = np.array(["lower", "upper"])
SECONDS = 120.0


@pytest.fixture(scope="module")
def moons():
    X, y = gq.datasets.two_moons(200, seed=0)
    graph = gq.knn_graph(X, n_neighbors=8, connect=True)
    return graph, NAMES[y], gq.Spectrum.of(graph, 40)


@pytest.fixture
def start(moons, tmp_path):
    """Sessions on one file, one after another; all are closed."""
    graph, _, spectrum = moons
    opened = []

    def open_session(**options):
        for session in opened:
            session.close()
        given = {"classes": NAMES, "spectrum": spectrum, **options}
        opened.append(LabelingSession(graph, tmp_path / "answers.csv", **given))
        return opened[-1]

    yield open_session
    for session in opened:
        session.close()
        assert session.wait(SECONDS)


def label(session, y, count, who="Ann"):
    for _ in range(count):
        node = session.question(who).node
        session.answer(node, y[node], who=who)
        assert session.wait(SECONDS)


def test_from_no_label_to_the_end(moons, start):
    _, y, _ = moons
    session = start()
    first = session.question("Ann")
    assert first.information is None
    assert not first.neighbors
    assert not first.apart
    assert session.progress().expected_accuracy is None
    assert session.opinion(3) is None
    assert session.states() is None
    assert session.confusion() is None

    label(session, y, 25)

    progress = session.progress()
    low, high = progress.interval
    assert progress.n_labeled == progress.n_answers == 25
    assert low <= progress.expected_accuracy <= high
    assert progress.error is None
    assert not progress.busy
    assert session.curve()[-1][0] == 25
    classes, epistemic, labeled = session.states()
    hidden = ~labeled
    accuracy = (np.array(session.classes)[classes] == y)[hidden].mean()
    assert accuracy > 0.95
    assert labeled.sum() == 25
    assert epistemic.shape == (200,)
    question = session.question("Ann")
    assert 0 < question.information <= np.log(2)
    assert question.neighbors
    assert not labeled[question.node]
    assert session.confusion().sum() == pytest.approx(hidden.sum())
    opinion = session.opinion(question.node)
    assert opinion.probability.sum() == pytest.approx(1.0)
    # the whole plane is used, wherever the clusters are
    assert np.sort(session.embedding(), axis=0).tolist() == [[k, k] for k in range(200)]
    post = session.finish()
    assert post.accuracy(y) > 0.95
    assert len(post.labels) == 25


def test_the_reason_names_no_class(moons, start):
    _, y, _ = moons
    session = start()
    for _ in range(8):
        question = session.question("Ann")
        assert question.reason.endswith(".")
        assert not any(name in question.reason for name in NAMES)
        session.answer(question.node, y[question.node], who="Ann")
        assert session.wait(SECONDS)
    assert session.look(5).reason == "You chose it."


def test_two_people_are_never_asked_the_same_item(moons, start):
    _, y, _ = moons
    session, asked = start(), []
    for turn in range(20):
        who = ("Ann", "Ben")[turn % 2]
        pair = session.question("Ann").node, session.question("Ben").node
        assert pair[0] != pair[1]
        assert session.question(who).node == pair[turn % 2]  # the page was loaded again
        session.answer(pair[turn % 2], y[pair[turn % 2]], who=who)
        asked.append(pair[turn % 2])
    assert len(set(asked)) == 20


def test_what_another_left_is_asked_once_nothing_else_is_left(moons, start, monkeypatch):
    _, y, _ = moons
    session = start()
    left = session.question("Ben").node
    while (question := session.question("Ann")) is not None:
        assert question.node != left
        session.answer(question.node, y[question.node], who="Ann")
    monkeypatch.setattr("graphuq.labeling.questions.SPARED_SECONDS", 0.0)
    assert session.question("Ann").node == left


def test_decided_items_are_never_more_than_all(moons, start):
    _, y, _ = moons
    session = start(threshold=0.6)
    label(session, y, 10)
    for _ in range(10):  # faster than the learner
        node = session.question("Ann").node
        session.answer(node, y[node], who="Ann")
        assert session.progress().decided <= 200


def test_all_items_are_asked_once(moons, start):
    _, y, _ = moons
    session, asked = start(), []
    while (question := session.question("Ann")) is not None:
        session.answer(question.node, y[question.node], who="Ann")
        asked.append(question.node)
    assert sorted(asked) == list(range(200))
    assert session.wait(SECONDS)
    progress = session.progress()
    assert (progress.decided, progress.error, session.question("Ben")) == (200, None, None)


def test_a_skipped_item_is_asked_of_others_only(start):
    session = start()
    node = session.question("Ann").node
    session.skip(node, who="Ann")
    assert session.question("Ann").node != node
    assert session.question("Ben").node == node


def test_a_skip_right_after_an_answer_is_no_undo(moons, start):
    _, y, _ = moons
    session = start()
    node = session.question("Ann").node
    session.answer(node, y[node], who="Ann", confidence=0.7)
    session.skip(node, who="Ann")
    assert session.progress().n_labeled == 0
    assert session.question("Ann").node != node

    again = start()

    assert again.question("Ann").node != node
    assert again.undo("Ann") == node  # the skip alone
    assert again.labels().nodes.tolist() == [node]
    assert again.labels().confidence.tolist() == [0.7]
    assert again.undo("Ann") == node
    assert again.question("Ann").node == node
    assert again.undo("Ann") is None


def test_an_answer_that_is_given_twice_is_kept_once(start, tmp_path):
    session = start()
    session.answer(3, "upper", who="Ann")
    again = start()
    again.answer(3, "upper", who="Ann")  # sent again, since the reply of the first was lost
    again.skip(4, who="Ann")
    again.skip(4, who="Ann")
    assert again.progress().n_answers == 2
    again.answer(3, "upper", who="Ann", confidence=0.7)
    again.answer(3, "upper", who="Ben")
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 5


def test_undo_asks_the_item_again(moons, start):
    _, y, _ = moons
    session = start()
    first = session.question("Ann").node
    session.answer(first, y[first], who="Ann")
    second = session.question("Ann").node
    assert session.undo("Ann") == first
    assert session.question("Ann").node == first != second
    assert session.progress().n_labeled == 0
    assert session.undo("Ann") is None
    assert session.undo("Ben") is None


def test_a_session_goes_on_where_it_was(moons, start):
    _, y, _ = moons
    session = start()
    label(session, y, 12)
    session.add_class("neither")
    session.answer(199, "neither", who="Ben", confidence=0.7)
    before = session.labels()

    again = start(classes=())

    assert again.wait(SECONDS)
    after = again.labels()
    assert after.nodes.tolist() == before.nodes.tolist()
    assert after.values.tolist() == before.values.tolist()
    assert set(again.classes) == {"lower", "upper", "neither"}
    assert again.question("Ann").node not in before.nodes[before.nodes != 199]  # Ben said it
    assert again.undo("Ben") == 199
    assert again.history("Ben", k=1)[0].label == ""


def points_to(n_labels):
    return [Point(n, 1 - 2 / n, np.full(BINS, 0.1)) for n in range(4, n_labels + 1)]


def test_the_goals_and_the_curve_go_on(start, tmp_path):
    session = start()
    for node in range(30):
        session.answer(node, "upper", who="Ann")  # one class only: nothing is learned
    assert session.wait(SECONDS)
    session._course.curve.points = points_to(30)
    session.set_goal(0.9, 0.1)
    session.set_goal(0.96)
    session.set_threshold(0.8)
    before, curve = session.progress(), session.curve()
    assert before.forecast.answers > 0
    kept = Kept.read(tmp_path / "answers.csv", session.names)  # even if the session is killed
    assert (kept.goal, kept.risk, kept.threshold, len(kept.points)) == (0.96, 0.1, 0.8, 27)

    again = start()

    assert (again.goal, again.risk) == (0.96, 0.1)
    assert again.progress().threshold == 0.8
    assert again.progress().forecast == before.forecast
    assert again.curve() == curve
    given = start(goal=0.9, threshold=0.7)
    assert (given.goal, given.progress().threshold) == (0.9, 0.7)
    session.close()  # a second time: the file is that of another session
    assert [n for n, _, _ in start().curve()] == [n for n, _, _ in curve]


def test_the_curve_is_kept_while_answers_go_on(moons, start, monkeypatch):
    _, y, _ = moons
    session, writes, go = start(), threading.Event(), threading.Event()
    write = Kept.write

    def slow(*kept):
        writes.set()
        assert go.wait(SECONDS)
        write(*kept)

    monkeypatch.setattr(Kept, "write", slow)
    for node in (0, 199):
        session.answer(node, y[node], who="Ann")
    assert writes.wait(SECONDS)
    setting = threading.Thread(target=session.set_goal, args=(0.9,))
    setting.start()
    while session.goal != 0.9:
        time.sleep(0.01)
    for node in range(1, 20):  # nothing waits for the disk
        session.answer(node, y[node], who="Ann")
        session.progress(), session.question("Ann"), session.curve()
    assert session.progress().busy
    go.set()
    assert session.wait(SECONDS)
    setting.join(SECONDS)
    kept = Kept.read(session.path, session.names)  # even if the session is killed
    assert [(p.n_labels, p.expected) for p in kept.points] == [
        (n, expected) for n, _, expected in session.curve()
    ]
    assert [p.n_labels for p in kept.points] == [2, 21]


def test_nothing_is_written_after_a_session_is_closed(start, monkeypatch):
    session = start()
    late, close, writers = threading.Thread(target=session._course.keep), session._file.close, []
    monkeypatch.setattr(Kept, "write", lambda *_: writers.append(threading.current_thread()))

    def close_slowly():
        late.start()
        late.join(0.2)
        close()

    monkeypatch.setattr(session._file, "close", close_slowly)
    session.close()
    late.join(SECONDS)
    assert writers == [threading.current_thread()]
    monkeypatch.setattr(session._file, "close", close)


def test_an_added_class_goes_on_before_it_is_used(start, tmp_path):
    session = start()
    session.add_class("neither")
    assert Kept.read(session.path, session.names).added == ["neither"]  # even if it is killed
    again = start(classes=["upper"])
    assert again.classes == ("upper", "neither")
    again.answer(3, "neither", who="Ann")
    again.close()
    os.remove(tmp_path / "answers.csv")
    assert start().classes == ("lower", "upper")


def test_a_curve_goes_on_with_its_own_answers_only(moons, start, tmp_path):
    graph, _, spectrum = moons
    path, kept = tmp_path / "answers.csv", tmp_path / "answers.csv.progress.npz"
    session = start()
    for node in range(10):
        session.answer(node, "upper", who="Ann")
    assert session.wait(SECONDS)
    session._course.curve.points = points_to(30)
    again = start()
    assert [n for n, _, _ in again.curve()] == list(range(4, 11))  # there are ten labels
    again.close()
    names = [str(node) for node in range(199, -1, -1)]
    with LabelingSession(graph, path, spectrum=spectrum, names=names) as other:
        assert other.curve() == []
    session = start()
    session._course.curve.points = points_to(10)
    session.set_goal(0.96)
    os.remove(path)
    before = kept.read_bytes()
    session._course.curve.points = []
    session.close()  # its file is gone
    assert kept.read_bytes() == before
    new = start()
    assert (new.curve(), new.goal) == ([], 0.95)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_labels": [0, 3]},
        {"n_labels": [3, 3]},
        {"n_labels": [3.0, 5.0]},
        {"expected": [0.5, np.nan]},
        {"expected": [0.5]},
        {"counts": np.ones((2, 7))},
        {"counts": np.full((2, BINS), np.inf)},
        {"goal": [0.9, 0.9]},
        {"goal": np.nan},
        {"goal": "much"},
        {"risk": 0},
        {"threshold": 5},
        {"items": "of others"},
        {"added": ["a\nb"]},
        b"damaged",
    ],
)
def test_a_bad_file_of_the_progress_is_left_out(tmp_path, wrong):
    path, beside = tmp_path / "a.csv", tmp_path / "a.csv.progress.npz"
    points = [Point(n, 0.5, np.ones(BINS)) for n in (3, 5)]
    Kept(0.9, 0.99, 0.1, points, []).write(path, ["a", "b"])
    assert len(Kept.read(path, ["a", "b"]).points) == 2
    if isinstance(wrong, bytes):
        beside.write_bytes(wrong)
    else:
        np.savez(beside, **{**np.load(beside), **wrong})
    assert Kept.read(path, ["a", "b"]) == Kept()


def test_labels_known_before_are_learned_from_and_may_be_replaced(moons, start):
    _, y, _ = moons
    session = start(labels=gq.reveal(y, counts=3, seed=0), classes=())
    assert session.wait(SECONDS)
    assert session.progress().n_labeled == 6
    assert session.progress().expected_accuracy > 0.5
    node = int(session.labels().nodes[0])
    other = str(NAMES[y[node] != NAMES][0])
    session.answer(node, other, who="Ann")
    assert session.labels().values[0] == other
    assert session.wait(SECONDS)
    session.undo("Ann")
    assert session.labels().values[0] == y[node]


def test_only_labels_that_others_contradict_are_suspects(moons, start):
    _, y, _ = moons
    session = start(labels=gq.reveal(y, counts=20, seed=0), classes=())
    assert session.suspects() == []
    assert session.wait(SECONDS)
    doubtful = session.suspects()  # there are 40 labels, and the others agree with each
    assert len(doubtful) == 20
    assert not any(found.suspect for found in doubtful)
    node = int(session.labels().nodes[0])
    other = str(NAMES[y[node] != NAMES][0])
    session.answer(node, other, who="Ann")
    assert session.wait(SECONDS)
    (suspect,) = [found for found in session.suspects() if found.suspect]
    assert (suspect.node, suspect.label, suspect.likelier) == (node, other, y[node])
    assert suspect.probability_mistake > 0.8
    assert session.suspects(k=1) == [suspect]
    session.undo("Ann")
    assert session.wait(SECONDS)
    assert not any(found.suspect for found in session.suspects())


def test_items_on_which_people_do_not_agree_are_suspects(start):
    session = start()
    session.answer(7, "upper", who="Ann")
    assert session.suspects() == []
    session.answer(7, "lower", who="Ben")
    assert session.suspects() == [(7, "upper", "lower", None, True)]
    session.answer(7, "lower", who="Eve")
    assert session.suspects() == []


def test_people_who_do_not_agree_hide_no_suspect_of_the_model(moons, start):
    _, y, _ = moons
    session = start(labels=gq.reveal(y, counts=20, seed=0), classes=())
    known = session.labels().nodes.tolist()
    wrong = known[0]
    session.answer(wrong, str(NAMES[y[wrong] != NAMES][0]), who="Ann")
    for node in np.setdiff1d(np.arange(200), known)[:25].tolist():
        session.answer(node, "upper", who="Ann")
        session.answer(node, "lower", who="Ben")
    assert session.wait(SECONDS)
    found = session.suspects(k=20)
    assert [suspect.probability_mistake is None for suspect in found] == [True] * 20 + [False] * 20
    assert [suspect.node for suspect in found[20:] if suspect.suspect] == [wrong]


def test_a_random_sample_is_kept_from_the_learner(moons, start):
    _, y, _ = moons
    session = start()
    label(session, y, 10)
    before = session.progress().interval
    session.start_random_sample(20)
    apart = []
    for _ in range(20):
        question = session.question("Ann")
        assert question.apart
        session.answer(question.node, y[question.node], who="Ann")
        apart.append(question.node)
    assert session.wait(SECONDS)
    assert not session.question("Ann").apart
    assert len(session.labels()) == 10
    assert session.random_sample().nodes.tolist() == sorted(apart)
    measured = session.progress().measured
    assert session.progress().interval != before
    assert measured.total == 20
    assert measured.right >= 16
    assert measured.interval[0] < measured.right / 20 <= measured.interval[1]
    guessed = session.drawn[0]
    session.answer(guessed, y[guessed], confidence=0.5, who="Ann")
    session.skip(session.drawn[1], who="Ann")
    assert session.random_sample().nodes.tolist() == session.drawn[2:]
    measured = session.progress().measured
    assert (measured.total, measured.current, measured.drawn) == (18, 18, 20)
    for node in session.drawn[:2]:
        session.answer(node, y[node], who="Ann")
    assert session.finish().prediction_sets(session.random_sample()).sets.shape == (200, 2)

    again = start()
    assert again.random_sample().nodes.tolist() == sorted(apart)
    assert len(again.labels()) == 10


def test_a_random_sample_moves_the_expected_accuracy_alone(moons, monkeypatch):
    import graphuq.labeling.learner as learning

    _, y, spectrum = moons
    monkeypatch.setattr(learning, "PANEL", 60)
    monkeypatch.setattr(learning, "SMALL", 60)
    monkeypatch.setattr(learning, "CANDIDATES", 30)
    learner = learning.Learner(spectrum, None, gq.Probit(), seed=0)
    labels, drawn = {node: y[node] for node in range(0, 200, 10)}, range(5, 200, 10)
    task = learning.Task(labels, tuple(NAMES), frozenset(drawn), {}, {})
    *_, before = learner.learn(task)
    found = {}
    for name, told in (
        ("right", y),
        ("wrong", np.where(y == "upper", "lower", "upper")),
        ("unknown", np.full(200, "neither")),
    ):
        given = task._replace(sample={node: str(told[node]) for node in drawn})
        some, every = learner.learn(given)
        assert np.isin(drawn, some.view.nodes).all()
        assert some.view.nodes.size < 150
        assert np.allclose(every.view.posterior.by_class, before.view.posterior.by_class, atol=1e-4)
        assert some.expected.accuracy == pytest.approx(every.expected.accuracy, abs=0.01)
        found[name] = every.expected
    assert found["right"].accuracy >= before.expected.accuracy > 0.9
    assert np.diff(found["right"].interval) <= np.diff(before.expected.interval)
    assert found["wrong"].interval[1] < 0.75
    # no prediction is of a class that is not learned yet
    assert found["unknown"].accuracy == pytest.approx(found["wrong"].accuracy)


def test_a_random_sample_ages():
    def answer(node, apart=False, label="upper"):
        return Answer(node, label, 1.0 if label else None, "Ann", "", apart)

    def known(rows):
        found = KnownLabels(30, {0: "lower", 1: "upper"})
        for row in rows:
            found.add(row)
        return found

    draw = Answer(5, "", None, "", "", True)
    rows = [answer(2), draw, answer(5, True), answer(0), *map(answer, (6, 7, 8))]
    # a tenth of all items: labels before the draw, of the sample and of labeled items do not count
    assert known(rows).labels_current() == known(rows).task().sample == {5: "upper"}
    rows += [answer(9)]
    assert known(rows).labels_current() == known(rows).task().sample == {}
    assert known(rows).labels_apart() == {5: "upper"}
    later = [draw._replace(node=10), answer(10, True)]
    assert known(rows + later).labels_current() == {10: "upper"}
    assert known([*rows, answer(9, label="")]).labels_current() == {5: "upper"}


def test_a_random_sample_comes_before_questions_that_are_held(start):
    session, people = start(), "ABCDEFGH"
    held = {who: session.question(who).node for who in people}
    session.start_random_sample(100)
    asked = {who: session.question(who) for who in people}
    assert all(question.apart for question in asked.values())
    assert len({question.node for question in asked.values()}) == len(people)
    drawn = {who for who in people if held[who] in session.drawn}
    assert 0 < len(drawn) < len(people)
    assert {who for who in people if asked[who].node == held[who]} == drawn


def test_a_random_sample_leaves_items_to_learn_from(moons, start):
    _, y, _ = moons
    session = start()
    with pytest.raises(ValueError, match="10 of all must stay to learn from"):
        session.start_random_sample(191)
    session.start_random_sample(190)
    with pytest.raises(ValueError, match="10 items have no label, and 10 of all must stay"):
        session.start_random_sample(1)
    for node in set(range(200)) - set(session.drawn):
        session.answer(node, y[node], who="Ann")
    assert session.wait(SECONDS)
    before = session.progress()
    # what is drawn and has no label is the rest
    assert before.expected_accuracy > 0.5
    assert before.decided > 10
    assert session.question("Ann").apart
    label(session, y, 4)
    node = session.question("Ann").node
    session.answer(node, y[node], confidence=0.8, who="Ann")
    assert session.wait(SECONDS)
    assert session.progress().interval != before.interval
    assert session._learning.learned.counts.sum() == 190


def test_an_unfinished_random_sample_goes_on(moons, start, tmp_path):
    _, y, _ = moons
    session = start()
    label(session, y, 4)
    session.start_random_sample(6)
    apart = []
    for _ in range(2):
        node = session.question("Ann").node
        session.answer(node, y[node], who="Ann")
        apart.append(node)
    session.skip(session.question("Ann").node, who="Ann")
    expected = session.question("Ann").node, session.question("Ben").node
    progress, history = session.progress(), session.history()

    again = start()

    assert (again.progress().n_answers, again.progress().n_labeled) == (7, 6)
    assert (progress.n_answers, progress.n_labeled) == (7, 6)
    assert again.history() == history
    assert (again.question("Ann").node, again.question("Ben").node) == expected
    for who in ("Ann", "Ann", "Ann", "Ben"):  # Ben gets the one that Ann skipped
        question = again.question(who)
        assert question.apart
        again.answer(question.node, y[question.node], who=who)
        apart.append(question.node)
    assert not again.question("Ann").apart
    assert len(set(apart)) == 6
    assert again.random_sample().nodes.tolist() == sorted(apart)
    assert len(again.labels()) == 4
    assert again.wait(SECONDS)
    rows = (tmp_path / "answers.csv").read_text().splitlines()[1:]
    assert sum(row.split(",")[3] == "" for row in rows) == 6


def test_a_sample_that_cannot_be_kept_is_not_drawn(start, tmp_path):
    session = start()
    os.rename(tmp_path / "answers.csv", tmp_path / "moved.csv")
    with pytest.raises(OSError, match="moved or removed"):
        session.start_random_sample(6)
    assert not session.question("Ann").apart
    os.rename(tmp_path / "moved.csv", tmp_path / "answers.csv")
    with pytest.raises(ValueError, match="200 items have no label"):
        session.start_random_sample(201)


def test_classes_may_come_on_the_way(moons, start):
    _, y, _ = moons
    session = start(classes=())
    node = session.question("Ann").node
    with pytest.raises(ValueError, match="must be one of"):
        session.answer(node, "upper", who="Ann")
    for name in ("upper", "lower"):
        session.add_class(name)
    label(session, y, 4)
    assert session.random_sample() is None


def test_nothing_waits_for_the_learner(moons, start, monkeypatch):
    _, y, _ = moons
    session, go = start(), threading.Event()
    learn = session._learner.learn

    def slow(*task):
        assert go.wait(SECONDS)
        yield from learn(*task)

    monkeypatch.setattr(session._learner, "learn", slow)
    begun = time.monotonic()
    for _ in range(40):  # more than are ready
        node = session.question("Ann").node
        session.answer(node, y[node], who="Ann")
        session.progress(), session.opinion(node), session.states(), session.history()
    assert time.monotonic() - begun < 10
    assert session.progress().busy
    go.set()
    assert session.wait(SECONDS)
    assert session.progress().expected_accuracy > 0.9


def test_an_error_of_the_learner_is_shown_and_stops_nothing(moons, start, monkeypatch):
    import graphuq.labeling.learner

    _, y, _ = moons
    session = start()

    def fail(*_, **__):
        raise RuntimeError("no convergence")

    with monkeypatch.context() as patch:
        patch.setattr(graphuq.labeling.learner, "tune", fail)
        label(session, y, 8)
        assert session.progress().error == "RuntimeError: no convergence"
    label(session, y, 1)
    assert session.progress().error is None
    assert session.progress().expected_accuracy > 0.5


def test_an_answer_that_cannot_be_kept_is_not_counted(moons, start, tmp_path):
    _, y, _ = moons
    session = start()
    label(session, y, 2)
    node = session.question("Ann").node
    os.rename(tmp_path / "answers.csv", tmp_path / "moved.csv")
    with pytest.raises(OSError, match="moved or removed"):
        session.answer(node, y[node], who="Ann")
    assert "moved or removed" in session.progress().error
    assert session.progress().n_labeled == 2
    assert session.question("Ann").node == node
    os.rename(tmp_path / "moved.csv", tmp_path / "answers.csv")
    session.answer(node, y[node], who="Ann")
    assert session.progress().error is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names must name 200 items"),
        ({"names": ["a"] * 200}, "got 'a' twice"),
        ({"threshold": 1.0}, "threshold must lie in"),
        ({"goal": 0}, "goal must lie in"),
        ({"classes": ["a", ""]}, "text of one line"),
        ({"classes": ["a", "b\nc"]}, "text of one line"),
        ({"labels": gq.Labels([1, 400], ["a", "b"])}, "400"),
        ({"seed": -1}, "seed"),
        ({"rank": 0}, "rank must"),
        ({"rank": 10**6, "spectrum": None}, "there are 199 modes"),
        ({"rank": 41}, "there are 40 modes"),
    ],
)
def test_bad_sessions_are_refused(moons, tmp_path, options, message):
    graph, _, spectrum = moons
    with pytest.raises(ValueError, match=message):
        LabelingSession(graph, tmp_path / "answers.csv", **{"spectrum": spectrum, **options})
    assert not (tmp_path / "answers.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((400, "upper"), {}, "node must"),
        ((-1, "upper"), {}, "node must"),
        ((0, "other"), {}, "label must be one of"),
        ((0, "upper"), {"confidence": 0.0}, "confidence must"),
        ((0, "upper"), {"confidence": 1.5}, "confidence must"),
        ((0, "upper"), {"confidence": float("nan")}, "confidence must"),
        ((0, "upper"), {"who": ""}, "who must be a text of one line"),
        ((0, "upper"), {"who": "Ann\nBen"}, "who must be a text of one line"),
    ],
)
def test_bad_answers_are_refused(start, arguments, options, message):
    session = start()
    with pytest.raises(ValueError, match=message):
        session.answer(*arguments, **{"who": "Ann", **options})
    assert session.progress().n_answers == 0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_statistics_of_some_nodes_are_those_of_all(monkeypatch, n_classes):
    import graphuq.labeling.learner as learning

    X, digits = gq.datasets.digits()
    kept = np.flatnonzero(digits < 4)[:300]
    y = (digits[kept] % n_classes).astype(str)
    graph = gq.knn_graph(X[kept], n_neighbors=8, connect=True)
    monkeypatch.setattr(learning, "PANEL", 60)
    monkeypatch.setattr(learning, "SMALL", 60)
    monkeypatch.setattr(learning, "CANDIDATES", 30)
    learner = learning.Learner(gq.Spectrum.of(graph, 50), None, gq.Probit(), seed=0)
    labels = {node: str(y[node]) for node in range(0, 300, 15)}
    task = learning.Task(labels, tuple("0123"[:n_classes]), frozenset(), {}, {})
    some, every = learner.learn(task)

    assert some.view.nodes.size < 150
    assert every.view.nodes.size == 300
    at = np.searchsorted(every.view.nodes, some.view.nodes)
    # expectation propagation ends where its sites move less than 1e-4
    assert np.allclose(some.view.posterior.by_class, every.view.posterior.by_class[at], atol=1e-4)
    assert some.expected.accuracy == pytest.approx(every.expected.accuracy, abs=1e-4)
    assert some.counts.sum() == pytest.approx(280)
    assert every.counts.sum() == pytest.approx(280)
    # the start is used, and urgent tasks leave all nodes out
    later = learning.Task(labels | {1: str(y[1])}, task.classes, frozenset(), {}, {})
    (quick,) = learner.learn(later, lambda: True)
    assert quick.view.nodes.size < 150
    assert quick.whole is every.view
    fresh = learning.Learner(gq.Spectrum.of(graph, 50), None, gq.Probit(), seed=0)
    fresh.tuned = learner.tuned
    anew = fresh._look(later, quick_labels(later), quick.view.nodes)
    assert np.allclose(anew.view.posterior.by_class, quick.view.posterior.by_class, atol=1e-4)


def quick_labels(task):
    nodes = sorted(task.labels)
    return gq.Labels(nodes, [task.labels[node] for node in nodes], list(task.classes))


ANNOTATOR = """
import sys
from pathlib import Path
import graphuq as gq
from graphuq.labeling.session import LabelingSession
from graphuq.labeling.stopping import judge

X, y = gq.datasets.two_moons(400, seed=0)
graph = gq.knn_graph(X, n_neighbors=8, connect=True)
session = LabelingSession(graph, Path(sys.argv[1]), classes=["0", "1"], rank=20)
print("start", flush=True)
while (question := session.question("Ann")) is not None:
    session.answer(question.node, str(y[question.node]), who="Ann")
    print(question.node, flush=True)  # acknowledged
"""


@pytest.mark.slow
def test_a_killed_session_loses_no_answer_and_doubles_none(tmp_path):
    path, names = tmp_path / "answers.csv", [str(node) for node in range(400)]
    rng, acknowledged = np.random.default_rng(0), []
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", ANNOTATOR, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "start\n"
        time.sleep(rng.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        acknowledged += map(int, rest[: rest.rfind("\n") + 1].split())
        content = path.read_bytes()
        rows = parse(content[: content.rfind(b"\n") + 1], names, path)
        nodes = [row.node for row in rows]
        assert len(set(nodes)) == len(nodes)
        # each run may have kept an answer without having said so
        assert set(acknowledged) <= set(nodes)
        assert len(nodes) <= len(acknowledged) + 20
    book = Book()
    for row in rows:
        book.add(row)
    assert len(book.labeled()) == len(nodes) > 20


def test_the_table_has_a_row_for_each_item(moons, start):
    _, y, _ = moons
    session = start(labels=gq.reveal(y, counts=3, seed=0))
    before = session.labels()
    node = next(n for n in range(200) if n not in before.nodes)
    session.answer(node, y[node], confidence=0.7, who="Ann")
    session.answer(node, y[node], confidence=0.7, who="Ben")
    assert session.wait(SECONDS)
    table = session.table()
    for at in (0, 199):
        told = session.opinion(at)
        assert told.probability.max() == table.loc[at, "probability"]
        assert told.classes[told.probability.argmax()] == table.loc[at, "prediction"]
    assert table["id"].tolist() == session.names
    labeled = table["label"].notna()
    assert table[labeled]["label"].tolist() == session.labels().values.tolist()
    assert set(table.loc[before.nodes, "confidence"]) == {1.0}
    assert table.loc[node, "who"] == "Ann; Ben"
    session.answer(0, "upper", who="Ann"), session.answer(0, "upper", who="Ben")
    session.answer(0, "lower", who="Cyd")
    assert session.table().loc[0, "who"] == "Ann; Ben"  # who gave the label
    assert 0.7 < table.loc[node, "confidence"] < 1
    assert table.loc[~labeled, ["label", "confidence", "who"]].isna().all(axis=None)
    assert (table["prediction"] == y)[~labeled].mean() > 0.7


def test_a_session_says_when_to_stop(moons, start):
    _, y, _ = moons
    session = start(goal=0.9)
    assert session.progress().stop is None
    label(session, y, 30)
    stop = session.progress().stop
    assert (stop.goal, stop.risk, stop.reached) == (0.9, 0.05, False)
    assert 5 < stop.sample <= 30
    session.start_random_sample(stop.sample)
    label(session, y, stop.sample)
    later = session.progress().stop
    assert later.reached
    assert later.probability >= 0.95 > stop.probability
    session.set_goal(0.9999, 0.001)  # at once, without an answer
    assert not session.progress().stop.reached


def test_items_of_the_sample_without_a_certain_label_do_not_make_sure(moons, start):
    _, y, _ = moons
    session = start(goal=0.8)
    label(session, y, 20)
    session.start_random_sample(30)
    assert session.wait(SECONDS)
    stop = session.progress().stop
    assert (stop.reached, stop.waiting, stop.sample) == (False, 30, None)
    n_left = 8
    for _ in range(30 - n_left):
        node = session.question("Ann").node
        session.answer(node, y[node], who="Ann")
    assert session.wait(SECONDS)
    stop = session.progress().stop
    assert (stop.reached, stop.waiting) == (False, n_left)
    for _ in range(n_left):  # hard ones, perhaps
        session.skip(session.question("Ann").node, who="Ann")
    assert session.wait(SECONDS)
    doubtful = session.progress().stop
    assert (doubtful.reached, doubtful.waiting) == (False, 0)
    # negative control: as if they had not been drawn
    expected = session._learning.learned.expected
    assert judge(expected, 0.8, 0.05, 20).reached
    for node in session.drawn[:4]:  # of which somebody is not sure
        session.answer(node, y[node], confidence=0.7, who="Ann")
    for node in session.drawn[4:]:
        session.answer(node, y[node], who="Ann")
    assert session.wait(SECONDS)
    unsure, error = session.progress().stop, session.progress().error
    assert (error, unsure.waiting) == (None, 0)
    for node in session.drawn:
        session.answer(node, y[node], who="Ann")
    assert session.wait(SECONDS)
    assert session.progress().stop.reached
    assert session.progress().stop.probability > unsure.probability > doubtful.probability


@pytest.mark.parametrize("sure", [None, 0.7])
def test_a_sample_of_all_items_shows_nothing_if_none_is_sure(start, sure):
    X, y = gq.datasets.two_moons(30, seed=0)
    graph, path = gq.knn_graph(X, n_neighbors=4, connect=True), start().path.with_name("all.csv")
    with LabelingSession(graph, path, classes=NAMES, goal=0.6, risk=0.2) as session:
        for node in range(20):
            session.answer(node, NAMES[y[node]], who="Ann")
        session.start_random_sample(10)
        for node in session.drawn[:9]:
            if sure is None:
                session.skip(node, who="Ann")
            else:
                session.answer(node, NAMES[y[node]], confidence=sure, who="Ann")
        assert session.wait(SECONDS)
        assert session.progress().error is None
        assert not session.progress().stop.reached


def test_proposed_samples_can_be_drawn(start):
    X, y = gq.datasets.two_moons(14, seed=0)
    path = start().path.with_name("few.csv")
    graph = gq.knn_graph(X, n_neighbors=3, connect=True)
    with LabelingSession(graph, path, classes=NAMES, goal=0.6, risk=0.2) as session:
        for node in range(10):
            session.answer(node, NAMES[y[node]], who="Ann")
        assert session.wait(SECONDS)
        assert (session.progress().stop.sample or 0) <= 4
        for node in range(10, 14):
            session.answer(node, NAMES[y[node]], who="Ann")
        assert session.wait(SECONDS)
        assert session.progress().stop == Stop(0.6, 0.2, 1.0, True, 0, None)


def test_an_improbable_label_is_shown_to_a_second_person(moons, start):
    _, y, _ = moons
    session = start()
    label(session, y, 30)
    assert session.question("Ben").reason != SENTENCES["second"]
    for node in (20, 150):  # inside the moons
        session.answer(node, NAMES[y[node] != NAMES][0], who="Ann")
    assert session.wait(SECONDS)
    assert not {session.question("Ann").node, session.question("Ben").node} & {20, 150}  # held
    label(session, y, 1, "Ben")
    asked = session.question("Ben")
    assert asked.node in (20, 150)
    assert asked.reason == SENTENCES["second"]
    assert session.question("Ann").node not in (20, 150)  # she gave it
    assert session.question("Cyd").node != asked.node  # Ben has it
    session.answer(asked.node, y[asked.node], who="Ben")
    assert session.wait(SECONDS)
    found = session.suspects()[0]
    assert (found.node, found.probability_mistake) == (asked.node, None)  # people do not agree
    assert session.question("Ben").node != asked.node
