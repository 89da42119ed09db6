"""Posteriors as arviz objects.

Results are InferenceData in arviz 0.x and xarray's DataTree in arviz 1.x. Both have named groups
of xarray Datasets, which are the same here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from graphuq.likelihoods.label_rule import label_rule
from graphuq.posterior.arviz_compat import arviz_module
from graphuq.posterior.label_likelihood import MAX_TERMS, replicates
from graphuq.utils.version import __version__

# Statistics in files.
NODE_STATISTICS = (
    "mean",
    "variance",
    "probability",
    "mcse",
    "latent_mean",
    "latent_variance",
    "probability_mcse",
    "aleatoric",
)

# Derived from the statistics.
DERIVED = ("latent_probability", "prediction", "rank", "entropy", "margin")

# The coordinate of the nodes' names, beside their numbers.
NAME = "name"

# Groups of every posterior.
BY_NODE = ("node_summary", "observed_data", "constant_data")

# Traces that arviz plots by default, where there are many modes.
MAX_TRACES = 20

# Draws of the prior.
PRIOR_DRAWS = 1000

# The attribute of ``u`` with the numbers of its nodes, whose coordinate may have names.
NUMBERS = "nodes"

# What files of an approximation call its sites at the labeled nodes.
SITES = {"precision": "site_precision", "shift": "site_shift", "leave_one_out": "leave_one_out"}

# What files call what is known of mistakes among the labels.
DOUBTS = {
    "by_class": "probability_of_class",
    "mistake": "probability_mistake",
    "overlap": "probability_overlap",
}


def to_arviz(
    posterior: Any, classifiers: Mapping[str, Any] | None = None, nodes: Any = None
) -> Any:
    """Return ``posterior`` as InferenceData (arviz 0.x) or DataTree (arviz 1.x).

    Parameters
    ----------
    posterior : Posterior
    classifiers : mapping from name to TransductiveClassifier, optional
        Fitted to the same graph and classes, to be compared with the posterior.
    nodes : array_like of int or of str, optional
        Nodes whose field is a variable of arviz, by number or by name: those that were traced by
        default.

    Returns
    -------
    InferenceData or DataTree
        It has these groups. Where K > 2, values per class have ``class`` for their last dimension,
        and labels ``y`` are indices of classes.

        ======================== ==========================================================
        posterior                ``z``, coefficients of the first modes, at most twenty,
                                 which arviz plots by default; ``u``, the field at
                                 ``nodes``, whose coordinate has their names if they have
                                 any; hyperparameters that were sampled
        modes                    ``z`` of all modes, if there are more
        sample_stats             ``lp``, ``potential``, ``acceptance_rate``, ...; ``x``,
                                 what was read, where `Draws.read` has it
        log_likelihood           ``y``, log P(label | u) in each draw, for ``arviz.loo``
                                 and ``arviz.compare``
        posterior_predictive     ``y``, a new label in each draw, mistakes included
        prior, prior_predictive  ``u`` and ``y`` in 1,000 draws of the prior
        observed_data            ``y`` at the labeled nodes; ``confidence``, if labels have
                                 any
        constant_data            names of classes, eq. (16)
        node_summary             for each node mean, variance, probability, mcse,
                                 prediction, rank, entropy, margin, the columns of
                                 `Posterior.uncertainty`; ``decision_score`` and
                                 ``transduction`` of the classifiers
        ======================== ==========================================================

        Beside its number, each ``node`` and ``label_node`` of the last three groups has a
        coordinate ``name`` if nodes have names. An approximation has only these three, with the
        attribute ``approximate`` = 1, and its sites and ``leave_one_out`` in ``observed_data``.
        The likelihoods and predictive labels need a sign model, and at most 2^22 draws x labels x
        classes. They and the prior are not in files, nor in posteriors that were read from one.
        Where hyperparameters were sampled there is no prior.

    Raises
    ------
    TypeError, ValueError
        Classifiers that are not fitted, or fitted to other nodes or classes; nodes that do not
        exist, or of an approximation, which has no draws.
    """
    beside = _classifier_variables(posterior, {} if classifiers is None else classifiers)
    arviz = arviz_module()
    groups = groups_of(posterior)
    groups["node_summary"] = groups["node_summary"].assign(beside)
    if posterior.is_sampled:
        if nodes is not None and posterior.prior is None:
            raise ValueError(
                "a posterior from a file has no prior, which other nodes need: leave out nodes, or "
                "draw the field with post.latent_draws(prior, nodes=...)"
            )
        wanted = posterior.draws.traced if nodes is None else posterior.node_numbers(nodes)
        groups["posterior"] = _with_field(groups["posterior"], posterior, wanted, nodes is None)
        groups |= _label_groups(posterior) | _prior_groups(posterior, wanted)
    elif nodes is not None:
        raise ValueError("an approximation has no draws for arviz: make them with gq.sample")
    if arviz.__version__.startswith("0."):
        return arviz.InferenceData(**groups)
    return xr.DataTree.from_dict(groups)


def _classifier_variables(posterior: Any, classifiers: Mapping[str, Any]) -> dict[str, Any]:
    """Return scores and predictions of the classifiers for each node."""
    if not isinstance(classifiers, Mapping):
        raise TypeError(
            f"classifiers must be a dict from names to fitted classifiers, got {classifiers!r}"
        )
    if not classifiers:
        return {}
    from sklearn.utils.validation import check_is_fitted  # files do without scikit-learn

    classes = posterior.labels.classes
    for name, classifier in classifiers.items():
        if not isinstance(name, str) or not _classifies_nodes(classifier):
            raise TypeError(
                "classifiers must map names to fitted classifiers of nodes, such as "
                f"gq.LaplaceLearning().fit(graph, labels), got {name!r}: {classifier!r}"
            )
        check_is_fitted(classifier)
        n_nodes = classifier.transduction_.size
        if n_nodes != posterior.n_nodes or not np.array_equal(classifier.classes_, classes):
            raise ValueError(
                f"{name} was fitted on {n_nodes} nodes to the classes "
                f"{classifier.classes_.tolist()[:5]}, the posterior on {posterior.n_nodes} to "
                f"{classes.tolist()}: fit it to the same graph and labels"
            )
    each, names = classifiers.values(), np.array(list(classifiers))
    return {
        "decision_score": xr.DataArray(
            np.stack([classifier.decision_scores_ for classifier in each]),
            {"classifier": names, "class": classes},
            ("classifier", "node", "class"),
        ),
        "transduction": xr.DataArray(
            np.stack([classifier.transduction_ for classifier in each]),
            {"classifier": names},
            ("classifier", "node"),
        ),
    }


def _classifies_nodes(classifier: Any) -> bool:
    """Return whether this is like a `TransductiveClassifier`: it knows all nodes once fitted."""
    return all(callable(getattr(classifier, name, None)) for name in ("fit", "accuracy"))


def _with_field(
    group: xr.Dataset, posterior: Any, nodes: NDArray[np.int64], are_traced: bool
) -> xr.Dataset:
    """Return the group ``posterior`` with the field at these nodes, by name if they have any."""
    if not nodes.size:
        return group
    if are_traced:
        u = posterior.draws.field
    else:
        seed = posterior._own_seed()
        u = np.concatenate([*posterior.latent_draws(nodes=nodes, seed=seed)])
        u = u.reshape(*posterior.draws.shape, *u.shape[1:])
        group = group.drop_dims("node", errors="ignore")
    group = group.assign_coords(node=_called(posterior, nodes))
    field = xr.Variable(*_dims(u, "chain", "draw", "node"), {NUMBERS: nodes})
    return group.assign(u=field)


def _called(posterior: Any, nodes: NDArray[np.int64]) -> NDArray[Any]:
    """Return the names of nodes, or their numbers where names are missing or repeated."""
    names = None if posterior.names is None else posterior.names[nodes]
    return nodes if names is None or np.unique(names).size < nodes.size else names


def _prior_groups(posterior: Any, nodes: NDArray[np.int64]) -> dict[str, xr.Dataset]:
    """Return the field and the labels in draws of the prior, where it is known."""
    if posterior.prior is None or posterior.draws.hyperparameters:
        return {}
    n_fields, rng = label_rule(posterior.labels).n_fields, np.random.default_rng(0)
    chain = {"chain": [0], "draw": np.arange(PRIOR_DRAWS)}
    groups = {}
    if nodes.size:
        u = _prior_draws(posterior, nodes, rng)
        field = _dims(u[None] if n_fields > 1 else u[None, ..., 0], "chain", "draw", "node")
        coords = {**chain, "node": _called(posterior, nodes), **_class_names(posterior)}
        groups["prior"] = xr.Dataset({"u": field}, coords)
    if posterior.settings["sign_model"] and posterior._label_terms <= MAX_TERMS:
        u = _prior_draws(posterior, posterior.labels.nodes, rng)
        found = replicates(u, posterior.labels, posterior.settings, rng)
        y = ("chain", "draw", "label_node"), found[None]
        groups["prior_predictive"] = xr.Dataset({"y": y}, chain | _label_nodes(posterior))
    return groups


def _prior_draws(posterior: Any, nodes: NDArray[np.int64], rng: np.random.Generator) -> Any:
    """Return draws of the prior, shape (draws, nodes, fields)."""
    n_fields = label_rule(posterior.labels).n_fields
    u = posterior.prior.field_at(nodes).draw(PRIOR_DRAWS * n_fields, rng)
    return u.reshape(n_fields, PRIOR_DRAWS, nodes.size).transpose(1, 2, 0)


def _label_groups(posterior: Any) -> dict[str, xr.Dataset]:
    """Return the likelihoods and replicates of the labels in each draw, where they are known."""
    found = posterior.label_draws()
    if found is None:
        return {}
    chains, draws = posterior.draws.shape
    coords = {
        "chain": np.arange(chains),
        "draw": np.arange(draws),
        **_label_nodes(posterior),
    }
    return {
        group: xr.Dataset(
            {"y": (("chain", "draw", "label_node"), values.reshape(chains, draws, -1))}, coords
        )
        for group, values in (
            ("log_likelihood", found.log_likelihood),
            ("posterior_predictive", found.replicate),
        )
    }


def groups_of(posterior: Any) -> dict[str, xr.Dataset]:
    """Return the groups of a posterior that its file has, too."""
    groups = _groups_of_draws if posterior.is_sampled else _groups_of_sites
    return groups(posterior)


def _groups_of_draws(posterior: Any) -> dict[str, xr.Dataset]:
    """Return the groups of a sampled posterior."""
    attrs = {
        **_origin(),
        "sampling_time": posterior.settings["sampling_time"],
        "tuning_steps": posterior.settings["tuning_steps"],
    }
    groups = _node_groups(posterior, attrs)
    change = xr.DataArray(posterior.draws.running_mean_change, dims=("chain", "batch"))
    groups["constant_data"] = groups["constant_data"].assign(running_mean_change=change)
    return _draw_groups(posterior, attrs) | _mode_group(posterior, attrs) | groups


def _mode_group(posterior: Any, attrs: dict[str, Any]) -> dict[str, xr.Dataset]:
    """Return the group of all modes, unless arviz plots them all."""
    if posterior.draws.modes.shape[2] == _n_traced_modes(posterior):
        return {}
    chains, draws = posterior.draws.shape
    z = _dims(posterior.draws.modes, "chain", "draw", "mode")
    coordinates = {"chain": np.arange(chains), "draw": np.arange(draws)}
    coordinates |= {"mode": _mode_numbers(posterior), **_class_names(posterior)}
    return {"modes": xr.Dataset({"z": z}, coordinates, attrs)}


def _n_traced_modes(posterior: Any) -> int:
    """Return the number of modes that arviz plots: each class has a trace of its own."""
    each = int(np.prod(posterior.draws.modes.shape[3:]))
    return min(posterior.draws.modes.shape[2], max(1, MAX_TRACES // each))


def _mode_numbers(posterior: Any) -> NDArray[np.int64]:
    """Return the numbers of all modes: from 1, or from 0 or less where q_0 or levels are modes."""
    modes = posterior.draws.modes.shape[2]
    return np.arange(modes) + posterior.settings["prior"]["rank"] + 1 - modes


def _groups_of_sites(posterior: Any) -> dict[str, xr.Dataset]:
    """Return the groups of an approximate posterior."""
    sites = posterior.sites
    groups = _node_groups(posterior, {"approximate": 1, **_origin()})
    groups["node_summary"].attrs |= {
        "settings": json.dumps(posterior.settings),
        "log_evidence": float(sites.log_evidence),
        "method": sites.log_evidence.method,
        "correction": sites.log_evidence.correction,
    }
    groups["observed_data"] = groups["observed_data"].assign(
        {named: _dims(getattr(sites, own), "label_node") for own, named in SITES.items()}
    )
    return groups


def _origin() -> dict[str, Any]:
    return {
        "created_at": datetime.now(UTC).isoformat(),
        "inference_library": "graphuq",
        "inference_library_version": __version__,
    }


def _draw_groups(posterior: Any, attrs: dict[str, Any]) -> dict[str, xr.Dataset]:
    found, first = posterior.draws, slice(_n_traced_modes(posterior))
    traced, read = found.traced.size > 0, found.read.size > 0
    at = "column" if found.hyperparameters else "label_node"
    of_read = {} if at == "column" else _label_nodes(posterior)
    chains, draws = found.shape
    sampled = {"chain": np.arange(chains), "draw": np.arange(draws)}
    return {
        "posterior": xr.Dataset(
            {
                "z": _dims(found.modes[:, :, first], "chain", "draw", "mode"),
                # arviz cannot plot a variable without entries
                **({"u": _dims(found.field, "chain", "draw", "node")} if traced else {}),
                **{
                    name: (("chain", "draw"), values)
                    for name, values in found.hyperparameters.items()
                },
            },
            {
                **sampled,
                **_class_names(posterior),
                "mode": _mode_numbers(posterior)[first],
                # without names, which arviz 1 summarizes only if all variables have them
                **({"node": found.traced} if traced else {}),
            },
            {
                **attrs,
                "settings": json.dumps(posterior.settings),
                "complete": int(found.complete),
            },
        ),
        "sample_stats": xr.Dataset(
            {
                **{name: (("chain", "draw"), values) for name, values in found.stats.items()},
                **({"x": _dims(found.read, "chain", "draw", at)} if read else {}),
            },
            {
                **sampled,
                **({**of_read, **_class_names(posterior)} if read else {}),
            },
            attrs,
        ),
    }


def _node_groups(posterior: Any, attrs: dict[str, Any]) -> dict[str, xr.Dataset]:
    labels = posterior.labels
    y = labels.codes if labels.classes.size == 2 else labels.indices
    parts = posterior.uncertainty()
    doubts = posterior._doubts()
    trust = labels.confidence
    return {
        "observed_data": xr.Dataset(
            {
                "y": ("label_node", y),
                "label": ("label_node", labels.values),
                **{name: _dims(getattr(doubts, own), "label_node") for own, name in DOUBTS.items()},
                **({} if trust is None else {"confidence": ("label_node", trust)}),
            },
            _label_nodes(posterior),
            {**attrs, "sampling": labels.sampling},
        ),
        "constant_data": xr.Dataset({"class_name": ("class", labels.classes)}, attrs=attrs),
        "node_summary": xr.Dataset(
            {
                **{name: _dims(getattr(posterior, name), "node") for name in NODE_STATISTICS},
                **{name: _dims(getattr(posterior, name), "node") for name in DERIVED},
                **{name: ("node", parts[name]) for name in ("total", "epistemic")},
            },
            {
                **_named("node", np.arange(posterior.n_nodes), posterior),
                **_class_names(posterior),
            },
            attrs,
        ),
    }


def _label_nodes(posterior: Any) -> dict[str, Any]:
    """Return the coordinates of the labeled nodes."""
    return _named("label_node", posterior.labels.nodes, posterior)


def _named(dim: str, nodes: NDArray[np.int64], posterior: Any) -> dict[str, Any]:
    """Return the numbers of nodes, which index ``dim``, and their names if they have any."""
    if posterior.names is None:
        return {dim: nodes}
    return {dim: nodes, NAME: (dim, posterior.names[nodes])}


def _dims(values: NDArray[Any], *dims: str) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Return ``values`` with the names of its dimensions; the last may be the classes."""
    return (*dims, "class")[: values.ndim], values


def _class_names(posterior: Any) -> dict[str, NDArray[Any]]:
    """Return the coordinate of the classes; two classes need none."""
    return {"class": posterior.labels.classes} if posterior.by_class.shape[1] > 2 else {}
