"""Sample a posterior, write its result folder and print the summary."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import graphuq as gq
from graphuq.cli.files.columns import for_report
from graphuq.cli.files.shown_columns import show_beside, told_in_words
from graphuq.cli.heartbeat import begin_stage, has_terminal
from graphuq.cli.print_summary import print_files, print_input
from graphuq.cli.printing import to_json
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
from graphuq.cli.run_summary import parameter_origins, summarize_run
from graphuq.cli.sample_steps import Data, Model, Source, ask
from graphuq.cli.saved_problem import SavedProblem
from graphuq.inference.find_mistakes import with_mistakes
from graphuq.posterior.predictions import ReweightedPredictions
from graphuq.utils.csv_file import write_csv
from graphuq.utils.warnings import warn
from graphuq.utils.words import visible


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
    # these import plots, which --help does not need
    from graphuq.cli.print_sections import print_block, print_sections
    from graphuq.report.sections import opening, sections
    from graphuq.report.subject import Subject

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
            warn(f"{error}; the result is written without the shares")
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
    answers = ask(data, subject, options.seed)
    items = data.items
    subject.label_next = items.ids[answers.label_next]
    problem = SavedProblem(
        model.graph, model.prior, items.features, subject.images, items.encoding, items.shown
    )

    def write(folder: Path) -> dict[str, Any]:
        run = summarize_run(source, data, model, subject, answers, folder)
        subject.origins = parameter_origins(run)
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
            run["seconds"] = round(time.perf_counter() - start, 2)
            (temporary / RUN).write_text(to_json(run), encoding="utf-8")
        return run

    replaced = (folder / RUN).is_file()
    run = write_or_rescue(write, folder)
    if options.json:
        print(to_json(run))
        return 0 if post.draws.complete else 130
    print_input(source, data, model.graph.n_edges)
    print("\nPREDICTIONS")
    print_block(opening(subject))
    # columns stand under INPUT already
    print_sections(sections(subject, post.trust()), ("columns", "plots", "reproduce"))
    print_files(run["folder"], run["seconds"], run["classes"], with_groups=items.groups is not None)
    if replaced:
        print(f"These replace the earlier result in {run['folder']}/.")
    return 0 if post.draws.complete else 130
