"""Sample a posterior, write its result folder and print the summary."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import graphuq as gq
from graphuq.cli.csv_file import write_csv
from graphuq.cli.files.columns import for_report
from graphuq.cli.files.shown_columns import show_beside, told_in_words
from graphuq.cli.heartbeat import begin_stage, has_terminal
from graphuq.cli.print_summary import print_summary
from graphuq.cli.printing import visible
from graphuq.cli.result_folder import (
    DRAWS,
    GROUPS,
    NODES,
    PROBLEM,
    REPORT,
    RUN,
    SUSPECTS,
    UNCERTAIN,
    result_folder,
    write_or_rescue,
)
from graphuq.cli.run_summary import RunSummary, summarize_run
from graphuq.cli.sample_steps import Data, Model, Source, ask
from graphuq.cli.saved_problem import SavedProblem
from graphuq.inference.find_mistakes import with_mistakes
from graphuq.posterior.predictions import ReweightedPredictions


def sample_and_write(
    options: argparse.Namespace,
    source: Source,
    data: Data,
    model: Model,
    folder: Path,
    start: float,
) -> int:
    """Sample with the draws, chains and seed of the options, and return the exit code.

    Parameters
    ----------
    options : Namespace
    source : Source
    data : Data
    model : Model
    folder : Path
        The folder to write.
    start : float
        The time when the command began.
    """
    from graphuq.report.subject import Subject  # imports plots, which --help does not need

    begin_stage("sampling", has_bar=has_terminal())
    post = gq.sample(
        model.prior,
        model.likelihood,
        data.labels,
        draws=options.draws,
        chains=options.chains,
        seed=options.seed,
        progress=True,
    )
    begin_stage("looking for mistakes among the labels")
    post = with_mistakes(post, survives_interrupt=True)
    begin_stage("writing the results")
    post = post.with_names([visible(name) for name in data.items.ids])
    predictions: gq.Posterior | ReweightedPredictions = post
    if data.shares is not None:
        try:
            predictions = data.shares.of(post)
        except ValueError as error:  # only the posterior shows it, and sampling took long
            data = data._replace(shares=None)
            warnings.warn(
                f"{error}; the result is written without the shares",
                RuntimeWarning,
                stacklevel=2,
            )
    subject = Subject(
        post,
        predictions=predictions,
        names=data.items.ids,
        truth=data.truth,
        images=data.images,
        shape=data.items.image_shape if data.images is not None else None,
        prior=model.prior,
        graph=model.graph,
        command="\n".join(source.commands),
        sample=data.sample,
        drawn=data.drawn,
        groups=data.items.groups,
        columns=for_report(data.items.columns),
        table=told_in_words(data.items.shown),
    )
    # Ask the posterior for uncertain items, suspect labels and items to label next.
    answers = ask(data, post, predictions, options.seed)
    items = data.items
    problem = SavedProblem(
        model.graph, model.prior, items.features, subject.images, items.encoding, items.shown
    )

    def write(folder: Path) -> RunSummary:
        # Write all files to a temporary folder, then move them in.
        with result_folder(folder) as temporary:
            write_csv(answers.nodes, temporary / NODES)
            # Ranks count labeled items too, and would have gaps.
            listed = answers.nodes.iloc[answers.most_uncertain]
            uncertain = listed.drop(columns=["label", "rank"])
            uncertain = show_beside(uncertain, items.shown, answers.most_uncertain)
            write_csv(uncertain, temporary / UNCERTAIN)
            suspects = show_beside(answers.suspects, items.shown, answers.doubted)
            write_csv(suspects, temporary / SUSPECTS)
            if subject.group_shares is not None:
                write_csv(subject.group_shares.table(), temporary / GROUPS)
            post.save(temporary / DRAWS)
            problem.save(temporary / PROBLEM)
            gq.write_report(subject, temporary / REPORT)
            seconds = round(time.perf_counter() - start, 2)
            summary = summarize_run(source, data, model, subject, answers, folder, seconds)
            (temporary / RUN).write_text(summary.to_json(), encoding="utf-8")
        return summary

    replaced = (folder / RUN).is_file()
    summary = write_or_rescue(write, folder)
    if options.json:
        print(summary.to_json())
    else:
        print_summary(summary, replaced=replaced)
    return 0 if post.draws.complete else 130
