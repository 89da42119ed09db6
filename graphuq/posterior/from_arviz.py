"""Posteriors from arviz objects and from NetCDF files, refused if their numbers cannot be right."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.labels.labels import Labels
from graphuq.likelihoods.label_rule import as_by_class
from graphuq.posterior.assessment.suspect_labels import Doubts
from graphuq.posterior.draws import Draws
from graphuq.posterior.log_evidence import LogEvidence
from graphuq.posterior.netcdf import read_groups
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.sites import GaussianSites
from graphuq.posterior.to_arviz import (
    BY_NODE,
    DOUBTS,
    NAME,
    NODE_STATISTICS,
    NUMBERS,
    SITES,
)

# Rounding of probabilities that sum to 1.
TOLERANCE = 1e-6


def from_arviz(tree: Any) -> Posterior:
    """Return the posterior that `to_arviz` converted to ``tree``.

    Parameters
    ----------
    tree : InferenceData or DataTree

    Raises
    ------
    ValueError
        A tree without the groups of graphuq.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> again = gq.from_arviz(post.to_arviz())
    >>> bool((again.probability == post.probability).all())
    True
    """
    try:
        found = _posterior_from(tree)
    except (KeyError, AttributeError, TypeError, IndexError) as error:
        missing = isinstance(error, KeyError)
        fault = f"{error} is missing" if missing else f"got {type(tree).__name__} ({error})"
        raise ValueError(
            f"this is not a result of graphuq: {fault}; give what to_arviz returned, or "
            "the file that save wrote"
        ) from error
    require_sound(found)
    return found


def _posterior_from(tree: Any) -> Posterior:
    """Return the posterior whose groups these are."""
    nodes, observed, constant = (tree[name] for name in BY_NODE)
    approximate = nodes.attrs.get("approximate")
    settings = json.loads((nodes if approximate else tree["posterior"]).attrs["settings"])
    return Posterior(
        labels=_labels_from(observed, constant),
        **_statistics_from(nodes),
        names=_names_from(nodes),
        doubts=_doubts_from(observed),
        settings=settings,
        source=_sites_from(nodes, observed) if approximate else _draws_from(tree, constant),
    )


def _draws_from(tree: Any, constant: Any) -> Draws:
    """Return the draws in these groups."""
    posterior, stats = tree["posterior"], tree["sample_stats"]
    modes = tree["modes" if "modes" in tree else "posterior"]["z"]
    chains, draws, _, *by_class = modes.shape
    none = np.empty((chains, draws, 0, *by_class))
    traced = "u" in posterior
    return Draws(
        modes=modes.values,
        field=posterior["u"].values if traced else none,
        read=stats["x"].values if "x" in stats else none,
        stats={str(name): stats[name].values for name in stats.data_vars if name != "x"},
        hyperparameters={
            str(name): posterior[name].values
            for name in posterior.data_vars
            if name not in ("z", "u")
        },
        traced=_traced(posterior["u"]) if traced else np.empty(0, np.int64),
        running_mean_change=constant["running_mean_change"].values,
        complete=bool(posterior.attrs["complete"]),
    )


def _traced(u: Any) -> NDArray[np.int64]:
    """Return the numbers of the nodes of a field, whose coordinate may have their names."""
    numbers = u.attrs.get(NUMBERS, u["node"].values)
    return np.atleast_1d(np.asarray(numbers, dtype=np.int64))


def _sites_from(nodes: Any, observed: Any) -> GaussianSites:
    """Return the sites in these groups."""
    attrs = nodes.attrs
    return GaussianSites(
        **{own: observed[named].values for own, named in SITES.items()},
        log_evidence=LogEvidence(attrs["log_evidence"], attrs["method"], attrs["correction"]),
    )


def _statistics_from(nodes: Any) -> dict[str, Any]:
    """Return the node statistics; files hold one probability for two classes, else one each."""
    statistics = {name: nodes[name].values for name in NODE_STATISTICS}
    return statistics | {"by_class": as_by_class(statistics.pop("probability"))}


def _names_from(nodes: Any) -> Any:
    """Return the names of the nodes, if they have any."""
    return nodes[NAME].values.astype(str) if NAME in nodes.coords else None


def _doubts_from(observed: Any) -> Doubts:
    """Return what was known of mistakes among the labels."""
    return Doubts(**{own: observed[name].values for own, name in DOUBTS.items()})


def _labels_from(observed: Any, constant: Any) -> Labels:
    classes = constant["class_name"].values
    trust = observed["confidence"].values if "confidence" in observed else None
    nodes, values = observed["label_node"].values, observed["label"].values
    sampling = observed.attrs.get("sampling")
    return Labels(nodes, values, classes, confidence=trust, sampling=sampling)


def load(path: str | os.PathLike[str]) -> Posterior:
    """Return the posterior in a NetCDF file that ``save`` or arviz wrote.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        No such file, or a folder.
    ValueError
        A file that graphuq did not write, or that is damaged.

    Examples
    --------
    >>> import tempfile
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> quick = gq.approximate(prior, gq.Probit(gamma=0.1), labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     quick.save(f"{folder}/moons.nc")
    ...     again = gq.load(f"{folder}/moons.nc")
    >>> again
    Posterior(100 nodes, approximated from 6 labels, log evidence -2.30)
    """
    groups = read_groups(path)
    try:
        return from_arviz(groups)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


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
    if posterior.doubts is not None:
        shapes = (len(posterior.labels), n_classes), *2 * [(len(posterior.labels),)]
        for (own, name), shape in zip(DOUBTS.items(), shapes, strict=True):
            found = getattr(posterior.doubts, own)
            unknown = own != "by_class" and np.isnan(found).all()
            _require(name, np.zeros(found.shape) if unknown else found, shape, 0.0, 1.0)
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
