"""The call of graphuq that makes a posterior again."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphuq.posterior.draws import Draws
from graphuq.posterior.sites import GaussianSites


class Call(NamedTuple):
    """A function and its arguments besides prior, likelihood and labels; `Posterior.call`."""

    function: str
    sampler: dict[str, Any] | None = None
    """The sampler as settings describe it; None for functions that take none."""
    options: dict[str, Any] | None = None
    """Keyword arguments, without the seed; None for functions that take none."""
    seed: tuple[Any, tuple[int, ...]] | None = None
    """Entropy and spawn key of the SeedSequence; None where nothing is random."""


def call_of(source: Draws | GaussianSites, settings: dict[str, Any]) -> Call:
    """Return the call of a posterior with these draws or sites and settings."""
    if isinstance(source, GaussianSites):
        return Call("approximate")
    length = "draws" if settings["target_ess"] is None else "target_ess"
    options = {name: settings[name] for name in (length, "chains", "warmup", "thin")}
    if source.traced.size:
        options["nodes"] = source.traced.tolist()
    seed = settings["seed_entropy"], tuple(settings["seed_spawn_key"])
    if not source.hyperparameters:
        return Call("sample", settings["sampler"], options, seed)
    options |= {name: tuple(ends) for name, ends in settings["ranges"].items()}
    return Call("sample_jointly", None, options, seed)
