"""The code that reproduces a run."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from graphuq import likelihoods, samplers
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.predictions import ReweightedPredictions
from graphuq.utils.version import __version__

PACKAGES = ("numpy", "scipy", "numba", "arviz", "scikit-learn")

# Likelihoods and samplers of the package; others are the user's own.
OWN = {*dir(likelihoods), *dir(samplers)}

# More labels than this are not listed.
MAX_LABELS = 200


def code_of(posterior: Posterior, lambda_bar: float | None = None) -> str:
    """Return a program that reproduces ``posterior`` on the user's graph."""
    settings, labels = posterior.settings, posterior.labels
    prior, likelihood = settings["prior"], settings["likelihood"]
    lines = [
        "import graphuq as gq",
        "",
        *(f"{name} = ...  # yours, of {posterior.n_nodes} nodes" for name in _needed(prior)),
    ]
    silent = np.setdiff1d(labels.classes, labels.values).size > 0
    all_ = f", classes={labels.classes.tolist()!r}" if silent else ""
    trust = "" if labels.confidence is None else f", confidence={labels.confidence.tolist()}"
    if len(labels) <= MAX_LABELS:
        lines.append(
            f"labels = gq.Labels({labels.nodes.tolist()}, {labels.values.tolist()!r}{all_}{trust})"
        )
    else:
        lines.append(f"labels = ...  # yours, of {len(labels)} nodes; a result's .labels has them")
    lines.append(f"prior = {_prior(prior, lambda_bar)}{_left_open(prior, lambda_bar)}")
    own = "" if likelihood["name"] in OWN else "  # your own"
    lines.append(f"likelihood = {_called(likelihood)}{own}")
    call = posterior.call()
    if call.options is None or call.seed is None:
        return "\n".join([*lines, f"post = gq.{call.function}(prior, likelihood, labels)"])
    entropy, key = call.seed
    seed = f"{entropy}"
    if key or not isinstance(entropy, int):
        lines.insert(0, "import numpy as np\n")
        seed = f"np.random.SeedSequence({entropy}, spawn_key={key})"
    first = "prior, likelihood, labels"
    if call.sampler is not None:
        first += f", {_called(call.sampler)}"
    lines.append(f"post = gq.{call.function}(\n    {_listed(first, call.options)}, seed={seed}\n)")
    return "\n".join(lines)


def code_of_shares(known: ReweightedPredictions) -> str:
    """Return the statement that gives predictions the given shares."""
    shares = dict(zip(known.labels.classes.tolist(), known.shares.tolist(), strict=True))
    guess = f", strength={known.strength!r}" if np.isfinite(known.strength) else ""
    return f"known = post.with_class_shares({shares!r}{guess})"


def _parts(described: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the priors of a sum, or the prior itself, as settings describe them."""
    return [described, *described.get("parts", [])]


def _needed(described: dict[str, Any]) -> list[str]:
    """Return the names of the graphs and features that the program reads, each once."""
    named = list(zip(_parts(described), _data_names(described), strict=True))
    needed = [name for part, name in named if part["kind"] != "components"]
    needed += ["graph"] * any(part["kind"] == "components" for part, _ in named)
    needed += ["links"] * any("hops" in part for part, _ in named)
    return list(dict.fromkeys(needed))


def _data_names(described: dict[str, Any]) -> list[str]:
    """Return the names of the graph or features of each part: those of second ones end in _2."""
    things = {"features": "X", "linear": "X", "components": "component"}
    seen: dict[str, list[Any]] = {}
    names = []
    for at, part in enumerate(_parts(described)):
        stem = things.get(part["kind"], "graph")
        known = seen.setdefault(stem, [])
        data = part.get("features", at)  # several priors on the same features have one name
        if data not in known:
            known.append(data)
        number = 1 + known.index(data)
        names.append(stem if number == 1 else f"{stem}_{number}")
    return names


def _prior(described: dict[str, Any], lambda_bar: float | None) -> str:
    """Return the expression that makes a prior, as settings describe it."""
    first, *others = zip(_parts(described), _data_names(described), strict=True)
    terms = [_part(*first, lambda_bar), *(_part(*other, None) for other in others)]
    if "weights" not in described:
        return terms[0]
    terms += [f"gq.Level({described['level']!r})"] * bool(described["level"])
    if not others:
        return " + ".join(terms)
    return f"gq.SumPrior.of(\n    [{', '.join(terms)}],\n    weights={described['weights']!r},\n)"


def _left_open(described: dict[str, Any], lambda_bar: float | None) -> str:
    """Return a comment on options of the prior that settings do not hold."""
    if described["kind"] == "solved":
        return "  # and rank, probes and seed, if they were given"
    unknown = described["kind"] == "approximated" and lambda_bar is None
    return "  # and lambda_bar, if it was given" if unknown else ""


def _part(described: dict[str, Any], data: str, lambda_bar: float | None) -> str:
    """Return the expression that makes a prior on a graph or features of the name ``data``."""
    if "hops" in described:
        data = f"gq.PropagatedFeatures({data}, links, hops={described['hops']})"
    if described["kind"] == "features":
        return f"gq.FeaturePrior({data}, length_scale={described['length_scale']!r})"
    if described["kind"] == "linear":
        return f"gq.LinearPrior({data})"
    if described["kind"] == "components":
        labeled = f", labeled={described['labeled']}" if "labeled" in described else ""
        return f"gq.ComponentLevel(graph{labeled})"
    if described["kind"] == "solved":
        return f"gq.SolvedPrior.of({data}, labels.nodes)"
    rank = {} if described["kind"] == "full" else {"rank": described["rank"]}
    if (laplacian := described.get("laplacian", "normalized")) != "normalized":
        data = f"gq.Spectrum.of({_listed(data, {**rank, 'laplacian': laplacian})})"
    parameters = {name: described[name] for name in ("alpha", "tau", "null_mode")}
    if lambda_bar is not None:
        parameters["lambda_bar"] = lambda_bar
    return f"gq.Prior.{described['kind']}({_listed(data, rank | parameters)})"


def versions() -> dict[str, str]:
    """Return the versions of graphuq, Python and the packages that it needs."""
    found = {"graphuq": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # installed in some other way
            continue
    return found


def _called(described: dict[str, Any]) -> str:
    """Return the expression that makes a likelihood or sampler, as settings describe it."""
    options = {name: value for name, value in described.items() if name != "name"}
    module = "gq." if described["name"] in OWN else ""
    return f"{module}{described['name']}({_listed('', options)})"


def _listed(first: str, options: dict[str, Any]) -> str:
    values = (
        f"{name}={_called(value) if isinstance(value, dict) else repr(value)}"
        for name, value in options.items()
    )
    return ", ".join([*([first] if first else []), *values])
