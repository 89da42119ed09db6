"""Many labels on many nodes: J = 8,000 of N = 286,720 synthetic two-class pixels, rank 50.

python -m benchmarks.speed.pixels [--quick]

The data are seven frames of a drifting plume before an unevenly lit background, in ten bands with
noise. The graph joins pixels through 100 landmark pixels, A = Z Lambda^-1 Z' with rows of Z summing
to 1 (Liu, He, Chang 2010). Its eigenpairs are those of a 100 x 100 matrix, so no eigensolver is
timed.

The claims are for spectral projection. Under the approximation the tail of 286,669 modes holds
nearly all variance, labels say nothing about other nodes, and half of them are hit in every draw.
Its rows show the cost of a wall.
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

import graphuq as gq
from benchmarks.common import report
from benchmarks.common.processes import peak_gib
from graphuq.likelihoods.bound import bind
from graphuq.samplers.protocol import Target

FRAMES, HEIGHT, WIDTH, BANDS = 7, 128, 320, 10
LANDMARKS, RANK = 100, 50


def plume_video(height: int, width: int, rng: np.random.Generator):
    """Return the features of all pixels, and which pixels are behind the plume."""
    t, i, j = np.meshgrid(
        np.arange(FRAMES), np.linspace(0, 1, height), np.linspace(0, 1, width), indexing="ij"
    )
    wobble = 0.06 * np.sin(12 * j + t)
    plume = ((i - 0.5 - wobble) / 0.2) ** 2 + ((j - 0.3 - 0.05 * t) / 0.2) ** 2 < 1
    light = 1 + 0.2 * np.sin(3 * i) * np.cos(4 * j)  # one material, unevenly lit
    signature = rng.uniform(0.5, 1.5, BANDS)
    absorption = np.where(np.arange(BANDS) % 3 == 0, 0.4, 0.0)
    X = light.reshape(-1, 1) * signature - plume.reshape(-1, 1) * absorption
    return X + 0.08 * rng.standard_normal(X.shape), plume.ravel().astype(int)


def landmark_spectrum(X, rank: int, rng: np.random.Generator) -> gq.Spectrum:
    """Return the eigenpairs of I - Z Lambda^-1 Z', whose degrees are all 1."""
    landmarks = X[rng.choice(len(X), LANDMARKS, replace=False)]
    between = ((landmarks[:, None] - landmarks) ** 2).sum(axis=2)
    width = np.median(np.sort(between, axis=1)[:, 5])
    Z = np.empty((len(X), LANDMARKS))
    for start in range(0, len(X), 10_000):
        part = slice(start, start + 10_000)
        squared = (X[part] ** 2).sum(axis=1)[:, None] + (landmarks**2).sum(axis=1)
        Z[part] = np.exp(-(squared - 2 * X[part] @ landmarks.T) / width)
    Z /= Z.sum(axis=1, keepdims=True)
    Z /= np.sqrt(Z.sum(axis=0))
    values, right = np.linalg.eigh(Z.T @ Z)
    order = np.argsort(-values)[: rank + 1]
    vectors = Z @ (right[:, order] / np.sqrt(values[order]))
    return gq.Spectrum(1 - values[order[1:]], vectors[:, 1:], vectors[:, 0])


def main() -> None:
    options = report.options(__doc__.splitlines()[0])
    shrink = 4 if options.quick else 1
    rng = np.random.default_rng(0)
    X, y = plume_video(HEIGHT // shrink, WIDTH // shrink, rng)
    spectrum = landmark_spectrum(X, RANK, rng)
    del X
    J = 8000 // shrink**2
    labels = gq.reveal(y, fraction=J / y.size, seed=0)
    rows, slowest = [], 0.0
    with threadpool_limits(1):
        for kind in (gq.Prior.projected, gq.Prior.approximated):
            prior = kind(spectrum, RANK)
            for model in (gq.Probit(0.1), gq.LevelSet(0.1)):
                bound, sampler = bind(model, labels, prior.n_nodes), gq.Harmonic()
                law = prior.at(labels.nodes).with_noise(sampler.noise(bound))
                target, own = Target(law, bound), np.random.default_rng(0)
                begun = time.perf_counter()
                state = sampler.start(target, own)
                state, _ = sampler.advance(target, state, own, 30, 1, True)
                warm = time.perf_counter()
                state, chunk = sampler.advance(target, state, own, 400, 1, False)
                a_draw = 1e3 * (time.perf_counter() - warm) / 400
                if prior.tail == 0:
                    slowest = max(slowest, a_draw)
                rows.append({
                    "prior": repr(prior), "model": repr(model), "start and warm-up s": warm - begun,
                    "ms per draw": a_draw, "walls per draw": float(chunk.stats["n_walls"].mean()),
                    "lag-1 autocorrelation": lag_one(chunk.fields[:, 0]),
                })  # fmt: skip
    memory = peak_gib()
    lag = max(row["lag-1 autocorrelation"] for row in rows)
    begun = time.perf_counter()
    prior = gq.Prior.projected(spectrum, RANK)
    post = gq.sample(prior, gq.Probit(0.1), labels, draws=250, threads=1, seed=0, progress=False)
    whole = time.perf_counter() - begun
    after = peak_gib()
    report.write(
        "pixels",
        options.out,
        rows,
        {
            "projection: ms per draw, slower model, at most 15": (slowest, slowest <= 15),
            "draws are independent: lag-1 autocorrelation, at most 0.2": (lag, lag <= 0.2),
            "GiB in all, sampling, below 2": (memory, memory < 2),
            "GiB in all, gq.sample with 4 x 250 draws and all nodes, below 2": (after, after < 2),
            "seconds of that gq.sample": (whole, True),
            "its accuracy, at least 0.95": (post.accuracy(y), post.accuracy(y) >= 0.95),
        },
    )


def lag_one(fields) -> float:
    """Return the largest lag-1 autocorrelation of the field at 50 labeled nodes."""
    x = fields[:, :: max(1, fields.shape[1] // 50)]
    x = x - x.mean(axis=0)
    return float(((x[1:] * x[:-1]).sum(axis=0) / (x**2).sum(axis=0)).max())


if __name__ == "__main__":
    main()
