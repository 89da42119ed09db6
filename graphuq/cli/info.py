"""``graphuq info``: what a saved result holds."""

from __future__ import annotations

import argparse
from typing import Any

import graphuq as gq
from graphuq.cli.options import add_command, add_json
from graphuq.cli.output import as_json, paragraph
from graphuq.cli.result import add_result, read_result
from graphuq.diagnostics import ESS, R_HAT
from graphuq.plots.nodes import unsure


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "info",
        "what a saved result holds",
        "Say what was run, and whether it can be trusted.",
        "examples:\n  graphuq info votes-graphuq\n  graphuq info posterior.nc --json",
    )
    add_result(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load and print."""
    found = read_result(options.result)
    post, origin = found.posterior, found.run
    result = {
        "file": found.file,
        **{name: origin.get(name) for name in ("command", "created", "graphuq")},
        "nodes": post.n_nodes,
        "classes": post.labels.classes,
        "labels": {
            str(name): int((post.labels.values == name).sum()) for name in post.labels.classes
        },
        "mean_variance": post.mean_variance,
        "unsure": int(unsure(post).sum()),
        "most_uncertain": found.ids[post.ranking()[:10]],
        "settings": post.settings,
        "complete": post.complete if isinstance(post, gq.Posterior) else None,
        "diagnostics": vars(post.diagnostics()) if isinstance(post, gq.Posterior) else None,
    }
    if options.json:
        print(as_json(result))
        return 0
    _print(result)
    return 0


def _print(result: dict[str, Any]) -> None:
    labels = ", ".join(f"{count} x {name}" for name, count in result["labels"].items())
    print(f"{result['file']}: {result['nodes']} items; labelled: {labels}")
    if result["command"]:
        print(f"made by: {result['command']} ({result['created']}, graphuq {result['graphuq']})")
    settings, health = result["settings"], result["diagnostics"]
    prior, likelihood = settings["prior"], settings["likelihood"]
    print(f"prior: {prior['kind']}, {prior['rank']} modes, alpha {prior['alpha']:.3g}")
    given = ", ".join(f"{k} {v:.3g}" for k, v in likelihood.items() if isinstance(v, float))
    print(f"likelihood: {likelihood['name']}" + (f", {given}" if given else ""))
    most = "a coin's toss" if len(result["classes"]) == 2 else "all classes alike"
    print(
        f"mean variance {result['mean_variance']:.3f} (0 is certain, 1 {most}); "
        f"{result['unsure']} items are unsure (confidence below 85%)"
    )
    print(f"most uncertain: {', '.join(result['most_uncertain'])}")
    if health is None:
        print("an approximation: it has no draws, and its error is not known")
        return
    draws = f"{settings['chains']} chains of {settings['draws']} draws"
    print(f"sampler: {settings['sampler']['name']}, {draws}, {settings['sampling_time']:.1f} s")
    print(f"R-hat {health['r_hat']:.3f} (below {R_HAT} the chains agree), ESS {health['ess']:.0f} "
          f"(above {ESS} will do)")  # fmt: skip
    print("to be trusted: " + ("no" if health["messages"] else "yes"))
    for message in health["messages"]:
        paragraph(f"- {message}", "  ")
