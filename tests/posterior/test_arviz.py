from __future__ import annotations

import os
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from conftest import priors, quietly
from sklearn.exceptions import NotFittedError

import graphuq as gq
from graphuq.posterior.netcdf import read_groups

QUICK = {"draws": 200, "chains": 2, "seed": 0, "progress": False}
PER_CLASS = ("mean", "probability", "mcse", "latent_mean", "latent_variance")
STATISTICS = {"mean", "variance", "probability", "mcse", "prediction", "rank"}


@pytest.fixture(scope="module")
def post(small):
    spectrum, labels, _ = small
    named = gq.Labels(labels.nodes, np.where(labels.values == 0, "cat", "dog"))
    prior = gq.Prior.approximated(spectrum, 4)
    return quietly(
        prior, gq.Probit(0.2), named, draws=300, nodes=[3, 0, 30], seed=0, progress=False
    )


@pytest.fixture(scope="module")
def posts(post, clump_graph, clump_labels, unseen):
    """Posteriors of two, three and four classes, and one whose field is the label."""
    spectrum = gq.Spectrum.of(clump_graph)
    kinds = priors(spectrum, 12)
    model = gq.GinzburgLandau(epsilon=1.0, gamma=0.5)
    return {
        "two classes": post,
        "projected": quietly(
            kinds["projected"], gq.Probit(0.2), clump_labels, nodes=[5, 2], **QUICK
        ),
        "approximated": quietly(kinds["approximated"], gq.Probit(0.2), unseen, **QUICK),
        "field": quietly(kinds["projected"], model, clump_labels, **QUICK),
    }


def group_names(tree):
    return {name.strip("/") for name in (tree.groups() if callable(tree.groups) else tree.groups)}


def assert_same(a, b):
    names = (*PER_CLASS, "variance", "prediction", "entropy", "margin")
    traces = ("modes", "field", "read", "traced", "running_mean_change")
    for name in (*names, *traces):
        x, y = (getattr(post.draws if name in traces else post, name) for post in (a, b))
        assert np.shape(x) == np.shape(y), name
        np.testing.assert_array_equal(x, y, err_msg=name)
    assert a.draws.stats.keys() == b.draws.stats.keys()
    assert all(np.array_equal(a.draws.stats[name], b.draws.stats[name]) for name in a.draws.stats)
    assert a.settings == b.settings
    assert a.draws.complete is b.draws.complete
    assert a.labels.classes.tolist() == b.labels.classes.tolist()
    assert a.labels.values.tolist() == b.labels.values.tolist()


def test_groups_and_conventions(post):
    tree = post.to_arviz()
    kind = "InferenceData" if az.__version__.startswith("0.") else "DataTree"
    assert type(tree).__name__ == kind
    wanted = {"posterior", "sample_stats", "observed_data", "constant_data", "node_summary"}
    assert wanted <= group_names(tree)
    assert tree["posterior"]["z"].dims == ("chain", "draw", "mode")
    assert tree["posterior"]["u"].sizes == {"chain": 4, "draw": 300, "node": 3}
    assert tree["posterior"]["node"].values.tolist() == [3, 0, 30]
    assert {"acceptance_rate", "lp"} <= set(tree["sample_stats"].data_vars)
    assert set(tree["node_summary"].data_vars) >= STATISTICS
    attrs = tree["posterior"].attrs
    assert attrs["inference_library"] == "graphuq"
    assert attrs["tuning_steps"] == 100
    assert attrs["sampling_time"] > 0
    nodes = tree["node_summary"]
    assert nodes["prediction"].values.tolist() == post.prediction.tolist()
    assert nodes["rank"].values[post.ranking()].tolist() == list(range(40))


@pytest.mark.parametrize(("kind", "traced"), [("many modes", 20), ("many classes", 6)])
def test_arviz_plots_few_modes_and_files_hold_all(kind, traced, small, drawn, tmp_path):
    post = drawn[0]
    if kind == "many modes":
        model = gq.Prior.projected(small[0], 30), gq.Probit(0.2), small[1]
        post = quietly(*model, nodes=[3], **QUICK)
    tree = post.to_arviz()
    assert tree["posterior"]["z"].sizes["mode"] == traced
    np.testing.assert_array_equal(tree["posterior"]["z"].values, post.draws.modes[:, :, :traced])
    np.testing.assert_array_equal(tree["modes"]["z"].values, post.draws.modes)
    assert (
        tree["modes"]["mode"].values[:traced].tolist() == tree["posterior"]["mode"].values.tolist()
    )
    assert len(az.summary(tree, round_to=6)) <= 20 + post.draws.traced.size * (
        1 + 2 * (traced < 20)
    )
    assert_same(gq.from_arviz(tree), post)
    post.save(tmp_path / "post.nc")
    assert_same(gq.load(tmp_path / "post.nc"), post)
    tree.to_netcdf(str(tmp_path / "arviz.nc"), engine="h5netcdf")
    assert_same(gq.load(tmp_path / "arviz.nc"), post)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto:UserWarning")
@pytest.mark.parametrize("kind", ["drawn", "approximated"])
def test_names_stand_beside_the_numbers_of_nodes(kind, post, small, tmp_path):
    names = [f"é {i}" for i in range(40)]
    if kind == "approximated":
        post = gq.approximate(gq.Prior.projected(small[0], 8), gq.Probit(0.2), post.labels)
    named = post.with_names(names)
    tree = named.to_arviz()
    assert tree["node_summary"]["name"].values.tolist() == names
    assert tree["node_summary"]["mean"].sel(node=7).item() == named.mean[7]  # numbers still index
    assert tree["observed_data"].sel(label_node=13)["name"].item() == "é 13"
    if kind == "drawn":
        assert tree["posterior"]["node"].values.tolist() == ["é 3", "é 0", "é 30"]
        assert tree["log_likelihood"].sel(label_node=13)["name"].item() == "é 13"
        assert {"u[é 3]", "u[é 0]", "u[é 30]"} < {*az.summary(tree).index}
        assert {"u[3]", "u[0]", "u[30]"} < {*az.summary(post.to_arviz()).index}
        assert gq.from_arviz(tree).draws.traced.tolist() == [3, 0, 30]
        az.loo(tree)
    tree.to_netcdf(str(tmp_path / "arviz.nc"), engine="h5netcdf")
    named.save(tmp_path / "post.nc")
    for again in (gq.from_arviz(tree), *(gq.load(p) for p in tmp_path.iterdir())):
        assert again.names.tolist() == names
        np.testing.assert_array_equal(again.probability, named.probability)
    # without names there is no such coordinate
    assert "name" not in post.to_arviz()["node_summary"].coords
    assert gq.from_arviz(post.to_arviz()).names is None


@pytest.mark.parametrize(
    "names", [["a"], "a" * 40, None, [["a"]] * 40, ["a\0"] * 40, ["\ud800"] * 40]
)
def test_names_that_do_not_fit_are_refused(post, names):
    with pytest.raises(ValueError, match=r"40 names, one for each node|files cannot hold"):
        post.with_names(names)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT", "D")])
def test_missing_names_are_refused(post, missing):
    message = "that of node 3 is missing: fill it in"
    with pytest.raises(ValueError, match=message):
        post.with_names(["a"] * 3 + [missing] * 37)
    X = pd.DataFrame(np.eye(5), index=["a", "b", "c", missing, "e"])
    # the index is checked before anything else, such as draws
    with pytest.raises(ValueError, match=message):
        gq.BayesianGraphClassifier(draws=10**9).fit(X, [0, 1, 0, -1, -1])


@pytest.mark.parametrize(
    "names", [np.arange(40), np.arange(40.0), [True] * 40, pd.date_range("2026", periods=40)]
)
def test_names_are_kept_as_texts(post, names):
    assert post.with_names(names).names.tolist() == [str(name) for name in names]


@pytest.mark.parametrize("kind", ["two classes", "projected", "approximated"])
def test_the_field_at_chosen_nodes(posts, kind):
    named = posts[kind].with_names([f"n{k}" for k in range(posts[kind].n_nodes)])
    tree = named.to_arviz(nodes=["n7", "n2"])
    assert tree["posterior"]["node"].values.tolist() == ["n7", "n2"]
    u, expected = tree["posterior"]["u"].values, named.latent_mean[[7, 2]]
    spread = np.sqrt(named.latent_variance[[7, 2]])
    # statistics integrate out what is drawn here: both have the error of the same draws, or less
    assert (abs(u.mean(axis=(0, 1)) - expected) < 0.3 * spread).all()
    back = gq.from_arviz(tree)
    assert back.draws.traced.tolist() == [7, 2]
    np.testing.assert_array_equal(back.draws.field, u)
    # by number, and without names
    again = posts[kind].to_arviz(nodes=[7, 2])
    assert again["posterior"]["node"].values.tolist() == [7, 2]
    np.testing.assert_array_equal(again["posterior"]["u"].values, u)


def test_traced_nodes_are_those_of_the_draws(posts):
    """Where modes determine the field, it is the same at nodes that were traced and chosen."""
    post = posts["projected"]
    chosen = post.to_arviz(nodes=post.draws.traced)["posterior"]["u"].values
    np.testing.assert_allclose(chosen, post.draws.field, atol=1e-6)


def test_draws_of_the_prior(posts):
    for kind in ("projected", "approximated"):
        post = posts[kind]
        tree, prior = post.to_arviz(nodes=[5, 2]), post.prior
        u = tree["prior"]["u"].values[0]
        assert u.shape == (1000, 2, *post.latent_mean.shape[1:])
        columns = u.reshape(1000, 2, -1)
        expected = prior.covariance([5, 2], [5, 2])
        largest = np.outer(*2 * [np.sqrt(np.diag(expected))])
        for k in range(columns.shape[2]):
            found = np.cov(columns[:, :, k].T)
            assert (abs(found - expected) < 4.5 * largest * np.sqrt(2 / 1000)).all()
        # before labels, classes are equally probable at each node
        y = tree["prior_predictive"]["y"].values[0]
        K = post.labels.classes.size
        shares = np.array([(y == value).mean(axis=0) for value in np.unique(y)])
        assert shares.shape == (K, len(post.labels))
        assert (abs(shares - 1 / K) < 4.5 * np.sqrt((1 - 1 / K) / K / 1000)).all()


def test_nodes_for_arviz_that_cannot_be(post, small):
    named = post.with_names([f"n{k}" for k in range(40)])
    with pytest.raises(ValueError, match=r"no node is called 'x' \(nodes\): the names are 'n0'"):
        named.to_arviz(nodes=["x"])
    with pytest.raises(ValueError, match="nodes of the graph, from 0 to 39, got 40"):
        named.to_arviz(nodes=[40])
    with pytest.raises(ValueError, match="a posterior from a file has no prior"):
        gq.from_arviz(post.to_arviz()).to_arviz(nodes=[3])
    assert named.to_arviz(nodes="n3")["posterior"]["node"].values.tolist() == ["n3"]
    with pytest.raises((TypeError, ValueError), match="nodes must"):
        named.to_arviz(nodes=[["n3"]])
    quick = gq.approximate(gq.Prior.projected(small[0], 8), gq.Probit(0.2), post.labels)
    with pytest.raises(ValueError, match="an approximation has no draws for arviz"):
        quick.to_arviz(nodes=[3])
    # names that are repeated do not name a node
    twice = post.with_names(["a"] * 40).to_arviz()
    assert twice["posterior"]["node"].values.tolist() == [3, 0, 30]


def test_chain_and_draw_order_are_kept(post):
    z = post.to_arviz()["posterior"]["z"].values
    np.testing.assert_array_equal(z[2, 17], post.draws.modes[2, 17])


# arviz 0.23 calls what matplotlib 3.11 deprecates
@pytest.mark.filterwarnings("ignore::matplotlib.MatplotlibDeprecationWarning")
@pytest.mark.parametrize(("kind", "rows"), [("two classes", 3), ("projected", 6)])
def test_arviz_just_works(posts, kind, rows):
    import matplotlib

    matplotlib.use("Agg")
    tree = posts[kind].to_arviz()
    summary = az.summary(tree, var_names=["u"])
    assert len(summary) == rows
    assert kind == "two classes" or any("cow" in str(row) for row in summary.index)
    data = xr.Dataset({"z": tree["posterior"]["z"]})
    assert np.isfinite(az.rhat(data)["z"]).all()
    assert (az.ess(data)["z"] > 0).all()
    az.plot_trace(tree, var_names=["u"])


# arviz 0.23 calls what matplotlib 3.11 deprecates
@pytest.mark.filterwarnings("ignore::matplotlib.MatplotlibDeprecationWarning")
def test_arviz_plots_a_run_without_traced_nodes(small):
    import matplotlib

    matplotlib.use("Agg")
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 4)
    post = quietly(prior, gq.Probit(0.2), labels, draws=50, seed=0, progress=False)
    az.plot_trace(post.to_arviz())
    assert_same(gq.from_arviz(post.to_arviz()), post)


@pytest.fixture(scope="module")
def classifiers(small, post):
    spectrum, _, _ = small
    n = spectrum.n_nodes
    graph = np.exp(-abs(np.subtract.outer(np.arange(n), np.arange(n))))
    return {
        "harmonic": gq.LaplaceLearning().fit(graph, post.labels),
        "cut": gq.FiedlerClustering().fit(graph, post.labels),
    }


def test_classifiers_stand_beside_the_posterior(post, classifiers, tmp_path):
    tree = post.to_arviz(classifiers=classifiers)
    path = tmp_path / "side.nc"
    tree.to_netcdf(str(path), engine="h5netcdf")
    read = az.from_netcdf(str(path), engine="h5netcdf")
    for source in (tree, read):
        nodes = source["node_summary"]
        assert nodes["classifier"].values.tolist() == ["harmonic", "cut"]
        assert nodes["class"].values.tolist() == ["cat", "dog"]
        for name, model in classifiers.items():
            scores = nodes["decision_score"].sel(classifier=name).transpose("node", "class")
            np.testing.assert_array_equal(scores.values, model.decision_scores_)
            said = nodes["transduction"].sel(classifier=name)
            assert said.values.tolist() == model.transduction_.tolist()
        assert_same(gq.from_arviz(source), post)
    assert_same(gq.load(path), post)


def test_without_classifiers_nothing_is_added(post):
    assert "classifier" not in post.to_arviz(classifiers={})["node_summary"].dims


def test_classifiers_that_do_not_fit_are_refused(post, classifiers):
    harmonic = classifiers["harmonic"]
    with pytest.raises(TypeError, match=r"must be a dict from names"):
        post.to_arviz(classifiers=[harmonic])
    with pytest.raises(TypeError, match=r"must map names to fitted classifiers"):
        post.to_arviz(classifiers={"a": "b"})
    with pytest.raises(NotFittedError):
        post.to_arviz(classifiers={"harmonic": gq.LaplaceLearning()})
    others = {
        "nodes": ([[0, 1], [1, 0]], ["cat", "dog"]),
        "classes": (np.ones((40, 40)), np.repeat(["cat", "dog", "emu", "fox"], 10)),
    }
    for name, fitted_to in others.items():
        model = gq.LaplaceLearning().fit(*fitted_to)
        with pytest.raises(ValueError, match=f"{name} was fitted on .* fit it to the same graph"):
            post.to_arviz(classifiers={name: model})


def test_settings_of_numpy_types_can_be_written(small, tmp_path):
    spectrum, labels, _ = small
    prior = gq.Prior.approximated(spectrum, 4)
    seed = np.random.SeedSequence([np.int64(1), np.int64(2)]).spawn(2)[1]
    post = quietly(
        prior, gq.Probit(np.float32(0.5)), labels, gq.PCN(beta=np.float32(0.5), thin=np.int64(3)),
        draws=np.int64(20), chains=np.int32(2), warmup=np.int64(5), seed=seed, progress=False,
    )  # fmt: skip
    post.save(tmp_path / "result.nc")
    settings = gq.load(tmp_path / "result.nc").settings
    assert (settings["draws"], settings["seed_spawn_key"]) == (20, [1])
    assert os.stat(tmp_path / "result.nc").st_mode & 0o777 == 0o666 & ~umask()


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_diagnostics_are_arviz_own(post):
    health = post.diagnostics()
    z = xr.Dataset({"z": (("chain", "draw", "k"), post.draws.modes)})
    assert health.r_hat >= az.rhat(z)["z"].max() - 1e-12
    assert health.ess <= az.ess(z)["z"].min() + 1e-9


@pytest.mark.parametrize("kind", ["two classes", "projected", "approximated", "field"])
def test_round_trips_in_memory_through_our_file_and_through_arviz(posts, kind, tmp_path):
    post = posts[kind]
    assert_same(gq.from_arviz(post.to_arviz()), post)
    post.save(tmp_path / "ours.nc")
    assert_same(gq.load(tmp_path / "ours.nc"), post)
    assert_same(gq.from_arviz(az.from_netcdf(str(tmp_path / "ours.nc"), engine="h5netcdf")), post)
    post.to_arviz().to_netcdf(str(tmp_path / "arviz.nc"), engine="h5netcdf")
    assert_same(gq.load(tmp_path / "arviz.nc"), post)
    for name in ("ours.nc", "arviz.nc"):
        found = read_groups(tmp_path / name)
        with xr.open_datatree(tmp_path / name, engine="h5netcdf") as tree:
            assert found.keys() == set(tree.children)
            for group, node in tree.children.items():
                xr.testing.assert_identical(found[group], node.to_dataset().load())
                for variable in found[group].variables:
                    assert found[group][variable].dtype == node[variable].dtype


def test_saving_replaces_whole_files_and_leaves_nothing_half_written(post, tmp_path, monkeypatch):
    path = tmp_path / "result.nc"
    post.save(path)
    before = path.read_bytes()

    def fails(self, content):
        with open(self, "wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_bytes", fails)
    with pytest.raises(OSError, match="disk full"):
        post.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["result.nc"]


def test_what_is_not_a_result_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        gq.load(tmp_path / "absent.nc")
    (tmp_path / "text.nc").write_text("not netcdf")
    with pytest.raises(ValueError, match=r"text\.nc"):
        gq.load(tmp_path / "text.nc")
    xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="not a result of graphuq"):
        gq.load(tmp_path / "other.nc")


def test_saving_into_a_folder_that_is_not_there(post, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        post.save(tmp_path / "absent" / "result.nc")


def test_results_of_each_class_carry_its_name(posts, clump_labels):
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
    assert draws["u"].sel(at).item() == post.draws.field[1, 7, 1, 2]
    assert tree["observed_data"]["y"].values.tolist() == clump_labels.indices.tolist()
    read = posts["approximated"].to_arviz()["sample_stats"]["x"]
    assert read.dims == ("chain", "draw", "label_node", "class")
    assert read["class"].values.tolist() == ["ant", "ape", "bee", "cow"]


def test_two_classes_keep_their_format(small):
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


def test_classifiers_stand_beside_many_classes(posts, clump_graph, clump_labels):
    laplace = gq.LaplaceLearning().fit(clump_graph, clump_labels)
    nodes = posts["projected"].to_arviz({"harmonic": laplace})["node_summary"]
    scores = nodes["decision_score"].sel({"classifier": "harmonic", "class": "ant"})
    np.testing.assert_array_equal(scores, laplace.decision_scores_[:, 0])
    with pytest.raises(ValueError, match="harmonic was fitted on"):
        posts["approximated"].to_arviz({"harmonic": laplace})
