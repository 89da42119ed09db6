"""The settings and diagnostics of a saved result, as text or JSON."""

from __future__ import annotations

from typing import Any

from graphuq.cli.class_shares import ClassShares
from graphuq.cli.print_trust import print_light, print_trust
from graphuq.cli.printing import describe_counts, join_names, to_json
from graphuq.cli.result import Result
from graphuq.posterior.assessment.class_shares import describe_shares
from graphuq.posterior.predictions import SURE
from graphuq.utils.words import count


def print_result(found: Result, *, as_json: bool) -> None:
    """Print the settings of a result, and whether it can be trusted."""
    post, origin, predictions = found.posterior, found.run, found.predictions
    trust = post.trust()
    result = {
        "file": found.file,
        **{name: origin.get(name) for name in ("command", "created", "graphuq")},
        "earlier": found.commands[:-1],
        "nodes": post.n_nodes,
        "classes": post.labels.classes,
        "labels": {
            str(name): int((post.labels.values == name).sum()) for name in post.labels.classes
        },
        "mean_variance": post.mean_variance,
        "class_shares": None if found.shares is None else found.shares.shares,
        "class_shares_strength": None if found.shares is None else found.shares.strength,
        "unsure": int(predictions.unsure.sum()),
        "most_uncertain": found.ids[predictions.ranking()[:10]],
        "settings": post.settings,
        "complete": post.draws.complete if post.is_sampled else None,
        "diagnostics": vars(post.diagnostics()) if post.is_sampled else None,
        "trust": trust.to_dict(),
        "model_trust": origin.get("model_trust"),
    }
    if as_json:
        print(to_json(result))
        return
    _print(result, found.shares)
    print_trust("can the sampler be trusted?", trust)
    if (model := origin.get("model_trust")) is not None:
        print_light("can the model be trusted?", model["light"], model["reasons"])


def _print(result: dict[str, Any], shares: ClassShares | None) -> None:
    labels = result["labels"]
    print(
        f"{result['file']}: {count(result['nodes'], 'item')}, {sum(labels.values())} labeled: "
        + describe_counts(labels)
    )
    if result["command"]:
        for command in result["earlier"]:
            print(f"earlier: {command}")
        print(f"command: {result['command']} ({result['created']}, graphuq {result['graphuq']})")
    settings = result["settings"]
    _print_prior(settings["prior"])
    likelihood = settings["likelihood"]
    given = ", ".join(f"{k} {v:.3g}" for k, v in likelihood.items() if isinstance(v, float))
    print(f"likelihood: {likelihood['name']}" + (f", {given}" if given else ""))
    if shares is not None:
        print(f"class shares: {describe_shares(*shares)}")
    one = "50/50" if len(result["classes"]) == 2 else "all classes equally likely"
    print(f"mean variance: {result['mean_variance']:.3f} (0 is certain, 1 is {one})")
    print(f"unsure: {count(result['unsure'], 'item')} (confidence below {SURE:.0%})")
    print(f"most uncertain: {join_names(result['most_uncertain'])}")
    if result["diagnostics"] is None:
        print("sampler: none (this is an approximation)")
        return
    draws = f"{count(settings['chains'], 'chain')} of {count(settings['draws'], 'draw')}"
    print(f"sampler: {settings['sampler']['name']}, {draws}, {settings['sampling_time']:.1f} s")


def _print_prior(described: dict[str, Any]) -> None:
    """Print a line for each part of weight above 0, for the weights and for the level."""
    from graphuq.report.prior_rows import prior_rows  # imports plots, which --help does not need

    lines: list[str] = []
    for name, value, _ in prior_rows(described):
        if name.startswith("prior") or name in ("weights", "level"):
            lines.append(f"{name}: {value}")
        else:
            lines[-1] += f", {name} {value}"
    print("\n".join(lines))
