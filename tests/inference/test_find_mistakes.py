from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import graphuq as gq
from graphuq.inference import find_mistakes as module
from graphuq.inference.find_mistakes import with_mistakes
from graphuq.inference.parameter_ranges import reopened
from graphuq.posterior.assessment.suspect_labels import flag_mistakes

PROBABILITIES = arrays.arrays(float, st.integers(1, 12), elements=st.floats(0, 1))
RATES = st.floats(0.01, 0.9)


@given(PROBABILITIES, RATES)
def test_no_larger_set_has_as_few_right_labels(mistake, rate):
    flagged = flag_mistakes(mistake, rate)
    if flagged.any():
        assert np.mean(1 - mistake[flagged]) <= rate + 1e-12
        assert mistake[flagged].min() > max([*mistake[~flagged], -1])
    if mistake[~flagged].any():  # what cannot be a mistake is never flagged
        more = flagged | (mistake == mistake[~flagged].max())
        assert np.mean(1 - mistake[more]) > rate - 1e-12


@given(PROBABILITIES, RATES, st.randoms())
def test_the_order_of_labels_flags_no_other(mistake, rate, random):
    order = np.array(random.sample(range(mistake.size), mistake.size))
    flagged = flag_mistakes(mistake, rate)
    np.testing.assert_array_equal(flag_mistakes(mistake[order], rate), flagged[order])


def test_labels_of_which_nothing_is_known_are_not_flagged():
    assert not flag_mistakes(np.full(3, np.nan), 0.2).any()
    assert not flag_mistakes(np.zeros(3), 1.0).any()


@pytest.fixture(scope="module")
def ring():
    """A graph of 60 nodes on a ring, and its prior."""
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    graph = gq.knn_graph(np.column_stack([np.cos(angle), np.sin(angle)]), n_neighbors=4)
    return gq.Prior.projected(graph, 8, alpha=2.0, tau=0.3)


def share_of_right_labels(prior, rate, judge, runs=150):
    """The share of right labels among all those flagged, of data from the model, and its error."""
    rng, nodes, model = np.random.default_rng(4), np.arange(0, 60, 3), gq.NoisyProbit(0.2, 0.2)
    found = []
    for seed in range(runs):
        (u,) = prior.draw(1, seed=seed)
        true = u[nodes] + 0.2 * rng.standard_normal(nodes.size) > 0
        flipped = rng.random(nodes.size) < 0.2
        y = true != flipped
        if y.all() or not y.any():
            continue
        table = gq.approximate(prior, model, gq.Labels(nodes, y)).suspect_labels(rate)
        flagged = judge(table)
        found.append((flagged.sum(), (flagged & ~flipped[table["node"] // 3]).sum()))
    flagged, right = np.array(found, dtype=float).T
    share = right.sum() / flagged.sum()
    error = np.std(right - share * flagged, ddof=1) * np.sqrt(len(found)) / flagged.sum()
    return share, error


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:expectation propagation is poor")
def test_the_rate_of_right_labels_among_suspects_is_kept(ring):
    share, error = share_of_right_labels(ring, 0.3, lambda table: table["suspect"].to_numpy())
    assert share < 0.3 + 3 * error
    assert share > 0.1  # as many are flagged as the rate allows
    # every label with a more probable class is too many
    share, error = share_of_right_labels(
        ring, 0.3, lambda table: (table["probability_mistake"] > 0.2).to_numpy()
    )
    assert share > 0.3 + 3 * error


@pytest.fixture(scope="module", params=[2, 3])
def flipped(request, clump_graph, clumps):
    """Labels of clumps with two mistakes, in two or three classes, and what probit says."""
    X, y = clumps
    keep = np.isin(y, np.unique(y)[: request.param])
    labels = gq.reveal(y[keep], counts=12, seed=1)
    values = labels.values.copy()
    values[[2, 11]] = labels.classes[(labels.indices[[2, 11]] + 1) % labels.classes.size]
    wrong = gq.Labels(labels.nodes, values)
    spectrum = gq.Spectrum.of(gq.knn_graph(X[keep], n_neighbors=6, connect=True), 12)
    tuned = gq.tune(spectrum, wrong)
    return spectrum, gq.approximate(tuned.prior, tuned.likelihood, wrong), labels.nodes[[2, 11]]


def test_mistakes_are_those_of_noisy_probit_tuned_to_all_nodes(flipped):
    spectrum, post, wrong = flipped
    found = gq.find_mistakes(post)
    tuned = gq.tune(spectrum, post.labels, gq.NoisyProbit)
    assert tuned.prior.parameters == pytest.approx(
        gq.tune(reopened(post.prior), post.labels, gq.NoisyProbit).prior.parameters
    )
    noisy = gq.approximate(tuned.prior, tuned.likelihood, post.labels)
    columns = ["node", "label", "likelier", "suspect"]
    table, other = found.suspect_labels(), noisy.suspect_labels()
    assert table.sort_values("node")[columns].values.tolist() == (
        other.sort_values("node")[columns].values.tolist()
    )
    for name in ("probability_wrong", "probability_mistake", "probability_overlap"):
        np.testing.assert_allclose(
            table.set_index("node")[name].sort_index(),
            other.set_index("node")[name].sort_index(),
            atol=1e-6,
        )
    assert set(table["node"][table["suspect"]]) == set(wrong)
    # predictions trust the labels as before
    np.testing.assert_array_equal(found.by_class, post.by_class)
    assert not post.suspect_labels()["suspect"].any()
    assert gq.find_mistakes(found) is found
    # another prior is asked again
    fixed = gq.find_mistakes(found, post.prior).doubts
    assert abs(fixed.mistake - found.doubts.mistake).max() > 1e-3
    assert gq.find_mistakes(noisy) is noisy


@pytest.mark.parametrize("n_classes", [2, 3])
def test_draws_of_the_same_model_agree(ring, n_classes):
    nodes = np.arange(0, 60, 3)
    y = nodes * n_classes // 60
    y[[3, 12]] = (y[[3, 12]] + 1) % n_classes
    labels = gq.Labels(nodes, y)
    tuned = gq.tune(ring, labels, gq.NoisyProbit)
    drawn = gq.sample(
        tuned.prior, tuned.likelihood, labels, draws=4000, seed=0, progress=False
    ).suspect_labels()
    found = gq.find_mistakes(gq.approximate(ring, gq.Probit(0.3), labels), ring).suspect_labels()
    both = [table.set_index("node")["probability_mistake"].sort_index() for table in (drawn, found)]
    # expectation propagation errs more where two labels of three classes contradict each other
    np.testing.assert_allclose(*both, atol={2: 0.04, 3: 0.12}[n_classes])
    assert abs(both[0] - (1 - both[1])).max() > 0.3


def test_a_file_and_its_report_have_the_mistakes(flipped, tmp_path):
    _, post, _ = flipped
    found = gq.find_mistakes(post)
    found.save(tmp_path / "post.nc")
    again = gq.load(tmp_path / "post.nc")
    assert again.suspect_labels().equals(found.suspect_labels())
    assert again.doubts.mistake.any()
    gq.write_report(again, tmp_path / "page.html")
    assert "2 of the " in (tmp_path / "page.html").read_text(encoding="utf-8")
    # a report of the posterior itself finds them, too
    gq.write_report(post, tmp_path / "other.html")
    assert "2 of the " in (tmp_path / "other.html").read_text(encoding="utf-8")


def test_what_labels_never_choose_stays():
    X, _ = gq.datasets.two_moons(60, seed=0)
    spectrum = gq.Spectrum.of(gq.knn_graph(X, n_neighbors=6, connect=True), 10)
    whole = gq.Prior.projected(spectrum, 10, alpha=2.0, tau=0.0) + gq.FeaturePrior(X, 0.3)
    fixed = whole.with_parameters(weight=1.0, level=0.5)
    assert set(reopened(fixed).open) == {"alpha", "length_scale", "level"}
    assert set(reopened(fixed.with_parameters(weight=0.4, tau=0.1)).open) == {
        "alpha", "tau", "length_scale", "level", "weight",
    }  # fmt: skip


def test_bad_arguments_are_refused(flipped):
    _, post, _ = flipped
    X, _ = gq.datasets.two_moons(70, seed=0)
    larger = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), 8)
    with pytest.raises(TypeError, match="post must be a Posterior"):
        gq.find_mistakes(post.labels)
    with pytest.raises(ValueError, match=r"prior must be one of the \d+ nodes"):
        gq.find_mistakes(post, larger)
    with pytest.raises(TypeError, match="prior must be a Prior"):
        gq.find_mistakes(post, 3)
    with pytest.raises(ValueError, match="does not hold its prior"):
        gq.find_mistakes(gq.from_arviz(post.to_arviz()))
    with pytest.raises(ValueError, match="false_discovery_rate must lie between 0 and 1"):
        post.suspect_labels(15)


def test_many_labels_are_not_searched_unasked(flipped, monkeypatch):
    _, post, _ = flipped
    monkeypatch.setattr(module, "MOST_FIELDS", 10)
    with pytest.warns(RuntimeWarning, match="mistakes were not searched: there are too many"):
        unknown = with_mistakes(post)
    assert with_mistakes(unknown) is unknown
    table = gq.from_arviz(unknown.to_arviz()).suspect_labels()
    assert table["probability_mistake"].isna().all()
    assert not table["suspect"].any()
    assert table["probability_wrong"].is_monotonic_decreasing
    assert (gq.find_mistakes(unknown).doubts.mistake > 0).all()


@pytest.mark.parametrize("error", [RuntimeError("it did not converge"), KeyboardInterrupt()])
def test_without_an_answer_of_the_second_model_the_first_stays(flipped, monkeypatch, error):
    _, post, _ = flipped
    monkeypatch.setattr(module, "approximate_problem", mock.Mock(side_effect=error))
    why = str(error) or "interrupted"
    with pytest.warns(RuntimeWarning, match=f"mistakes were not searched: {why}"):
        found = with_mistakes(post, survives_interrupt=True)
    assert np.isnan(found.doubts.mistake).all()
    np.testing.assert_array_equal(found.by_class, post.by_class)


def test_ctrl_c_ends_a_report_and_keeps_draws(flipped, monkeypatch, tmp_path):
    _, post, _ = flipped
    monkeypatch.setattr(module, "approximate_problem", mock.Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        with_mistakes(post)
    with pytest.raises(KeyboardInterrupt):
        gq.write_report(post, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
