"""Mean posterior variance against one setting, over trials: the common part of Figures 5 and 6."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import graphuq as gq
from benchmarks.common import report

MODELS = (gq.Probit, gq.LevelSet)
NAMES = {"Probit": "probit", "LevelSet": "Bayesian level-set"}
WORDS = {1: "rises", -1: "falls"}

# "very similar quantitative values" for small gamma: no further apart than this, of at most 1
SIMILAR = 0.05

# a trend is one, and a step is against it, from this many of its standard errors over trials on
CLEAR = 3.0


def measured(prior: gq.Prior, model, labels: gq.Labels, y, seed: int) -> tuple[float, ...]:
    """Return the mean variance of eq. (10), accuracy, R-hat and smallest ESS."""
    post = gq.sample(prior, model, labels, seed=seed, progress=False)
    health = post.diagnostics()
    return post.mean_variance, post.accuracy(y), health.r_hat, health.ess


def table(results: dict[tuple, list[tuple[float, ...]]]) -> list[dict]:
    """Return one row per (setting, value, model), from its trials."""
    rows = []
    for (swept, value, model), trials in results.items():
        variance, accuracy, r_hat, ess = np.transpose(trials)
        rows.append({
            "swept": swept, "value": value, "model": model,
            "mean variance": float(variance.mean()),
            "standard error": float(variance.std(ddof=1) / np.sqrt(variance.size)),
            "accuracy": float(accuracy.mean()), "R-hat": float(r_hat.max()),
            "smallest ESS": float(ess.min()),
        })  # fmt: skip
    return rows


def pick(rows: list[dict], swept: str, model: str) -> list[dict]:
    return [row for row in rows if (row["swept"], row["model"]) == (swept, model)]


def in_errors(values: np.ndarray) -> float:
    """Return the mean over trials, divided by its standard error; 0 if all values are 0."""
    error = values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean() / error) if values.any() else 0.0


def trend(curves: np.ndarray, at: np.ndarray) -> float:
    """Return the slope of the trials' curves, shape (trials, values), in standard errors."""
    weights = (at - at.mean()) / ((at - at.mean()) ** 2).sum()
    return in_errors(curves @ weights)


def claims(results: dict[tuple, list], rows: list[dict], signs: dict[str, int]) -> dict[str, tuple]:
    """Return whether the variance changes with each setting as in the paper's curves."""
    found = {}
    for swept, sign in signs.items():
        for model in NAMES:
            chosen = pick(rows, swept, model)
            at = np.array([row["value"] for row in chosen])
            curves = np.transpose([
                [variance for variance, *_ in results[swept, value, model]] for value in at.tolist()
            ])  # fmt: skip
            says = "almost monotonically" if swept == "gamma" else "on average"
            says = f"{WORDS[sign]} {says}"
            slope = sign * trend(curves, at)
            bound = f"above {CLEAR:g}" if sign > 0 else f"below -{CLEAR:g}"
            name = f"slope of mean variance over {swept}, {model}, in standard errors: {bound}"
            found[name] = (sign * slope, slope > CLEAR, says)
            worst = min(sign * in_errors(step) for step in np.diff(curves).T)
            name = (
                f"largest step of mean variance against this trend, {swept}, {model}, in standard "
                f"errors: below {CLEAR:g}"
            )
            found[name] = (max(0.0, -worst), worst > -CLEAR, says)
    fixed = [swept for swept in signs if swept != "gamma"]  # there gamma is 0.1
    gap = max(
        abs(a["mean variance"] - b["mean variance"])
        for swept in fixed
        for a, b in zip(pick(rows, swept, "Probit"), pick(rows, swept, "LevelSet"), strict=True)
    )
    name = (
        f"difference in mean variance between the models at gamma = 0.1, largest: at most {SIMILAR}"
    )
    found[name] = (gap, gap <= SIMILAR, "very similar")
    worst = max(row["R-hat"] for row in rows)
    found["largest R-hat: below 1.05"] = (worst, worst < 1.05)
    return found


def draw(name: str, rows: list[dict], titles: dict[str, str], out: Path) -> None:
    """Draw one panel per setting, with error bars of two standard errors."""
    figure = Figure(figsize=(4.2 * len(titles), 3.4), layout="constrained")
    panels = figure.subplots(1, len(titles), sharey=True)
    for panel, (swept, title) in zip(panels, titles.items(), strict=True):
        for model, marker in zip(NAMES, "os", strict=True):
            chosen = pick(rows, swept, model)
            panel.errorbar(
                [(100 if swept == "share of labels" else 1) * row["value"] for row in chosen],
                [row["mean variance"] for row in chosen],
                [2 * row["standard error"] for row in chosen],
                marker=marker, markersize=4, capsize=2, label=NAMES[model],
            )  # fmt: skip
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("labels, %" if swept == "share of labels" else swept)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("posterior variance of a label,\nmean over nodes and trials")
    panels[0].set_ylim(bottom=0)
    panels[-1].legend(fontsize=8)
    report.picture(name, out, figure)
