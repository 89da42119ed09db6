"""Scores of a posterior beside what they would be if its probabilities were true."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import graphuq as gq

# Draws of each of four chains: the error of a mean over nodes is then far below that of the labels.
DRAWS = 250

# Truths that are drawn from the probabilities.
TRUTHS = 50


def fit(prior: Any, labels: gq.Labels, seed: int, likelihood: Any = None) -> gq.Posterior:
    """Return the posterior, of gq.Probit() by default; the labels choose what is "auto"."""
    with warnings.catch_warnings():  # draws of gq.Harmonic are all but independent
        warnings.simplefilter("ignore", gq.ConvergenceWarning)
        return gq.sample(
            prior,
            likelihood or gq.Probit(),
            labels,
            draws=DRAWS,
            threads=1,
            seed=seed,
            progress=False,
        )


def scores(post: gq.Posterior, y: np.ndarray, seed: int) -> dict[str, float]:
    """Return the scores of the unlabeled nodes."""
    found = post.calibration(y)
    hidden, _ = post.labels.unlabelled_truth(y, len(y))
    p = post.by_class[hidden]
    return {
        "accuracy": found.accuracy, "log score": found.log_score,
        "ECE": found.expected_calibration_error, "ECE if true": ece_if_true(p, seed),
        "confidence less accuracy": float(p.max(axis=1).mean()) - found.accuracy,
    }  # fmt: skip


def ece_if_true(p: np.ndarray, seed: int) -> float:
    """Return the mean calibration error of p (m, K) over truths drawn from p itself.

    It is positive: with few items even true probabilities differ from shares.
    """
    rng = np.random.default_rng([seed, 2])
    below = np.cumsum(p, axis=1)[:, :-1]
    classes = np.arange(p.shape[1])
    draws = ((rng.random((len(p), 1)) > below).sum(axis=1) for _ in range(TRUTHS))
    return float(np.mean([gq.expected_calibration_error(p, truth, classes) for truth in draws]))


def standard_error(values: Any) -> float:
    """Return the standard error of the mean of independent values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def means(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each score over runs."""
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
