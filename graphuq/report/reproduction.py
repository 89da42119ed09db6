"""The code that does a run again."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import graphuq
from graphuq.node_posterior import NodePosterior
from graphuq.posterior import Posterior

PACKAGES = ("numpy", "scipy", "numba", "arviz", "scikit-learn")

# Longer lists of labels are not spelled out.
MOST_LABELS = 200


def code_of(posterior: NodePosterior, lambda_bar: float | None = None) -> str:
    """Return a program that makes ``posterior`` again, on the user's graph."""
    settings, labels = posterior.settings, posterior.labels
    prior, likelihood = settings["prior"], settings["likelihood"]
    lines = [
        "import graphuq as gq",
        "",
        f"graph = ...  # yours, of {posterior.n_nodes} nodes",
    ]
    silent = np.setdiff1d(labels.classes, labels.values).size > 0
    all_ = f", classes={labels.classes.tolist()!r}" if silent else ""
    if len(labels) <= MOST_LABELS:
        lines.append(
            f"labels = gq.Labels({labels.nodes.tolist()}, {labels.values.tolist()!r}{all_})"
        )
    else:
        lines.append(f"labels = ...  # yours, of {len(labels)} nodes; a result's .labels has them")
    rank = {} if prior["kind"] == "full" else {"rank": prior["rank"]}
    parameters = {name: prior[name] for name in ("alpha", "tau", "null_mode")}
    if lambda_bar is not None:
        parameters["lambda_bar"] = lambda_bar
    unknown = prior["kind"] == "approximated" and lambda_bar is None
    lines.append(
        f"prior = gq.Prior.{prior['kind']}({_listed('graph', rank | parameters)})"
        + ("  # and lambda_bar, if it was given" if unknown else "")
    )
    own = "" if likelihood["name"] in graphuq.__all__ else "  # your own"
    lines.append(f"likelihood = {_called(likelihood)}{own}")
    if not isinstance(posterior, Posterior):
        return "\n".join([*lines, "post = gq.approximate(prior, likelihood, labels)"])
    entropy, key = settings["seed_entropy"], settings["seed_spawn_key"]
    seed = f"{entropy}"
    if key or not isinstance(entropy, int):
        lines.insert(0, "import numpy as np\n")
        seed = f"np.random.SeedSequence({entropy}, spawn_key={tuple(key)})"
    options: dict[str, Any] = {name: settings[name] for name in ("chains", "warmup", "thin")}
    if posterior.traced.size:
        options["nodes"] = posterior.traced.tolist()
    if settings["target_ess"] is None:
        options = {"draws": settings["draws"], **options}
    else:
        options = {"target_ess": settings["target_ess"], **options}
    if posterior.hyperparameters:
        function, first = "sample_jointly", "prior, likelihood, labels"
        options |= {name: tuple(ends) for name, ends in settings["ranges"].items()}
    else:
        function = "sample"
        first = f"prior, likelihood, labels, {_called(settings['sampler'])}"
    lines.append(f"post = gq.{function}(\n    {_listed(first, options)}, seed={seed}\n)")
    return "\n".join(lines)


def versions() -> dict[str, str]:
    """Return what this runs on."""
    found = {"graphuq": graphuq.__version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # installed in some other way
            continue
    return found


def _called(described: dict[str, Any]) -> str:
    """Return the expression that makes a likelihood or sampler, as settings describe it."""
    options = {name: value for name, value in described.items() if name != "name"}
    module = "gq." if described["name"] in graphuq.__all__ else ""
    return f"{module}{described['name']}({_listed('', options)})"


def _listed(first: str, options: dict[str, Any]) -> str:
    values = (
        f"{name}={_called(value) if isinstance(value, dict) else repr(value)}"
        for name, value in options.items()
    )
    return ", ".join([*([first] if first else []), *values])
