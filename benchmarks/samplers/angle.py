"""How far the harmonic sampler should turn from one draw to the next.

[GRAPHUQ_DATA=...] python -m benchmarks.samplers.angle [--quick]

The flow is exact for any angle. Without walls a quarter turn forgets its start; a longer one comes
to the other side of the origin, so that successive draws are anticorrelated and errors of the
latent means are smaller, but those of squares larger. What counts is the squared error of
probabilities, times the seconds of a draw with the statistics of all nodes.

One long chain for each angle is cut into pieces. The squared error is that of the means of a piece,
averaged over nodes; the mean of all chains stands for the truth. Errors are relative to those of a
quarter turn, with one standard error. "x time" also counts the walls that a longer flow hits: of
the time of a draw of `gq.Harmonic` and its statistics, the part that is spent between walls grows
in proportion to the angle. The flow here is a plain one, for any angle, of the fields together
with what has to stay positive or costs something to cross.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numba
import numpy as np

import graphuq as gq
from benchmarks.common import problems, report
from graphuq.likelihoods.bound import bind
from graphuq.posterior.node_statistics import NodeMoments
from graphuq.priors.given import Given
from graphuq.samplers.protocol import Target

ANGLES = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)  # of pi
PIECES, DRAWS, WARMUP = 250, 200, 200
STATISTICS = {"E[S(u)]": "label", "predictive": "predictive", "E[u]": "latent",
              "E[u^2]": "latent_square"}  # fmt: skip


@numba.njit
def flow(state, velocities, G, n_walls, cost, angle, kept):
    """Flow ``state`` ~ N(0, G) by ``angle`` for each velocity, which is used up.

    The first ``n_walls`` coordinates cost ``cost`` where they are below 0.
    """
    hits = 0
    for draw in range(velocities.shape[0]):
        w, left = velocities[draw], angle
        while True:
            s, j = left, -1
            for i in range(n_walls):
                meeting = math.atan2(1.0, -w[i] / state[i])
                if meeting < s:
                    s, j = meeting, i
            left -= s
            before = state.copy()
            state[:] = before * math.cos(s) + w * math.sin(s)
            w[:] = w * math.cos(s) - before * math.sin(s)
            if j < 0:
                break
            hits += 1
            speed = w[j] / math.sqrt(G[j, j])
            energy = speed**2 + (2.0 * cost if speed > 0.0 else -2.0 * cost)
            after = math.copysign(math.sqrt(energy), speed) if energy > 0.0 else -speed
            after = speed if math.isinf(energy) and speed > 0.0 else after
            w += (after - speed) / math.sqrt(G[j, j]) * G[j]
            state[j] = math.copysign(1e-290, w[j])
        kept[draw] = state
    return hits


def walls_of(bound: Any) -> Any:
    """Return what has a wall at 0 as rows of a matrix times the fields, shape (walls, K m).

    It is the label times the field, or how far the field of the label is above each other field.
    """
    K, y = bound.n_fields, bound.observed.y
    m = y.size
    if K == 1:
        return np.diag(y)
    own = y.astype(int)
    pairs = [(j, k) for j in range(m) for k in range(K) if k != own[j]]
    matrix = np.zeros((len(pairs), K * m))
    for row, (j, k) in enumerate(pairs):
        matrix[row, own[j] * m + j], matrix[row, k * m + j] = 1.0, -1.0
    return matrix


def cases() -> dict[str, tuple[Any, Any, Any]]:
    """Return prior, likelihood and labels by the name of the problem."""
    X, y = gq.datasets.two_moons(2000, 20, sigma=0.1, seed=0)
    moons = gq.Prior.projected(gq.knn_graph(X, n_neighbors=20, connect=True), 100)
    many, few = (gq.reveal(y, counts=n, seed=0) for n in (50, 5))
    X, y = np.random.default_rng(0).standard_normal((900, 2)), np.repeat([0, 1, 2], 300)
    X += 1.3 * np.array([[0, 1], [1, -1], [-1, -1]])[y]
    blobs = gq.Prior.projected(gq.knn_graph(X, n_neighbors=15, connect=True), 50)
    found = {
        "two moons": (moons, gq.Probit(0.1), many),
        "two moons, 10 labels": (moons, gq.Probit(0.1), few),
        "two moons, level-set": (moons, gq.LevelSet(0.5), many),
        "two moons, noisy probit": (moons, gq.NoisyProbit(0.1, 0.05), many),
        "three classes": (blobs, gq.Probit(0.1), gq.reveal(y, counts=10, seed=0)),
    }
    try:
        graph, y = problems.problem("mnist 4,9")
    except FileNotFoundError:
        return found
    prior = gq.Prior.projected(graph, 300)
    return found | {"MNIST (4, 9)": (prior, gq.Probit(0.1), gq.reveal(y, counts=80, seed=0))}


def seconds(work: Any) -> float:
    """Return the least of three processor times."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def measure(prior: Any, likelihood: Any, labels: Any, pieces: int) -> list[dict[str, Any]]:
    """Return a row for each angle."""
    bound = bind(likelihood, labels, prior.n_nodes)
    noise, cost = bound.sign_model
    law, K, m = prior.at(labels.nodes).with_noise(noise), bound.n_fields, labels.nodes.size
    walls = walls_of(bound)
    both = np.vstack([walls, np.eye(K * m)])
    G = both @ np.kron(np.eye(K), law.covariance()) @ both.T
    conditional = Given(prior.field, labels.nodes, np.empty(0, dtype=np.int64), noise)
    rows = conditional.rows(conditional.basis, conditional.which)
    sampler, rng = gq.Harmonic(), np.random.default_rng(1)
    target = Target(law, bound)
    start, _ = sampler.advance(target, sampler.start(target, rng), rng, WARMUP, 1, True)
    _, chunk = sampler.advance(target, start, rng, 1, 1, False)
    noises = rng.standard_normal((DRAWS, K if K > 1 else 0))

    def turn(angle: float) -> tuple[dict[str, Any], float]:
        """Return the statistics of each piece, and the walls hit per draw."""
        state, hits = both @ chunk.fields[0].ravel(), 0
        kept, found = np.empty((DRAWS, state.size)), {key: [] for key in STATISTICS}
        for _ in range(pieces):
            velocities = law.draw(DRAWS * K, rng).reshape(DRAWS, K * m) @ both.T
            hits += flow(state, velocities, G, len(walls), cost, angle * math.pi, kept)
            fields = kept[:, len(walls) :].reshape(DRAWS, K, m)
            moments = NodeMoments(rows, "sign", DRAWS, K)
            moments.add(conditional.summarize(fields), noises, bound.overlap)
            totals = moments.totals()
            for key, name in STATISTICS.items():
                found[key].append(getattr(totals, name) / DRAWS)
        return {key: np.array(values) for key, values in found.items()}, hits / pieces / DRAWS

    every = {angle: turn(angle) for angle in ANGLES}
    run = {"draws": 500, "warmup": 0, "threads": 1, "seed": 0, "progress": False}
    whole = seconds(lambda: gq.sample(prior, likelihood, labels, **run)) / 2000
    state = start._replace(field=start.field.copy())
    drawing = seconds(lambda: sampler.advance(target, state, rng, 2000, 1, False)) / 2000
    share = max(drawing - seconds(lambda: law.draw(2000 * K, rng)) / 2000, 0.0) / whole
    truth = {k: np.mean([found[k].mean(axis=0) for found, _ in every.values()], axis=0)
             for k in STATISTICS}  # fmt: skip
    table, quarter = [], {}
    for angle, (found, hits) in sorted(every.items(), key=lambda pair: pair[0] != 0.5):
        row: dict[str, Any] = {"angle / pi": angle, "walls hit": hits}
        for key in STATISTICS:
            each = ((found[key] - truth[key]) ** 2).reshape(pieces, -1).mean(axis=1)
            mean, error = each.mean(), each.std() / math.sqrt(pieces)
            quarter.setdefault(key, (mean, error))
            base, base_error = quarter[key]
            row[key] = mean / base
            row[f"{key} +-"] = mean / base * math.hypot(error / mean, base_error / base)
        growth = 1 + share * (angle / 0.5 - 1)
        row["predictive x time"] = row["predictive"] * growth
        table.append(row)
    return sorted(table, key=lambda row: row["angle / pi"])


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    pieces = PIECES // 10 if options.quick else PIECES
    rows: list[dict[str, Any]] = []
    for name, (prior, likelihood, labels) in cases().items():
        rows += [{"problem": name, **row} for row in measure(prior, likelihood, labels, pieces)]
    products: dict[float, list[float]] = {}
    for row in rows:
        products.setdefault(row["angle / pi"], []).append(row["predictive x time"])
    best = min(math.exp(np.log(values).mean()) for values in products.values())
    claims = {
        "squared error of probabilities x time at the best angle, over that of a quarter turn, "
        "mean over problems (at least 0.9)": (best, best >= 0.9),
    }
    report.write("angle", options.out, rows, claims)


if __name__ == "__main__":
    main()
