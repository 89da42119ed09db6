"""Whether the numbers of a posterior that was read can be those of a posterior."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphuq.posterior.draws import Draws
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.to_arviz import SITES

# Rounding of probabilities that sum to 1.
TOLERANCE = 1e-6


def require_sound(posterior: Posterior) -> None:
    """Refuse statistics and draws that are out of range or do not fit together.

    Raises
    ------
    ValueError
        With the name of the statistic.
    """
    n, n_classes = posterior.settings["prior"]["nodes"], posterior.labels.classes.size
    n_fields = n_classes if n_classes > 2 else 1
    per_field = (n,) if n_fields == 1 else (n, n_fields)
    for name in ("by_class", "latent_by_class"):
        probabilities = getattr(posterior, name)
        _require(name, probabilities, (n, n_classes), 0.0, 1.0)
        if abs(probabilities.sum(axis=1) - 1).max() > TOLERANCE:
            raise ValueError(_message(name, "probabilities that sum to 1 at every node"))
    _require("aleatoric", posterior.aleatoric, (n,), -TOLERANCE, np.log(n_classes) + TOLERANCE)
    _require("variance", posterior.variance, (n,), 0.0)
    _require("latent_variance", posterior.latent_variance, per_field, 0.0)
    for name in ("mean", "latent_mean"):
        _require(name, getattr(posterior, name), per_field)
    if posterior.names is not None and posterior.names.shape != (n,):
        raise ValueError(_message("names", f"shape {(n,)}", f", got {posterior.names.shape}"))
    if posterior.labels.nodes.max() >= n:
        raise ValueError(_message("labels", f"node numbers below {n}"))
    suspicions = {
        "probability_mistake": posterior.mistakes,
        "probability_overlap": posterior.overlaps,
    }
    for name, probability in suspicions.items():
        if probability is not None:
            _require(name, probability, (len(posterior.labels),), 0.0, 1.0)
    if isinstance(posterior.source, Draws):
        _require_sound_draws(posterior, per_field)
        return
    labels = (len(posterior.labels), *per_field[1:])
    for own, name in SITES.items():
        ends = (0.0, 1.0) if own == "leave_one_out" else ()
        _require(name, getattr(posterior.sites, own), labels, *ends)


def _require_sound_draws(posterior: Posterior, per_field: tuple[int, ...]) -> None:
    """Refuse draws that are out of range or do not fit together."""
    # Infinity is the error of a run that is too short to tell
    for name in ("mcse", "probability_mcse"):
        error = getattr(posterior, name)
        _require(name, np.where(np.isposinf(error), 0.0, error), per_field, 0.0)
    found, (chains, draws) = posterior.draws, posterior.draws.shape
    changes, fields = found.running_mean_change, per_field[1:]
    _require("running_mean_change", changes, (chains, *changes.shape[1:]), 0.0)
    for name, columns in (
        ("field", found.traced.size),
        ("read", found.read.shape[2]),
        ("modes", _n_modes(posterior)),
    ):
        _require(name, getattr(found, name), (chains, draws, columns, *fields))
    for name, values in {**found.stats, **found.hyperparameters}.items():
        if values.shape != (chains, draws) or np.isnan(values).any():
            raise ValueError(_message(name, f"numbers of shape {(chains, draws)}"))


def _n_modes(posterior: Posterior) -> int:
    """Return the number of modes of a prior: those of all parts of a sum, and the level."""
    prior = posterior.settings["prior"]
    parts = [prior, *prior.get("parts", ())]
    n_modes = sum(int(part["rank"]) + bool(part.get("null_mode")) for part in parts)
    return n_modes + bool(prior.get("level"))


def _require(
    name: str, values: Any, shape: tuple[int, ...], least: float = -np.inf, most: float = np.inf
) -> None:
    """Refuse values of another shape, out of range or not finite."""
    if values.shape != shape:
        raise ValueError(_message(name, f"shape {shape}", f", got {values.shape}"))
    if not (np.isfinite(values).all() and (values >= least).all() and (values <= most).all()):
        wanted = "finite numbers" if np.isinf([least, most]).all() else f"{least:g} to {most:g}"
        raise ValueError(_message(name, wanted))


def _message(name: str, wanted: str, came: str = ", got others") -> str:
    return f"{name} is damaged: it must have {wanted}{came}; read another copy, or sample again"
