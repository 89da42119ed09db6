"""The report: one HTML page, which contains its pictures and loads nothing else."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from graphuq.posterior.assessment.model_trust import ModelTrust
from graphuq.posterior.assessment.trust import Trust
from graphuq.posterior.posterior import Posterior
from graphuq.report import page, sections
from graphuq.report.subject import Subject
from graphuq.utils import validation
from graphuq.utils.atomic_files import require_replaceable, write_atomically
from graphuq.utils.interruption import named_interruption
from graphuq.utils.version import __version__

# More classes than this are counted in the title instead of named.
MAX_NAMED = 5

SIGNS = {"green": "✓", "amber": "!", "red": "✗"}


def write_report(
    result: Posterior | Subject | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    truth: Any = None,
    images: Any = None,
    shape: tuple[int, int] | None = None,
    names: Any = None,
    prior: Any = None,
    graph: Any = None,
    command: str | None = None,
    groups: Any = None,
    table: Any = None,
) -> None:
    """Write a posterior as one HTML page for readers who did not run it.

    A traffic light with reasons says whether the sampler can be trusted: red if
    `Posterior.diagnostics` has messages; amber if the run misses R-hat 1.01 or an effective sample
    size of 400 (Vehtari et al. 2021), has one chain, or is an approximation; otherwise green. A
    second light says whether the model can be trusted, as `Posterior.model_trust` does, or by the
    truth if it is given. Then follow what was run, accuracy and calibration if the truth is known,
    the uncertain items, the suspect labels, plots, and the code that reproduces the result.

    Parameters
    ----------
    result : Posterior or path-like
        A path is that of a file written by ``save``. A `graphuq.report.subject.Subject` is
        taken too; it has all arguments after ``path`` in it, so they are refused then.
    path : path-like
        Where to write the page; an existing file is replaced, whole or not at all.
    truth : array_like, shape (N,), optional
        True classes, for accuracy and calibration.
    images : array_like, shape (N, height * width), optional
        Gray levels of items that are images.
    shape : (int, int), optional
        Height and width of an image; square by default.
    names : array_like, shape (N,), optional
        Names of the items; those of the posterior by default, or else their numbers.
    prior : Prior, optional
        The prior of the posterior, for its spectrum and the nodes in the plane.
    graph : Graph, networkx graph or adjacency, optional
        Drawn if it has at most 500 nodes and 5,000 edges, and networkx is installed.
    command : str, optional
        The command line that made the result, shown under how to reproduce it.
    groups : array_like, shape (N,), optional
        The group of each item, whose shares of the classes are shown.
    table : DataFrame, N rows, optional
        What is known of each item, such as a text; lists of items show it.

    Raises
    ------
    ValueError
        Arguments that do not fit the posterior's nodes; a file without a result; groups whose
        shares `Posterior.class_shares` refuses.
    TypeError
        A result of another type; further arguments in addition to a `Subject`.
    FileNotFoundError
        The file, or the folder to write to, does not exist.
    FileExistsError
        The file to write exists and is no report.

    Examples
    --------
    >>> import graphuq as gq
    >>> X, y = gq.datasets.two_moons(100, seed=0)
    >>> prior = gq.Prior.projected(gq.knn_graph(X, n_neighbors=8, connect=True), rank=20)
    >>> labels = gq.reveal(y, counts=3, seed=0)
    >>> post = gq.sample(prior, gq.Probit(gamma=0.1), labels, seed=0, progress=False)
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "report.html")
    ...     gq.write_report(post, file, truth=y, prior=prior)
    ...     "the sampler can be trusted" in file.read_text()
    True
    """
    if isinstance(result, Subject):
        others = (truth, images, shape, names, prior, graph, command, groups, table)
        if any(given is not None for given in others):
            raise TypeError("result is a Subject, which has all other arguments: leave them out")
        subject = result
    else:
        posterior = _load(result)
        subject = Subject(
            posterior,
            names,
            truth,
            images,
            shape,
            prior,
            graph,
            command,
            groups=groups,
            table=table,
        )
    require_replaceable(
        validation.file_path("path", path),
        lambda found: found.read_bytes().startswith(page.BEGINNING.encode()),
        "gq.write_report",
    )
    with named_interruption("writing the report"), write_atomically(path) as temporary:
        Path(temporary).write_text(_page(subject), encoding="utf-8")


def _load(result: Any) -> Posterior:
    if isinstance(result, Posterior):
        return result
    if not isinstance(result, str | os.PathLike):
        raise TypeError(
            "result must be what gq.sample or gq.approximate return, or the file that their save "
            f"wrote, got {type(result).__name__}"
        )
    from graphuq.posterior.from_arviz import load

    return load(result)


def _page(subject: Subject) -> str:
    labels, n = subject.posterior.labels, subject.posterior.n_nodes
    found = subject.posterior.trust()
    return page.page(
        f"{_question(labels.classes.tolist())} {n:,} items, {len(labels):,} labels",
        _light(found) + _light(subject.model_trust) + page.block(sections.opening(subject)),
        sections.sections(subject, found),
        (
            f"Written by graphuq {__version__} on {datetime.now(UTC):%d %B %Y, %H:%M} UTC, after "
            "Bertozzi, Luo, Stuart and Zygalakis, Uncertainty quantification in graph-based "
            "classification of high dimensional data (2018)."
        ),
    )


def _question(classes: list[Any]) -> str:
    """Return the question about each item."""
    if len(classes) > MAX_NAMED:
        return f"Which of {len(classes)} classes?"
    *some, last = [str(name) for name in classes]
    question = f"{', '.join(some)} or {last}?"
    are_numbers = all(name.lstrip("-").isdigit() for name in (*some, last))
    return f"Class {question}" if are_numbers else question


def _light(found: Trust | ModelTrust) -> str:
    """Return a light, what it means, and its first reason."""
    return (
        f'<div class="light {found.light}" role="status"><b aria-hidden="true">'
        f"{SIGNS[found.light]}</b><span><strong>{found.light.capitalize()}:</strong> "
        f"{escape(found.verdict)} {escape(found.reasons[0])}</span></div>\n"
    )
