"""The sections of the report; each number is explained where it stands."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphuq import plots
from graphuq.approximation import ApproximatePosterior
from graphuq.calibration import Calibration
from graphuq.node_posterior import NodePosterior
from graphuq.plots.png import png, thumbnail
from graphuq.posterior import Posterior
from graphuq.report import meanings, page, pictures, reproduction
from graphuq.report.page import Markup, Section
from graphuq.report.subject import Subject
from graphuq.report.trust import Trust

# Items in a list.
MOST = 20

LABEL_NEXT = (
    "To have these labelled would teach something, if some of it twice: graphuq sample and, in "
    "Python, post.suggest name those to label next, which teach most together."
)

# Labels from which calibration is looked at without the truth: fewer leave bins all but empty.
ENOUGH = 20


def sections(subject: Subject, found: Trust) -> list[Section]:
    """Return all sections in their order."""
    return [
        Section("trust", "Is the sampler to be trusted?", _trust(found)),
        Section("run", "What was run", _run(subject)),
        Section("accuracy", "How often is it right?", _accuracy(subject)),
        Section("uncertain", "Which items are uncertain?", _uncertain(subject)),
        Section("suspect", "Which given labels are suspect?", _suspect(subject)),
        Section("plots", "Plots", "".join(pictures.pictures(subject))),
        Section("reproduce", "How to do it again", _reproduce(subject)),
    ]


def _trust(found: Trust) -> str:
    return (
        page.paragraph(Markup(f"<strong>{found.light.capitalize()}:</strong> {found.verdict}"))
        + page.items(found.reasons)
        + page.table(("", "value", "wanted", "what it means"), found.numbers)
        + page.paragraph(
            "Green: nothing speaks against the run. Amber: it falls short of what is asked for "
            "where results are published. Red: the numbers below are not yet those of the model. "
            "The light speaks of the computation alone. Whether the model is right, only items "
            "whose true class is known can tell: see below, how often it is."
        )
    )


def _run(subject: Subject) -> str:
    posterior = subject.posterior
    settings, labels = posterior.settings, posterior.labels
    prior = settings["prior"]
    given = ", ".join(f"{(labels.values == c).sum():,} x {c}" for c in labels.classes)
    rows: list[tuple[str, Any, str]] = [
        ("items", f"{posterior.n_nodes:,}", "What there is to classify: the nodes of the graph."),
        ("labels", f"{len(labels):,}: {given}", "Items whose class was given, perhaps wrongly."),
        ("prior", prior["kind"], meanings.of_prior(prior)),
    ]
    if subject.graph is not None:
        rows.insert(1, ("edges", f"{subject.graph.n_edges:,}", "Pairs of items taken for alike."))
    rows += [(name, _short(prior[name]), meanings.PRIOR[name]) for name in ("rank", "alpha", "tau")]
    likelihood = settings["likelihood"]
    rows.append(("likelihood", likelihood["name"], meanings.of_likelihood(likelihood["name"])))
    rows += [
        (name, _short(value), meanings.of_parameter(likelihood["name"], name))
        for name, value in likelihood.items()
        if name != "name"
    ]
    if isinstance(posterior, ApproximatePosterior):
        rows += [
            ("method", "expectation propagation", "A Gaussian in the place of draws, at once."),
            ("seconds", f"{settings['seconds']:.2f}", "What it took."),
        ]
    else:
        assert isinstance(posterior, Posterior)
        name = settings["sampler"]["name"]
        rows += [
            ("sampler", name, meanings.of_sampler(name)),
            (
                "draws",
                f"{settings['chains']} chains of {settings['draws']:,}",
                f"After {settings['warmup']:,} each that were thrown away while the sampler "
                f"adapted. From one draw to the next it took {settings['thin']:,} of its steps.",
            ),
            ("seconds", f"{settings['sampling_time']:.2f}", "What the sampling took."),
        ]
        rows += [
            (
                f"{name}, sampled",
                f"{values.mean():.3g}, from {np.quantile(values, 0.025):.3g} to "
                f"{np.quantile(values, 0.975):.3g}",
                "Sampled along with the classes: its mean, and where it lies with probability 95%.",
            )
            for name, values in posterior.hyperparameters.items()
        ]
    return page.table(("", "value", "what it means"), rows)


def _accuracy(subject: Subject) -> str:
    posterior, truth = subject.posterior, subject.truth
    if truth is not None:
        hidden = subject.hidden
        values, counts = np.unique(truth[hidden], return_counts=True)
        common = values[counts.argmax()]
        lead = (
            "The true classes of all items were given, and are held against what was predicted for "
            f"the {hidden.size:,} items without a label. Who always said {common}, the commonest "
            f"class, would be right in {counts.max() / hidden.size:.1%} of them."
        )
        shown = _scores(posterior, posterior.calibration(truth), lead)
        return shown + pictures.of_confusion(posterior, truth)
    if isinstance(posterior, ApproximatePosterior) and len(posterior.labels) >= ENOUGH:
        lead = (
            "The true classes are not known. Instead each label was held against what all other "
            "labels say of its item. That takes the labels for right and for drawn at random."
        )
        return _scores(posterior, posterior.calibration(), lead)
    return page.paragraph(
        "Not known: it takes the true classes, which were not given. Without them, trust in "
        "probabilities rests on the model. Once the true classes are known, they can be told to "
        "graphuq report RESULT --truth FILE, or to graphuq.write_report."
    )


def _scores(posterior: NodePosterior, score: Calibration, lead: str) -> str:
    rows = []
    for name, shown, meaning in meanings.of_scores(posterior.labels.classes.size):
        low, high = score.intervals[name]
        how = ".1%" if name == "accuracy" else ".3f"
        value = getattr(score, name)
        rows.append((shown, format(value, how), f"{low:{how}} to {high:{how}}", meaning))
    return (
        page.paragraph(lead)
        + page.table(("", "value", "95% interval", "what it means"), rows)
        + page.figure(
            png(lambda figure: plots.reliability(score, figure=figure), 6, 6.5),
            "Reliability diagram: accuracy against confidence.",
            "Items that were called equally sure stand in one column, at the share of them that is "
            "right, with its 95% interval. On the dashed line probabilities mean what they say; "
            "above it predictions are more often right than they claim, below it less often. The "
            "bars below count the items.",
        )
    )


def _uncertain(subject: Subject) -> str:
    posterior, hidden = subject.posterior, subject.hidden[:MOST]
    if not hidden.size:
        return page.paragraph("Every item came with a label.")
    if posterior.labels.classes.size > 2:
        return _uncertain_of_many(subject, hidden)
    low, high = posterior.labels.classes
    settings = posterior.settings["likelihood"]
    field = ", or the expected field" if settings["name"] == "GinzburgLandau" else ""
    header, rows = ["item", "probably", f"probability of {high}", "variance", "mean"], []
    for node in hidden:
        p, error = posterior.probability[node], posterior.mcse[node]
        known = f" ± {error:.3f}" if np.isfinite(error) else ""
        row = [
            subject.names[node],
            posterior.prediction[node],
            page.bar(p, f"{p:.1%}"),
            f"{4 * p * (1 - p):.2f}",
            f"{posterior.mean[node]:+.3f}{known}",
        ]
        rows.append(row if subject.truth is None else [*row, subject.truth[node]])
    return page.paragraph(
        f"The {hidden.size} items without a label whose class is least sure, the least sure first. "
        f"Probability is that of {high}, the rest that of {low}. Variance says the same on a scale "
        "from 0, certain, to 1, a coin's toss. Mean is the expected label, from -1, surely "
        f"{low}, to +1, surely {high}{field}, give or take what finitely many draws leave open. "
        + LABEL_NEXT
    ) + _items_table(subject, hidden, [*header, *(["truth"] * (subject.truth is not None))], rows)


def _uncertain_of_many(subject: Subject, nodes: Any) -> str:
    """Return the uncertain items of more than two classes, with the two likeliest."""
    posterior = subject.posterior
    classes, p, entropy = posterior.labels.classes, posterior.by_class, posterior.entropy
    header, rows = ["item", "probably", "probability", "or else", "probability", "entropy"], []
    for node in nodes:
        first, second = np.argsort(-p[node], kind="stable")[:2]
        row = [
            subject.names[node],
            classes[first],
            page.bar(p[node, first], f"{p[node, first]:.1%}"),
            classes[second],
            page.bar(p[node, second], f"{p[node, second]:.1%}"),
            f"{entropy[node]:.2f}",
        ]
        rows.append(row if subject.truth is None else [*row, subject.truth[node]])
    return page.paragraph(
        f"The {nodes.size} items without a label whose class is least sure, the least sure first, "
        "each with its two likeliest classes. Entropy says how unsure an item is, of all its "
        f"classes: 0 is certain, and {np.log(classes.size):.2f} all {classes.size} alike. "
        + LABEL_NEXT
    ) + _items_table(subject, nodes, [*header, *(["truth"] * (subject.truth is not None))], rows)


def _suspect(subject: Subject) -> str:
    table = subject.posterior.suspect_labels()
    likely = int((table["probability_wrong"] > 0.5).sum())
    header, rows = ["item", "label given", "probably", "probability that it is wrong"], []
    first = table.head(MOST)
    for row in first.itertuples():
        p = row.probability_wrong
        cells = [subject.names[row.node], row.label, row.likelier, page.bar(p, f"{p:.1%}")]
        rows.append(cells if subject.truth is None else [*cells, subject.truth[row.node]])
    return page.paragraph(
        f"{likely or 'None'} of the {len(table):,} given labels "
        f"{'is' if likely == 1 else 'are'} more probably wrong than right. Here are the "
        f"{len(first)} most suspect ones. How readily labels are doubted is up to the "
        f"likelihood: {meanings.of_likelihood(subject.posterior.settings['likelihood']['name'])}"
    ) + _items_table(
        subject,
        first["node"].to_numpy(),
        [*header, *(["truth"] * (subject.truth is not None))],
        rows,
    )


def _items_table(subject: Subject, nodes: Any, header: list[str], rows: list[list[Any]]) -> str:
    """Return a table of items, with their pictures where they are images."""
    images = subject.images
    if images is None:
        return page.table(header, rows)
    low, high = float(images.min()), float(images.max())
    for node, row in zip(nodes, rows, strict=True):
        said = f"image of {subject.names[node]}"
        row.insert(1, page.picture(thumbnail(images[node], low, high), said, "item"))
    return page.table([header[0], "image", *header[1:]], rows)


def _reproduce(subject: Subject) -> str:
    posterior, prior = subject.posterior, subject.prior
    lambda_bar = None if prior is None else prior.lambda_bar
    line = subject.command
    told = "" if line is None else page.paragraph("With the same file:") + page.code(line)
    return (
        page.paragraph(
            "The seed decides all that is random, on however many cores: with the same versions "
            "this does the same again, digit for digit."
        )
        + told
        + page.paragraph("In Python, on the same graph:")
        + page.code(reproduction.code_of(posterior, lambda_bar))
        + page.paragraph("This page was made with")
        + page.table(("", "version"), reproduction.versions().items())
        + page.paragraph("All settings, as they are kept with the result:")
        + page.code(json.dumps(posterior.settings, indent=1))
    )


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
