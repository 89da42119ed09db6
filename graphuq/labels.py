"""The few labels that are known: which nodes carry them, and which class they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphuq import validation

# What numpy, pandas and files make of None, NaN and -1 among strings.
TEXT_OF_NONE = ("-1", "-1.0", "", "nan", "NaN", "None", "<NA>", "NaT")


class Labels:
    """Observed labels y(j) at the nodes j of Z'.

    Parameters
    ----------
    nodes : array_like of int, shape (J,)
        Labelled nodes; their order does not matter.
    values : array_like, shape (J,)
        Class of each, as any sortable values: ints, strings, booleans.
    classes : array_like, optional
        All classes that there are, at least two, where the labels do not show them all. Those that
        they show by default.

    Attributes
    ----------
    nodes : ndarray of int64, shape (J,)
        In increasing order.
    values : ndarray, shape (J,)
    classes : ndarray, shape (K,)
        Sorted.

    Raises
    ------
    ValueError
        Negative nodes, a node labelled twice with different values, missing values, lengths
        that differ, values that ``classes`` does not list, or fewer than two classes.

    Examples
    --------
    >>> labels = Labels([7, 2, 5], ["cat", "dog", "cat"])
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
    >>> float(labels.oriented(np.linspace(-1, 1, 8))[0])      # the dog is node 2, so dogs are low
    1.0

    A class that no label shows:

    >>> Labels([7, 2, 5], ["cat", "dog", "cat"], classes=["cat", "cow", "dog"])
    Labels(3 nodes: 2 x 'cat', 0 x 'cow', 1 x 'dog')
    """

    def __init__(self, nodes: Any, values: Any, classes: Any = None) -> None:
        nodes, values = np.asarray(nodes), _as_given(values)
        if nodes.ndim != 1 or nodes.shape != values.shape:
            raise ValueError(
                "nodes and values must be two lists of equal length, got shapes "
                f"{nodes.shape} and {values.shape}"
            )
        if nodes.size == 0:
            raise ValueError("no labels: at least one node of each of two classes is needed")
        if not np.issubdtype(nodes.dtype, np.integer):
            raise TypeError(f"nodes must be integers (positions in the graph), got {nodes.dtype}")
        if nodes.min() < 0:
            raise ValueError(f"nodes must not be negative, got {nodes.min()}")
        missing = np.flatnonzero(_is_missing(values))
        if missing.size:
            raise ValueError(
                f"the label of node {nodes[missing[0]]} is missing ({values[missing[0]]!r}): "
                "leave unlabelled nodes out"
            )
        values = _one_type(values)
        order = np.argsort(nodes, kind="stable")
        nodes, values = nodes[order].astype(np.int64), values[order]
        repeated = nodes[1:] == nodes[:-1]
        clash = np.flatnonzero(repeated & (values[1:] != values[:-1]))
        if clash.size:
            at = clash[0]
            raise ValueError(
                f"node {nodes[at]} is labelled twice, as {values[at]} and as {values[at + 1]}: "
                "keep one of them"
            )
        first = np.concatenate([[True], ~repeated])
        self.nodes: NDArray[np.int64] = nodes[first]
        self.values: NDArray[Any] = values[first]
        self.classes: NDArray[Any] = _all_classes(self.values, classes)

    @classmethod
    def of(cls, labels: Any, n_nodes: int, classes: Any = None) -> Labels:
        """Return labels given as such, or in scikit-learn's way.

        Parameters
        ----------
        labels : Labels or array_like, shape (n_nodes,)
            An array gives every node's class, and -1, None or NaN where it is not known.
        n_nodes : int
            How many nodes there are.
        classes : array_like, optional
            All classes that there are, where an array may not show them all.

        Raises
        ------
        ValueError
            An array of another length, or one that shows fewer than two classes if ``classes``
            does not list more; labels on nodes that are not there; strings among which are "-1",
            "nan" and the like, which numpy makes of what marks unlabelled nodes.

        Examples
        --------
        >>> Labels.of([-1, 3, -1, 5], n_nodes=4)
        Labels(2 nodes: 1 x 3, 1 x 5)
        """
        if isinstance(labels, Labels):
            labels.require_within(n_nodes)
            return labels
        y = _as_given(labels)
        if y.shape != (n_nodes,):
            raise ValueError(
                f"y must give the class of each of {n_nodes} nodes, -1 where it is not known, got "
                f"shape {y.shape}; or pass gq.Labels(nodes, values)"
            )
        known = np.flatnonzero(~_is_missing(y) & ~_is_minus_one(y))
        shown = np.unique(y[known].astype(str))
        if y.dtype.kind in "UO" and (marks := np.intersect1d(shown, TEXT_OF_NONE)).size:
            raise ValueError(
                f"y has the text {marks.tolist()[0]!r} among its classes: of an unlabelled node "
                "give None, or -1 in a list or an array of objects; if it is a class of yours, "
                "pass gq.Labels(nodes, values)"
            )
        if classes is None and shown.size < 2:
            raise ValueError(
                f"y must show at least two classes besides -1, which marks unlabelled nodes, got "
                f"{np.unique(y[known].astype(str)).tolist()}; if -1 is a class of yours, pass "
                "gq.Labels(nodes, values)"
            )
        return cls(known, _one_type(y[known]), classes)

    @property
    def indices(self) -> NDArray[np.int64]:
        """Which of ``classes`` each labelled node has, shape (J,)."""
        return np.searchsorted(self.classes, self.values)

    @property
    def codes(self) -> NDArray[np.float64]:
        """y(j) of two classes, shape (J,): -1 for ``classes[0]``, +1 for ``classes[1]``."""
        if self.classes.size != 2:
            raise ValueError(
                f"labels of two classes are needed here, got {self.classes.size}: "
                f"{self.classes.tolist()[:5]}; keep those of two, labels.of_classes(a, b)"
            )
        return np.where(self.values == self.classes[1], 1.0, -1.0)

    def indicators(self, n_nodes: int) -> NDArray[np.float64]:
        """Return Y with Y_jk = 1 where node j is labelled with ``classes[k]``, (n_nodes, K)."""
        Y = np.zeros((n_nodes, self.classes.size))
        Y[self.nodes, self.indices] = 1.0
        return Y

    def split(
        self, held_out: float = 0.5, *, seed: validation.Seed = None
    ) -> tuple[Labels, Labels]:
        """Return the labels to give to a posterior, and those to hold out, drawn at random.

        Parameters
        ----------
        held_out : float in (0, 1)
            Share of labels to hold out, rounded.
        seed : int, SeedSequence or Generator, optional

        Raises
        ------
        ValueError
            A share outside (0, 1), a part that does not show two classes.

        Examples
        --------
        >>> given, held_out = Labels(range(10), ["cat", "dog"] * 5).split(0.4, seed=0)
        >>> len(given), len(held_out)
        (6, 4)
        """
        if not 0 < validation.real("held_out", held_out) < 1:
            raise ValueError(f"held_out must lie in (0, 1), got {held_out}")
        rng = np.random.default_rng(validation.seed_sequence(seed))
        order = rng.permutation(len(self))
        cut = round(held_out * len(self))
        parts = order[cut:], order[:cut]
        if any(np.unique(self.indices[part]).size < 2 for part in parts):
            raise ValueError(
                f"one part of {len(self)} labels does not show two classes: label more nodes, or "
                "hold out a share nearer to 1/2"
            )
        given, kept = (Labels(self.nodes[part], self.values[part], self.classes) for part in parts)
        return given, kept

    def of_classes(self, *classes: Any) -> Labels:
        """Return the labels of some classes alone.

        Parameters
        ----------
        *classes
            Two or more of ``classes``.

        Raises
        ------
        ValueError
            Fewer, others, or classes without labels.

        Examples
        --------
        >>> Labels(range(4), ["cat", "cow", "dog", "cat"]).of_classes("cat", "dog")
        Labels(3 nodes: 2 x 'cat', 1 x 'dog')
        """
        shown = np.unique(self.values).tolist()
        for name in classes:
            if np.ndim(name) or name not in shown:
                raise ValueError(
                    f"there are no labels of {name!r}: name two or more of {shown[:10]}, one after "
                    "another"
                )
        kept = np.isin(self.values, classes)
        return Labels(self.nodes[kept], self.values[kept], list(classes))

    def oriented(self, field: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``field``, shape (n_nodes,), with the sign that most labels of two classes have.

        Where half of them have it, the sum over labelled nodes of y(j) field(j) decides.
        """
        at = field[self.nodes]
        against = (float(self.codes @ np.sign(at)), float(self.codes @ at)) < (0.0, 0.0)
        return -field if against else field

    def accuracy(self, prediction: Any, truth: Any) -> float:
        """Return the share of unlabelled nodes whose prediction is right.

        Parameters
        ----------
        prediction, truth : array_like, shape (N,)
            Classes of all nodes.

        Raises
        ------
        ValueError
            Lengths that differ, a truth with gaps or that names none of the classes, every node
            labelled. A node whose true class no label shows counts as wrong.
        """
        prediction = np.asarray(prediction)
        hidden, hidden_truth = self.unlabelled_truth(truth, prediction.size)
        return float((prediction[hidden] == hidden_truth).mean())

    def unlabelled_truth(self, truth: Any, n_nodes: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the unlabelled nodes and their true classes, of which there are as many.

        Parameters
        ----------
        truth : array_like, shape (n_nodes,)
            True classes of all nodes.
        n_nodes : int

        Raises
        ------
        ValueError
            As `accuracy`.
        """
        truth = np.asarray(truth)
        if truth.shape != (n_nodes,):
            raise ValueError(f"truth must have shape {(n_nodes,)}, got {truth.shape}")
        missing = np.flatnonzero(_is_missing(truth))
        if missing.size:
            raise ValueError(
                f"truth must give every node's class, but that of node {missing[0]} is missing"
            )
        if not np.isin(truth, self.classes).any():
            raise ValueError(
                f"truth names none of the classes {self.classes.tolist()}, but such as "
                f"{np.unique(truth).tolist()[:5]}: give it in the labels' own values"
            )
        hidden = np.setdiff1d(np.arange(n_nodes), self.nodes)
        if hidden.size == 0:
            raise ValueError("every node is labelled: there is nothing to score")
        return hidden, truth[hidden]

    def __len__(self) -> int:
        return self.nodes.size

    def __repr__(self) -> str:
        counts = np.bincount(self.indices, minlength=self.classes.size)
        shown = [f"{n} x {c!r}" for n, c in zip(counts, self.classes.tolist(), strict=True)]
        return f"Labels({len(self)} nodes: {', '.join(shown)})"

    def require_within(self, n_nodes: int) -> None:
        """Refuse labels on nodes that the graph does not have."""
        validation.node_ids("labels", self.nodes, n_nodes)


def _all_classes(values: NDArray[Any], listed: Any) -> NDArray[Any]:
    """Return the classes, sorted: those that labels show, or those listed."""
    shown = np.unique(values)
    if listed is None:
        if shown.size < 2:
            raise ValueError(
                f"labels must show at least two classes, got only {shown.tolist()[0]!r}; label a "
                "node of another class too, or list all that there are, classes=[...]"
            )
        return shown
    if not isinstance(listed, np.ndarray | str) and np.iterable(listed):
        listed = list(listed)  # of a set, or of the keys of a dict
    listed = _as_given(listed)
    if _is_missing(listed).any():
        raise ValueError(f"one of the classes is missing: {listed.tolist()!r}; leave it out")
    if len({type(name).__name__ for name in np.ravel(listed).tolist()}) > 1:
        raise TypeError(f"classes must be of one type, got {listed.tolist()!r}")
    listed = _one_type(listed)
    if listed.ndim != 1 or np.unique(listed).size != listed.size or listed.size < 2:
        raise ValueError(
            f"classes must be a list of at least two distinct values, got {listed.tolist()!r}"
        )
    unlisted = shown[~np.isin(shown, listed)]
    if unlisted.size:
        raise ValueError(
            f"a label is {unlisted.tolist()[0]!r}, which is none of the classes "
            f"{listed.tolist()[:5]}: list it too"
        )
    return np.sort(listed)


def _as_given(values: Any) -> NDArray[Any]:
    """Return an array that keeps the types of a list's items, which numpy would make alike."""
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
        if values.dtype != object or values.ndim != 1:
            return values
    array = np.empty(len(values), dtype=object)
    array[:] = [value.item() if isinstance(value, np.generic) else value for value in values]
    return array


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind not in "fmMO":
        return np.zeros(values.shape, dtype=bool)
    # NaN and NaT differ from themselves; of pandas' NA even that is NA
    return np.array([value is None or (value == value) is not True for value in values.tolist()])


def _is_minus_one(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind not in "iufO":
        return np.zeros(values.shape, dtype=bool)
    numbers = (int, float)
    return np.array([isinstance(value, numbers) and value == -1 for value in values.tolist()])


def _one_type(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype != object:
        return values
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) > 1:
        raise TypeError(f"label values must be of one type, got {', '.join(kinds)}")
    return np.array(values.tolist())


def reveal(
    y: Any,
    fraction: float | None = None,
    *,
    counts: int | Mapping[Any, int] | None = None,
    seed: validation.Seed = None,
) -> Labels:
    """Reveal a few of the true labels, drawn at random within each class.

    Parameters
    ----------
    y : array_like, shape (n,)
        True class of every node.
    fraction : float in (0, 1], optional
        Share of each class to reveal, rounded, and at least one node.
    counts : int or mapping from class to int, optional
        Instead of ``fraction``: how many nodes of each class.
    seed : int, SeedSequence or Generator, optional

    Returns
    -------
    Labels

    Raises
    ------
    ValueError
        Neither or both of ``fraction`` and ``counts``; a fraction outside (0, 1]; more nodes
        asked of a class than it has.

    Examples
    --------
    >>> reveal([4, 4, 4, 9, 9, 9], counts={4: 2, 9: 1}, seed=0)
    Labels(3 nodes: 2 x 4, 1 x 9)
    """
    y = _one_type(_as_given(y))
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}")
    missing = np.flatnonzero(_is_missing(y))
    if missing.size:
        raise ValueError(
            f"y must give every node's class, but that of node {missing[0]} is missing"
        )
    if (fraction is None) == (counts is None):
        raise ValueError("give either fraction or counts")
    classes, sizes = np.unique(y, return_counts=True)
    if fraction is not None:
        if not 0 < validation.real("fraction", fraction) <= 1:
            raise ValueError(f"fraction must lie in (0, 1], got {fraction}")
        wanted = {
            c: max(1, round(fraction * n)) for c, n in zip(classes.tolist(), sizes, strict=True)
        }
    elif isinstance(counts, Mapping):
        wanted = dict(counts)
    else:
        wanted = dict.fromkeys(classes.tolist(), validation.integer("counts", counts, 1))
    rng = np.random.default_rng(validation.seed_sequence(seed))
    chosen = []
    for value, count in wanted.items():
        members = np.flatnonzero(y == value)
        if members.size == 0:
            raise ValueError(f"y has no class {value!r}; it has {classes.tolist()[:10]}")
        validation.integer(f"the count of class {value!r}", count, 0, members.size)
        chosen.append(rng.choice(members, size=count, replace=False))
    nodes = np.sort(np.concatenate([np.empty(0, dtype=np.int64), *chosen]))
    return Labels(nodes, y[nodes])
