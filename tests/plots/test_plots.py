from __future__ import annotations

import sys

import arviz
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import quietly, with_draws
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from references.pictures import of_classes, panel

import graphuq as gq
from graphuq.plots.canvas import RIGHT, WRONG


@pytest.fixture(scope="module")
def prior(small):
    return gq.Prior.approximated(small[0], 4)


@pytest.fixture(scope="module")
def post(small, prior):
    return quietly(
        prior, gq.Probit(0.2), small[1], draws=50, thin=10, nodes=[9], seed=0, progress=False
    )


@pytest.fixture(scope="module")
def quick(small, prior):
    return gq.approximate(prior, gq.Probit(0.2), small[1])


def luminance(color):
    """Return the luminance of an sRGB color (ITU-R BT.709), as a gray print shows it."""
    linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04 else c / 12.92 for c in to_rgb(color)]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def images():
    return np.random.default_rng(0).random((40, 12))


def test_hard_and_easy_shows_unlabeled_nodes_by_uncertainty(post, small):
    _, labels, y = small
    axes = gq.plots.hard_and_easy(post, images(), y, count=4, shape=(3, 4))
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["hard 0", "easy 0", "hard 1", "easy 1"]
    shown = [float(ax.get_title()) for ax in axes.flat]
    hidden = np.setdiff1d(np.arange(40), labels.nodes)
    for row, value in ((0, 0), (2, 1)):
        means = post.mean[hidden][y[hidden] == value]
        order = means[np.argsort(abs(means))]
        np.testing.assert_allclose(shown[4 * row : 4 * row + 4], order[:4], atol=0.006)
        np.testing.assert_allclose(shown[4 * row + 4 : 4 * row + 8], order[::-1][:4], atol=0.006)


def test_wrong_predictions_are_framed(post, small):
    y = small[2]
    for truth in (y, 1 - y):
        axes = gq.plots.hard_and_easy(post, images(), truth, count=3, shape=(3, 4))
        framed = [ax.spines["top"].get_visible() for ax in axes.flat]
        means = [float(ax.get_title()) for ax in axes.flat]
        values = np.repeat([0, 1], 6)  # rows are those of a class each: hard and easy ones
        wrong = [(mean > 0) != (value == 1) for mean, value in zip(means, values, strict=True)]
        assert framed == wrong
    assert any(framed)


def test_images_that_do_not_fit_are_refused(post):
    with pytest.raises(ValueError, match="one row for each"):
        gq.plots.hard_and_easy(post, images()[1:])
    with pytest.raises(ValueError, match="give shape"):
        gq.plots.hard_and_easy(post, images())
    with pytest.raises(ValueError, match="truth must have shape"):
        gq.plots.hard_and_easy(post, images(), [0, 1], shape=(3, 4))


def test_reliability_shows_every_bin_that_has_items():
    p = np.repeat([0.57, 0.71, 0.99], [30, 50, 20])
    truth = np.repeat(["a", "b", "a", "b", "a"], [24, 6, 25, 25, 20])
    result = gq.calibrate(np.column_stack([p, 1 - p]), truth, ["a", "b"])
    top, below = gq.plots.reliability(result)
    heights = [bar.get_height() for bar in below.patches]
    assert heights == [0, 30, 0, 0, 50, 0, 0, 0, 0, 20]
    assert [bar.get_x() for bar in below.patches] == result.curve["low"].tolist()
    points = {bars.get_label(): bars.lines[0].get_xydata() for bars in top.containers}
    np.testing.assert_allclose(points["underconfident"], [[0.57, 0.8], [0.99, 1.0]])
    np.testing.assert_allclose(points["overconfident"], [[0.71, 0.5]])
    (left, _), (bottom, height) = top.get_xlim(), top.get_ylim()
    assert left < 0.5
    assert bottom < result.curve["accuracy_low"].min() < 0.5
    assert height > 1


def test_only_a_calibration_has_a_reliability(post):
    with pytest.raises(TypeError, match=r"post\.calibration\(truth\)"):
        gq.plots.reliability(post)


def test_tuning_shows_each_open_parameter_and_what_was_chosen(small):
    spectrum, labels, _ = small
    found = gq.tune(spectrum, labels, gq.Probit)
    axes = gq.plots.tuning(found)
    titles = [ax.get_title() for ax in axes]
    assert titles == [f"{name} = {value:.3g}" for name, value in found.chosen.items()]
    assert str(len(found.table)) in axes[0].figure.get_suptitle()
    with pytest.raises(TypeError, match=r"must come from gq\.tune"):
        gq.plots.tuning(found.table)


@pytest.mark.parametrize("kind", ["sampled", "approximate"])
def test_nodes_are_colored_by_mean_and_the_unsure_are_ringed(post, quick, prior, kind):
    posterior = {"sampled": post, "approximate": quick}[kind]
    ax = gq.plots.embedding(posterior, prior, ax=panel())
    dots, rings, low, high = ax.collections
    np.testing.assert_array_equal(dots.get_offsets(), prior.spectrum.vectors[:, :2])
    np.testing.assert_array_equal(dots.get_array(), posterior.mean)
    assert dots.get_clim() == (-1, 1)
    p = posterior.probability
    ringed = 4 * p * (1 - p) > 0.5
    assert 0 < ringed.sum() < 40
    np.testing.assert_array_equal(rings.get_offsets(), prior.spectrum.vectors[ringed, :2])
    assert rings.get_facecolors().size == 0
    assert f"{ringed.sum()} of 40" in rings.get_label()
    labels = posterior.labels
    for marks, code in ((low, -1), (high, 1)):
        at = labels.nodes[labels.codes == code]
        np.testing.assert_array_equal(marks.get_offsets(), prior.spectrum.vectors[at, :2])
        assert set(marks.get_array()) == {code}


def test_an_embedding_takes_coordinates_and_refuses_those_that_do_not_fit(post, small, prior):
    places = np.random.default_rng(0).random((40, 2))
    dots = gq.plots.embedding(post, places.tolist(), ax=panel()).collections[0]
    np.testing.assert_array_equal(dots.get_offsets(), places)
    with pytest.raises(ValueError, match=r"shape \(40, 2\), got \(39, 2\)"):
        gq.plots.embedding(post, places[1:])
    with pytest.raises(ValueError, match="finite"):
        gq.plots.embedding(post, np.where(places > 0.9, np.nan, places))
    with pytest.raises(ValueError, match="one mode"):
        gq.plots.embedding(post, gq.Prior.projected(small[0], 1))
    assert not plt.get_fignums()


def test_colors_of_certain_nodes_and_of_errors_differ_in_gray():
    from matplotlib import colormaps

    gray = [luminance(c) for c in colormaps["cividis"](np.linspace(0, 1, 64))[:, :3]]
    assert (np.diff(gray) > 0).all()
    assert gray[-1] - gray[0] > 0.5
    assert luminance(WRONG) / luminance(RIGHT) > 1.2


@pytest.mark.parametrize("kind", ["projected", "approximated", "full"])
def test_a_spectrum_shows_where_it_is_truncated(small, kind):
    spectrum = small[0]
    make = getattr(gq.Prior, kind)
    prior = make(spectrum) if kind == "full" else make(spectrum, 6)
    ax = gq.plots.spectrum(prior, None if kind == "full" else spectrum.truncated(20), ax=panel())
    lines = {line.get_label().split(":")[0]: line.get_xydata() for line in ax.lines}
    assert lines["kept"][:, 0].tolist() == list(range(1, prior.rank + 1))
    np.testing.assert_array_equal(lines["kept"][:, 1], spectrum.values[: prior.rank])
    if kind == "full":
        assert set(lines) == {"kept"}
        return
    assert lines["truncated at 6"][:, 0].tolist() == [6.5, 6.5]
    np.testing.assert_array_equal(lines["not kept"][:, 1], spectrum.values[6:20])
    shared = [name for name in lines if name.startswith("shared by")]
    assert shared == (["shared by 33 more"] if kind == "approximated" else [])
    for name in shared:
        assert set(lines[name][:, 1]) == {spectrum.values[5]}


def test_a_spectrum_without_more_modes_is_refused(small, prior, post):
    with pytest.raises(ValueError, match="more than 4 modes"):
        gq.plots.spectrum(prior, small[0].truncated(4))
    with pytest.raises(TypeError, match=r"must be a gq\.Prior, got Posterior"):
        gq.plots.spectrum(post)


@pytest.mark.parametrize("kind", ["sampled", "approximate"])
def test_node_marginals_have_the_probability_on_their_right(post, quick, prior, kind):
    posterior = {"sampled": post, "approximate": quick}[kind]
    hidden = np.setdiff1d(posterior.ranking(), posterior.labels.nodes, assume_unique=True)
    nodes = hidden[[0, 15, 34]]
    ax = gq.plots.node_marginals(posterior, prior, nodes, ax=panel())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [f"node {i}" for i in nodes]
    n = sum(len(block) for block in posterior.latent_draws(prior, nodes, seed=0))
    for row, node in enumerate(nodes):
        left, right = (
            np.asarray(part.get_data().values) + row for part in ax.patches[2 * row :][:2]
        )
        share = right.sum() / (left.sum() + right.sum())
        p = posterior.probability[node]
        assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / n) + 5 / n
        assert ax.texts[row].get_text() == f"P(1) = {p:.2f}"
        edges = [part.get_data().edges for part in ax.patches[2 * row :][:2]]
        assert edges[0][-1] == edges[1][0] == 0
        assert [bool(part.get_hatch()) for part in ax.patches[2 * row :][:2]] == [True, False]


def test_node_marginals_refuse_unknown_nodes_and_other_priors(post, prior, small):
    with pytest.raises(ValueError, match="at least one node"):
        gq.plots.node_marginals(post, prior, [])
    with pytest.raises(ValueError, match="got 40"):
        gq.plots.node_marginals(post, prior, [40])
    with pytest.raises(ValueError, match="prior must be the one"):
        gq.plots.node_marginals(post, gq.Prior.approximated(small[0], 5), [3])


def test_traces_of_many_nodes_show_the_first_few(post, prior):

    many = with_draws(
        post, traced=np.arange(30), field=np.repeat(post.draws.field[..., :1], 30, axis=2)
    )
    for show in (gq.plots.traces, gq.plots.ranks):
        assert len(show(many, modes=1, figure=Figure())) == 2 + 8
        assert len(show(many, modes=1, nodes=2, figure=Figure())) == 2 + 2
    with pytest.raises(ValueError, match="nodes must be at least 0"):
        gq.plots.traces(many, nodes=-1)


def test_traces_show_every_chain(post):
    axes = gq.plots.traces(post, modes=2, figure=Figure())
    assert axes.shape == (4, 2)
    names = ["log posterior", "mode 1", "mode 2", "node 9"]
    assert [ax.get_ylabel() for ax in axes[:, 0]] == names
    shown = [
        post.draws.stats["lp"],
        post.draws.modes[..., 0],
        post.draws.modes[..., 1],
        post.draws.field[..., 0],
    ]
    for (left, right), values in zip(axes, shown, strict=True):
        assert len({line.get_linestyle() for line in left.lines}) == len(left.lines) == 4
        drawn = [line.get_ydata() for line in right.lines]
        np.testing.assert_array_equal(drawn, values)


def test_ranks_show_chains_that_disagree(post):

    def unevenness(posterior):
        ax = gq.plots.ranks(posterior, modes=1, figure=Figure())[1]
        assert ax.get_title() == "mode 1"
        if arviz.__version__.startswith("0."):
            bars = [bar.get_height() for bar in ax.patches]
            assert len(bars) % 4 == 0
            return np.std(bars)
        lines = [np.asarray(line.get_ydata()) for line in ax.lines if len(line.get_ydata()) > 2]
        assert len(lines) == 4
        return np.max(np.abs(lines))

    apart = post.draws.modes.copy()
    apart[0] += 3
    assert unevenness(with_draws(post, modes=apart)) > 1.5 * unevenness(post)


def test_only_draws_of_chains_have_traces_and_ranks(quick, small, prior):
    for plot in (gq.plots.traces, gq.plots.ranks):
        with pytest.raises(TypeError, match=r"make them with gq\.sample"):
            plot(quick)
    options = {"seed": 0, "progress": False}
    few = quietly(prior, gq.Probit(0.2), small[1], draws=3, **options)
    with pytest.raises(ValueError, match="expected at least 4 draws of each chain, got 3"):
        gq.plots.traces(few)
    alone = quietly(prior, gq.Probit(0.2), small[1], draws=20, chains=1, **options)
    assert gq.plots.traces(alone, modes=0, figure=Figure()).shape == (1, 2)
    with pytest.raises(ValueError, match="there is only one"):
        gq.plots.ranks(alone)


def test_a_graph_is_drawn_with_its_edges_and_names():
    import networkx

    network = networkx.relabel_nodes(networkx.path_graph(6), dict(enumerate("abcdef")))
    graph = gq.Graph(network)
    quick = gq.approximate(graph, gq.Probit(0.1), gq.Labels([0, 5], ["left", "right"]))
    ax = gq.plots.graph_layout(quick, network, ax=panel())
    assert [text.get_text() for text in ax.texts] == list("abcdef")
    (edges,) = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
    places = ax.collections[1].get_offsets()
    ends = {tuple(map(tuple, segment)) for segment in np.asarray(edges.get_segments())}
    assert ends == {(tuple(places[i]), tuple(places[i + 1])) for i in range(5)}
    again = gq.plots.graph_layout(quick, graph, ax=panel())
    np.testing.assert_array_equal(again.collections[1].get_offsets(), places)


def test_graphs_that_cannot_be_drawn_are_refused(post, monkeypatch):
    path = np.diag(np.ones(500), 1)
    graph = gq.Graph(path + path.T)
    with pytest.raises(ValueError, match="the posterior's 40 nodes, got 501"):
        gq.plots.graph_layout(post, graph)
    quick = gq.approximate(gq.Prior.projected(graph, 5), gq.Probit(), gq.Labels([0, 500], [0, 1]))
    with pytest.raises(ValueError, match="up to 500 nodes and 5000 edges"):
        gq.plots.graph_layout(quick, graph)
    crowded = 1 - np.eye(102)  # 5151 edges
    quick = gq.approximate(gq.Prior.projected(crowded, 5), gq.Probit(), gq.Labels([0, 9], [0, 1]))
    with pytest.raises(ValueError, match="102 nodes and 5151 edges"):
        gq.plots.graph_layout(quick, crowded)
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="pip install networkx"):
        gq.plots.graph_layout(post, gq.Graph(1 - np.eye(40)))


def test_a_pixel_map_puts_nodes_in_their_places(post, quick):
    shown = gq.plots.pixel_map(post, (5, 8), ax=panel()).images[0]
    np.testing.assert_array_equal(shown.get_array(), post.mean.reshape(5, 8))
    assert shown.get_clim() == (-1, 1)
    pixels = np.setdiff1d(np.arange(42), [1, 20])
    ax = gq.plots.pixel_map(quick, (6, 7), statistic="variance", pixels=pixels, ax=panel())
    picture = np.asarray(np.ma.filled(ax.images[0].get_array(), np.nan)).ravel()
    np.testing.assert_array_equal(picture[pixels], quick.variance)
    assert np.isnan(picture[[1, 20]]).all()


def test_pixels_that_do_not_fit_are_refused(post):
    with pytest.raises(ValueError, match="42 pixels, the posterior 40"):
        gq.plots.pixel_map(post, (6, 7))
    with pytest.raises(ValueError, match="one for each of 40 nodes, got 3"):
        gq.plots.pixel_map(post, (6, 7), pixels=[0, 1, 2])
    with pytest.raises(ValueError, match="statistic must be one of"):
        gq.plots.pixel_map(post, (5, 8), statistic="mode")


def test_a_plot_draws_where_it_is_told_or_on_a_figure_of_its_own(post, prior):
    ax = panel()
    assert gq.plots.spectrum(prior, ax=ax) is ax
    assert not plt.get_fignums()
    own = gq.plots.spectrum(prior)
    assert plt.get_fignums() == [own.figure.number]
    upper, lower = Figure(figsize=(8, 10)).subfigures(2, 1)
    gq.plots.hard_and_easy(post, images(), count=2, shape=(3, 4), figure=upper)
    gq.plots.traces(post, figure=lower)
    assert len(upper.axes) == 8
    for wrong in (Figure(), np.array([ax])):
        with pytest.raises(TypeError, match="ax must be one matplotlib Axes"):
            gq.plots.embedding(post, prior, ax=wrong)
    with pytest.raises(TypeError, match="figure must be a matplotlib Figure"):
        gq.plots.traces(post, figure=ax)


def test_dollars_in_class_names_are_dollars(small):
    spectrum, labels, _ = small
    names = gq.Labels(labels.nodes, np.where(labels.codes > 0, r"$\alph$", ">$50K"))
    prior = gq.Prior.projected(spectrum, 8)
    quick = gq.approximate(prior, gq.Probit(0.3), names)
    for ax in (
        gq.plots.embedding(quick, spectrum.vectors[:, :2]),
        gq.plots.node_marginals(quick, prior, [1, 2]),
    ):
        ax.figure.canvas.draw()


def test_a_small_graph_of_three_classes_is_drawn(drawn):
    pytest.importorskip("networkx")
    post, _ = drawn
    ring = np.roll(np.eye(45), 1, axis=1)
    ax = gq.plots.graph_layout(post, ring + ring.T, ax=panel())
    names = [text.get_text() for text in ax.texts]
    assert {"low", "mid", "top", "44"} <= set(names)


def test_hard_images_carry_their_two_likeliest_classes():
    post, y = of_classes(3, names=["a", "b", "a long name"])
    axes = gq.plots.hard_and_easy(post, np.random.default_rng(0).random((60, 4)), y, count=3)
    assert axes.shape == (3, 6)
    assert [ax.get_ylabel() for ax in axes[:, 0]] == ["a", "a long name", "b"]
    order = post.ranking()
    for row, name in enumerate(["a", "a long name", "b"]):
        own = order[(order >= 3) & (y[order] == name)]
        for ax, node in zip(axes[row], [*own[:3], *own[::-1][:3]], strict=True):
            first, second = ax.get_title().split("\n")
            best = np.sort(post.probability[node])[::-1]
            assert first.rsplit(" ", 1)[0] in (
                post.prediction[node],
                post.prediction[node][:8] + "…",
            )
            assert [int(line.split()[-1]) for line in (first, second)] == [
                int(f"{100 * p:.0f}") for p in best[:2]
            ]
            framed = ax.spines["top"].get_visible()
            assert framed == (post.prediction[node] != name)


def test_node_marginals_show_the_fields_of_the_likeliest_classes(drawn):
    post, prior = drawn
    nodes = post.ranking()[[0, 20, 44]]
    ax = gq.plots.node_marginals(post, prior, nodes, ax=panel())
    said = [text.get_text() for text in ax.texts]
    for row, node in enumerate(nodes):
        order = np.argsort(-post.probability[node])
        names = post.labels.classes[order]
        expected = [
            f"P({c}) = {p:.2f}" for c, p in zip(names, post.probability[node][order], strict=True)
        ]
        assert said[3 * row : 3 * row + 3] == expected
    draws = np.concatenate(list(post.latent_draws(prior, nodes, seed=0)))
    likeliest = int(post.probability[nodes[0]].argmax())
    outline = ax.patches[1].get_data()
    counts = np.histogram(draws[:, 0, likeliest], outline.edges)[0]
    np.testing.assert_allclose(outline.values, 0.85 * counts / counts.max())


def test_traces_are_of_the_class_whose_chains_agree_least(drawn):
    post, _ = drawn
    apart = post.draws.modes.copy()
    apart[0, :, 1, 2] += 5
    axes = gq.plots.traces(with_draws(post, modes=apart), modes=2, figure=Figure())
    names = [ax.get_ylabel() for ax in axes[:, 0]]
    assert names[0] == "log posterior"
    assert names[2] == "mode 2, top"
    assert [name.split(",")[0] for name in names[1:]] == ["mode 1", "mode 2", "node 9", "node 12"]
    np.testing.assert_array_equal(
        [line.get_ydata() for line in axes[2, 1].lines], apart[:, :, 1, 2]
    )
    ranks = gq.plots.ranks(post, modes=1, nodes=0, figure=Figure())
    assert ranks[1].get_title().startswith("mode 1, ")


def test_reliability_begins_where_the_largest_of_many_probabilities_can(drawn):
    post, y = of_classes(4)
    top, _ = gq.plots.reliability(post.calibration(y), figure=Figure())
    assert top.lines[0].get_xdata()[0] == 0.25


@pytest.mark.parametrize("part", ["total", "aleatoric", "epistemic"])
def test_nodes_may_have_the_shade_of_a_part_of_their_entropy(quick, part):
    values = quick.uncertainty()[part]
    ax = gq.plots.embedding(quick, np.arange(80.0).reshape(40, 2), color=part, ax=panel())
    np.testing.assert_array_equal(ax.collections[0].get_array(), values)
    assert any(part in axes.get_ylabel() for axes in ax.figure.axes)
    image = gq.plots.pixel_map(quick, (5, 8), statistic=part, ax=panel()).images[0]
    np.testing.assert_array_equal(image.get_array().ravel(), values)
    assert image.get_clim() == (0, pytest.approx(np.log(2)))


def test_colors_that_do_not_exist_are_refused(quick):
    with pytest.raises(ValueError, match="color must be one of"):
        gq.plots.embedding(quick, np.zeros((40, 2)), color="doubt")


def test_a_graph_or_a_number_in_place_of_coordinates_or_a_shape_is_explained(quick):
    with pytest.raises(TypeError, match=r"got str: of a graph, take gq\.Prior\.projected"):
        gq.plots.embedding(quick, "x")
    with pytest.raises(ValueError, match=r"shape must be \(height, width\), got 80"):
        gq.plots.pixel_map(quick, 80)
