"""To and from arviz, in memory and in NetCDF files; the only place that imports arviz.

arviz 0.x holds results as InferenceData, arviz 1.x as xarray's DataTree. Both have named groups
of xarray Datasets, which are the same here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import graphuq
from graphuq.approximation import ApproximatePosterior
from graphuq.labels import Labels
from graphuq.model_evidence import LogEvidence
from graphuq.node_posterior import NodePosterior
from graphuq.posterior import Posterior
from graphuq.whole import written_whole

NODE_STATISTICS = (
    "mean",
    "variance",
    "probability",
    "mcse",
    "latent_mean",
    "latent_variance",
)

# What follows from these.
OF_STATISTICS = ("prediction", "rank", "entropy", "margin")

# Groups that every posterior has.
BY_NODE = ("node_summary", "observed_data", "constant_data")

# What an approximate posterior knows of labelled nodes besides.
SITES = ("site_precision", "site_shift", "leave_one_out")


def to_arviz(posterior: NodePosterior, classifiers: Mapping[str, Any] | None = None) -> Any:
    """Return ``posterior`` as InferenceData (arviz 0.x) or DataTree (arviz 1.x).

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    classifiers : mapping from name to TransductiveClassifier, optional
        Fitted on the same nodes to the same classes, to stand beside the posterior.

    Returns
    -------
    InferenceData or DataTree
        With groups ``posterior`` (``z``: mode coefficients, ``u``: the field at traced nodes,
        hyperparameters that were sampled), ``sample_stats`` (``lp``, ``potential``,
        ``acceptance_rate``, ...; ``x``: the field read, where `Posterior.read` has it),
        ``observed_data`` (``y`` at the labelled nodes), ``constant_data`` (class names, eq. (16))
        and ``node_summary`` (per node: mean, variance, probability, mcse, prediction, rank,
        entropy, margin, and ``decision_score`` and ``transduction`` of the classifiers). Of more
        than two classes what is said of each has ``class`` for its last dimension, and ``y`` is
        the class's number. An approximate posterior has no draws: it comes without the first two
        groups, with ``approximate`` = 1 among the attributes of the others, and with its sites and
        ``leave_one_out`` in ``observed_data``.

    Raises
    ------
    TypeError, ValueError
        Classifiers that are not fitted, or not to these nodes and classes.
    """
    beside = _of_classifiers(posterior, {} if classifiers is None else classifiers)
    arviz = arviz_module()
    groups = _groups(posterior)
    groups["node_summary"] = groups["node_summary"].assign(beside)
    if arviz.__version__.startswith("0."):
        return arviz.InferenceData(**groups)
    return xr.DataTree.from_dict(groups)


def from_arviz(tree: Any) -> Posterior | ApproximatePosterior:
    """Return the posterior that `to_arviz` made ``tree`` from.

    Parameters
    ----------
    tree : InferenceData or DataTree

    Raises
    ------
    ValueError
        A tree without graphuq's groups.

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
        if tree["node_summary"].attrs.get("approximate"):
            return _approximate_from(*(tree[name] for name in BY_NODE))
        posterior, nodes = tree["posterior"], tree["node_summary"]
        stats, observed, constant = (
            tree[name] for name in ("sample_stats", "observed_data", "constant_data")
        )
        settings = json.loads(posterior.attrs["settings"])
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"this is not a result of graphuq: {error} is missing") from error
    chains, draws, _, *by_class = posterior["z"].shape
    none = np.empty((chains, draws, 0, *by_class))
    traced, field, read = np.empty(0, dtype=np.int64), none, none
    if "u" in posterior:
        traced, field = posterior["node"].values.astype(np.int64), posterior["u"].values
    if "x" in stats:
        read = stats["x"].values
    return Posterior(
        labels=_labels_from(observed, constant),
        **{name: nodes[name].values for name in NODE_STATISTICS},
        modes=posterior["z"].values,
        traced=traced,
        field=field,
        read=read,
        stats={str(name): stats[name].values for name in stats.data_vars if name != "x"},
        running_mean_change=constant["running_mean_change"].values,
        settings=settings,
        complete=bool(posterior.attrs["complete"]),
        hyperparameters={
            str(name): posterior[name].values
            for name in posterior.data_vars
            if name not in ("z", "u")
        },
    )


def _approximate_from(nodes: Any, observed: Any, constant: Any) -> ApproximatePosterior:
    return ApproximatePosterior(
        labels=_labels_from(observed, constant),
        **{name: nodes[name].values for name in NODE_STATISTICS},
        **{name: observed[name].values for name in SITES},
        log_evidence=LogEvidence(
            nodes.attrs["log_evidence"], nodes.attrs["method"], nodes.attrs["correction"]
        ),
        settings=json.loads(nodes.attrs["settings"]),
    )


def _labels_from(observed: Any, constant: Any) -> Labels:
    classes = constant["class_name"].values
    return Labels(observed["label_node"].values, observed["label"].values, classes)


def save(posterior: NodePosterior, path: str | os.PathLike[str]) -> None:
    """Write ``posterior`` to a NetCDF file, whole or not at all.

    Parameters
    ----------
    posterior : Posterior or ApproximatePosterior
    path : path-like
        Its folder must exist.
    """
    with written_whole(path) as temporary:
        tree = xr.DataTree.from_dict(_groups(posterior))
        tree.to_netcdf(temporary, engine="h5netcdf")


def load(path: str | os.PathLike[str]) -> Posterior | ApproximatePosterior:
    """Return the posterior in a NetCDF file that its ``save`` or arviz wrote.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        A file that graphuq did not write, or a damaged one.

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
    ApproximatePosterior(100 nodes, 6 labels, log evidence -2.30)
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            return from_arviz(tree.load())
    except OSError as error:
        raise ValueError(f"{path} is not a NetCDF file, or is damaged: {error}") from error


def rhat_and_ess(traces: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return arviz's R-hat and bulk ESS of traces (chains, draws, quantities)."""
    arviz = arviz_module()
    data = xr.Dataset({"x": (("chain", "draw", "quantity"), traces)})
    moving = np.ptp(traces, axis=(0, 1)) > 0
    r_hat, ess = np.ones(moving.size), np.full(moving.size, np.nan)
    with np.errstate(all="ignore"):  # chains that never move, each elsewhere, divide by zero
        if traces.shape[0] > 1:
            r_hat[moving] = arviz.rhat(data.isel(quantity=moving))["x"].values
        ess[moving] = arviz.ess(data.isel(quantity=moving))["x"].values
    # a quantity that never moves is no evidence either way
    return np.where(np.isnan(r_hat), np.inf, r_hat), np.where(np.isnan(ess), np.inf, ess)


def _of_classifiers(posterior: NodePosterior, classifiers: Mapping[str, Any]) -> dict[str, Any]:
    """Return what each classifier says of each node, named as on the classifier."""
    if not isinstance(classifiers, Mapping):
        raise TypeError(
            f"classifiers must be a dict from names to fitted classifiers, got {classifiers!r}"
        )
    if not classifiers:
        return {}
    from sklearn.utils.validation import check_is_fitted  # files do without scikit-learn

    from graphuq.classifiers import TransductiveClassifier

    classes = posterior.labels.classes
    for name, classifier in classifiers.items():
        if not isinstance(name, str) or not isinstance(classifier, TransductiveClassifier):
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


def arviz_module() -> ModuleType:
    """Return arviz, whichever version is installed: importing it takes seconds."""
    import warnings

    with warnings.catch_warnings():
        # arviz 0.23 announces its reorganisation, which this module is written for
        warnings.simplefilter("ignore", FutureWarning)
        import arviz
    return arviz


def _groups(posterior: NodePosterior) -> dict[str, xr.Dataset]:
    if isinstance(posterior, ApproximatePosterior):
        attrs = {"approximate": 1, **_origin()}
        groups = _of_nodes(posterior, attrs)
        groups["node_summary"].attrs |= {
            "settings": json.dumps(posterior.settings),
            "log_evidence": float(posterior.log_evidence),
            "method": posterior.log_evidence.method,
            "correction": posterior.log_evidence.correction,
        }
        groups["observed_data"] = groups["observed_data"].assign(
            {name: ("label_node", getattr(posterior, name)) for name in SITES}
        )
        return groups
    assert isinstance(posterior, Posterior)
    attrs = {
        **_origin(),
        "sampling_time": posterior.settings["sampling_time"],
        "tuning_steps": posterior.settings["tuning_steps"],
    }
    groups = _of_nodes(posterior, attrs)
    change = xr.DataArray(posterior.running_mean_change, dims=("chain", "batch"))
    groups["constant_data"] = groups["constant_data"].assign(running_mean_change=change)
    return _of_draws(posterior, attrs) | groups


def _origin() -> dict[str, Any]:
    return {
        "created_at": datetime.now(UTC).isoformat(),
        "inference_library": "graphuq",
        "inference_library_version": graphuq.__version__,
    }


def _of_draws(posterior: Posterior, attrs: dict[str, Any]) -> dict[str, xr.Dataset]:
    chains, draws, modes = posterior.modes.shape[:3]
    traced, read = posterior.traced.size > 0, posterior.read.size > 0
    sampled = {"chain": np.arange(chains), "draw": np.arange(draws)}
    return {
        "posterior": xr.Dataset(
            {
                "z": _each(posterior.modes, "chain", "draw", "mode"),
                # arviz cannot plot a variable without entries
                **({"u": _each(posterior.field, "chain", "draw", "node")} if traced else {}),
                **{
                    name: (("chain", "draw"), values)
                    for name, values in posterior.hyperparameters.items()
                },
            },
            {
                **sampled,
                **_class_names(posterior),
                # from 1, or from 0 where q_0 is a mode
                "mode": np.arange(modes) + posterior.settings["prior"]["rank"] + 1 - modes,
                **({"node": posterior.traced} if traced else {}),
            },
            {
                **attrs,
                "settings": json.dumps(posterior.settings),
                "complete": int(posterior.complete),
            },
        ),
        "sample_stats": xr.Dataset(
            {
                **{name: (("chain", "draw"), values) for name, values in posterior.stats.items()},
                **({"x": _each(posterior.read, "chain", "draw", "label_node")} if read else {}),
            },
            {
                **sampled,
                **(
                    {"label_node": posterior.labels.nodes, **_class_names(posterior)}
                    if read
                    else {}
                ),
            },
            attrs,
        ),
    }


def _of_nodes(posterior: NodePosterior, attrs: dict[str, Any]) -> dict[str, xr.Dataset]:
    labels = posterior.labels
    y = labels.codes if labels.classes.size == 2 else labels.indices
    return {
        "observed_data": xr.Dataset(
            {"y": ("label_node", y), "label": ("label_node", labels.values)},
            {"label_node": labels.nodes},
            attrs,
        ),
        "constant_data": xr.Dataset({"class_name": ("class", labels.classes)}, attrs=attrs),
        "node_summary": xr.Dataset(
            {
                name: _each(getattr(posterior, name), "node")
                for name in NODE_STATISTICS + OF_STATISTICS
            },
            {"node": np.arange(posterior.n_nodes), **_class_names(posterior)},
            attrs,
        ),
    }


def _each(values: NDArray[Any], *dims: str) -> tuple[tuple[str, ...], NDArray[Any]]:
    """Return ``values`` with the names of its dimensions, the last one that of classes or none."""
    return (*dims, "class")[: values.ndim], values


def _class_names(posterior: NodePosterior) -> dict[str, NDArray[Any]]:
    """Return the coordinate of what is said of each class: of two classes it is said of one."""
    return {"class": posterior.labels.classes} if posterior.probability.ndim == 2 else {}
