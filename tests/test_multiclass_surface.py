"""Everything about a posterior of more than two classes: files, sets, comparisons."""

from __future__ import annotations

import re

import arviz as az
import numpy as np
import pytest
from conftest import NodesAlone, mutated, priors, quietly

import graphuq as gq
from graphuq import comparison, conformal, validation
from graphuq.conformal import prediction_sets

PER_CLASS = ("mean", "probability", "mcse", "latent_mean", "latent_variance")
QUICK = {"draws": 200, "chains": 2, "seed": 0, "progress": False}


@pytest.fixture(scope="module")
def graph(clumps):
    return gq.knn_graph(clumps[0], n_neighbors=6, connect=True)


@pytest.fixture(scope="module")
def labels(clumps):
    return gq.reveal(clumps[1], counts=3, seed=0)


@pytest.fixture(scope="module")
def unseen(labels):
    """The same labels where there is a class that none of them shows."""
    return gq.Labels(labels.nodes, labels.values, classes=["cow", "ape", "bee", "ant"])


@pytest.fixture(scope="module")
def posts(graph, labels, unseen):
    spectrum = gq.Spectrum.of(graph)
    kinds = priors(spectrum, 12)
    model = gq.GinzburgLandau(epsilon=1.0, gamma=0.5)
    return {
        "projected": quietly(kinds["projected"], gq.Probit(0.2), labels, nodes=[5, 2], **QUICK),
        "approximated": quietly(kinds["approximated"], gq.Probit(0.2), unseen, **QUICK),
        "field": quietly(kinds["projected"], model, labels, **QUICK),
    }


def assert_same(a, b):
    for name in (*PER_CLASS, "variance", "modes", "field", "read", "traced", "entropy", "margin"):
        x, y = getattr(a, name), getattr(b, name)
        assert x.shape == y.shape, name
        np.testing.assert_array_equal(x, y, err_msg=name)
    assert a.settings == b.settings
    assert a.labels.classes.tolist() == b.labels.classes.tolist()
    assert a.labels.values.tolist() == b.labels.values.tolist()
    np.testing.assert_array_equal(a.prediction, b.prediction)


@pytest.mark.parametrize("kind", ["projected", "approximated", "field"])
def test_round_trips_in_memory_through_our_file_and_through_arviz(posts, kind, tmp_path):
    post = posts[kind]
    assert_same(gq.from_arviz(post.to_arviz()), post)
    post.save(tmp_path / "ours.nc")
    assert_same(gq.load(tmp_path / "ours.nc"), post)
    assert_same(gq.from_arviz(az.from_netcdf(str(tmp_path / "ours.nc"), engine="h5netcdf")), post)
    post.to_arviz().to_netcdf(str(tmp_path / "arviz.nc"), engine="h5netcdf")
    assert_same(gq.load(tmp_path / "arviz.nc"), post)


def test_what_is_said_of_each_class_has_its_name(posts, labels):
    post = posts["projected"]
    tree = post.to_arviz()
    nodes, draws = tree["node_summary"], tree["posterior"]
    for name in PER_CLASS:
        assert nodes[name].dims == ("node", "class")
        bee = nodes[name].sel({"class": "bee"}).values
        np.testing.assert_array_equal(bee, getattr(post, name)[:, 1])
    assert {nodes[name].dims for name in ("variance", "rank", "entropy", "margin")} == {("node",)}
    np.testing.assert_array_equal(nodes["entropy"], post.entropy)
    np.testing.assert_array_equal(nodes["margin"], post.margin)
    assert draws["z"].dims == ("chain", "draw", "mode", "class")
    assert draws["u"].dims == ("chain", "draw", "node", "class")
    at = {"chain": 1, "draw": 7, "node": 2, "class": "cow"}
    assert draws["u"].sel(at).item() == post.field[1, 7, 1, 2]
    assert tree["observed_data"]["y"].values.tolist() == labels.indices.tolist()
    read = posts["approximated"].to_arviz()["sample_stats"]["x"]
    assert read.dims == ("chain", "draw", "label_node", "class")
    assert read["class"].values.tolist() == ["ant", "ape", "bee", "cow"]


def test_two_classes_are_said_of_as_they_were(small):
    spectrum, labels, _ = small
    post = quietly(gq.Prior.approximated(spectrum, 4), gq.Probit(0.2), labels, nodes=[3], **QUICK)
    tree = post.to_arviz()
    assert all("class" not in tree[name].dims for name in ("posterior", "sample_stats"))
    assert "class" not in tree["node_summary"].dims
    assert set(tree["observed_data"]["y"].values.tolist()) == {-1.0, 1.0}


def test_a_class_of_two_without_labels_survives_a_file(small, tmp_path):
    spectrum, labels, _ = small
    ones = gq.Labels(labels.nodes, np.ones(5, dtype=int), classes=[0, 1])
    post = quietly(gq.Prior.projected(spectrum, 4), gq.Probit(0.2), ones, **QUICK)
    quick = gq.approximate(gq.Prior.projected(spectrum, 4), gq.Probit(0.2), ones)
    for number, each in enumerate((post, quick)):
        each.save(tmp_path / f"{number}.nc")
        assert gq.load(tmp_path / f"{number}.nc").labels.classes.tolist() == [0, 1]


# arviz 0.23 calls what matplotlib 3.11 deprecates
@pytest.mark.filterwarnings("ignore::matplotlib.MatplotlibDeprecationWarning")
def test_arviz_just_works(posts):
    import matplotlib

    matplotlib.use("Agg")
    tree = posts["projected"].to_arviz()
    summary = az.summary(tree, var_names=["u"])
    assert len(summary) == 6
    assert any("cow" in str(row) for row in summary.index)
    az.plot_trace(tree, var_names=["u"])


def test_classifiers_stand_beside_many_classes(posts, graph, labels):
    laplace = gq.LaplaceLearning().fit(graph, labels)
    nodes = posts["projected"].to_arviz({"harmonic": laplace})["node_summary"]
    scores = nodes["decision_score"].sel({"classifier": "harmonic", "class": "ant"})
    np.testing.assert_array_equal(scores, laplace.decision_scores_[:, 0])
    with pytest.raises(ValueError, match="harmonic was fitted on"):
        posts["approximated"].to_arviz({"harmonic": laplace})


# Sets.


def simplex_nodes(rng, n, sharpness=1.0):
    """Probabilities and true classes; the first three nodes are labelled."""
    q = rng.dirichlet([0.4, 0.6, 0.8], n)
    y = (rng.random(n)[:, None] > q.cumsum(axis=1)[:, :2]).sum(axis=1)
    y[:3] = [0, 1, 2]
    p = q**sharpness
    return np.round(p / p.sum(axis=1, keepdims=True), 2), y


def covered(make, sharpness=1.0, splits=1000, n=12, coverage=0.85):
    """Mean coverage of splits at random, its standard error and how many lack a class."""
    rng = np.random.default_rng(8)
    shares, lacking = [], 0
    for seed in range(splits):
        p, y = simplex_nodes(rng, n + 103, sharpness)
        nodes = 3 + rng.permutation(n + 100)[:n]
        held_out = gq.Labels(nodes, y[nodes], classes=[0, 1, 2])
        lacking += np.unique(held_out.values).size < 3
        result = make(p, gq.Labels([0, 1, 2], [0, 1, 2]), held_out, coverage, seed=seed)
        shares.append(result.coverage(y))
    return np.mean(shares), np.std(shares) / np.sqrt(splits), lacking


@pytest.mark.parametrize("sharpness", [1.0, 3.0], ids=["true", "overconfident"])
def test_coverage_is_the_nominal_one_whatever_classes_were_held_out(sharpness):
    share, error, lacking = covered(prediction_sets, sharpness)
    assert abs(share - 12 / 13) < 4 * error  # 12 is 13 x 0.85, rounded up
    assert lacking > 10


def test_sets_of_a_rank_less_miss_it():
    wrong = mutated(
        conformal.prediction_sets, "(peers.size + 1) * coverage", "peers.size * coverage"
    )
    share, error, _ = covered(wrong)
    assert 12 / 13 - share > 4 * error


def test_held_out_labels_need_not_show_all_classes(posts, clumps):
    _, y = clumps
    post = posts["approximated"]
    hidden = np.setdiff1d(np.arange(60), post.labels.nodes)
    some = hidden[y[hidden] != "cow"][:20]
    given = np.full(60, None)
    given[some] = y[some]
    by_array = post.prediction_sets(given, 0.8)
    assert by_array.sets.shape == (60, 4)
    assert by_array.classes.tolist() == by_array.known.classes.tolist()
    listed = gq.Labels(some, y[some], classes=post.labels.classes)
    for held_out in (gq.Labels(some, y[some]), listed):
        np.testing.assert_array_equal(post.prediction_sets(held_out, 0.8).sets, by_array.sets)
    assert 0 < by_array.coverage(y) <= 1
    with pytest.raises(ValueError, match="0 held-out labels of class 'ape' are too few"):
        post.prediction_sets(listed, 0.8, per_class=True)
    for other in (["dog", "bee"], [0, 1]):
        with pytest.raises(ValueError, match=r"of the classes \['ant', 'ape', 'bee', 'cow'\], got"):
            post.prediction_sets(gq.Labels(some[:2], other))


# Labels that are wrong, calibration, draws.


def test_planted_wrong_labels_are_found(graph, clumps):
    _, y = clumps
    labels = gq.reveal(y, counts=8, seed=1)
    values = labels.values.copy()
    wrong = [2, 11, 20]
    values[wrong] = np.array(["bee", "cow", "ant"])[labels.indices[wrong]]
    given = gq.Labels(labels.nodes, values)
    prior = gq.Prior.projected(graph, 12, alpha=2.0)
    post = quietly(prior, gq.NoisyProbit(0.1, 0.1), given, **QUICK)
    suspects = post.suspect_labels()
    assert set(suspects["node"][:3]) == set(labels.nodes[wrong])
    right = dict(zip(labels.nodes.tolist(), labels.values.tolist(), strict=True))
    assert all(right[r.node] == r.likelier for r in suspects.iloc[:3].itertuples())
    at = [int(np.flatnonzero(given.nodes == node)[0]) for node in suspects["node"]]
    own = post.probability[given.nodes, given.indices]
    np.testing.assert_allclose(suspects["probability_wrong"], 1 - own[at])
    # of the true labels none is
    none = quietly(prior, gq.NoisyProbit(0.1, 0.1), labels, **QUICK).suspect_labels()
    assert (none["likelier"] == none["label"]).all()


def test_suspects_by_hand():
    labels = gq.Labels([0, 1, 2], ["a", "b", "c"])
    p = np.array([[0.2, 0.7, 0.1], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.3, 0.4]])
    field = np.array([[0.0, 1, 0], [0, 5.0, 0], [0, 1.0, 2], [0, 0, 0]])
    post = NodesAlone(labels, p, np.ones(4), p, 0 * p, field, np.ones((4, 3)))
    suspects = post.suspect_labels()
    assert suspects["node"].tolist() == [0, 2, 1]  # the field at node 1 speaks for its label more
    assert suspects["likelier"].tolist() == ["b", "c", "b"]
    np.testing.assert_allclose(suspects["probability_wrong"], [0.8, 0.0, 0.0])
    assert post.accuracy(["a", "b", "c", "c"]) == 1.0


def simulated(prior, rng, gamma=0.5, n_labels=6):
    """A truth drawn from the prior, and noisy labels of some nodes."""
    field = prior.modes_at(np.arange(prior.n_nodes)) * prior.sigma
    u = field @ rng.standard_normal((prior.sigma.size, 3))
    nodes = rng.choice(prior.n_nodes, n_labels, replace=False)
    seen = (u[nodes] + gamma * rng.standard_normal((n_labels, 3))).argmax(axis=1)
    return u.argmax(axis=1), gq.Labels(nodes, seen, classes=[0, 1, 2])


def test_simulated_truths_are_as_probable_as_said(graph):
    prior, rng = gq.Prior.projected(graph, 12), np.random.default_rng(2)
    gaps = {1: [], 3: []}
    for _ in range(80):
        truth, labels = simulated(prior, rng)
        post = quietly(prior, gq.Probit(0.5), labels, draws=150, chains=1, seed=rng, progress=False)
        found = post.calibration(truth)
        assert found.accuracy == pytest.approx(post.accuracy(truth))
        hidden = np.setdiff1d(np.arange(60), labels.nodes)
        for sharpness, gap in gaps.items():
            p = post.probability[hidden] ** sharpness
            p /= p.sum(axis=1, keepdims=True)
            gap.append(found.accuracy - p.max(axis=1).mean())
    z = {k: np.mean(gap) / (np.std(gap) / np.sqrt(80)) for k, gap in gaps.items()}
    assert abs(z[1]) < 4
    assert z[3] < -4


@pytest.mark.parametrize("kind", ["projected", "approximated"])
def test_latent_draws_have_the_moments_of_the_posterior(graph, labels, kind, tmp_path):
    prior = priors(gq.Spectrum.of(graph), 12)[kind]
    post = gq.sample(
        prior, gq.Probit(0.3), labels, draws=3000, nodes=[4, 9], seed=0, progress=False
    )
    u = np.concatenate(list(post.latent_draws(seed=1)))
    assert u.shape == (12_000, 60, 3)
    error = np.sqrt(post.latent_variance / 12_000)
    assert (abs(u.mean(axis=0) - post.latent_mean) < 6 * error).all()
    ratio = u.var(axis=0) / post.latent_variance
    np.testing.assert_allclose(ratio, 1, rtol=9 * np.sqrt(2 / 12_000))
    shares = (u.argmax(axis=2)[..., None] == np.arange(3)).mean(axis=0)
    bound = 6 * np.sqrt((shares * (1 - shares) + 1e-4) / 12_000)
    assert (abs(shares - post.probability) < bound).all()
    some = np.concatenate(list(post.latent_draws(nodes=[4, 9], seed=1)))
    if kind == "projected":
        np.testing.assert_allclose(some, post.field.reshape(-1, 2, 3), atol=1e-9)
    post.save(tmp_path / "a.nc")
    again = gq.load(tmp_path / "a.nc").latent_draws(prior, nodes=[4, 9], seed=1)
    np.testing.assert_array_equal(np.concatenate(list(again)), some)


# Comparisons, and what is refused.


def test_comparisons_have_the_posterior_of_many_classes(graph, labels, clumps):
    _, y = clumps
    prior, model = gq.Prior.projected(graph, 12), gq.Probit(0.2)
    table = gq.compare(graph, labels, y, {"mine": (prior, model)}, seed=3)
    assert table.index.tolist() == ["posterior of mine"]
    post = gq.sample(prior, model, labels, seed=3, progress=False)
    hidden = np.setdiff1d(np.arange(60), labels.nodes)
    row = table.loc["posterior of mine"]
    assert row["accuracy"] == post.accuracy(y)
    seen = (post.probability[hidden], y[hidden], labels.classes)
    assert row["brier"] == gq.brier_score(*seen)
    assert row["calibration_error"] == gq.expected_calibration_error(*seen)


def test_the_default_methods_are_those_that_serve(graph, unseen, clumps):
    methods = comparison._default_methods(graph, unseen)
    assert [type(m).__name__ for m in methods] == ["LaplaceLearning", "PageRankSSL", "tuple"]
    table = gq.compare(graph, unseen, clumps[1])
    assert len(table) == 3
    assert (table["accuracy"] > 0.9).all()


EMPTY_IS_NOTHING = {
    "harmonic": gq.LaplaceLearning(),
    "PageRank": gq.PageRankSSL(),
    "PageRank by GMRES": gq.GDPCA(delta=1e-4, solver="gmres"),
    "label spreading": gq.ZhouGC(1.0),
    "kernel": gq.LaplacianKernel(),
}


@pytest.mark.parametrize("name", EMPTY_IS_NOTHING)
def test_a_class_without_labels_scores_nothing_or_is_refused(graph, labels, unseen, clumps, name):
    model = EMPTY_IS_NOTHING[name]
    features = (clumps[0],) if isinstance(model, gq.GDPCA) else ()
    without = model.fit(graph, labels, *features).decision_scores_.copy()
    scores = model.fit(graph, unseen, *features).decision_scores_
    np.testing.assert_allclose(scores[:, [0, 2, 3]], without, rtol=1e-6, atol=1e-9)
    assert (scores[:, 1] == 0).all()


@pytest.mark.parametrize("model", [gq.RobustGC(), gq.BelkinNiyogi(5)], ids=repr)
def test_one_against_the_rest_needs_labels_of_each(graph, labels, unseen, model):
    model.fit(graph, labels)
    with pytest.raises(ValueError, match="no label is of 'ape': label a node of it"):
        model.fit(graph, unseen)


def test_classes_without_labels_are_alike_and_likely_far_from_the_labels_of_others(graph, clumps):
    _, y = clumps
    ants = gq.Labels(np.flatnonzero(y == "ant")[:5], ["ant"] * 5, classes=["ant", "bee", "cow"])
    post = gq.sample(gq.Prior.projected(graph, 12), gq.Probit(0.2), ants, seed=0, progress=False)
    ant, bee, cow = post.probability.T
    assert (abs(bee - cow) < 5 * np.hypot(post.mcse[:, 1], post.mcse[:, 2])).all()
    assert ant[y == "ant"].mean() > 0.8 > 2 * ant[y != "ant"].mean()


def test_labels_that_make_no_problem_are_refused(graph, labels):
    with pytest.raises(ValueError, match="only 'ant'; label a node of another class too, or list"):
        gq.Labels([0, 1], ["ant", "ant"])
    with pytest.raises(ValueError, match="a label is 'ant', which is none of the classes"):
        gq.Labels([0], ["ant"], classes=["bee", "cow", "dog"])
    prior = gq.Prior.projected(graph, 12)
    for refuses in (gq.approximate, gq.map_estimate):
        with pytest.raises(ValueError, match="serves two classes, and the labels have 3"):
            refuses(prior, gq.Probit(0.2), labels)


def test_more_classes_than_memory_holds_are_refused_before_any_work(graph, monkeypatch):
    prior = gq.Prior.projected(graph, 12)
    few, lots, most = (gq.Labels([0, 1], [0, 1], classes=range(K)) for K in (3, 100, 10_000))
    monkeypatch.setattr("graphuq.sampling.run", lambda *_, **__: pytest.fail("worked"))
    monkeypatch.setattr(validation, "_available_memory", lambda: 1e7)
    with pytest.raises(MemoryError, match="ask for fewer draws"):
        gq.sample(prior, gq.Probit(0.2), lots, progress=False)
    with pytest.raises(MemoryError, match="6 x 10000 statistics of 60 nodes"):
        gq.sample(prior, gq.Probit(0.2), most, draws=1, chains=1, progress=False)
    with pytest.raises(pytest.fail.Exception, match="worked"):
        gq.sample(prior, gq.Probit(0.2), few, progress=False)


def test_a_hundred_classes(graph):
    labels = gq.Labels(np.arange(50), [f"class {k}" for k in range(50)], np.char.add(
        "class ", np.arange(100).astype(str)
    ))  # fmt: skip
    post = quietly(
        gq.Prior.approximated(graph, 12), gq.LevelSet(0.5), labels, draws=20, chains=2, seed=0,
        progress=False,
    )  # fmt: skip
    assert post.probability.shape == (60, 100)
    np.testing.assert_allclose(post.probability.sum(axis=1), 1)
    assert post.suggest(2, candidates=5).size == 2
    assert re.match(r"Posterior\(60 nodes", repr(post))
