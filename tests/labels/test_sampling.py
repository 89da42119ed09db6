"""How labels were chosen, and what that says of the level."""

from __future__ import annotations

import numpy as np
import pytest

import graphuq as gq
from graphuq.inference.parameter_ranges import ANY_LEVEL
from graphuq.priors.hyperprior import LEVEL_SCALE


def world(seed, share):
    """Points on a plane, of which a share on the right has a class of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > np.quantile(X[:, 0], 1 - share)).astype(int)
    return gq.Spectrum.of(gq.knn_graph(X, n_neighbors=8, connect=True), 60), y


def test_equal_numbers_are_taken_for_by_class():
    assert gq.Labels([1, 2, 3, 4], list("abab")).sampling == "by class"
    assert gq.Labels([1, 2, 3], list("aab")).sampling == "random"
    assert gq.Labels([1, 2], list("ab"), classes=list("abc")).sampling == "random"
    for given in ("random", "by class", "any"):
        assert gq.Labels([1, 2, 3], list("aab"), sampling=given).sampling == given


def test_reveal_says_what_it_did():
    y = [0, 0, 0, 0, 1, 1]
    assert gq.reveal(y, fraction=0.5, seed=0).sampling == "random"
    assert gq.reveal(y, counts=2, seed=0).sampling == "by class"
    assert gq.reveal(y, counts={0: 2, 1: 1}, seed=0).sampling == "by class"


def test_parts_and_files_keep_it(tmp_path):
    labels = gq.Labels(range(12), list("abc") * 4, sampling="any")
    parts = (*labels.split(seed=0), labels.of_classes("a", "b"))
    assert {part.sampling for part in parts} == {"any"}
    equal = gq.Labels(range(6), list("ababcc"), sampling="by class")
    assert equal.split(0.5, seed=3)[0].sampling in ("by class", "any")
    spectrum, y = world(0, 0.5)
    for sampling in ("random", "by class", "any"):
        labels = gq.Labels(np.arange(20), y[:20], sampling=sampling)
        gq.approximate(spectrum, gq.Probit(0.2), labels).save(tmp_path / "post.nc")
        assert gq.load(tmp_path / "post.nc").labels.sampling == sampling


def test_only_labels_at_random_choose_the_level():
    spectrum, y = world(0, 0.1)
    labels = gq.reveal(y, fraction=0.2, seed=0)
    chosen = {
        sampling: gq.tune(
            spectrum, gq.Labels(labels.nodes, labels.values, sampling=sampling)
        ).chosen
        for sampling in ("random", "by class", "any")
    }
    assert chosen["by class"]["level"] == LEVEL_SCALE > chosen["any"]["level"] == ANY_LEVEL
    assert chosen["random"]["level"] > 0.5
    few = gq.reveal(y, counts=5, seed=0)
    assert gq.tune(spectrum, few).chosen["level"] == 1.0
    assert gq.tune(spectrum, few, level="auto").chosen["level"] == 1.0
    assert gq.tune(spectrum, gq.reveal(y, counts=1, seed=0)).chosen["level"] == 0.0
    assert gq.tune(spectrum, gq.reveal(y, counts={0: 1, 1: 2}, seed=0)).chosen["level"] > 0
    assert gq.tune(spectrum, few, level=(0, 3)).chosen["level"] < 0.5  # as if classes were equal
    assert gq.tune(spectrum, few, level=0.3).prior.level == 0.3
    # a level that has a number keeps it, unless it is opened
    fixed = gq.Prior.projected(spectrum, 60, alpha="auto") + gq.Level(0.3)
    assert gq.tune(fixed, few).prior.level == 0.3
    assert "level" not in gq.tune(fixed, few).chosen
    assert gq.tune(fixed, few, level="auto").chosen["level"] == 1.0


def test_sampling_needs_no_search_for_the_level_alone():
    spectrum, y = world(0, 0.1)
    few, prior = gq.reveal(y, counts=5, seed=0), gq.Prior.projected(spectrum, 60) + gq.Level()
    post = gq.approximate(prior, gq.Probit(0.2), few)
    assert post.prior.level == 1.0
    found = gq.tune(prior, few, gq.Probit(0.2))
    assert (found.chosen, len(found.table)) == ({"level": 1.0}, 1)
    assert found.log_evidence == pytest.approx(gq.evidence(post.prior, gq.Probit(0.2), few))
    assert gq.tune(prior, few, gq.Probit(0.2), level=(0, 3)).chosen["level"] < 0.5


def score(post, y):
    hidden = np.setdiff1d(np.arange(y.size), post.labels.nodes)
    return -np.log(post.by_class[hidden, y[hidden]]).mean()


@pytest.mark.parametrize("share", [0.1, pytest.param(0.2, marks=pytest.mark.slow)])
def test_it_pays_to_say_how_labels_were_chosen(share):
    """Labels of as many items of each class, and the control: labels at random taken for others."""
    gains, control = [], []
    for seed in range(8):
        spectrum, y = world(seed, share)
        for labels, found in (
            (gq.reveal(y, counts=6, seed=seed), gains),
            (gq.reveal(y, fraction=0.1, seed=seed), control),
        ):
            scores = {
                sampling: score(
                    gq.approximate(
                        spectrum,
                        gq.Probit(),
                        gq.Labels(labels.nodes, labels.values, sampling=sampling),
                    ),
                    y,
                )
                for sampling in ("random", "by class")
            }
            found.append(scores["random"] - scores["by class"])
    error = np.std(gains) / np.sqrt(len(gains))
    assert np.mean(gains) > 3 * error
    assert np.mean(gains) > np.mean(control) + 2 * error


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"sampling": "stratified"}, "sampling must be one of 'random', 'by class'"),
        ({"sampling": "by class", "classes": list("abc")}, "there is none of 'c': take"),
    ],
)
def test_refusals(arguments, match):
    with pytest.raises(ValueError, match=match):
        gq.Labels([1, 2], list("ab"), **arguments)
