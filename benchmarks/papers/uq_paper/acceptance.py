"""Section 4.1, acceptance of pCN: it depends on neither the size of the graph nor a small gamma.

Two moons at several sizes have 30 labels and the full prior, so that the field has as many
dimensions as the graph has nodes less one. Every chain has the same step beta. The random walk
proposes u + beta xi with xi from the prior, and accepts by the whole posterior density; the paper
says that its step must fall with the number of nodes. The study also changes gamma on the largest
graph: the rate falls, but to a limit above 0. Chains begin at a draw that fits the labels, and the
acceptance rate is that of their second half.

python -m benchmarks.papers.uq_paper.acceptance [--quick]
"""

from __future__ import annotations

import warnings

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq
from benchmarks.common import report
from benchmarks.papers.uq_paper import data_sets
from graphuq.likelihoods.bound import bind, evaluate

BETA, LABELS, STEPS = 0.1, 30, 4000
SIZES = (250, 500, 1000, 2000)
GAMMAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.001)


def pcn(prior: gq.Prior, gamma: float, labels: gq.Labels) -> float:
    """Return the acceptance rate of pCN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gq.ConvergenceWarning)  # only the rate counts
        post = gq.sample(
            prior, gq.Probit(gamma), labels, gq.PCN(BETA), draws=STEPS // 20, warmup=STEPS // 20,
            thin=10, seed=0, progress=False,
        )  # fmt: skip
    return float(post.draws.stats["acceptance_rate"].mean())


def random_walk(prior: gq.Prior, gamma: float, labels: gq.Labels) -> float:
    """Return the acceptance rate of random walk Metropolis in the coefficients of the modes."""
    rng = np.random.default_rng(0)
    Q, bound = prior.spectrum.vectors[labels.nodes], bind(gq.Probit(gamma), labels, prior.n_nodes)
    u = np.zeros((prior.n_nodes, 1))

    def log_density(z: np.ndarray) -> float:
        u[labels.nodes, 0] = Q @ (prior.sigma * z)
        return -evaluate(bound, u) - 0.5 * float(z @ z)

    # begin at a draw of the posterior
    start = gq.sample(prior, gq.Probit(gamma), labels, chains=1, seed=0, progress=False)
    z = start.draws.modes[0, -1]
    now, accepted = log_density(z), 0
    for step in range(STEPS):
        proposal = z + BETA * rng.standard_normal(z.size)
        then = log_density(proposal)
        if -rng.standard_exponential() < then - now:
            z, now = proposal, then
            accepted += step >= STEPS // 2
    return accepted / (STEPS - STEPS // 2)


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    sizes = SIZES[:2] if options.quick else SIZES
    rows, found = [], {}
    for n in sizes:
        graph, y = data_sets.moons(0.06, data_sets.FIRST_SEED, n)
        prior, labels = gq.Prior.full(graph), gq.reveal(y, counts=LABELS, seed=0)
        found["pCN", n] = pcn(prior, 0.1, labels)
        found["random walk", n] = random_walk(prior, 0.1, labels)
        rows += [
            {"N": n, "gamma": 0.1, "sampler": name, "acceptance": found[name, n]}
            for name in ("pCN", "random walk")
        ]
    noise = {gamma: pcn(prior, gamma, labels) for gamma in GAMMAS}
    rows += [
        {"N": n, "gamma": gamma, "sampler": "pCN", "acceptance": rate}
        for gamma, rate in noise.items()
    ]
    draw(found, sizes, noise, options.out)
    rates = [found["pCN", n] for n in sizes]
    walk = found["random walk", sizes[-1]] / max(found["random walk", sizes[0]], 1e-3)
    spread = max(rates) / min(rates)
    rates_by_gamma = ", ".join(f"{rate:.2f}" for rate in noise.values())
    kept = noise[GAMMAS[-1]] / noise[GAMMAS[-2]]
    report.write("acceptance", options.out, rows, {
        f"acceptance of pCN at beta = {BETA}, largest divided by smallest over N: at most 1.25":
            (spread, spread <= 1.25, "does not depend on N"),
        "acceptance of the random walk of the same step, largest graph divided by smallest: below "
        "0.5": (walk, walk < 0.5, "its step must fall with N"),
        f"acceptance of pCN, gamma {', '.join(f'{gamma:g}' for gamma in GAMMAS)}: the last divided "
        "by the last but one at least 0.8": (
            f"{rates_by_gamma}; {kept:.2f}", kept >= 0.8, "robust as gamma goes to 0"),
    })  # fmt: skip


def draw(found, sizes, noise, out) -> None:
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for name in ("pCN", "random walk"):
        left.plot(sizes, [found[name, n] for n in sizes], "o-", label=name)
    left.set(xscale="log", xlabel="number of nodes", ylabel="acceptance rate", ylim=(0, 1))
    left.set_xticks(sizes, sizes)
    left.minorticks_off()
    left.legend(fontsize=8)
    right.plot(list(noise), list(noise.values()), "o-")
    right.set(xscale="log", xlabel=f"gamma, N = {sizes[-1]:,}")
    for panel in (left, right):
        panel.grid(alpha=0.3)
    figure.suptitle(f"Section 4.1: acceptance at beta = {BETA}, two moons", fontsize=11)
    report.picture("acceptance", out, figure)


if __name__ == "__main__":
    main()
