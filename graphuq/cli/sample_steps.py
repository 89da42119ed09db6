"""The steps of ``graphuq sample``: read the data, build the model, ask the posterior."""

from __future__ import annotations

import argparse
import hashlib
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import graphuq as gq
from graphuq.cli.class_shares import ClassShares, choose_shares, require_use
from graphuq.cli.files import Items
from graphuq.cli.heartbeat import begin_stage
from graphuq.cli.item_tables import tabulate_nodes, tabulate_suspects
from graphuq.cli.options import read_items
from graphuq.likelihoods.bound import open_parameters
from graphuq.priors.default_sum import check_terms, default_graph_prior, default_sum
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.priors.prior import default_rank
from graphuq.utils.validation import AUTO

if TYPE_CHECKING:
    from graphuq.report.subject import Subject

# Number of items to label next.
N_LABEL_NEXT = 5


class Data(NamedTuple):
    """What the file says.

    Attributes
    ----------
    items : Items
    labels : Labels
    unlabeled : ndarray of int
        Nodes without a label, which are not of the random sample.
    truth : ndarray of str, shape (N,), or None
        True classes, if they are given and some nodes are unlabeled.
    images : ndarray, shape (N, n_pixels), or None
    shares : ClassShares or None
        Shares of the classes, if the user gave them.
    sample : Labels or None
        Certain labels of a random sample, which are not among ``labels``.
    drawn : list of int
        Nodes of the random sample.
    """

    items: Items
    labels: gq.Labels
    unlabeled: NDArray[np.int64]
    truth: NDArray[Any] | None
    images: NDArray[np.float64] | None
    shares: ClassShares | None
    sample: gq.Labels | None = None
    drawn: Sequence[int] = ()


class Model(NamedTuple):
    """A prior and a likelihood without open parameters, and how these were chosen.

    Attributes
    ----------
    graph : Graph
    prior : Prior
    likelihood : likelihood
    chosen : dict of str to float
        Parameters that were chosen from labels.
    at_edge : list of str
        Those of them that lie at the edge of the search range.
    n_tuned : int
        Number of labels that chose them; 0 if all parameters were given.
    """

    graph: gq.Graph
    prior: GaussianPrior
    likelihood: Any
    chosen: dict[str, float]
    at_edge: list[str]
    n_tuned: int


class Source(NamedTuple):
    """Where data and labels come from.

    Attributes
    ----------
    file : Path
    sha256 : dict of str to str
        Checksums of the files that were read.
    neighbors : int or None
        Neighbors of each item; None if the file is a graph.
    commands : tuple of str
        The command lines that led to the result, in the order in which they ran.
    """

    file: Path
    sha256: dict[str, str]
    neighbors: int | None
    commands: tuple[str, ...]


class Answers(NamedTuple):
    """What the posterior says about the items.

    Attributes
    ----------
    nodes, suspects : DataFrame
        The contents of nodes.csv and suspects.csv.
    most_uncertain, doubted, label_next : ndarray of int
        Unlabeled nodes, the most uncertain first; labeled nodes, the most suspect first; and those
        to label next.
    """

    nodes: Any
    suspects: Any
    most_uncertain: NDArray[np.int64]
    doubted: NDArray[np.int64]
    label_next: NDArray[np.int64]


def source_of(options: argparse.Namespace, items: Items) -> Source:
    """Return where the data of the run come from."""
    return Source(
        options.file,
        checksums(options.file, options.labels, options.features, options.links),
        items.n_neighbors(options.neighbors) if items.graph is None else None,
        (command_line(options),),
    )


def checksums(*paths: Path | None) -> dict[str, str]:
    """Return the SHA-256 checksums of files; of folders those of their files' names and sizes."""
    return {
        str(path): hashlib.sha256(
            _contents(path) if path.is_dir() else path.read_bytes()
        ).hexdigest()
        for path in paths
        if path is not None
    }


def _contents(folder: Path) -> bytes:
    """Return names and sizes of the files in a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{path.relative_to(folder).as_posix()} {path.stat().st_size}\n" for path in found]
    return "".join(lines).encode(errors="surrogateescape")


def command_line(options: argparse.Namespace) -> str:
    """Return the command line of the run."""
    return shlex.join(["graphuq", *options.arguments])


def build_likelihood(options: argparse.Namespace) -> Any:
    """Return the likelihood, whose parameters may be open."""
    if options.likelihood == "noisy-probit":
        return gq.NoisyProbit(
            options.gamma, AUTO if options.flip_rate is None else options.flip_rate
        )
    if options.flip_rate is not None:
        raise ValueError(
            f"{options.likelihood} has no flip rate: use --likelihood noisy-probit, or leave out "
            "--flip-rate"
        )
    return (gq.Probit if options.likelihood == "probit" else gq.LevelSet)(options.gamma)


def check_prior_options(options: argparse.Namespace) -> None:
    """Refuse a weight of the graph or a level out of range, and shares without effect."""
    require_use(options)
    check_terms(AUTO if options.graph_weight is None else options.graph_weight, options.level)


def read_data(options: argparse.Namespace) -> Data:
    """Read the file, and refuse labels, true classes or images that do not fit."""
    begin_stage(f"reading {options.file}")
    items = read_items(options)
    if items.features is None and options.graph_weight is not None:
        raise ValueError(
            f"{options.file} is a graph without features, so that --graph-weight has no "
            "effect: leave it out"
        )
    images = pixels_of(items) if options.images or items.images is not None else None
    how = options.sampling
    labels = items.labels(None if how is None else how.replace("-", " "))
    unlabeled = np.setdiff1d(np.arange(items.ids.size), labels.nodes)
    truth = items.truth.astype(str) if items.truth is not None and unlabeled.size else None
    if truth is not None:
        labels.unlabelled_truth(truth, items.ids.size)  # refuses a truth that does not fit
    shares = choose_shares(options, labels, items.groups)
    return Data(items, labels, unlabeled, truth, images, shares)


def pixels_of(items: Items) -> Any:
    """Return the pixels of images, one in each row."""
    if items.images is not None:
        return items.images
    X = items.features
    if (
        X is None
        or items.path.suffix.lower() != ".npz"
        or (items.image_shape is None and math.isqrt(X.shape[1]) ** 2 != X.shape[1])
    ):
        raise ValueError(
            f"{items.path}: --images takes an .npz file whose X has shape (n, height, width), or "
            "the pixels of a square image in each row: save such a file, or leave out --images"
        )
    return X


def build_model(options: argparse.Namespace, data: Data, likelihood: Any) -> Model:
    """Return the graph, and a prior and a likelihood without open parameters."""
    begin_stage("building the graph")
    graph = data.items.to_graph(options.neighbors)
    if data.items.features is None and options.rank is None and options.alpha == AUTO:
        level = {} if options.level == AUTO else {"level": options.level}
        begin_stage("computing the modes of the graph and choosing parameters from the labels")
        return _model_of(graph, gq.tune(graph, data.labels, likelihood, **level), data.labels)
    rank = default_rank(graph) if options.rank is None else options.rank
    begin_stage("computing the modes of the graph")
    modes = default_graph_prior(graph, rank, options.alpha, data.labels)
    weight = AUTO if options.graph_weight is None else options.graph_weight
    links = graph if data.items.linked else None
    prior = default_sum(modes, data.items.features, weight, options.level, data.labels, links)
    return choose_model(graph, prior, likelihood, data.labels)


def choose_model(
    graph: gq.Graph, prior: GaussianPrior, likelihood: Any, labels: gq.Labels
) -> Model:
    """Return the model with open parameters chosen from the labels."""
    if not prior.open and not open_parameters(likelihood):
        return Model(graph, prior, likelihood, {}, [], 0)
    begin_stage("choosing parameters from the labels")
    return _model_of(graph, gq.tune(prior, labels, likelihood), labels)


def _model_of(graph: gq.Graph, found: gq.Tuning, labels: gq.Labels) -> Model:
    return Model(
        graph, found.prior, found.likelihood, found.chosen, list(found.at_edge), len(labels)
    )


def ask(data: Data, subject: Subject, seed: int) -> Answers:
    """Ask for uncertain items, suspect labels and items to label next."""
    post, items, n_unlabeled = subject.posterior, data.items, data.unlabeled.size
    ranking, label_next = subject.predictions.ranking(), np.empty(0, dtype=np.int64)
    k = wanted = min(N_LABEL_NEXT, n_unlabeled)
    while label_next.size < wanted:
        # an item of the random sample, which is labeled apart, counts as labeled once it is picked
        picked = post.suggest(min(k, n_unlabeled + len(data.drawn)), seed=seed)
        label_next = picked[np.isin(picked, data.unlabeled)][:wanted]
        k *= 2
    suspects, doubted = tabulate_suspects(items, post)
    return Answers(
        tabulate_nodes(items, subject),
        suspects,
        ranking[np.isin(ranking, data.unlabeled)],
        doubted,
        label_next,
    )
