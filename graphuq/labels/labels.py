"""The labels that are known: their nodes and their classes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq.graphs import Graph
from graphuq.graphs.foreign import are_whole, is_foreign
from graphuq.labels.annotators import combine
from graphuq.labels.class_values import (
    TEXT_OF_NONE,
    as_given,
    check_classes,
    find_alike,
    find_classes,
    is_minus_one,
    is_missing,
    refuse_text_of_nan,
    require_all,
    to_one_type,
)
from graphuq.utils import validation
from graphuq.utils.typing import Array
from graphuq.utils.warnings import silenced, warn
from graphuq.utils.words import count, list_names

# How the labels came about: items drawn at random, a set number of each class, or chosen in some
# other way, such as by a model.
RANDOM, BY_CLASS, ANY = "random", "by class", "any"

# Of a smaller confidence 1 - confidence would round to 1, and the label could not be right.
MIN_CONFIDENCE = 1e-12


class Labels:
    """Classes of the labeled nodes.

    Parameters
    ----------
    nodes : array_like of int, shape (J,), dict or Series
        Labeled nodes, by position; their order does not matter. A dict has the class of each, by
        name, and so has a Series of pandas whose index has the names.
    values : array_like, shape (J,), or Graph
        Class of each node: ints, strings, booleans or other sortable values. With classes by name,
        the graph whose ``nodes`` are the names; a graph of networkx or igraph will do.
    classes : array_like, optional
        All classes, at least two. By default the classes that occur among the labels.
    confidence : float or array_like in (0, 1], shape (J,), optional
        Probability that each label is right, if all classes are equally likely beforehand and the
        other classes share the rest evenly. It comes on top of the mistakes that the likelihood
        expects: `graphuq.likelihoods.confidence`.
    sampling : {"random", "by class", "any"}, optional
        How the labeled items were chosen: at random, so that classes have their shares; a set
        number of each class; or otherwise, such as by what a model asks for. By default it is "by
        class" if all classes have the same number of labels, and else "random". Only labels drawn
        at random say how large classes are; for others `graphuq.tune` does not search an open
        `Level`.

    Attributes
    ----------
    nodes : ndarray of int64, shape (J,)
        In increasing order.
    values : ndarray, shape (J,)
    classes : ndarray, shape (K,)
        Sorted.
    confidence : ndarray, shape (J,), or None
        None where all labels have confidence 1.
    sampling : str

    Raises
    ------
    ValueError
        Negative nodes, a node labeled twice with different values or confidences, missing values,
        measurements in place of classes, different lengths, values that ``classes`` does not list,
        fewer than two classes, confidences outside (0, 1], "by class" with a class without labels,
        or names that no node has.
    TypeError
        Nodes are not integers, or ``values`` is not given.

    Warns
    -----
    RuntimeWarning
        Classes that differ only in case or spaces, unless ``classes`` lists them.

    Examples
    --------
    >>> import numpy as np
    >>> import graphuq as gq
    >>> labels = gq.Labels([7, 2, 5], ["cat", "dog", "cat"])
    >>> labels.nodes
    array([2, 5, 7])
    >>> labels.codes
    array([ 1., -1., -1.])
    >>> labels.indices
    array([1, 0, 0])
    >>> labels.require_within(n_nodes=8)
    >>> labels.indicators(n_nodes=8).sum(axis=0)
    array([2., 1.])
    >>> truth = ["dog"] * 3 + ["cat"] * 5
    >>> labels.unlabelled_truth(truth, n_nodes=8)[0]
    array([0, 1, 3, 4, 6])
    >>> labels.accuracy(prediction=["dog"] * 8, truth=truth)
    0.4
    >>> scores = np.linspace(-1, 1, 8)                # low at the dog, node 2
    >>> float(labels.oriented(scores)[0])             # turned, so that the second class is high
    1.0

    By the names of nodes:

    >>> graph = gq.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], nodes=["ann", "bob", "cy"])
    >>> gq.Labels({"cy": "cat", "ann": "dog"}, graph).nodes
    array([0, 2])

    A class without labels:

    >>> gq.Labels([7, 2, 5], ["cat", "dog", "cat"], classes=["cat", "cow", "dog"])
    Labels(3 nodes: 2 x 'cat', 0 x 'cow', 1 x 'dog')

    Labels with confidence:

    >>> gq.Labels([7, 2], ["cat", "dog"], confidence=[0.9, 0.6]).confidence
    array([0.6, 0.9])

    How they were chosen:

    >>> gq.Labels([7, 2], ["cat", "dog"]).sampling, labels.sampling
    ('by class', 'random')
    >>> gq.Labels([7, 2], ["cat", "dog"], sampling="any").sampling
    'any'
    """

    def __init__(
        self,
        nodes: Any,
        values: Any = None,
        classes: Any = None,
        *,
        confidence: Any = None,
        sampling: str | None = None,
    ) -> None:
        if values is None:
            raise TypeError(
                "classes by name need the graph whose nodes have these names, gq.Labels({name: "
                "class, ...}, graph)"
                if isinstance(nodes, Mapping)
                else "gq.Labels takes nodes and their classes; from the class of every node, with "
                "None where it is unknown, make labels by gq.Labels.of(y, n_nodes)"
            )
        by_name = isinstance(values, Graph) or is_foreign(values)
        if isinstance(nodes, Mapping) or (by_name and hasattr(nodes, "items")):
            nodes, values = _positions(nodes, values)
        nodes, values = validation.unmasked("nodes", nodes), as_given(values)
        if nodes.ndim != 1 or nodes.shape != values.shape:
            raise ValueError(
                "nodes and values must be two lists of equal length, got shapes "
                f"{nodes.shape} and {values.shape}"
            )
        if nodes.size == 0:
            raise ValueError("no labels: at least one node of each of two classes is needed")
        if nodes.dtype == object and are_whole(nodes):
            with suppress(OverflowError):
                nodes = nodes.astype(np.int64)
        if nodes.dtype.kind not in "iu":
            raise TypeError(
                f"nodes must be integers (positions in the graph), got {nodes.dtype}: by name, "
                "label them with gq.Labels({name: class, ...}, graph)"
            )
        if nodes.min() < 0:
            raise ValueError(f"nodes must not be negative, got {nodes.min()}")
        if nodes.max() > np.iinfo(np.int64).max:
            raise ValueError(f"nodes must be positions in the graph, got {nodes.max()}")
        missing = np.flatnonzero(is_missing(values))
        if missing.size:
            raise ValueError(
                f"the label of node {nodes[missing[0]]} is missing ({values[missing[0]]!r}): "
                "leave unlabeled nodes out"
            )
        refuse_text_of_nan(values, classes)
        values = to_one_type(values)
        trust = _read_confidence(confidence, nodes)
        # sort by node; equal labels of one node count once
        order = np.argsort(nodes, kind="stable")
        nodes, values = nodes[order].astype(np.int64), values[order]
        repeated = nodes[1:] == nodes[:-1]
        clash = np.flatnonzero(repeated & (values[1:] != values[:-1]))
        if clash.size:
            at = clash[0]
            raise ValueError(
                f"node {nodes[at]} is labeled twice, as {values[at]} and as {values[at + 1]}: "
                "keep one of them"
            )
        trust = trust[order]
        differ = np.flatnonzero(repeated & (trust[1:] != trust[:-1]))
        if differ.size:
            at = differ[0]
            raise ValueError(
                f"node {nodes[at]} is labeled twice, with confidence {trust[at]:g} and "
                f"{trust[at + 1]:g}: combine them by gq.Labels.from_annotators"
            )
        first = np.concatenate([[True], ~repeated])
        self.nodes: NDArray[np.int64] = nodes[first]
        self.values: NDArray[Any] = values[first]
        self.confidence: Array | None = None if (trust == 1).all() else trust[first]
        self.classes: NDArray[Any] = check_classes(self.values, classes)
        if classes is None:
            _warn_of_alike(self.classes)
        self.sampling = self._sampling(sampling)

    def _sampling(self, given: str | None) -> str:
        """Return how the labels came about, as given or by the numbers of each class."""
        counts = np.bincount(self.indices, minlength=self.classes.size)
        if given is None:
            return BY_CLASS if counts.min() == counts.max() else RANDOM
        validation.one_of("sampling", given, (RANDOM, BY_CLASS, ANY))
        if given == BY_CLASS and not counts.all():
            raise ValueError(
                f"sampling={BY_CLASS!r} means labels of every class, and there is none of "
                f"{self.classes.tolist()[counts.argmin()]!r}: take sampling={ANY!r}"
            )
        return str(given)

    @classmethod
    def of(cls, labels: Any, n_nodes: int, classes: Any = None) -> Labels:
        """Return labels from `Labels`, or from an array of all nodes as in scikit-learn.

        Parameters
        ----------
        labels : Labels or array_like, shape (n_nodes,)
            An array gives the class of every node, and -1, None or NaN for an unlabeled node.
        n_nodes : int
            Number of nodes.
        classes : array_like, optional
            All classes, if some of them may not occur in the array.

        Raises
        ------
        ValueError
            An array of another length, or one with fewer than two classes where ``classes`` is
            not given; labels of nodes that do not exist; strings such as "-1" and "nan", to which
            NumPy converts the marks of unlabeled nodes.

        Examples
        --------
        >>> import graphuq as gq
        >>> gq.Labels.of([-1, 3, -1, 5], n_nodes=4)
        Labels(2 nodes: 1 x 3, 1 x 5)
        """
        if isinstance(labels, Labels):
            labels.require_within(n_nodes)
            return labels
        validation.integer("n_nodes", n_nodes, 1)
        y = as_given(labels)
        if y.shape != (n_nodes,):
            raise ValueError(
                f"y must give the class of each of {n_nodes} nodes, -1 for an unlabeled node, got "
                f"shape {y.shape}; or pass gq.Labels(nodes, values)"
            )
        known = np.flatnonzero(~is_missing(y) & ~is_minus_one(y))
        if y.dtype.kind == "u" and (top := np.iinfo(y.dtype).max) in y and classes is None:
            raise ValueError(
                f"y has {top}, to which NumPy converts -1 in {y.dtype}: give integers of a signed "
                f"type; if {top} is the name of a class, list all classes, classes=[...]"
            )
        shown = np.unique([str(value) for value in y[known].tolist()])
        if y.dtype.kind in "UO" and (marks := np.intersect1d(shown, TEXT_OF_NONE)).size:
            raise ValueError(
                f"y has the text {marks.tolist()[0]!r} among its classes: for an unlabeled node "
                "give None, or -1 in a list or an array of objects; if the text is the name of a "
                "class, pass gq.Labels(nodes, values)"
            )
        if classes is None and shown.size < 2:
            raise ValueError(
                f"y must show at least two classes besides -1, which marks unlabeled nodes, got "
                f"{shown.tolist()}; if -1 is the name of a class, pass "
                "gq.Labels(nodes, values)"
            )
        return cls(known, y[known], classes)

    @classmethod
    def from_annotators(
        cls, frame: Any, rates: Any = None, *, classes: Any = None, seed: validation.Seed = 0
    ) -> Labels:
        """Return one label of each item from those of several annotators, with its confidence.

        Annotators make mistakes independently, each at a rate of its own, and a mistake is equally
        likely to be any other class. Their log odds then add up. For two classes the result says
        all that the annotators said. For K > 2 classes it does so where they agree; where they
        contradict each other it keeps the likeliest class, and spreads the rest evenly over the
        others. Items of equally likely classes are left out, since the first would be arbitrary.

        Parameters
        ----------
        frame : pandas.DataFrame or array_like, shape (items, annotators)
            The classes that annotators gave, None or NaN where they gave none. Row i is node i.
        rates : mapping, DataFrame or array_like of numbers in (0, 1 - 1 / K), optional
            Each annotator's rate of mistakes, by the name of the column or in order, or the table
            of `graphuq.annotator_rates`, which by default infers them from how far annotators
            agree.
        classes : array_like, optional
            All classes, if some of them may not occur.
        seed : int, SeedSequence or Generator, optional
            For inferred rates.

        Raises
        ------
        ValueError
            Annotators who labeled nothing, -1 where ``classes`` does not list it, rates out of
            range or not one for each annotator, fewer than two classes.

        Examples
        --------
        >>> import graphuq as gq
        >>> votes = [["cat", "cat", None], ["dog", "cat", None], [None, "dog", "dog"]]
        >>> labels = gq.Labels.from_annotators(votes, rates=[0.1, 0.2, 0.2])
        >>> labels.values.tolist(), labels.confidence.round(3).tolist()
        (['cat', 'dog', 'dog'], [0.973, 0.692, 0.941])
        """
        nodes, values, every, confidence = combine(frame, rates, classes, seed)
        return cls(nodes, values, every, confidence=confidence)

    @property
    def indices(self) -> NDArray[np.int64]:
        """Position in ``classes`` of each labeled node's class, shape (J,)."""
        return np.searchsorted(self.classes, self.values)

    @property
    def codes(self) -> Array:
        """y(j) for two classes, shape (J,): -1 for ``classes[0]``, +1 for ``classes[1]``."""
        if self.classes.size != 2:
            raise ValueError(
                f"labels of two classes are needed here, got {self.classes.size}: "
                f"{self.classes.tolist()[:5]}; select two of them, labels.of_classes(a, b)"
            )
        return np.where(self.values == self.classes[1], 1.0, -1.0)

    def indicators(self, n_nodes: int) -> Array:
        """Return one-hot labels, shape (n_nodes, K): Y_jk = 1 if node j is in ``classes[k]``."""
        Y = np.zeros((n_nodes, self.classes.size))
        Y[self.nodes, self.indices] = 1.0
        return Y

    def split(
        self, held_out: float = 0.5, *, seed: validation.Seed = None
    ) -> tuple[Labels, Labels]:
        """Split the labels at random into those for a posterior and those held out.

        Parameters
        ----------
        held_out : float in (0, 1)
            Share of labels to hold out; their number is rounded.
        seed : int, SeedSequence or Generator, optional

        Raises
        ------
        ValueError
            A share outside (0, 1); a part with fewer than two classes.

        Examples
        --------
        >>> import graphuq as gq
        >>> given, held_out = gq.Labels(range(10), ["cat", "dog"] * 5).split(0.4, seed=0)
        >>> len(given), len(held_out)
        (6, 4)
        """
        if not 0 < validation.real("held_out", held_out) < 1:
            raise ValueError(f"held_out must lie in (0, 1), got {held_out}")
        # the first nodes of a random permutation are held out
        rng = np.random.default_rng(validation.seed_sequence(seed))
        order = rng.permutation(len(self))
        cut = round(held_out * len(self))
        parts = order[cut:], order[:cut]
        if any(np.unique(self.indices[part]).size < 2 for part in parts):
            raise ValueError(
                f"one part of {len(self)} labels does not show two classes: label more nodes, or "
                "hold out a share nearer to 1/2"
            )
        given, kept = (self._at(part, self.classes) for part in parts)
        return given, kept

    def _at(self, part: NDArray[Any], classes: Any) -> Labels:
        """Return some of the labels, with their confidences, chosen in the same way."""
        trust = None if self.confidence is None else self.confidence[part]
        nodes, values = self.nodes[part], self.values[part]
        whole = np.isin(classes, values).all()
        sampling = self.sampling if whole or self.sampling != BY_CLASS else ANY
        return Labels(nodes, values, classes, confidence=trust, sampling=sampling)

    def moved(self, nodes: Any) -> Labels:
        """Return the same labels at other nodes.

        Parameters
        ----------
        nodes : array_like of int, shape (J,)
            The new number of each labeled node.

        Raises
        ------
        ValueError
            Another number of nodes; negative ones.

        Examples
        --------
        >>> import graphuq as gq
        >>> gq.Labels([7, 2], ["cat", "dog"]).moved([0, 1]).values
        array(['dog', 'cat'], dtype='<U3')
        """
        trust, sampling = self.confidence, self.sampling
        return Labels(nodes, self.values, self.classes, confidence=trust, sampling=sampling)

    def of_classes(self, *classes: Any) -> Labels:
        """Return the labels of some classes only.

        Parameters
        ----------
        *classes
            Two or more of ``classes``.

        Raises
        ------
        ValueError
            Fewer than two classes, unknown classes, or classes without labels.

        Examples
        --------
        >>> import graphuq as gq
        >>> gq.Labels(range(4), ["cat", "cow", "dog", "cat"]).of_classes("cat", "dog")
        Labels(3 nodes: 2 x 'cat', 1 x 'dog')
        """
        shown = np.unique(self.values).tolist()
        for name in classes:
            if np.ndim(name) or name not in shown:
                raise ValueError(
                    f"there are no labels of {name!r}: name two or more of {shown[:10]}, as "
                    "separate arguments"
                )
        return self._at(np.isin(self.values, classes), list(classes))

    def oriented(self, field: Array) -> Array:
        """Return ``field`` or its negative, whichever agrees in sign with most labels.

        For two classes. If half of the labels agree, the sum of y(j) field(j) over labeled nodes
        decides.
        """
        # compare the number of agreeing signs first, then their sum weighted by the field
        at = field[self.nodes]
        against = (float(self.codes @ np.sign(at)), float(self.codes @ at)) < (0.0, 0.0)
        return -field if against else field

    def accuracy(self, prediction: Any, truth: Any) -> float:
        """Return the share of unlabeled nodes whose prediction is correct.

        Parameters
        ----------
        prediction, truth : array_like, shape (N,)
            Classes of all nodes.

        Raises
        ------
        ValueError
            Different lengths, missing values, a truth with values that are not classes, no
            unlabeled node.
        """
        prediction = as_given(prediction)
        if prediction.ndim != 1:
            raise ValueError(f"prediction must have one dimension, got shape {prediction.shape}")
        require_all("prediction", prediction)
        hidden, hidden_truth = self.unlabelled_truth(truth, prediction.size)
        return float((prediction[hidden] == hidden_truth).mean())

    def unlabelled_truth(
        self, truth: Any, n_nodes: int, *, others: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the unlabeled nodes and their true classes.

        Parameters
        ----------
        truth : array_like, shape (n_nodes,)
            True classes of all nodes.
        n_nodes : int
        others : bool
            Accept true classes that are none of ``classes``, as long as some are.

        Raises
        ------
        ValueError
            As in `accuracy`.
        """
        validation.integer("n_nodes", n_nodes, 1)
        _require_order(truth, n_nodes)
        truth = as_given(truth)
        if truth.shape != (n_nodes,):
            raise ValueError(f"truth must have shape {(n_nodes,)}, got {truth.shape}")
        require_all("truth", truth)
        hidden = np.setdiff1d(np.arange(n_nodes), self.nodes)
        if hidden.size == 0:
            raise ValueError("every node is labeled: there is nothing to score")
        if others and np.isin(truth, self.classes).any():
            return hidden, truth[hidden]
        return hidden, self.classes[find_classes("truth", truth[hidden], self.classes)]

    def __len__(self) -> int:
        return self.nodes.size

    def __repr__(self) -> str:
        counts = np.bincount(self.indices, minlength=self.classes.size)
        shown = [f"{n} x {c!r}" for n, c in zip(counts, self.classes.tolist(), strict=True)]
        trust = ""
        if self.confidence is not None:
            trust = f"; confidence {self.confidence.min():.3g} to {self.confidence.max():.3g}"
        return f"Labels({len(self)} nodes: {', '.join(shown)}{trust})"

    def require_within(self, n_nodes: int) -> None:
        """Refuse labels of nodes that the graph does not have."""
        validation.node_ids("labels", self.nodes, n_nodes)


def _read_confidence(confidence: Any, nodes: NDArray[Any]) -> Array:
    """Return the confidence of each label, 1 where none is given."""
    if confidence is None:
        return np.ones(nodes.size)
    if np.ndim(confidence) == 0:
        confidence = np.full(nodes.size, validation.real("confidence", confidence))
    trust = validation.unmasked("confidence", confidence)
    if trust.shape != nodes.shape or trust.dtype.kind not in "fiu":
        raise ValueError(
            f"confidence must be a number in (0, 1] for each of {nodes.size} labels, got shape "
            f"{trust.shape} of {trust.dtype}"
        )
    bad = np.flatnonzero(~((trust > 0) & (trust <= 1)))
    if bad.size:
        raise ValueError(
            f"the confidence of the label of node {nodes[bad[0]]} must lie in (0, 1], got "
            f"{trust[bad[0]]}: it is the probability that the label is right; leave labels that "
            "are certainly wrong out"
        )
    return np.maximum(trust.astype(np.float64), MIN_CONFIDENCE)


def _require_order(truth: Any, n_nodes: int) -> None:
    """Refuse a Series whose index counts the nodes in another order than its values have."""
    if hasattr(truth, "iloc"):
        index = np.asarray(truth.index)
        count_all = index.shape == (n_nodes,) and set(index.tolist()) == set(range(n_nodes))
        if count_all and (index != np.arange(n_nodes)).any():
            raise ValueError(
                "truth is a Series whose index has the nodes in another order. If the graph has "
                "the order of its values, pass truth.to_numpy(); if that of its index, pass "
                "truth.sort_index()"
            )


def _positions(labels: Any, graph: Any) -> tuple[list[int], list[Any]]:
    """Return the positions of named nodes, and their classes, of a mapping or a Series."""
    with silenced():  # of names other than positions, as here
        names = Graph.of(graph).nodes.tolist()
    position = {name: node for node, name in enumerate(names)}
    repeated = [name for node, name in enumerate(names) if position[name] != node]
    given = list(labels.items())
    if twice := [name for name in repeated if name in labels]:
        raise ValueError(f"several nodes are called {twice[0]!r}: label them by position")
    unknown = [name for name, _ in given if name not in position]
    if unknown:
        raise ValueError(
            f"the graph has no node {unknown[0]!r} ({count(len(unknown), 'such name')}): its nodes "
            f"are {list_names(names, 4)}"
        )
    return [position[name] for name, _ in given], [value for _, value in given]


def _warn_of_alike(classes: NDArray[Any]) -> None:
    """Warn of classes that differ only in case or spaces."""
    alike = find_alike(classes.tolist()) if classes.dtype.kind == "U" else []
    if alike:
        warn(
            f"the classes {list_names(alike[0])} differ only in case or spaces: write them alike, "
            "or list all classes, gq.Labels(..., classes=[...])"
        )
