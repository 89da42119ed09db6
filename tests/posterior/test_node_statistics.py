import numpy as np
import pytest

import graphuq as gq
from graphuq.posterior import node_statistics as module
from graphuq.posterior.node_statistics import (
    NodeMoments,
    Summaries,
    combine_chains,
    node_statistics,
)
from graphuq.priors.given import Given
from graphuq.utils import row_blocks

ROUNDS = [60, 110]
NONE = np.empty(0, dtype=np.int64)


@pytest.fixture(params=["projected", "approximated"])
def problem(request, small):
    """A conditional, and the summaries of three chains of 170 draws."""
    spectrum, labels, _ = small
    prior = getattr(gq.Prior, request.param)(spectrum, 8)
    conditional = Given(prior.field, labels.nodes, NONE, 0.3)
    rng = np.random.default_rng(0)
    return conditional, [summarize(conditional, conditional.law.draw(170, rng)) for _ in range(3)]


def summarize(conditional, fields):
    """The summaries of one chain's draws of one field."""
    noise = np.empty((len(fields), 0))
    return Summaries(conditional.summarize(fields[:, None]), noise, np.full(len(fields), 0.3))


def assert_same(a, b):
    for name, values in a.nodes.items():
        np.testing.assert_array_equal(values, b.nodes[name])


def test_blocks_of_rows_make_the_statistics_of_all_rows_at_once(problem, monkeypatch):
    conditional, kept = problem
    moments = []
    for draws in kept:
        chain = NodeMoments(
            conditional.rows(conditional.basis, conditional.which), "sign", ROUNDS[0]
        )
        chain.add(*(part[: ROUNDS[0]] for part in draws))
        chain.expect(ROUNDS[1])
        chain.add(*(part[ROUNDS[0] :] for part in draws))
        moments.append(chain)
    whole = combine_chains(moments, "sign")
    monkeypatch.setattr(
        row_blocks, "BLOCK_SIZE", 7 * module.NUMBERS_PER_NODE
    )  # six blocks of seven nodes
    blocks = node_statistics(conditional, kept, ROUNDS, "sign")
    for name, values in whole.items():
        np.testing.assert_allclose(blocks.nodes[name], values, rtol=1e-12, atol=1e-14)
    changes = np.sqrt([chain.changes for chain in moments])
    np.testing.assert_allclose(blocks.running_mean_change, changes)


def test_threads_change_nothing(problem, monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_SIZE", 7 * module.NUMBERS_PER_NODE)
    runs = [node_statistics(*problem, ROUNDS, "sign", threads=threads) for threads in (1, 2, 5)]
    for other in runs[1:]:
        assert_same(runs[0], other)


def test_single_precision_modes_move_nothing_that_matters(small):
    spectrum, labels, _ = small
    single = gq.Spectrum(
        spectrum.values, spectrum.vectors.astype(np.float32), spectrum.null.astype(np.float32)
    )
    assert single.basis.dtype == np.float32
    fields = gq.Prior.projected(spectrum, 8).at(labels.nodes).draw(200, np.random.default_rng(0))
    results = []
    for pairs in (spectrum, single):
        conditional = Given(gq.Prior.projected(pairs, 8).field, labels.nodes, NONE, 0.3)
        results.append(
            node_statistics(conditional, [summarize(conditional, fields)], [200], "sign").nodes
        )
    assert results[1]["mean"].dtype == np.float64
    for name in ("mean", "latent_mean", "latent_variance"):
        np.testing.assert_allclose(results[1][name], results[0][name], atol=2e-5)
        assert not np.array_equal(results[1][name], results[0][name])


def test_statistics_of_too_many_kept_draws_are_refused_before_any_work(small, monkeypatch):

    monkeypatch.setattr("graphuq.utils.memory._available_memory", lambda: 1e6)
    prior = gq.Prior.approximated(small[0], 8)
    with pytest.raises(MemoryError, match=r"draws of .* numbers needs"):
        gq.sample(prior, gq.Probit(0.1), small[1], draws=5000, progress=False)


def test_where_all_draws_agree_the_error_is_what_they_leave_open():
    X, y = gq.datasets.two_moons(60, d=2, seed=0)
    prior = gq.Prior.projected(gq.knn_graph(X, 8, connect=True), 4)
    labels = gq.reveal(y, counts=3, seed=0)
    post = gq.sample(
        prior, gq.Probit(0.01), labels, gq.PCN(0.2), draws=400, chains=4, seed=0, progress=False
    )
    # a probability of at most 3 / 1600 of the other sign, in a mean from -1 to +1
    for p, error in (
        (post.latent_probability, post.mcse / 2),
        (post.probability, post.probability_mcse),
    ):
        agree = np.minimum(p, 1 - p) < 1 / 1600
        assert agree.any()
        assert error[agree].min() >= 3 / 1600 - 1e-12
        assert 0 < error[~agree].min() < 3 / 1600
    exact = gq.sample(prior, gq.Probit(0.01), labels, draws=4000, seed=1, progress=False)
    assert (abs(post.mean - exact.mean)[agree] < 3 * post.mcse[agree]).all()
    assert (
        abs(post.probability - exact.probability)[agree] < 3 * post.probability_mcse[agree]
    ).all()
