"""The subject of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.labels.labels import Labels
from graphuq.posterior.assessment.calibration import Calibration, calibrate
from graphuq.posterior.assessment.class_shares import reweight_error
from graphuq.posterior.assessment.estimated_shares import ClassShares
from graphuq.posterior.assessment.model_trust import ModelTrust, trust_in_model, unknown
from graphuq.posterior.posterior import Posterior
from graphuq.posterior.predictions import most_probable
from graphuq.priors.gaussian_prior import GaussianPrior
from graphuq.utils.features import check_images
from graphuq.utils.words import choose_form, count, shorten

# Labels from which calibration is computed without the truth: fewer leave bins almost empty.
MIN_LABELS = 20

# Letters of what is known of an item.
MAX_LETTERS = 240


@dataclass(eq=False)
class Subject:
    """A posterior, and what else is known about its nodes; refused if it does not fit.

    Attributes
    ----------
    posterior : Posterior
    names : array_like, shape (N,), optional
        Those of the posterior by default, or else the nodes' numbers.
    truth : array_like, shape (N,), optional
    images : array_like, shape (N, height * width), optional
        Afterwards shape (N, height, width).
    shape : (int, int), optional
        Height and width of an image; square by default.
    prior : Prior, optional
    graph : Graph, or what `Graph.of` takes, optional
    command : str, optional
    predictions : ReweightedPredictions, optional
        Those with the given shares of the classes; by default the posterior's own.
    sample : Labels, optional
        Labels of items that were drawn at random, from which the posterior did not learn. They
        stand for the truth where it is not given, unless they are fewer than `MIN_LABELS`.
    drawn : sequence of int, optional
        All nodes that were drawn, if some of them got no certain label.
    groups : array_like, shape (N,), optional
        The group of each node, whose shares of the classes are wanted.
    columns : sequence of (str, str, str, int, int), optional
        Columns of the table of the items: name, how it was read, range, numbers of different and
        of missing values.
    table : DataFrame, N rows, optional
        What is known of each node; lists of items show it.
    origins : dict of str to str, optional
        Where the values of parameters come from, by their names.
    label_next : array_like, optional
        Names of the items to label next.
    """

    posterior: Posterior
    names: Any = None
    truth: Any = None
    images: Any = None
    shape: tuple[int, int] | None = None
    prior: GaussianPrior | None = None
    graph: Any = None
    command: str | None = None
    predictions: Any = None
    sample: Labels | None = None
    drawn: Any = None
    groups: Any = None
    columns: Sequence[tuple[str, str, str, int, int]] = ()
    table: Any = None
    origins: Mapping[str, str] = field(default_factory=dict)
    label_next: Any = None

    def __post_init__(self) -> None:
        n = self.posterior.n_nodes
        if self.predictions is None:
            self.predictions = self.posterior
        if self.names is None:
            self.names = self.posterior.names
        self.names = np.arange(n) if self.names is None else np.asarray(self.names)
        if self.names.shape != (n,):
            raise ValueError(f"names must name {n} nodes, got shape {self.names.shape}")
        if self.truth is not None:
            self.posterior.labels.unlabelled_truth(self.truth, n)
            self.truth = np.asarray(self.truth)
        if self.drawn is None:
            self.drawn = [] if self.sample is None else self.sample.nodes
        if self.sample is not None and len(self.sample) < MIN_LABELS:
            self.sample = None
        if self.table is not None:
            self.table = _check_table(self.table, n)
        if self.images is not None:
            self.images = check_images(self.images, n, self.shape)
        prior = self.prior
        if prior is not None and (not isinstance(prior, GaussianPrior) or prior.n_nodes != n):
            raise ValueError(
                f"prior must be a gq.Prior on the posterior's {n} nodes, got {prior!r}"
            )
        if self.graph is not None:
            self.graph = Graph.of(self.graph)
            if self.graph.n_nodes != n:
                raise ValueError(
                    f"graph must have the posterior's {n} nodes, got {self.graph.n_nodes}"
                )

    def describe(self, node: int) -> str:
        """Return what the table says of a node, in one line; one column needs no name."""
        return shorten(describe_row(self.table, node), MAX_LETTERS)

    @property
    def has_shares(self) -> bool:
        """Whether shares of the classes are given."""
        return self.predictions is not self.posterior

    @cached_property
    def class_shares(self) -> ClassShares | None:
        """Estimated shares of the classes; None if they are given, or not known."""
        if self.has_shares:
            return None
        try:
            return self.posterior.class_shares(prior=self.prior)
        except ValueError:  # for example without the prior, or of a label that is a field
            return None

    @cached_property
    def group_shares(self) -> ClassShares | None:
        """Those of each group, if groups are given; an error if they are not known."""
        if self.groups is None:
            return None
        return self.posterior.class_shares(self.groups, prior=self.prior)

    @cached_property
    def model_trust(self) -> ModelTrust:
        """How far the model can be trusted: by the truth, a random sample, or the labels."""
        known, classes = self.predictions, self.posterior.labels.classes.tolist()
        if self.truth is not None and self.hidden.size:
            nodes, truth = self.hidden, self.truth[self.hidden]
            judged = f"{count(nodes.size, 'item')} without a label"
        elif self.sample is not None:
            nodes, truth = self.sample.nodes, self.sample.values
            judged = f"{count(nodes.size, 'label')} of a random sample of {len(self.drawn)} items"
        else:
            try:
                return self.posterior.model_trust(self.prior)
            except ValueError as error:  # labels cannot be predicted from each other
                return unknown(f"Not known: {error}.")
        judged += f" {choose_form(nodes.size, 'is', 'are')}"
        position = {name: k for k, name in enumerate(classes)}
        indices = np.array([position[name] for name in truth.tolist()], dtype=np.int64)
        return trust_in_model(known.by_class[nodes], indices, judged, "from the labels")

    @cached_property
    def hidden(self) -> NDArray[np.int64]:
        """Unlabeled nodes, most uncertain first."""
        order = self.predictions.ranking()
        return order[~np.isin(order, self.posterior.labels.nodes)]

    @property
    def at_base_rate(self) -> NDArray[Any]:
        """Names of the items without a label in their component, if nothing else relates items."""
        component = None if self.prior is None else self.prior.component
        if component is None:
            return self.names[:0]
        return self.names[~np.isin(component, component[self.posterior.labels.nodes])]

    @cached_property
    def confidence_mcse(self) -> NDArray[np.float64]:
        """The Monte Carlo error of the probability of each prediction."""
        posterior, p = self.posterior, self.predictions.by_class
        each, best = np.arange(posterior.n_nodes), most_probable(p)
        error = posterior.probability_mcse
        if posterior.labels.classes.size > 2:
            error = error[each, best]
        if not self.has_shares:
            return error
        return reweight_error(error, posterior.by_class[each, best], p[each, best])

    @cached_property
    def calibration(self) -> Calibration | None:
        """Scores by the truth, or a random sample; for an approximation by its labels.

        None if there are too few.
        """
        if self.truth is not None:
            return self.predictions.calibration(self.truth)
        if self.sample is not None:
            p = self.predictions.by_class[self.sample.nodes]
            return calibrate(p, self.sample.values, self.posterior.labels.classes)
        if not self.posterior.is_sampled and len(self.posterior.labels) >= MIN_LABELS:
            return self.posterior.calibration()
        return None


def _check_table(table: Any, n: int) -> Any:
    """Return a DataFrame with a row for each node."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table must be a pandas DataFrame, got {type(table).__name__}")
    if len(table) != n:
        raise ValueError(f"table must have a row for each of {n} nodes, got {len(table)}")
    return table


def describe_row(table: Any, row: int) -> str:
    """Return the cells of a row of a DataFrame, with the names of its columns if there are several.

    Examples
    --------
    >>> import pandas as pd
    >>> describe_row(pd.DataFrame({"town": ["Ulm"], "age": [41.0], "note": [None]}), 0)
    'town: Ulm; age: 41'
    """
    cells = [(str(name), table.iloc[row, at]) for at, name in enumerate(table.columns)]
    known = [
        (name, f"{cell:.6g}" if isinstance(cell, float) else str(cell).strip())
        for name, cell in cells
        if not _is_blank(cell)
    ]
    return "; ".join(cell if len(cells) == 1 else f"{name}: {cell}" for name, cell in known)


def _is_blank(cell: Any) -> bool:
    """Return whether a cell has no value; a list is one."""
    import pandas as pd

    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))
