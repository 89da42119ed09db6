"""The sections of the report, with an explanation beside each number."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphuq import plots
from graphuq.inference.find_mistakes import with_mistakes
from graphuq.plots.rendering import png, thumbnail
from graphuq.posterior.assessment.calibration import Calibration
from graphuq.posterior.assessment.class_shares import describe_shares
from graphuq.posterior.assessment.estimated_shares import ClassShares
from graphuq.posterior.assessment.model_trust import ModelTrust
from graphuq.posterior.assessment.suspect_labels import FALSE_DISCOVERY_RATE
from graphuq.posterior.assessment.trust import Trust
from graphuq.posterior.posterior import Posterior
from graphuq.priors.prior import Prior
from graphuq.report import glossary as meanings
from graphuq.report import page, pictures, reproduction
from graphuq.report.page import Markup, Section
from graphuq.report.prior_rows import prior_rows, short
from graphuq.report.subject import Subject
from graphuq.utils.words import choose_form, count

# Items in a list, shares of classes in groups, and columns.
MAX_ITEMS, MAX_SHARES, MAX_COLUMNS = 20, 100, 50

# Headers of a share and its interval.
SHARE = ("share", "90% interval")

LABEL_NEXT = (
    "Labels of these items would be informative, but partly redundant: graphuq suggest and, in "
    "Python, post.suggest list the most informative, non-redundant items to label next."
)


def sections(subject: Subject, found: Trust) -> list[Section]:
    """Return all sections in their order, without those that have nothing to say."""
    parts = [
        Section("trust", "Can the sampler be trusted?", _trust(found)),
        Section("model", "Can the model be trusted?", _model_trust(subject.model_trust)),
        Section("columns", "How was each column read?", _columns(subject)),
        Section("run", "What was run", _run(subject)),
        Section("accuracy", "How often is it right?", _accuracy(subject)),
        Section("shares", "How many items are there of each class?", _shares(subject)),
        Section("uncertain", "Which items are uncertain?", _uncertain(subject)),
        Section("suspect", "Which given labels are suspect?", _suspect(subject)),
        Section("plots", "Plots", "".join(pictures.draw_pictures(subject))),
        Section("reproduce", "How to reproduce this", _reproduce(subject)),
    ]
    return [section for section in parts if section.body]


def _trust(found: Trust) -> str:
    return (
        page.paragraph(Markup(f"<strong>{found.light.capitalize()}:</strong> {found.verdict}"))
        + page.items(found.reasons)
        + page.table(("", "value", "wanted", "what it means"), found.numbers)
        + page.paragraph(
            "Green: no problem was found. Amber: the run misses the limits for published results. "
            "Red: the numbers below are not yet those of the model. This light judges only the "
            "computation."
        )
    )


def _model_trust(found: ModelTrust) -> str:
    return (
        page.paragraph(Markup(f"<strong>{found.light.capitalize()}:</strong> {found.verdict}"))
        + page.items(found.reasons)
        + page.paragraph(
            "Green: by its 95% interval the accuracy is so high that at most half as many "
            "predictions are wrong as if all were the most frequent class, and confidence is not "
            "above the interval. Red: more are wrong. Amber: neither is shown. The interval "
            "assumes that the items were drawn at random."
        )
    )


def _columns(subject: Subject) -> str:
    rows, n = subject.columns[:MAX_COLUMNS], len(subject.columns)
    if not rows:
        return ""
    table = page.table(("column", "read as", "different values", "missing"), rows)
    return table + (page.paragraph(f"And {n - len(rows):,} more.") if n > len(rows) else "")


def _run(subject: Subject) -> str:
    posterior = subject.posterior
    settings, labels = posterior.settings, posterior.labels
    given = ", ".join(f"{(labels.values == c).sum():,} x {c}" for c in labels.classes)
    rows: list[tuple[str, Any, str]] = [
        ("items", f"{posterior.n_nodes:,}", "The items to classify: nodes of the graph."),
        ("labels", f"{len(labels):,}: {given}", "Items with a given class, which may be wrong."),
        *prior_rows(settings["prior"]),
    ]
    if subject.graph is not None:
        rows.insert(1, ("edges", f"{subject.graph.n_edges:,}", "Pairs of linked items."))
    likelihood = settings["likelihood"]
    rows.append(("likelihood", likelihood["name"], meanings.of_likelihood(likelihood["name"])))
    rows += [
        (name, short(value), meanings.of_parameter(likelihood["name"], name))
        for name, value in likelihood.items()
        if name != "name"
    ]
    if subject.has_shares:
        known = subject.predictions
        shares = describe_shares(
            dict(zip(labels.classes, known.shares, strict=True)), known.strength
        )
        rows.append(("class shares", shares, meanings.SHARES))
    if not posterior.is_sampled:
        rows += [
            ("method", "expectation propagation", "A Gaussian approximation instead of draws."),
            ("seconds", f"{settings['seconds']:.2f}", "Wall time."),
        ]
    else:
        name = settings["sampler"]["name"]
        rows += [
            ("sampler", name, meanings.of_sampler(name)),
            (
                "draws",
                f"{count(settings['chains'], 'chain')} of {settings['draws']:,}",
                f"After {count(settings['warmup'], 'draw')} of each chain for adaptation, which "
                f"{choose_form(settings['warmup'], 'was', 'were')} discarded. The sampler made "
                f"{count(settings['thin'], 'step')} per draw.",
            ),
            ("seconds", f"{settings['sampling_time']:.2f}", "Wall time of sampling."),
        ]
        rows += [
            (
                f"{name}, sampled",
                f"{values.mean():.3g}, from {np.quantile(values, 0.025):.3g} to "
                f"{np.quantile(values, 0.975):.3g}",
                "Sampled together with the classes: mean and 95% interval.",
            )
            for name, values in posterior.draws.hyperparameters.items()
        ]
    return page.table(("", "value", "what it means"), rows)


def _accuracy(subject: Subject) -> str:
    posterior, truth, score = subject.posterior, subject.truth, subject.calibration
    if score is None:
        return page.paragraph(
            "Not known: the true classes were not given, so probabilities are only as good as the "
            "model. Once the true classes are known, pass them to graphuq report RESULT --truth "
            "FILE, or to graphuq.write_report."
        )
    if truth is None and subject.sample is not None:
        lead = (
            f"{len(subject.drawn):,} items were drawn at random, {len(subject.sample):,} of them "
            "have a label that is certain, and nothing was learned from these labels. The scores "
            "compare them with the predictions."
        )
        return _scores(posterior, score, lead)
    if truth is None:
        lead = (
            "The true classes are not known. Instead each label was compared with what all other "
            "labels predict for its item. This assumes that the labels are right and were drawn at "
            "random."
        )
        return _scores(posterior, score, lead)
    hidden = subject.hidden
    values, counts = np.unique(truth[hidden], return_counts=True)
    lead = (
        "The true classes of all items were given. The scores compare them with the predictions "
        f"for the {hidden.size:,} items without a label. Always predicting "
        f"{values[counts.argmax()]}, the most frequent class, would be right in "
        f"{counts.max() / hidden.size:.1%} of them."
    )
    return _scores(posterior, score, lead) + pictures.draw_confusion(subject.predictions, truth)


def _scores(posterior: Posterior, score: Calibration, lead: str) -> str:
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
            "Items of similar confidence are in one column, at the share of them that is right, "
            "with its 95% interval. On the dashed line confidence equals accuracy; above it "
            "predictions are right more often than their probabilities say, below it less often. "
            "The bars below count the items.",
        )
    )


def _shares(subject: Subject) -> str:
    shares, of_groups = subject.class_shares, subject.group_shares
    if shares is None:
        return ""
    text = page.paragraph(
        f"The shares of the classes among all {shares.items[0]:,} items, labeled ones included. "
        + meanings.SAMPLING[subject.posterior.labels.sampling]
    ) + page.table(("class", *SHARE), _share_rows(shares, ["class"]))
    if of_groups is None:
        return text
    rows = _share_rows(of_groups, ["group", "items", "class"])
    listed = "The shares in each group"
    if len(rows) > MAX_SHARES:
        listed = f"The first {MAX_SHARES} of {len(rows):,} shares in groups"
    return (
        text
        + page.paragraph(f"{listed}. Intervals of small groups are wide.")
        + page.table(("group", "items", "class", *SHARE), rows[:MAX_SHARES])
    )


def _share_rows(shares: ClassShares, names: list[str]) -> list[tuple[Any, ...]]:
    """Return the columns ``names``, shares and intervals."""
    return [
        (
            *(row[name] for name in names),
            page.bar(row["share"], f"{row['share']:.1%}"),
            f"{row['low']:.1%} to {row['high']:.1%}",
        )
        for row in shares.table().to_dict("records")
    ]


def _uncertain(subject: Subject) -> str:
    hidden = subject.hidden[~np.isin(subject.hidden, subject.drawn)][:MAX_ITEMS]
    if not hidden.size:
        return page.paragraph("Every item came with a label.")
    parts = page.paragraph(meanings.of_parts(_parts(subject)))
    if subject.has_shares:
        parts += page.paragraph(meanings.WITHOUT_SHARES)
    return parts + _most_uncertain(subject, hidden)


def _parts(subject: Subject) -> tuple[float, float]:
    """Return the epistemic and the aleatoric share of the entropy of the items without a label."""
    parts = subject.posterior.uncertainty().iloc[subject.hidden].sum()
    return tuple(parts[name] / max(parts["total"], 1e-300) for name in ("epistemic", "aleatoric"))


def _most_uncertain(subject: Subject, hidden: Any) -> str:
    posterior = subject.posterior
    if posterior.labels.classes.size > 2:
        return _uncertain_multiclass(subject, hidden)
    low, high = posterior.labels.classes
    settings = posterior.settings["likelihood"]
    field = ", or the expected field" if settings["name"] == "GinzburgLandau" else ""
    header, rows = ["item", "probably", f"probability of {high}", "variance", "mean"], []
    for node in hidden:
        p = subject.predictions.by_class[node, 1]
        q, error = posterior.latent_probability[node], posterior.mcse[node]
        known = f" ± {error:.3f}" if np.isfinite(error) else ""
        row = [
            subject.names[node],
            subject.predictions.prediction[node],
            page.bar(p, f"{p:.1%}"),
            f"{4 * q * (1 - q):.2f}",
            f"{posterior.mean[node]:+.3f}{known}",
        ]
        rows.append(row)
    return page.paragraph(
        f"The {hidden.size} most uncertain items without a label, the most uncertain first. "
        f"Probability is that of {high}; the rest is that of {low}. Variance and mean ignore that "
        "classes overlap. They are those of the sign of an item's latent value, the field: the "
        f"variance runs from 0, certain, to 1, a coin toss; the mean from -1, certainly {low}, to "
        f"+1, certainly {high}{field}, with its Monte Carlo error. " + LABEL_NEXT
    ) + _items_table(subject, hidden, header, rows)


def _uncertain_multiclass(subject: Subject, nodes: Any) -> str:
    """Return the uncertain items for K > 2 classes, with their two most probable classes."""
    predictions = subject.predictions
    classes, p, entropy = predictions.labels.classes, predictions.by_class, predictions.entropy
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
        rows.append(row)
    return page.paragraph(
        f"The {nodes.size} most uncertain items without a label, the most uncertain first, each "
        "with its two most probable classes. Entropy measures the uncertainty over all classes: 0 "
        f"is certain, {np.log(classes.size):.2f} means all {classes.size} are equally likely. "
        + LABEL_NEXT
    ) + _items_table(subject, nodes, header, rows)


def _suspect(subject: Subject) -> str:
    table = with_mistakes(subject.posterior).suspect_labels()
    n_suspect = int(table["suspect"].sum())
    known = bool((table["probability_mistake"] > 0).any())
    column = "probability_mistake" if known else "probability_wrong"
    chance = f"probability of {'a mistake' if known else 'another class'}"
    header = ["item", "label given", "probably", chance, "suspect"]
    rows, first = [], table.head(MAX_ITEMS)
    for row in first.itertuples():
        p = getattr(row, column)
        cells = [
            subject.names[row.node],
            row.label,
            row.likelier,
            page.bar(p, f"{p:.1%}"),
            "yes" if row.suspect else "no",
        ]
        rows.append(cells)
    how = (
        f"Suspect labels are probably mistakes: at most {FALSE_DISCOVERY_RATE:.0%} of them are "
        "expected to be right."
        if known
        else "The likelihood expects no mistakes, and no other was asked."
    )
    return page.paragraph(
        f"{n_suspect or 'None'} of the {len(table):,} given labels "
        f"{choose_form(n_suspect or 1, 'is', 'are')} suspect. {how} These are the {len(first)} "
        "most doubtful labels."
    ) + _items_table(
        subject,
        first["node"].to_numpy(),
        header,
        rows,
    )


def _items_table(subject: Subject, nodes: Any, header: list[str], rows: list[list[Any]]) -> str:
    """Return a table of items, with what is known of them: picture, columns, true class."""
    images, truth, table = subject.images, subject.truth, subject.table
    if truth is not None:
        header = [*header, "truth"]
        rows = [[*row, truth[node]] for node, row in zip(nodes, rows, strict=True)]
    if table is not None and table.shape[1]:
        header = [*header, str(table.columns[0]) if table.shape[1] == 1 else "what is known"]
        rows = [[*row, subject.describe(node)] for node, row in zip(nodes, rows, strict=True)]
    if images is not None:
        low, high = float(images.min()), float(images.max())
        header.insert(1, "image")
        for node, row in zip(nodes, rows, strict=True):
            said = f"image of {subject.names[node]}"
            row.insert(1, page.picture(thumbnail(images[node], low, high), said, "item"))
    return page.table(header, rows)


def _reproduce(subject: Subject) -> str:
    posterior, prior, known = subject.posterior, subject.prior, subject.predictions
    part = None if prior is None else prior.graph_part
    lambda_bar = part.lambda_bar if isinstance(part, Prior) else None
    line = subject.command
    again = "" if line is None else page.paragraph("With the same files:") + page.code(line)
    return (
        page.paragraph(
            "The seed determines all random numbers, with any number of cores: the same versions "
            "give the same result, digit for digit."
        )
        + again
        + page.paragraph("In Python, on the same graph:")
        + page.code(reproduction.code_of(posterior, lambda_bar))
        + (page.code(reproduction.code_of_shares(known)) if subject.has_shares else "")
        + page.paragraph("This page was made with")
        + page.table(("", "version"), reproduction.versions().items())
        + page.paragraph("All settings, as saved with the result:")
        + page.code(json.dumps(posterior.settings, indent=1))
    )
