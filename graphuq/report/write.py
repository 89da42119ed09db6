"""The report: one HTML page, which holds its pictures and asks nothing of anyone."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graphuq import __version__
from graphuq.node_posterior import NodePosterior
from graphuq.plots.nodes import unsure
from graphuq.report import page, sections
from graphuq.report.subject import Subject
from graphuq.report.trust import Trust, trust
from graphuq.whole import written_whole

# Up to so many classes are named in the title.
MOST_NAMED = 5

SIGNS = {"green": "✓", "amber": "!", "red": "✗"}


def write_report(
    result: NodePosterior | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    truth: Any = None,
    images: Any = None,
    shape: tuple[int, int] | None = None,
    names: Any = None,
    prior: Any = None,
    graph: Any = None,
    command: str | None = None,
) -> None:
    """Write what a posterior says as one HTML page that a stranger can read.

    It says whether the sampler is to be trusted, by a traffic light with reasons: red, if
    `Posterior.diagnostics` complains; amber, if the run falls short of R-hat 1.01 or an effective
    sample size of 400 (Vehtari et al. 2021), is of one chain, or an approximation; else green. Then
    what was run, accuracy and calibration where the truth is known, the uncertain items, the
    suspect labels, plots, and the code that does it again.

    Parameters
    ----------
    result : Posterior, ApproximatePosterior or path-like
        Or the file that its ``save`` wrote.
    path : path-like
        Of the page; an existing file is replaced, whole or not at all.
    truth : array_like, shape (N,), optional
        True classes, for accuracy and calibration.
    images : array_like, shape (N, height * width), optional
        Grey levels, where items are images.
    shape : (int, int), optional
        Height and width of an image; square by default.
    names : array_like, shape (N,), optional
        What the items are called; their numbers by default.
    prior : Prior, optional
        The one that the posterior is of, for its spectrum and the nodes in the plane.
    graph : Graph, networkx graph or adjacency, optional
        Drawn if it has at most 500 nodes and 5,000 edges, and networkx is installed.

    command : str, optional
        The command line that made the result, to be shown where it says how to do it again.

    Raises
    ------
    ValueError
        What does not fit the posterior's nodes; a file that is no result.
    FileNotFoundError
        No such file, or no folder to write to.

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
    if isinstance(result, str | os.PathLike):
        from graphuq.export import load

        posterior: NodePosterior = load(result)
    elif isinstance(result, NodePosterior):
        posterior = result
    else:
        raise TypeError(
            "result must be what gq.sample or gq.approximate return, or the file that their save "
            f"wrote, got {type(result).__name__}"
        )
    subject = Subject.checked(
        posterior,
        names=names,
        truth=truth,
        images=images,
        shape=shape,
        prior=prior,
        graph=graph,
        command=command,
    )
    with written_whole(path) as temporary:
        Path(temporary).write_text(_page(subject), encoding="utf-8")


def _page(subject: Subject) -> str:
    labels, n = subject.posterior.labels, subject.posterior.n_nodes
    found = trust(subject.posterior)
    return page.page(
        f"{_question(labels.classes.tolist())} {n:,} items, {len(labels):,} labels",
        _opening(subject, found),
        sections.sections(subject, found),
        page.text(
            f"Written by graphuq {__version__} on {datetime.now(UTC):%d %B %Y, %H:%M} UTC, after "
            "Bertozzi, Luo, Stuart and Zygalakis, Uncertainty quantification in graph-based "
            "classification of high dimensional data (2017)."
        ),
    )


def _question(classes: list[Any]) -> str:
    """Return what is asked of each item."""
    if len(classes) > MOST_NAMED:
        return f"Which of {len(classes)} classes?"
    *some, last = classes
    return f"{', '.join(map(str, some))} or {last}?"


def _opening(subject: Subject, found: Trust) -> str:
    posterior, hidden = subject.posterior, subject.hidden
    classes = posterior.labels.classes
    predicted = posterior.prediction[hidden]
    doubtful = int(unsure(posterior)[hidden].sum())
    counts = [f"{(predicted == c).sum():,} are {c}" for c in classes]
    said = f"{', '.join(counts[:-1])} and {counts[-1]}"
    doubt = (
        "probability lies between 15% and 85%."
        if classes.size == 2
        else "likeliest class has a probability below 85%."
    )
    light = (
        f'<div class="light {found.light}" role="status"><b aria-hidden="true">'
        f"{SIGNS[found.light]}</b><span><strong>{found.light.capitalize()}:</strong> "
        f"{page.text(found.verdict)} {page.text(found.reasons[0])}</span></div>\n"
    )
    return light + page.paragraph(
        f"Of {posterior.n_nodes:,} items, joined to those that are like them, "
        f"{len(posterior.labels):,} came with a label, which may be wrong. From these graphuq "
        f"works out how probable each class is for every item. Of the other {hidden.size:,} "
        f"probably {said}. The class of {doubtful:,} of them is unsure: its {doubt}"
    )
