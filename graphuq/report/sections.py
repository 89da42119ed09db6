"""The sections of a report, with an explanation beside each number."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphuq import plots
from graphuq.inference.find_mistakes import with_mistakes
from graphuq.plots.rendering import thumbnail
from graphuq.posterior.assessment.calibration import Calibration
from graphuq.posterior.assessment.class_shares import describe_shares
from graphuq.posterior.assessment.estimated_shares import ClassShares
from graphuq.posterior.assessment.model_trust import ModelTrust
from graphuq.posterior.assessment.suspect_labels import FALSE_DISCOVERY_RATE
from graphuq.posterior.assessment.trust import Trust
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.predictions import SURE
from graphuq.priors.prior import Prior
from graphuq.report import glossary as meanings
from graphuq.report import pictures, reproduction
from graphuq.report.blocks import (
    MEANING,
    Bar,
    Block,
    Bullets,
    Code,
    Figure,
    Note,
    Paragraph,
    Picture,
    Section,
    Table,
)
from graphuq.report.prior_rows import prior_rows, short
from graphuq.report.subject import Subject
from graphuq.utils.words import choose_form, count, join_names

# Items in a list, shares of classes in groups, and columns.
MAX_ITEMS, MAX_SHARES, MAX_COLUMNS = 20, 100, 50

# Headers of a share and its interval.
SHARE = ("share", "90% interval")


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
        Section("next", "Which items should be labeled next?", _next(subject)),
        Section("plots", "Plots", list(pictures.draw_pictures(subject))),
        Section("reproduce", "How to reproduce this", _reproduce(subject)),
    ]
    return [section for section in parts if section.blocks]


def opening(subject: Subject) -> Paragraph:
    """Return how many items are predicted to have each class, and how many of them are unsure."""
    posterior, hidden, predictions = subject.posterior, subject.hidden, subject.predictions
    classes = posterior.labels.classes
    predicted = predictions.prediction[hidden]
    n_unsure = int(predictions.unsure[hidden].sum())
    sizes = [int((predicted == c).sum()) for c in classes]
    counts = [
        f"{n:,} {choose_form(n, 'is', 'are')} {c}" for n, c in zip(sizes, classes, strict=True)
    ]
    meaning = (
        f"probability lies between {1 - SURE:.0%} and {SURE:.0%}."
        if classes.size == 2
        else f"most probable class has a probability below {SURE:.0%}."
    )
    others = ""
    if hidden.size:
        others = (
            f" Predictions for the {hidden.size:,} others: {', '.join(counts[:-1])} and "
            f"{counts[-1]}. The class of {n_unsure:,} of them is unsure: its {meaning}"
        )
    return Paragraph(
        f"The graph links {posterior.n_nodes:,} items. "
        f"{len(posterior.labels):,} of them came with a label, which may be wrong. From these "
        f"labels graphuq computes the probability of each class for every item.{others}"
    )


def _trust(found: Trust) -> list[Block]:
    return [
        Paragraph(found.verdict, f"{found.light.capitalize()}:"),
        Bullets(found.reasons),
        Table(("", "value", "wanted", MEANING), found.numbers),
        Note(
            "Green: no problem was found. Amber: the run misses the limits for published results. "
            "Red: the numbers below are not yet those of the model. This light judges only the "
            "computation."
        ),
    ]


def _model_trust(found: ModelTrust) -> list[Block]:
    return [
        Paragraph(found.verdict, f"{found.light.capitalize()}:"),
        Bullets(found.reasons),
        Note(
            "Green: by its 95% interval the accuracy is so high that at most half as many "
            "predictions are wrong as if all were the most frequent class, and confidence is not "
            "above the interval. Red: more are wrong. Amber: neither is shown. The interval "
            "assumes that the items were drawn at random."
        ),
    ]


def _columns(subject: Subject) -> list[Block]:
    rows, n = subject.columns[:MAX_COLUMNS], len(subject.columns)
    if not rows:
        return []
    more = [Paragraph(f"And {n - len(rows):,} more.")] if n > len(rows) else []
    return [Table(("column", "read as", "range", "different values", "missing"), rows), *more]


def _run(subject: Subject) -> list[Block]:
    posterior = subject.posterior
    settings, labels = posterior.settings, posterior.labels
    classes = labels.classes
    given = ", ".join(f"{(labels.values == c).sum():,} x {c}" for c in classes)
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
        (name, short(value), meanings.of_parameter(likelihood["name"], name, value, len(classes)))
        for name, value in likelihood.items()
        if name != "name"
    ]
    rows = [
        (name, f"{value} ({subject.origins[name]})" if name in subject.origins else value, meaning)
        for name, value, meaning in rows
    ]
    if subject.has_shares:
        known = subject.predictions
        shares = describe_shares(dict(zip(classes, known.shares, strict=True)), known.strength)
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
    return [Table(("", "value", MEANING), rows)]


def _accuracy(subject: Subject) -> list[Block]:
    posterior, truth, score = subject.posterior, subject.truth, subject.calibration
    if score is None:
        missing = (
            "Not known: the true classes were not given, so probabilities are only as good as the "
            "model. Once the true classes are known, pass them to graphuq report RESULT --truth "
            "FILE, or to graphuq.write_report."
        )
        return [Paragraph(missing)]
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
    confusion = pictures.draw_confusion(subject.predictions, truth)
    return [*_scores(posterior, score, lead), *confusion]


def _scores(posterior: Posterior, score: Calibration, lead: str) -> list[Block]:
    rows = []
    for name, shown, meaning in meanings.of_scores(posterior.labels.classes.size):
        low, high = score.intervals[name]
        how = ".1%" if name == "accuracy" else ".3f"
        value = getattr(score, name)
        rows.append((shown, format(value, how), f"{low:{how}} to {high:{how}}", meaning))
    return [
        Paragraph(lead),
        Table(("", "value", "95% interval", MEANING), rows),
        Figure(
            lambda figure: plots.reliability(score, figure=figure),
            (6, 6.5),
            "Reliability diagram: accuracy against confidence.",
            "Items of similar confidence are in one column, at the share of them that is right, "
            "with its 95% interval. On the dashed line confidence equals accuracy; above it "
            "predictions are right more often than their probabilities say, below it less often. "
            "The bars below count the items.",
        ),
    ]


def _shares(subject: Subject) -> list[Block]:
    shares, of_groups = subject.class_shares, subject.group_shares
    if shares is None:
        return []
    lead = (
        f"The shares of the classes among all {shares.items[0]:,} items, labeled ones included. "
        + meanings.SAMPLING[subject.posterior.labels.sampling]
    )
    of_all: list[Block] = [
        Paragraph(lead),
        Table(("class", *SHARE), _share_rows(shares, ["class"])),
    ]
    if of_groups is None:
        return of_all
    rows = _share_rows(of_groups, ["group", "items", "class"])
    listed = "The shares in each group"
    if len(rows) > MAX_SHARES:
        listed = f"The first {MAX_SHARES} of {len(rows):,} shares in groups"
    return [
        *of_all,
        Paragraph(f"{listed}. Intervals of small groups are wide."),
        Table(("group", "items", "class", *SHARE), rows[:MAX_SHARES]),
    ]


def _share_rows(shares: ClassShares, names: list[str]) -> list[tuple[Any, ...]]:
    """Return the columns ``names``, shares and intervals."""
    return [
        (
            *(row[name] for name in names),
            Bar(row["share"], f"{row['share']:.1%}"),
            f"{row['low']:.1%} to {row['high']:.1%}",
        )
        for row in shares.table().to_dict("records")
    ]


def _uncertain(subject: Subject) -> list[Block]:
    hidden = subject.hidden[~np.isin(subject.hidden, subject.drawn)][:MAX_ITEMS]
    if not hidden.size:
        others = "All other items belong to the random sample."
        return [Paragraph(others if subject.drawn else "Every item came with a label.")]
    one = "50/50" if subject.posterior.labels.classes.size == 2 else "all classes equally likely"
    variance = f"The mean variance of all items is {subject.posterior.mean_variance:.3f}"
    parts = [
        Paragraph(f"{variance}: 0 is certain, 1 is {one}."),
        Paragraph(meanings.of_parts(_parts(subject))),
    ]
    if subject.has_shares:
        parts.append(Paragraph(meanings.WITHOUT_SHARES))
    if (alone := subject.at_base_rate).size:
        parts.append(
            Paragraph(
                f"{count(alone.size, 'item')} in components of the graph without a label, such as "
                f"{alone[0]}, have the base rate of the classes: label an item of each component. "
                "run.json lists them as at_base_rate."
            )
        )
    return [*parts, *_most_uncertain(subject, hidden)]


def _parts(subject: Subject) -> tuple[float, float]:
    """Return the epistemic and the aleatoric share of the entropy of the items without a label."""
    parts = subject.posterior.uncertainty().iloc[subject.hidden].sum()
    return tuple(parts[name] / max(parts["total"], 1e-300) for name in ("epistemic", "aleatoric"))


def _most_uncertain(subject: Subject, nodes: Any) -> list[Block]:
    """Return items with their predictions; for K > 2 with their two most probable classes."""
    predictions = subject.predictions
    classes, p, entropy = (
        subject.posterior.labels.classes,
        predictions.by_class,
        predictions.entropy,
    )
    two = classes.size == 2
    header = ["item", "prediction", "confidence"]
    header += ["variance"] if two else ["runner-up", "its probability", "entropy"]
    rows = []
    for node in nodes:
        first, second = np.argsort(-p[node], kind="stable")[:2]
        confidence = Bar(p[node, first], f"{p[node, first]:.1%}")
        row = [subject.names[node], predictions.prediction[node], confidence]
        if two:
            row.append(f"{subject.posterior.variance[node]:.3f}")
        else:
            probability = Bar(p[node, second], f"{p[node, second]:.1%}")
            row += [classes[second], probability, f"{entropy[node]:.2f}"]
        rows.append([*row, f"{subject.confidence_mcse[node]:.3f}"])
    scale = (
        "variance: that of the class without the overlap of classes, 0 is certain, 1 is 50/50"
        if two
        else "runner-up: the second most probable class; entropy: 0 is certain, "
        f"{np.log(classes.size):.2f} means all {classes.size} are equally likely"
    )
    return [
        Paragraph(
            f"The {nodes.size} most uncertain items without a label, the "
            f"{'lowest confidence' if two else 'largest entropy'} first:"
        ),
        _items_table(subject, nodes, [*header, "mcse"], rows),
        Paragraph(
            f"confidence: posterior probability of the prediction; {scale}; mcse: standard "
            "deviation of the confidence over repeated runs."
        ),
    ]


def _suspect(subject: Subject) -> list[Block]:
    table = with_mistakes(subject.posterior).suspect_labels()
    n_suspect, likelihood = int(table["suspect"].sum()), subject.posterior.settings["likelihood"]
    known = bool((table["probability_mistake"] > 0).any())
    column = "probability_mistake" if known else "probability_wrong"
    chance = f"probability of {'a mistake' if known else 'another class'}"
    first = table.head(MAX_ITEMS)
    rows = [
        [
            subject.names[row.node],
            row.label,
            row.likelier,
            Bar(getattr(row, column), f"{getattr(row, column):.1%}"),
            "yes" if row.suspect else "no",
        ]
        for row in first.itertuples()
    ]
    how = (
        f"Suspect labels are probably mistakes: at most {FALSE_DISCOVERY_RATE:.0%} of them are "
        "expected to be right."
        if known
        else f"{likelihood['name']} expects no mistakes, and no other model was asked: use "
        "gq.NoisyProbit (--likelihood noisy-probit)."
    )
    if n_suspect and likelihood["name"] == "Probit":
        how += (
            " Under Probit the predictions follow labels that are mistakes: correct them (graphuq "
            "update), or use gq.NoisyProbit (--likelihood noisy-probit)."
        )
    return [
        Paragraph(
            f"{n_suspect or 'None'} of the {len(table):,} given labels "
            f"{choose_form(n_suspect or 1, 'is', 'are')} suspect. {how} These are the "
            f"{len(first)} most doubtful labels."
        ),
        _items_table(
            subject,
            first["node"].to_numpy(),
            ["item", "label given", "probably", chance, "suspect"],
            rows,
        ),
    ]


def _items_table(subject: Subject, nodes: Any, header: list[str], rows: list[list[Any]]) -> Table:
    """Return a table of items, with what is known of them: picture, columns, true class."""
    images, truth, table = subject.images, subject.truth, subject.table
    if truth is not None:
        header = [*header, "truth"]
        rows = [[*row, truth[node]] for node, row in zip(nodes, rows, strict=True)]
    about, words, shown = "", [], []
    if table is not None and table.shape[1]:
        about = str(table.columns[0]) if table.shape[1] == 1 else "what is known"
        words = [subject.describe(node) for node in nodes]
    if images is not None:
        low, high = float(images.min()), float(images.max())
        shown = [
            Picture(thumbnail(images[node], low, high), f"image of {subject.names[node]}")
            for node in nodes
        ]
    return Table(header, rows, shown, about, words)


def _next(subject: Subject) -> list[Block]:
    if not subject.hidden.size or (subject.label_next is not None and not len(subject.label_next)):
        return []
    if subject.label_next is None:
        how = (
            "Labels of uncertain items are informative, but partly redundant: post.suggest and, on "
            "the command line, graphuq suggest list the most informative, non-redundant items."
        )
        return [Paragraph(how)]
    listed = join_names(subject.label_next)
    return [Paragraph(f"The most informative, non-redundant items, best first: {listed}")]


def _reproduce(subject: Subject) -> list[Block]:
    posterior, prior, line = subject.posterior, subject.prior, subject.command
    part = None if prior is None else prior.graph_part
    lambda_bar = part.lambda_bar if isinstance(part, Prior) else None
    shares = [Code(reproduction.code_of_shares(subject.predictions))] if subject.has_shares else []
    again: list[Block] = [] if line is None else [Paragraph("With the same files:"), Code(line)]
    return [
        Paragraph(
            "The seed determines all random numbers, with any number of cores: the same versions "
            "give the same result, digit for digit."
        ),
        *again,
        Paragraph("In Python, on the same graph:"),
        Code(reproduction.code_of(posterior, lambda_bar)),
        *shares,
        Paragraph("This page was made with"),
        Table(("", "version"), [*reproduction.versions().items()]),
        Paragraph("All settings, as saved with the result:"),
        Code(json.dumps(posterior.settings, indent=1)),
    ]
